"""ScaleBias on integers is named for what it is: implementations written in numpy, distinguished by their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.arithmetic.binary_format import BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_arithmetic import (
    FRACTIONAL,
    GROUPS,
    NEGATIVE,
    ROUNDINGS,
    STEPWISE,
    WHOLE,
    Arithmetic,
    Observation,
    _nearest,
    _reported,
    _storings,
    distinguishing_inputs,
    named,
)

INTEGERS = [data_type for data_type in DataType if not data_type.is_floating]
NARROW = [data_type for data_type in INTEGERS if data_type.itemsize < 4]
WIDE = [data_type for data_type in INTEGERS if data_type.itemsize >= 4]
Array = Any
Way = Callable[[Array, float, float], Array]


def floating(dtype: Any, rounding: Any = np.trunc, *, saturating: bool = True) -> Way:
    """x * scale + bias in a numpy type, separately, rounded, then saturated or wrapped."""

    def computed(x: Array, scale: float, bias: float) -> Array:
        wholes = [int(number) for number in rounding(x.astype(dtype) * dtype(scale) + dtype(bias))]
        limits = np.iinfo(x.dtype)
        least, most = int(limits.min), int(limits.max)
        if saturating:
            return np.array([min(max(whole, least), most) for whole in wholes], x.dtype)
        return np.array([whole % (most - least + 1) for whole in wholes], f"u{x.dtype.itemsize}").view(x.dtype)

    return computed


def wrapping(x: Array, scale: float, bias: float) -> Array:
    """Whole factors in the type's own arithmetic."""
    bits = x.dtype.itemsize * 8
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    factor, addend = (np.array(int(value) % (1 << bits), unsigned) for value in (scale, bias))
    return (x.view(unsigned) * factor + addend).view(x.dtype)


def stepwise(x: Array, scale: float, bias: float) -> Array:
    """The product truncated and saturated, and the sum with the truncated bias likewise."""
    limits = np.iinfo(x.dtype)
    least, most = int(limits.min), int(limits.max)
    shift = 1 << 160  # scales are dyadic
    products = [abs(number * int(scale * shift)) // shift * (1 if number * scale >= 0 else -1) for number in x.tolist()]
    return np.array(
        [min(max(min(max(product, least), most) + int(bias), least), most) for product in products], x.dtype
    )


def observed(way: Way, data_type: DataType, pairs: Any = None) -> list[Observation]:
    x = distinguishing_inputs(data_type)
    limits = np.iinfo(data_type.numpy)
    pairs = [pair for group in GROUPS.values() for pair in group] if pairs is None else pairs
    return [
        Observation(*pair, tuple(x.tolist()), tuple(way(x, *pair).tolist()), int(limits.min), int(limits.max))
        for pair in pairs
    ]


def fractions(way: Way, data_type: DataType) -> str:
    return named(data_type, observed(way, data_type, FRACTIONAL))


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda kind: kind.name)
def test_fractions_are_named(data_type: DataType) -> None:
    assert fractions(floating(np.float64), data_type) == "in FLOAT64, truncates, saturates"
    assert fractions(floating(np.float32), data_type) == "in FLOAT32, separate, truncates, saturates"
    assert fractions(floating(np.float64, np.rint), data_type) == "in FLOAT64, rounds half to even, saturates"
    assert fractions(floating(np.float32, np.ceil), data_type).endswith("rounds up, saturates")
    assert fractions(floating(np.float32, saturating=False), data_type) == "in FLOAT32, separate, truncates, wraps"
    assert fractions(stepwise, data_type) == "in integers, each step, truncates, saturates"
    floor = "floors" if data_type.is_signed else "truncates"  # of -1/2 saturated, or of what is not negative
    assert fractions(floating(np.float64, np.floor), data_type) == f"in FLOAT64, {floor}, saturates"
    assert fractions(floating(np.float64, np.floor, saturating=False), data_type) == "in FLOAT64, floors, wraps"


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda kind: kind.name)
def test_whole_factors_are_named(data_type: DataType) -> None:
    assert named(data_type, observed(wrapping, data_type, WHOLE)) == "exact, wraps"
    assert named(data_type, observed(wrapping, data_type, NEGATIVE)) == "exact, wraps"
    assert named(data_type, observed(stepwise, data_type, NEGATIVE)) == "in integers, each step, saturates"
    single = named(data_type, observed(floating(np.float32), data_type, WHOLE))
    double = named(data_type, observed(floating(np.float64), data_type, WHOLE))
    wide, widest = data_type in WIDE, data_type.itemsize == 8
    ways = ["exact"], ["in FLOAT32", "in FLOAT32, separate"], ["in FLOAT64", "in FLOAT64, separate"]
    assert single.removesuffix(", saturates") in ways[1 if wide else 0]
    assert double.removesuffix(", saturates") in ways[2 if widest else 0]


def test_groups_that_differ_are_distinguished_and_those_that_agree_together() -> None:
    def mixed(x: Array, scale: float, bias: float) -> Array:
        way = wrapping if scale.is_integer() and bias.is_integer() else floating(np.float64)
        return way(x, scale, bias)

    assert named(DataType.INT32, observed(mixed, DataType.INT32)) == (
        "whole factors: exact, wraps; negative factors: exact, wraps; fractions: in FLOAT64, truncates, saturates"
    )
    assert named(DataType.INT32, observed(floating(np.float32), DataType.INT32, [*WHOLE, *NEGATIVE])) == (
        "in FLOAT32, saturates"
    )


