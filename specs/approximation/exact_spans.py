"""Intervals of exact numbers, and numbers rounded to a format in every direction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from dmlcts.specs.arithmetic.binary_format import Format
from dmlcts.specs.arithmetic.real_number import Datum


class Span(NamedTuple):
    """Every number from one to another."""

    low: Datum
    high: Datum


def by_value(datum: Datum) -> Any:
    """What orders numbers."""
    return datum.value


def point(datum: Datum) -> Span:
    """A number by itself."""
    return Span(datum, datum)


def datum_of(number: float) -> Datum:
    """A FLOAT64 that is no NaN."""
    negative = str(number).startswith("-")
    return Datum(negative, number if number in (float("inf"), float("-inf")) else Fraction(number))


def negated(datum: Datum) -> Datum:
    """With the other sign."""
    return Datum(not datum.negative, -datum.value)


def decoded(form: Format, bits: int) -> Datum:
    """The number that a pattern stands for."""
    datum = form.decode(bits)
    assert datum is not None, "no number is rounded to a NaN"  # noqa: S101
    return datum


def nearest(datum: Datum, form: Format) -> Datum:
    """Rounded to nearest, ties to even."""
    return decoded(form, form.round(datum))


def down(datum: Datum, form: Format) -> Datum:
    """The greatest number of a format that is not above; above all finite ones their greatest."""
    return datum if datum.infinite else negated(up(negated(datum), form))


def up(datum: Datum, form: Format) -> Datum:
    """The least number of a format that is not below; below all finite ones their least."""
    if datum.infinite:
        return datum
    least = negated(decoded(form, form.largest))
    return least if datum.value < least.value else decoded(form, form.neighbours(datum)[1])


def lowered(datum: Datum, distance: Fraction | None, form: Format) -> Datum:
    """The least number of a format that is not so far below; infinity counts as a power of two."""
    if distance is None:
        return Datum(True, float("-inf"))
    least = datum.fraction - distance
    beyond = Fraction(2) ** (form.max_exponent + 1)
    if least <= -beyond:
        return Datum(True, float("-inf"))
    return up(Datum(least < 0, least), form)


def finite_and_infinite(span: Span, greatest: Datum) -> set[Span]:
    """A span, or where one end is infinite its finite numbers and the infinity: nothing lies between them."""
    if span.low.infinite == span.high.infinite:
        return {span}
    if span.high.infinite:
        return {Span(span.low, greatest), point(span.high)}
    return {point(span.low), Span(negated(greatest), span.high)}
