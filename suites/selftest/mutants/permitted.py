"""Implementations that the pages permit: every latitude alone, any two together, and strict IEEE 754.

Each must be CONFORMANT without ``--strict``; :class:`StrictIeee` with it as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import unconditional_violations
from dmlcts.suites.selftest.mutants.reference import Array, Reference


class Permitted(Reference):
    """The base with finer steps.

    Attributes:
        choice: what the class chooses among; two classes with one choice in common exclude each other.
    """

    choice: tuple[str, ...] = ()

    def flush_step(self, values: Any) -> Any:
        """What becomes of a scale, a bias, a product or a sum."""
        return values

    def factors(self, scale_bias: ScaleBias, data_type: DataType) -> tuple[Any, Any]:
        """Scale and bias as they enter the arithmetic."""
        return np.asarray(scale_bias.scale), np.asarray(scale_bias.bias)

    def widened(self, x: Array) -> Array:
        """The elements in the format of the arithmetic."""
        return x.astype(np.float32)

    def multiply_add(self, x: Array, scale: Any, bias: Any) -> Array:
        """x * scale + bias in x's format, each operation rounded."""
        product = self.flush_step(x * scale.astype(x.dtype))
        return product + bias.astype(x.dtype)  # type: ignore[no-any-return]  # flush_step takes scalars too

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """The steps in their order."""
        if not data_type.is_floating:
            return self.integer_scale_bias(x, scale_bias, data_type)
        scale, bias = (self.flush_step(value) for value in self.factors(scale_bias, data_type))
        result = self.flush_step(self.multiply_add(self.widened(x), scale, bias))
        return self.flush_step(result.astype(x.dtype))  # type: ignore[no-any-return]  # as above

    def integer_scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """The reference's."""
        return super().scale_bias(x, scale_bias, data_type)


# -- subnormals ----------------------------------------------------------------------------------------


def flushed(values: Any, *, signed: bool) -> Any:
    """The values with subnormals replaced by +0, or by the zero of their sign."""
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return values
    small = (np.abs(array) < np.finfo(array.dtype).smallest_normal) & (array != 0)
    zero = np.copysign(array.dtype.type(0), array) if signed else array.dtype.type(0)
    return np.where(small, zero, array)


class FlushInputs(Permitted):
    """Subnormal inputs are read as +0."""

    choice = ("subnormals",)
    signed = False

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Flush, then compute."""
        return super().compute(operator, flushed(x, signed=self.signed))


class FlushInputsKeepingSign(FlushInputs):
    """Subnormal inputs are read as the zero of their sign."""

    signed = True


class FlushBounds(Permitted):
    """Subnormal bounds are taken as +0."""

    choice = ("subnormals",)
    signed = False

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """Cast, then flush."""
        return flushed(super().cast(value, data_type, name), signed=self.signed)


class FlushBoundsKeepingSign(FlushBounds):
    """Subnormal bounds are taken as the zero of their sign."""

    signed = True


class FlushResults(Permitted):
    """Subnormal results are written as +0."""

    choice = ("subnormals",)
    signed = False

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Compute, then flush."""
        return flushed(super().compute(operator, x), signed=self.signed)  # type: ignore[no-any-return]  # an Array


class FlushResultsKeepingSign(FlushResults):
    """Subnormal results are written as the zero of their sign."""

    signed = True


class FlushEverything(FlushInputs, FlushBounds, FlushResults):
    """Subnormal inputs, bounds, factors, intermediate and final results are +0."""

    def flush_step(self, values: Any) -> Any:
        """Flush here too."""
        return flushed(super().flush_step(values), signed=self.signed)


class FlushEverythingKeepingSign(FlushEverything):
    """Subnormal inputs, bounds, factors, intermediate and final results are the zero of their sign."""

    signed = True


# -- NaN -----------------------------------------------------------------------------------------------


class NanInputGivesNan(Permitted):
    """A NaN input gives a NaN of one fixed pattern."""

    choice = ("nan input",)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """One quiet NaN for all."""
        y = super().compute(operator, x)
        return np.where(np.isnan(x), y.dtype.type(np.nan), y) if y.dtype.kind == "f" else y


