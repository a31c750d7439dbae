"""What a site is made of: kept results, baselines, histories, ready pages for pairs, and the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.reports.comparing.baseline import Baseline, load
from dmlcts.reports.comparing.history import load_history
from dmlcts.reports.site.kept import Collection
from dmlcts.specs import UsageError
from dmlcts.specs.files import read_bounded
from dmlcts.specs.tables import Tables

_MOST_PAGE = 2 << 20
_MOST_REPORT = 1 << 20
_PAIR_ENDINGS = (".html", ".json", ".md")


@dataclass(frozen=True)
class KnownBaseline:
    """A baseline with the folder that its reports upstream are reached from.

    Attributes:
        baseline: the baseline.
        folder: the folder of its file.
    """

    baseline: Baseline
    folder: Path

    def report_text(self, report: str) -> str:
        """The text of a report that the baseline names as a file.

        Raises:
            UsageError: the file cannot be read, or is no Markdown.
        """
        path = self.folder / report
        mend = "correct `upstream` in the baseline, or write the report"
        if path.suffix not in (".md", ".txt"):
            raise UsageError(f"the report upstream {report} is neither .md nor .txt", mend)
        try:
            return read_bounded(path, _MOST_REPORT).decode("utf-8")
        except (OSError, ValueError) as error:
            raise UsageError(f"the report upstream {path} cannot be read: {error}", mend) from None


@dataclass(frozen=True)
class Sources:
    """Everything that a site is made of.

    Attributes:
        collection: the kept results.
        baselines: the baselines with reasons.
        histories: documents of ``dmlcts history --json``.
        pairs: ready pages and their data, by file name.
        tables: the tables to take the clauses' words from.
    """

    collection: Collection
    baselines: tuple[KnownBaseline, ...]
    histories: tuple[Mapping[str, Any], ...]
    pairs: Mapping[str, bytes]
    tables: Tables


def read_baselines(paths: Iterable[str | Path]) -> tuple[KnownBaseline, ...]:
    """Read baselines.

    Raises:
        DocumentError: one of them is not valid.
    """
    return tuple(KnownBaseline(load(Path(path)), Path(path).parent) for path in paths)


def read_histories(paths: Iterable[str | Path]) -> tuple[Mapping[str, Any], ...]:
    """Read histories.

    Raises:
        DocumentError: one of them is not valid.
    """
    return tuple(load_history(path) for path in paths)


def read_pairs(folder: str | Path) -> dict[str, bytes]:
    """Read a folder of ready pages for pairs of implementations: its .html, .json and .md files.

    Raises:
        UsageError: the folder or a file cannot be read, or is too large.
    """
    folder = Path(folder)
    mend = "give the folder that holds the pages and their data"
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix in _PAIR_ENDINGS and path.is_file())
        pairs = {path.name: read_bounded(path, _MOST_PAGE) for path in paths}
    except (OSError, ValueError) as error:
        raise UsageError(f"the pages of pairs in {folder} cannot be read: {error}", mend) from None
    large = next((name for name, data in pairs.items() if len(data) > _MOST_PAGE), None)
    if large is not None:
        raise UsageError(f"{folder / large} is larger than {_MOST_PAGE >> 20} MiB", mend)
    return pairs
