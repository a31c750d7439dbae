"""A right implementation of the operators, and four faults of each: what a stranger would bring to be judged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dmlcts.backends import DeviceInfo, InvalidArgument
from dmlcts.specs import FeatureLevel, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from dmlcts.specs.tables import Tables

Array = np.ndarray[Any, np.dtype[Any]]
FOLDER = "DMLCTS_FIVE_TABLES"
"""The environment variable that says where the tables are."""


@cache
def _tables(folder: str) -> Tables:
    return load_tables(Path(folder))


class Right:
    """A backend whose device and kernel are the object itself; one subclass a fault."""

    name = "five"
    clause = ""
    operator = ""

    def open(self) -> Right:
        return self

    def __enter__(self) -> Right:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held."""

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo(name=type(self).__name__, feature_level="5.0")

    def create(self, operator: OperatorDesc) -> _Kernel:
        reason = self.refuses(operator)
        if reason:
            raise InvalidArgument(reason)
        return _Kernel(self, operator)

    def refuses(self, operator: OperatorDesc) -> str:
        return "; ".join(
            violation.text for violation in violations(operator, FeatureLevel("5.0"), _tables(os.environ[FOLDER]))
        )

    def view(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        flat = memory[region.offset : region.offset + tensor.minimum_size_in_bytes].view(tensor.data_type.numpy)
        return as_strided(flat, tensor.sizes, [stride * tensor.data_type.itemsize for stride in tensor.element_strides])

    def read(self, name: str, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        return self.view(memory, region, tensor).copy()

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        inputs = {name: self.read(name, memory, bindings[name], tensor) for name, tensor in operator.inputs.items()}
        with np.errstate(all="ignore"):
            result = self.compute(operator, inputs)
        self.write(operator, memory, bindings, result)

    def write(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region], result: Array) -> None:
        view = self.view(memory, bindings[operator.output_name], operator.output)
        view[...] = np.broadcast_to(result, view.shape)

    def compute(self, operator: OperatorDesc, inputs: dict[str, Array]) -> Array:
        name = operator.name.removeprefix("ELEMENT_WISE_").removeprefix("OWN_").lower()
        outputs: Array = getattr(self, name)(operator, *inputs.values())
        return outputs

    def add(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        return a + b

    def logical_equals(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        return (a == b).astype(operator.output.data_type.numpy)

    def bit_and(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        bits = operator.output.data_type.bits_dtype
        return (a.view(bits) & b.view(bits)).view(a.dtype)

    def sqrt(self, operator: OperatorDesc, x: Array) -> Array:
        return np.sqrt(x.astype(np.float64)).astype(x.dtype)

    def quantize_linear(self, operator: OperatorDesc, x: Array, scale: Array, zero: Array | None = None) -> Array:
        limits = np.iinfo(operator.output.data_type.numpy)
        whole = np.rint((x / scale.reshape(-1)[0]).astype(x.dtype)).astype(np.float64)
        shifted = whole + (0 if zero is None else float(zero.reshape(-1)[0]))
        return np.nan_to_num(np.clip(shifted, limits.min, limits.max), nan=0).astype(limits.dtype)

    def clip(self, operator: OperatorDesc, x: Array) -> Array:
        low, high = (self.bound(operator, name, x.dtype) for name in ("Low", "High"))
        return self.clamp(self.scale(operator, x), low, high)

    def threshold(self, operator: OperatorDesc, x: Array) -> Array:
        """DirectML's own, which the bounded operator is compared with."""
        values: Array = np.maximum(self.bound(operator, "Min", x.dtype), x)
        return values

    def bound(self, operator: OperatorDesc, name: str, dtype: np.dtype[Any]) -> Any:
        value = np.float64(operator.attributes[name])  # type: ignore[arg-type]  # a FLOAT
        return value.astype(dtype) if dtype.kind == "f" else self.whole(np.asarray(value), dtype)[()]

    def whole(self, values: Array, dtype: np.dtype[Any]) -> Array:
        limits = np.iinfo(dtype)
        return np.clip(np.trunc(np.nan_to_num(values, nan=0)), limits.min, limits.max).astype(dtype)

    def scale(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes["Scaling"]
        if not isinstance(scale_bias, ScaleBias):
            return x
        if x.dtype.kind == "f":
            return (x.astype(np.float32) * scale_bias.scale + scale_bias.bias).astype(x.dtype)
        return self.whole(x * np.float64(scale_bias.scale) + np.float64(scale_bias.bias), x.dtype)

    def clamp(self, x: Array, low: Any, high: Any) -> Array:
        values: Array = np.maximum(low, np.minimum(x, high))  # a NaN stays one
        return values


class _Kernel:
    def __init__(self, device: Right, operator: OperatorDesc) -> None:
        self.device, self.operator = device, operator

    def dispatch(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.device.dispatch(self.operator, memory, bindings)

    def close(self) -> None:
        """Nothing is held."""


# ADD


class AddSaturates(Right):
    """Integers saturate where they have to wrap: no clause of the table lists that."""

    operator, clause = "OWN_ADD", "own-add.formula"

    def add(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return a + b
        limits = np.iinfo(a.dtype)
        exact = a.astype(object) + b.astype(object)
        return np.minimum(np.maximum(exact, int(limits.min)), int(limits.max)).astype(a.dtype)


class AddReadsTheSecondPacked(Right):
    """The second input's strides are taken for the first one's."""

    operator, clause = "OWN_ADD", "tensor.strides.padded"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        a, b = operator.tensors["ATensor"], operator.tensors["BTensor"]
        if b.strides is not None and b.strides != a.strides and 0 not in b.strides:
            packed = TensorDesc(b.data_type, b.sizes, None, b.total_size_in_bytes)
            tensors = {**operator.tensors, "BTensor": packed}
            operator = OperatorDesc(operator.name, tensors, operator.attributes)
        super().dispatch(operator, memory, bindings)


class AddLosesTheLowWord(Right):
    """64-bit sums are computed in FLOAT64."""

    operator, clause = "OWN_ADD", "own-add.formula"

    def add(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        if a.dtype.itemsize < 8:
            return a + b
        wide = (a >> 32).astype(np.float64) * 2.0**32 + (a & 0xFFFFFFFF).astype(np.float64) + b.astype(np.float64)
        fits = np.abs(wide) < 2.0**62
        return np.where(fits, np.where(fits, wide, 0).astype(a.dtype), a + b)


class AddWritesTheSecond(Right):
    """The second input is left with the sum in it, though the output stands elsewhere."""

    operator, clause = "OWN_ADD", "tensor.input.unchanged"

    def write(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region], result: Array) -> None:
        super().write(operator, memory, bindings, result)
        if bindings["BTensor"] != bindings["OutputTensor"] and operator.name.endswith("ADD"):
            view = self.view(memory, bindings["BTensor"], operator.tensors["BTensor"])
            view.reshape(-1)[-1:] = result.reshape(-1)[-1:]


# LOGICAL_EQUALS


class EqualsGives255(Right):
    """Truth is all ones."""

    operator, clause = "OWN_LOGICAL_EQUALS", "own-logical-equals.formula"

    def logical_equals(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        return np.where(a == b, np.iinfo(operator.output.data_type.numpy).max, 0)


class EqualsComparesLowWords(Right):
    """UINT64 are compared by their low words."""

    operator, clause = "OWN_LOGICAL_EQUALS", "own-logical-equals.formula"

    def logical_equals(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        return (a.astype(np.uint32) == b.astype(np.uint32)) if a.dtype == np.uint64 else (a == b)


class EqualsComparesBits(Right):
    """-0 and +0 differ."""

    operator, clause = "OWN_LOGICAL_EQUALS", "own-logical-equals.formula"

    def logical_equals(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        bits = f"u{a.dtype.itemsize}"
        return a.view(bits) == b.view(bits)


class EqualsTakesAnySizes(Right):
    """Sizes that differ are accepted."""

    operator, clause = "OWN_LOGICAL_EQUALS", "own-logical-equals.constraint.sizes"

    def refuses(self, operator: OperatorDesc) -> str:
        rule_violations = violations(operator, FeatureLevel("5.0"), _tables(os.environ[FOLDER]))
        return "; ".join(
            violation.text for violation in rule_violations if violation.clause != "own-logical-equals.constraint.sizes"
        )


# BIT_AND


class AndFlushesSubnormals(Right):
    """FLOAT32 patterns below the smallest normal number become zero."""

    operator, clause = "OWN_BIT_AND", "own-bit-and.formula"

    def bit_and(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        result = super().bit_and(operator, a, b)
        if result.dtype.kind != "f":
            return result
        return np.where(np.abs(result) < np.finfo(result.dtype).smallest_normal, np.zeros_like(result), result)


class AndQuietsNans(Right):
    """A NaN pattern comes out as the usual NaN."""

    operator, clause = "OWN_BIT_AND", "own-bit-and.formula"

    def bit_and(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        result = super().bit_and(operator, a, b)
        return np.where(np.isnan(result), result.dtype.type(np.nan), result) if result.dtype.kind == "f" else result


class AndLosesTheTopBit(Right):
    """Bit 63 is lost."""

    operator, clause = "OWN_BIT_AND", "own-bit-and.formula"

    def bit_and(self, operator: OperatorDesc, a: Array, b: Array) -> Array:
        result = super().bit_and(operator, a, b)
        return result & np.uint64((1 << 63) - 1) if result.dtype == np.uint64 else result


class AndInPlaceReadsTheFirstTwice(Right):
    """In place over the second input, the first is read for both."""

    operator, clause = "OWN_BIT_AND", "own-bit-and.in-place"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        if operator.name.endswith("BIT_AND") and bindings["BTensor"] == bindings["OutputTensor"]:
            bindings = {**bindings, "BTensor": bindings["ATensor"]}
        super().dispatch(operator, memory, bindings)


# SQRT


class SqrtIsTwoUlpOff(Right):
    """Two units of the last place too much, for some."""

    operator, clause = "OWN_SQRT", "own-sqrt.formula"

    def sqrt(self, operator: OperatorDesc, x: Array) -> Array:
        root = super().sqrt(operator, x)
        off = np.isfinite(root) & (root > 2) & (root < 3)
        return np.where(off, np.nextafter(np.nextafter(root, root.dtype.type(9)), root.dtype.type(9)), root)


class SqrtOfNegativesIsZero(Right):
    """The root of a negative number is zero instead of NaN."""

    operator, clause = "OWN_SQRT", "own-sqrt.formula"

    def sqrt(self, operator: OperatorDesc, x: Array) -> Array:
        return np.where(x < 0, np.zeros_like(x), super().sqrt(operator, x))


class SqrtOfInfinityIsLargest(Right):
    """The root of infinity is the largest finite number."""

    operator, clause = "OWN_SQRT", "own-sqrt.formula"

    def sqrt(self, operator: OperatorDesc, x: Array) -> Array:
        return np.where(np.isinf(x) & (x > 0), np.finfo(x.dtype).max, super().sqrt(operator, x))


class SqrtLeavesTheTail(Right):
    """The last of more than 64 elements is not written."""

    operator, clause = "OWN_SQRT", "tensor.output.complete"

    def write(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region], result: Array) -> None:
        view = self.view(memory, bindings["OutputTensor"], operator.output)
        if result.size > 64 and result.size % 4 and operator.output.strides is None:
            view.reshape(-1)[:-1] = result.reshape(-1)[:-1]
        else:
            view[...] = result


# QUANTIZE_LINEAR


class QuantizeTruncates(Right):
    """The quotient is truncated instead of rounded."""

    operator, clause = "OWN_QUANTIZE_LINEAR", "own-quantize-linear.formula"

    def quantize_linear(self, operator: OperatorDesc, x: Array, scale: Array, zero: Array | None = None) -> Array:
        return super().quantize_linear(
            operator, np.trunc(x / scale.reshape(-1)[0]).astype(x.dtype), np.ones(1, x.dtype), zero
        )


class QuantizeForgetsTheZeroPoint(Right):
    """The zero point is not added."""

    operator, clause = "OWN_QUANTIZE_LINEAR", "own-quantize-linear.formula"

    def quantize_linear(self, operator: OperatorDesc, x: Array, scale: Array, zero: Array | None = None) -> Array:
        return super().quantize_linear(operator, x, scale)


class QuantizeWraps(Right):
    """What is beyond the type wraps instead of being clamped."""

    operator, clause = "OWN_QUANTIZE_LINEAR", "own-quantize-linear.formula"

    def quantize_linear(self, operator: OperatorDesc, x: Array, scale: Array, zero: Array | None = None) -> Array:
        whole = np.rint((x / scale.reshape(-1)[0]).astype(x.dtype)).astype(np.float64)
        shifted = whole + (0 if zero is None else float(zero.reshape(-1)[0]))
        tame = np.abs(shifted) < 2.0**31
        right = super().quantize_linear(operator, x, scale, zero)
        return np.where(tame, np.where(tame, shifted, 0).astype(np.int64).astype(right.dtype), right)


class QuantizeNeedsAZeroPoint(Right):
    """A description without the optional tensor is refused."""

    operator, clause = "OWN_QUANTIZE_LINEAR", "own-quantize-linear.support.level-3-0"

    def refuses(self, operator: OperatorDesc) -> str:
        if operator.name.endswith("QUANTIZE_LINEAR") and "ZeroPointTensor" not in operator.tensors:
            return "a zero point is needed"
        return super().refuses(operator)


# CLIP


class EqualBoundsAreIgnored(Right):
    """With equal bounds every element is what it was."""

    operator, clause = "OWN_CLIP", "own-clip.bounds.equal"

    def clamp(self, x: Array, low: Any, high: Any) -> Array:
        return x if low == high else super().clamp(x, low, high)


class InvertedBoundsGiveTheUpper(Right):
    """The minimum is taken last."""

    operator, clause = "OWN_CLIP", "own-clip.bounds.inverted"

    def clamp(self, x: Array, low: Any, high: Any) -> Array:
        values: Array = np.minimum(np.maximum(x, low), high)
        return values


class NanBoundsGiveOne(Right):
    """With a NaN for a bound every element is 1."""

    operator, clause = "OWN_CLIP", "own-clip.nan.bound"

    def clamp(self, x: Array, low: Any, high: Any) -> Array:
        return np.ones_like(x) if np.isnan(low) or np.isnan(high) else super().clamp(x, low, high)


class IntegerBoundsAreRounded(Right):
    """Bounds go to the nearest integer."""

    operator, clause = "OWN_CLIP", "own-clip.cast.integer"

    def threshold(self, operator: OperatorDesc, x: Array) -> Array:
        """DirectML's own, which the bounded operator is compared with."""
        values: Array = np.maximum(self.bound(operator, "Min", x.dtype), x)
        return values

    def bound(self, operator: OperatorDesc, name: str, dtype: np.dtype[Any]) -> Any:
        value = np.float64(operator.attributes[name])  # type: ignore[arg-type]  # a FLOAT
        return super().bound(operator, name, dtype) if dtype.kind == "f" else self.whole(np.rint(value), dtype)[()]


FAULTS: tuple[type[Right], ...] = (
    AddSaturates,
    AddReadsTheSecondPacked,
    AddLosesTheLowWord,
    AddWritesTheSecond,
    EqualsGives255,
    EqualsComparesLowWords,
    EqualsComparesBits,
    EqualsTakesAnySizes,
    AndFlushesSubnormals,
    AndQuietsNans,
    AndLosesTheTopBit,
    AndInPlaceReadsTheFirstTwice,
    SqrtIsTwoUlpOff,
    SqrtOfNegativesIsZero,
    SqrtOfInfinityIsLargest,
    SqrtLeavesTheTail,
    QuantizeTruncates,
    QuantizeForgetsTheZeroPoint,
    QuantizeWraps,
    QuantizeNeedsAZeroPoint,
    EqualBoundsAreIgnored,
    InvertedBoundsGiveTheUpper,
    NanBoundsGiveOne,
    IntegerBoundsAreRounded,
)
