"""A run's verdict as a badge: the JSON that a shields.io endpoint badge is drawn from, and a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from dmlcts.reports.documents.outcomes import Outcome, Verdict
from dmlcts.reports.summaries.characters import visible
from dmlcts.specs.number_text import many

LABEL = "DirectML conformance"
_COLOURS = {Verdict.CONFORMANT: "0b5c8f", Verdict.NOT_CONFORMANT: "b3260a", Verdict.INCOMPLETE: "7a5200"}
_CHARACTER = 6.6  # units that a character takes, at most, at the size of the drawing
_MARGIN = 7
_DRAWING = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
    'aria-label="{label}: {message}">'
    "<title>{label}: {message}</title>"
    '<rect width="{left}" height="20" fill="#3b424d"/>'
    '<rect x="{left}" width="{right}" height="20" fill="#{color}"/>'
    '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
    '<text x="{margin}" y="14" textLength="{label_width}" lengthAdjust="spacingAndGlyphs">{label}</text>'
    '<text x="{start}" y="14" textLength="{message_width}" lengthAdjust="spacingAndGlyphs">{message}</text>'
    "</g></svg>\n"
)


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


def badge_svg(results: Mapping[str, Any]) -> str:
    """The badge of a results document as a drawing, which needs no service and loads nothing."""
    shown = badge(results)
    label, message = (str(visible(shown[name])) for name in ("label", "message"))
    left, right = (round(len(text) * _CHARACTER) + 2 * _MARGIN for text in (label, message))
    return str(
        _DRAWING.format(
            width=left + right,
            left=left,
            right=right,
            color=shown["color"],
            label=label,
            message=message,
            margin=_MARGIN,
            start=left + _MARGIN,
            label_width=left - 2 * _MARGIN,
            message_width=right - 2 * _MARGIN,
        )
    )
