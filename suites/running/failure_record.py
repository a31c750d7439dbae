"""From a finding on its smallest case to the failure record that a person reads and a machine replays.

The replay file ``failures/*.yaml`` is written with the other files of a run, by
:func:`dmlcts.reports.views.run_folder.write_run`.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import FailureRecord
from dmlcts.reports.documents.writing import named
from dmlcts.specs.tables import Tables
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.options.table import DEFAULT_BACKEND, DEFAULT_TIMEOUT, OPTIONS
from dmlcts.suites.running.accounts import account, evidence
from dmlcts.suites.running.options import Settings


def failure_of(test: str, tables: Tables, finding: Finding, settings: Settings) -> FailureRecord:
    """The record of ``finding``, with its account, details and replay command.

    Args:
        test: what found it: a pytest node id, or a sweep's target.
        tables: the spec tables that its clause stands in.
        finding: what is wrong, on the case to replay.
        settings: the run's options, for the command that replays.
    """
    case = finding.case
    record = named(
        FailureRecord(
            finding.clause,
            case.operator.name,
            case.data_type.name,
            Outcome(finding.outcome),
            test,
            finding.title,
            "",
            case.to_json(),
        )
    )
    where_started = replay_command(settings.results / "failures" / record.file, settings, finding.repeat)
    text = account(tables, finding, where_started)
    in_results = replay_command(Path("failures", record.file), _seen_from(settings.results, settings), finding.repeat)
    return replace(
        record,
        text=text,
        details=evidence(finding),
        replay=where_started if _is_found_there_only(settings) else in_results,
        deviation=finding.deviation,
        needs=finding.needs,
        origin=finding.origin,
        because=finding.because,
    )


def _is_found_there_only(settings: Settings) -> bool:
    """Whether the backend may be found only where the run was started, so that a replay has to be typed there.

    The command of a runner may name files in words of its own, and an option may name one, such as a secret.
    """
    return settings.backend.startswith("exec:") or any(
        not os.path.isabs(value) and os.path.exists(value) for _, value in settings.options
    )


def _seen_from(folder: Path, settings: Settings) -> Settings:
    """The settings as a command in ``folder`` has to give them: paths lead from there."""

    def led(path: str) -> str:
        if Path(path).is_absolute():
            return path
        try:
            return Path(os.path.relpath(path, folder)).as_posix()
        except ValueError:  # on another drive
            return Path(path).absolute().as_posix()

    place, colon, attribute = settings.backend.rpartition(":")
    backend = f"{led(place)}{colon}{attribute}" if place.endswith(".py") else settings.backend
    return replace(settings, backend=backend, extra_tables=tuple(map(led, settings.extra_tables)))


def replay_command(path: Path, settings: Settings, repeat: int = 0) -> str:
    """The command that judges the case in the failure file ``path`` again, as one line of a shell.

    Args:
        path: the failure file.
        settings: how the backend was opened.
        repeat: how often to judge it; 0 for once, without an option.
    """
    typed = {row.name: row.spelling for row in OPTIONS}
    words = ["dmlcts", "replay", path.as_posix(), typed["backend"], settings.backend]
    if repeat:
        words += [typed["repeat"], str(repeat)]
    for key, value in settings.options:
        words += ["-o", f"{key}={value}"]
    if settings.level is not None:
        words += [typed["feature_level"], str(settings.level)]
    for extra in settings.extra_tables:
        words += [typed["extra_tables"], extra]
    if settings.strict:
        words.append(typed["strict"])
    if settings.isolation == "none" and settings.backend != DEFAULT_BACKEND:
        words += [typed["isolation"], "none"]
    if settings.timeout != DEFAULT_TIMEOUT:
        words += [typed["timeout"], f"{settings.timeout:g}"]
    return shlex.join(words)
