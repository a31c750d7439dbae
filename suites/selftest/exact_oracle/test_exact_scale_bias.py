"""The exact oracle on ScaleBias in floating point: every path that an implementation may take, worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScaleBias
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.suites.selftest.exact_oracle.exact_answers import (
    F16,
    F32,
    F64,
    INF,
    NAN,
    TINY16,
    TINY32,
    TINY64,
    clipped,
    values,
)


def unclamped(data_type: DataType, x: float, scale: float, bias: float, strict: bool = False) -> Acceptable:
    return clipped(data_type, x, -INF, INF, ScaleBias(scale, bias), strict)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [F16, F32, F64])
def test_scale_bias_comes_before_the_clamp(data_type: DataType, strict: bool) -> None:
    assert unclamped(data_type, 3.0, 2.0, 1.0, strict) == values(data_type, 7.0)
    assert clipped(data_type, 3.0, 0.0, 5.0, ScaleBias(2.0, 1.0), strict) == values(data_type, 5.0)
    assert clipped(data_type, 3.0, 0.0, 5.0, ScaleBias(-2.0, 1.0), True) == values(data_type, 0.0)


def test_fused_and_separate_differ_in_float32() -> None:
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24; the last term is half an ulp and a tie, to even: it vanishes.
    x = 1 + 2.0**-12
    bias = -(1 + 2.0**-11)
    # Rounded up, as it may be too, it is one.
    assert unclamped(F32, x, x, bias) == values(F32, 2.0**-24, 2.0**-23, 0.0, -0.0)
    assert unclamped(F32, x, x, bias, strict=True) == values(F32, 0.0)


def test_fused_and_separate_differ_by_an_overflow() -> None:
    big = 2.0**127
    # A truncated product is the largest finite number, 2^128 - 2^104.
    assert unclamped(F32, big, 2.0, -big) == values(F32, INF, big, big - 2.0**104)
    assert unclamped(F32, big, 2.0, -big, strict=True) == values(F32, INF)


def test_an_intermediate_in_float16_or_float32() -> None:
    # (1 + 2^-6)^2 = 1 + 2^-5 + 2^-12: FLOAT32 holds it, FLOAT16 drops the last term unless fused.
    x = 1 + 2.0**-6
    bias = -(1 + 2.0**-5)
    assert unclamped(F16, x, x, bias) == values(F16, 2.0**-12, 0.0, -0.0), "either, and 0 brings -0"
    assert unclamped(F16, x, x, bias, strict=True) == values(F16, 2.0**-12)


def test_scale_as_it_is_or_rounded_to_float16() -> None:
    # 4 * (1 + 2^-12) - 4 = 2^-10 with the scale as it is; rounded to FLOAT16 the scale is 1.
    assert unclamped(F16, 4.0, 1 + 2.0**-12, -4.0) == values(F16, 2.0**-10, 0.0, -0.0)
    assert unclamped(F16, 4.0, 1 + 2.0**-12, -4.0, strict=True) == values(F16, 2.0**-10)


def test_bias_as_it_is_or_rounded_to_float16() -> None:
    # FLOAT16 steps by 4 here. As it is: 1.5 + 4097 = 4098.5 -> 4100; rounded: 1.5 + 4096 = 4097.5 -> 4096.
    # Toward zero both sums become 4096.
    assert unclamped(F16, 1.5, 1.0, 4097.0) == values(F16, 4100, 4096)
    assert unclamped(F16, 1.5, 1.0, 4097.0, strict=True) == values(F16, 4100)


def test_float32_with_scale_and_bias_rounded_to_float16_is_a_path_of_its_own() -> None:
    # 13 * 631/2^13 = 1 + 2^-10 + 2^-11 - 2^-13; adding 2^-13 - 2^-24 ends just below a FLOAT16 tie.
    # FLOAT32 rounds that up to the tie, and the tie goes up to 1 + 2^-9. FLOAT16 stays below, fused or
    # separate, and so does FLOAT32 with the scale as it is, which is a little less than 631/2^13.
    scale, bias = 631 / 2**13 - 2.0**-20, 2.0**-13 - 2.0**-24
    # Toward zero the scale is 1261/2^14: 1 + 9/2^14 + 2^-13 - 2^-24, and toward zero again 1.
    assert unclamped(F16, 13.0, scale, bias) == values(F16, 1.0, 1 + 2.0**-10, 1 + 2.0**-9)
    assert unclamped(F16, 13.0, scale, bias, strict=True) == values(F16, 1 + 2.0**-10)


def test_only_fused_float16_avoids_double_rounding() -> None:
    # 3 * 683/2048 + 2^-24 = 1 + 2^-11 + 2^-24: just above a FLOAT16 tie; FLOAT32 rounds it down to the tie.
    assert unclamped(F16, 3.0, 683 / 2048, 2.0**-24) == values(F16, 1.0, 1 + 2.0**-10)
    assert unclamped(F16, 3.0, 683 / 2048, 2.0**-24, strict=True) == values(F16, 1.0)


def test_an_intermediate_beyond_float16() -> None:
    # 65504 * 2 - 65504: infinite with a separate FLOAT16 product; exact in FLOAT32, FLOAT64 and fused.
    assert unclamped(F16, 65504.0, 2.0, -65504.0) == values(F16, 65504, INF)
    assert unclamped(F16, 65504.0, 2.0, -65504.0, strict=True) == values(F16, 65504)
    # A scale beyond FLOAT16: infinite when rounded to it, 65504 when rounded toward zero.
    assert unclamped(F16, 0.5, 100032.0, 0.0) == values(F16, 50016, INF, 32752)
    assert unclamped(F16, 0.5, 100032.0, 0.0, strict=True) == values(F16, 50016)


def test_scale_bias_that_gives_nan() -> None:
    for data_type in (F16, F32, F64):
        for strict in (False, True):
            assert unclamped(data_type, INF, 0.0, 1.0, strict) == values(data_type, -INF, INF, nan=True)
            assert unclamped(data_type, INF, 1.0, -INF, strict) == values(data_type, -INF, INF, nan=True)
            assert unclamped(data_type, 1.0, NAN, 0.0, strict) == values(data_type, -INF, INF, nan=True)
            assert unclamped(data_type, 1.0, 1.0, NAN, strict) == values(data_type, -INF, INF, nan=True)
    # Rule 6 adds Max = -1 of inverted bounds; strict does not.
    assert clipped(F32, INF, 2.0, -1.0, ScaleBias(0.0, 0.0)) == values(F32, 2.0, -1.0, nan=True)
    assert clipped(F32, INF, 2.0, -1.0, ScaleBias(0.0, 0.0), True) == values(F32, 2.0, nan=True)
    # One path of several: rn16(scale) is infinite, 0 * infinity a NaN; the others give 0.
    assert clipped(F16, 0.0, -1.0, 2.0, ScaleBias(1e5, 0.0)) == values(F16, 0.0, -0.0, -1.0, 2.0, nan=True)
    assert clipped(F16, 0.0, -1.0, 2.0, ScaleBias(1e5, 0.0), True) == values(F16, 0.0)
    # A subnormal scale may be flushed, and infinity times it is then a NaN.
    assert clipped(F32, INF, -1.0, 2.0, ScaleBias(TINY32, 0.0)) == values(F32, -1.0, 2.0, nan=True)
    assert clipped(F32, INF, -1.0, 2.0, ScaleBias(TINY32, 0.0), True) == values(F32, 2.0)


def test_subnormals_inside_scale_bias() -> None:
    # A subnormal FLOAT32 input, scaled up: kept or flushed before the product.
    assert unclamped(F32, TINY32, 2.0**100, 1.0) == values(F32, 1.0, 1 + 2.0**-23)
    assert unclamped(F32, TINY32, 2.0**100, 0.0) == values(F32, 2.0**-49, 0.0, -0.0)
    assert unclamped(F32, TINY32, 2.0**100, 0.0, strict=True) == values(F32, 2.0**-49)
    # The product of two normal numbers is subnormal, kept or flushed; fused, the sum is normal.
    assert unclamped(F32, 2.0**-70, 2.0**-70, 2.0**-126) == values(F32, 2.0**-126 + 2.0**-140, 2.0**-126)
    # Bias subnormal: FLOAT16 keeps it, and in FLOAT32 it is a normal number.
    assert unclamped(F16, 0.0, 1.0, TINY16) == values(F16, TINY16)
    assert unclamped(F16, 0.0, 1.0, TINY16, strict=True) == values(F16, TINY16)


def test_zero_signs_of_scale_bias_strict() -> None:
    for x, scale, bias, expected in (
        (0.0, -1.0, -0.0, -0.0),
        (0.0, -1.0, 0.0, 0.0),
        (-0.0, 1.0, -0.0, -0.0),
        (-0.0, -1.0, -0.0, 0.0),
        (1.0, 1.0, -1.0, 0.0),
        (-1.0, 1.0, 1.0, 0.0),
    ):
        for data_type in (F16, F32, F64):
            assert unclamped(data_type, x, scale, bias, strict=True) == values(data_type, expected)
            assert unclamped(data_type, x, scale, bias) == values(data_type, 0.0, -0.0)
    assert unclamped(F32, -(2.0**-100), 2.0**-100, -0.0, strict=True) == values(F32, -0.0), "underflow"
    assert unclamped(F32, -(2.0**-100), 2.0**-100, 0.0, strict=True) == values(F32, 0.0)


# ------------------------------------------------------------------- FLOAT16: one rounding, and FLOAT64


def test_the_correctly_rounded_float16_result() -> None:
    # One of the 205 inputs that FLOAT32 rounds the other way: 0.1 and 0.7 are 13421773/2^27 and 11744051/2^24.
    # 19/2048 times scale plus bias is 1435.49997.../2048: just below the tie, so that one rounding gives 1435/2048.
    # FLOAT32 rounds up to the tie, which goes to even. Toward zero 0.7 is 1433/2048 and the sum 1434.9/2048, that is
    # 1435/2048 or, toward zero again, 1434/2048.
    x, scale, bias = 19 / 2048, 13421773 / 2**27, 11744051 / 2**24
    assert (np.float32(0.1), np.float32(0.7)) == (scale, bias)
    assert Fraction(x) * Fraction(scale) + Fraction(bias) < Fraction(2871, 4096)
    assert unclamped(F16, x, 0.1, 0.7) == values(F16, *(n / 2048 for n in (1434, 1435, 1436)))
    assert unclamped(F16, x, 0.1, 0.7, strict=True) == values(F16, 1436 / 2048)


def test_only_one_rounding_sees_what_float64_drops() -> None:
    # 1 + 2^-11 is a tie of FLOAT16, to even: 1. As FLOAT16s the factors are 1 and 0.
    value, above = 1.0, 1 + 2.0**-10
    assert unclamped(F16, 1.0, 1 + 2.0**-11, 0.0) == values(F16, value)
    assert unclamped(F16, 1.0, 1 + 2.0**-11, 2.0**-60) == values(F16, value, above), "FLOAT64 drops 2^-60"
    assert unclamped(F16, 1.0, 1 + 2.0**-11, 2.0**-30) == values(F16, value, above), "FLOAT32 drops 2^-30"
    assert unclamped(F16, 1.0, 1 + 2.0**-11, -(2.0**-30)) == values(F16, value)
    for bias in (2.0**-60, 2.0**-30):
        assert unclamped(F16, 1.0, 1 + 2.0**-11, bias, strict=True) == values(F16, value)


def test_float64_toward_zero_sees_what_float32_drops() -> None:
    # 1 + 2^-10 - 2^-30: FLOAT32 and FLOAT16 round it up to 1 + 2^-10. FLOAT64 keeps it; toward zero it is 1.
    above = 1 + 2.0**-10
    assert unclamped(F16, 1.0, above, -(2.0**-30)) == values(F16, 1.0, above)
    assert unclamped(F16, 1.0, above, 2.0**-30) == values(F16, above)
    assert unclamped(F16, 1.0, above, -(2.0**-30), strict=True) == values(F16, above)
    # With the factors as FLOAT16s: as they are, 2^-12 covers the bias of -2^-24.
    assert unclamped(F16, 1.0, above + 2.0**-12, -(2.0**-24)) == values(F16, 1.0, above)
    assert unclamped(F16, 1.0, above + 2.0**-12, 2.0**-24) == values(F16, above)


def test_float64_in_between_on_float32() -> None:
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 is a tie of FLOAT32, to even; FLOAT64 drops the bias that would break it.
    x = 1 + 2.0**-12
    # Rounded up twice it is two units more.
    assert unclamped(F32, x, x, 2.0**-60) == values(F32, *(1 + 2.0**-11 + units * 2.0**-23 for units in (0, 1, 2)))
    assert unclamped(F32, x, x, 2.0**-60, strict=True) == values(F32, 1 + 2.0**-11)
    # The product 2^128 overflows FLOAT32 only where it is rounded to it.
    assert unclamped(F32, 2.0**64, 2.0**64, -(2.0**127)) == values(F32, INF, 2.0**127, 2.0**127 - 2.0**104)


def test_a_fused_sum_may_be_the_number_on_its_other_side() -> None:
    # (2^23 + 1)(2^23 + 5) - 2^46 = 6 * 2^23 + 5, between + 4 and + 8. The product alone is 6 or 7 times 2^23 more.
    value = 2.0**23 + 1, 2.0**23 + 5, -(2.0**46)
    assert unclamped(F32, *value) == values(F32, *(6 * 2.0**23 + more for more in (0, 2.0**23, 4, 8)))
    assert unclamped(F32, *value, strict=True) == values(F32, 6 * 2.0**23)


# ------------------------------------------------------------------------- factors and results toward zero


def test_both_factors_are_rounded_the_same_way() -> None:
    # In units of e = 2^-10: scale = 1 + 1.625e and bias = -(4 + 6.5e), each between two FLOAT16s: to nearest
    # 1 + 2e and -(4 + 8e), toward zero 1 + e and -(4 + 4e). x = 5, where FLOAT16 steps by 4e.
    # As they are: 1 + 1.625e, that is 1 + 2e, or 1 + e toward zero. Both to nearest: 1 + 2e, and 1 where the
    # product 5 + 10e is rounded to 5 + 8e. Both toward zero: 1 + e, and 1 where the product 5 + 5e becomes 5 + 4e.
    # One of each would give 1 - 3e, 1 - 4e, 1 + 6e or 1 + 4e.
    e = 2.0**-10
    scale, bias = 1 + 1.625 * e, -(4 + 6.5 * e)
    assert unclamped(F16, 5.0, scale, bias) == values(F16, 1.0, 1 + e, 1 + 2 * e)
    assert unclamped(F16, 5.0, scale, bias, strict=True) == values(F16, 1 + 2 * e)


def test_a_factor_rounded_toward_zero() -> None:
    # 5 * (1 + 1.625e) = 5 + 8.125e, FLOAT16 steps by 4e: 5 + 8e. To nearest the scale is 1 + 2e, and 5 + 10e a tie,
    # to 5 + 8e; toward zero it is 1 + e, and 5 + 5e becomes 5 + 4e.
    e = 2.0**-10
    assert unclamped(F16, 5.0, 1 + 1.625 * e, 0.0) == values(F16, 5 + 4 * e, 5 + 8 * e)
    assert unclamped(F16, 5.0, -(1 + 1.625 * e), 0.0) == values(F16, -(5 + 4 * e), -(5 + 8 * e))
    assert unclamped(F16, 5.0, 1 + 1.625 * e, 0.0, strict=True) == values(F16, 5 + 8 * e)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_wide_result_toward_zero(sign: float) -> None:
    # 65519.99... becomes 65504 either way; 65520 = 48 * 1365 becomes infinite to nearest, 65504 toward zero.
    assert np.float32(65519.99) == 65519.98828125
    assert unclamped(F16, sign, 65519.98828125, 0.0) == values(F16, sign * 65504)
    assert unclamped(F16, sign * 48, 1365.0, 0.0) == values(F16, sign * INF, sign * 65504)
    assert unclamped(F16, sign * 48, 1365.0, 0.0, strict=True) == values(F16, sign * INF)
    assert unclamped(F16, sign * INF, 1.0, 0.0) == values(F16, sign * INF), "an infinity stays"
    # 3 * 683 = 2049, a tie to 2048; 3 * 685 = 2055 is nearer to 2056: toward zero 2054.
    assert unclamped(F16, sign * 3, 683.0, 0.0) == values(F16, sign * 2048)
    assert unclamped(F16, sign * 5, 411.0, 0.0) == values(F16, sign * 2056, sign * 2054)
    assert unclamped(F16, sign * 5, 411.0, 0.0, strict=True) == values(F16, sign * 2056)
    # 1.5 and 0.5 of the smallest subnormal.
    assert unclamped(F16, sign * 3 * TINY16, 0.5, 0.0) == values(F16, sign * 2 * TINY16, sign * TINY16)
    assert unclamped(F16, sign * TINY16, 0.75, 0.0) == values(F16, sign * TINY16, 0.0, -0.0)


# ----------------------------------------------------------------------------------- tiny before rounding


def test_a_float32_result_may_be_flushed_for_what_it_was_before_rounding() -> None:
    # (1 - 2^-13) * (1 + 2^-13) = 1 - 2^-26: below the smallest normal number, which is the nearest.
    smallest, x = 2.0**-126, 1 - 2.0**-13
    below = smallest - TINY32
    assert unclamped(F32, x, (1 + 2.0**-13) * smallest, 0.0) == values(F32, smallest, below, 0.0, -0.0)
    assert unclamped(F32, -x, (1 + 2.0**-13) * smallest, 0.0) == values(F32, -smallest, -below, 0.0, -0.0)
    assert unclamped(F32, x, (1 + 2.0**-13) * smallest, 0.0, strict=True) == values(F32, smallest)
    # Exactly the smallest normal number, and rounded to the next one from below: nothing is tiny.
    assert unclamped(F32, 0.5, 2 * smallest, 0.0) == values(F32, smallest)
    assert unclamped(F32, 1 + 2.0**-12 - 2.0**-23, (1 + 2.0**-12) * smallest, 0.0) == values(
        F32, (1 + 2.0**-11 - 2.0**-23) * smallest, (1 + 2.0**-11) * smallest
    )
    # A product is flushed before the sum: 2^-100 swallows the smallest normal number in any case.
    assert unclamped(F32, x, (1 + 2.0**-13) * smallest, 2.0**-100) == values(F32, 2.0**-100, 2.0**-100 + 2.0**-123)
    sums = (smallest, smallest + below, 2 * smallest)
    assert unclamped(F32, x, (1 + 2.0**-13) * smallest, smallest) == values(F32, *sums)


def test_float16_and_float64_are_not_flushed_for_being_tiny() -> None:
    x = 1 - 2.0**-6
    assert unclamped(F16, x, (1 + 2.0**-6) * 2.0**-14, 0.0) == values(F16, 2.0**-14, 2.0**-14 - TINY16), "or truncated"
    assert unclamped(F64, 2.0**-1000, 2.0**-23, 0.0) == values(F64, 2.0**-1023)


# ------------------------------------------------------------------------------------------------ FLOAT64


def test_scale_bias_on_float64_is_fused_or_separate() -> None:
    # (1 + 2^-27)^2 is not for FLOAT factors; (1 + 2^-40) * (1 + 2^-20) = 1 + 2^-20 + 2^-40 + 2^-60.
    x, scale, bias = 1 + 2.0**-40, 1 + 2.0**-20, -(1 + 2.0**-20)
    assert unclamped(F64, x, scale, bias) == values(F64, 2.0**-40, 2.0**-40 + 2.0**-60)
    assert unclamped(F64, x, scale, bias, strict=True) == values(F64, 2.0**-40)
    assert unclamped(F64, TINY64, 1.0, 0.0) == values(F64, TINY64), "subnormals are kept"
    assert unclamped(F64, 2.0**1023, 2.0, 0.0) == values(F64, INF)
    assert unclamped(F64, 1.0, TINY32, 0.0) == values(F64, TINY32), "a subnormal FLOAT is a normal FLOAT64"
