"""Which descriptions are accepted and which refused. Every refusal stands beside a control that is accepted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

SIZES = (2, 3, 2, 2, 3, 2, 2, 2)


def _description(subject: Subject, source: TensorDesc, target: TensorDesc) -> OperatorDesc:
    attributes = subject.attributes()
    return OperatorDesc(subject.table.operator, {"InputTensor": source, "OutputTensor": target}, attributes)


def _case(subject: Subject, clause: str, operator: OperatorDesc, expectation: str) -> Case:
    return Case(operator, Values.of([1], subject.data_type), clause, None, expectation)


def _refused(subject: Subject, judge: Judge, clause: str, source: TensorDesc, target: TensorDesc) -> None:
    judge(_case(subject, clause, _description(subject, source, target), "refused"))


def _accepted(subject: Subject, judge: Judge, clause: str, tensor: TensorDesc) -> None:
    judge(_case(subject, clause, _description(subject, tensor, tensor), "accepted"))


def _packed(subject: Subject, sizes: tuple[int, ...], data_type: DataType | None = None) -> TensorDesc:
    return TensorDesc(data_type or subject.data_type, sizes)


def _obliged_sizes(subject: Subject) -> tuple[int, ...]:
    return SIZES[: subject.ranks[-1]]


def _support(subject: Subject, judge: Judge, level: str) -> None:
    """Every rank that the level's table lists for the type, each with sizes above 1 in every dimension."""
    clause = next(one.id for one in subject.table.checked_by("support.level") if one.level == level)
    table = next(table for table in subject.table.support if table.level == level)
    cases = []
    for rank in table.ranks:
        sizes = SIZES[:rank]
        operator = subject.describe(sizes, subject.revealing())
        cases.append(Case(operator, Values.of(subject.distinct(389), subject.data_type), clause))
    judge.all(cases)


def _level_test(level: str) -> Any:
    """The test of one level's support table; it applies to the operators that have a clause for that level."""

    @checks("support.level", "tensor.output.complete", level=level)
    def test(subject: Subject, judge: Judge) -> None:
        """What the feature level lists is accepted and right, at every rank."""
        _support(subject, judge, level)

    return test


test_types_and_ranks_of_level_1_0 = _level_test("1.0")
test_types_and_ranks_of_level_2_0 = _level_test("2.0")
test_types_and_ranks_of_level_2_1 = _level_test("2.1")
test_types_and_ranks_of_level_3_0 = _level_test("3.0")
test_types_and_ranks_of_level_3_1 = _level_test("3.1")
test_types_and_ranks_of_level_4_0 = _level_test("4.0")
test_types_and_ranks_of_level_4_1 = _level_test("4.1")
test_types_and_ranks_of_level_5_0 = _level_test("5.0")
test_types_and_ranks_of_level_5_1 = _level_test("5.1")
test_types_and_ranks_of_level_5_2 = _level_test("5.2")
test_types_and_ranks_of_level_6_0 = _level_test("6.0")
test_types_and_ranks_of_level_6_1 = _level_test("6.1")
test_types_and_ranks_of_level_6_2 = _level_test("6.2")
test_types_and_ranks_of_level_6_3 = _level_test("6.3")
test_types_and_ranks_of_level_6_4 = _level_test("6.4")


