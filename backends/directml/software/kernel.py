"""The function around a shader: ``kernel``, which runs it for a box of threads.

Its one argument is a block of bytes: the box, the views and the root constants.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

# First thread and the one after the last in x, y and z; eight bytes unused.
HEADER = struct.Struct("<6I8x")
# Address and number of elements; four bytes unused.
VIEW = struct.Struct("<QI4x")
# How values begin that a shader did not name.
OWN = "%dmlcts."
_INVARIANT = "!invariant.load !1"

# What the accesses in ``memory`` refer to, and the promise for the loop over the threads: those accesses do
# not depend on each other. Threads of a dispatch run in no order, so any order is theirs.
METADATA = '!0 = distinct !{}\n!1 = !{}\n!2 = distinct !{!2, !3}\n!3 = !{!"llvm.loop.parallel_accesses", !0}'


def shader_function(registers: int, lines: Iterable[str]) -> str:
    """The function of one thread, around its lines, which call its arguments by ``OWN`` and a name.

    The names: x, y and z for the thread's number, c for the constants, u0, n0, u1, ... for the views.
    """
    arguments = [f"i32 {OWN}{axis}" for axis in "xyz"] + [f"ptr {OWN}c"]
    for place in range(registers):
        arguments += [f"ptr {OWN}u{place}", f"i32 {OWN}n{place}"]
    head = f"define internal void @dmlcts.shader({', '.join(arguments)}) alwaysinline nounwind {{"
    return "\n".join((head, *lines, "}"))


def kernel(registers: int, rows: int) -> str:
    """``kernel``, with x innermost so that threads side by side can share a vector.

    Args:
        registers: of views.
        rows: of 16 bytes of constants.
    """
    constants = HEADER.size + VIEW.size * registers
    size = constants + 16 * rows
    lines = [f"define void @kernel(ptr noalias readonly dereferenceable({size}) %a) nounwind {{", "entry:"]
    for place, name in enumerate(("x0", "x1", "y0", "y1", "z0", "z1")):
        lines += _field(name, "i32", 4 * place)
    for place in range(registers):
        start = HEADER.size + VIEW.size * place
        lines += _field(f"u{place}", "ptr", start) + _field(f"n{place}", "i32", start + 8)
    views = "".join(f", ptr %u{place}, i32 %n{place}" for place in range(registers))
    lines += [
        f"  %c = getelementptr i8, ptr %a, i64 {constants}",
        "  br label %planes",
        "planes:",
        "  %z = phi i32 [ %z0, %entry ], [ %zn, %plane ]",
        "  br label %rows",
        "rows:",
        "  %y = phi i32 [ %y0, %planes ], [ %yn, %row ]",
        "  br label %threads",
        "threads:",
        "  %x = phi i32 [ %x0, %rows ], [ %xn, %threads ]",
        f"  call void @dmlcts.shader(i32 %x, i32 %y, i32 %z, ptr %c{views})",
        *_next("x", "threads", "row", ", !llvm.loop !2"),
        "row:",
        *_next("y", "rows", "plane"),
        "plane:",
        *_next("z", "planes", "done"),
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _field(name: str, kind: str, offset: int) -> list[str]:
    return [
        f"  %p{name} = getelementptr i8, ptr %a, i64 {offset}",
        f"  %{name} = load {kind}, ptr %p{name}, align 4, {_INVARIANT}",
    ]


def _next(axis: str, again: str, out: str, note: str = "") -> list[str]:
    return [
        f"  %{axis}n = add nuw nsw i32 %{axis}, 1",
        f"  %{axis}m = icmp ult i32 %{axis}n, %{axis}1",
        f"  br i1 %{axis}m, label %{again}, label %{out}{note}",
    ]
