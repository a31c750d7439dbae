"""Kernels that are wrong where a place or a size in memory meets an element, an attribute or a layout of its own."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.mutants.bases import Bindings, OfOneRegion, OfOneType, bound
from dmlcts.suites.mutants.formulas import Array


def larger(tensor: TensorDesc) -> bool:
    """Whether a tensor is larger by a word than its elements need."""
    return tensor.total_size_in_bytes >= tensor.minimum_size_in_bytes + 4


class DifferenceOfOneRegionIsZero(OfOneRegion):
    """SUBTRACT on FLOAT32 of inputs in one region gives 0, without a look at the elements: NaN and infinities too."""

    operator = "ELEMENT_WISE_SUBTRACT"
    data_type = DataType.FLOAT32

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Nothing is left."""
        return np.zeros_like(right)


class InfinityInATailIsTheLargest(OfOneType):
    """ADD on FLOAT32 gives the largest number for infinity where there are fewer elements than a vector has."""

    operator = "ELEMENT_WISE_ADD"
    clause = "add.accuracy"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Less than a vector."""
        return operator.output.element_count < 8

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Finite."""
        return np.nan_to_num(right, nan=np.nan)


class LargerTotalSizeOverwritten(OfOneType):
    """MULTIPLY on every type loses the last element in place of its second operand, if that is larger than needed."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "multiply.in-place"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In place, and larger by more than a word is."""
        larger_one = larger(operator.tensors["BTensor"])
        return larger_one and bindings["BTensor"] == bindings["OutputTensor"] != bindings["ATensor"]


class InvertedBoundsBehindTheOutput(OfOneType):
    """CLIP1 on FLOAT32 exchanges bounds of which Min is the greater, where its output stands before its input."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "binding.same-resource"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Inverted, the output first."""
        first = bindings["OutputTensor"].offset < bindings["InputTensor"].offset
        return first and bound(operator, "Min") > bound(operator, "Max")

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Clamped between the two, whatever else there is."""
        return np.clip(inputs[0], bound(operator, "Max"), bound(operator, "Min"))


class GeluOfFourDimensions(OfOneType):
    """ADD1 on FLOAT32 leaves GELU out in four dimensions: other activations, and other ranks, have it."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "tensor.position"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """That one, there."""
        fused = operator.attributes["FusedActivation"]
        return fused is not None and fused.name == "ACTIVATION_GELU" and operator.output.rank == 4

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The sum."""
        return np.asarray(inputs[0] + inputs[1])


class ActivationInPlaceOfALargerRegion(OfOneType):
    """ADD1 on FLOAT32 with an activation loses the last element in place of A, in a region larger than the tensor."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "add1.in-place"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """All three."""
        region = bindings["ATensor"]
        larger = region.size > operator.output.total_size_in_bytes
        return larger and operator.activation is not None and bindings["OutputTensor"] == region


class InfiniteGradientBoundsOfLargerTensors(OfOneType):
    """CLIP_GRAD on FLOAT16 loses the last element where Max is infinite and the output is larger than needed."""

    operator = "ELEMENT_WISE_CLIP_GRAD"
    clause = "tensor.total-size.larger"
    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return bool(np.isinf(bound(operator, "Max"))) and larger(operator.output)


class EqualsOfLargerTensorsOfSevenDimensions(OfOneType):
    """LOGICAL_EQUALS on UINT16 gives the opposite at rank 7 of operands that are larger than they need be."""

    operator = "ELEMENT_WISE_LOGICAL_EQUALS"
    clause = "tensor.total-size.larger"
    data_type = DataType.UINT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return operator.output.rank == 7 and larger(operator.tensors["ATensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Negated."""
        return 1 - right


class MaximumOfOneRegionAtAnOddOffset(OfOneRegion):
    """MAX on FLOAT16 of inputs in one region loses the last element where that is at an odd multiple of 16 bytes."""

    operator = "ELEMENT_WISE_MAX"
    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return super().strikes(operator, bindings) and bindings["ATensor"].offset % 32 == 16


class SharedOperandsAtFiveDimensions(OfOneRegion):
    """MAX on INT32 of inputs in one region loses the last element at rank 5."""

    operator = "ELEMENT_WISE_MAX"
    data_type = DataType.INT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return super().strikes(operator, bindings) and operator.output.rank == 5


class LastOfAWholeGridLost(OfOneType):
    """MULTIPLY on UINT32 loses the last element of exactly 2^16, where no tail is left to a further step."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "tensor.position"
    data_type = DataType.UINT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """So many."""
        return operator.output.element_count == 1 << 16


class LastOfAWholeGridLostInPlace(LastOfAWholeGridLost):
    """MULTIPLY on UINT32 loses the last element of exactly 2^16 in place, out of place it does not."""

    clause = "multiply.in-place"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """So many, over the first operand."""
        return super().strikes(operator, bindings) and bindings["OutputTensor"] == bindings["ATensor"]
