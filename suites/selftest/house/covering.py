"""Which selftests execute which line: recorded by a plugin of pytest, read to choose what must notice a change.

``code_mutation --cover FILE`` runs the selftests once with this plugin; ``code_mutation --covering FILE`` then tries
each change on the tests that execute the changed line, quick ones of every kind first. Only tests that pass in
the process that is watched count: what a test starts as a program of its own is not seen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from dmlcts.suites.selftest.house.changed_module import without_deadlines
from dmlcts.suites.selftest.house.code_changes import ROOT

FOLDER = "DMLCTS_COVERING"
_TRACED = 4.0  # seconds
_KEPT = 250  # tests for each line: more than are ever tried


@dataclass(frozen=True)
class Covering:
    """What the tests executed.

    Attributes:
        tests: each test's name for pytest, and the seconds that it took.
        places: for ``path:line`` and ``path:qualified name``, indices into ``tests``: in turn the quickest of every
            kind. Tests are of one kind if their names differ in their parameters alone.
    """

    tests: tuple[tuple[str, float], ...]
    places: dict[str, tuple[int, ...]]

    def chosen(self, path: str, within: str, line: int, most: float) -> tuple[tuple[str, ...], float]:
        """Tests that execute a line, and the seconds that they take together: at most ``most``, or they are one.

        What takes longer than is left is passed over, for quicker ones of the kinds that come next.

        Where nothing is known of the line, those of its function; of what runs when the module is imported, all of it.
        """
        names: list[str] = []
        seconds = 0.0
        for index in self._executing(path, within, line):
            name, took = self.tests[index]
            if names and seconds + took > most:
                continue
            names.append(name)
            seconds += took
        return tuple(names), seconds

    def _executing(self, path: str, within: str, line: int) -> tuple[int, ...]:
        for place in (f"{path}:{line}", f"{path}:{within}"):
            if place in self.places:
                return self.places[place]
        whole = {index for place, tests in self.places.items() if place.startswith(f"{path}:") for index in tests}
        return _in_turn(whole, self.tests)

    @classmethod
    def read(cls, file: Path) -> Covering:
        """What ``write`` wrote."""
        kept = json.loads(file.read_text(encoding="utf-8"))
        places = {name: tuple(indices) for name, indices in kept["places"].items()}
        return cls(tuple((name, seconds) for name, seconds in kept["tests"]), places)

    def write(self, file: Path) -> None:
        """Keep it as JSON."""
        file.write_text(json.dumps({"tests": self.tests, "places": self.places}), encoding="utf-8")


def merged(folder: Path) -> Covering:
    """What all processes of one run of pytest recorded."""
    tests: list[tuple[str, float]] = []
    executing: dict[str, list[int]] = defaultdict(list)
    for file in sorted(folder.glob("*.json")):
        recorded = json.loads(file.read_text(encoding="utf-8"))
        for name, seconds, places in recorded["tests"]:
            index = len(tests)
            for place in places:
                executing[recorded["places"][place]].append(index)
            tests.append((name, seconds))
    return Covering(tuple(tests), {place: _in_turn(indices, tests) for place, indices in executing.items()})


def _in_turn(indices: Iterable[int], tests: Sequence[tuple[str, float]]) -> tuple[int, ...]:
    """Of every kind the quickest, the quickest of these first, then of every kind the second; so many as are kept."""
    kinds: dict[str, list[tuple[float, str, int]]] = defaultdict(list)
    for index in indices:
        name, took = tests[index]
        kinds[name.partition("[")[0]].append((took, name, index))
    placed = [(turn, test) for kind in kinds.values() for turn, test in enumerate(sorted(kind))]
    return tuple(index for _, (_, _, index) in sorted(placed)[:_KEPT])


class _Recorder:
    """Notes for each test which lines and functions below ``specs`` and ``suites`` it runs."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.watch = _Monitoring() if sys.version_info >= (3, 12) else _Tracing()
        self.numbers: dict[str, int] = {}
        self.tests_run: list[tuple[str, float, list[int]]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.watch.start()
        try:
            return (yield)
        finally:
            self.watch.stop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.watch.stop()  # what follows is not the test
            places = [self.numbers.setdefault(place, len(self.numbers)) for place in _named(self.watch.reached)]
            self.tests_run.append((report.nodeid, round(report.duration, 3), places))

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps({"places": list(self.numbers), "tests": self.tests_run}), encoding="utf-8")


if sys.version_info >= (3, 12):

    class _Monitoring:
        """Watches each line until it is reached, which costs a test little.

        Attributes:
            reached: code and line; line 0 is a function that began.
        """

        def __init__(self) -> None:
            self.reached: set[tuple[CodeType, int]] = set()
            self.tool = sys.monitoring.COVERAGE_ID
            events = sys.monitoring.events
            sys.monitoring.use_tool_id(self.tool, "dmlcts")
            sys.monitoring.register_callback(self.tool, events.PY_START, self._begun)
            sys.monitoring.register_callback(self.tool, events.LINE, self._line)

        def _begun(self, code: CodeType, offset: int) -> Any:
            self.reached.add((code, 0))
            return sys.monitoring.DISABLE

        def _line(self, code: CodeType, line: int) -> Any:
            self.reached.add((code, line))
            return sys.monitoring.DISABLE

        def start(self) -> None:
            self.reached = set()
            sys.monitoring.restart_events()
            sys.monitoring.set_events(self.tool, sys.monitoring.events.PY_START | sys.monitoring.events.LINE)

        def stop(self) -> None:
            sys.monitoring.set_events(self.tool, 0)

else:

    class _Tracing:
        """Traces every line for some seconds, which makes a test many times slower: a long one has done all by then.

        Attributes:
            reached: code and line; line 0 is a function that began.
        """

        def __init__(self) -> None:
            self.reached: set[tuple[CodeType, int]] = set()
            self.calls = 0
            self.until = 0.0

        def _begun(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
            self.calls += 1
            if not self.calls % 1024 and time.monotonic() > self.until:
                sys.settrace(None)
            self.reached.add((frame.f_code, 0))
            return self._line if _path(frame.f_code.co_filename) else None

        def _line(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            self.reached.add((frame.f_code, frame.f_lineno))
            return self._line

        def start(self) -> None:
            self.reached = set()
            self.until = time.monotonic() + _TRACED
            sys.settrace(self._begun)

        def stop(self) -> None:
            sys.settrace(None)


def _named(reached: Iterable[tuple[CodeType, int]]) -> set[str]:
    """``path:line`` and ``path:qualified name`` of the code that is the suite's."""
    places = set()
    for code, line in reached:
        name = code.co_qualname.replace("<locals>.", "")
        if file := _path(code.co_filename):
            if line:
                places.add(f"{file}:{line}")
            elif "<" not in name:  # no lambda, no comprehension: they belong to the function around them
                places.add(f"{file}:{name}")
    return places


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