class NanInputGivesMin(Permitted):
    """A NaN input gives Min, as max(min(x, Max), Min) does on many devices."""

    choice = ("nan input",)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """Min for NaN."""
        return np.where(np.isnan(x), low, super().clip(x, low, high))

    def threshold(self, x: Array, low: Any) -> Array:
        """Min for NaN."""
        return np.where(np.isnan(x), low, super().threshold(x, low))


class NanInputGivesMax(Permitted):
    """A NaN input of CLIP gives Max."""

    choice = ("nan input",)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """Max for NaN."""
        return np.where(np.isnan(x), high, super().clip(x, low, high))


class NumbersWin(Permitted):
    """Minimum and maximum return the number where one operand is NaN, as minimumNumber and maximumNumber do."""

    choice = ("nan input", "nan bound")

    def minimum(self, a: Any, b: Any) -> Array:
        """The number."""
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, super().minimum(a, b)))

    def maximum(self, a: Any, b: Any) -> Array:
        """The number."""
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, super().maximum(a, b)))


class NanBoundIgnored(Permitted):
    """A NaN bound leaves its side open."""

    choice = ("nan bound",)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """The side of a NaN bound is not clamped."""
        below = x if np.isnan(high) else self.minimum(x, high)
        return below if np.isnan(low) else self.maximum(low, below)

    def threshold(self, x: Array, low: Any) -> Array:
        """As CLIP."""
        return x if np.isnan(low) else super().threshold(x, low)


class NanBoundGivesNan(Permitted):
    """A NaN bound makes every element NaN."""

    choice = ("nan bound",)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """NaN where a bound is."""
        y = super().clip(x, low, high)
        return np.full_like(y, np.nan) if np.isnan(low) or np.isnan(high) else y

    def threshold(self, x: Array, low: Any) -> Array:
        """As CLIP."""
        y = super().threshold(x, low)
        return np.full_like(y, np.nan) if np.isnan(low) else y


class NanBoundGivesTheOtherBound(Permitted):
    """Where one bound is NaN every element becomes the other one."""

    choice = ("nan bound",)

    def clip(self, x: Array, low: Any, high: Any) -> Array:
        """The other bound."""
        y = super().clip(x, low, high)
        if np.isnan(low) == np.isnan(high):
            return y
        return np.full_like(y, high if np.isnan(low) else low)


# -- zeros ---------------------------------------------------------------------------------------------


class ZerosArePositive(Permitted):
    """Every zero result is +0."""

    choice = ("zero",)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Replace zeros."""
        y = super().compute(operator, x)
        return np.where(y == 0, y.dtype.type(0), y)


class ZerosAreNegative(Permitted):
    """Every zero result of a floating-point type is -0."""

    choice = ("zero",)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Replace zeros."""
        y = super().compute(operator, x)
        return np.where(y == 0, y.dtype.type(-0.0), y) if y.dtype.kind == "f" else y


class FirstZeroWins(Permitted):
    """Minimum and maximum of equal operands return the first."""

    choice = ("zero",)

    def minimum(self, a: Any, b: Any) -> Array:
        """The first of two zeros."""
        return np.where(np.asarray(a) == b, a, super().minimum(a, b))

    def maximum(self, a: Any, b: Any) -> Array:
        """The first of two zeros."""
        return np.where(np.asarray(a) == b, a, super().maximum(a, b))


class SecondZeroWins(Permitted):
    """Minimum and maximum of equal operands return the second."""

    choice = ("zero",)

    def minimum(self, a: Any, b: Any) -> Array:
        """The second of two zeros."""
        return np.where(np.asarray(a) == b, b, super().minimum(a, b))

    def maximum(self, a: Any, b: Any) -> Array:
        """The second of two zeros."""
        return np.where(np.asarray(a) == b, b, super().maximum(a, b))


# -- ScaleBias -----------------------------------------------------------------------------------------


def fused(x: Array, scale: Any, bias: Any) -> Array:
    """x * scale + bias with one rounding to x's format: exact in FLOAT64 but for a sum that is rounded to odd."""
    product = x.astype(np.float64) * np.float64(scale)
    addend = np.broadcast_to(np.float64(bias), product.shape)
    total = product + addend
    rest = total - product
    error = (product - (total - rest)) + (addend - rest)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    nudge = np.isfinite(total) & (error != 0) & np.isfinite(error) & even
    return np.where(nudge, np.nextafter(total, np.copysign(np.inf, error)), total).astype(x.dtype)


