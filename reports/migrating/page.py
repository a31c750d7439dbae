"""A migration as one self-contained page: it reads without script, in light and dark, on a telephone and on paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reports.comparing.comparison import error_cell, made_with_cells
from dmlcts.reports.migrating import digest
from dmlcts.reports.migrating.migration import KINDS, STATES
from dmlcts.reports.views.html import environment, inlined, template


def page(document: Mapping[str, Any]) -> str:
    """The migration as an HTML page in the style of a comparison's."""
    style = template("comparison.css") + template("migration.css")
    first, second = digest.labels(document)
    return (
        environment()
        .get_template("migration.html")
        .render(
            **inlined(style, ""),
            document=document,
            first=first,
            second=second,
            made_with=made_with_cells(document["columns"]),
            states=STATES,
            kinds=KINDS,
            by_state=digest.operators_by_state(document),
            sentences=digest.sentences(document),
            specifications=digest.specifications(document),
            shared=digest.shared_losses(document),
            digest=digest,
            error_cell=error_cell,
        )
    )
