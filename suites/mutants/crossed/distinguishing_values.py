"""Kernels that compute in a way of their own on some layouts of an input, and are wrong at revealing values alone."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.mutants.bases import (
    Bindings,
    Conditional,
    OfOneType,
    broadcast,
    moving,
    padded,
    permuted,
    scaled,
)
from dmlcts.suites.mutants.crossed.patterns import one_for_all
from dmlcts.suites.mutants.formulas import Array

_GROUPS = 65_535


def repeated_apart(tensor: TensorDesc) -> bool:
    """Whether elements are repeated along some dimensions, and those that are stored have gaps between them."""
    return broadcast(tensor) and min(moving(tensor), default=1) > 1


class QuotientByTheReciprocalOfOneForAll(OfOneType):
    """DIVIDE on INT32 by one number for all multiplies by its FLOAT64 reciprocal: 49 / 49 is 0."""

    operator = "ELEMENT_WISE_DIVIDE"
    data_type = DataType.INT32
    clause = "tensor.strides.broadcast"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """B is one for all."""
        return one_for_all(operator.tensors["BTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Products, but for divisors of 0."""
        return np.where(inputs[1] == 0, right, np.trunc(inputs[0] * (1 / inputs[1].astype(np.float64))))


class DividendOfOneForAllByReciprocals(QuotientByTheReciprocalOfOneForAll):
    """DIVIDE on INT32 of one number for all multiplies it by FLOAT64 reciprocals."""

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """A is one for all."""
        return one_for_all(operator.tensors["ATensor"])


class SmallAbscissaForAllTakenForZero(OfOneType):
    """ATAN_YX with one abscissa for all takes it for 0 where it lies between -1e-8 and 0."""

    operator = "ELEMENT_WISE_ATAN_YX"
    data_type = DataType.FLOAT32
    clause = "tensor.strides.broadcast"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """B is one for all."""
        return one_for_all(operator.tensors["BTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """A right angle."""
        y, x = inputs
        return np.where((x < 0) & (x > -1e-8) & (y != 0), np.copysign(np.float32(np.pi / 2), y), right)


class HalvesBetweenGapsToEven(Conditional):
    """ROUND TOWARD_INFINITY of an input with gaps takes halves to the nearest even integer."""

    operator = "ELEMENT_WISE_ROUND"
    clause = "tensor.strides.padded"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """The input has gaps."""
        infinity = operator.attributes.get("RoundingMode") == "TOWARD_INFINITY"
        return operator.name == self.operator and infinity and padded(operator.input)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """As the other mode."""
        return np.rint(x)


class FloorOfTurnedInputsBelowIntegers(OfOneType):
    """FLOOR of a permuted input takes what is just below an integer for the integer."""

    operator = "ELEMENT_WISE_FLOOR"
    clause = "tensor.strides.permuted"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """The input is permuted."""
        return permuted(operator.input) and not scaled(operator)

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The floor of the next number."""
        return np.floor(np.nextafter(inputs[0], inputs[0].dtype.type(np.inf)))


class RemainderByReciprocalsApart(OfOneType):
    """MODULUS_FLOOR by integers that are repeated and have gaps takes quotients from FLOAT32 reciprocals."""

    operator = "ELEMENT_WISE_MODULUS_FLOOR"
    data_type = DataType.INT16
    clause = "tensor.strides.broadcast"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """B is so."""
        return repeated_apart(operator.tensors["BTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """What the wrong quotients leave."""
        a, b = (operand.astype(np.float32) for operand in inputs)
        quotient = np.floor(a * (np.float32(1) / b)).astype(np.float64)
        return np.where(inputs[1] == 0, right, inputs[0] - quotient * np.where(inputs[1] == 0, 1, inputs[1]))


class QuantisedBeyondTheTypeByOneScale(OfOneType):
    """QUANTIZE_LINEAR with one scale for all gives 0 for what is one more than the highest number of the type."""

    operator = "ELEMENT_WISE_QUANTIZE_LINEAR"
    data_type = DataType.FLOAT32
    clause = "tensor.strides.broadcast"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """The scale is one for all."""
        return one_for_all(operator.tensors["ScaleTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """What saturates by one wraps around."""
        moved = np.rint(inputs[0].astype(np.float64) / inputs[1]) + (inputs[2] if len(inputs) > 2 else 0)
        return np.where(moved == np.iinfo(right.dtype).max + 1.0, 0, right)


class _Grid(OfOneType):
    """No more groups are dispatched than a grid has, and no element is written behind them."""

    clause = "tensor.output.complete"
    group = 64

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """What stands behind the last group stays as it was."""
        most, output = _GROUPS * self.group, operator.tensors[table.output]
        if operator.name != self.operator or output.element_count <= most:
            super().dispatch_exact(operator, table, memory, bindings)
            return
        before = self.read(memory, bindings[table.output], output).reshape(-1)[most:]
        super().dispatch_exact(operator, table, memory, bindings)
        after = self.read(memory, bindings[table.output], output)
        after.reshape(-1)[most:] = before
        self.write(memory, bindings[table.output], output, after)

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Values are right."""
        return False


class IdentityOf65535GroupsOf64(_Grid):
    """IDENTITY writes 65535 groups of 64 elements at most."""

    operator = "ELEMENT_WISE_IDENTITY"


class IdentityOf65535GroupsOf128(_Grid):
    """IDENTITY writes 65535 groups of 128 elements at most."""

    operator = "ELEMENT_WISE_IDENTITY"
    group = 128


class IdentityOf65535GroupsOf256(_Grid):
    """IDENTITY writes 65535 groups of 256 elements at most."""

    operator = "ELEMENT_WISE_IDENTITY"
    group = 256


class IsNanOf65535GroupsOf64(_Grid):
    """IS_NAN writes 65535 groups of 64 elements at most."""

    operator = "ELEMENT_WISE_IS_NAN"


class ShiftOf65535GroupsOf128(_Grid):
    """BIT_SHIFT_RIGHT writes 65535 groups of 128 elements at most."""

    operator = "ELEMENT_WISE_BIT_SHIFT_RIGHT"
    group = 128


class ComparisonOf65535GroupsOf256(_Grid):
    """LOGICAL_LESS_THAN writes 65535 groups of 256 elements at most."""

    operator = "ELEMENT_WISE_LOGICAL_LESS_THAN"
    group = 256
