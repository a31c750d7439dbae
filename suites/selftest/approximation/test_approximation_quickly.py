"""The oracles of approximate results in a few seconds: what ``test_approximate_oracles`` tries on more elements.

Made to be run once for each mutant of them (``code_mutation``).
"""

from __future__ import annotations

import pytest

from dmlcts.specs import OperatorDesc, ScaleBias
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.selftest.approximation.probing import approximate, disagreements, elements_of
from dmlcts.suites.selftest.family.family_tables import family

TABLES = family()
CASES = approximate(TABLES)
SCALED = [(table, signature) for table, signature in CASES if table.short_name in ("ADD1", "ASINH", "POW", "RECIP")]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("table", "signature"), CASES, ids=[f"{table.short_name}-{signature}" for table, signature in CASES]
)
def test_the_oracles_agree_on_few_elements(table: OperatorTable, signature: Signature, strict: bool) -> None:
    for operator, given in elements_of(table, signature, 8, seed=3):
        assert disagreements(TABLES, operator, given, strict=strict) == []


@pytest.mark.parametrize(
    ("table", "signature"), SCALED, ids=[f"{table.short_name}-{signature}" for table, signature in SCALED]
)
@pytest.mark.parametrize("pair", [(0.1, 0.7), (2.0, -3.0), (1.0, float("inf"))], ids=str)
def test_the_oracles_agree_on_few_scaled_elements(
    table: OperatorTable, signature: Signature, pair: tuple[float, float]
) -> None:
    if not table.has_scale_bias:
        return
    operator, given = next(elements_of(table, signature, 8, seed=3))
    scaled = OperatorDesc(operator.name, operator.tensors, {**operator.attributes, "ScaleBias": ScaleBias(*pair)})
    assert disagreements(TABLES, scaled, given, strict=False) == []
