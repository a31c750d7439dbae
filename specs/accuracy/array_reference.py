"""The real numbers that a formula stands for, in FLOAT64, for arrays, with a bound of their own error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.accuracy.exact_reference import Reference
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import FormulaError, UsageError
from dmlcts.specs.formula import Call, Cast, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS, Function
from dmlcts.specs.functions.in_arrays import round_half_away

Doubles = NDArray[np.float64]

_STEP = 2.0**-52
"""Twice the relative error of one rounding to FLOAT64: the bounds are themselves rounded."""


_AT_ONCE = 1 << 15
"""Elements whose results are found at once: what a step leaves is still in the cache."""
_UNDERFLOW = 2.0**-1000
"""More than FLOAT64 may be wrong by where a result is so small that its relative error is no longer bounded."""


class Real(NamedTuple):
    """Real numbers: FLOAT64 values, and how far they may be from the truth, absolutely.

    Either may be of one element, which then stands for all.
    """

    value: Doubles
    error: Doubles


_WHOLE: Mapping[str, Callable[[Any], Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round_half_even": np.rint,
    "round_half_away": round_half_away,
}
_NONE: Doubles = np.zeros(1)
"""The error of numbers that are exact."""
_NONE.setflags(write=False)
_MODULI: Mapping[str, Callable[[Any, Any], Any]] = {"modulus_truncate": np.fmod, "modulus_floor": np.mod}


class ArrayReference(Reference):
    """The real results of a description's formula, for arrays of elements."""

    def result(self, inputs: Mapping[str, NDArray[Any]]) -> Real:
        """The real results, NaN where there is none.

        Args:
            inputs: 1-D arrays of one length, by the tensors' names, of the tensors' types, which have 32 bits at most.

        Raises:
            FormulaError: the formula holds what no reference follows.
            UsageError: an input is not given, or FLOAT64 does not hold its elements exactly.
        """
        (length,) = {array.size for array in inputs.values()}
        if length > 1 and _is_the_same_alone(self._expression):
            inputs = {name: _once(array) for name, array in inputs.items()}
        if length <= _AT_ONCE:
            return self._of_some(inputs, length)
        value, error = np.empty(length), np.empty(length)
        for start in range(0, length, _AT_ONCE):
            place = slice(start, min(start + _AT_ONCE, length))
            some = {name: array[place] if array.size > 1 else array for name, array in inputs.items()}
            value[place], error[place] = self._of_some(some, place.stop - start)
        return Real(value, error)

    def _of_some(self, inputs: Mapping[str, NDArray[Any]], length: int) -> Real:
        with np.errstate(all="ignore"):
            real = self._evaluate(self._expression, inputs)
        if not isinstance(real, Real):
            raise FormulaError(f"{self.table.operator} gives truth values", "nothing is to be measured there")
        return Real(np.broadcast_to(real.value, length), np.broadcast_to(real.error, length))

    def _evaluate(self, expression: Expression, inputs: Mapping[str, NDArray[Any]]) -> Any:
        match expression:
            case Name(name) if name in self.table.formula_names:
                return self._input(self.table.formula_names[name], inputs)
            case Name(name):
                return _exactly(self._numbers[name])
            case Number(value):
                return _exactly(value)
            case Limit(name, target):
                kind = self._types[target]
                limits: Any = np.finfo(kind.numpy) if kind.is_floating else np.iinfo(kind.numpy)
                return _exactly(float(limits.min if name == "lowest" else limits.max))
            case Cast(target, argument):
                return _cast(self._evaluate(argument, inputs), self._types[target])
            case Call("select", parts):
                held, first, other = (self._evaluate(part, inputs) for part in parts)
                none = not first.error.any() and not other.error.any()
                error = _NONE if none else np.where(held, first.error, other.error)
                return Real(np.where(held, first.value, other.value), error)
            case Call(name, arguments):
                return _applied(FUNCTIONS[name], [self._evaluate(argument, inputs) for argument in arguments])
        raise FormulaError(f"{expression} has no real meaning", "measure formulas of functions of numbers")

    def _input(self, member: str, inputs: Mapping[str, NDArray[Any]]) -> Real:
        if member not in self.operator.tensors:
            return _exactly(self.table.tensors[member].absent or 0.0)
        if member not in inputs:
            raise UsageError(f"no elements of {member} are given", f"give them as {member!r}")
        kind = self.operator.tensors[member].data_type
        if kind.itemsize > np.dtype(np.float32).itemsize:
            raise UsageError(f"{member} is of {kind.name}", "FLOAT64 is no reference for types of 64 bits")
        return _exactly(inputs[member].astype(np.float64))


def _once(array: NDArray[Any]) -> NDArray[Any]:
    """One element that stands for all, where all are alike, as those of scales and zero points of whole tensors are."""
    patterns = array.view(f"u{array.itemsize}")
    return array[:1] if (patterns == patterns[0]).all() else array


def _is_the_same_alone(expression: Expression) -> bool:
    """Whether an element by itself gives the same bits as in an array; numpy's ``power`` and the like may not."""
    match expression:
        case Cast(_, argument):
            return _is_the_same_alone(argument)
        case Call(name, arguments):
            known = name in ("select", *_ARITHMETIC, *_WHOLE) or FUNCTIONS[name].gives == "truth"
            return known and all(map(_is_the_same_alone, arguments))
    return True


def units_in(kind: DataType, real: Doubles) -> Doubles:
    """How many units of the last place of a type make 1, at real numbers: powers of two; 1 of an integer type."""
    if not kind.is_floating:
        return np.ones(real.shape)
    fields = np.ascontiguousarray(real).view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF)
    return np.asarray(_SCALES[kind][fields])


