"""What is said of a sweep: a page with a plot of where the failures lie, and the reading back of ``sweep.json``."""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dmlcts.reports.documents.validation import load_document
from dmlcts.reports.documents.wording import type_order
from dmlcts.reports.summaries.overview import judged_name
from dmlcts.reports.views.html import environment, error_lines, inlined, template

SCHEMA = "dmlcts-sweep/1"
_BIASES = {"FLOAT32": 127, "FLOAT16": 15}
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _FOOT = 720, 170, 64, 8, 22, 40
_TICK_WIDTH = 48.0  # of the longest label, such as "16 bits"


def _power(power: int) -> str:
    """A power of ten as an axis shows it: as a number while it is short."""
    return f"{10**power:,}" if power < 5 else f"10^{power}"


def plot(row: Mapping[str, Any]) -> str:
    """Where the wrong inputs of one target lie: an inline SVG, a bar for each binary exponent (integers: bit length).

    The upright axis counts wrong elements on a logarithmic scale, since a single wrong input matters beside a million.
    """
    counts = {int(key): int(value) for key, value in row["wrong_by_exponent"].items()}
    if not counts:
        return ""
    bias = _BIASES.get(row["data_type"], 0)
    low, high = min(counts), max(counts)
    step = min(_TICK_WIDTH, (_WIDTH - _LEFT - _RIGHT) / (high - low + 1))
    decades = max(1, math.ceil(math.log10(max(counts.values()))))
    ground = _HEIGHT - _FOOT

    def name(exponent: int) -> str:
        return f"2^{exponent - bias}" if bias else f"{exponent} bits"

    def above(count: int) -> float:
        return max(2.0, (ground - _TOP) * math.log10(count) / decades)

    bars = [
        f'<rect x="{_LEFT + step * (exponent - low):.1f}" y="{ground - above(count):.1f}" '
        f'width="{max(1.0, step - 1):.1f}" height="{above(count):.1f}" class="bar">'
        f"<title>{name(exponent)}: {count:,} wrong</title></rect>"
        for exponent, count in sorted(counts.items())
    ]
    axes = [f'<path class="axis" d="M{_LEFT} {_TOP}V{ground}H{_WIDTH - _RIGHT}" fill="none"/>']
    for power in sorted({0, decades // 2, decades}):
        height = ground - (ground - _TOP) * power / decades
        axes.append(f'<path class="grid" d="M{_LEFT} {height:.1f}H{_WIDTH - _RIGHT}"/>')
        axes.append(
            f'<text class="value" x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{_power(power)}</text>'
        )
    every = math.ceil(_TICK_WIDTH / step)
    for exponent in range(low, high + 1, every):
        middle = _LEFT + step * (exponent - low + 0.5)
        axes.append(f'<text class="tick" x="{middle:.1f}" y="{ground + 14}">{name(exponent)}</text>')
    across = "exponent of the input" if bias else "bit length of the input"
    axes.append(f'<text class="name" x="{_LEFT}" y="{_HEIGHT - 6}">{across}</text>')
    axes.append(f'<text class="name" x="2" y="{_TOP - 10}">wrong elements</text>')
    title = f"wrong elements of {row['target']} by the {across}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'class="plot" font-size="12" aria-label="{Markup.escape(title)}">{"".join(axes)}{"".join(bars)}</svg>'
    )


def page(record: Mapping[str, Any]) -> str:
    """The record as one HTML page in the style of results.html, which loads nothing."""
    failing = [row for row in record["sweeps"] if row["wrong"] or row["unwritten"] or row["stopped"]]
    device = record["device"]
    library = " ".join(filter(None, (device["library"], device["version"])))
    identity = [
        ("backend", record["backend"]),
        ("adapter", device["adapter"]),
        ("driver", device["driver"]),
        ("library", library),
        ("judged at feature level", record["feature_level"]),
        ("profile", record["profile"] + (", strict IEEE 754" if record["strict"] else "")),
        ("seed", str(record["seed"])),
        ("suite", f"dmlcts {record['suite']['version']}"),
    ]
    rendered = (
        environment()
        .get_template("sweep.html")
        .render(
            **inlined(template("report.css"), template("page.js")),
            record=record,
            verdict=str(record["verdict"]).replace("_", " "),
            judged=judged_name(record["backend"], device),
            operators=sorted({row["operator"] for row in record["sweeps"]}),
            types=sorted({row["data_type"] for row in record["sweeps"]}, key=type_order),
            identity=[(label, value) for label, value in identity if value],
            elements=sum(row["elements"] for row in record["sweeps"]),
            wrong=sum(row["wrong"] for row in record["sweeps"]),
            failing=failing,
            errors=error_lines(record),
            plot=lambda row: Markup(plot(row)),  # noqa: S704  # made above of numbers and escaped text
            version=importlib.metadata.version("dmlcts"),
        )
    )
    return rendered.lstrip() + "\n"


def load_sweep(path: str | Path) -> dict[str, Any]:
    """Read and check a sweep's record, given its path or the folder that holds its ``sweep.json``.

    Raises:
        DocumentError: it cannot be read, or is no valid record.
    """
    path = Path(path)
    if path.is_dir():
        path /= "sweep.json"
    return load_document(path, "sweep-1", "give the sweep.json that `dmlcts sweep` wrote, or its folder")
