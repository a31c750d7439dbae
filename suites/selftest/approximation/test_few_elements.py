"""The oracles of approximate results in a few seconds: what ``test_approximate_oracles`` tries on more elements.

Made to be run once for each mutant of them (``code_mutation``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.selftest.approximation.probing import approximate, disagreements, elements_of
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.signatures.five_tables import text_of

INT32 = DataType.INT32
TABLES = family()
CASES = approximate(TABLES)
SCALED = [(table, signature) for table, signature in CASES if table.short_name in ("ADD1", "ASINH", "POW", "RECIP")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("table", "signature"), CASES, ids=[f"{table.short_name}-{signature}" for table, signature in CASES]
)
def test_the_oracles_agree_on_few_elements(table: OperatorTable, signature: Signature, strict: bool) -> None:
    for operator, inputs in elements_of(table, signature, 8, seed=3):
        assert disagreements(TABLES, operator, inputs, strict=strict) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("table", "signature"), SCALED, ids=[f"{table.short_name}-{signature}" for table, signature in SCALED]
)
@pytest.mark.parametrize("pair", [(0.1, 0.7), (2.0, -3.0), (1.0, float("inf"))], ids=str)
def test_the_oracles_agree_on_few_scaled_elements(
    table: OperatorTable, signature: Signature, pair: tuple[float, float]
) -> None:
    if not table.has_scale_bias:
        return
    operator, inputs = next(elements_of(table, signature, 8, seed=3))
    scaled = OperatorDesc(operator.name, operator.tensors, {**operator.attributes, "ScaleBias": ScaleBias(*pair)})
    assert disagreements(TABLES, scaled, inputs, strict=False) == []


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16], ids=lambda item: item.name)
def test_the_oracles_agree_on_constant_powers_of_special_values(data_type: DataType, strict: bool) -> None:
    """The power 0.5 is not the root: of -infinity it is infinity."""
    x = np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, 4.0, np.inf, np.nan], data_type.numpy)
    tensors = dict.fromkeys(("InputTensor", "OutputTensor"), TensorDesc(data_type, x.shape))
    for exponent in (0.5, -0.5, 2.0, -1.0):
        attributes = {"ScaleBias": None, "Exponent": np.float32(exponent)}
        operator = OperatorDesc("ELEMENT_WISE_CONSTANT_POW", tensors, attributes)
        assert disagreements(TABLES, operator, {"x": x}, strict=strict) == []


@pytest.mark.parametrize("x, exponent, wanted", [(5, 2, 49), (0, 3, -27), (1, 1, -1)])
def test_an_integer_is_scaled_before_what_is_expected_of_it(x: int, exponent: int, wanted: int) -> None:
    """2 x - 3, to the power."""
    kinds = {"InputTensor": INT32, "ExponentTensor": DataType.FLOAT32, "OutputTensor": INT32}
    tensors = {name: TensorDesc(kind, (1,)) for name, kind in kinds.items()}
    operator = OperatorDesc("ELEMENT_WISE_POW", tensors, {"ScaleBias": ScaleBias(2.0, -3.0)})
    values = {"x": np.array([x], np.int32), "exponent": np.array([exponent], np.float32)}
    assert ApproximateVectorOracle(TABLES.law(TABLES.operator("POW")), operator).expected(values).tolist() == [wanted]


def test_what_is_expected_of_a_choice_is_that_of_the_branch_that_counts(tmp_path: Path) -> None:
    text = text_of("OWN_SQRT").replace("formula: sqrt(x)", "formula: sqrt(x) if x > 1 else x - 1")
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    tables = load_tables(tmp_path)
    table = tables.operator("OWN_SQRT")
    operator = OperatorDesc(table.operator, dict.fromkeys(table.tensors, TensorDesc(DataType.FLOAT32, (3,))), {})
    oracle = ApproximateVectorOracle(tables.law(table), operator)
    expected = oracle.expected({"x": np.array([9, 1, -2], np.float32)})
    assert expected.tolist() == [3, 0, -3]