class ScaleBiasFused(Permitted):
    """x * scale + bias is rounded once, in FLOAT32."""

    choice = ("scale-bias",)

    def multiply_add(self, x: Array, scale: Any, bias: Any) -> Array:
        """Fused."""
        return fused(x, scale, bias)


class ScaleBiasSeparate(Permitted):
    """x * scale + bias is rounded after each operation, in FLOAT32."""

    choice = ("scale-bias",)


class ScaleBiasFactorsInFloat16(Permitted):
    """On FLOAT16 scale and bias are rounded to it, and the arithmetic is FLOAT32."""

    choice = ("scale-bias",)

    def factors(self, scale_bias: ScaleBias, data_type: DataType) -> tuple[Any, Any]:
        """Rounded to the tensor's type."""
        scale, bias = super().factors(scale_bias, data_type)
        return scale.astype(data_type.numpy), bias.astype(data_type.numpy)


class ScaleBiasFactorsInFloat16Fused(ScaleBiasFactorsInFloat16, ScaleBiasFused):
    """On FLOAT16 scale and bias are rounded to it, and the arithmetic is FLOAT32, rounded once."""


class ScaleBiasInFloat16(ScaleBiasFactorsInFloat16):
    """On FLOAT16 all of the arithmetic is FLOAT16, rounded after each operation."""

    def widened(self, x: Array) -> Array:
        """Not widened."""
        return x


class ScaleBiasInFloat16Fused(ScaleBiasInFloat16, ScaleBiasFused):
    """On FLOAT16 all of the arithmetic is FLOAT16, rounded once."""


class IntegerScaleBiasInFloat32(Permitted):
    """Integer x * scale + bias is computed in FLOAT32, truncated and saturated."""

    choice = ("integer scale-bias",)

    def integer_scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """In FLOAT32."""
        wide = x.astype(np.float32) * scale_bias.scale + scale_bias.bias
        return self.saturate(wide.astype(np.float64), data_type)


class IntegerScaleBiasRounded(Permitted):
    """Integer x * scale + bias is computed in FLOAT64, rounded to nearest and saturated."""

    choice = ("integer scale-bias",)

    def integer_scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """In FLOAT64."""
        exact = x.astype(np.float64) * np.float64(scale_bias.scale) + np.float64(scale_bias.bias)
        return self.saturate(np.rint(exact), data_type)


class IntegerScaleBiasWraps(Permitted):
    """Integer x * scale + bias is computed in integers that wrap, scale and bias truncated first."""

    choice = ("integer scale-bias",)

    def integer_scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """Modulo the type's size."""
        scale, bias = (
            np.array(int(value) % (1 << 64) if np.isfinite(value) else 0, np.uint64)
            for value in (scale_bias.scale, scale_bias.bias)
        )
        return (x.astype(np.uint64) * scale + bias).astype(x.dtype)


# -- casts ---------------------------------------------------------------------------------------------


def fits(value: np.float32, data_type: DataType) -> bool:
    """Whether the truncated value lies within the integer type."""
    limits = np.iinfo(data_type.numpy)
    return bool(np.isfinite(value)) and int(limits.min) <= int(value) <= int(limits.max)


def wrapped(value: int, data_type: DataType) -> Any:
    """The integer modulo the type's size, as a 0-dimensional array."""
    bits = 8 * data_type.itemsize
    return np.asarray(value % (1 << bits), f"u{data_type.itemsize}").view(data_type.numpy)


class _OutOfRange(Permitted):
    """A bound beyond the integer type becomes what :meth:`beyond` says."""

    choice = ("cast",)

    def beyond(self, value: np.float32, data_type: DataType) -> int:
        """The integer, before it is wrapped into the type."""
        return 0

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """The reference's within the type."""
        if data_type.is_floating or fits(value, data_type):
            return super().cast(value, data_type, name)
        return wrapped(self.beyond(value, data_type), data_type)


