"""Scales and biases that lose bits, range or sign, in some binades or on some types only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.suites.mutants.bases import scaled
from dmlcts.suites.mutants.magnitudes.bounds import cut
from dmlcts.suites.mutants.reference import Array, Reference

Factors = tuple[Any, Any]


class _Factors(Reference):
    """x * scale + bias with other factors than those given."""

    clause = "clip.scale-bias"

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        raise NotImplementedError

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        taken = ScaleBias(*self.factors(scale_bias.scale, scale_bias.bias, data_type))
        return super().scale_bias(x, taken, data_type)


class _IntegerFactors(_Factors):
    """The factors of integer tensors pass through :meth:`narrowed`."""

    clause = "clip.scale-bias.integer"

    def narrowed(self, factor: np.float32) -> Any:
        raise NotImplementedError

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        return (scale, bias) if data_type.is_floating else (self.narrowed(scale), self.narrowed(bias))


# Integers.


class IntegerFactorsThroughInt8(_IntegerFactors):
    """On integers scale and bias pass through INT8 and saturate there."""

    def narrowed(self, factor: np.float32) -> Any:
        return min(max(math.trunc(factor), -128), 127) if factor == np.trunc(factor) else factor


class IntegerFactorsThroughInt16(_IntegerFactors):
    """On integers scale and bias pass through INT16 and wrap there."""

    def narrowed(self, factor: np.float32) -> Any:
        return (math.trunc(factor) + 0x8000) % 0x10000 - 0x8000 if factor == np.trunc(factor) else factor


class IntegerFactorsThroughFloat16(_IntegerFactors):
    """On integers scale and bias pass through FLOAT16, exact up to 2048."""

    def narrowed(self, factor: np.float32) -> Any:
        near = np.float16(factor)
        return near if np.isfinite(near) else factor


class IntegerFactorsThroughBfloat16(_IntegerFactors):
    """On integers scale and bias pass through BFLOAT16, exact up to 256."""

    def narrowed(self, factor: np.float32) -> Any:
        return cut(factor, 16)


class LargeWholeScaleLost(_IntegerFactors):
    """On integers a scale of 2^16 or more counts as 1."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        return (1, bias) if not data_type.is_floating and scale >= 1 << 16 else (scale, bias)


class NegativeBiasOfUnsignedIsZero(_Factors):
    """On unsigned integers a negative bias counts as 0, as a zero point that is cast too early."""

    clause = "clip.scale-bias.integer"

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        return (scale, max(bias, np.float32(0))) if not data_type.is_signed else (scale, bias)


class ThresholdNegativeBiasAddedOnUint8(Reference):
    """THRESHOLD on UINT8 and UINT16 adds the magnitude of a negative bias."""

    clause = "threshold.scale-bias.integer"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        scale_bias = operator.attributes.get("ScaleBias")
        struck = operator.name == "ELEMENT_WISE_THRESHOLD" and x.dtype in (np.uint8, np.uint16)
        if struck and isinstance(scale_bias, ScaleBias):
            attributes = {**operator.attributes, "ScaleBias": ScaleBias(scale_bias.scale, abs(scale_bias.bias))}
            operator = OperatorDesc(operator.name, operator.tensors, attributes)
        return super().compute(operator, x)


class Int64ResultSaturatesAt2To31(Reference):
    """On 64-bit integers x * scale + bias saturates as INT32 does."""

    clause = "clip.scale-bias.integer-inexact"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        if data_type.is_floating or data_type.itemsize < 8:
            return y
        low = 0 if not data_type.is_signed else -(2**31)
        return np.clip(y, y.dtype.type(low), y.dtype.type(2**31 - 1))


class _Identity(Reference):
    """Scale 1 and bias 0 lose bits of integers."""

    clause = "clip.scale-bias.integer-inexact"
    through: Any = np.float64

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        identity = scale_bias.scale == 1 and scale_bias.bias == 0 and not data_type.is_floating
        if not identity:
            return super().scale_bias(x, scale_bias, data_type)
        return self.saturate(x.astype(self.through).astype(np.float64), data_type)


class IdentityThroughFloat64(_Identity):
    """With scale 1 and bias 0 integers beyond 2^53 are rounded to FLOAT64."""


class IdentityThroughFloat32(_Identity):
    """With scale 1 and bias 0 integers beyond 2^24 are rounded to FLOAT32."""

    through = np.float32


