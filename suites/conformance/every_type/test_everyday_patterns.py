"""What networks do every day, on every signature: one element for all, one a channel, an operand with itself.

Kernels have shortcuts of their own there: a division by a power of two becomes a shift, a product with -1 a complement,
and scale and zero point of a whole tensor are constants. Elsewhere what is repeated is ordinary, and few dozens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Array, Streams, Values
from dmlcts.suites.combinations.rows import share_of
from dmlcts.suites.combinations.sizes import with_larger_totals
from dmlcts.suites.conformance.every_type.test_distinguishing_values import bounds_of
from dmlcts.suites.conformance.having import several_inputs
from dmlcts.suites.conformance.tensors.describing import along, may_be_one_region, plain_scaling
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation import distinct
from dmlcts.suites.generation.distinguishing_values import for_all_beside
from dmlcts.suites.generation.edge_values import kinds, neighbours, shortcuts
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

Sizes = tuple[int, ...]
Layouts = dict[str, Sizes]

_WHOLE = 64  # a whole workgroup: nothing is left to a tail
_SEVERAL = (2, 5, 8, 4)  # whole workgroups too, of a few hundred elements
_TURNED = (2, 4, 2, 4)  # a whole workgroup, which can be turned
_MANY = (3, 16, 9, 11)  # thousands, which are not
_SQUARE = (1, 1, 17, 17)
_REPEATED = (3, 0, 5, 2)  # the first elements of what is repeated: in the domain of powers, counts and quotients


@checks("values", "tensor.strides.broadcast", having=several_inputs)
def test_one_distinguishing_element_for_all(subject: Subject, judge: Judge) -> None:
    """Each value that reveals the arithmetic, repeated in each input, beside partners with which it does.

    Those for which a kernel may have a shortcut in place of the others as well, in packed tensors and in larger ones.
    """
    judge.all(_distinguishing(subject))


def _distinguishing(subject: Subject) -> Iterator[Case]:
    attributes, sizes, many = subject.revealing(), subject.flat(_WHOLE), subject.flat(2 * _WHOLE)
    clause = subject.values_clause(attributes)
    for name in subject.inputs:
        for_all = {name: (0,) * len(sizes)}
        small_operator, other = (subject.describe(each, attributes, layouts=for_all) for each in (sizes, many))
        yield from (
            Case(other, values, clause, "tensor.strides.broadcast")
            for values in _beside_each(subject, name, bounds_of(subject, attributes))
        )
        placed = [
            (each, place)
            for place in subject.in_place
            if place.aliased(small_operator) != name
            for each in (small_operator, with_larger_totals(small_operator, 64))
        ]
        for values in _distinguishing_streams(subject, name) if placed else ():
            for operator, place in placed:
                yield Case(operator, values, clause, subject.in_place_clause, placement=place)


def _beside_each(subject: Subject, name: str, around: tuple[float, ...]) -> Iterator[Streams]:
    """Values of all inputs for each revealing value of one, beside its partners and others."""
    names, types = tuple(subject.inputs), tuple(subject.inputs.values())
    order = [tensor for tensor in subject.types if tensor != subject.table.output]
    single = {
        tensor: Values.of(value, subject.single[tensor]) for tensor, value in distinct.singles(subject.single).items()
    }
    for values in for_all_beside(types, names.index(name), around, 2 * _WHOLE):
        streams = dict(zip(names, values, strict=True)) | single
        if any(subject.table.tensors[tensor].nonzero for tensor in names):
            yield subject.of_arrays({tensor: streams[tensor].array(2 * _WHOLE) for tensor in names}).streams
        else:
            yield Streams(tuple((tensor, streams[tensor]) for tensor in order))


def _distinguishing_streams(subject: Subject, name: str) -> Iterator[Streams]:
    """Values of all inputs for each value for which there may be a shortcut where it is one input's only one."""
    ordinary, data_type = subject.distinct(_WHOLE).arrays, subject.inputs[name]
    for value in shortcuts(data_type):
        if subject.table.tensors[name].nonzero and not value:
            continue
        arrays = {}
        for turn, (other, own) in enumerate(subject.inputs.items()):
            beside = neighbours([value], own) if own is data_type else np.array([], own.numpy)
            special = np.concatenate([beside, *(values[:3] for values in kinds(own).values()), ordinary[other]])
            arrays[other] = np.roll(special[:_WHOLE], -5 * turn)
        arrays[name] = np.full(_WHOLE, value)
        yield subject.of_arrays(arrays).streams


@checks(
    "tensor.strides.broadcast",
    "tensor.strides.permuted",
    "tensor.strides.padded",
    "tensor.strides.output",
    on="values",
    having=several_inputs,
)
def test_one_distinguishing_element_beside_layouts(subject: Subject, judge: Judge) -> None:
    """Each such value for all in each input, beside each layout of the other inputs and of the output, and scaled."""
    judge.all(share_of(subject, list(_beside_layouts(subject))))


