"""Faults of memory: aliasing, bytes beyond the output, inputs that are written, offsets that are not honoured."""

from __future__ import annotations

import numpy as np

from dmlcts.backends import ExecutionFailed
from dmlcts.specs import OperatorDesc, Region, TensorDesc
from dmlcts.suites.mutants.bases import Bindings, in_place
from dmlcts.suites.mutants.reference import Array, Reference


def moved(bindings: Bindings, name: str, offset: int) -> dict[str, Region]:
    """The bindings with one region moved to ``offset``."""
    return {**bindings, name: Region(offset, bindings[name].size)}


# -- aliasing ------------------------------------------------------------------------------------------


class OutputClearedFirst(Reference):
    """The output is cleared before the input is read, which loses the input in place."""

    clause = "clip.in-place"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Clear, then run."""
        self.view(memory, bindings["OutputTensor"], operator.output)[...] = 0
        super().dispatch(operator, memory, bindings)


class InPlaceNotWrittenBack(Reference):
    """In place the result stays in a temporary copy."""

    clause = "clip.in-place"
    modelled_on = "https://github.com/pytorch/pytorch/pull/165267"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run on a copy where the tensors alias."""
        super().dispatch(operator, memory.copy() if in_place(bindings) else memory, bindings)


class InPlaceRoundNotWrittenBack(InPlaceNotWrittenBack):
    """ROUND in place leaves its result in a temporary copy; the other operators are right."""

    clause = "round.in-place"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """The fault on ROUND alone."""
        run = super().dispatch if operator.name == "ELEMENT_WISE_ROUND" else super(InPlaceNotWrittenBack, self).dispatch
        run(operator, memory, bindings)


