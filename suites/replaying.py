"""One failing case, again: read from a failure file, judged on any backend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from dmlcts.reports.characters import one_line
from dmlcts.reports.validation import load_failure
from dmlcts.specs import UsageError
from dmlcts.specs.rules import unconditional_violations
from dmlcts.specs.tables import Tables
from dmlcts.suites.bench import Bench
from dmlcts.suites.cases import Case
from dmlcts.suites.expectations import EXPECTATIONS, WITHOUT_DISPATCH
from dmlcts.suites.judge import account
from dmlcts.suites.surviving import judge_surviving

_MOST_BYTES, _MOST_ELEMENTS = 1 << 29, 1 << 25


@dataclass(frozen=True)
class Replay:
    """What replaying came to: whether the case fails, the account of it, and whether the backend can express it."""

    failed: bool
    text: str
    supported: bool = True


def load_case(path: str | Path, tables: Tables) -> Case:
    """The case that a failure file holds, checked so that it can be run safely.

    Raises:
        DocumentError: the file is no failure file.
        UsageError: it holds what no run would have written.
    """
    document = load_failure(path)
    case = Case.from_json(document["case"])
    tables.operator(case.operator.name)
    for clause in (case.clause, *([case.layout_clause] if case.layout_clause else [])):
        tables.clause(clause)
    if case.expectation not in EXPECTATIONS:
        raise UsageError(f"{path} expects {case.expectation!r}", f"known are {', '.join(EXPECTATIONS)}")
    wanted = {attribute.name for attribute in tables.operator(case.operator.name).attributes}
    if set(case.operator.attributes) != wanted:
        raise UsageError(f"{path} has the attributes {sorted(case.operator.attributes)}",
                         f"{case.operator.name} has {sorted(wanted)}")  # fmt: skip
    if case.expectation in WITHOUT_DISPATCH:
        return case
    broken = unconditional_violations(case.operator, tables)
    if broken:
        raise UsageError(f"{path} describes what cannot be run: {broken[0].text}", "use a file that a run wrote")
    source, target = case.operator.input, case.operator.output
    elements = max(math.prod(tensor.sizes) for tensor in (source, target))
    if elements > _MOST_ELEMENTS:  # strides may lay any number of elements over few bytes
        raise UsageError(f"{path} has {elements:,} elements", f"replay takes up to {_MOST_ELEMENTS:,}")
    if case.placement.in_place and source != target:
        raise UsageError(f"{path} runs different tensors in place", "use a file that a run wrote")
    size = case.placement.regions(source, target)[2]
    if size > _MOST_BYTES:
        raise UsageError(f"{path} needs {size} bytes of memory", f"replay takes up to {_MOST_BYTES}")
    return case


def replay(bench: Bench, case: Case, command: str) -> Replay:
    """Judge the case once more."""
    judgement = judge_surviving(bench, case)
    if judgement.findings:
        return Replay(True, "\n\n".join(account(bench.tables, finding, command) for finding in judgement.findings))
    subject = f"{case.operator.name} on {case.data_type.name}"
    if judgement.unsupported is not None:
        because = one_line(judgement.unsupported)
        return Replay(False, f"{subject}: not supported by the backend: {because}", supported=False)
    if judgement.refused:
        return Replay(False, f"{subject}: refused, as feature level {bench.level} permits")
    return Replay(False, f"{subject}: passes, {judgement.elements} elements judged ({case.clause})")
