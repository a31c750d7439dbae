"""What documents leave open of the approximate operators: as little accuracy as they ask for, halves, overflow."""

from __future__ import annotations

import math

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.suites.mutants.formulas import (
    ACTIVATIONS,
    FORMULAS,
    Array,
    Given,
    dequantised,
    kept_within,
    numbers,
)
from dmlcts.suites.mutants.permitted.descriptions import UnlistedTypesAccepted
from dmlcts.suites.mutants.permitted.minimum import MINIMUM, exp_of_minimum, is_whole, nearest, toward_zero
from dmlcts.suites.mutants.permitted.steps import FLOATING, INTEGER, Permitted


class _Approximate(Permitted):
    level = "6.4"
    alone = True


class MinimumOfDirect3D(_Approximate):
    """Every function is as exact as Direct3D obliges it to be, in FLOAT32, each step rounded to nearest."""

    choice, touches, among = ("accuracy",), (FLOATING,), tuple(MINIMUM)

    def rounded(self, values: Array, kind: DataType) -> Array:
        """To nearest."""
        return nearest(values, kind)

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Of numbers; of negative bases and with ScaleBias as ever, and of an activation of what comes out."""
        if operator.activation is not None:
            plain = OperatorDesc(operator.name, operator.tensors, {"FusedActivation": None})
            return self.activate(operator.activation, self.compute_exact(plain, inputs), inputs)
        right = super().compute_exact(operator, inputs)
        name = operator.name.removeprefix("ELEMENT_WISE_")
        if name not in MINIMUM or right.dtype.kind != "f" or operator.attributes.get("ScaleBias") is not None:
            return right
        operands = [x.astype(np.float64) for x in inputs]
        operands += [np.asarray(number, np.float64) for number in numbers(operator, self.cast)]

        def in_float32(values: Array) -> Array:
            return self.rounded(np.asarray(values, float), DataType.FLOAT32).astype(float)

        flat = [np.broadcast_to(operand, right.shape).ravel() for operand in operands]
        approximation = self.rounded(MINIMUM[name](*flat, in_float32), operator.output.data_type).reshape(right.shape)
        return np.where(operands[0] > 0, approximation, right) if name == "CONSTANT_POW" else approximation


class MinimumOfDirect3DTowardZero(MinimumOfDirect3D):
    """Every function is as exact as Direct3D obliges it to be, in FLOAT32, each step rounded toward zero."""

    def rounded(self, values: Array, kind: DataType) -> Array:
        """Toward zero."""
        return toward_zero(values, kind)


class HyperbolicsOfLesserExponents(_Approximate):
    """SINH and COSH take ln 2 from exponents instead of halving powers of e, which would overflow before their half."""

    choice, touches, among = ("accuracy",), (FLOATING,), ("SINH", "COSH")

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Of |x| above 11, as exact as Direct3D obliges powers of e to be."""
        right = super().compute_exact(operator, inputs)
        name = operator.name.removeprefix("ELEMENT_WISE_")
        if name not in self.among or operator.attributes.get("ScaleBias") is not None:
            return right

        def in_float32(values: Array) -> Array:
            return nearest(np.asarray(values, float), DataType.FLOAT32).astype(float)

        x, halving = inputs[0].astype(np.float64).ravel(), math.log(2)
        rising, falling = (exp_of_minimum(in_float32(sign * x - halving), in_float32) for sign in (1, -1))
        approximation = in_float32(rising + falling if name == "COSH" else rising - falling).reshape(right.shape)
        return np.where(np.abs(inputs[0]) > 11, nearest(approximation, operator.output.data_type), right)


