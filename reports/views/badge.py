"""A run's verdict as a badge: the JSON that a shields.io endpoint badge is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome, Verdict
from dmlcts.reports.documents.wording import many

LABEL = "DirectML conformance"
_COLOURS = {Verdict.CONFORMANT: "0b5c8f", Verdict.NOT_CONFORMANT: "b3260a", Verdict.INCOMPLETE: "7a5200"}


def badge(results: Mapping[str, Any]) -> dict[str, Any]:
    """The badge of a results document (``schemas/badge-1.json``).

    A verdict on a selection says so, for a badge is read without what stands beside it.
    """
    verdict = Verdict(results["verdict"])
    message = verdict.words.lower()
    broken = {row["id"] for row in results["clauses"] if Outcome(row["outcome"]).breaks_conformance}
    if broken:
        message += f" ({many(len(broken), 'clause')})"
    waived = {row["id"] for row in results["clauses"] if row["outcome"] == Outcome.WAIVED.value}
    if waived and not broken:
        message += f" with {many(len(waived), 'waived clause')}"
    message += f", level {results['feature_level']}"
    if any(results["selection"].values()):
        message += ", selection only"
    return {"schemaVersion": 1, "label": LABEL, "message": message, "color": _COLOURS[verdict]}
