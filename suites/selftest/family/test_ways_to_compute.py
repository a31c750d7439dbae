"""Other ways to compute that are right: FLOAT64 to the end, the page's steps on unlisted types, integers that saturate.

Both oracles have to admit each, and no more than the table says: without the word that permits it, it is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.approximation.exactly import ApproximateOracle
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, is_approximate
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.selftest.family.family_tables import family

TABLES = family()
F32, F64 = DataType.FLOAT32, DataType.FLOAT64


def without(tables: Tables, name: str, **changes: Any) -> Tables:
    """The tables with one operator's changed."""
    table = tables.operator(name)
    return replace(tables, operators={**tables.operators, table.operator: table.model_copy(update=changes)})


def admitted(tables: Tables, operator: OperatorDesc, given: dict[str, Any], result: Any, *, strict: bool) -> bool:
    """Whether a result of one element of each input is acceptable; the oracles have to agree."""
    law = tables.law(tables.operator(operator.name))
    inputs = {name: np.array([given[name]], tensor.data_type.numpy) for name, tensor in operator.inputs.items()}
    patterns = {formula: int(inputs[name].view(inputs[name].dtype.str.replace("f", "u").replace("i", "u"))[0])
                for formula, name in law.table.formula_names.items() if name in inputs}  # fmt: skip
    exact: Acceptable
    if is_approximate(law.table, Signature.of(operator, law.table)):
        exact = ApproximateOracle(law, operator, strict).acceptable(patterns)
    elif law.of_one_input:
        exact = ExactOracle(law, operator, strict).acceptable(patterns["x"])
    else:
        exact = TypedOracle(law, operator, strict).acceptable(patterns)
    kind = operator.output.data_type
    output = np.array([result], kind.numpy)
    right = exact.admits(int(output.view(kind.bits_dtype)[0]), kind)
    assert bool(oracle_of(tables, operator, strict=strict).admits(inputs, output)[0]) is right
    return right


def scaled(name: str, scale: float, bias: float) -> OperatorDesc:
    tensors = {member: TensorDesc(F32, (1,)) for member in TABLES.operator(name).tensors}
    return OperatorDesc(f"ELEMENT_WISE_{name}", tensors, {"ScaleBias": ScaleBias(scale, bias)})


@pytest.mark.parametrize("name, x, scale, bias, result, separate", [
    ("FLOOR", 16777215.0, 1.0, 2.0**-2, 16777215.0, 16777215.0),
    ("FLOOR", 3.0, 1.0, -(2.0**-30), 2.0, 3.0),  # 2.9999999991 is 3 in FLOAT32
    ("CEIL", 3.0, 1.0, 2.0**-30, 4.0, 3.0),
    ("LOG", 3.4028235e38, 2.0, 0.0, 89.415985, np.inf),  # twice the largest number
    ("SQRT", 3.4028235e38, 4.0, 0.0, 3.6893487e19, np.inf),
    ("EXP", 88.0, 1.0, 2.0**-40, 1.6516363e38, 1.6516363e38),
])  # fmt: skip
def test_what_float64_gives_of_a_scale_bias_may_go_into_the_operator_as_it_is(
    name: str, x: float, scale: float, bias: float, result: float, separate: float
) -> None:
    operator, given = scaled(name, scale, bias), {"InputTensor": x}
    assert admitted(TABLES, operator, given, result, strict=False)
    assert admitted(TABLES, operator, given, separate, strict=True)
    assert admitted(TABLES, operator, given, result, strict=True) == (result == separate)
    clauses = tuple(
        one.model_copy(update={"latitude": tuple(word for word in one.latitude if word != "contraction")})
        for one in TABLES.operator(name).clauses
    )
    contracted = admitted(without(TABLES, name, clauses=clauses), operator, given, result, strict=False)
    assert contracted == (result == separate)


@pytest.mark.parametrize("name, a, b, in_steps", [
    ("MODULUS_FLOOR", 1.0, 0.1, 0.0), ("MODULUS_TRUNCATE", 1.0, 0.1, 0.0), ("MODULUS_TRUNCATE", -1.0, 0.1, 0.0),
])  # fmt: skip
def test_a_modulus_of_a_type_without_a_rule_may_be_computed_in_the_page_s_steps(
    name: str, a: float, b: float, in_steps: float
) -> None:
    """1 / 0.1 is 10 in FLOAT64, and 1 - 10 * 0.1 is 0; what remains of 1 exactly is 0.09999999999999995."""
    tensors = {member: TensorDesc(F64, (1,)) for member in TABLES.operator(name).tensors}
    operator, given = OperatorDesc(f"ELEMENT_WISE_{name}", tensors, {}), {"ATensor": a, "BTensor": b}
    exact = float(np.fmod(a, b))
    for result, judged, strict in ((in_steps, True, False), (exact, True, True), (0.05, False, False)):
        assert admitted(TABLES, operator, given, result, strict=False) is judged
        assert admitted(TABLES, operator, given, result, strict=True) is strict
    assert not admitted(without(TABLES, name, permitted_formulas=()), operator, given, in_steps, strict=False)


@pytest.mark.parametrize("kind, x, zero_point, outputs", [
    (DataType.INT32, 2**31 - 1, -1, {2.0**31: True, -(2.0**31): True, 0.0: False}),
    (DataType.INT32, -(2**31), 256, {-(2.0**31) - 256: True, -(2.0**31): True, 2.0**31 - 256: True, 0.0: False}),
    (DataType.UINT32, 0, 512, {-512.0: True, 0.0: True, 2.0**32 - 512: True, 2.0**31: False}),
    (DataType.UINT8, 0, 5, {-5.0: True, 0.0: False, 251.0: False}),
    (DataType.INT16, -32768, 8, {-32776.0: True, -32768.0: False, 32760.0: False}),
])  # fmt: skip
def test_differences_of_32_bit_integers_may_saturate_where_others_are_exact(
    kind: DataType, x: int, zero_point: int, outputs: dict[float, bool]
) -> None:
    types = {"InputTensor": kind, "ScaleTensor": F32, "ZeroPointTensor": kind, "OutputTensor": F32}
    tensors = {member: TensorDesc(one, (1,)) for member, one in types.items()}
    operator = OperatorDesc("ELEMENT_WISE_DEQUANTIZE_LINEAR", tensors, {})
    given = {"InputTensor": x, "ScaleTensor": 1.0, "ZeroPointTensor": zero_point}
    for output, right in outputs.items():
        assert admitted(TABLES, operator, given, output, strict=False) is right, output
    exact = float(x - zero_point)
    assert admitted(TABLES, operator, given, exact, strict=True)
    assert not any(admitted(TABLES, operator, given, one, strict=True) for one in outputs if one != exact)
