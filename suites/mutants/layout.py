"""Faults of layout: ranks, strides, broadcasts, tails, and sizes beyond what a counter or a grid can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dmlcts.specs import OperatorDesc, Region, TensorDesc
from dmlcts.suites.mutants.bases import Restrided, Strides, packed
from dmlcts.suites.mutants.reference import Array, Reference

# -- ranks ---------------------------------------------------------------------------------------------


class OnlyTheLastFourDimensions(Reference):
    """Of a tensor of more than four dimensions only the first block of the last four is processed."""

    clause = "tensor.output.complete"

    def view(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        """The view at index 0 of every dimension before the last four."""
        return super().view(memory, region, tensor)[(slice(0, 1),) * max(0, tensor.rank - 4)]


class _LeadingInputStridesIgnored(Restrided):
    """Dimensions before the last ``most`` do not move the input's position."""

    most = 8

    def source(self, operator: OperatorDesc) -> Strides:
        """Zeros before the last dimensions."""
        strides = operator.input.element_strides
        kept = strides[-self.most :]
        return (0,) * (len(strides) - len(kept)) + kept


class RanksAbove4ReadFromTheirFirstBlock(_LeadingInputStridesIgnored):
    """Dimensions beyond four do not move the position at which the input is read."""

    clause = "tensor.position"
    most = 4


class RanksAbove5ReadFromTheirFirstBlock(_LeadingInputStridesIgnored):
    """Dimensions beyond five do not move the position at which the input is read."""

    clause = "tensor.position"
    most = 5


class Rank8ReadFromItsFirstBlock(_LeadingInputStridesIgnored):
    """The eighth dimension does not move the position at which the input is read."""

    clause = "tensor.position"
    most = 7


class FirstStrideOfRank8Ignored(_LeadingInputStridesIgnored):
    """With explicit strides the first stride of a rank 8 input is taken as zero."""

    clause = "tensor.strides.padded"
    most = 7

    def source(self, operator: OperatorDesc) -> Strides:
        """The fault with explicit strides only."""
        return packed(operator.input.sizes) if operator.input.strides is None else super().source(operator)


# -- strides -------------------------------------------------------------------------------------------


class InputStridesIgnored(Restrided):
    """The input is taken as packed."""

    clause = "tensor.strides.padded"
    modelled_on = "https://github.com/microsoft/DirectML/issues/588"

    def source(self, operator: OperatorDesc) -> Strides:
        """Packed."""
        return packed(operator.input.sizes)


class OutputStridesIgnored(Restrided):
    """The output is written packed."""

    clause = "tensor.strides.output"
    modelled_on = "https://github.com/pytorch/pytorch/pull/97858"

    def target(self, operator: OperatorDesc) -> Strides:
        """Packed."""
        return packed(operator.output.sizes)


class OutputStridesOfTheInput(Restrided):
    """The output is written with the input's strides."""

    clause = "tensor.strides.output"

    def target(self, operator: OperatorDesc) -> Strides:
        """The input's."""
        return operator.input.element_strides


class InputStridesOfTheOutput(Restrided):
    """The input is read with the output's strides."""

    clause = "tensor.strides.output"

    def source(self, operator: OperatorDesc) -> Strides:
        """The output's."""
        return operator.output.element_strides


class LastInputStrideIgnored(Restrided):
    """The innermost dimension of the input is taken as contiguous."""

    clause = "tensor.strides.padded"

    def source(self, operator: OperatorDesc) -> Strides:
        """A last stride of 1."""
        return (*operator.input.element_strides[:-1], 1)


class LastOutputStrideIgnored(Restrided):
    """The innermost dimension of the output is taken as contiguous."""

    clause = "tensor.strides.output"

    def target(self, operator: OperatorDesc) -> Strides:
        """A last stride of 1."""
        return (*operator.output.element_strides[:-1], 1)


class BroadcastTakenAsOne(Restrided):
    """A stride of zero on the input is taken as one."""

    clause = "tensor.strides.broadcast"

    def source(self, operator: OperatorDesc) -> Strides:
        """Ones for zeros."""
        return tuple(stride or 1 for stride in operator.input.element_strides)


