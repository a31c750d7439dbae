"""What an implementation does wrong, as a page to read: one heading a reason, with its smallest case.

The page is made from a run and, where there is one, from the baseline that holds the reasons. The same run
gives the same page. The cases are files of their own beside the page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.comparing.baseline import Baseline, Departure, departures_of
from dmlcts.reports.comparing.comparison import example, example_text
from dmlcts.reports.comparing.reproduction import Reproduction
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.wording import short, type_order
from dmlcts.reports.summaries.characters import one_line, prose
from dmlcts.reports.summaries.provenance import Provenance
from dmlcts.reports.views.markdown import block, code
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

_NO_REASON = "Not explained yet"
_UNABLE = (Outcome.NOT_SUPPORTED.value, Outcome.SKIPPED.value)


@dataclass(frozen=True)
class Finding:
    """Departures that have one reason.

    Args:
        title: the reason in one line; "" where nobody found out.
        reason: the rest of it; Markdown.
        since: the releases that have it; Markdown, "" where nobody found out.
        departures: the rows that it accounts for, in order.
        cases: the smallest case of each operator and type.
    """

    title: str
    reason: str
    since: str
    departures: tuple[Departure, ...]
    cases: Mapping[tuple[str, str], Reproduction]

    def smallest(self, tables: Tables) -> Reproduction | None:
        """The smallest case of all; ``None`` where the results hold no case."""
        return min(self.cases.values(), key=lambda case: case.order(tables), default=None)


def _cell(text: str) -> str:
    """A stranger's text in a cell, a heading or a list: one line, no HTML, no link; numbers stay readable."""
    shown = one_line(" ".join(text.split())).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return shown.replace("](", "]\\(").replace("`", "\\`").replace("@", "@\u200b")


def _order(departure: Departure) -> tuple[str, str, str, int]:
    return departure.operator, departure.clause, departure.outcome, type_order(departure.data_type)


def _by_reason(departures: frozenset[Departure], baseline: Baseline | None) -> dict[str, list[Departure]]:
    """Departures by reason, in the order of the first row of each; what has no reason comes last."""
    reasons: dict[str, list[Departure]] = defaultdict(list)
    for departure in sorted(departures, key=_order):
        entry = None if baseline is None else baseline.entry(departure)
        reasons["" if entry is None else entry.because.strip()].append(departure)
    return dict(sorted(reasons.items(), key=lambda item: (not item[0], _order(item[1][0]))))


def _since(departures: list[Departure], baseline: Baseline | None) -> str:
    entries = () if baseline is None else map(baseline.entry, departures)
    return " ".join(dict.fromkeys(entry.since.strip() for entry in entries if entry is not None and entry.since))


def _broken(results: Mapping[str, Any]) -> frozenset[Departure]:
    return frozenset(departure for departure in departures_of(results) if departure.outcome not in _UNABLE)


def findings_of(results: Mapping[str, Any], tables: Tables, baseline: Baseline | None) -> list[Finding]:
    """What a run did wrong, by reason.

    Args:
        results: a results document.
        tables: the tables that its clauses stand in.
        baseline: where the reasons are; ``None`` for findings without them.

    Raises:
        UsageError: the results name a clause that the tables do not have.
    """
    cases: dict[Departure, list[Reproduction]] = defaultdict(list)
    for failure in results["failures"]:
        if failure["clause"]:
            key = Departure(failure["clause"], failure["operator"], failure["outcome"], failure["data_type"])
            cases[key].append(Reproduction(failure, results["suite"]["version"]))
    findings = []
    for because, departures in _by_reason(_broken(results), baseline).items():
        title, _, rest = because.partition("\n")
        smallest: dict[tuple[str, str], Reproduction] = {}
        for departure in departures:
            pair = departure.operator, departure.data_type
            known = [*cases[departure], *([smallest[pair]] if pair in smallest else [])]
            if known:
                smallest[pair] = min(known, key=lambda case: case.order(tables))
        since = _since(departures, baseline)
        findings.append(Finding(title, rest.strip(), since, tuple(departures), smallest))
    return findings


def case_files(findings: list[Finding]) -> dict[str, str]:
    """The text of every file that belongs beside the page, by its name."""
    return {name: text for finding in findings for case in finding.cases.values() for name, text in case.files.items()}


def _smallest(finding: Finding, tables: Tables, folder: str, link: str) -> Iterator[str]:
    """The smallest case with its clause, and how to run it again."""
    case = finding.smallest(tables)
    if case is None:
        return
    failure = case.failure
    shown = example_text(example(failure["title"], failure["details"].items()))
    place = f"{short(failure['operator'])} on {failure['data_type']}"
    clause, source = tables.clause(failure["clause"]), tables.source(failure["clause"])
    quoted = f" “{clause.quotation.words}”" if clause.quotation else ""
    title = source.title if source.address is None else f"[{source.title}]({source.address})"
    yield f"- **Smallest case:** {_cell(f'{place}, {shown}')}"
    yield f"- **Clause:** `{clause.id}` ({clause.obligation}): {clause.text}{quoted} ({title}, {source.revision})"
    model, because = case.model
    if model is None:
        yield f"- **DxDispatch:** {_cell(because)}"
    elif folder:
        yield f"- **DxDispatch:** [{case.name}.json]({link}/{case.name}.json)"
    yield ""
    yield from block(case.replay(folder), "sh")
    yield ""


