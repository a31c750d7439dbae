"""The vectorised oracle on examples computed by hand: what each rule permits, and what lies just beside it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, inf, nan
from time import process_time
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.arithmetic.vector_arithmetic import fused_multiply_add_float64, to_float16_toward_zero
from dmlcts.specs.arithmetic.vector_integers import Whole, floor_and_ceiling
from dmlcts.specs.formula import MultiplyAdd, parse
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle import vectorised
from dmlcts.specs.oracle.exact import acceptable
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.oracle.vectorised import VectorOracle

TABLES = load_tables()
F16, F32, F64, I8 = DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64, DataType.INT8
TINY16, TINY32 = 2.0**-24, 2.0**-149
LEAST32 = 2.0**-126  # the smallest normal FLOAT32
FAR = 1 << 62


def oracle(
    name: str, data_type: DataType, *, strict: bool = False, formula: str = "", **attributes: Any
) -> VectorOracle:
    tensor = TensorDesc(data_type, (1,))
    table = TABLES.operator(f"ELEMENT_WISE_{name}")
    operator = OperatorDesc(table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    expression = parse(formula, ("x", *table.float_attributes)) if formula else TABLES.law(table).expression
    return VectorOracle(TABLES.law(table).with_expression(expression), operator, strict=strict)


def clip_oracle(
    data_type: DataType, low: float, high: float, *, strict: bool = False, **attributes: Any
) -> VectorOracle:
    return oracle("CLIP", data_type, strict=strict, **{"ScaleBias": None, "Min": low, "Max": high, **attributes})


def accepted(judging: VectorOracle, x: float) -> set[Any]:
    """The acceptable numbers for one input, "NaN" among them where any NaN is; -0 is written as 0."""
    data_type = judging.data_type
    values = np.array([x], data_type.numpy)
    element = judging.acceptance(values).element(0)
    bits = np.array(sorted(element.patterns), data_type.bits_dtype).view(data_type.numpy)
    assert judging.acceptance(values).admits(judging.expected(values)).all()
    return {*(value + 0 for value in bits.tolist()), *(["NaN"] if element.any_nan else [])}


def scaled(data_type: DataType, x: float, scale: float, bias: float, *, strict: bool = False) -> set[Any]:
    """What x * scale + bias may be, before bounds that change nothing."""
    judging = oracle("THRESHOLD", data_type, strict=strict, formula="x", ScaleBias=ScaleBias(scale, bias), Min=0)
    return accepted(judging, x)


# ------------------------------------------------------------------------------------ subnormals and NaN


def test_float16_subnormals_are_kept() -> None:
    for x in (TINY16, -3 * TINY16, 2.0**-14 - TINY16):
        assert accepted(clip_oracle(F16, -1, 1), x) == {x}
        assert accepted(oracle("ROUND", F16, formula="x", RoundingMode="TOWARD_ZERO"), x) == {x}
    assert accepted(clip_oracle(F16, 3 * TINY16, 1), 0) == {3 * TINY16}
    assert scaled(F16, 2.0**-10, 2.0**-10, 0) == {2.0**-20}
    assert accepted(clip_oracle(F32, -1, 1), TINY32) == {TINY32, 0.0}  # the control: FLOAT32's may be flushed
    assert accepted(clip_oracle(F64, -1, 1), 5e-324) == {5e-324}


def test_a_nan_bound_is_nan_or_nothing_or_zero() -> None:
    for data_type in (F16, F32, F64):
        assert accepted(clip_oracle(data_type, nan, 2), -3) == {-3.0, "NaN", 0.0}  # never 2
        assert accepted(clip_oracle(data_type, nan, 2), 3) == {2.0, "NaN", 0.0 + 2.0}  # max(0, 2)
        assert accepted(clip_oracle(data_type, -1, nan), 3) == {3.0, "NaN", 0.0, -1.0}  # min gives NaN, and max -1
        assert accepted(clip_oracle(data_type, nan, 2, strict=True), -3) == {-3.0, "NaN"}
        assert accepted(oracle("THRESHOLD", data_type, ScaleBias=None, Min=nan), -3) == {-3.0, "NaN", 0.0}


def test_a_nan_input_gives_nan_or_a_bound() -> None:
    assert accepted(clip_oracle(F32, -1, 2), nan) == {"NaN", -1.0, 2.0}
    assert accepted(clip_oracle(F32, nan, 2), nan) == {"NaN", 0.0, 2.0}
    assert accepted(clip_oracle(F32, -1, 2, strict=True), nan) == {"NaN", -1.0, 2.0}
    assert accepted(clip_oracle(F32, 3, 2, strict=True), nan) == {"NaN", 3.0}
    assert accepted(clip_oracle(F32, 3, 2), nan) == {"NaN", 3.0, 2.0}


def test_a_comparison_may_flush_its_operands_and_select_either() -> None:
    maximum = oracle("THRESHOLD", F32, ScaleBias=None, Min=0)
    assert accepted(maximum, -TINY32) == {-TINY32, 0.0}
    least = np.nextafter(np.float32(LEAST32), np.float32(0))
    assert accepted(maximum, -float(least)) == {-float(least), 0.0}
    assert accepted(maximum, -LEAST32) == {0.0}  # normal: it compares as it is
    assert accepted(clip_oracle(F32, 3 * TINY32, 5 * TINY32), TINY32) == {TINY32, 3 * TINY32, 5 * TINY32, 0.0}
    assert accepted(clip_oracle(F32, 3 * TINY32, 5 * TINY32), 1) == {5 * TINY32, 3 * TINY32, 0.0}
    assert accepted(clip_oracle(F32, 0, 1, strict=True), -TINY32) == {0.0}
    assert accepted(clip_oracle(F16, 0, 1), -TINY16) == {0.0}


@pytest.mark.parametrize("data_type, low, either", [(F16, 1 + 2.0**-12, {1.0, 1 + 2.0**-10}), (I8, 2.5, {2, 3})])
def test_only_a_cast_that_the_page_leaves_open_may_round_a_bound_either_way(
    data_type: DataType, low: float, either: set[float]
) -> None:
    """THRESHOLD's Min is such a bound; the same table with a documented cast gives one value."""
    law = TABLES.law(TABLES.operator("ELEMENT_WISE_THRESHOLD"))
    known = {"cast": "documented"}
    documented = tuple(item.model_copy(update=known) if item.type == "FLOAT" else item for item in law.table.attributes)
    fixed = replace(law, table=law.table.model_copy(update={"attributes": documented}))
    tensor = TensorDesc(data_type, (1,))
    operator = OperatorDesc(
        law.table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, {"ScaleBias": None, "Min": low}
    )
    values = np.array([-100], data_type.numpy)
    for operator_law, right in ((law, either), (fixed, {min(either)})):
        assert accepted(VectorOracle(operator_law, operator), -100) == right
        bits = int(values.view(data_type.bits_dtype)[0])
        exact = np.array(sorted(acceptable(operator_law, operator, bits).patterns), data_type.bits_dtype)
        assert set(exact.view(data_type.numpy).tolist()) == right


