"""Which arithmetic an implementation does ScaleBias in on integers, recognised by results of inputs that differ.

The arithmetics, the roundings and the ways to store are those that ``specs/README.md`` permits ("Integer tensors").
They are computed in integers, which count a power of two that divides scale and bias: a real number is so many of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dmlcts.specs import DataType
from dmlcts.specs.arithmetic.binary_format import BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange

EVERY_BIT = float.fromhex("0x1.47ae14p-5")  # 25 of it are just below 1, and 1 in FLOAT32
CANCELLING = float.fromhex("0x1.47ae14p+1")  # 25 of it are just below 64, and 64 in FLOAT32; less 63, it is seen there
UNSEEN = 2.0**-60  # what a FLOAT64 sum with an integer or a half loses

WHOLE = ((2.0, 0.0), (3.0, 1.0), (2.0, 9.0))
NEGATIVE = ((1.0, -7.0), (2.0, -90.0), (-1.0, 20.0))
FRACTIONAL = (
    (0.5, 0.0),
    (1.0, 0.75),
    (0.5, 1.75),
    (1.5, 0.0),
    (EVERY_BIT, 0.0),
    (CANCELLING, -63.0),
    (1.0, -UNSEEN),
    (0.5, UNSEEN),
)
"""Pairs of scale and bias; :func:`distinguishing_inputs` gives inputs that distinguish the arithmetics under them."""

GROUPS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "whole factors": WHOLE,
    "negative factors": NEGATIVE,
    "fractions": FRACTIONAL,
}


def distinguishing_inputs(data_type: DataType) -> Any:
    """Small numbers and halves, the type's limits, half of them, and what FLOAT32 and FLOAT64 cannot hold."""
    limits = np.iinfo(data_type.numpy)
    least, most = int(limits.min), int(limits.max)
    beside_tie = (1 << 24) + 1 << 32  # and one more breaks the tie, if the lower word is looked at
    places = [0, 1, 2, 3, 5, 7, 25, 50, 75, 100, 1 << 24, 3 << 24, 1 << 53, 3 << 53, beside_tie, most // 2, most // 3]
    positive = [place + step for place in (*places, most // 4 * 3) for step in (0, 1)]
    numbers = {*positive, *(-number for number in positive), most - 1, most, least, least + 1, least // 2}
    return np.array(sorted(number for number in numbers if least <= number <= most), data_type.numpy)


@dataclass(frozen=True)
class Observation:
    """What one scale and bias were seen to do.

    Attributes:
        scale: the scale.
        bias: the bias.
        x: the inputs.
        y: the outputs.
        low: the least output that the bounds let through.
        high: the greatest.
    """

    scale: float
    bias: float
    x: tuple[int, ...]
    y: tuple[int, ...]
    low: int
    high: int


@dataclass(frozen=True)
class Arithmetic:
    """One way to compute x * scale + bias on an integer type.

    Attributes:
        how: where it is computed.
        rounding: how a real number becomes an integer.
        storing: what becomes of an integer outside the type.
    """

    how: str
    rounding: str
    storing: str


def _nearest(form: Format, value: int) -> int:
    """The number of a format that is nearest, ties to even; of neither the largest ones nor subnormals."""
    magnitude = abs(value)
    places = magnitude.bit_length() - form.precision
    if places <= 0:
        return value
    nearest = _half_even(magnitude, places) << places
    return -nearest if value < 0 else nearest


def _separate(form: Format) -> Callable[[int, int, int], int]:
    return lambda x, scale, bias: _nearest(form, _nearest(form, _nearest(form, x) * scale) + bias)


def _fused(form: Format) -> Callable[[int, int, int], int]:
    return lambda x, scale, bias: _nearest(form, _nearest(form, x) * scale + bias)


def _half_even(value: int, places: int) -> int:
    whole = value >> places
    twice = (value - (whole << places)) << 1
    unit = 1 << places
    return whole + 1 if twice > unit or (twice == unit and whole & 1) else whole


def _half_away(value: int, places: int) -> int:
    nearest = abs(value) + (1 << places >> 1) >> places
    return -nearest if value < 0 else nearest


def _truncated(value: int, places: int) -> int:
    return -(-value >> places) if value < 0 else value >> places


STEPWISE = "in integers, each step"
REALS: Mapping[str, Callable[[int, int, int], int]] = {
    "exact": lambda x, scale, bias: x * scale + bias,
    "in FLOAT64, separate": _separate(BINARY64),
    "in FLOAT64, fused": _fused(BINARY64),
    "in FLOAT32, separate": _separate(BINARY32),
    "in FLOAT32, fused": _fused(BINARY32),
}
"""An integer, and how many of the power of two scale and bias are, to how many of it the result is."""

ROUNDINGS: Mapping[str, Callable[[int, int], int]] = {
    "truncates": _truncated,
    "floors": lambda value, places: value >> places,
    "rounds half to even": _half_even,
    "rounds half away": _half_away,
    "rounds up": lambda value, places: -(-value >> places),
}
"""How many of the power of two a number is, and the places behind the point that this has, to an integer."""

_NARROW = {"saturates as INT32, then wraps": DataType.INT32, "saturates as UINT32, then wraps": DataType.UINT32}


def _through(wide: IntegerRange, narrow: IntegerRange) -> Callable[[int], int]:
    return lambda value: narrow.wrapped(wide.saturated(value))


def _where_it_overflows(store: Callable[[int], int], integers: IntegerRange) -> Callable[[int], int]:
    return lambda value: value if value in integers else store(value)


@lru_cache(maxsize=16)
def _storings(data_type: DataType) -> Mapping[str, Callable[[int], int]]:
    integers = IntegerRange.of(data_type)
    storings: dict[str, Callable[[int], int]] = {"saturates": integers.saturated, "wraps": integers.wrapped}
    if data_type.itemsize <= DataType.INT16.itemsize:
        for name, wide in _NARROW.items():
            storings[name] = _through(IntegerRange.of(wide), integers)
    return {name: _where_it_overflows(store, integers) for name, store in storings.items()}


Results = Mapping[tuple[int, ...], tuple[Arithmetic, ...]]


@lru_cache(maxsize=256)  # the same inputs are given to every operator with ScaleBias
def _results(data_type: DataType, scale: float, bias: float, x: tuple[int, ...]) -> Results:
    """The results of every arithmetic, before bounds: those that differ, each with the arithmetics that give it."""
    places = max(Fraction(term).denominator.bit_length() - 1 for term in (scale, bias))
    factor, added = (int(Fraction(term) * (1 << places)) for term in (scale, bias))
    integers = IntegerRange.of(data_type)
    arithmetics_by_results: dict[tuple[int, ...], list[Arithmetic]] = {}

    def put(results: Iterable[int], arithmetic: Arithmetic) -> None:
        arithmetics_by_results.setdefault(tuple(results), []).append(arithmetic)

    for how, real in REALS.items():
        reals = [real(number, factor, added) for number in x]
        for rounding, rounded in ROUNDINGS.items():
            wholes = [rounded(real_value, places) for real_value in reals]
            fit = integers.lowest <= min(wholes) and max(wholes) <= integers.highest
            for storing, store in _storings(data_type).items():
                put(wholes if fit else map(store, wholes), Arithmetic(how, rounding, storing))
    products = [number * factor for number in x]
    for rounding, rounded in ROUNDINGS.items():
        more = rounded(added, places)
        for storing, store in _storings(data_type).items():
            if storing not in _NARROW:
                steps = [store(store(rounded(product, places)) + more) for product in products]
                put(steps, Arithmetic(STEPWISE, rounding, storing))
    return {results: tuple(arithmetics) for results, arithmetics in arithmetics_by_results.items()}


def _agreeing(data_type: DataType, seen: Observation) -> Iterator[Arithmetic]:
    """Every arithmetic that gives what was observed."""
    for results, arithmetics in _results(data_type, seen.scale, seen.bias, seen.x).items():
        if all(min(max(value, seen.low), seen.high) == y for value, y in zip(results, seen.y, strict=True)):
            yield from arithmetics


def _reported(arithmetics: set[Arithmetic], data_type: DataType) -> str:
    """The plainest of the arithmetics that explain what was observed."""
    if not arithmetics:
        return "in several ways"
    hows = {arithmetic.how for arithmetic in arithmetics}
    how = next((name for name in ("exact", STEPWISE) if name in hows), "")
    if not how:
        pairs = [name for name in ("in FLOAT64", "in FLOAT32") if {f"{name}, separate", f"{name}, fused"} <= hows]
        how = pairs[0] if pairs else next(name for name in REALS if name in hows)
    kept = [arithmetic for arithmetic in arithmetics if arithmetic.how.startswith(how)]
    stored = [name for name in _storings(data_type) if how != STEPWISE or name not in _NARROW]
    parts = [how]
    for choices, names in (
        (list(ROUNDINGS), {arithmetic.rounding for arithmetic in kept}),
        (stored, {arithmetic.storing for arithmetic in kept}),
    ):
        if names != set(choices):  # otherwise it made no difference
            parts.append(next(name for name in choices if name in names))
    return ", ".join(parts)


def named(data_type: DataType, observations: Iterable[Observation]) -> str:
    """The arithmetic that explains the observations, for each of :data:`GROUPS` that has some.

    Of several that explain it the plainest is named, "exact" first; a rounding or storing that made no difference is
    left out. "in several ways" where no single arithmetic explains a group.
    """
    seen = list(observations)
    names: dict[str, str] = {}
    for group, pairs in GROUPS.items():
        mine = [observation for observation in seen if (observation.scale, observation.bias) in pairs]
        if mine:
            sets = [set(_agreeing(data_type, observation)) for observation in mine]
            names[group] = _reported(set.intersection(*sets), data_type)
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    return "; ".join(f"{group}: {arithmetic}" for group, arithmetic in names.items())
