"""The pages of a site, made from its sources alone: the same sources give the same bytes."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from dmlcts.reports.comparing.baseline import UpstreamReport
from dmlcts.reports.comparing.difference import TITLES, closing, difference, grouped_rows, made_with_lines
from dmlcts.reports.comparing.history import LEGEND, MARKS
from dmlcts.reports.comparing.triage import baseline_for, reason_title, reasons_by_row, triage_of
from dmlcts.reports.documents.outcomes import Verdict
from dmlcts.reports.documents.selecting import behaviours_of_selection
from dmlcts.reports.documents.waivers import with_waived
from dmlcts.reports.documents.wording import behaviour_text, is_own, places, short
from dmlcts.reports.site.evidence import Breach, ClauseEvidence, Judged, RowsByPlace, evidence_of
from dmlcts.reports.site.folder import INDEX, site_index
from dmlcts.reports.site.kept import Column, Implementation, KeptResult, slug_of
from dmlcts.reports.site.markup import tightened, with_shared
from dmlcts.reports.site.sources import KnownBaseline, Sources
from dmlcts.reports.site.standing import Standing
from dmlcts.reports.summaries.overview import Overview, overview
from dmlcts.reports.summaries.provenance import Provenance
from dmlcts.reports.views import accuracy
from dmlcts.reports.views.badge import badge_svg
from dmlcts.reports.views.html import environment, identity, template
from dmlcts.reports.views.prose import inline, paragraphs
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
"""The content security policy of every page: what it loads are the site's own style, script and badges."""

MOST_CHANGES = 60
"""So many lines of each kind of change are shown; the rest is counted."""

_SHOWN_CHANGES = tuple(name for name in TITLES if name not in ("appeared", "disappeared", "newly_stray"))


@dataclass(frozen=True)
class Shown:
    """A column with all that its pages show.

    Attributes:
        implementation: what it is a version of.
        column: the column.
        view: its results, arranged for a reader.
        triage: the causes of its failures.
        judged: the column as evidence names it.
        rows: its rows by operator and clause.
        baseline: where its reasons are; ``None`` where there is none.
    """

    implementation: Implementation
    column: Column
    view: Overview
    triage: Mapping[str, Any]
    judged: Judged
    rows: RowsByPlace
    baseline: KnownBaseline | None

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return with_waived(self.view.verdict.words, self.column.results["clauses"])

    @property
    def verdict_kind(self) -> str:
        """The verdict as the kind of a cell."""
        kinds = {Verdict.CONFORMANT: "pass", Verdict.NOT_CONFORMANT: "fail", Verdict.INCOMPLETE: "partly"}
        return kinds[self.view.verdict]