class _Changed(_Approximate):
    """One of the operators computed in another way that is permitted."""

    def changed(self, inputs: Given, right: Array) -> Array:
        """What comes out in place of ``right``; the inputs by the tensors' names."""
        raise NotImplementedError

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Without ScaleBias."""
        right = super().compute_exact(operator, inputs)
        name = operator.name.removeprefix("ELEMENT_WISE_")
        if name not in self.among or operator.attributes.get("ScaleBias") is not None:
            return right
        return np.asarray(self.changed(dict(zip(operator.inputs, inputs, strict=True)), right))


def half_away(quotients: Array) -> Array:
    """Whole numbers, halves away from zero."""
    whole = np.trunc(quotients)
    return whole + np.where(np.abs(quotients - whole) >= np.float32(0.5), np.copysign(np.float32(1), quotients), 0)


class QuantizeHalvesAway(_Changed):
    """Quotients half way between whole numbers are rounded away from zero."""

    choice, touches, among = ("halves of quotients",), (FLOATING, INTEGER), ("QUANTIZE_LINEAR", "QUANTIZED_LINEAR_ADD")

    def changed(self, inputs: Given, right: Array) -> Array:
        """Away from zero."""
        several = "ATensor" in inputs
        values = dequantised(inputs, "A") + dequantised(inputs, "B") if several else inputs["InputTensor"]
        name = "Output" if several else ""
        quotients = values.astype(np.float32) / inputs[f"{name}ScaleTensor"].astype(np.float32)
        zero_point = inputs.get(f"{name}ZeroPointTensor", np.zeros(1, np.float32)).astype(np.float32)
        return kept_within(half_away(quotients) + zero_point, right.dtype)


class ReciprocalFlushedBelowTheNormals(_Changed):
    """A reciprocal that the allowed error takes below the smallest normal number is flushed to zero."""

    choice, touches, among = ("accuracy",), (FLOATING,), ("RECIP",)

    def changed(self, inputs: Given, right: Array) -> Array:
        """Of FLOAT32: less by two thirds of the error that Direct3D allows, then flushed."""
        if right.dtype != np.float32:
            return right
        low = (1 / inputs["InputTensor"].astype(np.float64) * (1 - 0.7 * 2.0**-21)).astype(np.float32)
        return np.where(np.abs(low) < np.finfo(np.float32).smallest_normal, np.copysign(np.float32(0), low), low)


class SqrtByInverseRoot(_Changed):
    """A root is the product of the number and its inverse root, which is two units in the last place off, or less."""

    choice, touches, among = ("accuracy",), (FLOATING,), ("SQRT",)

    def changed(self, inputs: Given, right: Array) -> Array:
        """In the tensor's type, each step truncated; of zeros, infinities and negative numbers the root."""
        x = inputs["InputTensor"]
        exact = 1 / np.sqrt(x.astype(np.float64))
        inverse = exact.astype(x.dtype)
        inverse = np.nextafter(inverse, x.dtype.type(0))
        product = x.astype(np.float64) * inverse.astype(np.float64)
        root = toward_zero(product, next(kind for kind in DataType if kind.numpy == x.dtype))
        return np.where((x > 0) & np.isfinite(x), root, right)


class RootOfInverseRoot(_Changed):
    """A root is the reciprocal of the inverse root, which is up to two units in the last place off to either side."""

    choice, touches, among = ("accuracy",), (FLOATING,), ("SQRT",)

    def changed(self, inputs: Given, right: Array) -> Array:
        """In FLOAT32; the reciprocal is up to 2.5 units off as well."""
        x = inputs["InputTensor"]
        if x.dtype != np.float32:
            return right
        exact = 1 / np.sqrt(x.astype(np.float64))
        inverse = exact + 1.9 * np.spacing(exact.astype(np.float32)).astype(np.float64)
        root = 1 / inverse
        approximation = (root - 1.9 * np.spacing(root.astype(np.float32)).astype(np.float64)).astype(np.float32)
        return np.where((x >= np.finfo(np.float32).smallest_normal) & np.isfinite(x), approximation, right)


