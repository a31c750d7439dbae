"""Descriptions at their limits: every dimension alone, zeros, 32 and 64 bits, numbers that no enumerator has.

Every refusal stands beside a control that is accepted. Nothing of the sizes described here is ever allocated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.cases.case import Case, Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

Sizes = tuple[int, ...]

SIZES = (3, 5, 2, 7, 3, 2, 5, 4)  # no size equals its neighbours, so that none passes for another
HUGE = 1 << 31
MOST = (1 << 32) - 1


def _described(
    subject: Subject, clause: str, source: TensorDesc, target: TensorDesc | None = None, expectation: str = "refused"
) -> Case:
    tensors = {"InputTensor": source, "OutputTensor": source if target is None else target}
    operator = OperatorDesc(subject.table.operator, tensors, subject.attributes())
    return Case(operator, Values.of([1], subject.data_type), clause, None, expectation)


def _accepted(subject: Subject, clause: str, tensor: TensorDesc) -> Case:
    return _described(subject, clause, tensor, None, "accepted")


def _packed(subject: Subject, sizes: Sizes, data_type: DataType | None = None) -> TensorDesc:
    return TensorDesc(data_type or subject.data_type, sizes)


def _replaced(sizes: Sizes, axis: int, size: int) -> Sizes:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _share(subject: Subject, cases: list[Case]) -> list[Case]:
    """The quick profile's part of ``cases``: the types of an operator share them out, so that together they take all.

    What the rules say here does not depend on the type; the other profiles take every case for every type.
    """
    types = subject.table.data_types
    parts = min(5, len(types))
    return cases if subject.thorough else cases[types.index(subject.data_type) % parts :: parts]


# Input and output.


@checks("constraint.sizes")
def test_each_size_alone_is_compared(subject: Subject, judge: Judge) -> None:
    """One size differs, at every rank and dimension, by one, by 2^16, or swapped with the next one, either way."""
    clause = subject.clause("constraint.sizes")
    cases = []
    for rank in subject.ranks:
        sizes = SIZES[:rank]
        whole = _packed(subject, sizes)
        cases.append(_accepted(subject, clause, whole))
        for axis, size in enumerate(sizes):
            cases.append(_described(subject, clause, whole, _packed(subject, _replaced(sizes, axis, size + 1))))
            cases.append(_described(subject, clause, _packed(subject, _replaced(sizes, axis, size + (1 << 16))), whole))
            if axis + 1 < rank:
                swapped = _replaced(_replaced(sizes, axis, sizes[axis + 1]), axis + 1, size)
                cases.append(_described(subject, clause, whole, _packed(subject, swapped)))
    judge.all(cases)


@checks("constraint.dimension-count")
def test_a_dimension_of_one_anywhere_counts(subject: Subject, judge: Judge) -> None:
    """One dimension of size 1 more, before, between and behind the others, at every rank, on either tensor."""
    clause = subject.clause("constraint.dimension-count")
    cases = []
    for rank in subject.ranks:
        whole = _packed(subject, SIZES[:rank])
        cases.append(_accepted(subject, clause, whole))
        if rank == 8:
            continue
        for axis in range(rank + 1):
            longer = _packed(subject, (*SIZES[:axis], 1, *SIZES[axis:rank]))
            pair = (whole, longer) if axis % 2 else (longer, whole)
            cases.append(_described(subject, clause, *pair))
    judge.all(cases)


@checks("constraint.data-type")
def test_data_types_are_compared_at_every_rank(subject: Subject, judge: Judge) -> None:
    """Another listed type, of the same width where there is one, on either tensor, at every rank."""
    clause = subject.clause("constraint.data-type")
    others = [other for other in subject.table.data_types if other is not subject.data_type]
    others.sort(key=lambda other: other.itemsize != subject.data_type.itemsize)
    cases = []
    for rank in subject.ranks:
        own = _packed(subject, SIZES[:rank])
        other = _packed(subject, SIZES[:rank], others[0])
        cases += [_accepted(subject, clause, own), _described(subject, clause, own, other)]
        cases.append(_described(subject, clause, other, own))
    judge.all(cases)


# Sizes.


@checks("tensor.size.zero")
def test_a_zero_anywhere_is_refused(subject: Subject, judge: Judge) -> None:
    """A zero at every rank and dimension, packed, strided, and beside a size of 2^31; ones in its place pass."""
    clause = "tensor.size.zero"
    cases = []
    for rank in subject.ranks:
        for axis in range(rank):
            sizes = _replaced(SIZES[:rank], axis, 0)
            spaced = tuple(2 * stride for stride in _packed(subject, _replaced(SIZES[:rank], axis, 1)).element_strides)
            beside = _replaced(sizes, axis - 1, HUGE) if rank > 1 else sizes
            for zero, strides in ((sizes, None), (sizes, spaced), (beside, None)):
                cases.append(_described(subject, clause, TensorDesc(subject.data_type, zero, strides, 1 << 20)))
            with_one = TensorDesc(subject.data_type, _replaced(sizes, axis, 1), spaced)
            cases.append(_accepted(subject, clause, with_one))
    judge.all(_share(subject, cases))


def _too_many(rank: int) -> Iterator[Sizes]:
    """Sizes whose product is above 2^32 - 1: just above, huge, and small or zero modulo 2^32 or 2^64."""
    ones = (1,) * rank
    for first, second in ((0, rank - 1), (rank - 2, rank - 1)):
        for one, other in ((1 << 16, 1 << 16), (1 << 16, (1 << 16) + 1), (HUGE, 2), (2, HUGE + 1), (3, HUGE + 1),
                           (MOST, MOST), (MOST, 2)):  # fmt: skip
            yield _replaced(_replaced(ones, first, one), second, other)
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
    item = subject.data_type.itemsize
    cases = []
    for rank in subject.ranks:
        if rank < 2:
            continue  # no size reaches 2^32
        for sizes in dict.fromkeys(_too_many(rank)):
            whole = TensorDesc(subject.data_type, sizes, None, min(math.prod(sizes) * item, (1 << 64) - 4))
            wrapped = TensorDesc(subject.data_type, sizes, None, math.prod(sizes) % (1 << 32) * item or 4)
            repeated = TensorDesc(subject.data_type, sizes, (0,) * rank)  # one element in memory, many to compute
            cases += [_described(subject, clause, whole), _described(subject, clause, wrapped, whole)]
            fits = math.prod(sizes) * item < 1 << 64
            cases.append(_described(subject, clause, repeated, whole if fits else repeated))
        cases.append(_accepted(subject, clause, _packed(subject, SIZES[:rank])))
    if not cases:
        pytest.skip("needs two dimensions")
    judge.all(_share(subject, cases))


# Total sizes.


def _short(subject: Subject, sizes: Sizes, strides: Sizes | None, total: int) -> list[Case]:
    """A total size that is too small for sizes and strides, on either tensor; the other one is right."""
    clause = "tensor.total-size.minimum"
    short = TensorDesc(subject.data_type, sizes, strides, max(4, -(-total // 4) * 4))
    assert short.total_size_in_bytes < short.minimum_size_in_bytes, "the total size is enough"
    right = _packed(subject, sizes)
    return [_described(subject, clause, short, right), _described(subject, clause, right, short)]


@checks("tensor.total-size.minimum")
def test_every_dimension_counts_for_the_total_size(subject: Subject, judge: Judge) -> None:
    """A total size that forgets the reach of one dimension, each alone, at every rank; with it the size passes."""
    cases = []
    for rank in subject.ranks:
        sizes = SIZES[:rank]
        usual = _packed(subject, sizes)
        for axis in range(rank):
            strides = _replaced(usual.element_strides, axis, 10_000)
            whole = TensorDesc(subject.data_type, sizes, strides)
            reach = (sizes[axis] - 1) * 10_000 * subject.data_type.itemsize
            cases += _short(subject, sizes, strides, whole.total_size_in_bytes - reach)
            if rank > 1:
                cases += _short(subject, sizes, strides, reach)  # forgets all the others
            cases.append(_accepted(subject, "tensor.total-size.minimum", whole))
    judge.all(_share(subject, cases))


@checks("tensor.total-size.minimum")
def test_total_sizes_that_are_right_modulo_2_to_32_only(subject: Subject, judge: Judge) -> None:
    """Strides and sizes that need 2^32 bytes and more, or 2^64 and more, with a total size of the rest."""
    item = subject.data_type.itemsize
    cases = []
    for rank in subject.ranks:
        ones = (1,) * rank
        for axis in range(rank):
            five = _replaced(ones, axis, 5)
            strides = _replaced(ones, axis, (1 << 30) // item)
            cases += _short(subject, five, strides, item)  # 4 * stride * item = 2^32
            cases += _short(subject, five, _replaced(ones, axis, MOST), (4 * MOST + 1) * item % (1 << 32))
            cases.append(_accepted(subject, "tensor.total-size.minimum", TensorDesc(subject.data_type, five, ones)))
        if rank > 1 and item > 1:
            packed = _replaced(_replaced(ones, 0, 1 << 16), rank - 1, (1 << 16) // item)  # 2^32 bytes, packed
            cases += _short(subject, packed, None, 4)
        if item > 1:
            most = _replaced(ones, rank - 1, MOST)
            reach = (MOST - 1) * MOST * item + item
            cases += _short(subject, most, _replaced(ones, rank - 1, MOST), min(reach % (1 << 64), 1 << 40))
    judge.all(_share(subject, cases))


@checks("tensor.total-size.larger")
def test_larger_total_sizes_of_matrices(subject: Subject, judge: Judge) -> None:
    """A few bytes, a row's worth and more, on a matrix; with ScaleBias where there is one, and in place."""
    rank = min((rank for rank in subject.ranks if rank > 1), default=1)
    sizes = (*([1] * (rank - 2)), 6, 10)[-rank:]
    sets = [subject.revealing()]
    if subject.table.has_scale_bias:
        sets.append({**sets[0], "ScaleBias": ScaleBias(1.0, 1.0)})
    values = Values.of(subject.distinct(60), subject.data_type)
    needed = _packed(subject, sizes).total_size_in_bytes
    cases = []
    for attributes in sets:
        clause = subject.scaled_values_clause(attributes)
        for extra in (4, 6 * subject.data_type.itemsize + 8, 256):
            operator = subject.describe(sizes, attributes, None, None, needed + -(-extra // 4) * 4)
            for placement in (Placement(), Placement(in_place=True)):
                cases.append(Case(operator, values, clause, "tensor.total-size.larger", placement=placement))
    judge.all(cases)


# Strides.


@checks("tensor.strides.padded")
def test_any_stride_along_one_element(subject: Subject, judge: Judge) -> None:
    """A dimension of one element may have any stride up to 2^32 - 1, on either tensor, at every rank."""
    attributes = subject.revealing()
    values = Values.of(subject.distinct(97), subject.data_type)
    cases = []
    for rank in subject.ranks:
        for axis in range(rank):
            sizes = _replaced(SIZES[:rank], axis, 1)
            stride = (HUGE, MOST, (1 << 24) + 1, 1 << 16)[axis % 4]
            strides = _replaced(_packed(subject, sizes).element_strides, axis, stride)
            source, target = (strides, None) if axis % 2 else (None, strides)
            operator = subject.describe(sizes, attributes, source, target)
            cases.append(Case(operator, values, subject.values_clause(attributes), "tensor.strides.padded"))
    judge.all(_share(subject, cases))


# Enumerators.


@checks("enumerator.undefined", "tensor.output.bounds")
def test_undefined_enumerators_do_no_harm(subject: Subject, judge: Judge) -> None:
    """Numbers beyond the named enumerators may be refused or accepted; each named one beside them is accepted."""
    clause = subject.clause("enumerator.undefined")
    values = Values.of(subject.distinct(5), subject.data_type)
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
