"""A Windows library in memory: mapped, relocated, its imports filled in, its entry point called."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from dmlcts.backends.directml.windows.bridge import Bridge
from dmlcts.backends.directml.windows.image import BadImage, Image, read

_PAGE = 4096
_PROCESS_ATTACHES = 1


class WindowsLibrary:
    """A library of Windows' in this process; it is never taken out again.

    Args:
        bridge: what connects it.
        image: the library.
        name: what it is called in messages.

    Raises:
        BadImage: its entry point refuses.
        OSError: the system refuses memory of that kind.
        MemoryError: there is no memory.
    """

    def __init__(self, bridge: Bridge, image: Image, name: str = "a library") -> None:
        self._bridge = bridge
        self._image = image
        size = len(image.content)
        self.base = bridge.reserve(size)
        try:
            self._fill()
            self._protect()
            bridge.adopt(name, self.base, size, image.functions, image.resources)
        except BaseException:
            bridge.release(self.base, size)
            raise
        if image.entry:
            attach = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)
            if not attach(bridge.callable_here(self.base + image.entry))(self.base, _PROCESS_ATTACHES, None):
                raise BadImage("the library's entry point refuses to begin")

    def _fill(self) -> None:
        content = self._image.placed(self.base)
        ctypes.memmove(self.base, content.ctypes.data, content.size)
        for wanted in self._image.imports:
            address = self._bridge.system_function(wanted.name)
            if address is None:
                address = self._bridge.missing(f"{wanted.name} of {wanted.library}")
            ctypes.c_uint64.from_address(self.base + wanted.slot).value = address

    def _protect(self) -> None:
        self._bridge.protect(self.base, len(self._image.content), readable=True, writable=False, executable=False)
        for section in self._image.sections:
            self._bridge.protect(
                self.base + section.start,
                -(-section.size // _PAGE) * _PAGE,
                readable=section.readable,
                writable=section.writable,
                executable=section.executable,
            )

    def function(self, name: str) -> int | None:
        """The address of an exported function, to be called from this process; None where there is none."""
        place = self._image.exports.get(name)
        return None if place is None else self._bridge.callable_here(self.base + place)


def load(bridge: Bridge, path: Path) -> WindowsLibrary:
    """The library of a file; the same one for the same file, which is not read again.

    Raises:
        BadImage: the file is no library for this processor, or a damaged one.
        OSError: the file cannot be read, or the system refuses memory of that kind.
    """
    state = path.stat()
    return _loaded(bridge, path.resolve(), state.st_mtime_ns, state.st_size)


@cache
def _loaded(bridge: Bridge, path: Path, changed: int, size: int) -> WindowsLibrary:
    return WindowsLibrary(bridge, read(path), path.name)
