"""Faults of validation: descriptions that are accepted or refused against the pages, at several feature levels."""

from __future__ import annotations

import fnmatch
import math

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from dmlcts.suites.mutants.reference import Array, Reference


class _Lenient(Reference):
    """Violations of clauses that match ``ignored`` are overlooked where :meth:`overlooks` says so."""

    ignored = ""

    def overlooks(self, operator: OperatorDesc) -> bool:
        """Whether this description is one of those."""
        return True

    def refuses(self, operator: OperatorDesc) -> str:
        """The other violations."""
        rule_violations = violations(operator, FeatureLevel(self.level), load_tables())
        kept = [item.text for item in rule_violations if not fnmatch.fnmatchcase(item.clause, self.ignored)]
        return "; ".join(kept) if self.overlooks(operator) else super().refuses(operator)


class _Refusing(Reference):
    """Descriptions for which :meth:`dislikes` holds are refused as well."""

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Whether the description is refused without cause."""
        return False

    def refuses(self, operator: OperatorDesc) -> str:
        """The violations, or the whim."""
        return super().refuses(operator) or ("not supported" if self.dislikes(operator) else "")


# -- accepting what must be refused --------------------------------------------------------------------


class AcceptsFloat64(_Lenient):
    """FLOAT64, which no level lists, is accepted and computed in FLOAT32."""

    clause = "clip.support.unlisted"
    ignored = "*.support.unlisted"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """FLOAT64."""
        return operator.input.data_type is DataType.FLOAT64

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Through FLOAT32."""
        return super().compute(operator, x.astype(np.float32).astype(x.dtype) if x.dtype == np.float64 else x)


class AcceptsThresholdOnInt64(_Lenient):
    """THRESHOLD accepts INT64, as CLIP does, and computes its low 32 bits."""

    clause = "threshold.support.unlisted"
    ignored = "threshold.support.unlisted"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """INT64."""
        return operator.input.data_type is DataType.INT64

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Through INT32."""
        return super().compute(operator, x.astype(np.int32).astype(x.dtype) if x.dtype == np.int64 else x)


class AcceptsRoundOnInt32(_Lenient):
    """ROUND accepts INT32 and rounds it in FLOAT32."""

    clause = "round.support.unlisted"
    ignored = "round.support.unlisted"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """INT32."""
        return operator.input.data_type is DataType.INT32

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Through FLOAT32; what does not fit wraps."""
        if x.dtype != np.int32:
            return super().compute(operator, x)
        return super().compute(operator, x.astype(np.float32)).astype(np.int64).astype(np.int32)


class AcceptsDifferentDataTypes(_Lenient):
    """The data types of input and output are not compared."""

    clause = "clip.constraint.data-type"
    ignored = "*.constraint.data-type"


class AcceptsSignedAsUnsigned(_Lenient):
    """Types of equal size and kind but for the sign pass for equal."""

    clause = "threshold.constraint.data-type"
    ignored = "*.constraint.data-type"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """INT32 with UINT32 and the like."""
        first, second = operator.input.data_type, operator.output.data_type
        return first.itemsize == second.itemsize and not first.is_floating and not second.is_floating


class AcceptsDifferentRanks(_Lenient):
    """The dimension counts of input and output are not compared."""

    clause = "round.constraint.dimension-count"
    ignored = "*.constraint.dimension-count"

    def refuses(self, operator: OperatorDesc) -> str:
        """Different ranks make different sizes as well: both are overlooked."""
        return "" if operator.input.rank != operator.output.rank else super().refuses(operator)


class AcceptsLeadingOnes(AcceptsDifferentRanks):
    """Dimensions of size 1 before the others are not counted."""

    clause = "clip.constraint.dimension-count"

    def refuses(self, operator: OperatorDesc) -> str:
        """Equal sizes after leading ones."""
        stripped = [math.prod(tensor.sizes) == math.prod(tensor.sizes[1:]) for tensor in operator.tensors.values()]
        same = operator.input.sizes[-4:] == operator.output.sizes[-4:]
        return super().refuses(operator) if any(stripped) and same else Reference.refuses(self, operator)


class AcceptsDifferentSizes(_Lenient):
    """The sizes of input and output are not compared."""

    clause = "threshold.constraint.sizes"
    ignored = "*.constraint.sizes"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """Equal ranks."""
        return operator.input.rank == operator.output.rank


class AcceptsBroadcastableSizes(AcceptsDifferentSizes):
    """An input size of 1 goes with any output size, as in NumPy."""

    clause = "clip.constraint.sizes"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """Broadcasting rules."""
        pairs = zip(operator.input.sizes, operator.output.sizes, strict=False)
        return super().overlooks(operator) and all(source in (1, target) for source, target in pairs)


