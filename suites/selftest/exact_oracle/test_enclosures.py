"""Bounds of real results: they hold what mpmath gives with many more bits, and are as narrow as they promise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dmlcts.specs.arithmetic.real_number import PRECISIONS, Datum, Enclosure, infinity
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.functions.exactly import enclosed_root
from dmlcts.specs.functions.in_arrays import REAL_FUNCTIONS

SOME = (Fraction(3, 8), Fraction(-3, 8), Fraction(11, 8), Fraction(-5), Fraction(1, 1 << 30))
NAMES = {**{name: name for name, _, _ in REAL_FUNCTIONS}, "pow": "power", "atan_yx": "atan2"}  # here, and mpmath's


def number(value: float | Fraction) -> Datum:
    """The number, its sign that of the value."""
    negative = math.copysign(1, value) < 0
    return infinity(negative) if isinstance(value, float) and math.isinf(value) else Datum(negative, Fraction(value))


def real_of(name: str, *operands: float | Fraction, **more: int) -> Enclosure | None:
    """What the exact meaning says of a real function."""
    real = FUNCTIONS[name].exact.real
    assert real is not None
    return real(*map(number, operands), **more)


def known(name: str, *operands: float | Fraction) -> Datum | None:
    """The real result, where it is known exactly."""
    result = real_of(name, *operands)
    return result.low if result is not None and result.low == result.high else None


def closely(name: str, operands: tuple[Fraction, ...], bits: int) -> Any:
    """Mpmath's own result with so many bits; ``None`` where it is not real."""
    import mpmath  # slow to import: not where tests are collected

    context = mpmath.mp.clone()
    context.prec = bits
    result = getattr(context, NAMES[name])(*(context.mpf(a.numerator) / a.denominator for a in operands))
    return result if isinstance(result, context.mpf) else None


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_what_four_times_as_many_bits_give_and_are_as_close_as_they_promise(name: str) -> None:
    report = 0
    for operands in itertools.product(SOME, repeat=len(FUNCTIONS[name].takes)):
        for bits in PRECISIONS[:3]:
            truth, result = closely(name, operands, 4 * bits), real_of(name, *operands, bits=bits)
            assert (result is None) == (truth is None), operands
            if result is None or result.low == result.high:
                continue
            low, high = (truth.context.mpf(end.fraction.numerator) / end.fraction.denominator for end in result)
            assert low < truth < high, operands
            assert result.low.negative == result.high.negative == (truth < 0)
            unit = abs(truth) * truth.context.mpf(2) ** (20 - bits)  # the last 20 bits may be wrong, to either side
            assert 1.5 * unit < high - low < 3 * unit
            report += 1
    assert report > 0


def test_no_bits_are_the_first_of_the_precisions() -> None:
    for name in (*NAMES, "sqrt"):
        operands = [Fraction(11, 8)] * len(FUNCTIONS[name].takes)
        assert real_of(name, *operands) == real_of(name, *operands, bits=PRECISIONS[0])


def test_bounds_of_a_root_are_apart_by_a_unit_of_the_last_bit_or_are_it() -> None:
    for place, odd, bits in itertools.product(
        (-1074, -149, -33, -1, 0, 1, 2, 24, 127, 1023), (1, 3, 9), (30, 200, 800)
    ):
        value = Fraction(odd) * Fraction(2) ** place
        low, high = enclosed_root(value, bits)
        whole = odd != 3 and place % 2 == 0  # then the root is a fraction
        assert (low == high) == whole
        assert low**2 <= value <= high**2
        assert (high - low) * 2**bits <= low


def test_powers_that_few_bits_write_are_known_whatever_writes_the_base() -> None:
    for base, exponent, wanted in (
        (Fraction(1, 1 << 20), Fraction(1, 2), Fraction(1, 1 << 10)),  # a small root
        (Fraction(81, 1 << 40), Fraction(1, 4), Fraction(3, 1 << 10)),
        (Fraction(1, 4), Fraction(-2), Fraction(16)),  # a base that is a power of two itself
        (Fraction(4), Fraction(-2), Fraction(1, 16)),
        (Fraction(-1), Fraction(100001), Fraction(-1)),  # a power of few bits, however large the exponent
        (Fraction(-1), Fraction(100002), Fraction(1)),
        (Fraction(-1, 2), Fraction(-3), Fraction(-8)),
    ):
        assert known("pow", base, exponent) == number(wanted), (base, exponent)


def test_powers_and_angles_of_zeros_infinities_and_numbers_around_1_are_those_of_c() -> None:
    some = [sign * size for size in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf) for sign in (1, -1)]
    for name, c_s in (("pow", np.power), ("atan_yx", np.arctan2)):
        for operands in itertools.product(some, repeat=2):
            with np.errstate(all="ignore"):
                wanted = float(
                    c_s(*(np.full(2, operand) for operand in operands))[0]
                )  # of one exponent numpy may make a root
            result = real_of(name, *operands)
            assert (result is None) == math.isnan(wanted), (name, operands)
            for end in result or ():
                assert end.negative == (math.copysign(1, wanted) < 0), (name, operands)
                assert math.isclose(end.value, wanted, rel_tol=2.0**-50), (name, operands)


def test_a_magnitude_has_no_sign() -> None:
    for value in (2.5, -2.5, 0.0, -0.0, math.inf, -math.inf):
        result = known("abs", value)
        assert result == number(abs(value))
