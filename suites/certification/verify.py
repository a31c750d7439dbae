"""Verification of a submission: what `dmlcts.reports.certification` checks, and everything judged again.

Nothing in the archive is believed. The tests that had to run are collected here, the results are rebuilt from
the records, the inputs of the carried outputs are planned here, and the outputs are judged by this suite's
oracle with this suite's tables. No device is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from dmlcts.reports.certification import archive, structure, verdict
from dmlcts.reports.certification.identity import Reference
from dmlcts.reports.certification.operators import obliged_operators, wanted_operators
from dmlcts.reports.certification.structure import Context
from dmlcts.reports.certification.submission import Submission
from dmlcts.reports.certification.verdict import Line, Statements, Status, Verification, first_of_each
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.results import RunInfo, build_results, stable
from dmlcts.reports.summaries.because import explained
from dmlcts.reports.summaries.fault_groups import grouped_by_fault
from dmlcts.specs import DataType, DmlctsError, FeatureLevel
from dmlcts.specs.number_text import many
from dmlcts.suites.certification import evidence
from dmlcts.suites.certification.command import certify_words
from dmlcts.suites.certification.records import check_records
from dmlcts.suites.certification.sweep import check_sweep
from dmlcts.suites.combinations.coverage import combinations_of as combinations_of
from dmlcts.suites.running.options import covering_of, required_rows


def check_command(context: Context) -> Statements:
    """The command is `dmlcts certify` with its closed list of options, and asks for what was done."""
    options = certify_words(context.statement["command"])
    statement = context.statement
    names = ("product", "vendor", "backend", "options", "seed", "profile", "isolation")
    wanted = {name: statement[name] for name in names}
    wanted["challenge"] = statement.get("challenge", "")
    asked = wanted_operators(options.pop("operators"), context.reference.tables)
    level = FeatureLevel.parse(statement["feature_level"])
    options["operators"] = list(asked or obliged_operators(context.reference.tables, level))
    wanted["operators"] = sorted(context.operators)
    wanted["waived"] = archive.WAIVERS in context.submission.members
    wanted["draft"] = context.draft
    wanted["signed"] = statement["key"] is not None
    faults = [
        f"{name}: the command says {options[name]!r}, the statement {wanted[name]!r}"
        for name in wanted
        if options[name] != wanted[name]
    ]
    if options["feature_level"] not in (None, statement["feature_level"]):
        faults.append(f"the command asks for level {options['feature_level']}, not {statement['feature_level']}")
    yield from ((Status.FAIL, fault) for fault in faults)
    if not faults:
        yield Status.PASS, "the command asks for this"


def check_results(context: Context) -> Statements:
    """The results, and with them the verdict, follow from the records, the tables and the waivers."""
    submission, statement = context.submission, context.statement
    results = submission.results
    tables = context.reference.tables
    waivers = submission.waivers
    rebuilt = build_results(
        grouped_by_fault(waivers.apply(submission.records)),
        _required_rows(context),
        _run(results, context.now),
        tables,
        unsupported=_unsupported(results["device"]),
        interrupted=results["interrupted"],
    )
    if "combinations" in results:  # results of earlier versions say nothing of them
        level = FeatureLevel.parse(statement["feature_level"])
        subjects = {(operator, data_type) for _, operator, data_type, _ in _required_rows(context)}
        rebuilt |= combinations_of(submission.records, tables, level, results["profile"], subjects, results["seed"])
    rebuilt |= waivers.reported(rebuilt)
    rebuilt = explained(rebuilt, tables)
    faults = list(_differences(stable(rebuilt), stable(results)))
    if rebuilt["verdict"] != statement["verdict"]:
        message = f"the records amount to {rebuilt['verdict']}, the statement says {statement['verdict']}"
        faults.append(("claimed", message))
    yield from first_of_each(Status.FAIL, faults)
    unrun = [row for row in rebuilt["clauses"] if Outcome(row["outcome"]).did_not_run]
    idle = [(row["outcome"], f"{_named(row)} is required and was not run: {row['outcome']}") for row in unrun]
    yield from first_of_each(Status.OPEN if context.draft else Status.FAIL, idle)
    if not faults and not idle:
        yield Status.PASS, f"from the records follow {many(len(rebuilt['clauses']), 'row')}: {rebuilt['verdict']}"


def _run(document: Mapping[str, Any], now: datetime) -> RunInfo:
    """What the results say of their run, for what does not follow from records."""
    started, finished = (structure.moment(document["timings"][name]) or now for name in ("started", "finished"))
    return RunInfo(
        document["backend"],
        document["device"],
        document["feature_level"],
        document["profile"],
        document["seed"],
        document["strict"],
        document["selection"],
        started,
        finished,
        document["suite"],
        document["environment"],
        document.get("shard"),
    )


def _unsupported(device: Mapping[str, Any]) -> set[tuple[str, str]]:
    claimed = device["data_types"] or {}
    return {(operator, item.name) for operator, names in claimed.items() for item in DataType if item.name not in names}


def _differences(rebuilt: Mapping[str, Any], submitted_results: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Where the results differ from those that the records amount to, by kind, rows one by one."""
    mine, theirs = ({_key(row): row for row in results["clauses"]} for results in (rebuilt, submitted_results))
    for key in sorted({*mine, *theirs}):
        if key not in theirs:
            yield "lacking", f"the results lack the row {' '.join(key)}"
        elif key not in mine:
            yield "beside", f"the results have the row {' '.join(key)}, which no record supports"
        elif mine[key] != theirs[key]:
            named = [
                f"{name} {theirs[key][name]}, not {mine[key][name]}"
                for name in mine[key]
                if mine[key][name] != theirs[key][name]
            ]
            yield "other", f"{' '.join(key)}: the results say {'; '.join(named)}"
    for name in sorted({*rebuilt, *submitted_results} - {"clauses"}):
        if rebuilt.get(name) != submitted_results.get(name):
            yield name, f"{name} of the results does not follow from the records"


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['id']} on {row['operator']} {row['data_type']}"


