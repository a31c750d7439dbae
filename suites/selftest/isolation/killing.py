"""Runs whose worker is killed at a random moment: ``python -m dmlcts.suites.selftest.isolation.killing``.

Each run judges the same tests on a right implementation, and its process is killed once, somewhen. The verdict must
be what it is without that, but for the case that was running: it is blamed, once, as what does not happen again.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import click

from dmlcts.specs import DataType
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.proof.probes import Probe, probes

_CLAUSES = ("round.nearest-even", "round.infinity", "execution.repeatable", "tensor.rank.maximum")


@dataclass
class Killed:
    """The results of the runs.

    Attributes:
        runs: how many there were.
        blamed: in how many a case was blamed.
        wrong: what must not have happened.
    """

    runs: int = 0
    blamed: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def _chosen() -> list[Probe]:
    chosen_probes = [
        probe
        for probe in probes(load_tables())
        if probe.table.short_name == "ROUND" and probe.data_type is DataType.FLOAT16 and probe.clauses[0] in _CLAUSES
    ]
    assert chosen_probes, "the selection is empty"
    return chosen_probes


def _kill_later(bench: Bench, seconds: float) -> threading.Timer:
    def kill() -> None:
        process = bench._device.host._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    timer = threading.Timer(seconds, kill)
    timer.start()
    return timer


def run_once(tests: list[Probe], seconds: float | None) -> tuple[dict[str, Any], list[Any], float]:
    """One run; killed after so many seconds. Gives the failing cases by row, the findings, and how long it took."""
    backend = IsolatedBackend("dmlcts.backends.cpu:CpuBackend")
    bench = Bench("killed", backend, {}, load_tables())
    timer = None if seconds is None else _kill_later(bench, seconds)
    started = time.perf_counter()
    failures: dict[str, int] = {}
    findings: list[Any] = []
    try:
        for probe in tests:
            judge = probe.run(bench, 0)
            for row, tally in judge.ledger.tallies.items():
                failures[row[0]] = failures.get(row[0], 0) + tally.failures
            findings += judge.ledger.findings
    finally:
        spent = time.perf_counter() - started
        if timer is not None:
            timer.cancel()
            timer.join()
        bench.close()
    return failures, findings, spent


def kill_runs(runs: int, seed: int, report: Callable[[str], None] = lambda text: None) -> Killed:
    """Kill so many runs, each at another moment."""
    tests = _chosen()
    clean, none, spent = run_once(tests, None)
    summary = Killed()
    if none or any(clean.values()):
        summary.wrong.append(f"the control fails: {none}")
    chance = random.Random(seed)  # noqa: S311  # not a secret
    for number in range(runs):
        failures, findings, spent = run_once(tests, chance.uniform(0, spent))
        summary.runs += 1
        summary.blamed += bool(findings)
        for finding in findings:
            summary.outcomes[f"{finding.outcome} {finding.clause}"] += 1
            if finding.clause != "execution.repeatable" or not finding.settled or finding.outcome != "resource_error":
                summary.wrong.append(f"run {number}: {finding.outcome} of {finding.clause}: {finding.title}")
        if len(findings) > 1:
            as_own_case = "; ".join(
                f"{blamed_finding.title} ({blamed_finding.case.expectation}, {blamed_finding.details})"
                for blamed_finding in findings
            )
            summary.wrong.append(f"run {number}: {len(findings)} cases were blamed: {as_own_case}")
        others = {row: count for row, count in failures.items() if count and row != "execution.repeatable"}
        if others or set(clean) - set(failures):
            summary.wrong.append(f"run {number}: other rows differ: {others or set(clean) - set(failures)}")
        if number % 20 == 19:
            report(f"{number + 1} runs, {summary.blamed} blamed a case, {len(summary.wrong)} wrong")
    return summary


@click.command()
@click.option("--runs", default=200, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(runs: int, seed: int) -> None:
    """Kill the worker of run after run; exit code 1 where a verdict changed but for the blamed case."""
    summary = kill_runs(runs, seed, lambda text: click.echo(text, err=True))
    for text in summary.wrong:
        click.echo(text)
    outcomes = ", ".join(f"{times} {words}" for words, times in summary.outcomes.items())
    click.echo(f"{summary.runs} runs killed, {summary.blamed} blamed a case ({outcomes}), {len(summary.wrong)} wrong")
    sys.exit(bool(summary.wrong))


if __name__ == "__main__":
    main()
