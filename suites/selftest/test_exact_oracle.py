"""The exact oracle against vectors worked out by hand, and against ``struct``'s binary formats."""

from __future__ import annotations

import itertools
import math
import struct
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Expression, parse
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.exact import BINARY16, BINARY32, Datum, ExactOracle, Format, acceptable
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained

TABLES = load_tables()
F16, F32 = DataType.FLOAT16, DataType.FLOAT32
INF, NAN = math.inf, math.nan
FORMATS = {F16: BINARY16, F32: BINARY32}
NEAREST_EVEN, TOWARD_ZERO, TOWARD_INFINITY = "HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"
INTEGERS = [data_type for data_type in DataType if not data_type.is_floating]
TINY16 = 2.0**-24  # the smallest subnormal FLOAT16
TINY32 = 2.0**-149


def f32(bits: int) -> np.float32:
    return np.array([bits], np.uint32).view(np.float32)[0]  # type: ignore[no-any-return]


def pattern(data_type: DataType, value: float) -> int:
    """The pattern of a value that the type represents; ``struct`` is the reference."""
    if not data_type.is_floating:
        assert value == int(value)
        return int(value) % (1 << 8 * data_type.itemsize)
    code = "e" if data_type is F16 else "f"
    packed = struct.pack(f"<{code}", value)
    assert math.isnan(value) or struct.unpack(f"<{code}", packed)[0] == value, "the test's value is inexact"
    return int.from_bytes(packed, "little")


Attribute = float | np.float32 | str | ScaleBias | None


