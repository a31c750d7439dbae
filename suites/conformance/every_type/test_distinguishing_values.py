"""Values that reveal the arithmetic, in every class of layout of every input, on every signature.

Elsewhere layouts are filled with ordinary values, and such values tried in packed tensors. A kernel that reads gaps,
turned axes or repeated elements may compute in a way of its own, which is wrong at ties, seams and quotients alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.specs import ScalarUnion
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array
from dmlcts.suites.combinations.rows import share_of
from dmlcts.suites.conformance.tensors.describing import distinguishing_sets
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation import distinguishing_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

Sizes = tuple[int, ...]

_MOST_SETS = 16
_RANK = 4
_ROW = 19  # values of an only input
_ALONE = (3, 5, 17, _ROW)
_PARTNERS = (20, 3)
_SINGLE = 64


@checks("values", "tensor.strides.padded", "tensor.strides.permuted", "tensor.strides.broadcast")
def test_distinguishing_values_in_layouts(subject: Subject, judge: Judge) -> None:
    """Ties, seams, quotients: in each input spaced, padded, turned, and repeated along some axes, with gaps or not."""
    judge.all(share_of(subject, list(_cases(subject))))


@checks("rounding", "tensor.strides.padded", "tensor.strides.permuted", "tensor.strides.broadcast")
def test_distinguishing_values_in_layouts_to_be_rounded(subject: Subject, judge: Judge) -> None:
    """The same of an operator whose values are stated by modes of rounding alone."""
    judge.all(share_of(subject, list(_cases(subject))))


def _cases(subject: Subject) -> Iterator[Case]:
    for attributes in distinguishing_sets(subject, _MOST_SETS):
        around = bounds_of(subject, attributes)
        if len(subject.inputs) == 1:
            yield from _for_all(subject, attributes, around)
        if _RANK in subject.ranks:
            for name in subject.inputs:
                yield from _in_gaps(subject, attributes, around, name)
                yield from _repeated(subject, attributes, around, name)


def bounds_of(subject: Subject, attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    """The bounds among some attributes, as numbers."""
    numbers = [attributes[item.name] for item in subject.table.attributes if item.role in ("low", "high")]
    return tuple(float(number.value if isinstance(number, ScalarUnion) else number) for number in numbers)


def _for_all(subject: Subject, attributes: Mapping[str, Any], around: tuple[Any, ...]) -> Iterator[Case]:
    """Each value of an only input as the one that is repeated everywhere."""
    ((name, data_type),) = subject.inputs.items()
    sizes = subject.flat(_SINGLE)
    operator = subject.describe(sizes, attributes, layouts={name: (0,) * len(sizes)})
    clause = subject.values_clause(attributes)
    for value in distinguishing_values.for_all(data_type, around, nan=not subject.of_one_type):
        values = subject.of_arrays({name: np.array([value], data_type.numpy)}).streams
        yield Case(operator, values, clause, "tensor.strides.broadcast")


@dataclass(frozen=True)
class _Turns:
    """Values, each beside some partners.

    Attributes:
        sizes: two that the values fill, and two that the partners of each do.
        values: those of the input that is looked at.
        partners: those of the other inputs, a row for each value.
    """

    sizes: Sizes
    values: Array
    partners: Mapping[str, Array]

    @classmethod
    def of(cls, subject: Subject, name: str, around: tuple[Any, ...]) -> _Turns:
        """The values of an input, with those of the others."""
        if len(subject.inputs) == 1:
            values = distinguishing_values.alone(subject.inputs[name], around, nan=not subject.of_one_type)
            return cls((-(-values.size // _ROW), _ROW, 1, 2), values, {})
        names, types = tuple(subject.inputs), tuple(subject.inputs.values())
        arrays = dict(zip(names, distinguishing_values.beside(types, names.index(name), around), strict=True))
        values = arrays.pop(name)[:, 0]
        return cls((values.size // 10, 10, *_PARTNERS), values, arrays)

    def arranged(self, order: Sizes) -> dict[str, Array]:
        """The partners in the order of a tensor whose dimensions are some of ours, as ``order`` numbers them."""
        return {name: array.reshape(self.sizes).transpose(order).ravel() for name, array in self.partners.items()}


def _in_gaps(subject: Subject, attributes: Mapping[str, Any], around: tuple[Any, ...], name: str) -> Iterator[Case]:
    """All values in one input that is spaced, has gaps behind its rows, or is permuted, with gaps and without.

    Of several inputs in all of them too, where they are spaced or permuted alike.
    """
    turns = _Turns.of(subject, name, around)
    sizes = turns.sizes if turns.partners else _ALONE
    values = turns.arranged((0, 1, 2, 3))
    values[name] = np.repeat(turns.values, turns.sizes[2] * turns.sizes[3]) if turns.partners else turns.values
    axes, clause = tuple(range(_RANK)), subject.values_clause(attributes)
    streams = subject.of_arrays({member: values[member] for member in subject.inputs}).streams
    spaced = tuple(2 * stride for stride in permuted(sizes, axes))
    for layout, strides in (
        ("padded", spaced),
        ("padded", permuted(sizes, axes, 1)),
        ("permuted", permuted(sizes, axes[::-1])),
        ("permuted", permuted(sizes, (0, 2, 3, 1))),
        ("permuted", permuted(sizes, axes[::-1], 2)),
    ):
        operator = subject.describe(sizes, attributes, layouts={name: strides})
        yield Case(operator, streams, clause, f"tensor.strides.{layout}")
    if turns.partners and name == next(iter(subject.inputs)):
        for layout, strides in (("padded", spaced), ("permuted", permuted(sizes, axes[::-1]))):
            operator = subject.describe(sizes, attributes, strides)
            yield Case(operator, streams, clause, f"tensor.strides.{layout}")


def _repeated(subject: Subject, attributes: Mapping[str, Any], around: tuple[Any, ...], name: str) -> Iterator[Case]:
    """Each value of one input repeated along some axes: the last, the first, those on both sides; close and apart."""
    turns = _Turns.of(subject, name, around)
    rows, row = turns.sizes[:2]
    apart, clause = 2 * row + 1, subject.values_clause(attributes)
    for order, several in (
        ((0, 1, 2, 3), [(row, 1, 0, 0), (apart, 2, 0, 0)]),
        ((2, 3, 0, 1), [(0, 0, row, 1), (0, 0, apart, 2), (0, 0, 1, rows)]),
        ((2, 0, 1, 3), [(0, row, 1, 0), (0, apart, 2, 0)]),
    ):
        sizes, values = tuple(turns.sizes[axis] for axis in order), turns.arranged(order)
        values[name] = np.resize(turns.values, math.prod(sizes) if values else turns.values.size)
        streams = subject.of_arrays({member: values[member] for member in subject.inputs}).streams
        for strides in several:
            operator = subject.describe(sizes, attributes, layouts={name: strides})
            yield Case(operator, streams, clause, "tensor.strides.broadcast")
