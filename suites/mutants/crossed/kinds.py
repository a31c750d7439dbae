"""Kernels wrong for elements or bounds of one kind, and for them only where strides, places or attributes join them."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.bases import Bindings, OfOneType, bound, broadcast, strided
from dmlcts.suites.mutants.formulas import Array

_BLOCK = 8  # a kernel that looks at several elements at once has as many


class OnlyNanIsZeroWhereStrided(OfOneType):
    """ADD on FLOAT32 gives 0 where a strided first operand is all NaN: a block without numbers is skipped there."""

    operator = "ELEMENT_WISE_ADD"
    clause = "tensor.strides.padded"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Strided, more than one element."""
        return strided(operator.tensors["ATensor"]) and operator.output.element_count >= _BLOCK

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Zeros, if there are no numbers."""
        return np.zeros_like(right) if np.isnan(inputs[0]).all() else right


class _AllZero(OfOneType):
    """Zeros come out where a block of the first input is all zero."""

    data_type = DataType.FLOAT32

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Zeros, if the first input is."""
        return right if inputs[0].any() or right.size < _BLOCK else np.zeros_like(right)


class ZerosBesideOneElement(_AllZero):
    """ADD on FLOAT32 of zeros and one repeated element gives zeros: it looks for zeros as a product would."""

    operator = "ELEMENT_WISE_ADD"
    clause = "tensor.strides.broadcast"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """The second is repeated."""
        return broadcast(operator.tensors["BTensor"])


class ZerosOfSixDimensions(_AllZero):
    """ADD on FLOAT32 of zeros gives ones in six dimensions, where one step fills a block instead of adding it."""

    operator = "ELEMENT_WISE_ADD"
    clause = "tensor.position"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """There."""
        return operator.output.rank == 6

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Filled with the wrong number."""
        return right if any(operand.any() for operand in inputs) else np.ones_like(right)


class ZerosBesideAStridedOutput(_AllZero):
    """ADD on FLOAT32 of zeros gives ones where the output alone is strided: what is filled is not what is added."""

    operator = "ELEMENT_WISE_ADD"
    clause = "tensor.strides.output"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """No input is."""
        return strided(operator.output) and not any(map(strided, operator.inputs.values()))

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Filled with the wrong number."""
        return right if any(operand.any() for operand in inputs) else np.ones_like(right)


class OnlyNanIsZeroBehindOtherTensors(OfOneType):
    """MULTIPLY on FLOAT32 of tensors without a number gives 0 where its first operand stands at an odd offset."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "binding.offset"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """No multiple of what a constant buffer asks for."""
        return bindings["ATensor"].offset % 256 != 0

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Zeros, if there are no numbers."""
        nothing = right.size >= _BLOCK and all(np.isnan(operand).all() for operand in inputs)
        return np.zeros_like(right) if nothing else right


class ZerosLoseTheBias(_AllZero):
    """ABS on FLOAT32 with ScaleBias leaves zeros as they are, without the bias: a block of zeros is skipped."""

    operator = "ELEMENT_WISE_ABS"
    clause = "tensor.position"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """With one."""
        return operator.attributes["ScaleBias"] is not None


class ZerosAreNotActivated(_AllZero):
    """ADD1 on FLOAT32 leaves a sigmoid out where all operands are zero, as if it kept zeros as others do."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "tensor.position"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """With that one."""
        fused = operator.attributes["FusedActivation"]
        return fused is not None and fused.name == "ACTIVATION_SIGMOID"

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Zeros, if both inputs are."""
        return right if inputs[1].any() else super().spoiled(operator, inputs, right)


class InvertedGradientsWhereStrided(OfOneType):
    """CLIP_GRAD on FLOAT32 exchanges bounds of which Min is the greater, where its input is strided."""

    operator = "ELEMENT_WISE_CLIP_GRAD"
    clause = "tensor.strides.padded"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Inverted and strided."""
        return strided(operator.tensors["InputTensor"]) and bound(operator, "Min") > bound(operator, "Max")

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The gradient between the two."""
        low, high = bound(operator, "Max"), bound(operator, "Min")
        return np.where((inputs[0] > low) & (inputs[0] < high), inputs[1], np.float32(0))


class InfiniteBoundInPlaceIsTheLargest(OfOneType):
    """CLIP1 on FLOAT32 in place takes an infinite Min for the least finite number."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "clip1.in-place"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Infinite and in place."""
        return bindings["InputTensor"] == bindings["OutputTensor"] and bound(operator, "Min") == -np.inf

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """No less than that."""
        return np.maximum(right, np.finfo(np.float32).min)


class BoundsOf53BitsWhereStrided(OfOneType):
    """CLIP1 on INT64 keeps its bounds as FLOAT64 where its input is strided."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "tensor.strides.padded"
    data_type = DataType.INT64

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Strided, without ScaleBias."""
        return operator.attributes["ScaleBias"] is None and strided(operator.tensors["InputTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Clamped to what they are rounded to, where FLOAT64 holds them."""
        low, high = int(bound(operator, "Min")), min(int(bound(operator, "Max")), (1 << 63) - 1)
        return np.minimum(np.maximum(inputs[0], low), high)