class OutOfRangeSaturates(Permitted):
    """A bound beyond the integer type becomes the nearest limit, NaN becomes 0."""

    choice = ("cast",)


class OutOfRangeWraps(_OutOfRange):
    """A bound beyond the integer type wraps; NaN and infinities become 0."""

    def beyond(self, value: np.float32, data_type: DataType) -> int:
        """All of its bits."""
        return int(value) if np.isfinite(value) else 0


class OutOfRangeIsIndefinite(_OutOfRange):
    """A bound beyond INT32 (INT64 for 32 and 64 bits) becomes the least integer; it is truncated for narrower types."""

    def beyond(self, value: np.float32, data_type: DataType) -> int:
        """What cvttss2si gives."""
        least = -(1 << 31) if data_type.itemsize < 4 or data_type is DataType.INT32 else -(1 << 63)
        return int(value) if np.isfinite(value) and least <= int(value) < -least else least


class OutOfRangeIsZero(_OutOfRange):
    """A bound beyond the integer type becomes 0."""


class Float16OverflowSaturates(Permitted):
    """A finite bound of magnitude 65520 or more becomes 65504 of its sign."""

    choice = ("float16 overflow",)

    def cast(self, value: np.float32, data_type: DataType, name: str) -> Any:
        """Clamp finite values first."""
        if data_type is DataType.FLOAT16 and np.isfinite(value):
            value = np.clip(value, np.float32(-65504), np.float32(65504))
        return super().cast(value, data_type, name)


