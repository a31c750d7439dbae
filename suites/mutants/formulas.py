"""The exact operators, plainly, made to be broken: :mod:`dmlcts.suites.mutants.reference` computes by them.

Right, vectorised, and written apart from the oracles and the cpu backend. Results are of the output's type but for
truth values, which the caller stores as 1 and 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias

Array = np.ndarray[Any, np.dtype[Any]]
Formula = Callable[..., Any]


def unsigned(x: Array) -> Array:
    """The patterns."""
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def signed(x: Array) -> Array:
    """The patterns as integers of a sign."""
    return np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")


def of_patterns(function: Formula) -> Formula:
    """A function of patterns, whose result is a pattern of the first operand's type."""
    return lambda *xs: function(*map(unsigned, xs)).view(xs[0].dtype)


def larger(a: Array, b: Array) -> Array:
    """NaN propagates, -0 is less than +0."""
    return np.where((a > b) | ((a == b) & ~np.signbit(a)) | np.isnan(a), a, b)


def smaller(a: Array, b: Array) -> Array:
    """NaN propagates, -0 is less than +0."""
    return np.where((a < b) | ((a == b) & np.signbit(a)) | np.isnan(a), a, b)


def in_float32(function: Formula) -> Formula:
    """FLOAT16 through FLOAT32, rounded at the end."""

    def computed(*xs: Array) -> Array:
        if xs[0].dtype != np.float16:
            return np.asarray(function(*xs))
        return np.asarray(function(*(x.astype(np.float32) for x in xs))).astype(np.float16)

    return computed


