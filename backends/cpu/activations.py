"""Activations that are fused to an operator: the operator's program writes its results, these go over them.

The results are rounded to the tensor's type before the activation. What is made of products, sums and choices is
computed in FLOAT32, each step rounded to nearest; what is made of functions of real numbers in FLOAT64, as those are
themselves. At the end it is rounded to the tensor's type. Comparisons with a NaN do not hold; of a minimum or maximum
with a NaN a NaN comes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.cpu.programs import Array, Program
from dmlcts.backends.cpu.programs.real_functions import error_function
from dmlcts.specs import OperatorDesc

_ZERO, _ONE = np.float32(0), np.float32(1)
Numbers = Mapping[str, np.float32]
Activation = Callable[[Array, Numbers], Array]


def _identity(x: Array, numbers: Numbers) -> Array:
    return x


def _relu(x: Array, numbers: Numbers) -> Array:
    return np.maximum(x, _ZERO)


def _leaky_relu(x: Array, numbers: Numbers) -> Array:
    return np.where(x >= _ZERO, x, numbers["Alpha"] * x)


def _thresholded_relu(x: Array, numbers: Numbers) -> Array:
    return np.where(x > numbers["Alpha"], x, _ZERO)


def _linear(x: Array, numbers: Numbers) -> Array:
    return numbers["Alpha"] * x + numbers["Beta"]


def _hard_sigmoid(x: Array, numbers: Numbers) -> Array:
    return np.maximum(np.minimum(_linear(x, numbers), _ONE), _ZERO)


def _shrink(x: Array, numbers: Numbers) -> Array:
    bias, threshold = numbers["Bias"], numbers["Threshold"]
    return np.where(x > threshold, x - bias, np.where(x < -threshold, x + bias, _ZERO))


def _sigmoid(x: Array, numbers: Numbers) -> Array:
    return 1 / (1 + np.exp(-x))


def _tanh(x: Array, numbers: Numbers) -> Array:
    return np.tanh(x)


def _scaled_tanh(x: Array, numbers: Numbers) -> Array:
    return numbers["Alpha"] * np.tanh(numbers["Beta"] * x)


def _elu(x: Array, numbers: Numbers) -> Array:
    return np.where(x >= 0, x, numbers["Alpha"] * np.expm1(x))


def _celu(x: Array, numbers: Numbers) -> Array:
    alpha = numbers["Alpha"]
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0)


def _scaled_elu(x: Array, numbers: Numbers) -> Array:
    return numbers["Gamma"] * np.where(x > 0, x, numbers["Alpha"] * np.expm1(x))


def _softplus(x: Array, numbers: Numbers) -> Array:
    steepness = numbers["Steepness"]
    return np.asarray(np.logaddexp(steepness * x, 0) / steepness)


def _parametric_softplus(x: Array, numbers: Numbers) -> Array:
    return np.asarray(numbers["Alpha"] * np.logaddexp(numbers["Beta"] * x, 0))


def _softsign(x: Array, numbers: Numbers) -> Array:
    return np.asarray(x / (1 + np.abs(x)))


def _gelu(x: Array, numbers: Numbers) -> Array:
    return np.asarray(0.5 * x * (1 + error_function(x / math.sqrt(2))))


_OF_FLOAT32: Mapping[str, Activation] = {
    "ACTIVATION_IDENTITY": _identity,
    "ACTIVATION_RELU": _relu,
    "ACTIVATION_LEAKY_RELU": _leaky_relu,
    "ACTIVATION_THRESHOLDED_RELU": _thresholded_relu,
    "ACTIVATION_LINEAR": _linear,
    "ACTIVATION_HARD_SIGMOID": _hard_sigmoid,
    "ACTIVATION_SHRINK": _shrink,
}
_OF_FLOAT64: Mapping[str, Activation] = {
    "ACTIVATION_SIGMOID": _sigmoid,
    "ACTIVATION_TANH": _tanh,
    "ACTIVATION_SCALED_TANH": _scaled_tanh,
    "ACTIVATION_ELU": _elu,
    "ACTIVATION_CELU": _celu,
    "ACTIVATION_SCALED_ELU": _scaled_elu,
    "ACTIVATION_SOFTPLUS": _softplus,
    "ACTIVATION_PARAMETRIC_SOFTPLUS": _parametric_softplus,
    "ACTIVATION_SOFTSIGN": _softsign,
    "ACTIVATION_GELU": _gelu,
}


def followed(program: Program, operator: OperatorDesc) -> Program:
    """``program``, and after it the activation that is fused to the operator, if one is.

    Args:
        program: what computes the operator's own results, FLOAT32 or FLOAT16.
        operator: the checked description; its numbers are FLOATs.

    Raises:
        InvalidArgument: the backend has no such activation.
    """
    if operator.activation is None:
        return program
    name, numbers = operator.activation.name, operator.activation.attributes
    wide = np.dtype(np.float64 if name in _OF_FLOAT64 else np.float32)
    activation = _OF_FLOAT64.get(name) or _OF_FLOAT32.get(name)
    if activation is None:
        raise InvalidArgument(f"the cpu backend has no {name}")
    constants: dict[str, Any] = {number: wide.type(value) for number, value in numbers.items()}

    def both(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        program(sources, target, scratch)
        np.copyto(target, activation(target.astype(wide), constants), casting="same_kind")

    return both
