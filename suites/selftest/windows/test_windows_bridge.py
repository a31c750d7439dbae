"""Code of Windows' runs in this process: arguments, structures, exceptions, threads; what is missing says its name."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dmlcts.backends.compiling import run_compiler
from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.abi.com import HRESULT, U32, U64, Interface, IUnknown, Method
from dmlcts.backends.directml.abi.com_object import ComObject, Faults
from dmlcts.backends.directml.windows.bridge import Bridge, compiled
from dmlcts.backends.directml.windows.image import BadImage, parsed, read
from dmlcts.backends.directml.windows.library import WindowsLibrary, load
from dmlcts.suites.selftest.windows.pe_files import CHANGEABLE, Made, whole

HERE = Path(__file__).parent
CROSS_COMPILER = "x86_64-w64-mingw32-gcc"
if sys.platform != "linux" or platform.machine() != "x86_64":
    pytest.skip("the bridge is of Linux on 64-bit x86", allow_module_level=True)
if not shutil.which(CROSS_COMPILER) or not shutil.which("cc"):
    pytest.skip(f"needs a C compiler and {CROSS_COMPILER}", allow_module_level=True)

U = ctypes.c_uint64
WEIGHTED = {0: 7, **{count: sum((100 + place) * (place + 1) for place in range(count)) for count in range(1, 13)}}
Call = Callable[..., int]


@pytest.fixture(scope="session")
def library_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("windows") / "made.dll"
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-nostdlib", "-fno-builtin", "-e", "entry"]
    subprocess.run([CROSS_COMPILER, *options, "-o", path, HERE / "windows_library.c", "-lkernel32"], check=True)
    return path


BUILDS = [(name, level) for name in ("cc", "clang") if shutil.which(name) for level in ("-O2", "-O0")]


@pytest.fixture(scope="session", params=BUILDS, ids=" ".join)
def bridge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bridge:
    compiler, level = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CC", compiler)
        return Bridge(compiled(tmp_path_factory.mktemp("bridge"), level, "-Wall", "-Wextra", "-Werror"))


@pytest.fixture
def call(bridge: Bridge, library_file: Path) -> Call:
    library = load(bridge, library_file)

    def called(name: str, *arguments: int) -> int:
        address = library.function(name)
        assert address is not None, name
        return int(ctypes.CFUNCTYPE(U, *[U] * len(arguments))(address)(*arguments))

    return called


def test_an_entry_point_is_called_once_and_addresses_are_right(call: Call) -> None:
    assert call("times_attached") == 1


def test_the_same_file_is_loaded_once_and_another_beside_it(bridge: Bridge, library_file: Path, tmp_path: Path) -> None:
    first = load(bridge, library_file)
    assert load(bridge, library_file) is first
    copy = tmp_path / "copy.dll"
    copy.write_bytes(library_file.read_bytes())
    second = load(bridge, copy)
    assert second.base != first.base
    for library in (second, first):  # exceptions find their way through either
        address = library.function("raised_and_caught")
        assert address is not None
        assert ctypes.CFUNCTYPE(U, U)(address)(5) == 1_000_005


@pytest.mark.parametrize("count", range(13))
def test_every_number_of_arguments_arrives_in_its_place(count: int, bridge: Bridge, call: Call) -> None:
    assert call(f"sum{count}", *range(100, 100 + count)) == WEIGHTED[count]
    seen: list[tuple[int, ...]] = []

    def record(*arguments: int) -> int:
        seen.append(arguments)
        return 1 << 63 | count

    callback = ctypes.CFUNCTYPE(U, *[U] * count)(record)
    there = bridge.callable_there(ctypes.cast(callback, ctypes.c_void_p).value or 0)
    assert call("call_back", there, count, 1 << 40) == 1 << 63 | count
    assert seen == [tuple(range(1 << 40, (1 << 40) + count))]


OVERWRITES = r"""
int overwrite(void)
{
    __asm__ volatile(
        "mov $-1, %%rdi\n mov $-1, %%rsi\n pcmpeqd %%xmm6, %%xmm6\n pcmpeqd %%xmm15, %%xmm15\n"
        ::: "rdi", "rsi", "xmm6", "xmm15");
    return 1;
}
"""


def test_a_call_keeps_the_registers_that_are_the_callers(bridge: Bridge, call: Call, tmp_path: Path) -> None:
    """What Windows' convention keeps and System V's does not is overwritten by the function that is called."""
    (tmp_path / "overwrite.c").write_text(OVERWRITES)
    made = tmp_path / "overwrite.so"
    run_compiler(["-O1", "-shared", "-fPIC", "-o", str(made), str(tmp_path / "overwrite.c")])
    address = ctypes.cast(ctypes.CDLL(str(made)).overwrite, ctypes.c_void_p).value or 0
    assert call("keeps_registers", bridge.callable_there(address)) == 1


def test_thunks_are_the_same_for_the_same_function_and_end_with_an_error(tmp_path: Path) -> None:
    bridge = Bridge(compiled(tmp_path))
    first = bridge.callable_there(0x1000)
    made = {bridge.callable_there(0x1000 + place) for place in range(4096)}
    assert len(made) == 4096
    assert bridge.callable_there(0x1000) == first
    with pytest.raises(BackendUnavailable, match="no more thunks"):
        bridge.callable_there(0x1000 + 4096)
    assert bridge.callable_here(0x1000) not in made


class Small(ctypes.Structure):
    _fields_: ClassVar = [("low", U32), ("high", ctypes.c_int32)]


class Large(ctypes.Structure):
    _fields_: ClassVar = [("first", U32), ("second", U64), ("third", U64)]


IShape = Interface(
    "IShape",
    "21111111-2222-3333-4444-555555555555",
    IUnknown,
    [
        Method("SmallOne", Small, U32),
        Method("LargeOne", Large, U32),
        Method("Judge", HRESULT, U32),
        Method("Unmade", U32),
    ],
)


class Shape(ComObject):
    interface = IShape

    def SmallOne(self, number: int) -> Small:
        return Small(number, -number)

    def LargeOne(self, number: int) -> Large:
        return Large(number, number << 40, number + 1)

    def Judge(self, hresult: int) -> int:
        if hresult == 1000:
            raise ValueError("judged in vain")
        return hresult


def test_objects_are_called_through_the_other_convention_and_return_structures(bridge: Bridge) -> None:
    faults = Faults()
    shape = Shape(faults, bridge.convention)
    with shape.pointer() as pointer:
        small, large = pointer.call("SmallOne", 5), pointer.call("LargeOne", 6)
        assert (small.low, small.high) == (5, -5)
        assert (large.first, large.second, large.third) == (6, 6 << 40, 7)
        assert pointer.call("Judge", 0x80070057) & 0xFFFFFFFF == 0x80070057
        assert pointer.call("Judge", 1000) & 0xFFFFFFFF == 0x80004005
        assert isinstance(faults.take(), ValueError)
        pointer.call("Unmade")
        assert "slot 6" in str(faults.take())
        with pointer.query(IUnknown) as same:
            assert same.convention is bridge.convention
    shape.Release()


def test_an_object_of_each_convention_can_live_beside_the_other(bridge: Bridge) -> None:
    ours, theirs = Shape(Faults()), Shape(Faults(), bridge.convention)
    for shape in (ours, theirs, ours):
        with shape.pointer() as pointer:
            assert pointer.call("LargeOne", 3).second == 3 << 40
    ours.Release()
    theirs.Release()


# Exceptions.


def test_exceptions_are_thrown_caught_passed_on_and_thrown_again(call: Call) -> None:
    assert call("not_raised", 3) == 8
    assert call("raised_and_caught", 4) == 1_000_004
    assert call("raised_deep", 350) == 50 << 32 | 1_000_300  # through fifty frames, each cleaned up once
    assert call("raised_again", 1) == 2_000_001
    assert call("went_on", 9) == 9


def test_ten_thousand_exceptions_leave_nothing_behind(call: Call) -> None:
    assert call("many_times", 1000) == sum(range(1000))
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert call("many_times", 10_000) == sum(range(10_000))
    for _ in range(200):
        call("raised_deep", 99)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024  # KiB


def test_exceptions_of_several_threads_do_not_meet(call: Call) -> None:
    numbers: list[int] = []

    def work() -> None:
        numbers.append(call("many_times", 2000) + call("raised_deep", 99))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(numbers) == 8
    assert all(total >> 32 for total in numbers)


def _died(code: str, library_file: Path, tmp_path: Path) -> str:
    """What a process of its own says that runs ``code`` with ``call`` and ends by a signal."""
    program = (
        "import ctypes, resource, sys\nfrom pathlib import Path\n"
        "from dmlcts.backends.directml.windows.bridge import bridge\n"
        "from dmlcts.backends.directml.windows.library import load\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "library = load(bridge(Path(sys.argv[1])), Path(sys.argv[2]))\n"
        "def call(name, *arguments):\n"
        "    kinds = [ctypes.c_uint64] * (1 + len(arguments))\n"
        "    return ctypes.CFUNCTYPE(*kinds)(library.function(name))(*arguments)\n"
    )
    command = [sys.executable, "-c", program + code, str(tmp_path), str(library_file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode < 0, done
    return done.stderr


@pytest.mark.parametrize(
    "code, words",
    [
        ("call('call_what_is_missing')", "the library calls Sleep of KERNEL32.dll, which is not provided"),
        ("call('not_caught', 1)", "the library does not catch its exception e0000002"),
        ("call('passed_by', 1)", "the library does not catch its exception e0000002"),
        ("call('went_on_wrongly', 1)", "a handler answers 0 to exception e0000001"),
    ],
)
def test_what_cannot_go_on_ends_the_process_with_its_name(
    code: str, words: str, library_file: Path, tmp_path: Path
) -> None:
    assert f"dmlcts: Windows library: {words}" in _died(code, library_file, tmp_path)


# Threads and memory.


def test_each_thread_has_its_block_and_gives_back_what_it_held(call: Call) -> None:
    before = call("sum_of_ended")
    seen: list[tuple[int, int, int]] = []

    def work(number: int) -> None:
        seen.append((call("block_is_itself"), call("remember", number), call("remember", number)))

    for number in range(1, 101):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
    assert seen == [(1, 0, number) for number in range(1, 101)]
    deadline = time.monotonic() + 10  # a joined thread may still be ending
    while call("sum_of_ended") - before < sum(range(1, 101)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert call("sum_of_ended") - before == sum(range(1, 101))


def test_memory_is_given_and_taken_back(call: Call) -> None:
    assert all(call("allocate_and_free", 1 << power) for power in range(24))


def test_no_page_of_the_process_is_writable_and_executable(call: Call, bridge: Bridge) -> None:
    assert call("sum0") == 7
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    held = [line for line in mapped if "windows-bridge" in line or "made.dll" in line]
    assert held
    assert not [line for line in held if "w" in line.split()[1] and "x" in line.split()[1]]
    with pytest.raises(OSError, match="Permission denied"):
        bridge.protect(bridge.reserve(4096), 4096, readable=True, writable=True, executable=True)


# Files.


def test_a_made_up_library_is_loaded_at_an_address_of_its_own(bridge: Bridge) -> None:
    library = WindowsLibrary(bridge, parsed(whole().content()))
    assert ctypes.c_uint64.from_address(library.base + 0x2000).value == library.base + 0x1000
    address = library.function("answer")
    assert address is not None
    assert ctypes.CFUNCTYPE(U)(address)() == 1
    assert library.function("question") is None


def test_a_library_that_refuses_to_begin_is_an_error(bridge: Bridge) -> None:
    with pytest.raises(BadImage, match="entry point refuses"):
        WindowsLibrary(bridge, parsed(Made(code=b"\x31\xc0\xc3").content()))  # xor eax, eax; ret
    WindowsLibrary(bridge, parsed(Made(data_flags=CHANGEABLE).content()))


def test_our_own_library_names_all_that_it_imports(library_file: Path) -> None:
    names: set[Any] = {library_import.name for library_import in read(library_file).imports}
    assert {"RaiseException", "RtlUnwind", "Sleep"} <= names


def test_the_bridge_is_compiled_once(tmp_path: Path) -> None:
    first = compiled(tmp_path)
    state = os.stat(first)
    assert compiled(tmp_path) == first
    assert os.stat(first).st_mtime_ns == state.st_mtime_ns
    assert list(tmp_path.iterdir()) == [first]
    assert compiled(tmp_path, "-O0") != first


def test_every_declared_method_fits_through_a_thunk() -> None:
    """At most twelve arguments, the object and a hidden pointer included, and none of floating point."""
    from dmlcts.backends.directml.abi import d3d12, dml, dxcore

    checked = 0
    for module in (d3d12, dml, dxcore):
        for interface in {member for member in vars(module).values() if isinstance(member, Interface)}:
            for method in interface.methods:
                assert len(method.arguments) + 2 <= 12, f"{interface.name}::{method.name}"
                floating = {ctypes.c_float, ctypes.c_double} & {method.result, *method.arguments}
                assert not floating, f"{interface.name}::{method.name}"
                checked += method.declared
    assert checked > 100
