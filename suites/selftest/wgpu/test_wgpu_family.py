"""The operators that the wgpu backend makes from expressions, on whatever adapter is chosen.

Results are compared with Python's integers and with numpy's moves of bits; what the pages leave open is left out. Every
test runs with the types that the adapter has and with those that are emulated. To run them on one adapter among
several: ``DMLCTS_WGPU_ADAPTER=name pytest suites/selftest/wgpu``.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.backends import InvalidArgument
from dmlcts.backends.wgpu.device import WgpuDevice
from dmlcts.backends.wgpu.formulas import OF_MIXED_TYPES, REAL_FUNCTIONS
from dmlcts.backends.wgpu.kernel import WgpuKernel
from dmlcts.backends.wgpu.layout import Limits
from dmlcts.backends.wgpu.programs import OPERATORS, program_of
from dmlcts.backends.wgpu.shaders import Shader
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.selftest.backends.worked_examples import EXAMPLES, Example, check, placed
from dmlcts.suites.selftest.looped_cases import looped
from dmlcts.suites.selftest.wgpu.wgpu_bench import INTEGERS, open_or_skip, view

Values = NDArray[Any]
Meaning = Callable[..., int]
SIGNED = [data_type for data_type in INTEGERS if data_type.is_signed]
FLOATS = [DataType.FLOAT32, DataType.FLOAT16]


def output_of(operator: OperatorDesc) -> str:
    """The name of the tensor that is written."""
    return next(name for name in ("OutputTensor", "OutputGradientTensor") if name in operator.tensors)


class Bare:
    """A device whose kernels are made without a table, so that operators can be tried ahead of theirs."""

    def __init__(self, device: WgpuDevice) -> None:
        self.device = device

    def create(self, operator: OperatorDesc) -> WgpuKernel:
        """A kernel of an operator that nothing has checked; its output may take the place of any input."""
        output = output_of(operator)
        inputs = [name for name in operator.tensors if name != output]
        program = program_of(operator, inputs, output, self.device._elements)
        return WgpuKernel(self.device, operator, program, output, inputs, 16)


@pytest.fixture(scope="module", params=["auto", "emulated"])
def device(request: pytest.FixtureRequest) -> Iterator[Bare]:
    with open_or_skip(float16=request.param, int64=request.param) as opened:
        yield Bare(opened)


@looped("example", EXAMPLES, ids=lambda example: example.slug)
def test_the_worked_examples(example: Example, device: Bare) -> None:
    check(device, example)


def test_every_operator_with_an_expression_has_an_example() -> None:
    """All but the first three, ADD1, and the real functions and mixed types, which ``test_wgpu_real`` has."""
    others = OPERATORS - REAL_FUNCTIONS - OF_MIXED_TYPES
    beside = {"CLIP", "ROUND", "THRESHOLD", "ADD1", "ATAN_YX"}
    shown = {example.operator for example in EXAMPLES}
    assert {name.removeprefix("ELEMENT_WISE_") for name in others} - beside == shown


# Dispatching.


def dispatched(
    device: Bare,
    operator: OperatorDesc,
    values: Mapping[str, Values],
    share: Mapping[str, str] | None = None,
) -> Values:
    """The output's elements after one dispatch on a memory in which nothing else has changed.

    Args:
        device: what makes the kernel.
        operator: the operator.
        values: what each input's places hold, gaps too; repeated as often as it takes.
        share: which tensor's region another one is bound to.
    """
    memory, regions = placed(operator.tensors)
    for name, array in values.items():
        item = operator.tensors[name].data_type.numpy
        places = memory[regions[name].offset : regions[name].end]
        held = places[: places.size // item.itemsize * item.itemsize].view(item)
        held[:] = np.resize(array, held.size)
    regions |= {name: regions[other] for name, other in (share or {}).items()}
    before = memory.copy()
    kernel = device.create(operator)
    try:
        kernel.dispatch(memory, regions)
    finally:
        kernel.close()
    output = output_of(operator)
    tensor, region = operator.tensors[output], regions[output]
    outputs = view(memory, region, tensor).copy()
    view(memory, region, tensor)[...] = view(before, region, tensor)
    np.testing.assert_array_equal(memory, before, err_msg="a stray write")
    return outputs


def binary(name: str, a: Values, b: Values, result: DataType | None = None) -> OperatorDesc:
    """An operator of ATensor and BTensor on packed tensors of one dimension."""
    kind = DataType[_name_of(a)]
    tensors = {"ATensor": TensorDesc(kind, [a.size]), "BTensor": TensorDesc(kind, [b.size])}
    return OperatorDesc(f"ELEMENT_WISE_{name}", tensors | {"OutputTensor": TensorDesc(result or kind, [a.size])}, {})


def unary(name: str, x: Values, result: DataType | None = None, **attributes: Any) -> OperatorDesc:
    """An operator of InputTensor on packed tensors of one dimension."""
    tensor = TensorDesc(DataType[_name_of(x)], [x.size])
    output = TensorDesc(result or tensor.data_type, [x.size])
    return OperatorDesc(f"ELEMENT_WISE_{name}", {"InputTensor": tensor, "OutputTensor": output}, attributes)


def _name_of(values: Values) -> str:
    return values.dtype.name.upper()


# Integers against Python's.


def edges(data_type: DataType) -> Values:
    """Values of an integer type that fill its words and halves of words, end them, or stand beside such."""
    limits = np.iinfo(data_type.numpy)
    near = {0, limits.max, limits.min, limits.max // 3}
    near |= {1 << power for power in (1, 7, 8, 15, 16, 24, 31, 32, 33, 53, 62, 63)}
    numbers = {value + step for value in near for step in (-1, 0, 1)}
    numbers |= {-value for value in numbers} | {7, 10, 100, 12345, 0x0123456789ABCDEF, 0x7FFFFFFF80000000}
    drawn = np.random.default_rng(0).integers(limits.min, limits.max, 12, data_type.numpy, endpoint=True)
    return np.array([*sorted(value for value in numbers if limits.min <= value <= limits.max), *drawn], data_type.numpy)


def pairs(values: Values) -> tuple[Values, Values]:
    """Every pair of the values."""
    return np.repeat(values, values.size), np.tile(values, values.size)


def truncated(a: int, b: int) -> int:
    """The quotient without its fraction."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# Operators of two integers; MEAN is listed on 32 bits only, and truncates like DIVIDE here.
