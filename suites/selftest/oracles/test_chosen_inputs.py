"""The vectorised oracle in a second or two: what ``test_oracles_agree`` proves on every input, on chosen ones.

Made to be run once for each mutant of the oracle (``code_mutation``): few inputs, but each a case that some
line of the oracle is there for. The last part says things that the exact oracle has no words for.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.arithmetic.vector_arithmetic import fused_multiply_add
from dmlcts.specs.formula import parse
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.specs.oracle.vectorised import Acceptance, VectorOracle, equal
from dmlcts.specs.tables.law import Law
from dmlcts.suites.selftest.descriptions import clip
from dmlcts.suites.selftest.looped_cases import looped

TABLES = load_tables()
FLOATS = (DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64)
INTEGERS = tuple(data_type for data_type in DataType if not data_type.is_floating)
f16, f32 = np.float16, np.float32
TINY = 2.0**-24  # the smallest subnormal FLOAT16
NAN, INF = float("nan"), float("inf")


def describe(name: str, data_type: DataType, **attributes: Any) -> OperatorDesc:
    tensor = TensorDesc(data_type, (1,))
    return OperatorDesc(f"ELEMENT_WISE_{name}", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


def bounded(data_type: DataType, low: Any, high: Any, scale_bias: ScaleBias | None = None) -> OperatorDesc:
    return clip(data_type, ScaleBias=scale_bias, Min=f32(low), Max=f32(high))


def threshold(data_type: DataType, low: Any, scale_bias: ScaleBias | None = None) -> OperatorDesc:
    return describe("THRESHOLD", data_type, ScaleBias=scale_bias, Min=f32(low))


@cache
def chosen(data_type: DataType) -> Any:
    """A few dozen inputs: every kind of number, ties, neighbours of limits."""
    numpy = data_type.numpy
    if data_type.is_floating:
        information = np.finfo(numpy)
        tiny, small, most = information.smallest_subnormal, information.smallest_normal, information.max
        numbers = [
            0.0,
            tiny,
            2 * tiny,
            3 * tiny,
            small - tiny,
            small,
            small + tiny,
            0.1,
            0.25,
            0.5,
            0.75,
            1,
            1.5,
            2,
            2.5,
            3.5,
            7,
            1023.5,
            1025,
            most,
            INF,
        ]
        positive = np.array(numbers, numpy)
        beside_half = np.nextafter(numpy.type(0.5), np.array([0, 1], numpy))
        signalling = (np.array(INF, numpy).view(data_type.bits_dtype) + 1).view(numpy)
        nans = np.array([NAN, -NAN, *([signalling, -signalling] if data_type is DataType.FLOAT16 else [])], numpy)
        below_one = np.nextafter(numpy.type(1), np.array([0], numpy))  # whose product with a power of two rounds up
        return np.concatenate([positive, -positive, beside_half, -beside_half, below_one, nans])
    limits = np.iinfo(numpy)
    least, most = int(limits.min), int(limits.max)
    edges = [
        1 << 24,
        (1 << 24) + 1,
        (1 << 24) - 1,
        -(1 << 24),
        -(1 << 24) - 1,
        5592405,
        5592406,
        -5592405,
        -5592406,
        8388607,
        8388608,
        8388609,
    ]
    numbers = [*range(-44, 46), *edges, least, least + 1, most, most - 1, most // 3, most // 2, least // 2, 100, -100]
    return np.array(sorted({number for number in numbers if least <= number <= most}), numpy)


@cache
def law_of(name: str, formula: str | None) -> Law:
    table = TABLES.operator(name)
    law = TABLES.law(table)
    return law if formula is None else law.with_expression(parse(formula, ("x", *table.float_attributes)))


def assert_same(operator: OperatorDesc, x: Any = None, *, strict: bool, formula: str | None = None) -> None:
    """Both oracles accept the same patterns for every element of ``x``, and the quick answer is among them."""
    x = chosen(operator.input.data_type) if x is None else x
    law = law_of(operator.name, formula)
    vectorised = VectorOracle(law, operator, strict=strict)
    try:
        exact = ExactOracle(law, operator, strict=strict)
    except Unconstrained:
        with pytest.raises(Unconstrained):
            vectorised.acceptance(x)
        return
    data_type = operator.input.data_type
    acceptance = vectorised.acceptance(x)
    bits = x.view(data_type.bits_dtype)
    wanted = [exact.acceptable(pattern) for pattern in bits.tolist()]
    for pattern, element, right in zip(bits.tolist(), acceptance.elements(), wanted, strict=True):
        assert element == right, f"{operator!r} of 0x{pattern:x}, strict {strict}"
    expected = vectorised.expected(x)
    assert acceptance.admits(expected).all()
    assert vectorised.judge(x, expected).size == 0
    for output in (x, x[::-1].copy(), np.roll(expected, 1)):
        patterns = output.view(data_type.bits_dtype).tolist()
        right = [acceptable.admits(pattern, data_type) for acceptable, pattern in zip(wanted, patterns, strict=True)]
        assert acceptance.admits(output).tolist() == right
        assert vectorised.judge(x, output).tolist() == np.flatnonzero(~np.array(right)).tolist()
        assert vectorised.judge(x, output, expected).tolist() == np.flatnonzero(~np.array(right)).tolist()


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("data_type", FLOATS, ids=lambda data_type: data_type.name)
class TestFloats:
    def test_rounding(self, data_type: DataType, strict: bool) -> None:
        for mode in ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"):
            assert_same(describe("ROUND", data_type, RoundingMode=mode), strict=strict)

    @looped(
        "low, high",
        [
            (-1.5, 2.5),
            (3, -3),
            (-0.0, 0.0),
            (0.0, -0.0),
            (0.0, 1),
            (-1, -0.0),
            (NAN, 1),
            (-1, NAN),
            (-INF, INF),
            (3 * TINY, 900 * TINY),
            (-65520, 65520),
            (-65519.996, 65519.996),
            (0.1, 0.3),
            (-0.3, -0.1),
            (TINY / 2, 1),
            (-1, -TINY / 4),
            (2.0**-149, 1e-40),
            (-1e30, 1e30),
            (NAN, NAN),
            (NAN, -1),
            (1, NAN),
            (-(2.0**-149), 0.0),
            (0.0, 2.0**-127),
            (2.0**-126, 2.0**-127),
        ],
    )
    def test_bounds(self, data_type: DataType, strict: bool, low: float, high: float) -> None:
        assert_same(bounded(data_type, low, high), strict=strict)
        assert_same(threshold(data_type, low), strict=strict)
        assert_same(threshold(data_type, high), strict=strict)

    @looped(
        "scale, bias",
        [
            (1.1, -0.3),
            (2.0**-10, 3 * TINY),
            (0.0, -0.0),
            (-1, 2.5),
            (INF, 1),
            (1, NAN),
            (TINY, -TINY),
            (3, 65504),
            (2.0**-126, 2.0**-140),
            (1 + 2.0**-11, -1),
            (2.0**-126, 0),
            (2.0**-126, 3 * 2.0**-126),
            (0.1, 0.7),
            (65519.996, 0),
            (65520, 1),
            (1 + 0.75 * 2.0**-10, -1024),
            (1.9999999, -1.9999999),
            (3e38, -3e38),
            (2.0**-149, 1),
            (1, 2.0**-149),
            (1 + 2.0**-23, -(2.0**-149)),
            (-INF, INF),
        ],
    )
    @pytest.mark.size("thorough", brief=4)
    def test_scale_bias(self, data_type: DataType, strict: bool, scale: float, bias: float) -> None:
        x = chosen(data_type)[::-4]
        assert_same(bounded(data_type, -3, 70, ScaleBias(scale, bias)), x, strict=strict)
        assert_same(threshold(data_type, -INF, ScaleBias(scale, bias)), x, strict=strict)

    @looped(
        "formula",
        [
            "floor(x)",
            "ceil(x)",
            "abs(x)",
            "neg(x)",
            "add(x, Min)",
            "subtract(x, Min)",
            "multiply(x, Min)",
            "max(x, 0.1)",
            "min(x, 0)",
            "max(0, x)",
            "round_half_away(multiply(x, 0.5))",
            "trunc(max(x, Min))",
        ],
    )
    def test_functions(self, data_type: DataType, strict: bool, formula: str) -> None:
        for low in (0.0, 1.3, NAN, 2.0**-126):
            assert_same(threshold(data_type, low), strict=strict, formula=formula)


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda data_type: data_type.name)
class TestIntegers:
    def test_bounds(self, data_type: DataType, strict: bool) -> None:
        limits = np.iinfo(data_type.numpy)
        least, most = float(limits.min), float(limits.max)
        pairs = [
            (2.9, 99.99),
            (100.5, 7.5),
            (3, 3),
            (-2.9, 2.9),
            (-0.5, 0.5),
            (1e30, 5),
            (5, -1e30),
            (NAN, 1),
            (1, INF),
            (least, most),
            (least - 1, most + 1),
            (least - 0.5, most + 0.5),
            (least + 0.5, most - 0.5),
        ]
        for low, high in pairs:
            assert_same(bounded(data_type, low, high), strict=strict)
            assert_same(threshold(data_type, low), strict=strict)
            assert_same(threshold(data_type, high), strict=strict)

    @pytest.mark.size("thorough", brief=4)
    def test_scale_bias(self, data_type: DataType, strict: bool) -> None:
        limits = np.iinfo(data_type.numpy)
        big = float(1 << 24)
        pairs = [
            (3, 2),
            (-2, 1),
            (0.5, 2),
            (2, 0.5),
            (1, -1),
            (1, 1),
            (-1, 0),
            (1, big),
            (big, 0),
            (big + 2, 0),
            (0, big),
            (0, big + 2),
            (1, -big),
            (1, -big - 2),
            (2, -9),
            (2, 9),
            (NAN, 1),
            (1, INF),
            (-3, 0),
            (float(limits.max), 0),
            (float(limits.min), 0),
            (1, 44),
            (1, -44),
        ]
        for scale, bias in pairs:
            assert_same(threshold(data_type, 1, ScaleBias(scale, bias)), chosen(data_type)[::3], strict=strict)

    @looped(
        "scale, bias",
        [
            (1, 0),
            (1, -0.0),
            (0.5, 1.75),
            (-0.5, 0.25),
            (1.1, -0.3),
            (1 + 2.0**-23, 0),
            (1e5, 0),
            (3e9, -1),
            (1e10, 5),
            (1e-30, 1),
            (2.0**-149, 2.0**33),
            (2.0**127, -(2.0**127)),
            (-3e38, 3e38),
            (2, -200),
            (0, 77.5),
            (1, 2.0**31),
            (-1, -(2.0**31)),
            (1, 2.0**63),
            (-1, 2.0**64),
            (16777215, 16777213),
            (1.5, 65536.5),
            (0, -1e38),
        ],
    )
    @pytest.mark.size("thorough", brief=60)
    def test_any_arithmetic(self, data_type: DataType, strict: bool, scale: float, bias: float) -> None:
        limits = np.iinfo(data_type.numpy)
        low, x = float(limits.min) / 2, chosen(data_type)
        assert_same(
            threshold(data_type, low, ScaleBias(scale, bias)), np.concatenate([x[:2], x[2:-4:7], x[-4:]]), strict=strict
        )

    @looped(
        "formula",
        [
            "floor(x)",
            "ceil(x)",
            "trunc(x)",
            "round_half_even(x)",
            "round_half_away(x)",
            "abs(x)",
            "neg(x)",
            "add(x, Min)",
            "subtract(x, Min)",
            "multiply(x, Min)",
            "max(x, 3)",
            "min(x, 3)",
        ],
    )
    def test_functions(self, data_type: DataType, strict: bool, formula: str) -> None:
        assert_same(threshold(data_type, 7), strict=strict, formula=formula)


# ------------------------------------------------------------------------- what is said of arrays alone


def test_one_element_is_reported_as_all_are() -> None:
    oracle = VectorOracle(law_of("ELEMENT_WISE_CLIP", None), bounded(DataType.INT32, 0, 9, ScaleBias(1, 1)))
    x = np.array([3, 1 << 25, 20, -7], np.int32)
    acceptance = oracle.acceptance(x)
    assert list(acceptance.elements()) == [acceptance.element(index) for index in range(4)]
    assert acceptance.element(1).patterns == {9}
    oracle = VectorOracle(law_of("ELEMENT_WISE_CLIP", None), bounded(DataType.INT32, 0, 9))
    acceptance = oracle.acceptance(x)
    assert [acceptance.element(index).patterns for index in range(4)] == [{3}, {9}, {9}, {0}]


def test_latitude_is_left_unless_refused() -> None:
    oracle = VectorOracle(law_of("ELEMENT_WISE_CLIP", None), bounded(DataType.FLOAT32, -1, 1))
    assert oracle.acceptance(np.array([-0.0], f32)).element(0).patterns == {0, 1 << 31}


def test_casts_that_were_seen_replace_the_bounds() -> None:
    operator = bounded(DataType.INT8, NAN, 2.5)
    x = np.array([-128, 0, 127], np.int8)
    for strict in (False, True):
        oracle = VectorOracle(law_of(operator.name, None), operator, strict=strict, casts={"Min": -7})
        assert oracle.expected(x).tolist() == [-7, 0, 2]
        assert oracle.judge(x, np.array([-7, 0, 2], np.int8)).tolist() == []
        assert oracle.judge(x, np.array([-8, 0, 3], np.int8)).tolist() == [0, 2]


# Sums that binary64 rounds to, or next to, the middle of two FLOAT32: rounding twice to nearest goes wrong.
_MIDDLES = [
    (4097 * 2.0**-12, 16773121 * 2.0**-24, 1.0, -24),  # 1 + 2^-24 (1 + 2^-36), just above the middle
    (1 - 2.0**-18, 1 + 2.0**-18, 1 + 2.0**-23, -24),  # just below the middle
]


def exactly(x: float, scale: float, bias: float, data_type: DataType) -> int:
    form = BINARY16 if data_type is DataType.FLOAT16 else BINARY32
    total = Fraction(x) * Fraction(scale) + Fraction(bias)
    return form.round(Datum(total < 0, total))


def fused(x: float, scale: float, bias: float, data_type: DataType) -> int:
    arrays = [np.array([value], f32) for value in (x, scale, bias)]
    result = fused_multiply_add(arrays[0], arrays[1][0], arrays[2][0], data_type.numpy)
    return int(result.view(data_type.bits_dtype)[0])


@pytest.mark.parametrize("x, scale, bias, exponent", _MIDDLES)
def test_a_fused_sum_beside_the_middle_is_rounded_once(x: float, scale: float, bias: float, exponent: int) -> None:
    naive = f32(np.float64(f32(x)) * np.float64(f32(scale)) * 2.0**exponent + np.float64(f32(bias)))
    number = fused(x, scale * 2.0**exponent, bias, DataType.FLOAT32)
    assert number == exactly(x, scale * 2.0**exponent, bias, DataType.FLOAT32)
    assert number != int(naive.view(np.uint32))
    mirrored = fused(-x, scale * 2.0**exponent, -bias, DataType.FLOAT32)
    assert mirrored == number | 1 << 31


def beside_middles() -> list[tuple[float, float, float]]:
    """Products whose sum with 1 lies a part of a last place of binary64 beside the middle of two FLOAT32."""
    triples = []
    for places in (-3, -2, -1, 1, 2, 3):
        wanted = (1 << 47) + (places << 19)  # of 2^-71: the middle, and so many last places of binary64
        for factor in range((1 << 23) + 1, (1 << 23) + 400):
            below = wanted // factor
            for other in (below, below + 1):
                if other < 1 << 24 and 0 < abs(wanted - factor * other) < 1 << 18:
                    triples.append((factor * 2.0**-23, other * 2.0**-48, 1.0))
    return triples


def test_a_fused_sum_is_right_wherever_binary64_rounds() -> None:
    middles = beside_middles()
    assert len(middles) > 30
    for x, scale, bias in middles:
        for sign in (1.0, -1.0):
            for base in (bias, bias + 2.0**-23, bias + 2.0**-22):
                assert fused(x, sign * scale, base, DataType.FLOAT32) == exactly(
                    x, sign * scale, base, DataType.FLOAT32
                )
    for bias in (2.0**-40, -(2.0**-40), 2.0**-149):  # the product is the middle, the bias says on which side
        for factor in (16777214.0, 16777210.0, 16777215.0):
            assert fused(3.0, factor, bias, DataType.FLOAT32) == exactly(3.0, factor, bias, DataType.FLOAT32)
            assert fused(-3.0, factor, bias, DataType.FLOAT32) == exactly(-3.0, factor, bias, DataType.FLOAT32)
    for x, scale, bias in [(2.0**30, 3.0, 2.0**-30), (2.0**-30, 3.0, 2.0**30), (1.5, -2.0, 3.0), (3.0, 7.0, 2.0**-40)]:
        for data_type in FLOATS[:2]:
            assert fused(x, scale, bias, data_type) == exactly(x, scale, bias, data_type)


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda data_type: data_type.name)
def test_every_nan_pattern_is_reported_as_any_nan(data_type: DataType) -> None:
    infinity = np.array([INF], data_type.numpy).view(data_type.bits_dtype)
    for pattern, expected in (
        (infinity + 1, Acceptable(frozenset(), any_nan=True)),
        (infinity, Acceptable(frozenset({int(infinity[0])}))),
    ):
        value = pattern.astype(data_type.bits_dtype).view(data_type.numpy)
        assert Acceptance(data_type, (value,), None, False).element(0) == expected


def test_comparing_distinguishes_zeros_only_where_it_should() -> None:
    output, expected = np.array([0.0, NAN, 1, NAN], f32), np.array([-0.0, NAN, NAN, 2], f32)
    assert equal(output, expected, DataType.FLOAT32, strict=False).tolist() == [True, True, False, False]
    assert equal(output, expected, DataType.FLOAT32, strict=True).tolist() == [False, True, False, False]
    acceptance = Acceptance(DataType.FLOAT32, (expected,), None, True)
    assert acceptance.admits(output).tolist() == [False, True, False, False]


@pytest.mark.parametrize("count", [1, 4, 64, 67])
def test_a_signalling_nan_is_a_nan_like_any_other(count: int) -> None:
    x = np.full(count, 0x7F80_0001, np.uint32).view(f32)
    assert_same(bounded(DataType.FLOAT32, -1.5, 2.5), x, strict=True)
