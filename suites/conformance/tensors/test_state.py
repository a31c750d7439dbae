"""A kernel is a function of what is bound to it: dispatched again, beside others, in any order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.specs import ScaleBias, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.conformance.tensors.describing import low_rank, plane
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_MANY = 34  # more than two times sixteen kernels


@checks("execution.repeatable")
def test_a_kernel_is_dispatched_again(subject: Subject, judge: Judge) -> None:
    """One kernel on other values, other offsets, in place and out of place, and on the first values again."""
    judge.all(
        subject.case(
            subject.values_clause(attributes),
            values,
            attributes,
            expectation="again",
            layout_clause="execution.repeatable",
        )
        for attributes in (subject.revealing(), subject.attributes())
        for values in (subject.distinct(300), subject.edges()[:300])
    )


@checks("execution.repeatable")
def test_a_kernel_is_dispatched_many_times(subject: Subject, judge: Judge) -> None:
    """More often than a device may have slots for what a dispatch needs, on a few elements."""
    attributes = subject.revealing()
    judge(
        subject.case(
            subject.values_clause(attributes),
            subject.distinct(12),
            attributes,
            expectation="many times",
            layout_clause="execution.repeatable",
        )
    )


def _laid_out(subject: Subject, attributes: Mapping[str, Any], clause: str, expectation: str) -> Iterator[Case]:
    """Padded and permuted tensors, of a low and of the highest rank; of one by turns where not all places are tried."""
    values = subject.distinct(89).streams
    ranks = (low_rank(subject), subject.ranks[-1])
    turn = subject.table.data_types.index(subject.data_type) % 2
    for rank in dict.fromkeys(ranks if subject.profile.every_place else ranks[turn : turn + 1]):
        sizes = (3, 5, 2, 4, 2, 3, 1, 2)[:rank]
        reverse = TensorDesc(subject.data_type, sizes[::-1]).element_strides[::-1]
        strides = tuple(3 * stride for stride in reverse)
        operator = subject.describe(sizes, attributes, strides, strides)
        yield Case(operator, values, subject.scaled_values_clause(attributes), clause, expectation)


def _moved(subject: Subject, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """With a ScaleBias that changes what comes of most values of ``distinct``: into the domain of arc functions."""
    floating = subject.data_type.is_floating
    return subject.scaled(attributes, ScaleBias(0.5, 0.25) if floating else ScaleBias(1.0, 3.0))


def _scaled(subject: Subject) -> list[dict[str, Any]]:
    """Every enumerator; with a ScaleBias where there is one, and without."""
    plain = list(subject.attribute_sets([(np.float32(3), np.float32(40))]))
    bare = dict(subject.revealing())
    return [*plain, *([bare, _moved(subject, bare)] if subject.table.has_scale_bias else [])]


@checks("execution.repeatable")
def test_kernels_with_strides_and_scale_bias_are_dispatched_again(subject: Subject, judge: Judge) -> None:
    """The same with strides, with every enumerator, with and without ScaleBias."""
    clause = "execution.repeatable"
    judge.all(case for attributes in _scaled(subject) for case in _laid_out(subject, attributes, clause, "again"))


@checks("execution.independent")
def test_kernels_with_strides_alive_at_the_same_time(subject: Subject, judge: Judge) -> None:
    """Strided kernels beside others that differ in the enumerator, in the bounds, or in ScaleBias alone."""
    pair = (np.float32(2), np.float32(6))  # what the kernels beside it have
    sets = list(subject.attribute_sets([pair]))
    if subject.table.has_scale_bias:
        sets += [subject.scaled(sets[0], ScaleBias(-1.0, 8.0)), _moved(subject, subject.revealing())]
    clause = "execution.independent"
    judge.all(case for attributes in sets for case in _laid_out(subject, attributes, clause, "beside others"))


@checks("execution.independent")
def test_many_kernels_alive_at_the_same_time(subject: Subject, judge: Judge) -> None:
    """More kernels than a device may have slots for: the first, one between and the last are still what they were."""
    sets = list(subject.attribute_sets([(np.float32(low), np.float32(low + 40)) for low in range(_MANY)]))
    clause, inputs = "execution.independent", subject.distinct(20)
    everyone = [
        subject.case(subject.values_clause(attributes), inputs, attributes, layout_clause=clause) for attributes in sets
    ]
    if len(everyone) < _MANY:  # an operator without numbers: others take the place
        everyone += [other for table in judge.bench.tables.operators.values() for other in _others(subject, table)]
    tensors = everyone[0].operator.tensors  # all of them work on the same memory
    alike = [case.operator for case in everyone if case.operator.tensors == tensors]
    neighbours = tuple(dict.fromkeys(operator for operator in alike if judge.bench.obliged(operator)))
    for case in (everyone[0], everyone[len(sets) // 2], everyone[len(sets) - 1])[: subject.profile.kernels_looked_at]:
        among = (
            neighbours if case.operator in neighbours else (case.operator, *neighbours)
        )  # of a level that obliges less
        judge(replace(case, expectation="beside others", beside=among))


def _others(subject: Subject, table: OperatorTable) -> list[Case]:
    """Cases of another operator on the same type, one for each of many bounds."""
    same = table.tensors.keys() == subject.table.tensors.keys() and of_one_type(table) == subject.of_one_type
    if table == subject.table or not table.float_attributes or not same:
        return []
    other = replace(subject, table=table)
    sets = other.attribute_sets([(np.float32(low), np.float32(low + 40)) for low in range(_MANY)])
    return [other.case("execution.independent", other.distinct(20), attributes) for attributes in sets]


@checks("execution.independent")
def test_kernels_alive_at_the_same_time(subject: Subject, judge: Judge) -> None:
    """Beside kernels of other attributes and other operators, in both orders, and after those are closed."""
    sets = [subject.revealing(), subject.attributes()]
    if subject.table.has_scale_bias:
        sets += [subject.scaled(sets[0], ScaleBias(1.0, 0.0)), _moved(subject, sets[0])]
    values = subject.distinct(100).joined(subject.edges())
    clause = "execution.independent"
    judge.all(
        subject.case(
            subject.scaled_values_clause(attributes),
            values,
            attributes,
            expectation="beside others",
            layout_clause=clause,
        )
        for attributes in sets
    )


@checks("execution.independent")
def test_a_second_device_is_open(subject: Subject, judge: Judge) -> None:
    """A device is opened beside the first: the kernels of both by turns, and the first one's after it was closed."""
    attributes = subject.revealing()
    judge(
        subject.case(
            subject.values_clause(attributes),
            subject.distinct(100),
            attributes,
            expectation="on two devices",
            layout_clause="execution.independent",
        )
    )


