"""Relations between results: order, containment, what tables state of one or several operators, without an oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import OperatorDesc, ScaleBias
from dmlcts.specs.checks import COMPARED_OPERATORS
from dmlcts.specs.deviations import Deviation
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.statements.relations import Dispatched, Relation
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, text, text_with_bits
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import (
    MOST_SUSPECTS,
    Array,
    Finding,
    Judgement,
    index_text,
    inputs_text,
    simplest_first,
    streams_of,
    suspect_of,
    value_clauses,
)
from dmlcts.suites.judging.outputs import executed

_ONE_SIDED = f"ELEMENT_WISE_{COMPARED_OPERATORS['threshold-equivalence']}"


def _inputs(execution: Execution, index: int) -> str:
    return inputs_text(execution.inputs, index, text_with_bits)


def relation(
    case: Case,
    executions: tuple[Execution, ...],
    wrong: Array,
    description_of: Callable[[int], str],
    shown_at: Callable[[int], Execution] | None = None,
) -> Judgement:
    """The judgement of a property.

    Args:
        case: whose clause states the property.
        executions: its dispatches, the one on the case's own inputs first.
        wrong: the places of the elements for which it does not hold in the 1-D output, ascending.
        description_of: gives what an element shows, in words.
        shown_at: gives the dispatch whose input and output are shown of an element; the first one without it.
    """
    first = executions[0]
    findings: tuple[Finding, ...] = ()
    if wrong.size:
        order = simplest_first(first.inputs, wrong)
        worst = int(order[0])
        shown = first if shown_at is None else shown_at(worst)
        details = (
            ("input", f"{_inputs(shown, worst)} at index {index_text(case.operator.output, worst)}"),
            ("got", text_with_bits(shown.output[worst])),
            ("property", description_of(worst)),
            ("wrong", f"{wrong.size} of {first.output.size} elements"),
        )
        suspects = tuple(suspect_of(first.inputs, index) for index in order[:MOST_SUSPECTS])
        findings = (
            Finding(
                case.clause,
                "fail",
                case,
                description_of(worst),
                details,
                int(wrong.size),
                suspects,
                deviation=Deviation.WRONG_VALUE if case.expectation == "plain layout" else Deviation.RELATION,
            ),
        )
    return Judgement(findings, value_clauses(case), int(first.output.size), executions)


def compared(values: Array) -> Array:
    """What a comparison may take values for: FLOAT32 subnormals for zeros (latitude ``subnormals``).

    The result has the type and shape of ``values``.
    """
    if values.dtype != np.float32:
        return values
    return np.where(np.abs(values) < np.finfo(values.dtype).smallest_normal, values.dtype.type(0), values)


def same_values(a: Array, b: Array) -> NDArray[np.bool_]:
    """Element-wise sameness with every latitude that two runs of one implementation may use between them.

    ``a`` and ``b`` are of one type and one shape, that of the mask.
    """
    same = compared(a) == compared(b)
    if a.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(b)
    return np.asarray(same)


def free_among(bench: Bench, case: Case, inputs: Mapping[str, Array], *outputs: Array) -> NDArray[np.bool_]:
    """Where each of some outputs is right for the same inputs, so that an implementation may choose among them anew.

    A loop over vectors and the one over what is left, two layouts, two dispatches need not choose alike. Nothing is
    free where bounds are open, whose one value holds for all elements.
    """
    if not outputs[0].size:
        return np.zeros(0, np.bool_)
    oracle = bench.oracle(case.operator)
    try:
        return np.asarray(np.logical_and.reduce([oracle.admits(inputs, output) for output in outputs]))
    except Unconstrained:
        return np.zeros(outputs[0].size, np.bool_)


def _stream(case: Case, x: Array) -> Streams:
    return streams_of(case, (x,))


def judge_idempotent(bench: Bench, case: Case) -> Judgement:
    """Applying the operator to its own output changes nothing."""
    first = executed(bench, case)
    if isinstance(first, Judgement):
        return first
    again = executed(bench, replace(case, values=_stream(case, first.output)), turn=1)
    if isinstance(again, Judgement):
        return again
    wrong = np.flatnonzero(~same_values(first.output, again.output))
    inputs = {name: array[wrong] for name, array in again.inputs.items()}
    wrong = wrong[~free_among(bench, case, inputs, first.output[wrong], again.output[wrong])]
    return relation(
        case,
        (first, again),
        wrong,
        lambda i: f"applied again to {text(first.output[i])} it gives {text(again.output[i])}",
    )


def judge_monotone(bench: Bench, case: Case) -> Judgement:
    """Outputs never decrease where inputs increase.

    NaN stands outside the order, and so do FLOAT32 subnormals, each of which may be flushed or kept.
    """
    run = executed(bench, case)
    if isinstance(run, Judgement):
        return run
    order = np.argsort(run.x, kind="stable")
    if run.x.dtype.kind == "f":
        order = order[~np.isnan(run.x[order]) & ((run.x == 0) | (compared(run.x) != 0))[order]]
    y = compared(run.output[order])
    falls = np.flatnonzero(~(y[1:] >= y[:-1]))
    before = {int(order[i + 1]): int(order[i]) for i in falls}
    return relation(
        case,
        (run,),
        order[falls + 1],
        lambda i: (
            f"input {text(run.x[before[i]])} gives {text(run.output[before[i]])}, "
            f"the larger input {text(run.x[i])} gives {text(run.output[i])}"
        ),
    )


def judge_odd(bench: Bench, case: Case) -> Judgement:
    """The operator of -x is the negated operator of x."""
    run = executed(bench, case)
    if isinstance(run, Judgement):
        return run
    mirrored = executed(bench, replace(case, values=_stream(case, -run.x)), turn=1)
    if isinstance(mirrored, Judgement):
        return mirrored
    wrong = np.flatnonzero(~same_values(run.output, -mirrored.output))
    return relation(
        case,
        (run, mirrored),
        wrong,
        lambda i: (
            f"input {text(run.x[i])} gives {text(run.output[i])}, "
            f"input {text(-run.x[i])} gives {text(mirrored.output[i])}"
        ),
    )


def _range(bench: Bench, operator: OperatorDesc) -> tuple[Array, Array]:
    """The least and the greatest output that the formula admits for any input, without ScaleBias."""
    attributes = {name: None if isinstance(value, ScaleBias) else value for name, value in operator.attributes.items()}
    plain = OperatorDesc(operator.name, operator.tensors, attributes)
    data_type = operator.input.data_type
    if data_type.is_floating:
        ends = np.array([-np.inf, np.inf], data_type.numpy)
    else:
        limits = np.iinfo(data_type.numpy)
        ends = np.array([limits.min, limits.max], data_type.numpy)
    alternatives = bench.vector_oracle(plain).acceptance(ends).alternatives
    return np.min([array[0] for array in alternatives]), np.max([array[1] for array in alternatives])


def judge_contained(bench: Bench, case: Case) -> Judgement:
    """Every output lies in the formula's range, whatever ScaleBias did to the input; NaN is let through."""
    run = executed(bench, case)
    if isinstance(run, Judgement):
        return run
    low, high = _range(bench, case.operator)
    y = compared(run.output)
    outside = (y < compared(low)) | (y > compared(high))
    permitted = f"not {text(low)}" if low == high else f"outside {text(low)} to {text(high)}"
    return relation(
        case,
        (run,),
        np.flatnonzero(outside),
        lambda i: f"input {text(run.x[i])} gives {text(run.output[i])}, {permitted}",
    )


