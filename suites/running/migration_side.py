"""A side of a migration as the user names it: a finished run, or a backend that is judged first."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.registry import GROUP
from dmlcts.reports.comparing.comparison import Column
from dmlcts.specs import UsageError
from dmlcts.suites.running.side_by_side import Contender, judge_all, read_all


class UnknownSideError(UsageError):
    """A side is neither a finished run nor a backend.

    Args:
        written: what the user wrote.
    """

    def __init__(self, written: str) -> None:
        super().__init__(
            f"{written!r} is neither a finished run nor a backend",
            "give a results folder, a results.json[.gz], or a name from `dmlcts backends`, options in brackets",
        )
        self.written = written

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.written,)


class SameSidesError(UsageError):
    """Both sides are the same.

    Args:
        written: what the user wrote twice.
    """

    def __init__(self, written: str) -> None:
        super().__init__(f"{written} is both sides of the migration", "give two, each with its options")
        self.written = written

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.written,)


class NothingJudgedError(UsageError):
    """There are options that choose what is judged, and both runs are finished.

    Args:
        option: the first of the options.
    """

    def __init__(self, option: str) -> None:
        super().__init__(f"{option} chooses what is judged, and both runs are finished", f"leave {option} out")
        self.option = option

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.option,)


@dataclass(frozen=True)
class MigrationSide:
    """One side.

    Attributes:
        written: what the user wrote.
        contender: the backend to judge; ``None`` where the run is finished.
    """

    written: str
    contender: Contender | None = None

    @classmethod
    def parse(cls, written: str) -> MigrationSide:
        """Read a side; a registered backend comes before a folder of its name, which ``./name`` still names.

        Raises:
            UnknownSideError: it is neither.
            UsageError: the options in brackets are of another form.
        """
        name = written.partition("[")[0].strip()
        if name in importlib.metadata.entry_points(group=GROUP).names:
            return cls(written, Contender.parse(written))
        if Path(written).exists():
            return cls(written)
        if ":" not in name:
            raise UnknownSideError(written)
        return cls(written, Contender.parse(written))


def finished_columns(sides: Sequence[MigrationSide]) -> list[Column]:
    """The finished runs among the sides.

    Raises:
        SameSidesError: both are the same.
        DocumentError: one holds no valid results.
    """
    labels = [side.written if side.contender else str(Path(side.written).resolve()) for side in sides]
    if len(set(labels)) < len(labels):
        raise SameSidesError(sides[0].written)
    return read_all([side.written for side in sides if side.contender is None])


def columns_of(
    sides: Sequence[MigrationSide], folder: Path, arguments: Sequence[str], print_line: Callable[[str], object]
) -> list[Column]:
    """The runs of both sides; backends are judged, each in a process of its own.

    Args:
        sides: the two.
        folder: where the results of judged backends go, a subfolder each.
        arguments: further arguments of ``dmlcts run``.
        print_line: called with lines about what is judged.

    Raises:
        SameSidesError: both are the same.
        DocumentError: a finished run holds no valid results.
        BackendUnavailable: a backend cannot be judged here.
    """
    finished = [side for side in sides if side.contender is None]
    columns = dict(zip(finished, finished_columns(sides), strict=True))
    folders = [side.contender.folder for side in sides if side.contender]
    if len(set(folders)) < len(folders):
        raise SameSidesError(sides[0].written)
    for side in sides:
        if side.contender is None:
            continue
        (column,) = judge_all([side.contender], folder, arguments, print_line)
        if column.results is None:
            raise BackendUnavailable(f"{column.label} cannot be judged: {column.reason}")
        columns[side] = column
    ordered = [columns[side] for side in sides]
    if len({column.label for column in ordered}) < len(ordered):  # two folders may have one name
        return [replace(column, label=side.written) for side, column in zip(sides, ordered, strict=True)]
    return ordered
