"""What is said of a sweep: a page with a plot of where the failures lie, and the reading back of ``sweep.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from dmlcts.reports.validation import load_document

SCHEMA = "dmlcts-sweep/1"
_BIASES = {"FLOAT32": 127, "FLOAT16": 15}
_WIDTH, _HEIGHT, _LEFT, _FOOT = 720, 120, 8, 20

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sweep of {{ record.backend }}: {{ verdict }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .6rem; text-align: left; border-bottom: 1px solid #ccc; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } svg { max-width: 100%; } code { font-size: .9em; }
</style>
<h1>{{ record.backend }}: {{ verdict }}</h1>
<p>{{ "{:,}".format(elements) }} elements judged on {{ record.device.adapter or record.device.name }}
at feature level {{ record.feature_level }}; in the last sitting
{{ "{:,}".format(record.timings.elements_per_second) }} a second.
{% if record.interrupted %}The sweep was stopped before its end.{% endif %}</p>
{% for row in failing %}
<h2>{{ row.target }}</h2>
<p>{{ "{:,}".format(row.wrong) }} of {{ "{:,}".format(row.elements) }} elements are wrong
{%- if row.unwritten %}, {{ "{:,}".format(row.unwritten) }} were not written{% endif %}.</p>
{% if row.wrong_by_exponent %}{{ plot(row) }}{% endif %}
{% if row.wrong_by_fraction %}<p>By the input's fraction:
{% for name, number in row.wrong_by_fraction.items() %}{{ name }} {{ "{:,}".format(number) }}
{%- if not loop.last %}, {% endif %}{% endfor %}.</p>{% endif %}
<table><tr><th>simplest wrong inputs<th>got</tr>
{% for one in row.simplest_wrong %}<tr><td><code>{{ one.input }}</code><td><code>{{ one.got }}</code></tr>{% endfor %}
</table>
{% endfor %}
<h2>All targets</h2>
<table><tr><th>target<th>clause<th>judged<th>planned<th>wrong</tr>
{% for row in record.sweeps %}<tr><td>{{ row.target }}<td>{{ row.clause }}
<td class="n">{{ "{:,}".format(row.elements) }}
<td class="n">{{ "{:,}".format(row.elements_planned) }}<td class="n">{{ "{:,}".format(row.wrong) }}</tr>{% endfor %}
</table></html>
"""


def plot(row: Mapping[str, Any]) -> str:
    """Where the wrong inputs of one target lie: an inline SVG, a bar for each binary exponent (integers: bit length).

    The bars' heights are logarithmic, since a single wrong input matters beside a million.
    """
    counts = {int(key): int(value) for key, value in row["wrong_by_exponent"].items()}
    if not counts:
        return ""
    bias = _BIASES.get(row["data_type"], 0)
    low, high = min(counts), max(counts)
    step = min(24.0, (_WIDTH - 2 * _LEFT) / (high - low + 1))
    most = max(counts.values()).bit_length()
    bars = []
    for exponent, count in sorted(counts.items()):
        height = max(2.0, (_HEIGHT - _FOOT) * count.bit_length() / most)
        left = _LEFT + step * (exponent - low)
        name = f"2^{exponent - bias}" if bias else f"{exponent} bits"
        bars.append(
            f'<rect x="{left:.1f}" y="{_HEIGHT - _FOOT - height:.1f}" width="{max(1.0, step - 1):.1f}" '
            f'height="{height:.1f}"><title>{name}: {count:,} wrong</title></rect>'
        )
    ends = [f"2^{end - bias}" if bias else f"{end} bits" for end in (low, high)]
    middle = _LEFT + step * (high - low + 1)
    texts = f'<text x="{_LEFT}" y="{_HEIGHT - 4}">{ends[0]}</text>'
    if high > low:
        texts += f'<text x="{max(middle, 120):.0f}" y="{_HEIGHT - 4}" text-anchor="end">{ends[1]}</text>'
    title = f"wrong elements of {row['target']} by the exponent of the input"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'font-size="12" fill="#b00020" aria-label="{Markup.escape(title)}">{"".join(bars)}{texts}</svg>'
    )


def page(record: Mapping[str, Any]) -> str:
    """The record as one HTML page that needs no other file."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    failing = [row for row in record["sweeps"] if row["wrong"] or row["unwritten"]]
    return environment.from_string(_PAGE).render(
        record=record,
        verdict=str(record["verdict"]).replace("_", " "),
        elements=sum(row["elements"] for row in record["sweeps"]),
        failing=failing,
        plot=lambda row: Markup(plot(row)),  # noqa: S704  # made above of numbers and escaped text
    )


def load_sweep(path: str | Path) -> dict[str, Any]:
    """Read and check a sweep's record, given its path or the folder that holds its ``sweep.json``.

    Raises:
        DocumentError: it cannot be read, or is no valid record.
    """
    path = Path(path)
    if path.is_dir():
        path /= "sweep.json"
    return load_document(path, "sweep-1", "give the sweep.json that `dmlcts sweep` wrote, or its folder")