class AcceptsEqualElementCounts(AcceptsDifferentSizes):
    """Only the numbers of elements are compared."""

    clause = "round.constraint.sizes"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """Equal products."""
        return super().overlooks(operator) and operator.input.element_count == operator.output.element_count


class _AnyRank(Reference):
    """Ranks are taken as another one for validation, where :meth:`validated` says so."""

    def validated(self, tensor: TensorDesc) -> TensorDesc:
        """The description that is validated."""
        return tensor

    def refuses(self, operator: OperatorDesc) -> str:
        """Validate the other description."""
        tensors = {name: self.validated(tensor) for name, tensor in operator.tensors.items()}
        return super().refuses(OperatorDesc(operator.name, tensors, operator.attributes))


class AcceptsRank0(_AnyRank):
    """A tensor without dimensions is accepted as a scalar."""

    clause = "tensor.rank.minimum"

    def validated(self, tensor: TensorDesc) -> TensorDesc:
        """One dimension where there is none."""
        return tensor if tensor.rank else TensorDesc(tensor.data_type, (1,))


class AcceptsRank9(_AnyRank):
    """Nine dimensions are accepted, ten are not."""

    clause = "tensor.rank.maximum"

    def validated(self, tensor: TensorDesc) -> TensorDesc:
        """The first eight of nine."""
        return TensorDesc(tensor.data_type, tensor.sizes[:8]) if tensor.rank == 9 else tensor


class AcceptsRank16AtLevel3(_AnyRank):
    """An implementation of level 3.0 accepts sixteen dimensions."""

    clause = "tensor.rank.maximum"
    level = "3.0"

    def validated(self, tensor: TensorDesc) -> TensorDesc:
        """The first eight of sixteen."""
        return TensorDesc(tensor.data_type, tensor.sizes[:8]) if tensor.rank == 16 else tensor


class AcceptsZeroSizes(_Lenient):
    """A size of zero is accepted as a tensor without elements."""

    clause = "tensor.size.zero"
    ignored = "tensor.size.zero"


class AcceptsZeroInTheLastDimension(AcceptsZeroSizes):
    """A size of zero is looked for in all dimensions but the last."""

    clause = "tensor.size.zero"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """Zeros at the end only."""
        return all(operator.input.sizes[:-1])


class AcceptsTooSmallTotalSizes(_Lenient):
    """The total size is not validated."""

    clause = "tensor.total-size.minimum"
    ignored = "tensor.total-size.minimum"


class AcceptsTooSmallOutputTotalSize(AcceptsTooSmallTotalSizes):
    """The total size is validated for the input alone."""

    clause = "tensor.total-size.minimum"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """An input that is large enough."""
        return operator.input.total_size_in_bytes >= operator.input.minimum_size_in_bytes


class TotalSizeValidatedWithoutStrides(AcceptsTooSmallTotalSizes):
    """The total size is compared with what the sizes need, whatever the strides."""

    clause = "tensor.total-size.minimum"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """Enough for packed tensors."""
        return all(
            tensor.total_size_in_bytes >= tensor.element_count * tensor.data_type.itemsize
            for tensor in operator.tensors.values()
        )


class Accepts2To32Elements(_Lenient):
    """The number of elements is not limited."""

    clause = "tensor.elements.maximum"
    ignored = "tensor.elements.maximum"


class ElementsCountedIn32Bits(Accepts2To32Elements):
    """The number of elements is computed in 32 bits before it is compared, and zero is refused."""

    clause = "tensor.elements.maximum"
    modelled_on = "https://github.com/microsoft/onnxruntime/issues/10708"

    def overlooks(self, operator: OperatorDesc) -> bool:
        """Products that wrap to something else than zero."""
        return operator.input.element_count % (1 << 32) != 0


class AcceptsEverything(Reference):
    """Nothing is validated at all."""

    clause = "clip.constraint.sizes"

    def refuses(self, operator: OperatorDesc) -> str:
        """Never."""
        return ""


class AcceptsFloat64AtLevel1(AcceptsFloat64):
    """An implementation of level 1.0 accepts FLOAT64 and computes it in FLOAT32."""

    clause = "threshold.support.unlisted"
    level = "1.0"


class AcceptsDifferentSizesAtLevel2(AcceptsDifferentSizes):
    """An implementation of level 2.1 does not compare sizes."""

    clause = "clip.constraint.sizes"
    level = "2.1"


