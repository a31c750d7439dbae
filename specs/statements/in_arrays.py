"""What a statement says of whole arrays, in numpy.

Exact integers stand in INT64 as long as their operands' widths show that it holds them, and else as Python's own, in
object arrays, which take a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Array, Rounding
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScalarUnion
from dmlcts.specs.formula import Call, Cast, Dispatch, Expression, Limit, Name, Number, Outside, Stored
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.latitudes import NONE
from dmlcts.specs.statements.kinds import Kind, joined

_NARROW = 4  # bytes: a few operations on such integers stay within INT64
_MOST_BITS = 62  # of what INT64 is used for: neither the sum of two such integers nor a negation leaves it
_MOST_PLACES = 256
_INT64 = np.iinfo(np.int64)
_SMALL = 2.0**53  # up to here FLOAT64 holds every integer
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Values:
    """Values of one kind, and where there are none.

    Attributes:
        kind: see :data:`.kinds.Kind`.
        array: of the data type, of Python integers or INT64 ("whole"), of bool; of a constant FLOAT64.
        undefined: where there is no value; 0-dimensional where there is one everywhere, or nowhere.
        bits: of whole numbers in INT64: none is greater than 2^bits, or less than -2^bits; ``None`` for Python's.
    """

    kind: Kind
    array: Any
    undefined: Mask
    bits: int | None = None


_NOWHERE: Mask = np.zeros((), bool)
_PYTHON_INTEGERS = np.frompyfunc(int, 1, 1)


def of_elements(array: Array, data_type: DataType) -> Values:
    """The elements of a tensor, given in any type of their width.

    ``array`` is 1-D; the values have its length.
    """
    return Values(data_type, np.ascontiguousarray(array).view(data_type.numpy), _NOWHERE)


def of_attribute(attribute: Any, data_type: DataType) -> Values:
    """An attribute in the tensors' type: integers truncated, floating-point numbers rounded to nearest."""
    number = attribute.value if isinstance(attribute, ScalarUnion) else attribute
    if data_type.is_floating:
        with np.errstate(over="ignore"):
            return Values(data_type, np.asarray(number).astype(data_type.numpy), _NOWHERE)
    limits = np.iinfo(data_type.numpy)
    if not np.isfinite(number) or not limits.min <= int(number) <= limits.max:
        return Values(data_type, np.zeros((), data_type.numpy), np.ones((), bool))
    return Values(data_type, np.asarray(int(number), data_type.numpy), _NOWHERE)


def widened(values: Values) -> Values:
    """FLOAT16 values in FLOAT32; others as they are."""
    if values.kind is not DataType.FLOAT16:
        return values
    return Values(DataType.FLOAT32, np.asarray(values.array).astype(np.float32), values.undefined)


def narrowed(values: Values) -> Values:
    """FLOAT32 values rounded to FLOAT16."""
    with np.errstate(over="ignore"):
        return Values(DataType.FLOAT16, np.asarray(values.array).astype(np.float16), values.undefined)


def evaluate(
    expression: Expression,
    values: Mapping[str, Values],
    types: Mapping[str, DataType],
    dispatched: Mapping[Dispatch, Values] | None = None,
) -> Values:
    """The values of a statement whose kinds are right; see :func:`.exactly.evaluate`."""

    def value(part: Expression) -> Values:
        match part:
            case Name(name):
                return values[name]
            case Number(number):
                return Values("constant", np.asarray(number, np.float64), _NOWHERE)
            case Limit(name, target):
                return _limit(name, types[target])
            case Outside(target, argument):
                limits = np.iinfo(types[target].numpy)
                integers = _integers(value(argument))
                beyond = (integers.array < int(limits.min)) | (integers.array > int(limits.max))
                return Values("truth", np.asarray(beyond, bool), integers.undefined)
            case Stored(how, target, argument):
                return _stored(_integers(value(argument)), types[target], wrapping=how == "wrap")
            case Cast(target, argument):
                return _cast(value(argument), types[target])
            case Dispatch():
                return (dispatched or {})[part]
            case Call("select", (condition, if_true, other)):
                return _selected(value(condition), value(if_true), value(other))
            case Call(name, arguments):
                return _applied(name, [value(argument) for argument in arguments])
        raise AssertionError(f"no statement: {part!r}")

    with np.errstate(all="ignore"):
        return value(expression)


