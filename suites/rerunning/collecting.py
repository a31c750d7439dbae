"""Where a run is controlled: gathers its records, notices what is lost, runs that again, and publishes the verdict.

With pytest-xdist a test whose process dies leaves no record. What the processes collected is compared with what they
recorded, so that no verdict leaves a test out.
"""

from __future__ import annotations

import functools
import json
import signal
import subprocess
from collections.abc import Callable, Generator
from typing import Any

import pytest

from dmlcts.reports.documents.journal import Collection
from dmlcts.reports.documents.outcomes import exit_code
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.summaries.characters import one_line
from dmlcts.specs import DmlctsError
from dmlcts.specs.number_text import many
from dmlcts.suites.console.exit_codes import BROKEN
from dmlcts.suites.console.printing import complain
from dmlcts.suites.progress.watching import PLUGIN as PROGRESS
from dmlcts.suites.rerunning.rerun import rerun
from dmlcts.suites.running.item_record import publish
from dmlcts.suites.running.pytest_run import CONFORMANCE, UNAVAILABLE
from dmlcts.suites.running.run import NoVerdict, Run, key_of

RECORD = "dmlcts-record"
DONE = "dmlcts-done"
COLLECTION = pytest.StashKey[Collection]()
_COLLECTED = "dmlcts-collected"
_LOST = "dmlcts_lost"
_SECONDS_TO_END = 10


