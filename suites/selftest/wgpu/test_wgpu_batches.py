"""The wgpu backend's batches on the adapter at hand: each step has the effect that it has alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from dmlcts.backends import ExecutionFailed, InvalidArgument
from dmlcts.backends.contract import BatchStep
from dmlcts.backends.wgpu.device import WgpuDevice
from dmlcts.backends.wgpu.layout import Limits
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.suites.cases.memory import Bytes
from dmlcts.suites.selftest.descriptions import described
from dmlcts.suites.selftest.wgpu.wgpu_bench import CLIP, open_or_skip

SIZES = (3, 13, 7)
LAYOUTS = [(91, 7, 1), (1, 21, 3), (2 * 13 * 9, 18, 2)]
TYPES = [DataType.FLOAT32, DataType.FLOAT16, DataType.INT8, DataType.UINT64]
Bound = tuple[OperatorDesc, Bytes, dict[str, Region]]


@pytest.fixture
def device() -> Iterator[WgpuDevice]:
    with open_or_skip() as opened:
        yield opened


def bound() -> list[Bound]:
    """Descriptions in unlike layouts, each with a memory of its own size, apart and in place."""
    generator = np.random.default_rng(5)
    every = []
    for data_type, source, target, in_place in itertools.product(TYPES, LAYOUTS, LAYOUTS, (False, True)):
        if in_place and source != target:
            continue
        tensors = [TensorDesc(data_type, SIZES, strides) for strides in (source, target)]
        read = Region(16 * len(every), tensors[0].total_size_in_bytes)
        written = read if in_place else Region(-(-read.end // 16) * 16, tensors[1].total_size_in_bytes)
        memory = generator.integers(0, 120, written.end + 5 + len(every), np.uint8)
        operator = described(CLIP, *tensors, Min=5, Max=99)
        every.append((operator, memory, {"InputTensor": read, "OutputTensor": written}))
    return every


def whole_lives(some: list[Bound]) -> list[BatchStep]:
    steps = []
    for number, (operator, memory, regions) in enumerate(some):
        steps += [
            BatchStep("create", number, operator),
            BatchStep("dispatch", number, None, memory, regions),
            BatchStep("close", number),
        ]
    return steps


@pytest.mark.parametrize("chunks", [1, 2])
def test_memories_hold_what_single_dispatches_leave(
    device: WgpuDevice, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several chunks as well, as tensors beyond the adapter's largest binding take."""
    if chunks > 1:
        alignment = device.binding_limits.alignment
        monkeypatch.setattr(device, "binding_limits", Limits(2 * alignment, alignment))
    together, alone = bound(), bound()
    assert not any(device.batch(whole_lives(together)))
    for operator, memory, regions in alone:
        device.create(operator).dispatch(memory, regions)
    for (_, got, _), (_, wanted, _), (_, before, _) in zip(together, alone, bound(), strict=True):
        assert np.array_equal(got, wanted)
        assert not np.array_equal(got, before)


def test_a_kernel_that_lives_on_runs_several_times(device: WgpuDevice) -> None:
    (operator, first, regions), *_ = bound()
    second, wanted = first[::-1].copy(), first[::-1].copy()
    device.create(operator).dispatch(wanted, regions)
    steps = [
        BatchStep("create", 0, operator),
        *(BatchStep("dispatch", 0, None, memory, regions) for memory in (first, second)),
        BatchStep("close", 0),
    ]
    assert not any(device.batch(steps))
    assert np.array_equal(second, wanted)


def test_each_step_raises_what_it_raises_alone(device: WgpuDevice) -> None:
    """A refused description leaves out its kernel's steps; bindings that cannot be used leave the others to run."""
    (operator, *_), *others = bound()
    refused = described(CLIP, TensorDesc(DataType.FLOAT32, (2,)), TensorDesc(DataType.FLOAT32, (3,)), Min=5, Max=99)
    memory = np.zeros(64, np.uint8)
    broken = [(refused, memory, {}), (operator, memory, {"InputTensor": Region(0, 8)})]
    outcomes = device.batch(whole_lives([*broken, *others]))
    assert [type(outcome) for outcome in outcomes[:6]] == [
        InvalidArgument,
        type(None),
        type(None),
        type(None),
        ExecutionFailed,
        type(None),
    ]
    assert not any(outcomes[6:])
    assert not memory.any()
    for (_, got, _), (_, before, _) in zip(others, bound()[1:], strict=True):
        assert not np.array_equal(got, before)
