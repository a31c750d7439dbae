"""Judging implementations one after another with one suite; what is finished is not judged again."""

from __future__ import annotations

import contextlib
import gzip
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.reports.documents.journal import read_journal
from dmlcts.reports.documents.validation import DocumentError, load_results
from dmlcts.reports.documents.writing import write_bytes
from dmlcts.reports.summaries.provenance import tables_digest
from dmlcts.specs import DmlctsError, UsageError
from dmlcts.suites.isolation.custody import held
from dmlcts.suites.publishing.implementation import Implementation
from dmlcts.suites.running.options import Settings
from dmlcts.suites.targets import environment as environments
from dmlcts.suites.targets.environment import Environment

ENDING = ".results.json.gz"
RUNS = "runs"
_HAVE_RESULTS = (0, 1, 4)
_USAGE, _UNAVAILABLE = 2, 3
_SECONDS_TO_END = 60.0  # an interrupted run writes what it has
_MODULE = "dmlcts.suites.commands.main"
_ASK = """
import importlib.util, json
from dmlcts.reports.documents.results import suite_identity
from dmlcts.reports.summaries.provenance import tables_digest
from dmlcts.specs.loading import load_tables
xdist = importlib.util.find_spec("xdist") is not None
print(json.dumps({"suite": suite_identity(), "tables": tables_digest(load_tables().digests), "xdist": xdist}))
"""
Run = Callable[[Sequence[str], Mapping[str, str], Path], int]


class ModifiedSuiteError(UsageError):
    """Results are to be published, and files of the suite differ from its commit."""

    def __init__(self) -> None:
        super().__init__(
            "files of the suite differ from its commit, so nobody could repeat the results",
            "commit or undo the changes (`git status`), or add --draft",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class State(Enum):
    """What happened to an implementation."""

    JUDGED = "judged"
    FINISHED = "finished before"
    UNABLE = "not judged"
    FAILED = "no results"


@dataclass(frozen=True)
class Judged:
    """An implementation with its result, or with the reason why there is none.

    Attributes:
        implementation: which it is.
        state: what happened.
        results: the results document; ``None`` where there is none of this suite.
        reason: why there is none, with what to do; "" where there is one.
    """

    implementation: Implementation
    state: State
    results: Mapping[str, Any] | None = None
    reason: str = ""


def run_logged(command: Sequence[str], more: Mapping[str, str], log: Path) -> int:
    """Run a command, and write both its streams into a file.

    Args:
        command: the command.
        more: further variables of the environment.
        log: the file.

    Returns:
        Its exit code.
    """
    with log.open("wb") as stream, held():
        process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=safe_environment(more),
        )
        try:
            return process.wait()
        except KeyboardInterrupt:  # the run got it too, and writes down what it has
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_END)
            raise
        finally:
            process.kill()
            process.wait()


def environment_of(implementation: Implementation, cache: Path) -> tuple[Environment | None, str]:
    """Where an implementation is judged.

    Args:
        implementation: which one.
        cache: the user's cache.

    Returns:
        Its environment, ``None`` for this one; and why neither can judge it, with what to do, "" where one can.
    """
    environment = None if implementation.target is None else Environment(implementation.target, cache)
    if environment is not None and environment.opened() is not None:
        return environment, ""
    missing = implementation.missing_package
    return None, f"{missing} is not installed; {implementation.mend}" if missing else ""


