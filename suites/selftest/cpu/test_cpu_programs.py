"""The programs of the cpu backend against results written by hand, on the values that matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument
from dmlcts.backends.cpu.device import CpuKernel
from dmlcts.backends.cpu.programs import PROGRAMS
from dmlcts.specs import DataType, ScalarUnion, ScaleBias
from dmlcts.suites.selftest.backends.bound_tensors import Array, dispatched, of_sizes

F64, F32, F16 = DataType.FLOAT64, DataType.FLOAT32, DataType.FLOAT16
FLOATS = [F32, F16]
INTEGERS = [kind for kind in DataType if not kind.is_floating]
SIGNED = [kind for kind in INTEGERS if kind.is_signed]
UNSIGNED = [kind for kind in INTEGERS if not kind.is_signed]
PAIRED = {"ATensor", "BTensor"}
INF, NAN = float("inf"), float("nan")
ONE = ("InputTensor",)
TWO = ("ATensor", "BTensor")
GRADIENT = ("InputTensor", "InputGradientTensor")
INPUTS = {
    **dict.fromkeys(("IF",), ("ConditionTensor", *TWO)),
    **dict.fromkeys(("CLIP_GRAD", "CLIP_GRAD1"), GRADIENT),
    **dict.fromkeys(
        (
            "IDENTITY",
            "ABS",
            "NEGATE",
            "SIGN",
            "CEIL",
            "FLOOR",
            "CLIP1",
            "LOGICAL_NOT",
            "IS_NAN",
            "IS_INFINITY",
            "BIT_NOT",
            "BIT_COUNT",
            "CONSTANT_POW",
        ),
        ONE,
    ),
}


def arrays(kind: DataType, values: Any) -> Array:
    """Values in a type; arrays of patterns and integers of any width as they are."""
    if isinstance(values, np.ndarray):
        return values.view(kind.numpy)
    return np.array(values, dtype=object if not kind.is_floating else None).astype(kind.numpy)


def run(name: str, kind: DataType, *values: Any, gives: DataType | None = None, **attributes: Any) -> Array:
    """The result on packed tensors of one dimension, out of place and in place of each input of the output's type."""
    inputs = INPUTS.get(name, TWO)
    output = "OutputGradientTensor" if inputs is GRADIENT else "OutputTensor"
    types = {member: DataType.UINT8 if member == "ConditionTensor" else kind for member in inputs}
    value = {member: arrays(types[member], item) for member, item in zip(inputs, values, strict=True)}
    count = len(values[0])
    operator = of_sizes(name, {**types, output: gives or kind}, (count,), **attributes)
    kernel = CpuKernel(operator, PROGRAMS[operator.name](operator), inputs, output, inputs, 16)
    result = dispatched(kernel, operator, value, output)
    for member in inputs:
        if types[member] is operator.tensors[output].data_type:
            again = dispatched(kernel, operator, value, output, {output: member})
            assert again.tobytes() == result.tobytes(), f"in place of {member}"
    return result


def same(got: Array, expected: Any) -> None:
    """Equal values, equal signs of zeros, NaN where NaN is expected."""
    wanted = np.asarray(expected, object if got.dtype.kind != "f" else None).astype(got.dtype)
    if got.dtype.kind == "f":
        assert np.array_equal(np.isnan(got), np.isnan(wanted)), (got, wanted)
        got, wanted = got[~np.isnan(wanted)], wanted[~np.isnan(wanted)]
    assert got.tobytes() == wanted.tobytes(), (got, wanted)


def limits(kind: DataType) -> tuple[int, int]:
    iinfo = np.iinfo(kind.numpy)
    return int(iinfo.min), int(iinfo.max)


# One input.


