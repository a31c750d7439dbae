"""The binary formats against ``struct``, and what ``Acceptable`` admits."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.real_number import Datum, infinity
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.suites.selftest.exact_oracle.exact_answers import F16, F32, F64


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


@pytest.mark.parametrize("form, code, size", [(BINARY32, "f", 4), (BINARY64, "d", 8)])
@given(st.data())
@settings(deadline=None)
def test_wider_patterns_decode_as_struct_does(form: Format, code: str, size: int, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, 2 ** (8 * size) - 1) | st.integers(0, 2 ** (form.trailing_bits + 1)))
    (reference,) = struct.unpack(f"<{code}", bits.to_bytes(size, "little"))
    datum = form.decode(bits)
    if math.isnan(reference):
        assert datum is None
    else:
        assert datum is not None
        assert (datum.value, datum.negative) == (reference, math.copysign(1, reference) < 0)
        assert form.round(datum) == bits
        assert form.toward_zero(datum) == bits


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


@pytest.mark.parametrize(
    "value, expected",
    [
        ("65519.996", 0x7BFF),
        ("65520", 0x7BFF),
        ("-1e9", 0xFBFF),
        (Fraction(3, 2**25), 0x0001),
        (Fraction(-3, 2**25), 0x8001),
        (Fraction(-1, 2**26), 0x8000),
        (Fraction(1, 2**14) - Fraction(1, 2**60), 0x03FF),
        (Fraction(1, 2**14), 0x0400),
        (2 - Fraction(1, 2**60), 0x3FFF),
        (2051, 0x6801),
        (-2051, 0xE801),
        (0, 0x0000),
    ],
)
def test_rounding_to_float16_toward_zero(value: str | Fraction | int, expected: int) -> None:
    exact = Fraction(value)
    assert BINARY16.toward_zero(Datum(exact < 0, exact)) == expected


def test_what_toward_zero_leaves_alone() -> None:
    for negative, sign in ((False, 0), (True, 0x8000)):
        assert BINARY16.toward_zero(infinity(negative)) == sign | 0x7C00
        assert BINARY16.toward_zero(Datum(negative, Fraction(0))) == sign


def test_the_parameters_of_the_formats() -> None:
    assert (BINARY16.sign_bit, BINARY16.infinity, BINARY16.largest) == (0x8000, 0x7C00, 0x7BFF)
    assert (BINARY32.sign_bit, BINARY32.infinity, BINARY32.largest) == (0x80000000, 0x7F800000, 0x7F7FFFFF)
    assert (BINARY64.sign_bit, BINARY64.infinity, BINARY64.largest) == (1 << 63, 0x7FF << 52, (0x7FF << 52) - 1)
    assert [form.smallest_normal for form in (BINARY16, BINARY32, BINARY64)] == [
        Fraction(1, 2**14),
        Fraction(1, 2**126),
        Fraction(1, 2**1022),
    ]
    assert BINARY16.decode(0x7BFF) == (False, 65504)
    assert BINARY32.decode(0x7F7FFFFF) == (False, 2**128 - 2**104)
    assert [BINARY16.is_subnormal(bits) for bits in (0, 1, 0x3FF, 0x400, 0x8000, 0x8001)] == [
        False,
        True,
        True,
        False,
        False,
        True,
    ]
    assert [BINARY16.is_zero(bits) for bits in (0, 0x8000, 1, 0x8001)] == [True, True, False, False]


# ------------------------------------------------------------------------------------------ Acceptable


def test_admits() -> None:
    acceptable = Acceptable(frozenset({0x3C00}))
    assert acceptable.admits(0x3C00, F16)
    assert not acceptable.admits(0x3C01, F16)
    assert not acceptable.admits(0x7E00, F16)
    nan = Acceptable(frozenset(), any_nan=True)
    for data_type, infinite, sign in (
        (F16, 0x7C00, 1 << 15),
        (F32, 0x7F800000, 1 << 31),
        (F64, 0x7FF << 52, 1 << 63),
    ):
        assert not nan.admits(infinite, data_type)
        assert not nan.admits(infinite | sign, data_type)
        assert nan.admits(infinite + 1, data_type)
        assert nan.admits(infinite + 1 | sign, data_type)
        assert nan.admits(2 * sign - 1, data_type)
    assert not nan.admits(0x7FFF, DataType.INT16)
    assert Acceptable(frozenset(), any_value=True).admits(123, DataType.UINT8)


def test_a_number_is_rounded_to_either_side() -> None:
    for sign, negative in ((0, False), (BINARY16.sign_bit, True)):

        def either(value: Fraction, negative: bool = negative) -> set[int]:
            return set(BINARY16.either(Datum(negative, -value if negative else value)))

        assert either(Fraction(1)) == {sign | 0x3C00}, "itself"
        assert either(Fraction(1) + Fraction(1, 1 << 30)) == {sign | 0x3C00, sign | 0x3C01}
        assert either(Fraction(2) - Fraction(1, 1 << 30)) == {sign | 0x3FFF, sign | 0x4000}
        assert either(Fraction(1, 1 << 25)) == {sign, sign | 1}, "zero, and the least subnormal"
        assert either(Fraction(65504)) == {sign | BINARY16.largest}
        assert either(Fraction(1 << 40)) == {sign | BINARY16.largest, sign | BINARY16.infinity}
        assert set(BINARY16.either(infinity(negative))) == {sign | BINARY16.infinity}
        assert either(Fraction(0)) == {sign}
