"""The unit in the last place, in which accuracy is stated.

Tolerances of so many units are stated in the tables (:mod:`dmlcts.specs.models.accuracy`) and applied in
:mod:`dmlcts.specs.approximation`: by ``array_bounds`` in runs, by ``exact_bounds`` for the second opinion.
"""

from __future__ import annotations

from fractions import Fraction

from dmlcts.specs.arithmetic.binary_format import Format


def unit_in_the_last_place(form: Format, value: Fraction) -> Fraction:
    """The spacing of a format's numbers at a real number, subnormals having that of the smallest normal number."""
    exponent = form.exponent(*abs(value).as_integer_ratio()) - form.trailing_bits
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)
