"""What makes a submission a draft: a modified suite, a missing sweep, a verdict, a profile, no signature."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dmlcts.reports.certification.identity import modifications
from dmlcts.reports.certification.submission import Submission
from dmlcts.reports.documents.outcomes import Outcome, Verdict
from dmlcts.reports.documents.results import verdict_of
from dmlcts.reports.documents.waivers import Waivers
from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.tables import Tables

SWEPT_OPERATOR = "ELEMENT_WISE_ROUND"
ISOLATED, PROFILE = "process", "certification"
"""The isolation and the profile of a run that certifies."""


def requires_sweep(tables: Tables, level: FeatureLevel | str, operators: Collection[str] | None = None) -> bool:
    """Whether certifying some operators, or all, at ``level`` requires the sweep of ROUND over every FLOAT32."""
    wanted = operators is None or SWEPT_OPERATOR in operators
    table = tables.operators.get(SWEPT_OPERATOR) if wanted else None
    supported = () if table is None else table.support_at(FeatureLevel.parse(str(level)))
    return any(DataType.FLOAT32 in support.data_types for support in supported)


def sweep_standing(submission: Submission) -> Verdict | None:
    """The verdict that the sweep's rows amount to, waivers applied; ``None`` where there is no sweep."""
    sweep = submission.sweep
    return None if sweep is None else waived_verdict(sweep, submission.waivers)


def waived_verdict(document: Mapping[str, Any], waivers: Waivers) -> Verdict:
    """The verdict of a document with clause rows and failures, its waived failures left out of account."""

    def applied(part: Mapping[str, Any], clause: str) -> dict[str, Any]:
        covered = waivers.covering(clause, part["operator"], part["data_type"]) is not None
        held = covered and part["outcome"] == Outcome.FAIL.value
        return {**part, "outcome": Outcome.WAIVED.value if held else part["outcome"]}

    return verdict_of(
        {
            **document,
            "clauses": [applied(row, row["id"]) for row in document["clauses"]],
            "failures": [applied(failure, failure["clause"]) for failure in document["failures"]],
        }
    )


def sweep_fault(submission: Submission) -> str:
    """What keeps a sweep from being in order, in one word; "" where nothing does."""
    standing = sweep_standing(submission)
    return "missing" if standing is None else "" if standing is Verdict.CONFORMANT else standing.value


def draft_reasons(
    *, suite: Mapping[str, Any], profile: str, isolation: str, verdict: str | None, signed: bool, sweep: str
) -> list[str]:
    """Why a submission can only be a draft; empty where it need not be one.

    Args:
        suite: what the statement says of the suite.
        profile: the profile that was run.
        isolation: "process" or "none".
        verdict: the run's verdict, ``None`` where it is not known yet.
        signed: whether the statement is signed.
        sweep: what is wrong with the sweep, in one word, "" where it is in order or not required.
    """
    reasons = list(modifications(suite))
    if profile != PROFILE:
        reasons.append(f"the profile was {profile}, and only certification runs certify")
    if isolation != ISOLATED:
        reasons.append("the implementation did not run in a process of its own")
    if verdict not in (None, Verdict.CONFORMANT.value):
        reasons.append(f"the verdict is {verdict}")
    if not signed:
        reasons.append("it is not signed")
    if sweep:
        reasons.append(f"the sweep of FLOAT32 ROUND is {sweep}")
    return reasons