@dataclass(frozen=True)
class Publication:
    """A folder of kept results, all made with one suite.

    Args:
        folder: NAME.results.json.gz and, below ``runs``, the results folders and their logs.
        suite: the identity of this suite.
        settings: the profile, the seed, the selection and the tables.
        cache: the user's cache, with the environments of targets.
        workers: processes of each run; "" for its default.
        print_line: prints what is done.
        run: runs a command; for tests.
        ask: runs a command and keeps what it prints; for tests.

    Attributes:
        draft: whether files of the suite differ from its commit.
    """

    folder: Path
    suite: Mapping[str, Any]
    settings: Settings
    cache: Path
    workers: str
    print_line: Callable[[str], object]
    run: Run = run_logged
    ask: environments.Run = environments.run_command
    draft: bool = field(init=False)

    def __post_init__(self) -> None:
        """Note whether this is a draft."""
        object.__setattr__(self, "draft", bool(self.suite["modified"]))

    def kept(self, name: str) -> Path:
        """The file of a kept result."""
        return self.folder / f"{name}{ENDING}"

    def judge_all(self, implementations: Sequence[Implementation]) -> list[Judged]:
        """Judge implementations one after another.

        Raises:
            UsageError: a result cannot be written.
        """
        (self.folder / RUNS).mkdir(parents=True, exist_ok=True)
        return [self.judge(each) for each in implementations]

    def judge(self, implementation: Implementation) -> Judged:
        """Judge an implementation, unless its kept result was made with this suite.

        Raises:
            UsageError: the result cannot be written.
        """
        before = self._current(implementation, self.kept(implementation.name))
        if before is not None:
            return self._shown(Judged(implementation, State.FINISHED, before))
        folder = self.folder / RUNS / implementation.name
        finished = self._current(implementation, folder / "results.json")
        if finished is not None:  # it was stopped before the result was kept
            return self._kept(implementation, State.FINISHED, folder, finished)
        lacking = implementation.lacking()
        if lacking:
            return self._shown(Judged(implementation, State.UNABLE, None, lacking))
        python, workers, reason = self._python(implementation)
        if reason:
            return self._shown(Judged(implementation, State.UNABLE, None, reason))
        return self._judged(implementation, folder, [*python, "-m", _MODULE, "run"], workers)

    def is_of_this_suite(self, suite: Mapping[str, Any], tables: str) -> bool:
        """Whether a suite and a digest of tables are those of this publication."""
        wanted = self.suite["version"], self.suite["commit"], tables_digest(self.settings.tables.digests)
        return (suite["version"], suite["commit"], tables) == wanted

    def _current(self, implementation: Implementation, path: Path) -> Mapping[str, Any] | None:
        """Finished results of this suite, of the same selection; those of a modified suite are judged again."""
        if self.draft or not path.is_file():
            return None
        try:
            results = load_results(path)
        except DocumentError as error:
            self.print_line(f"{error}: judged again")
            return None
        same = self._answers(results) and results["backend"] == implementation.backend
        return results if same and not results["suite"]["modified"] else None

    def _answers(self, results: Mapping[str, Any]) -> bool:
        """Whether results are of this suite, of the same selection, profile and seed, and whole."""
        settings = self.settings
        asked = (settings.profile, settings.seed, settings.strict, settings.selection, None, False)
        names = ("profile", "seed", "strict", "selection", "shard", "interrupted")
        return self.is_of_this_suite(results["suite"], tables_digest(results["specs"])) and asked == tuple(
            results[name] for name in names
        )

    def _python(self, implementation: Implementation) -> tuple[list[str], str, str]:
        """The Python that judges an implementation, its number of processes, and why it cannot; "" where it can."""
        environment, reason = environment_of(implementation, self.cache)
        if environment is None:
            return own_python(), self.workers, reason
        command = [str(environment.python), "-P"]
        try:
            answer = json.loads(self.ask([*command, "-c", _ASK]).stdout)
            same, xdist = self.is_of_this_suite(answer["suite"], answer["tables"]), bool(answer["xdist"])
        except (OSError, ValueError, KeyError, TypeError):
            same, xdist = False, False
        if not same:
            return [], "", f"its environment holds another suite; {implementation.mend}"
        if self.workers and not xdist:
            self.print_line(f"{implementation.name}: in one process; its environment has no pytest-xdist")
        return command, self.workers if xdist else "", ""

    def _resumable(self, implementation: Implementation, folder: Path) -> bool:
        """Whether a run of this suite was interrupted there, which judged the same by the same measure."""
        wanted = self.settings.described() | {
            "backend": implementation.backend,
            "options": dict(implementation.options),
        }
        names = ["backend", "options", *(row.name for row in self.settings.table.of("compare") if row.journal)]
        try:
            header = read_journal(folder).header
            made = self.is_of_this_suite(header["suite"], tables_digest(header["specs"]))
            return made and not header["suite"]["modified"] and all(header[name] == wanted[name] for name in names)
        except (DmlctsError, OSError, KeyError, TypeError, AttributeError):
            return False

    def _judged(self, implementation: Implementation, folder: Path, run: Sequence[str], workers: str) -> Judged:
        resumed = not self.draft and self._resumable(implementation, folder)
        log = folder.with_name(f"{folder.name}.log")
        words = ["--resume", str(folder)] if resumed else ["--results", str(folder), *self.settings.shared_arguments()]
        self.print_line(f"{implementation.name}: {'judging the rest' if resumed else 'judging'}; {log} shows where")
        processes = ["-n", workers] if workers else []
        more = {"VK_DRIVER_FILES": implementation.driver} if implementation.driver else {}
        code = self.run([*run, *implementation.arguments, *words, *processes], more, log)
        if code not in _HAVE_RESULTS:
            why = _last_line(log) or f"exit code {code}"
            unable = code == _UNAVAILABLE or (code == _USAGE and why.startswith("opening "))
            mend = f"; or {implementation.mend}" if implementation.target is not None else ""
            state = State.UNABLE if unable else State.FAILED
            return self._shown(Judged(implementation, state, None, why + (mend if unable else f" (exit code {code})")))
        try:
            results = load_results(folder)
        except DocumentError as error:
            return self._shown(Judged(implementation, State.FAILED, None, str(error)))
        if not self._answers(results):
            why = "the run was stopped" if results["interrupted"] else "the suite or its tables changed during the run"
            return self._shown(Judged(implementation, State.FAILED, None, f"{why}; the same command goes on"))
        return self._kept(implementation, State.JUDGED, folder, results)

    def _kept(self, implementation: Implementation, state: State, folder: Path, results: Mapping[str, Any]) -> Judged:
        """Keep a result.

        Raises:
            UsageError: it cannot be written.
        """
        write_bytes(self.kept(implementation.name), gzip.compress((folder / "results.json").read_bytes(), mtime=0))
        return self._shown(Judged(implementation, state, results))

    def _shown(self, judged: Judged) -> Judged:
        if judged.state is not State.UNABLE:  # the summary lists those
            text = judged.results["verdict"].replace("_", " ") if judged.results else judged.reason
            self.print_line(f"{judged.implementation.name}: {judged.state.value}: {text}")
        return judged


def _last_line(log: Path) -> str:
    """The last line that a run printed."""
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1].strip().removeprefix("dmlcts: ") if lines else ""
