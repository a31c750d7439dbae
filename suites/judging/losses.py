"""Judging on an implementation that may take its process with it: whom a loss is blamed on."""

from __future__ import annotations

from dataclasses import replace

from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, Judgement

LOSSES = ("crash", "timeout", "device_lost", "resource_error")
"""The outcomes after which the implementation runs in a fresh process."""


def judge_surviving(bench: Bench, case: Case) -> Judgement:
    """Judge ``case``; where the process is lost, once more in a fresh one, to learn whether the case is to blame.

    A loss that comes again is the case's own. One that does not is the work of what ran before it, or of chance: it
    breaks ``execution.independent``, or ``execution.repeatable`` where the process held ever more memory. Either way
    the finding says so and keeps the outcome.
    """
    before = bench.losses
    judgement = judge_case(bench, case)
    if not bench.isolated or bench.losses == before or not any(one.outcome in LOSSES for one in judgement.findings):
        return judgement
    again = judge_case(bench, case)
    seen = {finding.outcome for finding in again.findings}
    findings = tuple(_explained(finding, seen) for finding in judgement.findings)
    return replace(judgement, findings=findings)


def _explained(finding: Finding, seen: set[str]) -> Finding:
    if finding.outcome not in LOSSES:
        return finding
    if finding.outcome in seen:
        said = "the same in a fresh process: the case itself is to blame"
        return replace(finding, details=(*finding.details, ("again", said)))
    others = ", ".join(sorted(seen)) or "no fault"
    said = f"{others} in a fresh process: what ran before it is to blame, or chance"
    clause = "execution.repeatable" if finding.outcome == "resource_error" else "execution.independent"
    return replace(
        finding, clause=clause, title=f"{finding.title}, not again in a fresh process",
        details=(*finding.details, ("again", said)), suspects=(), settled=True,
    )  # fmt: skip


def unexplained(bench: Bench) -> tuple[Finding, ...]:
    """What was lost before any test began and did not happen again: told once, by whoever asks first."""
    lost, bench.unexplained = bench.unexplained, []
    return tuple(
        _explained(Finding(case.clause, mishap.outcome, case, mishap.title or "the device was lost",
                           (("said", mishap.text),)), set())
        for case, mishap in lost
    )  # fmt: skip


def judge_hazard(bench: Bench, case: Case) -> Judgement:
    """Judge a case that is known to lose the process: with a shorter limit, and without trying it again."""
    with bench.hurried():
        judgement = judge_case(bench, case)
    said = ("again", "as the simplest case of its kind does, which was tried before")
    findings = tuple(
        replace(finding, details=(*finding.details, said), settled=True) if finding.outcome in LOSSES else finding
        for finding in judgement.findings
    )  # fmt: skip
    return replace(judgement, findings=findings)
