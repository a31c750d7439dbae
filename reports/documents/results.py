"""The results document: all records of a run merged into one deterministic JSON value, with its verdict.

The order in which records arrive (several workers, several shards) changes nothing: rows are merged by
(clause, operator, data type), the worst outcome wins, counts are added, and everything is sorted. Only the
fields in :data:`VOLATILE` differ between two runs that found the same.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import os
import platform
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.reports.documents import accuracy
from dmlcts.reports.documents.outcomes import Outcome, Verdict, worst
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.selecting import besides, within
from dmlcts.specs import FeatureLevel
from dmlcts.specs.tables import Tables

SCHEMA = "dmlcts-results/3"
READ = ("dmlcts-results/1", "dmlcts-results/2", SCHEMA)
"""What this version reads: version 1 does not hold the signatures of a row, and neither it nor 2 has `accuracy`."""
VOLATILE = ("timings", "environment")
SLOWEST = 10
_MOST_LEVELS, _MOST_MEMBERS, _MOST_CHARACTERS = 20, 1000, 10_000

_PACKAGES = (
    "dmlcts",
    "click",
    "hypothesis",
    "jsonschema-rs",
    "numpy",
    "pydantic",
    "pytest",
    "pytest-xdist",
    "PyYAML",
    "rich",
    "onnxruntime",
    "onnxruntime-directml",
    "torch",
    "torch-directml",
    "wgpu",
)

_FAILURE_ORDER = ("clause", "operator", "data_type", "outcome", "title", "file", "test")

Row = tuple[str, str, str]
"""What a row is merged by: clause id, operator name, data type name."""


def environment() -> dict[str, Any]:
    """The machine and the software that the suite runs on; no host or user names."""
    installed = {}
    for name in _PACKAGES:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count() or 1,
        "packages": installed,
    }


_SUITE = ("specs", "backends", "reports", "suites")
_ELSE = ("suites/selftest", "suites/mutants", "suites/proof", "**/*.md")  # what of these folders judges nothing


_HERE = Path(__file__).resolve().parent


def git(*arguments: str, folder: Path = _HERE) -> str | None:
    """What git says in a folder of the suite, stripped; ``None`` where it is not there, or has nothing to say."""
    program = shutil.which("git")
    if program is None:
        return None
    command = [program, "-C", str(folder), *arguments]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None


def suite_version() -> str:
    """The suite's version, "unknown" where it is not installed."""
    try:
        return importlib.metadata.version("dmlcts")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def suite_identity() -> dict[str, Any]:
    """The suite's version, and in a checkout its commit and whether tracked files of the suite were modified.

    The suite is what judges: selftests, mutants and their proof, guides and what lies beside the four folders are no
    part of it.

    Elsewhere ``commit`` and ``modified`` are ``None``: an installed copy that happens to lie inside another
    project's repository is not that project's commit.
    """
    version = suite_version()
    if git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return {"version": version, "commit": None, "modified": None}
    commit = git("rev-parse", "HEAD")
    paths = [*(f":/{room}" for room in _SUITE), *(f":(top,exclude,glob){name}" for name in _ELSE)]
    changes = git("status", "--porcelain", "--untracked-files=no", "--", *paths)
    return {"version": version, "commit": commit, "modified": None if changes is None else bool(changes)}


def suite_tags() -> list[str]:
    """The tags of the commit that is checked out; none outside a checkout."""
    return (git("tag", "--points-at", "HEAD") or "").split()


def _jsonable(value: object, levels: int = _MOST_LEVELS) -> Any:
    """The value in JSON's types, bounded: what a backend says of itself must not keep its results from being read."""
    if isinstance(value, bool | None) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, int) and abs(value) < 1 << 64:
        return int(value)
    if not levels:
        return "…"
    if isinstance(value, Mapping):
        few = itertools.islice(value.items(), _MOST_MEMBERS)
        return {_worded(key): _jsonable(member, levels - 1) for key, member in few}
    if isinstance(value, list | tuple):
        return [_jsonable(member, levels - 1) for member in value[:_MOST_MEMBERS]]
    if isinstance(value, set | frozenset):
        few = itertools.islice(value, _MOST_MEMBERS)
        return sorted((_jsonable(member, levels - 1) for member in few), key=str)
    return _worded(value)