def describe(name: str, data_type: DataType, **attributes: Attribute) -> OperatorDesc:
    tensor = TensorDesc(data_type, (1, 1, 1, 1))
    return OperatorDesc(name, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


def accept(
    name: str,
    data_type: DataType,
    x: float,
    *,
    strict: bool = False,
    formula: str | None = None,
    **attributes: Attribute,
) -> Acceptable:
    table = TABLES.operator(name)
    expression = TABLES.formula(table) if formula is None else parse(formula, ("x", *table.float_attributes))
    operator = describe(table.operator, data_type, **attributes)
    return acceptable(table, expression, operator, pattern(data_type, x), strict=strict)


def values(data_type: DataType, *numbers: float, nan: bool = False) -> Acceptable:
    return Acceptable(frozenset(pattern(data_type, number) for number in numbers), any_nan=nan)


def clip(data_type: DataType, x: float, low: float, high: float, scale_bias: ScaleBias | None = None,
         strict: bool = False) -> Acceptable:  # fmt: skip
    return accept("CLIP", data_type, x, Min=low, Max=high, ScaleBias=scale_bias, strict=strict)


def threshold(data_type: DataType, x: float, low: float, strict: bool = False) -> Acceptable:
    return accept("THRESHOLD", data_type, x, Min=low, ScaleBias=None, strict=strict)


def rounded(data_type: DataType, x: float, mode: str, strict: bool = True) -> Acceptable:
    return accept("ROUND", data_type, x, RoundingMode=mode, strict=strict)


# ---------------------------------------------------------------------------------------- the formats


def test_every_float16_pattern_decodes_as_struct_does() -> None:
    for bits in range(1 << 16):
        (reference,) = struct.unpack("<e", bits.to_bytes(2, "little"))
        datum = BINARY16.decode(bits)
        if math.isnan(reference):
            assert datum is None
            continue
        assert datum is not None
        assert datum.value == reference
        assert datum.negative == (math.copysign(1, reference) < 0)
        assert BINARY16.round(datum) == bits


def test_every_float16_pattern_survives_the_way_through_float32() -> None:
    for bits in range(1 << 16):
        (reference,) = struct.unpack("<e", bits.to_bytes(2, "little"))
        if not math.isnan(reference):
            wide = BINARY32.convert(bits, BINARY16)
            assert wide == int.from_bytes(struct.pack("<f", reference), "little")
            assert BINARY16.convert(wide, BINARY32) == bits


def test_rounding_halfway_between_all_neighbouring_float16_takes_the_even_pattern() -> None:
    for bits in range(BINARY16.largest):
        low, high = BINARY16.decode(bits), BINARY16.decode(bits + 1)
        assert low is not None
        assert high is not None
        middle = (low.fraction + high.fraction) / 2
        for value, expected in (
            (middle, bits + bits % 2),
            (middle - Fraction(1, 1 << 60), bits),
            (middle + Fraction(1, 1 << 60), bits + 1),
        ):
            assert BINARY16.round(Datum(False, value)) == expected
        assert BINARY16.round(Datum(True, -middle)) == 0x8000 | bits + bits % 2
        (packed,) = struct.unpack("<H", struct.pack("<e", float(middle)))
        assert packed == bits + bits % 2


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_float32_patterns_decode_as_struct_does(bits: int) -> None:
    (reference,) = struct.unpack("<f", bits.to_bytes(4, "little"))
    datum = BINARY32.decode(bits)
    if math.isnan(reference):
        assert datum is None
    else:
        assert datum is not None
        assert (datum.value, datum.negative) == (reference, math.copysign(1, reference) < 0)
        assert BINARY32.round(datum) == bits


@pytest.mark.parametrize("form, code", [(BINARY16, "e"), (BINARY32, "f")])
@given(st.data())
@settings(max_examples=300, deadline=None)
def test_rounding_a_double_agrees_with_struct(form: Format, code: str, data: st.DataObject) -> None:
    width = 16 if form is BINARY16 else 32
    finite = st.floats(allow_nan=False, allow_infinity=False)
    value = data.draw(finite | st.floats(-70000, 70000) | st.floats(2.0**-30, 2.0**-10))
    negative = math.copysign(1, value) < 0
    try:
        expected = int.from_bytes(struct.pack(f"<{code}", value), "little")
    except OverflowError:
        expected = form.infinity | (negative << width - 1)
    assert form.round(Datum(negative, Fraction(value))) == expected


@pytest.mark.parametrize(
    "value, expected",
    [
        ("65519.996", 0x7BFF),
        ("65520", 0x7C00),
        ("-65519.996", 0xFBFF),
        ("-65520", 0xFC00),
        (Fraction(1, 2**25), 0x0000),  # half the smallest subnormal, to even: zero
        (Fraction(3, 2**25), 0x0002),  # 1.5 of it, to even: 2
        (Fraction(1, 2**25) + Fraction(1, 2**80), 0x0001),
        (Fraction(-1, 2**26), 0x8000),
        (Fraction(1, 2**14) - Fraction(1, 2**25), 0x0400),  # from the subnormals up into the normals
        (2049, 0x6800),
        (2051, 0x6802),
    ],
)
def test_rounding_to_float16(value: str | Fraction | int, expected: int) -> None:
    exact = Fraction(value)
    assert BINARY16.round(Datum(exact < 0, exact)) == expected


def test_the_parameters_of_the_formats() -> None:
    assert (BINARY16.sign_bit, BINARY16.infinity, BINARY16.largest) == (0x8000, 0x7C00, 0x7BFF)
    assert (BINARY32.sign_bit, BINARY32.infinity, BINARY32.largest) == (0x80000000, 0x7F800000, 0x7F7FFFFF)
    assert BINARY16.decode(0x7BFF) == (False, 65504)
    assert BINARY32.decode(0x7F7FFFFF) == (False, 2**128 - 2**104)
    assert [BINARY16.is_subnormal(bits) for bits in (0, 1, 0x3FF, 0x400, 0x8000, 0x8001)] == [
        False, True, True, False, False, True,
    ]  # fmt: skip
    assert [BINARY16.is_zero(bits) for bits in (0, 0x8000, 1, 0x8001)] == [True, True, False, False]


# ------------------------------------------------------------------------------------------ Acceptable


def test_admits() -> None:
    one = Acceptable(frozenset({0x3C00}))
    assert one.admits(0x3C00, F16)
    assert not one.admits(0x3C01, F16)
    assert not one.admits(0x7E00, F16)
    nan = Acceptable(frozenset(), any_nan=True)
    for data_type, infinity, sign in ((F16, 0x7C00, 1 << 15), (F32, 0x7F800000, 1 << 31)):
        assert not nan.admits(infinity, data_type)
        assert not nan.admits(infinity | sign, data_type)
        assert nan.admits(infinity + 1, data_type)
        assert nan.admits(infinity + 1 | sign, data_type)
        assert nan.admits(2 * sign - 1, data_type)
    assert not nan.admits(0x7FFF, DataType.INT16)
    assert Acceptable(frozenset(), any_value=True).admits(123, DataType.UINT8)


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
@pytest.mark.parametrize("data_type", [F16, F32])
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
                assert rounded(data_type, x, mode, strict=False).admits(
                    pattern(data_type, expected), data_type
                )


# ---------------------------------------------------------------------------------- CLIP, THRESHOLD


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [F16, F32, DataType.INT8, DataType.INT64])
def test_clip_and_threshold_of_plain_numbers(data_type: DataType, strict: bool) -> None:
    for x, expected in ((-9, -2), (-2, -2), (-1, -1), (1, 1), (3, 3), (4, 3), (100, 3)):
        assert clip(data_type, x, -2.0, 3.0, strict=strict) == values(data_type, expected)
    for x, expected in ((-9, -2), (-2, -2), (-1, -1), (100, 100)):
        assert threshold(data_type, x, -2.0, strict) == values(data_type, expected)
    for x in (-100, -5, 1, 3, 7, 100):
        assert clip(data_type, x, 5.0, -5.0, strict=strict) == values(data_type, 5), (
            "inverted bounds give Min"
        )
        assert clip(data_type, x, 5.0, 5.0, strict=strict) == values(data_type, 5), (
            "equal bounds give that value"
        )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [F16, F32])