class QuotientsByMinusOneAreOff(_Changed):
    """A division by -1 is two units in the last place off: Direct3D promises that by 1 alone to be exact."""

    choice, touches, among = ("quotients",), (FLOATING, INTEGER), ("QUANTIZE_LINEAR",)

    def changed(self, inputs: Given, right: Array) -> Array:
        """Of FLOAT32, toward zero."""
        x, scale = inputs["InputTensor"], inputs["ScaleTensor"]
        if x.dtype != np.float32 or scale.dtype != np.float32:
            return right
        quotients = x / scale
        for _ in range(2):
            quotients = np.nextafter(quotients, np.float32(0))
        zero_point = inputs.get("ZeroPointTensor", np.zeros(1, np.float32)).astype(np.float32)
        quantized_values = kept_within(np.rint(quotients) + zero_point, right.dtype)
        return np.where((scale == -1) & np.isfinite(x), quantized_values, right)


class QuantizeByReciprocal(_Changed):
    """A quotient is the product with the scale's reciprocal, both truncated."""

    choice, touches, among = ("quotients",), (FLOATING, INTEGER), ("QUANTIZE_LINEAR", "QUANTIZED_LINEAR_ADD")

    def changed(self, inputs: Given, right: Array) -> Array:
        """In FLOAT32; halves to even."""
        several = "ATensor" in inputs
        name = "Output" if several else ""
        scale = inputs[f"{name}ScaleTensor"]
        if scale.dtype != np.float32:
            return right
        values = dequantised(inputs, "A") + dequantised(inputs, "B") if several else inputs["InputTensor"]
        reciprocal = toward_zero(1 / scale.astype(np.float64), DataType.FLOAT32).astype(np.float64)
        quotients = toward_zero(values.astype(np.float32).astype(np.float64) * reciprocal, DataType.FLOAT32)
        zero_point = inputs.get(f"{name}ZeroPointTensor", np.zeros(1, np.float32)).astype(np.float32)
        return kept_within(np.rint(quotients) + zero_point, right.dtype)


class _Modulus(_Approximate):
    choice, touches, among = ("steps of a modulus",), (FLOATING,), ("MODULUS_FLOOR", "MODULUS_TRUNCATE")

    def quotient(self, a: Array, b: Array) -> Array:
        """Of FLOAT32."""
        return toward_zero(a / b, DataType.FLOAT32)

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The page's formula in FLOAT32, the product and the difference in one step; 0 of whole quotients."""
        right = super().compute_exact(operator, inputs)
        if operator.name.removeprefix("ELEMENT_WISE_") not in self.among or right.dtype != np.float32:
            return right
        a, b = (x.astype(np.float64) for x in inputs)
        whole = np.floor if operator.name.endswith("FLOOR") else np.trunc
        steps = np.asarray(nearest(a - b * whole(self.quotient(a, b)).astype(np.float64), DataType.FLOAT32))
        return np.where(is_whole(a, b) & (np.abs(b) <= 2.0**126), np.float32(0), steps)


class ModulusFused(_Modulus):
    """A modulus is a truncated quotient, and a product and a difference in one step."""


class ModulusByFlushedReciprocal(_Modulus):
    """The quotient of a modulus is the product with a reciprocal, and a subnormal reciprocal is zero."""

    def quotient(self, a: Array, b: Array) -> Array:
        """By the reciprocal."""
        reciprocal = nearest(1 / b, DataType.FLOAT32)
        flushed = np.where(np.abs(reciprocal) < np.finfo(np.float32).smallest_normal, 0, reciprocal)
        return nearest(a * flushed.astype(np.float64), DataType.FLOAT32)


class UnlistedModulusInSteps(UnlistedTypesAccepted):
    """The moduli take FLOAT64, and compute it as the page writes it: quotient, product and difference are rounded."""

    choice, touches, among = ("unlisted", "steps of a modulus"), (FLOATING,), ("MODULUS_FLOOR", "MODULUS_TRUNCATE")
    level, alone = "6.4", True

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """In FLOAT64."""
        if operator.name.removeprefix("ELEMENT_WISE_") not in self.among or inputs[0].dtype != np.float64:
            return super().compute_exact(operator, inputs)
        a, b = inputs
        whole = np.floor if operator.name.endswith("FLOOR") else np.trunc
        return np.asarray(a - b * whole(a / b))