MEANINGS: dict[str, Meaning] = {
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2,
    "MAX": max,
    "MIN": min,
    "DIVIDE": truncated,
    "MODULUS_TRUNCATE": lambda a, b: a - b * truncated(a, b),
    "MODULUS_FLOOR": lambda a, b: a % b,
    "BIT_AND": lambda a, b: a & b,
    "BIT_OR": lambda a, b: a | b,
    "BIT_XOR": lambda a, b: a ^ b,
}
DIVISIONS = ("DIVIDE", "MODULUS_TRUNCATE", "MODULUS_FLOOR")
COMPARISONS: dict[str, Callable[[Values, Values], Values]] = {
    "LOGICAL_EQUALS": np.equal,
    "LOGICAL_GREATER_THAN": np.greater,
    "LOGICAL_LESS_THAN": np.less,
    "LOGICAL_GREATER_THAN_OR_EQUAL": np.greater_equal,
    "LOGICAL_LESS_THAN_OR_EQUAL": np.less_equal,
}


def wrapped(values: Sequence[int], data_type: DataType) -> Values:
    """Python's integers, cut off to the type's bits."""
    ones = (1 << 8 * data_type.itemsize) - 1
    return np.array([value & ones for value in values], data_type.bits_dtype).view(data_type.numpy)


def of_python(name: str, a: Values, b: Values) -> Values:
    """The operator by Python's integers."""
    meaning, data_type = MEANINGS[name], DataType[_name_of(a)]
    return wrapped([meaning(int(x), int(y)) for x, y in zip(a, b, strict=True)], data_type)


