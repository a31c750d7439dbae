"""Kept results, sorted by the implementation that each judged and by its version."""

from __future__ import annotations

import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.validation import load_results
from dmlcts.reports.summaries.provenance import SHOWN, tables_digest
from dmlcts.specs import UsageError

_PART = 24


class StrictTablesError(UsageError):
    """Results of different tables or of a modified suite, where that was forbidden.

    Args:
        cause: which results they are.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(cause, "judge them again with one clean checkout, or leave out --strict-tables to mark them")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cause,)


@dataclass(frozen=True)
class KeptResult:
    """One results document.

    Attributes:
        results: the document.
        data: its file, as gzip.
        name: what its file is called, as a part of addresses; "" where that says nothing.
        slug: its name in addresses; no other kept result has it.
    """

    results: Mapping[str, Any]
    data: bytes
    name: str = ""
    slug: str = ""

    @property
    def version(self) -> str:
        """What was judged of the implementation: the version of the library, and the driver if that has a version."""
        device = self.results["device"]
        parts = [str(device["version"] or ""), str(device["driver"] or "") if _numbered(device["driver"]) else ""]
        return " · ".join(filter(None, parts)) or "no version"

    @property
    def version_slug(self) -> str:
        """The version as a part of addresses; of the driver the words with digits."""
        device = self.results["device"]
        return slug_of(str(device["version"] or ""), " ".join(_numbered(device["driver"])))

    @cached_property
    def rows(self) -> frozenset[tuple[str, str, str]]:
        """The rows that it has: clause, operator and data type."""
        return frozenset((row["id"], row["operator"], row["data_type"]) for row in self.results["clauses"])

    @property
    def operators(self) -> int:
        """How many operators it judged."""
        return len({row["operator"] for row in self.results["clauses"]})

    @property
    def finished(self) -> str:
        """When the run ended."""
        return str(self.results["timings"]["finished"])

    @property
    def tables(self) -> str:
        """The digest of its tables."""
        return tables_digest(self.results["specs"])


@dataclass(frozen=True)
class Column:
    """One version of an implementation, shown by the kept result that judged most of it.

    Attributes:
        slug: its name in addresses: that of its implementation, and for all versions but the newest also the version.
        kept: the result that is shown; of several that judged as many operators, the newest.
        marks: what keeps it from being compared with others: other tables, a modified suite.
    """

    slug: str
    kept: KeptResult
    marks: tuple[str, ...] = ()

    @property
    def results(self) -> Mapping[str, Any]:
        """The results document."""
        return self.kept.results


@dataclass(frozen=True)
class Implementation:
    """What was judged: a backend with its library on an adapter.

    Attributes:
        slug: its name in addresses: what all its files are called, otherwise backend, library and adapter.
        backend: the backend's name.
        library: the library's name; "" where the backend has none.
        adapter: the adapter's name.
        columns: its versions, the newest first.
        kept: every kept result of it, in the order of versions, the oldest first.
    """

    slug: str
    backend: str
    library: str
    adapter: str
    columns: tuple[Column, ...]
    kept: tuple[KeptResult, ...]


@dataclass(frozen=True)
class Collection:
    """All kept results of a site.

    Attributes:
        implementations: by name.
        tables: how many kept results used each digest of tables, the newest result's first.
        modified: how many kept results come from a modified suite.
    """

    implementations: tuple[Implementation, ...]
    tables: Mapping[str, int]
    modified: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of all implementations."""
        return tuple(column for implementation in self.implementations for column in implementation.columns)

    @property
    def mixture(self) -> str:
        """What keeps the results from being compared with each other, in words; "" where nothing does."""
        parts = []
        total = sum(self.tables.values())
        if len(self.tables) > 1:
            newest, count = next(iter(self.tables.items()))
            others = f"{total - count} of {total} kept results used other tables than the newest"
            parts.append(f"{others} ({newest[:SHOWN]})")
        if self.modified:
            parts.append(f"{self.modified} of {total} kept results come from a modified suite")
        return "; ".join(parts)


def read_kept(paths: Iterable[str | Path]) -> list[KeptResult]:
    """Read results documents, from their files or the folders of their runs.

    Raises:
        DocumentError: one of them is no valid results document.
        UsageError: one stands there twice.
    """
    kept = []
    paths_of: dict[bytes, Path] = {}
    for path in map(Path, paths):
        results = load_results(path)
        data = (path / "results.json" if path.is_dir() else path).read_bytes()
        if path.suffix != ".gz":
            data = gzip.compress(data, mtime=0)
        if data in paths_of:
            raise UsageError(f"{path} holds the same results as {paths_of[data]}", "give each results file once")
        paths_of[data] = path
        kept.append(KeptResult(results, data, _name_of(path)))
    return kept