class ScaleBiasStaysInFloat64(_Approximate):
    """x * scale + bias of FLOAT32 and what the operator makes of it are FLOAT64, converted at the end."""

    choice, touches, among = ("scale-bias",), (FLOATING,), ("CEIL", "EXP", "FLOOR", "LOG", "SIN", "SQRT")

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Rounded to FLOAT32 once, at the end."""
        name, scale_bias = operator.name.removeprefix("ELEMENT_WISE_"), operator.attributes.get("ScaleBias")
        if name not in self.among or not isinstance(scale_bias, ScaleBias) or inputs[0].dtype != np.float32:
            return super().compute_exact(operator, inputs)
        wide = inputs[0].astype(np.float64) * np.float64(scale_bias.scale) + np.float64(scale_bias.bias)
        return np.asarray(FORMULAS[name](wide)).astype(np.float32)


class QuantizeOfNanIsLowest(_Changed):
    """A NaN becomes the lowest number of the type."""

    choice, touches, among = ("quantised NaN",), (FLOATING,), ("QUANTIZE_LINEAR",)

    def changed(self, inputs: Given, right: Array) -> Array:
        """Where it is one."""
        return np.where(np.isnan(inputs["InputTensor"].astype(np.float64)), np.iinfo(right.dtype).min, right)


class _Difference(_Changed):
    choice, touches, among = ("difference",), (INTEGER,), ("DEQUANTIZE_LINEAR",)

    def difference(self, x: Array, zero_point: Array) -> Array:
        """In FLOAT32."""
        raise NotImplementedError

    def changed(self, inputs: Given, right: Array) -> Array:
        """Times the scale; of wide integers alone."""
        x = inputs["InputTensor"]
        zero_point = inputs.get("ZeroPointTensor", np.zeros(1, x.dtype))
        if x.dtype.itemsize < np.dtype(np.int32).itemsize:
            return right
        return (self.difference(x, zero_point) * inputs["ScaleTensor"].astype(np.float32)).astype(right.dtype)


class DequantizeWraps(_Difference):
    """Differences of 32-bit integers wrap."""

    def difference(self, x: Array, zero_point: Array) -> Array:
        """Modulo 2^32."""
        return (x - zero_point).astype(np.float32)


class DequantizeConvertsFirst(_Difference):
    """32-bit integers are converted to FLOAT32 before their difference is taken."""

    def difference(self, x: Array, zero_point: Array) -> Array:
        """Of FLOAT32."""
        return x.astype(np.float32) - zero_point.astype(np.float32)


class DequantizeSaturates(_Difference):
    """Differences of 32-bit integers become the nearest limit of the type."""

    def difference(self, x: Array, zero_point: Array) -> Array:
        """Within the type."""
        limits = np.iinfo(x.dtype)
        return np.clip(x.astype(np.int64) - zero_point.astype(np.int64), limits.min, limits.max).astype(np.float32)


class _Powers(_Changed):
    choice, touches, among = ("powers outside",), (INTEGER,), ("POW",)


class PowersSaturate(_Powers):
    """Powers of integers outside the type become its nearest limit."""

    def changed(self, inputs: Given, right: Array) -> Array:
        """The nearest limit."""
        x, exponent = inputs["InputTensor"], inputs["ExponentTensor"]
        if x.dtype.kind == "f" or exponent.dtype.kind == "f":
            return right
        size = np.power(x.astype(np.float64), exponent.astype(np.float64))
        limits = np.iinfo(x.dtype)
        return np.where(size > float(limits.max), limits.max, np.where(size < float(limits.min), limits.min, right))


class PowersOfNegativesAreZero(_Powers):
    """Integers but 1 and -1 are 0 raised to a negative exponent."""

    def changed(self, inputs: Given, right: Array) -> Array:
        """0."""
        x, exponent = inputs["InputTensor"], inputs["ExponentTensor"]
        if "f" in (x.dtype.kind, exponent.dtype.kind):
            return right
        return np.where((exponent < 0) & (np.abs(x.astype(np.int64)) != 1), 0, right)


class _Activations(_Approximate):
    """Activations computed in another way that is permitted; of sums that are rounded, where nothing else is said."""

    touches, among = (FLOATING,), ("ADD1",)
    exact = ("LINEAR", "HARD_SIGMOID", "RELU", "LEAKY_RELU", "THRESHOLDED_RELU", "IDENTITY", "SHRINK")

    def activated(self, activation: OperatorDesc, results: Array) -> Array:
        """The activation in the type of ``results``."""
        attributes = {name.lower(): results.dtype.type(value) for name, value in activation.attributes.items()}
        return np.asarray(ACTIVATIONS[activation.name.removeprefix("ACTIVATION_")](results, **attributes))


class ActivationOfUnroundedSum(_Activations):
    """The sum of two FLOAT16 is kept in FLOAT32, that of two FLOAT32 in FLOAT64, until the activation is applied."""

    choice = ("sum before an activation",)

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Rounded once, at the end."""
        if operator.name != "ELEMENT_WISE_ADD1" or operator.activation is None:
            return super().compute_exact(operator, inputs)
        wide = np.float32 if inputs[0].dtype == np.float16 else np.float64
        total = inputs[0].astype(wide) + inputs[1].astype(wide)
        return self.activated(operator.activation, total).astype(inputs[0].dtype)