@dataclass
class _Site:
    """A site while it is made.

    Attributes:
        sources: what it is made of.
        files: its files so far.
        shown: its columns.
        evidence: the clauses of each operator.
    """

    sources: Sources
    files: dict[str, bytes] = field(default_factory=dict)
    shown: list[Shown] = field(default_factory=list)
    evidence: dict[str, list[ClauseEvidence]] = field(default_factory=dict)

    def add(self, name: str, template_name: str, title: str, /, **values: Any) -> None:
        """Render a page into the files."""
        root = "../" * name.count("/")
        rendered = (
            environment()
            .get_template(template_name)
            .render(
                title=title,
                policy=POLICY,
                root=root,
                here=name,
                mixture=self.sources.collection.mixture,
                has_pairs=bool(self.sources.pairs),
                total=sum(self.sources.collection.tables.values()),
                version=importlib.metadata.version("dmlcts"),
                site=self,
                **values,
            )
        )
        self.files[name] = (tightened(rendered.lstrip()) + "\n").encode("utf-8", "backslashreplace")

    def upstream_links(self, shown: Shown, reason: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """The reports of a reason: what to call each, where it is from the root of the site, and its state."""
        links = []
        for written in reason["upstream"]:
            report = UpstreamReport(**written)
            name = posixpath.basename(report.report)
            if report.report.startswith(("https://", "http://")):
                links.append((report.report, report.report, report.words))
            else:
                links.append((name, self._upstream_page(shown, report), report.words))
            if report.address:
                links.append((report.address, report.address, "the thread"))
        return links

    def _upstream_page(self, shown: Shown, report: UpstreamReport) -> str:
        assert shown.baseline is not None  # noqa: S101 - the reason stands in it
        name = posixpath.basename(report.report)
        page = f"upstream/{slug_of(*name.rpartition('.')[0].split('-'))}.html"
        if page not in self.files:
            text = shown.baseline.report_text(report.report)
            first = text.strip().partition("\n")[0].lstrip("# ")
            self.add(page, "site_upstream.html", first, heading=first, text=text, name=name, report=report)
        return page


def site_files(sources: Sources) -> dict[str, bytes]:
    """Every file of a site, by its name from the site's folder.

    Raises:
        UsageError: a report upstream that a baseline names cannot be read.
    """
    site = _Site(sources)
    site.shown = list(_shown(sources))
    _add_data(site)
    _add_operators(site)
    _add_implementations(site)
    _add_index(site)
    _add_changes(site)
    site.add("results.html", "site_results.html", "Kept results", implementations=list(_kept_lines(site)))
    _add_pairs(site)
    site.add("reading.html", "site_reading.html", "How to read it", legend=LEGEND)
    site.add("adding.html", "site_adding.html", "How to add yours")
    site.files["style.css"] = (template("report.css") + template("site.css")).encode()
    site.files["page.js"] = template("page.js").encode()
    site.files[INDEX] = site_index(site.files, _summary(site))
    return site.files


def _shown(sources: Sources) -> Iterator[Shown]:
    baselines = [known.baseline for known in sources.baselines]
    pairs = [(each, column) for each in sources.collection.implementations for column in each.columns]
    names = _names(pairs)
    for implementation in sources.collection.implementations:
        for column in implementation.columns:
            results = column.results
            baseline = baseline_for(results, baselines)
            known = next((entry for entry in sources.baselines if entry.baseline is baseline), None)
            triage = triage_of(results, sources.tables, baseline)
            label = _label(implementation, column)
            judged = Judged(
                column,
                implementation.slug,
                label,
                implementation.adapter,
                names[column.slug],
                reasons_by_row(triage),
            )
            view = overview(results, sources.tables)
            yield Shown(implementation, column, view, triage, judged, RowsByPlace.of(results), known)


def _names(pairs: Iterable[tuple[Implementation, Column]]) -> dict[str, str]:
    """What columns are called by their slugs: the backend, with as much more as sets those of one backend apart."""
    backends: dict[str, list[tuple[Implementation, Column]]] = defaultdict(list)
    for implementation, column in pairs:
        backends[implementation.backend].append((implementation, column))
    names: dict[str, str] = {}
    for backend, members in backends.items():
        tried = (
            [backend for _ in members],
            [f"{backend} ({each.adapter.partition(' (')[0]})" for each, _ in members],
            [f"{backend} {each.library}" for each, _ in members],
            [_label(*member) for member in members],
            [f"{_label(*member)} ({member[0].adapter})" for member in members],
        )
        chosen = next((each for each in tried if len(set(each)) == len(members)), tried[-1])
        names |= {column.slug: name for (_, column), name in zip(members, chosen, strict=True)}
    return names


def _label(implementation: Implementation, column: Column) -> str:
    """What a column is called: backend, library if its name is another, and version."""
    parts = (implementation.backend, implementation.library, str(column.results["device"]["version"] or ""))
    return " ".join(dict.fromkeys(filter(None, parts)))


def _add_data(site: _Site) -> None:
    """The raw results, the triage of each column and the badges."""
    for implementation in site.sources.collection.implementations:
        for kept in implementation.kept:
            site.files[_data_name(kept)] = kept.data
    for shown in site.shown:
        text = json.dumps(shown.triage, ensure_ascii=True, separators=(",", ":")) + "\n"
        site.files[_triage_name(shown.column)] = gzip.compress(text.encode(), mtime=0)
        site.files[f"badges/{shown.column.slug}.svg"] = badge_svg(shown.column.results).encode()
    for number, history in enumerate(site.sources.histories, 1):
        text = json.dumps(history, ensure_ascii=True, separators=(",", ":")) + "\n"
        site.files[_history_name(history, number)] = text.encode()


def _data_name(kept: KeptResult) -> str:
    return f"data/{kept.slug}.results.json.gz"


def _triage_name(column: Column) -> str:
    return f"data/{column.slug}.triage.json.gz"


def _history_name(history: Mapping[str, Any], number: int) -> str:
    return f"data/history-{slug_of(str(history['package']))}-{number}.json"


def operator_page(operator: str) -> str:
    """The name of an operator's page."""
    return f"operators/{short(operator).lower().replace('_', '-')}.html"


def _operators(site: _Site) -> list[str]:
    return sorted({operator for shown in site.shown for operator in shown.rows.rows})


def _add_operators(site: _Site) -> None:
    tables = site.sources.tables
    numbers: dict[tuple[str, str], int] = {}  # of the pages that clauses cite
    of_judged = {id(shown.judged): shown for shown in site.shown}
    for operator in _operators(site):
        columns = [shown for shown in site.shown if operator in shown.rows.rows]
        judged, sorted_rows = [shown.judged for shown in columns], [shown.rows for shown in columns]
        clauses = evidence_of(operator, judged, sorted_rows, tables)
        site.evidence[operator] = clauses
        for clause in clauses:
            for breach in clause.breaches:
                for name, text in breach.files.items():
                    site.files[f"{breach.folder}/{name}"] = text.encode("utf-8", "backslashreplace")
        table = tables.operators.get(operator)
        own = next((source for source in table.sources if source.address), None) if table else None
        for clause in clauses:
            page = clause.rule.source, clause.rule.address
            if clause.rule.address and (own is None or page != (own.cited, own.address)):
                numbers.setdefault(page, len(numbers) + 1)

        def reasons(breach: Breach) -> Iterator[dict[str, Any]]:
            known, since = set(), {"", None}
            for each in breach.members:
                shown = of_judged[id(each.judged)]
                for reason in each.reasons:
                    if (each.judged.page, reason["because"]) not in known:
                        known.add((each.judged.page, reason["because"]))
                        yield {
                            "title": inline(reason_title(reason)),
                            "since": Markup() if reason["since"] in since else inline(reason["since"]),
                            "address": f"implementations/{each.judged.page}.html#{_reason_anchor(shown, reason)}",
                            "upstream": site.upstream_links(shown, reason),
                        }
                        since.add(reason["since"])

        site.add(
            operator_page(operator),
            "site_operator.html",
            short(operator),
            operator=operator,
            own=own,
            numbers=numbers,
            columns=columns,
            clauses=clauses,
            releases=list(_releases(site.sources.histories, operator)),
            reasons=reasons,
            since=lambda breach, operator=operator: _since(site.sources.histories, breach, operator),
            marks=MARKS,
            legend=LEGEND,
        )

    site.add("cited.html", "site_cited.html", "Pages that the clauses cite", numbers=numbers)


def _reason_anchor(shown: Shown, reason: Mapping[str, Any]) -> str:
    number = next(place for place, entry in enumerate(shown.triage["reasons"]) if entry is reason)
    return f"{shown.column.slug}-reason-{number + 1}"


def _releases(histories: Iterable[Mapping[str, Any]], operator: str) -> Iterator[dict[str, Any]]:
    """The releases of each package that was searched, and the departures of an operator in them."""
    for history in histories:
        rows = [row for row in history["departures"] if row["operator"] == operator]
        if rows:
            yield {"package": history["package"], "releases": history["releases"], "rows": rows}


def _since(histories: Iterable[Mapping[str, Any]], breach: Breach, operator: str) -> list[str]:
    """In which releases a departure is, as far as histories of its package cover it."""
    clause = breach.case.failure["clause"] if breach.case else None
    backends = {each.judged.column.results["backend"] for each in breach.members}
    return [
        f"{history['package']} {row['first']} ({row['begins']}) to {row['last']} ({row['ends']}), on "
        + ", ".join(row["data_types"])
        for history in histories
        if history["package"] in backends
        for row in history["departures"]
        if row["operator"] == operator and row["clause"] == clause and {*row["data_types"]} & {*breach.types}
    ]


def _add_implementations(site: _Site) -> None:
    tables = site.sources.tables
    for implementation in site.sources.collection.implementations:
        versions = []
        for shown in site.shown:
            if shown.implementation is not implementation:
                continue
            results = shown.column.results
            versions.append(
                {
                    "shown": shown,
                    "identity": identity(shown.view),
                    "provenance": str(Provenance.of("", results)),
                    "counts": shown.view.counts,
                    "reasons": list(_reasons(site, shown)),
                    "unexplained": [cause for cause in shown.triage["causes"] if not cause["reasons"]],
                    "accuracy": list(accuracy.cells(results)),
                    "behaviours": list(_behaviours(results, tables)),
                    "data": _data_name(shown.column.kept),
                    "triage": _triage_name(shown.column),
                    "badge": f"badges/{shown.column.slug}.svg",
                }
            )
        histories = [
            {"history": history, "data": _history_name(history, number)}
            for number, history in enumerate(site.sources.histories, 1)
            if history["package"] == implementation.backend
        ]
        site.add(
            f"implementations/{implementation.slug}.html",
            "site_implementation.html",
            " ".join(filter(None, (implementation.backend, implementation.adapter))),
            implementation=implementation,
            versions=versions,
            histories=histories,
            kept=list(map(_kept_line, reversed(implementation.kept))),
            headings=accuracy.HEADINGS,
            explained=accuracy.EXPLAINED,
            operator_page=operator_page,
            marks=MARKS,
            legend=LEGEND,
        )


def _behaviours(results: Mapping[str, Any], tables: Tables) -> Iterator[tuple[str, str, str, str]]:
    """Clause, behaviour, example and places of what was seen; clauses of one name that show the same are one."""
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for record in behaviours_of_selection(results):
        clause = record["clause"]
        name = f"*.{clause.partition('.')[2]}" if is_own(clause, record["operator"]) else clause
        grouped[name, behaviour_text(clause, record["behaviour"], tables)].append(record)
    for (name, text), records in grouped.items():
        clauses = {record["clause"] for record in records}
        seen = places(((record["operator"], record["data_type"]) for record in records), tables)
        yield clauses.pop() if len(clauses) == 1 else name, text, records[0]["example"], seen


def _reasons(site: _Site, shown: Shown) -> Iterator[dict[str, Any]]:
    """The reasons of a column with the causes that each explains; a cause with several stands under the first."""
    for number, reason in enumerate(shown.triage["reasons"]):
        yield {
            "anchor": _reason_anchor(shown, reason),
            "title": inline(reason_title(reason)),
            "text": paragraphs(reason["because"].strip().partition("\n")[2]),
            "since": inline(reason["since"]) if reason["since"] else Markup(),
            "upstream": site.upstream_links(shown, reason),
            "rows": reason["rows"],
            "causes": [cause for cause in shown.triage["causes"] if cause["reasons"][:1] == [number]],
        }


def _kept_line(kept: KeptResult) -> dict[str, Any]:
    results = kept.results
    return {
        "kept": kept,
        "verdict": results["verdict"].replace("_", " "),
        "operators": kept.operators,
        "level": results["feature_level"],
        "profile": results["profile"] + (", strict" if results["strict"] else ""),
        "made": Provenance.of("", results),
        "data": _data_name(kept),
    }


def _kept_lines(site: _Site) -> Iterator[dict[str, Any]]:
    for implementation in site.sources.collection.implementations:
        lines = list(map(_kept_line, reversed(implementation.kept)))
        yield {"implementation": implementation, "kept": lines}


def _add_index(site: _Site) -> None:
    lines = []
    for operator in _operators(site):
        cells = [Standing.of(row for rows in _rows_of(shown, operator) for row in rows) for shown in site.shown]
        lines.append({"operator": operator, "page": operator_page(operator), "cells": cells})

    def worst_first(line: Mapping[str, Any]) -> tuple[int, int, str]:
        cells: Sequence[Standing] = line["cells"]
        return -sum(cell.broken > 0 for cell in cells), -sum(cell.broken for cell in cells), str(line["operator"])

    lines.sort(key=worst_first)
    site.add("index.html", "site_index.html", "Who does what the pages say", lines=lines)


def _rows_of(shown: Shown, operator: str) -> Iterable[Sequence[Mapping[str, Any]]]:
    return shown.rows.rows.get(operator, {}).values()


def _add_changes(site: _Site) -> None:
    steps = []
    for implementation in site.sources.collection.implementations:
        pairs = zip(implementation.kept, implementation.kept[1:], strict=False)
        changes = [_change(before, after, site.sources) for before, after in pairs]
        if changes:
            steps.append({"implementation": implementation, "changes": changes})
    site.add("changes.html", "site_changes.html", "What changed", steps=steps)


def _change(before: KeptResult, after: KeptResult, sources: Sources) -> dict[str, Any]:
    document = difference(before.results, after.results)
    sections = []
    for name in (*_SHOWN_CHANGES, "behaviours"):
        rows = [row for row in document[name] if name != "behaviours" or None not in (row["before"], row["after"])]
        lines = list(grouped_rows(rows, sources.tables))
        if lines:
            title = TITLES.get(name, "changed behaviour where the pages are silent")
            sections.append((title, len(rows), lines[:MOST_CHANGES], max(0, len(lines) - MOST_CHANGES)))
    return {
        "before": before,
        "after": after,
        "closing": closing(document),
        "regression": document["regression"],
        "verdict": document["verdict"],
        "made_with": list(made_with_lines(document)),
        "counts": [
            f"{many(len(document[name]), 'row')} {TITLES[name]}"
            for name in ("appeared", "disappeared")
            if document[name]
        ],
        "strays": document["newly_stray"],
        "sections": sections,
        "data": (_data_name(before), _data_name(after)),
    }


def _add_pairs(site: _Site) -> None:
    pairs = site.sources.pairs
    if not pairs:
        return
    for name, data in pairs.items():
        site.files[f"pairs/{name}"] = with_shared(data, "../style.css", "../page.js", POLICY)
    pages = [
        (name, name.removesuffix(".html").replace("-", " "), [other for other in pairs if _beside(name, other)])
        for name in pairs
        if name.endswith(".html")
    ]
    site.add("pairs.html", "site_pairs.html", "Pairs of implementations", pages=pages)


def _beside(page: str, other: str) -> bool:
    return other != page and other.rpartition(".")[0] == page.rpartition(".")[0]


def _summary(site: _Site) -> dict[str, Any]:
    """What :data:`~dmlcts.reports.site.folder.INDEX` holds about the site."""
    return {
        "made_by": importlib.metadata.version("dmlcts"),
        "mixture": site.sources.collection.mixture,
        "columns": [
            {
                "slug": shown.column.slug,
                "page": f"implementations/{shown.implementation.slug}.html",
                "label": shown.judged.label,
                "adapter": shown.judged.adapter,
                "verdict": shown.column.results["verdict"],
                "marks": list(shown.column.marks),
                "results": _data_name(shown.column.kept),
                "triage": _triage_name(shown.column),
                "badge": f"badges/{shown.column.slug}.svg",
            }
            for shown in site.shown
        ],
    }
