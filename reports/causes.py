"""Failing clauses in the order of causes: what explains the most stands first, what it explains is folded under it.

Nothing is left out and no verdict depends on it: this is an order for readers. One fault is often seen under many
clauses. Two of them are told as one where their simplest failing cases read the same; and a property (idempotence,
order, oddness) that fails only where a value is wrong follows from that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dmlcts.reports.outcomes import Outcome, worst

_ORDER = (
    "formula", "rounding", "casting", "special values", "scale and bias", "descriptions", "layout", "memory",
    "aliasing", "state", "properties",
)  # fmt: skip
_VALUES = frozenset(_ORDER[:5])
_CONSEQUENCES = frozenset({"properties"})

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Cause:
    """A failing clause with what is told under it.

    Attributes:
        clause: its id; "" for failures outside any clause.
        outcome: the worst of its outcomes.
        rows: its failing rows of the results.
        failures: its failing cases, the one to read first at the head.
        same: other clauses whose simplest failing case reads the same: one fault, most likely.
        following: clauses on properties of the operator that fail only where this one does.
    """

    clause: str
    outcome: Outcome
    rows: tuple[Row, ...]
    failures: tuple[Row, ...]
    same: tuple[Cause, ...] = ()
    following: tuple[Cause, ...] = ()

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """The (operator, data type name) pairs that it fails on."""
        members = (*self.rows, *self.failures)
        return frozenset((member["operator"], member["data_type"]) for member in members if member["operator"])

    @property
    def cases(self) -> int:
        """How many of its cases failed."""
        return max(sum(int(row["failures"]) for row in self.rows), len(self.failures))

    @property
    def folded(self) -> tuple[Cause, ...]:
        """What is told under it."""
        return (*self.same, *self.following)


def causes(rows: Iterable[Row], failures: Iterable[Row], subject: Callable[[str], str]) -> list[Cause]:
    """The failing clauses of a results document, each once, at its own place or under another.

    Args:
        rows: the document's clause rows.
        failures: its failing cases.
        subject: gives a clause's subject; any word for one that is not known.
    """
    failing: dict[str, list[Row]] = defaultdict(list)
    told: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if Outcome(row["outcome"]).breaks_conformance:
            failing[row["id"]].append(row)
    for failure in failures:
        if Outcome(failure["outcome"]).breaks_conformance:
            told[failure["clause"]].append(failure)
    found = [_cause(clause, failing[clause], told[clause]) for clause in {*failing, *told}]

    def order(cause: Cause) -> tuple[Outcome, int, int, int, str]:
        name = subject(cause.clause) if cause.clause else ""
        place = _ORDER.index(name) if name in _ORDER else len(_ORDER)
        return cause.outcome, place, -len(cause.places), -cause.cases, cause.clause

    return _folded(sorted(found, key=order), subject)


def _cause(clause: str, rows: Sequence[Row], failures: Sequence[Row]) -> Cause:
    outcome = worst(Outcome(member["outcome"]) for member in (*rows, *failures))
    ordered = sorted(failures, key=lambda failure: (Outcome(failure["outcome"]), not failure["file"]))
    return Cause(clause, outcome, tuple(rows), tuple(ordered))


def _reads_as(cause: Cause) -> tuple[Outcome, str, str] | None:
    """What a clause's first failing case says; ``None`` where it says too little to be taken for another's."""
    if not (cause.clause and cause.failures):
        return None
    first = cause.failures[0]
    seen = next((first["details"][name] for name in ("said", "acceptable", "bytes") if first["details"].get(name)), "")
    return (cause.outcome, str(first["title"]), str(seen)) if seen else None


def _folded(ordered: Sequence[Cause], subject: Callable[[str], str]) -> list[Cause]:
    kept: list[Cause] = []
    for cause in ordered:
        reads = _reads_as(cause)
        twin = next((at for at, one in enumerate(kept) if reads is not None and _reads_as(one) == reads), None)
        if twin is not None:
            kept[twin] = replace(kept[twin], same=(*kept[twin].same, cause))
            continue
        origin = next((at for at, one in enumerate(kept) if _explains(one, cause, subject)), None)
        if origin is not None:
            kept[origin] = replace(kept[origin], following=(*kept[origin].following, cause))
            continue
        kept.append(cause)
    return kept


def _explains(one: Cause, other: Cause, subject: Callable[[str], str]) -> bool:
    """Whether a wrong value accounts for a property that does not hold: it fails on the same operators and types."""
    if not (one.clause and other.clause) or subject(other.clause) not in _CONSEQUENCES:
        return False
    fails = one.outcome is other.outcome is Outcome.FAIL
    return fails and subject(one.clause) in _VALUES and bool(other.places) and other.places <= one.places


def first_line(failure: Row) -> str:
    """The failure in one line: what went in under which attributes, what came out, and what was acceptable."""
    details = failure["details"]
    parts = [failure["title"] or failure["test"]]
    attributes = failure["case"].get("attributes") if isinstance(failure["case"], Mapping) else None
    named = [
        f"{name} {details[name]}" for name in (attributes if isinstance(attributes, Mapping) else ())
        if details.get(name) not in (None, "none")
    ]  # fmt: skip
    if failure["data_type"]:
        parts.append(f"on {failure['data_type']}")
    if named:
        parts.append(f"with {', '.join(named)}")
    for label in ("acceptable", "bytes", "element"):
        if details.get(label):
            words = f"{label}: {details[label]}" if label == "acceptable" else details[label]
            return f"{' '.join(parts)}; {words}"
    return " ".join(parts)
