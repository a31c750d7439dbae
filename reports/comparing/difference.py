"""What changed between two runs: ``dmlcts diff A B``.

Rows are compared by clause, operator and data type. What changed because the runs were different runs (another
level, other tables, another selection) is listed beside what changed in the implementation.

A *regression* is what B must not bring: a row that breaks conformance and did not in A, or that breaks it in a
worse way (``fail`` to ``crash``), or that A checked and B did not run, though required; a test that ended badly outside
any clause; an interrupted run. A row that A does not have at all is news, and a regression only where it breaks
conformance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.wording import places, short
from dmlcts.reports.summaries.characters import one_line
from dmlcts.reports.summaries.measured import error_text, losses
from dmlcts.reports.summaries.overview import outcome_of
from dmlcts.reports.summaries.provenance import Provenance
from dmlcts.reports.views.markdown import cell, code, table
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

SCHEMA = "dmlcts-difference/1"

_IDENTITY = ("backend", "feature_level", "profile", "seed", "strict", "selection")
_DEVICE = ("name", "adapter", "driver", "library", "version", "feature_level", "data_types")
REGRESSIONS = ("newly_failing", "failing_worse", "no_longer_run", "appeared_failing", "newly_stray")
"""The lists of a difference that are regressions."""

TITLES = {
    "newly_failing": "newly failing",
    "failing_worse": "failing in a worse way",
    "no_longer_run": "no longer run",
    "appeared_failing": "new in B, and failing",
    "newly_stray": "failed outside any clause",
    "newly_passing": "newly passing",
    "changed": "otherwise changed",
    "appeared": "new in B",
    "disappeared": "not in B",
}
"""The lists of a difference, with what each holds."""
_CLEAN = (Outcome.PASS, Outcome.CHARACTERISED)


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> Iterator[dict[str, Any]]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield {"what": prefix + name, "before": before.get(name), "after": after.get(name)}


def _identity(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    def chosen(results: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        return {name: results[name] for name in names}

    changes = list(_changes(chosen(first, _IDENTITY), chosen(second, _IDENTITY)))
    changes += _changes(chosen(first["device"], _DEVICE), chosen(second["device"], _DEVICE), "device ")
    changes += _changes(first["suite"], second["suite"], "suite ")
    changes += _changes(first["specs"], second["specs"], "table ")
    return changes


def _row(row: Mapping[str, Any]) -> dict[str, str]:
    return {"clause": row["id"], "operator": row["operator"], "data_type": row["data_type"]}


def _kind(before: Outcome, after: Outcome) -> str:
    """Which list a row belongs in, whose outcome changed."""
    if after.breaks_conformance:
        if not before.breaks_conformance:
            return "newly_failing"
        return "failing_worse" if after < before else "changed"
    if after.did_not_run and not before.did_not_run:
        return "no_longer_run"
    if after in _CLEAN and (before.breaks_conformance or before is Outcome.WAIVED):
        return "newly_passing"
    return "changed"


def _rows(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    def keyed(results: Mapping[str, Any]) -> dict[tuple[str, ...], Mapping[str, Any]]:
        return {(row["id"], row["operator"], row["data_type"]): row for row in results["clauses"]}

    before, after = keyed(first), keyed(second)
    changes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old is None and new is not None:
            outcome = outcome_of(new)
            kind = "appeared_failing" if outcome.breaks_conformance else "appeared"
            changes[kind].append(_row(new) | {"before": None, "after": outcome.value})
        elif new is None and old is not None:
            changes["disappeared"].append(_row(old) | {"before": old["outcome"], "after": None})
        elif old is not None and new is not None and old["outcome"] != new["outcome"]:
            kind = _kind(outcome_of(old), outcome_of(new))
            changes[kind].append(_row(new) | {"before": old["outcome"], "after": new["outcome"]})
    return changes


def _strays(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, str]]:
    """Tests of B that ended badly outside any clause, and did not end like that in A."""

    def bad(results: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
        return {
            (failure["test"], failure["outcome"]): failure
            for failure in results["failures"]
            if not failure["clause"] and outcome_of(failure).breaks_conformance
        }

    known, now = bad(first), bad(second)
    return [
        {"test": test, "outcome": outcome, "title": now[test, outcome]["title"]}
        for test, outcome in sorted(now.keys() - known.keys())
    ]


def _behaviours(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    def keyed(results: Mapping[str, Any]) -> dict[tuple[str, str, str], list[str]]:
        behaviours: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for behaviour in results["behaviours"]:
            behaviours[behaviour["clause"], behaviour["operator"], behaviour["data_type"]].append(
                behaviour["behaviour"]
            )
        return behaviours

    before, after = keyed(first), keyed(second)
    return [
        {
            "clause": key[0],
            "operator": key[1],
            "data_type": key[2],
            "before": "; ".join(before[key]) if key in before else None,
            "after": "; ".join(after[key]) if key in after else None,
        }
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """What changed from one results document to another (``schemas/difference-1.json``).

    Args:
        first: A, the run to compare with.
        second: B, the run in question.
    """
    rows = _rows(first, second)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "regression": False,
        "verdict": {"before": first["verdict"], "after": second["verdict"]},
        "made_with": {
            "before": Provenance.of("A", first).to_json(),
            "after": Provenance.of("B", second).to_json(),
        },
        "identity": _identity(first, second),
        **{name: rows[name] for name in TITLES if name != "newly_stray"},
        "newly_stray": _strays(first, second),
        "newly_interrupted": bool(second["interrupted"] and not first["interrupted"]),
        "behaviours": _behaviours(first, second),
        "lost_accuracy": losses(first, second),
    }
    document["regression"] = document["newly_interrupted"] or any(document[name] for name in REGRESSIONS)
    return document


def grouped_rows(rows: list[Mapping[str, Any]], tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Clause, change and places of rows that changed alike."""
    alike: dict[tuple[str, Any, Any], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        alike[row["clause"], row["before"], row["after"]].append((row["operator"], row["data_type"]))
    for (clause, before, after), pairs in alike.items():
        change = " → ".join(value for value in (before, after) if value is not None)
        yield clause, change, places(pairs, tables)


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if value == {}:
        return "everything"
    text = str(value)
    return text[:12] if len(text) == 64 and text.isalnum() else text


def _lost(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Place, change and operands of each loss of accuracy."""
    for loss in document["lost_accuracy"]:
        change = f"{error_text(loss['before'])} → {error_text(loss['after'])} ULP"
        yield f"{short(loss['operator'])} on {loss['types']}", change, loss["at"]


def made_with_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """What A and B were made with, a line each, and a line more where their tables differ."""
    made = document["made_with"]
    first, second = Provenance.read("A", made["before"]), Provenance.read("B", made["after"])
    yield f"A: {first}"
    yield f"B: {second}"
    if first.tables != second.tables:
        yield "B was made with other tables than A: a changed row may be a changed table"


def closing(document: Mapping[str, Any]) -> str:
    """The difference in one line."""
    counts = [f"{len(document[name])} {title}" for name, title in TITLES.items() if document[name]]
    counts += ["the run was interrupted"] if document["newly_interrupted"] else []
    counts += [f"{many(len(document['behaviours']), 'behaviour')} changed"] if document["behaviours"] else []
    lost = len(document["lost_accuracy"])
    counts += [f"{many(lost, 'loss', 'losses')} of accuracy"] if lost else []
    summary = ", ".join(counts) or "nothing changed in rows and behaviours"
    return f"{'REGRESSION' if document['regression'] else 'no regression'}: {summary}"


def text(document: Mapping[str, Any], tables: Tables) -> str:
    """The difference for a terminal."""
    verdict = document["verdict"]
    lines = [
        f"verdict: {verdict['before']}" + (f" -> {verdict['after']}" if verdict["before"] != verdict["after"] else "")
    ]
    lines += made_with_lines(document)
    if document["identity"]:
        lines += ["", "the runs are different runs:"]
        lines += [
            f"  {identity_change['what']}: {_shown(identity_change['before'])} -> {_shown(identity_change['after'])}"
            for identity_change in document["identity"]
        ]
    for name, title in TITLES.items():
        if document[name]:
            lines += ["", f"{title} ({len(document[name])}):"]
            if name == "newly_stray":
                lines += [
                    f"  {failure['test']}: {failure['outcome']}: {failure['title']}" for failure in document[name]
                ]
            else:
                groups = grouped_rows(document[name], tables)
                lines += [f"  {clause} · {where}: {change.replace('→', '->')}" for clause, change, where in groups]
    if document["behaviours"]:
        lines += ["", f"changed behaviour where the pages are silent ({len(document['behaviours'])}):"]
        for clause, change, where in grouped_rows(document["behaviours"], tables):
            lines.append(f"  {clause} · {where}: {change.replace('→', '->')}")
    if document["lost_accuracy"]:
        lines += ["", f"lost accuracy ({len(document['lost_accuracy'])}), which is no regression within the bounds:"]
        lines += [f"  {where}: {change.replace('→', '->')}, at {at}" for where, change, at in _lost(document)]
    return "\n".join(one_line(line) for line in [*lines, "", closing(document)]) + "\n"


def markdown(document: Mapping[str, Any], tables: Tables) -> str:
    """The difference for a pull request."""
    verdict = document["verdict"]
    sign = "❌" if document["regression"] else "✅"
    lines = [f"## {sign} {closing(document)}", "", f"Verdict: {verdict['before']} → {verdict['after']}."]
    lines += ["", *(f"- {code(line)}" for line in made_with_lines(document))]
    if document["identity"]:
        lines += ["", "The runs are different runs:", ""]
        rows = [
            [
                cell(identity_change["what"]),
                cell(_shown(identity_change["before"])),
                cell(_shown(identity_change["after"])),
            ]
            for identity_change in document["identity"]
        ]
        lines += table(["what", "A", "B"], rows)
    for name, title in TITLES.items():
        if not document[name]:
            continue
        lines += ["", f"### {title[0].upper()}{title[1:]}", ""]
        if name == "newly_stray":
            lines += [
                f"- {code(failure['test'])}: {failure['outcome']}, {code(failure['title'])}"
                for failure in document[name]
            ]
        else:
            groups = grouped_rows(document[name], tables)
            lines += table(["clause", "change", "where"], ([cell(part) for part in row] for row in groups))
    if document["behaviours"]:
        lines += ["", "### Changed behaviour where the pages are silent", ""]
        groups = grouped_rows(document["behaviours"], tables)
        lines += table(["clause", "change", "where"], ([cell(part) for part in row] for row in groups))
    if document["lost_accuracy"]:
        lines += ["", "### Lost accuracy", "", "No regression within the bounds that are judged.", ""]
        lines += table(["where", "largest error", "at"], ([cell(part) for part in row] for row in _lost(document)))
    return "\n".join(lines) + "\n"
