"""Judging several backends, each in a process of its own, for a comparison."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.backends.registry import parse_options, resolve
from dmlcts.reports.comparing.comparison import Column, finished
from dmlcts.specs import UsageError
from dmlcts.suites.isolation.custody import held

_WRITTEN = re.compile(r"(?P<backend>[^\[\]]+)(?:\[(?P<options>[^\[\]]*)\])?")
_HAVE_RESULTS = (0, 1, 4)
_USAGE, _UNAVAILABLE = 2, 3


@dataclass(frozen=True)
class Contender:
    """A backend with its options, as the user wrote it: ``name`` or ``name[key=value,key=value]``."""

    label: str
    backend: str
    options: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, written: str) -> Contender:
        """Read ``name[key=value,…]``.

        Raises:
            UsageError: it is not of that form.
        """
        match = _WRITTEN.fullmatch(written.strip())
        if match is None:
            raise UsageError(f"{written!r} names no backend", "write name, or name[key=value,key=value]")
        options = [part for part in (match["options"] or "").split(",") if part.strip()]
        read = parse_options([part.strip() for part in options])
        return cls(written.strip(), match["backend"].strip(), tuple(read.items()))

    @property
    def folder(self) -> str:
        """The label as the name of a folder."""
        return re.sub(r"[^A-Za-z0-9.=-]+", "_", self.label).strip("_.") or "backend"


def _why(output: str) -> str:
    lines = [line.removeprefix("dmlcts: ") for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def judge(contender: Contender, folder: Path, arguments: Sequence[str]) -> Column:
    """Run the suite on one contender and read what it wrote.

    Args:
        contender: the backend.
        folder: where its results go.
        arguments: further arguments of ``dmlcts run``, the same for every contender.

    Raises:
        UsageError: the arguments mean nothing, or the backend does not take the options.
    """
    if ":" not in contender.backend:  # the code of a file or module runs in its own run alone, never here
        try:
            resolve(contender.backend)
        except (BackendUnavailable, UsageError) as error:  # it cannot be imported, or nothing here registers it
            return Column(contender.label, None, str(error))
    command = own_python("-m", "dmlcts.suites.commands.main", "run", "--backend", contender.backend)
    for key, value in contender.options:
        command += ["-o", f"{key}={value}"]
    command += ["--results", str(folder), *arguments]
    with held():
        done = subprocess.run(  # noqa: S603  # our own command
            command, capture_output=True, text=True, check=False, env=safe_environment()
        )
    if done.returncode in _HAVE_RESULTS:
        return finished(contender.label, folder)
    if done.returncode == _UNAVAILABLE:
        return Column(contender.label, None, _why(done.stderr))
    if done.returncode == _USAGE:
        raise UsageError(f"{contender.label} cannot be run: {_why(done.stderr)}", "mend the options")
    reason = _why(done.stderr or done.stdout)
    return Column(
        contender.label, None, f"its run ended with exit code {done.returncode} and without results: {reason}"
    )


def judge_all(
    contenders: Sequence[Contender], results: Path, arguments: Sequence[str], print_line: Callable[[str], object]
) -> list[Column]:
    """Judge one contender after the other, each into a folder of its own under ``results``.

    Raises:
        UsageError: two contenders would write into one folder.
    """
    folders = [contender.folder for contender in contenders]
    if len(set(folders)) < len(folders):
        twice = next(folder for folder in folders if folders.count(folder) > 1)
        raise UsageError(f"two backends would write into {results / twice}", "compare each with its options once")
    columns = []
    for contender, folder in zip(contenders, folders, strict=True):
        print_line(f"judging {contender.label}")
        columns.append(judge(contender, results / folder, arguments))
        column = columns[-1]
        summary = (
            f"unavailable: {column.reason}" if column.results is None else column.results["verdict"].replace("_", " ")
        )
        print_line(f"  {summary}")
    return columns


def read_all(folders: Sequence[str]) -> list[Column]:
    """The columns of finished runs, each called by its folder's name, or that of its file without its endings.

    Raises:
        DocumentError: one holds no valid results.
    """
    endings = r"(\.results)?\.json(\.gz)?$"
    return [finished(re.sub(endings, "", Path(folder).resolve().name), folder) for folder in folders]
