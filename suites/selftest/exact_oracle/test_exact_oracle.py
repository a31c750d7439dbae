"""The exact oracle against vectors worked out by hand: the three operators on plain and special numbers."""

from __future__ import annotations

import itertools
import math
import struct
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import parse
from dmlcts.specs.oracle.exact import ExactOracle, acceptable
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.specs.tables.law import Law
from dmlcts.suites.selftest.exact_oracle.exact_answers import (
    F16,
    F32,
    F64,
    FORMATS,
    INF,
    NAN,
    NEAREST_EVEN,
    TABLES,
    TINY16,
    TINY32,
    TINY64,
    TOWARD_INFINITY,
    TOWARD_ZERO,
    Attribute,
    clipped,
    describe,
    f32,
    pattern,
    rounded,
    threshold,
    values,
)

# --------------------------------------------------------------------------------------------- ROUND


@pytest.mark.parametrize(
    "x, even, zero, away",
    [
        (0.5, 0.0, 0.0, 1.0),
        (-0.5, -0.0, -0.0, -1.0),
        (1.5, 2.0, 1.0, 2.0),
        (2.5, 2.0, 2.0, 3.0),
        (-2.5, -2.0, -2.0, -3.0),
        (0.49999997, 0.0, 0.0, 0.0),
        (-0.49999997, -0.0, -0.0, -0.0),
        (0.50000006, 1.0, 0.0, 1.0),
        (0.99999994, 1.0, 0.0, 1.0),
        (4194304.5, 4194304.0, 4194304.0, 4194305.0),
        (4194305.5, 4194306.0, 4194305.0, 4194306.0),
        (8388607.5, 8388608.0, 8388607.0, 8388608.0),
        (8388609.0, 8388609.0, 8388609.0, 8388609.0),
        (16777215.0, 16777215.0, 16777215.0, 16777215.0),
        (-8388609.0, -8388609.0, -8388609.0, -8388609.0),
        (1.25, 1.0, 1.0, 1.0),
        (1.75, 2.0, 1.0, 2.0),
        (0.0, 0.0, 0.0, 0.0),
        (-0.0, -0.0, -0.0, -0.0),
        (TINY32, 0.0, 0.0, 0.0),
        (-TINY32, -0.0, -0.0, -0.0),
        (INF, INF, INF, INF),
        (-INF, -INF, -INF, -INF),
        (2.0**127, 2.0**127, 2.0**127, 2.0**127),
    ],
)
def test_round_float32(x: float, even: float, zero: float, away: float) -> None:
    x = struct.unpack("<f", struct.pack("<f", x))[0]
    for mode, expected in ((NEAREST_EVEN, even), (TOWARD_ZERO, zero), (TOWARD_INFINITY, away)):
        assert rounded(F32, x, mode) == values(F32, expected)
        both = (0.0, -0.0) if expected == 0 else (expected,)
        assert rounded(F32, x, mode, strict=False) == values(F32, *both)


@pytest.mark.parametrize(
    "x, even, zero, away",
    [
        (0.5, 0.0, 0.0, 1.0),
        (1023.5, 1024.0, 1023.0, 1024.0),
        (1022.5, 1022.0, 1022.0, 1023.0),
        (-1022.5, -1022.0, -1022.0, -1023.0),
        (0.4998, 0.0, 0.0, 0.0),
        (2047.0, 2047.0, 2047.0, 2047.0),
        (65504.0, 65504.0, 65504.0, 65504.0),
    ],
)
def test_round_float16(x: float, even: float, zero: float, away: float) -> None:
    x = struct.unpack("<e", struct.pack("<e", x))[0]
    for mode, expected in ((NEAREST_EVEN, even), (TOWARD_ZERO, zero), (TOWARD_INFINITY, away)):
        assert rounded(F16, x, mode) == values(F16, expected)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("mode", [NEAREST_EVEN, TOWARD_ZERO, TOWARD_INFINITY])
@pytest.mark.parametrize("data_type", [F16, F32, F64])
def test_round_of_nan_is_any_nan_and_nothing_else(data_type: DataType, mode: str, strict: bool) -> None:
    assert rounded(data_type, NAN, mode, strict) == Acceptable(frozenset(), any_nan=True)