def test_infinite_bounds_and_inputs(data_type: DataType, strict: bool) -> None:
    for x in (-INF, -1.0, 1.0, INF):
        assert clip(data_type, x, -INF, INF, strict=strict) == values(data_type, x)
        assert clip(data_type, x, INF, INF, strict=strict) == values(data_type, INF)
        assert clip(data_type, x, -INF, -INF, strict=strict) == values(data_type, -INF)
        assert clip(data_type, x, -2.0, 2.0, strict=strict) == values(data_type, max(-2, min(x, 2)))
        assert threshold(data_type, x, -INF, strict) == values(data_type, x)
        assert threshold(data_type, x, INF, strict) == values(data_type, INF)


def test_zeros_are_equal_unless_strict() -> None:
    for data_type, x, bound in itertools.product((F16, F32), (0.0, -0.0), (0.0, -0.0)):
        assert threshold(data_type, x, bound) == values(data_type, 0.0, -0.0)
        larger = -0.0 if math.copysign(1, x) < 0 and math.copysign(1, bound) < 0 else 0.0
        assert threshold(data_type, x, bound, strict=True) == values(data_type, larger)
        smaller = -0.0 if math.copysign(1, x) < 0 or math.copysign(1, bound) < 0 else 0.0
        assert clip(data_type, x, -1.0, bound, strict=True) == values(data_type, smaller)
    assert clip(F32, -0.0, -0.0, 0.0, strict=True) == values(F32, -0.0)
    assert clip(F32, 5.0, -1.0, -0.0, strict=True) == values(F32, -0.0)
    assert clip(F32, 5.0, -1.0, -0.0) == values(F32, 0.0, -0.0)