class BroadcastTakenAsUnset(Restrided):
    """Strides that hold a zero are taken as not given."""

    clause = "tensor.strides.broadcast"

    def source(self, operator: OperatorDesc) -> Strides:
        """Packed where any stride is zero."""
        strides = operator.input.element_strides
        return strides if all(strides) else packed(operator.input.sizes)


class InnermostBroadcastOnly(Restrided):
    """A stride of zero works along the last dimension; along others it is taken as packed."""

    clause = "tensor.strides.broadcast"

    def source(self, operator: OperatorDesc) -> Strides:
        """Packed strides for zeros before the last dimension."""
        strides, own = operator.input.element_strides, packed(operator.input.sizes)
        return (*(stride or other for stride, other in zip(strides[:-1], own, strict=False)), strides[-1])


class SizeOneDimensionsResetStrides(Restrided):
    """A tensor with a dimension of size 1 is taken as packed."""

    clause = "tensor.strides.padded"
    modelled_on = "https://github.com/apache/tvm/issues/17529"

    def source(self, operator: OperatorDesc) -> Strides:
        """Packed where a size is 1."""
        return packed(operator.input.sizes) if 1 in operator.input.sizes else operator.input.element_strides


class SizeOneDimensionsMoveTheStart(Reference):
    """The stride of an input dimension of size 1 is added to every element's position."""

    clause = "tensor.strides.padded"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        """Move the input where it then still lies in the memory."""
        tensor, region = operator.input, bindings["InputTensor"]
        if tensor.strides is not None:
            step = sum(stride for stride, size in zip(tensor.strides, tensor.sizes, strict=True) if size == 1)
            offset = region.offset + step * tensor.data_type.itemsize
            if offset + tensor.minimum_size_in_bytes <= memory.size:
                bindings = {**bindings, "InputTensor": Region(offset, region.size)}
        super().dispatch(operator, memory, bindings)


class SizeOneBroadcastSpreads(Restrided):
    """A dimension of size 1 with a stride of zero makes all dimensions before it broadcast."""

    clause = "tensor.strides.broadcast"
    modelled_on = "https://github.com/tenstorrent/tt-torch/pull/469"

    def source(self, operator: OperatorDesc) -> Strides:
        """Zeros up to the last such dimension."""
        strides, sizes = operator.input.element_strides, operator.input.sizes
        axes = [axis for axis, size in enumerate(sizes) if size == 1 and strides[axis] == 0]
        last = max(axes, default=-1)
        return (0,) * (last + 1) + strides[last + 1 :]


class PermutedOnlyInTwoDimensions(Restrided):
    """The order of dimensions is honoured for the last two; the others are taken as packed."""

    clause = "tensor.strides.permuted"

    def source(self, operator: OperatorDesc) -> Strides:
        """Packed strides before the last two where the strides do not fall."""
        strides = operator.input.element_strides
        if list(strides) == sorted(strides, reverse=True):
            return strides
        return packed(operator.input.sizes)[:-2] + strides[-2:]


