"""Validation that looks at some dimensions, some ranks or some bits only."""

from __future__ import annotations

import fnmatch
import math

from dmlcts.specs import FeatureLevel, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from dmlcts.suites.mutants.bases import Bindings, strided
from dmlcts.suites.mutants.reference import Array, Reference


class _Overlooking(Reference):
    """Violations of clauses that match :attr:`ignored` are overlooked where :meth:`overlooks` says so."""

    ignored = ""

    def overlooks(self, operator: OperatorDesc) -> bool:
        raise NotImplementedError

    def refuses(self, operator: OperatorDesc) -> str:
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        rule_violations = tuple(
            item
            for item in rule_violations
            if not fnmatch.fnmatchcase(item.clause, self.ignored) or not self.overlooks(operator)
        )
        return "; ".join(item.text for item in rule_violations)


# Sizes of input and output.


class _Sizes(_Overlooking):
    """The sizes of input and output are compared in part; other sizes of equal rank pass."""

    clause = "clip.constraint.sizes"
    ignored = "*.constraint.sizes"

    def compared(self, sizes: tuple[int, ...]) -> object:
        raise NotImplementedError

    def overlooks(self, operator: OperatorDesc) -> bool:
        source, target = operator.input.sizes, operator.output.sizes
        return len(source) == len(target) and self.compared(source) == self.compared(target)


class FirstAndLastSizesCompared(_Sizes):
    """Only the first and the last size are compared."""

    def compared(self, sizes: tuple[int, ...]) -> object:
        return sizes[0], sizes[-1]


class FirstFourSizesCompared(_Sizes):
    """Only the first four sizes are compared."""

    def compared(self, sizes: tuple[int, ...]) -> object:
        return sizes[:4]


class LastFourSizesCompared(_Sizes):
    """Only the last four sizes are compared."""

    clause = "threshold.constraint.sizes"

    def compared(self, sizes: tuple[int, ...]) -> object:
        return sizes[-4:]


class AllButTheThirdSizeCompared(_Sizes):
    """Of three dimensions the third, of more the third from the end is not compared."""

    clause = "round.constraint.sizes"

    def compared(self, sizes: tuple[int, ...]) -> object:
        return (*sizes[:-3], *sizes[-2:]) if len(sizes) > 3 else sizes[:2]


class SizesComparedIn16Bits(_Sizes):
    """Sizes are compared modulo 2^16."""

    def compared(self, sizes: tuple[int, ...]) -> object:
        return [size & 0xFFFF for size in sizes]


class SizesComparedAsASetAboveFourDimensions(_Sizes):
    """On more than four dimensions sizes are compared without their order."""

    clause = "round.constraint.sizes"

    def compared(self, sizes: tuple[int, ...]) -> object:
        return sorted(sizes) if len(sizes) > 4 else sizes


class SizesNotComparedInOneDimension(_Sizes):
    """Of one dimension the sizes are not compared."""

    clause = "threshold.constraint.sizes"

    def compared(self, sizes: tuple[int, ...]) -> object:
        return sizes if len(sizes) > 1 else ()


class DataTypesComparedAboveFourDimensions(_Overlooking):
    """Data types are compared on more than four dimensions only."""

    clause = "clip.constraint.data-type"
    ignored = "*.constraint.data-type"

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.input.rank <= 4


class RanksOfInnerOnesNotCompared(_Overlooking):
    """Dimensions of size 1 between others do not count when ranks and sizes are compared."""

    clause = "clip.constraint.dimension-count"
    ignored = "*.constraint.*"

    def overlooks(self, operator: OperatorDesc) -> bool:
        source, target = operator.input, operator.output
        kept = [[size for size in tensor.sizes if size > 1] for tensor in (source, target)]
        outer = [(tensor.sizes[:1], tensor.sizes[-1:]) for tensor in (source, target)]
        return kept[0] == kept[1] and outer[0] == outer[1] and source.data_type is target.data_type


# Zero sizes.


class _Zeros(_Overlooking):
    """A size of zero is accepted where :meth:`overlooks` says so."""

    clause = "tensor.size.zero"
    ignored = "tensor.size.zero"


class ZeroOverlookedBehindTheFourthDimension(_Zeros):
    """A size of zero is looked for in the first four of five, six or seven dimensions."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        return 4 < operator.input.rank < 8 and all(operator.input.sizes[:4])


class ZeroOverlookedInThreeDimensions(_Zeros):
    """A size of zero in the middle of three dimensions is overlooked."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.input.rank == 3 and operator.input.sizes[1] == 0


class ZeroOverlookedWithStrides(_Zeros):
    """A size of zero is overlooked where there are strides."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.input.strides is not None


class ZeroOverlookedBesideHugeSizes(_Zeros):
    """A size of zero is overlooked where another size is 2^31 or more."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        return max(operator.input.sizes) >= 1 << 31


# Numbers of elements.


class _Elements(_Overlooking):
    """Tensors of more than 2^32 - 1 elements are accepted where :meth:`overlooks` says so."""

    clause = "tensor.elements.maximum"
    ignored = "tensor.elements.maximum"


