"""Compiling small native libraries on Linux, with the user's own C compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from dmlcts.backends.contract import BackendUnavailable


def compiler() -> str:
    """The command of a C compiler: that of the variable CC, or the first of cc, gcc and clang.

    Raises:
        BackendUnavailable: there is none.
    """
    command = os.environ.get("CC") or next(
        (path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), ""
    )
    if not command:
        raise BackendUnavailable(
            "a small library must be compiled, and there is no C compiler",
            "install one (for example: apt-get install gcc), or name it in the environment variable CC",
        )
    return command


def run_compiler(arguments: Sequence[str]) -> None:
    """Run the C compiler.

    Raises:
        BackendUnavailable: there is none, or it failed.
    """
    command = compiler()
    try:
        done = subprocess.run(  # noqa: S603 - the user's own compiler
            [*command.split(), *arguments], capture_output=True, text=True, timeout=120, check=False
        )
    except OSError as error:
        raise BackendUnavailable(f"the C compiler {command!r} cannot be run: {error}", "name another in CC") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        cause = f"the C compiler {command!r} failed on a small library: {lines[0] if lines else 'no message'}"
        raise BackendUnavailable(cause, "name another compiler in the environment variable CC")