@pytest.mark.parametrize("kind", list(DataType))
def test_identity_keeps_every_bit(kind: DataType) -> None:
    patterns = np.arange(-9, 500, 7).astype(kind.bits_dtype)
    if kind.is_floating:  # quiet and signalling NaNs, of either sign
        infinite = np.array([np.inf], kind.numpy).view(kind.bits_dtype)[0]
        special = np.array([infinite, infinite + 1, ~kind.bits_dtype.type(0)], kind.bits_dtype)
        patterns = np.concatenate([patterns, special])
    assert run("IDENTITY", kind, patterns, ScaleBias=None).tobytes() == patterns.tobytes()


def test_scale_bias_comes_first() -> None:
    half_up = ScaleBias(2, 0.5)
    for kind in (F64, *FLOATS):
        same(run("IDENTITY", kind, [1, -1, INF], ScaleBias=half_up), [2.5, -1.5, INF])
    same(run("IDENTITY", F64, [2.0**-60], ScaleBias=ScaleBias(1, 2.0**-8)), [2.0**-8 + 2.0**-60])
    for kind in FLOATS:
        same(run("ABS", kind, [1, -1], ScaleBias=half_up), [2.5, 1.5])
        same(run("CEIL", kind, [1, -1], ScaleBias=half_up), [3, -1])
        same(run("FLOOR", kind, [1, -1], ScaleBias=half_up), [2, -2])
    for kind in SIGNED:
        same(run("ABS", kind, [1, -1, -5], ScaleBias=ScaleBias(3, 1)), [4, 2, 14])
        same(run("IDENTITY", kind, [1, -1, -5], ScaleBias=ScaleBias(3, 1)), [4, -2, -14])


@pytest.mark.parametrize("kind", FLOATS)
def test_signs_of_floats(kind: DataType) -> None:
    tiny = 2.0**-24
    same(run("ABS", kind, [-1.5, 1.5, -0.0, -INF, NAN, -tiny], ScaleBias=None), [1.5, 1.5, 0.0, INF, NAN, tiny])
    same(run("NEGATE", kind, [-1.5, 1.5, -0.0, 0.0, INF, NAN, tiny]), [1.5, -1.5, 0.0, -0.0, -INF, NAN, -tiny])
    same(run("SIGN", kind, [-1.5, 7, -0.0, 0.0, -INF, INF, NAN, tiny, -tiny]), [-1, 1, 0.0, 0.0, -1, 1, 0, 1, -1])


@pytest.mark.parametrize("kind", SIGNED)
def test_signs_of_integers_wrap(kind: DataType) -> None:
    least, most = limits(kind)
    same(run("ABS", kind, [least, least + 1, -1, 0, most], ScaleBias=None), [least, most, 1, 0, most])
    same(run("NEGATE", kind, [least, least + 1, -1, 0, most]), [least, most, 1, 0, -most])
    same(run("SIGN", kind, [least, -1, 0, 1, most]), [-1, -1, 0, 1, 1])


@pytest.mark.parametrize("kind", UNSIGNED)
def test_the_sign_of_unsigned_integers(kind: DataType) -> None:
    same(run("SIGN", kind, [0, 1, limits(kind)[1]]), [0, 1, 1])


@pytest.mark.parametrize("kind", FLOATS)
def test_ceil_and_floor(kind: DataType) -> None:
    values = [-1.5, -0.5, -0.0, 0.0, 0.25, 2.0, 1023.5, INF, -INF, NAN, 2.0**-24, -(2.0**-24)]
    same(run("CEIL", kind, values, ScaleBias=None), [-1, -0.0, -0.0, 0, 1, 2, 1024, INF, -INF, NAN, 1, -0.0])
    same(run("FLOOR", kind, values, ScaleBias=None), [-2, -1, -0.0, 0, 0, 2, 1023, INF, -INF, NAN, 0, -1])


