"""What compares the two oracles on every FLOAT16 input, run on a sample of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dmlcts.specs.approximation import in_arrays
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.suites.selftest.approximation.every_float16 import ALL, compared, main, of_one_float16
from dmlcts.suites.selftest.family.family_tables import family

TABLES = family()
CASES = of_one_float16(TABLES)
SPARSE = 1361
"""Every so-manieth pattern: 49 of each operator, of every exponent and either sign."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("table", "signature"), CASES, ids=[table.short_name for table, _ in CASES])
def test_the_oracles_agree_on_a_sample_of_all_float16(table: Any, signature: Any, strict: bool) -> None:
    result = compared(TABLES, table, signature, strict=strict, step=SPARSE, first=7)
    assert result.apart == []
    sets, left = divmod(result.inputs, -(-(ALL - 7) // SPARSE))
    assert sets >= 1
    assert left == 0


def test_every_operator_of_one_input_with_a_rule_is_compared() -> None:
    tables = [table for table in TABLES.operators.values() if len(table.formula_names) == 1]
    assert {table.short_name for table, _ in CASES} == {table.short_name for table in tables if table.accuracy}


def test_a_vectorised_oracle_that_is_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """By 2^-9 of the result, which is half of FLOAT16's unit at a power of two."""
    chosen = ["--operator", "EXP", "--step", "1361"]
    right = CliRunner().invoke(main, chosen)
    assert right.exit_code == 0, right.output
    arrays = FUNCTIONS["exp"].arrays
    moved = replace(arrays, real=lambda x: np.exp(x) * (1 + 2.0**-9))
    monkeypatch.setattr(in_arrays, "FUNCTIONS", {**FUNCTIONS, "exp": replace(FUNCTIONS["exp"], arrays=moved)})
    wrong = CliRunner().invoke(main, chosen)
    assert wrong.exit_code == 1
    assert " 0 apart" in right.output
    assert " 0 apart" not in wrong.output
