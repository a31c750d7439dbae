"""What commands cost their user: until help stands there, until the first case is judged, and a whole quick run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.backends.processors import usable_processors
from dmlcts.specs import UsageError

HELP_BAR = 0.25
FIRST_CASE_BAR = 2.0
QUICK_RUN_BAR = 15.0
MEMORY_BAR = 400 << 20
PROCESSOR_BAR = 1.5
QUICK_OPERATORS = ("CLIP", "ROUND", "THRESHOLD")
_ROUNDS = 3
_MOST_CHARACTERS = 500
_ENTRY = "from dmlcts.suites.commands.entry import main; main()"
_FIRST_CASE = f"""
import os
from dmlcts.suites.judging.judge import Judge
Judge._tried = lambda *given, **named: os._exit(0)
{_ENTRY}
"""


@dataclass(frozen=True)
class _Spent:
    """What a command took: seconds, processor seconds of all its processes, bytes of the largest of them."""

    seconds: float
    processor_seconds: float = 0.0
    memory: int = 0


def _waited(process: subprocess.Popen[bytes], started: float) -> _Spent:
    if sys.platform == "win32":
        process.wait()
        return _Spent(time.perf_counter() - started)
    _, status, usage = os.wait4(process.pid, 0)  # of this process and those that it waited for
    process.returncode = os.waitstatus_to_exitcode(status)
    size = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return _Spent(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, size)


def _run(script: str, words: Sequence[str], *codes: int) -> _Spent:
    """Run a script in a Python process with words for it, which has to end with one of the exit codes."""
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603  # this Python, with words of our own
            own_python("-c", script, *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=safe_environment(),
        )
        try:
            spent = _waited(process, started)
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode not in codes:
            errors.seek(0)
            message = errors.read().decode(errors="replace").strip()[-_MOST_CHARACTERS:]
            raise UsageError(
                f"`dmlcts {' '.join(words)}` ended with exit code {process.returncode}: {message}",
                "make it run, or measure with --no-run",
            )
    return spent


def _run_words(backend: str, options: Sequence[str], operators: Sequence[str], folder: str) -> list[str]:
    named = [word for option in options for word in ("-o", option)]
    return ["run", "-q", "--backend", backend, *named, "--operator", ",".join(operators), "--results", folder]


def quick_run(backend: str, options: Sequence[str], operators: Sequence[str] = QUICK_OPERATORS) -> dict[str, Any]:
    """A quick run of some operators as the README types it, in as many processes as the machine has processors.

    Returns:
        ``seconds``; ``processor_seconds`` of all its processes, and ``memory`` of the largest, in bytes: 0 where the
        system does not report it.

    Raises:
        UsageError: it did not end with a verdict.
    """
    with tempfile.TemporaryDirectory() as folder:
        spent = _run(_ENTRY, [*_run_words(backend, options, operators, folder), "-n", "auto"], 0, 1, 4)
    return {
        "seconds": round(spent.seconds, 2),
        "processor_seconds": round(spent.processor_seconds, 2),
        "memory": spent.memory,
    }


def command_times(
    backend: str, options: Sequence[str], report: Callable[[str], None], operators: Sequence[str] = QUICK_OPERATORS
) -> dict[str, Any]:
    """Measure all of it, beside a Python that does nothing and, for another backend, the same run on cpu.

    Args:
        backend: the implementation, as ``--backend`` names it.
        options: its options.
        report: called with a line on what is going on.
        operators: what runs judge.

    Returns:
        The member ``commands`` of a ``dmlcts-bench/1`` document; the best of three of what is short.

    Raises:
        UsageError: a command did not end as it should.
    """
    report("how long commands take to begin")
    with tempfile.TemporaryDirectory() as folder:
        words = _run_words(backend, options, operators, folder)
        scripts = {"python": ("pass", []), "help": (_ENTRY, ["--help"]), "first_case": (_FIRST_CASE, words)}
        times: dict[str, Any] = {
            f"{name}_seconds": round(min(_run(script, arguments, 0).seconds for _ in range(_ROUNDS)), 3)
            for name, (script, arguments) in scripts.items()
        }
    report(f"a quick run of {', '.join(operators)} on {backend}, {usable_processors()} processes")
    times["quick_run"] = quick_run(backend, options, operators)
    times["quick_run_on_cpu"] = None
    if backend != "cpu":
        report("the same on cpu")
        times["quick_run_on_cpu"] = quick_run("cpu", (), operators)
    return times
