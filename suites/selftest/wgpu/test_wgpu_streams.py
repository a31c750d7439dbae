"""The wgpu backend's streams on the adapter at hand: what they prepare, what they run, what they bring back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import DeviceLost, ExecutionFailed, NotSupported
from dmlcts.backends.wgpu.device import WgpuDevice
from dmlcts.backends.wgpu.shaders import Shader
from dmlcts.backends.wgpu.stream import WgpuStream
from dmlcts.specs import DataType, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.memory import aligned_memory
from dmlcts.suites.selftest.descriptions import described
from dmlcts.suites.selftest.sweeping.test_streaming import rounding, without_times
from dmlcts.suites.selftest.wgpu.wgpu_bench import CLIP, ROUND, open_or_skip
from dmlcts.suites.sweeping.blocks.sweep_judge import SweepJudge
from dmlcts.suites.sweeping.blocks.targets import Block
from dmlcts.suites.sweeping.blocks.totals import added

COUNT = 1 << 12
EVEN = "HALVES_TO_NEAREST_EVEN"


@pytest.fixture
def device() -> Iterator[WgpuDevice]:
    with open_or_skip() as opened:
        yield opened


def regions(data_type: DataType, count: int = COUNT) -> dict[str, Region]:
    size = count * data_type.itemsize
    return {"InputTensor": Region(64, size), "OutputTensor": Region(64 + size + 32, size)}


def opened(
    device: WgpuDevice, data_type: DataType = DataType.FLOAT32, name: str = ROUND, slots: int = 3, **attributes: Any
) -> tuple[WgpuStream, Any, Region]:
    """A stream, what its memory held at first, and the region of all of it."""
    bindings = regions(data_type)
    memory = aligned_memory(bindings["OutputTensor"].end + 48)
    attributes = attributes or {"RoundingMode": EVEN}
    kernel = device.create(described(name, TensorDesc(data_type, [COUNT]), **attributes))
    return kernel.stream(memory, bindings, slots), memory, Region(0, memory.size)


def patterns(data_type: DataType, first: int) -> Any:
    return (np.arange(COUNT, dtype=np.uint64) + np.uint64(first % (1 << 64))).astype(data_type.bits_dtype)


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.INT32, DataType.UINT16, DataType.INT8])
def test_inputs_are_filled_and_moved_and_outputs_poisoned(device: WgpuDevice, data_type: DataType) -> None:
    limits: dict[str, Any] = {"Min": 0, "Max": 100}
    stream, before, whole = opened(device, data_type, CLIP, **limits)
    first = (1 << (8 * data_type.itemsize)) - COUNT // 2  # wraps
    bindings = regions(data_type)
    source, target = bindings["InputTensor"], bindings["OutputTensor"]
    stream.fill(first)
    stream.submit(0, whole, poison=0xA5A5_A5A5, run=False)
    stream.submit(1, whole, step=COUNT + 3, run=False)
    stream.submit(2, whole, poison=0x5A5A_5A5A)
    for slot, moved, output in ((0, 0, 0xA5), (1, COUNT + 3, 0xA5), (2, COUNT + 3, None)):
        output_bytes = stream.wait(slot)
        assert not output_bytes.flags.writeable
        x = output_bytes[source.offset : source.end].view(data_type.bits_dtype)
        assert np.array_equal(x, patterns(data_type, first + moved))
        if output is not None:
            assert (output_bytes[target.offset : target.end] == output).all()
        else:
            got = output_bytes[target.offset : target.end].view(data_type.numpy)
            assert np.array_equal(got, np.clip(x.view(data_type.numpy), 0, 100))
        for gap in (slice(0, source.offset), slice(source.end, target.offset), slice(target.end, None)):
            assert np.array_equal(output_bytes[gap], before[gap])
        stream.release(slot)
    stream.close()


def test_several_submissions_are_on_their_way(device: WgpuDevice) -> None:
    stream, _, _ = opened(device)
    target = regions(DataType.FLOAT32)["OutputTensor"]
    stream.fill(0x3F00_0000)
    for turn in range(4):
        for slot in range(3):
            stream.submit(slot, target, step=COUNT if turn or slot else 0, poison=1)
        for slot in range(3):
            x = patterns(DataType.FLOAT32, 0x3F00_0000 + (3 * turn + slot) * COUNT).view(np.float32)
            assert np.array_equal(stream.wait(slot).view(np.float32), np.rint(x))
            stream.release(slot)
    stream.close()
    stream.close()


def test_other_windows_take_other_buffers(device: WgpuDevice) -> None:
    stream, before, whole = opened(device)
    stream.fill(5)
    for window in (Region(0, 64), whole, Region(16, 32)):
        stream.submit(0, window, run=False)
        output_bytes = stream.wait(0)
        assert output_bytes.size == window.size
        assert np.array_equal(output_bytes[:16], before[window.offset : window.offset + 16])
        stream.release(0)
    stream.close()


def test_what_a_stream_is_not_for_is_stated(device: WgpuDevice) -> None:
    stream, _, whole = opened(device)
    stream.submit(0, whole)
    with pytest.raises(ExecutionFailed, match="slot 0 of the stream is not free"):
        stream.submit(0, whole)
    with pytest.raises(ExecutionFailed, match="nothing is on its way in slot 1"):
        stream.wait(1)
    stream.wait(0)
    with pytest.raises(ExecutionFailed, match="slot 0 of the stream is not free"):
        stream.submit(0, whole)
    stream.close()
    with pytest.raises(ExecutionFailed, match="the stream is closed"):
        stream.submit(0, whole)
    wide = device.create(described(ROUND, TensorDesc(DataType.FLOAT32, [COUNT]), RoundingMode=EVEN))
    memory = aligned_memory(8 * COUNT + 256)
    same = Region(0, 4 * COUNT)
    with pytest.raises(ExecutionFailed, match="in-place"):
        wide.stream(memory, {"InputTensor": same, "OutputTensor": same}, 1)
    wide.close()
    with pytest.raises(ExecutionFailed, match="closed"):
        wide.stream(memory, regions(DataType.FLOAT32), 1)
    strided = TensorDesc(DataType.FLOAT32, [COUNT // 2], [2])
    with pytest.raises(NotSupported, match="one packed input"):
        device.create(described(ROUND, strided, RoundingMode=EVEN)).stream(memory, regions(DataType.FLOAT32), 1)
    odd = TensorDesc(DataType.INT8, [33])
    bindings = {"InputTensor": Region(0, 36), "OutputTensor": Region(48, 36)}
    packed = device.create(described(CLIP, odd, Min=0, Max=9))
    made = packed.stream(aligned_memory(96), bindings, 1)  # 33 bytes take 36: whole words
    made.close()
    longs = device.create(described(CLIP, TensorDesc(DataType.INT64, [8]), Min=0, Max=9))
    with pytest.raises(NotSupported, match="up to 32-bit elements"):
        longs.stream(memory, {"InputTensor": Region(0, 64), "OutputTensor": Region(64, 64)}, 1)


def test_a_device_that_is_lost_under_a_stream_states_so(device: WgpuDevice) -> None:
    stream, _, whole = opened(device)
    stream.fill(0)
    device.handle.destroy()
    with pytest.raises(DeviceLost):
        stream.submit(0, whole)
    with pytest.raises(DeviceLost):
        device.create(described(ROUND, TensorDesc(DataType.FLOAT32, [8]), RoundingMode=EVEN))


# Sweeping ------------------------------------------------------------------------------------------------

BLOCKS = [Block(0, start, 1 << 18) for start in (0x3F00_0000, 0x4B00_0000, 0x7F7E_0000, 0x8000_0000)]


def judged(device: WgpuDevice, **streams: Any) -> tuple[Any, list[str]]:
    messages: list[str] = []
    bench = Bench("wgpu", None, {}, load_tables(), device=device)
    stream_options = {"threads": 2, "least": 1, "report": messages.append, "tensor_elements": 1 << 16, **streams}
    block_judge = SweepJudge(bench, streams=stream_options, tensor_elements=1 << 16, compiled=False)
    totals = block_judge.judge_several(rounding(), BLOCKS)
    block_judge.finish()
    return totals, messages


def test_a_stream_judges_as_uploading_does(device: WgpuDevice) -> None:
    streamed, messages = judged(device)
    uploaded, _ = judged(device, least=1 << 40)
    assert messages == []
    assert added(streamed).clean
    assert without_times(streamed) == without_times(uploaded)


@pytest.mark.parametrize(
    "planted, message",
    [
        ("word == 77u, 1u, 0u", "at element 77 of the tensor from"),
        ("word > 65534u && parameters.kept != 0u, 1u, 0u", "at element 65535 of the tensor from"),
    ],
)
def test_a_fill_that_lies_is_reported_by_what_it_wrote(
    device: WgpuDevice, monkeypatch: pytest.MonkeyPatch, planted: str, message: str
) -> None:
    from dmlcts.backends.wgpu import device as module

    source = module.patterns_source
    monkeypatch.setattr(
        module,
        "patterns_source",
        lambda itemsize: source(itemsize).replace(
            "= held +", f"= held + select(0u, {planted.split(', ')[1]}, {planted.split(',')[0]}) +"
        ),
    )
    totals, messages = judged(device)
    assert added(totals).clean
    assert message in messages[0]
    assert len(messages) == 1


@pytest.mark.parametrize(
    "right, planted, expected_counts",
    [
        ("return rounded(x);", "return select(rounded(x), 3.0, bitcast<u32>(x) == 0x4b012345u);", {"wrong": 1}),
        (
            "(invocation < parameters.count)",
            "(invocation < parameters.count && invocation != 777u)",
            {"wrong": 16, "unwritten": 16},
        ),
        ("store(place_target(invocation),", "memory_target[19] = 1.0; store(place_target(invocation),", {"strays": 16}),
    ],
)
def test_a_shader_that_is_wrong_is_found_in_a_stream(
    device: WgpuDevice, monkeypatch: pytest.MonkeyPatch, right: str, planted: str, expected_counts: dict[str, int]
) -> None:
    source = Shader.source
    monkeypatch.setattr(Shader, "source", lambda self: source(self).replace(right, planted))
    streamed, messages = judged(device)
    uploaded, _ = judged(device, least=1 << 40)
    assert {name: getattr(added(streamed), name) for name in expected_counts} == expected_counts
    assert without_times(streamed) == without_times(uploaded)
    assert messages == []


def test_a_shader_that_changes_its_input_is_found_in_a_stream(
    device: WgpuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, right = Shader.source, "return memory_input[place];"
    planted = "let found = memory_input[place]; if (bitcast<u32>(found) == 0x4b012345u) { memory_input[place] = 1.0; }"
    monkeypatch.setattr(Shader, "source", lambda self: source(self).replace(right, f"{planted} return found;"))
    streamed, messages = judged(device)
    assert [total.altered for total in streamed] == [0, 1, 0, 0]
    assert messages == []


@pytest.mark.parametrize("waited", [0, 1, 2])
def test_a_stream_is_closed_with_submissions_on_their_way(device: WgpuDevice, waited: int) -> None:
    stream, _, whole = opened(device)
    stream.fill(0)
    for slot in range(2):
        stream.submit(slot, whole, poison=0)
    for slot in range(waited):
        stream.wait(slot)
    stream.close()
    stream, _, whole = opened(device)
    stream.fill(7)
    stream.submit(0, whole, run=False)
    values = stream.wait(0)[regions(DataType.FLOAT32)["InputTensor"].offset :][: 4 * COUNT].view(np.uint32)
    np.testing.assert_array_equal(values, patterns(DataType.FLOAT32, 7))
    stream.close()


def test_what_is_submitted_while_others_are_mapped_comes_back_too(device: WgpuDevice) -> None:
    stream, _, whole = opened(device, slots=2)
    begin = regions(DataType.FLOAT32)["InputTensor"].offset
    stream.fill(0)
    stream.submit(0, whole, run=False)
    for number in range(1, 8):
        stream.submit(number % 2, whole, step=1, run=False)
        values = stream.wait((number - 1) % 2)[begin : begin + 4 * COUNT].view(np.uint32)
        np.testing.assert_array_equal(values, patterns(DataType.FLOAT32, number - 1))
        stream.release((number - 1) % 2)
    stream.close()
