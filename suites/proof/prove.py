"""Proving the suite: every broken implementation is caught, rightly, and no permitted one is.

A mutant is judged by the tests of the clause it breaks first, then by all others, until that clause is reported
broken. A permitted implementation is judged by every test that its latitude can touch.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import wait
from typing import Any, TypeVar

from dmlcts.backends.interpreter import spawn_context
from dmlcts.reports.documents.killmatrix import EXPECTED_KILLS, document
from dmlcts.specs import DmlctsError
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables import Tables
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.allocation import collect_rarely
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import DeviceGone
from dmlcts.suites.generation.covering_subjects import whole
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.mutants.first_three import FIRST_THREE
from dmlcts.suites.proof.probes import Probe, probes
from dmlcts.suites.proof.sweep_mutants import sweep_mutant
from dmlcts.suites.running.accounts import account

_HEAVY = ("test_more_workgroups_than_one_dispatch_takes", "test_past_the_largest_grid")
_ISOLATED_SECONDS = 3.0
_ISOLATED_MEMORY_INCREASE = 1 << 30

_T = TypeVar("_T")
Job = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


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
    seed: int = 0


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
    seed: int = 0


@dataclass
class _Progress:
    """Counts what is finished, for whoever shows it."""

    done: int = 0
    total: int = 0
    report: Callable[[str], None] = field(default=lambda text: None)

    def count_one(self, text: str) -> None:
        self.done += 1
        self.report(f"[{self.done}/{self.total}] {text}")


def _cases(judge: Judge) -> int:
    return max((tally.cases for tally in judge.ledger.tallies.values()), default=0)


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0]


def _ordered(everything: Sequence[Probe], clause: str) -> list[Probe]:
    """The tests that are about the clause, those that check it too, combinations, all others; heavy ones last."""

    def rank(probe: Probe) -> tuple[int, bool, bool]:
        heavy = any(name in probe.test for name in _HEAVY)
        elsewhere = 1 if probe.module == "test_combinations" else 2
        return (0 if clause in probe.clauses else elsewhere, heavy, probe.clauses[0] != clause)

    return sorted(everything, key=rank)


@lru_cache(maxsize=4)
def quick_probes(tables: ByIdentity[Tables], seed: int) -> tuple[Probe, ...]:
    """What a quick run tries: a worker proves hundreds of implementations on it."""
    return probes(tables.value, seed)


def judge_mutant(mutant: type[Any], seed: int) -> Kill:
    """Run the suite on a mutant, and a sweep where it needs one, until the clause it breaks is reported."""
    tables = load_tables()
    clauses: dict[str, None] = {}
    cases = 0
    message = test = ""
    rightly = False
    started = time.perf_counter()
    alone = mutant.needs == "isolation"  # it takes its process with it, or never comes back
    where = f"{mutant.__module__}:{mutant.__qualname__}"
    backend = IsolatedBackend(where, _ISOLATED_SECONDS, _ISOLATED_MEMORY_INCREASE) if alone else mutant()
    bench = Bench(mutant.__name__, backend, {}, tables)
    operators = {mutant.operator} if mutant.operator else FIRST_THREE  # every other operator is right
    every = [probe for probe in quick_probes(ByIdentity(tables), seed) if probe.table.operator in operators]
    chosen = _ordered(every, mutant.clause)
    if mutant.needs:  # the tests of its clause alone: they need more than the quick profile, or cost a process each
        chosen = [probe for probe in chosen if mutant.clause in probe.clauses]
    for probe in chosen:
        try:
            judge = probe.run(bench, seed)
        except DeviceGone as gone:
            clauses[mutant.clause] = None
            message, test, rightly = str(gone), probe.test, True
            break
        cases += _cases(judge)
        for finding in judge.ledger.findings[:8]:
            least = smallest(bench, finding)
            if not message or (least.clause == mutant.clause and not rightly):
                message, test = account(tables, least, "dmlcts replay …"), probe.test
            clauses[least.clause] = None
            rightly |= least.clause == mutant.clause
        if rightly:
            break
    if mutant.needs == "sweep" and not clauses:
        for failure in sweep_mutant(mutant, bench, seed):
            message, test = message or failure.text, test or failure.test
            clauses[failure.clause] = None
            rightly |= failure.clause == mutant.clause
    bench.close()
    return Kill(
        mutant.__name__,
        _first_line(mutant.__doc__),
        mutant.clause,
        mutant.modelled_on,
        "" if alone else mutant.needs,
        bool(clauses),
        rightly,
        tuple(sorted(clauses)),
        test,
        cases,
        time.perf_counter() - started,
        message,
        seed,
    )


def clear(name: str, seed: int, *, strict: bool, scope: str) -> Clearance:
    """Run the suite on a permitted implementation, by its name in the catalogue.

    ``scope`` says which tests: "everything" but the largest tensors, "seeded" for what a seed changes,
    "few values" for the many pairs.
    """
    from dmlcts.suites.mutants import permitted

    made = getattr(permitted, name)
    backend, latitude = made(), _first_line(made.__doc__)
    tables = load_tables()
    bench = Bench(name, backend, {}, tables, strict=strict)
    alarms = []
    cases = 0
    started = time.perf_counter()
    operators = [f"ELEMENT_WISE_{among}" for among in made.among] or FIRST_THREE
    for probe in quick_probes(ByIdentity(tables), seed):
        if probe.table.operator not in operators or not _chosen(probe, scope):
            continue
        judge = probe.run(bench, seed)
        cases += _cases(judge)
        if judge.ledger.findings:
            finding = judge.ledger.findings[0]
            alarms.append(f"{probe.test}: {finding.clause}: {finding.title}")
    bench.close()
    return Clearance(name, latitude, strict, tuple(alarms), cases, time.perf_counter() - started, seed)


class Unnamed(DmlctsError):  # noqa: N818  # it says what there is not
    """No implementation of the catalogues has this name."""


def catalogues() -> tuple[tuple[type[Any], ...], list[str], list[str]]:
    """The mutants, the names of the permitted implementations, and the names of all permitted pairs."""
    from dmlcts.suites.mutants import permitted
    from dmlcts.suites.mutants.catalogue import MUTANTS

    singles = [made.__name__ for made in permitted.PERMITTED]
    return MUTANTS, singles, [pair.__name__ for pair in permitted.pairs()]


def _drawn(everything: Sequence[_T], most: int | None, seed: int) -> list[_T]:
    """At most so many of them, drawn from the seed, in their order."""
    if most is None or most >= len(everything):
        return list(everything)
    places = random.Random(seed).sample(range(len(everything)), most)  # noqa: S311  # a sample, no secret
    return [everything[place] for place in sorted(places)]


def prove(
    seeds: Sequence[int],
    workers: int,
    report: Callable[[str], None],
    *,
    part: str = "all",
    names: Sequence[str] = (),
    most_mutants: int | None = None,
    most_permitted: int | None = None,
    most_pairs: int | None = None,
) -> dict[str, Any]:
    """Run both catalogues and put the outcome together (``dmlcts-selftest/1``).

    Args:
        seeds: each mutant is judged with each of them, a permitted implementation by everything with the first
            and by the tests that a seed changes with the others, a permitted pair with the first.
        workers: how many processes.
        report: is given a line for each implementation that is finished.
        part: "mutants", "permitted" or "all".
        names: only these implementations; all where empty.
        most_mutants: at most so many mutants, drawn from the first seed; ``None`` for all.
        most_permitted: at most so many permitted implementations, drawn alike; ``None`` for all.
        most_pairs: at most so many permitted pairs, drawn alike; ``None`` for all.

    Raises:
        Unnamed: no implementation has one of the names.
    """
    mutants, singles, pairs = catalogues()
    singles, pairs = _drawn(singles, most_permitted, seeds[0]), _drawn(pairs, most_pairs, seeds[0])
    chosen = _drawn([mutant for mutant in mutants if not names or mutant.__name__ in names], most_mutants, seeds[0])
    jobs: list[Job] = []
    if part in ("all", "permitted"):
        scopes = ["everything", *(["seeded"] * (len(seeds) - 1))]
        singles = sorted(singles, key=lambda name: not _takes_long(name))
        clearing = [(name, seed, False, scope) for seed, scope in zip(seeds, scopes, strict=True) for name in singles]
        strictly = [("StrictIeee", seed, scope) for seed, scope in zip(seeds, scopes, strict=True)]
        clearing += [(name, seed, strict, scope) for name, seed, scope in strictly for strict in (False, True)]
        clearing += [(name, seeds[0], False, "few values") for name in pairs]
        jobs += [
            (clear, (name, seed), {"strict": strict, "scope": scope})
            for name, seed, strict, scope in clearing
            if not names or name in names
        ]
    if part in ("all", "mutants"):
        jobs += [(judge_mutant, (mutant, seed), {}) for seed in seeds for mutant in chosen]
    if not jobs:
        raise Unnamed(f"no implementation is called {' or '.join(names)}; `dmlcts selftest --list` lists them")
    finished = in_parallel(jobs, workers, report)
    kills = [dataclasses.asdict(verdict) for verdict in finished if isinstance(verdict, Kill)]
    clearances = [dataclasses.asdict(verdict) for verdict in finished if isinstance(verdict, Clearance)]
    return document(kills, clearances, [], seeds)


def _takes_long(name: str) -> bool:
    """Whether it is one that computes approximate operators anew: begun last, it would be waited for alone."""
    from dmlcts.suites.mutants import permitted

    return str(getattr(permitted, name).__module__).endswith("approximate")


_VALUE_MODULES = (
    "test_clamping",
    "test_rounding",
    "test_casting",
    "test_special_values",
    "test_scale_bias",
    "test_magnitudes",
    "test_properties",
    "test_relations",
    "test_silent_points",
    "test_kinds",
    "test_activations",
)
_SEEDED = ("test_seeded_bulk", "drawn")
_NOT_FOR_PAIRS = (
    "test_properties",
    "test_every_input",
    "test_integer_bounds",
    "test_representable_bounds",
    "test_float16_bounds",
    *_SEEDED,
)
_FEW = ("FLOAT32", "FLOAT16", "INT8")


def _chosen(probe: Probe, scope: str) -> bool:
    """Whether a test belongs to a scope.

    "everything": what a quick run does, but the largest tensors; where that takes layouts, memory and state on all
    types, three stand for them. "seeded": what a seed changes. "few values": for the many pairs, what their latitude
    can touch.
    """
    if any(name in probe.test for name in _HEAVY):
        return False
    values = probe.module in _VALUE_MODULES
    if scope == "everything":
        few = probe.data_type.name in _FEW
        return few or (values and "_drawn_" not in probe.name) or not (values or whole(probe.table))
    if not values or probe.data_type.name not in _FEW:
        return False
    if scope == "seeded":
        return any(name in probe.test for name in _SEEDED)
    return not any(name in probe.test for name in _NOT_FOR_PAIRS)


def _verdict(done: Any) -> str:
    """A verdict in a line, so that a proof that is cut off has said what it found until then."""
    if isinstance(done, Clearance):
        alarms = f"FALSE ALARMS: {len(done.alarms)}, the first: {done.alarms[0]}" if done.alarms else "no alarm"
        return f"{done.name} (seed {done.seed}): {alarms}"
    if not done.killed:
        state = "SURVIVED" if done.needs in EXPECTED_KILLS else f"survives the quick profile, it needs {done.needs}"
        return f"{done.mutant} (seed {done.seed}): {state}"
    state = f"killed under {done.clause}" if done.rightly else f"MISATTRIBUTED to {', '.join(done.clauses)}"
    return f"{done.mutant} (seed {done.seed}): {state}"


def in_parallel(
    jobs: Iterable[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]],
    workers: int,
    report: Callable[[str], None],
) -> list[Any]:
    """Run the jobs in worker processes, reporting each verdict at once; the results come in the order of the jobs."""
    jobs = list(jobs)
    progress = _Progress(0, len(jobs), report)
    with worker_pool(workers) as pool:
        futures = {pool.submit(function, *arguments, **named): arguments for function, arguments, named in jobs}
        try:
            for future in concurrent.futures.as_completed(futures):
                try:
                    done = future.result()
                except Exception as fault:
                    fault.add_note(f"while judging {futures[future]}")
                    raise
                progress.count_one(_verdict(done))
        except BaseException:  # a job that broke, or Ctrl-C: end now, not when the rest is done
            end_now(pool)
            raise
        return [future.result() for future in futures]


def worker_pool(workers: int) -> concurrent.futures.ProcessPoolExecutor:
    """A pool of so many worker processes, each of which ends with this process."""
    return concurrent.futures.ProcessPoolExecutor(workers, spawn_context(), initializer=_begin_worker)


def end_now(pool: concurrent.futures.ProcessPoolExecutor) -> None:
    """End the processes of a pool at once, whatever they are about."""
    pool.shutdown(wait=False, cancel_futures=True)
    for child in multiprocessing.active_children():
        child.terminate()


def _begin_worker() -> None:
    """Begin a worker process: collect garbage rarely, and end with the parent."""
    collect_rarely()
    _follow_the_parent()


def _follow_the_parent() -> None:
    """Leave Ctrl-C to the parent, and end with it: who waits for the next job hears nothing of a parent's death."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all: it would be taken for the mutant's doing
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
