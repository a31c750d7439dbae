"""Layouts that go wrong together: broadcast and permuted, padded and channels last, equal sizes and strides."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.mutants.bases import (
    Displaced,
    Restrided,
    Strides,
    broadcast,
    packed,
    permuted,
    strided,
    wide,
)
from dmlcts.suites.mutants.reference import Array


def dense(tensor: TensorDesc) -> Strides:
    """Strides in the same order as the tensor's, with the same zeros, without gaps."""
    strides = tensor.element_strides
    packed_strides = [0] * tensor.rank
    step = 1
    for axis in sorted(range(tensor.rank), key=lambda axis: (strides[axis], -axis)):
        if strides[axis]:
            packed_strides[axis] = step
            step *= tensor.sizes[axis]
    return tuple(packed_strides)


def unpadded(tensor: TensorDesc) -> Strides:
    """Packed strides in row-major order, with the tensor's zeros."""
    strides = []
    step = 1
    for size, stride in zip(reversed(tensor.sizes), reversed(tensor.element_strides), strict=True):
        strides.append(step if stride else 0)
        step *= size if stride else 1
    return tuple(reversed(strides))


# Broadcasts.


class PermutedBroadcastInRowMajorOrder(Restrided):
    """Where an input is broadcast and permuted, the dimensions that are not broadcast are read in row-major order."""

    clause = "tensor.strides.broadcast"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        return unpadded(tensor) if broadcast(tensor) and permuted(tensor) else tensor.element_strides


class PaddedBroadcastWithoutGaps(Restrided):
    """Where an input is broadcast, gaps between the other dimensions are ignored."""

    clause = "tensor.strides.broadcast"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        return dense(tensor) if broadcast(tensor) else tensor.element_strides


class TwoSeparateBroadcastsJoined(Restrided):
    """Two broadcast dimensions with one between them that is not make that one broadcast as well."""

    clause = "tensor.strides.broadcast"

    def source(self, operator: OperatorDesc) -> Strides:
        strides, sizes = list(operator.input.element_strides), operator.input.sizes
        for axis in range(1, len(strides) - 1):
            around = strides[axis - 1] == strides[axis + 1] == 0 and sizes[axis - 1] > 1 and sizes[axis + 1] > 1
            strides[axis] = 0 if around else strides[axis]
        return tuple(strides)


