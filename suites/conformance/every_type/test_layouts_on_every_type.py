"""A few crowded layouts on every signature: kernels of one type may be wrong where those of other types are not.

The other tests of layouts are run on some signatures of an operator in the quick profile. What comes together here goes
wrong in kernels of its own: the highest rank and an odd number of elements, in place of one input while another one is
broadcast, inputs that are broadcast together or are one region, strides on one tensor alone, strides or in place with
ScaleBias, with each number that an operator takes, or with bounds of another kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc, ScalarUnion, ScaleBias
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.conformance.having import numeric_bounds, scale_bias
from dmlcts.suites.conformance.tensors.describing import (
    SPECIAL,
    at_every_rank,
    distinguishing_sets,
    low_rank,
    may_be_one_region,
    plain_scaling,
    special_elements,
)
from dmlcts.suites.conformance.tensors.test_aliasing import may_overlap
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation import attributes as numbers
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.edge_values import kinds
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_MOST_SETS = 16
_WHOLE = range(5, 17)  # binary logarithms of what workgroups and grids are made of
_SIZES = (3, 1, 3, 1, 1, 3, 1, 5)  # an odd number of elements at every rank


@checks(
    "values",
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.output",
    "tensor.strides.broadcast",
    "binding.same-resource",
)
def test_crowded_layouts(subject: Subject, judge: Judge) -> None:
    """Odd sizes of the highest rank, beyond quick of a low one too: padded, permuted, broadcast, in place of each.

    Each input is broadcast alone, and with each other one; inputs of one type are one region.
    """
    ranks = [*_ranks(subject), *([low_rank(subject)] if subject.profile.every_place else [])]
    judge.all(
        case
        for rank in dict.fromkeys(ranks)
        for attributes in _sets(subject)
        for case in crowded(subject, _SIZES[-rank:], attributes)
    )


def _ranks(subject: Subject) -> list[int]:
    """The highest obliged rank, and that of ordinary tensors, where it is another and obliged too."""
    return sorted({subject.ranks[-1], 4} & set(subject.ranks), reverse=True)


def _sets(subject: Subject) -> list[dict[str, Any]]:
    """Attributes that let results differ; with a fused operator as well, where one may be."""
    plain = subject.revealing()
    fused = [item.name for item in subject.table.attributes if item.type == FUSED]
    return [plain, *({**plain, name: OperatorDesc("ACTIVATION_RELU", {}, {})} for name in fused)]


@checks(
    "values",
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.output",
    "tensor.strides.broadcast",
    "binding.same-resource",
    having=numeric_bounds,
)
def test_bounds_in_crowded_layouts(subject: Subject, judge: Judge) -> None:
    """Inverted, equal, infinite and odd bounds, with elements beside them, where combinations have ordinary ones.

    A ScaleBias may come besides, where the operator has one. Bounds next to zero are in no combination, and those of
    which kernels are often their own, as 0 and 1, are so by chance alone.
    """
    sizes = _SIZES[-subject.ranks[-1] :]
    odd = list(_odd(subject))
    usual = numbers.usual_sets(subject.table, subject.signature)
    for attributes in [*odd, *(bounds for bounds in usual if bounds not in odd)]:
        values = _beside_bounds(subject, attributes)
        judge.all(crowded(subject, sizes, attributes, values))
        if attributes in odd:
            judge.all([*at_every_rank(subject, attributes, values), _again(subject, attributes, values)])
        if subject.table.has_scale_bias:
            judge.all(crowded(subject, sizes, subject.scaled(attributes, plain_scaling(subject)), values))


def _odd(subject: Subject) -> Iterator[dict[str, Any]]:
    """Attributes with bounds of each kind that no combination has."""
    low, high = (
        [item for item in subject.table.attributes if item.is_number and item.role == role] for role in ("low", "high")
    )
    own = subject.data_type
    combined = subject.of_one_type and subject.table.float_attributes
    odd = edge_values.odd_bounds(own) if low and high and not combined else []
    for pair in [*odd, *(edge_values.tiny_bounds(own) if low or high else [])]:
        numbers_by_name = {
            item.name: numbers.number(subject.table, subject.signature, item, value)
            for items, value in zip((low, high), pair, strict=True)
            for item in items
        }
        yield subject.attributes(**numbers_by_name)


def _beside_bounds(subject: Subject, attributes: dict[str, Any]) -> Streams:
    """Elements of which some lie beside the bounds and on them."""
    own, first = subject.data_type, next(iter(subject.inputs))
    raw_bounds = [attributes[item.name] for item in subject.table.attributes if item.role in ("low", "high")]
    bounds = [number.value if isinstance(number, ScalarUnion) else number for number in raw_bounds]
    if not own.is_floating:  # a FLOAT next to the highest integer may be greater than it
        least, greatest = edge_values.limits_of(own)
        bounds = [min(max(int(bound), least), greatest) for bound in bounds]
    special = np.concatenate([values[:2] for values in kinds(own).values()])
    arrays = subject.distinct(251).arrays
    parts = [edge_values.neighbours(np.array(bounds, own.numpy), own), special, arrays[first][:11]]
    return subject.of_arrays(arrays | {first: np.resize(np.concatenate(parts), 251)}).streams


def _again(subject: Subject, attributes: dict[str, Any], values: Streams) -> Case:
    """The case of a kernel that is dispatched several times."""
    operator = subject.describe(subject.flat(61), attributes)
    return Case(operator, values, subject.values_clause(attributes), "execution.repeatable", "again")


@checks("values", "tensor.strides.padded", "tensor.strides.broadcast")
def test_special_elements_in_crowded_layouts(subject: Subject, judge: Judge) -> None:
    """NaN, infinities, subnormals, zeros and limits, alike and not in each input: strided, broadcast, in place.

    Inputs of one type share a region too: what is a difference of equals is 0 for numbers alone.
    """
    attributes = subject.revealing()
    table = subject.table
    if table.lower and table.upper and subject.data_type.is_floating:  # which would hide infinities and limits
        attributes = subject.between(-math.inf, math.inf)
    judge.all(_special(subject, _SIZES[-subject.ranks[-1] :], attributes))


def _special(subject: Subject, sizes: tuple[int, ...], attributes: dict[str, Any]) -> Iterator[Case]:
    axes = tuple(range(len(sizes)))
    padded, repeated = permuted(sizes, axes, 1), (*((0,) * (len(sizes) - 1)), 1)
    clause, names, elements = subject.values_clause(attributes), tuple(subject.inputs), special_elements(subject)

    def beginning(start: int) -> Streams:
        return elements.each(lambda array: np.roll(array, -start)).streams

    for start in range(0, SPECIAL, math.prod(sizes)):
        values = beginning(start)
        yield Case(subject.describe(sizes, attributes, padded, padded), values, clause, "tensor.strides.padded")
        packed = subject.describe(sizes, attributes)
        for place in subject.in_place:
            yield Case(packed, values, clause, subject.in_place_clause, placement=place)
        if may_be_one_region(subject):
            yield Case(packed, values, clause, "binding.same-resource", placement=Placement(one_region=True))
        if may_overlap(subject):
            yield Case(packed, values, clause, "binding.same-resource", placement=Placement(overlapping=True))
    for start in range(0, SPECIAL // 2, sizes[-1]):
        operator = subject.describe(sizes, attributes, layouts={names[-1]: repeated})
        yield Case(operator, beginning(start), clause, "tensor.strides.broadcast")


@checks("values", "tensor.position")
def test_many_elements(subject: Subject, judge: Judge) -> None:
    """Powers of two up to 2^16, which leave no tail, and more than 2^18: no index of fewer bits serves.

    In place as well, where a kernel of its own may be.
    """
    judge.all(_of_many_elements(subject))


def _of_many_elements(subject: Subject) -> Iterator[Case]:
    attributes = subject.revealing()
    clause, values = subject.values_clause(attributes), subject.distinct(1021).streams
    for count in (*(1 << bits for bits in _WHOLE), (1 << 18) + 3):
        operator = subject.describe(subject.flat(count), attributes)
        yield Case(operator, values, clause, "tensor.position")
        for place in subject.in_place[:1]:
            yield Case(operator, values, clause, subject.in_place_clause, placement=place)


@checks(
    "values",
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.output",
    "tensor.strides.broadcast",
    "tensor.position",
    having=scale_bias,
)
def test_crowded_scale_bias(subject: Subject, judge: Judge) -> None:
    """A ScaleBias, a negative one, and one that changes nothing: strided, broadcast, in place of the first input.

    And one whose scale is 0 or -1, of which a kernel may make a fill or a negation.
    """
    for rank in _ranks(subject):
        judge.all([*_scaled(subject, _SIZES[-rank:]), *_filled_or_negated(subject, _SIZES[-rank:])])


def _scaled(subject: Subject, sizes: tuple[int, ...]) -> Iterator[Case]:
    ordinary = plain_scaling(subject)
    negative = [ScaleBias(-ordinary.scale, ordinary.bias)] if subject.data_type.is_signed else []
    others = [ScaleBias(1.0, 0.0), *negative]
    axes = tuple(range(len(sizes)))
    padded, turned = permuted(sizes, axes, 1), permuted(sizes, axes[::-1], 2)
    values = subject.distinct(251).streams
    for number, attribute_set in enumerate(distinguishing_sets(subject, _MOST_SETS)):
        for scaling in (ordinary, *others) if not number else (ordinary,):
            attributes = subject.scaled(attribute_set, scaling)
            clause = subject.scaled_values_clause(attributes)
            strided = subject.describe(sizes, attributes, padded, padded)
            yield Case(strided, values, clause, "tensor.strides.padded")
            layouts = [subject.describe(sizes, attributes), strided]
            if not number:
                yield Case(layouts[0], values, clause, "tensor.position")
                permutation = subject.describe(sizes, attributes, turned, turned)
                layouts.append(permutation)
                repeated = dict.fromkeys(subject.inputs, (*((0,) * (len(sizes) - 1)), 1))
                for layout, operator in {
                    "permuted": permutation,
                    "output": subject.describe(sizes, attributes, None, turned),
                    "broadcast": subject.describe(sizes, attributes, layouts=repeated),
                }.items():
                    yield Case(operator, values, clause, f"tensor.strides.{layout}")
            for place in subject.in_place[:1]:
                for operator in layouts:
                    yield Case(operator, values, clause, subject.in_place_clause, placement=place)


def _filled_or_negated(subject: Subject, sizes: tuple[int, ...]) -> Iterator[Case]:
    axes, bias = tuple(range(len(sizes))), plain_scaling(subject).bias
    padded, turned = permuted(sizes, axes, 1), permuted(sizes, axes[::-1], 2)
    values, attribute_set = subject.distinct(251).streams, distinguishing_sets(subject, 1)[0]
    for scale in (0.0, -1.0) if subject.data_type.is_floating else (0.0,):  # of integers -1 is the negative one
        attributes = subject.scaled(attribute_set, ScaleBias(scale, bias))
        clause = subject.scaled_values_clause(attributes)
        for layout, source, target in (("padded", padded, padded), ("output", None, turned)):
            operator = subject.describe(sizes, attributes, source, target)
            yield Case(operator, values, clause, f"tensor.strides.{layout}")
        for place in subject.in_place[:1]:
            operator = subject.describe(sizes, attributes)
            yield Case(operator, values, clause, subject.in_place_clause, placement=place)


def crowded(
    subject: Subject, sizes: tuple[int, ...], attributes: dict[str, Any], values: Streams | None = None
) -> Iterator[Case]:
    """Padded, permuted, each input broadcast alone and with others, in one region, and in place of each."""
    axes = tuple(range(len(sizes)))
    padded, turned = permuted(sizes, axes, 1), permuted(sizes, axes[::-1], 2)
    repeated, alike = (*((0,) * (len(sizes) - 1)), 1), (0,) * len(sizes)
    values, clause = values or subject.distinct(251).streams, subject.scaled_values_clause(attributes)

    def case(layout_clause: str, place: Placement | None = None, **layout: Any) -> Case:
        operator = subject.describe(sizes, attributes, **layout)
        return Case(operator, values, clause, layout_clause, placement=place or Placement())

    yield case("tensor.position")
    yield case("tensor.strides.padded", strides=padded, output_strides=padded)
    yield case("tensor.strides.permuted", strides=turned)
    yield case("tensor.strides.output", output_strides=turned)
    several = (*((name,) for name in subject.inputs), *combinations(subject.inputs, 2), tuple(subject.inputs))
    for names in dict.fromkeys(several):
        for strides in (repeated, alike):
            yield case("tensor.strides.broadcast", layouts=dict.fromkeys(names, strides))
    if may_be_one_region(subject):
        for shared_strides in (None, padded):
            yield case("binding.same-resource", Placement(one_region=True), strides=shared_strides)
    if may_overlap(subject):
        yield case("binding.same-resource", Placement(overlapping=True))
    for place in subject.in_place:
        alias = place.alias or next(iter(subject.inputs))
        others = {name: repeated for name in subject.inputs if name != alias}
        yield case(subject.in_place_clause, place)
        if others:
            yield case(subject.in_place_clause, place, layouts=dict.fromkeys(others, padded))
        for shared_strides in (None, padded):
            yield case(
                subject.in_place_clause, place, strides=shared_strides, output_strides=shared_strides, layouts=others
            )
