"""How rows of results stand, as a cell shows it: a kind, a sign with a number, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.specs.number_text import many


@dataclass(frozen=True)
class Standing:
    """How some rows stand.

    Attributes:
        rows: how many there are.
        broken: how many break conformance.
        idle: how many did not run, or are not supported.
        characterised: whether all of the rest was only measured, where the pages are silent.
    """

    rows: int = 0
    broken: int = 0
    idle: int = 0
    characterised: bool = False

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Standing:
        """How rows of a results document stand."""
        outcomes = [Outcome(row["outcome"]) for row in rows]
        ran = [outcome for outcome in outcomes if not outcome.did_not_run]
        return cls(
            len(outcomes),
            sum(outcome.breaks_conformance for outcome in outcomes),
            len(outcomes) - len(ran),
            bool(ran) and all(outcome is Outcome.CHARACTERISED for outcome in ran),
        )

    @property
    def kind(self) -> str:
        """The kind of the cell: "fail", "partly", "pass", "none" or "absent"."""
        if not self.rows:
            return "absent"
        if self.broken:
            return "fail"
        if self.idle == self.rows:
            return "none"
        return "partly" if self.idle else "pass"

    @property
    def letter(self) -> str:
        """The kind as the class of a cell, short, for a site has ten thousands of them; what holds needs none."""
        return {"absent": "", "fail": "f", "none": "n", "partly": "s", "pass": ""}[self.kind]

    @property
    def sign(self) -> str:
        """The sign of the kind, which shows it without colour."""
        held = "◇" if self.characterised else "✓"
        return {"absent": "", "fail": "✗", "none": "○", "partly": held, "pass": held}[self.kind]

    @property
    def share(self) -> str:
        """Sign and number for an operator: "✗ 3", "✓ 74 %", "✓"."""
        if self.kind == "fail":
            return f"{self.sign} {self.broken}"
        if self.kind == "partly":
            return f"{self.sign} {max(1, 100 * (self.rows - self.idle) // self.rows)} %"
        return self.sign

    @property
    def types(self) -> str:
        """Sign and number for a clause: "✗ 2 of 9", "✓ 9"."""
        if self.kind == "absent":
            return ""
        counted = {"fail": self.broken, "partly": self.rows - self.idle, "none": self.rows, "pass": self.rows}[
            self.kind
        ]
        return f"{self.sign} {counted}" + (f" of {self.rows}" if counted != self.rows else "")

    @property
    def words(self) -> str:
        """The same as a sentence."""
        if not self.rows:
            return "not judged"
        parts = [f"{self.broken} broken"] if self.broken else []
        parts += [f"{self.idle} not supported or not run"] if self.idle else []
        return f"{many(self.rows, 'row')}: {', '.join(parts) or 'all hold'}"
