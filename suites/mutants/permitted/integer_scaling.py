"""The arithmetics of ScaleBias on integers: a format, a rounding to integers, and a way to store what is too large."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from dmlcts.specs import DataType, ScaleBias
from dmlcts.suites.mutants.permitted.minimum import toward_zero
from dmlcts.suites.mutants.permitted.steps import INTEGER, Permitted
from dmlcts.suites.mutants.reference import Array

Rounding = Callable[[Array], Array]
Storing = Callable[[Array, DataType], Array]
Computing = Callable[[Array, ScaleBias, DataType], Array]


def saturated(whole: Array, data_type: DataType) -> Array:
    """Whole FLOAT64 numbers, the nearest limit of the type where they are outside."""
    limits = np.iinfo(data_type.numpy)
    above, below = whole > float(limits.max), whole < float(limits.min)
    # FLOAT64 knows no 2^63 - 1 or 2^64 - 1: what is not below that power of two is above the type.
    above |= whole >= 2.0 ** (limits.bits - (limits.min < 0))
    inside = np.where(above | below, 0, whole).astype(data_type.numpy)
    return np.where(above, limits.max, np.where(below, limits.min, inside)).astype(data_type.numpy)


def wrapped(whole: Array, data_type: DataType) -> Array:
    """Whole FLOAT64 numbers modulo the type's size; infinities saturate."""
    rest = np.fmod(np.where(np.isfinite(whole), whole, 0), 2.0**64)  # exact
    magnitude = np.abs(rest).astype(np.uint64)
    low = np.where(rest < 0, np.uint64(0) - magnitude, magnitude).astype(data_type.numpy)
    return np.where(np.isinf(whole), saturated(whole, data_type), low)


def through_int32(whole: Array, data_type: DataType) -> Array:
    """Saturated to INT32 and wrapped into types of 8 and 16 bits; wider ones saturate."""
    if data_type.itemsize > 2:
        return saturated(whole, data_type)
    return saturated(whole, DataType.INT32).astype(data_type.numpy)


def in_floating(
    x: Array,
    scale_bias: ScaleBias,
    data_type: DataType,
    rounding: Rounding,
    store: Storing,
    dtype: type[np.floating[Any]],
) -> Array:
    """Separate operations in FLOAT32 or FLOAT64, then one rounding to an integer."""
    real = x.astype(dtype) * dtype(scale_bias.scale) + dtype(scale_bias.bias)
    return store(rounding(real.astype(np.float64)), data_type)


