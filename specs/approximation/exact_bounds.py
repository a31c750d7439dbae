"""How far a tolerance lets a result be from a real number, and whether a condition holds, with 200 bits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from dmlcts.specs.approximation.rules import bounds_of
from dmlcts.specs.arithmetic.binary_format import Format
from dmlcts.specs.arithmetic.last_place import unit_in_the_last_place
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.formula import Call, Expression, Name, Number
from dmlcts.specs.models import Tolerance


def margin(form: Format, tolerance: Tolerance, result: Datum, arguments: Mapping[str, Datum]) -> Fraction:
    """The greatest of the distances that a tolerance names; of exact zeros the absolute one alone."""
    unit = unit_in_the_last_place(form, result.fraction)
    names = {**arguments, "t": result, "ulp": Datum(False, unit)}
    found = Fraction(0)
    for name, amount in bounds_of(tolerance):
        value = Fraction(amount) if isinstance(amount, float) else _number(amount, names)
        if value is None:
            continue
        factor = {"ulp": unit, "relative": abs(result.fraction)}.get(name, Fraction(1))
        if name == "absolute" or result.value != 0:
            found = max(found, value * factor)
    return found


@cache
def _context() -> Any:
    import mpmath

    context = mpmath.mp.clone()
    context.prec = 200
    return context


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "neg": operator.neg, "abs": abs, "min": min, "max": max,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne,
    "logical_and": lambda a, b: a and b, "logical_or": lambda a, b: a or b, "logical_not": operator.not_,
}  # fmt: skip


def _value(expression: Expression, names: Mapping[str, Any]) -> Any:
    context = _context()
    match expression:
        case Name(name):
            datum = names[name]
            if datum is None:
                return context.nan
            number: Any = datum.value
            return context.mpf(number) if datum.infinite else context.mpf(number.numerator) / number.denominator
        case Number(value):
            return context.mpf(value)
        case Call("select", (condition, one, other)):
            return _value(one if _value(condition, names) else other, names)
        case Call("is_infinite", (argument,)):
            return context.isinf(_value(argument, names))
        case Call("is_nan", (argument,)):
            return context.isnan(_value(argument, names))
        case Call("log" | "exp" | "floor" as name, (argument,)):
            return getattr(context, name)(_value(argument, names)) if _value(argument, names) != 0 else (
                -context.inf if name == "log" else getattr(context, name)(0))  # fmt: skip
        case Call(name, arguments):
            return _OPERATIONS[name](*(_value(argument, names) for argument in arguments))
    raise AssertionError(f"lint refuses {expression} as a bound")


def _number(expression: Expression, names: Mapping[str, Any]) -> Fraction | None:
    value = _value(expression, names)
    context = _context()
    if not isinstance(value, context.mpf) or not context.isfinite(value):
        return None
    mantissa, exponent = abs(value).man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def holds(expression: Expression, names: Mapping[str, Datum | None]) -> bool:
    """Whether a condition holds of numbers; ``None`` is a NaN."""
    return bool(_value(expression, names))
