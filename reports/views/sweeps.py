"""What is said of a sweep: a page with a plot of where the failures lie, and the reading back of ``sweep.json``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dmlcts.reports.documents.validation import load_document
from dmlcts.reports.views.html import environment, error_lines, inlined, template

SCHEMA = "dmlcts-sweep/1"
_BIASES = {"FLOAT32": 127, "FLOAT16": 15}
_WIDTH, _HEIGHT, _LEFT, _FOOT = 720, 120, 8, 20


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
            f'height="{height:.1f}" class="bar"><title>{name}: {count:,} wrong</title></rect>'
        )
    ends = [f"2^{end - bias}" if bias else f"{end} bits" for end in (low, high)]
    middle = _LEFT + step * (high - low + 1)
    texts = f'<text x="{_LEFT}" y="{_HEIGHT - 4}">{ends[0]}</text>'
    if high > low:
        texts += f'<text x="{max(middle, 120):.0f}" y="{_HEIGHT - 4}" text-anchor="end">{ends[1]}</text>'
    title = f"wrong elements of {row['target']} by the exponent of the input"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'class="plot" font-size="12" aria-label="{Markup.escape(title)}">{"".join(bars)}{texts}</svg>'
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
            **inlined(template("report.css"), ""),
            record=record,
            verdict=str(record["verdict"]).replace("_", " "),
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
