"""Positions computed in too few bits, only with strides, ranks, types or counts that use them all."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.mutants.bases import (
    Bindings,
    Conditional,
    Displaced,
    Restrided,
    Strides,
    broadcast,
    permuted,
    span,
    strided,
    wide,
)
from dmlcts.suites.mutants.reference import Array


class _Bits(Displaced):
    """The positions of strided inputs are kept in :attr:`bits` bits, where :meth:`when` holds."""

    clause = "tensor.strides.padded"
    bits = 24

    def when(self, tensor: TensorDesc) -> bool:
        return strided(tensor)

    def lost_input(self, operator: OperatorDesc) -> bool:
        return self.when(operator.input) and span(operator.input) > 1 << self.bits

    def position(self, tensor: TensorDesc) -> Array:
        return self.places(tensor) & ((1 << self.bits) - 1)


class StridedPositionsModulo2To24(_Bits):
    """Positions in strided inputs are computed modulo 2^24."""


class OutputPositionsModulo2To24(_Bits):
    """Positions in strided outputs are computed modulo 2^24."""

    clause = "tensor.strides.output"

    def lost_input(self, operator: OperatorDesc) -> bool:
        return False

    def lost_output(self, operator: OperatorDesc) -> bool:
        return strided(operator.output) and span(operator.output) > 1 << self.bits


class PermutedPositionsIn20Bits(_Bits):
    """Positions in permuted inputs are computed modulo 2^20."""

    clause = "tensor.strides.permuted"
    bits = 20

    def when(self, tensor: TensorDesc) -> bool:
        return permuted(tensor)


class PositionsIn16BitsAboveFourDimensions(_Bits):
    """Positions in strided inputs of more than four dimensions are computed modulo 2^16."""

    bits = 16

    def when(self, tensor: TensorDesc) -> bool:
        return strided(tensor) and tensor.rank > 4


class WideByteOffsetsIn26Bits(_Bits):
    """Byte offsets into strided 64-bit tensors are computed modulo 2^26."""

    bits = 23

    def when(self, tensor: TensorDesc) -> bool:
        return strided(tensor) and tensor.data_type.itemsize == 8


class StridedPositionsInFloat32(_Bits):
    """Positions in strided inputs pass through FLOAT32, whose integers are exact up to 2^24."""

    def position(self, tensor: TensorDesc) -> Array:
        return self.places(tensor).astype(np.float32).astype(np.int64)


class HalvedFloat16PositionsIn16Bits(_Bits):
    """FLOAT16 is read in words of two, whose index has 16 bits on more than four dimensions."""

    clause = "tensor.position"
    bits = 17

    def when(self, tensor: TensorDesc) -> bool:
        return tensor.data_type is DataType.FLOAT16 and tensor.rank > 4


class _Strides(Restrided):
    """The strides of strided tensors lose bits."""

    clause = "tensor.strides.padded"

    def kept(self, stride: int) -> int:
        return stride & 0xFFFF

    def source(self, operator: OperatorDesc) -> Strides:
        strides = operator.input.element_strides
        return tuple(map(self.kept, strides)) if strided(operator.input) else strides


class InputStridesIn16Bits(_Strides):
    """Strides of strided inputs are kept in 16 bits."""


class Mul24OfStridesAndCoordinates(_Strides):
    """Strides of strided inputs are multiplied with their lower 24 bits alone."""

    def kept(self, stride: int) -> int:
        return stride & 0xFFFFFF


class OutputStridesSaturateAt32767(Restrided):
    """Strides of strided outputs are kept in signed 16 bits, and saturate."""

    clause = "tensor.strides.output"

    def target(self, operator: OperatorDesc) -> Strides:
        strides = operator.output.element_strides
        return tuple(min(stride, 32767) for stride in strides) if strided(operator.output) else strides


class _Coordinates(Displaced):
    """Coordinates lose bits before they meet the strides."""

    clause = "tensor.strides.padded"
    bits = 16

    def places(self, tensor: TensorDesc) -> Array:
        positions = np.zeros(tensor.sizes, np.int64)
        for axis, (size, stride) in enumerate(zip(tensor.sizes, tensor.element_strides, strict=True)):
            shape = [1] * tensor.rank
            shape[axis] = size
            positions += ((np.arange(size, dtype=np.int64) & ((1 << self.bits) - 1)) * stride).reshape(shape)
        return positions

    def position(self, tensor: TensorDesc) -> Array:
        return self.places(tensor)

    def lost_input(self, operator: OperatorDesc) -> bool:
        return strided(operator.input) and max(operator.input.sizes) > 1 << self.bits


class CoordinatesIn16BitsWithStrides(_Coordinates):
    """In strided inputs a coordinate has 16 bits."""


class CoordinatesIn8BitsAtRank8(_Coordinates):
    """At rank 8 a coordinate has 8 bits, so that all fit into one 64-bit word."""

    clause = "tensor.position"
    bits = 8

    def lost_input(self, operator: OperatorDesc) -> bool:
        return operator.input.rank == 8 and max(operator.input.sizes) > 1 << self.bits


class BroadcastIndexIn16Bits(Displaced):
    """A broadcast input is read by the element's index modulo 2^16."""

    clause = "tensor.strides.broadcast"

    def lost_input(self, operator: OperatorDesc) -> bool:
        return broadcast(operator.input) and operator.input.element_count > 1 << 16

    def position(self, tensor: TensorDesc) -> Array:
        flat = self.places(tensor).reshape(-1)
        return flat[np.arange(flat.size) & 0xFFFF].reshape(tensor.sizes)


