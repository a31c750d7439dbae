"""Which tests kill which mutant: a record that says what would no longer be found without one of them.

``dmlcts selftest --record FILE`` makes one; ``dmlcts selftest --kills FILE`` prints what one says.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.results import suite_identity
from dmlcts.reports.documents.validation import load_document
from dmlcts.reports.documents.writing import write_json
from dmlcts.specs import UsageError
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import DeviceGone
from dmlcts.suites.mutants.first_three import FIRST_THREE
from dmlcts.suites.proof.probes import Probe
from dmlcts.suites.proof.prove import Unnamed, catalogues, end_now, quick_probes, worker_pool

SCHEMA = "dmlcts-kills/1"
_SECONDS_BETWEEN_WRITES = 5.0


def kills_of(mutant: type[Any], seed: int) -> tuple[str, list[str]]:
    """The mutant's name, and every test function that fails on it on some signature, each until it fails once."""
    tables = load_tables()
    bench = Bench(mutant.__name__, mutant(), {}, tables)
    operators = {mutant.operator} if mutant.operator else FIRST_THREE
    by_test: dict[str, list[Probe]] = {}
    for probe in quick_probes(ByIdentity(tables), seed):
        if probe.table.operator in operators:
            by_test.setdefault(name_of(probe), []).append(probe)
    killing = []
    for name, probes in by_test.items():
        try:
            if any(probe.run(bench, seed).ledger.findings for probe in probes):
                killing.append(name)
        except DeviceGone:
            killing.append(name)
            break
    return mutant.__name__, killing


def name_of(probe: Probe) -> str:
    """``strides::test_broadcast_input``: the family and the function."""
    return f"{probe.module.removeprefix('test_')}::{probe.name.partition('[')[0]}"


class OtherRecordError(UsageError):
    """The file that a record is to be written to holds one of another seed or another suite.

    Args:
        path: the file.
        difference: what differs.
    """

    def __init__(self, path: Path, difference: str) -> None:
        super().__init__(f"{path} holds a record of another {difference}", "give another file, or remove it")
        self.path, self.difference = path, difference

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.difference)


def record(
    seed: int, workers: int, report: Callable[[str], None], names: Sequence[str] = (), path: Path | None = None
) -> dict[str, Any]:
    """Judge mutants by every test of their operators (``dmlcts-kills/1``).

    Mutants that need more than a quick run are left out. One whose process ends at each of two attempts, the second
    with no other mutant beside it, is listed under ``lost``.

    Args:
        seed: of all that is drawn.
        workers: how many processes.
        report: is given a line for each mutant that is finished.
        names: only these mutants; all where empty.
        path: a file that is written every few seconds and at the end, also where an exception ends the work. What it
            holds of the same seed and suite is not judged again.

    Raises:
        Unnamed: no mutant has one of the names.
        OtherRecordError: the file holds a record of another seed or suite.
        DocumentError: the file holds something else.
    """
    mutants, _, _ = catalogues()
    chosen = [mutant for mutant in mutants if not mutant.needs and (not names or mutant.__name__ in names)]
    if not chosen:
        raise Unnamed(f"no mutant of the quick profile is called {' or '.join(names)}; `--list` lists them")
    suite = suite_identity()
    killing_tests, lost = ({}, []) if path is None or not path.exists() else _earlier(path, seed, suite)
    jobs = [(mutant, seed) for mutant in chosen if mutant.__name__ not in killing_tests and mutant.__name__ not in lost]
    done = len(chosen) - len(jobs)
    written = time.monotonic()
    try:
        for (mutant, _), result in surviving_results(kills_of, jobs, workers):
            done += 1
            if result is None:
                lost.append(mutant.__name__)
                report(f"[{done}/{len(chosen)}] {mutant.__name__}: its process ended twice")
            else:
                killing_tests[mutant.__name__] = result[1]
                report(f"[{done}/{len(chosen)}] {mutant.__name__}: killed by {len(result[1])} tests")
            if path is not None and time.monotonic() - written > _SECONDS_BETWEEN_WRITES:
                write_json(path, _document(seed, suite, killing_tests, lost))
                written = time.monotonic()
    finally:
        document = _document(seed, suite, killing_tests, lost)
        if path is not None:
            write_json(path, document)
    return document


