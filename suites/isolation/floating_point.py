"""The floating-point control word of a thread: what code of an implementation leaves behind, and how it is put right.

A library that was built for speed may set the processor, in the thread that loads or calls it, to flush subnormal
numbers to zero or to round another way. The oracle computes with numpy, and every such setting changes what it
computes. So where the implementation shares the suite's process, :func:`reset` follows each of its calls, in the
thread of that call; threads that are started afterwards inherit what stands there.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache, partial

from dmlcts.specs import DmlctsError

_TINY = 5e-324
_HALF_STEP = 2.0**-53
_WINDOWS_ROUNDING, _WINDOWS_DENORMALS = 0x0000_0300, 0x0300_0000  # _MCW_RC and _MCW_DN of Microsoft's float.h


class ArithmeticChanged(DmlctsError):  # noqa: N818  # it says what happened
    """The thread's arithmetic is not IEEE 754's default, and cannot be put right here: no verdict can be had."""

    def __init__(self, change: str) -> None:
        super().__init__(
            f"after a call of the implementation, this process {change}, and the system offers no way to undo that",
            "give the implementation a process of its own: --isolation process",
        )


def deviation(unit: float = 1.0) -> str:
    """In what this thread's arithmetic departs from IEEE 754's default, in words; "" for nothing.

    Args:
        unit: 1.0; an argument, so that no compiler computes ahead of time what the thread is asked to compute.
    """
    if _TINY * unit == 0.0:
        return "flushes subnormal numbers to zero"
    above, below = unit + _HALF_STEP * 1.5, unit + _HALF_STEP * 0.5
    if above == unit or below != unit:
        return "does not round to the nearest"
    return ""


def reset(resetter: Callable[[], object] | None = None) -> None:
    """Let this thread round to the nearest and keep subnormal numbers.

    Args:
        resetter: puts the control word right; ``None`` for what does it on this system.

    Raises:
        ArithmeticChanged: it does not, and the system offers no way to change that.
    """
    (resetter or _resetter())()
    change = deviation()
    if change:
        raise ArithmeticChanged(change)


class calling:  # noqa: N801  # said with `with`
    """Around every call of the implementation: whatever it did to this thread's arithmetic ends with the call.

    A class takes half the time of a generator, and a run calls it millions of times.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, *error: object) -> None:
        """Put the arithmetic right.

        Raises:
            ArithmeticChanged: as :func:`reset` does.
        """
        reset()


@lru_cache(maxsize=1)
def _resetter() -> Callable[[], object]:
    """What puts the control word right on this system; what does nothing where there is no such thing."""
    try:
        return _on_windows() if sys.platform == "win32" else _on_posix()
    except (AttributeError, OSError, ValueError):
        return lambda: None


def _on_posix() -> Callable[[], object]:
    """``fesetenv(FE_DFL_ENV)``: the constant is -1 to most C libraries, and an object of Apple's."""
    library = ctypes.PyDLL(None)  # giving up the interpreter's lock and converting a result would double the time
    if not hasattr(library, "fesetenv"):  # glibc has it in a library that an interpreter need not load for all
        library = ctypes.PyDLL("libm.so.6")
    library.fesetenv.argtypes = [ctypes.c_void_p]
    library.fesetenv.restype = None
    usual = ctypes.c_void_p(-1)
    if sys.platform == "darwin":
        usual = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, "_FE_DFL_ENV")))
    return partial(library.fesetenv, usual)


def _on_windows() -> Callable[[], object]:
    library = ctypes.CDLL("ucrtbase")
    library._controlfp_s.argtypes = [ctypes.POINTER(ctypes.c_uint), ctypes.c_uint, ctypes.c_uint]
    before = ctypes.c_uint()
    return lambda: library._controlfp_s(ctypes.byref(before), 0, _WINDOWS_ROUNDING | _WINDOWS_DENORMALS)
