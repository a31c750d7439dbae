"""A whole run: pytest over the conformance modules, with the options of :class:`Settings`, to a verdict."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dmlcts.backends.processors import usable_processors
from dmlcts.reports.documents.selecting import within
from dmlcts.specs import DmlctsError
from dmlcts.suites.console.printing import complain, print_line
from dmlcts.suites.progress.watching import PLUGIN as PROGRESS
from dmlcts.suites.progress.watching import Progress
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.run import Run

if TYPE_CHECKING:
    from dmlcts.reports.documents.records import ItemRecord
    from dmlcts.suites.cases.bench import Bench

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
# The most that were measured: on 16 cores all operators took 2 min 21 s, with nothing cached but the library.
_MOST_PROCESSES = 16

ONLY = pytest.StashKey[frozenset[str]]()
"""The tests of an item that are run, by name ("test_ties[ROUND-FLOAT16]"), where not all are."""
UNAVAILABLE = "dmlcts-unavailable"
"""Where a process of pytest-xdist says why it has no device, in what it sends at its end."""


class RunStopped(DmlctsError):  # noqa: N818  # it says what happened; nothing here is broken
    """pytest ended before there was anything to give a verdict on."""


def pytest_arguments(
    settings: Settings, *, workers: str = "", verbose: bool = False, most_failures: int = 0, silent: bool = False
) -> list[str]:
    """The arguments with which pytest does the same as ``dmlcts run``.

    Failures are in the summary, in the order of causes; with ``verbose`` each is printed in full where it happens. With
    ``silent`` pytest prints nothing, pytest-xdist neither: whoever runs it shows how far it is.
    """
    # what `_undisturbed` keeps pytest from finding by itself is named: Hypothesis' plugin here, that of processes below
    arguments = ["-p", "hypothesispytest", "-p", "dmlcts.suites.plugin", "-p", "no:cacheprovider"]
    arguments += ["-c", str(CONFORMANCE / "run.ini")]
    arguments += ["-v"] if verbose else ["-q"]
    arguments += ["--no-header", "--disable-warnings", "-r", "N", "--tb", "no"]
    arguments += ["--assert", "plain"]  # the judge says what is wrong; rewriting modules takes a second a start
    if silent:
        arguments += ["-p", "no:terminalreporter"]
    if most_failures:
        arguments += ["--maxfail", str(most_failures)]
    if in_several_processes(workers):
        # items take from 1 ms to 12 s: whoever is done takes over
        arguments += ["-p", "xdist.plugin", "-n", workers, "--dist", "worksteal"]
        if not workers.isdigit():  # with psutil pytest-xdist counts all of the machine, whatever this process may use
            arguments += ["--maxprocesses", str(usable_processors())]
    modules = sorted(str(path) for path in CONFORMANCE.rglob("test_*.py"))
    return [*arguments, *settings.arguments(), *modules]


def shown_command(settings: Settings) -> str:
    """The pytest command that a person would type for the same run."""
    return shlex.join(["pytest", "-p", "dmlcts.suites.plugin", "--pyargs", "dmlcts.suites", *settings.arguments()])


def in_several_processes(workers: str) -> bool:
    """Whether what ``-n`` was given makes several processes: one is this one, and pytest-xdist is not asked."""
    return workers not in ("", "1") and (workers.isdigit() or usable_processors() > 1)


def usual_processes(settings: Settings) -> int:
    """In how many processes a run goes where nobody says how many: 1 where it goes in this one.

    Several only for DirectML on the software adapter, of which every process has its own: as many as there are
    processors, at most 16. One, too, where it is not isolated or pytest-xdist is not installed, and where clauses are
    named: few cases take less time than a process takes to start.
    """
    if settings.backend != "directml" or settings.names_clauses or settings.isolation == "none":
        return 1
    from dmlcts.backends.directml.hosting.choosing import is_software  # runs of other backends start without it

    if not is_software(dict(settings.options).get("adapter", "")) or importlib.util.find_spec("xdist") is None:
        return 1
    return min(_MOST_PROCESSES, usable_processors())


def execute(
    settings: Settings,
    *,
    workers: str = "",
    verbose: bool = False,
    quiet: bool = False,
    resume: bool = False,
    most_failures: int = 0,
) -> Run:
    """Judge the backend that the settings name.

    Args:
        settings: the options.
        workers: how many processes pytest-xdist starts ("2", "auto"), or "" for none.
        verbose: a line for every test, each failure in full at once, and the whole summary.
        quiet: nothing on standard output; for callers that print what they need of the records.
        resume: continue the run whose journal the results folder holds.
        most_failures: stop after so many failing tests; 0 for never.

    Returns:
        The finished run: its records and its verdict.

    Raises:
        UsageError: an option means nothing, the results folder cannot be written, or there the disk is full.
        DocumentError: there is nothing to resume.
        BackendUnavailable: the backend cannot run here.
        RunStopped: no test ran at all.
        NoVerdict: somebody ended all processes of the run.
    """
    run = Run(settings, resume=resume)
    try:
        run.begin()  # before pytest starts, so that what is wrong with folder or backend is said in one line
        arguments = pytest_arguments(
            settings, workers=workers, verbose=verbose, most_failures=most_failures, silent=not quiet
        )
        with _silenced(quiet), _undisturbed(), _storage_elsewhere():
            if resume:
                print_line(f"dmlcts: {run.already}")
            if run.replaces:
                print_line(f"dmlcts: replaces {run.replaces} in {settings.results}, with its first record")
            run.short = not verbose
            with contextlib.nullcontext() if quiet else _followed(run, verbose) as progress:
                status = pytest.main(arguments, plugins=[Named(run, progress)])
    finally:
        run.close()
    if run.error is not None:
        raise run.error
    if progress is not None and progress.reason:
        complain(f"dmlcts: {progress.reason}")
    if run.verdict is None and status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt  # before there was anything to publish
    if run.verdict is None:
        raise RunStopped(
            "nothing was judged: the selection is empty"
            if status == pytest.ExitCode.NO_TESTS_COLLECTED
            else f"nothing was judged: pytest ended with status {int(status)}"
        )
    return run


@contextlib.contextmanager
def _followed(run: Run, verbose: bool) -> Iterator[Progress]:
    """Show how far a run is."""
    settings = run.settings
    facts = [f"level {run.level}", f"profile {settings.profile}", f"seed {settings.seed}"]
    facts += ["strict"] if settings.strict else []

    def counted(record: ItemRecord) -> ItemRecord:
        if not record.failures:
            return record
        return within(settings.waivers.apply([record]), settings.selection)[0]

    progress = Progress(f"{settings.backend}, {', '.join(facts)}", settings.profile, counted, verbose=verbose)
    progress.already(run.records)
    run.watchers.append(progress.record)
    try:
        yield progress
    finally:
        progress.line.stop()
        run.watchers.remove(progress.record)


def judge_here(run: Run) -> int:
    """Judge what is left of a run in this process, with nothing on standard output; gives pytest's exit code."""
    with _silenced(True), _undisturbed(), _storage_elsewhere():
        return int(pytest.main(pytest_arguments(run.settings), plugins=[Named(run)]))


