"""ScaleBias ignored, misplaced, misread, applied once too often or in too little precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias
from dmlcts.suites.mutants.reference import Array, Reference


def without(operator: OperatorDesc) -> OperatorDesc:
    """The operator without its ScaleBias."""
    return replace(operator, attributes={**operator.attributes, "ScaleBias": None})


class _Factors(Reference):
    """x * scale + bias with other factors than those given."""

    clause = "clip.scale-bias"

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        raise NotImplementedError

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        taken = ScaleBias(*self.factors(scale_bias.scale, scale_bias.bias, data_type))
        return super().scale_bias(x, taken, data_type)


class ScaleBiasIgnored(Reference):
    """ScaleBias has no effect."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        return x


class ThresholdScaleBiasIgnored(Reference):
    """ScaleBias has no effect on THRESHOLD."""

    clause = "threshold.scale-bias"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return super().compute(without(operator) if operator.name == "ELEMENT_WISE_THRESHOLD" else operator, x)


class ScaleBiasAfterwards(Reference):
    """ScaleBias is applied to the result, not to the input."""

    clause = "clip.scale-bias"
    modelled_on = "windows-ai-docs directml-structures.md: ScaleBias after the function (hyperbolic operators)"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes.get("ScaleBias")
        if not isinstance(scale_bias, ScaleBias):
            return super().compute(operator, x)
        return self.scale_bias(super().compute(without(operator), x), scale_bias, operator.input.data_type)


class ThresholdScaleBiasAfterwards(ScaleBiasAfterwards):
    """THRESHOLD applies ScaleBias to the result."""

    clause = "threshold.scale-bias"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        threshold = operator.name == "ELEMENT_WISE_THRESHOLD"
        return super().compute(operator, x) if threshold else Reference.compute(self, operator, x)


class BiasFirst(Reference):
    """(x + bias) * scale."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        moved = super().scale_bias(x, ScaleBias(1, scale_bias.bias), data_type)
        return super().scale_bias(moved, ScaleBias(scale_bias.scale, 0), data_type)


class AppliedTwice(Reference):
    """ScaleBias is applied to its own result."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        return super().scale_bias(super().scale_bias(x, scale_bias, data_type), scale_bias, data_type)


class AppliedTwiceInPlace(Reference):
    """In place the operator runs over its own result, which ScaleBias makes visible."""

    clause = "clip.in-place"

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        if bindings["InputTensor"] == bindings["OutputTensor"]:
            super().dispatch(operator, memory, bindings)


class BiasIgnored(_Factors):
    """The bias has no effect."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return scale, 0


class ScaleIgnored(_Factors):
    """The scale has no effect."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return 1, bias


class BiasSubtracted(_Factors):
    """x * scale - bias."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return scale, -bias


class FactorsSwapped(_Factors):
    """Scale and bias are read from each other's place."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return bias, scale


class UnitScaleMeansNone(_Factors):
    """With a scale of 1 the bias is skipped too."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return scale, 0 if scale == 1 else bias


class NoBiasMeansNone(_Factors):
    """With a bias of 0 the scale is skipped too."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return 1 if bias == 0 else scale, bias


class NoScaleMeansOne(_Factors):
    """A scale of 0 counts as not given."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return scale or 1, bias


class NegativeScaleLosesSign(_Factors):
    """The scale's sign is lost."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return abs(scale), bias


class WholeFactors(_Factors):
    """Scale and bias are truncated to integers, on floats too."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return np.trunc(scale), np.trunc(bias)


class Float16FactorsOnFloat32(_Factors):
    """On FLOAT32 scale and bias pass through FLOAT16."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> tuple[Any, Any]:
        return (np.float16(scale), np.float16(bias)) if data_type is DataType.FLOAT32 else (scale, bias)


class BoundsScaled(Reference):
    """Min and Max go through ScaleBias as the elements do."""

    clause = "clip.scale-bias"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes.get("ScaleBias")
        if isinstance(scale_bias, ScaleBias) and x.dtype.kind == "f":
            scaled = {
                name: value * scale_bias.scale + scale_bias.bias
                for name, value in operator.attributes.items()
                if isinstance(value, np.float32)
            }
            operator = replace(operator, attributes={**operator.attributes, **scaled})
        return super().compute(operator, x)


class NegativeScaleSwapsBounds(Reference):
    """A negative scale swaps Min and Max, as if the bounds were those of the input."""

    clause = "clip.scale-bias"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes.get("ScaleBias")
        if isinstance(scale_bias, ScaleBias) and scale_bias.scale < 0 and "Max" in operator.attributes:
            swapped = {"Min": operator.attributes["Max"], "Max": operator.attributes["Min"]}
            operator = replace(operator, attributes={**operator.attributes, **swapped})
        return super().compute(operator, x)


# Precision.


