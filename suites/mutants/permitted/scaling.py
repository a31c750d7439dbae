"""In which format, and with how many roundings, floating-point ScaleBias is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import DataType, ScaleBias
from dmlcts.suites.mutants.permitted.steps import FLOATING, Permitted
from dmlcts.suites.mutants.reference import Array


def rounded_to_odd(x: Array, scale: Any, bias: Any) -> Array:
    """FLOAT64 numbers that round to FLOAT32 and FLOAT16 as x * scale + bias itself does.

    The product must be exact in FLOAT64. A sum that is not becomes its neighbour whose last bit is odd, which no
    narrower format takes for a number of its own or for a tie.
    """
    product = x.astype(np.float64) * np.float64(scale)
    addend = np.broadcast_to(np.float64(bias), product.shape)
    total = product + addend
    rest = total - product
    error = (product - (total - rest)) + (addend - rest)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    nudge = np.isfinite(total) & (error != 0) & np.isfinite(error) & even
    return np.where(nudge, np.nextafter(total, np.copysign(np.inf, error)), total)


def toward_zero(wide: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers in a narrower format, rounded toward zero; beyond its range the largest finite one."""
    nearest = wide.astype(dtype)
    outward = np.abs(nearest.astype(np.float64)) > np.abs(wide.astype(np.float64))
    return np.where(outward, np.nextafter(nearest, dtype.type(0)), nearest)


class ScaleBiasSeparate(Permitted):
    """x * scale + bias is rounded after each operation, in FLOAT32."""

    choice = ("scale-bias",)
    touches = (FLOATING,)


class ScaleBiasFused(Permitted):
    """x * scale + bias is rounded once, in FLOAT32."""

    choice = ("scale-bias",)
    touches = (FLOATING,)

    def multiply_add(self, x: Array, scale: Any, bias: Any) -> Array:
        """Fused; FLOAT64 has no wider format here."""
        if x.dtype == np.float64:
            return super().multiply_add(x, scale, bias)
        exact = rounded_to_odd(x, scale, bias)
        return self.settled(exact.astype(x.dtype), exact)


class ScaleBiasTruncated(Permitted):
    """x * scale + bias is truncated after each operation, in FLOAT32, as Direct3D's rules let hardware do."""

    choice = ("scale-bias",)
    touches = (FLOATING,)

    def multiply_add(self, x: Array, scale: Any, bias: Any) -> Array:
        """Toward zero twice; FLOAT64 follows IEEE 754."""
        if x.dtype != np.float32:
            return super().multiply_add(x, scale, bias)
        exact = x.astype(np.float64) * np.float64(scale)
        product = self.flush_step(self.settled(toward_zero(exact, x.dtype), exact))
        total = rounded_to_odd(product, np.float64(1), bias)
        return self.settled(toward_zero(total, x.dtype), total)


class ScaleBiasFusedTruncated(Permitted):
    """x * scale + bias is truncated once, in FLOAT32."""

    choice = ("scale-bias",)
    touches = (FLOATING,)

    def multiply_add(self, x: Array, scale: Any, bias: Any) -> Array:
        """Toward zero once; FLOAT64 has no wider format here."""
        if x.dtype != np.float32:
            return super().multiply_add(x, scale, bias)
        exact = rounded_to_odd(x, scale, bias)
        return self.settled(toward_zero(exact, x.dtype), exact)


class ScaleBiasInFloat64(Permitted):
    """x * scale + bias is computed in FLOAT64 and converted to the tensor's type."""

    choice = ("scale-bias",)
    touches = (FLOATING,)

    def widened(self, x: Array) -> Array:
        """To FLOAT64."""
        return x.astype(np.float64)


class ScaleBiasCorrectlyRounded(ScaleBiasFused):
    """x * scale + bias is rounded once to the tensor's type, scale and bias as they are, on FLOAT16 too."""

    choice = ("scale-bias", "float16 factors", "float16 conversion")

    def widened(self, x: Array) -> Array:
        """Not widened."""
        return x


class ScaleBiasFactorsInFloat16(Permitted):
    """On FLOAT16 scale and bias are rounded to it, and the arithmetic is FLOAT32."""

    choice = ("scale-bias",)
    touches = (FLOATING,)

    def narrow_factor(self, value: Any) -> Any:
        """To nearest."""
        return value.astype(np.float16)

    def factors(self, scale_bias: ScaleBias, data_type: DataType) -> tuple[Any, Any]:
        """Converted to the tensor's type."""
        scale, bias = super().factors(scale_bias, data_type)
        if data_type is not DataType.FLOAT16:
            return scale, bias
        return self.narrow_factor(scale), self.narrow_factor(bias)


class ScaleBiasFactorsInFloat16Fused(ScaleBiasFactorsInFloat16, ScaleBiasFused):
    """On FLOAT16 scale and bias are rounded to it, and the arithmetic is FLOAT32, rounded once."""


class ScaleBiasFactorsInFloat16InFloat64(ScaleBiasFactorsInFloat16, ScaleBiasInFloat64):
    """On FLOAT16 scale and bias are rounded to it, and the arithmetic is FLOAT64."""


class ScaleBiasInFloat16(ScaleBiasFactorsInFloat16):
    """On FLOAT16 all of the arithmetic is FLOAT16, rounded after each operation."""

    def widened(self, x: Array) -> Array:
        """Not widened."""
        return x


class ScaleBiasInFloat16Fused(ScaleBiasInFloat16, ScaleBiasFused):
    """On FLOAT16 all of the arithmetic is FLOAT16, rounded once."""


class ScaleBiasByItsFactors(ScaleBiasFused):
    """Another kernel for each kind of ScaleBias: FLOAT16 products without a bias, FLOAT64 with scale 1, else fused."""

    choice = ("scale-bias", "float16 factors", "float16 conversion")
    alone = True

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        """What one of the three does."""
        if not data_type.is_floating:
            return super().scale_bias(x, scale_bias, data_type)
        chosen = ScaleBiasInFloat16 if scale_bias.bias == 0 else ScaleBiasInFloat64 if scale_bias.scale == 1 else None
        if chosen is None:
            return super().scale_bias(x, scale_bias, data_type)
        return chosen().scale_bias(x, scale_bias, data_type)


class ScaleBiasFactorsTowardZero(ScaleBiasFactorsInFloat16):
    """On FLOAT16 scale and bias are converted to it toward zero."""

    choice = ("float16 factors",)

    def narrow_factor(self, value: Any) -> Any:
        """Toward zero, also where a class that this one is paired with converts them."""
        return toward_zero(value, np.dtype(np.float16))


class Float16ResultsTowardZero(Permitted):
    """What ScaleBias computes in a wider format is converted to FLOAT16 toward zero, as Direct3D's rules say."""

    choice = ("float16 conversion",)
    touches = (FLOATING,)

    def narrowed(self, wide: Array, dtype: np.dtype[Any]) -> Array:
        """At most 65504, unless it is infinite."""
        return toward_zero(wide, dtype) if dtype == np.float16 else super().narrowed(wide, dtype)
