"""How far an approximate result may be from the real number, exactly: the interval of patterns around an enclosure."""

from __future__ import annotations

from fractions import Fraction

from dmlcts.specs.arithmetic.binary_format import Format
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.models import Tolerance


def unit_in_the_last_place(form: Format, value: Fraction) -> Fraction:
    """The spacing of a format's numbers at a real number, subnormals having that of the smallest normal number."""
    exponent = form.exponent(*abs(value).as_integer_ratio()) - form.trailing_bits
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def margin(form: Format, tolerance: Tolerance, value: Fraction) -> Fraction:
    """The greatest of the distances that a tolerance names, at a real number."""
    return max(
        Fraction(tolerance.ulp or 0) * unit_in_the_last_place(form, value),
        Fraction(tolerance.relative or 0) * abs(value),
        Fraction(tolerance.absolute or 0),
    )


def interval(form: Format, tolerance: Tolerance, low: Fraction, high: Fraction) -> tuple[int, int]:
    """The lowest and the highest pattern within the tolerance of a number between ``low`` and ``high``.

    Infinity counts as the power of two beyond the largest finite number.
    """
    least, most = low - margin(form, tolerance, low), high + margin(form, tolerance, high)
    lowest = form.neighbours(Datum(least < 0, least))[1]
    highest = form.neighbours(Datum(most < 0, most))[0]
    return lowest, highest
