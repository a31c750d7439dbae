"""Descriptions at their limits: every dimension alone, zeros, 32 and 64 bits, numbers that no enumerator has.

Every refusal stands beside a control that is accepted. Nothing of the sizes described here is ever allocated. What has
to be refused takes the operator's attributes by turns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pytest

from dmlcts.specs import DataType, ScaleBias, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement, aliases_of
from dmlcts.suites.conformance.tensors.describing import (
    Made,
    accepted,
    attribute_turns,
    by_turns,
    compared,
    low_rank,
    odd_alone,
    packed,
    refused,
    tensor_like,
    written_out,
)
from dmlcts.suites.generation.descriptions import tensor
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

Sizes = tuple[int, ...]

SIZES = (3, 5, 2, 7, 3, 2, 5, 4)  # no size equals its neighbours, so that none passes for another
HUGE = 1 << 31
MOST = (1 << 32) - 1
_PARTS = 8  # among so many types of an operator the cases are shared out in quick


def _replaced(sizes: Sizes, axis: int, size: int) -> Sizes:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _share(subject: Subject, cases: Sequence[Callable[[], Case]]) -> list[Case]:
    """The subject's part of ``cases``: the types of an operator may share them out, so that together they take all.

    What the rules say here does not depend on the type. Only those that are taken are made.
    """
    types = subject.table.data_types
    parts = min(_PARTS, len(types))
    first = types.index(subject.data_type) % parts
    return [make() for make in (cases[first::parts] if subject.profile.shares_out else cases)]


def _judged(subject: Subject, judge: Judge, cases: list[Case]) -> None:
    judge.all(by_turns(attribute_turns(subject, judge.bench.tables.activations.values()), cases))


# Input and output.


@checks("constraint.sizes")
def test_each_size_alone_is_compared(subject: Subject, judge: Judge) -> None:
    """One size differs, at every rank and dimension, by one, by 2^16, or swapped with the next one, on each tensor.

    By turns the odd tensor has strides, along that dimension of 0.
    """
    clause = subject.clause("constraint.sizes")
    names = list(compared(subject, "Sizes").items())
    cases: list[Callable[[], Case]] = []
    for rank in subject.ranks:
        sizes = SIZES[:rank]
        whole = packed(sizes)
        cases.append(partial(accepted, subject, clause, whole))
        for axis, size in enumerate(sizes):
            changes = [_replaced(sizes, axis, size + 1), _replaced(sizes, axis, size + (1 << 16))]
            if axis + 1 < rank:
                changes.append(_replaced(_replaced(sizes, axis, sizes[axis + 1]), axis + 1, size))
            for turn, changed in enumerate(changes):
                chosen = names if subject.profile.every_partner or len(names) > 2 else names[1 - turn % 2 :][:1]
                odd = written_out(packed(changed), axis) if (axis + turn) % 2 else packed(changed)
                cases += [partial(odd_alone, subject, clause, whole, odd, name, kind) for name, kind in chosen]
    _judged(subject, judge, _share(subject, cases))


@checks("constraint.dimension-count")
def test_a_dimension_of_one_anywhere_counts(subject: Subject, judge: Judge) -> None:
    """One dimension of size 1 more, before, between and behind the others, at every rank, on each tensor in turn."""
    clause = subject.clause("constraint.dimension-count")
    names = list(compared(subject, "DimensionCount").items())
    cases: list[Callable[[], Case]] = []
    for rank in subject.ranks:
        whole = packed(SIZES[:rank])
        cases.append(partial(accepted, subject, clause, whole))
        if rank == 8:
            continue
        for axis in range(rank + 1):
            longer = packed((*SIZES[:axis], 1, *SIZES[axis:rank]))
            odd = written_out(longer) if (rank + axis) % 2 else longer
            cases.append(partial(odd_alone, subject, clause, whole, odd, *names[(axis + 1) % len(names)]))
    _judged(subject, judge, _share(subject, cases))


@checks("constraint.data-type")
def test_data_types_are_compared_at_every_rank(subject: Subject, judge: Judge) -> None:
    """Another listed type, of the same width where there is one, on each tensor, at every rank."""
    clause = subject.clause("constraint.data-type")
    cases = []
    for rank in subject.ranks:
        usual = packed(SIZES[:rank])
        cases.append(accepted(subject, clause, usual))
        for name, data_type in compared(subject, "DataType").items():
            others = [other for other in subject.table.types_of(name) if other is not data_type]
            others.sort(key=lambda other, own=data_type.itemsize: other.itemsize != own)  # type: ignore[misc]
            odd = written_out(usual) if rank % 2 else usual
            cases += [
                refused(subject, clause, usual, {name: tensor_like(subject, name, odd, other)}) for other in others[:1]
            ]
    _judged(subject, judge, cases)


# Sizes.


@checks("tensor.size.zero")
def test_a_zero_anywhere_is_refused(subject: Subject, judge: Judge) -> None:
    """A zero at every rank and dimension, packed, strided, and beside a size of 2^31; ones in its place pass."""
    clause = "tensor.size.zero"
    cases: list[Callable[[], Case]] = []
    for rank in subject.ranks:
        for axis in range(rank):
            sizes = _replaced(SIZES[:rank], axis, 0)
            ones = _replaced(SIZES[:rank], axis, 1)
            spaced = tuple(2 * stride for stride in TensorDesc(subject.data_type, ones).element_strides)
            beside = _replaced(sizes, axis - 1, HUGE) if rank > 1 else sizes
            for zero, strides in ((sizes, None), (sizes, spaced), (beside, None)):
                cases.append(partial(refused, subject, clause, _made(zero, strides, 1 << 20)))
            cases.append(partial(accepted, subject, clause, _made(ones, spaced)))
    _judged(subject, judge, _share(subject, cases))


def _made(sizes: Sizes, strides: Sizes | None = None, total: int | None = None) -> Made:
    return lambda data_type: tensor(data_type, sizes, strides, total)


def _too_many(rank: int) -> Iterator[Sizes]:
    """Sizes whose product is above 2^32 - 1: just above, huge, and small or zero modulo 2^32 or 2^64."""
    ones = (1,) * rank
    for first, second in ((0, rank - 1), (rank - 2, rank - 1)):
        for first_size, other in (
            (1 << 16, 1 << 16),
            (1 << 16, (1 << 16) + 1),
            (HUGE, 2),
            (2, HUGE + 1),
            (3, HUGE + 1),
            (MOST, MOST),
            (MOST, 2),
        ):
            yield _replaced(_replaced(ones, first, first_size), second, other)
    if rank > 2:
        yield (HUGE, HUGE, 4, *ones[3:])  # 2^64
        yield (*ones[3:], 1 << 22, 1 << 22, 1 << 22)  # 2^66
        yield (*ones[3:], MOST, MOST, MOST)
    yield (1 << -(-64 // rank),) * rank
    if rank > 4:
        yield (HUGE, 2, 1, 1, *ones[4:])
        yield (1 << 16, *ones[2:], 1 << 16)


@checks("tensor.elements.maximum")
def test_too_many_elements_of_every_rank(subject: Subject, judge: Judge) -> None:
    """More than 2^32 - 1 elements in any dimensions, with a total size that fits, or fits modulo 2^32; few pass."""
    clause = "tensor.elements.maximum"
    names = list(subject.wide)
    cases: list[Callable[[], Case]] = []
    for rank in subject.ranks:
        if rank < 2:
            continue  # no size reaches 2^32
        for sizes in dict.fromkeys(_too_many(rank)):
            count = math.prod(sizes)
            whole = _bytes(sizes, lambda item, count=count: min(count * item, (1 << 64) - 4))  # type: ignore[misc]
            repeated = _made(sizes, (0,) * rank)  # one element in memory, many to compute
            fits = all(count * data_type.itemsize < 1 << 64 for data_type in subject.wide.values())
            cases.append(partial(refused, subject, clause, whole))
            for name in names[:-1]:
                own = subject.wide[name]
                wrapped = tensor(own, sizes, None, count % (1 << 32) * own.itemsize or 4)
                cases.append(partial(refused, subject, clause, whole, {name: wrapped}))
                cases.append(partial(refused, subject, clause, whole if fits else repeated, {name: repeated(own)}))
        cases.append(partial(accepted, subject, clause, packed(SIZES[:rank])))
    if not cases:
        pytest.skip("needs two dimensions")
    _judged(subject, judge, _share(subject, cases))


def _bytes(sizes: Sizes, total: Callable[[int], int]) -> Made:
    return lambda data_type: tensor(data_type, sizes, None, total(data_type.itemsize))


# Total sizes.


def _short(
    subject: Subject, sizes: Sizes, strides: Sizes | None, total: Callable[[int], int]
) -> Iterator[Callable[[], Case]]:
    """Makes a case of a total size that is too small for sizes and strides, on each tensor alone; the others are right.

    Args:
        subject: what is described.
        sizes: of all tensors.
        strides: of the one that is wrong.
        total: its bytes, from the bytes of an element; rounded up to a multiple of four.
    """
    for name, data_type in subject.wide.items():
        short = tensor(data_type, sizes, strides, max(4, -(-total(data_type.itemsize) // 4) * 4))
        if data_type is subject.data_type:
            assert short.total_size_in_bytes < short.minimum_size_in_bytes, "the total size is enough"
        if short.total_size_in_bytes < short.minimum_size_in_bytes:
            yield partial(refused, subject, "tensor.total-size.minimum", packed(sizes), {name: short})


def _of_one_dimension(sizes: Sizes, strides: Sizes, axis: int, item: int) -> int:
    """The bytes that one dimension alone asks for, or a word less than all do, where that is as much."""
    all_of_them = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    alone = 1 + (sizes[axis] - 1) * strides[axis]
    return min(alone * item, -(-all_of_them * item // 4) * 4 - 4)


@checks("tensor.total-size.minimum")
def test_every_dimension_counts_for_the_total_size(subject: Subject, judge: Judge) -> None:
    """A total size that forgets the reach of one dimension, each alone, at every rank; with it the size passes.

    The same where the next dimension repeats its elements.
    """
    cases: list[Callable[[], Case]] = []
    for rank in subject.ranks:
        sizes = SIZES[:rank]
        usual = TensorDesc(subject.data_type, sizes)
        far = max(10_000, math.prod(sizes))  # beyond all others: an output whose elements coincide may be refused
        for axis in range(rank):
            strides = _replaced(usual.element_strides, axis, far)
            whole = _made(sizes, strides)
            reach = (sizes[axis] - 1) * far
            span = TensorDesc(DataType.UINT8, sizes, strides).minimum_size_in_bytes
            cases += _short(subject, sizes, strides, lambda item, less=span - reach: -(-less * item // 4) * 4)  # type: ignore[misc]
            if rank > 1:  # forgets all the others
                for laid in (strides, _replaced(strides, (axis + 1) % rank, 0)):
                    cases += _short(subject, sizes, laid, partial(_of_one_dimension, sizes, laid, axis))
            cases.append(partial(accepted, subject, "tensor.total-size.minimum", whole))
    _judged(subject, judge, _share(subject, cases))


@checks("tensor.total-size.minimum")
def test_total_sizes_that_are_right_modulo_2_to_32_only(subject: Subject, judge: Judge) -> None:
    """Strides and sizes that need 2^32 bytes and more, or 2^64 and more, with a total size of the rest."""
    item = subject.data_type.itemsize
    cases: list[Callable[[], Case]] = []
    for rank in subject.ranks:
        ones = (1,) * rank
        for axis in range(rank):
            five = _replaced(ones, axis, 5)
            strides = _replaced(ones, axis, (1 << 30) // item)
            cases += _short(subject, five, strides, lambda item: item)  # 4 * stride * item = 2^32
            cases += _short(subject, five, _replaced(ones, axis, MOST), lambda item: (4 * MOST + 1) * item % (1 << 32))
            cases.append(partial(accepted, subject, "tensor.total-size.minimum", _made(five, ones)))
        if rank > 1 and item > 1:
            whole = _replaced(_replaced(ones, 0, 1 << 16), rank - 1, (1 << 16) // item)  # 2^32 bytes, packed
            cases += _short(subject, whole, None, lambda item: 4)
        if item > 1:
            most = _replaced(ones, rank - 1, MOST)
            cases += _short(subject, most, most, lambda item: min(_reach(item) % (1 << 64), 1 << 40))
    _judged(subject, judge, _share(subject, cases))


def _reach(item: int) -> int:
    """Bytes of 2^32 - 1 elements with a stride as large."""
    return (MOST - 1) * MOST * item + item


@checks("tensor.total-size.larger")
def test_larger_total_sizes_of_matrices(subject: Subject, judge: Judge) -> None:
    """A few bytes, a row's worth and more, on a matrix; with ScaleBias where there is one, and in place."""
    rank = low_rank(subject)
    sizes = (*([1] * (rank - 2)), 6, 10)[-rank:]
    sets = [subject.revealing()]
    if subject.of_one_type and subject.table.has_scale_bias:
        sets.append(subject.scaled(sets[0], ScaleBias(1.0, 1.0)))
    values = subject.distinct(60).streams
    needed = TensorDesc(subject.data_type, sizes).total_size_in_bytes
    cases = []
    alias = aliases_of(subject.table, subject.describe(sizes, sets[0]))
    placements = [Placement(), *(Placement(in_place=True, alias=name) for name in alias[:1])]
    for attributes in sets:
        clause = subject.scaled_values_clause(attributes)
        for extra in (4, 6 * subject.data_type.itemsize + 8, 256):
            operator = subject.describe(sizes, attributes, None, None, needed + -(-extra // 4) * 4)
            for placement in placements:
                cases.append(Case(operator, values, clause, "tensor.total-size.larger", placement=placement))
    judge.all(cases)


# Strides.


@checks("tensor.strides.padded")
def test_any_stride_along_one_element(subject: Subject, judge: Judge) -> None:
    """A dimension of one element may have any stride up to 2^32 - 1, on either tensor, at every rank."""
    attributes = subject.revealing()
    values = subject.distinct(97).streams
    cases: list[Callable[[], Case]] = []
    for rank in subject.ranks:
        for axis in range(rank):
            sizes = _replaced(SIZES[:rank], axis, 1)
            stride = (HUGE, MOST, (1 << 24) + 1, 1 << 16)[axis % 4]
            strides = _replaced(TensorDesc(subject.data_type, sizes).element_strides, axis, stride)
            source, target = (strides, None) if axis % 2 else (None, strides)
            operator = subject.describe(sizes, attributes, source, target)
            cases.append(partial(Case, operator, values, subject.values_clause(attributes), "tensor.strides.padded"))
    judge.all(_share(subject, cases))


# Enumerators.


@checks("enumerator.undefined", "tensor.output.bounds")
def test_undefined_enumerators_do_no_harm(subject: Subject, judge: Judge) -> None:
    """Numbers beyond the named enumerators may be refused or accepted; each named one beside them is accepted."""
    clause = subject.clause("enumerator.undefined")
    values = subject.distinct(5).streams
    answers: dict[str, list[str]] = {"refused": [], "accepted": []}
    operator = subject.describe(subject.flat(5), subject.attributes())
    for item in subject.table.attributes:
        if item.type != "ENUM":
            continue
        for number in (len(item.enumerators), 255, HUGE, MOST):
            operator = subject.describe(subject.flat(5), subject.attributes(**{item.name: np.uint32(number)}))
            judgement = judge(Case(operator, values, clause, None, "harmless"))
            if judgement.unsupported is None:
                answers["refused" if judgement.refused else "accepted"].append(f"{item.name} {number}")
        for name in item.enumerators:
            control = subject.describe(subject.flat(5), subject.attributes(**{item.name: name}))
            judge(Case(control, values, clause, None, "accepted"))
    for answer, numbers in answers.items():
        if numbers:
            judge.characterise(clause, operator, f"an undefined enumerator is {answer}", ", ".join(numbers))
