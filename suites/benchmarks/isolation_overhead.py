"""What isolation costs: ``python -m dmlcts.suites.benchmarks.isolation_overhead``.

The same cases are judged on the same backend in this process and in a worker, in turn, in one run, so that what else
the machine does weighs on both alike. A *small* dispatch is one of a few elements: what it costs more is what isolation
costs a dispatch. *Bulk* work is judging cases of a million elements as the suite does, from laying out the memory to
the last comparison.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.running.options import Settings

MOST_SECONDS_A_DISPATCH = 0.0003
MOST_BULK_SHARE = 0.20
_SMALL = 64


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(first: Callable[[], Any], other: Callable[[], Any], rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of each round of both, after one round that does not count; who begins changes with every round."""
    first()
    other()
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        order = ((first, seconds[0]), (other, seconds[1]))
        for work, kept in order if number % 2 else order[::-1]:
            kept.append(timed(work))
    return seconds


def clip_case(bench: Bench, count: int) -> Case:
    """A CLIP of so many FLOAT32 elements."""
    subject = Subject.on(bench.tables.operator("CLIP"), DataType.FLOAT32, bench.level)
    attributes = subject.revealing()
    operator = subject.describe(subject.flat(count), attributes)
    return Case(operator, Values.bulk(DataType.FLOAT32, count), subject.values_clause(attributes))


def dispatcher(bench: Bench, case: Case) -> Callable[[], Any]:
    """Dispatches the case again and again, on one kernel and memory."""
    kernel = bench.create(case.operator)
    arena = bench.prepare(case)

    def dispatch() -> None:
        mishap = bench.dispatch(kernel, arena)
        assert mishap is None, mishap  # noqa: S101  # a failing dispatch measures nothing

    assert isinstance(bench.run(case), Execution)  # noqa: S101  # as above
    return dispatch


def print_figures(figures: dict[str, Any], most_seconds: float, most_share: float) -> bool:
    """Print what was measured beside what it may be.

    Args:
        figures: with what is ``added`` to a dispatch, in seconds, and the ``added_share`` of bulk work.
        most_seconds: what may be added to a dispatch.
        most_share: what may be added to bulk work.

    Returns:
        Whether one of the two is more than it may be.
    """
    added, share = figures["dispatch_seconds"]["added"], figures["bulk_seconds"]["added_share"]
    click.echo(json.dumps(figures, indent=2))
    click.echo(
        f"{1000 * added:.3f} ms a dispatch (at most {1000 * most_seconds:g}), "
        f"{100 * share:+.1f} % on bulk work (at most {100 * most_share:g} %)"
    )
    return bool(added > most_seconds or share > most_share)


def measure(backend: str, rounds: int, bulk_rounds: int, elements: int) -> dict[str, Any]:
    """Seconds a small dispatch and a bulk judgement take with and without isolation: medians, and what is added."""
    benches = [Settings.read(backend=backend, isolation=isolation).open() for isolation in ("none", "process")]
    try:
        first, other = (dispatcher(bench, clip_case(bench, _SMALL)) for bench in benches)
        small = in_turn(first, other, rounds)
        large = [clip_case(bench, elements) for bench in benches]
        bulk = in_turn(lambda: judge_case(benches[0], large[0]), lambda: judge_case(benches[1], large[1]), bulk_rounds)
    finally:
        for bench in benches:
            bench.close()
    inside, outside = (statistics.median(kept) for kept in small)
    plain, isolated = (statistics.median(kept) for kept in bulk)
    return {
        "backend": backend,
        "rounds": rounds,
        "bulk_rounds": bulk_rounds,
        "elements": elements,
        "numpy": np.__version__,
        "dispatch_seconds": {"none": inside, "process": outside, "added": outside - inside},
        "bulk_seconds": {"none": plain, "process": isolated, "added_share": isolated / plain - 1},
    }


@click.command()
@click.option("--backend", default="cpu", show_default=True)
@click.option("--rounds", default=2000, show_default=True, help="Small dispatches each way.")
@click.option("--bulk-rounds", default=30, show_default=True, help="Bulk judgements each way.")
@click.option("--elements", default=1 << 20, show_default=True, help="Elements of a bulk case.")
def main(backend: str, rounds: int, bulk_rounds: int, elements: int) -> None:
    """Measure what isolation costs; exit code 1 where it is more than it may."""
    figures = measure(backend, rounds, bulk_rounds, elements)
    sys.exit(print_figures(figures, MOST_SECONDS_A_DISPATCH, MOST_BULK_SHARE))


if __name__ == "__main__":
    main()
