"""The fingerprint of an implementation: what it does where the pages are silent."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dmlcts.backends import DeviceInfo
from dmlcts.reports.documents.records import Behaviour
from dmlcts.reports.documents.results import describe_device
from dmlcts.reports.documents.wording import behaviour_text
from dmlcts.reports.documents.writing import write_json
from dmlcts.specs import UsageError
from dmlcts.specs.models import Clause
from dmlcts.specs.tables import Tables
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import execute


@dataclass(frozen=True)
class Fingerprint:
    """The behaviours seen, and what was unsafe or outside every permitted outcome.

    Attributes:
        backend: as the user named it.
        device: what the device says of itself, as JSON.
        behaviours: what was seen, sorted.
        unsafe: titles of what failed while looking.
    """

    backend: str
    device: dict[str, Any]
    behaviours: tuple[Behaviour, ...]
    unsafe: tuple[str, ...]


def fingerprint(settings: Settings) -> Fingerprint:
    """Run the characterising tests only, and gather what they saw.

    Raises:
        UsageError: the selection holds nothing that the pages leave open.
    """
    open_ones = [
        clause.id for clause in settings.tables.clauses if clause.latitude or clause.obligation == "unspecified"
    ]
    chosen = [clause for clause in open_ones if settings.selects_clause(clause)]
    unspecified = [clause for clause in chosen if settings.tables.clause(clause).obligation == "unspecified"]
    rounding = [clause for clause in chosen if "contraction" in settings.tables.clause(clause).latitude]
    values = [clause for clause in chosen if _leaves_subnormals_open(settings.tables.clause(clause))]
    if not unspecified and not rounding and not values:
        raise UsageError("the selection holds no clause that the pages leave open", "choose others with --clause")
    with tempfile.TemporaryDirectory(prefix="dmlcts-probe-") as folder:
        run = execute(
            replace(
                settings, clauses=(*unspecified, *rounding, *values), named=frozenset(values), results=Path(folder)
            ),
            quiet=True,
        )
        device = describe_device(run.info)
    seen = {
        (behaviour.clause, behaviour.operator, behaviour.data_type): behaviour
        for item in run.records
        for behaviour in item.behaviours
        if _claims(run.info, behaviour)
    }
    unsafe = [failure.title for item in run.records for failure in item.failures]
    return Fingerprint(settings.backend, device, tuple(seen[key] for key in sorted(seen)), tuple(sorted(set(unsafe))))


def _leaves_subnormals_open(clause: Clause) -> bool:
    return clause.check == "values" and "subnormals" in clause.latitude


def _claims(info: DeviceInfo | None, seen: Behaviour) -> bool:
    """Whether the device claims the type: what it does with any other says nothing of it."""
    claimed = None if info is None or info.data_types is None else info.data_types.get(seen.operator)
    return claimed is None or seen.data_type in {data_type.name for data_type in claimed}


def print_fingerprint(result: Fingerprint, tables: Tables, console: Console) -> None:
    """Print the behaviours, each after the point that it is about; those that several types share on one line."""
    shared: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for observation in result.behaviours:
        text = behaviour_text(observation.clause, observation.behaviour, tables)
        shared[observation.clause, observation.operator.removeprefix("ELEMENT_WISE_"), text].append(
            observation.data_type
        )
    table = Table(title=f"{result.backend}: what it does where the pages are silent", title_justify="left")
    for heading in ("clause", "operator", "types", "behaviour"):
        table.add_column(heading, overflow="fold")
    for (clause, operator, behaviour), types in shared.items():
        table.add_row(clause, operator, ", ".join(types), behaviour)
    console.print(table)
    for title in result.unsafe:
        console.print(f"unsafe or outside every permitted outcome: {title}", style="bold red", markup=False)


def write_fingerprint(result: Fingerprint, path: Path) -> None:
    """Write the fingerprint as JSON (``dmlcts-fingerprint/1``)."""
    document = {
        "schema": "dmlcts-fingerprint/1",
        "backend": result.backend,
        "device": result.device,
        "behaviours": [behaviour.to_json() for behaviour in result.behaviours],
        "unsafe": list(result.unsafe),
    }
    write_json(path, document)
