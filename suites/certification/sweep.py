"""The sweep of a certification: ROUND over every FLOAT32, in every mode, made and verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.reports.certification import archive, drafts
from dmlcts.reports.certification.structure import Context
from dmlcts.reports.certification.verdict import Statements, Status
from dmlcts.reports.documents.outcomes import Verdict
from dmlcts.reports.documents.results import verdict_of
from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.tables import Tables
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.targets import Plan, plan

_SELECTION = {"operators": [drafts.SWEPT_OPERATOR], "data_types": [DataType.FLOAT32.name]}
_SAME = ("backend", "device", "feature_level", "seed")
_NOTHING = ("wrong", "unwritten", "strays", "altered", "stopped")
_FOLDER = "sweep"


def certification_plan(tables: Tables, level: FeatureLevel) -> Plan:
    """The targets that the sweep of a certification has."""
    table = tables.operators[drafts.SWEPT_OPERATOR]
    return plan(tables, level, operators=[table], data_types=[DataType.FLOAT32])


def sweep(
    settings: Settings,
    level: FeatureLevel,
    print_line: Callable[[str], None],
    cut: Callable[[Plan], Plan] = lambda whole: whole,
) -> dict[str, Any]:
    """Sweep the implementation that the settings name; the record is also left in a folder of the run's.

    The implementation has a process of its own, however the run was made.

    Args:
        settings: the run's.
        level: the level that is judged.
        print_line: is called with a line about each step.
        cut: cuts the plan down, for trials.

    Returns:
        The sweep's record (``dmlcts-sweep/1``).

    Raises:
        BackendUnavailable, UsageError, WorkerFailed: as sweeps do.
    """
    from dmlcts.suites.sweeping import showing
    from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
    from dmlcts.suites.sweeping.record import publish
    from dmlcts.suites.sweeping.worker_pools.processes import Processes
    from dmlcts.suites.sweeping.worker_pools.workers import Orders

    options = [f"{key}={value}" for key, value in settings.options]
    chosen = Settings.read(
        backend=settings.backend,
        options=options,
        results=str(settings.results / _FOLDER),
        operators=_SELECTION["operators"],
        data_types=_SELECTION["data_types"],
        feature_level=str(level),
        seed=settings.seed,
        isolation="process",
    )
    print_line(f"dmlcts: sweeping {drafts.SWEPT_OPERATOR} over every FLOAT32")
    processes = Processes(Orders(settings.backend, tuple(options), str(chosen.results), str(level)))
    try:
        swept = Sweep.planned(chosen, processes.describe())
        swept.plan = cut(swept.plan)
        with held(swept, print_line=print_line) as journal:
            with showing.progress(swept, processes.size) as report:
                conduct(swept, processes, report, journal)
            size = processes.size
            processes.close()  # nothing of the implementation runs any more when the record is written
            record, _ = publish(swept, size)
    finally:
        processes.close()
    return record


def check_sweep(context: Context) -> Statements:
    """The sweep of FLOAT32 ROUND is there where the level requires it: every mode, every pattern, nothing wrong."""
    level = FeatureLevel.parse(context.statement["feature_level"])
    excused = Status.OPEN if context.draft else Status.FAIL
    if not drafts.requires_sweep(context.reference.tables, level, context.operators):
        if context.submission.sweep is None:
            yield Status.PASS, "none is required: FLOAT32 ROUND is not certified"
        else:
            yield Status.FAIL, "no sweep is required, and there is one"
        return
    document = context.submission.sweep
    if document is None:
        yield excused, "the sweep of FLOAT32 ROUND is missing"
        return
    faults = [*_foreign(document, context), *_gaps(document, certification_plan(context.reference.tables, level))]
    yield from ((Status.FAIL, fault) for fault in faults)
    if document["environment"].get("isolation") != "process":
        yield excused, "the sweep was judged in a process in which code of the implementation ran"
        return
    derived = drafts.sweep_standing(context.submission)
    if not faults and document["verdict"] != verdict_of(document):
        yield Status.FAIL, f"the sweep calls itself {document['verdict']}, its rows amount to {verdict_of(document)}"
    elif not faults and derived is not Verdict.CONFORMANT:
        yield excused, f"the sweep of FLOAT32 ROUND is {derived}"
    elif not faults:
        elements = sum(row["elements"] for row in document["sweeps"])
        yield Status.PASS, f"{len(document['sweeps'])} modes of FLOAT32 ROUND, {elements:,} outputs"


def _foreign(document: Mapping[str, Any], context: Context) -> list[str]:
    """What shows that the sweep is another device's, suite's or selection's."""
    statement = context.statement
    wanted = {name: statement[name] for name in _SAME}
    wanted |= {
        "suite": context.submission.results["suite"],
        "specs": dict(context.reference.tables.digests),
        "strict": False,
        "selection": _SELECTION,
        "interrupted": False,
    }
    return [
        f"{archive.SWEEP} is of another sweep: its {name} differs" for name in wanted if document[name] != wanted[name]
    ]


def _gaps(document: Mapping[str, Any], required_plan: Plan) -> list[str]:
    """What is missing of the targets, or wrong in them without a row that fails."""
    rows = {row["target"]: row for row in document["sweeps"]}
    targets = {target.key: target for target in required_plan.targets}
    faults = []
    if len(rows) != len(document["sweeps"]):
        faults.append("a target of the sweep stands there twice")
    faults += [f"{name} was not swept" for name in sorted(set(targets) - set(rows))]
    faults += [f"{name} is no target of this sweep" for name in sorted(set(rows) - set(targets))]
    failing = {row["id"] for row in document["clauses"] if row["outcome"] not in ("pass", "characterised")}
    for name in sorted(set(rows) & set(targets)):
        row, target = rows[name], targets[name]
        if row["elements"] != target.elements and not row["stopped"]:
            faults.append(f"{name}: {row['elements']:,} of {target.elements:,} patterns were judged")
        elif row["exact"] + row["equal"] + row["other"] + row["wrong"] != row["elements"]:
            faults.append(f"{name}: its counts do not add up")
        if any(row[count] for count in _NOTHING) and not failing:
            faults.append(f"{name}: something is wrong, and no clause fails")
    return faults
