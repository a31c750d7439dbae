"""The COM layer calls and implements interfaces: each against the other, and against a C++ compiler's."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dmlcts.backends.directml.abi import hresults
from dmlcts.backends.directml.abi.com import (
    HRESULT,
    NATIVE,
    PTR,
    U32,
    U64,
    Abi,
    ComError,
    Convention,
    Interface,
    IUnknown,
    Method,
    Pointer,
    guid,
)
from dmlcts.backends.directml.abi.com_object import ComObject, Faults, UnknownCall, implementation, live_objects

HERE = Path(__file__).parent


class Small(ctypes.Structure):
    _fields_: ClassVar = [("low", U32), ("high", ctypes.c_int32)]


class Large(ctypes.Structure):
    _fields_: ClassVar = [("first", U32), ("second", U64), ("third", U64)]


class Middling(ctypes.Structure):
    _fields_: ClassVar = [("first", U64), ("second", U64)]


IThing = Interface(
    "IThing",
    "11111111-2222-3333-4444-555555555555",
    IUnknown,
    [
        Method("Add", U32, U32, U32),
        Method("Judge", HRESULT, U32),
        Method("Forget", None, U32),
        Method("SmallOne", Small, U32),
        Method("LargeOne", Large, U32),
        Method("Undeclared"),
    ],
)
IOther = Interface("IOther", "99999999-2222-3333-4444-555555555555", IUnknown, [Method("Nothing", HRESULT)])


class Thing(ComObject):
    interface = IThing

    def __init__(self, faults: Faults, convention: Convention = NATIVE) -> None:
        super().__init__(faults, convention)
        self.seen: list[int] = []

    def Add(self, a: int, b: int) -> int:
        return a + b

    def Judge(self, hresult: int) -> int | None:
        if hresult == 1000:
            raise ValueError("judged in vain")
        if hresult == 1001:
            raise KeyboardInterrupt
        return hresult or None

    def Forget(self, number: int) -> None:
        if number == 1000:
            raise ValueError("not forgotten")
        self.seen.append(number)

    def SmallOne(self, number: int) -> Small:
        if number == 1000:
            raise ValueError("too small")
        return Small(number, -number)

    def LargeOne(self, number: int) -> Large:
        if number == 1000:
            raise ValueError("too large")
        return Large(number, number << 40, number + 1)


WINDOWS = Convention(Abi.WINDOWS_X64)


class Silent(ComObject):
    """Implements nothing of its interface."""

    interface = IThing


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.mark.parametrize("convention", [NATIVE, WINDOWS])
def test_methods_take_arguments_and_return_numbers(convention: Convention, faults: Faults) -> None:
    thing = Thing(faults, convention)
    pointer = thing.pointer()
    assert pointer.call("Add", 40, 2) == 42
    assert pointer.call("Forget", 7) is None
    assert thing.seen == [7]
    assert not faults
    pointer.release()
    thing.Release()


@pytest.mark.parametrize("convention", [NATIVE, WINDOWS])
def test_structures_come_back_by_value_in_both_conventions(convention: Convention, faults: Faults) -> None:
    thing = Thing(faults, convention)
    pointer = thing.pointer()
    small, large = pointer.call("SmallOne", 5), pointer.call("LargeOne", 6)
    assert (small.low, small.high) == (5, -5)
    assert (large.first, large.second, large.third) == (6, 6 << 40, 7)
    assert not faults
    pointer.release()
    thing.Release()


def test_the_hidden_pointer_stands_before_this_on_system_v_and_after_it_on_windows() -> None:
    large, small = IThing.methods[IThing.slots["LargeOne"]], IThing.methods[IThing.slots["SmallOne"]]
    assert not large.in_register(Abi.SYSTEM_V)
    assert small.in_register(Abi.SYSTEM_V)
    assert not large.in_register(Abi.WINDOWS_X64)
    assert not small.in_register(Abi.WINDOWS_X64)
    with pytest.raises(TypeError, match="two registers"):
        Method("Odd", Middling).in_register(Abi.SYSTEM_V)


def test_a_call_in_the_other_convention_mistakes_this(faults: Faults) -> None:
    """The control of the two tests above: the conventions really differ, so a swap would be seen."""
    out, this = Large(), 0x1234
    seen: list[tuple[int, int]] = []
    order = IThing.methods[IThing.slots["LargeOne"]].prototype(Abi.SYSTEM_V)

    def record(first: int, second: int, number: int) -> int:
        seen.append((first, second))
        return first

    callback = order(record)
    table = (PTR * len(IThing.methods))(*[ctypes.cast(callback, PTR).value] * len(IThing.methods))
    block = PTR(ctypes.addressof(table))
    for convention in (Convention(Abi.SYSTEM_V), WINDOWS):
        IThing.calls(ctypes.addressof(block), convention)["LargeOne"](this, 1)
    assert [first == this for first, _ in seen] == [False, True]
    assert [second == this for _, second in seen] == [True, False]
    del out


@pytest.mark.parametrize("hresult", [0, 1, hresults.E_INVALIDARG, hresults.DXGI_ERROR_DEVICE_REMOVED])
def test_hresults_keep_all_their_bits(hresult: int, faults: Faults) -> None:
    with Thing(faults).pointer() as pointer:
        implementation(pointer.address).Release()
        assert hresults.unsigned(pointer.call("Judge", hresult)) == hresult
        assert hresults.failed(hresult) == (hresult >= 1 << 31)
        if hresults.failed(hresult):
            with pytest.raises(ComError, match=r"IThing::Judge returned \w+ \(0x8"):
                pointer.check("Judge", hresult)
        else:
            pointer.check("Judge", hresult)


def test_an_hresult_is_shown_by_name_and_number() -> None:
    assert hresults.name_of(0x80070057) == "E_INVALIDARG (0x80070057)"
    assert hresults.name_of(0x887A0005 - (1 << 32)) == "DXGI_ERROR_DEVICE_REMOVED (0x887a0005)"
    assert hresults.name_of(0x80091234) == "0x80091234"


@pytest.mark.parametrize(
    "method, answer",
    [("Judge", hresults.E_FAIL - (1 << 32)), ("Forget", None), ("SmallOne", Small), ("LargeOne", Large)],
)
def test_an_exception_in_a_method_becomes_a_failure_and_is_kept(method: str, answer: Any, faults: Faults) -> None:
    thing = Thing(faults)
    pointer = thing.pointer()
    returned = pointer.call(method, 1000)
    if isinstance(answer, type):
        assert bytes(returned) == bytes(answer())
    else:
        assert returned == answer
    kept = faults.take()
    assert isinstance(kept, ValueError)
    assert not faults
    pointer.release()
    thing.Release()


def test_a_keyboard_interrupt_in_a_method_is_kept_before_all_others(faults: Faults) -> None:
    thing = Thing(faults)
    pointer = thing.pointer()
    for number in (1000, 1001, 1000):
        assert pointer.call("Judge", number) == hresults.E_FAIL - (1 << 32)
    kept = faults.take()
    assert isinstance(kept, KeyboardInterrupt)
    assert kept.__notes__ == ["and then ValueError: judged in vain"] * 2
    assert faults.take() is None
    pointer.release()
    thing.Release()


def test_a_slot_that_is_not_implemented_states_its_name_and_number(faults: Faults) -> None:
    silent = Silent(faults)
    pointer = silent.pointer()
    assert hresults.unsigned(pointer.call("Judge", 0)) == hresults.E_NOTIMPL
    kept = faults.take()
    assert isinstance(kept, UnknownCall)
    assert str(kept) == "IThing::Judge (slot 4) was called, which Silent does not implement"
    pointer.release()
    silent.Release()


def test_a_method_without_a_signature_cannot_be_called(faults: Faults) -> None:
    thing = Thing(faults)
    with thing.pointer() as pointer, pytest.raises(TypeError, match="IThing::Undeclared"):
        pointer.call("Undeclared")
    thing.Release()


def test_references_are_counted_and_the_last_one_ends_the_object(faults: Faults) -> None:
    before = live_objects()["Thing"]
    thing = Thing(faults)
    pointer = thing.pointer()
    again = pointer.query(IUnknown)
    assert (thing.references, live_objects()["Thing"]) == (3, before + 1)
    assert pointer.call("AddRef") == 4
    assert pointer.call("Release") == 3
    again.release()
    again.release()
    pointer.release()
    assert thing.references == 1
    thing.Release()
    assert live_objects()["Thing"] == before
    with pytest.raises(UnknownCall):
        implementation(thing.address)


def test_an_object_lives_while_only_native_code_refers_to_it(faults: Faults) -> None:
    pointer = Thing(faults).pointer()
    gc.collect()
    assert pointer.call("Add", 1, 2) == 3
    pointer.call("Release")
    pointer.release()


def test_only_the_interfaces_of_the_lineage_are_given_out(faults: Faults) -> None:
    thing = Thing(faults)
    pointer = thing.pointer()
    for interface in (IThing, IUnknown):
        pointer.query(interface).release()
    with pytest.raises(ComError, match="E_NOINTERFACE"):
        pointer.query(IOther)
    assert hresults.unsigned(pointer.call("QueryInterface", IThing.iid, None)) == hresults.E_POINTER
    assert thing.references == 2
    pointer.release()
    thing.Release()


def test_success_without_an_object_is_an_error(faults: Faults) -> None:
    class Liar(Thing):
        def QueryInterface(self, iid: int, out: int | None) -> int:
            assert out
            PTR.from_address(out).value = None
            return 0

    liar = Liar(faults)
    pointer = liar.pointer()
    with pytest.raises(ComError, match="gave no object"):
        pointer.query(IThing)
    pointer.release()
    liar.Release()


def test_a_guid_lies_in_memory_as_windows_has_it() -> None:
    assert guid("00112233-4455-6677-8899-aabbccddeeff").hex() == "33221100554477668899aabbccddeeff"


_CPLUSPLUS = r"""
#include <cstdint>
struct Small { uint32_t low; int32_t high; };
struct Large { uint32_t first; uint64_t second; uint64_t third; };
struct IThing {
    virtual int32_t QueryInterface(const void *, void **) = 0;
    virtual uint32_t AddRef() = 0;
    virtual uint32_t Release() = 0;
    virtual uint32_t Add(uint32_t, uint32_t) = 0;
    virtual int32_t Judge(uint32_t) = 0;
    virtual void Forget(uint32_t) = 0;
    virtual Small SmallOne(uint32_t) = 0;
    virtual Large LargeOne(uint32_t) = 0;
};
struct Thing : IThing {
    int32_t QueryInterface(const void *, void **) override { return (int32_t)0x80004002; }
    uint32_t AddRef() override { return 1; }
    uint32_t Release() override { return 1; }
    uint32_t Add(uint32_t a, uint32_t b) override { return a + b; }
    int32_t Judge(uint32_t h) override { return (int32_t)h; }
    void Forget(uint32_t) override {}
    Small SmallOne(uint32_t n) override { return {n, -(int32_t)n}; }
    Large LargeOne(uint32_t n) override { return {n, (uint64_t)n << 40, (uint64_t)n + 1}; }
};
static Thing thing;
extern "C" void *the_thing() { return &thing; }
extern "C" uint64_t use(IThing *it, uint32_t n) {
    Small small = it->SmallOne(n);
    Large large = it->LargeOne(n);
    return it->Add(small.low, (uint32_t)-small.high) + large.first + (large.second >> 40) + large.third;
}
"""


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("c++"), reason="needs a C++ compiler, on Linux")
def test_a_cplusplus_compiler_agrees_in_both_directions(tmp_path: Path, faults: Faults) -> None:
    (tmp_path / "thing.cpp").write_text(_CPLUSPLUS)
    made = tmp_path / "thing.so"
    command = ["c++", "-shared", "-fPIC", "-fno-rtti", "-fno-exceptions", "-nostdlib++", "-o", str(made)]
    done = subprocess.run([*command, str(tmp_path / "thing.cpp")], capture_output=True, text=True, check=False)
    if done.returncode:
        done = subprocess.run(
            [*[word for word in command if word != "-nostdlib++"], str(tmp_path / "thing.cpp")],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    library = ctypes.CDLL(str(made))
    library.the_thing.restype = PTR
    library.use.restype = U64
    library.use.argtypes = (PTR, U32)

    theirs = Pointer(IThing, library.the_thing())
    small, large = theirs.call("SmallOne", 5), theirs.call("LargeOne", 6)
    assert (small.low, small.high, large.first, large.second, large.third) == (5, -5, 6, 6 << 40, 7)
    assert theirs.call("Add", 40, 2) == 42

    ours = Thing(faults)
    assert library.use(ours.address, 9) == 9 + 9 + 9 + 9 + 10
    assert library.use(theirs.address, 9) == library.use(ours.address, 9)
    ours.Release()
