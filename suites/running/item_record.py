"""From what a test found on a subject to its record, and from the records to the files of a run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from dmlcts.reports.documents.outcomes import Outcome, Verdict, worst
from dmlcts.reports.documents.records import Behaviour, ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, describe_device
from dmlcts.reports.documents.waivers import WaiverError
from dmlcts.reports.summaries.because import explained
from dmlcts.reports.summaries.characters import one_line
from dmlcts.reports.summaries.fault_groups import grouped_by_fault
from dmlcts.reports.views.run_folder import write_run
from dmlcts.reports.views.terminal import summary
from dmlcts.specs.number_text import many
from dmlcts.suites.attribution.faults import faults_of
from dmlcts.suites.cases.outcomes import DeviceGone
from dmlcts.suites.console.plain import PlainConsole
from dmlcts.suites.console.printing import complain
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.judging.judge import ConformanceFailure, Judge, Tally
from dmlcts.suites.running.combinations_covered import combinations_members
from dmlcts.suites.running.failure_record import failure_of, replay_command
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.results_page import results_page

if TYPE_CHECKING:
    from dmlcts.suites.running.run import Run


def probe_record(
    test: str,
    judge: Judge,
    error: BaseException | None,
    seconds: float,
    settings: Settings,
    account: Callable[[BaseException], str],
) -> ItemRecord:
    """What one test found on one subject, with its failures brought down to their smallest cases.

    A failure that turns out to break another clause than the one the test set out to check (a value that is
    wrong whatever the layout, say) is booked under the clause it breaks.

    Args:
        test: its name.
        judge: what judged its cases.
        error: what it ended with; ``None`` where it passed.
        seconds: how long it took.
        settings: of the run.
        account: describes an error that is no verdict.
    """
    failures: list[FailureRecord] = []
    moved: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    if isinstance(error, ConformanceFailure):
        for finding in _distinct(judge.ledger.findings):
            least = faults_of(judge.bench).reported(finding)
            if least.clause != finding.clause:
                subject = (finding.case.operator.name, finding.case.data_type.name)
                moved[(finding.clause, *subject)] = (least.clause, least.case.operator.name, least.case.data_type.name)
            failures.append(failure_of(test, judge.bench.tables, least, settings))
    outcome = _outcome(error, failures)
    tallies = _tallies(judge, failures, moved, settings)
    ledger = judge.ledger
    behaviours = tuple(Behaviour(*row, behaviour, example) for row, (behaviour, example) in ledger.behaviours.items())
    if error is not None and not failures and outcome in (Outcome.HARNESS_ERROR, Outcome.DEVICE_LOST):
        title = f"{type(error).__name__}: {error}"
        failures.append(FailureRecord("", "", "", outcome, test, title, account(error), {}))
    reason = one_line(str(error)) if outcome.did_not_run else ""
    return ItemRecord(
        test=test,
        outcome=outcome,
        seconds=seconds,
        tallies=tuple(tallies),
        behaviours=behaviours,
        failures=tuple(failures),
        left_out=ledger.left_out,
        combinations=judge.seen.records(),
        reason=reason,
        accuracy=judge.measured.records(),
    )


def broken_record(test: str, error: BaseException | None, report: pytest.TestReport) -> ItemRecord:
    """The record of an item that broke outside its tests: nothing is known of what they check."""
    title = f"{type(error).__name__}: {error}"
    failure = FailureRecord("", "", "", Outcome.HARNESS_ERROR, test, title, report.longreprtext, {})
    return ItemRecord(test, Outcome.HARNESS_ERROR, report.duration, failures=(failure,))


def _distinct(findings: tuple[Finding, ...]) -> list[Finding]:
    """One finding for each clause, outcome and subject: the one on the fewest elements."""
    smallest_findings: dict[tuple[str, str, str, str], Finding] = {}
    for finding in findings:
        case = finding.case
        key = (finding.clause, finding.outcome, case.operator.name, case.data_type.name)
        known = smallest_findings.get(key)
        if known is None or case.operator.output.element_count < known.case.operator.output.element_count:
            smallest_findings[key] = finding
    return list(smallest_findings.values())


def _outcome(error: BaseException | None, failures: list[FailureRecord]) -> Outcome:
    if isinstance(error, DeviceGone):
        return Outcome.DEVICE_LOST
    if failures:
        return worst(failure.outcome for failure in failures)
    if isinstance(error, pytest.skip.Exception):
        return Outcome.NOT_SUPPORTED
    return Outcome.PASS if error is None else Outcome.HARNESS_ERROR


def _tallies(
    judge: Judge,
    failures: list[FailureRecord],
    moved: dict[tuple[str, str, str], tuple[str, str, str]],
    settings: Settings,
) -> list[ClauseTally]:
    tallies = judge.ledger.tallies
    counted = {row: [tally.cases, tally.elements, tally.failures] for row, tally in tallies.items()}
    for origin, target in moved.items():
        for row, tally in tallies.items():  # another operator's kernel beside a case, which alone was counted
            shown = tally.beside[origin[1:]]
            if row[0] == origin[0] and shown and row in counted:
                counted[row][2] -= shown
                counted.setdefault(target, [shown, 0, 0])[2] += shown
        failed = 0 if origin not in tallies else tallies[origin].failures - tallies[origin].beside.total()
        if not failed:
            continue
        counted[origin][2] -= failed
        if failed and failed == counted[origin][0] and not settings.selects_clause(target[0]):
            del counted[origin]  # not one case came right: nothing is known of the clause that was selected
        counts = counted.setdefault(target, [failed, 0, 0])
        counts[0] = max(counts[0], failed)
        counts[2] += failed
    _of_other_types(tallies, moved, counted)
    outcomes: dict[tuple[str, str, str], Outcome] = {}
    for failure in failures:
        row_of = (failure.clause, failure.operator, failure.data_type)
        outcomes[row_of] = worst([failure.outcome, outcomes.get(row_of, Outcome.PASS)])
    clause_tallies = []
    for row, (cases, elements, failed) in counted.items():
        unspecified = judge.bench.tables.clause(row[0]).obligation == "unspecified"
        clean = Outcome.CHARACTERISED if unspecified else Outcome.PASS
        if not cases:
            clean = Outcome.NOT_SUPPORTED  # a row without a case comes of cases that the backend could not express
        outcome = outcomes.get(row, clean if not failed else Outcome.FAIL)
        lacking = tallies[row].unsupported if row in tallies else 0
        types = tuple(sorted(tallies[row].types)) if row in tallies else ()
        clause_tallies.append(ClauseTally(*row, outcome, cases, elements, failed, lacking, types))
    return clause_tallies


def _of_other_types(
    tallies: Mapping[tuple[str, str, str], Tally],
    moved: Mapping[tuple[str, str, str], tuple[str, str, str]],
    counted: dict[tuple[str, str, str], list[int]],
) -> None:
    """Count what a kernel of another type had wrong beside a case under that type, not under the case's."""
    for (clause, *own), tally in tallies.items():
        for shown, failed in tally.beside.items():
            if shown[0] == own[0] and (clause, *shown) not in moved:
                counted[clause, own[0], own[1]][2] -= failed
                counted.setdefault((clause, *shown), [failed, 0, 0])[2] += failed


