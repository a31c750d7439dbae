"""Powers whose exponents are so large that the error of a logarithm decides: what is permitted, and what is not.

Direct3D lets log2 of a number between 0.5 and 2 be off by 2^-21, which an exponent of 2^32 makes 2^11 binary orders.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.suites.selftest.approximation.probing import disagreements
from dmlcts.suites.selftest.family.family_tables import family

TABLES = family()
NEXT_TO_ONE = [1 - 2.0**-24, 1 + 2.0**-23, 1 + 2.0**-22, 1 - 2.0**-21]
BASES = [*NEXT_TO_ONE, 0.999, 1.001, 0.3, 3.0, -3.0, -1.0]


def power(base: DataType, exponent: DataType, bases: list[float], exponents: list[Any]) -> tuple[OperatorDesc, Any]:
    """POW of every pair, and its elements by the formula's names."""
    x, y = np.meshgrid(np.array(bases, base.numpy), np.array(exponents, exponent.numpy))
    described = {
        name: TensorDesc(kind, (x.size,))
        for name, kind in (("InputTensor", base), ("ExponentTensor", exponent), ("OutputTensor", base))
    }
    operator = OperatorDesc("ELEMENT_WISE_POW", described, {"ScaleBias": None})
    return operator, {"x": np.ascontiguousarray(x.ravel()), "exponent": np.ascontiguousarray(y.ravel())}


def admitted(base: float, exponent: int, result: float) -> bool:
    operator, value = power(DataType.FLOAT32, DataType.UINT32, [base], [exponent])
    acceptance = ApproximateVectorOracle(TABLES.law(TABLES.operator("POW")), operator).acceptance(value)
    return bool(acceptance.admits(np.array([result], np.float32)).all())


@pytest.mark.parametrize("off", [-(2.0**-22), -(2.0**-24), 0.0, 2.0**-24, 2.0**-22])
@pytest.mark.parametrize("base", NEXT_TO_ONE)
def test_a_logarithm_within_direct3d_s_bound_gives_an_acceptable_power(base: float, off: float) -> None:
    exponent = 4294967293
    with np.errstate(all="ignore"):
        result = np.exp2(np.float32(exponent) * np.float32(np.log2(base) + off))
    assert admitted(base, exponent, float(result))


@pytest.mark.parametrize(
    "base, exponent, right, wrong",
    [
        (0.999, 4294967293, 0.0, 1e-30),
        (1.001, 4294967293, np.inf, 1e30),
        (3.0, 1_000_000_000, np.inf, 3.4e38),
        (1 - 2.0**-24, 1_000_000, 0.94213, 0.3),
        (1 + 2.0**-20, 50_000_000, 5.1e20, 1e30),
    ],
)
def test_beyond_the_bound_a_power_is_wrong(base: float, exponent: int, right: float, wrong: float) -> None:
    assert admitted(base, exponent, right)
    assert not admitted(base, exponent, wrong)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "base, exponent",
    [
        (DataType.FLOAT32, DataType.UINT32),
        (DataType.FLOAT32, DataType.FLOAT32),
        (DataType.FLOAT16, DataType.UINT32),
        (DataType.FLOAT32, DataType.INT32),
        (DataType.FLOAT16, DataType.FLOAT32),
    ],
    ids=str,
)
def test_the_oracles_agree_on_far_exponents(base: DataType, exponent: DataType, strict: bool) -> None:
    exponents = [1, 1000, 100_000, 10_000_000, 200_000_000, 200_000_001, 1_000_000_000, 2_147_483_647]
    if exponent is not DataType.UINT32:
        exponents += [-item for item in exponents]
    operator, value = power(base, exponent, BASES, exponents)
    assert disagreements(TABLES, operator, value, strict=strict) == []


@pytest.mark.parametrize("exponent", [1e5, 3e8, -3e8, 1e30, 3e38])
@pytest.mark.parametrize("strict", [False, True])
def test_the_oracles_agree_on_far_constants(exponent: float, strict: bool) -> None:
    described = {name: TensorDesc(DataType.FLOAT32, (len(BASES),)) for name in ("InputTensor", "OutputTensor")}
    attributes = {"ScaleBias": None, "Exponent": np.float32(exponent)}
    operator = OperatorDesc("ELEMENT_WISE_CONSTANT_POW", described, attributes)
    assert disagreements(TABLES, operator, {"x": np.array(BASES, np.float32)}, strict=strict) == []
