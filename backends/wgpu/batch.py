"""Many dispatches in one submission: all memories are uploaded at once, and come back at once.

Each memory stands at a place of its own in the device's memory, and a shader is bound to that part alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import BatchStep, DeviceLost
from dmlcts.backends.wgpu.kernel import Prepared, WgpuKernel
from dmlcts.backends.wgpu.open_device import OpenDevice, Work
from dmlcts.backends.wgpu.resources import rounded_up
from dmlcts.specs import OperatorDesc, Region


class BatchDevice(OpenDevice, Protocol):
    """An open device that makes kernels."""

    def create(self, operator: OperatorDesc) -> WgpuKernel:
        """Make an operator ready."""


class _Due(NamedTuple):
    """A dispatch of the batch: what is done, on which memory, and where that stands in the device's."""

    memory: NDArray[np.uint8]
    prepared: Prepared
    base: int


def run_batch(device: BatchDevice, steps: Sequence[BatchStep]) -> list[Exception | None]:
    """Do what the steps say, with one submission for all dispatches; see ``BatchingDevice.batch`` of the contract.

    Raises:
        ExecutionFailed: wgpu refuses the work.
        DeviceLost: the adapter is gone.
        MemoryError: the adapter cannot hold so much at once.
    """
    outcomes: list[Exception | None] = [None] * len(steps)
    kernels: dict[int, WgpuKernel] = {}
    due: list[_Due] = []
    end = 0
    with device.turn, Work(device, "running the shaders of a batch"):
        for number, step in enumerate(steps):
            try:
                if step.act == "create" and step.operator is not None:
                    kernels[step.kernel] = device.create(step.operator)
                elif step.kernel not in kernels:
                    continue
                elif step.act == "dispatch" and step.memory is not None:
                    due.append(_Due(step.memory, kernels[step.kernel].prepared(step.memory, step.bindings), end))
                    end = rounded_up(end + step.memory.size, device.binding_limits.alignment)
                else:
                    kernels.pop(step.kernel).close()
            except DeviceLost:
                raise
            except Exception as error:  # the outcome of this step alone
                outcomes[number] = error
        if due:
            _run(device, due, end)
    return outcomes


def _run(device: OpenDevice, due: Sequence[_Due], end: int) -> None:
    resources = device.resources
    whole = np.zeros(end, np.uint8)
    for memory, _, base in due:
        whole[base : base + memory.size] = memory
    resources.upload(whole)
    snapshots = [
        Region(base + kept.offset, kept.size) for _, prepared, base in due if (kept := prepared.snapshot) is not None
    ]
    if snapshots:
        resources.take_snapshots(snapshots, end)
    all_dispatches = [(item, dispatch) for item in due for dispatch in item.prepared.dispatches]
    resources.write_all_parameters([dispatch.parameters for _, dispatch in all_dispatches])
    encoder = device.handle.create_command_encoder()
    compute = encoder.begin_compute_pass()
    for place, ((_, prepared, base), dispatch) in enumerate(all_dispatches):
        windows = dispatch.windows(prepared.buffers, base)
        dispatch.encode(compute, resources.group_in_batch(dispatch.compiled.layout, place, *windows))
    compute.end()
    resources.read_back(encoder, whole)
    for memory, _, base in due:
        memory[:] = whole[base : base + memory.size]
