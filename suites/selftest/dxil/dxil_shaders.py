"""Small compute shaders for the selftests: written as LLVM IR with ``dx.op`` calls, wrapped in containers."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import llvmlite.binding as llvm
import numpy as np

from dmlcts.backends.directml.d3d12_software.codegen.shader import Shader, ShaderCompiler, View
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality

SUFFIX = {
    "float": "f32",
    "half": "f16",
    "double": "f64",
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
}
BYTES = {"float": 4, "half": 2, "double": 8, "i1": 4, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_STRUCTS = (
    "\n".join(
        f"%dx.types.ResRet.{suffix} = type {{ {kind}, {kind}, {kind}, {kind}, i32 }}"
        for kind, suffix in SUFFIX.items()
        if kind not in ("i1", "i8")
    )
    + """
%dx.types.Handle = type { i8* }
%dx.types.CBufRet.f32 = type { float, float, float, float }
%dx.types.CBufRet.i32 = type { i32, i32, i32, i32 }
%dx.types.CBufRet.f64 = type { double, double }
%dx.types.CBufRet.i64 = type { i64, i64 }
%dx.types.CBufRet.f16.8 = type { half, half, half, half, half, half, half, half }
%dx.types.twoi32 = type { i32, i32 }
%dx.types.i32c = type { i32, i1 }
%dx.types.splitdouble = type { i32, i32 }
""".replace("i8*", "ptr")
)


def structured(stride: int) -> tuple[int, str]:
    """A declaration of a structured view."""
    return 12, f"i32 1, i32 {stride}"


def typed(component: int = 5) -> tuple[int, str]:
    """A declaration of a typed view; 5 is U32, 4 is I32, 9 is F32."""
    return 10, f"i32 0, i32 {component}"


RAW = (11, "")


def module(
    body: str,
    views: Sequence[tuple[int, str]] = (),
    *,
    constants: int = 0,
    threads: tuple[int, int, int] = (1, 1, 1),
    top: str = "",
    attributes: str = "",
) -> str:
    """The text of a module whose entry ``main`` has ``body``, with handles %u0, %u1, ... and %b made before.

    Args:
        body: instructions, ``ret`` excluded; @dx.op functions are declared from their calls.
        views: declarations for u0, u1, ...
        constants: bytes of b0; 0 for none.
        threads: of a group.
        top: further globals or types.
        attributes: of the entry function.
    """
    handles = "".join(_handle(f"%u{place}", 1, place) for place in range(len(views)))
    if constants:
        handles += _handle("%b", 2, 0)
    whole = handles + body
    calls = re.finditer(r"call ([^@\n]+?) @(dx\.op\.[\w.]+)\(([^\n]*?)\)(?:,|$| )", whole, re.MULTILINE)
    declared = {}
    for match in calls:
        result = match[1].replace("fast", "").strip()
        kinds = ", ".join(argument.strip().split(" ")[0] for argument in match[3].split(","))
        declared[match[2]] = f"declare {result} @{match[2]}({kinds})"
    records = [
        f'!{{i32 {place}, ptr undef, !"U{place}", i32 0, i32 {place}, i32 1, i32 {shape}, i1 false, i1 false,'
        f" i1 false, !{{{tags}}}}}"
        for place, (shape, tags) in enumerate(views)
    ]
    uavs = f"!{{{', '.join(records)}}}" if records else "null"
    cbs = f'!{{!{{i32 0, ptr undef, !"CB0", i32 0, i32 0, i32 1, i32 {constants}, null}}}}' if constants else "null"
    return "\n".join(
        (
            _STRUCTS,
            top,
            f"define void @main() {attributes} {{",
            "entry:",
            whole,
            "  ret void",
            "}",
            *declared.values(),
            "!dx.shaderModel = !{!0}",
            "!dx.resources = !{!1}",
            "!dx.entryPoints = !{!2}",
            '!0 = !{!"cs", i32 6, i32 0}',
            f"!1 = !{{null, {uavs}, {cbs}, null}}",
            '!2 = !{ptr @main, !"main", null, !1, !3}',
            f"!3 = !{{i32 0, i64 256, i32 4, !{{i32 {threads[0]}, i32 {threads[1]}, i32 {threads[2]}}}}}",
            "!9 = !{i32 1}",
        )
    )


def _handle(name: str, number: int, register: int) -> str:
    call = f"@dx.op.createHandle(i32 57, i8 {number}, i32 {register}, i32 {register}, i1 false)"
    return f"  {name} = call %dx.types.Handle {call}\n"


def bitcode(text: str) -> bytes:
    return bytes(llvm.parse_assembly(text, llvm.create_context()).as_bitcode())


def wrap(code: bytes, *, kind: int = 5, parts: Sequence[tuple[bytes, bytes]] = ()) -> bytes:
    """A container with ``parts`` and then bitcode as the DXIL part of a shader of that kind."""
    program = struct.pack("<II4sIII", kind << 16 | 0x60, 6 + -(-len(code) // 4), b"DXIL", 0x100, 16, len(code)) + code
    return box([*parts, (b"DXIL", program)])


def box(parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A container with the given parts."""
    offset = 32 + 4 * len(parts)
    table, content = b"", b""
    for name, data in parts:
        table += struct.pack("<I", offset + len(content))
        content += struct.pack("<4sI", name, len(data)) + data
    return struct.pack("<4s16sHHII", b"DXBC", b"", 1, 0, offset + len(content), len(parts)) + table + content