@looped("data_type", INTEGERS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", MEANINGS)
def test_pairs_of_integers(name: str, data_type: DataType, device: Bare) -> None:
    a, b = pairs(edges(data_type))
    if name in DIVISIONS:  # by 0, and the least number by -1, the pages leave open
        least = np.iinfo(data_type.numpy).min
        open_ = (b == 0) | ((a == least) & (b == -1) if data_type.is_signed else False)
        a, b = a[~open_], b[~open_]
    y = dispatched(device, binary(name, a, b), {"ATensor": a, "BTensor": b})
    np.testing.assert_array_equal(y, of_python(name, a, b))


@looped("data_type", INTEGERS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", DIVISIONS)
def test_what_divides_by_zero_leaves_its_neighbours_right(name: str, data_type: DataType, device: Bare) -> None:
    a = np.array([7, 7, 100, 100, 9, 0, 9], data_type.numpy)
    b = np.array([0, 2, 0, 7, 4, 0, 3], data_type.numpy)
    if data_type.is_signed:
        a, b = np.append(a, [np.iinfo(data_type.numpy).min, -7]), np.append(b, [-1, 2])
    a, b = a.astype(data_type.numpy), b.astype(data_type.numpy)
    y = dispatched(device, binary(name, a, b), {"ATensor": a, "BTensor": b})
    there = [index for index in range(a.size) if b[index] not in (0, -1)]
    np.testing.assert_array_equal(y[there], of_python(name, a[there], b[there]))


@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.UINT8], ids=lambda kind: kind.name)
def test_every_pair_of_bytes(data_type: DataType, device: Bare) -> None:
    a, b = pairs(np.arange(256).astype(np.uint8).view(data_type.numpy))
    whole = {"ATensor": a, "BTensor": b}
    for name in ("MULTIPLY", "MAX", "BIT_XOR"):
        np.testing.assert_array_equal(dispatched(device, binary(name, a, b), whole), of_python(name, a, b))
    for name, compare in COMPARISONS.items():
        y = dispatched(device, binary(name, a, b, DataType.UINT8), whole)
        np.testing.assert_array_equal(y, compare(a, b))


@pytest.mark.parametrize("data_type", [DataType.INT32, DataType.UINT32], ids=lambda kind: kind.name)
def test_means_of_the_exact_sum(data_type: DataType, device: Bare) -> None:
    a, b = pairs(edges(data_type))
    expected = wrapped([truncated(int(x) + int(y), 2) for x, y in zip(a, b, strict=True)], data_type)
    np.testing.assert_array_equal(dispatched(device, binary("MEAN", a, b), {"ATensor": a, "BTensor": b}), expected)


@looped("data_type", [*INTEGERS, *FLOATS], ids=lambda kind: kind.name)
@looped("result", [DataType.UINT8, DataType.UINT32], ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, result: DataType, data_type: DataType, device: Bare) -> None:
    """Exact on 64 bits; on floating point as IEEE 754 has it, though the pages leave NaN and subnormals open."""
    a, b = pairs(patterns(data_type) if data_type.is_floating else edges(data_type))
    y = dispatched(device, binary(name, a, b, result), {"ATensor": a, "BTensor": b})
    np.testing.assert_array_equal(y, COMPARISONS[name](a, b).astype(result.numpy))


@pytest.mark.parametrize("data_type", SIGNED, ids=lambda kind: kind.name)
def test_signs_of_integers(data_type: DataType, device: Bare) -> None:
    x = edges(data_type)
    inputs = {"InputTensor": x}
    np.testing.assert_array_equal(dispatched(device, unary("SIGN", x), inputs), np.sign(x))
    for name, turned in (("NEGATE", [-int(number) for number in x]), ("ABS", [abs(int(number)) for number in x])):
        attributes = {"ScaleBias": None} if name == "ABS" else {}
        y = dispatched(device, unary(name, x, **attributes), inputs)
        np.testing.assert_array_equal(y, wrapped(turned, data_type))


# Bits.

_WIDTHS = [DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64]


@pytest.mark.parametrize("data_type", list(DataType), ids=lambda kind: kind.name)
def test_bits_are_counted_turned_and_copied(data_type: DataType, device: Bare) -> None:
    bits = edges(DataType[f"UINT{8 * data_type.itemsize}"])
    x = bits.view(data_type.numpy)
    inputs = {"InputTensor": x}
    for result in (DataType.UINT8, DataType.UINT32):
        counted = dispatched(device, unary("BIT_COUNT", x, result), inputs)
        np.testing.assert_array_equal(counted, [int(pattern).bit_count() for pattern in bits])
    turned = dispatched(device, unary("BIT_NOT", x), inputs)
    np.testing.assert_array_equal(turned.view(bits.dtype), ~bits)
    copied = dispatched(device, unary("IDENTITY", x, ScaleBias=None), inputs)
    np.testing.assert_array_equal(copied.view(bits.dtype), bits)


