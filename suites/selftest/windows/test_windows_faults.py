"""A fault inside a library of Windows' is reported by its name and place, and costs its case, not the run."""

from __future__ import annotations

import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.backends.directml.loading import windows_releases
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.cache import cache_folder
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.selftest.directml.directml_here import why_not
from dmlcts.suites.selftest.windows.faulting import FAULTS, NAME, PLANTED

if sys.platform != "linux" or platform.machine() != "x86_64":
    pytest.skip("the bridge is of Linux on 64-bit x86", allow_module_level=True)
if not shutil.which("cc"):
    pytest.skip("needs a C compiler", allow_module_level=True)

MODULE = "dmlcts.suites.selftest.windows.faulting"
HERE = f"dmlcts: Windows library: {NAME} at byte {PLANTED:#x}"
SIGNALS: dict[str, tuple[str, str]] = {
    "reads nowhere": ("SIGSEGV", f"{NAME} at byte {PLANTED + 2:#x}: it touches address 0x0, which it may not"),
    "writes into its code": ("SIGSEGV", f"{NAME} at byte {PLANTED + 7:#x}: it touches address 0x"),
    "jumps nowhere": ("SIGSEGV", f"{NAME} at byte {PLANTED + 4:#x}: it called address 0x0, where no code is"),
    "knows no such instruction": ("SIGILL", f"{HERE}: it holds an instruction that this processor does not have"),
    "divides by zero": ("SIGFPE", f"{NAME} at byte {PLANTED + 4:#x}: it divides by zero, or the quotient is too large"),
    "fails fast": ("SIGSEGV", f"{NAME} at byte {PLANTED + 5:#x}: it fails fast, with code 7"),
    "breaks": ("SIGTRAP", f"{NAME} at byte {PLANTED + 1:#x}: it breaks into the debugger"),
    "calls itself": ("SIGSEGV", f"{HERE}: it touches address 0x"),
    "ends the process": ("SIGABRT", "dmlcts: Windows library: it ends the process with 00000003"),
}
CHOSEN = ("--operator", "CLIP", "--data-type", "INT8,INT16", "--clause", "clip.support.level-2-1")


def test_every_fault_is_tried() -> None:
    assert set(FAULTS) == {*SIGNALS, "none", "never ends"}


ALONE = """
import ctypes, faulthandler, resource, sys
from dmlcts.suites.selftest.windows.faulting import Code, bridge, cache_folder
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if "first" in sys.argv: faulthandler.enable()
connection = bridge(cache_folder())
code = Code(connection, sys.argv[1])
if "after" in sys.argv: faulthandler.enable()
call = ctypes.CFUNCTYPE(ctypes.c_int)(connection.callable_here(code.address))
assert call() == 1
def fault():
    code.mark(True)
    print(call())
if "thread" in sys.argv:
    import threading
    thread = threading.Thread(target=fault)
    thread.start()
    thread.join()
elif "elsewhere" in sys.argv:
    ctypes.string_at(8)
elif "sent" in sys.argv:
    import os, signal
    os.kill(os.getpid(), signal.SIGSEGV)
else:
    fault()
"""


def alone(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ALONE, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "fault, where",
    [
        *((fault, "first") for fault in SIGNALS),  # as in the suite's worker, whose Python has handlers of its own
        *((fault, where) for fault in ("reads nowhere", "calls itself", "breaks") for where in ("", "thread")),
    ],
)
@pytest.mark.size("thorough", brief=3)
def test_a_fault_states_library_place_and_kind_and_ends_as_it_would_have(fault: str, where: str) -> None:
    name, words = SIGNALS[fault]
    done = alone(fault, where)
    assert words in done.stderr
    assert done.returncode == -signal.Signals[name]
    assert done.stderr.count("dmlcts: Windows library") == 1
    assert ("Fatal Python error" in done.stderr) == (where == "first" and name != "SIGTRAP"), done.stderr


