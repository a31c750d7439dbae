"""Faults in the order of causes: what explains the most stands first, what it explains is folded under it.

Nothing is left out and no verdict depends on it: this is an order for readers. A fault is reported once with every
operator, type and test that it was seen on (:mod:`.fault_groups`); one clause may have several. One fault is often seen
under many clauses: two are one where they deviate in the same way and need the same on the same operators and types,
or where their simplest failing cases read the same. A property (idempotence, order, oddness) that fails only where a
value is wrong follows from that, and so does a wrong value in a case of a support or state clause with the needs of a
fault and perhaps more, and whatever fails on an operator and type of which nearly every case is wrong. What comes by
chance comes first, what the pages leave open after what they say, and cases that nobody examined last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome, worst
from dmlcts.reports.documents.wording import short
from dmlcts.reports.summaries.fault_groups import Fault, elements_of, fault_shown
from dmlcts.specs.deviations import Deviation, Origin

_ORDER = (
    "formula",
    "rounding",
    "casting",
    "special values",
    "scale and bias",
    "descriptions",
    "layout",
    "memory",
    "aliasing",
    "state",
    "properties",
)
_VALUES = frozenset(_ORDER[:5])
_CONSEQUENCES = frozenset({"properties"})
_SUPPORT = "descriptions"
_OCCASIONS = frozenset({_SUPPORT, "state"})
"""Subjects of clauses whose cases meet wrong values as well that are another clause's."""
_NEARLY_ALL = 0.9
"""Of a row's cases, from where on an operator is wrong on a type altogether."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Cause:
    """A fault with what is shown under it.

    Attributes:
        clause: the id of the clause that it breaks; "" for failures outside any clause.
        outcome: the worst of its outcomes.
        rows: the failing rows of the results that it was seen on; another fault may share them.
        failures: its failing cases, the one to read first at the head.
        cases: how many cases failed; where a row has several faults, how many tests met this one.
        examined: whether the suite looked for its smallest case, and for what it needs.
        fault: what its failing cases have in common; ``None`` where there are rows alone.
        same: others that need the same and deviate alike, or whose simplest failing case reads the same: one fault,
            most likely.
        needing_more: others that go wrong in its way and where it does, and need more besides: the same
            perhaps, on values that hide it until then, or another; each has a line of its own.
        following: others that fail only where this one does, and would if nothing else were wrong.
    """

    clause: str
    outcome: Outcome
    rows: tuple[Row, ...]
    failures: tuple[Row, ...]
    cases: int
    examined: bool = True
    fault: Fault | None = None
    same: tuple[Cause, ...] = ()
    needing_more: tuple[Cause, ...] = ()
    following: tuple[Cause, ...] = ()

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """The (operator, data type name) pairs that it fails on."""
        members = self.failures or self.rows
        return frozenset((member["operator"], member["data_type"]) for member in members if member["operator"])

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that met it, by name, without what they were given."""
        return tuple(dict.fromkeys(str(failure["test"]).partition("[")[0] for failure in self.failures))

    @property
    def folded(self) -> tuple[Cause, ...]:
        """What is shown under it."""
        return (*self.same, *self.needing_more, *self.following)


