"""Kernels of their own for usual constants: bounds that saturate or are a ReLU, an activation, a scale of 0 or -1.

Each is right in a packed tensor, or for other constants.
"""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.suites.mutants.bases import (
    Bindings,
    Conditional,
    OfOneType,
    bound,
    broadcast,
    changed,
    in_place,
    padded,
    permuted,
    rescaled,
    scaled,
    strided,
)
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL


def between(operator: OperatorDesc, low: float, high: float) -> bool:
    """Whether the bounds are these."""
    return (bound(operator, "Min"), bound(operator, "Max")) == (low, high)


def activated(operator: OperatorDesc, *names: str) -> bool:
    """Whether one of these activations is fused."""
    fused = operator.attributes["FusedActivation"]
    return isinstance(fused, OperatorDesc) and fused.name.removeprefix("ACTIVATION_") in names


def scale(operator: OperatorDesc) -> float | None:
    """The scale, where there is one."""
    scale_bias = operator.attributes["ScaleBias"]
    return float(scale_bias.scale) if isinstance(scale_bias, ScaleBias) else None


class SaturatedInFixedPoint(OfOneType):
    """CLIP1 on FLOAT32 between 0 and 1 gives 0 from 2^15 on: it saturates a number of 16 bits before its point."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "clip1.formula"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Between these, without ScaleBias."""
        return between(operator, 0, 1) and not scaled(operator)

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """Negative there."""
        return np.where(inputs[0] >= 1 << 15, np.float32(0), right)


class ScaledRelu6WhereStrided(Conditional):
    """CLIP on FLOAT16 between 0 and 6 leaves the bias of a ScaleBias out where its input is strided."""

    operator = "ELEMENT_WISE_CLIP"
    clause = "tensor.strides.padded"
    level = LEVEL

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """All of these, and no element twice."""
        is_match = operator.name == self.operator and operator.input.data_type is DataType.FLOAT16
        return is_match and between(operator, 0, 6) and strided(operator.input) and not broadcast(operator.input)

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        """The scale alone."""
        return rescaled(operator, bias=0.0)


class ReluOfIntegersInPlace(Conditional):
    """CLIP on INT16 from 0 to the highest leaves its elements as they are in place: there is nothing above Max."""

    operator = "ELEMENT_WISE_CLIP"
    clause = "clip.in-place"
    level = LEVEL

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        is_match = operator.name == self.operator and operator.input.data_type is DataType.INT16
        return is_match and in_place(bindings) and between(operator, 0, (1 << 15) - 1)

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        """Without a Min that is seen."""
        return changed(operator, Min=np.float32(-(1 << 15)))


class ReluGradientOfARepeatedGradient(OfOneType):
    """CLIP_GRAD1 on FLOAT32 above 0 without end is wrong for the last element where the gradient alone is repeated."""

    operator = "ELEMENT_WISE_CLIP_GRAD1"
    clause = "tensor.strides.broadcast"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        repeated = {name for name, tensor in operator.inputs.items() if broadcast(tensor)}
        return repeated == {"InputGradientTensor"} and between(operator, 0, np.inf)


class NoActivationOfAConstantPlus(OfOneType):
    """ADD1 on FLOAT32 leaves a sigmoid or a hyperbolic tangent out where its first operand alone is repeated."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "tensor.strides.broadcast"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """One of these, there."""
        alone = broadcast(operator.tensors["ATensor"]) and not strided(operator.tensors["BTensor"])
        return alone and activated(operator, "SIGMOID", "TANH")

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The sum."""
        return np.asarray(inputs[0] + inputs[1])


class EluBesideAPaddedOperand(OfOneType):
    """ADD1 on FLOAT32 with an ELU keeps negative sums as they are where its second operand alone has gaps."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "tensor.strides.padded"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Not repeated, not turned."""
        gaps = padded(operator.tensors["BTensor"])
        return gaps and not strided(operator.tensors["ATensor"]) and activated(operator, "ELU")

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The sum, where it is negative."""
        total = np.asarray(inputs[0] + inputs[1])
        return np.where(total < 0, total, right)


class FilledInOrder(OfOneType):
    """COS on FLOAT16 with a scale of 0 fills all but the last element where its output is permuted."""

    operator = "ELEMENT_WISE_COS"
    clause = "tensor.strides.output"
    data_type = DataType.FLOAT16

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return scale(operator) == 0 and permuted(operator.output)


class NegatedWithoutTheBias(OfOneType):
    """IDENTITY on FLOAT32 with a scale of -1 negates a strided input, and adds no bias."""

    operator = "ELEMENT_WISE_IDENTITY"
    clause = "tensor.strides.padded"
    data_type = DataType.FLOAT32

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Both."""
        return scale(operator) == -1 and strided(operator.input)

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The opposite."""
        return np.negative(inputs[0])
