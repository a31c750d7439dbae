"""Which tests kill which mutant: a record that says what would no longer be found without one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.validation import load_document
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import DeviceGone
from dmlcts.suites.selftest.first_three import FIRST_THREE
from dmlcts.suites.selftest.proof.probes import Probe
from dmlcts.suites.selftest.proof.prove import Unnamed, catalogues, in_parallel, quick_probes

SCHEMA = "dmlcts-kills/1"


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


def record(seed: int, workers: int, report: Callable[[str], None], names: Sequence[str] = ()) -> dict[str, Any]:
    """Judge mutants by every test of their operators (``dmlcts-kills/1``).

    Those that take their process with them, or need more than a quick run, are left out.

    Args:
        seed: of all that is drawn.
        workers: how many processes.
        report: is given a line for each mutant that is finished.
        names: only these mutants; all where empty.
    """
    mutants, _, _ = catalogues()
    chosen = [mutant for mutant in mutants if not mutant.needs and (not names or mutant.__name__ in names)]
    if not chosen:
        raise Unnamed(f"no mutant of the quick profile is called {' or '.join(names)}; `--list` lists them")
    kill_pairs: Iterable[tuple[str, list[str]]] = in_parallel(
        [(kills_of, (mutant, seed), {}) for mutant in chosen], workers, report
    )
    by_mutant = dict(kill_pairs)
    tests = sorted({name for killing in by_mutant.values() for name in killing})
    place = {name: number for number, name in enumerate(tests)}
    return {
        "schema": SCHEMA,
        "seed": seed,
        "tests": tests,
        "mutants": {name: sorted(place[test] for test in by_mutant[name]) for name in sorted(by_mutant)},
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
