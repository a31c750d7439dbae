"""Which selftests execute which function: recorded by a plugin of pytest, read to choose what must notice a change.

``code_mutation --cover FILE`` runs the selftests once with this plugin; ``code_mutation --covering FILE`` then tries
each change on the tests that execute the changed function, quick ones of every kind first. Only tests that pass in
the process that is watched count: what a test starts as a program of its own is not seen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from dmlcts.suites.selftest.house.changed_module import without_deadlines
from dmlcts.suites.selftest.house.code_changes import ROOT

FOLDER = "DMLCTS_COVERING"
_WATCHED = 2.0  # seconds


@dataclass(frozen=True)
class Covering:
    """What the tests executed.

    Attributes:
        tests: each test's name for pytest, and the seconds that it took.
        functions: for ``path:qualified name``, indices into ``tests``.
    """

    tests: tuple[tuple[str, float], ...]
    functions: dict[str, tuple[int, ...]]

    def chosen(self, path: str, within: str, most: float) -> tuple[tuple[str, ...], float]:
        """Tests that execute a function, in turn the quickest of every kind, and the seconds that they take together.

        Tests are of one kind if their names differ in their parameters alone. They take ``most`` seconds, or are one.
        """
        kinds: dict[str, list[tuple[float, str]]] = defaultdict(list)
        for index in self.functions.get(f"{path}:{within}", ()):
            name, took = self.tests[index]
            kinds[name.partition("[")[0]].append((took, name))
        found: list[str] = []
        seconds = 0.0
        for took, name in _in_turn([sorted(kind) for kind in kinds.values()]):
            if found and seconds + took > most:
                break
            found.append(name)
            seconds += took
        return tuple(found), seconds

    @classmethod
    def read(cls, file: Path) -> Covering:
        """What ``write`` wrote."""
        kept = json.loads(file.read_text(encoding="utf-8"))
        functions = {name: tuple(indices) for name, indices in kept["functions"].items()}
        return cls(tuple((name, seconds) for name, seconds in kept["tests"]), functions)

    def write(self, file: Path) -> None:
        """Keep it as JSON."""
        file.write_text(json.dumps({"tests": self.tests, "functions": self.functions}), encoding="utf-8")


def _in_turn(lists: Sequence[list[tuple[float, str]]]) -> Iterator[tuple[float, str]]:
    """The first of each list, the quickest first, then the second of each."""
    for place in range(max(map(len, lists), default=0)):
        yield from sorted(one[place] for one in lists if place < len(one))


def merged(folder: Path) -> Covering:
    """What all processes of one run of pytest recorded."""
    tests: list[tuple[str, float]] = []
    functions: dict[str, list[int]] = defaultdict(list)
    for file in sorted(folder.glob("*.json")):
        for name, seconds, executed in json.loads(file.read_text(encoding="utf-8")):
            for function in executed:
                functions[function].append(len(tests))
            tests.append((name, seconds))
    return Covering(tuple(tests), {name: tuple(indices) for name, indices in functions.items()})


class _Recorder:
    """Notes for each test which functions below ``specs`` and ``suites`` were called in its first seconds.

    Watching makes a test several times slower; what a long one does, it has done once by then.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.executed: set[CodeType] = set()
        self.calls = 0
        self.until = 0.0
        self.found: list[tuple[str, float, list[str]]] = []

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        self.executed.add(frame.f_code)  # returns nothing, so lines are not traced
        self.calls += 1
        if not self.calls % 1024 and time.monotonic() > self.until:
            sys.settrace(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.executed = set()
        self.until = time.monotonic() + _WATCHED
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            sys.settrace(None)  # what follows is not the test
            self.found.append((report.nodeid, round(report.duration, 3), sorted(_named(self.executed))))

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps(self.found), encoding="utf-8")


def _named(executed: Iterable[CodeType]) -> set[str]:
    """``path:qualified name`` of the code that is the suite's."""
    found = set()
    for code in executed:
        name = code.co_qualname.replace("<locals>.", "")
        file = _path(code.co_filename)
        if file and "<" not in name:  # no lambda, no comprehension: they belong to the function around them
            found.add(f"{file}:{name}")
    return found


@cache
def _path(filename: str) -> str:
    """A file's path from the root, if the file is the suite's and not this one; otherwise nothing."""
    path = Path(filename).resolve()  # modules may be imported through a link
    below = any(path.is_relative_to(ROOT / room) for room in ("specs", "suites"))
    return path.relative_to(ROOT).as_posix() if below and path != Path(__file__).resolve() else ""


def pytest_configure(config: pytest.Config) -> None:
    """Record, where the environment names a folder for it."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if (folder := os.environ.get(FOLDER)) and (worker or not config.getoption("numprocesses", None)):
        without_deadlines()  # watched examples are slow
        config.pluginmanager.register(_Recorder(Path(folder, f"{worker or 'alone'}.json")))