@pytest.mark.parametrize("kind", [kind for kind in DataType if kind is not F64])
def test_clip1_takes_bounds_of_the_type(kind: DataType) -> None:
    def clipped(low: float, high: float, values: list[Any]) -> Array:
        bounds = {"Min": ScalarUnion.of(kind, low), "Max": ScalarUnion.of(kind, high)}
        return run("CLIP1", kind, values, ScaleBias=None, MinMaxDataType=kind.name, **bounds)

    same(clipped(3, 9, [0, 3, 4, 9, 100]), [3, 3, 4, 9, 9])
    same(clipped(9, 3, [0, 4, 100]), [9, 9, 9])
    if not kind.is_floating:
        least, most = limits(kind)
        same(clipped(least + 1, most - 1, [least, 5, most]), [least + 1, 5, most - 1])  # beyond what FLOAT32 holds


def test_clip1_refuses_bounds_of_another_type() -> None:
    scalar_union = ScalarUnion.of(DataType.INT32, 1)
    with pytest.raises(InvalidArgument, match="MinMaxDataType is 'INT64'"):
        run("CLIP1", DataType.INT32, [0], ScaleBias=None, MinMaxDataType="INT64", Min=scalar_union, Max=scalar_union)
    with pytest.raises(InvalidArgument, match="Min is"):
        run("CLIP1", DataType.INT32, [0], ScaleBias=None, MinMaxDataType="INT32", Min=1.0, Max=scalar_union)
    same(
        run("CLIP1", DataType.INT32, [0], ScaleBias=None, MinMaxDataType="INT32", Min=scalar_union, Max=scalar_union),
        [1],
    )


# Two inputs.


@pytest.mark.parametrize("kind", FLOATS)
def test_max_and_min_of_floats(kind: DataType) -> None:
    a = [1, -1, -0.0, 0.0, -0.0, 0.0, NAN, 1, NAN, INF, -0.0, 0.0, -0.0, 0.0, 2.0**-24] * 9
    b = [2, -2, 0.0, -0.0, -0.0, 0.0, 1, NAN, NAN, -INF, -1, -1, 1, 1, 0.0] * 9
    same(run("MAX", kind, a, b), [2, -1, 0.0, 0.0, -0.0, 0.0, NAN, NAN, NAN, INF, -0.0, 0.0, 1, 1, 2.0**-24] * 9)
    same(run("MIN", kind, a, b), [1, -2, -0.0, -0.0, -0.0, 0.0, NAN, NAN, NAN, -INF, -1, -1, -0.0, 0.0, 0.0] * 9)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_arithmetic_wraps(kind: DataType) -> None:
    least, most = limits(kind)
    modulus = most - least + 1

    def wrapped(value: int) -> int:
        return (value - least) % modulus + least

    values = [least, least + 1, 0, 1, 2, 5, most // 2, most - 1, most, wrapped(-1)]
    pairs = [(item, other) for item in values for other in values]
    a, b = ([pair[axis] for pair in pairs] for axis in (0, 1))
    same(run("MAX", kind, a, b), [max(pair) for pair in pairs])
    same(run("MIN", kind, a, b), [min(pair) for pair in pairs])
    same(run("ADD", kind, a, b), [wrapped(x + y) for x, y in pairs])
    same(run("SUBTRACT", kind, a, b), [wrapped(x - y) for x, y in pairs])
    same(run("MULTIPLY", kind, a, b), [wrapped(x * y) for x, y in pairs])
    same(run("DIFFERENCE_SQUARE", kind, a, b), [wrapped((x - y) ** 2) for x, y in pairs])

    def truncated(x: int, y: int) -> int:
        return abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)

    ones = wrapped(-1)  # of a division by zero, all bits
    same(run("DIVIDE", kind, a, b), [wrapped(truncated(x, y)) if y else ones for x, y in pairs])
    same(run("MODULUS_TRUNCATE", kind, a, b), [x - y * truncated(x, y) if y else ones for x, y in pairs])
    same(run("MODULUS_FLOOR", kind, a, b), [x % y if y else ones for x, y in pairs])