@pytest.mark.parametrize("data_type", _WIDTHS, ids=lambda kind: kind.name)
def test_shifts_below_the_width(data_type: DataType, device: Bare) -> None:
    width = 8 * data_type.itemsize
    values, counts = edges(data_type), np.arange(width).astype(data_type.numpy)
    a, b = np.repeat(values, width), np.tile(counts, values.size)
    inputs = {"ATensor": a, "BTensor": b}
    lefts = wrapped([int(x) << int(n) for x, n in zip(a, b, strict=True)], data_type)
    np.testing.assert_array_equal(dispatched(device, binary("BIT_SHIFT_LEFT", a, b), inputs), lefts)
    rights = wrapped([int(x) >> int(n) for x, n in zip(a, b, strict=True)], data_type)
    np.testing.assert_array_equal(dispatched(device, binary("BIT_SHIFT_RIGHT", a, b), inputs), rights)


@pytest.mark.parametrize("data_type", _WIDTHS, ids=lambda kind: kind.name)
def test_shifts_by_the_width_and_more_give_zero(data_type: DataType, device: Bare) -> None:
    """The pages leave them open; this backend always gives the same."""
    width = 8 * data_type.itemsize
    b = np.array([width, width + 1, 2 * width % 256, 200, np.iinfo(data_type.numpy).max], data_type.numpy)
    a = np.full(b.size, np.iinfo(data_type.numpy).max, data_type.numpy)
    for name in ("BIT_SHIFT_LEFT", "BIT_SHIFT_RIGHT"):
        assert not dispatched(device, binary(name, a, b), {"ATensor": a, "BTensor": b}).any()


# Floating point by its bits.


def patterns(data_type: DataType) -> Values:
    """Numbers of every kind: NaNs with payloads, infinities, subnormals, zeros, halves, drawn bits; of both signs."""
    kind, bits = data_type.numpy, data_type.bits_dtype
    infinity = int(np.array(np.inf, kind).view(bits))
    sign = 1 << (8 * data_type.itemsize - 1)
    numbers = [0.5, 1, 1.5, 2.5, 3, 0.49997, 7, 255.5, 1023.5, 1024, 65504, 8388607.5, 16777215]
    bit_patterns = [
        0,
        1,
        2,
        infinity - 1,
        infinity,
        infinity + 1,
        sign - 1,
        *(infinity >> power for power in (1, 2, 5)),
    ]
    with np.errstate(over="ignore"):
        bit_patterns += np.array(numbers).astype(kind).view(bits).tolist()
    drawn = np.random.default_rng(1).integers(0, sign - 1, 20)
    magnitudes = np.array([*bit_patterns, *drawn], np.uint64)
    return np.concatenate([magnitudes, magnitudes | np.uint64(sign)]).astype(bits).view(kind)


def same_bits(actual: Values, expected: Values) -> None:
    """Compare bit for bit, all NaNs being alike."""
    bits = DataType[_name_of(expected)].bits_dtype
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), ~numbers)
    np.testing.assert_array_equal(actual[numbers].view(bits), expected[numbers].view(bits))


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda kind: kind.name)
def test_single_floats(data_type: DataType, device: Bare) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16) if data_type.itemsize == 2 else patterns(data_type)
    inputs, bits, plain = {"InputTensor": x}, data_type.bits_dtype, {"ScaleBias": None}
    sign = np.array(1 << (8 * data_type.itemsize - 1), bits)
    absolute = dispatched(device, unary("ABS", x, **plain), inputs)
    np.testing.assert_array_equal(absolute.view(bits), x.view(bits) & ~sign)
    negated = dispatched(device, unary("NEGATE", x), inputs)
    np.testing.assert_array_equal(negated.view(bits), x.view(bits) ^ sign)
    with np.errstate(invalid="ignore"):
        same_bits(dispatched(device, unary("CEIL", x, **plain), inputs), np.ceil(x))
        same_bits(dispatched(device, unary("FLOOR", x, **plain), inputs), np.floor(x))
    np.testing.assert_array_equal(dispatched(device, unary("SIGN", x), inputs), np.nan_to_num(np.sign(x)))
    np.testing.assert_array_equal(dispatched(device, unary("IS_NAN", x, DataType.UINT8), inputs), np.isnan(x))
    modes = {"EITHER": np.isinf(x), "POSITIVE": x == np.inf, "NEGATIVE": x == -np.inf}
    for mode, expected in modes.items():
        y = dispatched(device, unary("IS_INFINITY", x, DataType.UINT8, InfinityMode=mode), inputs)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("data_type", FLOATS, ids=lambda kind: kind.name)
