"""The exact oracle on ScaleBias of integer tensors: every arithmetic that the rules permit, worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScaleBias
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.suites.selftest.exact_oracle.exact_answers import INF, INTEGERS, NAN, accept, clipped, threshold, values

I8, U8, I16, U16 = DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16
I32, U32, I64, U64 = DataType.INT32, DataType.UINT32, DataType.INT64, DataType.UINT64

each_strictness = pytest.mark.parametrize("strict", [False, True])


def scaled(data_type: DataType, x: int, scale: float, bias: float, strict: bool = False) -> Acceptable:
    """What ScaleBias makes of ``x`` before a threshold that changes nothing."""
    low = float(IntegerRange.of(data_type).lowest)
    scale_bias = ScaleBias(scale, bias)
    return accept("THRESHOLD", data_type, x, Min=low, ScaleBias=scale_bias, strict=strict)


@each_strictness
def test_what_fits_is_exact(strict: bool) -> None:
    for data_type, x, scale, bias, expected in (
        (U8, 10, 1.0, -3.0, 7),  # a zero point of quantisation
        (U8, 3, 1.0, -3.0, 0),
        (U8, 255, 1.0, -255.0, 0),
        (U8, 5, 2.0, 9.0, 19),
        (U8, 0, 1000.0, 7.0, 7),  # a scale outside the type
        (I8, 5, 3.0, -2.0, 13),
        (I8, 64, -1.0, -64.0, -128),
        (I32, 2**23, 2.0, 0.0, 2**24),
        (I32, 2**23, 2.0, -1.0, 2**24 - 1),
        (I32, 2**24 + 1, 0.0, 5.0, 5),
        (I64, -(2**24), -1.0, 0.0, 2**24),
    ):
        assert scaled(data_type, x, scale, bias, strict) == values(data_type, expected)


def test_scaling_comes_before_the_bounds() -> None:
    assert clipped(I8, 30, 0.0, 64.0, ScaleBias(3.0, 0.0)) == values(I8, 64)
    assert clipped(I8, 5, 0.0, 7.0, ScaleBias(1.5, 0.0)) == values(I8, 7), "7 or 8, and at most 7"
    assert clipped(U8, 1, 2.0, 100.0, ScaleBias(1.0, -3.0)) == values(U8, 2, 100), "0 or 254, and then the bounds"
    assert threshold(I8, 30, 7.5) == values(I8, 30)
    assert accept("THRESHOLD", I8, 5, Min=7.5, ScaleBias=ScaleBias(1.5, 0.0)) == values(I8, 7, 8)


@each_strictness
@pytest.mark.parametrize("bias", [0.0, -0.0])
@pytest.mark.parametrize("data_type", INTEGERS)
def test_scale_1_and_bias_0_change_nothing(data_type: DataType, bias: float, strict: bool) -> None:
    integers = IntegerRange.of(data_type)
    inside = (x for x in (2**24 + 1, 2**53 + 1, -(2**53) - 1) if x in integers)
    for x in (integers.lowest, integers.highest, 0, 1, *inside):
        assert scaled(data_type, x, 1.0, bias, strict) == values(data_type, x)


@each_strictness
def test_a_sum_outside_the_type_saturates_or_wraps(strict: bool) -> None:
    assert scaled(U8, 1, 1.0, -3.0, strict) == values(U8, 0, 254)
    assert scaled(U8, 2, 1.0, -3.0, strict) == values(U8, 0, 255)
    assert scaled(U8, 255, 1.0, 1.0, strict) == values(U8, 255, 0)
    assert scaled(I32, 2**31 - 1, 0.0, 2.0**31, strict) == values(I32, 2**31 - 1, -(2**31))
    assert scaled(I32, 2**30, 4.0, 0.0, strict) == values(I32, 2**31 - 1, 0), "no other type on 32 bits"
    assert scaled(U32, 2**31, 4.0, 0.0, strict) == values(U32, 2**32 - 1, 0)
    assert scaled(U32, 5, -1.0, 0.0, strict) == values(U32, 2**32 - 5, 0)
    assert scaled(I64, 2**62, 2.0, 0.0, strict) == values(I64, 2**63 - 1, -(2**63))


@each_strictness
def test_a_product_outside_the_type_counts_for_integers_only(strict: bool) -> None:
    # 200 * 2 - 200: 200 exactly and in floating point; saturated 255 - 200, wrapped 144 - 200, which is 200 again.
    assert scaled(U8, 200, 2.0, -200.0, strict) == values(U8, 200, 55)
    # 64 * 2 - 10 on INT8: 118 exactly and wrapped; 127 - 10 saturated.
    assert scaled(I8, 64, 2.0, -10.0, strict) == values(I8, 118, 117)
    # 5 * -1 + 9 on UINT8: 4; 0 + 9 saturated.
    assert scaled(U8, 5, -1.0, 9.0, strict) == values(U8, 4, 9)
    # INT32: 2^31 is 2^31 - 1 or -2^31, whose sum with -2^31 saturates or wraps to 0.
    assert scaled(I32, 2**30, 2.0, -(2.0**31), strict) == values(I32, 0, -1)


@each_strictness
def test_narrow_types_may_be_saturated_to_32_bits_first(strict: bool) -> None:
    # 3,000,000,000 is 24064 modulo 2^16; saturated to INT32 it ends in sixteen ones, that is -1.
    assert scaled(I16, 30000, 100000.0, 0.0, strict) == values(I16, 32767, 24064, -1)
    # Its negative: INT32's least integer and UINT32's 0 both end in sixteen zeros.
    assert scaled(I16, -30000, 100000.0, 0.0, strict) == values(I16, -32768, -24064, 0)
    # -200: 56 wrapped, 0 through UINT32.
    assert scaled(I8, -2, 100.0, 0.0, strict) == values(I8, -128, 56, 0)
    assert scaled(U8, 200, 2.0**25, 0.0, strict) == values(U8, 255, 0), "0 wrapped; both 32-bit limits end in ones"
    assert scaled(U16, 65535, 2.0**16, 0.0, strict) == values(U16, 65535, 0)
    assert scaled(I8, 50, 2.0, 50.0, strict) == values(I8, 127, -106), "150 lies within both"


def test_a_maximum_in_a_wider_type_stores_what_the_scaled_fraction_is_rounded_up_to() -> None:
    # 85 * 1.5 = 127.5: 127; or 128, which as an INT8 is 127, or -128 and then Min, or -128 after the maximum.
    assert accept("THRESHOLD", I8, 85, Min=5.0, ScaleBias=ScaleBias(1.5, 0.0)) == values(I8, 127, 5, -128)
    # Exactly 127; FLOAT32 rounds the product up by an eighth, and 127.125 is rounded up to 128.
    acceptable = accept("THRESHOLD", I8, 3, Min=5.0, ScaleBias=ScaleBias(699051.125, -2097026.375))
    assert acceptable.admits(0x80, I8)


@each_strictness
def test_an_infinite_result_saturates(strict: bool) -> None:
    # 4 * 2^127 is infinite in FLOAT32 only; exactly and in FLOAT64 it wraps to 0.
    assert scaled(I32, 4, 2.0**127, 0.0, strict) == values(I32, 2**31 - 1, 0)
    assert scaled(I8, 4, 2.0**127, 0.0, strict) == values(I8, 127, -1, 0)
    assert scaled(I8, -4, 2.0**127, 0.0, strict) == values(I8, -128, 0)
    # 2 * 2^127 less the largest FLOAT32 is 2^104 if fused; the separate product of FLOAT32 stays infinite.
    largest = 2.0**128 - 2.0**104
    assert scaled(U32, 2, 2.0**127, -largest, strict) == values(U32, 2**32 - 1, 0)


@each_strictness
def test_fractions_go_either_way(strict: bool) -> None:
    assert scaled(I8, 5, 1.5, 0.0, strict) == values(I8, 7, 8)
    assert scaled(I8, -5, 1.5, 0.0, strict) == values(I8, -7, -8)
    assert scaled(I8, 5, 1.0, 0.5, strict) == values(I8, 5, 6)
    assert scaled(I8, 5, 1.0, -0.5, strict) == values(I8, 4, 5)
    # 5 * 1.5 + 0.5 = 8; in integers 7 + 0.5 rounded down, or 8 + 0.5 rounded up.
    assert scaled(I8, 5, 1.5, 0.5, strict) == values(I8, 7, 8, 9)
    # 5 * 1.5 - 0.5 = 7; in integers 7 - 0.5 rounded down, or 8 - 0.5 rounded up.
    assert scaled(I8, 5, 1.5, -0.5, strict) == values(I8, 6, 7, 8)
    # -0.5 is -1 or 0, and -1 saturates or wraps on an unsigned type.
    assert scaled(U8, 1, -0.5, 0.0, strict) == values(U8, 0, 255)
    assert scaled(U8, 255, 1.0, 0.5, strict) == values(U8, 255, 0)
    assert scaled(I8, 5, 2.0**-149, 0.0, strict) == values(I8, 0, 1), "a subnormal scale"


@each_strictness
def test_the_formats_in_which_it_may_be_computed(strict: bool) -> None:
    # FLOAT32 cannot hold 2^24 + 1: it becomes either neighbour; a sum or product that it does not hold does too.
    assert scaled(I32, 2**24 + 1, 2.0, 0.0, strict) == values(I32, 2**25 + 2, 2**25, 2**25 + 4)
    assert scaled(I32, 2**24 + 1, 1.0, -1.0, strict) == values(I32, 2**24, 2**24 - 1, 2**24 + 2)
    # 4097 * 4097 = 16785409 is odd and above 2^24: separate FLOAT32 drops the 1 or makes it 2, fused keeps it.
    assert scaled(I32, 4097, 4097.0, -16785408.0, strict) == values(I32, 0, 1, 2)
    # 2^40 + 1 times 2^20 + 1, less 2^60: 2^40 + 2^20 + 1. FLOAT64 drops the 1 if separate. FLOAT32 reads 2^40 or
    # 2^40 + 2^17, and the latter's product with 2^20 + 1 is 2^60 + 2^40 + 2^37 + 2^17, whose last term a sum drops,
    # and a product too, or makes it 2^37.
    assert scaled(I64, 2**40 + 1, 2.0**20 + 1, -(2.0**60), strict) == values(
        I64, 2**40 + 2**20 + 1, 2**40 + 2**20, 2**40, 2**40 + 2**37, 2**40 + 2**37 + 2**17, 2**40 + 2**38
    )
    # Neither format holds 2^53 + 1. FLOAT64 takes it for 2^53 (and rounds the sum down again) or 2^53 + 2 (and
    # rounds up), FLOAT32 for 2^53 or 2^53 + 2^30, to which it adds nothing or 2^30.
    assert scaled(I64, 2**53 + 1, 1.0, 1.0, strict) == values(
        I64, 2**53 + 2, 2**53, 2**53 + 4, 2**53 + 2**30, 2**53 + 2**31
    )
    # The greatest UINT64 is 2^64 in both formats, which is outside the type, or the greatest number below; from
    # that FLOAT32 takes nothing or 2^40.
    assert scaled(U64, 2**64 - 1, 1.0, -1.0, strict) == values(
        U64, 2**64 - 2, 2**64 - 1, 0, 2**64 - 2**40, 2**64 - 2**41, 2**64 - 2**11
    )


@each_strictness
@pytest.mark.parametrize("scale, bias", [(NAN, 0.0), (1.0, NAN), (INF, 0.0), (1.0, INF), (-INF, 1.0), (1.0, -INF)])
def test_factors_that_are_not_finite_leave_the_element_open(scale: float, bias: float, strict: bool) -> None:
    for data_type in (I8, I64):
        assert scaled(data_type, 1, scale, bias, strict) == Acceptable(frozenset(), any_value=True)
    largest = 2.0**128 - 2.0**104
    assert not scaled(I64, 1, largest, -largest, strict).any_value


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_nothing_but_the_exact_value_where_all_fits(data: st.DataObject) -> None:
    data_type = data.draw(st.sampled_from(INTEGERS))
    integers = IntegerRange.of(data_type)
    low, high = max(integers.lowest, -(2**24)), min(integers.highest, 2**24)
    x = data.draw(st.integers(low, high))
    fitting = st.integers(-(2**24), 2**24) if x == 0 else st.integers(-(high // abs(x)), high // abs(x))
    scale = data.draw(fitting if integers.signed else fitting.map(abs))
    product = x * scale
    result = data.draw(st.integers(max(low, product - 2**24), min(high, product + 2**24)))
    bias = result - product  # at most 2^24, so that FLOAT32 holds it
    assert scaled(data_type, x, float(scale), float(bias)) == values(data_type, result)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_the_exact_real_rounded_and_stored_is_always_among_them(data: st.DataObject) -> None:
    data_type = data.draw(st.sampled_from((I8, U8, I16, U16, I32)))
    integers = IntegerRange.of(data_type)
    x = data.draw(st.integers(integers.lowest, integers.highest))
    scale, bias = (data.draw(st.integers(-4096, 4096)) / 8 for _ in range(2))
    real = x * scale + bias  # exact: 32 + 13 bits
    acceptable = scaled(data_type, x, scale, bias)
    if (scale, bias) == (1, 0):
        assert acceptable == values(data_type, x)
        return
    for whole in {math.floor(real), math.ceil(real), math.trunc(real), round(real)}:
        saturated = min(max(whole, integers.lowest), integers.highest)
        for stored in (saturated, whole):
            assert acceptable.admits(stored % 2**integers.width, data_type)


@pytest.mark.parametrize("data_type", INTEGERS)
def test_the_ranges_of_the_types(data_type: DataType) -> None:
    bits = 8 * data_type.itemsize
    integers = IntegerRange.of(data_type)
    expected = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if data_type.is_signed else (0, 2**bits - 1)
    assert (integers.lowest, integers.highest) == expected
    assert integers.lowest in integers
    assert integers.highest in integers
    assert integers.lowest - 1 not in integers
    assert integers.highest + 1 not in integers
    assert integers.saturated(integers.highest + 1) == integers.saturated(INF) == integers.highest
    assert integers.saturated(integers.lowest - 1) == integers.saturated(-INF) == integers.lowest
    assert integers.wrapped(integers.highest + 1) == integers.lowest
    assert integers.wrapped(integers.lowest - 1) == integers.highest
    assert integers.wrapped(5) == integers.saturated(5) == integers.encode(5) == 5