@pytest.mark.parametrize("mode", [NEAREST_EVEN, TOWARD_ZERO, TOWARD_INFINITY])
def test_the_official_vectors_of_round(mode: str) -> None:
    table = TABLES.operator("ROUND")
    examples = [example for example in table.examples if example.attributes["RoundingMode"] == mode]
    assert examples
    for example in examples:
        for x, expected in zip(example.inputs, example.outputs, strict=True):
            for data_type in (F16, F32):
                assert rounded(data_type, x, mode, strict=False).admits(pattern(data_type, expected), data_type)


# ---------------------------------------------------------------------------------- CLIP, THRESHOLD


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [F16, F32, F64, DataType.INT8, DataType.INT64])
def test_clip_and_threshold_of_plain_numbers(data_type: DataType, strict: bool) -> None:
    for x, expected in ((-9, -2), (-2, -2), (-1, -1), (1, 1), (3, 3), (4, 3), (100, 3)):
        assert clipped(data_type, x, -2.0, 3.0, strict=strict) == values(data_type, expected)
    for x, expected in ((-9, -2), (-2, -2), (-1, -1), (100, 100)):
        assert threshold(data_type, x, -2.0, strict) == values(data_type, expected)
    for x in (-100, -5, 1, 3, 7, 100):
        assert clipped(data_type, x, 5.0, -5.0, strict=strict) == values(data_type, 5), "inverted bounds give Min"
        assert clipped(data_type, x, 5.0, 5.0, strict=strict) == values(data_type, 5), "equal bounds give that value"


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [F16, F32, F64])
def test_infinite_bounds_and_inputs(data_type: DataType, strict: bool) -> None:
    for x in (-INF, -1.0, 1.0, INF):
        assert clipped(data_type, x, -INF, INF, strict=strict) == values(data_type, x)
        assert clipped(data_type, x, INF, INF, strict=strict) == values(data_type, INF)
        assert clipped(data_type, x, -INF, -INF, strict=strict) == values(data_type, -INF)
        assert clipped(data_type, x, -2.0, 2.0, strict=strict) == values(data_type, max(-2, min(x, 2)))
        assert threshold(data_type, x, -INF, strict) == values(data_type, x)
        assert threshold(data_type, x, INF, strict) == values(data_type, INF)


def test_zeros_are_equal_unless_strict() -> None:
    for data_type, x, bound in itertools.product((F16, F32, F64), (0.0, -0.0), (0.0, -0.0)):
        assert threshold(data_type, x, bound) == values(data_type, 0.0, -0.0)
        larger = -0.0 if math.copysign(1, x) < 0 and math.copysign(1, bound) < 0 else 0.0
        assert threshold(data_type, x, bound, strict=True) == values(data_type, larger)
        smaller = -0.0 if math.copysign(1, x) < 0 or math.copysign(1, bound) < 0 else 0.0
        assert clipped(data_type, x, -1.0, bound, strict=True) == values(data_type, smaller)
    assert clipped(F32, -0.0, -0.0, 0.0, strict=True) == values(F32, -0.0)
    assert clipped(F32, 5.0, -1.0, -0.0, strict=True) == values(F32, -0.0)
    assert clipped(F32, 5.0, -1.0, -0.0) == values(F32, 0.0, -0.0)


def test_float32_subnormals_may_be_flushed_unless_strict() -> None:
    tiny = TINY32
    assert clipped(F32, tiny, -1.0, 1.0) == values(F32, tiny, 0.0, -0.0)
    assert clipped(F32, tiny, -1.0, 1.0, strict=True) == values(F32, tiny)
    assert clipped(F32, 5.0, -1.0, 3 * tiny) == values(F32, 3 * tiny, 0.0, -0.0), "a bound"
    assert clipped(F32, 5.0, -1.0, 3 * tiny, strict=True) == values(F32, 3 * tiny)
    assert clipped(F32, -tiny, 1.0, 2.0) == values(F32, 1.0)
    assert rounded(F32, tiny, TOWARD_INFINITY, strict=False) == values(F32, 0.0, -0.0)


