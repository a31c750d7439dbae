"""Bounds and special values that go wrong only together with a layout, a rank, a type or a count."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.bases import Bindings, Conditional, broadcast, changed, inverted, permuted, strided
from dmlcts.suites.mutants.reference import Array


class _Bounds(Conditional):
    """CLIP or THRESHOLD go wrong where :meth:`when` holds."""

    clause = "tensor.strides.padded"

    def when(self, operator: OperatorDesc) -> bool:
        return strided(operator.input)

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return "Min" in operator.attributes and self.when(operator)


class InvertedBoundsGiveMaxWithStrides(_Bounds):
    """On strided inputs min and max are taken in the other order: inverted bounds give Max."""

    def when(self, operator: OperatorDesc) -> bool:
        return inverted(operator) and strided(operator.input)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        high = operator.attributes["Max"]
        return np.full_like(x, self.cast(high, operator.input.data_type, "Max"))  # type: ignore[arg-type]  # a FLOAT


class InvertedBoundsGiveMaxAbove32768(InvertedBoundsGiveMaxWithStrides):
    """Above 2^15 elements inverted bounds give Max."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc) -> bool:
        return inverted(operator) and operator.input.element_count > 1 << 15


class BoundsSwappedOnStridedUnsigned(_Bounds):
    """On strided unsigned tensors Min and Max are read from each other's place."""

    def when(self, operator: OperatorDesc) -> bool:
        return strided(operator.input) and not operator.input.data_type.is_signed and "Max" in operator.attributes

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, Min=operator.attributes["Max"], Max=operator.attributes["Min"])


class FractionsRoundedWithStrides(_Bounds):
    """On strided integers CLIP's bounds are rounded to nearest."""

    def when(self, operator: OperatorDesc) -> bool:
        return strided(operator.input) and not operator.input.data_type.is_floating and "Max" in operator.attributes

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, Min=np.rint(operator.attributes["Min"]), Max=np.rint(operator.attributes["Max"]))


class Float16BoundsTruncatedAboveFourDimensions(_Bounds):
    """On more than four dimensions CLIP's FLOAT16 bounds are rounded toward zero."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc) -> bool:
        return operator.input.data_type is DataType.FLOAT16 and operator.input.rank > 4 and "Max" in operator.attributes

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, **{name: _toward_zero(operator.attributes[name]) for name in ("Min", "Max")})


def _toward_zero(bound: object) -> object:
    near = np.float32(np.float16(bound))  # type: ignore[arg-type]  # a FLOAT
    if not np.isfinite(near) or abs(near) <= abs(bound):  # type: ignore[arg-type]  # as above
        return bound
    return np.float32(np.nextafter(np.float16(bound), np.float16(0)))  # type: ignore[arg-type]  # as above


class InfiniteValuesFiniteOnBroadcasts(_Bounds):
    """On broadcast inputs an infinite result becomes the largest finite value."""

    clause = "tensor.strides.broadcast"

    def when(self, operator: OperatorDesc) -> bool:
        return broadcast(operator.input) and operator.input.data_type.is_floating

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        y = self.compute(operator, x)
        return np.where(np.isinf(y), np.copysign(np.finfo(y.dtype).max, y), y)


class InfiniteValuesFiniteWithOutputStrides(InfiniteValuesFiniteOnBroadcasts):
    """On strided outputs an infinite result becomes the largest finite value."""

    clause = "tensor.strides.output"

    def when(self, operator: OperatorDesc) -> bool:
        return strided(operator.output) and operator.input.data_type.is_floating


class NansGiveZeroWherePermuted(_Bounds):
    """On permuted inputs a NaN gives zero, though neither bound is zero."""

    clause = "tensor.strides.permuted"

    def when(self, operator: OperatorDesc) -> bool:
        return permuted(operator.input) and operator.input.data_type.is_floating

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return np.where(np.isnan(x), x.dtype.type(0), self.compute(operator, x))


class MinLostOfManyUnsigned(_Bounds):
    """Above 2^17 elements of an unsigned type Min counts as zero."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc) -> bool:
        return operator.input.element_count > 1 << 17 and not operator.input.data_type.is_signed

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, Min=np.float32(0))


class EqualBoundsSkippedAboveFourDimensions(_Bounds):
    """On more than four dimensions Min = Max counts as no clamp at all."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc) -> bool:
        attributes = operator.attributes
        return operator.input.rank > 4 and attributes["Min"] == attributes.get("Max", np.nan)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return x


class StridedInt64ThroughFloat64(_Bounds):
    """Strided 64-bit integers lose what lies beyond 2^53."""

    def when(self, operator: OperatorDesc) -> bool:
        return strided(operator.input) and operator.input.data_type.itemsize == 8

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        near = np.abs(x.astype(np.float64)) < 2.0**62
        rounded = np.where(near, x.astype(np.float64), 0).astype(x.dtype)
        return self.compute(operator, np.where(near, rounded, x))


class Int64ThroughFloat64Above4096(StridedInt64ThroughFloat64):
    """More than 4096 packed 64-bit integers lose what lies beyond 2^53."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc) -> bool:
        tensor = operator.input
        return tensor.element_count > 4096 and tensor.data_type.itemsize == 8 and not strided(tensor)


class StridedFloat16SubnormalsFlushed(_Bounds):
    """On strided inputs FLOAT16 subnormals become zero; Direct3D keeps them."""

    def when(self, operator: OperatorDesc) -> bool:
        return strided(operator.input) and operator.input.data_type is DataType.FLOAT16

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        small = np.abs(x) < np.finfo(np.float16).smallest_normal
        return self.compute(operator, np.where(small, np.float16(0), x))


class Float16SubnormalsFlushedAbove32768(StridedFloat16SubnormalsFlushed):
    """Above 2^15 elements FLOAT16 subnormals become zero."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc) -> bool:
        return operator.input.element_count > 1 << 15 and operator.input.data_type is DataType.FLOAT16


class ZeroPassesTheLeastFloat16Bound(_Bounds):
    """THRESHOLD on FLOAT16 lets 0 pass a Min that is the least number above it."""

    clause = "threshold.formula"

    def when(self, operator: OperatorDesc) -> bool:
        own = operator.input.data_type is DataType.FLOAT16 and "Max" not in operator.attributes
        return own and 0 < float(operator.attributes["Min"]) <= 2.0**-24  # type: ignore[arg-type]  # a FLOAT

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return np.maximum(x, x.dtype.type(0))


class TinyBoundsBoundNothingOnFloat16(_Bounds):
    """On FLOAT16 a Min of CLIP that the type does not distinguish from 0 is none; it counts as 0."""

    clause = "clip.cast.float16"

    def when(self, operator: OperatorDesc) -> bool:
        own = operator.input.data_type is DataType.FLOAT16 and "Max" in operator.attributes
        return own and 0 < float(operator.attributes["Min"]) < 2.0**-26  # type: ignore[arg-type]  # a FLOAT

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, Min=np.float32(-np.inf))
