"""Selftests run against a module made of other code, each time in a process of its own."""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import IO

import hypothesis
import pytest

from dmlcts.suites.selftest.house.code_changes import ROOT
from dmlcts.suites.selftest.house.substitute import CODE, NAME, Substitute

_PRELOADED = (
    "hypothesis.strategies",
    "numpy",
    "numpy.testing",
    "jsonschema",
    "pydantic",
    "rich.table",
    "click",
    "mpmath",
    "dmlcts.specs.loading",
    "dmlcts.specs.rules",
    "dmlcts.backends.registry",
)
_MOST_MEMORY = 8 << 30
_SURVIVED, _KILLED, _NOT_LOADED, _NO_TESTS = 0, 1, 71, 72
MARKERS = "markers=" + "\n".join(
    (  # which the plugin and a conftest declare where they are loaded
        "checks: what a conformance test checks",
        "sampled: all of its parameters are run here",
    )
)
_AT_THE_START = "from dmlcts.suites.selftest.house.substitute import install\n\ninstall()\n"


def module_name(path: Path) -> str:
    """The name under which the suite imports a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("dmlcts", *parts)).removesuffix(".__init__")


def _storage() -> str:
    folder = os.path.join(tempfile.gettempdir(), "dmlcts-code-mutation")
    os.makedirs(folder, exist_ok=True)
    return folder


def without_deadlines() -> None:
    """Let Hypothesis' examples take their time, as the plugin of the suite does: a busy machine kills no mutant."""
    hypothesis.settings.register_profile("changed", deadline=None)
    hypothesis.settings.load_profile("changed")


def prepare() -> None:
    """Load what every process needs, and keep the tests from writing anything but below a temporary folder."""
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = _storage()
    sys.dont_write_bytecode = True
    without_deadlines()
    for name in _PRELOADED:
        importlib.import_module(name)
    importlib.import_module("dmlcts.specs.loading").load_tables()


@dataclass
class Trial:
    """One run of tests against a module made of other code, and what came of it.

    Attributes:
        path: the module's file.
        compiled: gives the code that takes its place; called in the forked process.
        tests: arguments for pytest.
        limit: seconds until it is ended.
        whole: every Python program that the tests start has the other code too, and conftest.py is there; slower.
        end: ``survived`` (the tests passed), ``killed``, ``timeout``, or why nothing was tried.
        output: what the tests printed.
        seconds: processor time.
    """

    path: Path
    compiled: Callable[[], CodeType]
    tests: Sequence[str]
    limit: float
    whole: bool = False
    end: str = ""
    output: str = ""
    seconds: float = 0.0
    child: int = field(default=0, repr=False)
    log: IO[bytes] | None = field(default=None, repr=False)
    until: float = field(default=0.0, repr=False)

    def start(self) -> None:
        """Fork the process that runs it."""
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        self.until = time.monotonic() + self.limit
        self.child = os.fork()
        if self.child == 0:
            status = _KILLED  # whatever escapes from the changed module
            try:
                os.setpgid(0, 0)  # so that what the tests started ends with it
                os.dup2(self.log.fileno(), 1)
                os.dup2(self.log.fileno(), 2)
                resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
                status = self._from_the_start() if self.whole else self._here()
            finally:
                os._exit(status)
        with contextlib.suppress(PermissionError):  # it has done it by itself
            os.setpgid(self.child, self.child)

    def _from_the_start(self) -> int:
        """Run pytest in a new interpreter; through ``sitecustomize`` all below it load the other code."""
        folder = tempfile.mkdtemp(prefix="changed-", dir=_storage())
        Path(folder, "sitecustomize.py").write_text(_AT_THE_START, encoding="utf-8")
        Path(folder, "code").write_bytes(marshal.dumps(self.compiled()))
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
        paths = [folder, *filter(None, [environment.get("PYTHONPATH")])]
        environment |= {
            NAME: module_name(self.path),
            CODE: os.path.join(folder, "code"),
            "TMPDIR": folder,
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
            # what changed code computes must not be kept for others
            "DMLCTS_CACHE": os.path.join(folder, "cache"),
        }
        words = ["-x", "-q", "-p", "no:cacheprovider", "--tb=line", *self.tests]
        done = subprocess.run([sys.executable, "-m", "pytest", *words], env=environment, check=False)
        shutil.rmtree(folder, ignore_errors=True)
        if done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
            return _NO_TESTS
        return _SURVIVED if done.returncode == pytest.ExitCode.OK else _KILLED

    def _here(self) -> int:
        name = module_name(self.path)
        if name in sys.modules:
            for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == "dmlcts"]:
                del sys.modules[loaded]
        substitute = Substitute(name, self.path, self.compiled())
        sys.meta_path.insert(0, substitute)
        code = pytest.main(
            ["-x", "-q", "--noconftest", "-p", "no:cacheprovider", "-o", MARKERS, "--tb=line", *self.tests]
        )
        if code == pytest.ExitCode.NO_TESTS_COLLECTED:
            return _NO_TESTS
        if not substitute.loaded:
            return _NOT_LOADED
        return _SURVIVED if code == pytest.ExitCode.OK else _KILLED

    def has_ended(self) -> bool:
        """Whether it is over, by itself or because its time was."""
        done, status, used = os.wait4(self.child, os.WNOHANG)
        if done:
            self.end = {
                _SURVIVED: "survived",
                _NOT_LOADED: "its tests do not import it",
                _NO_TESTS: "no test was found",
            }.get(os.waitstatus_to_exitcode(status), "killed")
        elif time.monotonic() < self.until:
            return False
        else:
            os.killpg(self.child, signal.SIGKILL)
            _, _, used = os.wait4(self.child, 0)
            self.end = "timeout"
        self.child = 0
        self.seconds = used.ru_utime + used.ru_stime
        assert self.log is not None
        self.log.seek(0)
        self.output = self.log.read().decode(errors="replace")
        self.log.close()
        return True

    def abandon(self) -> None:
        """End it, whatever came of it."""
        if self.child:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            self.child = 0
        if self.log is not None:
            self.log.close()


def in_processes(trials: Iterable[Trial], workers: int) -> Iterator[Trial]:
    """Run trials, so many at a time; each is given when it has ended."""
    waiting = iter(trials)
    running: list[Trial] = []
    pause = 0.002
    try:
        while True:
            while len(running) < workers and (trial := next(waiting, None)) is not None:
                trial.start()
                running.append(trial)
            if not running:
                return
            ended = [trial for trial in running if trial.has_ended()]
            running = [trial for trial in running if trial.child]
            yield from ended
            pause = 0.002 if ended else min(pause * 1.3, 0.05)
            if not ended:
                time.sleep(pause)
    finally:
        for trial in running:
            trial.abandon()
