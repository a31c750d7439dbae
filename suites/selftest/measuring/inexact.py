"""A square root that is wrong by so many units in the last place at one operand, and right everywhere else."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.selftest.signatures.five_operators import Array, Right

OPERANDS = {"FLOAT32": 0x40C9_0FDB, "FLOAT16": 0x4248}
"""The operands whose root is wrong, neither a power of two nor near one: pi above 2 of each format, and 2 pi."""
UNITS = 5


class SqrtIsFiveUnitsOffAtOneOperand(Right):
    """Five units too much, of one operand."""

    def sqrt(self, operator: OperatorDesc, x: Array) -> Array:
        root = super().sqrt(operator, x)
        bits = operator.output.data_type.bits_dtype
        there = x.view(bits) == OPERANDS[operator.output.data_type.name]
        return np.where(there, (root.view(bits) + bits.type(UNITS)).view(root.dtype), root)
