"""Kernels that are wrong where a place or a size in memory meets an element, an attribute or a layout of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, Region
from dmlcts.suites.selftest.mutants.bases import OfOneRegion, OfOneType, bound
from dmlcts.suites.selftest.mutants.formulas import Array

Bindings = Mapping[str, Region]


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
        tensor = operator.tensors["BTensor"]
        larger = tensor.total_size_in_bytes >= tensor.minimum_size_in_bytes + 4
        return larger and bindings["BTensor"] == bindings["OutputTensor"] != bindings["ATensor"]


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