def _name_of(path: Path) -> str:
    """What stands before ".results.json.gz" in a file's name; "" for "results.json" and for the folder of a run."""
    name, ending, _ = path.name.partition(".results.json")
    return slug_of(*name.split("-")) if ending and name else ""


def _numbered(text: object) -> list[str]:
    """The words of a text that have digits."""
    return [word for word in str(text or "").split() if any(map(str.isdigit, word))]


def slug_of(*parts: str) -> str:
    """Words as a name in addresses: lower case, digits and hyphens; a word that a part before holds is left out."""
    words: list[str] = []
    for part in parts:
        before = set(words)
        length = 0
        for word in re.findall(r"[a-z0-9]+", part.lower()):
            length += len(word)
            if length > _PART:
                break
            if word not in before:
                words.append(word)
    return "-".join(words) or "unnamed"


def collected(kept: Iterable[KeptResult], strict: bool = False) -> Collection:
    """Sort kept results by implementation and version.

    Args:
        kept: the results, in any order.
        strict: refuse results of different tables or of a modified suite.

    Raises:
        StrictTablesError: there are such results, and ``strict`` is set.
        UsageError: there are no results.
    """
    every = sorted(kept, key=lambda result: (result.finished, result.tables, result.data))
    if not every:
        raise UsageError(
            "there are no results to make a site of", "give results files: `dmlcts site RESULTS… --output DIR`"
        )
    counts = Counter(result.tables for result in reversed(every))  # in the order in which they are first met
    modified = sum(bool(result.results["suite"]["modified"]) for result in every)
    groups: dict[tuple[str, str, str], list[KeptResult]] = defaultdict(list)
    for result in every:
        device = result.results["device"]
        adapter = str(device["adapter"] or device["name"] or "")
        groups[str(result.results["backend"]), str(device["library"] or ""), adapter].append(result)
    newest = next(iter(counts))
    taken: set[str] = set()
    implementations = [_implementation(key, groups[key], newest, taken) for key in sorted(groups)]
    collection = Collection(tuple(implementations), dict(counts), modified)
    if strict and collection.mixture:
        raise StrictTablesError(collection.mixture)
    return collection


def _implementation(
    key: tuple[str, str, str], results: Sequence[KeptResult], newest: str, taken: set[str]
) -> Implementation:
    names = {result.name for result in results}
    slug = _free((names.pop() if len(names) == 1 else "") or slug_of(*key), taken)
    ordered: list[KeptResult] = []
    whole = [result for result in results if not any(_is_part(result, other) for other in results)]
    for result in sorted(whole, key=lambda result: (_version_order(result.version), result.finished)):
        named = f"{slug}-{result.version_slug}-{slug_of(result.finished[:10])}"
        ordered.append(replace(result, slug=_free(named, {earlier.slug for earlier in ordered})))
    versions: dict[str, list[KeptResult]] = defaultdict(list)
    for result in ordered:
        versions[result.version].append(result)
    columns: list[Column] = []
    for members in reversed(versions.values()):
        shown = max(members, key=lambda result: (result.operators, result.finished))
        marks = ["other tables"] if shown.tables != newest else []
        marks += ["modified suite"] if shown.results["suite"]["modified"] else []
        column = _free(f"{slug}-{shown.version_slug}", taken) if columns else slug
        columns.append(Column(column, shown, tuple(marks)))
    return Implementation(slug, *key, tuple(columns), tuple(ordered))


def _is_part(result: KeptResult, other: KeptResult) -> bool:
    """Whether another result has all rows of this one and more: of the same version, tables and profile."""
    alike = (result.version, result.tables, result.results["profile"])
    return alike == (other.version, other.tables, other.results["profile"]) and result.rows < other.rows


def _free(slug: str, taken: set[str]) -> str:
    """The slug, or with the first number behind it that is not taken; it is taken from now on."""
    numbered = (slug if number == 1 else f"{slug}-{number}" for number in range(1, len(taken) + 2))
    free = next(name for name in numbered if name not in taken)
    taken.add(free)
    return free


def _version_order(version: str) -> tuple[int, ...]:
    return tuple(int(digits[:18]) for digits in re.findall(r"\d+", version))
