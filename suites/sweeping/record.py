"""The sweep's record, ``sweep.json`` (``dmlcts-sweep/1``): clauses as in ``results.json``, and a row a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.documents.outcomes import Outcome, Verdict, worst
from dmlcts.reports.documents.records import Behaviour, ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, suite_identity
from dmlcts.reports.documents.writing import SWEEP_TEST, dump_yaml, failure_document, write_json, write_text
from dmlcts.reports.views.sweeps import SCHEMA, page
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.cases.values import text_with_bits
from dmlcts.suites.judging.findings import acceptable_text, inputs_text
from dmlcts.suites.sweeping.blocks.explaining import class_clauses
from dmlcts.suites.sweeping.blocks.operands import suspect_values
from dmlcts.suites.sweeping.blocks.targets import Target, described
from dmlcts.suites.sweeping.blocks.totals import STAGES, Suspect, Totals
from dmlcts.suites.sweeping.conducting import Sweep
from dmlcts.suites.sweeping.worker_pools.workers import level_of

_MEMORY = {
    "tensor.output.complete": "unwritten",
    "tensor.output.bounds": "strays",
    "tensor.input.unchanged": "altered",
}


def _tally(target: Target, clause: str, outcome: Outcome, cases: int, elements: int, failures: int) -> ClauseTally:
    several = target.signature is not None and len(target.signature.types) > 1
    types = (str(target.signature),) if several else ()
    return ClauseTally(clause, target.operator, target.data_type.name, outcome, cases, elements, failures, types=types)


def _value_tallies(
    sweep: Sweep, table: OperatorTable, target: Target, totals: Totals, failures: list[FailureRecord]
) -> Iterator[ClauseTally]:
    """The clauses that the values speak about: the target's own, and those of infinite and NaN inputs."""
    special = class_clauses(table, target.clause)
    rows: dict[str, list[int]] = {target.clause: [totals.elements, totals.wrong]}
    for name, clause in special.items():
        judged, wrong = totals.classes.get(name, 0), totals.wrong_classes.get(name, 0)
        rows[target.clause][0] -= judged
        rows[target.clause][1] -= wrong
        row = rows.setdefault(clause, [0, 0])
        row[0] += judged
        row[1] += wrong
    blamed = {failure.clause: failure.outcome for failure in failures}
    elsewhere = bool(blamed) and not set(blamed) & set(rows)  # a value that is right by itself: its clause holds
    for clause, (judged, wrong) in rows.items():
        if not judged and not wrong and not totals.stopped:
            continue
        unspecified = sweep.settings.tables.clause(clause).obligation == "unspecified"
        outcome = Outcome.CHARACTERISED if unspecified else Outcome.PASS
        if wrong and not elsewhere:
            outcome = Outcome.FAIL
        if clause in blamed:
            outcome = worst([blamed[clause], outcome])
        failed = totals.failing if outcome.breaks_conformance else 0
        yield _tally(target, clause, outcome, totals.blocks, judged, failed)
    for clause, outcome in blamed.items():
        if clause not in rows and clause not in _MEMORY:
            yield _tally(target, clause, outcome, totals.failing, 0, totals.failing)


def _memory_tallies(target: Target, totals: Totals, failures: list[FailureRecord]) -> Iterator[ClauseTally]:
    blamed = {failure.clause for failure in failures}
    for clause, counter in _MEMORY.items():
        broken = getattr(totals, counter)
        failed = (totals.failing or 1) if broken or clause in blamed else 0
        outcome = Outcome.FAIL if failed else Outcome.PASS
        yield _tally(target, clause, outcome, totals.blocks, totals.elements, failed)


def _behaviours(sweep: Sweep, target: Target, totals: Totals) -> Iterator[Behaviour]:
    if sweep.settings.tables.clause(target.clause).obligation != "unspecified" or not totals.clean:
        return
    strictly = totals.exact + totals.equal
    if not totals.other:
        seen = "every output is what IEEE 754-2019 gives, NaN propagating"
    elif not strictly:
        seen = "no output is what IEEE 754-2019 gives, NaN propagating; all are permitted otherwise"
    else:
        seen = "some outputs are what IEEE 754-2019 gives, NaN propagating, others permitted otherwise"
    yield Behaviour(target.clause, target.operator, target.data_type.name, f"{seen} (sweep)", target.key)


def _items(sweep: Sweep) -> Iterator[ItemRecord]:
    for number, totals in sorted(sweep.totals.items()):
        target = sweep.plan.targets[number]
        table = sweep.settings.tables.operator(target.operator)
        failures = sweep.failures.get(number, [])
        tallies = [*_value_tallies(sweep, table, target, totals, failures), *_memory_tallies(target, totals, failures)]
        outcomes = [tally.outcome for tally in tallies]
        yield ItemRecord(
            f"{SWEEP_TEST}{target.key}",
            worst(outcomes),
            sum(totals.seconds.values()),
            tuple(tallies),
            tuple(_behaviours(sweep, target, totals)),
            tuple(failures),
            accuracy=()
            if totals.accuracy is None
            else (totals.accuracy.record(target.operator, target.data_type.name),),
        )


def _obliged(sweep: Sweep) -> Iterator[tuple[str, str, str, str]]:
    for target in sweep.plan.targets:
        clause = sweep.settings.tables.clause(target.clause)
        if clause.obligation != "unspecified":
            yield clause.id, target.operator, target.data_type.name, clause.obligation


