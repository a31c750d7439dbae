"""ScaleBias lost, or applied twice, only together with a layout, a shape, a count, a bound or a place."""

from __future__ import annotations

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias
from dmlcts.suites.mutants.bases import (
    Bindings,
    Conditional,
    broadcast,
    changed,
    in_place,
    larger,
    permuted,
    rescaled,
    scaled,
    strided,
    wide,
)
from dmlcts.suites.mutants.reference import Array


class _Unscaled(Conditional):
    """ScaleBias has no effect where :meth:`when` holds."""

    clause = "tensor.position"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        raise NotImplementedError

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return scaled(operator) and self.when(operator, bindings)

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, ScaleBias=None)


# Layouts.


class ScaleBiasLostWithInputStrides(_Unscaled):
    """The kernel for strided inputs has no ScaleBias."""

    clause = "tensor.strides.padded"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.input)


class ScaleBiasLostWithOutputStridesOnly(_Unscaled):
    """ScaleBias has no effect where the output is strided and the input packed."""

    clause = "tensor.strides.output"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.output) and not strided(operator.input)


class ScaleBiasLostOfBroadcasts(_Unscaled):
    """ScaleBias has no effect on broadcast inputs of two dimensions above 1, or more."""

    clause = "tensor.strides.broadcast"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return broadcast(operator.input) and wide(operator.input) > 1


class NegativeScalePositiveOnBroadcasts(_Unscaled):
    """On broadcast inputs the sign of the scale is lost."""

    clause = "tensor.strides.broadcast"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return broadcast(operator.input)

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        scale_bias = operator.attributes["ScaleBias"]
        return rescaled(operator, abs(scale_bias.scale)) if isinstance(scale_bias, ScaleBias) else operator


class BiasLostOnStrided64BitIntegers(_Unscaled):
    """Strided 64-bit integers are scaled without the bias."""

    clause = "tensor.strides.padded"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.input) and operator.input.data_type in (DataType.INT64, DataType.UINT64)

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return rescaled(operator, bias=0)


class ScaleBiasTwiceWithBothStrided(_Unscaled):
    """Where both tensors are strided, ScaleBias is applied while gathering, and again while computing."""

    clause = "tensor.strides.output"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return strided(operator.input) and strided(operator.output)

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes["ScaleBias"]
        assert isinstance(scale_bias, ScaleBias)
        return self.compute(operator, self.scale_bias(x, scale_bias, operator.input.data_type))


class ScaleBiasLostWithALargerTotalSize(_Unscaled):
    """ScaleBias has no effect where the total size is larger than needed."""

    clause = "tensor.total-size.larger"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return larger(operator.input)


# Shapes and counts.


class ScaleBiasLostInTwoDimensions(_Unscaled):
    """ScaleBias has no effect where two or more dimensions have more than one element."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return wide(operator.input) > 1


class ScaleBiasLostAboveFourDimensions(_Unscaled):
    """ScaleBias has no effect on more than four dimensions."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.rank > 4


class ScaleBiasLostAbove32768Elements(_Unscaled):
    """ScaleBias has no effect on more than 32,768 elements."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.element_count > 32_768


class ScaleBiasLostOnPackedPowersOfTwo(_Unscaled):
    """The fast path for packed tensors whose sizes are all powers of two, from 64 elements on, has no ScaleBias."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        sizes = operator.input.sizes
        fast = operator.input.element_count >= 64 and all(size & (size - 1) == 0 for size in sizes)
        return fast and not strided(operator.input) and not strided(operator.output)


class ScaleBiasLostOnManyBytes(_Unscaled):
    """ScaleBias has no effect on 8-bit types of more than 2^16 elements."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.data_type.itemsize == 1 and operator.input.element_count > 1 << 16


class ScaleBiasLostForThresholdOnLongRows(_Unscaled):
    """THRESHOLD has no ScaleBias where there are several rows of more than 128 elements."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        threshold = operator.name == "ELEMENT_WISE_THRESHOLD"
        return threshold and wide(operator.input) > 1 and operator.input.sizes[-1] > 128