@pytest.mark.parametrize("data_type", NARROW, ids=lambda kind: kind.name)
def test_saturating_as_int32_and_then_wrapping_is_named(data_type: DataType) -> None:
    def through_int32(x: Array, scale: float, bias: float) -> Array:
        return floating(np.float32)(x.astype(np.int32), scale, bias).astype(x.dtype)

    assert named(data_type, observed(through_int32, data_type, WHOLE)) == "exact, wraps"  # so far the same
    x = distinguishing_inputs(data_type)
    assert (through_int32(x, 2.0**40, 0.0)[x > 0] == np.array((1 << 31) - 1).astype(x.dtype)).all()


def test_no_single_arithmetic_is_called_several() -> None:
    def changing(x: Array, scale: float, bias: float) -> Array:
        return (wrapping if scale == 2 else floating(np.float64))(x, scale, bias)

    assert named(DataType.INT8, observed(changing, DataType.INT8, WHOLE)) == "in several ways"
    assert named(DataType.INT8, observed(lambda x, *_: np.full_like(x, 7), DataType.INT8, WHOLE)) == "in several ways"


def test_bounds_hide_what_lies_beyond_them() -> None:
    (seen,) = observed(wrapping, DataType.INT8, WHOLE[:1])
    clamped = Observation(2.0, 0.0, seen.x, tuple(min(max(number, -3), 90) for number in seen.y), -3, 90)
    assert named(DataType.INT8, [clamped]) == "exact, wraps"
    assert named(DataType.INT8, [Observation(2.0, 0.0, seen.x, clamped.y, -3, 91)]) == "in several ways"


@pytest.mark.parametrize("data_type", INTEGERS, ids=lambda kind: kind.name)
def test_the_inputs_hold_limits_and_what_floats_cannot_hold(data_type: DataType) -> None:
    x = distinguishing_inputs(data_type)
    limits = np.iinfo(data_type.numpy)
    assert {int(limits.min), int(limits.max)} <= set(x.tolist())
    assert (x.astype(np.float32).astype(object) != x.astype(object)).any() == (data_type.itemsize >= 4)
    assert (x.astype(np.float64).astype(object) != x.astype(object)).any() == (data_type.itemsize == 8)


@pytest.mark.parametrize(
    "value, nearest",
    [
        (Fraction(1, 2), 1),
        (Fraction(-1, 2), -1),
        (Fraction(1, 4), 0),
        (Fraction(-1, 4), 0),
        (Fraction(3, 4), 1),
        (Fraction(3, 2), 2),
        (Fraction(-3, 2), -2),
        (Fraction(0), 0),
        (Fraction(7, 16), 0),
        (Fraction(9, 16), 1),
    ],
)
def test_halves_are_rounded_away_from_zero(value: Fraction, nearest: int) -> None:
    assert ROUNDINGS["rounds half away"](int(value * 16), 4) == nearest


@pytest.mark.parametrize("places", [0, 1, 2, 5])
def test_numbers_are_rounded_as_fractions_are(places: int) -> None:
    ways = {"truncates": math.trunc, "floors": math.floor, "rounds half to even": round, "rounds up": math.ceil}
    assert {*ways, "rounds half away"} == set(ROUNDINGS)
    for value in range(-200, 200):
        fraction = Fraction(value, 1 << places)
        assert all(ROUNDINGS[name](value, places) == way(fraction) for name, way in ways.items())


@pytest.mark.parametrize("form, kind", [(BINARY32, np.float32), (BINARY64, np.float64)])
def test_numbers_are_brought_to_the_nearest_of_a_format(form: Format, kind: Any) -> None:
    """Ties, what lies beside them, and carries to the next power of two; numpy rounds the same integers."""
    tie = 1 << form.precision
    around = [(tie << more) + step for more in range(4) for step in range(-40, 41)]
    around += [(tie - 1 << 7) + step for step in range(130)] + list(range(20))
    for value in (*around, *(-number for number in around)):
        assert _nearest(form, value) == int(kind(value))
    assert {_nearest(form, value) for value in around} < set(around)


@pytest.mark.parametrize("data_type, count", [(DataType.INT8, 4), (DataType.UINT16, 4), (DataType.INT32, 2)])
def test_narrow_types_may_be_stored_through_wide_ones(data_type: DataType, count: int) -> None:
    storings = _storings(data_type)
    assert len(storings) == count
    most = int(np.iinfo(data_type.numpy).max)
    assert storings["saturates"](most + 2) == most
    assert storings["wraps"](most + 2) == int(np.iinfo(data_type.numpy).min) + 1
    if count == 4:
        assert storings["saturates as UINT32, then wraps"](-200) == 0


def test_what_makes_no_difference_is_not_reported() -> None:
    """Each step in integers is stored in two ways alone, those of narrow types as well."""
    every = {Arithmetic(STEPWISE, rounding, storing) for rounding in ROUNDINGS for storing in ("saturates", "wraps")}
    assert _reported(every, DataType.INT8) == STEPWISE
    some = {arithmetic for arithmetic in every if arithmetic.storing == "wraps"}
    assert _reported(some, DataType.INT8) == f"{STEPWISE}, wraps"
    exact = {replace(arithmetic, how="exact") for arithmetic in every}
    assert _reported(exact, DataType.INT8) == "exact, saturates"