class StridesInBytes(Restrided):
    """The input's explicit strides are taken as bytes; on one-byte types that is the same."""

    clause = "tensor.strides.packed"

    def source(self, operator: OperatorDesc) -> Strides:
        """The strides divided by the element's size."""
        tensor = operator.input
        if tensor.strides is None:
            return tensor.element_strides
        return tuple(stride // tensor.data_type.itemsize for stride in tensor.strides)


class ExplicitStridesReversed(Restrided):
    """The input's explicit strides are read in the order of OpenCL or CUDA, the fastest dimension first."""

    clause = "tensor.strides.packed"

    def source(self, operator: OperatorDesc) -> Strides:
        """The other way round."""
        strides = operator.input.element_strides
        return strides if operator.input.strides is None else strides[::-1]


# -- tails and sizes -----------------------------------------------------------------------------------


class _FlatWrites(Reference):
    """The result is stored through :meth:`stored`, a selection of its flat elements."""

    def stored(self, count: int) -> slice:
        """The elements that are stored."""
        return slice(0, count)

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Store the selected elements; the others keep what was there."""
        kept = self.read(memory, region, tensor).reshape(-1)
        chosen = self.stored(kept.size)
        kept[chosen] = values.reshape(-1)[chosen]
        super().write(memory, region, tensor, kept.reshape(tensor.sizes))


class TailOf4Skipped(_FlatWrites):
    """Elements after the last full vector of four are not written."""

    clause = "tensor.output.complete"

    def stored(self, count: int) -> slice:
        """Whole vectors; a tensor shorter than one is done by another path."""
        return slice(0, count // 4 * 4 if count >= 4 else count)


class TailOf64Skipped(_FlatWrites):
    """Elements after the last full group of 64 are not written; shorter tensors are right."""

    clause = "tensor.output.complete"

    def stored(self, count: int) -> slice:
        """Whole groups."""
        return slice(0, count // 64 * 64 if count >= 64 else count)


class TailOf256SkippedOnLargeTensors(_FlatWrites):
    """Elements after the last full group of 256 are not written where there are more than 65536."""

    clause = "tensor.output.complete"

    def stored(self, count: int) -> slice:
        """Whole groups of large tensors."""
        return slice(0, count // 256 * 256 if count > 65536 else count)


class OneDispatchOfGroups64(_FlatWrites):
    """No more than 65535 groups of 64 threads are dispatched."""

    clause = "tensor.output.complete"
    modelled_on = "https://github.com/tensorflow/tfjs/pull/5432"

    def stored(self, count: int) -> slice:
        """What one dispatch holds."""
        return slice(0, 65535 * 64)


class OneDispatchOfGroups256(_FlatWrites):
    """No more than 65535 groups of 256 threads are dispatched."""

    clause = "tensor.output.complete"
    modelled_on = "https://github.com/sonos/tract/pull/2820"

    def stored(self, count: int) -> slice:
        """What one dispatch holds."""
        return slice(0, 65535 * 256)


class _FlatReads(Reference):
    """Element i of a packed input is read from index :meth:`index` of i."""

    def index(self, i: Array, sizes: Sequence[int]) -> Array:
        """The index that element i is read from."""
        return i

    def read(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        """Gather; strided tensors are read as they should be."""
        values = super().read(memory, region, tensor)
        if tensor.strides is None:
            index = self.index(np.arange(values.size), tensor.sizes)
            values = values.reshape(-1)[np.clip(index, 0, values.size - 1)].reshape(tensor.sizes)
        return values


class IndexIn16Bits(_FlatReads):
    """The input's index is kept in 16 bits."""

    clause = "tensor.position"
    modelled_on = "https://github.com/ROCm/triton/issues/944"

    def index(self, i: Array, sizes: Sequence[int]) -> Array:
        """Modulo 2^16."""
        return i & 0xFFFF


class IndexInFloat32(_FlatReads):
    """The input's index passes through FLOAT32, whose integers are exact up to 2^24."""

    clause = "tensor.position"

    def index(self, i: Array, sizes: Sequence[int]) -> Array:
        """To FLOAT32 and back."""
        return i if i.size <= 1 << 24 else i.astype(np.float32).astype(np.int64)


class RowByFloatReciprocal(_FlatReads):
    """The row of an element is its index times the reciprocal of the row's length, rounded down."""

    clause = "tensor.position"

    def index(self, i: Array, sizes: Sequence[int]) -> Array:
        """Row and column, the column wrapped into the row."""
        length = sizes[-1]
        row = (i.astype(np.float32) * np.float32(1 / length)).astype(np.int64)
        return row * length + (i - row * length) % length


class StridedOffsetIn16Bits(Reference):
    """In a strided input the position of an element is kept in 16 bits."""

    clause = "tensor.strides.padded"

    def read(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        """Gather from positions modulo 2^16."""
        values = super().read(memory, region, tensor)
        if tensor.strides is None or tensor.minimum_size_in_bytes // tensor.data_type.itemsize <= 1 << 16:
            return values
        grid = np.indices(tensor.sizes, np.int64)
        position = sum(stride * axis for stride, axis in zip(tensor.strides, grid, strict=True)) & 0xFFFF
        flat = memory[region.offset : region.offset + tensor.minimum_size_in_bytes].view(tensor.data_type.numpy)
        return flat[position]  # type: ignore[no-any-return]  # fancy indexing of an Array