def test_pairs_of_floats_are_chosen_and_divided_exactly(data_type: DataType, device: Bare) -> None:
    a, b = pairs(patterns(data_type))
    inputs = {"ATensor": a, "BTensor": b}
    for name, chosen in (("MAX", np.fmax), ("MIN", np.fmin)):
        y = dispatched(device, binary(name, a, b), inputs)
        np.testing.assert_array_equal(y, chosen(a, b))
        zeros = (a == 0) & (b == 0)
        either = np.signbit(a) & np.signbit(b) if name == "MAX" else np.signbit(a) | np.signbit(b)
        np.testing.assert_array_equal(np.signbit(y)[zeros], either[zeros])
    with np.errstate(all="ignore"):
        expected = np.fmod(a.astype(np.float64), b.astype(np.float64)).astype(data_type.numpy)
    same_bits(dispatched(device, binary("MODULUS_TRUNCATE", a, b), inputs), expected)


@pytest.mark.parametrize("data_type", list(DataType), ids=lambda kind: kind.name)
def test_a_choice_moves_bits_and_leaves_the_other_operand_out(data_type: DataType, device: Bare) -> None:
    bits = edges(DataType[f"UINT{8 * data_type.itemsize}"])
    a, b = bits.view(data_type.numpy), bits[::-1].copy().view(data_type.numpy)
    condition = np.resize(np.array([0, 1, 2, 0, 128, 255], np.uint8), a.size)
    tensor = TensorDesc(data_type, [a.size])
    tensors = {"ConditionTensor": TensorDesc(DataType.UINT8, [a.size]), "ATensor": tensor, "BTensor": tensor}
    operator = OperatorDesc("ELEMENT_WISE_IF", tensors | {"OutputTensor": tensor}, {})
    y = dispatched(device, operator, {"ConditionTensor": condition, "ATensor": a, "BTensor": b})
    np.testing.assert_array_equal(y.view(bits.dtype), np.where(condition, bits, bits[::-1]))


# Layouts and aliases.

ELEMENTS = [DataType.UINT8, DataType.FLOAT16, DataType.FLOAT32, DataType.INT64]


def _strided(kind: DataType, result: DataType, name: str) -> OperatorDesc:
    sizes = [3, 1, 4, 5]
    tensors = {
        "ATensor": TensorDesc(kind, sizes, [1, 99, 3, 12]),  # the first dimension runs fastest
        "BTensor": TensorDesc(kind, sizes, [0, 7, 0, 1]),  # one row for all
        "OutputTensor": TensorDesc(result, sizes, [51, 60, 12, 2]),  # gaps between elements and rows
    }
    return OperatorDesc(name, tensors, {})


@looped("kind", ELEMENTS, ids=lambda kind: kind.name)
@looped("result", ["the same", "UINT8", "UINT32"])
def test_every_tensor_has_strides_of_its_own(kind: DataType, result: str, device: Bare) -> None:
    name = "MAX" if result == "the same" else "LOGICAL_GREATER_THAN"
    operator = _strided(kind, kind if result == "the same" else DataType[result], f"ELEMENT_WISE_{name}")
    values = np.arange(120).astype(kind.numpy)
    a, b = values[::-1].copy(), (values * 7 % 120).astype(kind.numpy)
    y = dispatched(device, operator, {"ATensor": a, "BTensor": b})
    places = np.arange(60).reshape(5, 4, 1, 3).transpose(3, 2, 1, 0)
    left, right = a[places], np.broadcast_to(b[:5], (3, 1, 4, 5))
    expected = np.maximum(left, right) if name == "MAX" else (left > right)
    np.testing.assert_array_equal(y, expected.astype(y.dtype))


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank(rank: int, device: Bare) -> None:
    sizes = [2, 1, 3, 2, 1, 2, 3, 2][:rank]
    packed = TensorDesc(DataType.INT16, sizes)
    turned = TensorDesc(DataType.INT16, sizes, [int(np.prod(sizes[:axis])) for axis in range(rank)])
    tensors = {"ATensor": packed, "BTensor": turned, "OutputTensor": packed}
    x = np.arange(packed.element_count).astype(np.int16)
    y = dispatched(device, OperatorDesc("ELEMENT_WISE_SUBTRACT", tensors, {}), {"ATensor": 3 * x, "BTensor": x})
    np.testing.assert_array_equal(y, (3 * x).reshape(sizes) - x.reshape(sizes[::-1]).transpose())


