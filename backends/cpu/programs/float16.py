"""FLOAT16 by way of FLOAT32, tables of all its patterns, and its patterns as integers that count as the numbers do.

FLOAT32 holds every FLOAT16 value. One addition, subtraction, multiplication, division or square root of two of them,
rounded to FLOAT32 and then to FLOAT16, is the one that is rounded once, because 24 bits are at least 2 * 11 + 2; what
gives FLOAT16 values again, as clamping does, comes back unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.program import Array, Program
from dmlcts.specs import DataType, TensorDesc

_PATTERNS = 1 << 16
# A table of every FLOAT16 pattern costs as much as so many elements: it is made once as many were computed.
TABLE_ELEMENTS = 1 << 17


def floating(program: Program, tensor: TensorDesc) -> Program:
    """``program`` of one input, which computes in FLOAT32, made fit for blocks of the type of ``tensor``."""
    if tensor.data_type is not DataType.FLOAT16:
        return program
    widened = in_float32(program)
    return _tabulated(widened) if tensor.element_count >= TABLE_ELEMENTS else _tabulated_later(widened)


def in_float32(program: Program) -> Program:
    """``program``, which computes in FLOAT32, on blocks of FLOAT16."""

    def widened(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        wide = [source.astype(np.float32) for source in sources]
        program(wide, wide[0], np.empty_like(wide[0]))
        np.copyto(target, wide[0], casting="same_kind")

    return widened


def _tabulated(program: Program) -> Program:
    """``program`` of one FLOAT16 input, looked up: numpy converts FLOAT16 slower than it reads a table."""
    patterns = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    table = np.empty_like(patterns)
    with np.errstate(all="ignore"):
        program((patterns,), table, np.empty_like(patterns))

    def look_up(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        np.take(table, sources[0].view(np.uint16), out=target, mode="clip")

    return look_up


def _tabulated_later(program: Program) -> Program:
    """``program`` of one FLOAT16 input, looked up as soon as it has computed as many elements as a table has."""
    left, now = _PATTERNS, program

    def counted(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        nonlocal left, now
        if left > 0:
            left -= target.size
        elif now is program:
            now = _tabulated(program)
        now(sources, target, scratch)

    return counted


def ordinal(bits: Array, out: Array | None = None) -> Array:
    """FLOAT16 patterns, as ``int16``, as integers that count as the numbers do, -0 next below +0; its own inverse."""
    flipped = np.bitwise_and(np.right_shift(bits, 15), np.int16(0x7FFF))
    return np.bitwise_xor(bits, flipped, out=out)
