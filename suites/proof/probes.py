"""The probes of a run as plain calls: without pytest around them, for proving the suite on many implementations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dmlcts.specs import DataType
from dmlcts.specs.tables import Tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.families import family
from dmlcts.suites.families.family import ConformanceTest, families
from dmlcts.suites.generation.covering_subjects import covering_subjects
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import ConformanceFailure, Judge


@dataclass(frozen=True)
class Probe(family.Probe):
    """One conformance test on one subject, as a run tries it.

    Attributes:
        clauses: ids of the clauses it checks, the one it is about first.
    """

    clauses: tuple[str, ...] = ()

    @property
    def test(self) -> str:
        """``test_clamping.py::test_inverted_bounds[CLIP-FLOAT16]``."""
        return f"{self.module}.py::{self.name}"

    @property
    def data_type(self) -> DataType:
        """The data type of the signature's first type variable."""
        return self.signature.data_type

    def run(self, bench: Bench, seed: int) -> Judge:
        """Run the test on a bench.

        Returns:
            The judge, with what was counted and found; ``ledger.findings`` is empty where the test passed.

        Raises:
            BaseException: what the test ended with, where that is no verdict.
        """
        subject = Subject.shared(self.table, self.signature, bench.level, seed, QUICK)
        attempt = self.attempt(bench, subject)
        ledger = attempt.judge.ledger
        if isinstance(attempt.error, ConformanceFailure):
            ledger.findings = attempt.error.findings
        elif isinstance(attempt.error, pytest.skip.Exception):  # it judged nothing
            ledger.findings = ()
        elif attempt.error is not None:
            raise attempt.error
        return attempt.judge


def conformance_tests() -> Iterator[ConformanceTest]:
    """The conformance tests, in the order of their modules."""
    for test_family in families():
        yield from test_family.tests


def probes(tables: Tables, seed: int | None = None) -> tuple[Probe, ...]:
    """Every conformance test on every subject that its clauses call for, in the order of the modules.

    Args:
        tables: the spec tables.
        seed: only what a quick run of this seed tries; ``None`` for layouts, memory and state on every signature.
    """
    all_probes = []
    chosen = None if seed is None else covering_subjects(tables, seed)
    for test in conformance_tests():
        if test.checked.programs and not QUICK.programs:
            continue
        for table in tables.operators.values():
            clauses = test.checked.clauses(table, tables)
            for probe in test.probes(tables, table, chosen):
                all_probes.append(Probe(**vars(probe), clauses=clauses))
    return tuple(all_probes)