def _worded(value: object) -> str:
    """A third party's value as a text of bounded length, whatever its own methods do."""
    try:
        text = str(value)[: _MOST_CHARACTERS + 1]
    except Exception:  # whatever a third party's __str__ does
        return f"({type(value).__name__})"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def describe_device(info: object) -> dict[str, Any]:
    """A backend's ``DeviceInfo`` as JSON; whatever a third party's lacks is written as empty."""
    described: dict[str, Any] = {
        name: _worded(getattr(info, name, None) or "")
        for name in ("name", "adapter", "driver", "library", "version", "feature_level")
    }
    claimed: Mapping[str, Iterable[Any]] | None = getattr(info, "data_types", None)
    described["data_types"] = claimed and {
        operator: sorted(getattr(data_type, "name", str(data_type)) for data_type in data_types)
        for operator, data_types in sorted(claimed.items())
    }
    described["details"] = _jsonable(dict(getattr(info, "details", None) or {}))
    return described


@dataclass(frozen=True)
class RunInfo:
    """What a run was: who was judged, by which rules, when and where.

    Attributes:
        backend: the backend's name as the user gave it.
        device: :func:`describe_device` of the device that was opened.
        feature_level: the level that was asked of it ("5.0").
        profile: "quick", "full" or "certification".
        seed: the seed of everything random.
        strict: whether every latitude was narrowed to IEEE 754.
        selection: what was selected, by option ("operators": ["ELEMENT_WISE_CLIP"]); empty for everything.
        started: when the run began.
        finished: when it ended.
        suite: :func:`suite_identity`.
        environment: :func:`environment`.
        shard: which part of a run this is ("1/4"), or ``None`` for all of it.
    """

    backend: str
    device: Mapping[str, Any]
    feature_level: FeatureLevel | str
    profile: str
    seed: int
    strict: bool
    selection: Mapping[str, Any]
    started: datetime
    finished: datetime
    suite: Mapping[str, Any] = field(default_factory=suite_identity)
    environment: Mapping[str, Any] = field(default_factory=environment)
    shard: str | None = None


def _merged(tallies: list[ClauseTally], is_required: bool, claimed: bool) -> dict[str, Any] | None:
    """One row from its tallies; ``None`` where nothing ran and nothing was required."""
    if not is_required:
        tallies = [tally for tally in tallies if not tally.outcome.did_not_run]
    cases = sum(tally.cases for tally in tallies)
    # Where some test ran the clause, one that could not for another clause's sake takes nothing away from it.
    ran = [tally for tally in tallies if tally.cases or tally.outcome is not Outcome.NOT_SUPPORTED]
    outcome = worst(tally.outcome for tally in (ran or tallies))
    if is_required and any(tally.unsupported for tally in tallies):
        outcome = worst((outcome, Outcome.NOT_SUPPORTED))
    if cases == 0 and outcome >= Outcome.SKIPPED:
        if not is_required:
            return None
        if not claimed:
            outcome = Outcome.NOT_SUPPORTED
        elif not outcome.did_not_run:
            outcome = Outcome.SKIPPED
    return {
        "outcome": outcome.value,
        "cases": cases,
        "elements": sum(tally.elements for tally in tallies),
        "failures": sum(tally.failures for tally in tallies),
    }


def _rows(
    items: Collection[ItemRecord],
    obligations: Mapping[Row, str],
    tables: Tables,
    unsupported: Collection[tuple[str, str]],
) -> list[dict[str, Any]]:
    tallies: dict[Row, list[ClauseTally]] = defaultdict(list)
    for item in items:
        for tally in item.tallies:
            tallies[tally.clause, tally.operator, tally.data_type].append(tally)
    rows = []
    for key in sorted({*tallies, *obligations}):
        clause, operator, data_type = key
        merged = _merged(tallies.get(key, []), key in obligations, (operator, data_type) not in unsupported)
        if merged is not None:
            obligation = obligations[key] if key in obligations else tables.clause(clause).obligation
            names = {"id": clause, "operator": operator, "data_type": data_type, "obligation": obligation}
            types = sorted({name for tally in tallies.get(key, []) for name in tally.types})
            rows.append(names | merged | ({"types": types} if types else {}))
    return rows


def _behaviours(items: Iterable[ItemRecord]) -> list[dict[str, Any]]:
    seen: dict[tuple[str, ...], dict[str, Any]] = {}
    everything = [behaviour.to_json() for item in items for behaviour in item.behaviours]
    for behaviour in sorted(everything, key=lambda behaviour: tuple(behaviour.values())):
        *key, _ = behaviour.values()
        seen.setdefault(tuple(key), behaviour)
    return list(seen.values())


MOST_OF_A_CASE = 8 << 10
"""Characters of a case that stands in results.json: hundreds that cannot be shrunk would be too much to read."""


_ALWAYS = ("clause", "operator", "data_type", "outcome", "title", "file", "test", "details", "replay", "case")
_WHERE_KNOWN = ("deviation", "needs", "origin", "because")
"""Members of a failing case that are left out where nothing is known."""