def held(condition: Values, length: int) -> Mask:
    """Where a condition holds; where it is undefined it does not."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(condition.array, bool) & ~condition.undefined, length))


def stored(values: Values, data_type: DataType, length: int) -> tuple[Array, Mask]:
    """The values in a type, and where there are none that it holds.

    The array is of ``data_type``, the mask is true where it holds no value; both have ``length`` elements.
    """
    if data_type.is_floating:
        array, undefined = _as(values, data_type).array, values.undefined
    elif values.kind is data_type:  # which holds them as they are
        array, undefined = np.where(values.undefined, data_type.numpy.type(0), values.array), values.undefined
    else:
        whole = _integers(values)
        limits = np.iinfo(data_type.numpy)
        outside = np.asarray((whole.array < int(limits.min)) | (whole.array > int(limits.max)), bool)
        undefined = whole.undefined | outside
        array = np.asarray(np.where(undefined, 0, whole.array)).astype(data_type.numpy)
    return (
        np.ascontiguousarray(np.broadcast_to(array, length)),
        np.ascontiguousarray(np.broadcast_to(undefined, length)),
    )


def _limit(name: str, kind: DataType) -> Values:
    if name == "width":
        return Values("constant", np.asarray(8.0 * kind.itemsize), _NOWHERE)
    limits: Any = np.finfo(kind.numpy) if kind.is_floating else np.iinfo(kind.numpy)
    return Values(kind, np.asarray(limits.min if name == "lowest" else limits.max, kind.numpy), _NOWHERE)


def _integers(values: Values) -> Values:
    """Exact integers, in INT64 where their type or their size shows that it holds them."""
    if values.kind == "constant":
        fraction = np.asarray(values.array != np.trunc(values.array))
        clean = np.where(fraction, 0.0, values.array)
        greatest = float(np.max(np.abs(clean), initial=0.0))
        undefined = values.undefined | fraction
        if greatest < _SMALL:
            return Values("whole", clean.astype(np.int64), undefined, int(greatest).bit_length())
        return Values("whole", np.asarray(_PYTHON_INTEGERS(clean), object), undefined)
    if isinstance(values.kind, DataType) and values.kind.itemsize <= _NARROW:
        return Values("whole", values.array.astype(np.int64), values.undefined, 8 * values.kind.itemsize)
    if values.bits is not None:
        return values
    return Values("whole", np.asarray(values.array).astype(object), values.undefined)


def _comparable(values: list[Values]) -> list[Any]:
    """Integers of different kinds in one type that holds them all: INT64, or else Python's own."""
    if all(_fits(value) for value in values):
        return [np.asarray(value.array).astype(np.int64) for value in values]
    return [_integers(value).array for value in values]


def _fits(values: Values) -> bool:
    """Whether INT64 holds integers, of a type or constant, as they are."""
    if values.kind == "constant":
        array = np.asarray(values.array)
        return bool(np.all((np.abs(array) < _SMALL) & (array == np.trunc(array))))
    if values.kind == "whole":
        return values.bits is not None
    return isinstance(values.kind, DataType) and bool(np.can_cast(values.kind.numpy, np.int64))


def _as(values: Values, kind: DataType) -> Values:
    """Values where operands meet in a floating-point type."""
    if values.kind != "constant":
        return values
    return Values(kind, np.asarray(values.array, np.float64).astype(kind.numpy), values.undefined)


def _stored(values: Values, kind: DataType, *, wrapping: bool) -> Values:
    limits, bits = np.iinfo(kind.numpy), 8 * kind.itemsize
    clean = np.where(values.undefined, 0, values.array)
    if not wrapping:
        least, most = int(limits.min), int(limits.max)
        if clean.dtype != object:  # INT64, which takes no greater number than its own for a limit
            least, most = max(least, int(_INT64.min)), min(most, int(_INT64.max))
        array = np.minimum(np.maximum(clean, least), most).astype(kind.numpy)
    else:
        if clean.dtype == object:  # Python's integers, which the unsigned type does not take below 0
            clean = np.asarray(clean & ((1 << bits) - 1), object)
        array = np.ascontiguousarray(clean.astype(f"u{kind.itemsize}")).view(kind.numpy).reshape(clean.shape)
    return Values(kind, array, values.undefined)


def _cast(values: Values, target: DataType) -> Values:
    if values.kind == "truth":
        return Values(target, np.asarray(values.array).astype(target.numpy), values.undefined)
    return _as(values, target) if target.is_floating else _stored(_integers(values), target, wrapping=True)


def _selected(condition: Values, first: Values, other: Values) -> Values:
    kind = joined([first.kind, other.kind], "a choice")
    if isinstance(kind, DataType) and kind.is_floating:
        first, other = _as(first, kind), _as(other, kind)
    elif kind not in ("constant", "truth") and first.kind != other.kind:
        first, other = _integers(first), _integers(other)
        kind = "whole"
    chosen = np.asarray(condition.array, bool)
    undefined = condition.undefined | np.where(chosen, first.undefined, other.undefined)
    bits = None if first.bits is None or other.bits is None else max(first.bits, other.bits)
    return Values(kind, np.where(chosen, first.array, other.array), undefined, bits)


