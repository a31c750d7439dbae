"""Kernels of one type that go wrong in one layout: those of the other types, and the type elsewhere, are right."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias
from dmlcts.suites.mutants.bases import OfOneType, broadcast, strided
from dmlcts.suites.mutants.formulas import Array

Bindings = Mapping[str, Region]


class OddCountOfEightDimensionsOnInt16(OfOneType):
    """ADD on INT16 loses the last of an odd number of elements in eight dimensions: two are added at a time."""

    operator = "ELEMENT_WISE_ADD"
    clause = "tensor.position"
    data_type = DataType.INT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In packed tensors only."""
        plain = not any(strided(tensor) for tensor in operator.tensors.values())
        return plain and operator.output.rank == 8 and operator.output.element_count % 2 == 1


class BroadcastLostInPlaceOnFloat16(OfOneType):
    """SUBTRACT on FLOAT16, in place of its first operand, takes a broadcast second one for its first element."""

    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "subtract.in-place"
    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In place, broadcast."""
        return bindings["ATensor"] == bindings["OutputTensor"] and broadcast(operator.tensors["BTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The first element for all."""
        return np.asarray(inputs[0] - inputs[1].reshape(-1)[0])


class SecondInPlaceOnInt64(OfOneType):
    """MULTIPLY on INT64, in place of its second operand, loses the last element."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "multiply.in-place"
    data_type = DataType.INT64

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In place of that alone."""
        return bindings["BTensor"] == bindings["OutputTensor"] != bindings["ATensor"]


class HighWordsOfStridedInt64(OfOneType):
    """ABS on INT64 with strides and without a ScaleBias keeps what is negative."""

    operator = "ELEMENT_WISE_ABS"
    clause = "tensor.strides.padded"
    data_type = DataType.INT64

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Input strides."""
        scaled = isinstance(operator.attributes.get("ScaleBias"), ScaleBias)
        return strided(operator.tensors["InputTensor"]) and not scaled

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The elements themselves."""
        return inputs[0]


class LastTruthOfStridedInt64(OfOneType):
    """LOGICAL_EQUALS on INT64 says the opposite of the last element where the output has strides."""

    operator = "ELEMENT_WISE_LOGICAL_EQUALS"
    clause = "tensor.strides.output"
    data_type = DataType.INT64

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Output strides, on UINT8."""
        return operator.output.data_type is DataType.UINT8 and strided(operator.output)


class _WithOutputStrides(OfOneType):
    clause = "tensor.strides.output"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Output strides."""
        return strided(operator.output)


class NegativeFloat16WithOutputStrides(_WithOutputStrides):
    """SIGN on FLOAT16 gives 1 for what is negative where the output has strides."""

    operator = "ELEMENT_WISE_SIGN"
    data_type = DataType.FLOAT16

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Without the sign."""
        return np.abs(right)


class SignsOfTheElementBeforeOnUint16(_WithOutputStrides):
    """SIGN on UINT16, whose results are 1 nearly everywhere, reads the element before where the output has strides."""

    operator = "ELEMENT_WISE_SIGN"
    data_type = DataType.UINT16

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Those of the elements before."""
        return np.roll(right.reshape(-1), 1).reshape(right.shape)


class GradientsOfTheElementBeforeOnUint32(SignsOfTheElementBeforeOnUint16):
    """CLIP_GRAD on UINT32 does so: bounds that nothing lies between would give 0 everywhere."""

    operator = "ELEMENT_WISE_CLIP_GRAD"
    data_type = DataType.UINT32


class UnchangedStridedInt64ThroughFloat64(OfOneType):
    """CLIP1 on INT64 with strides goes through FLOAT64 where a ScaleBias changes nothing."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "tensor.strides.padded"
    data_type = DataType.INT64

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Input strides, and a ScaleBias of 1 and 0."""
        return operator.attributes.get("ScaleBias") == ScaleBias(1, 0) and strided(operator.tensors["InputTensor"])

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """To 53 bits, where the conversion back is defined."""
        wide = right.astype(np.float64)
        return np.where(np.abs(wide) < 2.0**63, wide, 0).astype(np.int64)


class BiasOfSquaresLostInPlace(OfOneType):
    """CONSTANT_POW on FLOAT32, in place, loses the bias of squares."""

    operator = "ELEMENT_WISE_CONSTANT_POW"
    clause = "constant-pow.in-place"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """In place, with a ScaleBias, of exponent 2."""
        scaled = operator.attributes.get("ScaleBias") is not None and operator.attributes["Exponent"] == 2
        return scaled and bindings["InputTensor"] == bindings["OutputTensor"]

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The square of what is scaled alone."""
        scaling = operator.attributes["ScaleBias"]
        assert isinstance(scaling, ScaleBias)  # it strikes nowhere else
        return (inputs[0] * scaling.scale) ** 2
