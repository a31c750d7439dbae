"""Places that matter only with strides, ScaleBias, bounds of a kind, or many elements."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.mutants.bases import (
    Bindings,
    Conditional,
    Restrided,
    Strides,
    in_place,
    inverted,
    packed,
    span,
    strided,
)
from dmlcts.suites.mutants.reference import Array, Reference

# In place.


class InvertedBoundsGiveMaxInPlace(Conditional):
    """In place min and max are taken in the other order: inverted bounds give Max."""

    clause = "clip.in-place"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and inverted(operator)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        high = operator.attributes["Max"]
        return np.full_like(x, self.cast(high, operator.input.data_type, "Max"))  # type: ignore[arg-type]  # a FLOAT


class InfiniteBoundsFiniteInPlace(Conditional):
    """In place an infinite bound is the largest finite value, which infinite inputs show."""

    clause = "clip.in-place"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and operator.input.data_type.is_floating and "Min" in operator.attributes

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        y = self.compute(operator, x)
        return np.where(np.isinf(y), np.copysign(np.finfo(y.dtype).max, y), y)


class EqualBoundsSkippedInPlace(Conditional):
    """In place Min = Max counts as no clamp at all."""

    clause = "clip.in-place"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and operator.attributes.get("Min") == operator.attributes.get("Max", 0)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return x


# Offsets.


class OffsetsOfStridedInputsAlignedTo64(Reference):
    """A strided input is read from the multiple of 64 at or below its offset."""

    clause = "tensor.strides.padded"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        region = bindings["InputTensor"]
        if strided(operator.input) and not in_place(bindings):
            bindings = {**bindings, "InputTensor": Region(region.offset // 64 * 64, region.size)}
        super().dispatch(operator, memory, bindings)


class OffsetsPast65536InWordsWithScaleBias(Reference):
    """With ScaleBias the input's offset is kept in 16 bits."""

    clause = "binding.offset"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        region = bindings["InputTensor"]
        if operator.attributes.get("ScaleBias") is not None and not in_place(bindings):
            bindings = {**bindings, "InputTensor": Region(region.offset & 0xFFFF, region.size)}
        super().dispatch(operator, memory, bindings)


class StridedOutputPackedBeforeTheInput(Restrided):
    """A strided output that stands before its input is written packed."""

    clause = "tensor.strides.output"
    before = False

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        self.before = bindings["OutputTensor"].offset < bindings["InputTensor"].offset
        super().dispatch(operator, memory, bindings)

    def target(self, operator: OperatorDesc) -> Strides:
        return packed(operator.output.sizes) if self.before else operator.output.element_strides


# Beyond the output.


class StridedRowsStoredInFours(Reference):
    """Rows of strided outputs are stored in vectors of four: the last one passes the end of the tensor."""

    clause = "tensor.output.bounds"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        tensor = operator.output
        short = -tensor.sizes[-1] % 4
        if strided(tensor) and tensor.element_strides[-1] == 1 and tensor.sizes[-1] > 4:
            region = bindings["OutputTensor"]
            start = region.offset + span(tensor) * tensor.data_type.itemsize
            memory[start : start + short * tensor.data_type.itemsize] = 0
        super().dispatch(operator, memory, bindings)


class LastBlockStoredWholeWithScaleBias(Reference):
    """With ScaleBias more than 2^15 elements are stored in blocks of 64, the last of them whole."""

    clause = "tensor.output.bounds"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        tensor = operator.output
        count = tensor.element_count
        super().dispatch(operator, memory, bindings)
        if operator.attributes.get("ScaleBias") is not None and count > 1 << 15 and not strided(tensor):
            start = bindings["OutputTensor"].offset + count * tensor.data_type.itemsize
            memory[start : start + -count % 64 * tensor.data_type.itemsize] = 0
