"""Other ways to compute that are right: FLOAT64 to the end, the page's steps on unlisted types, integers that saturate.

Both oracles have to admit each, and no more than the table says: without the word that permits it, it is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, ScaleBias
from dmlcts.specs.tables import Tables
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.oracles.published_vectors import Vector, accepted_of

TABLES = family()


def without(tables: Tables, name: str, **changes: Any) -> Tables:
    """The tables with one operator's changed."""
    table = tables.operator(name)
    return replace(tables, operators={**tables.operators, table.operator: table.model_copy(update=changes)})


def admitted(tables: Tables, item: Vector, result: float, *, strict: bool) -> bool:
    """Whether a result of one element of each input is acceptable; the oracles have to agree."""
    kind = item.description.output.data_type
    bits = int(np.array(result, kind.numpy).view(kind.bits_dtype)[()])
    flags = {answers[0].admits(bits, kind) for answers in accepted_of(tables, item, strict=strict).values()}
    assert len(flags) == 1, (item, result)
    return flags.pop()


def vector(name: str, types: Mapping[str, DataType], values: Mapping[str, float], **attributes: Any) -> Vector:
    inputs = {member: np.array([value], types[member].numpy) for member, value in values.items()}
    return Vector(f"ELEMENT_WISE_{name}", inputs, np.zeros(1, types["OutputTensor"].numpy), attributes)


@pytest.mark.parametrize(
    "name, x, scale, bias, result, separate",
    [
        ("FLOOR", 16777215.0, 1.0, 2.0**-2, 16777215.0, 16777215.0),
        ("FLOOR", 3.0, 1.0, -(2.0**-30), 2.0, 3.0),  # 2.9999999991 is 3 in FLOAT32
        ("CEIL", 3.0, 1.0, 2.0**-30, 4.0, 3.0),
        ("LOG", 3.4028235e38, 2.0, 0.0, 89.415985, np.inf),  # twice the largest number
        ("SQRT", 3.4028235e38, 4.0, 0.0, 3.6893487e19, np.inf),
        ("EXP", 88.0, 1.0, 2.0**-40, 1.6516363e38, 1.6516363e38),
    ],
)
def test_what_float64_gives_of_a_scale_bias_may_go_into_the_operator_as_it_is(
    name: str, x: float, scale: float, bias: float, result: float, separate: float
) -> None:
    types = dict.fromkeys(TABLES.operator(name).tensors, DataType.FLOAT32)
    item = vector(name, types, {"InputTensor": x}, ScaleBias=ScaleBias(scale, bias))
    assert admitted(TABLES, item, result, strict=False)
    assert admitted(TABLES, item, separate, strict=True)
    assert admitted(TABLES, item, result, strict=True) == (result == separate)
    clauses = tuple(
        clause.model_copy(update={"latitude": tuple(word for word in clause.latitude if word != "contraction")})
        for clause in TABLES.operator(name).clauses
    )
    contracted = admitted(without(TABLES, name, clauses=clauses), item, result, strict=False)
    assert contracted == (result == separate)


@pytest.mark.parametrize(
    "name, a, b, in_steps",
    [
        ("MODULUS_FLOOR", 1.0, 0.1, 0.0),
        ("MODULUS_TRUNCATE", 1.0, 0.1, 0.0),
        ("MODULUS_TRUNCATE", -1.0, 0.1, 0.0),
    ],
)
def test_a_modulus_of_a_type_without_a_rule_may_be_computed_in_the_page_s_steps(
    name: str, a: float, b: float, in_steps: float
) -> None:
    """1 / 0.1 is 10 in FLOAT64, and 1 - 10 * 0.1 is 0; what remains of 1 exactly is 0.09999999999999995."""
    types = dict.fromkeys(TABLES.operator(name).tensors, DataType.FLOAT64)
    item = vector(name, types, {"ATensor": a, "BTensor": b})
    exact = float(np.fmod(a, b))
    for result, judged, strict in ((in_steps, True, False), (exact, True, True), (0.05, False, False)):
        assert admitted(TABLES, item, result, strict=False) is judged
        assert admitted(TABLES, item, result, strict=True) is strict
    assert not admitted(without(TABLES, name, permitted_formulas=()), item, in_steps, strict=False)


@pytest.mark.parametrize(
    "kind, x, zero_point, outputs",
    [
        (DataType.INT32, 2**31 - 1, -1, {2.0**31: True, -(2.0**31): True, 0.0: False}),
        (DataType.INT32, -(2**31), 256, {-(2.0**31) - 256: True, -(2.0**31): True, 2.0**31 - 256: True, 0.0: False}),
        (DataType.UINT32, 0, 512, {-512.0: True, 0.0: True, 2.0**32 - 512: True, 2.0**31: False}),
        (DataType.UINT8, 0, 5, {-5.0: True, 0.0: False, 251.0: False}),
        (DataType.INT16, -32768, 8, {-32776.0: True, -32768.0: False, 32760.0: False}),
    ],
)
def test_differences_of_32_bit_integers_may_saturate_where_others_are_exact(
    kind: DataType, x: int, zero_point: int, outputs: dict[float, bool]
) -> None:
    types = {
        "InputTensor": kind,
        "ZeroPointTensor": kind,
        "ScaleTensor": DataType.FLOAT32,
        "OutputTensor": DataType.FLOAT32,
    }
    item = vector("DEQUANTIZE_LINEAR", types, {"InputTensor": x, "ScaleTensor": 1.0, "ZeroPointTensor": zero_point})
    for output, right in outputs.items():
        assert admitted(TABLES, item, output, strict=False) is right, output
    exact = float(x - zero_point)
    assert admitted(TABLES, item, exact, strict=True)
    assert not any(admitted(TABLES, item, output, strict=True) for output in outputs if output != exact)
