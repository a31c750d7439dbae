"""Views, bounds, formats, root constants and thread numbers of the software adapter."""

from __future__ import annotations

import struct

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.d3d12_software.codegen import codegen
from dmlcts.backends.directml.d3d12_software.codegen import shader as shader_module
from dmlcts.backends.directml.d3d12_software.codegen.shader import View, WrongBinding
from dmlcts.backends.directml.d3d12_software.codegen.translation import translate
from dmlcts.backends.directml.d3d12_software.shaders.bitcode import disassemble
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.backends.directml.d3d12_software.shaders.plan import plan
from dmlcts.suites.selftest.dxil.dxil_shaders import (
    RAW,
    THREAD,
    bitcode,
    compiled,
    each,
    intrinsic,
    load,
    module,
    store,
    structured,
    typed,
    view,
)

R32F, R8U, R8S, RGBA32F, R16F = 41, 62, 64, 2, 54
CANARY = 0xA5A5A5A5


def typed_load(name: str, kind: str = "i32", component: int = 0, index: str = "%i") -> str:
    suffix = {"i32": "i32", "float": "f32"}[kind]
    return (
        f"  %{name}.l = call %dx.types.ResRet.{suffix} @dx.op.bufferLoad.{suffix}(i32 68, %dx.types.Handle %u0,"
        f" i32 {index}, i32 undef)\n  %{name} = extractvalue %dx.types.ResRet.{suffix} %{name}.l, {component}\n"
    )


def typed_store(value: str, register: int, kind: str = "i32") -> str:
    suffix = {"i32": "i32", "float": "f32"}[kind]
    four = ", ".join([f"{kind} {value}"] * 4)
    return (
        f"  call void @dx.op.bufferStore.{suffix}(i32 69, %dx.types.Handle %u{register}, i32 %i, i32 undef,"
        f" {four}, i8 15)\n"
    )


# Bounds


@pytest.mark.parametrize("count", [1, 3, 7, 64, 1000])
def test_loads_out_of_bounds_give_0_and_stores_are_dropped(count: int) -> None:
    source, target = (np.full(2048, CANARY, "u4") for _ in range(2))
    source[:count] = np.arange(1, count + 1)
    shader = compiled(module(THREAD + load("a", "i32", 0) + store("i32", 1, "%a"), [structured(4)] * 2))
    inside, beyond = View(source.ctypes.data, 4 * count, "structured", 4, 0), view(target, 4)
    shader.dispatch((2048, 1, 1), b"", [inside, beyond])
    assert target[:count].tolist() == list(range(1, count + 1))
    assert not target[count:].any()
    target[:] = CANARY
    shader.dispatch((2048, 1, 1), b"", [view(source, 4), View(target.ctypes.data, 4 * count, "structured", 4, 0)])
    assert target[:count].tolist() == list(range(1, count + 1))
    assert (target[count:] == CANARY).all()


def test_a_view_that_ends_within_an_element_does_not_hold_it() -> None:
    source, target = np.full(4, 7, "u4"), np.full(4, CANARY, "u4")
    shader = compiled(module(THREAD + load("a", "i32", 0) + store("i32", 1, "%a"), [structured(4)] * 2))
    shader.dispatch((4, 1, 1), b"", [View(source.ctypes.data, 11, "structured", 4, 0), view(target, 4)])
    assert target.tolist() == [7, 7, 0, 0]
    shader.dispatch((4, 1, 1), b"", [View(source.ctypes.data, 12, "structured", 4, 0), view(target, 4)])
    assert target.tolist() == [7, 7, 7, 0]


def test_an_index_that_wraps_is_out_of_bounds() -> None:
    source, target = np.arange(1, 9, dtype="u4"), np.full(8, CANARY, "u4")
    lines = THREAD + "  %j = sub i32 %i, 4\n" + load("a", "i32", 0, "%j") + store("i32", 1, "%a")
    compiled(module(lines, [structured(4)] * 2)).dispatch((8, 1, 1), b"", [view(source, 4), view(target, 4)])
    assert target.tolist() == [0, 0, 0, 0, 1, 2, 3, 4]


