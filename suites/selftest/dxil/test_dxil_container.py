"""Shader containers and bitcode: what is read, and how damage and strangers are named."""

from __future__ import annotations

import struct

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.d3d12_software.codegen.shader import ShaderCompiler
from dmlcts.backends.directml.d3d12_software.shaders.bitcode import patch_layout
from dmlcts.backends.directml.d3d12_software.shaders.container import parts, program
from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer, UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.suites.selftest.dxil.dxil_shaders import (
    THREAD,
    bitcode,
    box,
    compiled,
    container,
    each,
    load,
    module,
    store,
    structured,
    typed,
    view,
    wrap,
)

COPY = module(THREAD + load("a", "i32", 0) + store("i32", 1, "%a"), [structured(4)] * 2)


def refused(content: bytes) -> str:
    with pytest.raises((BadContainer, UnsupportedShader)) as caught:
        ShaderCompiler(Personality(), None).compile(content)
    return str(caught.value)


def test_the_program_is_found_among_other_parts() -> None:
    code = bitcode(COPY)
    result = program(wrap(code, parts=[(b"SFI0", bytes(8)), (b"HASH", bytes(20))]))
    assert (result.bitcode, result.shader_model) == (code, (6, 0))
    assert [name for name, _ in parts(wrap(code, parts=[(b"SFI0", bytes(8))]))] == ["SFI0", "DXIL"]


def test_a_container_cut_short_anywhere_is_refused() -> None:
    whole = container(COPY)
    ShaderCompiler(Personality(), None).compile(whole)
    for length in (0, 4, 31, 32, 36, 40, len(whole) // 2, len(whole) - 1):
        with pytest.raises(BadContainer):
            program(whole[:length])


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "0 bytes is shorter"),
        (b"\x7fELF" + bytes(60), "begins with b'\\x7fELF'"),
        (struct.pack("<4s16sHHII", b"DXBC", b"", 2, 0, 32, 0), "version 2"),
        (struct.pack("<4s16sHHII", b"DXBC", b"", 1, 0, 32, 100), "cannot hold a table of 100 parts"),
        (struct.pack("<4s16sHHIII", b"DXBC", b"", 1, 0, 36, 1, 900), "a part begins at byte 900"),
        (struct.pack("<4s16sHHIII4sI", b"DXBC", b"", 1, 0, 44, 1, 36, b"DXIL", 9), "ends beyond"),
        (box([(b"SFI0", bytes(8))]), "no DXIL part among SFI0"),
        (box([]), "no DXIL part among none"),
        (box([(b"SHEX", bytes(8))]), "SHEX part has 8 bytes, fewer"),
        (box([(b"SHDR", bytes(8))]), "shader model 4 bytecode"),
        (box([(b"DXIL", bytes(8))]), "8 bytes, fewer than its header"),
        (box([(b"DXIL", struct.pack("<II4sIII", 5 << 16, 6, b"ILDX", 0, 16, 0))]), "says b'ILDX'"),
        (box([(b"DXIL", struct.pack("<II4sIII", 5 << 16, 6, b"DXIL", 0, 16, 99))]), "bitcode ends beyond"),
        (wrap(b"none of it"), "bitcode begins with b'none'"),
        (wrap(b"BC\xc0\xde" + bytes(64)), "LLVM cannot read the bitcode"),
        (wrap(bitcode(COPY), kind=0), "pixel shaders"),
        (wrap(bitcode(COPY), kind=13), "kind 13 shaders"),
    ],
)
def test_damage_and_strangers_are_named(content: bytes, named: str) -> None:
    assert named in refused(content)


def test_a_data_layout_that_llvm_refuses_is_patched() -> None:
    # The bytes' alignment of four that some compilers of DXIL write; the same length, so that bits stay in place.
    layout = "e-m:e-p:32:32-i1:32-i8:{}-i16:32-i32:32-i64:64-f16:32-f32:32-f64:64-n8:16:32:64"
    sound = bitcode(f'target datalayout = "{layout.format("08")}"\n' + COPY)
    bits = int.from_bytes(sound, "little")
    written = [(ord(letter) >> 5 << 6) | ord(letter) & 31 | 32 for letter in "08"]
    wanted = [(ord(letter) >> 5 << 6) | ord(letter) & 31 | 32 for letter in "32"]
    text = f"{bits:b}"
    before, after = (f"{two << 12 | number:024b}" for number, two in (written, wanted))
    place = "".join(f"{(ord(letter) >> 5 << 6) | ord(letter) & 31 | 32:012b}" for letter in "i8:"[::-1])
    assert text.count(before + place) == 1
    broken = int(text.replace(before + place, after + place), 2).to_bytes(len(sound), "little")
    assert patch_layout(broken) == sound
    assert patch_layout(sound) == sound
    source, target = np.arange(1, 9, dtype="u4"), np.zeros(8, "u4")
    shader = ShaderCompiler(Personality(), None).compile(wrap(broken))
    shader.dispatch((8, 1, 1), b"", [view(source, 4), view(target, 4)])
    assert target.tolist() == source.tolist()


