"""Every figure of ``dmlcts bench``: yardsticks, judging alone, sweeps; and again what seems slower than it was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.backends.processors import usable_processors
from dmlcts.specs import UsageError
from dmlcts.specs.oracle.compiled import available
from dmlcts.suites.benchmarks.bench_document import better, costs, dearer, document, ratios, slower
from dmlcts.suites.benchmarks.engine_cost import engine_cost
from dmlcts.suites.benchmarks.judging_speed import SWEEP_BAR, Figure, sweep_name, swept, yardsticks_and_judging

Report = Callable[[str], None]

_SWEEPS = (
    # operator, data type, targets (0: all), compiled, what it must reach
    ("ROUND", "FLOAT32", 0, True, SWEEP_BAR),
    ("CLIP", "FLOAT32", 2, True, 0.0),
    ("CLIP", "INT32", 2, True, 0.0),
    ("ROUND", "FLOAT32", 0, False, SWEEP_BAR),
)
_TRIES = 3


@dataclass(frozen=True)
class Measured:
    """What is measured, and how.

    Attributes:
        backend: the implementation that is swept, as ``--backend`` names it.
        options: its options.
        rounds: how often yardsticks and judging are measured; the best counts.
        workers: processes of a sweep, 0 for what it takes by default.
        share: sweep one in so many of the inputs.
        isolation: as ``--isolation`` has it.
    """

    backend: str
    options: tuple[str, ...]
    rounds: int
    workers: int
    share: int
    isolation: str


def figures_of(asked: Measured, report: Report, only: Collection[str] = ()) -> list[Figure]:
    """The yardsticks, judging alone, and the sweeps, or those of the sweeps whose names are asked for.

    Args:
        asked: what to measure.
        report: called with a line on what is going on.
        only: names of sweeps' figures; none means all.
    """
    figures = yardsticks_and_judging(asked.rounds, usable_processors(), report)
    for operator, data_type, targets, compiled, bar in _SWEEPS if available() else _SWEEPS[:-1]:
        name = sweep_name(operator, data_type, compiled=compiled)
        if only and name not in only:
            continue
        figures.append(
            swept(
                asked.backend,
                asked.options,
                operator,
                data_type,
                report,
                workers=asked.workers,
                share=asked.share,
                targets=targets,
                compiled=compiled,
                bar=bar,
                isolation=asked.isolation,
            )
        )
    return figures


def again_where_slower(
    asked: Measured,
    benchmark: Mapping[str, Any],
    reference: Mapping[str, Any],
    report: Report,
    measure: Callable[[Measured, Report, Collection[str]], list[Figure]] = figures_of,
) -> dict[str, tuple[float, float]]:
    """Each figure's share of ``np.rint``'s rate, now and in the reference; what seems slower is measured twice again.

    Other work on the machine slows a figure once; what the suite lost stays lost.

    Raises:
        UsageError: no figure was measured alike in both.
    """
    compared = ratios(benchmark, reference)
    if not compared:
        raise UsageError("the two have no figure in common", "measure both with the same options")
    names = {figure["what"]: figure["name"] for figure in benchmark["figures"]}
    for _ in range(_TRIES - 1):
        slow = slower(compared)
        if not slow:
            break
        report(f"measured again, since slower: {'; '.join(slow)}")
        again = document(measure(asked, report, {names[what] for what in slow}), asked.backend)
        compared = better(compared, ratios(again, reference))
    return compared


def again_where_dearer(
    benchmark: Mapping[str, Any],
    reference: Mapping[str, Any],
    report: Report,
    measure: Callable[[Sequence[str], Report], dict[str, Any]] = engine_cost,
) -> dict[str, tuple[float, float]]:
    """What the engine costs, now and in the reference; what seems dearer is measured twice again, and the least counts.

    A reference that says nothing of it is compared with nothing.
    """
    compared = costs(benchmark, reference)
    for _ in range(_TRIES - 1):
        dear = dearer(compared)
        if not dear:
            break
        report(f"the engine is measured again, since dearer: {', '.join(name or 'a case' for name in dear)}")
        again = costs({"engine": measure([name for name in dear if name], report)}, reference)
        compared = {name: min(pair, again.get(name, pair)) for name, pair in compared.items()}
    return compared
