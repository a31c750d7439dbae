"""COM in ctypes: interfaces declared once, to be called (here) and to be implemented (``com_object``).

A COM object is a pointer to a structure that begins with a pointer to a table of functions. How those are
called differs between platforms in one point, structures returned by value (:class:`Abi`); everything else is
the platform's ordinary convention for functions, which is ctypes' own.
"""

from __future__ import annotations

import ctypes
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dmlcts.backends.directml.abi import hresults
from dmlcts.backends.directml.abi.hresults import E_POINTER, name_of

HRESULT = ctypes.c_int32
U32 = ctypes.c_uint32
U64 = ctypes.c_uint64
SIZE = ctypes.c_size_t
PTR = ctypes.c_void_p
BOOL = ctypes.c_int32

_POINTER_BYTES = ctypes.sizeof(PTR)
_ABSENT = object()


class Abi(Enum):
    """How a method returns a structure.

    ``SYSTEM_V``: up to eight bytes in a register, larger ones through a hidden pointer that comes before
    ``this``. ``WINDOWS_X64``: always through a hidden pointer, which comes after ``this``. Both return that
    pointer. Source: the System V x86-64 psABI 3.2.3; Microsoft's "x64 calling convention", and its rule for
    member functions, which return every structure through the pointer.
    """

    SYSTEM_V = "System V"
    WINDOWS_X64 = "Windows x64"

    @classmethod
    def here(cls) -> Abi:
        """That of this process's own functions."""
        return cls.WINDOWS_X64 if sys.platform == "win32" else cls.SYSTEM_V


@dataclass(frozen=True)
class Convention:
    """How one library is called, and how it calls what it is given. It belongs to the library, not to the process.

    Args:
        abi: how its methods return structures.
        callable_here: from the address of a function of the library to one that this process's own functions can call.
        callable_there: from the address of a function of this process to one that the library can call.
    """

    abi: Abi
    callable_here: Callable[[int], int] = int
    callable_there: Callable[[int], int] = int


NATIVE = Convention(Abi.here())


def guid(text: str) -> bytes:
    """The 16 bytes of a GUID as they lie in memory, from its written form."""
    return uuid.UUID(text).bytes_le


class ComError(Exception):
    """A call returned a failing HRESULT.

    Args:
        call: the method or function, as "IDMLDevice::CreateOperator".
        hresult: what it returned.
    """

    def __init__(self, call: str, hresult: int) -> None:
        super().__init__(f"{call} returned {name_of(hresult)}")
        self.call = call
        self.hresult = hresults.unsigned(hresult)


def check(call: str, hresult: int) -> None:
    """Refuse the result of a call that failed.

    Raises:
        ComError: ``hresult`` is a failure; it holds the call and the HRESULT.
    """
    if hresult & 0x80000000:
        raise ComError(call, hresult)


class Method:
    """One slot of an interface.

    Args:
        name: the method's name.
        result: the ctypes type it returns; ``None`` for void; a ``Structure`` is returned by value.
        arguments: the ctypes types of its arguments after ``this``. Structures by value of up to eight bytes
            are declared as the integer of their size.
    """

    def __init__(self, name: str, result: Any = _ABSENT, *arguments: Any) -> None:
        self.name = name
        self.declared = result is not _ABSENT
        self.result: Any = result if self.declared else HRESULT
        self.arguments = arguments
        self.returns_structure = isinstance(self.result, type) and issubclass(self.result, ctypes.Structure)

    def in_register(self, abi: Abi) -> bool:
        """Whether the structure that the method returns comes back in a register.

        Raises:
            TypeError: it would take two registers, which nothing here needs.
        """
        size = ctypes.sizeof(self.result)
        if abi is Abi.WINDOWS_X64 or size > 16:
            return False
        if size > 8:
            raise TypeError(f"{self.name} returns {size} bytes, which need two registers")
        return True

    def prototype(self, abi: Abi) -> Any:
        """The function type, the hidden pointer and ``this`` included."""
        if not self.returns_structure:
            return ctypes.CFUNCTYPE(self.result, PTR, *self.arguments)
        if self.in_register(abi):
            return ctypes.CFUNCTYPE(U64, PTR, *self.arguments)
        return ctypes.CFUNCTYPE(PTR, PTR, PTR, *self.arguments)