def _rows(finding: Finding, link: str) -> Iterator[str]:
    """One row an operator and set of clauses; each type links to its model, or to its case where it has none."""
    clauses: dict[tuple[str, str], list[str]] = defaultdict(list)
    for departure in finding.departures:
        outcome = "" if departure.outcome == Outcome.FAIL.value else f" ({departure.outcome.replace('_', ' ')})"
        clauses[departure.operator, departure.data_type].append(f"`{departure.clause}`{outcome}")
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (operator, data_type), named in sorted(clauses.items(), key=lambda item: (item[0][0], type_order(item[0][1]))):
        case = finding.cases.get((operator, data_type))
        ending = "json" if case is not None and case.model[0] is not None else "yaml"
        linked = data_type
        if case is not None and case.is_whole and link:
            linked = f"[{data_type}]({link}/{case.name}.{ending})"
        rows[operator, ", ".join(named)].append(linked)
    yield "| operator | types | clauses |"
    yield "|---|---|---|"
    for (operator, names), types in rows.items():
        yield f"| {short(operator)} | {', '.join(types)} | {names} |"


def _device(results: Mapping[str, Any]) -> Iterator[str]:
    device, made = results["device"], Provenance.of("", results)
    yield "| | |"
    yield "|---|---|"
    for label, value in (
        ("device", device["name"]),
        ("adapter", device["adapter"]),
        ("driver", device["driver"]),
        ("library", f"{device['library']} {device['version']}".strip()),
        ("feature level", results["feature_level"]),
        ("profile", results["profile"]),
        ("seed", str(results["seed"])),
        ("verdict", results["verdict"].replace("_", " ")),
        ("suite", made.suite),
        ("tables", made.tables),
        ("date", str(results["timings"]["started"])[:10]),
    ):
        if value:
            yield f"| {label} | {_cell(value)} |"


def page(
    results: Mapping[str, Any],
    tables: Tables,
    baseline: Baseline | None,
    command: str,
    folder: str = "",
    link: str = "",
) -> str:
    """The page, in Markdown.

    Args:
        results: a results document.
        tables: the tables that its clauses stand in.
        baseline: where the reasons are; ``None`` for a page without them.
        command: the command that makes the page, named in it.
        folder: where :func:`case_files` are, as a command names it; "" where they are not written.
        link: where they are, as the page links to them.

    Raises:
        UsageError: the results name a clause that the tables do not have.
    """
    findings, broken = findings_of(results, tables, baseline), _broken(results)
    rows = len(results["clauses"])
    held = sum(row["outcome"] in (Outcome.PASS.value, Outcome.CHARACTERISED.value) for row in results["clauses"])
    name = results["device"]["name"] or results["backend"]
    lines = [f"# Where {_cell(name)} departs from the pages", ""]
    lines += [f"Made by {code(command)}. Edit the baseline, not this page.", ""]
    lines += _device(results)
    counted = f"{held:,} of {many(rows, 'clause row')} hold. {len(broken)} do not, for {many(len(findings), 'reason')}."
    lines += ["", f"{counted} A row is a clause on one element type.", ""]
    if folder:
        lines += [
            "A type in a table links to its smallest case, as a model for DxDispatch, Microsoft's tool for single",
            "operators. Run it on Windows: `dxdispatch.exe MODEL.json`. `dmlcts replay` reads the `.yaml` file of the",
            "same name.",
            "",
        ]
    for number, finding in enumerate(findings, 1):
        lines += [f"## {number}. {prose(finding.title or _NO_REASON).rstrip('.')}", ""]
        lines += [prose(finding.reason), ""] if finding.reason else []
        lines += [f"- **Since:** {prose(finding.since)}"] if finding.since else []
        lines += _smallest(finding, tables, folder, link)
        lines += [*_rows(finding, link if folder else ""), ""]
    unable = _by_reason(departures_of(results) - broken, baseline)
    if unable:
        lines += ["## Not judged", "", "| operator | type | clauses | outcome | because |", "|---|---|---|---|---|"]
        for because, departures in unable.items():
            lines += _unable(because, departures)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _unable(because: str, departures: list[Departure]) -> Iterator[str]:
    rows: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for departure in departures:
        rows[departure.operator, departure.data_type, departure.outcome].append(f"`{departure.clause}`")
    for (operator, data_type, outcome), clauses in rows.items():
        yield f"| {short(operator)} | {data_type} | {', '.join(clauses)} | {outcome} | {_cell(because)} |"