@pytest.mark.size("thorough")
def test_what_is_no_fault_of_the_library_is_not_put_on_it() -> None:
    """The control: no fault, and faults of somebody else in a process with that library."""
    done = alone("none")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    for where in ("elsewhere", "sent"):
        done = alone("none", where)
        assert (done.returncode, done.stderr) == (-signal.SIGSEGV, "")


@pytest.fixture
def run(dmlcts: Callable[..., Any]) -> Callable[..., Any]:
    def ran(backend: str, fault: str, *more: str) -> Any:
        return dmlcts("run", "--backend", f"{MODULE}:{backend}", "-o", f"fault={fault}", *CHOSEN, *more)

    return ran


def rows(ran: Any) -> dict[str, str]:
    assert ran.results is not None, ran.out + ran.err
    return {row["data_type"]: row["outcome"] for row in ran.results["clauses"]}


@pytest.mark.size("thorough")
def test_a_run_names_the_case_and_the_fault_and_judges_the_rest(run: Callable[..., Any], tmp_path: Path) -> None:
    words = SIGNALS["reads nowhere"][1]
    ran = run("Faulting", "reads nowhere")
    assert ran.code == 1, ran.out + ran.err
    assert rows(ran) == {"INT8": "crash", "INT16": "pass"}
    (failure,) = [candidate for candidate in ran.results["failures"] if words in str(candidate["details"])]
    assert (failure["clause"], failure["data_type"]) == ("clip.support.level-2-1", "INT8")
    assert words in (tmp_path / "results" / "results.html").read_text("utf-8")
    assert words in (tmp_path / "results" / "failures" / failure["file"]).read_text("utf-8")


def computes(device: Any, kind: DataType) -> None:
    tensor = TensorDesc(kind, (1, 1, 1, 4))
    attributes = {"Min": np.float32(-1), "Max": np.float32(2), "ScaleBias": None}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    memory = np.zeros(512, np.uint8)
    memory.view(kind.numpy)[:4] = 0, 1, 2, 3
    size = 4 * kind.itemsize
    kernel = device.create(operator)
    kernel.dispatch(memory, {"InputTensor": Region(0, size), "OutputTensor": Region(256, size)})
    assert memory.view(kind.numpy)[256 // kind.itemsize :][:4].tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    "fault, outcome, words",
    [
        ("ends the process", "crash", SIGNALS["ends the process"][1]),
        ("never ends", "timeout", "no answer within 5"),
    ],
)
@pytest.mark.size("thorough")
def test_one_case_is_lost_and_the_next_goes_on(fault: str, outcome: str, words: str) -> None:
    with IsolatedBackend(f"{MODULE}:Faulting", timeout=5).open(fault=fault, on="INT8") as device:
        computes(device, DataType.INT16)
        with pytest.raises(WorkerLost) as lost:
            computes(device, DataType.INT8)
        assert lost.value.outcome == outcome
        assert words in lost.value.text
        computes(device, DataType.INT16)


@pytest.mark.skipif(windows_releases.fetched(cache_folder()) is None, reason="needs dmlcts directml fetch --windows")
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "nothing")
def test_a_fault_in_windows_own_library_is_one_cases_and_others_go_on() -> None:
    with IsolatedBackend(f"{MODULE}:FaultingDirectML").open(fault="reads nowhere", on="INT8") as device:
        assert device.info.library == "DirectML.dll"
        computes(device, DataType.INT16)
        with pytest.raises(WorkerLost) as lost:
            computes(device, DataType.INT8)
        assert (lost.value.outcome, lost.value.title) == ("crash", "the process crashed (SIGSEGV)")
        assert SIGNALS["reads nowhere"][1] in lost.value.text
        computes(device, DataType.INT16)


def test_the_control_passes(run: Callable[..., Any]) -> None:
    ran = run("Faulting", "none")
    assert (ran.code, rows(ran)) == (0, {"INT8": "pass", "INT16": "pass"}), ran.out + ran.err