class Interface:
    """An interface: its IID and its methods in the order of their slots, those of its base first.

    Args:
        name: as in Microsoft's headers.
        iid: in its written form.
        base: the interface it derives from; ``None`` for IUnknown alone.
        methods: its own, in order. One without a signature occupies its slot and can neither be called nor
            implemented.
    """

    def __init__(self, name: str, iid: str, base: Interface | None, methods: Sequence[Method] = ()) -> None:
        self.name = name
        self.iid_text = iid
        self.iid = guid(iid)
        self.base = base
        self.methods: tuple[Method, ...] = (*(base.methods if base else ()), *methods)
        self.slots: Mapping[str, int] = {method.name: slot for slot, method in enumerate(self.methods)}
        self._calls: dict[tuple[int, Convention], Calls] = {}

    def __repr__(self) -> str:
        return f"Interface({self.name})"

    def lineage(self) -> frozenset[bytes]:
        """The IIDs of the interface and of all that it derives from."""
        return frozenset({self.iid}) | (self.base.lineage() if self.base else frozenset())

    def calls(self, address: int, convention: Convention = NATIVE) -> Calls:
        """The methods of the object at ``address``, by name, each a function that takes ``this`` first."""
        table = PTR.from_address(address).value or 0
        key = (table, convention)
        methods = self._calls.get(key)
        if methods is None:
            methods = self._calls[key] = Calls(self, *key)
        return methods


IUnknown = Interface(
    "IUnknown",
    "00000000-0000-0000-c000-000000000046",
    None,
    [
        Method("QueryInterface", HRESULT, PTR, PTR),
        Method("AddRef", U32),
        Method("Release", U32),
    ],
)


# Calling.


class Calls(dict[str, Callable[..., Any]]):
    """The methods found in one table of functions, made ready when they are first looked up."""

    def __init__(self, interface: Interface, table: int, convention: Convention) -> None:
        super().__init__()
        self._interface = interface
        self._table = table
        self._convention = convention

    def __missing__(self, name: str) -> Callable[..., Any]:
        slot = self._interface.slots[name]
        method = self._interface.methods[slot]
        if not method.declared:
            raise TypeError(f"{self._interface.name}::{name} is declared without a signature")
        address = PTR.from_address(self._table + slot * _POINTER_BYTES).value or 0
        abi = self._convention.abi
        function = method.prototype(abi)(self._convention.callable_here(address))
        self[name] = made = _returning(method, function, abi) if method.returns_structure else function
        return made


def _returning(method: Method, function: Callable[..., Any], abi: Abi) -> Callable[..., Any]:
    """``function``, whose structure comes back in a register or through a pointer, as one that returns it."""
    structure = method.result
    if method.in_register(abi):

        def from_register(this: int, *arguments: Any) -> Any:
            return structure.from_buffer_copy(U64(function(this, *arguments)))

        return from_register

    def from_memory(this: int, *arguments: Any) -> Any:
        made = structure()
        hidden = ctypes.addressof(made)
        function(*((hidden, this) if abi is Abi.SYSTEM_V else (this, hidden)), *arguments)
        return made

    return from_memory


class Pointer:
    """A reference to a COM object, released once.

    Args:
        interface: what the object is called through.
        address: of the object; the reference is taken over, not added.
        convention: of the library whose object it is.
    """

    __slots__ = ("address", "calls", "convention", "interface")

    def __init__(self, interface: Interface, address: int, convention: Convention = NATIVE) -> None:
        self.interface = interface
        self.address = address
        self.convention = convention
        self.calls = interface.calls(address, convention)

    def __repr__(self) -> str:
        return f"Pointer({self.interface.name}, {self.address:#x})"

    def call(self, method: str, *arguments: Any) -> Any:
        """Call ``method`` and return what it returns; an HRESULT is not judged."""
        return self.calls[method](self.address, *arguments)

    def check(self, method: str, *arguments: Any) -> None:
        """Call ``method``.

        Raises:
            ComError: it returned a failing HRESULT.
        """
        hresult = self.calls[method](self.address, *arguments)
        if hresult & 0x80000000:
            raise ComError(f"{self.interface.name}::{method}", hresult)

    def make(self, method: str, interface: Interface, *arguments: Any) -> Pointer:
        """Call ``method``, whose last two arguments are an IID and the place for a new object.

        Raises:
            ComError: it returned a failing HRESULT, or success without an object.
        """
        made = PTR()
        self.check(method, *arguments, interface.iid, ctypes.byref(made))
        return taken(f"{self.interface.name}::{method}", interface, made, self.convention)

    def query(self, interface: Interface) -> Pointer:
        """Another interface of the same object, as a reference of its own.

        Raises:
            ComError: the object has no such interface.
        """
        return self.make("QueryInterface", interface)

    def release(self) -> None:
        """Give the reference back; calling it again does nothing."""
        address, self.address = self.address, 0
        if address:
            self.calls["Release"](address)

    def __enter__(self) -> Pointer:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def taken(call: str, interface: Interface, made: ctypes.c_void_p, convention: Convention = NATIVE) -> Pointer:
    """The object of a library of that convention that ``call`` has put into ``made``.

    Raises:
        ComError: there is none, although the call succeeded.
    """
    if not made.value:
        raise ComError(f"{call} gave no object and", E_POINTER)
    return Pointer(interface, made.value, convention)