class _RoundsThresholdMin(Permitted):
    """A Min of THRESHOLD that the type cannot represent is rounded by :meth:`rounded`."""

    choice = ("threshold min",)

    def rounded(self, value: np.float32) -> np.float32:
        """A whole number."""
        return value

    def nearby(self, value: np.float32) -> np.float32:
        """A FLOAT16 value."""
        return np.float32(np.float16(value))

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Replace Min by a value that the type represents."""
        value, data_type = operator.attributes.get("Min"), operator.input.data_type
        if operator.name == "ELEMENT_WISE_THRESHOLD" and isinstance(value, np.float32) and np.isfinite(value):
            if data_type is DataType.FLOAT16 and abs(value) < 65504:
                value = self.nearby(value)
            if not data_type.is_floating and fits(value, data_type) and fits(self.rounded(value), data_type):
                value = self.rounded(value)
            operator = OperatorDesc(operator.name, operator.tensors, {**operator.attributes, "Min": value})
        return super().compute(operator, x)


class ThresholdMinRoundedUp(_RoundsThresholdMin):
    """A Min of THRESHOLD that the type cannot represent is rounded up."""

    def rounded(self, value: np.float32) -> np.float32:
        """Up."""
        return np.ceil(value)  # type: ignore[no-any-return]  # a FLOAT

    def nearby(self, value: np.float32) -> np.float32:
        """Up."""
        near = np.float16(value)
        return np.float32(near if near >= value else np.nextafter(near, np.float16(np.inf)))


class ThresholdMinRoundedDown(_RoundsThresholdMin):
    """A Min of THRESHOLD that the type cannot represent is rounded down."""

    def rounded(self, value: np.float32) -> np.float32:
        """Down."""
        return np.floor(value)  # type: ignore[no-any-return]  # as above

    def nearby(self, value: np.float32) -> np.float32:
        """Down."""
        near = np.float16(value)
        return np.float32(near if near <= value else np.nextafter(near, np.float16(-np.inf)))


class ThresholdMinRoundedToNearest(_RoundsThresholdMin):
    """A Min of THRESHOLD that the type cannot represent is rounded to nearest, ties to even."""

    def rounded(self, value: np.float32) -> np.float32:
        """To nearest."""
        return np.rint(value)  # type: ignore[no-any-return]  # as above


# -- memory and descriptions ---------------------------------------------------------------------------


class PaddingCleared(Permitted):
    """All of the output's total size is written, zeros where no element stands."""

    choice = ("padding",)

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Clear, then write."""
        memory[region.offset : region.offset + tensor.total_size_in_bytes] = 0
        super().write(memory, region, tensor, values)


class ZeroOutputStrideRefused(Permitted):
    """An output with a stride of zero is refused."""

    choice = ("output stride",)

    def refuses(self, operator: OperatorDesc) -> str:
        """Look for zeros."""
        zero = 0 in (operator.output.strides or ())
        return super().refuses(operator) or ("the output has a stride of zero" if zero else "")


class LaterLevelsAccepted(Permitted):
    """Level 3.0 is claimed, and what later levels list is accepted and right."""

    choice = ("level",)
    level = "3.0"

    def refuses(self, operator: OperatorDesc) -> str:
        """What must be refused at every level."""
        return "; ".join(violation.text for violation in unconditional_violations(operator, load_tables()))


class LaterLevelsAcceptedAtLevel1(LaterLevelsAccepted):
    """Level 1.0 is claimed, and what later levels list is accepted and right, ROUND too."""

    level = "1.0"


class Level10(Permitted):
    """Level 1.0 is claimed, and what later levels list is refused."""

    choice = ("level",)
    level = "1.0"


class Level21(Permitted):
    """Level 2.1 is claimed, and what later levels list is refused."""

    choice = ("level",)
    level = "2.1"


class Level30(Permitted):
    """Level 3.0 is claimed, and what later levels list is refused."""

    choice = ("level",)
    level = "3.0"


class Level50(Permitted):
    """Level 5.0 is claimed."""

    choice = ("level",)
    level = "5.0"


class Level62(Permitted):
    """Level 6.2 is claimed."""

    choice = ("level",)
    level = "6.2"


class StrictIeee(Reference):
    """IEEE 754-2019 throughout: nothing flushed, -0 below +0, NaN propagates, FLOAT32 arithmetic rounded each time."""


PERMITTED: tuple[type[Permitted], ...] = (
    FlushInputs, FlushInputsKeepingSign, FlushBounds, FlushBoundsKeepingSign, FlushResults, FlushResultsKeepingSign,
    FlushEverything, FlushEverythingKeepingSign,
    NanInputGivesNan, NanInputGivesMin, NanInputGivesMax, NumbersWin,
    NanBoundIgnored, NanBoundGivesNan, NanBoundGivesTheOtherBound,
    ZerosArePositive, ZerosAreNegative, FirstZeroWins, SecondZeroWins,
    ScaleBiasFused, ScaleBiasSeparate, ScaleBiasFactorsInFloat16, ScaleBiasFactorsInFloat16Fused,
    ScaleBiasInFloat16, ScaleBiasInFloat16Fused,
    IntegerScaleBiasInFloat32, IntegerScaleBiasRounded, IntegerScaleBiasWraps,
    OutOfRangeSaturates, OutOfRangeWraps, OutOfRangeIsIndefinite, OutOfRangeIsZero,
    Float16OverflowSaturates, ThresholdMinRoundedUp, ThresholdMinRoundedDown, ThresholdMinRoundedToNearest,
    PaddingCleared, ZeroOutputStrideRefused, LaterLevelsAccepted, LaterLevelsAcceptedAtLevel1,
    Level10, Level21, Level30, Level50, Level62,
)  # fmt: skip


def paired(first: type[Permitted], second: type[Permitted]) -> type[Permitted]:
    """A class with both latitudes; the first one's level counts where it chooses one."""
    level = next((found.level for found in (first, second) if "level" in found.choice), Reference.level)
    members = {"__doc__": f"{first.__doc__} {second.__doc__}", "__module__": __name__, "level": level,
               "choice": first.choice + second.choice}  # fmt: skip
    return type(f"{first.__name__}_{second.__name__}", (first, second), members)


def pairs() -> Iterator[type[Permitted]]:
    """Every two latitudes that do not choose the same thing, as one class."""
    for first, second in itertools.combinations(PERMITTED, 2):
        if not set(first.choice) & set(second.choice):
            yield paired(first, second)


def __getattr__(name: str) -> type[Permitted]:
    """A pair by its name, so that ``permitted.py:FlushInputs_ScaleBiasFused`` is a backend."""
    known = {found.__name__: found for found in PERMITTED}
    first, _, second = name.partition("_")
    if first in known and second in known and not set(known[first].choice) & set(known[second].choice):
        return paired(known[first], known[second])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
