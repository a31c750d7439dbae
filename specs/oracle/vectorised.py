"""The vectorised oracle: numpy over whole arrays, for judging at speed.

It implements the rules of ``specs/README.md`` with arrays in place of elements: a value set is a list of
*alternatives*, arrays of the tensor's type in which element i of each is one acceptable value of element i.
Zeros need no alternatives of their own: without ``strict`` the comparison takes either zero for the other.
A NaN in an alternative stands for any NaN. FLOAT attributes are cast to integer types in ``VectorOracle._cast``, as
``specs/shared/casts.yaml`` says. It shares no arithmetic with the exact oracle.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import (
    Alternatives,
    Array,
    Rounding,
    distinct,
    distinct_pairs,
    to_float16,
    to_float16_toward_zero,
)
from dmlcts.specs.arithmetic.vector_integers import saturated
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import OperatorDesc, ScalarUnion, ScaleBias
from dmlcts.specs.formula import Call, Expression, MultiplyAdd, Name, Number
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.latitudes import NONE
from dmlcts.specs.oracle import vector_integer_scale_bias, vector_scale_bias
from dmlcts.specs.oracle.outcome import Acceptance, Unconstrained, equal
from dmlcts.specs.tables.law import Law, selects

_FLOAT16_OVERFLOW = 65520.0
_MAGNITUDE = Call("abs", (Name("x"),))
_PIECE = 1 << 15  # elements judged at once: what they may become can take fifty arrays
_BLOCK = 1 << 16  # elements computed at once, so that what a step leaves is still in the cache when the next reads it


__all__ = ["Acceptance", "VectorOracle", "equal"]


class VectorOracle:
    """The oracle for one operator description.

    Args:
        law: what the tables say of the operator (``Tables.law``).
        operator: the description whose attributes count.
        strict: leave only the latitudes that ``--strict-ieee`` keeps.
        casts: integers to take for FLOAT attributes instead of casting them, by name; for judging what
            an implementation made of a bound whose cast the pages leave open.
        plain: apply no latitude at all; what comes out is acceptable under every law.
    """

    def __init__(
        self,
        law: Law,
        operator: OperatorDesc,
        *,
        strict: bool = False,
        casts: Mapping[str, int] | None = None,
        plain: bool = False,
    ) -> None:
        self.law = law
        self.expression = law.expression_for(operator)
        self.operator = operator
        self.casts = dict(casts or {})
        self.data_type = operator.input.data_type
        self.latitudes = NONE if plain else law.latitudes(self.data_type, strict=strict)
        self.rounding = Rounding(self.data_type, self.latitudes)
        self.signed_zeros = self.rounding.signed_zeros
        self.any_payload = plain or not self.data_type.is_floating or bool(self.latitudes & {"nan", "nan-payload"})

    @cached_property
    def plain(self) -> VectorOracle:
        """The same oracle without any latitude."""
        return VectorOracle(self.law, self.operator, casts=self.casts, plain=True)

    @property
    def scale_bias(self) -> ScaleBias | None:
        """The ScaleBias attribute where the description has one."""
        for item in self.law.table.attributes:
            value = self.operator.attributes.get(item.name) if item.type == "DML_SCALE_BIAS" else None
            if isinstance(value, ScaleBias):
                return value
        return None

    @cached_property
    def _operation(self) -> MultiplyAdd:
        assert self.law.scale_bias is not None, "lint asks for a formula"  # noqa: S101
        return self.law.scale_bias

    @cached_property
    def attributes(self) -> dict[str, Alternatives]:
        """Rule 3: the values that each number among the attributes may have in the tensor's type, 0-dimensional arrays.

        Raises:
            Unconstrained: a bound that no integer of the type follows from.
        """
        return {name: self._cast(name) for name in self.law.table.numbers}

    def _cast(self, name: str) -> Alternatives:
        if name in self.casts:
            return [np.asarray(self.casts[name], self.data_type.numpy)]
        value = self.operator.attributes[name]
        if isinstance(value, ScalarUnion):
            bound = np.asarray(value.value)
            zeroed = np.isnan(bound) and "nan-bound-zero" in self.latitudes
            return self.rounding.closed([bound, *([np.zeros_like(bound)] if zeroed else [])])
        assert isinstance(value, np.float32), f"{name} is a FLOAT"  # noqa: S101  # OperatorDesc makes it one
        attribute = self.law.table.attribute(name)
        undocumented = attribute is not None and attribute.cast == "undocumented"
        loose = undocumented and "inexact-threshold" in self.latitudes
        rule = self.law.cast_to(self.data_type)
        toward_zero = rule is not None and rule.rounding == "toward zero"
        if not self.data_type.is_floating:
            return self._cast_to_integer(name, value, loose, nearest=rule is not None and not toward_zero)
        own = self.data_type.numpy
        if np.isnan(value):
            zero = [np.zeros((), own)] if "nan-bound-zero" in self.latitudes else []
            return [np.asarray(np.nan, own), *zero]
        if self.data_type is not DataType.FLOAT16:
            return self.rounding.closed([np.asarray(value, own)])
        with np.errstate(over="ignore"):
            nearest = np.asarray(np.float16(value))
            alternatives = [to_float16_toward_zero(np.asarray(value)) if toward_zero else nearest]
            if np.isfinite(value) and abs(float(value)) >= _FLOAT16_OVERFLOW:
                if loose or "float16-overflow" in self.latitudes:
                    alternatives = [nearest, np.asarray(np.copysign(np.finfo(np.float16).max, nearest))]
            elif np.isfinite(value) and loose and float(nearest) != float(value):
                away = np.float16(np.inf if float(nearest) < float(value) else -np.inf)
                alternatives = [nearest, np.asarray(np.nextafter(nearest, away))]
        return self.rounding.closed(alternatives)

    def _cast_to_integer(self, name: str, value: np.float32, loose: bool, *, nearest: bool) -> Alternatives:
        limits, own = np.iinfo(self.data_type.numpy), self.data_type.numpy
        finite = bool(np.isfinite(value))
        cast = int(np.rint(np.float64(value)) if nearest else value) if finite else 0
        if not finite or not limits.min <= cast <= limits.max:
            if "integer-cast-range" in self.latitudes:
                raise Unconstrained(f"{name} = {value!s} has no {self.data_type.name} value that the pages fix")
            # as Direct3D's ftoi: the nearest limit, and 0 for NaN
            return [np.asarray(0 if np.isnan(value) else limits.min if value < 0 else limits.max, own)]
        candidates = [cast]
        if loose and float(value) != cast:
            candidates.append(cast + (1 if float(value) > cast else -1))
        return [np.asarray(item, own) for item in candidates if limits.min <= item <= limits.max]

    def expected(self, x: Array) -> Array:
        """One acceptable output for each element of ``x``: what IEEE 754 or a plain implementation gives.

        Meant for a first, fast comparison; an element that differs from it is not wrong yet.
        """
        if x.ndim != 1 or x.size <= _BLOCK:
            return self._expected(x)
        outputs = np.empty_like(x)
        for start in range(0, x.size, _BLOCK):
            outputs[start : start + _BLOCK] = self._expected(x[start : start + _BLOCK])
        return outputs

    def _expected(self, x: Array) -> Array:
        scale_bias = self.scale_bias
        if scale_bias is not None:
            if self.data_type.is_floating:
                operands = vector_scale_bias.Operands.of(self._operation, scale_bias)
                x = vector_scale_bias.plainly_scaled(x, operands, self.data_type)
            else:
                lenient = "integer-scale-bias" in self.latitudes
                x = vector_integer_scale_bias.plainly_scaled(x, self._operation, scale_bias, lenient=lenient)
        plain = self.plain if self.latitudes else self
        return np.ascontiguousarray(np.broadcast_to(plain._evaluate([x])[0], x.shape))

    def acceptance(self, x: Array) -> Acceptance:
        """All that is acceptable for each element of ``x`` (1-D, of the input's type)."""
        with np.errstate(all="ignore"):
            inputs, any_value = self._inputs(x)
            values = self._evaluate(inputs)
            values += self._stored_from_beyond(x, values[0]) + self._narrowed_last(x)
            if self.data_type.is_floating and "nan-input" in self.latitudes:
                values = self._with_nan_latitude(values, inputs)
        alternatives = tuple(np.ascontiguousarray(np.broadcast_to(array, x.shape)) for array in values)
        payloads = None if self.any_payload else x
        return Acceptance(self.data_type, alternatives, any_value, self.signed_zeros, payloads)

    def judge(self, x: Array, output: Array, expected: Array | None = None) -> NDArray[np.intp]:
        """The indices at which ``output`` is not acceptable for the input ``x``, ascending.

        ``expected`` saves the work of :meth:`expected` where the caller has done it.

        ``x`` and ``output`` are 1-D, of one length and of the tensor's type.
        """
        if expected is None:
            expected = self.expected(x)
        differing = self.differing(output, expected)
        wrong = [differing[:0]]
        for start in range(0, differing.size, _PIECE):
            piece = differing[start : start + _PIECE]
            first, inverse = distinct_pairs(x[piece], output[piece])
            indices = piece[first]
            admitted = self.acceptance(x[indices]).admits(output[indices])
            wrong.append(piece[~admitted[inverse]])
        return np.concatenate(wrong)

    def differing(self, output: Array, expected: Array) -> NDArray[np.intp]:
        """Where the output is another than the expected one, or is a NaN whose payload has to be looked at.

        ``output`` and ``expected`` are 1-D, of one length and of the tensor's type; the indices ascend.
        """
        indices = []
        for start in range(0, max(output.size, 1), _BLOCK):
            piece = output[start : start + _BLOCK]
            same = equal(piece, expected[start : start + _BLOCK], self.data_type, strict=self.signed_zeros)
            if not self.any_payload:
                same &= ~np.isnan(piece)
            if not same.all():
                indices.append(np.flatnonzero(~same) + start)
        return np.concatenate(indices) if indices else np.zeros(0, np.intp)

    def _stored_from_beyond(self, x: Array, base: Array) -> Alternatives:
        """Integers that ScaleBias takes out of the type, where min and max give them again, as they are stored."""
        scale_bias = self.scale_bias
        if scale_bias is None or "integer-scale-bias" not in self.latitudes:
            return []
        if self.data_type.is_floating or not vector_integer_scale_bias.is_finite(scale_bias):
            return []
        if self.expression == _MAGNITUDE:  # taken in a wider type, and then stored
            wide = vector_integer_scale_bias.beyond(x, self._operation, scale_bias, magnitude=True)
            return distinct(np.where(above | below, stored, base) for stored, above, below in wide)
        limits = np.iinfo(self.data_type.numpy)
        upward, downward = (self._gives_again(edge) for edge in (int(limits.max) + 1, int(limits.min) - 1))
        if not (upward or downward):
            return []
        nowhere = np.zeros(x.shape, bool)
        alternatives = []
        for stored, above, below in vector_integer_scale_bias.beyond(x, self._operation, scale_bias):
            kept = (above if upward else nowhere) | (below if downward else nowhere)
            alternatives.append(np.where(kept, stored, base))
        return distinct(alternatives)

    def _narrowed_last(self, x: Array) -> Alternatives:
        """Results of a formula that FLOAT32 or FLOAT64 computes of the scaled input, converted at the end."""
        if self.scale_bias is None or not vector_scale_bias.may_stay_wide(self.rounding) or selects(self.expression):
            return []
        operands = vector_scale_bias.Operands.of(self._operation, self.scale_bias)
        alternatives: Alternatives = []
        for data_type, inputs in vector_scale_bias.wide(x, operands, self.rounding).items():
            wider = copy.copy(self)
            wider.data_type, wider.rounding = data_type, Rounding(data_type, self.latitudes)
            wider.attributes = {
                name: [value.astype(data_type.numpy) for value in values] for name, values in self.attributes.items()
            }
            alternatives += [
                alternative for wide in wider._value(self.expression, inputs) for alternative in self._narrowed(wide)
            ]
        return self.rounding.closed(distinct(alternatives))

    def _narrowed(self, wide: Array) -> Alternatives:
        """A wider type's numbers as they are stored."""
        if self.data_type is DataType.FLOAT16 and "float16-conversion" in self.latitudes:
            return to_float16(wide)
        if self.data_type is DataType.FLOAT32:
            return self.rounding.to_float32(wide)
        return [wide.astype(self.data_type.numpy)]

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

    def _with_nan_latitude(self, alternatives: Alternatives, inputs: Alternatives) -> Alternatives:
        """Rule 6: where the input is a NaN, any NaN and the values of the bounds are acceptable."""
        attributes = [value for values in self.attributes.values() for value in values]
        base = alternatives[0]
        nan_input = np.zeros(base.shape, bool)
        for array in inputs:
            nan_input = nan_input | np.isnan(array)
        if not nan_input.any():
            return alternatives
        extra = [np.where(nan_input, value, base) for value in [np.asarray(np.nan, base.dtype), *attributes]]
        shape = np.broadcast_shapes(*(array.shape for array in [*alternatives, *extra]))
        return distinct(np.array(np.broadcast_to(array, shape)) for array in [*alternatives, *extra])

    # Rule 4 ------------------------------------------------------------------------------------------

    def _inputs(self, x: Array) -> tuple[Alternatives, NDArray[np.bool_] | None]:
        scale_bias = self.scale_bias
        if scale_bias is None:
            return self.rounding.closed([x]), None
        if not self.data_type.is_floating:
            if not vector_integer_scale_bias.is_finite(scale_bias):
                return [x], np.ones(x.shape, bool)
            lenient = "integer-scale-bias" in self.latitudes
            return vector_integer_scale_bias.scaled(x, self._operation, scale_bias, lenient=lenient), None
        operands = vector_scale_bias.Operands.of(self._operation, scale_bias)
        return vector_scale_bias.scaled(x, operands, self.rounding), None

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
                return self.rounding.closed([np.asarray(value, self.data_type.numpy)])
            case Call(function, arguments):
                operands = [self._value(argument, inputs) for argument in arguments]
                meaning = FUNCTIONS[function].arrays
                results: Alternatives = []
                for combination in itertools.product(*operands):
                    if self.data_type.is_floating and meaning.floating is not None:
                        results += meaning.floating(self.rounding, *combination)
                    elif not self.data_type.is_floating and meaning.integers is not None:
                        results.append(np.asarray(meaning.integers(*combination)))
                        if "integer-overflow" in self.latitudes and not (meaning.kept or FUNCTIONS[function].selects):
                            results.append(saturated(meaning.integers, self.data_type, combination))
                    else:
                        raise AssertionError(f"lint refuses {function} on {self.data_type.name}")
                return self.rounding.closed(results)
        raise AssertionError(f"lint refuses {expression}, or a choice is left in it")
