"""Which descriptions are accepted and which refused. Every refusal stands beside a control that is accepted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import OperatorDesc, ScalarUnion, TensorDesc
from dmlcts.specs.rules import unconditional_violations
from dmlcts.specs.tables.signatures import Signature, signatures, unlisted_beside
from dmlcts.suites.cases.case import Case
from dmlcts.suites.conformance.tensors.describing import (
    Made,
    accepted,
    attribute_turns,
    both_forms,
    compared,
    crossed,
    each_odd,
    packed,
    refused,
    tensor_like,
    written_out,
)
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

SIZES = (2, 3, 2, 2, 3, 2, 2, 2)


def _obliged_sizes(subject: Subject) -> tuple[int, ...]:
    return SIZES[: subject.ranks[-1]]


def _judged(subject: Subject, judge: Judge, cases: list[Case]) -> None:
    """Judge the cases; those to be refused also with other attributes in turn, whose kernels may check less."""
    judge.all(crossed(attribute_turns(subject, judge.bench.tables.activations.values()), cases))


def _support(subject: Subject, judge: Judge, level: str) -> None:
    """Every rank that the level's table lists for the type, each with sizes above 1 in every dimension."""
    clause = next(candidate.id for candidate in subject.table.checked_by("support.level") if candidate.level == level)
    table = next(table for table in subject.table.support if table.level == level)
    cases = []
    for rank in table.ranks:
        if not subject.listed(rank, table.feature_level):
            continue
        sizes = SIZES[:rank]
        operator = subject.describe(sizes, subject.revealing())
        cases.append(Case(operator, subject.distinct(389).streams, clause))
    if not cases:
        pytest.skip(f"level {level} does not list {subject.signature}")
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
    values = subject.distinct(389).joined(subject.edges())
    stream = values.streams
    answers: dict[str, list[int]] = {"refuses": [], "accepts": []}
    for rank in ranks:
        outer = SIZES[: rank - 1]
        sizes = (*outer, -(-len(values) // math.prod(outer)))  # every value at least once
        operators = [subject.describe(sizes, attributes) for attributes in (subject.revealing(), subject.attributes())]
        refused = [
            judgement.refused for judgement in judge.all(Case(operator, stream, clause) for operator in operators)
        ]
        answers["refuses" if all(refused) else "accepts"].append(rank)
    behaviour = " and ".join(f"{answer} ranks {seen}" for answer, seen in answers.items() if seen)
    judge.characterise(clause, operators[0], behaviour)


@checks("support.unlisted")
def test_unlisted_types_are_characterised(subject: Subject, judge: Judge) -> None:
    """A type that no level's table lists for a tensor may be refused; where it is accepted it must be right."""
    if not subject.table.support_at(subject.level):
        pytest.skip(f"{subject.table.short_name} is not part of feature level {subject.level}")
    if subject.data_type not in subject.table.data_types:
        _refused_or_right(subject, judge, subject.clause("support.unlisted"), [1, 4, 8])
    elif subject.obliged_ranks:
        _unlisted_beside(subject, judge)
    else:
        pytest.skip(f"feature level {subject.level} does not list {subject.signature}")


def _unlisted_beside(subject: Subject, judge: Judge) -> None:
    """Types that are unlisted for another tensor than the first; signatures of one first type share them out."""
    clause, table = subject.clause("support.unlisted"), subject.table
    alike = [signature for signature in signatures(table, subject.level) if signature.data_type is subject.data_type]
    for variable, unlisted in unlisted_beside(table, judge.bench.tables.known_types).items():
        cases = []
        for place, data_type in enumerate(unlisted[alike.index(subject.signature) :: len(alike)]):
            odd = replace(subject, signature=subject.signature.exchanged(variable, data_type))
            outer = SIZES[: subject.obliged_ranks[place % len(subject.obliged_ranks)] - 1]
            values = odd.distinct(389).joined(odd.edges())
            sizes = (*outer, -(-len(values) // math.prod(outer)))
            cases.append(Case(odd.describe(sizes, odd.revealing()), values.streams, clause))
        tensors = " and ".join(name for name, row in table.tensors.items() if row.type == variable)
        for case, judgement in zip(cases, judge.all(cases), strict=True):
            acceptance = f"accepts {Signature.of(case.operator, table)[variable].name} of {tensors}"
            behaviour = f"refuses other types of {tensors}" if judgement.refused else acceptance
            judge.characterise(clause, case.operator, behaviour)


@checks("support.later-level")
def test_later_levels_are_characterised(subject: Subject, judge: Judge) -> None:
    """What only a later level lists may be refused; where it is accepted it must be right."""
    later = [rank for rank in range(1, 9) if subject.listed(rank) and not subject.listed(rank, subject.level)]
    if not later:
        pytest.skip(f"no level after {subject.level} adds anything for {subject}")
    _refused_or_right(subject, judge, subject.clause("support.later-level"), later)


@checks("constraint.data-type")
def test_different_data_types_are_refused(subject: Subject, judge: Judge) -> None:
    """Every other listed type on each tensor that must agree with others, with strides too; equal types pass.

    Here and below, in quick the types of an operator take tensors with strides and without by turns.
    """
    clause = subject.clause("constraint.data-type")
    usual = packed(_obliged_sizes(subject))
    cases = [
        refused(subject, clause, usual, {name: tensor_like(subject, name, made, other)})
        for place, (name, data_type) in enumerate(list(compared(subject, "DataType").items())[1:])
        for turn, other in enumerate(subject.table.types_of(name), place)
        if other is not data_type
        for made in both_forms(subject, usual, turn)
    ]
    _judged(subject, judge, [*cases, accepted(subject, clause, usual)])


@checks("constraint.type-pair")
def test_types_that_do_not_go_together_are_refused(subject: Subject, judge: Judge) -> None:
    """Every listed type on either tensor of a pair that does not go with the other's; the subject's own types pass."""
    clause = subject.clause("constraint.type-pair")
    usual = packed(_obliged_sizes(subject))
    cases = [
        case
        for group in subject.table.constraints
        if group.counting
        for name in group.tensors
        if name in subject.types
        for other in subject.table.types_of(name)
        if other is not subject.types[name]
        for made in (usual, written_out(usual))
        for case in [refused(subject, clause, usual, {name: tensor_like(subject, name, made, other)})]
        if any(violation.clause == clause for violation in unconditional_violations(case.operator, judge.bench.tables))
    ]
    _judged(subject, judge, [*cases, accepted(subject, clause, usual)])


@checks("constraint.attribute-type")
def test_numbers_of_another_type_are_refused(subject: Subject, judge: Judge) -> None:
    """Every other listed type as that of the numbers, with ScaleBias too; the tensor's own is the control."""
    clause = subject.clause("constraint.attribute-type")
    rows = subject.table.attributes
    asked: dict[OperatorDesc, Case] = {}
    for data_type in (
        *(other for other in subject.table.data_types if other is not subject.data_type),
        subject.data_type,
    ):
        names = {row.name: data_type.name for row in rows if row.type == "DML_TENSOR_DATA_TYPE"}
        unions = {row.name: ScalarUnion.of(data_type, 1) for row in rows if row.type == "DML_SCALAR_UNION"}
        right = data_type is subject.data_type
        for attributes in attribute_turns(subject, judge.bench.tables.activations.values())[: 1 if right else None]:
            operator = subject.describe(_obliged_sizes(subject), {**attributes, **names, **unions})
            asked.setdefault(operator, Case(operator, subject.ones, clause, None, "accepted" if right else "refused"))
    judge.all(asked.values())


@checks("constraint.dimension-count")
def test_different_dimension_counts_are_refused(subject: Subject, judge: Judge) -> None:
    """One dimension of size 1 more or fewer on one tensor of the same elements, with strides too; equal counts pass."""
    clause = subject.clause("constraint.dimension-count")
    sizes = _obliged_sizes(subject)
    if len(sizes) == 8:
        sizes = sizes[:5]
    names = dict(list(compared(subject, "DimensionCount").items())[1:])
    cases = [
        case
        for turn, other in enumerate(((1, *sizes), (*sizes, 1), sizes[1:]))
        if 1 <= len(other) <= 8
        for made in both_forms(subject, packed(other), turn)
        for case in each_odd(subject, clause, packed(sizes), made, names)
    ]
    _judged(subject, judge, [*cases, accepted(subject, clause, packed(sizes))])


@checks("constraint.sizes")
def test_different_sizes_are_refused(subject: Subject, judge: Judge) -> None:
    """One size larger, smaller or 1, two swapped, at the first and the last dimension; equal sizes pass.

    The odd tensor has strides too, of 0 along that dimension: repeated elements are described with equal sizes.
    """
    clause = subject.clause("constraint.sizes")
    sizes = (2, 3, 4, 5) if 4 in subject.ranks else SIZES[: subject.ranks[-1]]
    usual, names = packed(sizes), compared(subject, "Sizes")
    cases: list[Case] = []
    for place, axis in enumerate((0, len(sizes) - 1)):
        for turn, other in enumerate((sizes[axis] + 1, sizes[axis] - 1, 1), place):
            changed = (*sizes[:axis], other, *sizes[axis + 1 :])
            if changed != sizes and all(changed):
                for made in both_forms(subject, packed(changed), turn, axis):
                    cases += each_odd(subject, clause, usual, made, names)
    if len(sizes) > 1:
        for made in both_forms(subject, packed(sizes[::-1]), 0):
            cases += each_odd(subject, clause, usual, made, names)
    _judged(subject, judge, [*cases, accepted(subject, clause, usual)])


@checks("tensor.rank.minimum")
def test_no_dimensions_are_refused(subject: Subject, judge: Judge) -> None:
    """Rank 0 is refused; the lowest rank that the level lists is the control."""
    clause = "tensor.rank.minimum"
    right = accepted(subject, clause, packed(SIZES[: subject.ranks[0]]))
    _judged(subject, judge, [refused(subject, clause, packed(())), right])


@checks("tensor.rank.maximum")
def test_nine_dimensions_are_refused(subject: Subject, judge: Judge) -> None:
    """Rank 9 and above is refused, with ones before or behind, with strides too; the level's highest rank passes."""
    clause = "tensor.rank.maximum"
    cases = [
        refused(subject, clause, made)
        for rank in (9, 10, 16)
        for sizes in ((2, *([1] * (rank - 1))), (*([1] * (rank - 1)), 2))
        for made in (packed(sizes), written_out(packed(sizes)))
    ]
    _judged(subject, judge, [*cases, accepted(subject, clause, packed(_obliged_sizes(subject)))])


@checks("tensor.size.zero")
def test_zero_sizes_are_refused(subject: Subject, judge: Judge) -> None:
    """A zero in any dimension is refused, also of a scale or zero point alone; ones in its place are the control."""
    clause, rank = "tensor.size.zero", subject.ranks[-1]
    cases = []
    for turn, (name, data_type) in enumerate(subject.single.items()):
        none = tuple(int(axis != turn % rank) for axis in range(rank))
        cases.append(refused(subject, clause, packed((2,) * rank), {name: TensorDesc(data_type, none, None, 4)}))
    for axis in range(rank):
        sizes = tuple(0 if index == axis else 2 for index in range(rank))
        cases.append(refused(subject, clause, _of_total(sizes, 4)))
        cases.append(accepted(subject, clause, packed(tuple(size or 1 for size in sizes))))
    _judged(subject, judge, cases)


def _of_total(sizes: tuple[int, ...], elements: int) -> Made:
    """Tensors whose total size is that of so many elements, whatever their sizes."""
    return lambda data_type: TensorDesc(data_type, sizes, None, elements * data_type.itemsize)


@checks("tensor.elements.maximum")
def test_more_than_2_32_minus_1_elements_are_refused(subject: Subject, judge: Judge) -> None:
    """2^32 elements are refused and an ordinary tensor accepted; nothing of that size is ever allocated."""
    clause, padding = "tensor.elements.maximum", (1,) * (subject.ranks[-1] - 2)
    if subject.ranks[-1] < 2:
        pytest.skip("needs two dimensions")
    cases = [
        refused(subject, clause, packed((*padding, *sizes)))
        for sizes in ((65536, 65536), (1 << 16, (1 << 16) + 1), (1 << 31, 2))
    ]
    _judged(subject, judge, [*cases, accepted(subject, clause, packed((*padding, 16, 16)))])


@checks("tensor.total-size.minimum")
def test_too_small_total_sizes_are_refused(subject: Subject, judge: Judge) -> None:
    """Four bytes less than the elements need is refused, packed and strided, on each tensor; the exact size passes.

    Strides repeat elements along a dimension too. Of a tensor of one element no byte at all is too little.
    """
    clause = "tensor.total-size.minimum"
    padding = (1,) * (subject.ranks[0] - 1)
    cases: list[Case] = []
    for name, data_type in subject.single.items():
        for strides in (None, (1,) * (len(padding) + 1)):
            none = TensorDesc(data_type, (*padding, 1), strides, 0)
            cases.append(refused(subject, clause, packed((*padding, 5)), {name: none}))
    if subject.ranks[-1] > 1:
        plane = (*((1,) * (subject.ranks[-1] - 2)), 3, 9)
        repeated = _strided(plane, (*((0,) * (len(plane) - 1)), 3))
        for less in (_small, _tiny):
            cases += each_odd(subject, clause, packed(plane), less(repeated))
    count = 9 if min(wide_type.itemsize for wide_type in subject.wide.values()) < 4 else 7
    for sizes, strides in (((*padding, count), None), ((*padding, count), (*((40,) * len(padding)), 3))):
        enough = _strided(sizes, strides)
        for less in (_small, _tiny):
            cases += each_odd(subject, clause, enough, less(enough))
        cases.append(accepted(subject, clause, enough))
    _judged(subject, judge, cases)


def _strided(sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> Made:
    return lambda data_type: TensorDesc(data_type, sizes, strides)


def _small(enough: Made) -> Made:
    """The same with a multiple of four bytes that is just not enough."""
    return lambda data_type: _with_total(enough(data_type), (enough(data_type).minimum_size_in_bytes - 1) // 4 * 4)


def _tiny(enough: Made) -> Made:
    return lambda data_type: _with_total(enough(data_type), 4 if enough(data_type).minimum_size_in_bytes > 4 else 0)


def _with_total(tensor: TensorDesc, total: int) -> TensorDesc:
    return TensorDesc(tensor.data_type, tensor.sizes, tensor.strides, total)


@checks("tensor.total-size.larger")
def test_larger_total_sizes_change_nothing(subject: Subject, judge: Judge) -> None:
    """Up to a few hundred bytes more than needed, packed and strided."""
    inputs = subject.distinct(61)
    attributes = subject.revealing()
    clause, layout_clause = subject.values_clause(attributes), "tensor.total-size.larger"
    sizes = subject.flat(inputs.count)
    cases = []
    for strides in (None, tuple(np.multiply(TensorDesc(subject.data_type, sizes).element_strides, 2).tolist())):
        needed = TensorDesc(subject.data_type, sizes, strides).total_size_in_bytes
        for extra in (4, 12, 16, 256, 1020):
            operator = subject.describe(sizes, attributes, strides, strides, needed + extra)
            cases.append(Case(operator, inputs.streams, clause, layout_clause))
    judge.all(cases)
