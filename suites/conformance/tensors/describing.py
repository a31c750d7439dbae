"""Descriptions in which one tensor is not as the others are, with and without strides and with attributes by turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any, TypeVar

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.models import Activation
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.combinations.sizes import with_larger_totals
from dmlcts.suites.generation import activations
from dmlcts.suites.generation.descriptions import tensor
from dmlcts.suites.generation.edge_values import kinds
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.subject import Subject

_MOST_NUMBERS = 7
_LARGER = "tensor.total-size.larger"
_EXTRA = 256  # bytes
SIZES = (3, 2, 5, 2, 3, 2, 2, 3)
"""Small sizes; the first so many of them serve a lower rank."""
SPECIAL = 90
"""How many special elements there are, the first half of them of the same kind in every input."""

_Place = TypeVar("_Place")
Sizes = tuple[int, ...]
Made = Callable[[DataType], TensorDesc]
"""Makes a tensor of an element type."""


def low_rank(subject: Subject) -> int:
    """The lowest obliged rank above one; one where there is no other."""
    return min((rank for rank in subject.ranks if rank > 1), default=1)


def plane(subject: Subject, rows: int, columns: int) -> Sizes:
    """Two sizes that can be exchanged, of the lowest rank that has two; their product where none has."""
    rank = low_rank(subject)
    return (*[1] * (rank - 2), rows, columns) if rank > 1 else (rows * columns,)


def along(sizes: Sizes, axis: int) -> Sizes:
    """Strides of what changes along one dimension alone; one from the last on is negative, as indices are."""
    return tuple(int(place == axis % len(sizes)) for place in range(len(sizes)))


def packed(sizes: Sizes) -> Made:
    """Packed tensors of these sizes."""
    return lambda data_type: tensor(data_type, sizes)


def written_out(made: Made, *zeros: int) -> Made:
    """The same tensors with strides given: packed ones, but 0 along some dimensions and where there is one element."""

    def strided(data_type: DataType) -> TensorDesc:
        plain = made(data_type)
        still = {*zeros, *(axis for axis, size in enumerate(plain.sizes) if size == 1)}
        strides = tuple(0 if axis in still else stride for axis, stride in enumerate(plain.element_strides))
        return tensor(data_type, plain.sizes, strides)

    return strided


def both_forms(subject: Subject, made: Made, turn: int, *zeros: int) -> Sequence[Made]:
    """The tensors without strides and with strides given; in quick the types of an operator have one each, by turns.

    Args:
        subject: what is described.
        made: makes those without.
        turn: the number of what is described, which turns the types over.
        zeros: dimensions along which the strides given are 0.
    """
    forms = (made, written_out(made, *zeros))
    first = (turn + subject.table.data_types.index(subject.data_type)) % len(forms)
    return forms[first:][:1] if subject.profile.shares_out else forms


def described(subject: Subject, usual: Made, odd: Mapping[str, TensorDesc] | None = None) -> OperatorDesc:
    """A description whose tensors are all made alike, each of its own type, but for those given."""
    tensors = {}
    for name, data_type in subject.types.items():
        if odd and name in odd:
            tensors[name] = odd[name]
        elif name in subject.single:
            tensors[name] = subject.one_element(name, usual(subject.data_type).rank)
        else:
            tensors[name] = usual(data_type)
    return OperatorDesc(subject.table.operator, tensors, subject.attributes())


def refused(subject: Subject, clause: str, usual: Made, odd: Mapping[str, TensorDesc] | None = None) -> Case:
    """A case of a description that has to be refused."""
    return Case(described(subject, usual, odd), subject.ones, clause, None, "refused")


def accepted(subject: Subject, clause: str, usual: Made) -> Case:
    """The control: a case of a description that has to be accepted."""
    return Case(described(subject, usual), subject.ones, clause, None, "accepted")


def each_odd(
    subject: Subject, clause: str, usual: Made, odd: Made, names: Mapping[str, DataType] | None = None
) -> Iterator[Case]:
    """A case to be refused for each tensor that is odd alone.

    Args:
        subject: what is described.
        clause: the clause that asks for the refusal.
        usual: makes the other tensors.
        odd: makes the odd one.
        names: which are odd in turn; all that have as many elements as the output by default.
    """
    for name, data_type in (subject.wide if names is None else names).items():
        yield odd_alone(subject, clause, usual, odd, name, data_type)


def odd_alone(subject: Subject, clause: str, usual: Made, odd: Made, name: str, data_type: DataType) -> Case:
    """A case to be refused for one tensor of a type that is odd."""
    return refused(subject, clause, usual, {name: tensor_like(subject, name, odd, data_type)})


def tensor_like(subject: Subject, name: str, like: Made, data_type: DataType) -> TensorDesc:
    """A tensor of a type; one that has a single element keeps that, with as many dimensions and strides."""
    made = like(data_type)
    if subject.table.tensors[name].elements is None:
        return made
    ones = (1,) * made.rank
    return tensor(data_type, ones, None if made.strides is None else ones)


def compared(subject: Subject, word: str) -> dict[str, DataType]:
    """The tensors that have to agree with others in a constraint's ``word``, with their types.

    A tensor of one element, as a zero point is, agrees in everything but its sizes.
    """
    named = subject.wide if word == "Sizes" else subject.types
    data_types: dict[str, DataType] = {}
    for group in subject.table.constraints:
        there = [name for name in group.tensors if name in named]
        if word in group.same and len(there) > 1 and not (word == "DataType" and group.counting):
            data_types |= {name: named[name] for name in there}
    return data_types


def distinguishing_sets(subject: Subject, most: int) -> list[dict[str, Any]]:
    """Attributes that let results differ: with bounds one set, else at most so many, of each number and enumerator."""
    bounded = any(item.role in ("low", "high") for item in subject.table.attributes)
    return [subject.revealing()] if bounded else [*islice(subject.attribute_sets(), most)]


def plain_scaling(subject: Subject) -> ScaleBias:
    """A ScaleBias of few digits that changes every element; whole on integers."""
    return ScaleBias(0.5, 0.25) if subject.data_type.is_floating else ScaleBias(1.0, 3.0)


def may_be_one_region(subject: Subject) -> bool:
    """Whether two inputs are of one type, so that they may be the same memory."""
    return len(set(subject.inputs.values())) < len(subject.inputs)


def special_elements(subject: Subject) -> Elements:
    """Each kind's first values, then the same with each further input's taken from farther on; ``SPECIAL`` of each."""
    arrays = {}
    for number, (name, data_type) in enumerate(subject.inputs.items()):
        each = np.concatenate([values[:3] for values in kinds(data_type).values()])
        alike = np.resize(each, SPECIAL // 2)
        arrays[name] = np.concatenate([alike, np.roll(alike, -7 * number)])
    return subject.of_arrays(arrays)


def places_in_turn(subject: Subject, places: Sequence[_Place], turn: int) -> Sequence[_Place]:
    """All places, or in quick the one whose turn it is."""
    return places if subject.profile.every_place else places[(turn + subject.seed) % len(places) :][:1]


def at_every_rank(subject: Subject, attributes: Mapping[str, Any], values: Streams) -> Iterator[Case]:
    """Packed tensors of each rank, each placed otherwise or larger than needed: every rank and every place is met."""
    clause = subject.scaled_values_clause(attributes)
    places = [
        ("tensor.position", Placement()),
        ("binding.offset", Placement(front=528, gap=272)),
        ("binding.same-resource", Placement(output_first=True)),
        ("binding.offset", Placement(slack=64)),
        (_LARGER, Placement()),
    ]
    if may_be_one_region(subject):
        places.append(("binding.same-resource", Placement(one_region=True)))
    for turn in range(max(len(places), len(subject.ranks))):
        layout_clause, place = places[turn % len(places)]
        operator = subject.describe(SIZES[: subject.ranks[turn % len(subject.ranks)]], attributes)
        if layout_clause == _LARGER:
            operator = with_larger_totals(operator, _EXTRA)
        yield Case(operator, values, clause, layout_clause, placement=place)


def rearranged(subject: Subject, attributes: Mapping[str, Any]) -> Iterator[OperatorDesc]:
    """Descriptions with tensors that a kernel may bring into another order before it computes, and keep so.

    The first input alone holds one row for all, the second one element for all, and so by turns; then all inputs hold
    the other of the two, in larger tensors. The last one has all tensors permuted but for their rows, at the highest
    rank.
    """
    sizes = plane(subject, 3, 7)
    row, single = (*[0] * (len(sizes) - 1), 1), (0,) * len(sizes)
    for name, strides in zip(subject.inputs, cycle((row, single)), strict=False):
        yield subject.describe(sizes, attributes, layouts={name: strides})
    yield with_larger_totals(
        subject.describe(sizes, attributes, layouts=dict(zip(subject.inputs, cycle((single, row)), strict=False))), 16
    )
    deep = (*(2, 3, 1, 2, 1, 2, 1, 3)[: subject.ranks[-1] - 1], 4)
    reordered = (*(4 * math.prod(deep[:axis]) for axis in range(len(deep) - 1)), 1)
    yield subject.describe(deep, attributes, reordered, reordered)


def attribute_turns(subject: Subject, known: Iterable[Activation]) -> list[dict[str, Any]]:
    """Attributes that descriptions take by turns; each set is one that the level obliges, the ordinary one first.

    With ScaleBias, each other enumerator, wider and inverted bounds, other exponents, and each activation of the level.
    """
    ordinary = subject.attributes()
    changes: list[dict[str, Any]] = []
    if subject.table.has_scale_bias:
        changes.append(subject.scaled({}, plain_scaling(subject)))
    for item in subject.table.attributes:
        if item.type == "ENUM":
            changes += [{item.name: enumerator} for enumerator in item.enumerators[1:]]
        elif item.type == FUSED:
            listed = (activation for activation in known if activation.feature_level <= subject.level)
            changes += [{item.name: next(activations.descriptions(activation))} for activation in listed]
    bounds = {item.role: item.name for item in subject.table.attributes if item.is_number and item.role != "other"}
    if bounds:
        wide = {name: subject.revealing()[name] for name in bounds.values()}
        changes.append(wide)
        if len(bounds) > 1:
            changes.append(dict(zip(wide, reversed(wide.values()), strict=True)))
    elif subject.table.numbers:
        changes += islice(subject.attribute_sets(), _MOST_NUMBERS)
    return [ordinary, *(attributes for change in changes if (attributes := {**ordinary, **change}) != ordinary)]


def with_attributes(case: Case, attributes: Mapping[str, Any]) -> Case:
    """The case of a description of the same tensors with other attributes."""
    return case.with_operator(OperatorDesc(case.operator.name, case.operator.tensors, attributes))


def by_turns(sets: list[dict[str, Any]], cases: Iterable[Case]) -> Iterator[Case]:
    """The cases, of which those to be refused take the sets of attributes in turn: as many as before."""
    turn = 0
    for case in cases:
        if case.expectation == "refused":
            yield with_attributes(case, _at(sets, turn))
            turn += 1
        else:
            yield case


def crossed(sets: list[dict[str, Any]], cases: Iterable[Case]) -> Iterator[Case]:
    """The cases, and those to be refused once more with the other sets of attributes in turn, each at least once."""
    asked, others = list(cases), sets[1:]
    wrong = [case for case in asked if case.expectation == "refused"]
    yield from asked
    if others and wrong:
        for turn in range(max(len(others), len(wrong))):
            yield with_attributes(wrong[turn % len(wrong)], _at(others, turn))


def _at(sets: list[dict[str, Any]], turn: int) -> dict[str, Any]:
    """The set of a turn: each round begins with the next one, so that no set falls in step with what takes them."""
    return sets[(turn + turn // len(sets)) % len(sets)]
