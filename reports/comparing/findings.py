"""What an implementation departs in, as a page to read: each reason once, with the rows it accounts for.

The page is made from a run and, where there is one, from the baseline that holds the reasons; the same run
gives the same page.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from dmlcts.reports.comparing.baseline import Baseline, Departure, departures_of
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.wording import many
from dmlcts.reports.summaries.characters import one_line, prose
from dmlcts.reports.views.dxdispatch import told_model
from dmlcts.reports.views.markdown import code
from dmlcts.specs import DataType
from dmlcts.specs.tables import Tables

_NO_REASON = "Not explained yet"
_UNABLE = (Outcome.NOT_SUPPORTED.value, Outcome.SKIPPED.value)
_SHOWN = ("Min", "Max", "ScaleBias", "RoundingMode", "FusedActivation")


def _cell(text: str) -> str:
    """A stranger's text in a cell or a heading: one line, no HTML, no link; numbers stay readable."""
    shown = one_line(" ".join(text.split())).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return shown.replace("](", "]\\(").replace("`", "\\`").replace("@", "@\u200b")


def _short(operator: str) -> str:
    return operator.removeprefix("ELEMENT_WISE_")


def _order(departure: Departure) -> tuple[str, str, str, int]:
    types = list(DataType.__members__)
    return departure.operator, departure.clause, departure.outcome, types.index(departure.data_type)


def _by_reason(found: frozenset[Departure], baseline: Baseline | None) -> dict[str, list[Departure]]:
    """Departures by reason, in the order of the first row of each; what has no reason comes last."""
    reasons: dict[str, list[Departure]] = defaultdict(list)
    for departure in sorted(found, key=_order):
        entry = None if baseline is None else baseline.entry(departure)
        reasons["" if entry is None else entry.because.strip()].append(departure)
    return dict(sorted(reasons.items(), key=lambda item: (not item[0], _order(item[1][0]))))


def _failures(results: Mapping[str, Any]) -> dict[Departure, list[Mapping[str, Any]]]:
    found: dict[Departure, list[Mapping[str, Any]]] = defaultdict(list)
    for failure in results["failures"]:
        if failure["clause"]:
            key = Departure(failure["clause"], failure["operator"], failure["outcome"], failure["data_type"])
            found[key].append(failure)
    return found


def _attributes(details: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {details[name]}" for name in _SHOWN if details.get(name, "none") != "none")


def _table(
    departures: list[Departure], failures: Mapping[Departure, list[Mapping[str, Any]]], tables: Tables
) -> Iterator[str]:
    """One row a departure. A broken relation has no acceptable value: what it demands is its clause's text."""
    yield "| operator | type | clause | attributes | input | documented | got |"
    yield "|---|---|---|---|---|---|---|"
    for departure in departures:
        example = next(iter(failures.get(departure, [])), None)
        said = {} if example is None else example["details"]
        seen = said.get("property")  # what the elements of a relation show
        documented = said.get("acceptable") or (tables.clause(departure.clause).text if seen else "")
        got = seen or said.get("got") or said.get("said") or ("" if example is None else example["title"])
        cells = (
            _short(departure.operator), departure.data_type, f"`{departure.clause}`", _attributes(said),
            said.get("input", ""), documented,
            got if departure.outcome == "fail" else f"{departure.outcome}: {got}",
        )  # fmt: skip
        yield "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _clauses(departures: list[Departure], tables: Tables) -> Iterator[str]:
    for identifier in dict.fromkeys(departure.clause for departure in departures):
        clause, source = tables.clause(identifier), tables.source(identifier)
        quoted = f" “{clause.quotation.words}”" if clause.quotation else ""
        title = source.title if source.address is None else f"[{source.title}]({source.address})"
        yield f"- `{identifier}` ({clause.obligation}): {clause.text}{quoted} ({title}, {source.revision})"


def _examples(departures: list[Departure], failures: Mapping[Departure, list[Mapping[str, Any]]]) -> Iterator[str]:
    for departure in departures:
        for failure in failures.get(departure, [])[:1]:
            yield "<details>"
            yield (
                f"<summary>{_short(departure.operator)} {departure.data_type}, {departure.clause}: replay, and a "
                "DxDispatch model</summary>"
            )
            yield ""
            yield f"    {one_line(failure['replay'])}"
            yield ""
            written, because = told_model(failure["case"], f"{failure['clause']}: {failure['title']}")
            if written is None:
                yield f"{_cell(because)}."
            else:
                yield "```json"
                yield one_line(json.dumps(written, ensure_ascii=False))
                yield "```"
            yield ""
            yield "</details>"
            yield ""


def _device(results: Mapping[str, Any]) -> Iterator[str]:
    device = results["device"]
    yield "| | |"
    yield "|---|---|"
    for label, value in (
        ("device", device["name"]), ("adapter", device["adapter"]), ("driver", device["driver"]),
        ("library", device["library"]), ("version", device["version"]),
        ("feature level", results["feature_level"]), ("profile", results["profile"]),
        ("seed", str(results["seed"])), ("verdict", results["verdict"]),
    ):  # fmt: skip
        if value:
            yield f"| {label} | {_cell(value)} |"


def page(results: Mapping[str, Any], tables: Tables, baseline: Baseline | None, command: str) -> str:
    """The page, in Markdown.

    Args:
        results: a results document.
        tables: the tables that its clauses stand in.
        baseline: where the reasons are; ``None`` for a page without them.
        command: the command that makes the page, named in it.

    Raises:
        UsageError: the results name a clause that the tables do not have.
    """
    found = departures_of(results)
    broken = frozenset(departure for departure in found if departure.outcome not in _UNABLE)
    reasons = _by_reason(broken, baseline)
    failures = _failures(results)
    held = sum(row["outcome"] in ("pass", "characterised") for row in results["clauses"])
    name = results["device"]["name"] or results["backend"]
    lines = [
        f"# Where {_cell(name)} departs from the pages",
        "",
        f"Made by {code(command)}; edit the baseline, not this page.",
        "",
    ]
    lines += _device(results)
    lines += ["", f"{held} of {many(len(results['clauses']), 'clause row')} hold; {len(broken)} depart, for "
              f"{many(len(reasons), 'reason')}.", ""]  # fmt: skip
    for number, (because, departures) in enumerate(reasons.items(), 1):
        title, _, rest = (because or _NO_REASON).partition("\n")
        lines += [f"## {number}. {prose(title).rstrip('.')}", ""]
        lines += [prose(rest.strip()), ""] if rest.strip() else []
        lines += [
            *_table(departures, failures, tables),
            "",
            *_clauses(departures, tables),
            "",
            *_examples(departures, failures),
        ]
    unable = _by_reason(found - broken, baseline)
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
        yield f"| {_short(operator)} | {data_type} | {', '.join(clauses)} | {outcome} | {_cell(because)} |"