class ElementsModulo2To64(_Elements):
    """The number of elements is computed modulo 2^64."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.input.element_count % (1 << 64) < 1 << 32


class ElementsOfOuterDimensionsOverlooked(_Elements):
    """The number of elements counts the last four dimensions only."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        return math.prod(operator.input.sizes[-4:]) < 1 << 32


class ElementsNotLimitedWithStrides(_Elements):
    """The number of elements is not limited where there are strides."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        return operator.input.strides is not None


# Total sizes.


class _Totals(_Overlooking):
    """The needed total size of both tensors is computed as :meth:`needed` says."""

    clause = "tensor.total-size.minimum"
    ignored = "tensor.total-size.minimum"

    def needed(self, tensor: TensorDesc) -> int:
        return tensor.minimum_size_in_bytes

    def overlooks(self, operator: OperatorDesc) -> bool:
        return all(tensor.total_size_in_bytes >= self.needed(tensor) for tensor in operator.tensors.values())


class TotalSizeModulo2To32(_Totals):
    """The needed size is computed in 32 bits."""

    def needed(self, tensor: TensorDesc) -> int:
        return super().needed(tensor) % (1 << 32)


class TotalSizeOfTheLargestStride(_Totals):
    """The needed size is that of the dimension that reaches farthest alone."""

    def needed(self, tensor: TensorDesc) -> int:
        reach = [(size - 1) * stride for size, stride in zip(tensor.sizes, tensor.element_strides, strict=True)]
        return (max(reach, default=0) + 1) * tensor.data_type.itemsize if strided(tensor) else super().needed(tensor)


class TotalSizeOfTheLastFourDimensions(_Totals):
    """The needed size counts the last four dimensions only."""

    def needed(self, tensor: TensorDesc) -> int:
        strides = None if tensor.strides is None else tensor.strides[-4:]
        return TensorDesc(tensor.data_type, tensor.sizes[-4:], strides).minimum_size_in_bytes


class TotalSizeOfStridedOutputsUnchecked(_Totals):
    """The total size of strided outputs is not validated."""

    def overlooks(self, operator: OperatorDesc) -> bool:
        source = operator.input
        return strided(operator.output) and source.total_size_in_bytes >= source.minimum_size_in_bytes


# Refusing what is right.


class _Refusing(Reference):
    """Descriptions for which :meth:`dislikes` holds are refused as well."""

    def dislikes(self, operator: OperatorDesc) -> bool:
        raise NotImplementedError

    def refuses(self, operator: OperatorDesc) -> str:
        return super().refuses(operator) or ("not supported" if self.dislikes(operator) else "")


class LargeStrideOfOneElementRefused(_Refusing):
    """A stride of 2^31 or more is refused, also along a dimension of one element."""

    clause = "tensor.strides.padded"

    def dislikes(self, operator: OperatorDesc) -> bool:
        return any(stride >= 1 << 31 for tensor in operator.tensors.values() for stride in tensor.strides or ())


class BroadcastsOfLowRanksRefused(_Refusing):
    """A broadcast input of two or three dimensions is refused with ScaleBias."""

    clause = "tensor.strides.broadcast"

    def dislikes(self, operator: OperatorDesc) -> bool:
        zeros = operator.input.strides is not None and 0 in operator.input.strides
        return operator.input.rank in (2, 3) and zeros and operator.attributes.get("ScaleBias") is not None


# Enumerators.


class _Undefined(Reference):
    """Enumerators that the page does not define are accepted, and then do harm."""

    clause = "round.enumerator.undefined"

    def defined(self, operator: OperatorDesc) -> bool:
        return isinstance(operator.attributes.get("RoundingMode", ""), str)


class UndefinedModeCrashes(_Undefined):
    """A rounding mode beyond the last is an index past the end of a table of kernels."""

    def refuses(self, operator: OperatorDesc) -> str:
        if not self.defined(operator):
            raise IndexError("no kernel for this mode")
        return super().refuses(operator)


class UndefinedHighModeCrashes(_Undefined):
    """A rounding mode of 2^31 or more is a negative index; smaller ones are refused."""

    def refuses(self, operator: OperatorDesc) -> str:
        if not self.defined(operator) and int(operator.attributes["RoundingMode"]) >= 1 << 31:  # type: ignore[arg-type]  # a number
            raise IndexError("no kernel for this mode")
        return super().refuses(operator)


class UndefinedModeRunsWild(_Undefined):
    """A kernel of an undefined mode overwrites what stands before its output."""

    clause = "tensor.output.bounds"

    def refuses(self, operator: OperatorDesc) -> str:
        if self.defined(operator):
            return super().refuses(operator)
        return super().refuses(OperatorDesc(operator.name, operator.tensors, {"RoundingMode": "TOWARD_ZERO"}))

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        if self.defined(operator):
            super().dispatch(operator, memory, bindings)
        else:
            memory[: bindings["OutputTensor"].offset] = 0


class UndefinedModeFailsLate(UndefinedModeRunsWild):
    """A kernel of an undefined mode is made, and fails when it is dispatched."""

    clause = "round.enumerator.undefined"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        if not self.defined(operator):
            raise IndexError("no kernel for this mode")
        super().dispatch(operator, memory, bindings)
