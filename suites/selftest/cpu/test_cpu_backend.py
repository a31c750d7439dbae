"""The cpu backend against expectations made by hand: values, layouts, bindings, refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.backends import ExecutionFailed, InvalidArgument
from dmlcts.backends.cpu import CpuBackend, CpuDevice
from dmlcts.backends.cpu import device as cpu_device
from dmlcts.backends.cpu.programs import TABLE_ELEMENTS
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, ScaleBias, TensorDesc, UsageError
from dmlcts.suites.selftest.looped_cases import looped

CLIP, ROUND, THRESHOLD = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD"
EVEN, ZERO, AWAY = "HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"
F32, F16 = DataType.FLOAT32, DataType.FLOAT16
FLOATS = [F32, F16]
INTEGERS = [data_type for data_type in DataType if not data_type.is_floating]
SMALL_INTEGERS = [data_type for data_type in INTEGERS if data_type.itemsize < 8]
SIGNED = [data_type for data_type in INTEGERS if data_type.is_signed]
INF, NAN = float("inf"), float("nan")
POISON = 0xA5


@pytest.fixture
def device() -> Iterator[CpuDevice]:
    with CpuBackend().open() as opened:
        yield opened


def _describe(name: str, source: TensorDesc, target: TensorDesc | None = None, **attributes: Any) -> OperatorDesc:
    return OperatorDesc(name, {"InputTensor": source, "OutputTensor": target or source}, attributes)


def _aligned(size: int) -> NDArray[np.uint8]:
    raw = np.full(size + 15, POISON, np.uint8)
    start = -raw.ctypes.data % 16
    return raw[start : start + size]


def _up(size: int) -> int:
    return (size + 15) // 16 * 16


def _run(
    device: CpuDevice,
    name: str,
    data_type: DataType,
    values: Sequence[float] | NDArray[Any],
    **attributes: Any,
) -> NDArray[Any]:
    """Run on a packed tensor of one dimension, out of place and in place, which must agree."""
    value = np.asarray(values).astype(data_type.numpy)
    tensor = TensorDesc(data_type, value.shape)
    kernel = device.create(_describe(name, tensor, **attributes))
    size, step = tensor.total_size_in_bytes, _up(tensor.total_size_in_bytes)
    memory = _aligned(2 * step)
    memory[: value.nbytes] = value.view(np.uint8)
    kernel.dispatch(memory, {"InputTensor": Region(0, size), "OutputTensor": Region(step, size)})
    assert memory[: value.nbytes].tobytes() == value.tobytes()
    outcome = memory[step : step + value.nbytes].copy().view(data_type.numpy)
    same = Region(0, size)
    kernel.dispatch(memory, {"InputTensor": same, "OutputTensor": same})
    assert memory[: value.nbytes].tobytes() == outcome.tobytes()
    kernel.close()
    return outcome


def _same(got: NDArray[Any], expected: Sequence[float]) -> None:
    """Equal values, equal signs of zeros, NaN where NaN is expected."""
    wanted = np.asarray(expected).astype(got.dtype)
    assert np.array_equal(np.isnan(got), np.isnan(wanted)), (got, wanted)
    numbers = ~np.isnan(wanted)
    assert got[numbers].tobytes() == wanted[numbers].tobytes(), (got, wanted)


# FLOAT32 and FLOAT16.


@pytest.mark.parametrize("data_type", FLOATS)
def test_clip_of_floats(device: CpuDevice, data_type: DataType) -> None:
    values = [-3.0, -1.0, -0.5, -0.0, 0.0, 0.25, 2.0, 2.5, INF, -INF, NAN]
    got = _run(device, CLIP, data_type, values, Min=-1, Max=2)
    _same(got, [-1.0, -1.0, -0.5, -0.0, 0.0, 0.25, 2.0, 2.0, 2.0, -1.0, NAN])
    _same(_run(device, CLIP, data_type, values, Min=-INF, Max=INF), values)


@pytest.mark.parametrize("data_type", FLOATS)
def test_inverted_bounds_give_min_and_nan_propagates(device: CpuDevice, data_type: DataType) -> None:
    _same(_run(device, CLIP, data_type, [-9, 0, 1.5, 9, NAN], Min=2, Max=-1), [2, 2, 2, 2, NAN])
    for low, high in ((NAN, 1), (0, NAN), (NAN, NAN)):
        _same(_run(device, CLIP, data_type, [-9, 0, 9, NAN], Min=low, Max=high), [NAN] * 4)
    _same(_run(device, THRESHOLD, data_type, [-9, 9], Min=NAN), [NAN, NAN])


@pytest.mark.parametrize("data_type", FLOATS)
@pytest.mark.parametrize(
    "low, high, expected",
    [
        # For the inputs -1, -0, +0, 1: min(x, Max) first, then max(Min, ...), with -0 less than +0.
        (0.0, 5.0, [0.0, 0.0, 0.0, 1.0]),
        (-0.0, 5.0, [-0.0, -0.0, 0.0, 1.0]),
        (-5.0, 0.0, [-1.0, -0.0, 0.0, 0.0]),
        (-5.0, -0.0, [-1.0, -0.0, -0.0, -0.0]),
        (0.0, 0.0, [0.0, 0.0, 0.0, 0.0]),
        (-0.0, -0.0, [-0.0, -0.0, -0.0, -0.0]),
        (-0.0, 0.0, [-0.0, -0.0, 0.0, 0.0]),
        (0.0, -0.0, [0.0, 0.0, 0.0, 0.0]),
        (0.0, -1.0, [0.0, 0.0, 0.0, 0.0]),
        (-0.0, -1.0, [-0.0, -0.0, -0.0, -0.0]),
        (1.0, 0.0, [1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_bounds_of_zero(device: CpuDevice, data_type: DataType, low: float, high: float, expected: list[float]) -> None:
    # Repeated, so that both the vectorised body of a loop and its remainder are exercised.
    got = _run(device, CLIP, data_type, [-1.0, -0.0, 0.0, 1.0] * 37, Min=low, Max=high)
    _same(got, expected * 37)
    _same(_run(device, CLIP, data_type, [NAN], Min=low, Max=high), [NAN])


@pytest.mark.parametrize("data_type", FLOATS)
def test_threshold_of_floats(device: CpuDevice, data_type: DataType) -> None:
    values = [-3.0, 0.5, 0.75, INF, -INF, NAN]
    _same(_run(device, THRESHOLD, data_type, values, Min=0.5), [0.5, 0.5, 0.75, INF, 0.5, NAN])
    _same(_run(device, THRESHOLD, data_type, [-1, -0.0, 0.0, 1], Min=0.0), [0.0, 0.0, 0.0, 1])
    _same(_run(device, THRESHOLD, data_type, [-1, -0.0, 0.0, 1], Min=-0.0), [-0.0, -0.0, 0.0, 1])


def test_subnormals_are_kept(device: CpuDevice) -> None:
    for data_type, least in ((F32, 2.0**-149), (F16, 2.0**-24)):
        values = [least, -least, 3 * least, 0.0]
        _same(_run(device, CLIP, data_type, values, Min=-1, Max=1), values)
        _same(_run(device, CLIP, data_type, values, Min=-1, Max=2 * least), [least, -least, 2 * least, 0.0])
        _same(_run(device, ROUND, data_type, values, RoundingMode=EVEN), [0.0, -0.0, 0.0, 0.0])


HALVES = [-2.5, -1.75, -1.5, -1.25, -0.5, -0.25, -0.0, 0.0, 0.25, 0.5, 1.25, 1.5, 1.75, 2.5, INF, -INF, NAN]


@pytest.mark.parametrize("data_type", FLOATS)
@pytest.mark.parametrize(
    "mode, expected",
    [
        (EVEN, [-2, -2, -2, -1, -0.0, -0.0, -0.0, 0, 0, 0, 1, 2, 2, 2, INF, -INF, NAN]),
        (ZERO, [-2, -1, -1, -1, -0.0, -0.0, -0.0, 0, 0, 0, 1, 1, 1, 2, INF, -INF, NAN]),
        (AWAY, [-3, -2, -2, -1, -1, -0.0, -0.0, 0, 0, 1, 1, 2, 2, 3, INF, -INF, NAN]),
    ],
)
def test_round(device: CpuDevice, data_type: DataType, mode: str, expected: list[float]) -> None:
    _same(_run(device, ROUND, data_type, HALVES, RoundingMode=mode), expected)


def test_round_at_the_edges_of_float32(device: CpuDevice) -> None:
    below_half = float(np.nextafter(np.float32(0.5), np.float32(0)))
    whole = [8388608.0, 8388609.0, 16777215.0, 3.4e38]
    values = [below_half, -below_half, 4194303.5, 4194304.5, 8388607.5, *whole]
    _same(
        _run(device, ROUND, F32, values, RoundingMode=AWAY),
        [0.0, -0.0, 4194304, 4194305, 8388608, *whole],
    )
    _same(
        _run(device, ROUND, F32, values, RoundingMode=EVEN),
        [0.0, -0.0, 4194304, 4194304, 8388608, *whole],
    )
    _same(
        _run(device, ROUND, F32, values, RoundingMode=ZERO),
        [0.0, -0.0, 4194303, 4194304, 8388607, *whole],
    )


def test_bounds_become_float16_to_nearest_even(device: CpuDevice) -> None:
    def clipped(**bounds: float) -> list[float]:
        values = [-INF, -65504.0, 1.0, 65504.0, INF]
        return [float(value) for value in _run(device, CLIP, F16, values, **bounds)]

    # 2049 lies between 2048 and 2050, 2051 between 2050 and 2052: the even significand wins.
    assert clipped(Min=2049, Max=2051) == [2048, 2048, 2048, 2052, 2052]
    assert clipped(Min=-65519.996, Max=65519.996) == [-65504, -65504, 1, 65504, 65504]
    assert clipped(Min=-65520, Max=65520) == [-INF, -65504, 1, 65504, INF]
    assert _run(device, THRESHOLD, F16, [0.0], Min=2.0**-25 * 1.5)[0] == np.float16(2.0**-24)


def test_scale_bias_on_floats(device: CpuDevice) -> None:
    half_up = ScaleBias(2, 0.5)
    _same(_run(device, CLIP, F32, [-4, 0.25, 3], Min=-1, Max=5, ScaleBias=half_up), [-1, 1, 5])
    _same(_run(device, THRESHOLD, F16, [-4, 0.25, 3], Min=-1, ScaleBias=half_up), [-1, 1, 6.5])
    # Separately rounded: (1 + 2^-23) * (1 - 2^-23) is 1 - 2^-46, which FLOAT32 rounds to 1.
    near = ScaleBias(np.float32(1 - 2.0**-23), -1)
    _same(_run(device, CLIP, F32, [1 + 2.0**-23], Min=-1, Max=1, ScaleBias=near), [0.0])
    # Scale is used in FLOAT32: rounded to FLOAT16 first it would be 1, and the result 2048.
    finer = ScaleBias(np.float32(1 + 2.0**-11), 0)
    _same(_run(device, THRESHOLD, F16, [2048.0 * 1.5], Min=0, ScaleBias=finer), [3074.0])
    # 65504 * 2 overflows FLOAT16 but not FLOAT32, before the bias brings it back.
    back = ScaleBias(2, -65504)
    _same(_run(device, CLIP, F16, [65504.0], Min=0, Max=INF, ScaleBias=back), [65504.0])
    _same(_run(device, CLIP, F32, [0.0, INF], Min=0, Max=1, ScaleBias=ScaleBias(INF, 0)), [NAN, 1.0])


@pytest.mark.parametrize(
    "name, attributes",
    [
        (CLIP, {"Min": -0.0, "Max": 3.3, "ScaleBias": None}),
        (CLIP, {"Min": -7, "Max": 2.5, "ScaleBias": ScaleBias(1.1, 0.3)}),
        (THRESHOLD, {"Min": 0.0, "ScaleBias": None}),
        (ROUND, {"RoundingMode": AWAY}),
        (ROUND, {"RoundingMode": EVEN}),
    ],
)
def test_float16_looked_up_is_float16_computed(device: CpuDevice, name: str, attributes: dict[str, Any]) -> None:
    patterns = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    many = np.tile(patterns, TABLE_ELEMENTS // patterns.size)
    computed = _run(device, name, F16, patterns, **attributes)
    looked_up_later = [_run(device, name, F16, patterns, **attributes) for _ in range(2)]
    for values in looked_up_later:
        _same(values, computed)  # type: ignore[arg-type]
    looked_up = _run(device, name, F16, many, **attributes)
    _same(looked_up, np.tile(computed, TABLE_ELEMENTS // patterns.size))  # type: ignore[arg-type]


# Integers.


@pytest.mark.parametrize("data_type", INTEGERS)
def test_clip_of_integers_with_truncated_bounds(device: CpuDevice, data_type: DataType) -> None:
    got = _run(device, CLIP, data_type, [0, 1, 2, 5, 9, 100], Min=1.9, Max=9.9)
    assert got.tolist() == [1, 1, 2, 5, 9, 9]
    assert _run(device, CLIP, data_type, [0, 7, 100], Min=9, Max=3).tolist() == [9, 9, 9]


@pytest.mark.parametrize("data_type", SIGNED)
def test_negative_bounds_truncate_toward_zero(device: CpuDevice, data_type: DataType) -> None:
    got = _run(device, CLIP, data_type, [-100, -4, -3, 0, 100], Min=-3.9, Max=-0.9)
    assert got.tolist() == [-3, -3, -3, 0, 0]


@pytest.mark.parametrize("data_type", INTEGERS)
def test_bounds_beyond_the_type_saturate(device: CpuDevice, data_type: DataType) -> None:
    limits = np.iinfo(data_type.numpy)
    values = np.array([limits.min, 5, limits.max], data_type.numpy)
    everything = [limits.min, 5, limits.max]
    for low, high in ((-1e30, 1e30), (-INF, INF)):
        assert _run(device, CLIP, data_type, values, Min=low, Max=high).tolist() == everything
    assert _run(device, CLIP, data_type, values, Min=INF, Max=0).tolist() == [limits.max] * 3
    assert _run(device, CLIP, data_type, values, Min=NAN, Max=7).tolist() == [0, 5, 7]


@pytest.mark.parametrize("data_type", SMALL_INTEGERS)
def test_threshold_of_integers(device: CpuDevice, data_type: DataType) -> None:
    assert _run(device, THRESHOLD, data_type, [0, 1, 2, 100], Min=1.9).tolist() == [1, 1, 2, 100]


def test_integers_beyond_float_precision_are_compared_exactly(device: CpuDevice) -> None:
    values = [2**53, 2**53 + 1, 2**62 + 1, 2**62 - 1]
    got = _run(device, CLIP, DataType.INT64, np.array(values), Min=2.0**53, Max=2.0**62)
    assert got.tolist() == [2**53, 2**53 + 1, 2**62, 2**62 - 1]
    unsigned = np.array([2**64 - 1, 2**63 + 1, 2**63 - 1], np.uint64)
    got = _run(device, CLIP, DataType.UINT64, unsigned, Min=2.0**63, Max=INF)
    assert got.tolist() == [2**64 - 1, 2**63 + 1, 2**63]


@pytest.mark.parametrize("data_type", INTEGERS)
def test_whole_scale_bias_on_integers_is_exact(device: CpuDevice, data_type: DataType) -> None:
    got = _run(device, CLIP, data_type, [0, 1, 5, 40], Min=4, Max=100, ScaleBias=ScaleBias(3, 2))
    assert got.tolist() == [4, 5, 17, 100]


def test_scale_bias_on_integers_wraps_or_saturates(device: CpuDevice) -> None:
    wide = {"Min": -INF, "Max": INF}
    got = _run(device, CLIP, DataType.INT8, [100, -100], ScaleBias=ScaleBias(2, 1), **wide)
    assert got.tolist() == [201 - 256, -199 + 256]
    # A bias of -1 is no UINT8 and a scale of 1.5 no integer: FLOAT64, truncated, saturating.
    got = _run(device, CLIP, DataType.UINT8, [0, 1, 200], ScaleBias=ScaleBias(2, -1), **wide)
    assert got.tolist() == [0, 1, 255]
    got = _run(device, CLIP, DataType.INT8, [-3, 3, 100, -100], ScaleBias=ScaleBias(1.5, 0), **wide)
    assert got.tolist() == [-4, 4, 127, -128]
    got = _run(device, CLIP, DataType.INT64, [3, -3, 2**62], ScaleBias=ScaleBias(2.0**62, 0.5), **wide)
    assert got.tolist() == [2**63 - 1, -(2**63), 2**63 - 1]
    got = _run(device, CLIP, DataType.UINT64, [3, 0], ScaleBias=ScaleBias(1e30, -1), **wide)
    assert got.tolist() == [2**64 - 1, 0]
    got = _run(device, CLIP, DataType.INT32, [3, 0], ScaleBias=ScaleBias(NAN, 0), **wide)
    assert got.tolist() == [0, 0]


# Layouts.


def _place(tensor: TensorDesc, coordinates: tuple[int, ...]) -> int:
    return sum(c * stride for c, stride in zip(coordinates, tensor.element_strides, strict=True))


LAYOUTS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...] | None]] = {
    "packed": ((2, 3, 4), None, None),
    "packed strides": ((2, 3, 4), (12, 4, 1), None),
    "padded input": ((2, 3, 4), (40, 8, 2), None),
    "padded output": ((2, 3, 4), None, (30, 7, 1)),
    "permuted input": ((2, 3, 4), (1, 2, 6), None),
    "permuted output": ((2, 3, 4), None, (4, 8, 1)),
    "permuted alike": ((2, 3, 4), (1, 2, 6), (1, 2, 6)),
    "broadcast": ((2, 3, 4), (0, 1, 0), None),
    "one value": ((2, 3, 4), (0, 0, 0), (12, 1, 3)),
    "overlapping input": ((3, 4), (1, 1), None),
    "interleaved output": ((3, 2), None, (2, 3)),
    "one element": ((1,), None, None),
    "sizes of one": ((1, 5, 1), (0, 2, 77), (9, 1, 0)),
    "eight dimensions": ((2, 1, 3, 1, 2, 2, 1, 2), (1, 50, 2, 9, 6, 12, 3, 24), None),
}


@looped("data_type", [F32, F16, DataType.UINT8, DataType.INT64])
@looped("layout", list(LAYOUTS))
@pytest.mark.parametrize("block", [1, 4, 1 << 17])
def test_elements_stand_where_the_strides_state(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch, data_type: DataType, layout: str, block: int
) -> None:
    monkeypatch.setattr(cpu_device, "BLOCK_ELEMENTS", block)
    sizes, read, written = LAYOUTS[layout]
    source, target = TensorDesc(data_type, sizes, read), TensorDesc(data_type, sizes, written)
    dtype = data_type.numpy
    start = 32 + _up(source.total_size_in_bytes) + 16
    memory = _aligned(start + _up(target.total_size_in_bytes) + 64)
    memory[32 : 32 + source.total_size_in_bytes] = 0
    count = source.minimum_size_in_bytes // data_type.itemsize
    memory[32 : 32 + count * dtype.itemsize].view(dtype)[:] = np.arange(count) % 100

    expected = memory.copy()
    for coordinates in np.ndindex(sizes):
        value = _place(source, coordinates) % 100 * 2 + 1
        at = start + _place(target, coordinates) * dtype.itemsize
        expected[at : at + dtype.itemsize].view(dtype)[:] = min(max(value, 10), 60)

    operator = _describe(CLIP, source, target, Min=10, Max=60, ScaleBias=ScaleBias(2, 1))
    bindings = {
        "InputTensor": Region(32, source.total_size_in_bytes),
        "OutputTensor": Region(start, target.total_size_in_bytes),
    }
    device.create(operator).dispatch(memory, bindings)
    # Everything: the elements, the paddings between them, the input, and what lies around both.
    assert memory.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "read, written",
    [
        ((4, 1), (1, 3)),
        ((1, 3), (4, 1)),
        ((0, 1), (4, 1)),
        ((4, 1), (4, 1)),
        ((1, 3), (1, 3)),
        ((1, 1), (1, 1)),
    ],
)
def test_in_place_with_every_pair_of_strides(
    device: CpuDevice, monkeypatch: pytest.MonkeyPatch, read: tuple[int, int], written: tuple[int, int]
) -> None:
    monkeypatch.setattr(cpu_device, "BLOCK_ELEMENTS", 2)
    size = TensorDesc(F32, (3, 4)).total_size_in_bytes
    source, target = (TensorDesc(F32, (3, 4), strides, size) for strides in (read, written))
    memory = _aligned(size)
    memory.view(np.float32)[:] = range(12)
    expected = {_place(target, coordinates): 2 * _place(source, coordinates) + 1 for coordinates in np.ndindex(3, 4)}
    region = Region(0, size)
    operator = _describe(THRESHOLD, source, target, Min=0, ScaleBias=ScaleBias(2, 1))
    device.create(operator).dispatch(memory, {"InputTensor": region, "OutputTensor": region})
    assert {place: memory.view(np.float32)[place] for place in expected} == expected


def test_a_tensor_of_many_blocks(device: CpuDevice) -> None:
    values = np.arange(3 * cpu_device.BLOCK_ELEMENTS + 5, dtype=np.float32) / 4
    got = _run(device, ROUND, F32, values, RoundingMode=AWAY)
    assert np.array_equal(got, np.floor(values + np.float32(0.5)))


def test_a_kernel_runs_again_on_other_memory(device: CpuDevice) -> None:
    tensor = TensorDesc(F32, (4,))
    first = device.create(_describe(CLIP, tensor, Min=0, Max=1))
    second = device.create(_describe(CLIP, tensor, Min=5, Max=6))
    for size, offset in ((64, 16), (256, 128)):
        memory = _aligned(size)
        memory[:16].view(np.float32)[:] = [-1, 0.5, 5.5, 9]
        for kernel, expected in ((first, [0, 0.5, 1, 1]), (second, [5, 5, 5.5, 6]), (first, [0, 0.5, 1, 1])):
            kernel.dispatch(memory, {"InputTensor": Region(0, 16), "OutputTensor": Region(offset, 16)})
            assert memory[offset : offset + 16].view(np.float32).tolist() == expected


# Bindings and memory.


GOOD = {"InputTensor": Region(0, 16), "OutputTensor": Region(16, 16)}


@pytest.mark.parametrize(
    "bindings, words",
    [
        ({"InputTensor": Region(0, 16)}, "the bindings are ['InputTensor'], not"),
        (GOOD | {"Extra": Region(32, 16)}, "'Extra'"),
        (GOOD | {"OutputTensor": Region(24, 16)}, "OutputTensor is bound at byte 24, 16 bytes long: the"),
        (GOOD | {"InputTensor": Region(-16, 16)}, "InputTensor is bound at byte -16, 16 bytes long: the"),
        (GOOD | {"OutputTensor": Region(48, 32)}, "the memory has only 64 bytes"),
        (GOOD | {"OutputTensor": Region(64, 16)}, "the memory has only 64 bytes"),
        (GOOD | {"OutputTensor": Region(16, 12)}, "the tensor needs 16 bytes"),
        (GOOD | {"InputTensor": Region(0, 32)}, "overlap without being the same"),
        (GOOD | {"InputTensor": Region(16, 32)}, "overlap without being the same"),
    ],
)
def test_bindings_that_cannot_be_used(device: CpuDevice, bindings: dict[str, Region], words: str) -> None:
    kernel = device.create(_describe(CLIP, TensorDesc(F32, (4,)), Min=0, Max=1))
    memory = _aligned(64)
    before = memory.tobytes()
    with pytest.raises(ExecutionFailed) as caught:
        kernel.dispatch(memory, bindings)
    assert words in str(caught.value)
    assert memory.tobytes() == before
    # What stands nearby is accepted: larger regions, the memory's end, the same region twice.
    for accepted in (
        GOOD,
        {"InputTensor": Region(0, 16), "OutputTensor": Region(16, 48)},
        {"InputTensor": Region(48, 16), "OutputTensor": Region(32, 16)},
        {"InputTensor": Region(16, 32), "OutputTensor": Region(16, 32)},
    ):
        kernel.dispatch(memory, accepted)


def test_memory_that_cannot_be_used(device: CpuDevice) -> None:
    kernel = device.create(_describe(CLIP, TensorDesc(F32, (4,)), Min=0, Max=1))
    frozen = _aligned(64)
    frozen.flags.writeable = False
    for memory, words in (
        (_aligned(64).view(np.float32), "numpy array of uint8"),
        (_aligned(64).reshape(8, 8), "one dimension"),
        (bytearray(64), "numpy array"),
        (_aligned(128)[::2], "contiguous"),
        (frozen, "writable"),
        (_aligned(80)[4:68], "begin at a multiple of 16"),
        (_aligned(80)[:0], "the memory has only 0 bytes"),
    ):
        with pytest.raises(ExecutionFailed, match=words):
            kernel.dispatch(memory, GOOD)  # type: ignore[arg-type]
    kernel.dispatch(_aligned(64), GOOD)


def test_what_is_closed_refuses(device: CpuDevice) -> None:
    operator = _describe(CLIP, TensorDesc(F32, (4,)), Min=0, Max=1)
    kernel = device.create(operator)
    kernel.close()
    kernel.close()
    with pytest.raises(ExecutionFailed, match="the kernel is closed"):
        kernel.dispatch(_aligned(64), GOOD)
    with CpuBackend().open() as other:
        other.create(operator).dispatch(_aligned(64), GOOD)
    with pytest.raises(ExecutionFailed, match="the device is closed"):
        other.create(operator)


# Descriptions.


def test_the_claimed_level_decides() -> None:
    def refuses(level: str, operator: OperatorDesc) -> bool:
        with CpuBackend().open(feature_level=level) as device:
            assert device.info.feature_level is FeatureLevel(level)
            try:
                device.create(operator)
            except InvalidArgument as error:
                return f"support.later-level: feature level {level} does not list" in str(error)
            return False

    four, five = (1, 1, 2, 2), (1, 1, 1, 2, 2)
    wide = _describe(CLIP, TensorDesc(DataType.INT64, four), Min=0, Max=1)
    assert refuses("4.1", wide)
    assert not refuses("5.0", wide)
    many = _describe(THRESHOLD, TensorDesc(F32, five), Min=0)
    assert refuses("2.1", many)
    assert not refuses("3.0", many)
    short = _describe(CLIP, TensorDesc(DataType.INT8, four), Min=0, Max=1)
    assert refuses("2.0", short)
    assert not refuses("2.1", short)
    rounding = _describe(ROUND, TensorDesc(F32, four), RoundingMode=EVEN)
    assert refuses("1.0", rounding)
    assert not refuses("2.1", rounding)


def test_a_level_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match=r"no feature level '7\.7'"):
        CpuBackend().open(feature_level="7.7")


SOUND = TensorDesc(F32, (2, 3))


@pytest.mark.parametrize(
    "operator, words",
    [
        (_describe(CLIP, SOUND, TensorDesc(F16, (2, 3)), Min=0, Max=1), "clip.constraint.data-type"),
        (_describe(CLIP, SOUND, TensorDesc(F32, (3, 2)), Min=0, Max=1), "clip.constraint.sizes"),
        (_describe(CLIP, SOUND, TensorDesc(F32, (1, 2, 3)), Min=0, Max=1), "clip.constraint.dimension-count"),
        (_describe(CLIP, TensorDesc(F32, (2, 0)), Min=0, Max=1), "tensor.size.zero"),
        (_describe(CLIP, TensorDesc(F32, ()), Min=0, Max=1), "tensor.rank.minimum"),
        (_describe(CLIP, TensorDesc(F32, (1,) * 9), Min=0, Max=1), "tensor.rank.maximum"),
        (_describe(CLIP, TensorDesc(F32, (2, 3), None, 20), Min=0, Max=1), "tensor.total-size.minimum"),
        (_describe(CLIP, TensorDesc(DataType.FLOAT64, (2, 3)), Min=0, Max=1), "clip.support.unlisted"),
        (_describe(ROUND, TensorDesc(DataType.INT32, (2, 3)), RoundingMode=EVEN), "round.support.unlisted"),
        (_describe(THRESHOLD, TensorDesc(DataType.INT64, (2, 3)), Min=0), "threshold.support.unlisted"),
        (_describe(CLIP, SOUND, TensorDesc(F32, (2, 3), (0, 1)), Min=0, Max=1), "tensor.strides.zero-output"),
        (_describe(CLIP, TensorDesc(F32, (2, 3), (3, -1), 24), SOUND, Min=0, Max=1), "unsigned in DirectML"),
        (_describe(CLIP, SOUND, Min=0), "Max is None, not a FLOAT"),
        (_describe(CLIP, SOUND, Min=0, Max="1"), "Max is '1', not a FLOAT"),
        (_describe(CLIP, SOUND, Min=0, Max=1, Middle=2), "no attribute Middle; it has ScaleBias, Min"),
        (_describe(CLIP, SOUND, Min=0, Max=1, ScaleBias=3), "not a ScaleBias or None"),
        (_describe(ROUND, SOUND, RoundingMode="UP"), "RoundingMode is 'UP', not one of"),
        (_describe(ROUND, SOUND), "RoundingMode is None, not one of"),
        (_describe("ELEMENT_WISE_NOTHING", SOUND), "no table describes the operator"),
        (OperatorDesc(CLIP, {"InputTensor": SOUND}, {"Min": 0, "Max": 1}), "the tensors are ['InputTensor'"),
    ],
)
def test_descriptions_that_are_refused(device: CpuDevice, operator: OperatorDesc, words: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        device.create(operator)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "operator",
    [
        _describe(CLIP, SOUND, Min=0, Max=1),
        _describe(CLIP, SOUND, Min=0, Max=1, ScaleBias=None),
        _describe(CLIP, TensorDesc(F32, (2, 1)), Min=0, Max=1),
        _describe(CLIP, TensorDesc(F32, (1,) * 8), Min=0, Max=1),
        _describe(CLIP, TensorDesc(F32, (2, 3), None, 28), Min=0, Max=1),
        _describe(CLIP, TensorDesc(F32, (2, 3), (0, 1)), SOUND, Min=0, Max=1),
        _describe(CLIP, SOUND, TensorDesc(F32, (2, 3), (1, 2)), Min=0, Max=1),
        _describe(THRESHOLD, TensorDesc(DataType.INT32, (2, 3)), Min=0),
        _describe(ROUND, TensorDesc(F16, (2, 3)), RoundingMode=AWAY),
    ],
)
def test_descriptions_nearby_that_are_accepted(device: CpuDevice, operator: OperatorDesc) -> None:
    device.create(operator).close()


def test_the_device_states_what_it_is(device: CpuDevice) -> None:
    assert device.info.name == "cpu"
    assert device.info.library == "numpy"
    assert device.info.version == np.__version__
    assert device.info.feature_level is FeatureLevel("6.4")
    # It claims all that the level obliges for the operators that it has.
    assert not set(device.info.data_types or ()) & {CLIP, ROUND, THRESHOLD}
