"""The native part of the bridge: compiled once into the cache, loaded once in a process."""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from dmlcts.backends.compiling import compiler, run_compiler
from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.abi.com import PTR, Abi, Convention

_SOURCES = Path(__file__).parent / "native"
_FLAGS = ("-std=gnu11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden")
_U32, _U64 = ctypes.c_uint32, ctypes.c_uint64
_SIGNATURES = {
    "callable_here": (PTR, PTR),
    "callable_there": (PTR, PTR),
    "missing": (PTR, ctypes.c_char_p),
    "system_function": (PTR, ctypes.c_char_p),
    "provide": (ctypes.c_int, ctypes.c_char_p, PTR),
    "reserve": (_U64, _U64),
    "release": (None, _U64, _U64),
    "protect": (ctypes.c_int, _U64, _U64, ctypes.c_int, ctypes.c_int, ctypes.c_int),
    "adopt": (ctypes.c_int, ctypes.c_char_p, _U64, _U64, _U64, _U32, _U64, _U32),
}


class Bridge:
    """The loaded native part: thunks between the conventions, Windows' functions, memory for images.

    Args:
        path: of the compiled library.

    Raises:
        BackendUnavailable: it cannot be loaded.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._native = ctypes.CDLL(str(path))
        except OSError as error:
            raise BackendUnavailable(f"{path} cannot be loaded: {error}", "remove it and try again") from error
        for name, (result, *arguments) in _SIGNATURES.items():
            function = getattr(self._native, f"bridge_{name}")
            function.restype = result
            function.argtypes = arguments
        self.convention = Convention(Abi.WINDOWS_X64, self.callable_here, self.callable_there)

    def callable_here(self, address: int) -> int:
        """A function of this process's convention that calls the library's function at ``address``."""
        return self._thunk(self._native.bridge_callable_here(address))

    def callable_there(self, address: int) -> int:
        """A function of the library's convention that calls this process's function at ``address``."""
        return self._thunk(self._native.bridge_callable_there(address))

    def missing(self, name: str) -> int:
        """A function of the library's convention that ends the process and says that ``name`` was called."""
        return self._thunk(self._native.bridge_missing(name.encode()))

    def system_function(self, name: str) -> int | None:
        """Windows' function of that name as this bridge has it, in the library's convention."""
        address: int | None = self._native.bridge_system_function(name.encode())
        return address

    def provide(self, name: str, address: int) -> None:
        """Let libraries that are loaded from now on find this process's function at ``address`` by that name."""
        self._thunk(self._native.bridge_provide(name.encode(), address))

    def reserve(self, size: int) -> int:
        """Memory of ``size`` bytes, readable and writable.

        Raises:
            MemoryError: there is none.
        """
        address = int(self._native.bridge_reserve(size))
        if not address:
            raise MemoryError(f"no memory for a library of {size} bytes")
        return address

    def release(self, address: int, size: int) -> None:
        """Give memory back into which no library was taken."""
        self._native.bridge_release(address, size)

    def protect(self, address: int, size: int, *, readable: bool, writable: bool, executable: bool) -> None:
        """Set what may be done with memory; never writing and executing at once.

        Raises:
            OSError: the system refuses.
        """
        error = self._native.bridge_protect(address, size, readable, writable, executable)
        if error:
            raise OSError(error, os.strerror(error))

    def adopt(self, name: str, address: int, size: int, functions: tuple[int, int], resources: tuple[int, int]) -> None:
        """Take a library in that lies at ``address``: its exceptions and resources are found from now on.

        A fault of its code is said with ``name`` and its place before the process ends.

        Raises:
            OSError: there are too many.
        """
        if not self._native.bridge_adopt(os.fsencode(name), address, size, *functions, *resources):
            raise OSError("this process has loaded as many Windows libraries as it can")

    @staticmethod
    def _thunk(made: int | None) -> int:
        if not made:
            raise BackendUnavailable(
                "this process has no more thunks between Linux and Windows", "judge with a process of its own"
            )
        return made


@cache
def bridge(cache_folder: Path) -> Bridge:
    """The bridge of this process.

    Args:
        cache_folder: where its compiled library is kept.

    Raises:
        BackendUnavailable: there is no C compiler, it failed, or its library cannot be loaded.
    """
    return Bridge(compiled(cache_folder))


def compiled(cache_folder: Path, *options: str) -> Path:
    """The bridge's library, compiled now if it is not there yet.

    Args:
        cache_folder: where it is kept.
        options: for the compiler, after those that it is always given.

    Raises:
        BackendUnavailable: there is no C compiler, or it failed.
    """
    sources = sorted(_SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256("\0".join((*_FLAGS, *options, compiler())).encode())
    for source in sources:
        digest.update(source.read_bytes())
    place = cache_folder / f"windows-bridge-{digest.hexdigest()[:16]}.so"
    if not place.is_file():
        cache_folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="bridge-", dir=cache_folder) as work:
            made = Path(work) / place.name
            code = [str(source) for source in sources if source.suffix == ".c"]
            run_compiler([*_FLAGS, *options, "-o", str(made), *code, "-lpthread"])
            made.replace(place)
    return place
