"""Sums that are rounded to odd: of two neighbours of an inexact sum the odd one, whichever is nearer."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dmlcts.specs.arithmetic.vector_arithmetic import add_to_odd

_NUMBERS = [
    0.0,
    1.0,
    3.0,
    1 / 3,
    5e-324,
    2.0**-1022,
    2.0**-60,
    2.0**60 + 2**9,
    2.0**120,
    float(np.finfo(float).max) / 2,
]
_SIGNED = [sign * number for number in _NUMBERS for sign in (1, -1)]


def _odd(value: float, other: float) -> float:
    """The same by fractions, of one pair."""
    exact, nearest = Fraction(value) + Fraction(other), value + other
    if Fraction(nearest) == exact:
        return nearest
    below = nearest if Fraction(nearest) < exact else math.nextafter(nearest, -math.inf)
    above = math.nextafter(below, math.inf)
    return below if np.float64(below).view(np.uint64) & np.uint64(1) else above


def test_every_pair_of_distinguishing_numbers() -> None:
    pairs = np.array(list(itertools.product(_SIGNED, _SIGNED)))
    values = add_to_odd(pairs[:, 0], pairs[:, 1])
    assert [float(item).hex() for item in values] == [_odd(*map(float, pair)).hex() for pair in pairs]


def test_drawn_pairs() -> None:
    drawn = np.random.default_rng(7)
    values, other = (np.ldexp(drawn.uniform(-1, 1, 4000), drawn.integers(-60, 60, 4000)) for _ in range(2))
    result = add_to_odd(values, other)
    assert [float(x).hex() for x in result] == [
        _odd(*pair).hex() for pair in zip(values.tolist(), other.tolist(), strict=True)
    ]
    assert (result != values + other).any()


@pytest.mark.parametrize(
    ("value", "other", "wanted"),
    [
        (np.inf, 1.0, np.inf),
        (-np.inf, 1 / 3, -np.inf),
        (np.inf, -np.inf, np.nan),
        (np.nan, 1 / 3, np.nan),
    ],
)
def test_no_numbers(value: float, other: float, wanted: float) -> None:
    with np.errstate(all="ignore"):
        values = add_to_odd(np.array([value, 1.0, 1.0]), np.array([other, 2.0**-60, 1 / 3]))
    np.testing.assert_array_equal(values, [wanted, _odd(1.0, 2.0**-60), _odd(1.0, 1 / 3)])


def test_single_numbers() -> None:
    assert float(add_to_odd(np.asarray(1.0), np.asarray(2.0**-60))) == math.nextafter(1.0, 2)
    assert float(add_to_odd(np.asarray(1.0), np.asarray(-1.0))) == 0