def _scales(kind: DataType) -> Doubles:
    """The same for each exponent field of FLOAT64."""
    information = np.finfo(kind.numpy)
    exponents = np.maximum(np.arange(2048) - 1023, int(information.minexp))
    return np.asarray(np.ldexp(1.0, np.minimum(int(information.nmant) - exponents, 1000)))


_SCALES = {kind: _scales(kind) for kind in (DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64)}


def _exactly(value: Any) -> Real:
    return Real(np.asarray(value, np.float64), _NONE)


def _cast(value: Any, target: DataType) -> Real:
    """Into a floating-point type nothing is rounded: that is what is measured. Into an integer: truncated, clamped."""
    if not isinstance(value, Real):
        return _exactly(np.asarray(value, bool))
    if target.is_floating:
        return value
    limits = np.iinfo(target.numpy)

    def stored(values: Doubles) -> Doubles:
        return np.asarray(
            np.clip(np.where(np.isnan(values), 0.0, np.trunc(values)), float(limits.min), float(limits.max))
        )

    return _through(stored, value)


def _through(function: Callable[[Any], Any], a: Real) -> Real:
    """A function that never falls, of values with errors: its values at the ends bound its own error."""
    value = np.asarray(function(a.value))
    if not a.error.any():
        return Real(value, _NONE)
    spread = np.maximum(np.abs(function(a.value + a.error) - value), np.abs(function(a.value - a.error) - value))
    return Real(value, _unknown_as_infinite(spread))


def _unknown_as_infinite(error: Doubles) -> Doubles:
    """Bounds that came out as no number count as infinite: those of the root of a number that may be negative."""
    return np.asarray(np.where(np.isnan(error), np.inf, error))


def _applied(function: Function, operands: list[Any]) -> Any:
    name = function.name
    if function.domain == "truth":
        assert function.arrays.truth is not None  # noqa: S101 - the table of functions says so
        return function.arrays.truth(*operands)
    if function.gives == "truth":
        if function.arrays.compared is None:
            raise FormulaError(f"{name} of real numbers is not known", "compare numbers with one another")
        return function.arrays.compared(*(operand.value for operand in operands))
    if name in _ARITHMETIC:
        return _ARITHMETIC[name](*operands)
    if name in _WHOLE:
        return _through(_WHOLE[name], *operands)
    if name in _MODULI:
        value = np.asarray(_MODULI[name](*(operand.value for operand in operands)))
        known = ~(operands[0].error.any() | operands[1].error.any())
        return Real(value, np.abs(value) * _STEP if known else np.full(value.shape, np.inf))
    return _of_real_meaning(function, operands)


def _of_real_meaning(function: Function, operands: list[Real]) -> Real:
    real = function.arrays.real
    if real is None:
        raise FormulaError(f"{function.name} has no real meaning in arrays", "give it one in the table of functions")
    value = np.asarray(real(*(operand.value for operand in operands)), np.float64)
    for operand in operands:  # numpy's power has results for NaN, which is no real number
        value = np.where(np.isnan(operand.value), np.nan, value)
    own = np.abs(value) * (function.arrays.error + _STEP) + _UNDERFLOW
    if not any(operand.error.any() for operand in operands):
        return Real(value, own)
    if len(operands) > 1 or not function.monotone:
        return Real(value, np.full(value.shape, np.inf))
    return Real(value, _through(real, operands[0]).error + own)


def _sum(a: Real, b: Real) -> Real:
    value = np.asarray(a.value + b.value)
    part = value - a.value
    rest = (a.value - (value - part)) + (b.value - part)  # what rounding took away, exactly
    exact = rest == 0
    if a.error is _NONE and b.error is _NONE and exact.all():
        return Real(value, _NONE)
    return Real(value, np.where(exact, 0.0, np.abs(value) * _STEP) + (a.error + b.error) * (1 + _STEP))


def _difference(a: Real, b: Real) -> Real:
    return _sum(a, Real(-b.value, b.error))


def _product(a: Real, b: Real) -> Real:
    value = np.asarray(a.value * b.value)
    rounded = _NONE if _short(a.value) and _short(b.value) else np.abs(value) * _STEP
    if a.error is _NONE and b.error is _NONE and np.isfinite(value).all():
        return Real(value, rounded)
    more = np.abs(a.value) * b.error + np.abs(b.value) * a.error + a.error * b.error
    return Real(value, _unknown_as_infinite(rounded + more * (1 + 4 * _STEP)))


def _quotient(a: Real, b: Real) -> Real:
    value = np.asarray(a.value / b.value)
    short = value.astype(np.float32) == value
    exact = short & (value * b.value == a.value) if _short(b.value) else np.asarray(False)
    more = _NONE
    if a.error.any() or b.error.any():
        least = np.abs(b.value) - b.error
        more = np.asarray(np.where(least > 0, (a.error + np.abs(value) * b.error) / least, np.inf))
    return Real(value, np.where(exact, 0.0, np.abs(value) * _STEP) + more)


def _short(value: Doubles) -> bool:
    """Whether all are numbers of FLOAT32, whose products FLOAT64 holds exactly."""
    return bool(((value.astype(np.float32) == value) | np.isnan(value)).all())


def _extremum(ufunc: Any) -> Callable[[Real, Real], Real]:
    def extremum(a: Real, b: Real) -> Real:
        return Real(np.asarray(ufunc(a.value, b.value)), np.maximum(a.error, b.error))

    return extremum


_ARITHMETIC: Mapping[str, Callable[..., Real]] = {
    "add": _sum,
    "subtract": _difference,
    "difference": _difference,
    "multiply": _product,
    "divide": _quotient,
    "min": _extremum(np.minimum),
    "max": _extremum(np.maximum),
    "abs": lambda a: Real(np.abs(a.value), a.error),
    "neg": lambda a: Real(-a.value, a.error),
}