@pytest.mark.parametrize("strict", [False, True])
def test_float16_and_float64_subnormals_are_kept(strict: bool) -> None:
    for data_type, tiny in ((F16, TINY16), (F64, TINY64)):
        for sign in (1.0, -1.0):
            assert clipped(data_type, sign * tiny, -1.0, 1.0, strict=strict) == values(data_type, sign * tiny)
            assert threshold(data_type, sign * tiny, -1.0, strict) == values(data_type, sign * tiny)
        zero = (0.0,) if strict else (0.0, -0.0)
        assert threshold(data_type, tiny, 0.0, strict) == values(data_type, tiny), "greater than zero"
        assert threshold(data_type, -tiny, 0.0, strict) == values(data_type, *zero)
    assert clipped(F16, 5.0, -1.0, 3 * TINY16, strict=strict) == values(F16, 3 * TINY16), "a bound"
    assert clipped(F16, 2 * TINY16, TINY16, 3 * TINY16, strict=strict) == values(F16, 2 * TINY16)
    assert clipped(F64, 5.0, -1.0, TINY32, strict=strict) == values(F64, TINY32), "no subnormal of FLOAT64"


def test_a_comparison_may_flush_its_operands_and_return_one_unflushed() -> None:
    tiny, smallest = TINY32, 2.0**-126
    # max(x, Min) where both are zero or subnormal: either, and a zero.
    assert pattern(F32, -tiny) == 0x80000001
    assert threshold(F32, -tiny, 0.0) == values(F32, -tiny, 0.0, -0.0)
    assert threshold(F32, -tiny, 0.0, strict=True) == values(F32, 0.0)
    assert threshold(F32, 0.0, -tiny) == values(F32, -tiny, 0.0, -0.0)
    assert threshold(F32, 2 * tiny, tiny) == values(F32, 2 * tiny, tiny, 0.0, -0.0)
    assert threshold(F32, 2 * tiny, tiny, strict=True) == values(F32, 2 * tiny)
    assert threshold(F32, tiny, -tiny) == values(F32, tiny, -tiny, 0.0, -0.0)
    assert threshold(F32, -smallest + tiny, 0.0) == values(F32, -smallest + tiny, 0.0, -0.0), "the largest subnormal"
    # A normal number differs from all of them.
    assert threshold(F32, -smallest, 0.0) == values(F32, 0.0, -0.0)
    assert threshold(F32, -smallest, -tiny) == values(F32, -tiny, 0.0, -0.0)
    assert threshold(F32, smallest, smallest - tiny) == values(F32, smallest)
    # min(x, Max) likewise, and then max(Min, ...) of what it gave.
    assert clipped(F32, tiny, -1.0, 0.0) == values(F32, tiny, 0.0, -0.0)
    assert clipped(F32, 3 * tiny, -1.0, 2 * tiny) == values(F32, 3 * tiny, 2 * tiny, 0.0, -0.0)
    assert clipped(F32, 2 * tiny, tiny, 3 * tiny) == values(F32, tiny, 2 * tiny, 3 * tiny, 0.0, -0.0)
    assert clipped(F32, 2 * tiny, tiny, 3 * tiny, strict=True) == values(F32, 2 * tiny)
    assert clipped(F32, 5.0, 2 * tiny, tiny) == values(F32, tiny, 2 * tiny, 0.0, -0.0)


def test_a_normal_smallest_number_is_never_flushed() -> None:
    assert clipped(F16, 2.0**-14, -1.0, 1.0) == values(F16, 2.0**-14)
    assert clipped(F32, 2.0**-126, -1.0, 1.0) == values(F32, 2.0**-126)
    assert clipped(F64, 2.0**-1022, -1.0, 1.0) == values(F64, 2.0**-1022)
    assert clipped(F16, 5.0, -1.0, TINY16 * 1024) == values(F16, 2.0**-14)


def test_round_float64() -> None:
    for x, even, zero, away in ((2.0**52 - 0.5, 2.0**52, 2.0**52 - 1, 2.0**52), (-2.5, -2.0, -2.0, -3.0)):
        for mode, expected in ((NEAREST_EVEN, even), (TOWARD_ZERO, zero), (TOWARD_INFINITY, away)):
            for strict in (False, True):
                assert rounded(F64, x, mode, strict) == values(F64, expected)
    assert rounded(F64, TINY64, NEAREST_EVEN, strict=True) == values(F64, 0.0)
    assert rounded(F64, 1e300, TOWARD_ZERO) == values(F64, 1e300)


# ----------------------------------------------------------------------------------------------- NaN


each_floating = pytest.mark.parametrize("data_type", [F16, F32, F64])