@checks("execution.independent")
def test_kernels_on_other_tensors_alive_at_the_same_time(subject: Subject, judge: Judge) -> None:
    """Beside kernels of the same attributes on more elements, on one, on strided ones, on those of other types.

    And on tensors that differ in the layout, the total size or the type of one, or in which of them are there.
    """
    sets, clause, expectation = [subject.revealing()], "execution.independent", "beside other tensors"
    if subject.table.has_scale_bias:
        sets.append(_moved(subject, sets[0]))
    values, sizes = subject.distinct(100).streams, plane(subject, 4, 25)
    cases = [
        Case(subject.describe(sizes, attributes), values, subject.scaled_values_clause(attributes), clause, expectation)
        for attributes in sets
    ]
    cases += [case for attributes in sets for case in _laid_out(subject, attributes, clause, expectation)]
    judge.all(replace(case, placement=place) for case in cases for place in (case.placement, *subject.in_place[:1]))


@checks("execution.independent")
def test_kernels_made_before_and_after_a_refused_one(subject: Subject, judge: Judge) -> None:
    """A description of other attributes and of unlike sizes is refused: nothing of it is left in other kernels."""
    sets, clause, expectation = [subject.revealing()], "execution.independent", "after a refusal"
    if subject.table.has_scale_bias:
        sets.append(_moved(subject, sets[0]))
    cases = [
        subject.case(
            subject.scaled_values_clause(attributes),
            subject.distinct(100),
            attributes,
            expectation=expectation,
            layout_clause=clause,
        )
        for attributes in sets
    ]
    judge.all([*cases, *_laid_out(subject, sets[-1], clause, expectation)])
