"""Kernels that are wrong for inputs that are alike, shared, special or many where others of their type are right."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.bases import Bindings, OfOneRegion, OfOneType, broadcast, strided
from dmlcts.suites.mutants.formulas import Array


class AllFalseTakesTheFirst(OfOneType):
    """IF on FLOAT32 takes A where a block of conditions is all false: it counts those that hold, 0 of none read."""

    operator = "ELEMENT_WISE_IF"
    clause = "tensor.position"
    data_type = DataType.UINT8

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Of FLOAT32 alone."""
        alike = inputs[1].dtype == np.float32 and right.size >= 8 and not inputs[0].any()
        return inputs[1] if alike else right


class OnlyNanIsNoNan(OfOneType):
    """IS_NAN on FLOAT16 finds no NaN in a tensor that holds nothing else: its minimum and maximum are compared."""

    operator = "ELEMENT_WISE_IS_NAN"
    clause = "is-nan.formula"
    data_type = DataType.FLOAT16

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Nowhere."""
        return np.zeros_like(right) if right.all() else right


class PayloadOfEightBits(OfOneType):
    """IS_NAN on FLOAT32 takes a NaN for an infinity whose payload has one bit from 8 to 20: it looks at the others."""

    operator = "ELEMENT_WISE_IS_NAN"
    clause = "is-nan.formula"
    data_type = DataType.FLOAT32

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """By the bits."""
        return np.where(inputs[0].view(np.uint32) & np.uint32(0x0060_00FF), right, 0)


class AllPositiveLosesTheLast(OfOneType):
    """MULTIPLY on FLOAT32 loses the last product where all operands are positive numbers: the block without signs."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "tensor.position"
    data_type = DataType.FLOAT32

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The last one, if there are eight."""
        plain = right.size >= 8 and all(np.isfinite(operand).all() and (operand > 0).all() for operand in inputs)
        return super().spoiled(operator, inputs, right) if plain else right


class SharedRegionReadOnce(OfOneRegion):
    """MULTIPLY on FLOAT32 of inputs in one region squares all but the last element: a path of its own for squares."""

    operator = "ELEMENT_WISE_MULTIPLY"
    data_type = DataType.FLOAT32


class OverlappingRegionCopied(OfOneType):
    """ADD on every type takes B for A where their regions overlap in part: it keeps one range of the resource."""

    operator = "ELEMENT_WISE_ADD"
    clause = "binding.same-resource"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Where one begins within the other."""
        first_region, other = sorted((bindings["ATensor"], bindings["BTensor"]), key=lambda region: region.offset)
        return first_region.offset < other.offset < first_region.end

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The second operand twice."""
        return np.asarray(inputs[1] + inputs[1])


class BothBroadcastAreOne(OfOneType):
    """IF on FLOAT32 whose A and B are both broadcast takes A's first element for all: it folds them to constants."""

    operator = "ELEMENT_WISE_IF"
    clause = "tensor.strides.broadcast"
    data_type = DataType.UINT8

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both, of that type."""
        values = [tensor for name, tensor in operator.inputs.items() if name != "ConditionTensor"]
        return all(broadcast(operand) and operand.data_type is DataType.FLOAT32 for operand in values)


class InfinityInPlaceIsTheLargest(OfOneType):
    """MULTIPLY on FLOAT32, in place of its second operand, gives the largest number for infinity."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "multiply.in-place"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In place of the second alone."""
        return bindings["BTensor"] == bindings["OutputTensor"] != bindings["ATensor"]

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Finite."""
        return np.nan_to_num(right, nan=np.nan)


class NanBroadcastIsZero(OfOneType):
    """MIN on FLOAT32 with a broadcast second input gives 0 where both are NaN."""

    operator = "ELEMENT_WISE_MIN"
    clause = "tensor.strides.broadcast"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Broadcast."""
        return broadcast(operator.tensors["BTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """NaN becomes 0."""
        return np.nan_to_num(right, nan=0, posinf=np.inf, neginf=-np.inf)


class IndexOfSeventeenBits(OfOneType):
    """MAX on FLOAT32 leaves 0 behind the 2^17th element: an index of 17 bits, on one type."""

    operator = "ELEMENT_WISE_MAX"
    clause = "tensor.position"
    data_type = DataType.FLOAT32

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Behind it."""
        return np.where(np.arange(right.size).reshape(right.shape) >> 17, 0, right)


class PaddedOperandInPlace(OfOneType):
    """ADD on FLOAT16, in place of the first operand, loses the last element where the second is padded."""

    operator = "ELEMENT_WISE_ADD"
    clause = "add.in-place"
    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """The first packed, the second with gaps and not broadcast."""
        second = operator.tensors["BTensor"]
        first = bindings["ATensor"] == bindings["OutputTensor"] and not strided(operator.tensors["ATensor"])
        return first and strided(second) and not broadcast(second)


class _Threes(OfOneType):
    """Every result is 3."""

    data_type = DataType.FLOAT32

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """One and the same."""
        return np.full_like(right, 3)


class ScaleBiasPastManyElements(_Threes):
    """CLIP1 on FLOAT32 with ScaleBias gives 3 in tensors of 2^15 elements and more: the kernel for many lacks it."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "tensor.position"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Many."""
        return operator.attributes["ScaleBias"] is not None and operator.output.element_count >= 1 << 15


class ScaleBiasOfABroadcastBase(_Threes):
    """POW on FLOAT32 with ScaleBias gives 3 where its base is broadcast and its exponent is not."""

    operator = "ELEMENT_WISE_POW"
    clause = "tensor.strides.broadcast"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """The base alone."""
        base, exponent = (broadcast(operator.tensors[name]) for name in ("InputTensor", "ExponentTensor"))
        return operator.attributes["ScaleBias"] is not None and base and not exponent


class ActivationOfSomeRanks(OfOneType):
    """ADD1 on FLOAT32 leaves its activation out from two dimensions to seven: kernels of one and of eight have it."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "tensor.position"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Fused, in between."""
        return operator.attributes["FusedActivation"] is not None and 2 <= operator.output.rank <= 7

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The sum."""
        return np.asarray(inputs[0] + inputs[1])


class FifthPowerIsTheFourth(OfOneType):
    """CONSTANT_POW on FLOAT32 takes 5 for 4: two squarings, and the last product is left out."""

    operator = "ELEMENT_WISE_CONSTANT_POW"
    clause = "constant-pow.accuracy"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Without ScaleBias."""
        return operator.attributes["Exponent"] == 5 and operator.attributes["ScaleBias"] is None

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Squared twice."""
        return np.asarray((inputs[0] * inputs[0]) ** 2)


class RepeatedRowsWithoutTheirGaps(OfOneType):
    """MIN on UINT32 loses the last element where B repeats rows whose elements stand apart."""

    operator = "ELEMENT_WISE_MIN"
    clause = "tensor.strides.broadcast"
    data_type = DataType.UINT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """A stride of 0 outside, one of more than 1 inside."""
        tensor = operator.tensors["BTensor"]
        strides, sizes = tensor.element_strides, tensor.sizes
        return strides[0] == 0 and sizes[0] > 1 and strides[-1] > 1 and sizes[-1] > 1