def test_subnormals_may_be_flushed_unless_strict() -> None:
    for data_type, tiny in ((F16, TINY16), (F32, TINY32)):
        assert clip(data_type, tiny, -1.0, 1.0) == values(data_type, tiny, 0.0, -0.0)
        assert clip(data_type, tiny, -1.0, 1.0, strict=True) == values(data_type, tiny)
        assert clip(data_type, 5.0, -1.0, 3 * tiny) == values(data_type, 3 * tiny, 0.0, -0.0), "a bound"
        assert clip(data_type, 5.0, -1.0, 3 * tiny, strict=True) == values(data_type, 3 * tiny)
        assert clip(data_type, 2 * tiny, tiny, 3 * tiny) == values(data_type, tiny, 2 * tiny, 0.0, -0.0)
        assert clip(data_type, -tiny, 1.0, 2.0) == values(data_type, 1.0)
    assert rounded(F32, TINY32, TOWARD_INFINITY, strict=False) == values(F32, 0.0, -0.0)


def test_a_flushed_input_meets_a_kept_bound() -> None:
    # max(x, Min), both subnormal, each kept or flushed: x, Min (where x is flushed), or a zero; never less.
    assert threshold(F32, 2 * TINY32, TINY32) == values(F32, 2 * TINY32, TINY32, 0.0, -0.0)
    assert threshold(F32, 2 * TINY32, TINY32, strict=True) == values(F32, 2 * TINY32)
    assert threshold(F32, TINY32, -TINY32) == values(F32, TINY32, 0.0, -0.0)


def test_a_normal_smallest_number_is_never_flushed() -> None:
    assert clip(F16, 2.0**-14, -1.0, 1.0) == values(F16, 2.0**-14)
    assert clip(F32, 2.0**-126, -1.0, 1.0) == values(F32, 2.0**-126)
    assert clip(F16, 5.0, -1.0, TINY16 * 1024) == values(F16, 2.0**-14)


# ----------------------------------------------------------------------------------------------- NaN


@pytest.mark.parametrize("data_type", [F16, F32])
def test_nan_input(data_type: DataType) -> None:
    assert clip(data_type, NAN, -1.0, 2.0) == values(data_type, -1.0, 2.0, nan=True)
    # Strict: min(NaN, Max) is NaN or Max; the maximum with Min is then NaN, Min, or max(Min, Max).
    assert clip(data_type, NAN, -1.0, 2.0, strict=True) == values(data_type, -1.0, 2.0, nan=True)
    assert clip(data_type, NAN, 2.0, -1.0) == values(data_type, 2.0, -1.0, nan=True), "rule 6 adds Max"
    assert clip(data_type, NAN, 2.0, -1.0, strict=True) == values(data_type, 2.0, nan=True)
    assert threshold(data_type, NAN, 2.0) == values(data_type, 2.0, nan=True)
    assert threshold(data_type, NAN, 2.0, strict=True) == values(data_type, 2.0, nan=True)


@pytest.mark.parametrize("data_type", [F16, F32])
def test_nan_bound(data_type: DataType) -> None:
    assert threshold(data_type, 5.0, NAN) == values(data_type, 5.0, nan=True)
    assert threshold(data_type, 5.0, NAN, strict=True) == values(data_type, 5.0, nan=True)
    # Max is NaN: min gives NaN or x = 5; max with Min = 7 gives NaN or 7. Rule 7 adds x.
    assert clip(data_type, 5.0, 7.0, NAN) == values(data_type, 5.0, 7.0, nan=True)
    assert clip(data_type, 5.0, 7.0, NAN, strict=True) == values(data_type, 7.0, nan=True)
    # Min is NaN: NaN or min(x, Max) = 3. Rule 7 adds x.
    assert clip(data_type, 5.0, NAN, 3.0) == values(data_type, 5.0, 3.0, nan=True)
    assert clip(data_type, 5.0, NAN, 3.0, strict=True) == values(data_type, 3.0, nan=True)
    assert clip(data_type, 5.0, NAN, NAN) == values(data_type, 5.0, nan=True)
    assert clip(data_type, NAN, NAN, NAN) == Acceptable(frozenset(), any_nan=True)