def _suspects(sweep: Sweep, target: Target, totals: Totals) -> list[dict[str, str]]:
    suspects = []
    for suspect in totals.suspects:
        inputs, got = suspect_values(target, suspect)
        shown = {"input": inputs_text(inputs, 0, text_with_bits), "got": text_with_bits(got)}
        suspects.append(shown | _acceptable(sweep, target, suspect, inputs))
    return suspects


def _acceptable(sweep: Sweep, target: Target, suspect: Suspect, inputs: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """What is acceptable of a wrong element; nothing where the tables leave it open."""
    tables, level = sweep.settings.tables, level_of(sweep.description)
    operator = described(tables, target, level, 1, suspect.start if target.kind == "bounds" else 0)
    (first, *_) = operator.inputs
    named = {name or first: array for name, array in inputs.items()}
    try:
        with np.errstate(all="ignore"):
            acceptance = oracle_of(tables, operator, strict=sweep.settings.strict).acceptance(named)
    except Unconstrained:
        return {}
    return {"acceptable": acceptable_text(acceptance, target.output_type)}


def _row(sweep: Sweep, number: int) -> dict[str, Any]:
    target = sweep.plan.targets[number]
    totals = sweep.totals.get(number, Totals())
    return {
        "target": target.key,
        "operator": target.operator,
        "data_type": target.data_type.name,
        "clause": target.clause,
        "kind": target.kind,
        "elements_planned": target.elements,
        "elements": totals.elements,
        "exact": totals.exact,
        "equal": totals.equal,
        "other": totals.other,
        "wrong": totals.wrong,
        "unwritten": totals.unwritten,
        "strays": totals.strays,
        "altered": totals.altered,
        "stopped": totals.stopped,
        "wrong_by_exponent": {str(key): totals.exponents[key] for key in sorted(totals.exponents)},
        "wrong_by_fraction": dict(sorted(totals.fractions.items())),
        "wrong_by_class": dict(sorted(totals.wrong_classes.items())),
        "simplest_wrong": _suspects(sweep, target, totals),
        "seconds": {stage: round(totals.seconds.get(stage, 0.0), 3) for stage in STAGES},
    }


def _moved(sweep: Sweep) -> int:
    """Bytes of all inputs and outputs: what a device that stands apart must at least have transferred."""
    byte_count = 0
    for number, totals in sweep.totals.items():
        target = sweep.plan.targets[number]
        byte_count += totals.elements * (target.input_bits // 8 + target.output_type.itemsize)
    return byte_count


def document(sweep: Sweep, worker_count: int) -> dict[str, Any]:
    """The record of a sweep; sets its verdict."""
    settings, description = sweep.settings, sweep.description
    assert sweep.finished is not None  # noqa: S101  # conduct sets it
    info = RunInfo(
        settings.backend,
        description.device,
        description.level,
        sweep.profile,
        settings.seed,
        settings.strict,
        settings.selection,
        sweep.started,
        sweep.finished,
        environment=description.environment,
    )
    whole = all(block.id in sweep.done for block in sweep.plan.blocks())
    base = build_results(
        _items(sweep), _obliged(sweep), info, settings.tables, interrupted=sweep.interrupted or not whole
    )
    judged = sweep.elements - sweep.resumed
    stages = {
        stage: round(sum(totals.seconds.get(stage, 0.0) for totals in sweep.totals.values()), 3) for stage in STAGES
    }
    timings = {
        "started": base["timings"]["started"],
        "finished": base["timings"]["finished"],
        "seconds": round(sweep.seconds, 3),
        "elements": judged,
        "elements_per_second": round(judged / sweep.seconds) if sweep.seconds else 0,
        "dispatches": sum(totals.dispatches for totals in sweep.totals.values()),
        "device_bytes_per_second": round(_moved(sweep) / stages["device"]) if stages["device"] else 0,
        "workers": worker_count,
        "stages": stages,
    }
    sweep.verdict = Verdict(base["verdict"])
    kept = (
        "verdict",
        "backend",
        "device",
        "feature_level",
        "profile",
        "seed",
        "strict",
        "selection",
        "interrupted",
        "suite",
        "specs",
        "clauses",
        "behaviours",
        "failures",
    )
    return {
        "schema": SCHEMA,
        **{name: base[name] for name in kept},
        **({"accuracy": base["accuracy"]} if "accuracy" in base else {}),
        "sweeps": [_row(sweep, number) for number in range(len(sweep.plan.targets))],
        "timings": timings,
        "environment": {**base["environment"], "isolation": description.isolation},
    }


def publish(sweep: Sweep, worker_count: int) -> tuple[dict[str, Any], list[Path]]:
    """Write failures, the page and ``sweep.json``, the last one last; gives the record and the paths."""
    folder = sweep.settings.results
    record = document(sweep, worker_count)
    version = suite_identity()["version"]
    files = {failure.file: failure for failures in sweep.failures.values() for failure in failures}
    for name, failure in sorted(files.items()):
        write_text(folder / "failures" / name, dump_yaml(failure_document(failure, version)))
    write_text(folder / "sweep.html", page(record))
    write_json(folder / "sweep.json", record)
    written = [folder / "sweep.json", folder / "sweep.html"]
    return record, [*written, folder / "failures"] if files else written