def _key(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["id"], row["operator"], row["data_type"]


def check_evidence(context: Context) -> Statements:
    """The carried outputs are those of the verifier's own plan, and right."""
    statement, record, tables = context.statement, context.submission.evidence, context.reference.tables
    level = FeatureLevel.parse(statement["feature_level"])
    planned = evidence.plan(tables, level, statement["seed"], statement.get("challenge", ""), context.operators)
    size = sum(item.size for item in planned)
    outputs = context.submission.outputs
    here = {"cases": len(planned), "bytes": size, "plan": evidence.digest(planned)}
    for who, source in (("the statement", statement["evidence"]), ("the evidence", record)):
        differing = [name for name in here if source[name] != here[name]]
        if differing:
            name = differing[0]
            yield Status.FAIL, f"{who} is of another plan: {name} is {source[name]}, not {here[name]}"
            return
    if len(outputs) != size:
        yield Status.FAIL, f"evidence.bin has {len(outputs):,} bytes, the plan asks for {size:,}"
        return
    absent = {item["case"] for item in record["absent"]}
    if len(absent) != len(record["absent"]) or any(index >= len(planned) for index in absent):
        yield Status.FAIL, "the evidence names absent cases twice, or some that are not planned"
        return
    missing = (
        (item["outcome"], f"{planned[item['case']].identity} has no output: {item['outcome']}")
        for item in record["absent"]
    )
    yield from first_of_each(Status.OPEN if context.draft else Status.FAIL, missing)
    wrong = evidence.judge(planned, outputs, frozenset(absent), tables)
    conforming = statement["verdict"] == "CONFORMANT"
    broken = _waived_rows(context)
    waived = [failure for failure in wrong if _row(failure) in broken]
    unexcused = [failure for failure in wrong if _row(failure) not in broken]
    yield from first_of_each(Status.FAIL if conforming else Status.OPEN, map(_reported, unexcused))
    if not unexcused and not absent:
        right = "all right" if not waived else f"all right but {many(len(waived), 'case')} of waived clauses"
        yield Status.PASS, f"{many(len(planned), 'case')}, {size:,} bytes of outputs judged again, {right}"
    elif unexcused and not conforming:
        yield Status.PASS, f"{len(wrong)} of {len(planned)} cases are wrong, as the verdict has it"


def _reported(wrong: evidence.Wrong) -> tuple[str, str]:
    """A wrong case in a sentence; those of one operator are of one kind."""
    more = f" ({wrong.elements} elements)" if wrong.elements > 1 else ""
    return wrong.planned.case.operator.name, f"wrong output in {wrong.planned.identity}: {wrong.wording}{more}"


def _row(wrong: evidence.Wrong) -> tuple[str, str, str]:
    case = wrong.planned.case
    return case.clause, case.operator.name, case.data_type.name


def _waived_rows(context: Context) -> set[tuple[str, str, str]]:
    """The rows that the run itself found broken, under a waiver; a waiver alone excuses no output."""
    return {
        _key(row) for row in structure.rows_with_waived(context.submission) if row["outcome"] == Outcome.WAIVED.value
    }


def _required_rows(context: Context) -> list[tuple[str, str, str, str]]:
    """The rows that the run requires; another check sees to the profile in which all are required."""
    statement, tables = context.statement, context.reference.tables
    covering = covering_of(tables, statement["profile"], statement["seed"])
    return list(required_rows(tables, FeatureLevel.parse(statement["feature_level"]), context.operators, covering))


def verify_members(
    members: Mapping[str, bytes],
    reference: Reference,
    expected: Sequence[str] | None,
    *,
    trusted: Sequence[bytes] = (),
    now: datetime | None = None,
    day: date | None = None,
    challenge: str = "",
) -> Verification:
    """Verify the members of an archive that was read.

    Args:
        members: as :func:`~dmlcts.reports.certification.archive.read` gives them.
        reference: the verifier's suite and tables.
        expected: the node ids of the tests that had to run; ``None`` to collect them here, when they are needed.
        trusted: public keys, 32 bytes each.
        now: the verifier's clock; ``None`` for the machine's.
        day: the day on which waivers have to hold; ``None`` for today.
        challenge: what the verifier handed out beforehand; "" for nothing.
    """
    try:
        submission = Submission(members)
        statement = submission.statement
    except DmlctsError as error:
        return Verification((Line("statement", Status.FAIL, str(error)),), draft=False, about={})
    context = Context(submission, reference, now or datetime.now(UTC), tuple(trusted), day, challenge)
    draft, about = bool(statement["draft"]), verdict.about(statement)
    signed = _lines({name: structure.CHECKS[name] for name in ("digests", "signature")}, context)
    if any(line.status is Status.FAIL for line in signed):
        return Verification(signed, draft, about)  # whoever made it did not sign this: nothing more of it is read
    if any(statement["suite"][name] != getattr(reference, name) for name in ("version", "digest")):
        early = {name: structure.CHECKS[name] for name in ("digests", "signature", "suite")}
        return Verification(_lines(early, context), draft, about)  # another suite's documents may look otherwise
    malformed = [Line("form", Status.FAIL, " ".join(fault.split())) for fault in submission.faults()]
    if malformed:
        return Verification(tuple(malformed), draft, about)
    checks: dict[str, structure.Check] = {
        **structure.CHECKS,
        "command": check_command,
        "records": partial(check_records, expected=expected),
        "results": check_results,
        "evidence": check_evidence,
        "sweep": check_sweep,
    }
    return Verification(_lines(checks, context), draft, about, structure.rows_with_waived(submission))


def _lines(checks: Mapping[str, structure.Check], context: Context) -> tuple[Line, ...]:
    """What the checks say, in their order."""
    return tuple(
        line
        for name, check in checks.items()
        for line in verdict.collect(name, partial(check, context), (DmlctsError,))
    )


def verify(
    path: str | Path,
    reference: Reference,
    *,
    trusted: Sequence[bytes] = (),
    day: date | None = None,
    challenge: str = "",
) -> Verification:
    """Verify a submission's file.

    Args:
        path: the archive.
        reference: the verifier's suite and tables.
        trusted: public keys, 32 bytes each.
        day: the day on which waivers have to hold; ``None`` for today.
        challenge: what the verifier handed out beforehand; "" for nothing.

    Raises:
        UsageError: there is no such file, or it cannot be read: nothing was verified.
    """
    try:
        members = archive.read(path)
    except archive.ArchiveError as error:
        return Verification((Line("archive", Status.FAIL, str(error)),), draft=False, about={})
    return verify_members(members, reference, None, trusted=trusted, day=day, challenge=challenge)