@each_floating
def test_nan_input(data_type: DataType) -> None:
    assert clipped(data_type, NAN, -1.0, 2.0) == values(data_type, -1.0, 2.0, nan=True)
    # Strict: min(NaN, Max) is NaN or Max; the maximum with Min is then NaN, Min, or max(Min, Max).
    assert clipped(data_type, NAN, -1.0, 2.0, strict=True) == values(data_type, -1.0, 2.0, nan=True)
    assert clipped(data_type, NAN, 2.0, -1.0) == values(data_type, 2.0, -1.0, nan=True), "rule 6 adds Max"
    assert clipped(data_type, NAN, 2.0, -1.0, strict=True) == values(data_type, 2.0, nan=True)
    assert threshold(data_type, NAN, 2.0) == values(data_type, 2.0, nan=True)
    assert threshold(data_type, NAN, 2.0, strict=True) == values(data_type, 2.0, nan=True)


@each_floating
def test_nan_bound(data_type: DataType) -> None:
    # A NaN Min: NaN, the other operand, or max(x, 0).
    assert threshold(data_type, 5.0, NAN) == values(data_type, 5.0, nan=True)
    assert threshold(data_type, 5.0, NAN, strict=True) == values(data_type, 5.0, nan=True)
    assert threshold(data_type, -5.0, NAN) == values(data_type, -5.0, 0.0, -0.0, nan=True)
    assert threshold(data_type, -5.0, NAN, strict=True) == values(data_type, -5.0, nan=True)
    # The example of the issue: min(-3, 2) is -3, and 2 comes from nothing.
    assert clipped(data_type, -3.0, NAN, 2.0) == values(data_type, -3.0, 0.0, -0.0, nan=True)
    assert clipped(data_type, -3.0, NAN, 2.0, strict=True) == values(data_type, -3.0, nan=True)
    # min(5, 3) is 3, and so is the maximum of 3 and 0; x itself comes from nothing.
    assert clipped(data_type, 5.0, NAN, 3.0) == values(data_type, 3.0, nan=True)
    assert clipped(data_type, 5.0, NAN, 3.0, strict=True) == values(data_type, 3.0, nan=True)
    # A NaN Max: min gives NaN, x or min(x, 0).
    assert clipped(data_type, 5.0, 7.0, NAN) == values(data_type, 7.0, nan=True)
    assert clipped(data_type, 5.0, 7.0, NAN, strict=True) == values(data_type, 7.0, nan=True)
    assert clipped(data_type, 5.0, -7.0, NAN) == values(data_type, 5.0, -7.0, 0.0, -0.0, nan=True), "max(Min, NaN): -7"
    assert clipped(data_type, 5.0, -7.0, NAN, strict=True) == values(data_type, 5.0, -7.0, nan=True)
    # Both: every minimum and maximum of x, 0 and NaN.
    assert clipped(data_type, 5.0, NAN, NAN) == values(data_type, 5.0, 0.0, -0.0, nan=True)
    assert clipped(data_type, 5.0, NAN, NAN, strict=True) == values(data_type, 5.0, nan=True)
    assert clipped(data_type, NAN, NAN, NAN) == values(data_type, 0.0, -0.0, nan=True)
    assert clipped(data_type, NAN, NAN, NAN, strict=True) == Acceptable(frozenset(), any_nan=True)


def test_every_nan_pattern_is_a_nan() -> None:
    table = TABLES.operator("THRESHOLD")
    for bound in (0x7F800001, 0x7FC00000, 0xFF800001, 0xFFFFFFFF):
        for data_type in (F16, F32, F64):
            operator = describe(table.operator, data_type, Min=f32(bound))
            oracle = ExactOracle(TABLES.law(table), operator, False)
            assert oracle.acceptable(pattern(data_type, 5.0)) == values(data_type, 5.0, nan=True)
    for data_type, signalling in ((F16, 0x7C01), (F32, 0x7F800001), (F64, 0x7FF0000000000001)):
        oracle = ExactOracle(TABLES.law(table), describe(table.operator, data_type, Min=1.0), False)
        sign = 1 << 8 * data_type.itemsize - 1
        for bits in (signalling, sign - 1, sign | signalling, 2 * sign - 1):
            assert oracle.acceptable(bits) == values(data_type, 1.0, nan=True)


# -------------------------------------------------------------------------------------------- errors


def test_what_cannot_be_used_is_stated_in_one_line() -> None:
    with pytest.raises(UsageError, match="no FLOAT Max"):
        acceptable(*_clip(F32, Min=0.0), 0)
    with pytest.raises(UsageError, match="TOWARD_ZERO"):
        rounded(F32, 1.0, "UP")
    for data_type in (F32, DataType.INT8):
        law, operator = _clip(data_type, Min=0.0, Max=1.0)
        with pytest.raises(FormulaError, match="scale"):
            acceptable(law.with_expression(parse("x * scale", ("x", "scale"))), operator, 0)


