"""Which tables and which commit results were made with, and which of several columns were made with other tables.

The tables decide what is right. Rows of two runs compare only where both used the same tables.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.specs import UsageError

SHOWN = 12
"""How many digits of a digest and of a commit a page shows."""


class MixedTablesError(UsageError):
    """Results of different tables stand side by side, and nobody asked for that.

    Args:
        cause: which results were made with which tables.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(cause, "run the older ones again, or give --mixed to compare them with a mark")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cause,)


def tables_digest(specs: Mapping[str, str]) -> str:
    """One digest of a set of tables: SHA-256 over their names and digests.

    Args:
        specs: the digest of each table by its file's name, as results hold them under ``specs``.
    """
    return hashlib.sha256("".join(f"{name} {specs[name]}\n" for name in sorted(specs)).encode()).hexdigest()


@dataclass(frozen=True)
class Provenance:
    """What one column was made with.

    Args:
        label: what the column is called.
        tables: the digest of its tables; "" where that was not recorded.
        version: the suite's version; "" where that was not recorded.
        commit: the suite's commit; "" outside a checkout.
        modified: whether files of the suite were changed since that commit.
    """

    label: str
    tables: str = ""
    version: str = ""
    commit: str = ""
    modified: bool = False

    @classmethod
    def of(cls, label: str, results: Mapping[str, Any]) -> Provenance:
        """What a results document was made with."""
        suite = results["suite"]
        return cls(
            label,
            tables_digest(results["specs"]),
            str(suite["version"]),
            str(suite["commit"] or ""),
            bool(suite["modified"]),
        )

    @classmethod
    def read(cls, label: str, written: Mapping[str, Any]) -> Provenance:
        """What :meth:`to_json` wrote; nothing is known where an older document lacks it."""
        return cls(
            label,
            str(written.get("tables") or ""),
            str(written.get("version") or ""),
            str(written.get("commit") or ""),
            bool(written.get("modified")),
        )

    def to_json(self) -> dict[str, Any]:
        """The members of a document that say it."""
        return {"tables": self.tables, "version": self.version, "commit": self.commit, "modified": self.modified}

    @property
    def short_tables(self) -> str:
        """The first digits of the digest of the tables."""
        return self.tables[:SHOWN] or "not recorded"

    @property
    def suite(self) -> str:
        """The suite in words: "1.0.0 at 5ee9bd28f7b1, modified"."""
        if not self.version:
            return "not recorded"
        at = f" at {self.commit[:SHOWN]}" if self.commit else ", no commit"
        return f"{self.version}{at}{', modified' if self.modified else ''}"

    def __str__(self) -> str:
        return f"tables {self.short_tables}, suite {self.suite}"


def other_tables(columns: Sequence[Provenance]) -> list[str]:
    """A mark for each column: "other tables than cpu" where its tables are not the first column's, else ""."""
    first = next((column for column in columns if column.tables), None)
    return [
        f"other tables than {first.label}" if first and column.tables and column.tables != first.tables else ""
        for column in columns
    ]


def mixture(columns: Sequence[Provenance]) -> str:
    """Which columns were made with which tables, in one sentence; "" where all used the same."""
    labels: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        if column.tables:
            labels[column.short_tables].append(column.label)
    if len(labels) < 2:
        return ""
    return (
        "the runs differ in tables (" + "; ".join(f"{', '.join(who)}: {which}" for which, who in labels.items()) + ")"
    )


def refuse_mixture(columns: Sequence[Provenance]) -> None:
    """Refuse columns of different tables.

    Raises:
        MixedTablesError: the columns were not all made with the same tables.
    """
    difference = mixture(columns)
    if difference:
        raise MixedTablesError(difference)