def _refused_or_right(subject: Subject, judge: Judge, clause: str, ranks: list[int]) -> None:
    """The type at these ranks may be refused; where it is accepted it must be right. What happens is named."""
    values = np.concatenate([subject.distinct(389), edge_values.inputs(subject.data_type)])
    stream = Values.of(values, subject.data_type)
    answers: dict[str, list[int]] = {"refuses": [], "accepts": []}
    for rank in ranks:
        outer = SIZES[: rank - 1]
        sizes = (*outer, -(-len(values) // math.prod(outer)))  # every value at least once
        operators = [subject.describe(sizes, attributes) for attributes in (subject.revealing(), subject.attributes())]
        refused = [judgement.refused for judgement in judge.all(Case(one, stream, clause) for one in operators)]
        answers["refuses" if all(refused) else "accepts"].append(rank)
    behaviour = " and ".join(f"{answer} ranks {seen}" for answer, seen in answers.items() if seen)
    judge.characterise(clause, operators[0], behaviour)


@checks("support.unlisted")
def test_unlisted_types_are_characterised(subject: Subject, judge: Judge) -> None:
    """A type that no level's table lists may be refused; where it is accepted it must be right."""
    if not subject.table.support_at(subject.level):
        pytest.skip(f"{subject.table.short_name} is not part of feature level {subject.level}")
    _refused_or_right(subject, judge, subject.clause("support.unlisted"), [1, 4, 8])


@checks("support.later-level")
def test_later_levels_are_characterised(subject: Subject, judge: Judge) -> None:
    """What only a later level lists may be refused; where it is accepted it must be right."""
    later = [
        rank for rank in range(1, 9)
        if subject.table.listed(subject.data_type, rank)
        and not subject.table.obliged(subject.data_type, rank, subject.level)
    ]  # fmt: skip
    if not later:
        pytest.skip(f"no level after {subject.level} adds anything for {subject}")
    _refused_or_right(subject, judge, subject.clause("support.later-level"), later)


@checks("constraint.data-type")
def test_different_data_types_are_refused(subject: Subject, judge: Judge) -> None:
    """Every other listed type as the output's; equal types are the control."""
    clause = subject.clause("constraint.data-type")
    sizes = _obliged_sizes(subject)
    source = _packed(subject, sizes)
    for other in subject.table.data_types:
        if other is not subject.data_type:
            _refused(subject, judge, clause, source, _packed(subject, sizes, other))
    _accepted(subject, judge, clause, source)


@checks("constraint.attribute-type")
def test_numbers_of_another_type_are_refused(subject: Subject, judge: Judge) -> None:
    """Every other listed type as the one that the numbers are said to have; the tensor's own is the control."""
    clause = subject.clause("constraint.attribute-type")
    rows = subject.table.attributes
    for data_type in (*(one for one in subject.table.data_types if one is not subject.data_type), subject.data_type):
        given = {row.name: data_type.name for row in rows if row.type == "DML_TENSOR_DATA_TYPE"}
        unions = {row.name: ScalarUnion.of(data_type, 1) for row in rows if row.type == "DML_SCALAR_UNION"}
        operator = subject.describe(_obliged_sizes(subject), {**subject.attributes(), **given, **unions})
        judge(_case(subject, clause, operator, "accepted" if data_type is subject.data_type else "refused"))


@checks("constraint.dimension-count")
def test_different_dimension_counts_are_refused(subject: Subject, judge: Judge) -> None:
    """One dimension of size 1 more or fewer on the output, where the elements are the same; equal counts pass."""
    clause = subject.clause("constraint.dimension-count")
    sizes = _obliged_sizes(subject)
    if len(sizes) == 8:
        sizes = sizes[:5]
    source = _packed(subject, sizes)
    for other in ((1, *sizes), (*sizes, 1), sizes[1:]):
        if 1 <= len(other) <= 8:
            _refused(subject, judge, clause, source, _packed(subject, other))
    _accepted(subject, judge, clause, source)


@checks("constraint.sizes")
def test_different_sizes_are_refused(subject: Subject, judge: Judge) -> None:
    """One size larger, smaller or 1, two swapped, at the first and the last dimension; equal sizes pass."""
    clause = subject.clause("constraint.sizes")
    sizes = (2, 3, 4, 5) if 4 in subject.ranks else SIZES[: subject.ranks[-1]]
    source = _packed(subject, sizes)
    for axis in (0, len(sizes) - 1):
        for other in (sizes[axis] + 1, sizes[axis] - 1, 1):
            changed = (*sizes[:axis], other, *sizes[axis + 1 :])
            if changed != sizes:
                _refused(subject, judge, clause, source, _packed(subject, changed))
                _refused(subject, judge, clause, _packed(subject, changed), source)
    if len(sizes) > 1:
        _refused(subject, judge, clause, source, _packed(subject, sizes[::-1]))
    _accepted(subject, judge, clause, source)


@checks("tensor.rank.minimum")
def test_no_dimensions_are_refused(subject: Subject, judge: Judge) -> None:
    """Rank 0 is refused; the lowest rank that the level lists is the control."""
    nothing = _packed(subject, ())
    _refused(subject, judge, "tensor.rank.minimum", nothing, nothing)
    _accepted(subject, judge, "tensor.rank.minimum", _packed(subject, SIZES[: subject.ranks[0]]))


@checks("tensor.rank.maximum")
def test_nine_dimensions_are_refused(subject: Subject, judge: Judge) -> None:
    """Rank 9 and above is refused; the highest rank that the level lists is the control."""
    for rank in (9, 10, 16):
        tensor = _packed(subject, (2, *([1] * (rank - 1))))
        _refused(subject, judge, "tensor.rank.maximum", tensor, tensor)
    _accepted(subject, judge, "tensor.rank.maximum", _packed(subject, _obliged_sizes(subject)))


@checks("tensor.size.zero")
def test_zero_sizes_are_refused(subject: Subject, judge: Judge) -> None:
    """A zero in any dimension is refused; the same sizes with ones are the control."""
    rank = subject.ranks[-1]
    for axis in range(rank):
        sizes = tuple(0 if index == axis else 2 for index in range(rank))
        tensor = TensorDesc(subject.data_type, sizes, None, 4 * subject.data_type.itemsize)
        _refused(subject, judge, "tensor.size.zero", tensor, tensor)
        _accepted(subject, judge, "tensor.size.zero", _packed(subject, tuple(size or 1 for size in sizes)))


@checks("tensor.elements.maximum")
def test_more_than_2_32_minus_1_elements_are_refused(subject: Subject, judge: Judge) -> None:
    """2^32 elements are refused and an ordinary tensor accepted; nothing of that size is ever allocated."""
    padding = (1,) * (subject.ranks[-1] - 2)
    if subject.ranks[-1] < 2:
        pytest.skip("needs two dimensions")
    for sizes in ((65536, 65536), (1 << 16, (1 << 16) + 1), (1 << 31, 2)):
        tensor = _packed(subject, (*padding, *sizes))
        _refused(subject, judge, "tensor.elements.maximum", tensor, tensor)
    _accepted(subject, judge, "tensor.elements.maximum", _packed(subject, (*padding, 16, 16)))


@checks("tensor.total-size.minimum")
def test_too_small_total_sizes_are_refused(subject: Subject, judge: Judge) -> None:
    """Four bytes less than the elements need is refused, packed and strided, on either side; the exact size passes."""
    clause = "tensor.total-size.minimum"
    padding = (1,) * (subject.ranks[0] - 1)
    count = 9 if subject.data_type.itemsize < 4 else 7
    for sizes, strides in (((*padding, count), None), ((*padding, count), (*((40,) * len(padding)), 3))):
        enough = TensorDesc(subject.data_type, sizes, strides)
        needed = enough.minimum_size_in_bytes
        small = TensorDesc(subject.data_type, sizes, strides, (needed - 1) // 4 * 4)
        tiny = TensorDesc(subject.data_type, sizes, strides, 4 if needed > 4 else 0)
        for less in (small, tiny):
            _refused(subject, judge, clause, less, enough)
            _refused(subject, judge, clause, enough, less)
        _accepted(subject, judge, clause, enough)


@checks("tensor.total-size.larger")
def test_larger_total_sizes_change_nothing(subject: Subject, judge: Judge) -> None:
    """Up to a few hundred bytes more than needed, packed and strided."""
    inputs = subject.distinct(61)
    attributes = subject.revealing()
    clause, layout_clause = subject.values_clause(attributes), "tensor.total-size.larger"
    sizes = subject.flat(len(inputs))
    cases = []
    for strides in (None, tuple(np.multiply(TensorDesc(subject.data_type, sizes).element_strides, 2).tolist())):
        needed = TensorDesc(subject.data_type, sizes, strides).total_size_in_bytes
        for extra in (4, 12, 16, 256, 1020):
            operator = subject.describe(sizes, attributes, strides, strides, needed + extra)
            cases.append(Case(operator, Values.of(inputs, subject.data_type), clause, layout_clause))
    judge.all(cases)
