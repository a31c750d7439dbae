"""Kernels that are wrong in a shortcut for what networks do every day, and right wherever they do not take it."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.mutants.bases import Bindings, OfOneType, larger, moving, padded, permuted
from dmlcts.suites.mutants.formulas import Array


def one_for_all(tensor: TensorDesc) -> bool:
    """Whether the only element that is stored stands for several."""
    return tensor.element_count > 1 and not moving(tensor)


def one_a_channel(tensor: TensorDesc) -> bool:
    """Whether elements differ along one dimension alone, and others are before and behind it."""
    wide = [stride for size, stride in zip(tensor.sizes, tensor.element_strides, strict=True) if size > 1]
    return len(wide) > 2 and not wide[0] and not wide[-1] and any(wide)


class _OneSecond(OfOneType):
    """One element is the second operand of all."""

    clause = "tensor.strides.broadcast"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """B is one for all."""
        return one_for_all(operator.tensors["BTensor"])


class QuotientByAShift(_OneSecond):
    """DIVIDE on INT16 by one power of two for all shifts: negative quotients are rounded down, not toward zero."""

    operator = "ELEMENT_WISE_DIVIDE"
    data_type = DataType.INT16

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Rounded down."""
        divisor = int(inputs[1].flat[0])
        return np.asarray(inputs[0] >> (divisor.bit_length() - 1)) if divisor > 0 == divisor & divisor - 1 else right


class ComplementForTheOpposite(_OneSecond):
    """MULTIPLY on INT8 by one -1 for all gives the complement: the 1 that makes an opposite of it is left out."""

    operator = "ELEMENT_WISE_MULTIPLY"
    data_type = DataType.INT8

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """One less."""
        return ~inputs[0] if inputs[1].flat[0] == -1 else right


class OneCountOfFiveBits(_OneSecond):
    """BIT_SHIFT_LEFT on UINT64 by one count for all takes five bits of it, as a constant shift of 32 bits would."""

    operator = "ELEMENT_WISE_BIT_SHIFT_LEFT"
    data_type = DataType.UINT64

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """By less, where the count is one that a shift of 64 bits may have."""
        return np.where(inputs[1] < 64, inputs[0] << (inputs[1] & np.uint64(31)), right)