class OverflowGivesAConstant(Reference):
    """Where x * scale + bias leaves the integer type the result is 5, or as near to it as the bounds allow."""

    clause = "clip.scale-bias.integer-inexact"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        y = super().scale_bias(x, scale_bias, data_type)
        if data_type.is_floating:
            return y
        exact = x.astype(np.float64) * np.float64(scale_bias.scale) + np.float64(scale_bias.bias)
        limits = np.iinfo(x.dtype)
        return np.where((exact > limits.max) | (exact < limits.min), x.dtype.type(5), y)


class FractionsGiveZero(Reference):
    """On integers a scale with a fraction gives the bias alone."""

    clause = "threshold.scale-bias.integer-inexact"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        fraction = scale_bias.scale != np.trunc(scale_bias.scale) and not data_type.is_floating
        taken = ScaleBias(0, scale_bias.bias) if fraction else scale_bias
        return super().scale_bias(x, taken, data_type)


# NaN inputs.


class NanScaledIsZero(Reference):
    """With ScaleBias a NaN input counts as zero."""

    clause = "clip.nan.input"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if scaled(operator) and x.dtype.kind == "f":
            y = super().compute(operator, x)
            return np.where(np.isnan(x), x.dtype.type(0), y)
        return super().compute(operator, x)


class NanScaledIsTheBias(Reference):
    """With ScaleBias a NaN input gives what an input of zero gives: the bias, clamped."""

    clause = "threshold.nan.input"

    def scale_bias(self, x: Array, scale_bias: ScaleBias, data_type: DataType) -> Array:
        return super().scale_bias(np.where(np.isnan(x), x.dtype.type(0), x), scale_bias, data_type)


# Floating-point factors.


class ScaleCutAbove1024(_Factors):
    """On FLOAT32 a scale above 1024 keeps ten bits, as a tensor core's would."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        large = abs(scale) > 1024 and data_type is DataType.FLOAT32
        return (cut(scale, 13) if large else scale), bias


class BiasCutAbove2To16(_Factors):
    """On FLOAT32 a bias above 2^16 keeps sixteen bits."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        large = abs(bias) > 1 << 16 and data_type is DataType.FLOAT32
        return scale, (cut(bias, 8) if large else bias)


class TinyScaleIsZero(_Factors):
    """On FLOAT32 a scale below 2^-24 counts as zero."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        tiny = abs(scale) < 2.0**-24 and data_type is DataType.FLOAT32
        return (0 if tiny else scale), bias


class TinyBiasIsZero(_Factors):
    """On FLOAT32 a bias below 2^-20 counts as zero."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        tiny = abs(bias) < 2.0**-20 and data_type is DataType.FLOAT32
        return scale, (0 if tiny else bias)


class LargeScaleSaturatesAsFloat16(_Factors):
    """On FLOAT32 a scale above 65504 becomes 65504."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        if data_type is not DataType.FLOAT32:
            return scale, bias
        return min(max(scale, np.float32(-65504)), np.float32(65504)), bias


class ThresholdScaleClampedAt2To64(_Factors):
    """On FLOAT32 a scale above 2^64 becomes 2^64."""

    clause = "threshold.scale-bias"

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        limit = np.float32(2.0**64)
        return (min(max(scale, -limit), limit), bias) if data_type is DataType.FLOAT32 else (scale, bias)


class ScaleLosesItsLastBitInOneBinade(_Factors):
    """On FLOAT32 a scale in [2^-7, 2^-6) loses its last bit."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        inside = 2.0**-7 <= abs(scale) < 2.0**-6 and data_type is DataType.FLOAT32
        return (cut(scale, 1) if inside else scale), bias


class Float16SmallBiasIsZero(_Factors):
    """On FLOAT16 a bias below 2^-10 counts as zero."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        small = abs(bias) < 2.0**-10 and data_type is DataType.FLOAT16
        return scale, (0 if small else bias)


class Float16LargeScaleCut(_Factors):
    """On FLOAT16 a scale above 256 keeps five bits."""

    def factors(self, scale: np.float32, bias: np.float32, data_type: DataType) -> Factors:
        large = abs(scale) > 256 and data_type is DataType.FLOAT16
        return (cut(scale, 18) if large else scale), bias
