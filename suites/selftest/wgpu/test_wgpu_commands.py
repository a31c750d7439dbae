"""The wgpu backend as its users meet it: verdicts, exit codes, a device that is lost under the suite."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dmlcts.backends.wgpu.adapters import BACKENDS
from dmlcts.backends.wgpu.device import WgpuBackend, WgpuDevice
from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.suites.benchmarks.wgpu_overhead import bare, compared, ours
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.outcomes import Mishap
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.wgpu.wgpu_bench import open_or_skip

SELECTION = ("--operator", "CLIP", "--data-type", "INT16", "--clause", "clip.bounds.*")


def test_a_selection_conforms(dmlcts: Callable[..., Ran]) -> None:
    open_or_skip().close()
    ran = dmlcts("run", "--backend", "wgpu", *SELECTION)
    assert ran.code == 0, ran.out + ran.err
    assert ran.results is not None
    assert ran.results["device"]["details"]["backend_type"] in BACKENDS
    assert ran.outcomes("clip.bounds.inverted") == {"pass"}


def test_a_planted_fault_is_caught_under_its_clause(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    """The shader clamps as min(Max, max(Min, x)), which differs where Min is greater than Max."""
    open_or_skip().close()
    tmp_path.joinpath("planted.py").write_text(
        "from dmlcts.backends.wgpu import WgpuBackend as Backend\n"
        "from dmlcts.backends.wgpu.shaders import Shader\n"
        "source = Shader.source\n"
        "wrong = 'min(high, max(low, x))'\n"
        "Shader.source = lambda self: source(self).replace('max(low, min(x, high))', wrong)\n"
    )
    ran = dmlcts("run", "--backend", "planted.py:Backend", *SELECTION)
    assert ran.code == 1, ran.out + ran.err
    assert ran.outcomes("clip.bounds.inverted") == {"fail"}
    assert ran.outcomes("clip.bounds.equal") == {"pass"}


@pytest.mark.skipif(sys.platform != "linux", reason="only a Vulkan loader can be set to find no driver")
def test_no_adapter_exits_with_3_and_what_to_install(
    dmlcts: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wgpu")
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(name, "/nonexistent.json")
    ran = dmlcts("run", "--backend", "wgpu", *SELECTION)
    assert ran.code == 3, ran.out + ran.err
    assert "mesa-vulkan-drivers" in ran.err


def test_an_unknown_option_exits_with_2(dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts("run", "--backend", "wgpu", "-o", "builtins=yes", *SELECTION)
    assert ran.code == 2
    assert "builtin" in ran.err


def test_the_suite_goes_on_after_a_lost_device() -> None:
    open_or_skip().close()
    tables = load_tables()
    bench = Bench("wgpu", WgpuBackend(), {}, tables)
    try:
        table = tables.operator("CLIP")
        subject = Subject.on(table, DataType.FLOAT32, FeatureLevel.parse("5.0"), 0, QUICK)
        case = subject.case("clip.formula", [-2.0, 0.5, 2.0])
        first = bench._device
        assert isinstance(first, WgpuDevice)
        kernel = bench.create(case.operator)
        assert bench.dispatch(kernel, Arena.prepare(case)) is None
        first.handle.destroy()
        mishap = bench.dispatch(kernel, Arena.prepare(case))
        assert isinstance(mishap, Mishap)
        assert mishap.outcome == "device_lost"
        assert bench._device is not first
        arena = Arena.prepare(case)
        assert bench.dispatch(bench.create(case.operator), arena) is None
        out = arena.bindings["OutputTensor"]
        got = arena.memory[out.offset : out.offset + 12].view(np.float32)
        assert got.tolist() == [-1.0, 0.5, 1.0]
    finally:
        bench.close()


def test_the_overhead_is_measured_on_the_same_work() -> None:
    with open_or_skip() as device:
        data = np.linspace(-3, 3, 32, dtype=np.float32)
        outcomes = []
        for run in (bare(device, 128), ours(device, 128)):
            memory = data.view(np.uint8).copy()
            run(memory)
            outcomes.append(memory.view(np.float32))
        assert np.array_equal(outcomes[0], outcomes[1])
        assert np.array_equal(outcomes[0][16:], np.clip(data[:16], -1, 1))
        plain, full = compared([bare(device, 128), ours(device, 128)], 128, 3)
        assert plain > 0
        assert full > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the script reads the process's memory from /proc")
def test_memory_does_not_grow_with_dispatches() -> None:
    """The quick version of 10,000 dispatches; a planted leak of 8 MiB is seen."""
    open_or_skip().close()
    script = [sys.executable, "-m", "dmlcts.suites.selftest.wgpu.wgpu_leak"]
    done = subprocess.run(script, capture_output=True, text=True, timeout=100, check=True)
    grown, planted = map(int, done.stdout.split())
    assert grown < 4 << 20
    assert planted > 4 << 20