def container(text: str) -> bytes:
    return wrap(bitcode(text))


def compiled(text: str, personality: Personality | None = None) -> Shader:
    return ShaderCompiler(personality or Personality(), None).compile(container(text))


def view(array: np.ndarray, stride: int = 0, format: int = 0) -> View:
    """The whole of ``array`` as a structured view of that stride, or a typed one of that format, or a raw one."""
    kind = "structured" if stride else "typed" if format else "raw"
    return View(array.ctypes.data, array.nbytes, kind, stride, format)


def load(name: str, kind: str, register: int, index: str = "%i", offset: str = "0") -> str:
    """Lines that give %name the first component of an element."""
    struct_name = f"%dx.types.ResRet.{SUFFIX[kind]}"
    handle = f"%dx.types.Handle %u{register}"
    arguments = f"i32 139, {handle}, i32 {index}, i32 {offset}, i8 1, i32 4"
    return (
        f"  %{name}.loaded = call {struct_name} @dx.op.rawBufferLoad.{SUFFIX[kind]}({arguments})\n"
        f"  %{name} = extractvalue {struct_name} %{name}.loaded, 0\n"
    )


def store(kind: str, register: int, value: str, index: str = "%i") -> str:
    """Lines that store a value as an element."""
    rest = ", ".join([f"{kind} undef"] * 3)
    arguments = f"i32 140, %dx.types.Handle %u{register}, i32 {index}, i32 0, {kind} {value}, {rest}, i8 1, i32 4"
    return f"  call void @dx.op.rawBufferStore.{SUFFIX[kind]}({arguments})\n"


THREAD = "  %i = call i32 @dx.op.threadId.i32(i32 93, i32 0)\n"


def each(kinds: Sequence[str], result: str, lines: str, **more: object) -> str:
    """A module that computes %r of type ``result`` from %a, %b, ... of the given types, for each element.

    A result of type i1 is stored as an i32.
    """
    body = THREAD + "".join(load("abcdefgh"[place], kind, place) for place, kind in enumerate(kinds)) + lines
    stored, value = result, "%r"
    if result == "i1":
        body += "  %r.wide = zext i1 %r to i32\n"
        stored, value = "i32", "%r.wide"
    body += store(stored, len(kinds), value)
    views = [structured(BYTES[kind]) for kind in (*kinds, result)]
    return module(body, views, **more)  # type: ignore[arg-type]


def bits_of(kind: str, value: float | int | str) -> int:
    """A number as the bits of its type; a string is the bits in hexadecimal."""
    if isinstance(value, str):
        return int(value, 16)
    if kind in ("float", "half", "double"):
        code = {"float": "f4", "half": "f2", "double": "f8"}[kind]
        return int(np.array(value, code).view(f"u{BYTES[kind]}"))
    return int(value) & ((1 << 8 * BYTES[kind]) - 1)


def results(
    text: str,
    kinds: Sequence[str],
    result: str,
    cases: Sequence[Sequence[float | int | str]],
    personality: Personality | None = None,
) -> list[int]:
    """Run a module from :func:`each` for every case (one value for each operand); the bits of the results."""
    arrays = [
        np.array([bits_of(kind, case[place]) for case in cases], f"u{BYTES[kind]}") for place, kind in enumerate(kinds)
    ]
    out = np.zeros(len(cases), f"u{BYTES[result]}")
    views = [view(array, BYTES[kind]) for array, kind in zip([*arrays, out], [*kinds, result], strict=True)]
    compiled(text, personality).dispatch((len(cases), 1, 1), b"", views)
    return out.tolist()


def intrinsic(
    opcode: int, kinds: Sequence[str], result: str, *, struct_name: str = "", member: int = 0, note: str = ""
) -> str:
    """Lines that compute %r with one ``dx.op`` call; of a result in a struct, one member."""
    name = f"dx.op.test{opcode}.{SUFFIX[kinds[0]]}"
    arguments = ", ".join(f"{kind} %{'abcdefgh'[place]}" for place, kind in enumerate(kinds))
    if not struct_name:
        return f"  %r = call {result} @{name}(i32 {opcode}, {arguments}){note}\n"
    call = f"  %s = call {struct_name} @{name}(i32 {opcode}, {arguments}){note}\n"
    return call + f"  %r = extractvalue {struct_name} %s, {member}\n"
