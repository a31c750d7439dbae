"""ROUND's mode, or one kind of input, lost only together with a layout, a shape, a count or a place."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.mutants.bases import Bindings, Conditional, broadcast, changed, in_place, strided
from dmlcts.suites.mutants.reference import Array

EVEN, ZERO, AWAY = "HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"


class _Round(Conditional):
    """ROUND is wrong where :meth:`when` holds."""

    clause = "tensor.position"
    modes: tuple[str, ...] = (EVEN, ZERO, AWAY)

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        raise NotImplementedError

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.attributes.get("RoundingMode") in self.modes and self.when(operator, bindings)


class _Mode(_Round):
    """ROUND runs in another mode."""

    runs = EVEN

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, RoundingMode=self.runs)


# The mode.


class ModeLostAbove2To17Elements(_Mode):
    """Above 2^17 elements every mode is HALVES_TO_NEAREST_EVEN."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.element_count > 1 << 17


class ModeLostWithInputStrides(_Mode):
    """On strided inputs every mode is HALVES_TO_NEAREST_EVEN."""

    clause = "tensor.strides.padded"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.input)


class AwayTruncatesWithOutputStrides(_Mode):
    """On strided outputs TOWARD_INFINITY drops the fraction."""

    clause = "tensor.strides.output"
    modes = (AWAY,)
    runs = ZERO

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.output)


class ModeLostInTheTailOfFours(_Mode):
    """Elements after the last full vector of four are rounded to nearest even; shorter tensors are right."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.element_count > 4

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count // 4 * 4, count)


class ModeLostInPlaceAbove4096(_Mode):
    """In place every mode of more than 4096 elements is HALVES_TO_NEAREST_EVEN."""

    clause = "round.in-place"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and operator.input.element_count > 4096


class ModeLostInPlaceWithStrides(_Mode):
    """In place every mode of strided tensors is HALVES_TO_NEAREST_EVEN."""

    clause = "round.in-place"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and strided(operator.input)


class EvenHalvesGoAwayAtOddFloat16Strides(_Mode):
    """FLOAT16 with an odd last stride above 1 rounds halves away from zero."""

    clause = "tensor.strides.padded"
    modes = (EVEN,)
    runs = AWAY

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        last = operator.input.element_strides[-1]
        return operator.input.data_type is DataType.FLOAT16 and last > 1 and last % 2 == 1


class _Floor(_Round):
    """The fraction is dropped toward negative infinity."""

    modes = (ZERO,)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return np.floor(x)


class TowardZeroIsFloorOnBroadcasts(_Floor):
    """On broadcast inputs TOWARD_ZERO is the floor."""

    clause = "tensor.strides.broadcast"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return broadcast(operator.input)


class TowardZeroIsFloorBehindTheOutput(_Floor):
    """Where the output stands before the input, TOWARD_ZERO is the floor."""

    clause = "binding.same-resource"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return bindings["OutputTensor"].offset < bindings["InputTensor"].offset


class AwayIsHalvesUpAboveFourDimensions(_Round):
    """On more than four dimensions TOWARD_INFINITY is floor(x + 1/2): -2.5 becomes -2."""

    modes = (AWAY,)

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.rank > 4

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().wrong(operator, x)
        tie = np.abs(x - np.trunc(x)) == 0.5
        return np.where(tie, np.ceil(x), y).astype(x.dtype)


# The inputs.


class NearHalvesGoUpOnPackedPowersOfTwo(_Round):
    """Packed tensors of 2^k elements, 256 or more, add 1/2 and truncate: 0.49999997 becomes 1."""

    modes = (AWAY,)

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        count = operator.input.element_count
        return count >= 256 and count & (count - 1) == 0 and not strided(operator.input)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        half = x.dtype.type(0.5)
        return np.where(np.isfinite(x), np.trunc(x + np.copysign(half, x)), x)


class NansLostWithStrides(_Round):
    """On strided inputs a NaN becomes zero."""

    clause = "tensor.strides.padded"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.input)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().wrong(operator, x)
        return np.where(np.isnan(y), y.dtype.type(0), y)


class NansLostAbove65536(NansLostWithStrides):
    """Above 2^16 elements a NaN becomes zero."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.element_count > 1 << 16


class InfinitiesFiniteAboveFourDimensions(_Round):
    """On more than four dimensions an infinity becomes the largest finite value."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.rank > 4

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().wrong(operator, x)
        return np.where(np.isinf(y), np.copysign(np.finfo(y.dtype).max, y), y)


class LargeValuesThroughInt32WithStrides(_Round):
    """Strided FLOAT32 passes through INT32 below five dimensions: values beyond 2^31 saturate."""

    clause = "tensor.strides.padded"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        single = operator.input.data_type is DataType.FLOAT32
        return single and strided(operator.input) and operator.input.rank < 5

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().wrong(operator, x)
        limit = np.float32(2**31)
        return np.where(np.isfinite(y), np.clip(y, -limit, limit), y)
