"""The two oracles of approximate results: they agree, to the pattern, and what is expected first is acceptable."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs.approximation.exactly import ApproximateOracle
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.selftest.approximation.probing import approximate, disagreements, elements_of
from dmlcts.suites.selftest.family.family_tables import family

TABLES = family()
CASES = approximate(TABLES)
on_every_approximate_signature = pytest.mark.parametrize(
    ("table", "signature"), CASES, ids=[f"{table.short_name}-{signature}" for table, signature in CASES]
)


@on_every_approximate_signature
@pytest.mark.parametrize("strict", [False, True])
def test_the_oracles_agree(table: OperatorTable, signature: Signature, strict: bool) -> None:
    for operator, given in elements_of(table, signature, 60, seed=3):
        assert disagreements(TABLES, operator, given, strict=strict) == []


@on_every_approximate_signature
def test_what_is_expected_first_is_acceptable(table: OperatorTable, signature: Signature) -> None:
    for operator, given in elements_of(table, signature, 4000, seed=5):
        oracle = ApproximateVectorOracle(TABLES.law(table), operator)
        wanted = oracle.expected(given)
        refused = np.flatnonzero(~oracle.acceptance(given).admits(wanted))
        assert not refused.size, ({name: array[refused[0]] for name, array in given.items()}, wanted[refused[0]])


def test_a_disagreement_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectorised oracle without its flush of subnormals."""
    table, signature = next((one, two) for one, two in CASES if one.short_name == "ADD")
    operator, given = next(elements_of(table, signature, 400, seed=3))
    assert disagreements(TABLES, operator, given, strict=False) == []
    first = ApproximateVectorOracle.__init__

    def keeping(self: ApproximateVectorOracle, *arguments: object, **more: bool) -> None:
        first(self, *arguments, **more)  # type: ignore[arg-type]
        self.latitudes = self.latitudes - {"subnormals"}

    monkeypatch.setattr(ApproximateVectorOracle, "__init__", keeping)
    assert disagreements(TABLES, operator, given, strict=False)


def test_an_element_that_is_not_given_is_refused() -> None:
    table, signature = CASES[0]
    operator, _ = next(elements_of(table, signature, 4, seed=3))
    with pytest.raises(Exception, match="no element of"):
        ApproximateOracle(TABLES.law(table), operator).acceptable({})
