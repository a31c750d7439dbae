"""Runs of the command line, each in a process of its own that is forked from one which has imported what they need.

Importing numpy, pytest, Hypothesis and the suite, and reading the tables, takes longer than what most of the selftests'
runs do. A forked process has all that from the start; working folder, environment, words and output are its own. What
a *start* of the program must show (exit codes, imports, signals, hash seeds) is shown by tests that start it.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from dmlcts.backends.interpreter import own_python, safe_environment

SECONDS = 300  # a run may take


class CommandServer:
    """The process that the runs are forked from; a context manager, which ends it.

    It asks on its standard input, and answers on its standard output, a line of JSON each: a request's process first,
    then that process's exit code.

    Args:
        program: a file that serves instead of this module, as one that imports another installation of the suite.
        more: further variables for the environment of the process and of its runs.
    """

    def __init__(self, program: Path | None = None, more: Mapping[str, str] | None = None) -> None:
        self._more = dict(more or {})
        words = ("-m", __name__) if program is None else (str(program),)
        # Unbuffered: two answers that come at once must not lie in a buffer where ``select`` does not see the second.
        self._process = subprocess.Popen(
            own_python(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=safe_environment(more)
        )

    def __enter__(self) -> CommandServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(self, arguments: tuple[str, ...], folder: Path) -> tuple[int, str, str]:
        """Run ``dmlcts`` with these words in a folder: its exit code and what it said on either stream.

        Raises:
            TimeoutError: it took longer than a run may take; its process was killed.
        """
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            self.ask(
                arguments=arguments,
                folder=str(folder),
                environment={**os.environ, **self._more},
                streams=[out.name, err.name],
            )
            process = self.answer()
            try:
                code = self.answer()
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                self.answer()
                raise
            return code, _text(out), _text(err)

    def ask(self, **request: Any) -> None:
        """Send a request: arguments, folder, environment, and the files of the two streams."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode("utf-8") + b"\n")

    def answer(self, seconds: float = SECONDS) -> int:
        """The next line of the answers: after a request the number of its process, then its exit code.

        Raises:
            TimeoutError: no line came in these seconds.
        """
        stream = self._process.stdout
        assert stream is not None
        if not select.select([stream], [], [], seconds)[0]:
            raise TimeoutError(f"the command took longer than {seconds} s")
        return int(stream.readline())


def _text(stream: Any) -> str:
    return str(stream.read().decode("utf-8"))


def serve() -> dict[str, Any] | None:
    """Fork for every request; gives the request in the forked process, and ``None`` where there are no more."""
    for line in sys.stdin:
        process = os.fork()
        if not process:
            return dict(json.loads(line))
        _answer(process)
        _answer(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    return None


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def become(request: dict[str, Any]) -> None:
    """Make of this process one that was started with a request's words, folder, environment and streams."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for name, number in ((os.devnull, 0), *zip(request["streams"], (1, 2), strict=True)):
        opened = os.open(name, os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["dmlcts", *request["arguments"]]


def _prepare() -> None:
    """Import what runs need, read the tables, and work out what every run of the quick profile asks of them."""
    import dmlcts.backends.cpu
    import dmlcts.suites.plugin  # noqa: F401
    from dmlcts.reports.views import html
    from dmlcts.specs.loading import load
    from dmlcts.suites.combinations import listing as combinations
    from dmlcts.suites.commands import listing  # noqa: F401
    from dmlcts.suites.families.family import families
    from dmlcts.suites.running import pytest_run  # noqa: F401

    list(combinations._spaces(load.load_tables(), "quick"))  # which sizes there are is asked by every run
    load._builtin_batch()  # for runs with tables of their own besides
    families()
    for name in ("report.html", "macros.html"):
        html.environment().get_template(name)
    gc.collect()
    gc.freeze()  # what is here stays to the end: no run need look at it again


if __name__ == "__main__":
    from dmlcts.suites.commands.main import main

    _prepare()
    asked = serve()
    if asked is not None:
        become(asked)
        main(prog_name="dmlcts")
