"""The exact oracle on ScaleBias in floating point: every path that an implementation may take."""

from __future__ import annotations

import pytest

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScaleBias
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.suites.selftest.exact_answers import F16, F32, INF, NAN, TINY16, TINY32, clip, values


def unclamped(data_type: DataType, x: float, scale: float, bias: float, strict: bool = False) -> Acceptable:
    return clip(data_type, x, -INF, INF, ScaleBias(scale, bias), strict)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [F16, F32])
def test_scale_bias_comes_before_the_clamp(data_type: DataType, strict: bool) -> None:
    assert unclamped(data_type, 3.0, 2.0, 1.0, strict) == values(data_type, 7.0)
    assert clip(data_type, 3.0, 0.0, 5.0, ScaleBias(2.0, 1.0), strict) == values(data_type, 5.0)
    assert clip(data_type, 3.0, 0.0, 5.0, ScaleBias(-2.0, 1.0), True) == values(data_type, 0.0)


def test_fused_and_separate_differ_in_float32() -> None:
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24; the last term is half an ulp and a tie, to even: it vanishes.
    x = 1 + 2.0**-12
    bias = -(1 + 2.0**-11)
    assert unclamped(F32, x, x, bias) == values(F32, 2.0**-24, 0.0, -0.0)
    assert unclamped(F32, x, x, bias, strict=True) == values(F32, 0.0)


def test_fused_and_separate_differ_by_an_overflow() -> None:
    big = 2.0**127
    assert unclamped(F32, big, 2.0, -big) == values(F32, INF, big)
    assert unclamped(F32, big, 2.0, -big, strict=True) == values(F32, INF)


def test_an_intermediate_in_float16_or_float32() -> None:
    # (1 + 2^-6)^2 = 1 + 2^-5 + 2^-12: FLOAT32 holds it, FLOAT16 drops the last term unless fused.
    x = 1 + 2.0**-6
    bias = -(1 + 2.0**-5)
    assert unclamped(F16, x, x, bias) == values(F16, 2.0**-12, 0.0, -0.0)
    assert unclamped(F16, x, x, bias, strict=True) == values(F16, 2.0**-12)


def test_scale_as_it_is_or_rounded_to_float16() -> None:
    # 4 * (1 + 2^-12) - 4 = 2^-10 with the scale as it is; rounded to FLOAT16 the scale is 1.
    assert unclamped(F16, 4.0, 1 + 2.0**-12, -4.0) == values(F16, 2.0**-10, 0.0, -0.0)
    assert unclamped(F16, 4.0, 1 + 2.0**-12, -4.0, strict=True) == values(F16, 2.0**-10)


def test_bias_as_it_is_or_rounded_to_float16() -> None:
    # FLOAT16 steps by 4 here. As it is: 1.5 + 4097 = 4098.5 -> 4100; rounded: 1.5 + 4096 = 4097.5 -> 4096.
    assert unclamped(F16, 1.5, 1.0, 4097.0) == values(F16, 4100, 4096)
    assert unclamped(F16, 1.5, 1.0, 4097.0, strict=True) == values(F16, 4100)


def test_float32_with_scale_and_bias_rounded_to_float16_is_a_path_of_its_own() -> None:
    # 13 * 631/2^13 = 1 + 2^-10 + 2^-11 - 2^-13; adding 2^-13 - 2^-24 ends just below a FLOAT16 tie.
    # FLOAT32 rounds that up to the tie, and the tie goes up to 1 + 2^-9. FLOAT16 stays below, fused or
    # separate, and so does FLOAT32 with the scale as it is, which is a little less than 631/2^13.
    scale, bias = 631 / 2**13 - 2.0**-20, 2.0**-13 - 2.0**-24
    assert unclamped(F16, 13.0, scale, bias) == values(F16, 1 + 2.0**-10, 1 + 2.0**-9)
    assert unclamped(F16, 13.0, scale, bias, strict=True) == values(F16, 1 + 2.0**-10)