class OneThresholdAsADouble(OfOneType):
    """LOGICAL_LESS_THAN on UINT64 compares one first operand for all in FLOAT64, where it is a constant."""

    operator = "ELEMENT_WISE_LOGICAL_LESS_THAN"
    clause = "tensor.strides.broadcast"
    data_type = DataType.UINT64

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """A is one for all."""
        return one_for_all(operator.tensors["ATensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Rounded first."""
        return np.asarray(inputs[0].astype(np.float64) < inputs[1].astype(np.float64))


class BiasOfChannelsInPlace(OfOneType):
    """SUBTRACT on FLOAT16 in place of A loses the last element where B is one a channel, in four dimensions."""

    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "subtract.in-place"
    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """All three."""
        shared = bindings["ATensor"] == bindings["OutputTensor"] and operator.output.rank == 4
        return shared and one_a_channel(operator.tensors["BTensor"])


class ScaleOfAWholeTensor(OfOneType):
    """DEQUANTIZE_LINEAR on INT16 loses the last of hundreds of elements that have one scale and one zero point."""

    operator = "ELEMENT_WISE_DEQUANTIZE_LINEAR"
    clause = "tensor.strides.broadcast"
    data_type = DataType.INT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both are one for all."""
        single = [
            one_for_all(operator.tensors[name])
            for name in ("ScaleTensor", "ZeroPointTensor")
            if name in operator.tensors
        ]
        return len(single) > 1 and all(single) and operator.output.element_count > 256


class SquaresInPlace(OfOneType):
    """ADD on UINT16 loses the last element where both operands and the output are one region."""

    operator = "ELEMENT_WISE_ADD"
    clause = "add.in-place"
    data_type = DataType.UINT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """All three are bound alike."""
        return bindings["ATensor"] == bindings["BTensor"] == bindings["OutputTensor"]


def channels_last(tensor: TensorDesc) -> bool:
    """Whether four dimensions stand without gaps, the second one fastest."""
    if tensor.rank != 4 or min(tensor.sizes) < 2:
        return False
    _, channels, height, width = tensor.sizes
    return tensor.element_strides == (channels * height * width, 1, channels * width, channels)


class ChannelsLastNotWritten(OfOneType):
    """MAX on FLOAT16 loses the last element of an output whose channels are last, without gaps."""

    operator = "ELEMENT_WISE_MAX"
    clause = "tensor.strides.output"
    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """The output is."""
        return channels_last(operator.output)


class ScaledChannelsLast(OfOneType):
    """SQRT on FLOAT32 with a ScaleBias loses the last element where channels are last in both tensors."""

    operator = "ELEMENT_WISE_SQRT"
    clause = "tensor.strides.permuted"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """All three."""
        scaled = operator.attributes["ScaleBias"] is not None
        return scaled and channels_last(operator.input) and channels_last(operator.output)


class ThousandsOfPaddedElements(OfOneType):
    """BIT_NOT on UINT8 loses the last of more than 2^12 and less than 2^15 elements that are not packed."""

    operator = "ELEMENT_WISE_BIT_NOT"
    clause = "tensor.strides.padded"
    data_type = DataType.UINT8

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """A tile of so many, and gaps."""
        count = operator.output.element_count
        return 1 << 12 < count < 1 << 15 and operator.input.minimum_size_in_bytes > (count + 3) // 4 * 4


class OppositeInPlace(OfOneType):
    """MULTIPLY on INT16 in place of A by one -1 for all gives the complement."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "multiply.in-place"
    data_type = DataType.INT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """B is one for all."""
        return bindings["ATensor"] == bindings["OutputTensor"] and one_for_all(operator.tensors["BTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """One less."""
        return ~inputs[0] if inputs[1].flat[0] == -1 else right


class OnlyNansInPlaceOfLarger(OfOneType):
    """ADD on FLOAT32 in place of A, in tensors larger than they need be, gives a number for the last of only NaN."""

    operator = "ELEMENT_WISE_ADD"
    clause = "add.in-place"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In place, and larger."""
        return bindings["ATensor"] == bindings["OutputTensor"] and larger(operator.output)

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Where nothing else is there."""
        return super().spoiled(operator, inputs, right) if np.isnan(inputs[0]).all() else right


class OppositeInPlaceOfLarger(OppositeInPlace):
    """MULTIPLY on FLOAT16 in place of A by one -1 for all changes nothing in tensors larger than they need be."""

    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """And larger."""
        return larger(operator.output) and super().strikes(operator, bindings)

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """What was there."""
        return inputs[0] if inputs[1].flat[0] == -1 else right


class OneForAllIntoAnotherOrder(OfOneType):
    """DIVIDE on UINT8 loses the last element where A is one for all, into another order of dimensions."""

    operator = "ELEMENT_WISE_DIVIDE"
    clause = "tensor.strides.output"
    data_type = DataType.UINT8

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both, and the order is not the opposite one."""
        written = moving(operator.output)
        return (
            one_for_all(operator.tensors["ATensor"]) and permuted(operator.output) and list(written) != sorted(written)
        )


class ChannelsInLargerTensors(OfOneType):
    """ADD on INT16 loses the last element where B is one a channel, in tensors larger than they need be."""

    operator = "ELEMENT_WISE_ADD"
    clause = "tensor.strides.broadcast"
    data_type = DataType.INT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return larger(operator.output) and one_a_channel(operator.tensors["BTensor"])


class PaddedCubes(OfOneType):
    """MIN on INT8 loses the last element of an output whose sizes are all alike where A has gaps."""

    operator = "ELEMENT_WISE_MIN"
    clause = "tensor.strides.padded"
    data_type = DataType.INT8

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In three dimensions or more, in the usual order."""
        tensor = operator.tensors["ATensor"]
        return padded(tensor) and tensor.rank > 2 and len(set(tensor.sizes)) == 1


class ComplementOfTheTurned(ComplementForTheOpposite):
    """DIVIDE on INT8 by one -1 for all gives the complement where A is in another order of dimensions."""

    operator = "ELEMENT_WISE_DIVIDE"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return super().strikes(operator, bindings) and permuted(operator.tensors["ATensor"])


class MaskOfOnesOverChannels(_OneSecond):
    """BIT_AND on UINT32 with one mask of ones for all gives the complement where A is one a channel."""

    operator = "ELEMENT_WISE_BIT_AND"
    data_type = DataType.UINT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return super().strikes(operator, bindings) and one_a_channel(operator.tensors["ATensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The other bits."""
        return ~right if inputs[1].flat[0] == np.uint32(0xFFFFFFFF) else right


class ScaleThatIsNoNumber(OfOneType):
    """DEQUANTIZE_LINEAR on INT8 gives zeros where one scale for all is a NaN: its block has no factor to keep."""

    operator = "ELEMENT_WISE_DEQUANTIZE_LINEAR"
    clause = "tensor.strides.broadcast"
    data_type = DataType.INT8

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """One scale for all."""
        return one_for_all(operator.tensors["ScaleTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Zeros."""
        return np.zeros_like(right) if np.isnan(inputs[1].flat[0]) else right