def test_every_nan_pattern_is_a_nan() -> None:
    table = TABLES.operator("THRESHOLD")
    for bound in (0x7F800001, 0x7FC00000, 0xFF800001, 0xFFFFFFFF):
        oracle = ExactOracle(
            table, TABLES.formula(table), describe(table.operator, F32, Min=f32(bound)), False
        )
        assert oracle.acceptable(pattern(F32, 5.0)) == values(F32, 5.0, nan=True)
    oracle = ExactOracle(table, TABLES.formula(table), describe(table.operator, F16, Min=1.0), False)
    for bits in (0x7C01, 0x7E00, 0xFC01, 0xFFFF):
        assert oracle.acceptable(bits) == values(F16, 1.0, nan=True)


# ------------------------------------------------------------------------------------- FLOAT16 casts


def test_documented_float16_casts() -> None:
    below_overflow = 65519.99609375  # the FLOAT32 that 65519.996 is
    assert np.float32(65519.996) == below_overflow
    for sign in (1.0, -1.0):
        infinite = sign * INF

        def bound(v: float, strict: bool = False, sign: float = sign) -> Acceptable:
            """What the element at the far side becomes: the bound itself."""
            if sign > 0:
                return clip(F16, INF, -INF, v, strict=strict)
            return clip(F16, -INF, -v, INF, strict=strict)

        assert bound(below_overflow) == values(F16, sign * 65504)
        assert bound(65520.0) == values(F16, infinite, sign * 65504)
        assert bound(65520.0, strict=True) == values(F16, infinite)
        assert bound(3.0e38) == values(F16, infinite, sign * 65504)
        assert bound(INF) == values(F16, infinite)
        assert bound(2049.0) == values(F16, sign * 2048), "a tie, to even"
        assert bound(2051.0) == values(F16, sign * 2052), "a tie, to even"
        assert bound(2049.0, strict=True) == values(F16, sign * 2048)
        assert bound(3 * 2.0**-25, strict=True) == values(F16, sign * 2 * TINY16)
        assert bound(3 * 2.0**-25) == values(F16, sign * 2 * TINY16, 0.0, -0.0)
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
    assert bound(2.0**-30) == values(F16, TINY16, 0.0, -0.0)
    assert bound(-(2.0**-30)) == values(F16, -TINY16, 0.0, -0.0)
    assert bound(-(2.0**-30), strict=True) == values(F16, -0.0)
    assert bound(65519.0) == values(F16, 65504, INF), "infinity is the neighbour above"
    assert bound(65519.0, strict=True) == values(F16, 65504)
    assert bound(65520.0) == values(F16, 65504, INF)
    assert bound(-65520.0) == values(F16, -65504, -INF)
    assert bound(65520.0, strict=True) == values(F16, INF)
    assert bound(1.5) == values(F16, 1.5)


# ---------------------------------------------------------------------------------------- integers


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.INT64])
def test_documented_integer_casts_truncate(data_type: DataType, strict: bool) -> None:
    assert clip(data_type, 100, -2.9, 2.9, strict=strict) == values(data_type, 2)
    assert clip(data_type, -100, -2.9, 2.9, strict=strict) == values(data_type, -2)
    assert clip(data_type, -100, -0.9, 0.9, strict=strict) == values(data_type, 0)
    assert clip(data_type, 127, TINY32, 127.99999, strict=strict) == values(data_type, 127)


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


