"""COM in ctypes: objects implemented in Python, for native code to call.

An exception in a method implemented in Python cannot pass through native code. It becomes a failing HRESULT,
and is kept in the object's :class:`Faults` for whoever made the call into the library to raise.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from dmlcts.backends.directml.abi.com import HRESULT, NATIVE, PTR, Abi, Convention, Interface, Method, Pointer
from dmlcts.backends.directml.abi.hresults import E_FAIL, E_NOINTERFACE, E_NOTIMPL, E_POINTER


class Faults:
    """The exceptions raised in methods that native code called, until somebody raises them anew."""

    def __init__(self) -> None:
        self._kept: list[BaseException] = []

    def keep(self, error: BaseException) -> None:
        """Remember ``error``."""
        self._kept.append(error)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def take(self) -> BaseException | None:
        """The first kept error, the others as its notes; nothing is kept afterwards.

        One that stops the program, as a keyboard interrupt does, goes before all others.
        """
        kept, self._kept = self._kept, []
        if not kept:
            return None
        first = next((error for error in kept if not isinstance(error, Exception)), kept[0])
        for other in kept:
            if other is not first:
                first.add_note(f"and then {type(other).__name__}: {other}")
        return first


class UnknownCall(Exception):  # noqa: N818 - it is what happened, and an error only by consequence
    """Native code called a method that the object does not implement."""


_LIVE: dict[int, ComObject] = {}


def live_objects() -> Counter[str]:
    """How many objects implemented in Python native code or Python still refers to, by class."""
    return Counter(type(instance).__name__ for instance in _LIVE.values())


class ComObject:
    """A COM object implemented in Python; begins with one reference, its maker's.

    A derived class sets ``interface`` and defines methods by their names in it; they get their arguments as
    integers, pointers as addresses or ``None``, and return what the declaration says: a structure as an
    instance, an HRESULT as an integer or ``None`` for S_OK.

    Args:
        faults: where exceptions go.
        convention: of the library that is to call it.
    """

    interface: ClassVar[Interface]
    _tables: ClassVar[dict[Convention, tuple[list[Any], Any]]]
    _iids: ClassVar[frozenset[bytes]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._iids = cls.interface.lineage()
        cls._tables = {}

    def __init__(self, faults: Faults, convention: Convention = NATIVE) -> None:
        tables = type(self)._tables
        if convention not in tables:
            tables[convention] = _function_table(type(self), convention)
        self.faults = faults
        self.convention = convention
        self.references = 1
        self._block = PTR(ctypes.addressof(tables[convention][1]))
        self.address = ctypes.addressof(self._block)
        _LIVE[self.address] = self

    def QueryInterface(self, iid: int, out: int | None) -> int:
        """Give out another reference where ``iid`` names one of the object's interfaces."""
        if not out:
            return E_POINTER
        place = PTR.from_address(out)
        if ctypes.string_at(iid, 16) not in self._iids:
            place.value = None
            return E_NOINTERFACE
        self.references += 1
        place.value = self.address
        return 0

    def AddRef(self) -> int:
        """Count one more reference."""
        self.references += 1
        return self.references

    def Release(self) -> int:
        """Count one reference less; with the last one the object goes."""
        self.references -= 1
        if self.references == 0:
            del _LIVE[self.address]
            self.destroyed()
        return self.references

    def destroyed(self) -> None:
        """Called once, when the last reference is gone."""

    def pointer(self) -> Pointer:
        """A new reference to the object, for Python code that calls it as any other."""
        self.references += 1
        return Pointer(self.interface, self.address, self.convention)


def implementation(address: int) -> ComObject:
    """The Python object behind a COM pointer that this module gave out.

    Raises:
        UnknownCall: the address is of no such object.
    """
    instance = _LIVE.get(address)
    if instance is None:
        raise UnknownCall(f"the object at {address:#x} is none of the software adapter's")
    return instance


def _function_table(cls: type[ComObject], convention: Convention) -> tuple[list[Any], Any]:
    callbacks = []
    for slot, method in enumerate(cls.interface.methods):
        function = getattr(cls, method.name, None)
        if function is not None and method.declared:
            callbacks.append(_implemented(method, function, convention.abi))
        else:
            callbacks.append(_unimplemented(cls, slot, method))
    addresses = [convention.callable_there(ctypes.cast(callback, PTR).value or 0) for callback in callbacks]
    return callbacks, (PTR * len(addresses))(*addresses)


def _implemented(method: Method, function: Callable[..., Any], abi: Abi) -> Any:
    live = _LIVE
    failure = E_FAIL - (1 << 32) if method.result is HRESULT else 0

    def simple(this: int, *arguments: Any) -> Any:
        try:
            return function(live[this], *arguments)
        except BaseException as error:
            live[this].faults.keep(error)
            return failure

    def judged(this: int, *arguments: Any) -> int:
        try:
            hresult = function(live[this], *arguments) or 0
            return hresult if hresult < 0x80000000 else hresult - (1 << 32)
        except BaseException as error:
            live[this].faults.keep(error)
            return failure

    if not method.returns_structure:
        return method.prototype(abi)(judged if method.result is HRESULT else simple)

    size = ctypes.sizeof(method.result)

    def in_register(this: int, *arguments: Any) -> int:
        try:
            return int.from_bytes(bytes(function(live[this], *arguments)), "little")
        except BaseException as error:
            live[this].faults.keep(error)
            return 0

    def in_memory(first: int, second: int, *arguments: Any) -> int:
        hidden, this = (first, second) if abi is Abi.SYSTEM_V else (second, first)
        try:
            made = function(live[this], *arguments)
            ctypes.memmove(hidden, ctypes.addressof(made), size)
        except BaseException as error:
            live[this].faults.keep(error)
            ctypes.memset(hidden, 0, size)
        return hidden

    return method.prototype(abi)(in_register if method.in_register(abi) else in_memory)


def _unimplemented(cls: type[ComObject], slot: int, method: Method) -> Any:
    """A function for a slot that the class leaves open: it says so, and fails.

    Its arguments are ignored, which both conventions allow, for the caller removes them.
    """

    def refuse(this: int) -> int:
        text = f"{cls.interface.name}::{method.name} (slot {slot}) was called, which {cls.__name__} does not implement"
        _LIVE[this].faults.keep(UnknownCall(text))
        return E_NOTIMPL - (1 << 32)

    return ctypes.CFUNCTYPE(HRESULT, PTR)(refuse)