def test_an_empty_view_needs_no_memory() -> None:
    target = np.full(4, CANARY, "u4")
    shader = compiled(module(THREAD + load("a", "i32", 0) + store("i32", 1, "%a"), [structured(4)] * 2))
    shader.dispatch((4, 1, 1), b"", [View(0, 0, "structured", 4, 0), view(target, 4)])
    assert not target.any()
    shader.dispatch((4, 1, 1), b"", [view(target, 4), View(0, 0, "structured", 4, 0)])


@pytest.mark.parametrize(
    ("offset", "expected"), [("0", [1, 3]), ("4", [2, 4]), ("8", [0, 0]), ("-4", [0, 0]), ("%o", [1, 4])]
)
def test_an_offset_stays_within_its_structure(offset: str, expected: list[int]) -> None:
    source, target = np.array([1, 2, 3, 4], "u4"), np.full(2, CANARY, "u4")
    lines = THREAD + "  %o = mul i32 %i, 4\n" + load("a", "i32", 0, offset=offset) + store("i32", 1, "%a")
    compiled(module(lines, [structured(8), structured(4)])).dispatch((2, 1, 1), b"", [view(source, 8), view(target, 4)])
    assert target.tolist() == expected


def test_several_components_are_loaded_and_stored_by_mask() -> None:
    source, target = np.arange(8, dtype="u4"), np.full(8, CANARY, "u4")
    lines = THREAD + load("a", "i32", 0)
    lines += "  %d = extractvalue %dx.types.ResRet.i32 %a.loaded, 3\n"
    lines += (
        "  call void @dx.op.rawBufferStore.i32(i32 140, %dx.types.Handle %u1, i32 %i, i32 4,"
        " i32 %a, i32 %d, i32 undef, i32 undef, i8 3, i32 4)\n"
    )
    compiled(module(lines, [structured(16)] * 2)).dispatch((2, 1, 1), b"", [view(source, 16), view(target, 16)])
    assert target.tolist() == [CANARY, 0, 3, CANARY, CANARY, 4, 7, CANARY]


def test_a_raw_view_is_addressed_in_bytes() -> None:
    source, target = np.arange(1, 5, dtype="u4"), np.full(4, CANARY, "u4")
    lines = THREAD + "  %at = mul i32 %i, 4\n" + load("a", "i32", 0, "%at", "undef") + store("i32", 1, "%a")
    shader = compiled(module(lines, [RAW, structured(4)]))
    shader.dispatch((4, 1, 1), b"", [View(source.ctypes.data, 11, "raw", 0, 0), view(target, 4)])
    assert target.tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize(("kind", "code"), [("i16", "u2"), ("i64", "u8"), ("double", "f8"), ("half", "f2")])
def test_elements_of_every_size_are_copied(kind: str, code: str) -> None:
    source = np.arange(1, 101).astype(code)
    target = np.zeros_like(source)
    text = each((kind,), kind, "").replace("%r", "%a")
    compiled(text).dispatch((100, 1, 1), b"", [view(array, source.itemsize) for array in (source, target)])
    assert (target == source).all()


def test_one_memory_can_be_both_views() -> None:
    both = np.arange(1000, dtype="i4")
    compiled(each(("i32",), "i32", "  %r = add i32 %a, 1\n")).dispatch((1000, 1, 1), b"", [view(both, 4)] * 2)
    assert both.tolist() == list(range(1, 1001))


# Typed views