class BiasLostInLongColumns(_Unscaled):
    """With more than 128 rows of at most four elements the bias has no effect."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        sizes = operator.input.sizes
        return len(sizes) > 1 and sizes[-1] <= 4 and sizes[-2] > 128

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return rescaled(operator, bias=0)


# Tails.


class BiasLostInTheTailOfFours(_Unscaled):
    """Elements after the last full vector of four are scaled without the bias; shorter tensors are right."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.element_count > 4

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return rescaled(operator, bias=0)

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count // 4 * 4, count)


class ScaleLostInTheLastOddRow(_Unscaled):
    """Of several rows of an odd length the last one is not scaled."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return wide(operator.input) > 1 and operator.input.sizes[-1] > 1 and operator.input.sizes[-1] % 2 == 1

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return rescaled(operator, scale=1)

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count - operator.input.sizes[-1], count)


class BiasLostOfTheOddFloat16(_Unscaled):
    """FLOAT16 elements are done in pairs; the last of an odd number is scaled without the bias."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        count = operator.input.element_count
        return operator.input.data_type is DataType.FLOAT16 and count > 1 and count % 2 == 1

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        return rescaled(operator, bias=0)

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count - 1, count)


class ScaleBiasLostInTheLastBlock(_Unscaled):
    """Above 2^16 elements those after the last full block of 256 are not scaled."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.input.element_count > 1 << 16

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count // 256 * 256, count)


# Bounds.


class ScaleBiasLostForRelu(_Unscaled):
    """With a Min of 0 a special kernel runs, which has no ScaleBias."""

    clause = "clip.scale-bias"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return operator.attributes["Min"] == 0


class ScaleBiasLostWithOneSidedBounds(_Unscaled):
    """With an infinite Max and a finite Min a special kernel runs, which has no ScaleBias."""

    clause = "clip.scale-bias"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        low, high = operator.attributes["Min"], operator.attributes.get("Max", 0)
        return bool(high == float("inf") and low > -float("inf"))  # type: ignore[operator]  # FLOATs


# Places.


class ScaleBiasLostBehindTheOutput(_Unscaled):
    """ScaleBias has no effect where the output stands before the input."""

    clause = "binding.same-resource"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return bindings["OutputTensor"].offset < bindings["InputTensor"].offset


class ScaleBiasLostAtOddOffsets(_Unscaled):
    """ScaleBias has no effect where the input's offset is no multiple of 32."""

    clause = "binding.offset"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return bindings["InputTensor"].offset % 32 != 0


class ScaleBiasLostInPlaceWherePermuted(_Unscaled):
    """ScaleBias has no effect in place on permuted tensors."""

    clause = "clip.in-place"

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and permuted(operator.input)


class _ScaledTwice(_Unscaled):
    """In place the struck elements are computed again from what was written for them."""

    clause = "clip.in-place"

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        return self.compute(operator, self.compute(operator, x))


class TailScaledTwiceInPlace(_ScaledTwice):
    """In place the elements after the last full block of 64 are scaled twice."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and operator.input.element_count > 64

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(count // 64 * 64, count)


class ScaledTwiceInPlaceAboveFourDimensions(_ScaledTwice):
    """In place ScaleBias is applied twice on more than four dimensions."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and operator.input.rank > 4


class ScaledTwiceInPlaceWithStrides(_ScaledTwice):
    """In place ScaleBias is applied twice on strided tensors."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and strided(operator.input)


class ScaledTwiceInPlacePast65536(_ScaledTwice):
    """In place the elements past the first 2^16 are scaled twice."""

    def when(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return in_place(bindings) and operator.input.element_count > 1 << 16

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        return slice(1 << 16, count)


# Memory.


class StridedInputScaledWhereItStands(Conditional):
    """On strided inputs ScaleBias is written back into the input before the operator runs."""

    clause = "tensor.input.unchanged"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        return scaled(operator) and strided(operator.input) and not broadcast(operator.input)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        scale_bias = operator.attributes.get("ScaleBias")
        super().dispatch(operator, memory, bindings)
        if isinstance(scale_bias, ScaleBias) and self.strikes(operator, bindings) and not in_place(bindings):
            region: Region = bindings["InputTensor"]
            x = self.read(memory, region, operator.input)
            self.write(memory, region, operator.input, self.scale_bias(x, scale_bias, operator.input.data_type))
