"""What counts as large, tiny and overflowing for a scale or a bias, as exact after both, and as a type's value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, ScaleBias
from dmlcts.suites.cases.values import Array

_COUNTED = 1 << 24  # as far as FLOAT32 has every integer


@dataclass(frozen=True)
class Magnitudes:
    """The magnitudes that divide the levels of ``scale-bias``, as exponents of two.

    Attributes:
        most: every value of the type is below two to this, and every scale.
        large: a scale of at least two to this is large.
        overflowing: a scale of at least two to this is overflowing.
        tiny: a scale of at most two to this is tiny.
    """

    most: int
    large: int
    overflowing: int
    tiny: int


@lru_cache(maxsize=16)
def magnitudes(data_type: DataType) -> Magnitudes:
    """Those of a type."""
    if data_type is DataType.FLOAT16:
        return Magnitudes(16, 4, 12, -8)
    if data_type.is_floating:
        # scale and bias are FLOAT32 numbers, on FLOAT64 too
        most = min(int(np.finfo(data_type.numpy).maxexp), int(np.finfo(np.float32).maxexp))
        return Magnitudes(most, most // 4, most - 28, -40)
    bits = 8 * data_type.itemsize - data_type.is_signed
    return Magnitudes(bits, bits // 3 + 1, bits - 2, -3)


def holds(value: float | np.float32, data_type: DataType) -> bool:
    """Whether a finite value is one of the type's, without rounding."""
    if not data_type.is_floating:
        least, most = _limits(data_type)
        return float(value).is_integer() and least <= int(value) <= most
    with np.errstate(over="ignore"):
        return float(data_type.numpy.type(value)) == float(value)


def within(value: float | np.float32, data_type: DataType) -> bool:
    """Whether a finite value is within the type's range, so that a cast of it is fixed but for rounding."""
    if data_type is DataType.FLOAT16:
        return abs(float(value)) < 65520.0
    if data_type.is_floating:
        return True
    least, most = _limits(data_type)
    return least <= int(value) <= most


@lru_cache(maxsize=16)
def _limits(data_type: DataType) -> tuple[int, int]:
    limits = np.iinfo(data_type.numpy)
    return int(limits.min), int(limits.max)


def needs_rounding(value: float | np.float32, data_type: DataType) -> bool:
    """Whether a scale or bias is no value of the type, or one with so many digits that products of it are rounded."""
    if data_type in (DataType.FLOAT32, DataType.FLOAT64):
        mantissa, _ = math.frexp(float(value))
        return not (mantissa * 4096).is_integer()
    return not (holds(value, data_type) if data_type.is_floating else float(value).is_integer())


def in_exact_domain(value: int, scale_bias: ScaleBias, data_type: DataType) -> bool:
    """Whether x * scale + bias is the same in integers of the type and in FLOAT32, step by step."""
    return bool(exactly_scaled(np.array([value], np.float64), scale_bias, data_type)[0])


def exactly_scaled(x: NDArray[Any], scale_bias: ScaleBias, data_type: DataType) -> NDArray[np.bool_]:
    """For which elements of an integer type that is so; FLOAT64 decides, since it has every integer that counts."""
    factors = (float(scale_bias.scale), float(scale_bias.bias))
    if not all(np.isfinite(factor) and factor.is_integer() for factor in factors):
        return np.zeros(x.shape, bool)
    limits = np.iinfo(data_type.numpy)
    low, high = max(int(limits.min), -_COUNTED), min(int(limits.max), _COUNTED)
    wide = x.astype(np.float64)
    product = wide * factors[0]
    steps = (wide, product, product + factors[1])
    exact: NDArray[np.bool_] = np.logical_and.reduce([(low <= step) & (step <= high) for step in steps])
    return exact


def with_limits(x: Array, data_type: DataType) -> Array:
    """The stream with the type's least and greatest value near its beginning, as the expectation "one value" asks."""
    limits = np.iinfo(data_type.numpy)
    x = x.copy()
    x[1:3] = (limits.min, limits.max)
    return x


def kept_exact(x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
    """The stream without what ScaleBias takes beyond the type or beyond exact sums: others of it stand there.

    Args:
        x: the stream.
        scale_bias: a whole scale and bias.
        data_type: an integer type.
    """
    exact = exactly_scaled(x, scale_bias, data_type)
    if exact.any():
        return np.where(exact, x, np.resize(x[exact], x.size))
    small = np.arange(min(1 << 12, int(np.iinfo(data_type.numpy).max))).astype(data_type.numpy)
    return np.resize(small[exactly_scaled(small, scale_bias, data_type)], x.size)


def plain_scale_bias(generator: np.random.Generator, data_type: DataType, level: str | None) -> ScaleBias | None:
    """A small scale and bias of one of the levels that operators of several inputs have."""
    if level in (None, "none"):
        return None
    scales, biases = ((0.5, 1.5, 2.0), (0.25, 1.0, 3.0)) if data_type.is_floating else ((2.0, 3.0), (1.0, 3.0, 5.0))
    scale, bias = float(generator.choice(scales)), float(generator.choice(biases))
    if level == "negative":
        signed = data_type.is_signed and generator.integers(2)
        return ScaleBias(-scale, bias) if signed else ScaleBias(scale, -bias)
    return ScaleBias(
        1.0 if level in ("bias-only", "identity") else scale, 0.0 if level in ("scale-only", "identity") else bias
    )