@pytest.mark.parametrize(
    ("number", "code", "numbers", "kept"),
    [
        (R8U, "u1", [0, 255, 256, 0x7FFFFFFF, -1], [0, 255, 255, 255, 255]),
        (R8S, "i1", [0, 127, 128, -128, -129, 0x7FFFFFFF, -(1 << 31)], [0, 127, 127, -128, -128, 127, -128]),
        (57, "u2", [65535, 65536, -1], [65535, 65535, 65535]),
        (59, "i2", [32767, 32768, -32769], [32767, 32767, -32768]),
        (42, "u4", [-1, 7], [0xFFFFFFFF, 7]),
        (43, "i4", [-1, 7], [-1, 7]),
    ],
)
def test_a_typed_store_of_integers_is_clamped_to_its_format(
    number: int, code: str, numbers: list[int], kept: list[int]
) -> None:
    source, target = np.array(numbers, "i4"), np.zeros(len(numbers), code)
    shader = compiled(module(THREAD + load("a", "i32", 0) + typed_store("%a", 1), [structured(4), typed()]))
    shader.dispatch((len(numbers), 1, 1), b"", [view(source, 4), view(target, format=number)])
    assert target.tolist() == kept


@pytest.mark.parametrize(
    ("number", "code", "values"), [(R8U, "u1", [0, 128, 255]), (R8S, "i1", [-128, -1, 127]), (59, "i2", [-32768])]
)
def test_a_typed_load_extends_by_its_sign(number: int, code: str, values: list[int]) -> None:
    source, target = np.array(values, code), np.full(8, CANARY - (1 << 32), "i4")
    shader = compiled(module(THREAD + typed_load("a") + store("i32", 1, "%a"), [typed(), structured(4)]))
    shader.dispatch((len(values) + 1, 1, 1), b"", [view(source, format=number), view(target, 4)])
    assert target[: len(values) + 1].tolist() == [*values, 0]


def test_typed_bounds_count_elements_of_the_format() -> None:
    source, target = np.full(64, 9, "u1"), np.full(64, 0xA5, "u1")
    shader = compiled(module(THREAD + typed_load("a") + typed_store("%a", 1), [typed(), typed()]))
    views = [View(source.ctypes.data, 5, "typed", 0, R8U), View(target.ctypes.data, 7, "typed", 0, R8U)]
    shader.dispatch((64, 1, 1), b"", views)
    assert target[:8].tolist() == [9] * 5 + [0, 0, 0xA5]


@pytest.mark.parametrize(("component", "expected"), [(0, [5.0, 0.0]), (1, [0.0, 0.0]), (3, [1.0, 0.0])])
def test_a_component_that_the_format_lacks_is_0_and_the_last_is_1(component: int, expected: list[float]) -> None:
    source, target = np.array([5.0], "f4"), np.full(2, -1, "f4")
    lines = THREAD + typed_load("a", "float", component) + store("float", 1, "%a")
    shader = compiled(module(lines, [typed(9), structured(4)]))
    shader.dispatch((2, 1, 1), b"", [view(source, format=R32F), view(target, 4)])
    assert target.tolist() == expected


def test_formats_of_several_components_and_of_halves_work() -> None:
    source, target = np.arange(8, dtype="f4"), np.zeros(8, "f2")
    lines = THREAD + typed_load("a", "float", 2) + typed_store("%a", 1, "float")
    shader = compiled(module(lines, [typed(9), typed(9)]))
    shader.dispatch((2, 1, 1), b"", [view(source, format=RGBA32F), view(target, format=10)])
    assert target.tolist() == [2.0] * 4 + [6.0] * 4


def test_one_shader_serves_views_of_several_formats() -> None:
    shader = compiled(module(THREAD + typed_load("a") + store("i32", 1, "%a"), [typed(), structured(4)]))
    source, target = np.array([0xFF], "u1"), np.zeros(1, "i4")
    for number, expected in ((R8U, 255), (R8S, -1), (R8U, 255)):
        shader.dispatch((1, 1, 1), b"", [view(source, format=number), view(target, 4)])
        assert target.tolist() == [expected]


