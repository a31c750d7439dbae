"""From a target's totals to failures that a person reads and a machine replays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dmlcts.reports.documents.records import FailureRecord
from dmlcts.reports.documents.writing import SWEEP_TEST
from dmlcts.specs.deviations import Deviation
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array, Streams, Values, text, text_with_bits
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, inputs_text
from dmlcts.suites.options.table import DEFAULT_TIMEOUT
from dmlcts.suites.running.failure_record import failure_of
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.operands import combination, combinations, sampled, suspect_values
from dmlcts.suites.sweeping.blocks.targets import Target, described, sample, subject_of
from dmlcts.suites.sweeping.blocks.totals import Suspect, Totals

_MOST = 3


def class_clauses(table: OperatorTable, main: str) -> dict[str, str]:
    """The clause that a wrong value breaks, by the class of its input; ``main`` where the table has none of its own."""
    if main == table.clause_of("nan.bound"):
        return {}
    clauses = {
        "nan": table.clause_of("rounding.nan", "nan.input"),
        "infinite": table.clause_of("rounding.infinity", "bounds.infinite"),
    }
    return {name: clause for name, clause in clauses.items() if clause is not None}


def _clause(bench: Bench, target: Target, value: np.generic) -> str:
    """The clause that a wrong output breaks, by the (first) input's value."""
    table = bench.tables.operator(target.operator)
    clauses = class_clauses(table, target.clause)
    floating = isinstance(value, np.floating)
    if floating and np.isnan(value):
        return clauses.get("nan", target.clause)
    if floating and np.isinf(value):
        return clauses.get("infinite", target.clause)
    return target.clause


def _alone(bench: Bench, target: Target, suspect: Suspect) -> Case:
    """The suspect as the only element of its tensor."""
    if target.inputs:
        inputs = combination(target, suspect.bits)
        value = next(iter(inputs.values()))[0]
        operator = described(bench.tables, target, bench.level, 1)
        return Case(operator, _streams(bench, target, inputs), _clause(bench, target, value))
    value = np.array([suspect.bits], target.data_type.bits_dtype).view(target.data_type.numpy)[0]
    operator = described(bench.tables, target, bench.level, 1, suspect.start)
    return Case(operator, Values.of([value], target.data_type), _clause(bench, target, value))


def _tensor(bench: Bench, target: Target, start: int, count: int) -> Case:
    """The tensor that begins at ``start`` of the target, as the sweep dispatched it."""
    if target.kind == "bounds":
        operator = described(bench.tables, target, bench.level, 1 << 16, start)
        return Case(operator, Values.patterns(target.data_type, 0), target.clause)
    operator = described(bench.tables, target, bench.level, count)
    if target.inputs and target.kind == "patterns":
        return Case(operator, _streams(bench, target, combinations(target, start, count)), target.clause)
    if target.kind == "patterns":
        return Case(operator, Values.patterns(target.data_type, start), target.clause)
    step = target.block_size()
    block = start // step * step
    inside = start - block
    if target.inputs:
        subject = subject_of(bench.tables, target, bench.level)
        whole = sampled(subject, target, block, min(step, target.size - block))
        part = {name: array[inside : inside + count] for name, array in whole.items()}
        return Case(operator, _streams(bench, target, part), target.clause)
    stream = sample(target, block, min(step, target.size - block)).array(inside + count)[inside:]
    return Case(operator, Values.of(stream, target.data_type), target.clause)


def _streams(bench: Bench, target: Target, arrays: dict[str, Array]) -> Streams:
    """What fills a case with the elements of several inputs; tensors of one element have an ordinary one."""
    return subject_of(bench.tables, target, bench.level).of_arrays(arrays).streams


def _findings(bench: Bench, target: Target, totals: Totals) -> Iterator[Finding]:
    count = 0
    for suspect in totals.suspects:
        judged = judge_case(bench, _alone(bench, target, suspect))
        if judged.findings and count < _MOST:
            count += 1
            yield judged.findings[0]
    if totals.suspects and not count:
        suspect = totals.suspects[0]
        # right by itself and wrong in its tensor: it is where it stands that makes it wrong
        case = replace(_tensor(bench, target, suspect.start, suspect.count), layout_clause="tensor.position")
        judged = judge_case(bench, case)
        if judged.findings:
            yield smallest(bench, judged.findings[0])
        else:
            inputs, got = suspect_values(target, suspect)
            details = (
                ("input", inputs_text(inputs, 0, text_with_bits)),
                ("got", text_with_bits(got)),
                ("again", "dispatched again, the same tensor came out right"),
            )
            title = f"input {inputs_text(inputs, 0)} gave {text(got)} once"
            yield Finding(
                "execution.repeatable",
                "fail",
                replace(case, layout_clause=None),
                title,
                details,
                totals.wrong,
                deviation=Deviation.UNSTEADY,
            )
    for trouble in totals.troubles[:1]:
        case = _tensor(bench, target, trouble.start, trouble.count)
        repeated = judge_case(bench, case) if trouble.outcome not in ("crash", "timeout") else None
        if repeated is not None and repeated.findings:
            yield from (smallest(bench, finding) for finding in repeated.findings)
        else:
            yield Finding(
                target.clause,
                trouble.outcome,
                case,
                trouble.text,
                (("said", trouble.text),),
                deviation=Deviation.STOPPED,
            )


def explain(bench: Bench, target: Target, totals: Totals, settings: Settings) -> list[FailureRecord]:
    """The failures of a target: its simplest wrong inputs alone, or what it takes beyond one element.

    Args:
        bench: an open device.
        target: what was swept.
        totals: the totals of its blocks.
        settings: the run's options, for the command that replays.
    """
    failures: dict[str, FailureRecord] = {}
    replay_settings = replace(settings, isolation="process", timeout=DEFAULT_TIMEOUT)  # as a replay of one case is made
    with bench.steadily():
        findings = list(_findings(bench, target, totals))
    for finding in findings:
        record = failure_of(f"{SWEEP_TEST}{target.key}", bench.tables, finding, replay_settings)
        failures.setdefault(record.file, record)
    return list(failures.values())