def _clip(data_type: DataType, **attributes: float) -> tuple[Law, OperatorDesc]:
    table = TABLES.operator("CLIP")
    return TABLES.law(table), describe(table.operator, data_type, **attributes)


# ---------------------------------------------------------------------------------------- properties

FLOAT_BITS = st.integers(0, 2**32 - 1) | st.sampled_from(
    [
        0,
        1,
        0x80000000,
        0x80000001,
        0x007FFFFF,
        0x00800000,
        0x3F800000,
        0xBF800000,
        0x3F800001,
        0x40A00000,
        0x477FE000,
        0x477FEFFF,
        0x477FF000,
        0xC77FF000,
        0x7F7FFFFF,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0x33000000,
        0x33800000,
        0x387FC000,
        0x4B800001,
        0x5F000000,
    ]
)


@st.composite
def operators(draw: st.DrawFn, name: str, data_type: DataType) -> OperatorDesc:
    table = TABLES.operator(name)
    attributes: dict[str, Attribute] = {}
    for attribute in table.attributes:
        if attribute.type == "FLOAT":
            attributes[attribute.name] = f32(draw(FLOAT_BITS))
        elif attribute.type == "ENUM":
            attributes[attribute.name] = draw(st.sampled_from(attribute.enumerators))
        elif draw(st.booleans()):
            attributes[attribute.name] = ScaleBias(f32(draw(FLOAT_BITS)), f32(draw(FLOAT_BITS)))
    return describe(table.operator, data_type, **attributes)


def input_bits(data_type: DataType) -> st.SearchStrategy[int]:
    if data_type is F32:
        return FLOAT_BITS
    return st.integers(0, (1 << 8 * data_type.itemsize) - 1)


@pytest.mark.parametrize("name", ["CLIP", "ROUND", "THRESHOLD"])
@pytest.mark.parametrize("data_type", [F16, F32, F64, DataType.INT8, DataType.UINT64])
@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_strict_is_always_narrower(name: str, data_type: DataType, data: st.DataObject) -> None:
    table = TABLES.operator(name)
    law = TABLES.law(table)
    operator = data.draw(operators(name, data_type))
    bits = data.draw(input_bits(data_type))
    try:
        lenient = acceptable(law, operator, bits)
    except Unconstrained:
        with pytest.raises(Unconstrained):
            acceptable(law, operator, bits, strict=True)
        return
    strict = acceptable(law, operator, bits, strict=True)
    assert strict.patterns or strict.any_nan or strict.any_value
    assert strict.patterns <= lenient.patterns
    assert lenient.any_nan or not strict.any_nan
    assert lenient.any_value == strict.any_value
    if data_type in FORMATS:
        decoded = [FORMATS[data_type].decode(member) for member in lenient.patterns | strict.patterns]
        assert None not in decoded, "a NaN is said by any_nan, never by a pattern"


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_clip_strict_on_finite_float32_is_python_min_and_max(data: st.DataObject) -> None:
    low, high, x = (data.draw(st.floats(width=32, allow_nan=False)) for _ in range(3))
    x = x or 1.0
    expected = max(low, min(x, high))
    result = clipped(F32, x, low, high, strict=True)
    if expected != 0:
        assert result == values(F32, expected)
    else:
        assert result.patterns <= values(F32, 0.0, -0.0).patterns


def test_every_float16_element_of_a_clip_quickly() -> None:
    table = TABLES.operator("CLIP")
    operator = describe(table.operator, F16, Min=-1.0, Max=2.5, ScaleBias=None)
    started = time.perf_counter()
    oracle = ExactOracle(TABLES.law(table), operator, False)
    for bits in range(1 << 16):
        (x,) = struct.unpack("<e", bits.to_bytes(2, "little"))
        answer = oracle.acceptable(bits)
        if math.isnan(x):
            assert answer == Acceptable(frozenset({0xBC00, 0x4100}), any_nan=True)
        elif x == 0:
            assert answer.patterns == {0, 0x8000}
        else:
            assert answer.patterns == {pattern(F16, max(-1.0, min(x, 2.5)))}
    assert time.perf_counter() - started < 20, "the exhaustive proofs need 65,536 elements in seconds"