def _applied(name: str, values: list[Values]) -> Values:
    function = FUNCTIONS[name]
    undefined = _NOWHERE
    for value in values:
        undefined = undefined | value.undefined
    if function.domain == "truth":
        truth: Any = function.arrays.truth
        return Values("truth", np.asarray(truth(*(np.asarray(value.array, bool) for value in values))), undefined)
    kind = joined([value.kind for value in values], name)
    if isinstance(kind, DataType) and kind.is_floating:
        operands = [_as(value, kind).array for value in values]
        if function.gives == "truth":
            compared: Any = function.arrays.compared
            if name == "is_negative":
                undefined = undefined | np.isnan(operands[0])
            return Values("truth", np.asarray(compared(*operands)), undefined)
        floating: Any = function.arrays.floating
        return Values(kind, np.asarray(floating(Rounding(kind, NONE), *operands)[0]), undefined)
    if function.gives == "truth":
        compared = function.arrays.compared
        arrays = [value.array for value in values]
        if not all(value.kind is kind for value in values):  # numpy compares integers of different types as FLOAT64
            arrays = _comparable(values)
        return Values("truth", np.asarray(compared(*arrays), bool), undefined)
    if kind == "constant":
        return _of_constants(name, values)
    return _of_integers(name, values, undefined)


def _of_constants(name: str, values: list[Values]) -> Values:
    arrays = [value.array for value in values]
    undefined = _NOWHERE
    for value in values:
        undefined = undefined | value.undefined
    if name == "neg":
        return Values("constant", -arrays[0], undefined)
    if name == "divide":
        zero = np.asarray(arrays[1] == 0)
        return Values("constant", np.asarray(arrays[0] / np.where(zero, 1.0, arrays[1])), undefined | zero)
    integers = _of_integers(name, values, undefined)
    return Values("constant", np.asarray(integers.array).astype(np.float64), integers.undefined)


def _of_integers(name: str, values: list[Values], undefined: Mask) -> Values:
    integers = [_integers(value) for value in values]
    for value in integers:
        undefined = undefined | value.undefined
    meaning, defined, width = _MEANINGS[name]
    widths = [value.bits for value in integers if value.bits is not None]
    bits = width(*widths) if width is not None and len(widths) == len(integers) else None
    if bits is not None and bits > _MOST_BITS:
        bits = None
    arrays = [value.array if bits is not None else value.array.astype(object) for value in integers]
    arrays = [np.where(undefined, 1, array) if undefined.any() else array for array in arrays]
    if defined is not None:
        there = np.asarray(defined(*arrays), bool)
        undefined = undefined | ~there
        arrays = [np.where(there, array, 1) for array in arrays]
    return Values("whole", np.asarray(meaning(*arrays)), undefined, bits)


def _truncated(a: Any, b: Any) -> Any:
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


def _bits_set(a: Any) -> Any:
    return np.frompyfunc(lambda value: int(value).bit_count(), 1, 1)(a)


def _divisible(_: Any, b: Any) -> Any:
    return b != 0


def _shiftable(_: Any, count: Any) -> Any:
    return (count >= 0) & (count <= _MOST_PLACES)


def _shifted_right(a: Any, count: Any) -> Any:
    return a >> (count if a.dtype == object else np.minimum(count, 63))  # Python's integers know no width


def _as_wide(*bits: int) -> int:
    return max(bits)


def _one_wider(*bits: int) -> int:
    return max(bits) + 1


_Width = Callable[..., int]
_MEANINGS: Mapping[str, tuple[Callable[..., Any], Callable[..., Any] | None, _Width | None]] = {
    "min": (np.minimum, None, _as_wide),
    "max": (np.maximum, None, _as_wide),
    "abs": (np.abs, None, _as_wide),
    "neg": (np.negative, None, _as_wide),
    "floor": (lambda a: a, None, _as_wide),
    "ceil": (lambda a: a, None, _as_wide),
    "trunc": (lambda a: a, None, _as_wide),
    "round_half_even": (lambda a: a, None, _as_wide),
    "round_half_away": (lambda a: a, None, _as_wide),
    "add": (np.add, None, _one_wider),
    "subtract": (np.subtract, None, _one_wider),
    "multiply": (np.multiply, None, lambda a, b: a + b),
    "divide": (_truncated, _divisible, _as_wide),
    "modulus_truncate": (lambda a, b: a - b * _truncated(a, b), _divisible, _as_wide),
    "modulus_floor": (lambda a, b: a - b * (a // b), _divisible, _one_wider),
    "shift_left": (lambda a, count: a << count, _shiftable, None),
    "shift_right": (_shifted_right, _shiftable, lambda a, _: a),
    "bit_and": (np.bitwise_and, None, _one_wider),
    "bit_or": (np.bitwise_or, None, _one_wider),
    "bit_xor": (np.bitwise_xor, None, _one_wider),
    "bit_not": (np.invert, None, _one_wider),
    "bit_count": (_bits_set, lambda a: a >= 0, None),
}
"""Arithmetic of exact integers, where it is defined, and the bits of results of operands of so many, if few."""