def surviving_results(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Run a function in worker processes, though some of its jobs end their process.

    Whatever ran or waited in a worker when a process ended runs again, each job in a process of its own at the end.

    Args:
        function: a function of a module; gives anything but ``None``.
        jobs: the arguments of each call.
        workers: how many processes.

    Yields:
        The arguments of each job with its result, as they finish; ``None`` where its own process ended too.
    """
    waiting, suspects = list(jobs), list[tuple[Any, ...]]()
    while waiting:
        with worker_pool(workers) as pool:
            futures = {pool.submit(function, *job): job for job in waiting}
            begun = set[tuple[Any, ...]]()
            try:
                for future in concurrent.futures.as_completed(futures):
                    begun |= {job for other, job in futures.items() if other.running()}
                    result = future.result()
                    waiting.remove(futures[future])
                    yield futures[future], result
            except BrokenProcessPool:
                broken = [job for job in waiting if job in begun] or waiting[: 2 * workers]
                suspects += broken
                waiting = [job for job in waiting if job not in broken]
            except BaseException:  # Ctrl-C, or a job that broke: end now, not when the rest is done
                end_now(pool)
                raise
    for job in suspects:
        with worker_pool(1) as pool:
            try:
                result = pool.submit(function, *job).result()
            except BrokenProcessPool:
                result = None
            except BaseException:
                end_now(pool)
                raise
        yield job, result


def _earlier(path: Path, seed: int, suite: Mapping[str, Any]) -> tuple[dict[str, list[str]], list[str]]:
    """What a file holds of an earlier record that was cut off: the tests that kill each mutant, and the lost ones."""
    document = load_record(path)
    if document["seed"] != seed:
        raise OtherRecordError(path, "seed")
    if document.get("suite") != suite:
        raise OtherRecordError(path, "suite")
    tests = document["tests"]
    by_mutant = {name: [tests[place] for place in places] for name, places in document["mutants"].items()}
    return by_mutant, list(document.get("lost", ()))


def _document(
    seed: int, suite: Mapping[str, Any], killing_tests: Mapping[str, Sequence[str]], lost: Sequence[str]
) -> dict[str, Any]:
    tests = sorted({name for killing in killing_tests.values() for name in killing})
    place = {name: number for number, name in enumerate(tests)}
    return {
        "schema": SCHEMA,
        "suite": dict(suite),
        "seed": seed,
        "tests": tests,
        "mutants": {name: sorted(place[test] for test in killing_tests[name]) for name in sorted(killing_tests)},
        "lost": sorted(lost),
    }


def load_record(path: Path) -> dict[str, Any]:
    """Read and check a record.

    Raises:
        DocumentError: it cannot be read, is no JSON, or is no record.
    """
    return load_document(path, "kills-1", "give the file that `dmlcts selftest --record` wrote")


def summary(document: Mapping[str, Any]) -> list[str]:
    """A line for each test function: how many mutants it kills, and how many of them no other does."""
    tests = document["tests"]
    all_kills = Counter(place for killing in document["mutants"].values() for place in killing)
    alone = Counter(killing[0] for killing in document["mutants"].values() if len(killing) == 1)
    families = Counter(
        next(iter(seen))
        for killing in document["mutants"].values()
        if len(seen := {tests[place].partition("::")[0] for place in killing}) == 1
    )
    lines = [f"{all_kills[place]:5} {alone[place]:4} alone  {tests[place]}" for place in range(len(tests))]
    lines += [f"family {name}: {count} that no other family kills" for name, count in sorted(families.items())]
    survivors = [name for name, killing in document["mutants"].items() if not killing]
    return [*lines, *(f"nothing kills {name}" for name in survivors)]
