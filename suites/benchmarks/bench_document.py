"""The document that ``dmlcts bench`` writes (``dmlcts-bench/1``), and its comparison with one that is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dmlcts.backends.processors import usable_processors
from dmlcts.reports.documents.results import environment, suite_identity
from dmlcts.reports.documents.validation import load_document
from dmlcts.specs import UsageError
from dmlcts.specs.oracle.compiled import available
from dmlcts.suites.benchmarks.judging_speed import Figure

SCHEMA = "dmlcts-bench/1"
_YARDSTICKS = ("copy", "rint", "compare")
TOLERATED = 0.2
"""What a figure may lose of its ratio to ``np.rint`` before it counts as slower."""

ANCHOR = {
    "what": "OpenCL CTS, test_bruteforce -16 rint: 2^32 FLOAT32 inputs on PoCL 3.1, two cores, np.rint at 4.15 G/s",
    "elements_per_second": 382_700_000,
    "of_rint": 0.0922,
    "source": "https://github.com/KhronosGroup/OpenCL-CTS/tree/b8f8906c/test_conformance/math_brute_force, "
    "run by us on 2026-11-21",
}
"""What the field's best-known harness reaches, measured on another day beside the same yardstick."""


def document(
    figures: Sequence[Figure],
    backend: str,
    commands: dict[str, Any] | None = None,
    ordinary: dict[str, Any] | None = None,
    engine: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """All figures as one JSON value, each beside the yardsticks.

    Args:
        figures: the yardsticks ``rint``, ``compare`` and ``copy`` are among them.
        backend: what was swept.
        commands: what :func:`command_times` gives, ``None`` where it was not measured.
        ordinary: what :func:`ordinary_run` gives, likewise.
        engine: what :func:`engine_cost` gives, likewise.
    """
    rates = {figure.name: figure.rate for figure in figures}
    return {
        "schema": SCHEMA,
        "backend": backend,
        "processors": usable_processors(),
        "compiled": available(),
        "figures": [
            {
                "name": figure.name,
                "what": figure.what,
                "threads": figure.threads,
                "elements_per_second": round(figure.rate),
                "of_rint": round(figure.rate / rates["rint"], 4),
                "of_compare": round(figure.rate / rates["compare"], 4),
                "of_copy": round(figure.rate / rates["copy"], 4),
                "bar": round(figure.bar) or None,
                "reached": None if not figure.bar else figure.rate >= figure.bar,
                "details": figure.details,
            }
            for figure in figures
        ],
        "anchor": ANCHOR,
        "commands": commands,
        "ordinary_run": ordinary,
        "engine": engine,
        "suite": suite_identity(),
        "environment": environment(),
    }


def load_reference(path: str | Path, backend: str) -> dict[str, Any]:
    """A document that figures can be held against.

    Args:
        path: written by ``dmlcts bench --json``.
        backend: what is about to be measured.

    Raises:
        DocumentError: it is not one.
        UsageError: it describes another backend, or a machine with another number of processors.
    """
    reference = load_document(path, "bench-1", "write one with `dmlcts bench --json FILE`")
    here = usable_processors()
    if reference["backend"] != backend:
        raise UsageError(f"{path} describes {reference['backend']}, not {backend}", "write one for it with --json")
    if reference["processors"] != here:
        raise UsageError(
            f"{path} was measured with {reference['processors']} processors; this machine has {here}",
            "write one for it with --json",
        )
    return reference


def ratios(benchmark: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Each figure's share of ``np.rint``'s rate, now and in the reference, by what was measured; of yardsticks none."""
    then = {figure["what"]: figure["of_rint"] for figure in reference["figures"] if figure["name"] not in _YARDSTICKS}
    return {
        figure["what"]: (figure["of_rint"], then[figure["what"]])
        for figure in benchmark["figures"]
        if figure["what"] in then
    }


def slower(compared: Mapping[str, tuple[float, float]]) -> list[str]:
    """What of :func:`ratios` has lost more than :data:`TOLERATED`."""
    return [what for what, (now, then) in compared.items() if now < (1 - TOLERATED) * then]


def costs(benchmark: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """What the engine costs beside bare numpy, now and in the reference, by the operator; "" for a case."""
    now, then = (_costs(source.get("engine")) for source in (benchmark, reference))
    return {name: (ratio, then[name]) for name, ratio in now.items() if ratio and then.get(name)}


def _costs(engine: Mapping[str, Any] | None) -> dict[str, float]:
    if engine is None:
        return {}
    return {"": engine["case"]["ratio"], **{row["operator"]: row["ratio"] for row in engine["operators"]}}


def dearer(compared: Mapping[str, tuple[float, float]]) -> list[str]:
    """What of :func:`costs` takes so much more that it has lost more than :data:`TOLERATED` of its speed."""
    return [name for name, (now, then) in compared.items() if (1 - TOLERATED) * now > then]


def better(
    first: Mapping[str, tuple[float, float]], other: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """The better of two measurements of each figure; ``other`` may lack some."""
    return {what: max(pair, other.get(what, pair)) for what, pair in first.items()}
