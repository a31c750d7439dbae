"""The page of a run, with the reasons that a baseline holds for its failures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dmlcts.reports.comparing.baseline import load
from dmlcts.reports.comparing.triage import baseline_for, known_reasons
from dmlcts.reports.views.html import page
from dmlcts.specs.tables import Tables

_HOUSE = Path(__file__).resolve().parents[2]


def kept_baselines() -> list[Path]:
    """The baselines that are kept in the repository; none in an installed copy."""
    return sorted((_HOUSE / "backends/baselines").glob("*.yaml"))


def results_page(results: Mapping[str, Any], tables: Tables, baseline: Path | None = None) -> str:
    """The HTML page of a run, ``results.html``, as text.

    Args:
        results: a results document.
        tables: the tables to take the clauses' words from.
        baseline: the file with the reasons; ``None`` for the kept one of the same implementation, if there is any.

    Raises:
        UsageError: ``baseline`` cannot be read.
    """
    if not results["failures"]:
        return page(results, tables)
    chosen = load(baseline) if baseline else baseline_for(results, [load(path) for path in kept_baselines()])
    return page(results, tables, reasons=None if chosen is None else known_reasons(results, chosen))