def judge_threshold_equivalence(bench: Bench, case: Case) -> Judgement:
    """It gives what THRESHOLD with the same lower bound gives; the case's upper one is the greatest of the type."""
    clipped = executed(bench, case)
    if isinstance(clipped, Judgement):
        return clipped
    own, one_sided = (bench.tables.operator(name) for name in (case.operator.name, _ONE_SIDED))
    own_attributes = case.operator.attributes
    shared = ((own.scale_bias, one_sided.scale_bias), (own.lower, one_sided.lower))
    attributes = {theirs: own_attributes[ours] if ours else None for ours, theirs in shared if theirs}
    renamed = dict(zip(case.operator.tensors, one_sided.tensors, strict=True))
    tensors = {renamed[name]: tensor for name, tensor in case.operator.tensors.items()}
    threshold = case.with_operator(OperatorDesc(one_sided.operator, tensors, attributes))
    values = Streams(tuple((renamed[name], stream) for name, stream in case.values.items()))
    alias = renamed.get(case.placement.alias, "")
    other = executed(bench, replace(threshold, values=values, placement=replace(case.placement, alias=alias)), turn=1)
    if isinstance(other, Judgement):
        return other
    wrong = np.flatnonzero(~same_values(clipped.output, other.output))
    return relation(
        case,
        (clipped, other),
        wrong,
        lambda i: f"{own.short_name} gives {text(clipped.output[i])}, {one_sided.short_name} {text(other.output[i])}",
    )