def test_only_fused_float16_avoids_double_rounding() -> None:
    # 3 * 683/2048 + 2^-24 = 1 + 2^-11 + 2^-24: just above a FLOAT16 tie; FLOAT32 rounds it down to the tie.
    assert unclamped(F16, 3.0, 683 / 2048, 2.0**-24) == values(F16, 1.0, 1 + 2.0**-10)
    assert unclamped(F16, 3.0, 683 / 2048, 2.0**-24, strict=True) == values(F16, 1.0)


def test_an_intermediate_beyond_float16() -> None:
    # 65504 * 2 - 65504: infinite with a separate FLOAT16 product; exact in FLOAT32 and fused.
    assert unclamped(F16, 65504.0, 2.0, -65504.0) == values(F16, 65504, INF)
    assert unclamped(F16, 65504.0, 2.0, -65504.0, strict=True) == values(F16, 65504)
    # A scale beyond FLOAT16: infinite when rounded to it.
    assert unclamped(F16, 0.5, 100032.0, 0.0) == values(F16, 50016, INF)
    assert unclamped(F16, 0.5, 100032.0, 0.0, strict=True) == values(F16, 50016)


def test_scale_bias_that_gives_nan() -> None:
    for data_type in (F16, F32):
        for strict in (False, True):
            assert unclamped(data_type, INF, 0.0, 1.0, strict) == values(data_type, -INF, INF, nan=True)
            assert unclamped(data_type, INF, 1.0, -INF, strict) == values(data_type, -INF, INF, nan=True)
            assert unclamped(data_type, 1.0, NAN, 0.0, strict) == values(data_type, -INF, INF, nan=True)
            assert unclamped(data_type, 1.0, 1.0, NAN, strict) == values(data_type, -INF, INF, nan=True)
    # Rule 6 adds Max = -1 of inverted bounds; strict does not.
    assert clip(F32, INF, 2.0, -1.0, ScaleBias(0.0, 0.0)) == values(F32, 2.0, -1.0, nan=True)
    assert clip(F32, INF, 2.0, -1.0, ScaleBias(0.0, 0.0), True) == values(F32, 2.0, nan=True)
    # One path of several: rn16(scale) is infinite, 0 * infinity a NaN; the others give 0.
    assert clip(F16, 0.0, -1.0, 2.0, ScaleBias(1e5, 0.0)) == values(F16, 0.0, -0.0, -1.0, 2.0, nan=True)
    assert clip(F16, 0.0, -1.0, 2.0, ScaleBias(1e5, 0.0), True) == values(F16, 0.0)
    # A subnormal scale may be flushed, and infinity times it is then a NaN.
    assert clip(F32, INF, -1.0, 2.0, ScaleBias(TINY32, 0.0)) == values(F32, -1.0, 2.0, nan=True)
    assert clip(F32, INF, -1.0, 2.0, ScaleBias(TINY32, 0.0), True) == values(F32, 2.0)


def test_subnormals_inside_scale_bias() -> None:
    # A subnormal FLOAT32 input, scaled up: kept or flushed before the product.
    assert unclamped(F32, TINY32, 2.0**100, 1.0) == values(F32, 1.0)
    assert unclamped(F32, TINY32, 2.0**100, 0.0) == values(F32, 2.0**-49, 0.0, -0.0)
    assert unclamped(F32, TINY32, 2.0**100, 0.0, strict=True) == values(F32, 2.0**-49)
    # The product of two normal numbers is subnormal, kept or flushed; fused, the sum is normal.
    assert unclamped(F32, 2.0**-70, 2.0**-70, 2.0**-126) == values(F32, 2.0**-126 + 2.0**-140, 2.0**-126)
    # Bias subnormal.
    assert unclamped(F16, 0.0, 1.0, TINY16) == values(F16, TINY16, 0.0, -0.0)
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
        for data_type in (F16, F32):
            assert unclamped(data_type, x, scale, bias, strict=True) == values(data_type, expected)
            assert unclamped(data_type, x, scale, bias) == values(data_type, 0.0, -0.0)
    assert unclamped(F32, -(2.0**-100), 2.0**-100, -0.0, strict=True) == values(F32, -0.0), "underflow"
    assert unclamped(F32, -(2.0**-100), 2.0**-100, 0.0, strict=True) == values(F32, 0.0)