def in_truncating_float32(x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
    """In FLOAT32, the product and the sum truncated, then truncated to an integer; what is too large saturates."""
    product = toward_zero(x.astype(np.float32).astype(np.float64) * np.float64(scale_bias.scale), DataType.FLOAT32)
    total = toward_zero(product.astype(np.float64) + np.float64(scale_bias.bias), DataType.FLOAT32)
    return saturated(np.trunc(total.astype(np.float64)), data_type)


def from_below(x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
    """In FLOAT32, with elements that it does not hold taken for the neighbour nearer zero, then truncated."""
    single = x.astype(np.float32)
    exact, near = x.astype(object), single.astype(object)  # Python's numbers compare integers and floats exactly
    outward = np.array([abs(int(b)) > abs(int(a)) for a, b in zip(exact.ravel(), near.ravel(), strict=True)], bool)
    single = np.where(outward.reshape(x.shape), np.nextafter(single, np.float32(0)), single)
    real = single * np.float32(scale_bias.scale) + np.float32(scale_bias.bias)
    return saturated(np.trunc(real.astype(np.float64)), data_type)


def in_integers(x: Array, scale_bias: ScaleBias, data_type: DataType, rounding: str, wraps: bool) -> Array:
    """Each step in integers of the type, exactly; scale and bias are fractions over powers of two."""
    limits = np.iinfo(data_type.numpy)
    (scale, scale_unit), (bias, bias_unit) = (
        float(value).as_integer_ratio() for value in (scale_bias.scale, scale_bias.bias)
    )

    def whole(numerator: int, denominator: int) -> int:
        below, rest = divmod(numerator, denominator)
        if rounding == "Truncated":
            return below + (below < 0 < rest)
        if rounding == "ToEven":
            return below + (2 * rest > denominator or (2 * rest == denominator and below % 2 == 1))
        return below

    def fitted(value: int) -> int:
        if wraps:
            return (value - int(limits.min)) % (1 << limits.bits) + int(limits.min)
        return min(max(value, int(limits.min)), int(limits.max))

    def result(value: int) -> int:
        product = fitted(whole(value * scale, scale_unit))
        return fitted(whole(product * bias_unit + bias, bias_unit))

    return np.array([result(value) for value in x.ravel().tolist()], data_type.numpy).reshape(x.shape)


def _arithmetic(name: str, description: str, compute: Computing, alone: bool) -> type[Permitted]:
    """A permitted implementation that scales integers by ``compute``."""

    class Arithmetic(Permitted):
        choice = ("integer scale-bias",)
        touches = (INTEGER,)

        def integer_scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
            if not (np.isfinite(scale_bias.scale) and np.isfinite(scale_bias.bias)):
                return super().integer_scale_bias(x, scale_bias, data_type)
            return compute(x, scale_bias, data_type)

    Arithmetic.__name__ = Arithmetic.__qualname__ = name
    Arithmetic.__doc__ = description
    Arithmetic.alone = alone
    return Arithmetic


FORMATS: Mapping[str, type[np.floating[Any]]] = {"Float32": np.float32, "Float64": np.float64}
ROUNDINGS: Mapping[str, tuple[Rounding, str]] = {
    "Down": (np.floor, "fractions are rounded down"),
    "Truncated": (np.trunc, "fractions are truncated"),
    "ToEven": (np.rint, "fractions are rounded to nearest, ties to even"),
}
STORINGS: Mapping[str, tuple[Storing, str]] = {
    "Saturated": (saturated, "overflow saturates"),
    "Wrapped": (wrapped, "overflow wraps"),
}
IN_PAIRS = ("Float32TruncatedSaturated", "Float64ToEvenWrapped", "IntegersDownWrapped", "IntegersTruncatedSaturated")
"""The variants that stand for all of them in pairs."""


def arithmetics() -> Iterator[type[Permitted]]:
    """Every format with every rounding and every way to store; and INT32 in between."""
    for (rounding, (rounded, fractions)), (storing, (store, overflow)) in itertools.product(
        ROUNDINGS.items(), STORINGS.items()
    ):
        for format_name, dtype in FORMATS.items():
            name = f"{format_name}{rounding}{storing}"
            description = f"Integer x * scale + bias is computed in {format_name.upper()}: {fractions}, {overflow}."
            compute = partial(in_floating, rounding=rounded, store=store, dtype=dtype)
            yield _arithmetic(f"IntegerScaleBias{name}", description, compute, name not in IN_PAIRS)
        name = f"Integers{rounding}{storing}"
        description = f"Integer x * scale + bias is computed step by step in integers: {fractions}, {overflow}."
        compute = partial(in_integers, rounding=rounding, wraps=storing == "Wrapped")
        yield _arithmetic(f"IntegerScaleBias{name}", description, compute, name not in IN_PAIRS)
    description = (
        "Integer x * scale + bias in FLOAT32 is truncated, saturated to INT32 and then wrapped, as with DirectML."
    )
    compute = partial(in_floating, rounding=np.trunc, store=through_int32, dtype=np.float32)
    yield _arithmetic("IntegerScaleBiasThroughInt32", description, compute, alone=False)
    description = (
        "Integer x * scale + bias is computed in FLOAT32 that truncates, and is truncated; overflow saturates."
    )
    yield _arithmetic("IntegerScaleBiasTruncatingSteps", description, in_truncating_float32, alone=True)
    description = (
        "Integers become FLOAT32 toward zero, as WGSL permits; x * scale + bias is truncated, overflow saturates."
    )
    yield _arithmetic("IntegerScaleBiasFromBelow", description, from_below, alone=True)