def causes(rows: Iterable[Row], failures: Iterable[Row], subject: Callable[[str], str]) -> list[Cause]:
    """The faults of a results document, each once, at its own place or under another.

    Args:
        rows: the document's clause rows.
        failures: its failing cases.
        subject: gives a clause's subject; any word for one that is not known.
    """
    failing: dict[str, list[Row]] = defaultdict(list)
    failures_by_clause: dict[str, dict[Fault, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if Outcome(row["outcome"]).breaks_conformance:
            failing[row["id"]].append(row)
    for failure in failures:
        if Outcome(failure["outcome"]).breaks_conformance:
            failures_by_clause[failure["clause"]][_fault(failure)].append(failure)
    all_causes = [
        cause
        for clause in {*failing, *failures_by_clause}
        for cause in _of_clause(clause, failing[clause], failures_by_clause[clause])
    ]

    def order(cause: Cause) -> tuple[Outcome, bool, bool, int, int, int, int, str, str]:
        name = subject(cause.clause) if cause.clause else ""
        place = _ORDER.index(name) if name in _ORDER else len(_ORDER)
        if name in _OCCASIONS and _wrong_value(cause):
            place = _ORDER.index("state")  # after what may be why
        if cause.outcome is Outcome.FAIL and cause.failures and cause.failures[0]["details"].get("again"):
            place = -1  # what comes and goes may stand under any clause: it has to be known first
        title = str(cause.failures[0]["title"]) if cause.failures else ""
        silent = bool(cause.rows) and cause.rows[0]["obligation"] == "unspecified"
        spread = -len(cause.places), len(_needs(cause)), -cause.cases
        return cause.outcome, not cause.examined, silent, place, *spread, cause.clause, title

    return _folded(sorted(sorted(all_causes, key=order), key=lambda cause: bool(_because(cause))), subject)


def _fault(failure: Row) -> Fault:
    """The fault that a failing case shows; all that ended badly outside any clause are one, listed by test."""
    if not failure["clause"]:
        outcome = Outcome(failure["outcome"])
        return Fault("", outcome, Deviation.UNKNOWN, frozenset(), Origin.UNKNOWN, examined=True)
    return fault_shown(failure)


def _of_clause(clause: str, rows: Sequence[Row], failures_by_fault: Mapping[Fault, Sequence[Row]]) -> list[Cause]:
    """The faults of one clause; rows without a reported failing case are one more, unless there is but one fault."""
    failures_by_fault = _of_known_origin(failures_by_fault)
    seen: dict[Fault, list[Row]] = {fault: [] for fault in failures_by_fault}
    shared: set[Fault] = set()
    untold: list[Row] = []
    faults_by_type: dict[tuple[str, str], dict[Fault, None]] = defaultdict(dict)
    for fault, members in failures_by_fault.items():
        for failure in members:
            faults_by_type[failure["operator"], failure["data_type"]][fault] = None
    for row in rows:
        at = list(faults_by_type.get((row["operator"], row["data_type"]), ()))
        at = at or (list(failures_by_fault) if len(failures_by_fault) == 1 else [])
        shared |= set(at if len(at) > 1 else [])
        for fault in at:
            seen[fault].append(row)
        if not at:
            untold.append(row)
    causes = [
        _cause(clause, seen[fault], members, fault, alone=fault not in shared)
        for fault, members in failures_by_fault.items()
    ]
    if untold:
        outcome = worst(Outcome(row["outcome"]) for row in untold)
        causes.append(Cause(clause, outcome, tuple(untold), (), sum(int(row["failures"]) for row in untold)))
    return causes


def _of_known_origin(failures_by_fault: Mapping[Fault, Sequence[Row]]) -> dict[Fault, Sequence[Row]]:
    """The faults with cases whose values nobody traced under the one fault that they can be of, where it is one.

    A case that is recognised as a known fault is not traced again.
    """
    merged: dict[Fault, Sequence[Row]] = {}
    for fault, members in sorted(failures_by_fault.items(), key=lambda item: not item[0].origin):
        traced = [
            candidate for candidate in merged if candidate.origin and replace(candidate, origin=Origin.UNKNOWN) == fault
        ]
        at = traced[0] if len(traced) == 1 and fault.examined else fault
        merged[at] = [*merged.get(at, ()), *members]
    return merged


def _cause(clause: str, rows: Sequence[Row], failures: Sequence[Row], fault: Fault, *, alone: bool) -> Cause:
    ordered = tuple(sorted(failures, key=lambda failure: (not failure["file"], elements_of(failure["case"]))))
    counted = sum(int(row["failures"]) for row in rows) if alone else 0
    return Cause(clause, fault.outcome, tuple(rows), ordered, max(counted, len(failures)), fault.examined, fault)


def _reads_as(cause: Cause) -> tuple[object, ...] | None:
    """What a fault's first failing case says and needs; ``None`` where it says too little to be taken for another's."""
    if not (cause.clause and cause.failures):
        return None
    first = cause.failures[0]
    seen = next((first["details"][name] for name in ("said", "acceptable", "bytes") if first["details"].get(name)), "")
    return (cause.outcome, cause.examined, str(first["title"]), str(seen), _needs(cause)) if seen else None


def _folded(ordered: Sequence[Cause], subject: Callable[[str], str]) -> list[Cause]:
    kept: list[Cause] = []
    reading: dict[object, int] = {}
    in_its_way: dict[object, list[int]] = defaultdict(list)
    explaining: dict[str, list[int]] = defaultdict(list)
    for cause in ordered:
        stated = _because(cause)
        origin = next((at for at in explaining[stated] if cause.places & kept[at].places), None) if stated else None
        if origin is None and cause.clause:
            origin = next((at for at, candidate in enumerate(kept) if _explains(candidate, cause, subject)), None)
        if origin is not None:
            kept[origin] = replace(kept[origin], following=(*kept[origin].following, cause))
            continue
        reads, way, needs = _reads_as(cause), _way(cause), _needs(cause)
        alike = in_its_way[way] if way is not None else []
        twin = None if reads is None else reading.get(reads)
        if twin is None and needs:
            twin = next((at for at in alike if _needs(kept[at]) == needs and cause.places <= kept[at].places), None)
        if twin is not None and kept[twin].clause != cause.clause:
            kept[twin] = replace(kept[twin], same=(*kept[twin].same, cause))
            continue
        simpler = (at for at in alike if _needs(kept[at]) and _needs(kept[at]) < needs)
        less = next((at for at in simpler if cause.places <= kept[at].places), None)
        if less is not None:
            kept[less] = replace(kept[less], needing_more=(*kept[less].needing_more, cause))
            continue
        alike.append(len(kept))
        explaining[cause.clause].append(len(kept))
        if reads is not None:
            reading.setdefault(reads, len(kept))
        kept.append(cause)
    return kept


def _because(cause: Cause) -> str:
    """The clause of the fault that explains a failing case, where the run found that out."""
    return str(cause.failures[0].get("because") or "") if cause.failures else ""


def _way(cause: Cause) -> object | None:
    """In which way a fault goes wrong, whatever it needs; ``None`` where that is not known."""
    shown = cause.fault
    if cause.outcome is not Outcome.FAIL or shown is None:
        return None
    return (shown.deviation, shown.examined) if shown.deviation else replace(shown, needs=frozenset())


def _explains(cause: Cause, other: Cause, subject: Callable[[str], str]) -> bool:
    """Whether a fault accounts for another clause's: it fails on the same operators and types, and needs no more."""
    if not (cause.clause and other.clause) or cause.clause == other.clause or cause.examined is not other.examined:
        return False
    if not cause.outcome is other.outcome is Outcome.FAIL or not other.places or not other.places <= cause.places:
        return False
    if subject(other.clause) in _CONSEQUENCES:
        return subject(cause.clause) in _VALUES or _wrong_value(cause)
    if not (_wrong_value(cause) and _wrong_value(other)) or not _needs(cause) <= _needs(other):
        return False
    if _always(cause):
        return True
    if subject(other.clause) not in _OCCASIONS or subject(cause.clause) in _OCCASIONS:
        return False
    return bool(_needs(cause)) or (subject(other.clause) == _SUPPORT and not _needs(other))


def _always(cause: Cause) -> bool:
    """Whether nearly every case of a fault's rows is wrong, whatever it holds: its operators are wrong altogether."""
    cases = sum(int(row.get("cases", 0)) for row in cause.rows)
    return not _needs(cause) and bool(cases) and sum(int(row["failures"]) for row in cause.rows) >= _NEARLY_ALL * cases


def _wrong_value(cause: Cause) -> bool:
    return cause.fault is not None and cause.fault.deviation is Deviation.WRONG_VALUE


def _needs(cause: Cause) -> frozenset[str]:
    """The conditions that a fault needs."""
    return frozenset() if cause.fault is None else cause.fault.needs


def examined(all_causes: Sequence[Cause]) -> tuple[list[Cause], list[Cause]]:
    """The faults of :func:`causes`, and those of cases that nobody examined, where any other was."""
    first, rest = (
        [cause for cause in all_causes if cause.examined],
        [cause for cause in all_causes if not cause.examined],
    )
    return (first, rest) if first else (rest, [])


def first_line(failure: Row) -> str:
    """The failure in one line: operator and types, what went in under which attributes, what came out, what is due.

    The types are those of the case that is shown: "CLIP INT64 with Min 0.0: 362 gives 362, must be 3199001344".
    """
    details, case = failure["details"], failure["case"] if isinstance(failure["case"], Mapping) else {}
    attributes = case.get("attributes")
    named = [
        f"{name} {details[name]}"
        for name in (attributes if isinstance(attributes, Mapping) else ())
        if details.get(name) not in (None, "none")
    ]
    place = " ".join(part for part in (short(failure["operator"]), _types(failure, case)) if part)
    if named:
        place = f"{place} with {', '.join(named)}"
    seen = failure["title"] or failure["test"]
    if details.get("acceptable"):
        due = str(details["acceptable"])
        within = "within " if " to " in due and " or " not in due else ""  # a range of values
        seen = f"{seen.removeprefix('input ')}, must be {within}{due}"
    else:
        seen = "; ".join([seen, *[details[label] for label in ("bytes", "element", "said") if details.get(label)][:1]])
    return f"{place}: {seen}" if failure["operator"] else seen


def _types(failure: Row, case: Mapping[str, Any]) -> str:
    """The data types of a failing case: one word where all tensors have one, else each tensor's."""
    tensors = case.get("tensors")
    try:
        types = {name: str(tensor["data_type"]) for name, tensor in tensors.items()} if tensors else {}
    except (AttributeError, LookupError, TypeError):  # a stranger's case, which no schema binds
        types = {}
    if len(set(types.values())) > 1:
        return ", ".join(f"{name} {data_type}" for name, data_type in types.items())
    return next(iter(types.values()), str(failure["data_type"]))
