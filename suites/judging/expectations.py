"""Every expectation by its name in a case, and the judge of a case by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.statements.silent_points import silent_points
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.judging.findings import WITHOUT_DISPATCH, Array, Expectation, Judgement, is_mishap, streams_of
from dmlcts.suites.judging.kernels import judge_beside_other_tensors, judge_steps
from dmlcts.suites.judging.one_value import judge_one_value, judge_plain_layout
from dmlcts.suites.judging.outputs import judge_harmless, judge_left_open, judge_oracle
from dmlcts.suites.judging.refusals import judge_accepted, judge_either, judge_refused
from dmlcts.suites.judging.relations import (
    judge_contained,
    judge_idempotent,
    judge_monotone,
    judge_odd,
    judge_stated_relation,
    judge_threshold_equivalence,
)
from dmlcts.suites.judging.state import (
    judge_after_a_refusal,
    judge_after_another,
    judge_again,
    judge_beside_another,
    judge_beside_others,
    judge_dispatched_again,
    judge_many_times,
    judge_on_two_devices,
)

EXPECTATIONS: Mapping[str, Expectation] = {
    "oracle": judge_oracle,
    "refused": judge_refused,
    "accepted": judge_accepted,
    "either": judge_either,
    "harmless": judge_harmless,
    "left open": judge_left_open,
    "idempotent": judge_idempotent,
    "monotone": judge_monotone,
    "odd": judge_odd,
    "contained": judge_contained,
    "threshold equivalence": judge_threshold_equivalence,
    "stated relation": judge_stated_relation,
    "plain layout": judge_plain_layout,
    "one value": judge_one_value,
    "again": judge_again,
    "many times": judge_many_times,
    "beside others": judge_beside_others,
    "dispatched again": judge_dispatched_again,
    "after another": judge_after_another,
    "beside another": judge_beside_another,
    "beside other tensors": judge_beside_other_tensors,
    "after a refusal": judge_after_a_refusal,
    "on two devices": judge_on_two_devices,
    "steps": judge_steps,
}


def judge_case(bench: Bench, case: Case) -> Judgement:
    """Judge ``case`` by the expectation it names, after what it says has to run before.

    A dispatch that does not come back, and does without the elements at silent points, breaks the clause on those: the
    other elements are judged without them.
    """
    for earlier in case.earlier:
        judge_case(bench, earlier)
    bench.remember(case)
    return without_silent_points(bench, case, EXPECTATIONS[case.expectation](bench, case))


def without_silent_points(bench: Bench, case: Case, judgement: Judgement) -> Judgement:
    """The judgement of a case; where its dispatch did not come back, whom that is blamed on.

    A dispatch that does without the elements at silent points breaks the clause on those.
    """
    expectation = EXPECTATIONS[case.expectation]
    stopped = next((finding for finding in judgement.findings if is_mishap(finding)), None)
    if stopped is None or stopped.case.operator != case.operator or case.expectation in WITHOUT_DISPATCH:
        return judgement
    subject = (case.operator.name, case.data_type, stopped.outcome)
    if subject in bench.stopping_anyway:
        return judgement
    silent = _silent_elements(bench, stopped.case)
    values = _without(stopped.case, silent)
    if values is None:
        return judgement
    without = expectation(bench, replace(case, values=values, earlier=()))
    if not any(is_mishap(finding) for finding in without.findings):
        clause = _to_blame(bench, stopped.case, silent)
        expected = "oracle" if case.expectation == "stated relation" else case.expectation  # which states nothing
        shown = replace(stopped.case, clause=clause, layout_clause=None, expectation=expected)
        return replace(without, findings=(*without.findings, replace(stopped, clause=clause, case=shown)))
    if stopped.outcome != "fail":  # each try costs a process
        bench.stopping_anyway.add(subject)
    return judgement


@dataclass(frozen=True)
class _Silent:
    """A case's elements at silent points.

    Attributes:
        inputs: the elements of each input, by its tensor's name.
        masks: which of them each point holds of, by the point's clause; points that hold of none are left out.
    """

    inputs: Mapping[str, Array]
    masks: Mapping[str, NDArray[np.bool_]]


def _silent_elements(bench: Bench, case: Case) -> _Silent:
    table = bench.tables.operator(case.operator.name)
    points = silent_points(table, case.operator)
    inputs = bench.prepare(case).inputs if points else {}
    named = {name: inputs[member] for name, member in table.formula_names.items() if member in inputs}
    with np.errstate(all="ignore"):
        masks = {point.clause.id: point.where(named) for point in points}
    return _Silent(inputs, {clause: mask for clause, mask in masks.items() if mask.any()})


def _without(case: Case, silent: _Silent, *clauses: str) -> Streams | None:
    """Values without the elements at the points of some clauses, by default of all; ``None`` where there are no such.

    An ordinary element takes the place of each at those points, of ones where all are at some. Where tensors are
    broadcast, so that elements share what is stored, it takes the place of all, and the clauses are not distinguished.
    """
    if not silent.masks:
        return None
    anywhere = np.logical_or.reduce([*silent.masks.values()])
    gone = np.logical_or.reduce([silent.masks[name] for name in clauses or silent.masks])
    arrays = silent.inputs.values()
    index = int(np.argmin(anywhere))

    def ordinary(array: Array) -> Any:
        return array.dtype.type(1) if anywhere[index] else array[index]

    if all(
        tensor.element_count == gone.size and 0 not in tensor.element_strides
        for tensor in case.operator.inputs.values()
    ):
        return streams_of(case, (np.where(gone, ordinary(array), array) for array in arrays))
    return None if clauses else streams_of(case, (ordinary(array) for array in arrays))


def _to_blame(bench: Bench, case: Case, silent: _Silent) -> str:
    """The clause whose point's elements alone stop the dispatch; the first of several where none does alone."""
    clauses = list(silent.masks)
    for clause in clauses if len(clauses) > 1 else ():
        values = _without(case, silent, clause)
        if values is not None and isinstance(bench.run(replace(case, values=values, earlier=())), Execution):
            return clause
    return clauses[0]