@looped("kind", ELEMENTS, ids=lambda kind: kind.name)
@looped("alias", ["ATensor", "BTensor"])
@looped("both", [False, True], ids=["two inputs", "one input twice"])
def test_the_output_in_the_place_of_an_input(alias: str, both: bool, kind: DataType, device: Bare) -> None:
    """Bound to the same bytes: with the same layout, and transposed, where all must be read before any is written."""
    sizes = [7, 9]
    turned = TensorDesc(kind, sizes, [1, 7])
    for layouts in itertools.product([TensorDesc(kind, sizes), turned], repeat=3):
        tensors = dict(zip(("ATensor", "BTensor", "OutputTensor"), layouts, strict=True))
        operator = OperatorDesc("ELEMENT_WISE_SUBTRACT", tensors, {})
        values = {"ATensor": np.arange(63) + 60, "BTensor": np.arange(63)[::-1].copy()}
        share = {"OutputTensor": alias}
        if both:
            other = "BTensor" if alias == "ATensor" else "ATensor"
            share[other], values[other] = alias, values[alias]
        inputs = {name: array.astype(kind.numpy) for name, array in values.items()}
        y = dispatched(device, operator, inputs, share)
        a, b = (
            inputs[name].reshape(sizes) if tensors[name].strides is None else inputs[name].reshape(9, 7).transpose()
            for name in ("ATensor", "BTensor")
        )
        np.testing.assert_array_equal(y, a - b)


def test_bindings_smaller_than_the_memory(device: Bare, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tensors of different types and layouts, each through windows of its own."""
    alignment = device.device.binding_limits.alignment
    sizes = [13, 7, 5]
    condition = TensorDesc(DataType.UINT8, sizes, [1, 13, 91])
    long, plain = TensorDesc(DataType.INT64, sizes, [40, 5, 1]), TensorDesc(DataType.INT64, sizes)
    tensors = {"ConditionTensor": condition, "ATensor": long, "BTensor": plain, "OutputTensor": plain}
    operator = OperatorDesc("ELEMENT_WISE_IF", tensors, {})
    inputs = {
        "ConditionTensor": np.arange(455).astype(np.uint8) % 3,
        "ATensor": np.arange(1000) << 32,
        "BTensor": -np.arange(455),
    }
    expected = dispatched(device, operator, inputs)
    monkeypatch.setattr(device.device, "binding_limits", Limits(2 * alignment, alignment, 100))
    np.testing.assert_array_equal(dispatched(device, operator, inputs), expected)
    chosen = inputs["ConditionTensor"][:455].reshape(5, 7, 13).transpose()
    places = np.add.outer(np.add.outer(40 * np.arange(13), 5 * np.arange(7)), np.arange(5))
    np.testing.assert_array_equal(expected, np.where(chosen, places << 32, -np.arange(455).reshape(sizes)))


def test_many_elements(device: Bare) -> None:
    """More workgroups than one dimension takes, one invocation an element."""
    count = 65535 * 64 + 65
    x = np.random.default_rng(2).integers(-100, 100, count, np.int8)
    tensor, every_other = TensorDesc(DataType.INT8, [count]), TensorDesc(DataType.INT8, [count], [2])
    for output in (tensor, every_other):
        operator = OperatorDesc(
            "ELEMENT_WISE_ABS", {"InputTensor": tensor, "OutputTensor": output}, {"ScaleBias": None}
        )
        np.testing.assert_array_equal(dispatched(device, operator, {"InputTensor": x}), np.abs(x))


# ScaleBias, refusals, planted faults.


@looped("data_type", FLOATS, ids=lambda kind: kind.name)
@looped("name", ["IDENTITY", "ABS", "CEIL", "FLOOR"])
def test_scale_and_bias_come_first(name: str, data_type: DataType, device: Bare) -> None:
    x = np.array([-2.5, -0.25, 0, 1, 1.75, 100], data_type.numpy)
    y = dispatched(device, unary(name, x, ScaleBias=ScaleBias(-2, 0.5)), {"InputTensor": x})
    meaning: dict[str, Callable[[Values], Values]] = {"ABS": np.abs, "CEIL": np.ceil, "FLOOR": np.floor}
    np.testing.assert_array_equal(y, meaning.get(name, np.array)(x * -2 + 0.5))


def rounded(exact: Fraction) -> float:
    """The FLOAT64 nearest to a fraction, ties to even."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@looped(
    "scale, bias", [(1, 0), (-1, 3), (1.1, -0.3), (1e-45, 0), (3e38, -3e38), (1e-38, 1e-38), (1 / 3, -7.3), (0, 0.1)]
)
def test_float64_is_scaled_with_one_rounding(scale: float, bias: float, device: Bare) -> None:
    """Subnormals, overflow, ties and cancellation to the last digit among them."""
    factors = ScaleBias(scale, bias)
    factor, added = float(factors.scale), float(factors.bias)
    drawn = np.random.default_rng(4)
    x = np.concatenate([patterns(DataType.FLOAT64), drawn.standard_normal(200)])
    x = np.concatenate([x, drawn.standard_normal(200) * 2.0 ** drawn.integers(-1074, 1023, 200)])
    if factor:
        x = np.concatenate([x, -added / factor * (1 + np.arange(-40, 40) * 2.0**-52)])
    y = dispatched(device, unary("IDENTITY", x, ScaleBias=factors), {"InputTensor": x})
    finite = np.isfinite(x)
    expected = [rounded(Fraction(float(number)) * Fraction(factor) + Fraction(added)) for number in x[finite]]
    np.testing.assert_array_equal(y[finite], expected)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(y[~finite], x[~finite] * factor + added)