def test_an_unknown_or_unfit_format_is_named() -> None:
    shader = compiled(module(THREAD + typed_load("a") + store("i32", 1, "%a"), [typed(), structured(4)]))
    memory = np.zeros(16, "u1")
    with pytest.raises(UnsupportedShader, match=r"DXGI_FORMAT 28 in a typed view \(it knows .*R8_UINT \(62\)"):
        shader.dispatch((1, 1, 1), b"", [view(memory, format=28), view(memory, 4)])
    with pytest.raises(UnsupportedShader, match="a typed load of i32 in a view of format R32_FLOAT"):
        shader.dispatch((1, 1, 1), b"", [view(memory, format=R32F), view(memory, 4)])
    shader.dispatch((1, 1, 1), b"", [view(memory, format=R8U), view(memory, 4)])


# What is bound against what is declared


def test_a_binding_that_does_not_suit_the_shader_is_refused() -> None:
    memory = np.zeros(16, "u4")
    shader = compiled(module(THREAD + load("a", "i32", 0) + store("i32", 1, "%a"), [structured(4)] * 2))
    with pytest.raises(WrongBinding, match="declares u1, but 1 views are bound"):
        shader.dispatch((1, 1, 1), b"", [view(memory, 4)])
    with pytest.raises(WrongBinding, match="u1 is declared structured, but a typed view is bound"):
        shader.dispatch((1, 1, 1), b"", [view(memory, 4), view(memory, format=R8U)])
    with pytest.raises(WrongBinding, match="u0 is declared with stride 4, but one of stride 8 is bound"):
        shader.dispatch((1, 1, 1), b"", [view(memory, 8), view(memory, 4)])
    shader.dispatch((1, 1, 1), b"", [view(memory, 4), view(memory, 4), view(memory, 8)])


def test_the_shader_states_its_resources_and_group() -> None:
    shader = compiled(module("", [structured(4), typed(), RAW], constants=40, threads=(8, 2, 1)))
    assert [(resource.kind, resource.register, resource.stride) for resource in shader.resources] == [
        ("structured", 0, 4),
        ("typed", 1, 0),
        ("raw", 2, 0),
        ("constants", 0, 40),
    ]
    assert shader.threads == (8, 2, 1)


# Root constants


def constant(name: str, kind: str, row: str, member: int) -> str:
    suffix = {"i32": "i32", "float": "f32", "i64": "i64", "half": "f16.8"}[kind]
    call = f"@dx.op.cbufferLoadLegacy.{suffix}(i32 59, %dx.types.Handle %b, i32 {row})"
    struct_name = f"%dx.types.CBufRet.{suffix}"
    return f"  %{name}.row = call {struct_name} {call}\n  %{name} = extractvalue {struct_name} %{name}.row, {member}\n"


@pytest.mark.parametrize(
    ("row", "member", "expected"), [("0", 0, 100), ("0", 3, 103), ("2", 1, 109), ("2", 2, 0), ("9", 0, 0)]
)
def test_root_constants_come_in_rows_of_four(row: str, member: int, expected: int) -> None:
    target = np.full(1, CANARY, "u4")
    text = module(THREAD + constant("a", "i32", row, member) + store("i32", 0, "%a"), [structured(4)], constants=40)
    shader = compiled(text)
    values = np.arange(100, 110, dtype="u4")
    for constants in (values.tobytes(), memoryview(values), bytearray(values.tobytes() + b"beyond")):
        target[:] = CANARY
        shader.dispatch((1, 1, 1), constants, [view(target, 4)])  # type: ignore[arg-type]
        assert target.tolist() == [expected]


def test_constants_are_read_as_their_type_and_at_a_row_of_the_thread() -> None:
    constants = struct.pack("<fqe", 1.5, -2, 0.5).ljust(32, b"\0") + struct.pack("<8e", *range(8))
    target = np.zeros(4, "u4")
    lines = THREAD + constant("a", "half", "2", 5) + "  %f = fpext half %a to float\n" + store("float", 0, "%f")
    compiled(module(lines, [structured(4)], constants=48)).dispatch((1, 1, 1), constants, [view(target, 4)])
    assert target.view("f4")[0] == 5.0
    lines = THREAD + constant("a", "i32", "%i", 1) + store("i32", 0, "%a")
    rows = np.arange(12, dtype="u4")
    compiled(module(lines, [structured(4)], constants=48)).dispatch((4, 1, 1), rows.tobytes(), [view(target, 4)])
    assert target.tolist() == [1, 5, 9, 0]


