"""Small sites to look at: two versions of an implementation, a second one, a baseline, a history and a pair."""

from __future__ import annotations

import copy
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from dmlcts.reports.comparing.baseline import UpstreamReport, baseline_of
from dmlcts.reports.comparing.history import Release, history_of
from dmlcts.reports.site.kept import KeptResult, collected
from dmlcts.reports.site.sources import KnownBaseline, Sources
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.reports.report_samples import conformant, failing, failing_among_all, hostile

REPORT = "# ROUND adds a half\n\nIt gives 0 for -0.5.\n"
PAIR = (
    b'<!doctype html><html lang="en"><meta charset="utf-8"><title>pair</title>'
    b'<a href="../index.html">the site</a> <a href="a-to-b.json">data</a></html>\n'
)


def kept(results: dict[str, Any], **device: str) -> KeptResult:
    """A kept result of a document, with some of what its device says replaced."""
    document = copy.deepcopy(results)
    document["device"] |= device
    return KeptResult(document, gzip.compress(json.dumps(document).encode(), mtime=0))


def sources(folder: Path, *results: KeptResult) -> Sources:
    """The sources of a site; of the usual three results where none are named.

    Args:
        folder: where the report upstream is written.
        results: the kept results.
    """
    broken = failing()
    results = results or (kept(conformant(), version="2.2.0"), kept(broken), kept(conformant(), library="other"))
    (folder / "round.md").write_text(REPORT, encoding="utf-8")
    known = baseline_of(broken)
    reports = (
        UpstreamReport("round.md", "fixed", "https://example.invalid/7", "2.4.0"),
        UpstreamReport("https://example.invalid/8", "filed"),
    )
    because = "Adds a `half`\n\nSee [the report](round.md) and [the web](https://example.invalid/9)."
    entries = tuple(replace(entry, because=because, since="2.3.1", upstream=reports) for entry in known.entries)
    history = history_of(str(broken["backend"]), [Release("2.2.0", conformant()), Release("2.3.1", broken)])
    return Sources(
        collected(results),
        (KnownBaseline(replace(known, entries=entries), folder),),
        (history,),
        {"a-to-b.html": PAIR, "a-to-b.json": b"{}\n"},
        load_tables(),
    )


def hostile_sources(folder: Path) -> Sources:
    """A site of results whose every free string does harm where it is not escaped."""
    return sources(folder, kept(hostile()))


def wide_sources(folder: Path, columns: int) -> Sources:
    """A site of all operators by so many versions, every second of which breaks ROUND."""
    broken = failing_among_all()
    whole = copy.deepcopy(broken)
    for row in whole["clauses"]:
        if row["outcome"] == "fail":
            row["outcome"], row["failures"] = "pass", 0
    whole["failures"], whole["verdict"] = [], "CONFORMANT"
    versions = [kept((broken, whole)[number % 2], version=f"2.{number}.0") for number in range(columns)]
    return sources(folder, *versions)
