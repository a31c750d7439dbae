"""Real functions and operators of mixed types on the adapter: near enough to what they are named for, and exact where
the pages leave no room.

The bounds are about the widest that any document gives for such functions; here they only separate a wrong function,
a lost sign or a wrong operand from a right one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.backends.wgpu.formulas import FORMULAS, REAL_FUNCTIONS
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.selftest.looped_cases import looped
from dmlcts.suites.selftest.wgpu.test_wgpu_family import FLOATS, Bare, device, dispatched, unary

__all__ = ["device"]  # the fixture

Values = NDArray[Any]
INTEGERS = ["INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"]
INF, NAN = math.inf, math.nan
_ERF: Any = np.vectorize(math.erf, otypes=[np.float64])

# What it is, where it is tried, absolute error, relative error; special operands with their results.
REAL: dict[str, tuple[Callable[[Values], Values], tuple[float, float], float, float, dict[float, float]]] = {
    "SQRT": (np.sqrt, (0, 60000), 0, 2e-7, {INF: INF, -1: NAN, 0: 0}),
    "RECIP": (lambda x: 1 / x, (0.001, 60000), 0, 5e-7, {INF: 0, 0: INF, -4: -0.25}),
    "EXP": (np.exp, (-10, 10), 0, 4e-6, {-INF: 0, INF: INF, 0: 1, 1000: INF}),
    "LOG": (np.log, (0.001, 60000), 6e-7, 1e-6, {0: -INF, INF: INF, -1: NAN, -INF: NAN}),
    "SIN": (np.sin, (-314, 314), 8e-4, 0, {0: 0}),
    "COS": (np.cos, (-314, 314), 8e-4, 0, {0: 1}),
    "TAN": (np.tan, (-1.2, 1.2), 8e-3, 0, {0: 0}),
    "ASIN": (np.arcsin, (-1, 1), 8e-4, 0, {2: NAN}),
    "ACOS": (np.arccos, (-1, 1), 8e-4, 0, {-2: NAN}),
    "ATAN": (np.arctan, (-1000, 1000), 8e-4, 0, {0: 0}),
    "SINH": (np.sinh, (-11.7, 11.7), 8e-4, 1e-5, {INF: INF, -INF: -INF}),  # to 60,000: FLOAT16 does not hold e^11.1
    "COSH": (np.cosh, (-11.7, 11.7), 8e-4, 1e-5, {-INF: INF, 0: 1}),
    "TANH": (np.tanh, (-20, 20), 1e-3, 0, {1000: 1, -1000: -1}),
    "ASINH": (np.arcsinh, (-200, 200), 1e-4, 1e-5, {-INF: -INF, INF: INF}),
    "ACOSH": (np.arccosh, (1, 200), 1e-4, 1e-5, {0.5: NAN, 1: 0}),
    "ATANH": (np.arctanh, (-0.99, 0.99), 1e-4, 1e-5, {2: NAN}),
    "ERF": (_ERF, (-6, 6), 5e-3, 0, {}),
}


def near(actual: Values, exact: Values, absolute: float, relative: float) -> None:
    """Compare with a tolerance, to which a FLOAT16 result adds what such a function may be off by."""
    half = actual.dtype == np.float16
    allowed = absolute + relative * np.abs(exact) + (2.0**-7 * np.maximum(1, np.abs(exact)) if half else 0)
    wrong = np.abs(actual.astype(np.float64) - exact) > allowed
    assert not wrong.any(), [
        (actual_value, wanted) for actual_value, wanted in zip(actual[wrong], exact[wrong], strict=True)
    ][:5]


@looped("data_type", FLOATS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", REAL)
def test_real_functions(name: str, data_type: DataType, device: Bare) -> None:
    meaning, (low, high), absolute, relative, special = REAL[name]
    x = np.random.default_rng(8).uniform(low, high, 2000).astype(data_type.numpy)
    x = x[(x >= low) & (x <= high) & (np.abs(x) >= 2.0**-10)]  # FLOAT16 rounds to the ends, and loses small numbers
    y = dispatched(device, unary(name, x, ScaleBias=None), {"InputTensor": x})
    near(y, meaning(x.astype(np.float64)), absolute, relative)
    if special:
        x = np.array([*special, NAN], data_type.numpy)
        y = dispatched(device, unary(name, x, ScaleBias=None), {"InputTensor": x}).astype(np.float64)
        expected = np.array([*special.values(), NAN])
        np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
        endless = np.isinf(expected)
        np.testing.assert_array_equal(y[endless], expected[endless])
        ordinary = np.isfinite(expected)
        near(y[ordinary].astype(data_type.numpy), expected[ordinary], absolute + 1e-6, relative)


def test_every_real_function_is_tried() -> None:
    assert FORMULAS.keys() >= REAL_FUNCTIONS
    assert {name.removeprefix("ELEMENT_WISE_") for name in REAL_FUNCTIONS} - {"CONSTANT_POW"} == set(REAL)


def of(name: str, result: str, attributes: dict[str, Any] | None = None, **inputs: Values) -> tuple[OperatorDesc, Any]:
    """An operator on packed tensors of the inputs' types, and its inputs by their tensors' names."""
    named_inputs = {f"{member}Tensor": values for member, values in inputs.items()}
    tensors = {
        member: TensorDesc(DataType[values.dtype.name.upper()], [values.size])
        for member, values in named_inputs.items()
    }
    size = max(values.size for values in named_inputs.values())
    tensors["OutputTensor"] = TensorDesc(DataType[result], [size])
    return OperatorDesc(f"ELEMENT_WISE_{name}", tensors, attributes or {}), named_inputs


@looped("exponent", INTEGERS)
@pytest.mark.parametrize("base", INTEGERS)
def test_integral_powers_are_exact(base: str, exponent: str, device: Bare) -> None:
    drawn, kind = np.random.default_rng(9), DataType[base]
    x = drawn.integers(-12 if kind.is_signed else 0, 13, 600).astype(kind.numpy)
    y = drawn.integers(0, 12, 600).astype(DataType[exponent].numpy)
    limits = np.iinfo(kind.numpy)
    exact = [int(a) ** int(b) for a, b in zip(x, y, strict=True)]
    fits = np.array([limits.min <= number <= limits.max for number in exact])
    actual = dispatched(device, *of("POW", base, {"ScaleBias": None}, Input=x, Exponent=y))
    assert actual[fits].tolist() == [number for number, there in zip(exact, fits, strict=True) if there]


@looped("exponent", ["FLOAT32", "FLOAT16", *INTEGERS])
@looped("base", ["FLOAT32", "FLOAT16"])
def test_powers_of_floats(base: str, exponent: str, device: Bare) -> None:
    drawn, kind = np.random.default_rng(10), DataType[exponent]
    x = np.concatenate([drawn.uniform(0.1, 5, 300), drawn.integers(-4, 5, 300)]).astype(DataType[base].numpy)
    y = drawn.integers(-3 if kind.is_signed else 0, 4, 600).astype(kind.numpy)
    if kind.is_floating:
        y[::2] += kind.numpy.type(0.5)
    actual = dispatched(device, *of("POW", base, {"ScaleBias": None}, Input=x, Exponent=y))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(exact))
    numbers = np.isfinite(exact)
    near(actual[numbers], exact[numbers], 1e-6, 2e-5)
    assert np.isinf(actual[np.isinf(exact)]).all()


def test_a_constant_exponent_and_a_scale(device: Bare) -> None:
    x = np.array([-3, -2, 0, 2, 9], np.float32)
    attributes = {"ScaleBias": ScaleBias(2, 1), "Exponent": np.float32(3)}
    near(dispatched(device, *of("CONSTANT_POW", "FLOAT32", attributes, Input=x)), (2.0 * x + 1) ** 3, 1e-6, 2e-5)
    whole = x.astype(np.int32)
    actual = dispatched(
        device, *of("POW", "INT32", {"ScaleBias": ScaleBias(2, 1)}, Input=whole, Exponent=np.full(5, 2, np.int8))
    )
    assert actual.tolist() == [25, 9, 1, 25, 361]


def test_the_angle_of_a_point(device: Bare) -> None:
    drawn = np.random.default_rng(11).uniform(-50, 50, (2, 500)).astype(np.float32)
    actual = dispatched(device, *of("ATAN_YX", "FLOAT32", A=drawn[0], B=drawn[1]))
    near(actual, np.arctan2(*drawn.astype(np.float64)), 8e-4, 0)


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda kind: kind.name)
def test_the_angle_of_a_point_on_the_abscissa_is_half_a_turn_or_none(data_type: DataType, device: Bare) -> None:
    """WGSL's atan2 is bounded by nothing there, and one driver's gives 0 for -0 and any abscissa."""
    ordinate = np.array([0.0, -0.0, 0.0, -0.0, 1.0, -1.0], data_type.numpy)
    abscissa = np.array([-0.5, -0.5, 0.5, 0.5, 0.0, 0.0], data_type.numpy)
    actual = dispatched(device, *of("ATAN_YX", data_type.name, A=ordinate, B=abscissa))
    near(np.abs(actual), np.array([np.pi, np.pi, 0, 0, np.pi / 2, np.pi / 2]), 8e-4, 0)


@looped("zero_point", [False, True])
@looped("output", ["INT8", "UINT8"])
@looped("data_type", ["FLOAT32", "FLOAT16", "INT32"])
def test_quantizing(data_type: str, output: str, zero_point: bool, device: Bare) -> None:
    """Scales are powers of two, so that every quotient is exact; halves go to the even integer."""
    drawn, kind = np.random.default_rng(12), DataType[output].numpy
    x = np.round(drawn.standard_normal(900) * 60, 1).astype(DataType[data_type].numpy)
    if data_type != "INT32":
        x[:6] = [INF, -INF, 0.5, 1.5, -2.5, 65504]
    scale = drawn.choice([0.25, 0.5, 1, 2], 900).astype(np.float16 if data_type == "FLOAT16" else np.float32)
    inputs = {"Input": x, "Scale": scale}
    moved = np.zeros(900)
    if zero_point:
        inputs["ZeroPoint"] = drawn.integers(0, 20, 900).astype(kind)
        moved = inputs["ZeroPoint"].astype(np.float64)
    limits = np.iinfo(kind)
    exact = np.clip(np.rint(x.astype(np.float64) / scale) + moved, limits.min, limits.max)
    np.testing.assert_array_equal(dispatched(device, *of("QUANTIZE_LINEAR", output, None, **inputs)), exact)


@looped("zero_point", [False, True])
@looped("output", ["FLOAT32", "FLOAT16"])
@looped("data_type", INTEGERS)
def test_dequantizing(data_type: str, output: str, zero_point: bool, device: Bare) -> None:
    """The difference is exact before it is rounded to FLOAT32, beyond 32 bits too."""
    drawn, kind = np.random.default_rng(13), DataType[data_type].numpy
    limits = np.iinfo(kind)
    x = np.concatenate([drawn.integers(limits.min, limits.max, 300, kind, endpoint=True), [limits.min, limits.max]])
    scale = drawn.choice([0.25, 1, 2, 0.5], x.size).astype(DataType[output].numpy)
    inputs, less = {"Input": x.astype(kind), "Scale": scale}, np.zeros(x.size, np.int64)
    if zero_point:
        inputs["ZeroPoint"] = x[::-1].astype(kind)
        less = x[::-1].astype(np.int64)
    with np.errstate(over="ignore"):
        exact = ((x.astype(np.int64) - less).astype(np.float32) * scale.astype(np.float32)).astype(scale.dtype)
    np.testing.assert_array_equal(dispatched(device, *of("DEQUANTIZE_LINEAR", output, None, **inputs)), exact)


@pytest.mark.parametrize("zero_points", [0, 1, 3])
@pytest.mark.parametrize("data_type", ["INT8", "UINT8"])
def test_adding_quantized_numbers(data_type: str, zero_points: int, device: Bare) -> None:
    """Its scales and zero points are tensors of one element, and any of the latter may be left out."""
    kind = DataType[data_type].numpy
    limits = np.iinfo(kind)
    a = np.arange(limits.min, limits.max + 1).astype(kind)
    values: dict[str, Values] = {
        "ATensor": a,
        "AScaleTensor": np.array([0.5], np.float32),
        "AZeroPointTensor": np.array([3], kind),
        "BTensor": a[::-1].copy(),
        "BScaleTensor": np.array([1], np.float32),
        "BZeroPointTensor": np.array([4], kind),
        "OutputScaleTensor": np.array([2], np.float32),
        "OutputZeroPointTensor": np.array([5], kind),
    }
    there = [name for name in values if "Zero" in name][:zero_points]
    inputs = {name: array for name, array in values.items() if "Zero" not in name or name in there}
    tensors = {name: TensorDesc(DataType[array.dtype.name.upper()], [1, array.size]) for name, array in inputs.items()}
    operator = OperatorDesc("ELEMENT_WISE_QUANTIZED_LINEAR_ADD", {**tensors, "OutputTensor": tensors["ATensor"]}, {})
    moved = {name: float(values[name][0]) if name in there else 0.0 for name in values if "Zero" in name}
    first = (a - moved["AZeroPointTensor"]) * 0.5
    second = (a[::-1] - moved["BZeroPointTensor"]) * 1
    exact = np.clip(np.rint((first + second) / 2) + moved["OutputZeroPointTensor"], limits.min, limits.max)
    np.testing.assert_array_equal(dispatched(device, operator, inputs)[0], exact)