def by_formula_names(table: OperatorTable, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The elements of each input by the name that the formula has for it.

    Each array is 1-D, of its tensor's type, and is not copied.
    """
    return {name: inputs[member] for name, member in table.formula_names.items() if member in inputs}


class _Judged(Exception):  # noqa: N818  # the relation's dispatches end here
    """A dispatch gave no output: its judgement stands for the relation's."""

    def __init__(self, judgement: Judgement) -> None:
        super().__init__()
        self.judgement = judgement


def judge_stated_relation(bench: Bench, case: Case) -> Judgement:
    """What the case's clause states holds between the case's inputs and what is dispatched on them."""
    table = bench.tables.operator(case.operator.name)
    first = executed(bench, case)
    if isinstance(first, Judgement):
        return first
    stated = Relation(bench.tables.operators, table, bench.tables.clause(case.clause), case.operator)
    dispatched: list[tuple[Case, Execution]] = []

    def dispatch(dispatched_operator: Dispatched, inputs: Mapping[str, Array]) -> Array:
        operator = dispatched_operator.describe(case.operator.output.sizes)
        asked = replace(case, operator=operator, values=Streams.of(inputs, operator), placement=Placement())
        run = executed(bench, asked, turn=1 + len(dispatched))
        if isinstance(run, Judgement):
            raise _Judged(run)
        dispatched.append((asked, run))
        return run.output

    try:
        wrong = np.flatnonzero(stated.broken(by_formula_names(table, first.inputs), dispatch))
    except _Judged as ended:
        return ended.judgement

    def reported(index: int) -> str:
        return "; ".join(
            f"{bench.tables.operator(asked.operator.name).short_name} gives {text(run.output[index])} "
            f"of {inputs_text(run.inputs, index)}"
            for asked, run in dispatched
        )

    executions = (first, *(run for _, run in dispatched))
    for asked, run in dispatched if wrong.size else ():
        judgement = (
            None if asked.operator.name == case.operator.name else _by_another(bench, asked, run, wrong, reported)
        )
        if judgement is not None:
            return replace(judgement, clauses=value_clauses(case), executions=executions)
    own = [run for asked, run in dispatched if asked.operator.name == case.operator.name]

    def shown_at(index: int) -> Execution:
        """Of the case's operator, the dispatch on the case's own inputs, if the relation has one; else its first."""
        alike = (run for run in own if inputs_text(run.inputs, index) == inputs_text(first.inputs, index))
        return next(alike, own[0] if own else first)

    return relation(case, executions, wrong, reported, shown_at)


def _by_another(
    bench: Bench, asked: Case, run: Execution, wrong: Array, description_of: Callable[[int], str]
) -> Judgement | None:
    """The judgement where another operator of a relation gave what it may not, and so broke the relation."""
    few = {name: array[wrong] for name, array in run.inputs.items()}
    admitted = bench.oracle(asked.operator).admits(few, run.output[wrong])
    if admitted.all():
        return None
    table = bench.tables.operator(asked.operator.name)
    clause = Subject.of(table, asked.operator, bench.level).values_clause(asked.operator.attributes)
    own = replace(asked, clause=clause, layout_clause=None, expectation="oracle")
    return relation(own, (run,), wrong[~admitted], description_of)
