"""What several selftests need: a run of the suite in a process of its own, as its users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dmlcts.backends.interpreter import keep_children_safe, own_python, safe_environment
from dmlcts.suites.cases import bench
from dmlcts.suites.cases.memory import Masks
from dmlcts.suites.selftest.command_server import SECONDS, CommandServer
from dmlcts.suites.selftest.reading_once import reading_once


@dataclass(frozen=True)
class Ran:
    """A finished command: exit code, output, and the results document where there is one."""

    code: int
    out: str
    err: str
    results: dict[str, Any] | None

    def outcomes(self, clause: str) -> set[str]:
        """The outcomes of a clause's rows."""
        assert self.results is not None, self.out + self.err
        return {row["outcome"] for row in self.results["clauses"] if row["id"] == clause}


def pytest_configure() -> None:
    """Start no Python on the current folder's code."""
    keep_children_safe()


@pytest.fixture(autouse=True, scope="module")
def foreseen_masks() -> Iterator[None]:
    """Let benches in this process draw the same poison each time: some tests count dispatches, and chance adds one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "drawn_masks", lambda: Masks(7))
        yield


@pytest.fixture(autouse=True, scope="session")
def _built_in_tables_are_read_once() -> Iterator[None]:
    """Keep tests from parsing again what another has parsed."""
    with reading_once():
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_step_summary() -> Iterator[None]:
    """Runs that the selftests start must not fill the page of the job that they run in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        yield


@pytest.fixture(scope="session")
def command_server() -> Iterator[CommandServer | None]:
    """Where the runs of the command line are forked from; ``None`` where that is not safe, or not there (Windows)."""
    if sys.platform != "linux":
        yield None
        return
    with CommandServer() as server:
        yield server


@pytest.fixture(scope="session")
def dmlcts_in(command_server: CommandServer | None) -> Callable[..., Ran]:
    """Runs ``dmlcts`` with the given arguments in a folder that is there, in a process of its own.

    With ``from_the_start``, and off Linux, that is a new interpreter, otherwise one that has imported the suite. For
    fixtures that several tests read; a test takes ``dmlcts``.
    """

    def run(*arguments: str, folder: Path, from_the_start: bool = False) -> Ran:
        if from_the_start or command_server is None:
            done = subprocess.run(
                own_python("-m", "dmlcts.suites.commands.main", *arguments),
                cwd=folder,
                env=safe_environment(),
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        else:
            code, out, err = command_server.run(arguments, folder)
        path = folder / "results" / "results.json"
        results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        return Ran(code, out, err, results)

    return run


@pytest.fixture
def dmlcts(tmp_path: Path, dmlcts_in: Callable[..., Ran]) -> Callable[..., Ran]:
    """Runs ``dmlcts`` with the given arguments as ``dmlcts_in`` does, in an empty folder where none is given."""

    def run(*arguments: str, folder: Path | None = None, from_the_start: bool = False) -> Ran:
        return dmlcts_in(*arguments, folder=folder or tmp_path, from_the_start=from_the_start)

    return run