def mean(a: Array, b: Array) -> Array:
    """Half of the sum; of integers that of the exact one, truncated."""
    if a.dtype.kind == "f":
        return (a + b) / a.dtype.type(2)
    total = a.astype(np.int64) + b.astype(np.int64)
    return (np.sign(total) * (np.abs(total) // 2)).astype(a.dtype)


def truncated_quotient(a: Array, b: Array) -> Array:
    """Rounded toward zero; all bits where it is by zero."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    floored = a // b
    short = (a - floored * b != 0) & ((a < 0) != (b < 0)) & (b != 0)
    return np.where(b == 0, ~np.zeros_like(a), floored + short.astype(a.dtype))


def truncated_remainder(a: Array, b: Array) -> Array:
    """With the sign of ``a``."""
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, ~np.zeros_like(a), a - truncated_quotient(a, b) * b)


def floored_remainder(a: Array, b: Array) -> Array:
    """With the sign of ``b``."""
    if a.dtype.kind == "f":
        return np.asarray(np.remainder(a, b))
    return np.where(b == 0, ~np.zeros_like(a), a - (a // b) * b)


def sign(x: Array) -> Array:
    """0 for NaN."""
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def bit_count(x: Array) -> Array:
    """How many bits are set."""
    bits = unsigned(x)
    return sum((bits >> bits.dtype.type(place)) & bits.dtype.type(1) for place in range(8 * bits.dtype.itemsize))


def shifted(a: Array, b: Array, *, left: bool) -> Array:
    """By b places; zeros come in, and by the width or more gives 0."""
    count = np.minimum(b, b.dtype.type(8 * b.dtype.itemsize - 1))
    moved = a << count if left else a >> count
    return np.where(count == b, moved, a.dtype.type(0))


def infinite(x: Array, mode: str) -> Array:
    """Of either sign, or of one."""
    return np.isinf(x) & ((mode == "EITHER") | ((x > 0) == (mode == "POSITIVE")))


def gradient(x: Array, upstream: Array, low: Any, high: Any) -> Array:
    """0 on the bounds and outside of them."""
    return np.where((x <= low) | (x >= high), upstream.dtype.type(0), upstream)


def in_float64(function: Formula) -> Formula:
    """A function of real numbers computed in FLOAT64, which leaves one rounding."""
    return lambda *xs: np.asarray(function(*(x.astype(np.float64) for x in xs))).astype(xs[0].dtype)


def error_function(x: Array) -> Array:
    """Python's."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), np.float64)


def power(x: Array, exponent: Array) -> Array:
    """Real in FLOAT64; of two integers exact, modulo 2^bits, with the truncated quotient for negative exponents."""
    if x.dtype.kind == "f":
        return np.power(x.astype(np.float64), exponent.astype(np.float64)).astype(x.dtype)
    if exponent.dtype.kind == "f":
        return kept_within(np.power(x.astype(np.float64), exponent.astype(np.float64)), x.dtype)
    wide, count = x.astype(np.int64), exponent.astype(np.int64)
    inverse = np.where(np.abs(wide) == 1, np.where(count % 2 == 0, 1, wide), 0)
    return np.where(count < 0, inverse, np.power(wide, np.maximum(count, 0))).astype(x.dtype)


def kept_within(values: Array, dtype: np.dtype[Any]) -> Array:
    """Real numbers truncated to the nearest integer limits of 32 bits at most; NaN becomes 0."""
    limits = np.iinfo(dtype)
    return np.nan_to_num(np.clip(np.trunc(values), float(limits.min), float(limits.max))).astype(dtype)


REAL: Mapping[str, Formula] = {
    "SQRT": np.sqrt,
    "RECIP": np.reciprocal,
    "EXP": np.exp,
    "LOG": np.log,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "ASIN": np.arcsin,
    "ACOS": np.arccos,
    "ATAN": np.arctan,
    "ATAN_YX": np.arctan2,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "TANH": np.tanh,
    "ASINH": np.arcsinh,
    "ACOSH": np.arccosh,
    "ATANH": np.arctanh,
    "ERF": error_function,
    "CONSTANT_POW": np.power,
}
FORMULAS: Mapping[str, Formula] = {
    **{name: in_float64(function) for name, function in REAL.items()},
    "ADD1": in_float32(np.add),
    "POW": power,
    "IDENTITY": lambda x: x,
    "ABS": np.abs,
    "NEGATE": np.negative,
    "SIGN": sign,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "MAX": larger,
    "MIN": smaller,
    "ADD": in_float32(np.add),
    "SUBTRACT": in_float32(np.subtract),
    "MULTIPLY": in_float32(np.multiply),
    "DIVIDE": in_float32(truncated_quotient),
    "MODULUS_TRUNCATE": in_float32(truncated_remainder),
    "MODULUS_FLOOR": in_float32(floored_remainder),
    "MEAN": in_float32(mean),
    "DIFFERENCE_SQUARE": in_float32(lambda a, b: (a - b) * (a - b)),
    "LOGICAL_EQUALS": np.equal,
    "LOGICAL_GREATER_THAN": np.greater,
    "LOGICAL_LESS_THAN": np.less,
    "LOGICAL_GREATER_THAN_OR_EQUAL": np.greater_equal,
    "LOGICAL_LESS_THAN_OR_EQUAL": np.less_equal,
    "LOGICAL_AND": lambda a, b: (a != 0) & (b != 0),
    "LOGICAL_OR": lambda a, b: (a != 0) | (b != 0),
    "LOGICAL_XOR": lambda a, b: (a != 0) ^ (b != 0),
    "LOGICAL_NOT": lambda x: x == 0,
    "IS_NAN": np.isnan,
    "IS_INFINITY": infinite,
    "BIT_AND": of_patterns(np.bitwise_and),
    "BIT_OR": of_patterns(np.bitwise_or),
    "BIT_XOR": of_patterns(np.bitwise_xor),
    "BIT_NOT": of_patterns(np.invert),
    "BIT_COUNT": bit_count,
    "BIT_SHIFT_LEFT": lambda a, b: shifted(a, b, left=True),
    "BIT_SHIFT_RIGHT": lambda a, b: shifted(a, b, left=False),
    "IF": lambda condition, a, b: np.where(condition != 0, unsigned(a), unsigned(b)).view(a.dtype),
    "CLIP1": lambda x, low, high: larger(low, smaller(x, high)),
    "CLIP_GRAD": gradient,
    "CLIP_GRAD1": gradient,
}


def scaled(x: Array, scale_bias: Any, of_float: Callable[[Array, ScaleBias, DataType], Array], kind: DataType) -> Array:
    """The elements after ScaleBias, if there is one."""
    if not isinstance(scale_bias, ScaleBias):
        return x
    if kind is DataType.FLOAT64:
        return x * np.float64(scale_bias.scale) + np.float64(scale_bias.bias)
    return of_float(x, scale_bias, kind)


def numbers(operator: OperatorDesc, cast: Callable[[np.float32, DataType, str], Any]) -> list[Any]:
    """What a formula takes beside the tensors, in the struct's order: bounds of the tensors' type, or a mode."""
    attribute_values: list[Any] = []
    first = next(iter(operator.tensors.values()))
    for name, value in operator.attributes.items():
        if isinstance(value, ScalarUnion):
            attribute_values.append(np.asarray(value.value))
        elif isinstance(value, np.float32):
            attribute_values.append(cast(value, first.data_type, name))
        elif name == "InfinityMode":
            attribute_values.append(value)
    return attribute_values


ACTIVATIONS: Mapping[str, Formula] = {
    "LINEAR": lambda x, alpha, beta: alpha * x + beta,
    "HARD_SIGMOID": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "RELU": lambda x: np.clip(x, 0, None),
    "LEAKY_RELU": lambda x, alpha: np.where(x < 0, alpha * x, x),
    "THRESHOLDED_RELU": lambda x, alpha: np.where(x > alpha, x, 0),
    "IDENTITY": lambda x: x,
    "SHRINK": lambda x, bias, threshold: np.select([x > threshold, x < -threshold], [x - bias, x + bias], 0),
    "SIGMOID": lambda x: np.exp(-np.logaddexp(0, -x)),
    "TANH": np.tanh,
    "SCALED_TANH": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "ELU": lambda x, alpha: np.where(x < 0, alpha * (np.exp(np.clip(x, None, 0)) - 1), x),
    "CELU": lambda x, alpha: np.where(x < 0, alpha * (np.exp(np.clip(x, None, 0) / alpha) - 1), x),
    "SCALED_ELU": lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.exp(np.clip(x, None, 0)) - alpha),
    "SOFTPLUS": lambda x, steepness: np.logaddexp(0, steepness * x) / steepness,
    "PARAMETRIC_SOFTPLUS": lambda x, alpha, beta: alpha * np.logaddexp(0, beta * x),
    "SOFTSIGN": lambda x: x / (1 + np.abs(x)),
    "GELU": lambda x: 0.5 * x * (1 + error_function(x / np.sqrt(2))),
}
"""What is fused to an operator, of numbers in FLOAT64 and the members of the activation's struct by their names."""


Given = Mapping[str, Array]
"""The inputs that are there, by the tensors' names."""


def dequantised(inputs: Given, name: str = "") -> Array:
    """Exact differences to the zero point, rounded to FLOAT32, times the scale; ``name`` is "A" or "B" of several."""
    value, zero_point = inputs[f"{name or 'Input'}Tensor"], inputs.get(f"{name}ZeroPointTensor", np.zeros(1, np.int64))
    difference = (value.astype(np.int64) - zero_point.astype(np.int64)).astype(np.float32)
    return difference * inputs[f"{name}ScaleTensor"].astype(np.float32)


def quantised(values: Array, inputs: Given, dtype: np.dtype[Any], name: str = "") -> Array:
    """Divided by the scale, rounded with halves to even, moved by the zero point, kept within the type."""
    quotients = values.astype(np.float32) / inputs[f"{name}ScaleTensor"].astype(np.float32)
    zero_point = inputs.get(f"{name}ZeroPointTensor", np.zeros(1, np.float32))
    return kept_within(np.rint(quotients) + zero_point.astype(np.float32), dtype)


QUANTISING: Mapping[str, Callable[[Given, np.dtype[Any]], Array]] = {
    "QUANTIZE_LINEAR": lambda inputs, dtype: quantised(inputs["InputTensor"], inputs, dtype),
    "DEQUANTIZE_LINEAR": lambda inputs, dtype: dequantised(inputs).astype(dtype),
    "QUANTIZED_LINEAR_ADD": lambda inputs, dtype: quantised(
        dequantised(inputs, "A") + dequantised(inputs, "B"), inputs, dtype, "Output"
    ),
}
"""What the operators compute that have tensors which may be left out: of the inputs by name, to the output's type."""
