"""A migration as one self-contained page in the style of results.html, with its filters; it reads without script.

Its sections are in ``reports/templates/migration.html``; what they show is arranged in :mod:`.digest`.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Any

from dmlcts.reports.comparing.comparison import error_cell, made_with_cells
from dmlcts.reports.documents.wording import type_order
from dmlcts.reports.migrating import digest
from dmlcts.reports.migrating.migration import KINDS, STATES
from dmlcts.reports.views.html import environment, inlined, template


def page(document: Mapping[str, Any]) -> str:
    """The migration as an HTML page that loads nothing."""
    first, second = digest.labels(document)
    rules = [document["rules"][row["clause"]] for each in document["operators"] for row in digest.listed(each)]
    return (
        environment()
        .get_template("migration.html")
        .render(
            **inlined(template("report.css"), template("page.js")),
            document=document,
            first=first,
            second=second,
            cited=list(dict.fromkeys((rule["source"], rule["address"]) for rule in rules if rule["quotation"])),
            made_with=made_with_cells(document["columns"]),
            states=STATES,
            kinds=KINDS,
            by_state=digest.operators_by_state(document),
            sentences=digest.sentences(document),
            specifications=digest.specifications(document),
            shared=digest.shared_losses(document),
            digest=digest,
            operators=[operator["operator"] for operator in document["operators"]],
            types=sorted({name for operator in document["operators"] for name in _types_of(operator)}, key=type_order),
            types_of=_types_of,
            made_by=importlib.metadata.version("dmlcts"),
            error_cell=error_cell,
        )
    )


def _types_of(operator: Mapping[str, Any]) -> list[str]:
    """The data types of what the page lists of an operator."""
    rows = [*operator["clauses"], *operator["behaviours"]]
    names = {name for row in rows for name in row["data_types"]} | set(operator["missing_types"])
    return sorted(names, key=type_order)