@pytest.mark.parametrize(
    "operator, words",
    [
        (unary("IS_INFINITY", np.zeros(2, np.float32), DataType.UINT8, InfinityMode=np.uint32(7)), "InfinityMode is"),
        (unary("SIGN", np.zeros(2, np.float32), ScaleBias=ScaleBias(1, 1)), "takes no ScaleBias"),
        (unary("CLIP1", np.zeros(2, np.float32), Min=1.0, ScaleBias=None), "Max is None"),
    ],
)
def test_attributes_that_an_operator_does_not_take(operator: OperatorDesc, words: str, device: Bare) -> None:
    with pytest.raises(InvalidArgument, match=words):
        device.create(operator)


@pytest.mark.parametrize(
    "name, data_type, right, wrong",
    [
        ("LOGICAL_LESS_THAN", DataType.UINT64, "a.y < b.y || (a.y == b.y && a.x < b.x)", "a.x < b.x"),
        ("LOGICAL_LESS_THAN", DataType.FLOAT32, "select(size, -size, is_negative(a))", "size"),
        ("MODULUS_FLOOR", DataType.INT32, "rest + b", "rest"),
        ("BIT_SHIFT_LEFT", DataType.UINT64, "count.x >= 32u", "count.x > 32u"),
        ("SUBTRACT", DataType.INT64, "select(0u, 1u, a.x < b.x)", "0u"),
    ],
)
def test_a_planted_fault_is_seen(
    name: str, data_type: DataType, right: str, wrong: str, device: Bare, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Shader.source
    if right not in source(_shader(device, name, data_type)):
        pytest.skip("this way of computing it is not taken here")
    monkeypatch.setattr(Shader, "source", lambda self: source(self).replace(right, wrong))
    monkeypatch.setattr(device.device, "_compiled", {})
    run = {
        "LOGICAL_LESS_THAN": lambda: inspect.unwrap(test_comparisons)(name, DataType.UINT8, data_type, device),
        "BIT_SHIFT_LEFT": lambda: test_shifts_below_the_width(data_type, device),
    }.get(name, lambda: inspect.unwrap(test_pairs_of_integers)(name, data_type, device))
    with pytest.raises(AssertionError):
        run()


def _shader(device: Bare, name: str, data_type: DataType) -> Shader:
    values = np.zeros(4, data_type.numpy)
    result = DataType.UINT8 if name.startswith("LOGICAL") else None
    operator = binary(name, values, values, result)
    program = program_of(operator, ["ATensor", "BTensor"], "OutputTensor", device.device._elements)
    return Shader.of(program, (), builtin=False)