def _summarised(failure: FailureRecord) -> dict[str, Any]:
    whole = failure.to_json()
    if failure.file and len(json.dumps(whole["case"])) > MOST_OF_A_CASE:  # its own file has the values
        whole["case"] = {name: value for name, value in whole["case"].items() if name != "values"}
    return {name: whole[name] for name in _ALWAYS} | {name: whole[name] for name in _WHERE_KNOWN if whole[name]}


def _failures(items: Iterable[ItemRecord]) -> list[dict[str, Any]]:
    failures = []
    for item in items:
        failures += [_summarised(failure) for failure in item.failures]
        outcomes = [*(failure.outcome for failure in item.failures), *(tally.outcome for tally in item.tallies)]
        if item.outcome.breaks_conformance and worst(outcomes) > item.outcome:
            title = f"the test ended as {item.outcome.value} without an account"
            failures.append(_summarised(FailureRecord("", "", "", item.outcome, item.test, title, title, {})))
    return _ordered(failures)


def _ordered(failures: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(failures, key=lambda failure: tuple(failure[name] for name in _FAILURE_ORDER))


def _timings(items: Iterable[ItemRecord], run: RunInfo) -> dict[str, Any]:
    slowest = sorted(items, key=lambda item: (-item.seconds, item.test))[:SLOWEST]
    return {
        "started": run.started.astimezone(UTC).isoformat(timespec="seconds"),
        "finished": run.finished.astimezone(UTC).isoformat(timespec="seconds"),
        "seconds": round(max((run.finished - run.started).total_seconds(), 0.0), 3),
        "slowest": [{"test": item.test, "seconds": round(item.seconds, 3)} for item in slowest],
    }


def verdict_of(results: Mapping[str, Any]) -> Verdict:
    """The verdict that a results document's rows, failures and interruption amount to.

    An implementation's fault anywhere is NOT_CONFORMANT. Otherwise a fault of the suite's own
    (``harness_error``), an interruption, a required row that did not run, or no row at all is INCOMPLETE.
    """
    rows = [Outcome(row["outcome"]) for row in results["clauses"]]
    outcomes = [*rows, *(Outcome(failure["outcome"]) for failure in results["failures"])]
    if any(outcome.accuses for outcome in outcomes):
        return Verdict.NOT_CONFORMANT
    faulty = any(outcome.breaks_conformance for outcome in outcomes)
    if faulty or results["interrupted"] or not rows or any(outcome.did_not_run for outcome in rows):
        return Verdict.INCOMPLETE
    return Verdict.CONFORMANT


def stable(results: Mapping[str, Any]) -> dict[str, Any]:
    """The results without the fields that differ between two runs that found the same."""
    return {key: value for key, value in results.items() if key not in VOLATILE}


def build_results(
    items: Iterable[ItemRecord],
    obliged: Iterable[tuple[str, str, str, str]],
    run: RunInfo,
    tables: Tables,
    *,
    unsupported: Collection[tuple[str, str]] = frozenset(),
    interrupted: bool = False,
) -> dict[str, Any]:
    """Merge the records of a run into its results document.

    Every row that did not run was required: what neither ran nor was required has no row. Where clauses were
    selected, rows and failures are those of the selected ones, and ``besides`` holds the failures of the others.

    Args:
        items: the records, in any order.
        obliged: the rows that the selection requires: clause id, operator, data type name, obligation.
        run: what the run was.
        tables: the spec tables it rests on.
        unsupported: (operator, data type name) that the device does not claim; required rows of these that
            got no case become ``not_supported``, others ``skipped``.
        interrupted: whether the run was stopped before its end.

    Raises:
        UsageError: a tally names a clause that no table has.
    """
    items = list(items)
    chosen = within(items, run.selection)
    obligations = {(clause, operator, data_type): duty for clause, operator, data_type, duty in obliged}
    results: dict[str, Any] = {
        "schema": SCHEMA,
        "verdict": "",
        "backend": run.backend,
        "device": dict(run.device),
        "feature_level": str(run.feature_level),
        "profile": run.profile,
        "seed": run.seed,
        "strict": run.strict,
        "selection": _jsonable(run.selection),
        "shard": run.shard,
        "interrupted": interrupted,
        "left_out": sum(item.left_out for item in items),
        "suite": dict(run.suite),
        "specs": dict(sorted(tables.digests.items())),
        "clauses": _rows(chosen, obligations, tables, unsupported),
        "behaviours": _behaviours(chosen),
        "failures": _failures(chosen),
        "timings": _timings(items, run),
        "environment": dict(run.environment),
    }
    measured = accuracy.rows(items, tables)
    if measured:
        results["accuracy"] = measured
    beside = [_summarised(failure) for failure in besides(items, run.selection)]
    if beside:
        results["besides"] = _ordered(beside)
    results["verdict"] = verdict_of(results).value
    return results
