"""Implementations that change the process in which they run, by accident or on purpose.

Each is wrong, and becomes right where the judge shares its process; :class:`RightAndFlushing` is right, and becomes
wrong there. None of it may matter.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.mutants.reference import Array, Kernel, Reference

FLUSHING = {"x86_64": 0x8040, "aarch64": 1 << 24}
"""The bits of the control word that flush subnormal numbers: FTZ and DAZ, or FZ."""
TOWARD_ZERO = {"x86_64": 0x6000, "aarch64": 0xC0_0000}
"""The bits of the control word that round toward zero."""
_PLACE = {"x86_64": 7, "aarch64": 0}  # of the control word in Linux' fenv_t, in words of four bytes
MACHINE = platform.machine()
CAN_CHANGE = sys.platform == "linux" and MACHINE in _PLACE
WHY_NOT = "knows where the control word stands in Linux' fenv_t, on x86-64 and 64-bit Arm"


def set_bits(bits: Mapping[str, int]) -> None:
    """Set bits of this thread's floating-point control word, as a library built for speed does."""
    _change(lambda word: word | bits[MACHINE])


def clear_bits(bits: Mapping[str, int]) -> None:
    """Clear bits of this thread's floating-point control word."""
    _change(lambda word: word & ~bits[MACHINE])


def _change(made: Callable[[int], int]) -> None:
    library = ctypes.CDLL(None)
    words = (ctypes.c_uint32 * 16)()
    library.fegetenv(words)
    words[_PLACE[MACHINE]] = made(words[_PLACE[MACHINE]])
    library.fesetenv(words)


def flushed(values: Array) -> Array:
    """The values with zeros for subnormal numbers, found by their bits alone."""
    if values.dtype != np.float32:
        return values
    bits = values.view(np.uint32)
    bits[(bits & np.uint32(0x7F80_0000)) == 0] &= np.uint32(0x8000_0000)
    return values


class Flushing(Reference):
    """Flushes subnormal FLOAT32 numbers, and leaves the processor set to do so; ``at`` says in which call."""

    def open(self, at: str = "dispatch") -> Flushing:
        self.at = at
        self.spoil("open")
        return self

    def spoil(self, call: str) -> None:
        if call == self.at:
            set_bits(FLUSHING)

    def create(self, operator: OperatorDesc) -> Kernel:
        self.spoil("create")
        return super().create(operator)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return flushed(super().compute(operator, x))

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        self.spoil("dispatch")
        if self.at == "raise":
            set_bits(FLUSHING)
            raise RuntimeError("after it had set the processor to flush")


class RightAndFlushing(Flushing):
    """Right, but it leaves the processor set to flush subnormal numbers."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return Reference.compute(self, operator, x)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        clear_bits(FLUSHING)
        super().dispatch(operator, memory, bindings)


class Truncating(Reference):
    """Rounds halves toward zero, and leaves the processor set to round so."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        set_bits(TOWARD_ZERO)


class Loading(Reference):
    """Flushes, and loads the shared library that the option names; what that does when it is loaded is its business."""

    def open(self, library: str = "") -> Loading:
        self.library = ctypes.CDLL(library)
        return self

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return flushed(super().compute(operator, x))


class _Fives(Reference):
    """Gives bytes of 0x55, whatever it is asked."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return np.full(x.shape, 0x55, np.uint8).repeat(x.itemsize, -1).view(x.dtype)


class ReplacesTheComparison(_Fives):
    """Replaces the judge's first comparison by one that is content."""

    def open(self) -> ReplacesTheComparison:
        from dmlcts.specs.oracle.blocks import BlockJudge

        BlockJudge.certifies = lambda *_: True  # type: ignore[method-assign]
        return self


class ReplacesNumpy(_Fives):
    """Replaces numpy's functions that compare."""

    def open(self) -> ReplacesNumpy:
        np.not_equal = _equal_always  # type: ignore[assignment]
        return self


def _equal_always(*_: Any, out: Array | None = None) -> Array:
    assert out is not None
    out[...] = False
    return out


class ReplacesTheTotals(_Fives):
    """Makes totals that count nothing as wrong."""

    def open(self) -> ReplacesTheTotals:
        from dmlcts.suites.sweeping.blocks.totals import Totals

        def nothing(totals: Totals, x: Array, *_: object) -> None:
            totals.exact += x.size

        Totals.blame = nothing  # type: ignore[assignment,method-assign]
        return self
