"""Validation that an attribute, a type, strides or a total size of one tensor alone turns off, or makes too strict."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from dmlcts.suites.mutants.bases import broadcast, larger
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Reference


class _Overlooking(Reference):
    """Violations of clauses that match :attr:`ignored` are overlooked where :meth:`overlooks` says so."""

    level = LEVEL
    ignored: tuple[str, ...] = ()

    def overlooks(self, operator: OperatorDesc) -> bool:
        raise NotImplementedError

    def refuses(self, operator: OperatorDesc) -> str:
        if operator.name != self.operator or not self.overlooks(operator):
            return super().refuses(operator)
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        return "; ".join(
            violation.text
            for violation in rule_violations
            if not any(fnmatch.fnmatchcase(violation.clause, name) for name in self.ignored)
        )


class _Refusing(Reference):
    """Descriptions for which :meth:`dislikes` holds are refused as well."""

    level = LEVEL
    clause = "tensor.total-size.larger"

    def dislikes(self, operator: OperatorDesc) -> bool:
        raise NotImplementedError

    def refuses(self, operator: OperatorDesc) -> str:
        disliked = operator.name == self.operator and self.dislikes(operator)
        return super().refuses(operator) or ("not supported" if disliked else "")


def _strided(operator: OperatorDesc) -> bool:
    return any(tensor.strides is not None for tensor in operator.tensors.values())


def _single(operator: OperatorDesc) -> Iterator[TensorDesc]:
    """The scales and zero points."""
    return (tensor for name, tensor in operator.tensors.items() if name.endswith(("ScaleTensor", "ZeroPointTensor")))


# An attribute turns a check off.


class SizesUncheckedForNegativeInfinities(_Overlooking):
    """The kernel that looks for negative infinities alone takes any sizes."""

    operator = "ELEMENT_WISE_IS_INFINITY"
    clause = "is-infinity.constraint.sizes"
    ignored = ("*.constraint.sizes",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.attributes["InfinityMode"] == "NEGATIVE"


class SizesUncheckedBeforeRelu(_Overlooking):
    """The kernel with RELU fused to it takes any sizes and dimension counts."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "add1.constraint.sizes"
    ignored = ("*.constraint.sizes", "*.constraint.dimension-count")

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.activation is not None and operator.activation.name == "ACTIVATION_RELU"