class StridedOutputOfBroadcastPacked(Restrided):
    """Where the last dimension of the input is broadcast, the output is written packed."""

    clause = "tensor.strides.output"

    def target(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        last = tensor.sizes[-1] > 1 and not tensor.element_strides[-1]
        return packed(operator.output.sizes) if last else operator.output.element_strides


# Orders.


class PaddedChannelsLastWithoutGaps(Restrided):
    """Four dimensions in the order N, H, W, C are read as if nothing lay between them."""

    clause = "tensor.strides.permuted"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        strides = tensor.element_strides
        channels_last = tensor.rank == 4 and strides[0] >= strides[2] >= strides[3] > strides[1] == 1
        return dense(tensor) if channels_last else strides


class InnerOrderSwappedAtRank8(Restrided):
    """At rank 8 permuted inputs of five dimensions above 1, or more, are read with two of equal size swapped."""

    clause = "tensor.strides.permuted"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        strides = tensor.element_strides
        if tensor.rank < 8 or not permuted(tensor) or wide(tensor) < 5 or tensor.sizes[3] != tensor.sizes[5]:
            return strides
        return (*strides[:3], strides[5], strides[4], strides[3], *strides[6:])


class RaggedTilesNotTransposed(Displaced):
    """A transposed matrix is read in tiles of 32; the ragged corner is read as it stands."""

    clause = "tensor.strides.permuted"

    def lost_input(self, operator: OperatorDesc) -> bool:
        tensor = operator.input
        matrix = tensor.rank > 1 and min(tensor.sizes[-2:]) > 32 and tensor.sizes[-2] % 32 and tensor.sizes[-1] % 32
        return bool(matrix) and tensor.element_strides[-2] == 1 and tensor.element_strides[-1] == tensor.sizes[-2]

    def position(self, tensor: TensorDesc) -> Array:
        places = self.places(tensor)
        rows, columns = tensor.sizes[-2:]
        row, column = rows // 32 * 32, columns // 32 * 32
        corner = np.arange(rows - row)[:, None] * columns + np.arange(columns - column)
        places[..., row:, column:] = places[..., :1, :1] + corner + row * columns + column
        return places


# Gaps.


class EqualNeighboursTakenAsPacked(Restrided):
    """A dimension between two of its own size is taken as packed in a strided input."""

    clause = "tensor.strides.padded"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        sizes, own = tensor.sizes, packed(tensor.sizes)
        if not strided(tensor):
            return tensor.element_strides
        return tuple(
            own[axis] if 0 < axis < len(sizes) - 1 and sizes[axis - 1] == size == sizes[axis + 1] > 1 else stride
            for axis, (size, stride) in enumerate(zip(sizes, tensor.element_strides, strict=True))
        )


class RowsAlignedToFour(Displaced):
    """Rows of 16 elements or more are read in vectors of four, from the last position that is a multiple of four."""

    clause = "tensor.strides.padded"

    def lost_input(self, operator: OperatorDesc) -> bool:
        tensor = operator.input
        return strided(tensor) and tensor.sizes[-1] >= 16 and tensor.element_strides[-1] == 1

    def position(self, tensor: TensorDesc) -> Array:
        places = self.places(tensor)
        return places - places[..., :1] % 4


class RowTailsReadPacked(Displaced):
    """In padded rows of more than eight elements those after the last full vector of four are read as if packed."""

    clause = "tensor.strides.padded"

    def lost_input(self, operator: OperatorDesc) -> bool:
        tensor = operator.input
        long = tensor.sizes[-1] > 8 and tensor.sizes[-1] % 4
        return bool(long) and strided(tensor) and tensor.element_strides[-1] == 1

    def position(self, tensor: TensorDesc) -> Array:
        places = self.places(tensor)
        tail = tensor.sizes[-1] // 4 * 4
        own = np.arange(tensor.element_count).reshape(tensor.sizes)
        places[..., tail:] = own[..., tail:]
        return places


class ColumnTakenAsContiguous(Restrided):
    """Where the last dimension is 1, the one before it is taken as contiguous in a strided input."""

    clause = "tensor.strides.padded"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        strides = tensor.element_strides
        column = tensor.rank > 1 and tensor.sizes[-1] == 1 and tensor.sizes[-2] > 1 and strided(tensor)
        return (*strides[:-2], 1, strides[-1]) if column and strides[-2] else strides


class OddFloat16PairsAtOddStrides(Displaced):
    """FLOAT16 with an odd last stride above 1 is read in pairs; the last of an odd number repeats the one before."""

    clause = "tensor.strides.padded"

    def lost_input(self, operator: OperatorDesc) -> bool:
        tensor = operator.input
        last = tensor.element_strides[-1]
        odd = tensor.element_count % 2 == 1 and tensor.element_count > 1
        return tensor.data_type is DataType.FLOAT16 and last > 1 and last % 2 == 1 and odd

    def position(self, tensor: TensorDesc) -> Array:
        places = self.places(tensor).reshape(-1)
        places[-1] = places[-2]
        return places.reshape(tensor.sizes)


class DimensionsMergedModulo256(Restrided):
    """Two dimensions are taken as one where the outer stride fits the inner size and stride modulo 256."""

    clause = "tensor.strides.padded"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        strides = list(tensor.element_strides)
        for axis in range(tensor.rank - 2, -1, -1):
            inner = tensor.sizes[axis + 1] * strides[axis + 1]
            if tensor.sizes[axis] > 1 and strides[axis] % 256 == inner % 256:
                strides[axis] = inner
        return tuple(strides)


class ExplicitPackedStridesIn16Bits(Displaced):
    """With packed strides written out, more than 2^16 elements are read by an index of 16 bits."""

    clause = "tensor.strides.packed"

    def lost_input(self, operator: OperatorDesc) -> bool:
        tensor = operator.input
        return tensor.strides is not None and not strided(tensor) and tensor.element_count > 1 << 16

    def position(self, tensor: TensorDesc) -> Array:
        return self.places(tensor) & 0xFFFF


class RowPitchFromTheTotalSize(Restrided):
    """In a matrix with a larger total size than needed, the rows are taken to share what is left over."""

    clause = "tensor.total-size.larger"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        usual = TensorDesc(tensor.data_type, tensor.sizes, tensor.strides).total_size_in_bytes
        if wide(tensor) != 2 or tensor.total_size_in_bytes <= usual or strided(tensor):
            return tensor.element_strides
        first = next(axis for axis, size in enumerate(tensor.sizes) if size > 1)
        pitch = tensor.total_size_in_bytes // tensor.data_type.itemsize // tensor.sizes[first]
        strides = list(tensor.element_strides)
        strides[first] = pitch
        return tuple(strides)


class OutputGapsIgnoredAboveFourDimensions(Restrided):
    """Strided outputs of more than four dimensions are written without gaps, in their order."""

    clause = "tensor.strides.output"

    def target(self, operator: OperatorDesc) -> Strides:
        tensor = operator.output
        return dense(tensor) if tensor.rank > 4 and permuted(tensor) else tensor.element_strides
