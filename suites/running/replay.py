"""One failing case, again: read from a failure file, judged on any backend.

A run writes these files: :func:`dmlcts.reports.views.run_folder.write_run`, from what
:func:`dmlcts.reports.documents.writing.failure_document` makes of a record of :mod:`.failure_record`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.validation import MOST_BYTES, failure_of_bytes, load_failure
from dmlcts.reports.summaries.characters import one_line
from dmlcts.specs import UsageError
from dmlcts.specs.rules import unconditional_violations
from dmlcts.specs.tables import Tables
from dmlcts.suites.attribution.element_tables import Dispatch, dispatches, dump, table
from dmlcts.suites.attribution.needs import needed_as_it_is, with_needs
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case, steps_alone
from dmlcts.suites.judging.expectations import EXPECTATIONS
from dmlcts.suites.judging.findings import WITHOUT_DISPATCH, Finding
from dmlcts.suites.judging.losses import judge_surviving
from dmlcts.suites.running.accounts import account
from dmlcts.suites.running.failure_record import replay_command
from dmlcts.suites.running.options import Settings

STANDARD_INPUT = "-"
"""The path of a failure document that comes through the standard input."""

_MOST_BYTES, _MOST_ELEMENTS = 1 << 29, 1 << 25


@dataclass(frozen=True)
class Replay:
    """The result of replaying a case.

    Attributes:
        failed: whether it fails.
        text: the account of it.
        supported: whether the backend can express it.
        dispatches: its dispatches, with what the oracle says of them.
    """

    failed: bool
    text: str
    supported: bool = True
    dispatches: tuple[Dispatch, ...] = ()


def failure_files(paths: Sequence[str]) -> list[str]:
    """The failure files that paths name: files, folders of them, results folders and "-"; each once.

    Raises:
        UsageError: a folder holds none.
    """
    files: dict[str, None] = {}
    for path in paths:
        folder = Path(path)
        if path == STANDARD_INPUT or not folder.is_dir():
            files[path] = None
            continue
        inside = sorted((folder / "failures").glob("*.yaml")) or sorted(folder.glob("*.yaml"))
        if not inside:
            raise UsageError(f"{path} holds no failure files", "give files under failures/, or a results folder")
        files |= dict.fromkeys(map(str, inside))
    return list(files)


def load_case(path: str | Path, tables: Tables) -> Case:
    """The case that a failure file holds, checked so that it can be run safely.

    Raises:
        DocumentError: the file is no failure file.
        UsageError: it holds what no run would have written.
    """
    return _case_of(load_failure(path), path, tables)


def _case_of(document: Mapping[str, Any], path: str | Path, tables: Tables) -> Case:
    case = Case.from_json(document["case"])
    for member in (*case.earlier, case):
        _check(path, member, tables)
        for other in member.beside:
            _check(path, replace(member, operator=other, beside=()), tables)
        for step in steps_alone(member):
            _check(path, step, tables)
    return case


def _document(path: str) -> dict[str, Any]:
    """The failure document in a file, or in the standard input."""
    if path == STANDARD_INPUT:
        return failure_of_bytes(sys.stdin.buffer.read(MOST_BYTES + 1), "the standard input")
    return load_failure(path)


def _check(path: str | Path, case: Case, tables: Tables) -> None:
    """Refuse what cannot be run safely."""
    tables.operator(case.operator.name)
    for clause in (case.clause, *([case.layout_clause] if case.layout_clause else [])):
        tables.clause(clause)
    if case.expectation not in EXPECTATIONS:
        raise UsageError(f"{path} expects {case.expectation!r}", f"known are {', '.join(EXPECTATIONS)}")
    wanted = {attribute.name for attribute in tables.operator(case.operator.name).attributes}
    if set(case.operator.attributes) != wanted:
        raise UsageError(
            f"{path} has the attributes {sorted(case.operator.attributes)}",
            f"{case.operator.name} has {sorted(wanted)}",
        )
    table = tables.operator(case.operator.name)
    needed = {name for name, row in table.tensors.items() if not row.optional}
    if not needed <= set(case.operator.tensors) <= set(table.tensors):
        raise UsageError(
            f"{path} has the tensors {sorted(case.operator.tensors)}",
            f"{case.operator.name} has {sorted(table.tensors)}",
        )
    if case.expectation in WITHOUT_DISPATCH:
        return
    broken = unconditional_violations(case.operator, tables)
    if broken:
        raise UsageError(f"{path} describes what cannot be run: {broken[0].text}", "use a file that a run wrote")
    target = case.operator.output
    elements = max(math.prod(tensor.sizes) for tensor in case.operator.tensors.values())
    if elements > _MOST_ELEMENTS:  # strides may lay any number of elements over few bytes
        raise UsageError(f"{path} has {elements:,} elements", f"replay takes up to {_MOST_ELEMENTS:,}")
    alias = case.placement.aliased(case.operator)
    if alias is not None and case.operator.inputs[alias] != target:
        raise UsageError(f"{path} runs different tensors in place", "use a file that a run wrote")
    size = case.placement.regions(case.operator)[1]
    if size > _MOST_BYTES:
        raise UsageError(f"{path} needs {size} bytes of memory", f"replay takes up to {_MOST_BYTES}")


def replay(bench: Bench, case: Case, command: str, repeat: int = 1, *, needs: bool = False) -> Replay:
    """Judge the case once more, or ``repeat`` times: then it fails where one of them does, and says how many did.

    Args:
        bench: what to judge on.
        case: what to judge.
        command: the command that replays it.
        repeat: how often it is judged.
        needs: also find what it needs here to go wrong, by judging it without each of its conditions.
    """
    judgements = [judge_surviving(bench, case) for _ in range(repeat)]
    wrong = sum(bool(attempt.findings) for attempt in judgements)
    judgement = next((attempt for attempt in judgements if attempt.findings), judgements[0])
    seen = tuple(dispatches(bench, case, judgement.executions))
    if judgement.findings:
        findings = [_with_needs(bench, finding) if needs else finding for finding in judgement.findings]
        parts = [account(bench.tables, finding, command) for finding in findings]
        parts += ["\n".join(lines) for lines in (table(case, dispatch) for dispatch in seen) if len(lines) > 2]
        parts += [_times(wrong, repeat)] if repeat > 1 else []
        return Replay(True, "\n\n".join(parts), dispatches=seen)
    subject = f"{case.operator.name} on {case.data_type.name}"
    if judgement.unsupported is not None:
        because = one_line(judgement.unsupported)
        return Replay(False, f"{subject}: not supported by the backend: {because}", supported=False)
    if judgement.refused:
        return Replay(False, f"{subject}: refused, as feature level {bench.level} permits")
    summary = f"{subject}: passes, {judgement.elements} elements judged ({case.clause})"
    return Replay(False, f"{summary}\n{_times(0, repeat)}" if repeat > 1 else summary, dispatches=seen)


def _with_needs(bench: Bench, finding: Finding) -> Finding:
    """The finding with what its case needs; as it is where the process was lost, which each try would cost again."""
    return with_needs(needed_as_it_is(bench, finding)) if finding.outcome == "fail" else finding


def _times(wrong: int, repeat: int) -> str:
    return f"wrong {wrong} of {repeat} times"


def replay_all(
    settings: Settings,
    paths: Sequence[str],
    print_line: Callable[[str], object],
    folder: Path | None = None,
    repeat: int = 1,
) -> list[Replay]:
    """Judge the cases in failure files, each on a newly opened device, and say what came of them.

    Args:
        settings: how the backend is opened.
        paths: the failure files; "-" for the standard input.
        print_line: is given what a user reads, a case at a time.
        folder: where inputs, outputs and acceptable values are written; ``None`` for nowhere.
        repeat: how often each is judged.

    Raises:
        DocumentError, UsageError: a file holds no case that can be run; nothing has been judged then.
        BackendUnavailable: the backend cannot run here.
    """
    documents = [_document(path) for path in paths]
    cases = [_case_of(document, path, settings.tables) for path, document in zip(paths, documents, strict=True)]
    replays = []
    for path, document, case in zip(paths, documents, cases, strict=True):
        details = document.get("details", {})
        bench = settings.open()
        try:
            command = replay_command(Path(path), settings, repeat if repeat > 1 else 0)
            replay_outcome = replay(bench, case, command, repeat, needs="needs" in details)
        finally:
            bench.close()
        if len(paths) > 1:
            print_line(f"== {path}")
        print_line(replay_outcome.text)
        if not replay_outcome.failed and repeat == 1 and "again" in details:
            print_line("it did not go wrong every time when it was found: try --repeat 100")
        if folder is not None:
            place = folder / Path(path).stem if len(paths) > 1 else folder
            written = dump(place, case, replay_outcome.dispatches)
            print_line(
                f"written: {', '.join(map(str, written))}" if written else "nothing to dump: no dispatch to judge"
            )
        if len(paths) > 1:
            print_line("")
        replays.append(replay_outcome)
    if len(paths) > 1:
        failing = sum(outcome.failed for outcome in replays)
        unable = sum(not outcome.supported for outcome in replays)
        unable_text = f", {unable} not supported" if unable else ""
        print_line(f"{len(replays)} cases: {failing} fail, {len(replays) - failing - unable} pass{unable_text}")
    return replays