# ----------------------------------------------------------------------------------------- floating-point


def test_results_are_flushed_by_their_tininess_before_rounding() -> None:
    x, scale = float(np.float32(1 - 2.0**-24)), LEAST32  # the product 2^-126 (1 - 2^-24) rounds up to 2^-126
    below = LEAST32 - 2.0**-149  # to which it may be rounded too, as hardware may truncate
    assert scaled(F32, x, scale, 0) == {LEAST32, below, 0.0}
    assert scaled(F32, 1, scale, 0) == {LEAST32}  # exact, not tiny
    assert scaled(F32, x, scale, 0, strict=True) == {LEAST32}
    assert accepted(oracle("THRESHOLD", F32, formula="x * Min", ScaleBias=None, Min=scale), x) == {LEAST32, 0.0}
    assert accepted(oracle("THRESHOLD", F32, formula="x * Min", ScaleBias=None, Min=scale), 1) == {LEAST32}
    # The product alone is flushed: bias 2^-103 + 2^-126 is a tie that goes up, bias alone stays.
    sums = {4 * 2.0**-126, 4 * 2.0**-126 - 2.0**-148, 3 * 2.0**-126}
    assert scaled(F32, x, scale, 3 * 2.0**-126) == sums


def test_float32_in_float64_rounds_twice() -> None:
    # 4097^2 = 2^24 + 2^13 + 1 lies half way: to even down; 2^-30 more is seen by fused only, FLOAT64 drops 2^-40.
    # Both steps rounded up give a unit more.
    assert scaled(F32, 4097, 4097, 2.0**-10) == {16785408.0, 16785410.0, 16785412.0}
    assert scaled(F32, 4097, 4097, 2.0**-40) == {16785408.0, 16785410.0, 16785412.0}
    assert scaled(F32, 4097, 4097, 2.0**-40, strict=True) == {16785408.0}
    # In FLOAT64 only: the exact sum lies just below a tie to odd; its FLOAT64 is the tie, and goes up.
    x, scale, bias = 3.0, 683 / 2048 * 2, 0.0
    assert scaled(F32, x, scale, bias) == {3 * scale}


