"""The exact oracle on what is cast, to FLOAT16 and to integers, and on integer tensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.oracle.exact import acceptable
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.suites.selftest.exact_oracle.exact_answers import (
    F16,
    F64,
    INF,
    INTEGERS,
    NAN,
    TABLES,
    TINY16,
    TINY32,
    clipped,
    describe,
    pattern,
    threshold,
    values,
)

# ------------------------------------------------------------------------------------- FLOAT16 casts


def test_documented_float16_casts() -> None:
    below_overflow = 65519.99609375  # the FLOAT32 that 65519.996 is
    assert np.float32(65519.996) == below_overflow
    for sign in (1.0, -1.0):
        infinite = sign * INF

        def bound(v: float, strict: bool = False, sign: float = sign) -> Acceptable:
            """What the element at the far side becomes: the bound itself."""
            if sign > 0:
                return clipped(F16, INF, -INF, v, strict=strict)
            return clipped(F16, -INF, -v, INF, strict=strict)

        assert bound(below_overflow) == values(F16, sign * 65504)
        assert bound(65520.0) == values(F16, infinite, sign * 65504)
        assert bound(65520.0, strict=True) == values(F16, infinite)
        assert bound(3.0e38) == values(F16, infinite, sign * 65504)
        assert bound(INF) == values(F16, infinite)
        assert bound(2049.0) == values(F16, sign * 2048), "a tie, to even"
        assert bound(2051.0) == values(F16, sign * 2052), "a tie, to even"
        assert bound(2049.0, strict=True) == values(F16, sign * 2048)
        assert bound(3 * 2.0**-25, strict=True) == values(F16, sign * 2 * TINY16)
        assert bound(3 * 2.0**-25) == values(F16, sign * 2 * TINY16), "FLOAT16 subnormals are kept"
        assert bound(2.0**-25) == values(F16, 0.0, -0.0)
        assert bound(2.0**-25, strict=True) == values(F16, sign * 0.0)
        assert bound(TINY32) == values(F16, 0.0, -0.0)


def test_undocumented_float16_casts() -> None:
    def bound(v: float, strict: bool = False) -> Acceptable:
        return threshold(F16, -INF, v, strict)

    assert bound(2049.0) == values(F16, 2048, 2050)
    assert bound(2049.0, strict=True) == values(F16, 2048)
    assert bound(-2049.0) == values(F16, -2048, -2050)
    assert bound(2048.0) == values(F16, 2048)
    assert bound(1.0 + 2.0**-23) == values(F16, 1.0, 1.0 + 2.0**-10)
    assert bound(TINY16) == values(F16, TINY16), "FLOAT16 subnormals are kept"
    assert bound(3 * 2.0**-25) == values(F16, TINY16, 2 * TINY16)
    assert bound(2.0**-30) == values(F16, TINY16, 0.0, -0.0)
    assert bound(-(2.0**-30)) == values(F16, -TINY16, 0.0, -0.0)
    assert bound(-(2.0**-30), strict=True) == values(F16, -0.0)
    assert bound(65519.0) == values(F16, 65504, INF), "infinity is the neighbour above"
    assert bound(65519.0, strict=True) == values(F16, 65504)
    assert bound(65520.0) == values(F16, 65504, INF)
    assert bound(-65520.0) == values(F16, -65504, -INF)
    assert bound(65520.0, strict=True) == values(F16, INF)
    assert bound(1.5) == values(F16, 1.5)


def test_bounds_of_float64_are_the_float_itself() -> None:
    for strict in (False, True):
        assert clipped(F64, 5.0, -1.0, float(np.float32(0.1)), strict=strict) == values(F64, float(np.float32(0.1)))
        assert clipped(F64, INF, -1.0, 65520.0, strict=strict) == values(F64, 65520.0)
        assert clipped(F64, INF, -1.0, TINY32, strict=strict) == values(F64, TINY32), "a normal number of FLOAT64"


# ---------------------------------------------------------------------------------------- integers


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.INT64])
def test_documented_integer_casts_truncate(data_type: DataType, strict: bool) -> None:
    assert clipped(data_type, 100, -2.9, 2.9, strict=strict) == values(data_type, 2)
    assert clipped(data_type, -100, -2.9, 2.9, strict=strict) == values(data_type, -2)
    assert clipped(data_type, -100, -0.9, 0.9, strict=strict) == values(data_type, 0)
    assert clipped(data_type, 127, TINY32, 127.99999, strict=strict) == values(data_type, 127)


def test_undocumented_integer_casts_have_two_neighbours() -> None:
    assert threshold(DataType.INT8, -100, 2.9) == values(DataType.INT8, 2, 3)
    assert threshold(DataType.INT8, -100, 2.9, strict=True) == values(DataType.INT8, 2)
    assert threshold(DataType.INT8, -100, -2.9) == values(DataType.INT8, -2, -3)
    assert threshold(DataType.INT8, -100, -2.9, strict=True) == values(DataType.INT8, -2)
    assert threshold(DataType.INT8, -100, 2.0) == values(DataType.INT8, 2)
    assert threshold(DataType.INT8, 50, 2.9) == values(DataType.INT8, 50)
    assert threshold(DataType.UINT8, 0, 255.5) == values(DataType.UINT8, 255), "256 is outside the type"
    assert threshold(DataType.UINT8, 0, -0.5) == values(DataType.UINT8, 0), "-1 is outside the type"
    assert threshold(DataType.INT8, -128, -128.5) == values(DataType.INT8, -128)


@pytest.mark.parametrize(
    "data_type, bound, documented, other",
    [
        (F16, 2049.0, 2048.0, 2050.0),
        (DataType.INT8, 2.9, 2.0, 3.0),
    ],
)
def test_a_documented_cast_has_one_result_whatever_latitude_a_clause_lists(
    data_type: DataType, bound: float, documented: float, other: float
) -> None:
    law = TABLES.law(TABLES.operator("THRESHOLD"))
    attributes = [
        attribute.model_copy(update={"cast": "documented"}) if attribute.name == "Min" else attribute
        for attribute in law.table.attributes
    ]
    report = replace(law, table=law.table.model_copy(update={"attributes": tuple(attributes)}))
    operator = describe(law.table.operator, data_type, Min=bound, ScaleBias=None)
    assert acceptable(report, operator, pattern(data_type, 0)) == values(data_type, documented)
    assert acceptable(law, operator, pattern(data_type, 0)) == values(data_type, documented, other)


def test_large_integers_are_compared_exactly() -> None:
    i32, i64, u64 = DataType.INT32, DataType.INT64, DataType.UINT64
    for x in (2**24 + 1, 2**24 + 2, 2**30 - 1, -(2**24) - 1):
        assert clipped(i32, x, -(2.0**31), 2.0**30) == values(i32, x)
    assert clipped(i32, 2**24 + 1, 0.0, 2.0**24) == values(i32, 2**24)
    assert clipped(i32, 2**24 - 1, 2.0**24, 2.0**30) == values(i32, 2**24)
    # From here on the numbers are no FLOAT64 either, so `values` and `pattern` are given integers.
    for x in (2**53 + 1, 2**53 - 1, -(2**53) - 1, 2**62 - 1):
        assert clipped(i64, x, -(2.0**63), 2.0**62) == values(i64, x)
    assert clipped(i64, 2**53 + 1, 0.0, 2.0**53) == values(i64, 2**53)
    assert clipped(i64, 2**53 + 1, 2.0**53, 2.0**60) == values(i64, 2**53 + 1)
    assert clipped(i64, 2**63 - 1, -(2.0**63), 2.0**63 - 2.0**39) == values(i64, 2**63 - 2**39)
    assert clipped(i64, -(2**63), -(2.0**63), 0.0) == values(i64, -(2**63))
    assert threshold(i64, -(2**63) + 1, -(2.0**63)) == values(i64, -(2**63) + 1)
    for x, expected in ((2**63 - 1, 2**63 - 1), (2**63, 2**63), (2**63 + 1, 2**63), (2**64 - 1, 2**63)):
        assert clipped(u64, x, 0.0, 2.0**63) == values(u64, expected)
        assert clipped(u64, x, 2.0**63, 2.0**64 - 2.0**40) == values(u64, min(max(x, 2**63), 2**64 - 2**40))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", INTEGERS)
def test_bounds_at_and_outside_the_type(data_type: DataType, strict: bool) -> None:
    bits = 8 * data_type.itemsize
    beyond = 2.0 ** (bits - 1 if data_type.is_signed else bits)
    lowest = -beyond if data_type.is_signed else 0.0
    largest = pattern(data_type, -1) >> data_type.is_signed
    assert clipped(data_type, 1, lowest, 5.0, strict=strict) == values(data_type, 1)
    assert threshold(data_type, largest, lowest, strict) == values(data_type, largest)
    for outside in (beyond, -beyond * 2, INF, -INF, NAN):
        with pytest.raises(Unconstrained) as raised:
            clipped(data_type, 1, 0.0, outside, strict=strict)
        assert "Max" in raised.value.cause
        assert data_type.name in str(raised.value)
        with pytest.raises(Unconstrained):
            threshold(data_type, 1, outside, strict)
    if not data_type.is_signed:
        with pytest.raises(Unconstrained):
            clipped(data_type, 1, -1.0, 5.0, strict=strict)
        assert clipped(data_type, 3, -0.9, 5.0, strict=strict) == values(data_type, 3)
