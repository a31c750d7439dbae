"""The function around a shader: ``kernel``, which runs it for a box of threads.

Its one argument is a block of bytes: the box, the views and the root constants.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

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


def shader_function(name: str, registers: int, arrays: int, lines: Iterable[str]) -> str:
    """The function of one thread, around its lines, which call its arguments by ``OWN`` and a name.

    The names: x, y and z for the thread's number, c for the constants, u0, n0, u1, ... for the views, shared0, ...
    for the arrays that its group shares.
    """
    arguments = [f"i32 {OWN}{axis}" for axis in "xyz"] + [f"ptr {OWN}c"]
    for place in range(registers):
        arguments += [f"ptr {OWN}u{place}", f"i32 {OWN}n{place}"]
    arguments += [f"ptr {OWN}shared{place}" for place in range(arrays)]
    head = f"define internal void @dmlcts.{name}({', '.join(arguments)}) alwaysinline nounwind {{"
    return "\n".join((head, *lines, "}"))


def kernel(registers: int, rows: int) -> str:
    """``kernel`` for a shader whose threads know nothing of each other: @dmlcts.phase0 for each.

    Args:
        registers: of views.
        rows: of 16 bytes of constants.
    """
    call = f"  call void @dmlcts.phase0(i32 %x, i32 %y, i32 %z, ptr %c{_views(registers)})"
    box = _box("", [(axis, f"%{axis}0", f"%{axis}1", 1) for axis in "zyx"], [call])
    return "\n".join([*_head(registers, rows), *box, "  ret void", "}"])


def group_kernel(registers: int, rows: int, threads: tuple[int, int, int], arrays: Sequence[int], phases: int) -> str:
    """``kernel`` for a shader with barriers: group by group, in each @dmlcts.phase0 for every thread, then phase1 ...

    Args:
        registers: of views.
        rows: of 16 bytes of constants.
        threads: of a group.
        arrays: bytes of each shared array; they are 0 when the first group begins.
        phases: how many.
    """
    lines = _head(registers, rows)
    shared = ""
    for place, size in enumerate(arrays):
        lines += [
            f"  %shared{place} = alloca [{size} x i8], align 16",
            f"  store [{size} x i8] zeroinitializer, ptr %shared{place}, align 16",
        ]
        shared += f", ptr %shared{place}"
    inner: list[str] = []
    axes = list(zip("xyz", threads, strict=True))[::-1]
    for phase in range(phases):
        ends = [f"  %e{axis}.{phase} = add i32 %g{axis}, {size}" for axis, size in axes]
        call = f"  call void @dmlcts.phase{phase}(i32 %x.{phase}, i32 %y.{phase}, i32 %z.{phase}, ptr %c"
        call += f"{_views(registers)}{shared})"
        loops = [(f"{axis}.{phase}", f"%g{axis}", f"%e{axis}.{phase}", 1) for axis, _ in axes]
        inner += [*ends, *_box(f".{phase}", loops, [call])]
    groups = _box("g", [(f"g{axis}", f"%{axis}0", f"%{axis}1", size) for axis, size in axes], inner)
    return "\n".join([*lines, *groups, "  ret void", "}"])


def _views(registers: int) -> str:
    return "".join(f", ptr %u{place}, i32 %n{place}" for place in range(registers))


def _head(registers: int, rows: int) -> list[str]:
    """The beginning of ``kernel``: the box as %x0, %x1, ..., views as %u and %n, constants as %c."""
    constants = HEADER.size + VIEW.size * registers
    size = constants + 16 * rows
    lines = [f"define void @kernel(ptr noalias readonly dereferenceable({size}) %a) nounwind {{", "entry:"]
    for place, name in enumerate(("x0", "x1", "y0", "y1", "z0", "z1")):
        lines += _field(name, "i32", 4 * place)
    for place in range(registers):
        start = HEADER.size + VIEW.size * place
        lines += _field(f"u{place}", "ptr", start) + _field(f"n{place}", "i32", start + 8)
    return [*lines, f"  %c = getelementptr i8, ptr %a, i64 {constants}"]


def _box(mark: str, loops: Sequence[tuple[str, str, str, int]], inner: Sequence[str]) -> list[str]:
    """Loops around ``inner``, each (variable, first, end, step), the outermost first; none of them is empty."""
    if not loops:
        return list(inner)
    (name, first, end, step), *others = loops
    innermost = not others
    body = _box(mark, others, inner)
    return [
        f"  br label %before.{name}",
        f"before.{name}:",
        f"  br label %loop.{name}",
        f"loop.{name}:",
        f"  %{name} = phi i32 [ {first}, %before.{name} ], [ %next.{name}, %last.{name} ]",
        *body,
        f"  br label %last.{name}",
        f"last.{name}:",
        f"  %next.{name} = add nuw nsw i32 %{name}, {step}",
        f"  %more.{name} = icmp ult i32 %next.{name}, {end}",
        f"  br i1 %more.{name}, label %loop.{name}, label %after.{name}"
        + (", !llvm.loop !2" if innermost and mark != "g" else ""),
        f"after.{name}:",
    ]


def _field(name: str, kind: str, offset: int) -> list[str]:
    return [
        f"  %p{name} = getelementptr i8, ptr %a, i64 {offset}",
        f"  %{name} = load {kind}, ptr %p{name}, align 4, {_INVARIANT}",
    ]