def test_the_signs_of_the_moduli() -> None:
    for kind in (*SIGNED, *FLOATS):
        a, b = [7, -7, 7, -7, 6, -6], [3, 3, -3, -3, -3, 3]
        same(
            run("DIVIDE", kind, [7, -7, 7, -7], [2, 2, -2, -2]),
            [3.5, -3.5, -3.5, 3.5] if kind in FLOATS else [3, -3, -3, 3],
        )
        same(run("MODULUS_TRUNCATE", kind, a, b), [1, -1, 1, -1, 0, -0.0] if kind in FLOATS else [1, -1, 1, -1, 0, 0])
        same(run("MODULUS_FLOOR", kind, a, b), [1, 2, -2, -1, -0.0, 0] if kind in FLOATS else [1, 2, -2, -1, 0, 0])


@pytest.mark.parametrize("kind", FLOATS)
def test_moduli_of_special_floats(kind: DataType) -> None:
    a, b = [1, -1, 0.0, INF, 5.5, -1, NAN, 1], [0.0, 0.0, 0.0, 2, INF, INF, 1, -INF]
    same(run("MODULUS_TRUNCATE", kind, a, b), [NAN, NAN, NAN, NAN, 5.5, -1, NAN, 1])
    same(run("MODULUS_FLOOR", kind, a, b), [NAN, NAN, NAN, NAN, 5.5, INF, NAN, -INF])
    same(run("MODULUS_TRUNCATE", kind, [2048.0], [0.0999755859375]), [2048.0 % 0.0999755859375])  # exact


def test_the_mean_of_integers_is_of_the_exact_sum() -> None:
    for kind in (DataType.INT32, DataType.UINT32):
        least, most = limits(kind)
        same(run("MEAN", kind, [most, most, 3, least], [most, most - 1, 4, least]), [most, most - 1, 3, least])
    same(run("MEAN", DataType.INT32, [-3, -3, 3, -1], [0, -4, -2, 0]), [-1, -3, 0, 0])  # truncated


def test_floating_arithmetic() -> None:
    f32 = np.float32
    a, b = [0.1, 3e38, 1, -1, 0.0, INF, 1e-45, -0.0], [0.2, 3e38, 3, 0.0, 0.0, -INF, -1e-45, -0.0]
    same(run("ADD", F32, a, b), [f32(0.1) + f32(0.2), INF, 4, -1, 0.0, NAN, 0.0, -0.0])
    same(run("DIVIDE", F32, a, b), [f32(0.1) / f32(0.2), 1, f32(1) / f32(3), -INF, NAN, NAN, -1, NAN])
    same(run("MEAN", F32, [3e38, 1, 1e-45, 3e-45], [3e38, 2, 0, 0]), [INF, 1.5, 0, 1e-45])  # the sum is rounded first
    same(run("DIFFERENCE_SQUARE", F32, [3, 1e30, INF], [5, 0, INF]), [4, INF, NAN])
    # FLOAT16 through FLOAT32: no overflow between the steps, one rounding to FLOAT16.
    same(run("MEAN", F16, [65504, 1, 2048], [65504, 2, 2049]), [65504, 1.5, 2048])
    same(run("DIFFERENCE_SQUARE", F16, [2049, 0.1], [0, 0]), [INF, np.float16(float(np.float16(0.1)) ** 2)])
    same(run("ADD", F16, [2048, 65504, 2.0**-24], [1, 16, -(2.0**-24)]), [2048, INF, 0])
    same(run("DIVIDE", F16, [1, 1, 0.0], [3, 0.0, 0.0]), [np.float16(1 / 3), INF, NAN])


# Truth.

COMPARISONS = [
    "LOGICAL_EQUALS",
    "LOGICAL_GREATER_THAN",
    "LOGICAL_LESS_THAN",
    "LOGICAL_GREATER_THAN_OR_EQUAL",
    "LOGICAL_LESS_THAN_OR_EQUAL",
]
TRUE_BYTES = [DataType.UINT8, DataType.UINT32]


