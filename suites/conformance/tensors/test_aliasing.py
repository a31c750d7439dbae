"""In-place execution, and input and output in one resource: the result is that of separate tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.conformance.tensors.describing import SIZES
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.drawn.draws import drawn_cases
from dmlcts.suites.generation.drawn.layouts import Kinds
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Judgement
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks


def _all_in_one_region(subject: Subject) -> list[Placement]:
    """The inputs and the output in one region, where the output may be the memory of several inputs at once."""
    return [Placement(in_place=True, one_region=True)] if subject.inputs_may_be_the_output else []


@checks("in-place")
def test_in_place_on_the_boundary_lattice(subject: Subject, judge: Judge) -> None:
    """Every kind of value, for a few attribute sets, with the output bound to an input's region, or to all inputs'."""
    clause = subject.clause("in-place")
    judge.all(
        subject.case(
            subject.values_clause(attributes), subject.edges(), attributes, layout_clause=clause, placement=placement
        )
        for attributes in (*subject.typical(), *_infinite(subject))
        for placement in (*subject.in_place, *_all_in_one_region(subject))
    )


def _infinite(subject: Subject) -> Iterator[dict[str, Any]]:
    """Attributes with infinite bounds, which change no input but may be kept as the largest finite value."""
    if subject.of_one_type and subject.table.float_attributes and subject.data_type.is_floating:
        yield from subject.attribute_sets([(np.float32(-np.inf), np.float32(np.inf))])


@checks("in-place")
def test_in_place_with_strides_at_every_rank(subject: Subject, judge: Judge) -> None:
    """Packed, padded and permuted tensors of every rank, in place."""
    clause = subject.clause("in-place")
    attributes = subject.revealing()
    values = subject.distinct(251).streams
    cases = []
    for rank in subject.ranks:
        sizes = SIZES[:rank]
        packed = TensorDesc(subject.data_type, sizes).element_strides
        reverse = TensorDesc(subject.data_type, sizes[::-1]).element_strides[::-1]
        for strides in (None, tuple(3 * stride for stride in packed), reverse):
            operator = subject.describe(sizes, attributes, strides, strides)
            cases += [
                Case(operator, values, subject.values_clause(attributes), clause, placement=placement)
                for placement in (*subject.in_place, *_all_in_one_region(subject))
            ]
    judge.all(cases)


@checks("in-place")
def test_drawn_in_place(subject: Subject, judge: Judge) -> None:
    """Any layout, attributes, values and offset, in place."""
    judge.all(drawn_cases(subject, subject.clause("in-place"), Kinds(padded=True, permuted=True, in_place=True)))


@checks("in-place")
def test_in_place_equals_out_of_place(subject: Subject, judge: Judge) -> None:
    """Without an oracle: a large tensor gives the same in place and out of place, with every enumerator."""
    count = subject.profile.bulk_in_place
    values = subject.bulk_elements(subject.seed + 1, count)
    judge.all(
        subject.case(
            subject.values_clause(attributes),
            values,
            attributes,
            expectation="plain layout",
            layout_clause=subject.clause("in-place"),
            placement=subject.in_place[-1],
        )
        for attributes in subject.attribute_sets(edge_values.bounds(subject.data_type)[:1])
    )


@checks("in-place.together", "tensor.output.bounds")
def test_all_in_one_region_where_one_input_may_be_aliased(subject: Subject, judge: Judge) -> None:
    """The page lets the output alias one of the inputs: all of them in one region may be refused, or give anything."""
    clause, attributes = subject.clause("in-place.together"), subject.revealing()
    sizes = SIZES[: subject.ranks[-1]]
    spaced = tuple(3 * stride for stride in TensorDesc(subject.data_type, sizes).element_strides)
    values, place = subject.distinct(251).streams, Placement(in_place=True, one_region=True)
    for strides in (None, spaced):
        operator = subject.describe(sizes, attributes, strides, strides)
        judgement = judge(Case(operator, values, clause, None, "left open", place))
        if judgement.unsupported is None:
            judge.characterise(clause, operator, _given(judge, operator, judgement))


def _given(judge: Judge, operator: OperatorDesc, judgement: Judgement) -> str:
    """What became of all tensors in one region, in words."""
    if judgement.refused:
        return "refused"
    oracle = judge.bench.oracle(operator)
    for run in judgement.executions:
        with np.errstate(all="ignore"):
            expected = oracle.expected(run.inputs)
            if oracle.judge(run.inputs, run.output, expected).size:
                return "gives other values than out of place"
    return "gives the same as out of place"


@checks("binding.same-resource")
def test_distinct_regions_of_one_resource(subject: Subject, judge: Judge) -> None:
    """The output before and after the input, touching it, near it and far from it."""
    attributes = subject.revealing()
    inputs = subject.distinct(1021)
    lengths = [len(inputs), 1, 3, 17]
    judge.all(
        subject.case(
            subject.values_clause(attributes),
            inputs.resized(length),
            attributes,
            layout_clause="binding.same-resource",
            placement=Placement(front=front, gap=gap, tail=64, output_first=output_first),
        )
        for length in lengths
        for output_first in (False, True)
        for front, gap in ((64, 0), (64, 16), (4096, 65536))
    )


def may_overlap(subject: Subject) -> bool:
    """Whether there are several inputs, all of one type, so that each may begin within another one's region."""
    return len(subject.inputs) > 1 and len(set(subject.inputs.values())) == 1 and not subject.single


@checks("binding.same-resource")
def test_inputs_in_one_region(subject: Subject, judge: Judge) -> None:
    """Inputs that are only read may be the same memory, or share a part: packed, strided, with the last one first."""
    attributes = subject.revealing()
    clause, values = subject.values_clause(attributes), subject.distinct(251)
    cases = []
    shared = [Placement(one_region=True), Placement(inputs_turned=True), Placement(inputs_turned=True, gap=0)]
    if may_overlap(subject):
        shared.append(Placement(overlapping=True))
    for placement in shared:
        for sizes in (subject.flat(251), SIZES[: subject.ranks[-1]]):
            spaced = tuple(2 * stride for stride in TensorDesc(subject.data_type, sizes).element_strides)
            for strides in (None, spaced):
                operator = subject.describe(sizes, attributes, strides)
                cases.append(Case(operator, values.streams, clause, "binding.same-resource", placement=placement))
    judge.all(cases if len(subject.inputs) > 1 else cases[:1])
