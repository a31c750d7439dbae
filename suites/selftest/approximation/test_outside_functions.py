"""Both meanings of every real function against MPFR, which neither uses: enclosures, and FLOAT64 with its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.operands import few_edges

BITS = 300
DRAWN = 400
OUTSIDE: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(gmpy2, name)
        for name in (
            "exp",
            "erf",
            "log",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "sqrt",
        )
    },
    "recip": lambda x: 1 / x,
    "pow": lambda x, y: x**y,
    "atan_yx": gmpy2.atan2,
}


def drawn(count: int) -> list[tuple[np.float32, ...]]:
    """FLOAT32 numbers without NaN: edge values, some of every magnitude, and the neighbourhood of 1."""
    generator = np.random.Generator(np.random.PCG64(29))
    edges = np.concatenate([few_edges(DataType.FLOAT32), edge_values.subnormals(DataType.FLOAT32)[:8]])
    edges = edges[~np.isnan(edges)]
    wide = generator.choice([-1, 1], DRAWN) * np.exp2(generator.uniform(-30, 12, DRAWN))
    near = 1 + generator.uniform(-1, 1, DRAWN) * np.exp2(generator.uniform(-23, 0, DRAWN))
    columns = [generator.permutation(np.concatenate([edges, wide, near]).astype(np.float32)) for _ in range(count)]
    return list(zip(*columns, strict=True))


def as_datum(x: np.float32) -> Datum:
    return Datum(bool(np.signbit(x)), float(x) if np.isinf(x) else Fraction(float(x)))


def of_mpfr(name: str, float32s: tuple[np.float32, ...]) -> Any:
    with gmpy2.context(precision=BITS, emax=1 << 40, emin=-(1 << 40)):
        return OUTSIDE[name](*(gmpy2.mpfr(float(x)) for x in float32s))


def exactly(value: Any) -> Fraction:
    numerator, denominator = value.as_integer_ratio()
    return Fraction(int(numerator), int(denominator))


def beyond(outside: Any, enclosure: Any, wide: float) -> bool:
    """Whether a result is beyond all exponents, of MPFR as well: very great, or very small, in all three."""
    if enclosure is None or enclosure.low.infinite or enclosure.low.value * enclosure.high.value <= 0:
        return False
    size = abs(enclosure.low.fraction)
    if gmpy2.is_infinite(outside):
        return size > 1 << 2000 and math.isinf(wide) and (wide > 0) == (outside > 0) == (enclosure.low.value > 0)
    return bool(outside == 0 and size < Fraction(1, 1 << 2000) and abs(wide) < np.finfo(np.float64).tiny)


def disagreements(name: str, real: Callable[..., Any], arrays: Callable[..., Any], error: float) -> list[str]:
    result = []
    for value in drawn(len(FUNCTIONS[name].takes)):
        outside, enclosure = of_mpfr(name, value), real(*map(as_datum, value))
        with np.errstate(all="ignore"):
            wide = float(arrays(*(np.asarray([x], np.float64) for x in value))[0])
        if beyond(outside, enclosure, wide):
            continue
        if gmpy2.is_nan(outside) or gmpy2.is_infinite(outside):
            same = enclosure is None if gmpy2.is_nan(outside) else enclosure is None or enclosure.low.infinite
            same &= math.isnan(wide) if gmpy2.is_nan(outside) else math.isinf(wide)
        else:
            truth = exactly(outside)
            slack = abs(truth) / (1 << BITS - 4)
            same = enclosure is not None and (
                _far(truth) or enclosure.low.value - slack <= truth <= enclosure.high.value + slack
            )
            ordinary = 2.0**-1000 < abs(truth) < 2.0**1000 and math.isfinite(wide)
            same &= not ordinary or abs(Fraction(wide) - truth) <= abs(truth) * Fraction(max(error, 2.0**-52))
            same &= bool(truth) or wide == 0
        if not same:
            result.append(f"{value}: {outside} and {enclosure} and {wide}")
    return result


def _far(value: Fraction) -> bool:
    """Beyond the exponents that enclosures keep, and those of every type."""
    return value != 0 and not -3800 < value.numerator.bit_length() - value.denominator.bit_length() < 3800


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_both_meanings_agree_with_mpfr(name: str) -> None:
    function = FUNCTIONS[name]
    assert function.exact.real is not None
    assert function.arrays.real is not None
    assert disagreements(name, function.exact.real, function.arrays.real, function.arrays.error) == []


@pytest.mark.parametrize("name", ["exp", "sin", "pow"])
@pytest.mark.size("thorough")
def test_a_wrong_meaning_is_seen(name: str) -> None:
    """Enclosures 2^-170 off, and FLOAT64 results eight times beyond the error that is stated."""
    function = FUNCTIONS[name]
    real, arrays = function.exact.real, function.arrays.real
    assert real is not None
    assert arrays is not None

    def moved(*operands: Datum) -> Any:
        value = real(*operands)
        if value is None or value.low.infinite or value.low == value.high:
            return value
        part = abs(value.low.fraction) / (1 << 170)
        return type(value)(*(Datum(end.negative, end.fraction + part) for end in value))

    assert disagreements(name, moved, arrays, function.arrays.error)
    assert disagreements(name, real, lambda *xs: arrays(*xs) * (1 + 2.0**-45), function.arrays.error)


def test_every_real_function_has_a_counterpart() -> None:
    """All that have an error of their own, and those that MPFR has of the others."""
    assert {name for name, function in FUNCTIONS.items() if function.arrays.error} <= set(OUTSIDE)
