"""The eleven outcomes of a check, worst first, and the three verdicts of a run."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any


class Outcome(enum.Enum):
    """How a check ended. ``<`` means "worse than", so ``sorted`` puts the worst first."""

    CRASH = "crash"
    TIMEOUT = "timeout"
    DEVICE_LOST = "device_lost"
    RESOURCE_ERROR = "resource_error"
    HARNESS_ERROR = "harness_error"
    FAIL = "fail"
    WAIVED = "waived"
    SKIPPED = "skipped"
    NOT_SUPPORTED = "not_supported"
    CHARACTERISED = "characterised"
    PASS = "pass"  # noqa: S105 - an outcome, no password

    @property
    def rank(self) -> int:
        """0 for the worst, counting up."""
        return _RANKS[self]

    @property
    def breaks_conformance(self) -> bool:
        """Whether a run with this outcome in it cannot be CONFORMANT."""
        return self.rank <= Outcome.FAIL.rank

    @property
    def accuses(self) -> bool:
        """Whether it is the implementation's fault; ``harness_error`` is the suite's own."""
        return self.breaks_conformance and self is not Outcome.HARNESS_ERROR

    @property
    def did_not_run(self) -> bool:
        """Whether the implementation was never asked."""
        return self in (Outcome.SKIPPED, Outcome.NOT_SUPPORTED)

    def __lt__(self, other: Any) -> bool:
        return self.rank < other.rank if isinstance(other, Outcome) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.rank <= other.rank if isinstance(other, Outcome) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.rank > other.rank if isinstance(other, Outcome) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.rank >= other.rank if isinstance(other, Outcome) else NotImplemented

    def __str__(self) -> str:
        return self.value


_RANKS = {outcome: rank for rank, outcome in enumerate(Outcome)}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of several outcomes; of none, ``skipped``: what was never asked did not pass."""
    return min(outcomes, default=Outcome.SKIPPED)


class Verdict(enum.StrEnum):
    """What a run says of the implementation."""

    CONFORMANT = "CONFORMANT"
    NOT_CONFORMANT = "NOT_CONFORMANT"
    INCOMPLETE = "INCOMPLETE"

    @property
    def words(self) -> str:
        """The verdict as a person writes it."""
        return self.value.replace("_", " ")


_EXIT_CODES = {Verdict.CONFORMANT: 0, Verdict.NOT_CONFORMANT: 1, Verdict.INCOMPLETE: 4}


def exit_code(verdict: Verdict | str) -> int:
    """The process's exit code: 0 conformant, 1 not conformant, 4 incomplete."""
    return _EXIT_CODES[Verdict(verdict)]
