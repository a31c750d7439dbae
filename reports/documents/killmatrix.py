"""The kill matrix as JSON, as a terminal summary and as one HTML page: the result of the suite's proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from rich.console import Console
from rich.table import Table

from dmlcts.reports.documents.validation import load_document

SCHEMA = "dmlcts-selftest/1"
EXPECTED_KILLS = ("", "sweep")  # what a mutant may need and must be killed all the same


def document(
    kills: Sequence[Mapping[str, Any]],
    clearances: Sequence[Mapping[str, Any]],
    unproven: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
) -> dict[str, Any]:
    """The proof as one JSON value (``dmlcts-selftest/1``).

    Args:
        kills: one object a mutant and seed.
        clearances: one object a permitted implementation and seed.
        unproven: mutants that were not run here, with what they need.
        seeds: the seeds that were used.
    """
    return {
        "schema": SCHEMA,
        "seeds": list(seeds),
        "score": {
            "mutants": len(kills),
            "killed": sum(bool(kill["killed"]) for kill in kills),
            "rightly": sum(bool(kill["rightly"]) for kill in kills),
            "permitted": len(clearances),
            "alarms": sum(bool(clearance["alarms"]) for clearance in clearances),
            "not_run": len(unproven),
        },
        "kills": [dict(kill) for kill in kills],
        "clearances": [dict(clearance) for clearance in clearances],
        "not_run": [dict(mutant) for mutant in unproven],
    }


def load_proof(path: str | Path) -> dict[str, Any]:
    """Read and check what ``dmlcts selftest --json`` wrote.

    Raises:
        DocumentError: it cannot be read, is no JSON, or is no proof.
    """
    return load_document(path, "selftest-1", "give the file that `dmlcts selftest --json` wrote")


def unexpected(proof: Mapping[str, Any]) -> list[str]:
    """What must not be: survivors and misattributed kills that quick profile or sweep should see, false alarms."""
    problems = []
    for kill in proof["kills"]:
        if kill["needs"] not in EXPECTED_KILLS:
            continue
        if not kill["killed"]:
            problems.append(f"survivor: {kill['mutant']} (seed {kill['seed']}): {kill['fault']}")
        elif not kill["rightly"]:
            seen = ", ".join(kill["clauses"])
            problems.append(
                f"misattributed: {kill['mutant']} (seed {kill['seed']}) breaks {kill['clause']}, reported {seen}"
            )
    for clearance in proof["clearances"]:
        problems += [
            f"false alarm: {clearance['name']} (seed {clearance['seed']}): {alarm}" for alarm in clearance["alarms"]
        ]
    verdicts: dict[str, set[bool]] = {}
    for kill in proof["kills"]:
        verdicts.setdefault(kill["mutant"], set()).add(bool(kill["killed"]))
    problems += [f"another seed, another verdict: {name}" for name, seen in verdicts.items() if len(seen) > 1]
    return problems


def powers(proof: Mapping[str, Any]) -> Counter[str]:
    """For each clause, how many mutants were reported under it and under no other."""
    only: Counter[str] = Counter()
    for name in {kill["mutant"] for kill in proof["kills"]}:
        clauses = {clause for kill in proof["kills"] if kill["mutant"] == name for clause in kill["clauses"]}
        if len(clauses) == 1:
            only.update(clauses)
    return only


def print_proof(proof: Mapping[str, Any], console: Console) -> None:
    """The kill matrix, then survivors and false alarms, then the score in one line."""
    table = Table("mutant", "clause that killed it", "also reported", "cases", "seconds")
    first = proof["seeds"][0]
    for kill in proof["kills"]:
        if kill["seed"] != first:
            continue
        others = ", ".join(clause for clause in kill["clauses"] if clause != kill["clause"])
        state = kill["clause"] if kill["rightly"] else ("misattributed" if kill["killed"] else "SURVIVED")
        table.add_row(kill["mutant"], state, others, str(kill["cases"]), f"{kill['seconds']:.1f}")
    console.print(table)
    for mutant in proof["not_run"]:
        console.print(
            f"not run here: {mutant['mutant']} needs {mutant['needs']}: {mutant['fault']}",
            markup=False,
            highlight=False,
        )
    for kill in proof["kills"]:
        if kill["needs"] and kill["seed"] == first:
            how = "killed by a sweep" if kill["needs"] == "sweep" else "killed all the same"
            state = how if kill["killed"] else "survives the quick profile"
            console.print(
                f"{state}: {kill['mutant']} needs {kill['needs']}: {kill['fault']}", markup=False, highlight=False
            )
    for text in unexpected(proof):
        console.print(text, style="bold red", markup=False, highlight=False)
    score = proof["score"]
    console.print(
        f"{score['rightly']} of {score['mutants']} mutants killed under their clause, {score['killed']} killed at all; "
        f"{score['alarms']} false alarms on {score['permitted']} permitted implementations; "
        f"seeds {', '.join(map(str, proof['seeds']))}; {score['not_run']} mutants not run here",
        highlight=False,
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>dmlcts selftest</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } th, td { border-bottom: 1px solid #ccc; padding: .3rem .6rem;
text-align: left; vertical-align: top; } th { position: sticky; top: 0; background: #f4f4f4; }
pre { margin: 0; white-space: pre-wrap; font-size: 12px; } .bad { font-weight: bold; color: #a40000; }
@media (prefers-color-scheme: dark) { body { background: #161616; color: #eee; } th { background: #2a2a2a; }
.bad { color: #ff8f8f; } }
</style></head><body>
<h1>dmlcts selftest</h1>
<p>{{ score.rightly }} of {{ score.mutants }} mutants killed under their clause; {{ score.alarms }} false alarms on
{{ score.permitted }} permitted implementations; seeds {{ seeds | join(", ") }}.</p>
{% for text in unexpected %}<p class="bad">{{ text }}</p>{% endfor %}
<h2>Mutants</h2>
<table><thead><tr><th>mutant</th><th>fault</th><th>clause</th><th>reported</th><th>seed</th><th>cases</th><th>seconds</th>
<th>first failure</th></tr></thead><tbody>
{% for kill in kills %}<tr><td>{{ kill.mutant }}</td><td>{{ kill.fault }}{% if kill.modelled_on %}<br>
<small>{{ kill.modelled_on }}</small>{% endif %}</td><td>{{ kill.clause }}</td>
<td{% if not kill.rightly %} class="bad"{% endif %}>{{ kill.clauses | join(", ") or "survived" }}</td>
<td>{{ kill.seed }}</td><td>{{ kill.cases }}</td><td>{{ "%.1f" | format(kill.seconds) }}</td>
<td><details><summary>{{ kill.test or "none" }}</summary><pre>{{ kill.account }}</pre></details></td></tr>
{% endfor %}</tbody></table>
<h2>Permitted implementations</h2>
<table><thead><tr><th>implementation</th><th>latitude</th><th>strict</th><th>seed</th><th>cases</th>
<th>false alarms</th></tr></thead><tbody>
{% for one in clearances %}<tr><td>{{ one.name }}</td><td>{{ one.latitude }}</td><td>{{ one.strict }}</td>
<td>{{ one.seed }}</td><td>{{ one.cases }}</td>
<td{% if one.alarms %} class="bad"{% endif %}>{{ one.alarms | join("; ") or "none" }}</td></tr>
{% endfor %}</tbody></table>
</body></html>
"""


def html(proof: Mapping[str, Any]) -> str:
    """The proof as one self-contained page."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(_PAGE).render(**proof, unexpected=unexpected(proof))
