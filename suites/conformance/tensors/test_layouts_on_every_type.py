"""A few crowded layouts on every signature: kernels of one type may be wrong where those of other types are not.

The other tests of layouts are run on some signatures of an operator in the quick profile. What comes together here goes
wrong in kernels of its own: the highest rank and an odd number of elements, in place of one input while another one is
broadcast, strides on one tensor alone, strides or in place with ScaleBias and each number that an operator is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from dmlcts.specs import ScaleBias
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_MOST_SETS = 16
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


@checks("values", "tensor.strides.padded")
def test_crowded_scale_bias(subject: Subject, judge: Judge) -> None:
    """An ordinary ScaleBias, and the one that changes nothing: apart with strides, in place with and without them."""
    if subject.table.has_scale_bias:
        judge.all(_scaled(subject, _SIZES[-subject.ranks[-1] :]))


def _scaled(subject: Subject, sizes: tuple[int, ...]) -> Iterator[Case]:
    bounded = any(item.role in ("low", "high") for item in subject.table.attributes)
    sets = [subject.revealing()] if bounded else [*islice(subject.attribute_sets(), _MOST_SETS)]
    ordinary = ScaleBias(0.5, 0.25) if subject.data_type.is_floating else ScaleBias(1.0, 3.0)
    padded = permuted(sizes, tuple(range(len(sizes))), 1)
    values = subject.distinct(251).streams
    for number, given in enumerate(sets):
        for scaling in (ordinary, ScaleBias(1.0, 0.0)) if not number else (ordinary,):
            attributes = {**given, "ScaleBias": scaling}
            clause = subject.scaled_values_clause(attributes)
            strided = subject.describe(sizes, attributes, padded, padded)
            yield Case(strided, values, clause, "tensor.strides.padded")
            for place in subject.in_place[:1]:
                for operator in (subject.describe(sizes, attributes), strided):
                    yield Case(operator, values, clause, subject.in_place_clause, placement=place)


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
