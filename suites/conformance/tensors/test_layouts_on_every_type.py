"""A few crowded layouts on every signature: kernels of one type may be wrong where those of other types are not.

The other tests of layouts are run on some signatures of an operator in the quick profile. What comes together here goes
wrong in kernels of its own: the highest rank and an odd number of elements, in place of one input while another one is
broadcast, strides on one tensor alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_SIZES = (3, 1, 3, 1, 1, 3, 1, 5)  # an odd number of elements at every rank


@checks(
    "values", "tensor.strides.padded", "tensor.strides.permuted", "tensor.strides.output", "tensor.strides.broadcast"
)
def test_crowded_layouts(subject: Subject, judge: Judge) -> None:
    """Odd sizes of the highest rank, beyond quick of a low one too: padded, permuted, broadcast, in place of each."""
    attributes = subject.revealing()
    low = min((rank for rank in subject.ranks if rank > 1), default=1)
    ranks = (subject.ranks[-1], low) if subject.thorough else subject.ranks[-1:]
    judge.all(case for rank in dict.fromkeys(ranks) for case in _crowded(subject, _SIZES[-rank:], attributes))


def _crowded(subject: Subject, sizes: tuple[int, ...], attributes: dict[str, Any]) -> Iterator[Case]:
    axes = tuple(range(len(sizes)))
    padded, turned = permuted(sizes, axes, 1), permuted(sizes, axes[::-1], 2)
    repeated = (*((0,) * (len(sizes) - 1)), 1)
    values, clause = subject.distinct(251).streams, subject.values_clause(attributes)

    def case(layout_clause: str, place: Placement | None = None, **layout: Any) -> Case:
        operator = subject.describe(sizes, attributes, **layout)
        return Case(operator, values, clause, layout_clause, placement=place or Placement())

    yield case("tensor.position")
    yield case("tensor.strides.padded", strides=padded, output_strides=padded)
    yield case("tensor.strides.permuted", strides=turned)
    yield case("tensor.strides.output", output_strides=turned)
    for name in subject.inputs:
        yield case("tensor.strides.broadcast", layouts={name: repeated})
    for place in subject.in_place:
        alias = place.alias or next(iter(subject.inputs))
        others = {name: repeated for name in subject.inputs if name != alias}
        yield case(subject.in_place_clause, place)
        for strides in (None, padded):
            yield case(subject.in_place_clause, place, strides=strides, output_strides=strides, layouts=others)