# Threads

NUMBERS = """
  %x = call i32 @dx.op.threadId.i32(i32 93, i32 0)
  %y = call i32 @dx.op.threadId.i32(i32 93, i32 1)
  %z = call i32 @dx.op.threadId.i32(i32 93, i32 2)
  %gx = call i32 @dx.op.groupId.i32(i32 94, i32 0)
  %gz = call i32 @dx.op.groupId.i32(i32 94, i32 2)
  %tx = call i32 @dx.op.threadIdInGroup.i32(i32 95, i32 0)
  %ty = call i32 @dx.op.threadIdInGroup.i32(i32 95, i32 1)
  %flat = call i32 @dx.op.flattenedThreadIdInGroup.i32(i32 96)
  %zy = mul i32 %z, 4
  %zyy = add i32 %zy, %y
  %zyx = mul i32 %zyy, 6
  %i = add i32 %zyx, %x
"""


@pytest.mark.parametrize("name", ["x", "y", "z", "gx", "gz", "tx", "ty", "flat"])
def test_every_thread_of_every_group_has_its_numbers(name: str) -> None:
    target = np.full(48, CANARY, "u4")
    text = module(NUMBERS + store("i32", 0, f"%{name}"), [structured(4)], threads=(3, 2, 1))
    compiled(text).dispatch((2, 2, 2), b"", [view(target, 4)])
    expected = []
    for z in range(2):
        for y in range(4):
            for x in range(6):
                numbers = {"x": x, "y": y, "z": z, "gx": x // 3, "gz": z, "tx": x % 3, "ty": y % 2}
                expected.append({**numbers, "flat": numbers["ty"] * 3 + numbers["tx"]}[name])
    assert target.tolist() == expected


def test_no_groups_run_nothing() -> None:
    target = np.full(4, CANARY, "u4")
    shader = compiled(module(THREAD + store("i32", 0, "%i"), [structured(4)]))
    for groups in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        shader.dispatch(groups, b"", [view(target, 4)])
        assert (target == CANARY).all()
    shader.dispatch((1, 1, 1), b"", [view(target, 4)])
    assert target[0] == 0


@pytest.mark.parametrize("kind", ["float", "i32"])
def test_threads_side_by_side_share_a_vector(kind: str) -> None:
    if "+avx2" not in codegen.processor()[1].split(","):
        pytest.skip("this processor has no masked stores, which a bounds check in a vector needs")
    lines = {"float": intrinsic(36, ("float",) * 2, "float"), "i32": intrinsic(38, ("i32",) * 2, "i32")}[kind]
    text = each((kind, kind), kind, lines)
    translated = translate(plan(disassemble(bitcode(text))), Personality(), {})
    assert f" x {kind}>" in str(codegen.optimised(translated, codegen._machine()))
    assert f" x {kind}>" not in translated


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_several_threads_give_the_same_as_one(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 50_001
    source = np.random.default_rng(3).integers(0, 1 << 32, count, "u4")
    kinds = ("float",)
    text = each(kinds, "float", "  %s = fmul float %a, %a\n  %r = fadd float %s, 1.5\n", threads=(64, 1, 1))
    shader = compiled(text)
    groups = (-(-count // 64), 1, 1)
    alone, split = np.zeros(count, "u4"), np.zeros(count, "u4")
    shader.dispatch(groups, b"", [view(source, 4), view(alone, 4)])
    calls: list[int] = []
    pool = shader_module._pool()
    submit = pool.submit
    monkeypatch.setattr(shader_module, "SPLIT_THREADS", 1000)
    monkeypatch.setattr(shader_module, "_workers", lambda: workers)
    monkeypatch.setattr(pool, "submit", lambda *value: calls.append(1) or submit(*value))
    shader.dispatch(groups, b"", [view(source, 4), view(split, 4)])
    assert len(calls) == workers - 1
    assert (alone == split).all()
    assert alone.any()