def compared(kind: DataType, a: list[Any], b: list[Any], gives: DataType) -> list[list[int]]:
    return [[int(item) for item in run(name, kind, a, b, gives=gives)] for name in COMPARISONS]


@pytest.mark.parametrize("gives", TRUE_BYTES)
@pytest.mark.parametrize("kind", FLOATS)
def test_comparisons_of_floats(kind: DataType, gives: DataType) -> None:
    a, b = [1, 2, 2, NAN, NAN, 1, -0.0, INF, -INF], [2, 1, 2, NAN, 1, NAN, 0.0, INF, INF]
    assert compared(kind, a, b, gives) == [
        [0, 0, 1, 0, 0, 0, 1, 1, 0],
        [0, 1, 0, 0, 0, 0, 0, 0, 0],
        [1, 0, 0, 0, 0, 0, 0, 0, 1],
        [0, 1, 1, 0, 0, 0, 1, 1, 0],
        [1, 0, 1, 0, 0, 0, 1, 1, 1],
    ]


@pytest.mark.parametrize("gives", TRUE_BYTES)
@pytest.mark.parametrize("kind", INTEGERS)
def test_comparisons_of_integers(kind: DataType, gives: DataType) -> None:
    least, most = limits(kind)
    a, b = [least, most, most, most - 1], [most, least, most, most]
    assert compared(kind, a, b, gives) == [[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 1]]


def test_64_bit_integers_are_compared_as_a_whole() -> None:
    for kind, high in ((DataType.UINT64, 1 << 63), (DataType.INT64, 1 << 62)):
        a, b = [high, high + 1, (1 << 32) + 1, 2], [high - 1, high, 1, (1 << 32) + 1]
        assert compared(kind, a, b, DataType.UINT8)[1] == [1, 1, 1, 0]