class Collector:
    """Gathers records where the run is controlled: with pytest-xdist, not in its processes.

    Args:
        config: pytest's.
        run: what is gathered for.
    """

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self.config = config
        self.run = run
        self.show: Callable[[], None] | None = None
        self._tests: dict[str, str] = {}  # the tests that are to run: name by key
        self._modules: dict[str, bool] = {}  # whether those of this name judge
        self._begun: set[str] = set()
        self._reported: set[str] = set()
        self._processes: list[Any] = []  # of pytest-xdist
        self._fallen: dict[Any, int | None] = {}  # those that died, with their return codes
        self._last: list[str] = []  # what is to be said beside the summary

    def _stopped(self, error: DmlctsError) -> None:
        """End the session: what cannot be recorded need not be judged."""
        self.run.error = error
        pytest.exit(one_line(error), returncode=pytest.ExitCode.USAGE_ERROR)

    def _collected(self, collection: Collection) -> None:
        if not collection.total or self.config.option.collectonly:
            return
        try:
            self.run.collected(collection)
        except DmlctsError as error:
            self._stopped(error)

    def _judges(self, test: str) -> bool:
        """Whether a test of this name judges the implementation."""
        module = test.partition("::")[0]
        if module not in self._modules:
            self._modules[module] = (self.config.rootpath / module).resolve().is_relative_to(CONFORMANCE)
        return self._modules[module]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Learn what is to run, where it runs in this process."""
        if COLLECTION in self.config.stash:
            self._tests = {key_of(item.nodeid): item.nodeid for item in session.items if self._judges(item.nodeid)}
            self._collected(self.config.stash[COLLECTION])

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send a process of pytest-xdist the tests that need not run again."""
        self._processes.append(node)
        node.workerinput[DONE] = sorted(self.run.done)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        """Learn from a process of pytest-xdist what is to run."""
        if not self._tests:
            self._tests = {key_of(test): test for test in ids if self._judges(test)}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Learn from a process of pytest-xdist how many tests there are, or that it died."""
        counted = getattr(node, "workeroutput", {}).get(_COLLECTED)
        if counted is not None and self.run.error is None:
            self._collected(Collection(*counted))
        if error:
            self._fallen[node] = _return_code(node)
        elif (reason := getattr(node, "workeroutput", {}).get(UNAVAILABLE)) is not None:
            self._without_device(node, reason)

    def _without_device(self, node: Any, reason: str) -> None:
        """Share what a process was to run among the others: a device may open in fewer processes than were asked for.

        pytest-xdist takes it for a fault of its own that a process ends with tests left, and would end the run.
        """
        self._print_line(f"\ndmlcts: a process cannot open the device, so others run its tests: {reason}")
        self._fallen[node] = None
        distribution: Any = self.config.pluginmanager.get_plugin("dsession")
        scheduler = distribution.sched
        if node in scheduler.nodes:
            scheduler.remove_node(node)  # the test that it began runs again at the end

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: object) -> None:
        """A test that was lost with its process has not failed: it runs again."""
        if self._judges(crashitem):
            report.outcome, report.longrepr = "passed", None
            setattr(report, _LOST, True)

    def pytest_report_teststatus(self, report: object) -> tuple[str, str, str] | None:
        """Show a test that was lost as such."""
        return ("lost", "L", "LOST") if hasattr(report, _LOST) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Go on where pytest-xdist breaks down over the death of its processes: what is lost runs again."""
        try:
            return (yield)
        except (session.Interrupted, session.Failed):
            raise
        except Exception:
            if not self._fallen or not self.config.getoption("--backend"):
                raise
            return True

    def _report_immediately(self, report: pytest.TestReport) -> None:
        """With `dmlcts run -v`, print a failure where it happens."""
        options = self.config.option
        if report.failed and options.verbose > 0 and options.tbstyle == "no":
            failure = report.longrepr  # as a text it stands alone; longreprtext would name pytest-xdist's process first
            self._print_line(failure if isinstance(failure, str) else report.longreprtext)

    def _print_line(self, text: str) -> None:
        manager = self.config.pluginmanager
        progress, terminal = manager.get_plugin(PROGRESS), manager.get_plugin("terminalreporter")
        if progress is not None:
            progress.print_line(text)
        elif terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(text)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note which tests have begun."""
        self._begun.add(key_of(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record that a test's report carries."""
        self._report_immediately(report)
        if not hasattr(report, _LOST) and (report.when == "call" or not report.passed):
            self._reported.add(key_of(report.nodeid))
        for name, value in report.user_properties:
            if name == RECORD and self.run.error is None:
                try:
                    self.run.add(ItemRecord.from_json(json.loads(str(value))))
                except DmlctsError as error:
                    self._stopped(error)

    @property
    def _lost(self) -> dict[str, str]:
        """The tests that were to run and left nothing."""
        known = self._reported | self.run.done
        return {key: test for key, test in self._tests.items() if key not in known}

    def _ended(self) -> NoVerdict | None:
        """Why there is no verdict, where somebody ended all processes of the run."""
        codes = [self._fallen.get(node) for node in self._processes]
        if not codes or set(codes) != {-signal.SIGTERM} or (not self._lost and self._tests):
            return None
        folder = self.run.settings.results
        mend = f"continue with `dmlcts run --resume {folder}`" if self.run.records else "run it again"
        subject = "the process" if len(codes) == 1 else f"all {len(codes)} processes"
        return NoVerdict(f"{subject} of this run ended by SIGTERM, before all tests had run: no verdict", mend)

    def _again(self) -> None:
        """Run what was lost again; what does not run then either keeps the run from its end."""
        lost = self._lost
        if self._fallen and not self._tests:
            message = "all processes of this run died before they had collected the tests: no verdict"
            raise NoVerdict(message, "run it again")
        if not lost:
            return
        whose = "its process" if len(lost) == 1 else "their processes"
        self._print_line(f"\ndmlcts: {many(len(lost), 'test')} lost with {whose}: running again in a fresh one")
        rerun_result = rerun(self.run, lost, self._begun)
        self._last += rerun_result.reported
        self.run.interrupted |= rerun_result.interrupted or bool(self._lost)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Run again what was lost, and write the run's files."""
        run = self.run
        stopped = bool(session.shouldstop) or exitstatus in (
            pytest.ExitCode.INTERRUPTED,
            pytest.ExitCode.INTERNAL_ERROR,
        )
        lost: dict[str, str] = {}
        if run.error is None and not self.config.option.collectonly:
            enough = bool(session.shouldfail) and not run.complete  # --maxfail
            run.interrupted = stopped or enough
            progress = self.config.pluginmanager.get_plugin(PROGRESS)
            run.interrupted_by_user = progress is not None and progress.interrupted
            lost = {} if run.interrupted else self._lost
            try:
                run.error = None if run.interrupted else self._ended()
                if run.error is None and not run.interrupted:
                    self._again()
            except DmlctsError as error:
                run.error = error
        if run.error is not None or not run.records:
            self._gave_up(session)
            return
        try:
            run.end()
            self.show = publish(run)
        except DmlctsError as error:
            run.error = error
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            self.show = functools.partial(complain, f"dmlcts: {error}")
        run.close()
        if lost and run.verdict is not None:
            session.exitstatus = exit_code(run.verdict) or session.exitstatus
        if run.complaint is not None:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _gave_up(self, session: pytest.Session) -> None:
        """There is nothing to publish."""
        if isinstance(self.run.error, NoVerdict):
            session.exitstatus = BROKEN
            if not self.config.pluginmanager.has_plugin("dmlcts-run"):  # whoever named the run says it
                self.show = functools.partial(complain, f"dmlcts: {self.run.error}")
        self.run.close()

    def pytest_unconfigure(self) -> None:
        """Print the summary, now that pytest has said its own."""
        for line in self._last:
            complain(f"dmlcts: {line}")
        if self.show is not None:
            self.show()
        if self.run.complaint is not None:
            complain(f"dmlcts: {self.run.complaint}")


def _return_code(node: Any) -> int | None:
    """How a process of pytest-xdist ended; ``None`` where that is not known."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if not isinstance(process, subprocess.Popen):
        return None
    try:
        return process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        return None


class Counting:
    """In a process of pytest-xdist: sends the controlling one the number of items.

    Args:
        run: what this process is a part of.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Close the implementation, and hand over what was counted."""
        self.run.close_bench()
        config = session.config
        if COLLECTION in config.stash:
            counted = config.stash[COLLECTION]
            assert hasattr(config, "workeroutput")  # noqa: S101  # pytest-xdist gives it to the processes it starts
            config.workeroutput[_COLLECTED] = [counted.items, counted.total]