class InPlaceReadsItsOwnResults(Reference):
    """In place the elements after the last full block of 64 are done again, from what was written for them."""

    clause = "clip.in-place"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run, and run the tail again in place."""
        super().dispatch(operator, memory, bindings)
        count = operator.input.element_count
        if in_place(bindings) and count % 64 and operator.input.strides is None:
            with np.errstate(all="ignore"):
                region = bindings["OutputTensor"]
                values = self.read(memory, region, operator.output).reshape(-1)
                values[-(count % 64) :] = self.compute(operator, values[-(count % 64) :])
                self.write(memory, region, operator.output, values.reshape(operator.output.sizes))


class InPlaceWrongOnUint8(Reference):
    """In place on UINT8 every word of four is computed from its own first element."""

    clause = "threshold.in-place"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Spread each word's first byte over the word, then run."""
        if in_place(bindings) and operator.input.data_type.name == "UINT8":
            region = bindings["InputTensor"]
            words = memory[region.offset : region.offset + operator.input.minimum_size_in_bytes // 4 * 4].reshape(-1, 4)
            words[...] = words[:, :1]
        super().dispatch(operator, memory, bindings)


class InPlaceStridesIgnored(Reference):
    """In place the tensors are taken as packed, whatever their strides."""

    clause = "round.in-place"
    modelled_on = "https://github.com/NVIDIA/Fuser/issues/5356"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Drop the strides where the tensors alias; padding is never too short for a packed tensor."""
        if in_place(bindings):
            packed = TensorDesc(operator.input.data_type, operator.input.sizes)
            operator = OperatorDesc(operator.name, dict.fromkeys(operator.tensors, packed), operator.attributes)
        super().dispatch(operator, memory, bindings)


class SharedPageTakenForAliasing(Reference):
    """Tensors that meet in one page of 256 bytes are taken for overlapping, and the dispatch fails."""

    clause = "binding.same-resource"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Compare pages where bytes are meant."""
        first, second = sorted(bindings.values(), key=lambda region: region.offset)
        if not in_place(bindings) and (first.end - 1) // 256 >= second.offset // 256:
            raise ExecutionFailed("input and output overlap")
        super().dispatch(operator, memory, bindings)


class OutputPagesClearedFirst(Reference):
    """The output's region is cleared in pages of 256 bytes before the input is read."""

    clause = "tensor.output.bounds"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Clear whole pages, out of place only."""
        region = bindings["OutputTensor"]
        if not in_place(bindings):
            memory[region.offset // 256 * 256 : -(-region.end // 256) * 256] = 0
        super().dispatch(operator, memory, bindings)


class NeighbourSharesTheLastWord(Reference):
    """Where the output directly follows the input, the input's last word is read after the output was written."""

    clause = "binding.same-resource"

    def read(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        """The elements, with the last one taken from behind where the next tensor stands there."""
        values = super().read(memory, region, tensor)
        if self.adjacent and values.size > 1:
            values.reshape(-1)[-1] = values.reshape(-1)[-2]
        return values

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Note whether the tensors touch."""
        first, second = sorted(bindings.values(), key=lambda region: region.offset)
        self.adjacent = not in_place(bindings) and second.offset - first.end < 16
        super().dispatch(operator, memory, bindings)


# -- writes beyond the output --------------------------------------------------------------------------


class OneBytePastTheEnd(Reference):
    """One byte after the output's total size is cleared."""

    clause = "tensor.output.bounds"

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Write, and one byte more."""
        super().write(memory, region, tensor, values)
        memory[region.offset + tensor.total_size_in_bytes] = 0


class OneElementPastTheEnd(Reference):
    """A loop that runs to ``<= count`` writes one element too many."""

    clause = "tensor.output.bounds"

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Write, and the last element once more behind itself."""
        super().write(memory, region, tensor, values)
        end, item = region.offset + tensor.minimum_size_in_bytes, tensor.data_type.itemsize
        memory[end : end + item] = memory[end - item : end]


class _VectorStores(Reference):
    """The last store is rounded up to ``width`` bytes."""

    width = 4

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Write, and clear up to the end of the last store."""
        super().write(memory, region, tensor, values)
        end = region.offset + tensor.minimum_size_in_bytes
        memory[end : region.offset + -(-tensor.minimum_size_in_bytes // self.width) * self.width] = 0


class LastStoreOf8Bytes(_VectorStores):
    """The last store covers eight bytes, past a total size that is a multiple of four."""

    clause = "tensor.output.bounds"
    width = 8


class LastStoreOf16Bytes(_VectorStores):
    """The last store covers sixteen bytes, past a total size that is a multiple of four."""

    clause = "tensor.output.bounds"
    width = 16


class ByteBeforeTheStart(Reference):
    """The byte before the output is cleared."""

    clause = "tensor.output.bounds"

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Write, and one byte before."""
        super().write(memory, region, tensor, values)
        memory[region.offset - 1] = 0


class NeighbourPaddingCleared(Reference):
    """The output is cleared up to the next multiple of 16, where the next tensor's alignment begins."""

    clause = "tensor.output.bounds"

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Write, and clear what lies between the output and the next aligned tensor."""
        super().write(memory, region, tensor, values)
        end = region.offset + tensor.total_size_in_bytes
        memory[end : -(-end // 16) * 16] = 0


class SlackCleared(Reference):
    """All of the bound region is cleared, though the tensor's total size is smaller."""

    clause = "tensor.output.bounds"

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Write, and clear the rest of the region."""
        super().write(memory, region, tensor, values)
        memory[region.offset + tensor.total_size_in_bytes : region.end] = 0


# -- the input -----------------------------------------------------------------------------------------


class InputClampedInPlace(Reference):
    """The result is written to the input as well, which served as scratch memory."""

    clause = "tensor.input.unchanged"
    modelled_on = "https://github.com/ggml-org/ggml/issues/1416"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Write to both."""
        super().dispatch(operator, memory, bindings)
        if 0 not in operator.input.element_strides:
            self.write(
                memory,
                bindings["InputTensor"],
                operator.input,
                self.read(memory, bindings["OutputTensor"], operator.output),
            )


class InputPaddingCleared(Reference):
    """The gaps between the input's elements are cleared."""

    clause = "tensor.input.unchanged"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Clear the input but for its elements, then run."""
        if not in_place(bindings):
            region, tensor = bindings["InputTensor"], operator.input
            kept = self.read(memory, region, tensor)
            memory[region.offset : region.offset + tensor.total_size_in_bytes] = 0
            self.write(memory, region, tensor, kept)
        super().dispatch(operator, memory, bindings)


class OnlyChangedElementsWritten(Reference):
    """Elements that the operator does not change are not stored, as if the output always held the input."""

    clause = "tensor.output.complete"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Store where input and result differ."""
        x = self.read(memory, bindings["InputTensor"], operator.input)
        with np.errstate(all="ignore"):
            y = self.compute(operator, x)
        view = self.view(memory, bindings["OutputTensor"], operator.output)
        np.copyto(view, y, where=x != y)


# -- offsets -------------------------------------------------------------------------------------------


class InputOffsetIgnored(Reference):
    """The input is read from the beginning of the resource."""

    clause = "binding.offset"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Read from offset 0."""
        super().dispatch(operator, memory, moved(bindings, "InputTensor", 0))


class OutputOffsetIgnored(Reference):
    """The output is written to the beginning of the resource."""

    clause = "tensor.output.bounds"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Write to offset 0."""
        super().dispatch(operator, memory, moved(bindings, "OutputTensor", 0))


class _OffsetRoundedDown(Reference):
    """The input's offset is rounded down to a multiple of ``step``."""

    step = 16

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Round the offset down."""
        offset = bindings["InputTensor"].offset // self.step * self.step
        super().dispatch(operator, memory, moved(bindings, "InputTensor", offset))


class InputOffsetRoundedTo32(_OffsetRoundedDown):
    """The input's offset is rounded down to a multiple of 32."""

    clause = "binding.offset"
    step = 32


class InputOffsetRoundedTo64(_OffsetRoundedDown):
    """The input's offset is rounded down to a multiple of 64."""

    clause = "binding.offset"
    step = 64


class InputOffsetRoundedTo256(_OffsetRoundedDown):
    """The input's offset is rounded down to a multiple of 256, the storage buffer alignment of many devices."""

    clause = "binding.offset"
    step = 256


class OutputOffsetRoundedTo256(Reference):
    """The output's offset is rounded down to a multiple of 256."""

    clause = "tensor.output.bounds"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Round the offset down."""
        offset = bindings["OutputTensor"].offset // 256 * 256
        super().dispatch(operator, memory, moved(bindings, "OutputTensor", offset))


class InputOffsetIn16Bits(Reference):
    """The input's offset is kept in 16 bits."""

    clause = "binding.offset"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Drop the upper bits."""
        offset = bindings["InputTensor"].offset & 0xFFFF
        super().dispatch(operator, memory, moved(bindings, "InputTensor", offset))


class OutputOffsetOfTheInput(Reference):
    """The output is written at the input's offset."""

    clause = "tensor.input.unchanged"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Use one offset for both, where the output fits there."""
        offset = bindings["InputTensor"].offset
        if offset + operator.output.minimum_size_in_bytes <= memory.size:
            bindings = moved(bindings, "OutputTensor", offset)
        super().dispatch(operator, memory, bindings)


class LargerTotalSizeShiftsInput(Reference):
    """The input's elements are looked for against the end of a total size that is larger than needed."""

    clause = "tensor.total-size.larger"

    def read(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        """Read from where the excess ends."""
        needed = TensorDesc(tensor.data_type, tensor.sizes, tensor.strides).total_size_in_bytes
        return super().read(memory, Region(region.offset + tensor.total_size_in_bytes - needed, region.size), tensor)
