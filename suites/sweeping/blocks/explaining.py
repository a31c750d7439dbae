"""From a target's totals to failures that a person reads and a machine replays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dmlcts.reports.documents.records import FailureRecord
from dmlcts.reports.documents.writing import SWEEP_TEST
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values, text, text_with_bits
from dmlcts.suites.isolation.proxy import DEFAULT_TIMEOUT
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.running.failure_record import failure_of
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.targets import Target, described, sample
from dmlcts.suites.sweeping.blocks.totals import Suspect, Totals

_MOST = 3


def class_clauses(table: OperatorTable, main: str) -> dict[str, str]:
    """The clause that a wrong value breaks, by the class of its input; ``main`` where the table has none of its own."""
    if main == table.clause_of("nan.bound"):
        return {}
    found = {
        "nan": table.clause_of("rounding.nan", "nan.input"),
        "infinite": table.clause_of("rounding.infinity", "bounds.infinite"),
    }
    return {name: clause for name, clause in found.items() if clause is not None}


def _clause(bench: Bench, target: Target, value: np.generic) -> str:
    table = bench.tables.operator(target.operator)
    clauses = class_clauses(table, target.clause)
    if target.data_type.is_floating and np.isnan(value):
        return clauses.get("nan", target.clause)
    if target.data_type.is_floating and np.isinf(value):
        return clauses.get("infinite", target.clause)
    return target.clause


def _alone(bench: Bench, target: Target, suspect: Suspect) -> Case:
    """The suspect as the only element of its tensor."""
    value = np.array([suspect.bits], target.data_type.bits_dtype).view(target.data_type.numpy)[0]
    operator = described(bench.tables, target, bench.level, 1, suspect.start)
    return Case(operator, Values.of([value], target.data_type), _clause(bench, target, value))


def _tensor(bench: Bench, target: Target, start: int, count: int) -> Case:
    """The tensor that begins at ``start`` of the target, as the sweep dispatched it."""
    if target.kind == "bounds":
        operator = described(bench.tables, target, bench.level, 1 << 16, start)
        return Case(operator, Values.patterns(target.data_type, 0), target.clause)
    operator = described(bench.tables, target, bench.level, count)
    if target.kind == "patterns":
        return Case(operator, Values.patterns(target.data_type, start), target.clause)
    step = target.block_size()
    block = start // step * step
    inside = start - block
    stream = sample(target, block, min(step, target.size - block)).array(inside + count)[inside:]
    return Case(operator, Values.of(stream, target.data_type), target.clause)


def _findings(bench: Bench, target: Target, totals: Totals) -> Iterator[Finding]:
    told = 0
    for suspect in totals.suspects:
        judged = judge_case(bench, _alone(bench, target, suspect))
        if judged.findings and told < _MOST:
            told += 1
            yield judged.findings[0]
    if totals.suspects and not told:
        suspect = totals.suspects[0]
        # right by itself and wrong in its tensor: it is where it stands that makes it wrong
        case = replace(_tensor(bench, target, suspect.start, suspect.count), layout_clause="tensor.position")
        judged = judge_case(bench, case)
        if judged.findings:
            yield smallest(bench, judged.findings[0])
        else:
            data_type = target.data_type
            both = np.array([suspect.bits, suspect.got], data_type.bits_dtype).view(data_type.numpy)
            details = (("input", text_with_bits(both[0])), ("got", text_with_bits(both[1])),
                       ("again", "dispatched again, the same tensor came out right"))  # fmt: skip
            title = f"input {text(both[0])} gave {text(both[1])} once"
            yield Finding(
                "execution.repeatable", "fail", replace(case, layout_clause=None), title, details, totals.wrong
            )
    for trouble in totals.troubles[:1]:
        case = _tensor(bench, target, trouble.start, trouble.count)
        repeated = judge_case(bench, case) if trouble.outcome not in ("crash", "timeout") else None
        if repeated is not None and repeated.findings:
            yield from (smallest(bench, finding) for finding in repeated.findings)
        else:
            yield Finding(target.clause, trouble.outcome, case, trouble.text, (("said", trouble.text),))


def explain(bench: Bench, target: Target, totals: Totals, settings: Settings) -> list[FailureRecord]:
    """The failures of a target: its simplest wrong inputs alone, or what it takes beyond one element.

    Args:
        bench: an open device.
        target: what was swept.
        totals: what its blocks came to.
        settings: the run's options, for the command that replays.
    """
    found: dict[str, FailureRecord] = {}
    told = replace(settings, isolation="process", timeout=DEFAULT_TIMEOUT)  # as a replay of one case is made
    for finding in _findings(bench, target, totals):
        record = failure_of(f"{SWEEP_TEST}{target.key}", bench.tables, finding, told)
        found.setdefault(record.file, record)
    return list(found.values())