def publish(run: Run) -> Callable[[], None]:
    """Write the run's files; gives a function that prints its summary, for when pytest has said its own.

    After Ctrl-C the function prints in one line how to continue instead.
    """
    settings = run.settings
    if run.info is None or run.level is None:
        _ = run.bench  # with pytest-xdist nothing was judged in this process
    assert run.info is not None and run.level is not None  # noqa: PT018, S101  # the bench has said
    info = RunInfo(
        settings.backend,
        describe_device(run.info),
        str(run.level),
        settings.profile,
        settings.seed,
        settings.strict,
        settings.selection,
        run.started,
        run.finished,
        shard=settings.shard_text,
    )
    records = grouped_by_fault(settings.waivers.apply(run.records))
    results = build_results(
        records,
        settings.obliged(run.level),
        info,
        settings.tables,
        unsupported=settings.unsupported(run.info),
        interrupted=run.interrupted,
    )
    results |= combinations_members(records, settings, run.level)
    results |= settings.waivers.reported(results)
    results = explained(results, settings.tables)
    try:
        settings.waivers.check_matched(results)
    except WaiverError as error:
        run.complaint = error
    run.settle()
    folder = settings.results
    written = write_run(folder, results, records, results_page(results, settings.tables))
    run.verdict = Verdict(results["verdict"])

    def show() -> None:
        if run.interrupted_by_user:
            complain(_how_to_continue(run, results))
            return
        console = PlainConsole(sys.stdout)
        console.print()
        if run.short:
            replay = replay_command(folder, settings) if results["failures"] else ""
            summary(results, settings.tables, console, folder=folder, replay=replay, short=True)
        else:
            summary(results, settings.tables, console, folder=folder, written=written)

    return show


def _how_to_continue(run: Run, results: Mapping[str, Any]) -> str:
    """What a person who pressed Ctrl-C reads."""
    done = str(len(run.records)) if run.collection is None else f"{len(run.records)} of {run.collection.items}"
    failing = {row["id"] for row in results["clauses"] if Outcome(row["outcome"]).breaks_conformance}
    command = shlex.join(["dmlcts", "run", "--resume", str(run.settings.results)])
    return f"dmlcts: interrupted after {done} tests, {many(len(failing), 'failing clause')}; continue with: {command}"
