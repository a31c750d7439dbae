"""Prints by how many bytes this process grows over 500 dispatches, without and with a planted leak of 8 MiB.

In a process of its own, because a long one has so much free memory on its heap that a leak would not show.
"""

from __future__ import annotations

import gc
import mmap
import sys
from pathlib import Path

import numpy as np

from dmlcts.backends.wgpu.device import WgpuBackend, WgpuDevice
from dmlcts.specs import DataType, Region, TensorDesc
from dmlcts.suites.selftest.descriptions import described
from dmlcts.suites.selftest.wgpu.wgpu_bench import CLIP, up

DISPATCHES = 500


def resident_bytes() -> int:
    """What the process holds in memory now (Linux)."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * mmap.PAGESIZE


def grown_by(device: WgpuDevice, leak: int = 0) -> int:
    """Memory gained over dispatches of many sizes and offsets, each with its own kernel, that hold ``leak`` bytes."""
    held = []
    before = resident_bytes()
    for turn in range(DISPATCHES):
        count = 1 + turn % 97
        kernel = device.create(described(CLIP, TensorDesc(DataType.FLOAT32, [count]), Min=0, Max=1))
        room, front = up(4 * count), 16 * (turn % 11)
        memory = np.zeros(front + 2 * room, np.uint8)
        regions = Region(front, 4 * count), Region(front + room, 4 * count)
        kernel.dispatch(memory, dict(zip(("InputTensor", "OutputTensor"), regions, strict=True)))
        kernel.close()
        held.append(np.ones(leak, np.uint8))
    gc.collect()
    return resident_bytes() - before


if __name__ == "__main__":
    with WgpuBackend().open() as opened:
        grown_by(opened)
        sys.stdout.write(f"{grown_by(opened)} {grown_by(opened, leak=(8 << 20) // DISPATCHES)}")