def test_the_correctly_rounded_float16_result_is_accepted() -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)]
    scale, bias = np.float32(0.1), np.float32(0.7)
    right = [
        np.float16(float(Fraction(float(number)) * Fraction(float(scale)) + Fraction(float(bias)))) for number in x
    ]
    judging = oracle("THRESHOLD", F16, ScaleBias=ScaleBias(scale, bias), Min=-inf)
    assert judging.judge(x, np.array(right)).size == 0
    off = np.nextafter(np.nextafter(np.array(right), np.float16(inf)), np.float16(inf))
    assert judging.judge(x, off).size > 60_000


def test_conversions_to_float16_round_to_nearest_or_toward_zero() -> None:
    assert scaled(F16, 1, 65519.996, 0) == {65504.0}
    assert scaled(F16, 1, 65520, 0) == {65504.0, inf}
    assert scaled(F16, 2, 65504, 0) == {inf, 65504.0}
    assert scaled(F16, 2, 65504, 0, strict=True) == {inf}
    assert scaled(F16, inf, 1, 5) == {inf}
    below, above = 1.0, 1 + 2.0**-10
    assert scaled(F16, 1, 1, 0.75 * 2.0**-10) == {below, above}
    assert scaled(F16, 1, 1, 2.0**-10) == {above}


def test_factors_round_to_nearest_or_toward_zero_both_alike() -> None:
    # 1 + 3/4 ulp as the scale: 1 + ulp, 1, or as it is; times 2^10, minus 2^10.
    scale = 1 + 0.75 * 2.0**-10
    assert scaled(F16, 1024, scale, -1024) == {1.0, 0.75, 0.0}
    # both rounded alike: never the scale up and the bias down
    assert scaled(F16, 1024, scale, -1024 * scale) == {0.0}


