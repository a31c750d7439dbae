"""Proving the suite: every broken implementation is caught, rightly, and no permitted one is.

A mutant is judged by the tests of the clause it breaks first, then by all others, until that clause is reported
broken. A permitted implementation is judged by every test that its latitude can touch.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import hypothesis

from dmlcts.specs.loading import load_tables
from dmlcts.suites.bench import Bench, DeviceGone
from dmlcts.suites.judge import Judge, account, smallest
from dmlcts.suites.probes import Probe, probes

_HEAVY = ("test_more_workgroups_than_one_dispatch_takes",)
_EXAMPLES = 12


@dataclass(frozen=True)
class Kill:
    """What became of a mutant.

    Attributes:
        mutant: its name.
        fault: its docstring's first line.
        clause: the clause it breaks.
        modelled_on: the public bug it was modelled on, or "".
        needs: what it takes beyond the quick profile, or "".
        killed: whether any test failed on it.
        rightly: whether the clause it breaks was reported.
        clauses: all clauses that were reported until then.
        test: the test that reported its clause (or the first that failed).
        cases: how many cases were judged until then.
        seconds: how long that took.
        account: the first failure as a user would read it.
    """

    mutant: str
    fault: str
    clause: str
    modelled_on: str
    needs: str
    killed: bool
    rightly: bool
    clauses: tuple[str, ...]
    test: str
    cases: int
    seconds: float
    account: str


@dataclass(frozen=True)
class Clearance:
    """What became of a permitted implementation.

    Attributes:
        name: its name; two names joined by "+" for a pair.
        latitude: what it makes use of.
        strict: whether it was judged with ``--strict``.
        alarms: tests that failed on it, with the failure's first line; there must be none.
        cases: how many cases were judged.
        seconds: how long that took.
    """

    name: str
    latitude: str
    strict: bool
    alarms: tuple[str, ...]
    cases: int
    seconds: float


@dataclass
class _Progress:
    """Counts what is finished, for whoever shows it."""

    done: int = 0
    total: int = 0
    told: Callable[[str], None] = field(default=lambda text: None)

    def tell(self, text: str) -> None:
        self.done += 1
        self.told(f"[{self.done}/{self.total}] {text}")


def load_hypothesis_profile() -> None:
    """The quick profile's settings for property-based tests; to be called before the test modules are imported."""
    hypothesis.settings.register_profile(
        "dmlcts-proving", max_examples=_EXAMPLES, deadline=None, database=None, report_multiple_bugs=False,
        print_blob=False, suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    hypothesis.settings.load_profile("dmlcts-proving")


def _cases(judge: Judge) -> int:
    return max((tally.cases for tally in judge.ledger.tallies.values()), default=0)


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def _ordered(everything: Sequence[Probe], clause: str) -> list[Probe]:
    """The tests that are about the clause, those that check it too, then all others; heavy ones last."""

    def rank(probe: Probe) -> tuple[bool, bool, bool]:
        heavy = any(name in probe.test for name in _HEAVY)
        return (clause not in probe.clauses, heavy, probe.clauses[0] != clause)

    return sorted(everything, key=rank)


def judge_mutant(mutant: type[Any], seed: int) -> Kill:
    """Run the suite on a mutant until the clause it breaks is reported."""
    load_hypothesis_profile()
    tables = load_tables()
    clauses: dict[str, None] = {}
    cases = 0
    said = test = ""
    rightly = False
    started = time.perf_counter()
    bench = Bench(mutant.__name__, mutant(), {}, tables)
    for probe in _ordered(probes(tables), mutant.clause):
        try:
            judge = probe.run(bench, seed)
        except DeviceGone as gone:
            clauses[mutant.clause] = None
            said, test, rightly = str(gone), probe.test, True
            break
        cases += _cases(judge)
        for finding in judge.ledger.findings[:8]:
            least = smallest(bench, finding)
            if not said or (least.clause == mutant.clause and not rightly):
                said, test = account(tables, least, "dmlcts replay …"), probe.test
            clauses[least.clause] = None
            rightly |= least.clause == mutant.clause
        if rightly:
            break
    bench.close()
    return Kill(
        mutant.__name__, _first_line(mutant.__doc__), mutant.clause, mutant.modelled_on, mutant.needs,
        bool(clauses), rightly, tuple(sorted(clauses)), test, cases, time.perf_counter() - started, said,
    )  # fmt: skip


def clear(name: str, backend: Any, latitude: str, seed: int, *, strict: bool, thorough: bool) -> Clearance:
    """Run the suite on a permitted implementation; ``thorough``: all tests, else those about values of floats."""
    load_hypothesis_profile()
    tables = load_tables()
    bench = Bench(name, backend, {}, tables, strict=strict)
    alarms = []
    cases = 0
    started = time.perf_counter()
    for probe in probes(tables):
        if not thorough and not _about_values(probe):
            continue
        if any(heavy in probe.test for heavy in _HEAVY):
            continue
        judge = probe.run(bench, seed)
        cases += _cases(judge)
        if judge.ledger.findings:
            finding = judge.ledger.findings[0]
            alarms.append(f"{probe.test}: {finding.clause}: {finding.title}")
    bench.close()
    return Clearance(name, latitude, strict, tuple(alarms), cases, time.perf_counter() - started)


_VALUE_MODULES = (
    "test_clamping",
    "test_rounding",
    "test_casting",
    "test_special_values",
    "test_scale_bias",
    "test_properties",
)
_SLOW_FOR_PAIRS = ("test_every_input", "test_seeded_bulk", "drawn")


def _about_values(probe: Probe) -> bool:
    return probe.module in _VALUE_MODULES and not any(name in probe.test for name in _SLOW_FOR_PAIRS)


def in_parallel(
    jobs: Iterable[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]],
    workers: int,
    told: Callable[[str], None],
) -> list[Any]:
    """Run the jobs in worker processes, saying each as it finishes; the results come in the order of the jobs."""
    jobs = list(jobs)
    progress = _Progress(0, len(jobs), told)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(function, *arguments, **named) for function, arguments, named in jobs]
        for future in concurrent.futures.as_completed(futures):
            done = future.result()
            progress.tell(getattr(done, "mutant", None) or getattr(done, "name", ""))
        return [future.result() for future in futures]
