"""A baseline: the departures that are known of an implementation, each with its reason, checked in beside it.

The verdict of a run stays what it is; a baseline says whether the run found what it is known to find. A
departure that is new and one that is gone are both news.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import DocumentError, load_yaml
from dmlcts.reports.documents.writing import dump_yaml, write_text
from dmlcts.specs import DataType, UsageError

FORMAT = "dmlcts/baseline/1"
_HINT = "give a file that `dmlcts baseline write` wrote"
_CLEAN = (Outcome.PASS, Outcome.CHARACTERISED)
_CONDITIONS = ("backend", "feature_level", "profile", "strict")


@dataclass(frozen=True, order=True)
class Departure:
    """One row of a run that neither passed nor was characterised.

    Attributes:
        clause: the clause's id.
        operator: the ``OperatorDesc`` name.
        outcome: how it ended.
        data_type: the :class:`~dmlcts.specs.DataType`'s name.
    """

    clause: str
    operator: str
    outcome: str
    data_type: str

    def __str__(self) -> str:
        return f"{self.clause} on {self.operator} {self.data_type}: {self.outcome}"


@dataclass(frozen=True, order=True)
class UpstreamReport:
    """A report of a departure to the people who maintain the implementation.

    Attributes:
        report: its text: a file, as the baseline's folder reaches it, or an address.
        state: "drafted", "filed", "confirmed", "fixed" or "declined".
        address: the thread upstream; "" where there is none.
        fixed_in: the first release that is right; "" where none is.
    """

    report: str
    state: str
    address: str = ""
    fixed_in: str = ""

    @property
    def words(self) -> str:
        """The state in words: "fixed in 1.32.0"."""
        return f"{self.state} in {self.fixed_in}" if self.fixed_in else self.state

    def to_json(self) -> dict[str, str]:
        """Its members in a document; empty ones are left out."""
        written = {"report": self.report, "state": self.state, "address": self.address, "fixed_in": self.fixed_in}
        return {name: value for name, value in written.items() if value}


@dataclass(frozen=True)
class Entry:
    """Departures of one clause, on one operator, that have one reason.

    Attributes:
        clause: the clause's id.
        operator: the ``OperatorDesc`` name.
        outcome: how its rows end.
        data_types: the names of the types it holds for.
        because: why the implementation departs; Markdown, "" until somebody found out.
        since: the releases that have it; Markdown, "" until somebody found out.
        upstream: its reports upstream.
    """

    clause: str
    operator: str
    outcome: str
    data_types: tuple[str, ...]
    because: str = ""
    since: str = ""
    upstream: tuple[UpstreamReport, ...] = ()

    @property
    def departures(self) -> tuple[Departure, ...]:
        """The entry's rows, one a type."""
        return tuple(Departure(self.clause, self.operator, self.outcome, name) for name in self.data_types)


@dataclass(frozen=True)
class Baseline:
    """What is known of an implementation.

    Attributes:
        conditions: the backend, feature level, profile and strictness of the run that it was made from.
        device: what the device of that run said of itself.
        entries: the known departures, sorted.
    """

    conditions: Mapping[str, Any]
    device: Mapping[str, str]
    entries: tuple[Entry, ...] = ()

    @property
    def departures(self) -> frozenset[Departure]:
        """Every known departure."""
        return frozenset(departure for entry in self.entries for departure in entry.departures)

    def entry(self, departure: Departure) -> Entry | None:
        """The entry that covers ``departure``."""
        return next((entry for entry in self.entries if departure in entry.departures), None)