# What a sound module may hold that is not supported


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (module("", [(2, "i32 0, i32 9")]), "unordered access views of kind Texture2D"),
        (module("", [(15, "")]), "of kind TBuffer"),
        (
            module("", [structured(4)]).replace("i1 false, i1 false, i1 false", "i1 false, i1 true, i1 false"),
            "a counter",
        ),
        (
            module("", [structured(4)]).replace("i1 false, i1 false, i1 false", "i1 false, i1 false, i1 true"),
            "rasterizer",
        ),
        (
            module("", [structured(4)]).replace("i32 0, i32 0, i32 1, i32 12", "i32 3, i32 0, i32 1, i32 12"),
            "register space 3",
        ),
        (
            module("", [structured(4)]).replace("i32 0, i32 0, i32 1, i32 12", "i32 0, i32 0, i32 -1, i32 12"),
            "unbounded",
        ),
        (module("", constants=16).replace("i32 0, i32 0, i32 1, i32 16", "i32 0, i32 4, i32 1, i32 16"), "register b4"),
        (module("").replace("!{null, null, null, null}", "!{!{!9}, null, null, null}"), "shader resource views"),
        (module("").replace("!{null, null, null, null}", "!{null, null, null, !{!9}}"), "samplers"),
        (module("").replace("!dx.entryPoints = !{!2}", "!dx.entryPoints = !{!2, !2}"), "2 entry points"),
        (module("").replace("i64 256, i32 4,", "i64 256, i32 5,"), "without a thread group size"),
        (
            module("").replace("define void @main()", "define void @other() {\n  ret void\n}\ndefine void @main()"),
            "function other",
        ),
        (module("", top="@g = addrspace(3) global i32 undef"), "the global variable @g"),
        (
            module(THREAD + load("a", "i32", 0) + store("i32", 0, "%a"), [structured(4)]).replace(
                "createHandle(i32 57, i8 1, i32 0, i32 0,", "createHandle(i32 57, i8 1, i32 0, i32 5,"
            ),
            "register u5, which the shader does not declare",
        ),
        (
            module("", [structured(4)]).replace("createHandle(i32 57, i8 1,", "createHandle(i32 57, i8 0,"),
            "handles of shader resource views",
        ),
        (
            module(THREAD + load("a", "i32", 0) + store("i32", 0, "%a"), [structured(4)]).replace(
                "createHandle(i32 57, i8 1,", "createHandle(i32 57, i8 2,"
            ),
            "constants used as views",
        ),
        (module("  fence seq_cst\n"), "instruction 'fence'"),
    ],
)
def test_what_is_not_supported_is_named(text: str, named: str) -> None:
    with pytest.raises(UnsupportedShader) as caught:
        compiled(text)
    assert named in str(caught.value)
    assert "run it on another adapter" in str(caught.value)


def test_what_stands_beside_the_refused_is_accepted() -> None:
    for text in (module("", [structured(4), typed()]), module("", constants=16), module("")):
        compiled(text)


def test_tables_of_constants_local_memory_loops_and_switches_work() -> None:
    lines = """
  %low = and i32 %a, 3
  %p = getelementptr [4 x i32], ptr @table, i32 0, i32 %low
  %t = load i32, ptr %p
  %m = alloca [2 x i32], align 4
  %bit = and i32 %a, 1
  %q = getelementptr [2 x i32], ptr %m, i32 0, i32 %bit
  store i32 %t, ptr %q
  %u = load i32, ptr %q
  switch i32 %low, label %other [
    i32 0, label %none
    i32 2, label %other
  ]
none:
  br label %out
other:
  br label %loop
loop:
  %n = phi i32 [ %a, %other ], [ %left, %loop ]
  %sum = phi i32 [ 0, %other ], [ %total, %loop ]
  %total = add i32 %sum, %u
  %left = sub i32 %n, 1
  %more = icmp ugt i32 %left, 0
  br i1 %more, label %loop, label %out
out:
  %r = phi i32 [ -1, %none ], [ %total, %loop ]
"""
    text = each(("i32",), "i32", lines, top="@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]")
    source, target = np.arange(1, 9, dtype="u4"), np.zeros(8, "u4")
    compiled(text).dispatch((8, 1, 1), b"", [view(source, 4), view(target, 4)])
    assert target.tolist() == [20, 60, 120, 0xFFFFFFFF, 100, 180, 280, 0xFFFFFFFF]
