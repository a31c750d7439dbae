"""What the backend costs beside wgpu itself: ``python -m dmlcts.suites.benchmarks.wgpu_overhead [-o key=value ...]``.

Both are measured in turns in one run, so that a busy machine slows them alike. The bare one does what no
backend can do without, with the simplest shader: write the bytes to a buffer, dispatch, copy the buffer to one
that can be mapped, map it, and copy the bytes out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.wgpu.adapters import load_wgpu
from dmlcts.backends.wgpu.device import WgpuBackend, WgpuDevice
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc

_BARE = """
@group(0) @binding(0) var<storage, read_write> memory: array<f32>;
@group(0) @binding(1) var<uniform> half_and_row: vec2<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let invocation = id.y * half_and_row.y + id.x;
    if (invocation < half_and_row.x) {
        memory[half_and_row.x + invocation] = max(-1.0, min(memory[invocation], 1.0));
    }
}
"""

Run = Callable[[NDArray[np.uint8]], None]


def bare(device: WgpuDevice, size: int) -> Run:
    """A function that sends ``size`` bytes to ``device`` and back, with one dispatch between.

    Everything is made before, as the backend keeps everything between dispatches. ``size`` is a multiple of 16.
    The function takes 1-D ``uint8`` of that size, and overwrites it with what came back.
    """
    wgpu: Any = load_wgpu()
    handle, usage = device.handle, wgpu.BufferUsage
    memory = handle.create_buffer(size=size, usage=usage.STORAGE | usage.COPY_SRC | usage.COPY_DST)
    way_back = handle.create_buffer(size=size, usage=usage.COPY_DST | usage.MAP_READ)
    columns, rows = device.groups(size // 8)
    words = np.array([size // 8, columns * 64], np.uint32)
    parameters = handle.create_buffer_with_data(data=words, usage=usage.UNIFORM)
    module = handle.create_shader_module(code=_BARE)
    pipeline = handle.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
    group = handle.create_bind_group(
        layout=pipeline.get_bind_group_layout(0),
        entries=[{"binding": 0, "resource": {"buffer": memory}}, {"binding": 1, "resource": {"buffer": parameters}}],
    )

    def run(data: NDArray[np.uint8]) -> None:
        handle.queue.write_buffer(memory, 0, data)
        encoder = handle.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(columns, rows)
        compute.end()
        encoder.copy_buffer_to_buffer(memory, 0, way_back, 0, size)
        handle.queue.submit([encoder.finish()])
        way_back.map_sync(wgpu.MapMode.READ, 0, size)
        np.copyto(data, np.frombuffer(way_back.read_mapped(0, size, copy=False), np.uint8))
        way_back.unmap()

    return run


def ours(device: WgpuDevice, size: int) -> Run:
    """A function that does the same through the backend: CLIP on FLOAT32 from the first half to the second."""
    tensor = TensorDesc(DataType.FLOAT32, (size // 8,))
    tensors = {"InputTensor": tensor, "OutputTensor": tensor}
    attributes = {"Min": np.float32(-1), "Max": np.float32(1), "ScaleBias": None}
    kernel = device.create(OperatorDesc("ELEMENT_WISE_CLIP", tensors, attributes))
    bindings = {"InputTensor": Region(0, size // 2), "OutputTensor": Region(size // 2, size // 2)}
    return lambda data: kernel.dispatch(data, bindings)


def compared(runs: Sequence[Run], size: int, rounds: int) -> list[float]:
    """The median seconds of each of ``runs`` on ``size`` bytes, in turns; every other round goes backwards."""
    data = np.random.default_rng(0).standard_normal(size // 4).astype(np.float32).view(np.uint8)
    taken: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run(data)
    pairs = list(zip(runs, taken, strict=True))
    for turn in range(rounds):
        for run, times in pairs if turn % 2 else reversed(pairs):
            start = time.perf_counter()
            run(data)
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for a few sizes: the bare median, ours, and the share of the bare speed that ours reaches."""
    program = "python -m dmlcts.suites.benchmarks.wgpu_overhead"
    parser = argparse.ArgumentParser(prog=program, description=__doc__.split("\n")[0])
    parser.add_argument("-o", action="append", default=[], metavar="KEY=VALUE", help="an option of the backend")
    parser.add_argument(
        "--rounds", type=int, default=15, help="rounds for the large sizes; those up to 1 MiB take 20 times more"
    )
    namespace = parser.parse_args(arguments)
    with WgpuBackend().open(**dict(option.split("=", 1) for option in namespace.o)) as device:
        sys.stdout.write(
            f"{device.info.adapter}, {device.info.driver}\n{'bytes':>11} {'bare ms':>9} {'ours ms':>9} {'speed':>6}\n"
        )
        for size in (256, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 27):
            rounds = namespace.rounds * (20 if size <= 1 << 20 else 1)
            plain, full = compared([bare(device, size), ours(device, size)], size, rounds)
            sys.stdout.write(f"{size:>11} {plain * 1e3:>9.3f} {full * 1e3:>9.3f} {plain / full:>6.0%}\n")


if __name__ == "__main__":
    main()
