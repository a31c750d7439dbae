"""The pytest plugin that follows a run: which operator, how many tests, which clauses fail so far, how long still."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from dmlcts.reports.documents.records import FailureRecord, ItemRecord
from dmlcts.specs.number_text import many
from dmlcts.suites.console.printing import print_line
from dmlcts.suites.progress.estimate import duration, key_of_item, left, weight_of
from dmlcts.suites.progress.status_line import StatusLine, on_terminal

PLUGIN = "dmlcts-progress"
"""The name by which pytest's plugins look for a :class:`Progress`."""
_OPERATORS_SHOWN = 2
_FIRST = "The first failure (the summary names the file that replays it, or a smaller case of the same fault)"
_REPLAY = "  replay  "  # how the line of an account begins that has the command


class Progress:
    """Follows a run and says where it is.

    Args:
        what: the run in some words, for its first line: the backend, the level.
        profile: of the run.
        counted: gives of a record what counts: without what was not selected, or is waived.
        verbose: a line for every test on standard output; failures are printed by who gathers the records.
        clock: gives seconds.
        line: what shows the words; by default standard error.

    Attributes:
        interrupted: whether somebody pressed Ctrl-C.
        reason: why a plugin ended the run; "" where none did.
    """

    def __init__(
        self,
        what: str,
        profile: str,
        counted: Callable[[ItemRecord], ItemRecord] = lambda record: record,
        *,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
        line: StatusLine | None = None,
    ) -> None:
        self.interrupted = False
        self.reason = ""
        self._what = what
        self._profile = profile
        self._counted = counted
        self._verbose = verbose
        self._clock = clock
        # lines of tests on another stream would break into a line that is drawn over itself
        live = on_terminal(sys.stderr) and not (verbose and not on_terminal(sys.stdout))
        self.line = line or StatusLine(self.words, live=live)
        self._tests: dict[str, float] = {}  # what is to run here: its weight by key
        self._began: float | None = None
        self._before = 0  # tests that an earlier part of the run has recorded
        self._done: set[str] = set()
        self._running: dict[str, str] = {}  # operator by node id, the last begun last
        self._failing: set[str] = set()
        self._reported = False

    # ------------------------------------------------------------------------------- what the run says

    def already(self, records: Iterable[ItemRecord]) -> None:
        """Count what an earlier part of the run has recorded."""
        for record in records:
            self._before += 1
            self._failing |= _clauses(self._counted(record))
        self._reported = bool(self._failing)

    def record(self, record: ItemRecord) -> None:
        """Count a test that has run, and print the first failure at once."""
        self._done.add(key_of_item(record.test))
        if self._verbose:
            self.print_line(f"{record.outcome.value.replace('_', ' '):14} {record.seconds:7.2f} s  {record.test}")
        counted = self._counted(record)
        if not counted.outcome.breaks_conformance:
            return
        self._failing |= _clauses(counted)
        first = next(iter(_breaking(counted)), None)
        if first is not None and not self._reported and not self._verbose:
            self._reported = True
            self.line.print_text(f"\n{_FIRST}:\n\n{_without_replay(first.text)}\n")

    def words(self) -> str:
        """Where the run is, in a line; "" before it has begun."""
        if self._began is None:
            return ""
        done, total = self._before + len(self._done), self._before + len(self._tests)
        parts = [f"{done:,}/{total:,} tests", *self._operators()]
        parts.append(many(len(self._failing), "failing clause"))
        seconds = left(self._tests, self._done, self._clock() - self._began)
        if seconds is not None:
            parts.append(f"about {duration(seconds)} left")
        return f"dmlcts: {' · '.join(parts)}"

    def print_line(self, text: str) -> None:
        """Print on standard output, beside the line.

        Raises:
            BrokenPipeError: nobody reads it any more.
        """
        with self.line.aside():
            for line in text.splitlines() or [""]:
                print_line(line)

    def _operators(self) -> list[str]:
        running = list(dict.fromkeys(reversed(self._running.values())))
        more = len(running) - _OPERATORS_SHOWN
        shown = ", ".join(running[:_OPERATORS_SHOWN]) + (f" and {more} more" if more > 0 else "")
        return [shown] if shown else []

    # ------------------------------------------------------------------------------- what pytest says

    def _learned(self, tests: Sequence[str]) -> None:
        if self._began is not None or not tests:
            return
        self._tests = {key_of_item(test): weight_of(test, self._profile) for test in tests}
        self._began = self._clock()
        operators = len({_operator(test) for test in tests})
        amount = f"{many(len(self._tests), 'test')} of {many(operators, 'operator')}"
        self.print_line(f"dmlcts: {self._what}: {amount}")
        self.line.start()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Learn what is to run, where it runs in this process."""
        self._learned([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        """Learn from a process of pytest-xdist what is to run."""
        self._learned(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note which operator is judged."""
        self._running.pop(nodeid, None)
        self._running[nodeid] = _operator(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that it has been judged."""
        self._running.pop(nodeid, None)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Print what kept tests from being collected."""
        if report.failed:
            self.line.print_text(str(report.longrepr))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Distinguish Ctrl-C from an end that a plugin asked for; pytest's own, as after `-x`, are derived."""
        if excinfo.type is KeyboardInterrupt:
            self.interrupted = True
        elif isinstance(excinfo.value, pytest.exit.Exception):
            self.reason = str(excinfo.value.msg)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Say why the run stopped before its end, where it did by itself."""
        reason: Any = session.shouldstop or session.shouldfail
        if isinstance(reason, str):
            self.print_line(f"dmlcts: {reason}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Take the line away before the summary is printed."""
        self.line.stop()


def _without_replay(text: str) -> str:
    """The account of a failure without its command: a smaller case of the same fault may replace it, and its file."""
    return "\n".join(line for line in text.rstrip().splitlines() if not line.startswith(_REPLAY))


def _operator(test: str) -> str:
    return test.partition("[")[2].rstrip("]")


def _breaking(record: ItemRecord) -> Iterable[FailureRecord]:
    return (failure for failure in record.failures if failure.outcome.breaks_conformance)


def _clauses(record: ItemRecord) -> set[str]:
    """The clauses that a record says to fail; a failure of none of them counts by its title."""
    named = {failure.clause or failure.title for failure in _breaking(record)}
    return named | {tally.clause for tally in record.tallies if tally.outcome.breaks_conformance}