@dataclass(frozen=True)
class Comparison:
    """A run against a baseline.

    Attributes:
        new: departures that the baseline does not know.
        gone: known ones that the run did not show.
        notes: differences of identity, such as another version of the library.
    """

    new: tuple[Departure, ...] = ()
    gone: tuple[Departure, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def agrees(self) -> bool:
        """Whether the run found exactly what is known."""
        return not self.new and not self.gone


def departures_of(results: Mapping[str, Any]) -> frozenset[Departure]:
    """The rows of a results document that neither passed nor were characterised."""
    return frozenset(
        Departure(row["id"], row["operator"], row["outcome"], row["data_type"])
        for row in results["clauses"]
        if Outcome(row["outcome"]) not in _CLEAN
    )


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    order = list(DataType.__members__)
    return tuple(sorted(names, key=order.index))


def _usable(results: Mapping[str, Any]) -> None:
    if results["interrupted"] or not results["clauses"]:
        raise UsageError("the run was stopped before its end", "run it again")
    if results["selection"]:
        raise UsageError("the run judged a selection only", "run it without --operator, --data-type and --clause")


def baseline_of(results: Mapping[str, Any], known: Baseline | None = None) -> Baseline:
    """The baseline that a run amounts to; reasons, and how rows are grouped, are kept from ``known``.

    Raises:
        UsageError: the run was interrupted, or judged a selection only.
    """
    _usable(results)
    groups: dict[Entry, list[str]] = {}
    for departure in sorted(departures_of(results)):
        kept = None if known is None else known.entry(departure)
        group = Entry(departure.clause, departure.operator, departure.outcome, ())
        if kept is not None:
            group = replace(group, because=kept.because, since=kept.since, upstream=kept.upstream)
        groups.setdefault(group, []).append(departure.data_type)
    entries = [replace(group, data_types=_in_order(names)) for group, names in groups.items()]
    entries.sort(key=_order)
    device = {name: str(results["device"][name]) for name in ("name", "adapter", "library", "version")}
    return Baseline({name: results[name] for name in _CONDITIONS}, device, tuple(entries))


def compare(results: Mapping[str, Any], baseline: Baseline) -> Comparison:
    """Compare a run with what is known.

    Raises:
        UsageError: the run was stopped, judged a selection, or was made under other conditions than the
            baseline (another backend, feature level, profile or strictness).
    """
    _usable(results)
    for name, wanted in baseline.conditions.items():
        if results[name] != wanted:
            raise UsageError(
                f"the run's {name.replace('_', ' ')} is {results[name]!r}, the baseline's {wanted!r}",
                "run it as the baseline was made, or write another baseline",
            )
    departures, known = departures_of(results), baseline.departures
    notes = tuple(
        f"the run's {name} is {results['device'].get(name)!r}, the baseline's {value!r}"
        for name, value in baseline.device.items()
        if results["device"].get(name) != value
    )
    return Comparison(tuple(sorted(departures - known)), tuple(sorted(known - departures)), notes)


def write(baseline: Baseline, path: Path) -> None:
    """Write a baseline as YAML, each reason once, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    reasons: dict[tuple[str, str, tuple[UpstreamReport, ...]], list[dict[str, Any]]] = {}
    for entry in baseline.entries:
        row = {
            "clause": entry.clause,
            "operator": entry.operator,
            "outcome": entry.outcome,
            "data_types": list(entry.data_types),
        }
        reasons.setdefault((entry.because, entry.since, entry.upstream), []).append(row)
    document = {
        "format": FORMAT,
        **baseline.conditions,
        "device": dict(baseline.device),
        "departures": [
            {
                "because": because,
                **({"since": since} if since else {}),
                **({"upstream": [report.to_json() for report in upstream]} if upstream else {}),
                "rows": rows,
            }
            for (because, since, upstream), rows in reasons.items()
        ],
    }
    write_text(path, dump_yaml(document))


def load(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        DocumentError: it cannot be read, does not fit its schema, or names one departure twice.
    """
    document = load_yaml(path, "baseline-1", _HINT)
    entries = sorted(
        (
            Entry(
                row["clause"],
                row["operator"],
                row["outcome"],
                tuple(row["data_types"]),
                group["because"].strip("\n"),
                group.get("since", "").strip("\n"),
                tuple(UpstreamReport(**report) for report in group.get("upstream", ())),
            )
            for group in document["departures"]
            for row in group["rows"]
        ),
        key=_order,
    )
    baseline = Baseline({name: document[name] for name in _CONDITIONS}, dict(document["device"]), tuple(entries))
    every = [departure for entry in entries for departure in entry.departures]
    for departure in every:
        if every.count(departure) > 1:
            raise DocumentError(str(path), "/departures", f"{departure} stands twice", "keep one of them")
    return baseline


def _order(entry: Entry) -> tuple[str, str, str, tuple[str, ...]]:
    return entry.clause, entry.operator, entry.outcome, entry.data_types
