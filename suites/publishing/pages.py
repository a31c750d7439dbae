"""What is made of kept results: a page for each pair from DirectML, the site, and the checkout's own kept results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dmlcts.reports.comparing.comparison import finished
from dmlcts.reports.comparing.judged import main as write_table
from dmlcts.reports.documents.writing import write_bytes, write_text
from dmlcts.reports.migrating.migration import migration
from dmlcts.reports.migrating.page import page
from dmlcts.reports.migrating.specification import shipped
from dmlcts.reports.site.folder import write_site
from dmlcts.reports.site.kept import collected, read_kept
from dmlcts.reports.site.pages import site_files
from dmlcts.reports.site.sources import Sources, read_baselines, read_histories, read_pairs
from dmlcts.specs.tables import Tables
from dmlcts.suites.checkout import kept_histories
from dmlcts.suites.publishing.publication import ENDING
from dmlcts.suites.running.results_page import kept_baselines

PAIRS = "pairs"
SITE = "site"
_FIRST = "directml"


def write_pairs(folder: Path, names: Sequence[str], tables: Tables) -> list[Path]:
    """Write a page for each implementation, for whoever leaves DirectML for it.

    Args:
        folder: the folder of the kept results; the pages are below ``pairs``.
        names: the kept results, of the same tables; where DirectML's is none of them, no page is written.
        tables: the tables to take the clauses' words from.

    Returns:
        The pages. Pages of an earlier call that are none of them are removed.

    Raises:
        UsageError: a page cannot be written.
    """
    place = folder / PAIRS
    place.mkdir(parents=True, exist_ok=True)
    written = []
    if _FIRST in names:
        before = finished(_FIRST, folder / f"{_FIRST}{ENDING}")
        for name in names:
            if name == _FIRST:
                continue
            after = replace(finished(name, folder / f"{name}{ENDING}"), label=name)
            path = place / f"{_FIRST}-to-{name}.html"
            write_text(path, page(migration(before, after, tables, shipped())))
            written.append(path)
    for path in place.glob(f"{_FIRST}-to-*.html"):
        if path not in written:
            path.unlink()
    return written


def write_site_of(folder: Path, names: Sequence[str], tables: Tables, draft: bool) -> tuple[int, int]:
    """Write the site of kept results and their pairs, with the repository's baselines and histories.

    Args:
        folder: the folder of the kept results; the site is below ``site``.
        names: the kept results.
        tables: the tables to take the clauses' words from.
        draft: whether results of a modified suite are shown, with a mark.

    Returns:
        How many files it has, and how many bytes.

    Raises:
        StrictTablesError: results are of different tables or of a modified suite, and this is no draft.
        UsageError: the site cannot be written, or what stands there is no site.
    """
    files = site_files(
        Sources(
            collected(read_kept(folder / f"{name}{ENDING}" for name in names), strict=not draft),
            read_baselines(kept_baselines()),
            read_histories(kept_histories()),
            read_pairs(folder / PAIRS),
            tables,
        )
    )
    write_site(folder / SITE, files)
    return len(files), sum(map(len, files.values()))


def keep_in_checkout(folder: Path, names: Sequence[str], examples: Path) -> list[Path]:
    """Replace the checkout's kept results and pages of pairs, and the table of verdicts that is made of them.

    Args:
        folder: the folder of the kept results.
        names: the kept results.
        examples: ``reports/examples`` of the checkout.

    Returns:
        What was written.

    Raises:
        UsageError: a file cannot be written.
    """
    copies = {folder / f"{name}{ENDING}": examples / "all_operators" / f"{name}{ENDING}" for name in names}
    copies |= {path: examples / PAIRS / path.name for path in sorted((folder / PAIRS).glob("*.html"))}
    for source, target in copies.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, source.read_bytes())
    guide = examples / "README.md"
    write_table([str(guide)])
    return [*copies.values(), guide]