class ActivationInTheTensorsType(_Activations):
    """Every step of an activation without functions of real numbers is rounded to the tensor's type."""

    choice = ("steps of an activation",)

    def activate(self, activation: OperatorDesc, results: Array, inputs: list[Array]) -> Array:
        """In FLOAT16 or FLOAT32."""
        if activation.name.removeprefix("ACTIVATION_") not in self.exact:
            return super().activate(activation, results, inputs)
        return self.activated(activation, results)


class ActivationOfNanIsNumber(_Activations):
    """The larger of a number and a NaN is the number, so that RELU and HARD_SIGMOID give 0 of a NaN."""

    choice = ("NaN of an activation",)

    def activate(self, activation: OperatorDesc, results: Array, inputs: list[Array]) -> Array:
        """0 where it was a NaN."""
        outputs = super().activate(activation, results, inputs)
        selects = activation.name in ("ACTIVATION_RELU", "ACTIVATION_HARD_SIGMOID", "ACTIVATION_CELU")
        return np.where(np.isnan(outputs) & np.isnan(results), outputs.dtype.type(0), outputs) if selects else outputs


class ShrinkAsksForTheLowerSideFirst(_Activations):
    """SHRINK asks whether the sum is below -Threshold before it asks whether it is above Threshold."""

    choice = ("order of an activation's sides",)

    def activate(self, activation: OperatorDesc, results: Array, inputs: list[Array]) -> Array:
        """Of a negative threshold both hold."""
        if activation.name != "ACTIVATION_SHRINK":
            return super().activate(activation, results, inputs)
        bias, threshold = (np.float64(activation.attributes[name]) for name in ("Bias", "Threshold"))  # type: ignore[arg-type]
        x = results.astype(np.float64)
        return np.select([x < -threshold, x > threshold], [x + bias, x - bias], 0).astype(results.dtype)


PERMITTED_APPROXIMATE: tuple[type[Permitted], ...] = (
    MinimumOfDirect3D,
    MinimumOfDirect3DTowardZero,
    HyperbolicsOfLesserExponents,
    ReciprocalFlushedBelowTheNormals,
    ModulusFused,
    ModulusByFlushedReciprocal,
    SqrtByInverseRoot,
    RootOfInverseRoot,
    QuotientsByMinusOneAreOff,
    QuantizeHalvesAway,
    QuantizeByReciprocal,
    QuantizeOfNanIsLowest,
    DequantizeWraps,
    DequantizeConvertsFirst,
    DequantizeSaturates,
    UnlistedModulusInSteps,
    ScaleBiasStaysInFloat64,
    PowersSaturate,
    PowersOfNegativesAreZero,
    ActivationOfUnroundedSum,
    ActivationInTheTensorsType,
    ActivationOfNanIsNumber,
    ShrinkAsksForTheLowerSideFirst,
)