class Float32ResultThroughFloat16(Reference):
    """On FLOAT32 x * scale + bias passes through FLOAT16."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        return y.astype(np.float16).astype(y.dtype) if data_type is DataType.FLOAT32 else y


class Float32ProductIn23Bits(Reference):
    """On FLOAT32 the product is truncated to 23 bits; to 24 would be permitted."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        if data_type is not DataType.FLOAT32:
            return super().scale_bias(x, scale_bias, data_type)
        product = x * scale_bias.scale
        grown = np.abs(product.astype(np.float64)) > np.abs(x.astype(np.float64) * np.float64(scale_bias.scale))
        truncated = np.where(grown, np.nextafter(product, np.float32(0)), product)
        return (truncated.view(np.uint32) & np.uint32(0xFFFFFFFE)).view(np.float32) + scale_bias.bias


class Float16ResultAwayFromZero(Reference):
    """On FLOAT16 x * scale + bias is rounded away from zero; toward zero would be permitted."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        if data_type is not DataType.FLOAT16:
            return y
        wide = x.astype(np.float64) * np.float64(scale_bias.scale) + np.float64(scale_bias.bias)
        away = np.copysign(np.float16(np.inf), y)
        return np.where(np.abs(y.astype(np.float64)) < np.abs(wide), np.nextafter(y, away), y)


class Float16SubnormalResultsFlushed(Reference):
    """On FLOAT16 a subnormal x * scale + bias is flushed to zero, which only FLOAT32's may be."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        if data_type is not DataType.FLOAT16:
            return y
        return np.where(np.abs(y) < np.finfo(np.float16).smallest_normal, np.zeros_like(y), y)


class InfinitySaturates(Reference):
    """Where x is infinite, x * scale + bias becomes the largest finite value, as a truncated overflow may."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        return np.where(np.isinf(y) & np.isinf(x), np.nan_to_num(y), y) if data_type.is_floating else y


class UndefinedProductGivesZero(Reference):
    """Infinity times zero gives zero, not NaN."""

    clause = "clip.scale-bias"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        return np.where(np.isnan(y) & ~np.isnan(x), np.zeros_like(y), y)


# Integers.


class IntegerScaleBiasIgnored(Reference):
    """ScaleBias has no effect on integers."""

    clause = "clip.scale-bias.integer"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        return super().scale_bias(x, scale_bias, data_type) if data_type.is_floating else x


class ThresholdInt32BiasIgnored(Reference):
    """On INT32 the bias has no effect on THRESHOLD."""

    clause = "threshold.scale-bias.integer"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes.get("ScaleBias")
        if isinstance(scale_bias, ScaleBias) and operator.name == "ELEMENT_WISE_THRESHOLD" and x.dtype == np.int32:
            operator = replace(
                operator, attributes={**operator.attributes, "ScaleBias": ScaleBias(scale_bias.scale, 0)}
            )
        return super().compute(operator, x)


class IntegerScaleBiasInFloat16(Reference):
    """On integers x * scale + bias is computed in FLOAT16, exact up to 2^11 only."""

    clause = "clip.scale-bias.integer"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        if data_type.is_floating:
            return super().scale_bias(x, scale_bias, data_type)
        y = x.astype(np.float16) * np.float16(scale_bias.scale) + np.float16(scale_bias.bias)
        return self.saturate(y.astype(np.float64), data_type)


class IntegerScaleBiasInInt16(Reference):
    """On 32-bit integers the product wraps at 16 bits."""

    clause = "clip.scale-bias.integer"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        return y.astype(np.int16).astype(y.dtype) if data_type is DataType.INT32 else y


class IntegerOverflowEscapes(Reference):
    """Where x * scale + bias overflows an integer type, the result is not clamped."""

    clause = "clip.scale-bias.integer-inexact"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        scale_bias = operator.attributes.get("ScaleBias")
        if not isinstance(scale_bias, ScaleBias) or operator.input.data_type.is_floating:
            return y
        exact = x.astype(np.float64) * np.float64(scale_bias.scale) + np.float64(scale_bias.bias)
        limits = np.iinfo(x.dtype)
        return np.where((exact > limits.max) | (exact < limits.min), self.saturate(exact, operator.input.data_type), y)


class IntegerFactorsTruncated(Reference):
    """Scale and bias are truncated to integers before they scale integers, so that a scale of 1.5 is 1."""

    clause = "clip.scale-bias.integer-inexact"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        if not data_type.is_floating:
            scale_bias = ScaleBias(np.trunc(scale_bias.scale), np.trunc(scale_bias.bias))
        return super().scale_bias(x, scale_bias, data_type)


class ThresholdFractionsUnclamped(Reference):
    """THRESHOLD skips Min on integers where the scale has a fraction."""

    clause = "threshold.scale-bias.integer-inexact"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes.get("ScaleBias")
        fraction = isinstance(scale_bias, ScaleBias) and scale_bias.scale != np.trunc(scale_bias.scale)
        if fraction and operator.name == "ELEMENT_WISE_THRESHOLD" and x.dtype.kind != "f":
            return self.scale_bias(x, scale_bias, operator.input.data_type)
        return super().compute(operator, x)
