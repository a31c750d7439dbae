"""Rare faults: one wrong element in very many, one wrong value of a type, one wrong length."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.suites.mutants.reference import Array, Reference


def spoiled(values: Array, where: Array) -> Array:
    """The values, the chosen ones replaced by a neighbour in the type's bit pattern."""
    bits = values.view(f"u{values.dtype.itemsize}")
    return np.where(where, bits ^ bits.dtype.type(1), bits).view(values.dtype)


class _RarelyWrong(Reference):
    """Results are off by one bit where :meth:`wrong` says so."""

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """Which of the flat inputs come out wrong."""
        return np.zeros(x.size, bool)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Right, but for those."""
        y = np.ascontiguousarray(super().compute(operator, x))
        where = self.wrong(operator, np.ascontiguousarray(x).reshape(-1))
        return spoiled(y, where.reshape(x.shape)) if where.any() else y


class OneElementInTenThousand(_RarelyWrong):
    """Every ten thousandth element is off by one bit."""

    clause = "tensor.position"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By index."""
        return np.arange(x.size) % 10_000 == 9_999


class OneElementInTenThousandAtRandom(_RarelyWrong):
    """One element in ten thousand is off by one bit, another one at each dispatch, as in a race."""

    clause = "execution.repeatable"

    def __init__(self) -> None:
        self.generator = np.random.Generator(np.random.PCG64(42))

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By chance."""
        return self.generator.random(x.size) < 1e-4


class OneElementInFourMillion(_RarelyWrong):
    """The element of index 4 000 000 is off by one bit."""

    clause = "tensor.position"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By index."""
        return np.arange(x.size) == 4_000_000


class Index65536(_RarelyWrong):
    """The element of index 65536 is off by one bit."""

    clause = "tensor.position"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By index."""
        return np.arange(x.size) == 65_536


class Length4097(_RarelyWrong):
    """The last element of a tensor of 4097 is off by one bit; no other length is affected."""

    clause = "tensor.position"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By length."""
        return (np.arange(x.size) == 4_096) & (x.size == 4_097)


class Length5(_RarelyWrong):
    """The last element of a tensor of five is off by one bit; no other length is affected."""

    clause = "tensor.position"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By length."""
        return (np.arange(x.size) == 4) & (x.size == 5)


class _OneValue(_RarelyWrong):
    """One input value of one operator and type gives a result that is off by one bit."""

    operator = "ELEMENT_WISE_CLIP"
    data_type = "FLOAT16"
    pattern = 0

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By value."""
        if operator.name != self.operator or operator.input.data_type.name != self.data_type:
            return np.zeros(x.size, bool)
        return x.view(f"u{x.dtype.itemsize}") == self.pattern  # type: ignore[no-any-return]  # a comparison of Arrays


class OneValueOfFloat16(_OneValue):
    """CLIP is wrong for one FLOAT16 value, 0.6001 (0x38cd)."""

    clause = "clip.formula"
    pattern = 0x38CD


class OneRoundedValueOfFloat16(_OneValue):
    """ROUND is wrong for one FLOAT16 value, 818.5 (0x6265), which is a tie."""

    clause = "round.nearest-even"
    operator = "ELEMENT_WISE_ROUND"
    pattern = 0x6265


class OneValueOfInt16(_OneValue):
    """CLIP is wrong for one INT16 value, 77."""

    clause = "clip.formula"
    data_type = "INT16"
    pattern = 77


class OneValueOfUint16(_OneValue):
    """THRESHOLD is wrong for one UINT16 value, 31415."""

    clause = "threshold.formula"
    operator = "ELEMENT_WISE_THRESHOLD"
    data_type = "UINT16"
    pattern = 31_415


class OneValueOfInt8(_OneValue):
    """THRESHOLD is wrong for one INT8 value, 93."""

    clause = "threshold.formula"
    operator = "ELEMENT_WISE_THRESHOLD"
    data_type = "INT8"
    pattern = 93


class OneValueOfFloat32(_OneValue):
    """CLIP is wrong for one FLOAT32 value, 0.6180339 (0x3f1e377a)."""

    clause = "clip.formula"
    needs = "sweep"
    data_type = "FLOAT32"
    pattern = 0x3F1E377A


class OneRoundedValueOfFloat32(_OneValue):
    """ROUND is wrong for one FLOAT32 value, 31415.926 (0x46f56fda)."""

    clause = "round.nearest-even"
    needs = "sweep"
    operator = "ELEMENT_WISE_ROUND"
    data_type = "FLOAT32"
    pattern = 0x46F56FDA


class OneThresholdedValueOfFloat32(_OneValue):
    """THRESHOLD is wrong for one FLOAT32 value, 2718.2817 (0x4529e482)."""

    clause = "threshold.formula"
    needs = "sweep"
    operator = "ELEMENT_WISE_THRESHOLD"
    data_type = "FLOAT32"
    pattern = 0x4529E482


class OneBinadeOfFloat32(_RarelyWrong):
    """ROUND leaves odd FLOAT32 integers of [2^23, 2^24) off by one bit, where halves just ended."""

    clause = "round.nearest-even"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By exponent."""
        if operator.name != "ELEMENT_WISE_ROUND" or x.dtype != np.float32:
            return np.zeros(x.size, bool)
        bits = x.view(np.uint32)
        return ((bits >> 23 & 0xFF) == 150) & (bits & 1 == 1)  # type: ignore[no-any-return]  # as above


class Relu6WithoutSix(_RarelyWrong):
    """CLIP from 0 to 6 runs on a special kernel that is off by one bit at its upper end."""

    clause = "clip.formula"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """By bounds."""
        attributes = operator.attributes
        special = attributes.get("Min") == 0 and attributes.get("Max") == 6
        return (x >= 6) & special  # type: ignore[no-any-return]  # as above
