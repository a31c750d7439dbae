"""Kernels of their own for few elements of one type, which leave the work undone.

What a lone element becomes is a matter of the formula; where one of several is wrong, of its position.
"""

from __future__ import annotations

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference


class _LastOfFew(Reference):
    """Of so many elements of a type the last is the first input's.

    Attributes:
        data_type: the type.
        count: the number of elements.
    """

    level = LEVEL
    data_type = DataType.FLOAT32
    count = 1

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The right results, but for that one."""
        results = super().compute_exact(operator, inputs)
        if operator.name != self.operator or results.size != self.count or operator.data_type is not self.data_type:
            return results
        flat = results.reshape(-1).copy()
        flat[-1] = inputs[0].reshape(-1)[-1]
        return flat.reshape(results.shape)


class MaxOfOneIsTheFirst(_LastOfFew):
    """Of UINT16 tensors of one element MAX gives the first operand."""

    operator = "ELEMENT_WISE_MAX"
    clause = "max.formula"
    data_type = DataType.UINT16


class MinOfOneIsTheFirst(_LastOfFew):
    """Of UINT64 tensors of one element MIN gives the first operand."""

    operator = "ELEMENT_WISE_MIN"
    clause = "min.formula"
    data_type = DataType.UINT64


class SubtractLeavesTheThird(_LastOfFew):
    """Of INT16 tensors of three elements SUBTRACT leaves the last as it is."""

    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "tensor.position"
    data_type = DataType.INT16
    count = 3


class NegateLeavesTheFifth(_LastOfFew):
    """Of INT64 tensors of five elements NEGATE leaves the last as it is."""

    operator = "ELEMENT_WISE_NEGATE"
    clause = "tensor.position"
    data_type = DataType.INT64
    count = 5
