"""The wgpu backend on the adapter at hand: layouts, packing, emulations, limits, errors, memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dmlcts.backends import BackendUnavailable, DeviceLost, ExecutionFailed, InvalidArgument
from dmlcts.backends.wgpu.device import WgpuBackend, WgpuDevice
from dmlcts.backends.wgpu.layout import Limits
from dmlcts.backends.wgpu.shaders import Shader
from dmlcts.specs import DataType, Region, ScaleBias, TensorDesc, UsageError
from dmlcts.suites.selftest.wgpu.wgpu_bench import (
    CLIP,
    INTEGERS,
    ROUND,
    THRESHOLD,
    clipped,
    described,
    of_python,
    open_or_skip,
    permuted_strides,
    run,
)

F32, F16, I8, U8 = DataType.FLOAT32, DataType.FLOAT16, DataType.INT8, DataType.UINT8
NARROW = [data_type for data_type in INTEGERS if data_type.itemsize < 4]
WIDE = [DataType.INT64, DataType.UINT64]
MODES = {"HALVES_TO_NEAREST_EVEN": np.rint, "TOWARD_ZERO": np.trunc}
ALL_HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@pytest.fixture(scope="module")
def device() -> Iterator[WgpuDevice]:
    with open_or_skip() as opened:
        yield opened


@pytest.fixture(scope="module", params=["native", "emulated"])
def device_of_path(request: pytest.FixtureRequest) -> Iterator[WgpuDevice]:
    with open_or_skip(float16=request.param, int64=request.param) as opened:
        assert opened.info.details["float16"] == opened.info.details["int64"] == request.param
        yield opened


# Packing.


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("data_type", [I8, U8])
def test_every_byte_beside_every_neighbour(device: WgpuDevice, data_type: DataType, in_place: bool) -> None:
    """Each pair of an element's value and of the byte beside it, at every position in a word."""
    pairs = np.array(list(itertools.product(range(256), range(256))), np.uint8).view(data_type.numpy).reshape(-1)
    for stride in (2, 3, 5):
        strides = [stride]
        ran = run(
            device,
            CLIP,
            data_type,
            pairs,
            sizes=[pairs.size // stride],
            source_strides=strides,
            target_strides=strides,
            in_place=in_place,
            Min=-9,
            Max=77,
        )
        assert np.array_equal(ran.y, clipped(ran.x, -9, 77))
        assert ran.elsewhere == ran.expected_elsewhere


@pytest.mark.parametrize("data_type", NARROW)
def test_bytes_after_a_tail_stay_as_they_were(device: WgpuDevice, data_type: DataType) -> None:
    for count, fill in itertools.product(range(1, 10), (0x00, 0xFF, 0xA5)):
        for in_place in (False, True):
            values = np.arange(count) * 37 - (60 if data_type.is_signed else 0)
            ran = run(device, CLIP, data_type, values, in_place=in_place, fill=fill, Min=-5, Max=100)
            assert np.array_equal(ran.y, clipped(ran.x, -5, 100)), (count, fill, in_place)
            assert ran.elsewhere == ran.expected_elsewhere, (count, fill, in_place)


def test_a_shader_that_touches_neighbours_is_seen(device: WgpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault of the tests above: the whole word is cleared before the element is stored."""
    source = Shader.source
    monkeypatch.setattr(Shader, "source", lambda self: source(self).replace("~(0xffu << shift)", "0u"))
    monkeypatch.setattr(device, "_compiled", {})
    ran = run(device, CLIP, U8, range(64), sizes=[32], source_strides=[2], target_strides=[2], Min=0, Max=50)
    assert ran.elsewhere != ran.expected_elsewhere


# Layouts.


@pytest.mark.parametrize("data_type", [data_type for data_type in DataType if data_type.name != "FLOAT64"])
def test_eight_dimensions_with_strides_on_both_sides(device: WgpuDevice, data_type: DataType) -> None:
    sizes = [2, 3, 1, 2, 2, 3, 2, 3]
    orders = [list(range(8)), [7, 0, 5, 2, 3, 1, 4, 6]]
    layouts = [
        permuted_strides(sizes, order, step, gap) for order, step, gap in zip(orders, (1, 3), (0, 2), strict=True)
    ]
    broadcast = [*layouts[0][:3], 0, 0, *layouts[0][5:]]
    for source, target in itertools.product([*layouts, broadcast], layouts):
        ran = run(
            device,
            CLIP,
            data_type,
            np.arange(120) % 120,
            sizes=sizes,
            source_strides=source,
            target_strides=target,
            Min=3,
            Max=101,
        )
        assert np.array_equal(ran.y, np.clip(ran.x, 3, 101))
        assert ran.elsewhere == ran.expected_elsewhere


@pytest.mark.parametrize("data_type", [F32, F16, I8, DataType.UINT16, DataType.INT64])
def test_a_transposition_in_place_reads_before_it_writes(device: WgpuDevice, data_type: DataType) -> None:
    ran = run(
        device,
        CLIP,
        data_type,
        np.arange(12 * 10) % 128,
        sizes=[12, 10],
        source_strides=[10, 1],
        target_strides=[1, 12],
        in_place=True,
        Min=0,
        Max=100,
    )
    assert np.array_equal(ran.y, np.clip(ran.x, 0, 100))


@pytest.mark.parametrize("data_type", [F32, F16, I8, DataType.UINT16, DataType.INT64])
def test_bindings_smaller_than_the_memory(
    device: WgpuDevice, data_type: DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of tensors beyond the adapter's largest binding, made short by pretending that it is small."""
    alignment = device.binding_limits.alignment
    layouts = {"plain": [13 * 7, 7, 1], "permuted": [1, 3 * 7, 3], "padded": [2 * 13 * 9, 18, 2]}
    for source, target in itertools.product(layouts.values(), layouts.values()):
        for in_place in {False, source == target}:
            arguments = {"sizes": [3, 13, 7], "source_strides": source, "target_strides": target, "in_place": in_place}
            with monkeypatch.context() as patched:
                patched.setattr(device, "binding_limits", Limits(2 * alignment, alignment))
                ran = run(device, CLIP, data_type, np.arange(127), **arguments, Min=5, Max=99)
            assert np.array_equal(ran.y, np.clip(ran.x, 5, 99))
            assert ran.elsewhere == ran.expected_elsewhere


def test_more_elements_than_a_dispatch_takes(device: WgpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "binding_limits", Limits(device.binding_limits.binding, 256, elements=100))
    for data_type in (F32, I8):
        ran = run(device, CLIP, data_type, np.arange(127), sizes=[7, 143], Min=5, Max=99)
        assert np.array_equal(ran.y, np.clip(ran.x, 5, 99))


def test_more_workgroups_than_one_dimension_takes(device: WgpuDevice) -> None:
    count = 65535 * 64 + 65
    assert device.groups(count)[1] == 2
    assert device.groups(65535 * 64) == (65535, 1)
    x = np.random.default_rng(1).integers(-128, 128, count).astype(np.int8)
    for stride in (1, 2):  # packed in words, and one invocation an element
        ran = run(device, CLIP, I8, x, sizes=[count], source_strides=[1], target_strides=[stride], Min=-100, Max=100)
        assert np.array_equal(ran.y, clipped(ran.x, -100, 100))


# Emulations, and the native types where the adapter has them.


@pytest.mark.parametrize("builtin", ["no", "yes"])
@pytest.mark.parametrize("path", ["native", "emulated"])
def test_rounding_of_every_float16(path: str, builtin: str) -> None:
    with open_or_skip(float16=path, builtin=builtin) as opened, np.errstate(invalid="ignore"):
        for mode, expected in MODES.items():
            y = run(opened, ROUND, F16, ALL_HALVES, RoundingMode=mode).y
            numbers = ~np.isnan(ALL_HALVES)
            assert np.array_equal(y[numbers], expected(ALL_HALVES[numbers])), mode
            assert np.isnan(y[~numbers]).all()
        y = run(opened, ROUND, F16, ALL_HALVES, RoundingMode="TOWARD_INFINITY").y
        exact = ALL_HALVES.astype(np.float64)
        assert np.array_equal(y, np.copysign(np.floor(np.abs(exact) + 0.5), exact), equal_nan=True)


def test_every_float16_survives_clamping(device_of_path: WgpuDevice) -> None:
    """Widened and narrowed again, subnormals included where the path is emulated."""
    y = run(device_of_path, CLIP, F16, ALL_HALVES, Min=-np.inf, Max=np.inf).y
    numbers = ~np.isnan(ALL_HALVES)
    kept = y[numbers] == ALL_HALVES[numbers]
    flushed = (y[numbers] == 0) & (np.abs(ALL_HALVES[numbers]) < 2.0**-14)
    assert (kept | flushed).all()
    if device_of_path.info.details["float16"] == "emulated":
        assert kept.all()


@pytest.mark.parametrize(
    "scale, bias", [(1, 0), (2.0**-13, 0), (1.0000001, 0), (0.1, 0.5), (3, -1e-7), (2.0**-20, 2.0**-25), (65504, 0)]
)
def test_emulated_float16_rounds_to_nearest_even(scale: float, bias: float) -> None:
    """The exact sum of every FLOAT16 times ``scale`` plus ``bias`` in FLOAT32, as numpy narrows it."""
    x = ALL_HALVES[np.isfinite(ALL_HALVES)]
    with open_or_skip(float16="emulated") as opened, np.errstate(over="ignore"):
        y = run(opened, CLIP, F16, x, Min=-np.inf, Max=np.inf, ScaleBias=ScaleBias(scale, bias)).y
        separate = (x.astype(np.float32) * np.float32(scale) + np.float32(bias)).astype(np.float16)
        fused = (x.astype(np.float64) * np.float64(np.float32(scale)) + np.float64(np.float32(bias))).astype(np.float32)
        assert ((y == separate) | (y == fused.astype(np.float16))).all()


@pytest.mark.parametrize("data_type", INTEGERS)
def test_scale_and_bias_of_integers_wrap(device_of_path: WgpuDevice, data_type: DataType) -> None:
    limits = np.iinfo(data_type.numpy)
    edges = [limits.min, limits.min + 1, 0, 1, 2, 3, 77, limits.max // 3, limits.max - 1, limits.max]
    drawn = np.random.default_rng(5).integers(limits.min, limits.max, 500, data_type.numpy, endpoint=True)
    x = np.concatenate([np.array(edges, data_type.numpy), drawn])
    for scale, bias in [(1, 0), (3, 5), (100, 7), (127, 127), *([(-1, -1), (-7, 99)] if data_type.is_signed else [])]:
        attributes = {"Min": float(limits.min), "Max": float(limits.max), "ScaleBias": ScaleBias(scale, bias)}
        ran = run(device_of_path, CLIP, data_type, x, **attributes)
        assert np.array_equal(ran.y, of_python(ran.x, scale, bias)), (scale, bias)


@pytest.mark.parametrize("data_type", WIDE)
def test_large_factors_of_64_bit_integers(device_of_path: WgpuDevice, data_type: DataType) -> None:
    x = np.random.default_rng(6).integers(0, np.iinfo(data_type.numpy).max, 1000, data_type.numpy, endpoint=True)
    for scale, bias in [(2.0**40 + 2.0**20, 2.0**33), (65535.0 * 65536, 2.0**62), (2.0**32 - 256, 2.0**32 - 256)]:
        attributes = {"Min": float(np.iinfo(data_type.numpy).min), "Max": 2.0**65, "ScaleBias": ScaleBias(scale, bias)}
        ran = run(device_of_path, CLIP, data_type, x, **attributes)
        assert np.array_equal(ran.y, of_python(ran.x, int(np.float32(scale)), int(np.float32(bias))))


@pytest.mark.parametrize("data_type", WIDE)
def test_64_bit_integers_are_compared_exactly(device_of_path: WgpuDevice, data_type: DataType) -> None:
    limits = np.iinfo(data_type.numpy)
    edges = [0, 1 << 31, 1 << 32, 1 << 53, limits.max, limits.min]
    near = [value + step for value in edges for step in (-1, 0, 1) if limits.min <= value + step <= limits.max]
    x = np.array(near, data_type.numpy)
    for low, high in [(2**32, 2**53), (0, 2**31), (2**53, 2**32), (2**32, 2**32), (limits.min, 2**62)]:
        assert np.array_equal(run(device_of_path, CLIP, data_type, x, Min=low, Max=high).y, clipped(x, low, high))


@pytest.mark.parametrize("data_type", INTEGERS)
def test_fractional_factors_truncate_and_saturate(device_of_path: WgpuDevice, data_type: DataType) -> None:
    limits = np.iinfo(data_type.numpy)
    x = np.array([0, 1, 2, 3, 5, 100, limits.max], data_type.numpy)
    attributes = {"Min": float(limits.min), "Max": float(limits.max)}

    def scaled(scale: float, bias: float) -> list[int]:
        return run(device_of_path, CLIP, data_type, x, **attributes, ScaleBias=ScaleBias(scale, bias)).y.tolist()

    assert scaled(0.5, 0.25)[:6] == [0, 0, 1, 1, 2, 50]
    assert scaled(2.5, 1)[-1] == limits.max
    assert scaled(-2.5, 0)[-1] == limits.min
    assert scaled(-0.5, 0)[:5] == ([0, 0, -1, -1, -2] if data_type.is_signed else [0] * 5)
    assert scaled(np.nan, 0) == [0] * 7
    assert scaled(np.inf, 1)[1:] == [limits.max] * 6


def test_a_level_that_obliges_64_bit_integers_is_claimed_on_every_path(device_of_path: WgpuDevice) -> None:
    assert str(device_of_path.info.feature_level) == "6.4"
    assert device_of_path.info.data_types is None


# Descriptions, options, limits.


def test_refusals_and_a_passing_control(device: WgpuDevice) -> None:
    good = TensorDesc(F32, [4])
    device.create(described(CLIP, good, Min=0, Max=1)).close()
    with pytest.raises(InvalidArgument, match="zero-output"):
        device.create(described(CLIP, good, TensorDesc(F32, [4], [0]), Min=0, Max=1))
    with pytest.raises(InvalidArgument, match=r"tensor\.rank\.maximum"):
        device.create(described(CLIP, TensorDesc(F32, [1] * 9), Min=0, Max=1))
    with pytest.raises(InvalidArgument, match=r"threshold\.support\.unlisted"):
        device.create(described(THRESHOLD, TensorDesc(DataType.INT64, [4]), Min=0))
    with pytest.raises(InvalidArgument, match="Max"):
        device.create(described(CLIP, good, Min=0))
    with pytest.raises(InvalidArgument, match="CEIL"):
        device.create(described(ROUND, good, RoundingMode="CEIL"))
    with pytest.raises(InvalidArgument, match="no attribute Slope"):
        device.create(described(CLIP, good, Min=0, Max=1, Slope=2))


def test_bad_bindings_are_refused_before_the_device_sees_them(device: WgpuDevice) -> None:
    kernel = device.create(described(CLIP, TensorDesc(F32, [4]), Min=0, Max=1))
    memory, good = np.zeros(64, np.uint8), Region(0, 16)
    kernel.dispatch(memory, {"InputTensor": good, "OutputTensor": Region(16, 16)})
    for bad in (Region(8, 16), Region(16, 12), Region(64, 16), Region(-16, 16)):
        with pytest.raises(ExecutionFailed, match="OutputTensor"):
            kernel.dispatch(memory, {"InputTensor": good, "OutputTensor": bad})
    with pytest.raises(ExecutionFailed, match="overlap"):
        kernel.dispatch(memory, {"InputTensor": Region(0, 32), "OutputTensor": Region(16, 16)})
    with pytest.raises(ExecutionFailed, match="contiguous"):
        kernel.dispatch(np.zeros(128, np.uint8)[::2], {"InputTensor": good, "OutputTensor": good})
    kernel.close()
    with pytest.raises(ExecutionFailed, match="closed"):
        kernel.dispatch(memory, {"InputTensor": good, "OutputTensor": good})


def test_what_no_buffer_can_hold_is_refused_and_the_device_goes_on(device: WgpuDevice) -> None:
    for count in (2**31, 2**32 - 1):
        with pytest.raises(MemoryError, match="the adapter's largest buffer"):
            device.create(described(CLIP, TensorDesc(F32, [count]), Min=0, Max=1))
    assert run(device, CLIP, F32, [-1, 0.5, 2], Min=0, Max=1).y.tolist() == [0, 0.5, 1]


def test_a_memory_that_no_buffer_can_hold_is_refused(device: WgpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(device.resources, "largest", 4096)
        patched.setattr(device.resources, "_buffers", {})
        with pytest.raises(MemoryError, match="of 4224 bytes is asked for"):
            run(device, CLIP, F32, np.zeros(515), Min=0, Max=1)
    assert run(device, CLIP, F32, [2], Min=0, Max=1).y.tolist() == [1]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"power": "medium"}, "power=high"),
        ({"float16": "fast"}, "float16=native"),
        ({"int64": "fast"}, "int64=native"),
        ({"builtin": "perhaps"}, "builtin=yes"),
        ({"feature_level": "9.9"}, "9.9"),
        ({"adapter": "no such adapter"}, "no such adapter"),
        ({"adapter": "999"}, "999"),
    ],
)
def test_options_that_make_no_sense(device: WgpuDevice, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        WgpuBackend().open(**options)


def test_the_device_describes_its_adapter(device: WgpuDevice) -> None:
    info = device.info
    assert info.adapter.endswith("(software)") == info.details["software"] == (info.details["adapter_type"] == "CPU")
    assert info.details["backend_type"] in info.driver
    assert info.version
    assert info.details["wgpu_native"] != "unknown"
    name = info.adapter.removesuffix(" (software)")
    with WgpuBackend().open(adapter=name.upper()[:8], power="low") as same:
        assert same.info.adapter == info.adapter


def test_a_native_path_that_the_adapter_lacks_is_unavailable() -> None:
    """On an adapter that has everything there is nothing to see."""
    with open_or_skip() as opened:
        lacking = [option for option in ("float16", "int64") if opened.info.details[option] == "emulated"]
    if not lacking:
        pytest.skip("this adapter has FLOAT16 and 64-bit integers")
    for option in lacking:
        with pytest.raises(BackendUnavailable, match=f"leave -o {option}=native out"):
            WgpuBackend().open(**{option: "native"})


def test_shaders_are_dumped_and_readable(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    with open_or_skip(dump=str(folder), float16="emulated") as opened:
        run(opened, CLIP, F16, [1, 2], Min=0, Max=1)
        run(opened, ROUND, F32, [1, 2], RoundingMode="TOWARD_ZERO")
        run(opened, ROUND, F32, [1, 2], RoundingMode="TOWARD_ZERO")
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        "clip-on-float16-emulated.wgsl",
        "round-toward-zero-on-float32.wgsl",
    ]
    assert "return max(low, min(x, high));" in (folder / names[0]).read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    tmp_path.joinpath("file").write_text("")
    with pytest.raises(UsageError, match="dump"):
        WgpuBackend().open(dump=str(tmp_path / "file" / "below"))


# State: threads, loss, closing, memory.


def test_threads_take_turns(device: WgpuDevice) -> None:
    def work(number: int) -> bool:
        x = np.arange(200) + 1000 * number
        return all(
            np.array_equal(run(device, CLIP, F32, x, Min=1000 * number, Max=1000 * number + 99).y, np.minimum(x, x[99]))
            for _ in range(30)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_a_lost_device_states_so_and_a_new_one_works() -> None:
    with open_or_skip() as lost:
        kernel = lost.create(described(CLIP, TensorDesc(F32, [4]), Min=0, Max=1))
        memory, same = np.zeros(64, np.uint8), {"InputTensor": Region(0, 16), "OutputTensor": Region(0, 16)}
        kernel.dispatch(memory, same)
        lost.handle.destroy()
        for _ in range(2):
            with pytest.raises(DeviceLost):
                kernel.dispatch(memory, same)
        with pytest.raises(DeviceLost):
            lost.create(described(CLIP, TensorDesc(F32, [4]), Min=0, Max=1))
    with open_or_skip() as opened:
        assert run(opened, CLIP, F32, [-1, 0.5, 2], Min=0, Max=1).y.tolist() == [0, 0.5, 1]


def test_loss_while_a_shader_is_compiled() -> None:
    with open_or_skip() as lost:
        lost.handle.destroy()
        with pytest.raises(DeviceLost):
            lost.create(described(CLIP, TensorDesc(F32, [4]), Min=0, Max=1))


def test_a_shader_that_is_refused_fails_by_its_title(device: WgpuDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shader, "source", lambda self: "fn nonsense(")
    monkeypatch.setattr(device, "_compiled", {})
    with pytest.raises(ExecutionFailed, match="ROUND TOWARD_ZERO on FLOAT32"):
        device.create(described(ROUND, TensorDesc(F32, [4]), RoundingMode="TOWARD_ZERO"))


def test_a_closed_device_refuses_work() -> None:
    opened = open_or_skip()
    kernel = opened.create(described(CLIP, TensorDesc(F32, [4]), Min=0, Max=1))
    opened.close()
    opened.close()
    with pytest.raises(ExecutionFailed, match="closed"):
        opened.create(described(CLIP, TensorDesc(F32, [4]), Min=0, Max=1))
    with pytest.raises(ExecutionFailed, match="closed"):
        kernel.dispatch(np.zeros(64, np.uint8), {"InputTensor": Region(0, 16), "OutputTensor": Region(0, 16)})
