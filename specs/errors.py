"""Errors that carry a cause and its mend, so that every bad input ends in one clear line."""

from __future__ import annotations

from dataclasses import dataclass


class DmlctsError(Exception):
    """Base of the errors that a user can mend; ``str()`` of one is a single readable line."""


class UsageError(DmlctsError):
    """An option, name or path the user gave cannot be used.

    Args:
        cause: what is wrong, naming the offending value.
        mend: what to write instead.
    """

    def __init__(self, cause: str, mend: str = "") -> None:
        super().__init__(f"{cause}; {mend}" if mend else cause)
        self.cause = cause
        self.mend = mend


@dataclass(frozen=True)
class Fault:
    """One fault in a table: where it stands (1-based line and column), its cause, and the mend."""

    file: str
    line: int
    column: int
    cause: str
    mend: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.cause}; {self.mend}"


class TableError(DmlctsError):
    """One or more faults in spec tables; ``faults`` lists them in file order."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


class FormulaError(DmlctsError):
    """A formula outside the whitelisted expression language; ``offset`` counts characters from 0."""

    def __init__(self, cause: str, mend: str, offset: int = 0) -> None:
        super().__init__(f"{cause}; {mend}")
        self.cause = cause
        self.mend = mend
        self.offset = offset
