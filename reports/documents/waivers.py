"""Waivers: failures that somebody answers for, for a while, on one device, with one version of the suite.

A waiver is narrow, so that nobody waives what nobody looked at: it names one clause on one operator and the element
types, the vendor, the device and the version by name or by how the name begins, says why, where that is tracked, and
holds a year at most.

A waived failure stays a failure that everyone can see: its outcome is ``waived``, and the results say which
waiver covers it, who answers for it and until when. Only ``fail`` can be waived; a crash, a hang or a lost
device cannot.

A waiver is matched with the device by :meth:`Waiver.misfits`, and with a row by :meth:`Waiver.covers`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.validation import load_yaml
from dmlcts.specs import DmlctsError
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

FORMAT = "dmlcts/waivers/1"
_Part = TypeVar("_Part", ClauseTally, FailureRecord)
MOST_DAYS = 366
_TEXTS = ("clause", "operator", "vendor", "device", "reason", "issue", "suite")
_NAME = re.compile(r"(?=.*[^\W_].*[^\W_])[^*?\[\]]{2,}\*?")
_NAME_MEND = "write the name, or at least two characters of its beginning and a * behind them"
_VERSION = re.compile(r"[0-9]+\.[0-9]+(\.\*|[.+a-zA-Z0-9-]*)")
_LEAST_LETTERS = 12
_MISSING = "the device states no"
_HINT = "write a waivers file as reports/CERTIFYING.md shows it"


class WaiverError(DmlctsError):
    """A waiver that must not be used: expired, of another version or device, or about nothing.

    Args:
        waiver: which one, with its file.
        cause: what is wrong with it.
        mend: what to do about it.
    """

    def __init__(self, waiver: str, cause: str, mend: str) -> None:
        super().__init__(f"{waiver}: {cause}; {mend}")
        self.waiver, self.cause, self.mend = waiver, cause, mend

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.waiver, self.cause, self.mend)


@dataclass(frozen=True)
class Waiver:
    """What may fail, where, why and until when.

    Attributes:
        clause: the id of one clause.
        operator: one operator, with or without ``ELEMENT_WISE_``.
        data_types: the names of the element types.
        vendor: what the device says of its vendor (``details.vendor``, ``details.vendor_id`` or the adapter), or its
            beginning and a ``*``; case does not matter.
        device: the device's name or its adapter, or its beginning and a ``*``; case does not matter.
        reason: why it fails.
        issue: the URL of the report that will end the waiver.
        expires: the last day on which it holds.
        suite: the version of the suite that it was given for, or "0.1.*".
    """

    clause: str
    operator: str
    data_types: tuple[str, ...]
    vendor: str
    device: str
    reason: str
    issue: str
    expires: date
    suite: str

    def covers(self, clause: str, operator: str, data_type: str) -> bool:
        """Whether it is about this row."""
        wanted = _short(self.operator)
        return (
            clause == self.clause
            and operator.removeprefix("ELEMENT_WISE_") == wanted
            and data_type in {name.upper() for name in self.data_types}
        )

    def fits(self, device: Mapping[str, Any]) -> bool:
        """Whether it is about this device, given as :func:`~dmlcts.reports.documents.results.describe_device` does."""
        return not self.misfits(device)

    def misfits(self, device: Mapping[str, Any]) -> list[str]:
        """What of the device is missing or differs, in words; empty where the waiver is about it."""
        details = device.get("details")
        details = details if isinstance(details, Mapping) else {}
        vendors = {
            "details.vendor": details.get("vendor"),
            "details.vendor_id": details.get("vendor_id"),
            "adapter": device.get("adapter"),
        }
        devices = {"name": device.get("name"), "adapter": device.get("adapter")}
        compared = (("vendor", self.vendor, vendors), ("device", self.device, devices))
        return [_misfit(field, texts) for field, pattern, texts in compared if not _any(pattern, texts.values())]

    def to_json(self) -> dict[str, Any]:
        """The waiver as its file says it."""
        types = self.data_types[0] if len(self.data_types) == 1 else list(self.data_types)
        return {
            "clause": self.clause,
            "operator": self.operator,
            "data_type": types,
            "vendor": self.vendor,
            "device": self.device,
            "reason": self.reason,
            "issue": self.issue,
            "expires": self.expires.isoformat(),
            "suite": self.suite,
        }

    @classmethod
    def of(cls, written: Mapping[str, Any], expires: date) -> Waiver:
        """The waiver that a document which fits its schema says."""
        types = written["data_type"]
        named = {name: written[name] for name in _TEXTS}
        return cls(data_types=(types,) if isinstance(types, str) else tuple(types), expires=expires, **named)

    def vagueness(self) -> tuple[str, str] | None:
        """What is too wide or says nothing, and the mend; ``None`` where all is in order."""
        for name in ("vendor", "device"):
            if not _NAME.fullmatch(getattr(self, name)):
                return f"its {name} {getattr(self, name)!r} names nothing", _NAME_MEND
        if not _VERSION.fullmatch(self.suite):
            return f"its suite {self.suite!r} is no version", "write one, as 0.1.0, or 0.1.* for all that begin so"
        letters = [letter.casefold() for letter in self.reason if letter.isalpha()]
        if len(letters) < _LEAST_LETTERS or len(set(letters)) < _LEAST_LETTERS // 2:
            return f"its reason {self.reason!r} says nothing", "say in a sentence what fails and why"
        try:
            where = urlsplit(self.issue)
        except ValueError:
            where = urlsplit("")
        if not where.hostname or not f"{where.path}{where.query}{where.fragment}".strip("/"):
            return f"its issue {self.issue!r} is no report's address", "give the URL of the report itself"
        return None


def _outcomes(tallies: Iterable[ClauseTally], failures: Iterable[FailureRecord]) -> list[Outcome]:
    return [*(tally.outcome for tally in tallies), *(failure.outcome for failure in failures)]


def _any(pattern: str, texts: Iterable[Any]) -> bool:
    known = [str(text) for text in texts if text not in (None, "")]
    return any(_begins(text.casefold(), pattern.casefold()) for text in known)


def _misfit(field: str, texts: Mapping[str, Any]) -> str:
    """Why a field of a waiver is not about a device: what the device states for it."""
    stated = [f"{member} is {text}" for member, text in texts.items() if text not in (None, "")]
    return f"the {field} differs ({', '.join(stated)})" if stated else f"{_MISSING} {field} ({', '.join(texts)})"


def _begins(text: str, pattern: str) -> bool:
    """Whether it is the text, or with a ``*`` at its end the text's beginning."""
    return text.startswith(pattern[:-1]) if pattern.endswith("*") else text == pattern