def _beside_layouts(subject: Subject) -> Iterator[Case]:
    attributes, sizes = subject.revealing(), _of_rank(subject, _TURNED)
    axes = tuple(range(len(sizes)))
    turned, gaps = permuted(sizes, axes[::-1]), permuted(sizes, axes, 1)
    row, channel = along(sizes, -1), along(sizes, max(-3, -len(sizes)))
    scaled = subject.scaled(attributes, plain_scaling(subject)) if subject.table.has_scale_bias else attributes
    rows: list[tuple[Sizes, Sizes | None, dict[str, Any], Placement]] = [
        (turned, None, attributes, Placement(front=528, gap=272)),
        (gaps, turned, attributes, Placement()),
        (row, gaps, attributes, Placement(output_first=True)),
        (channel, None, scaled, Placement()),
    ]
    for name in subject.inputs:
        descriptions = []
        for others, output, attribute_set, place in rows:
            layouts = {other: others for other in subject.inputs if other != name} | {name: (0,) * len(sizes)}
            operator = subject.describe(sizes, attribute_set, None, output, layouts=layouts)
            descriptions.append((operator, subject.scaled_values_clause(attribute_set), place))
        for values in _distinguishing_streams(subject, name):
            for operator, clause, place in descriptions:
                yield Case(operator, values, clause, "tensor.strides.broadcast", placement=place)


@checks("values", "tensor.strides.broadcast")
def test_channels_rows_and_scalars(subject: Subject, judge: Judge) -> None:
    """An element a channel, one row for all, one element for all: of each input, of all but the first, and in place.

    Scale and zero point are so, a bias, a mask. Hundreds of elements, thousands, and squares.
    """
    judge.all(_repeated(subject))


@checks("rounding", "tensor.strides.broadcast")
def test_channels_rows_and_scalars_to_be_rounded(subject: Subject, judge: Judge) -> None:
    """The same of an operator whose values are stated by modes of rounding alone."""
    judge.all(_repeated(subject))


def _repeated(subject: Subject) -> Iterator[Case]:
    several, many, square = (_of_rank(subject, sizes) for sizes in (_SEVERAL, _MANY, _SQUARE))
    for layouts in _layouts(tuple(subject.inputs), several):
        yield from _laid_out(subject, several, layouts, in_place=True)
    further = [*subject.inputs][1:] or [*subject.inputs]
    for strides in _kinds(many)[:2]:
        yield from _laid_out(subject, many, dict.fromkeys(further, strides))
    for strides in (along(square, -1), along(square, -2)):
        yield from _laid_out(subject, square, {further[-1]: strides})


def _of_rank(subject: Subject, sizes: Sizes) -> Sizes:
    """The sizes in four dimensions, or in as many as are obliged."""
    rank = 4 if 4 in subject.ranks else subject.ranks[-1]
    return (*((1,) * (rank - 4)), *sizes[-rank:])


def _kinds(sizes: Sizes) -> list[Sizes]:
    """Strides of an element a channel, of one for all, and of one row for all."""
    return [along(sizes, max(-3, -len(sizes))), (0,) * len(sizes), along(sizes, -1)]


def _layouts(names: tuple[str, ...], sizes: Sizes) -> Iterator[Layouts]:
    """Each input repeated in each way; of more than two all but the first, and one for all beside the first's row."""
    for strides in _kinds(sizes):
        yield from ({name: strides} for name in names)
        if len(names) > 2:
            yield dict.fromkeys(names[1:], strides)
    if len(names) > 2:
        yield from ({names[0]: along(sizes, -1), other: (0,) * len(sizes)} for other in names[1:])


def _laid_out(subject: Subject, sizes: Sizes, layouts: Layouts, *, in_place: bool = False) -> Iterator[Case]:
    attributes = subject.revealing()
    clause, values = subject.values_clause(attributes), _values(subject, layouts)
    operator = subject.describe(sizes, attributes, layouts=layouts)
    yield Case(operator, values, clause, "tensor.strides.broadcast")
    for place in subject.in_place if in_place else ():
        if place.aliased(operator) not in layouts:
            yield Case(operator, values, clause, subject.in_place_clause, placement=place)


def _values(subject: Subject, layouts: Layouts) -> Streams:
    arrays: dict[str, Array] = dict(subject.distinct(251).arrays)
    for name in layouts:
        arrays[name] = np.concatenate([np.array(_REPEATED, arrays[name].dtype), arrays[name]])[:251]
    return subject.of_arrays(arrays).streams


@checks("values", "tensor.strides.permuted", "tensor.strides.broadcast", "binding.same-resource", having=several_inputs)
def test_an_operand_with_itself(subject: Subject, judge: Judge) -> None:
    """Inputs that are one region, the output too where it may be: packed, turned, rows for all; and the last first."""
    judge.all(_shared(subject))


def _shared(subject: Subject) -> Iterator[Case]:
    attributes, sizes = subject.revealing(), _of_rank(subject, _SEVERAL)
    clause, values = subject.values_clause(attributes), subject.distinct(251).streams
    packed = subject.describe(sizes, attributes)
    turned = permuted(sizes, tuple(range(len(sizes)))[::-1])
    if may_be_one_region(subject):
        for strides in (None, turned, along(sizes, -1)):
            operator = subject.describe(sizes, attributes, strides)
            yield Case(operator, values, clause, "binding.same-resource", placement=Placement(one_region=True))
    if subject.inputs_may_be_the_output:
        for operator in (packed, subject.describe(sizes, attributes, turned, turned)):
            yield Case(
                operator, values, clause, subject.in_place_clause, placement=Placement(in_place=True, one_region=True)
            )
    for place in subject.in_place:
        yield Case(packed, values, clause, subject.in_place_clause, placement=replace(place, inputs_turned=True))