class LaterTypeIn32Bits(_Lenient):
    """An implementation of level 3.0 accepts 64-bit integers on CLIP and computes them in 32 bits."""

    clause = "clip.support.later-level"
    ignored = "clip.support.later-level"
    level = "3.0"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Through 32 bits."""
        return super().compute(operator, x.astype(np.int32).astype(x.dtype) if x.dtype.itemsize == 8 else x)


class LaterRankTransposed(_Lenient):
    """An implementation of level 2.1 accepts rank 2 and returns it transposed."""

    clause = "round.support.later-level"
    ignored = "*.support.later-level"
    level = "2.1"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Transposed at rank 2."""
        y = super().compute(operator, x)
        return y.T.copy().reshape(y.shape) if y.ndim == 2 else y


# -- refusing what a level obliges ---------------------------------------------------------------------


class RefusesRank1(_Refusing):
    """Tensors of one dimension are refused."""

    clause = "clip.support.level-3-0"
    modelled_on = "https://github.com/microsoft/DirectML/issues/74"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Rank 1."""
        return operator.input.rank == 1


class RefusesRank8(_Refusing):
    """Tensors of eight dimensions are refused."""

    clause = "round.support.level-3-0"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Rank 8."""
        return operator.input.rank == 8


class RefusesRank5AndAbove(_Refusing):
    """Tensors of more than four dimensions are refused, though level 3.0 is claimed."""

    clause = "threshold.support.level-3-0"
    modelled_on = "https://github.com/microsoft/Windows-Machine-Learning/issues/324"
    level = "3.0"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Rank 5 to 8."""
        return operator.input.rank > 4


class RefusesUint16(_Refusing):
    """UINT16 is refused."""

    clause = "clip.support.level-2-1"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """UINT16."""
        return operator.input.data_type is DataType.UINT16


class RefusesInt8AtLevel2(_Refusing):
    """An implementation of level 2.1 refuses INT8 with four dimensions."""

    clause = "threshold.support.level-2-1"
    level = "2.1"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """INT8."""
        return operator.input.data_type is DataType.INT8


class RefusesRoundAtLevel2(_Refusing):
    """An implementation of level 2.1 has no ROUND."""

    clause = "round.support.level-2-1"
    level = "2.1"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """ROUND."""
        return operator.name == "ELEMENT_WISE_ROUND"


class RefusesFloat16AtLevel1(_Refusing):
    """An implementation of level 1.0 refuses FLOAT16."""

    clause = "clip.support.level-1-0"
    level = "1.0"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """FLOAT16."""
        return operator.input.data_type is DataType.FLOAT16


class RefusesInt64AtLevel5(_Refusing):
    """64-bit integers are refused, though level 5.0 is claimed."""

    clause = "clip.support.level-5-0"
    modelled_on = "https://github.com/microsoft/DirectML/issues/727"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """INT64 and UINT64."""
        return operator.input.data_type.itemsize == 8


class RefusesLargerTotalSize(_Refusing):
    """A total size above the needed one is refused."""

    clause = "tensor.total-size.larger"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """More than the documented size."""
        return any(
            tensor.total_size_in_bytes > TensorDesc(tensor.data_type, tensor.sizes, tensor.strides).total_size_in_bytes
            for tensor in operator.tensors.values()
        )


class RefusesExplicitPackedStrides(_Refusing):
    """Strides that are packed are refused as redundant."""

    clause = "tensor.strides.packed"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Written-out packed strides."""
        return any(
            tensor.strides == TensorDesc(tensor.data_type, tensor.sizes).element_strides
            for tensor in operator.tensors.values()
        )


class RefusesBroadcastInput(_Refusing):
    """A stride of zero on the input is refused."""

    clause = "tensor.strides.broadcast"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Any zero."""
        return 0 in operator.input.element_strides


class RefusesEqualBounds(_Refusing):
    """CLIP with Min equal to Max is refused."""

    clause = "clip.bounds.equal"
    modelled_on = "https://github.com/webmachinelearning/webnn/issues/396"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Min = Max."""
        return operator.attributes.get("Min") == operator.attributes.get("Max", 0)


class RefusesInvertedBounds(_Refusing):
    """CLIP with Min greater than Max is refused."""

    clause = "clip.bounds.inverted"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Min > Max."""
        return "Max" in operator.attributes and bool(operator.attributes["Min"] > operator.attributes["Max"])  # type: ignore[operator]  # FLOATs


class RefusesScaleBias(_Refusing):
    """A ScaleBias is refused."""

    clause = "clip.scale-bias"

    def dislikes(self, operator: OperatorDesc) -> bool:
        """Any ScaleBias."""
        return operator.attributes.get("ScaleBias") is not None
