"""Memory that an implementation could share counts toward the limit of its memory; the suite's own does not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dmlcts.backends.memory_increase import MemoryIncrease, Resident
from dmlcts.specs import DataType, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution, Outcome
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.selftest.descriptions import case, clip

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not report what is shared")

TABLES = load_tables()
MANY = 140  # dispatches, which take longer than the time between two looks at descriptors
STEP = 1 << 20
LIMIT = 48 << 20
LEAKING = f"""
import mmap, os, tempfile
from dmlcts.backends.cpu import CpuBackend

STEP = {STEP}
KEPT = []

def anonymous():
    KEPT.append(mmap.mmap(-1, STEP))
    KEPT[-1][:] = b"x" * STEP

def mapped():
    file = os.memfd_create("leak")
    os.ftruncate(file, STEP)
    KEPT.append(mmap.mmap(file, STEP))
    os.close(file)
    KEPT[-1][:] = b"x" * STEP

def written():
    KEPT.append(KEPT[0] if KEPT else os.memfd_create("leak"))
    os.write(KEPT[0], b"x" * STEP)

def in_a_file():
    KEPT.append(tempfile.TemporaryFile(dir="/dev/shm"))
    KEPT[-1].write(b"x" * STEP)
    KEPT[-1].flush()

def given_back():
    written()
    os.ftruncate(KEPT[0], 0)
    os.lseek(KEPT[0], 0, os.SEEK_SET)

def nothing():
    pass

class Backend(CpuBackend):
    def open(self, leak, **options):
        device = super().open(**options)
        create = device.create
        def leaking(operator):
            globals()[leak]()
            return create(operator)
        device.create = leaking
        return device
"""


def value_case(elements: int = 5) -> Case:
    source = TensorDesc(DataType.FLOAT32, (1, 1, 1, elements))
    return case(clip(source, Min=np.float32(0), Max=np.float32(1)), [0.5], layout_clause=None)


def outcomes(folder: Path, leak: str, limit: int, elements: int = 5) -> list[Outcome]:
    (folder / "leaking.py").write_text(LEAKING, encoding="utf-8")
    backend = IsolatedBackend(f"{folder / 'leaking.py'}:Backend", 60, limit)
    bench = Bench("leaking", backend, {"leak": leak}, TABLES)
    results: list[Outcome] = []
    try:
        while len(results) < MANY and all(isinstance(outcome, Execution) for outcome in results):
            results.append(bench.run(value_case(elements)))
    finally:
        bench.close()
    return results


@pytest.mark.parametrize("leak", ["anonymous", "mapped", "written", "in_a_file"])
@pytest.mark.size("all", brief=1, thorough=2)
def test_shared_memory_counts(tmp_path: Path, leak: str) -> None:
    results = outcomes(tmp_path, leak, LIMIT)
    assert getattr(results[-1], "outcome", "") == "resource_error", results[-1]
    assert len(results) > LIMIT // STEP // 2
    assert all(isinstance(outcome, Execution) for outcome in outcomes(tmp_path, leak, 4 * MANY * STEP))


@pytest.mark.parametrize("leak", ["nothing", "given_back"])
@pytest.mark.size("thorough")
def test_who_keeps_nothing_goes_on(tmp_path: Path, leak: str) -> None:
    assert all(isinstance(outcome, Execution) for outcome in outcomes(tmp_path, leak, LIMIT))


def test_what_the_suite_shares_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "leaking.py").write_text(LEAKING, encoding="utf-8")
    backend = IsolatedBackend(f"{tmp_path / 'leaking.py'}:Backend", 60, LIMIT)
    bench = Bench("leaking", backend, {"leak": "nothing"}, TABLES)
    try:
        arenas = [bench.prepare(value_case(elements << 20)) for elements in (4, 5, 6)]  # 32, 40 and 48 MiB, all alive
        for arena in arenas:
            arena.memory[:] = 0
        kernels = [bench.create(value_case(elements << 20).operator) for elements in (4, 5, 6)]
        for kernel, arena in zip(kernels, arenas, strict=True):
            assert bench.dispatch(kernel, arena) is None
    finally:
        bench.close()


def test_what_a_process_held_at_its_start_is_no_memory_increase() -> None:
    resident = Resident("self")
    memory_increase = MemoryIncrease(1 << 20, lambda: (0, ()), resident)
    held = resident.bytes()
    memory_increase.begin(held)
    assert memory_increase.grown(held) == 0
    assert memory_increase.grown(held + (8 << 20)) == 8 << 20
    resident.close()