def test_large_integers_are_compared_exactly() -> None:
    i32, i64, u64 = DataType.INT32, DataType.INT64, DataType.UINT64
    for x in (2**24 + 1, 2**24 + 2, 2**30 - 1, -(2**24) - 1):
        assert clip(i32, x, -(2.0**31), 2.0**30) == values(i32, x)
    assert clip(i32, 2**24 + 1, 0.0, 2.0**24) == values(i32, 2**24)
    assert clip(i32, 2**24 - 1, 2.0**24, 2.0**30) == values(i32, 2**24)
    # From here on the numbers are no FLOAT64 either, so `values` and `pattern` are given integers.
    for x in (2**53 + 1, 2**53 - 1, -(2**53) - 1, 2**62 - 1):
        assert clip(i64, x, -(2.0**63), 2.0**62) == values(i64, x)
    assert clip(i64, 2**53 + 1, 0.0, 2.0**53) == values(i64, 2**53)
    assert clip(i64, 2**53 + 1, 2.0**53, 2.0**60) == values(i64, 2**53 + 1)
    assert clip(i64, 2**63 - 1, -(2.0**63), 2.0**63 - 2.0**39) == values(i64, 2**63 - 2**39)
    assert clip(i64, -(2**63), -(2.0**63), 0.0) == values(i64, -(2**63))
    assert threshold(i64, -(2**63) + 1, -(2.0**63)) == values(i64, -(2**63) + 1)
    for x, expected in ((2**63 - 1, 2**63 - 1), (2**63, 2**63), (2**63 + 1, 2**63), (2**64 - 1, 2**63)):
        assert clip(u64, x, 0.0, 2.0**63) == values(u64, expected)
        assert clip(u64, x, 2.0**63, 2.0**64 - 2.0**40) == values(u64, min(max(x, 2**63), 2**64 - 2**40))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", INTEGERS)
def test_bounds_at_and_outside_the_type(data_type: DataType, strict: bool) -> None:
    bits = 8 * data_type.itemsize
    beyond = 2.0 ** (bits - 1 if data_type.is_signed else bits)
    lowest = -beyond if data_type.is_signed else 0.0
    largest = pattern(data_type, -1) >> data_type.is_signed
    assert clip(data_type, 1, lowest, 5.0, strict=strict) == values(data_type, 1)
    assert threshold(data_type, largest, lowest, strict) == values(data_type, largest)
    for outside in (beyond, -beyond * 2, INF, -INF, NAN):
        with pytest.raises(Unconstrained) as raised:
            clip(data_type, 1, 0.0, outside, strict=strict)
        assert "Max" in raised.value.cause
        assert data_type.name in str(raised.value)
        with pytest.raises(Unconstrained):
            threshold(data_type, 1, outside, strict)
    if not data_type.is_signed:
        with pytest.raises(Unconstrained):
            clip(data_type, 1, -1.0, 5.0, strict=strict)
        assert clip(data_type, 3, -0.9, 5.0, strict=strict) == values(data_type, 3)


@pytest.mark.parametrize("strict", [False, True])
def test_scale_bias_on_integers(strict: bool) -> None:
    def scaled(data_type: DataType, x: int, scale: float, bias: float) -> Acceptable:
        high = 2.0 ** (8 * data_type.itemsize - 2)
        return clip(data_type, x, 0.0, high, ScaleBias(scale, bias), strict)

    anything = Acceptable(frozenset(), any_value=True)
    i8, u8, i32, i64 = DataType.INT8, DataType.UINT8, DataType.INT32, DataType.INT64
    assert scaled(i8, 5, 3.0, -2.0) == values(i8, 13)
    assert scaled(i8, 30, 3.0, 0.0) == values(i8, 64), "clamped after scaling"
    assert scaled(i8, 64, 2.0, -10.0) == anything, "the product leaves the type"
    assert scaled(i8, 63, 2.0, 2.0) == anything, "the sum leaves the type"
    assert scaled(i8, 5, 1.5, 0.0) == anything
    assert scaled(i8, 5, 1.0, 0.5) == anything
    assert scaled(i8, 0, 200.0, 0.0) == anything, "the scale is outside the type"
    assert scaled(u8, 5, -1.0, 9.0) == anything
    assert scaled(u8, 5, 2.0, 9.0) == values(u8, 19)
    assert scaled(i64, 1, NAN, 0.0) == anything
    assert scaled(i64, 1, 1.0, INF) == anything
    assert scaled(i32, 2**23, 2.0, 0.0) == values(i32, 2**24)
    assert scaled(i32, 2**23, 2.0, -1.0) == values(i32, 2**24 - 1)
    assert scaled(i32, 2**23, 2.0, 1.0) == anything, "the sum is above 2^24"
    assert scaled(i32, 2**23 + 1, 2.0, -5.0) == anything, "the product is above 2^24"
    assert scaled(i32, 2**24 + 1, 1.0, -1.0) == anything, "x is above 2^24"
    assert scaled(i32, 2**24 + 1, 0.0, 0.0) == anything, "x is above 2^24, although the product is small"
    assert scaled(i64, -(2**24), -1.0, 0.0) == values(i64, 2**24)


