"""The vectorised oracle: numpy over whole arrays, for judging at speed.

It implements the rules of ``specs/README.md`` with arrays in place of elements: a value set is a list of
*alternatives*, arrays of the tensor's type in which element i of each is one acceptable value of element i.
Zeros need no alternatives of their own: without ``strict`` the comparison takes either zero for the other.
A NaN in an alternative stands for any NaN. It shares no code with the exact oracle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScaleBias
from dmlcts.specs.formula import Call, Expression, Name, Number, choose
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle import vector_integer_scale_bias, vector_scale_bias
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.specs.oracle.vector_arithmetic import Alternatives, Array, distinct, flushed, to_float32, vanishing

_FLOAT16_OVERFLOW = 65520.0
_PIECE = 1 << 15  # elements judged at once: what they may become can take fifty arrays
_FEW = 1 << 10  # below, pairs are not worth being looked for
_INFINITY_BITS = {
    DataType.FLOAT16: 0x7C00,
    DataType.FLOAT32: 0x7F80_0000,
    DataType.FLOAT64: 0x7FF0_0000_0000_0000,
}


@dataclass(frozen=True)
class Acceptance:
    """What is acceptable for each element of an array.

    Attributes:
        data_type: the output's element type.
        alternatives: arrays of that type; every element of each is acceptable at its place.
        any_value: where nothing follows from the pages (integers, and ScaleBias that is not finite), or ``None``.
        strict: whether the sign of zero counts.
    """

    data_type: DataType
    alternatives: tuple[Array, ...]
    any_value: NDArray[np.bool_] | None
    strict: bool

    def admits(self, output: Array) -> NDArray[np.bool_]:
        """Which elements of ``output`` are acceptable."""
        admitted = np.zeros(output.shape, bool) if self.any_value is None else self.any_value.copy()
        for alternative in self.alternatives:
            admitted |= equal(output, alternative, self.data_type, strict=self.strict)
        return admitted

    def element(self, index: int) -> Acceptable:
        """The acceptable patterns of one element, as the exact oracle states them."""
        one = slice(index, index + 1)
        any_value = None if self.any_value is None else self.any_value[one]
        alternatives = tuple(array[one] for array in self.alternatives)
        return next(Acceptance(self.data_type, alternatives, any_value, self.strict).elements())

    def elements(self) -> Iterator[Acceptable]:
        """The acceptable patterns of every element in turn."""
        sign = 1 << (8 * self.data_type.itemsize - 1)
        nan_above = _INFINITY_BITS.get(self.data_type, sign)
        columns = [array.view(self.data_type.bits_dtype).tolist() for array in self.alternatives]
        open_ones = [False] * len(columns[0]) if self.any_value is None else self.any_value.tolist()
        either_zero = self.data_type.is_floating and not self.strict
        for any_value, *patterns in zip(open_ones, *columns, strict=True):
            if any_value:
                yield Acceptable(frozenset(), any_value=True)
                continue
            numbers = {bits for bits in patterns if not self.data_type.is_floating or bits & (sign - 1) <= nan_above}
            any_nan = self.data_type.is_floating and any(bits & (sign - 1) > nan_above for bits in patterns)
            if either_zero and (0 in numbers or sign in numbers):
                numbers |= {0, sign}
            yield Acceptable(frozenset(numbers), any_nan)


def equal(output: Array, expected: Array, data_type: DataType, *, strict: bool) -> NDArray[np.bool_]:
    """Element-wise sameness: NaN equals NaN, and without ``strict`` the two zeros are the same."""
    if not data_type.is_floating:
        return np.asarray(output == expected)
    if strict:
        bits = data_type.bits_dtype
        same = output.view(bits) == np.ascontiguousarray(expected).view(bits)
    else:
        same = output == expected
    if not same.all():
        same |= np.isnan(output) & np.isnan(expected)
    return np.asarray(same)


def _distinct_pairs(x: Array, output: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each pair of patterns stands first, and for each element which of those is its own.

    Inputs repeat: large tensors are filled with short streams, and a narrow type has few patterns. What is acceptable
    for a pair costs more to find than the pairs do. Types of eight bytes are left as they are.
    """
    if x.dtype.itemsize > 4 or x.size < _FEW:
        every = np.arange(x.size)
        return every, every
    half = np.uint64(32)
    bits = [array.view(f"u{array.dtype.itemsize}").astype(np.uint64) for array in (x, output)]
    _, first, inverse = np.unique(bits[0] << half | bits[1], return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


class VectorOracle:
    """The oracle for one operator description.

    Args:
        table: the operator's table.
        expression: its parsed formula.
        operator: the description whose attributes count; its input's data type must be listed.
        strict: leave no latitude.
        casts: integers to take for FLOAT attributes instead of casting them, by name; for judging what
            an implementation made of a bound whose cast the pages leave open.
    """

    def __init__(
        self,
        table: OperatorTable,
        expression: Expression,
        operator: OperatorDesc,
        *,
        strict: bool = False,
        casts: Mapping[str, int] | None = None,
    ) -> None:
        enumerators = {
            item.name: str(operator.attributes[item.name]) for item in table.attributes if item.type == "ENUM"
        }
        self.table = table
        self.expression = choose(expression, enumerators)
        self.operator = operator
        self.strict = strict
        self.casts = dict(casts or {})
        self.data_type = operator.input.data_type

    @cached_property
    def _primary(self) -> VectorOracle:
        if self.strict:
            return self
        return VectorOracle(self.table, self.expression, self.operator, strict=True, casts=self.casts)

    @property
    def scale_bias(self) -> ScaleBias | None:
        """The ScaleBias attribute where the description has one."""
        value = self.operator.attributes.get("ScaleBias")
        return value if isinstance(value, ScaleBias) else None

    @cached_property
    def attributes(self) -> dict[str, Alternatives]:
        """Rule 3: the values that each FLOAT attribute may have in the tensor's type, 0-dimensional arrays.

        Raises:
            Unconstrained: a bound that no integer of the type follows from.
        """
        return {name: self._cast(name) for name in self.table.float_attributes}

    def _cast(self, name: str) -> Alternatives:
        if name in self.casts:
            return [np.asarray(self.casts[name], self.data_type.numpy)]
        value = self.operator.attributes[name]
        assert isinstance(value, np.float32), f"{name} is a FLOAT"  # noqa: S101  # OperatorDesc makes it one
        attribute = self.table.attribute(name)
        loose = not self.strict and attribute is not None and attribute.cast == "undocumented"
        if not self.data_type.is_floating:
            return self._cast_to_integer(name, value, loose)
        own = self.data_type.numpy
        if np.isnan(value) and not self.strict:
            return [np.asarray(np.nan, own), np.zeros((), own)]
        if self.data_type is not DataType.FLOAT16:
            return self._closed([np.asarray(value, own)])
        with np.errstate(over="ignore"):
            nearest = np.asarray(np.float16(value))
        found = [nearest]
        if not self.strict and np.isfinite(value):
            if abs(float(value)) >= _FLOAT16_OVERFLOW:
                found.append(np.asarray(np.copysign(np.finfo(np.float16).max, nearest)))
            elif loose and float(nearest) != float(value):
                away = np.float16(np.inf if float(nearest) < float(value) else -np.inf)
                found.append(np.asarray(np.nextafter(nearest, away)))
        return self._closed(found)

    def _cast_to_integer(self, name: str, value: np.float32, loose: bool) -> Alternatives:
        limits = np.iinfo(self.data_type.numpy)
        if not np.isfinite(value) or not limits.min <= int(value) <= limits.max:
            raise Unconstrained(f"{name} = {value!s} has no {self.data_type.name} value that the pages fix")
        truncated = int(value)
        candidates = [truncated]
        if loose and float(value) != truncated:
            candidates.append(truncated + (1 if value > 0 else -1))
        return [np.asarray(item, self.data_type.numpy) for item in candidates if limits.min <= item <= limits.max]

    def _closed(self, arrays: Iterable[Array]) -> Alternatives:
        """Rule 1's closure: zeros are compared as equal, so that only FLOAT32 subnormals need anything here."""
        if self.strict or self.data_type is not DataType.FLOAT32:
            return distinct(arrays)
        return flushed(arrays)

    def expected(self, x: Array) -> Array:
        """One acceptable output for each element of ``x``: what IEEE 754 or a plain implementation gives.

        Meant for a first, fast comparison; an element that differs from it is not wrong yet.
        """
        scale_bias = self.scale_bias
        if scale_bias is not None:
            if self.data_type.is_floating:
                x = vector_scale_bias.strictly_scaled(x, scale_bias, self.data_type)
            else:
                x = vector_integer_scale_bias.plainly_scaled(x, scale_bias)
        return np.ascontiguousarray(np.broadcast_to(self._primary._evaluate([x])[0], x.shape))

    def acceptance(self, x: Array) -> Acceptance:
        """All that is acceptable for each element of ``x`` (1-D, of the input's type)."""
        with np.errstate(all="ignore"):
            inputs, any_value = self._inputs(x)
            found = self._evaluate(inputs)
            found += self._stored_from_beyond(x, found[0])
            if self.data_type.is_floating and not self.strict:
                found = self._with_nan_latitude(found, inputs)
        alternatives = tuple(np.ascontiguousarray(np.broadcast_to(array, x.shape)) for array in found)
        return Acceptance(self.data_type, alternatives, any_value, self.strict)

    def judge(self, x: Array, output: Array, expected: Array | None = None) -> NDArray[np.intp]:
        """The indices at which ``output`` is not acceptable for the input ``x``, ascending.

        ``expected`` saves the work of :meth:`expected` where the caller has done it.
        """
        if expected is None:
            expected = self.expected(x)
        differing = np.flatnonzero(~equal(output, expected, self.data_type, strict=self.strict))
        wrong = [differing[:0]]
        for start in range(0, differing.size, _PIECE):
            piece = differing[start : start + _PIECE]
            first, inverse = _distinct_pairs(x[piece], output[piece])
            once = piece[first]
            admitted = self.acceptance(x[once]).admits(output[once])
            wrong.append(piece[~admitted[inverse]])
        return np.concatenate(wrong)

    def _stored_from_beyond(self, x: Array, base: Array) -> Alternatives:
        """Integers that ScaleBias takes out of the type, where min and max give them again, as they are stored."""
        scale_bias = self.scale_bias
        if scale_bias is None or self.data_type.is_floating or not vector_integer_scale_bias.is_finite(scale_bias):
            return []
        limits = np.iinfo(self.data_type.numpy)
        upward, downward = (self._gives_again(edge) for edge in (int(limits.max) + 1, int(limits.min) - 1))
        if not (upward or downward):
            return []
        nowhere = np.zeros(x.shape, bool)
        found = []
        for stored, above, below in vector_integer_scale_bias.beyond(x, scale_bias):
            kept = (above if upward else nowhere) | (below if downward else nowhere)
            found.append(np.where(kept, stored, base))
        return distinct(found)

    def _gives_again(self, number: int) -> bool:
        """Whether the formula, made of min and max alone, can give a number outside the type that it is applied to."""

        def values(expression: Expression) -> set[int]:
            match expression:
                case Name("x"):
                    return {number}
                case Name(name):
                    return {int(value) for value in self.attributes[name]}
                case Call("min" | "max" as function, arguments):
                    pick = min if function == "min" else max
                    return {pick(pair) for pair in itertools.product(*(values(argument) for argument in arguments))}
            return set()

        return number in values(self.expression)

    def _with_nan_latitude(self, found: Alternatives, inputs: Alternatives) -> Alternatives:
        """Rule 6: where the input is a NaN, any NaN and the values of the bounds are acceptable."""
        attributes = [value for values in self.attributes.values() for value in values]
        base = found[0]
        nan_input = np.zeros(base.shape, bool)
        for array in inputs:
            nan_input = nan_input | np.isnan(array)
        if not nan_input.any():
            return found
        extra = [np.where(nan_input, value, base) for value in [np.asarray(np.nan, base.dtype), *attributes]]
        shape = np.broadcast_shapes(*(array.shape for array in [*found, *extra]))
        return distinct(np.array(np.broadcast_to(array, shape)) for array in [*found, *extra])

    # Rule 4 ------------------------------------------------------------------------------------------

    def _inputs(self, x: Array) -> tuple[Alternatives, NDArray[np.bool_] | None]:
        scale_bias = self.scale_bias
        if scale_bias is None:
            return self._closed([x]), None
        if not self.data_type.is_floating:
            if not vector_integer_scale_bias.is_finite(scale_bias):
                return [x], np.ones(x.shape, bool)
            return vector_integer_scale_bias.scaled(x, scale_bias), None
        if self.strict:
            return [vector_scale_bias.strictly_scaled(x, scale_bias, self.data_type)], None
        return vector_scale_bias.scaled(x, scale_bias, self.data_type), None

    # Rule 5 ------------------------------------------------------------------------------------------

    def _evaluate(self, inputs: Alternatives) -> Alternatives:
        with np.errstate(all="ignore"):
            return self._value(self.expression, inputs)

    def _value(self, expression: Expression, inputs: Alternatives) -> Alternatives:
        match expression:
            case Name("x"):
                return inputs
            case Name(name):
                return self.attributes[name]
            case Number(value):
                if not self.data_type.is_floating and not value.is_integer():
                    raise Unconstrained(f"the constant {value} has no {self.data_type.name} value that the pages fix")
                return self._closed([np.asarray(value, self.data_type.numpy)])
            case Call(function, arguments):
                operands = [self._value(argument, inputs) for argument in arguments]
                results: Alternatives = []
                for combination in itertools.product(*operands):
                    results += self._call(function, combination)
                return self._closed(results)
        raise AssertionError(f"a choice is left in {expression}")

    def _call(self, function: str, operands: Sequence[Array]) -> Alternatives:
        if function in ("min", "max"):
            return self._extremum(function, *operands)
        if function == "multiply" and self.data_type is DataType.FLOAT32 and not self.strict:
            return to_float32(operands[0].astype(np.float64) * operands[1].astype(np.float64))
        table = _FLOAT_FUNCTIONS if self.data_type.is_floating else _INTEGER_FUNCTIONS
        return [np.asarray(table[function](*operands))]

    def _extremum(self, function: str, a: Array, b: Array) -> Alternatives:
        smaller = function == "min"
        if not self.data_type.is_floating:
            return [np.asarray(np.minimum(a, b) if smaller else np.maximum(a, b))]
        propagating = np.asarray(np.minimum(a, b) if smaller else np.maximum(a, b))
        if self.strict:
            propagating = _with_ordered_zeros(propagating, a, b, smaller)
        found = [propagating]
        if np.isnan(propagating).any():
            # not fmin and fmax: numpy's give NaN for signalling NaNs, depending on the array's length
            found.append(np.where(np.isnan(a), b, np.where(np.isnan(b), a, propagating)))
        if self.data_type is DataType.FLOAT32 and not self.strict:
            alike = vanishing(a) & vanishing(b) & (a != b)
            if alike.any():  # a comparison that flushes its operands may select either
                found += [np.where(alike, a, propagating), np.where(alike, b, propagating)]
        return found


def _with_ordered_zeros(result: Array, a: Array, b: Array, smaller: bool) -> Array:
    """``result`` with IEEE 754-2019's zeros: where both operands are zero, -0 counts as less than +0."""
    both = np.asarray((a == 0) & (b == 0))
    if not both.any():
        return result
    negative = np.signbit(a) | np.signbit(b) if smaller else np.signbit(a) & np.signbit(b)
    zero = np.where(negative, np.asarray(-0.0, result.dtype), np.asarray(0.0, result.dtype))
    return np.where(both, zero, result)


def _round_half_away(x: Array) -> Array:
    whole = np.trunc(x)
    up = np.abs(x - whole) >= np.asarray(0.5, x.dtype)  # exact: x and trunc(x) are close, or the difference is 0
    return np.copysign(np.where(up, np.abs(whole) + np.asarray(1, x.dtype), np.abs(whole)), x)


def _same(x: Array) -> Array:
    return x


_FLOAT_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "abs": np.abs,
    "neg": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round_half_even": np.rint,
    "round_half_away": _round_half_away,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
}
_INTEGER_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "abs": np.abs,
    "neg": np.negative,
    "floor": _same,
    "ceil": _same,
    "trunc": _same,
    "round_half_even": _same,
    "round_half_away": _same,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
}
