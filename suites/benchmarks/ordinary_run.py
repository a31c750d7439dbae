"""Where an ordinary run's time goes: collection, judging, hypothesis, the slowest test."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.specs import UsageError
from dmlcts.suites.console.printing import print_line
from dmlcts.suites.families.family import Attempt, Probe
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import Named, pytest_arguments
from dmlcts.suites.running.run import Run


class _Stopwatch:
    """A pytest plugin that times collection, tests, and what of them is judging."""

    def __init__(self) -> None:
        self.collection = self.total = 0.0
        self.drawn = self.drawn_judging = self.judging = 0.0
        self.slowest: tuple[float, str] = (0.0, "")
        self._began = time.perf_counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        started = time.perf_counter()
        result = yield
        self.collection = time.perf_counter() - started
        return result  # a pluggy wrapper returns what it wraps

    def tried(self, probe: Probe, spent: float, judged: float) -> None:
        """Note how long a test took, and how much of that its judging did."""
        self.slowest = max(self.slowest, (spent, probe.name))
        if "_drawn_" in probe.name:
            self.drawn += spent
            self.drawn_judging += judged

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        self.total = time.perf_counter() - self._began


@contextlib.contextmanager
def _timed(watch: _Stopwatch) -> Iterator[None]:
    judge_all: Callable[..., Any] = Judge.all
    attempt: Callable[..., Attempt] = Probe.attempt

    @functools.wraps(judge_all)
    def all_timed(self: Judge, *arguments: Any, **named: Any) -> Any:
        started = time.perf_counter()
        try:
            return judge_all(self, *arguments, **named)
        finally:
            watch.judging += time.perf_counter() - started

    @functools.wraps(attempt)
    def attempt_timed(self: Probe, *arguments: Any) -> Attempt:
        before = watch.judging
        outcome = attempt(self, *arguments)
        watch.tried(self, outcome.seconds, watch.judging - before)
        return outcome

    timed: dict[Any, tuple[str, Any, Any]] = {
        Judge: ("all", all_timed, judge_all),
        Probe: ("attempt", attempt_timed, attempt),
    }
    for owner, (name, new, _) in timed.items():
        setattr(owner, name, new)
    try:
        yield
    finally:
        for owner, (name, _, old) in timed.items():
            setattr(owner, name, old)


def ordinary_run(backend: str, options: tuple[str, ...], operators: Sequence[str]) -> dict[str, Any]:
    """Run the quick profile of some operators once in this process.

    Returns:
        Seconds of the whole and of its parts; ``hypothesis_share`` is what its engine took of the whole:
        the tests that draw, less the judging of what they drew.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.read(backend=backend, options=options, results=folder, operators=list(operators))
        watch = _Stopwatch()
        run = Run(settings)
        run.prepare()
        try:
            with _timed(watch), contextlib.redirect_stdout(io.StringIO()):
                pytest.main(pytest_arguments(settings), plugins=[Named(run), watch])
        finally:
            run.close()
    return {
        "seconds": round(watch.total, 2),
        "collection_seconds": round(watch.collection, 2),
        "judging_seconds": round(watch.judging, 2),
        "drawing_tests_seconds": round(watch.drawn, 2),
        "hypothesis_share": round((watch.drawn - watch.drawn_judging) / watch.total, 3) if watch.total else 0.0,
        "slowest_test": watch.slowest[1],
        "slowest_test_seconds": round(watch.slowest[0], 2),
    }


def ordinary_run_apart(backend: str, options: Sequence[str], operators: Sequence[str]) -> dict[str, Any]:
    """The same in a process of its own: a run makes the allocator keep what is freed.

    Raises:
        UsageError: the run ended otherwise than with figures.
    """
    asked = json.dumps([backend, list(options), list(operators)])
    ended = subprocess.run(  # noqa: S603  # our own
        own_python("-m", __name__, asked), stdout=subprocess.PIPE, check=False, env=safe_environment()
    )
    if ended.returncode:
        raise UsageError(
            f"a quick run on {backend} ended with exit code {ended.returncode}",
            "see what it said, or measure with --no-run",
        )
    figures: dict[str, Any] = json.loads(ended.stdout)
    return figures


def _main() -> None:
    backend, options, operators = json.loads(sys.argv[1])
    print_line(json.dumps(ordinary_run(backend, tuple(options), operators)))


if __name__ == "__main__":
    _main()
