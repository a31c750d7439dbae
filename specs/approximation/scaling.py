"""ScaleBias before an approximate formula: what the first input may become, exactly and in arrays."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dmlcts.specs.approximation.intervals import Interval
from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64, Format
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.arithmetic.value_sets import Arithmetic
from dmlcts.specs.arithmetic.vector_arithmetic import Array, Rounding
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.descriptions import ScaleBias
from dmlcts.specs.formula import MultiplyAdd
from dmlcts.specs.latitudes import Latitudes
from dmlcts.specs.oracle import vector_integer_scale_bias, vector_scale_bias
from dmlcts.specs.oracle.exact_floating_scale_bias import FloatingScaleBias
from dmlcts.specs.oracle.exact_integer_scale_bias import IntegerScaleBias

_FORMATS: dict[DataType, Format] = {DataType.FLOAT16: BINARY16, DataType.FLOAT32: BINARY32, DataType.FLOAT64: BINARY64}


class Scaling:
    """A ScaleBias on the first input, of one type.

    Args:
        operation: what the table says of x, scale and bias.
        scale_bias: scale and bias.
        own: the input's type.
        latitudes: those that act.
    """

    def __init__(self, operation: MultiplyAdd, scale_bias: ScaleBias, own: DataType, latitudes: Latitudes) -> None:
        self.operation, self.scale_bias, self.own, self.latitudes = operation, scale_bias, own, latitudes
        self._lenient = "integer-scale-bias" in latitudes
        self._operands = vector_scale_bias.Operands.of(operation, scale_bias)

    def numbers(self, bits: int, kind: DataType) -> Iterator[Datum | None]:
        """Every number that a path of rule 4 gives for a pattern, in the type that computes; ``None`` is a NaN.

        FLOAT32's are those besides that FLOAT64 gives, and that need not be converted before the formula.
        """
        arithmetic = Arithmetic(_FORMATS[self.own], self.latitudes)
        scaling = FloatingScaleBias(arithmetic, self.operation, *self.scale_bias.bits)
        x = arithmetic.closed({arithmetic.member(bits)})
        paths = [] if kind is not self.own else [(arithmetic, scaling.applied(x))]
        if kind is not self.own or (kind is DataType.FLOAT32 and scaling.may_stay_wide):
            paths += scaling.wide(x)
        for wide, values in paths:
            yield from (None if value is None else wide.form.decode(value) for value in values)

    def integers(self, whole: int) -> list[int] | None:
        """Every integer that one may become; ``None``: any, as a factor is not finite."""
        scaling = IntegerScaleBias(
            IntegerRange.of(self.own), self.operation, *self.scale_bias.bits, lenient=self._lenient
        )
        return sorted(scaling.applied(whole)) if scaling.finite else None

    def arrays(self, array: Array, kind: DataType, *, strict: bool) -> list[Array]:
        """Every array of numbers that the paths of rule 4 give in the type that computes, of FLOAT32 in FLOAT64 too.

        ``array`` is 1-D, of the tensor's type; each result has its length.
        """
        if strict:
            return [vector_scale_bias.plainly_scaled(array.astype(kind.numpy), self._operands, kind)]
        rounding = Rounding(self.own, self.latitudes)
        values = [] if kind is not self.own else list(vector_scale_bias.scaled(array, self._operands, rounding))
        if kind is not self.own or (kind is DataType.FLOAT32 and vector_scale_bias.may_stay_wide(rounding)):
            for arrays in vector_scale_bias.wide(array, self._operands, rounding).values():
                values += arrays
        return values

    def whole_arrays(self, array: Array) -> list[Interval]:
        """Every array of integers that one may become; anything where a factor is not finite.

        ``array`` is 1-D, of the tensor's integer type; each interval has FLOAT64 ends of its length.
        """
        if not vector_integer_scale_bias.is_finite(self.scale_bias):
            return [Interval(*(array.astype(np.float64),) * 2, open=np.ones(array.shape, bool))]
        integer_arrays = vector_integer_scale_bias.scaled(array, self.operation, self.scale_bias, lenient=self._lenient)
        return [Interval.at(integers.astype(np.float64)) for integers in integer_arrays]

    def plain(self, array: Array) -> Array:
        """What a plain implementation gives: separate, in FLOAT32; of integers as ``plainly_scaled`` gives it.

        ``array`` is 1-D, of the tensor's type; the result has its length and type.
        """
        if self.own.is_floating:
            return vector_scale_bias.plainly_scaled(array, self._operands, self.own)
        return vector_integer_scale_bias.plainly_scaled(array, self.operation, self.scale_bias, lenient=self._lenient)


def as_datum(whole: int) -> Datum:
    """An integer as an exact number."""
    return Datum(whole < 0, Fraction(whole))
