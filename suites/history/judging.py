"""Judging the releases of a package one after the other; what was judged before is not judged again."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.reports.comparing.history import Release
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import DocumentError, load_results
from dmlcts.specs import UsageError
from dmlcts.specs.tables import Tables
from dmlcts.suites.history.packages import Package, Prepared, PrintLine
from dmlcts.suites.isolation.custody import held

_HAVE_RESULTS = (0, 1, 4)
_CLEAN = {Outcome.PASS.value, Outcome.CHARACTERISED.value, Outcome.NOT_SUPPORTED.value, Outcome.SKIPPED.value}
Run = Callable[[Sequence[str], Mapping[str, str]], "subprocess.CompletedProcess[str]"]


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command with further variables of the environment, and keep what it says."""
    with held():
        return subprocess.run(  # noqa: S603 - our own command
            command, capture_output=True, text=True, check=False, env=safe_environment(environment)
        )


@dataclass(frozen=True)
class Judging:
    """How releases are judged.

    Args:
        package: what they are of.
        cache: the folder for releases and results.
        arguments: of ``dmlcts run``, which choose what is judged.
        tables: the law by which they are judged.
        keep: whether what was installed for a release stays when it was judged.
        print_line: is called with a line about each step.
        run: runs a command; for tests.
    """

    package: Package
    cache: Path
    arguments: Sequence[str]
    tables: Tables
    keep: bool
    print_line: PrintLine
    run: Run = run_command

    @property
    def _key(self) -> str:
        law = (f"{name}={digest}" for name, digest in sorted(self.tables.digests.items()))
        return hashlib.sha256("\0".join((*self.arguments, *law)).encode()).hexdigest()[:16]

    def judge(self, version: str) -> Release:
        """A release with its results; with a reason where it cannot be had, does not load or ends without results.

        Raises:
            UsageError: the arguments mean nothing, or the terms of a library are not accepted.
        """
        folder = self.cache / "history" / self.package.name / version / self._key
        before = self._before(version, folder)
        if before is not None:
            self.print_line(f"{self.package.name} {version}: judged before")
            return Release(version, before)
        place = self.cache if self.package.name == "directml" else self.cache / "history" / "releases"
        try:
            prepared = self.package.prepare(version, place, self.print_line)
        except (BackendUnavailable, OSError) as error:
            return self._without(version, str(error))
        try:
            return self._judged(version, prepared, folder)
        finally:
            if not self.keep:
                prepared.throw_away()

    def _before(self, version: str, folder: Path) -> Mapping[str, Any] | None:
        """The results of an earlier run that ended; None where there are none that can be used."""
        if not (folder / "results.json").is_file():
            return None
        try:
            results = load_results(folder)
        except DocumentError as error:
            self.print_line(f"{error}: judged again")
            return None
        if not _is_of(version, results):
            self.print_line(f"{folder / 'results.json'} are of {results['device']['version']}: judged again")
            return None
        return None if results["interrupted"] else results

    def _judged(self, version: str, prepared: Prepared, folder: Path) -> Release:
        self.print_line(f"{self.package.name} {version}: judging")
        command = own_python("-m", "dmlcts.suites.commands.main", "run", *prepared.arguments)
        done = self.run([*command, "--results", str(folder), *self.arguments], prepared.environment)
        # The selection was read before: what is wrong with opening lies in the release, and the others may be right.
        if done.returncode == 2 and not _why(done).startswith("opening "):
            raise UsageError(f"{self.package.name} {version} cannot be judged: {_why(done)}", "mend the options")
        if done.returncode not in _HAVE_RESULTS:
            return self._without(version, _why(done))
        try:
            results = load_results(folder)
        except DocumentError as error:
            return self._without(version, str(error))
        if results["interrupted"]:
            return self._without(version, f"the run was stopped before its end ({_why(done)})")
        if not _is_of(version, results):
            return self._without(version, f"what was loaded says that it is {results['device']['version']}")
        self.print_line(f"  {results['verdict'].replace('_', ' ')}")
        return Release(version, results)

    def _without(self, version: str, reason: str) -> Release:
        self.print_line(f"{self.package.name} {version}: not judged: {reason}")
        return Release(version, None, reason)


def _why(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1].removeprefix("dmlcts: ") if lines else f"exit code {done.returncode}"


def _is_of(version: str, results: Mapping[str, Any]) -> bool:
    """Whether what was judged says that it is that version, or a build of it."""
    judged = str(results["device"]["version"])
    return f"{judged}.".startswith(f"{version}.") or judged.startswith(f"{version}+")


def departs(release: Release) -> bool | None:
    """Whether a release departs from the pages in anything that was judged; None where nothing was."""
    rows = release.results["clauses"] if release.results else ()
    required_rows = [row for row in rows if row["outcome"] not in (Outcome.NOT_SUPPORTED.value, Outcome.SKIPPED.value)]
    return any(row["outcome"] not in _CLEAN for row in required_rows) if required_rows else None


@dataclass(frozen=True)
class Found:
    """Between which releases a departure came in.

    Args:
        right: the last release that was seen without it; None where even the oldest has it.
        wrong: the first release that was seen with it; None where the newest is without it.
        judged: how many releases were judged.
    """

    right: str | None
    wrong: str | None
    judged: int


def bisect(judging: Judging, versions: Sequence[str]) -> Found:
    """The release that brought a departure in, by judging about as many as the logarithm of their number.

    Args:
        judging: how; its arguments choose the clause.
        versions: the releases, the oldest first. One that cannot be judged is passed over.

    Raises:
        BackendUnavailable: none can be judged.
    """
    known: dict[str, bool | None] = {}

    def state(version: str) -> bool | None:
        if version not in known:
            known[version] = departs(judging.judge(version))
        return known[version]

    left = list(versions)
    while left and state(left[-1]) is None:
        left.pop()
    while left and state(left[0]) is None:
        left.pop(0)
    if not left:
        raise BackendUnavailable("no release could be judged", "choose others with --versions")
    if not state(left[-1]):
        return Found(left[-1], None, len(known))
    if state(left[0]):
        return Found(None, left[0], len(known))
    low, high = 0, len(left) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if state(left[middle]) is None:
            del left[middle]
            high -= 1
        elif state(left[middle]):
            high = middle
        else:
            low = middle
    return Found(left[low], left[high], len(known))