@pytest.mark.parametrize(
    "value, wanted",
    [
        (65519.996, 65504.0),
        (65504.0, 65504.0),
        (1e30, 65504.0),
        (-65536.0, -65504.0),
        (inf, inf),
        (-inf, -inf),
        (1 + 2.0**-10, 1 + 2.0**-10),
        (1 + 1.9 * 2.0**-10, 1 + 2.0**-10),
        (2.0**-24, 2.0**-24),
        (2.0**-25, 0.0),
        (1.9 * 2.0**-24, 2.0**-24),
        (-1.9 * 2.0**-24, -(2.0**-24)),
        (TINY32, 0.0),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_to_float16_toward_zero(value: float, wanted: float, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        assert to_float16_toward_zero(np.array([value], dtype)).tolist() == [wanted]


def test_float64_is_separate_or_fused() -> None:
    x, scale = 1 + 2.0**-40, 1 + 2.0**-20
    product = 1 + 2.0**-20 + 2.0**-40  # 2^-60 is lost unless fused
    assert scaled(F64, x, scale, -1) == {product - 1, product - 1 + 2.0**-60}
    assert scaled(F64, x, scale, -1, strict=True) == {product - 1}
    assert scaled(F64, 5e-324, 1, 0) == {5e-324}


def nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def test_a_fused_float64_is_rounded_once_over_the_whole_range() -> None:
    generator = np.random.Generator(np.random.PCG64(8))
    for low, high in ((0, 1 << 64), (0, 1 << 54), (0x7FC0 << 48, 0x7FF0 << 48), (0x3FF0 << 48, 0x4000 << 48)):
        x = generator.integers(low, high, 4000, np.uint64).view(np.float64)
        x = x[np.isfinite(x)]
        for scale, bias in ((1.1, -1.3), (1 + 2.0**-23, -1), (3, 2.0**-149), (2.0**-149, 1), (3e38, -3e38), (1e-3, 0)):
            s, b = np.float32(scale), np.float32(bias)
            values = fused_multiply_add_float64(x, s, b)
            wanted = [nearest(Fraction(number) * Fraction(float(s)) + Fraction(float(b))) for number in x.tolist()]
            assert values.tolist() == wanted
    x = np.array([inf, -inf, nan, 0.0, 2.0])
    np.testing.assert_array_equal(fused_multiply_add_float64(x, np.float32(0), np.float32(3)), [nan, nan, nan, 3, 3])
    assert fused_multiply_add_float64(np.array([2.0]), np.float32(inf), np.float32(3)).tolist() == [inf]
    cancelled = np.array([1 + 2.0**-52])  # the product is 2^-52 beside the bias
    assert fused_multiply_add_float64(cancelled, np.float32(3), np.float32(-3)).tolist() == [3 * 2.0**-52]


# ---------------------------------------------------------------------------------------------- integers


def test_whole_factors_whose_results_fit_are_exact() -> None:
    assert scaled(DataType.UINT8, 10, 1, -3) == {7}
    assert scaled(DataType.UINT8, 10, 0, -3) == {253, 0}
    assert scaled(DataType.INT8, -7, 3, 20) == {-1}
    assert scaled(DataType.INT32, (1 << 24) - 1, 1, 1) == {1 << 24}


@pytest.mark.parametrize("data_type", [DataType.INT64, DataType.UINT64, DataType.INT32], ids=lambda kind: kind.name)
def test_identity_leaves_every_integer_as_it_is(data_type: DataType) -> None:
    most = int(np.iinfo(data_type.numpy).max)
    for x in ((1 << 24) + 1, most - 1, most):
        assert scaled(data_type, x, 1, 0) == {x}
        assert scaled(data_type, x, 1, -0.0) == {x}


def test_beyond_the_precision_of_a_float_both_roundings_are_accepted() -> None:
    x = (1 << 24) + 1
    assert scaled(DataType.INT32, x, 1, 2) == {x + 2, x + 1, x + 3}  # FLOAT32 takes x for 2^24 or 2^24 + 2
    x = (1 << 53) + 1
    # FLOAT64 has even numbers; FLOAT32 takes x for 2^53 or 2^53 + 2^30, and loses the 4 or makes it 2^30
    assert scaled(DataType.INT64, x, 1, 4) == {x + 4, x + 3, x + 5, x - 1, x - 1 + (1 << 30), x - 1 + (2 << 30)}
    assert scaled(DataType.INT32, 8388609, 2, 1) == {16777219, 16777218, 16777220}  # truncated, and not to even alone
    assert scaled(DataType.INT64, x, -1, 0) == {-x, 1 - x, -1 - x, 1 - x - (1 << 30)}


def test_the_exact_number_is_accepted_where_no_floating_point_type_holds_it() -> None:
    # 2^61 + 1: the steps in integers give 2^61 + 0 and 2^61 + 1 + 1, and FLOAT64 has multiples of 2^9 there
    assert (1 << 61) + 1 in scaled(DataType.INT64, (1 << 62) + 1, 0.5, 0.5)
    assert (1 << 61) + 3 not in scaled(DataType.INT64, (1 << 62) + 1, 0.5, 0.5)


def test_fractions_go_to_either_neighbour() -> None:
    assert scaled(DataType.INT8, 3, 0.5, 0) == {1, 2}
    assert scaled(DataType.INT8, -3, 0.5, 0) == {-1, -2}
    assert scaled(DataType.INT8, 4, 0.5, 0) == {2}
    assert scaled(DataType.INT8, 3, 1, 0.75) == {3, 4}
    # the sum is 3.25; each step in integers: 1 + 1 or 2 + 2
    assert scaled(DataType.INT8, 3, 0.5, 1.75) == {3, 4, 2}


def test_overflow_saturates_or_wraps() -> None:
    assert scaled(DataType.UINT8, 200, 2, 0) == {144, 255}
    # 200 * 2 - 200 = 200 in any real arithmetic; the product wraps to 144 and the sum to 200, or saturates: 255 - 200
    assert scaled(DataType.UINT8, 200, 2, -200) == {200, 55}
    assert scaled(DataType.INT16, 30000, 1e5, 0) == {32767, 3_000_000_000 % 65536, -1}  # INT32's limit wraps to -1
    assert scaled(DataType.INT32, 30000, 1e5, 0) == {(1 << 31) - 1, 3_000_000_000 - (1 << 32)}
    assert scaled(DataType.INT64, -(1 << 63), -1, 0) == {-(1 << 63), (1 << 63) - 1}


def test_a_maximum_in_a_wider_type_stores_what_the_scaled_fraction_is_rounded_up_to() -> None:
    # 85 * 1.5 = 127.5: 127; or 128, which as an INT8 is 127, or -128 and then Min, or -128 after the maximum
    scale_bias = ScaleBias(1.5, 0)
    assert accepted(oracle("THRESHOLD", DataType.INT8, ScaleBias=scale_bias, Min=5), 85) == {127, 5, -128}
    # Exactly 127; FLOAT32 rounds the product up by an eighth, and 127.125 is rounded up to 128.
    scale_bias = ScaleBias(699051.125, -2097026.375)
    assert 3 * 699051.125 - 2097026.375 == 127
    assert np.float32(3) * scale_bias.scale + scale_bias.bias == 127.125
    assert -128 in accepted(oracle("THRESHOLD", DataType.INT8, ScaleBias=scale_bias, Min=5), 3)


@pytest.mark.parametrize(("name", "attributes"), [("ABS", {"ScaleBias": None}), ("NEGATE", {})])
def test_what_the_least_integer_becomes_saturates_or_wraps(name: str, attributes: dict[str, Any]) -> None:
    assert accepted(oracle(name, DataType.INT8, **attributes), -128) == {-128, 127}
    assert accepted(oracle(name, DataType.INT8, **attributes), -127) == {127}
    assert accepted(oracle(name, DataType.INT64, **attributes), -FAR - FAR) == {-FAR - FAR, FAR - 1 + FAR}
    assert accepted(oracle(name, DataType.INT8, strict=True, **attributes), -128) == {-128}


def test_infinite_intermediates_saturate_only() -> None:
    # 255 * 2^127 overflows FLOAT32 alone; the exact number wraps to 0; INT32's and UINT32's limits to 255.
    assert scaled(DataType.UINT8, 255, 2.0**127, 0) == {255, 0}
    # As INT32 the product saturates, and then the sum at the other end.
    assert scaled(DataType.INT32, 255, 2.0**127, -(2.0**127)) == {(1 << 31) - 1, 0, -(1 << 31)}


def test_factors_that_are_not_finite_leave_integers_open() -> None:
    judging = oracle("THRESHOLD", DataType.INT8, ScaleBias=ScaleBias(nan, 1), Min=0)
    assert judging.acceptance(np.array([3], np.int8)).element(0) == Acceptable(frozenset(), any_value=True)
    assert judging.acceptance(judging.expected(np.array([3], np.int8))).admits(np.array([9], np.int8)).all()
    finite = oracle("THRESHOLD", DataType.INT8, ScaleBias=ScaleBias(3e38, 1), Min=0)
    assert not finite.acceptance(np.array([3], np.int8)).element(0).any_value


def test_what_is_judged_in_pieces_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorised, "_PIECE", 4)
    judging = oracle("THRESHOLD", DataType.INT16, ScaleBias=None, Min=0)
    x = np.arange(1, 12, dtype=np.int16)
    assert judging.judge(x, x + np.int16(1)).tolist() == list(range(11))


def test_a_constant_is_never_right() -> None:
    x = np.arange(256, dtype=np.uint8)
    for scale, bias in ((0.5, 0), (1, -3), (2, 0), (1, 30), (1.5, -20)):
        judging = oracle("THRESHOLD", DataType.UINT8, formula="x", ScaleBias=ScaleBias(scale, bias), Min=0)
        for constant in (0, 1, 77, 254, 255):
            assert judging.judge(x, np.full(256, constant, np.uint8)).size > 100, (scale, bias, constant)


INTEGERS = [data_type for data_type in DataType if not data_type.is_floating]


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda kind: kind.name)
def test_wide_integers_are_those_of_python(data_type: DataType) -> None:
    limits = np.iinfo(data_type.numpy)
    generator = np.random.Generator(np.random.PCG64(3))
    x = generator.integers(limits.min, limits.max, 20, data_type.numpy, endpoint=True)
    x = np.concatenate([x, np.array([0, 1, limits.min, limits.max], data_type.numpy)])
    factors = [0.0, 1.0, -1.0, 3.0, 0.5, -0.1, 1e-30, 2.0**-149, 3e38, -3e38, 1.8e29, -(2.0**64), 2.0**33 + 2.0**20]
    for scale in map(np.float32, factors):
        for bias in map(np.float32, (*factors, -4e-19)):
            s, b = Fraction(float(scale)), Fraction(float(bias))
            for wholes, rounded in zip(floor_and_ceiling(x, s, b), (floor, ceil), strict=True):
                wanted = [rounded(number * s + b) for number in x.tolist()]
                assert wholes.low.tolist() == [number % (1 << 64) for number in wanted]
                assert wholes.high.tolist() == [min(max(number >> 64, -FAR), FAR) for number in wanted]
            for addend in (0, 1, -1, 1 << 63, -(1 << 64), 1 << 127, -(1 << 127)):
                sums = Whole.of_sums(x, addend)
                assert sums.low.tolist() == [(number + addend) % (1 << 64) for number in x.tolist()]
                for limit in (int(limits.min), int(limits.max), 0, -1):
                    above, below = (
                        [number + addend > limit for number in x.tolist()],
                        [number + addend < limit for number in x.tolist()],
                    )
                    assert (sums.above(limit).tolist(), sums.below(limit).tolist()) == (above, below)


def test_whole_floats_become_wide_integers_exactly() -> None:
    floats = [0.0, -0.0, 1.0, -1.0, 2.0**63, -(2.0**63), 2.0**64, -(2.0**64), 2.0**64 + 4096, 2048 - 2.0**64, 3e57]
    floats += [-3e57]
    wholes = Whole.of_floats(np.array(floats))
    assert wholes.low.tolist() == [int(number) % (1 << 64) for number in floats]
    assert wholes.high.tolist() == [min(max(int(number) >> 64, -FAR), FAR) for number in floats]
    ends = Whole.of_floats(np.array([inf, -inf]))
    assert ends.saturated(np.dtype(np.uint64)).tolist() == [(1 << 64) - 1, 0]
    assert ends.saturated(np.dtype(np.int64)).tolist() == [(1 << 63) - 1, -(1 << 63)]


def test_what_stands_for_an_infinity_saturates_and_nothing_else_does() -> None:
    wholes = Whole.of_floats(np.array([2.0**40, 2.0**40, -(2.0**40)]))
    ways = wholes.stored(np.dtype(np.int32), np.array([True, False, True]))
    greatest, least = (1 << 31) - 1, -(1 << 31)
    assert [{int(way[place]) for way in ways} for place in range(3)] == [{greatest}, {greatest, 0}, {least}]
    assert {int(way[0]) for way in wholes.stored(np.dtype(np.int32))} == {greatest, 0}


def test_an_implementation_that_saturates_is_judged_in_seconds() -> None:
    generator = np.random.Generator(np.random.PCG64(3))
    x = generator.integers(-(1 << 63), 1 << 63, 1 << 18, np.int64)
    judging = oracle("CLIP", DataType.INT64, ScaleBias=ScaleBias(3, 1.5), Min=-9e18, Max=9e18)
    exact = x.astype(np.float64) * 3 + 1.5
    output = np.trunc(exact).clip(np.float32(-9e18), np.float32(9e18)).astype(np.int64)
    begun = process_time()
    assert judging.judge(x, output).size == 0
    assert process_time() - begun < 2.5, "a quarter of a million elements"


# ---------------------------------------------------------------------------- what code mutation showed untested


def without(judging: VectorOracle, *names: str) -> VectorOracle:
    """The same oracle where no clause lists some latitudes."""
    law = judging.law
    clauses = tuple(
        clause.model_copy(update={"latitude": tuple(latitude for latitude in clause.latitude if latitude not in names)})
        for clause in law.table.clauses
    )
    return VectorOracle(replace(law, table=law.table.model_copy(update={"clauses": clauses})), judging.operator)


@pytest.mark.parametrize(
    "high, either",
    [
        (65519.0, {65504.0}),
        (65520.0, {65504.0, inf}),
        (65520.5, {65504.0, inf}),
        (65521.5, {65504.0, inf}),
        (inf, {inf}),
    ],
)
def test_a_float16_bound_overflows_from_half_a_unit_beyond_the_largest(high: float, either: set[float]) -> None:
    assert accepted(clip_oracle(F16, 0, high), inf) == either
    assert {-output for output in accepted(clip_oracle(F16, -high, 0), -inf)} == either


def test_a_wrong_element_is_named_wherever_blocks_end() -> None:
    """What is computed block by block counts from the beginning of the array."""
    judging, size = clip_oracle(F32, -1, 2), 2 * vectorised._BLOCK + 3
    x = np.linspace(-3, 3, size, dtype=np.float32)
    output = judging.expected(x)
    places = [0, vectorised._BLOCK - 1, vectorised._BLOCK, 2 * vectorised._BLOCK, size - 1]
    output[places] = 7
    assert judging.judge(x, output).tolist() == places


def test_a_payload_counts_where_no_clause_lets_go_of_it() -> None:
    """A NaN that keeps its payload is right under any table; another is so only where a latitude says so."""
    quiet = np.array([0x7FC0_0005, 0x7FC0_0006], np.uint32).view(np.float32)
    quiet_nan, other = quiet[:1], quiet[1:]
    loose = oracle("THRESHOLD", F32, formula="x", ScaleBias=None, Min=0)
    held = without(loose, "nan", "nan-payload", "nan-input")
    assert loose.judge(quiet_nan, other).tolist() == []
    assert held.judge(quiet_nan, quiet_nan.copy()).tolist() == []
    assert held.judge(quiet_nan, other).tolist() == [0]
    assert held.judge(quiet_nan, other, held.expected(quiet_nan)).tolist() == [0]
    before, after = quiet.view(np.uint32).tolist()
    for judging in (loose, held):
        exact = acceptable(judging.law, judging.operator, before)
        assert (exact.admits(before, F32), exact.admits(after, F32)) == (True, judging is loose)


@pytest.mark.parametrize("scale, wanted", [(0.5, 2**52 + 1), (1.5, 3 * 2**52 + 2)])
def test_scaled_integers_are_exact_where_no_clause_leaves_their_arithmetic_open(scale: float, wanted: int) -> None:
    """2^53 + 1, which FLOAT64 does not hold: a plain implementation loses its last bit."""
    loose = oracle("THRESHOLD", DataType.INT64, formula="x", ScaleBias=ScaleBias(scale, 0.5), Min=0)
    held, values = without(loose, "integer-scale-bias"), np.array([2**53 + 1], np.int64)
    for judging in (loose, held):
        assert judging.acceptance(values).admits(judging.expected(values)).all()
    assert held.acceptance(values).element(0).patterns == {wanted}


def test_float16_that_wider_arithmetic_computes_to_the_end_is_converted_last() -> None:
    """1 + 2^-11 is a tie in FLOAT16: rounded at once it is 1 or 1 + 2^-10, and ceil then gives 1 or 2."""
    judging = oracle("CEIL", F16, ScaleBias=ScaleBias(1, 2.0**-12))
    assert accepted(judging, 1) == {1.0, 2.0}  # FLOAT32 holds 1 + 2^-12, whose ceiling is 2
    assert accepted(without(judging, "float16-intermediate"), 1) == {1.0}
    # 2^-12 (1 + 3 * 2^-11), which 1 hides in FLOAT16, is a tie once 1 is taken away: up to even, or truncated.
    difference = oracle("THRESHOLD", F16, formula="x + Min", ScaleBias=ScaleBias(1, 2.0**-12 + 3 * 2.0**-23), Min=-1)
    nearest, truncated = 2.0**-12 * (1 + 2.0**-9), 2.0**-12 * (1 + 2.0**-10)
    assert accepted(difference, 1) == {0.0, nearest, truncated}
    assert accepted(without(difference, "float16-conversion"), 1) == {0.0, nearest}
    # Bounds are wide there too: the square of 1 + 3 * 2^-10 ends in 9 * 2^-20, of which FLOAT16 keeps 8 once 1 is gone.
    square = oracle("THRESHOLD", F16, formula="x + Min * Min", ScaleBias=ScaleBias(1, 2.0**-30), Min=1 + 3 * 2.0**-10)
    assert accepted(square, -1) >= {6 * 2.0**-10, 6 * 2.0**-10 + 8 * 2.0**-20}


def test_wider_arithmetic_of_float16_keeps_what_its_own_type_and_its_own_factors_keep() -> None:
    """Each set holds a value that one way alone leads to, once most of the sum is taken away again."""
    u = 2.0**-10
    judging = oracle("THRESHOLD", F16, formula="x + Min", ScaleBias=ScaleBias(1 + 2.0**-23, 0), Min=-1025)
    assert accepted(judging, 1025) >= {0.0, 2.0**-13, 2.0**-13 * (1 + u)}  # FLOAT16, FLOAT32 and FLOAT64
    factors = oracle("THRESHOLD", F16, formula="x + Min", ScaleBias=ScaleBias(1 + 1.5 * u, 0), Min=-1)
    truncated = 2.0**-8 * (1 + u)  # of (1 + 3u)(1 + u) - 1, where the scale of 1 + 1.5u is truncated to 1 + u
    assert truncated in accepted(factors, 1 + 3 * u)
    assert truncated not in accepted(without(factors, "float16-conversion"), 1 + 3 * u)


def test_an_integer_whose_float_lies_beside_it_may_end_in_an_integer_farther_on() -> None:
    """2^24 + 9 may be 2^24 + 10 as a FLOAT32: times 0.4375 that ends in 4.375, as a FLOAT32 in 4.5; exact is 3.9375."""
    x, whole = 2**24 + 9, 7 * 2**20
    assert scaled(DataType.INT32, x, 0.4375, 0) == {whole + 3, whole + 4, whole + 5}
    assert scaled(DataType.INT32, -x, 0.4375, 0) == {-whole - 3, -whole - 4, -whole - 5}


def test_fractions_of_the_product_and_the_bias_are_rounded_alike_where_each_is_an_integer() -> None:
    assert scaled(DataType.INT8, 1, 0.5, 0.5) == {0, 1, 2}
    assert scaled(DataType.INT8, -1, 0.5, -0.5) == {0, -1, -2}


def test_a_sum_of_an_integer_and_a_product_may_be_rounded_as_float64() -> None:
    """2^53 + 3 is a tie there; FLOAT32, in which it may be computed as well, is 2^30 wide."""
    law = TABLES.law(TABLES.operator("ELEMENT_WISE_THRESHOLD")).with_expression(parse("x", ("x", "Min")))
    added = replace(law, scale_bias=MultiplyAdd(("scale", "bias"), "x"))
    tensor = TensorDesc(DataType.INT64, (1,))

    def becomes(x: int, factor: float) -> set[int]:
        attributes = {"ScaleBias": ScaleBias(factor, factor), "Min": 0}
        operator = OperatorDesc(law.table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
        return accepted(VectorOracle(added, operator), x)

    assert becomes(2**53 + 2, 1) >= {2**53 + 3, 2**53 + 4, 2**53}
    # 4097^2 is 2^24 + 2^13 + 1, which FLOAT64 holds and FLOAT32, beside 2^30, does not
    exactly = 2**30 + 1 + 4097**2
    assert exactly in becomes(2**30 + 1, 4097)
    assert exactly - 1 not in becomes(2**30 + 1, 4097)


def test_a_minimum_gives_again_what_lies_below_the_type_and_nothing_that_lies_within_it() -> None:
    judging = oracle("THRESHOLD", DataType.INT8, formula="min(x, Min)", ScaleBias=ScaleBias(1, -3), Min=5)
    acceptables = list(judging.acceptance(np.array([-128, 10, -3], np.int8)).elements())
    assert [sorted(outcome.patterns) for outcome in acceptables] == [
        [0x00, 0x05, 0x7D, 0x80],
        [0x05],
        [0xFA],
    ]  # 0: through UINT32


def test_a_formula_of_other_functions_gives_nothing_again_that_lies_beyond_the_type() -> None:
    judging = oracle("THRESHOLD", DataType.INT8, formula="max(x * Min, Min)", ScaleBias=ScaleBias(1, 3), Min=1)
    assert accepted(judging, 127) == {1, 127}
    assert accepted(judging, -2) == {1}


def test_one_rounding_is_right_where_nothing_may_be_contracted() -> None:
    """2^-60 decides over a tie of FLOAT16; FLOAT64 drops it. That the sum is rounded once is no contraction."""
    judging = oracle("THRESHOLD", F16, formula="x", ScaleBias=ScaleBias(1 + 2.0**-11, 2.0**-60), Min=0)
    separate = without(judging, "contraction")
    assert accepted(separate, 1) == {1.0, 1 + 2.0**-10}
    exact = acceptable(separate.law, separate.operator, 0x3C00)
    assert exact.patterns == {0x3C00, 0x3C01}
    # FLOAT64 alone keeps 1 + 2^-10 - 2^-30, and toward zero that is 1
    judging = oracle("THRESHOLD", F16, formula="x", ScaleBias=ScaleBias(1 + 2.0**-10, -(2.0**-30)), Min=0)
    assert accepted(without(judging, "contraction"), 1) == {1.0, 1 + 2.0**-10}


@pytest.mark.parametrize("x, wanted", [(-3, -1), (-2, -1), (-1, 0), (0, 0), (1, 0), (2, 1), (3, 1)])
def test_scaled_integers_are_truncated_toward_zero_where_no_clause_leaves_it_open(x: int, wanted: int) -> None:
    judging = oracle("THRESHOLD", DataType.INT8, formula="x", ScaleBias=ScaleBias(0.5, 0), Min=0)
    assert accepted(without(judging, "integer-scale-bias"), x) == {wanted}