# ------------------------------------------------------------------------- ScaleBias, floating point


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


# ------------------------------------------------------------------------- the rest of the language


@pytest.mark.parametrize(
    "formula, x, expected",
    [
        ("floor(x)", -0.5, -1.0),
        ("floor(x)", 1.75, 1.0),
        ("ceil(x)", -0.5, -0.0),
        ("ceil(x)", 1.25, 2.0),
        ("floor(x)", -0.0, -0.0),
        ("ceil(x)", INF, INF),
        ("abs(x)", -3.5, 3.5),
        ("abs(x)", -0.0, 0.0),
        ("abs(x)", -INF, INF),
        ("-x", 0.0, -0.0),
        ("-x", -INF, INF),
        ("x + x", -0.0, -0.0),
        ("x - x", -0.0, 0.0),
        ("x - x", 5.0, 0.0),
        ("x * x", 300.0, 90000.0),
        ("x * 0.5", 3.0, 1.5),
        ("x + 1", 2.0**24, 2.0**24),
        ("x + 3", 2.0**24, 2.0**24 + 4),
        ("x * -1", 0.0, -0.0),
        ("x + 1e999", 1.0, INF),
        ("min(abs(x), 2) * Max + Min", -7.0, 2 * 3 + 1),
    ],
)
def test_functions_strict(formula: str, x: float, expected: float) -> None:
    assert accept("CLIP", F32, x, formula=formula, strict=True, Min=1.0, Max=3.0) == values(F32, expected)


def test_functions_round_once_to_float16() -> None:
    assert accept("CLIP", F16, 300.0, formula="x * x", Min=0.0, Max=0.0) == values(F16, INF)
    assert accept("CLIP", F16, 2048.0, formula="x + 1", Min=0.0, Max=0.0) == values(F16, 2048)
    assert accept("CLIP", F16, 2048.0, formula="x + 3", Min=0.0, Max=0.0) == values(F16, 2052)
    assert accept("CLIP", F16, 1.0, formula="x + 0.0001", Min=0.0, Max=0.0) == values(F16, 1.0)


@pytest.mark.parametrize("formula", ["floor(x)", "abs(x)", "-x", "x + 1", "1 - x", "x * 0"])
def test_functions_of_nan(formula: str) -> None:
    result = accept("CLIP", F32, NAN, formula=formula, strict=True, Min=1.0, Max=3.0)
    assert result == Acceptable(frozenset(), any_nan=True)


@pytest.mark.parametrize("formula", ["x - x", "x * 0"])
def test_functions_that_make_a_nan(formula: str) -> None:
    result = accept("CLIP", F32, INF, formula=formula, Min=1.0, Max=3.0)
    assert result == Acceptable(frozenset(), any_nan=True)


@pytest.mark.parametrize(
    "formula, x, expected",
    [
        ("x + 100", 100, -56),
        ("x * 3", 100, 44),
        ("-x", -128, -128),
        ("abs(x)", -128, -128),
        ("abs(x)", -5, 5),
        ("x - 100", -100, 56),
        ("floor(x) + ceil(x)", 3, 6),
        ("trunc(x)", -3, -3),
        ("round_half_even(x) * round_half_away(x)", -3, 9),
        ("min(x, 2)", 5, 2),
    ],
)
def test_functions_on_integers_wrap(formula: str, x: int, expected: int) -> None:
    result = accept("CLIP", DataType.INT8, x, formula=formula, Min=0.0, Max=0.0)
    assert result == values(DataType.INT8, expected)