@dataclass(frozen=True)
class Waivers:
    """The waivers of a run.

    Attributes:
        source: the file that they were read from; "" for none.
        entries: the waivers, in its order.
    """

    source: str = ""
    entries: tuple[Waiver, ...] = ()

    def name(self, index: int) -> str:
        """How messages call a waiver: file, position from 1, and clause."""
        return f"{self.source}: waiver {index + 1} ({self.entries[index].clause})"

    def check_run(self, tables: Tables, version: str, today: date, begun: date | None = None) -> None:
        """Refuse waivers that cannot hold for a run.

        Args:
            tables: the tables of the run.
            version: the suite's version.
            today: the day on which they have to hold.
            begun: the day of the run, from which they hold a year at most; ``None`` for today.

        Raises:
            WaiverError: one has expired, holds too long, is for another version, or names nothing in the tables.
        """
        for index, waiver in enumerate(self.entries):
            name = self.name(index)
            if waiver.expires < today:
                mend = f"see whether {waiver.issue} is mended; remove the waiver, or argue for a later day"
                raise WaiverError(name, f"expired on {waiver.expires}", mend)
            if waiver.expires > (begun or today) + timedelta(days=MOST_DAYS):
                cause = f"holds until {waiver.expires}, more than a year from {begun or today}"
                raise WaiverError(name, cause, "give a day within a year; it can be argued for again then")
            if not _begins(version, waiver.suite):
                mend = "look again whether it is still needed, and write the version you looked with"
                raise WaiverError(name, f"is for suite {waiver.suite}, this is {version}", mend)
            if not any(waiver.covers(*row) for row in _every_row(tables)):
                mend = "`dmlcts spec coverage` lists the clauses; remove the waiver if its clause is gone"
                raise WaiverError(name, "matches no clause, operator and data type of the tables", mend)

    def check_device(self, device: Mapping[str, Any]) -> None:
        """Refuse, once the device is open, waivers for another one.

        Raises:
            WaiverError: one is for another vendor or device.
        """
        for index, waiver in enumerate(self.entries):
            if not waiver.fits(device):
                here = device.get("adapter") or device.get("name") or "an unnamed device"
                misfits = waiver.misfits(device)
                cause = f"is for vendor {waiver.vendor}, device {waiver.device}; this is {here}: {', '.join(misfits)}"
                mend = "keep the waivers of each device in a file of its own"
                if any(misfit.startswith(_MISSING) for misfit in misfits):
                    mend = "let the backend's DeviceInfo state it"
                raise WaiverError(self.name(index), cause, mend)

    def apply(self, items: Iterable[ItemRecord]) -> list[ItemRecord]:
        """The records with every failure that a waiver covers as ``waived``; everything else as it was."""
        return [self._applied(item) for item in items] if self.entries else list(items)

    def _applied(self, item: ItemRecord) -> ItemRecord:
        tallies = tuple(self._waived(tally) for tally in item.tallies)
        failures = tuple(self._waived(failure) for failure in item.failures)
        outcome = item.outcome
        if outcome is Outcome.FAIL and (tallies, failures) != (item.tallies, item.failures):
            left = any(remaining_outcome.breaks_conformance for remaining_outcome in _outcomes(tallies, failures))
            outcome = outcome if left else Outcome.WAIVED
        return dataclasses.replace(item, outcome=outcome, tallies=tallies, failures=failures)

    def _waived(self, part: _Part) -> _Part:
        if part.outcome is not Outcome.FAIL or self.covering(part.clause, part.operator, part.data_type) is None:
            return part
        return dataclasses.replace(part, outcome=Outcome.WAIVED)

    def covering(self, clause: str, operator: str, data_type: str) -> int | None:
        """The position of the first waiver about this row; ``None`` where there is none."""
        rows = (index for index, waiver in enumerate(self.entries) if waiver.covers(clause, operator, data_type))
        return next(rows, None)

    def used(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What the results say of the waivers: each with the rows it is about and those that it waived.

        A row that two waivers cover counts for both. ``waived`` empty means that all its rows passed.

        Args:
            rows: the results' clause rows, waivers applied.
        """
        entries = []
        for waiver in self.entries:
            about = [row for row in rows if waiver.covers(row["id"], row["operator"], row["data_type"])]
            waived = [
                {name: row[name] for name in ("id", "operator", "data_type")}
                for row in about
                if row["outcome"] == Outcome.WAIVED.value
            ]
            entries.append({**waiver.to_json(), "rows": len(about), "waived": waived})
        return entries

    def reported(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """The member that a results document gets where waivers were given."""
        return {"waivers": self.used(results["clauses"])} if self.entries else {}

    def check_matched(self, results: Mapping[str, Any]) -> None:
        """Refuse, after a whole run, waivers that were about no row of it.

        Raises:
            WaiverError: one was; the message names the first.
        """
        idle = unmatched(results)
        if idle:
            index = results["waivers"].index(idle[0])
            mend = f"remove it; feature level {results['feature_level']} has no such row"
            raise WaiverError(self.name(index), "matches nothing that ran or was required", mend)


def _every_row(tables: Tables) -> Iterable[tuple[str, str, str]]:
    for table in tables.operators.values():
        for clause in tables.clauses_of(table):
            for data_type in tables.data_types(clause, table):
                yield clause.id, table.operator, data_type.name


def unmatched(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The waivers of a results document that are about no row of it; of what was not selected, and of shards, none."""
    if set(results["selection"]) - {"operators"} or results.get("shard") is not None:
        return []
    idle = [waiver for waiver in results.get("waivers", ()) if not waiver["rows"]]
    selected = {_short(name) for name in results["selection"].get("operators", ())}
    return [waiver for waiver in idle if not selected or _short(waiver["operator"]) in selected]


def _short(operator: str) -> str:
    return operator.upper().removeprefix("ELEMENT_WISE_")


def unexpected_passes(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The waivers of a results document whose rows ran and all held."""
    return [
        waiver
        for waiver in results.get("waivers", ())
        if waiver["rows"] and not waiver["waived"] and not _still_wrong(waiver, results)
    ]


@dataclass(frozen=True)
class Account:
    """What reports say of one waiver.

    Attributes:
        clause: its clause.
        waived: (operator, data type name) of the rows that it waived; empty for an unexpected pass.
        clauses: how many rows these are.
        reason: why they fail.
        issue: where that is tracked.
        expires: the last day on which it holds.
    """

    clause: str
    waived: frozenset[tuple[str, str]]
    clauses: int
    reason: str
    issue: str
    expires: str


def accounts(results: Mapping[str, Any]) -> list[Account]:
    """What there is to say of the waivers of a run: those that waived something, and those that can go."""
    idle = unexpected_passes(results)
    return [
        Account(
            waiver["clause"],
            frozenset((row["operator"], row["data_type"]) for row in waiver["waived"]),
            len(waiver["waived"]),
            waiver["reason"],
            waiver["issue"],
            waiver["expires"],
        )
        for waiver in results.get("waivers", ())
        if waiver["waived"] or waiver in idle
    ]


def _still_wrong(waiver: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """Whether a row that the waiver is about failed worse than it can waive, or did not run."""
    about = Waiver.of(waiver, date.max)
    clean = (Outcome.PASS.value, Outcome.CHARACTERISED.value)
    return any(
        row["outcome"] not in clean and about.covers(row["id"], row["operator"], row["data_type"])
        for row in results["clauses"]
    )


def load(path: str | Path) -> Waivers:
    """Read a waivers file.

    Raises:
        DocumentError: it cannot be read, or is no waivers file.
        WaiverError: an expiry date does not exist, or a waiver is too wide or says nothing.
    """
    return read(load_yaml(path, "waivers-1", _HINT), str(path))


def read(document: Mapping[str, Any], source: str) -> Waivers:
    """The waivers of a document that fits its schema.

    Raises:
        WaiverError: an expiry date does not exist, or a waiver is too wide or says nothing.
    """
    entries = []
    for index, written in enumerate(document["waivers"]):
        try:
            expires = date.fromisoformat(written["expires"])
        except ValueError:
            name = f"{source}: waiver {index + 1} ({written['clause']})"
            raise WaiverError(name, f"{written['expires']} is no date", "write it as 2027-01-31") from None
        waiver = Waiver.of(written, expires)
        vague = waiver.vagueness()
        if vague is not None:
            raise WaiverError(f"{source}: waiver {index + 1} ({waiver.clause})", *vague)
        entries.append(waiver)
    return Waivers(source, tuple(entries))


def with_waived(words: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """A verdict's words with what they leave out: "CONFORMANT with 2 waived clauses (3 of 786 rows, 0.4 %)"."""
    rows = list(rows)
    waived = [row for row in rows if row["outcome"] == Outcome.WAIVED.value]
    if not waived:
        return words
    clauses = len({(row["id"], row["operator"]) for row in waived})
    share = f"{len(waived):,} of {many(len(rows), 'row')}, {100 * len(waived) / len(rows):.1f} %"
    return f"{words} with {many(clauses, 'waived clause')} ({share})"
