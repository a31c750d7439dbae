"""How far a tolerance lets a result be from a real number, and whether a condition holds.

Computed with the bits that the result was enclosed with; conditions with the first of ``PRECISIONS``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from dmlcts.specs.approximation.exact_spans import Span
from dmlcts.specs.approximation.rules import bounds_of, factor_of
from dmlcts.specs.arithmetic.binary_format import Format
from dmlcts.specs.arithmetic.last_place import unit_in_the_last_place
from dmlcts.specs.arithmetic.real_number import PRECISIONS, Datum
from dmlcts.specs.formula import Call, Expression, Name, Number
from dmlcts.specs.models import Tolerance

_FIRST = PRECISIONS[0]


def margin(
    form: Format, tolerance: Tolerance, result: Datum, arguments: Mapping[str, Datum], *, bits: int, outer: bool
) -> Fraction:
    """The greatest of the distances that a tolerance names; of exact zeros the absolute one alone.

    Args:
        form: the format that computes.
        tolerance: the rule.
        result: the real result.
        arguments: the function's arguments by the names that bounds have for them.
        bits: of the arithmetic. A bound with a logarithm or a power of e is known to half of them.
        outer: such a bound is made as much greater, else less.
    """
    unit = unit_in_the_last_place(form, result.fraction)
    names = {**arguments, "t": result, "ulp": Datum(False, unit)}
    greatest = Fraction(0)
    for name, amount in bounds_of(tolerance):
        value = Fraction(amount) if isinstance(amount, float) else _number(amount, names, bits, outer=outer)
        if value is None:
            continue
        factor = {"ulp": unit, "relative": abs(result.fraction)}.get(name, Fraction(1))
        if name == "absolute" or result.value != 0:
            greatest = max(greatest, value * factor)
    return greatest


def multiplied(
    tolerance: Tolerance, real: Span, arguments: Sequence[Mapping[str, Datum]], *, bits: int, outer: bool
) -> Span:
    """The numbers that a tolerance's factor makes of real results, which keep their signs.

    Args:
        tolerance: the rule.
        real: the real results.
        arguments: the lower and the upper ends of the function's arguments, by the names that bounds have for them.
        bits: of the arithmetic.
        outer: a factor with a logarithm or a power of e is made as much greater as it may be, else less.
    """
    amount = factor_of(tolerance)
    if amount is None:
        return real
    low, high = (
        max(
            Fraction(amount)
            if isinstance(amount, float)
            else _number(amount, {**names, "t": end}, bits, outer=outer) or Fraction(1)
            for names in arguments
        )
        for end in real
    )
    return Span(
        _times(real.low, low if real.low.negative else 1 / low),
        _times(real.high, 1 / high if real.high.negative else high),
    )


def _times(number: Datum, factor: Fraction) -> Datum:
    return number if number.infinite else Datum(number.negative, number.fraction * factor)


@cache
def _context(bits: int) -> Any:
    import mpmath

    context = mpmath.mp.clone()
    context.prec = bits
    return context


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "min": min,
    "max": max,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_not": operator.not_,
}


_KNOWN: Mapping[str, tuple[int, ...]] = {"log": (0, 1), "exp": (0,)}
"""Where functions are known exactly."""


def _value(
    expression: Expression, names: Mapping[str, Any], bits: int = _FIRST, inexact: set[str] | None = None
) -> Any:
    """What an expression is worth; ``inexact`` is called with the functions whose values in it are not exact."""
    context = _context(bits)

    def of(expression: Expression) -> Any:
        return _value(expression, names, bits, inexact)

    match expression:
        case Name(name):
            datum = names[name]
            if datum is None:
                return context.nan
            number: Any = datum.value
            return context.mpf(number) if datum.infinite else context.mpf(number.numerator) / number.denominator
        case Number(value):
            return context.mpf(value)
        case Call("select", (condition, if_true, other)):
            return of(if_true if _value(condition, names, bits) else other)
        case Call("is_infinite", (argument,)):
            return context.isinf(of(argument))
        case Call("is_nan", (argument,)):
            return context.isnan(of(argument))
        case Call("log" | "exp" | "floor" as name, (argument,)):
            operand = of(argument)
            if inexact is not None and name != "floor" and operand not in _KNOWN[name]:
                inexact.add(name)
            return -context.inf if name == "log" and operand == 0 else getattr(context, name)(operand)
        case Call(name, arguments):
            return _OPERATIONS[name](*map(of, arguments))
    raise AssertionError(f"lint refuses {expression} as a bound")


def _number(expression: Expression, names: Mapping[str, Any], bits: int, *, outer: bool) -> Fraction | None:
    inexact: set[str] = set()
    value = _value(expression, names, bits, inexact)
    context = _context(bits)
    if not isinstance(value, context.mpf) or not context.isfinite(value):
        return None
    mantissa, exponent = abs(value).man_exp
    magnitude = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    error = magnitude / (1 << bits // 2) if inexact else Fraction(0)
    return magnitude + error if outer else magnitude - error


def holds(expression: Expression, names: Mapping[str, Datum | None]) -> bool:
    """Whether a condition holds of numbers; ``None`` is a NaN."""
    return bool(_value(expression, names))