def test_a_fraction_in_an_integer_formula_is_unconstrained() -> None:
    for constant in ("0.5", "1e999"):
        with pytest.raises(Unconstrained, match="INT8"):
            accept("CLIP", DataType.INT8, 1, formula=f"x * {constant}", Min=0.0, Max=0.0)


# -------------------------------------------------------------------------------------------- errors


def test_what_cannot_be_used_is_said_in_one_line() -> None:
    with pytest.raises(UsageError, match="FLOAT64"):
        acceptable(*_clip(DataType.FLOAT64, Min=0.0, Max=1.0), 0)
    with pytest.raises(UsageError, match="no FLOAT Max"):
        acceptable(*_clip(F32, Min=0.0), 0)
    with pytest.raises(UsageError, match="TOWARD_ZERO"):
        rounded(F32, 1.0, "UP")
    for data_type in (F32, DataType.INT8):
        table, _, operator = _clip(data_type, Min=0.0, Max=1.0)
        with pytest.raises(FormulaError, match="scale"):
            acceptable(table, parse("x * scale", ("x", "scale")), operator, 0)


def _clip(data_type: DataType, **attributes: float) -> tuple[OperatorTable, Expression, OperatorDesc]:
    table = TABLES.operator("CLIP")
    return table, TABLES.formula(table), describe(table.operator, data_type, **attributes)


# ---------------------------------------------------------------------------------------- properties

FLOAT_BITS = st.integers(0, 2**32 - 1) | st.sampled_from(
    [
        0, 1, 0x80000000, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F800001, 0x40A00000,
        0x477FE000, 0x477FEFFF, 0x477FF000, 0xC77FF000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
        0x33000000, 0x33800000, 0x387FC000, 0x4B800001, 0x5F000000,
    ]
)  # fmt: skip


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
@pytest.mark.parametrize("data_type", [F16, F32, DataType.INT8, DataType.UINT64])
@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_strict_is_always_narrower(name: str, data_type: DataType, data: st.DataObject) -> None:
    table = TABLES.operator(name)
    formula = TABLES.formula(table)
    operator = data.draw(operators(name, data_type))
    bits = data.draw(input_bits(data_type))
    try:
        lenient = acceptable(table, formula, operator, bits)
    except Unconstrained:
        with pytest.raises(Unconstrained):
            acceptable(table, formula, operator, bits, strict=True)
        return
    strict = acceptable(table, formula, operator, bits, strict=True)
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
    result = clip(F32, x, low, high, strict=True)
    if expected != 0:
        assert result == values(F32, expected)
    else:
        assert result.patterns <= values(F32, 0.0, -0.0).patterns


def test_every_float16_element_of_a_clip_quickly() -> None:
    table = TABLES.operator("CLIP")
    operator = describe(table.operator, F16, Min=-1.0, Max=2.5, ScaleBias=None)
    started = time.perf_counter()
    oracle = ExactOracle(table, TABLES.formula(table), operator, False)
    for bits in range(1 << 16):
        (x,) = struct.unpack("<e", bits.to_bytes(2, "little"))
        answer = oracle.acceptable(bits)
        if math.isnan(x):
            assert answer == Acceptable(frozenset({0xBC00, 0x4100}), any_nan=True)
        elif abs(x) < 2.0**-14:
            assert answer.patterns == {bits, 0, 0x8000}
        else:
            assert answer.patterns == {pattern(F16, max(-1.0, min(x, 2.5)))}
    assert time.perf_counter() - started < 20, "the exhaustive proofs need 65,536 elements in seconds"