@pytest.mark.parametrize("kind", TRUE_BYTES)
def test_logic_takes_any_value_but_0_for_true(kind: DataType) -> None:
    a, b = [0, 0, 1, 2, 255, 4], [0, 7, 0, 2, 128, 3]
    same(run("LOGICAL_AND", kind, a, b), [0, 0, 0, 1, 1, 1])
    same(run("LOGICAL_OR", kind, a, b), [0, 1, 1, 1, 1, 1])
    same(run("LOGICAL_XOR", kind, a, b), [0, 1, 1, 0, 0, 0])
    same(run("LOGICAL_NOT", kind, b), [1, 0, 1, 0, 0, 0])
    same(run("LOGICAL_NOT", kind, [0, limits(kind)[1], limits(kind)[1] // 2 + 1]), [1, 0, 0])


@pytest.mark.parametrize("gives", TRUE_BYTES)
@pytest.mark.parametrize("kind", FLOATS)
def test_is_nan_and_is_infinity(kind: DataType, gives: DataType) -> None:
    infinite = int(np.array([np.inf], kind.numpy).view(kind.bits_dtype)[0])
    sign = 1 << 8 * kind.itemsize - 1
    patterns = [0, sign, 1, infinite - 1, infinite, infinite | sign, infinite + 1, infinite + 1 | sign, 2 * sign - 1]
    values = np.array(patterns, kind.bits_dtype)
    same(run("IS_NAN", kind, values, gives=gives), [0, 0, 0, 0, 0, 0, 1, 1, 1])
    for mode, wanted in (("EITHER", [1, 1]), ("POSITIVE", [1, 0]), ("NEGATIVE", [0, 1])):
        same(run("IS_INFINITY", kind, values, gives=gives, InfinityMode=mode), [0, 0, 0, 0, *wanted, 0, 0, 0])
    with pytest.raises(InvalidArgument, match="InfinityMode"):
        run("IS_INFINITY", kind, values, gives=gives, InfinityMode=np.uint32(3))


# Bits.


@pytest.mark.parametrize("kind", list(DataType))
def test_bits(kind: DataType) -> None:
    values = [0, 123, 2**64 - 1, 0x7FFFFFFFFFFFFFFF, 0xF0F0F0F0F0F0F0F0], [1, 45, 0x8080808080808080, 2**64 - 1, 0]
    a, b = (np.array(value, np.uint64).astype(kind.bits_dtype) for value in values)

    def patterns(name: str, *values: Array, gives: DataType | None = None) -> list[int]:
        result = run(name, kind, *values, gives=gives)
        return result.view(f"u{result.dtype.itemsize}").tolist()

    mask = (1 << 8 * kind.itemsize) - 1
    assert patterns("BIT_AND", a, b) == [int(x) & int(y) for x, y in zip(a, b, strict=True)]
    assert patterns("BIT_OR", a, b) == [int(x) | int(y) for x, y in zip(a, b, strict=True)]
    assert patterns("BIT_XOR", a, b) == [int(x) ^ int(y) for x, y in zip(a, b, strict=True)]
    assert patterns("BIT_NOT", a) == [~int(x) & mask for x in a]
    for gives in TRUE_BYTES:
        assert patterns("BIT_COUNT", a, gives=gives) == [int(x).bit_count() for x in a]


@pytest.mark.parametrize("kind", UNSIGNED)
def test_shifts_are_logical(kind: DataType) -> None:
    width, most = 8 * kind.itemsize, limits(kind)[1]
    a, b = [1, most, 5, most], [width - 1, 1, 0, width - 1]
    same(run("BIT_SHIFT_LEFT", kind, a, b), [1 << width - 1, most - 1, 5, 1 << width - 1])
    same(run("BIT_SHIFT_RIGHT", kind, a, b), [0, most >> 1, 5, 1])
    for beyond in (width, width + 1, 2 * width, most):
        same(run("BIT_SHIFT_LEFT", kind, [1, most], [beyond, beyond]), [0, 0])
        same(run("BIT_SHIFT_RIGHT", kind, [1, most], [beyond, beyond]), [0, 0])


# Choices.


@pytest.mark.parametrize("kind", list(DataType))
def test_if_copies_bits(kind: DataType) -> None:
    values, other = np.array([255, 254, 253, 252, 251], np.uint8), np.array([9, 8, 7, 6, 5], np.uint8)
    a, b = (np.repeat(each, kind.itemsize) for each in (values, other))
    wanted = np.repeat(np.array([255, 8, 253, 252, 5], np.uint8), kind.itemsize)
    assert run("IF", kind, [1, 0, 255, 128, 0], a, b).tobytes() == wanted.tobytes()


def test_what_if_does_not_choose_does_not_matter() -> None:
    same(run("IF", F32, [0, 1, 2, 0], [NAN, 1, -0.0, INF], [2, NAN, INF, -0.0]), [2, 1, -0.0, -0.0])


@pytest.mark.parametrize("kind", FLOATS)
def test_the_gradient_of_clip(kind: DataType) -> None:
    x, gradient = [-2, -1, -0.5, 0, 2.5, 3, 9, NAN, INF], [NAN, INF, 7, -0.0, NAN, NAN, 5, 6, -INF]
    wanted = [0, 0, 7, -0.0, NAN, 0, 0, 6, 0]
    same(run("CLIP_GRAD", kind, x, gradient, Min=-1, Max=3), wanted)
    union = {"Min": ScalarUnion.of(kind, -1), "Max": ScalarUnion.of(kind, 3)}
    same(run("CLIP_GRAD1", kind, x, gradient, MinMaxDataType=kind.name, **union), wanted)


@pytest.mark.parametrize("kind", INTEGERS)
def test_the_gradient_of_clip_on_integers(kind: DataType) -> None:
    x, gradient = [0, 1, 2, 3, 4], [5, 6, 7, 8, 9]
    same(run("CLIP_GRAD", kind, x, gradient, Min=1.9, Max=3.9), [0, 0, 7, 0, 0])
    union = {"Min": ScalarUnion.of(kind, 0), "Max": ScalarUnion.of(kind, 4)}
    same(run("CLIP_GRAD1", kind, x, gradient, MinMaxDataType=kind.name, **union), [0, 6, 7, 8, 0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", FLOATS)
def test_the_power_of_a_half_is_c_s_and_not_the_root(kind: DataType) -> None:
    x = [-INF, -0.0, 0.0, -1.0, 4.0, INF, NAN]
    same(run("CONSTANT_POW", kind, x, Exponent=np.float32(0.5)), [INF, 0.0, 0.0, NAN, 2.0, INF, NAN])
    same(run("CONSTANT_POW", kind, x, Exponent=np.float32(-0.5)), [0.0, INF, INF, NAN, 0.5, 0.0, NAN])


@pytest.mark.parametrize("kind", [DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16])
def test_integer_powers_wrap_whatever_the_exponent(kind: DataType) -> None:
    around = [1 << bits for bits in (1, 6, 7, 14, 15, 32)]  # of 8 and 16 bits powers repeat after 2^6 and 2^14
    exponents = sorted({exponent for power in around for exponent in (power - 2, power - 1, power, power + 1)} | {192})
    exponents = [exponent for exponent in exponents if exponent < 1 << 32]
    least, most = limits(kind)
    bases = [least, least + 1, *range(max(least, -9), 10), most - 1, most]
    pairs = [(base, exponent) for base in bases for exponent in exponents]
    types = {"InputTensor": kind, "ExponentTensor": DataType.UINT32, "OutputTensor": kind}
    operator = of_sizes("POW", types, (len(pairs),))
    kernel = CpuKernel(
        operator, PROGRAMS[operator.name](operator), ("InputTensor", "ExponentTensor"), "OutputTensor", (), 16
    )
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    inputs = {"InputTensor": columns[0].astype(kind.numpy), "ExponentTensor": columns[1].astype(np.uint32)}
    modulus = 1 << 8 * kind.itemsize
    wanted = [pow(base, exponent, modulus) for base, exponent in pairs]
    result = dispatched(kernel, operator, inputs, "OutputTensor")
    assert result.astype(np.int64).tolist() == [number - modulus * (number > most) for number in wanted]


def test_no_warning_escapes() -> None:
    for kind in INTEGERS:
        least, most = limits(kind)
        for name in ("DIVIDE", "MODULUS_TRUNCATE", "MODULUS_FLOOR", "MULTIPLY"):
            run(name, kind, [least, most, 1], [0, 0, most])
    for name in ("DIVIDE", "MODULUS_FLOOR", "MODULUS_TRUNCATE", "DIFFERENCE_SQUARE"):
        for kind in FLOATS:
            run(name, kind, [INF, 0, NAN, 60000], [INF, 0, 1, 2.0**-24])


@pytest.mark.parametrize("step", [1, 2, 7])
@pytest.mark.parametrize("kind", FLOATS)
def test_every_strided_truth_is_written(kind: DataType, step: int) -> None:
    # numpy 2.4.6 leaves elements unwritten where isnan and isinf have strided results
    types = {"InputTensor": kind, "OutputTensor": DataType.UINT8}
    values = np.resize(np.array([1, NAN, INF, 0], kind.numpy), 66)
    for name, attributes, wanted in (
        ("IS_NAN", {}, [0, 1, 0, 0]),
        ("IS_INFINITY", {"InfinityMode": "EITHER"}, [0, 0, 1, 0]),
    ):
        operator = of_sizes(name, types, (66,), {"OutputTensor": (step,)}, **attributes)
        kernel = CpuKernel(operator, PROGRAMS[operator.name](operator), ONE, "OutputTensor", (), 16)
        result = dispatched(kernel, operator, {"InputTensor": values}, "OutputTensor")
        assert result.tolist() == [*wanted * 16, *wanted[:2]]