class Named:
    """Registers the run, and what follows it, under the names by which the plugin looks for them.

    Args:
        run: the run.
        progress: what shows how far it is, or ``None``.
    """

    def __init__(self, run: Run, progress: Progress | None = None) -> None:
        self.run = run
        self.progress = progress

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Register before the plugin configures itself."""
        config.pluginmanager.register(self.run, "dmlcts-run")
        if self.progress is not None:
            config.pluginmanager.register(self.progress, PROGRESS)


_TAKEN_OVER = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Pytest as it is: nothing that is set in the environment or installed adds options or plugins.

    What a run judges, in which order and how often, follows from its own options; who wants others' plugins runs
    ``pytest -p dmlcts.suites.plugin``.
    """
    kept = {name: os.environ.pop(name) for name in _TAKEN_OVER if name in os.environ}
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        os.environ.update(kept)


@contextlib.contextmanager
def _storage_elsewhere() -> Iterator[None]:
    """Keep what Hypothesis stores, which no run reads again, out of the current folder, in all processes of a run."""
    with tempfile.TemporaryDirectory(prefix="dmlcts-") as folder, _environment("HYPOTHESIS_STORAGE_DIRECTORY", folder):
        _forget_storage()
        try:
            yield
        finally:
            _forget_storage()


def _forget_storage() -> None:
    """Let Hypothesis look again where it stores; it is not imported for that, pytest has to do so first."""
    configuration = sys.modules.get("hypothesis.configuration")
    if configuration is not None:
        configuration.set_hypothesis_home_dir(None)


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextlib.contextmanager
def _silenced(quiet: bool) -> Iterator[None]:
    if not quiet:
        yield
        return
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def collected_tests(operators: Sequence[str] = (), profile: str = "certification", seed: int = 0) -> list[str]:
    """The node ids of all items that judge a backend; found by collecting, without running anything.

    Args:
        operators: names of those that are judged; all where there are none.
        profile: of the run.
        seed: of the run; the quick profile chooses by it on what it tries layouts.

    Raises:
        RunStopped: pytest could not collect them.
    """
    tests: list[str] = []

    class Collector:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            tests.extend(item.nodeid for item in session.items)

    settings = Settings.read(profile=profile, operators=operators, seed=seed)
    arguments = [*pytest_arguments(settings), "--collect-only"]
    with (
        _silenced(True),
        _undisturbed(),
        tempfile.TemporaryDirectory(prefix="dmlcts-collect-") as folder,
        contextlib.chdir(folder),
    ):
        status = pytest.main(arguments, plugins=[Collector(), Named(Run(settings))])
    if status != pytest.ExitCode.OK:
        raise RunStopped(f"the tests could not be collected: pytest ended with status {int(status)}")
    return tests


def records_of(tests: Mapping[str, Collection[str]], settings: Settings, bench: Bench) -> list[ItemRecord]:
    """What some tests record on a bench, in their order; nothing is said, and only the results folder is written.

    Args:
        tests: names of single tests by the node id of their item; items that the settings do not select are left out.
        settings: of the run.
        bench: is closed at the end.

    Raises:
        UsageError: the results folder cannot be written.
    """

    class Chosen:
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            items[:] = [item for item in items if item.nodeid in tests]
            for item in items:
                item.stash[ONLY] = frozenset(tests[item.nodeid])

    run = Run(settings, bench)
    try:
        with _silenced(True), _undisturbed(), _storage_elsewhere():
            pytest.main(pytest_arguments(settings), plugins=[Chosen(), Named(run)])
    finally:
        run.close()
    if run.error is not None:
        raise run.error
    return run.records
