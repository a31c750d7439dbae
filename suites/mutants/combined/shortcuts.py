"""Shortcuts that a kernel takes where they seem safe, a copy or a packed path, and the second thing that they miss."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.mutants.bases import (
    Bindings,
    Conditional,
    Displaced,
    Restrided,
    Strides,
    changed,
    in_place,
    packed,
    permuted,
    scaled,
    span,
    strided,
)
from dmlcts.suites.mutants.reference import Array, Kernel, Reference


def _bounds(operator: OperatorDesc) -> list[float]:
    return [float(value) for value in operator.attributes.values() if isinstance(value, np.float32)]


# Attributes that make another kernel run.


class _Shortcut(Conditional):
    """Where :meth:`when` holds, ScaleBias has no effect."""

    def when(self, operator: OperatorDesc) -> bool:
        raise NotImplementedError

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return scaled(operator) and self.when(operator)

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, ScaleBias=None)


class IntegersWithAnOpenBoundUnscaled(_Shortcut):
    """Where an integer bound lies outside the type, the kernel that leaves that side open has no ScaleBias."""

    clause = "clip.scale-bias.integer"

    def when(self, operator: OperatorDesc) -> bool:
        if operator.input.data_type.is_floating:
            return False
        limits = np.iinfo(operator.input.data_type.numpy)
        return any(not limits.min <= np.trunc(bound) <= limits.max for bound in _bounds(operator))


class InfiniteMaxUnscaled(_Shortcut):
    """With an infinite Max CLIP runs as another kernel, which has no ScaleBias."""

    clause = "clip.scale-bias"

    def when(self, operator: OperatorDesc) -> bool:
        return operator.attributes.get("Max", 0) == np.float32(np.inf) and operator.input.data_type.is_floating


class NegativeZeroMinUnscaled(_Shortcut):
    """Min = -0 runs as a rectifier, which has no ScaleBias."""

    clause = "clip.scale-bias"

    def when(self, operator: OperatorDesc) -> bool:
        low = operator.attributes.get("Min", 1)
        return low == 0 and bool(np.signbit(low)) and operator.input.data_type.is_floating  # type: ignore[arg-type]


class LargestMaxIsNoneWithStrides(Conditional):
    """On strided inputs a Max that is the largest finite value counts as none: infinity passes."""

    clause = "tensor.strides.padded"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        tensor = operator.input
        if not tensor.data_type.is_floating or not strided(tensor):
            return False
        return float(operator.attributes.get("Max", 0)) == float(np.finfo(tensor.data_type.numpy).max)  # type: ignore[arg-type]

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, Max=np.float32(np.inf))


class SubnormalFloat16BoundsZeroWithStrides(Conditional):
    """On strided inputs a FLOAT16 bound below the smallest normal number is zero; Direct3D keeps them."""

    clause = "tensor.strides.padded"

    def small(self, operator: OperatorDesc) -> list[str]:
        least = np.finfo(np.float16).smallest_normal
        return [name for name in ("Min", "Max") if 0 < abs(float(operator.attributes.get(name, 0))) < least]  # type: ignore[arg-type]

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.data_type is DataType.FLOAT16 and strided(operator.input) and bool(self.small(operator))

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, **dict.fromkeys(self.small(operator), np.float32(0)))


class SubnormalFloat16BoundsZeroInPlace(SubnormalFloat16BoundsZeroWithStrides):
    """In place a FLOAT16 bound below the smallest normal number is zero."""

    clause = "clip.in-place"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.data_type is DataType.FLOAT16 and in_place(bindings) and bool(self.small(operator))


# Layouts that seem packed.


class SquaresSeemSymmetric(Restrided):
    """A permuted input whose last two sizes are equal is read with packed strides: its transpose looks the same."""

    clause = "tensor.strides.permuted"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        square = tensor.rank > 1 and tensor.sizes[-1] == tensor.sizes[-2] > 1 and permuted(tensor)
        return packed(tensor.sizes) if square and span(tensor) == tensor.element_count else tensor.element_strides


class LargerTotalSizesSeemPacked(Restrided):
    """Strided inputs whose total size is larger than it has to be are read with packed strides."""

    clause = "tensor.strides.padded"

    def source(self, operator: OperatorDesc) -> Strides:
        tensor = operator.input
        usual = TensorDesc(tensor.data_type, tensor.sizes, tensor.strides).total_size_in_bytes
        return packed(tensor.sizes) if tensor.total_size_in_bytes > usual else tensor.element_strides


class StridesOfTheOutputWhereBothAreStrided(Restrided):
    """Where both tensors are strided, the input is read with the output's strides."""

    clause = "tensor.strides.output"

    def source(self, operator: OperatorDesc) -> Strides:
        own, other = operator.input, operator.output
        fits = span(other) <= span(own)
        return other.element_strides if strided(own) and strided(other) and fits else own.element_strides


class WideByteOffsetsIn27Bits(Displaced):
    """Byte offsets into strided 64-bit inputs are computed modulo 2^27."""

    clause = "tensor.strides.padded"
    needs = "full"

    def lost_input(self, operator: OperatorDesc) -> bool:
        tensor = operator.input
        return strided(tensor) and tensor.data_type.itemsize == 8 and span(tensor) > 1 << 24

    def position(self, tensor: TensorDesc) -> Array:
        return self.places(tensor) & ((1 << 24) - 1)


# Places in the resource.


class TailLostAtOddOffsets(Conditional):
    """At an offset that is no multiple of 32 bytes, what is left after vectors of four is copied."""

    clause = "binding.offset"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return bindings["InputTensor"].offset % 32 != 0 and operator.input.element_count % 4 != 0

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count - count % 4, count)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return x


class OutputFirstUnscaled(_Shortcut):
    """Where the output stands before the input, ScaleBias has no effect."""

    clause = "binding.same-resource"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return scaled(operator) and bindings["OutputTensor"].offset < bindings["InputTensor"].offset


# Histories.


class UnscaledAtTheSecondDispatchInPlace(Reference):
    """A kernel that ran before has no ScaleBias where it runs in place."""

    clause = "execution.repeatable"

    def __init__(self) -> None:
        self.ran: set[int] = set()

    def create(self, operator: OperatorDesc) -> Kernel:
        kernel = super().create(operator)
        kernel.operator = changed(operator)  # an object of its own, by which its dispatches are known
        self.ran.discard(id(kernel.operator))
        return kernel

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        again = id(operator) in self.ran and in_place(bindings)
        self.ran.add(id(operator))
        super().dispatch(changed(operator, ScaleBias=None) if again else operator, memory, bindings)


# Shapes.


class TiesUpInOddRows(Conditional):
    """In rows of an odd length, one of several, ROUND to nearest takes ties upwards."""

    clause = "tensor.position"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        sizes = operator.input.sizes
        odd = sizes[-1] % 2 == 1 and 1 < sizes[-1] < operator.input.element_count
        return odd and operator.attributes.get("RoundingMode") == "HALVES_TO_NEAREST_EVEN"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        tie = np.abs(x - np.trunc(x)) == 0.5
        return np.where(tie, np.ceil(x), self.compute(operator, x))


class MaxLostOfASingleElementAtRank8(Conditional):
    """At rank 8 a tensor of one element is not clamped from above."""

    clause = "tensor.position"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        tensor = operator.input
        return tensor.rank == 8 and tensor.element_count == 1 and "Max" in operator.attributes

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return self.compute(changed(operator, Max=np.float32(np.inf)), x)