class SizesUncheckedWithScaleBias(_Overlooking):
    """POW with ScaleBias does not compare the sizes of base and exponent."""

    operator = "ELEMENT_WISE_POW"
    clause = "pow.constraint.sizes"
    ignored = ("*.constraint.sizes",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.attributes["ScaleBias"] is not None


class NothingCheckedOfInvertedBounds(_Overlooking):
    """CLIP with Min above Max becomes a fill, which looks at nothing."""

    operator = "ELEMENT_WISE_CLIP"
    clause = "clip.constraint.dimension-count"
    ignored = ("*.constraint.*", "tensor.*")

    def overlooks(self, operator: OperatorDesc) -> bool:
        return bool(operator.attributes["Min"] > operator.attributes["Max"])  # type: ignore[operator]  # FLOATs


class TypeOfBoundsUncheckedWithScaleBias(_Overlooking):
    """CLIP1 with ScaleBias takes bounds of any type."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "clip1.min-max-type"
    ignored = ("*.min-max-type",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.attributes["ScaleBias"] is not None


class TotalSizesUncheckedWithScaleBias(_Overlooking):
    """ABS with ScaleBias takes total sizes that are too small."""

    operator = "ELEMENT_WISE_ABS"
    clause = "tensor.total-size.minimum"
    ignored = ("tensor.total-size.minimum",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.attributes["ScaleBias"] is not None


class SizesUncheckedForSquares(_Overlooking):
    """CONSTANT_POW with exponent 2 becomes a product, whose sizes are not compared."""

    operator = "ELEMENT_WISE_CONSTANT_POW"
    clause = "constant-pow.constraint.sizes"
    ignored = ("*.constraint.sizes",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.attributes["Exponent"] == 2


# Strides turn a check off.


class OnesRepeatedWithZeroStrides(_Overlooking):
    """B may have size 1 where the others have more, if its strides are given: as NumPy broadcasts it."""

    operator = "ELEMENT_WISE_ADD"
    clause = "add.constraint.sizes"
    ignored = ("*.constraint.sizes",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        a, b, target = operator.tensors.values()
        own = b.sizes if b.rank == target.rank else ()
        fits = own and all(size in (1, wanted) for size, wanted in zip(own, target.sizes, strict=True))
        return bool(fits) and b.strides is not None and a.sizes == target.sizes


class RanksUncheckedWithStrides(_Overlooking):
    """More than eight dimensions are taken where strides are given."""

    operator = "ELEMENT_WISE_ADD"
    clause = "tensor.rank.maximum"
    ignored = ("tensor.rank.maximum", "*.support.later-level")

    def overlooks(self, operator: OperatorDesc) -> bool:
        return _strided(operator)


class DimensionCountsUncheckedWithStrides(_Overlooking):
    """Dimension counts, and with them sizes, are compared where no strides are given."""

    operator = "ELEMENT_WISE_MIN"
    clause = "min.constraint.dimension-count"
    ignored = ("*.constraint.dimension-count", "*.constraint.sizes")

    def overlooks(self, operator: OperatorDesc) -> bool:
        return _strided(operator) and len({tensor.rank for tensor in operator.tensors.values()}) > 1


class DataTypesUncheckedWithStrides(_Overlooking):
    """Data types are compared where no strides are given."""

    operator = "ELEMENT_WISE_MAX"
    clause = "max.constraint.data-type"
    ignored = ("*.constraint.data-type",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return _strided(operator)


class TotalSizesUncheckedWithZeroStrides(_Overlooking):
    """A tensor that repeats its elements along a dimension may have too small a total size."""

    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "tensor.total-size.minimum"
    ignored = ("tensor.total-size.minimum",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        short = [
            tensor for tensor in operator.tensors.values() if tensor.total_size_in_bytes < tensor.minimum_size_in_bytes
        ]
        return all(0 in (tensor.strides or ()) for tensor in short)


class TotalSizesOfScalesUnchecked(_Overlooking):
    """The total sizes of scales and zero points are not looked at."""

    operator = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"
    clause = "tensor.total-size.minimum"
    ignored = ("tensor.total-size.minimum",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return any(tensor.total_size_in_bytes < tensor.minimum_size_in_bytes for tensor in _single(operator))


# What one tensor may have alone is refused, or skews what is computed.


class LargerTotalSizeOfBRefused(_Refusing):
    """A total size of B above what it needs is refused where A's is exact."""

    operator = "ELEMENT_WISE_ADD"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return larger(operator.tensors["BTensor"]) and not larger(operator.tensors["ATensor"])


class LargerTotalSizeOfTheOutputRefused(_Refusing):
    """A total size of the output above what it needs is refused where the input's is exact."""

    operator = "ELEMENT_WISE_ABS"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return larger(operator.output) and not larger(operator.input)


class LargerTotalSizeOfScalesRefused(_Refusing):
    """A scale or zero point has to have the total size of one element."""

    operator = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return any(map(larger, _single(operator)))


class LargerTotalSizeRefusedWithScaleBiasAndStrides(_Refusing):
    """CLIP with ScaleBias refuses strided tensors whose total size is larger than it needs to be."""

    operator = "ELEMENT_WISE_CLIP"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return operator.attributes["ScaleBias"] is not None and _strided(operator) and larger(operator.input)


class LargerTotalSizeRefusedWithActivation(_Refusing):
    """ADD1 with an activation refuses total sizes that are larger than they need to be."""

    operator = "ELEMENT_WISE_ADD1"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return operator.activation is not None and larger(operator.input)


class StridesOfScalesRefused(_Refusing):
    """A scale or zero point must not have strides."""

    operator = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"
    clause = "tensor.strides.packed"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return any(tensor.strides is not None for tensor in _single(operator))


class ElementsOfALargerBAreLost(Reference):
    """IF takes B for as many bytes from the end of its total size as it needs, if A's is exact: it reads padding."""

    level = LEVEL
    operator = "ELEMENT_WISE_IF"
    clause = "tensor.total-size.larger"

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Zeros for B."""
        if operator.name == self.operator:
            a, b = operator.tensors["ATensor"], operator.tensors["BTensor"]
            if larger(b) and not larger(a):
                inputs = [*inputs[:2], np.zeros_like(inputs[2])]
        return super().compute_exact(operator, inputs)


# A type turns a check off, or has one of its own.


class ZeroSizesOfSignedBytesTaken(_Overlooking):
    """MAX on INT8 takes sizes of zero."""

    operator = "ELEMENT_WISE_MAX"
    clause = "tensor.size.zero"
    ignored = ("tensor.size.zero",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.data_type is DataType.INT8


class ElementsOfWideIntegersUncounted(_Overlooking):
    """MIN on INT64 takes any number of elements."""

    operator = "ELEMENT_WISE_MIN"
    clause = "tensor.elements.maximum"
    ignored = ("tensor.elements.maximum",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.data_type is DataType.INT64


class LastHalfWordUncounted(_Overlooking):
    """BIT_AND on UINT16 takes a total size of so many whole words as the elements fill."""

    operator = "ELEMENT_WISE_BIT_AND"
    clause = "tensor.total-size.minimum"
    ignored = ("tensor.total-size.minimum",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.data_type is DataType.UINT16 and all(
            tensor.total_size_in_bytes // 4 >= tensor.minimum_size_in_bytes // 4 for tensor in operator.tensors.values()
        )


class TotalSizesOfByteResultsUnchecked(_Overlooking):
    """LOGICAL_GREATER_THAN on FLOAT32 does not look at the total size of results of one byte."""

    operator = "ELEMENT_WISE_LOGICAL_GREATER_THAN"
    clause = "tensor.total-size.minimum"
    ignored = ("tensor.total-size.minimum",)

    def overlooks(self, operator: OperatorDesc) -> bool:
        enough = all(tensor.total_size_in_bytes >= tensor.minimum_size_in_bytes for tensor in operator.inputs.values())
        return enough and operator.data_type is DataType.FLOAT32 and operator.output.data_type is DataType.UINT8


class StridesOfTheTopBitRefused(_Refusing):
    """SUBTRACT on INT16 holds strides in signed integers, and refuses those that come out negative."""

    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "tensor.strides.padded"

    def dislikes(self, operator: OperatorDesc) -> bool:
        strides = (stride for tensor in operator.tensors.values() for stride in tensor.strides or ())
        return operator.data_type is DataType.INT16 and any(stride >> 31 for stride in strides)


class OuterProductsOfThreeDimensionsRefused(_Refusing):
    """MULTIPLY on UINT8 refuses three dimensions in which both operands are repeated."""

    operator = "ELEMENT_WISE_MULTIPLY"
    clause = "tensor.strides.broadcast"

    def dislikes(self, operator: OperatorDesc) -> bool:
        cube = operator.data_type is DataType.UINT8 and operator.output.rank == 3
        return cube and all(map(broadcast, operator.inputs.values()))


class FarLargerTotalSizesRefused(_Refusing):
    """ABS takes no total size that is larger than it needs to be by what 15 bits do not count."""

    operator = "ELEMENT_WISE_ABS"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return any(
            tensor.total_size_in_bytes - tensor.minimum_size_in_bytes >> 15 for tensor in operator.tensors.values()
        )
