"""A case about a silent point has ordinary elements too: what is wrong with those breaks the clause on values."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import FeatureLevel, OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.proof.probes import probes

TABLES = load_tables()
POINTS = {clause.id for clause in TABLES.operator("SIGN").clauses if clause.check == "silent"}


class Right(Reference):
    """The reference, as a control."""

    level = LEVEL

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The results, spoiled."""
        x = inputs[0]
        with np.errstate(invalid="ignore"):
            return np.asarray(self.spoiled(super().compute_exact(operator, inputs), np.isnan(x), np.abs(x) > 1))

    def spoiled(self, y: Array, nans: Array, ordinary: Array) -> Array:
        """Nothing wrong."""
        return y


class WrongBeside(Right):
    """Ordinary numbers give 5."""

    def spoiled(self, y: Array, nans: Array, ordinary: Array) -> Array:
        """5 for numbers."""
        return np.where(ordinary, y.dtype.type(5), y)


class WrongAtPoint(Right):
    """A NaN gives 5."""

    def spoiled(self, y: Array, nans: Array, ordinary: Array) -> Array:
        """5 for NaN."""
        return np.where(nans, y.dtype.type(5), y)


class WrongThroughout(Right):
    """Both give 5."""

    def spoiled(self, y: Array, nans: Array, ordinary: Array) -> Array:
        """5 for all."""
        return np.where(nans | ordinary, y.dtype.type(5), y)


def judged(made: type[Reference]) -> tuple[Judge, set[str]]:
    """What the test of SIGN's silent points finds on FLOAT32: the judge, and the clauses after shrinking."""
    (probe,) = [
        candidate
        for candidate in probes(TABLES)
        if candidate.table.short_name == "SIGN"
        and candidate.data_type.name == "FLOAT32"
        and "silent_points" in candidate.test
    ]
    bench = Bench("x", made(), {}, TABLES)
    assert bench.level == FeatureLevel(LEVEL)
    judge = probe.run(bench, 0)
    return judge, {smallest(bench, finding).clause for finding in judge.ledger.findings}


@pytest.mark.parametrize(
    ("made", "expected_clauses"),
    [
        (Right, set()),
        (WrongBeside, {"sign.formula"}),
        (WrongAtPoint, {"sign.nan"}),
        (WrongThroughout, {"sign.formula", "sign.nan"}),
    ],
)
@pytest.mark.size("thorough", brief=1)
def test_a_fault_is_reported_under_the_clause_of_its_element(made: type[Reference], expected_clauses: set[str]) -> None:
    judge, clauses = judged(made)
    assert clauses == expected_clauses
    named = {clause for clause, _, _ in judge.ledger.behaviours}
    assert named == {clause for clause, _, _ in judge.ledger.tallies if clause in POINTS} - expected_clauses
    assert named
    failed = {clause for (clause, _, _), tally in judge.ledger.tallies.items() if tally.failures}
    assert failed == expected_clauses
