"""An option as a row of a table: what it is called, what it takes, where it applies."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final


class Kind(Enum):
    """What an option takes."""

    TEXT = auto()
    FLAG = auto()  # nothing: it is there or not; two spellings with a slash between them are on and off
    NAMES = auto()  # names, separated by commas
    PAIRS = auto()  # KEY=VALUE
    NUMBER = auto()
    SECONDS = auto()
    PATH = auto()
    FOLDER = auto()  # a path that no file has
    PATH_OR_DASH = auto()  # `-` is standard output
    DAY = auto()


@dataclass(frozen=True, init=False)
class At:
    """A command to which an option applies, and in which fields the option differs there from its row.

    Args:
        command: as it is typed ("run", "spec show"), or "pytest".
        changes: fields of :class:`Option` with their values there.
    """

    command: str
    changes: Mapping[str, Any]

    def __init__(self, command: str, **changes: Any) -> None:
        object.__setattr__(self, "command", command)
        object.__setattr__(self, "changes", changes)


@dataclass(frozen=True)
class Option:
    """A row of the table.

    Attributes:
        name: the parameter of the command, of ``Settings.read``, and the field of the journal.
        spellings: as it is typed; all are listed in the help.
        help: the line in the help.
        at: where it applies; one that stands in "certify" is allowed in a certification, and no other is.
        old: spellings of earlier versions, accepted and not listed.
        kind: what it takes.
        metavar: what the help calls its value.
        choices: the only values; empty for any.
        least: the smallest number.
        most: the largest number; ``None`` for any.
        default: the value where it is not typed.
        required: whether it has to be typed.
        repeatable: whether it may be typed several times.
        alone: the value where the option is typed without one; "" where it needs one.
        setting: whether ``Settings`` has it.
        journal: whether the journal of a run keeps it; it is then the same when the run is resumed.
        noun: what a message about its value calls it.
    """

    name: str
    spellings: tuple[str, ...]
    help: str
    at: tuple[At | str, ...] = ()
    old: tuple[str, ...] = ()
    kind: Kind = Kind.TEXT
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float | None = None
    default: Any = None
    required: bool = False
    repeatable: bool = False
    alone: str = ""
    setting: bool = False
    journal: bool = False
    noun: str = ""

    @property
    def spelling(self) -> str:
        """The long spelling, which records and messages use; the only one where there is no long one."""
        return next((text for text in self.spellings if text.startswith("--")), self.spellings[0])

    @property
    def usual(self) -> Any:
        """The value where the option is not typed; that of a flag is off, that of a repeatable one is empty."""
        if self.default is None and self.repeatable:
            return ()
        return False if self.default is None and self.kind is Kind.FLAG else self.default

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands to which it applies."""
        return tuple(place if isinstance(place, str) else place.command for place in self.at)

    def for_command(self, command: str) -> Option:
        """The row as it is for one of its commands.

        Raises:
            KeyError: it does not apply there.
        """
        for place in self.at:
            if isinstance(place, At) and place.command == command:
                return dataclasses.replace(self, **place.changes)
            if place == command:
                return self
        raise KeyError(command)


@dataclass(frozen=True)
class OptionTable:
    """Rows in the order of the help.

    Attributes:
        rows: no two have the same name.

    Raises:
        ValueError: two rows have the same name, or are spelled alike for the same command.
    """

    rows: tuple[Option, ...]
    _by_name: dict[str, Option] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check that no row hides another."""
        by_name = {row.name: row for row in self.rows}
        if len(by_name) < len(self.rows):
            raise ValueError("two rows of the table of options have the same name")
        for command in {command for row in self.rows for command in row.commands}:
            typed = [text for row in self.of(command) for text in (*row.spellings, *row.old)]
            doubled = {text for text in typed if typed.count(text) > 1}
            if doubled:
                raise ValueError(f"two options of {command} are spelled {', '.join(sorted(doubled))}")
        object.__setattr__(self, "_by_name", by_name)

    def __iter__(self) -> Iterator[Option]:
        """The rows, in their order."""
        return iter(self.rows)

    def __getitem__(self, name: str) -> Option:
        """The row with a name."""
        return self._by_name[name]

    def of(self, command: str) -> tuple[Option, ...]:
        """The options of a command, each as it is there."""
        return tuple(row.for_command(command) for row in self.rows if command in row.commands)

    @property
    def settings(self) -> tuple[Option, ...]:
        """The rows that ``Settings`` has."""
        return tuple(row for row in self.rows if row.setting)

    @property
    def journal(self) -> tuple[Option, ...]:
        """The rows that the journal keeps."""
        return tuple(row for row in self.rows if row.journal)


PYTEST: Final = "pytest"