class RowByFloatReciprocalAboveFourDimensions(Displaced):
    """Above four dimensions and 2^16 elements the row of an element is its index times a FLOAT32 reciprocal."""

    clause = "tensor.position"

    def lost_input(self, operator: OperatorDesc) -> bool:
        return operator.input.rank > 4 and operator.input.element_count > 1 << 16 and not strided(operator.input)

    def position(self, tensor: TensorDesc) -> Array:
        index, length = np.arange(tensor.element_count, dtype=np.int64), tensor.sizes[-1]
        row = (index.astype(np.float32) * np.float32(1 / length)).astype(np.int64)
        return (row * length + (index - row * length) % length).reshape(tensor.sizes)


class _Unwritten(Conditional):
    """Some elements are not written."""

    clause = "tensor.output.complete"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        if not self.strikes(operator, bindings):
            super().dispatch(operator, memory, bindings)
            return
        region = bindings["OutputTensor"]
        before = self.read(memory, region, operator.output).reshape(-1)
        super().dispatch(operator, memory, bindings)
        after = self.read(memory, region, operator.output).reshape(-1)
        where = self.struck(operator, after.size)
        after[where] = before[where]
        self.write(memory, region, operator.output, after.reshape(operator.output.sizes))


class RowsPast65535NotWritten(_Unwritten):
    """A grid has 65535 rows: of tensors with longer columns and rows of several elements, the rest is not written."""

    clause = "tensor.position"  # as a row of as many elements it is written

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        tensor = operator.output
        return wide(tensor) > 1 and tensor.sizes[-1] > 1 and tensor.element_count // tensor.sizes[-1] > 65535

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(65535 * operator.output.sizes[-1], count)


class StridedLoopSkipsItsSecondStart(_Unwritten):
    """The loop over strided outputs goes on after 2^16 elements with the one after the next."""

    clause = "tensor.strides.output"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.output) and operator.output.element_count > 1 << 16

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(1 << 16, (1 << 16) + 1)


class LastElementOfScaledGridsNotWritten(_Unwritten):
    """With ScaleBias the last element of more than 2^15 is not written where there is one beyond a full group of 64."""

    clause = "tensor.output.complete"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        count = operator.output.element_count
        return operator.attributes.get("ScaleBias") is not None and count > 1 << 15 and count % 64 == 1

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count - 1, count)
