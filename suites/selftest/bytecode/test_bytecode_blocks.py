"""Blocks, operands, memory and declarations of shader model 5; and what is not supported is refused by name."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.d3d12_software.bytecode.rewriting import rewritten
from dmlcts.backends.directml.d3d12_software.bytecode.tokens import NAMES
from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer, UnsupportedShader
from dmlcts.suites.selftest.bytecode.assembling import (
    CB,
    FLAT,
    GROUP,
    IMMEDIATE,
    NOT_ZERO,
    RETURN,
    THREAD,
    THREAD_IN_GROUP,
    ZERO,
    G,
    Tokens,
    U,
    declared,
    instruction,
    literal,
    loaded,
    of,
    operand,
    part,
    results,
    shader,
    stored,
    structured,
    to,
    whole,
)
from dmlcts.suites.selftest.dxil.dxil_shaders import view

R8_UINT, R8_SINT, R32_FLOAT = 62, 64, 41
ADD, MOV = 30, 54
IF, ELSE, ENDIF, LOOP, ENDLOOP, BREAK, BREAKC, CONTINUE, CONTINUEC = 31, 18, 21, 48, 22, 2, 3, 7, 8
SWITCH, CASE, DEFAULT, ENDSWITCH, RET, RETC, NOP = 76, 6, 10, 23, 62, 63, 58


def code(*instructions: Tokens) -> Tokens:
    return [token for each in instructions for token in each]


def put(value: int) -> Tokens:
    return instruction(MOV, to(8), literal(value))


# Blocks.


@pytest.mark.parametrize("bit, expected", [(NOT_ZERO, [2, 1, 1]), (ZERO, [1, 2, 2])])
def test_an_if_runs_one_of_its_parts(bit: int, expected: list[int]) -> None:
    lines = code(instruction(IF, of(0, "xxxx"), head=bit), put(1), instruction(ELSE), put(2), instruction(ENDIF))
    assert results(lines, [[0, 1, 0x80000000]]) == expected


def test_an_if_without_else_and_one_within_another() -> None:
    inner = code(instruction(IF, of(1), head=NOT_ZERO), put(3), instruction(ENDIF))
    lines = code(put(9), instruction(IF, of(0), head=NOT_ZERO), inner, instruction(ENDIF))
    assert results(lines, [[0, 1, 1], [1, 0, 1]]) == [9, 9, 3]


def test_a_loop_ends_by_break_and_skips_by_continue() -> None:
    """The sum of the odd numbers below r0."""
    step = instruction(ADD, to(9), of(9), literal(1))
    odd = instruction(1, to(10), of(9), literal(1))
    lines = code(
        put(0),
        instruction(MOV, to(9), literal(-1)),
        instruction(LOOP),
        step,
        instruction(80, to(10), of(9), of(0)),
        instruction(BREAKC, of(10), head=NOT_ZERO),
        odd,
        instruction(CONTINUEC, of(10), head=ZERO),
        instruction(ADD, to(8), of(8), of(9)),
        instruction(ENDLOOP),
    )
    assert results(lines, [[0, 1, 2, 5, 8]]) == [0, 0, 1, 4, 16]
    plain = code(
        put(0),
        instruction(MOV, to(9), literal(-1)),
        instruction(LOOP),
        step,
        instruction(80, to(10), of(9), of(0)),
        instruction(IF, of(10), head=NOT_ZERO),
        instruction(BREAK),
        instruction(ENDIF),
        odd,
        instruction(IF, of(10), head=ZERO),
        instruction(CONTINUE),
        instruction(ENDIF),
        instruction(ADD, to(8), of(8), of(9)),
        instruction(ENDLOOP),
    )
    assert results(plain, [[0, 1, 2, 5, 8]]) == [0, 0, 1, 4, 16]


def test_a_switch_takes_its_case_falls_through_and_has_a_default() -> None:
    lines = code(
        put(0),
        instruction(SWITCH, of(0)),
        instruction(CASE, literal(1)),
        instruction(CASE, literal(2)),
        put(12),
        instruction(BREAK),
        instruction(DEFAULT),
        put(99),
        instruction(BREAK),
        instruction(CASE, literal(-1)),
        put(7),
        instruction(BREAK),
        instruction(ENDSWITCH),
        instruction(NOP),
    )
    assert results(lines, [[1, 2, 3, -1, 0]]) == [12, 12, 99, 7, 99]
    without = code(
        put(5),
        instruction(SWITCH, of(0)),
        instruction(CASE, literal(1)),
        put(12),
        instruction(BREAK),
        instruction(ENDSWITCH),
    )
    assert results(without, [[1, 2]]) == [12, 5]


def test_a_shader_returns_early() -> None:
    # What is not stored stays 0.
    assert results(code(put(4), instruction(RETC, of(0), head=NOT_ZERO)), [[0, 1]]) == [4, 0]
    assert results(
        code(put(4), instruction(IF, of(0), head=NOT_ZERO), instruction(RET), instruction(ENDIF)), [[0, 1]]
    ) == [4, 0]


# Operands.


def test_swizzles_and_masks_choose_components() -> None:
    four = instruction(MOV, to(7, "xyzw"), literal(10, 20, 30, 40))
    for swizzle, expected in (("wzyx", (40, 30, 20, 10)), ("yyww", (20, 20, 40, 40))):
        for place, value in enumerate(expected):
            lines = code(
                four, instruction(MOV, to(6, "xyzw"), of(7, swizzle)), instruction(MOV, to(8), of(6, "xyzw"[place] * 4))
            )
            assert results(lines, [[0]]) == [value]
    kept = code(four, instruction(MOV, to(7, "yw"), literal(1, 2, 3, 4)))
    for place, value in enumerate((10, 2, 30, 4)):
        assert results(code(kept, instruction(MOV, to(8), of(7, "xyzw"[place] * 4))), [[0]]) == [value]


def test_a_result_may_overwrite_its_own_source() -> None:
    lines = code(instruction(MOV, to(7, "xy"), literal(1, 2, 0, 0)), instruction(MOV, to(7, "xy"), of(7, "yxxx")))
    assert results(code(lines, instruction(ADD, to(8), of(7), literal(0))), [[0]]) == [2]
    assert results(code(lines, instruction(ADD, to(8), of(7, "yyyy"), literal(0))), [[0]]) == [1]


def test_constants_are_rows_of_a_buffer_also_by_a_computed_index() -> None:
    out = np.zeros(3, np.uint32)
    buffer = instruction(89, operand(CB, 0, swizzle="xyzw", row=3))
    row = operand(CB, 0, swizzle="yyyy", row=of(0))
    fixed = operand(CB, 0, swizzle="zzzz", row=1)
    tokens = code(
        declared([structured(0), buffer]),
        instruction(MOV, to(0), operand(THREAD, text="x")),
        instruction(ADD, to(1), row, fixed),
        stored(0, of(1)),
        RETURN,
    )
    constants = np.arange(12, dtype=np.uint32) * 10
    shader(tokens).dispatch((3, 1, 1), constants.tobytes(), [view(out, 4)])
    assert out.tolist() == [60 + 10, 60 + 50, 60 + 90]


def test_threads_know_their_numbers() -> None:
    out = np.zeros((8, 4), np.uint32)
    tokens = code(
        declared([structured(0, 16)], threads=(4, 1, 1)),
        instruction(MOV, to(0, "x"), operand(THREAD, text="x")),
        instruction(MOV, to(0, "y"), operand(GROUP, text="x")),
        instruction(MOV, to(0, "z"), operand(THREAD_IN_GROUP, text="x")),
        instruction(MOV, to(0, "w"), operand(FLAT, text="x")),
        stored(0, of(0, "xyzw"), "xyzw"),
        RETURN,
    )
    shader(tokens).dispatch((2, 1, 1), b"", [view(out, 16)])
    assert out.tolist() == [[n, n // 4, n % 4, n % 4] for n in range(8)]


# Memory.


def test_a_structured_view_is_loaded_and_stored_by_components() -> None:
    source, out = np.arange(8, dtype=np.uint32).reshape(2, 4), np.full((2, 4), 99, np.uint32)
    move = code(loaded(0, 0, "xyzw"), stored(1, of(0, "wzyx"), "xz"))
    tokens = code(declared([structured(0, 16), structured(1, 16)]), move, RETURN)
    shader(tokens).dispatch((2, 1, 1), b"", [view(source, 16), view(out, 16)])
    assert out.tolist() == [[3, 99, 1, 99], [7, 99, 5, 99]]


def test_outside_a_view_a_load_gives_0_and_a_store_does_nothing() -> None:
    source, out = np.array([5], np.uint32), np.full(2, 99, np.uint32)
    tokens = code(declared([structured(0), structured(1)]), loaded(0, 0), stored(1, of(0)), RETURN)
    shader(tokens).dispatch((3, 1, 1), b"", [view(source, 4), view(out, 4)])
    assert out.tolist() == [5, 0]


def test_a_raw_view_is_addressed_by_bytes() -> None:
    source, out = np.array([5, 6, 7, 8], np.uint32), np.zeros(4, np.uint32)
    raw = [instruction(157, whole(U, number)) for number in (0, 1)]
    tokens = code(
        declared(raw),
        instruction(165, to(0, "xy"), literal(4), operand(U, 0, swizzle="xyzw")),
        instruction(166, operand(U, 1, mask="xy"), literal(8), of(0, "xyxx")),
        RETURN,
    )
    shader(tokens).dispatch((1, 1, 1), b"", [view(source), view(out)])
    assert out.tolist() == [0, 0, 6, 7]


@pytest.mark.parametrize(
    "kind, dtype, form, values, expected",
    [
        (4, np.uint8, R8_UINT, [1, 200], [2, 255]),
        (3, np.int8, R8_SINT, [-3, 127], [-2, 127]),
        (5, np.float32, R32_FLOAT, [1.5, -2.0], [2.5, -1.0]),
    ],
)
def test_typed_views_convert(kind: int, dtype: type, form: int, values: list[float], expected: list[float]) -> None:
    """Adds 1, or 100 to what then no longer fits, and stores it within the format's range."""
    source, out = np.array(values, dtype), np.zeros(len(values), dtype)
    views = [instruction(156, whole(U, number), head=1 << 11, words=[kind * 0x1111]) for number in (0, 1)]
    step = instruction(0, to(0), of(0), literal(0x3F800000)) if kind == 5 else instruction(ADD, to(0), of(0), of(1))
    big = instruction(55, to(1), of(1), literal(100), literal(1))
    tokens = code(
        declared(views),
        instruction(163, to(0), operand(THREAD, text="x"), operand(U, 0, swizzle="xyzw")),
        instruction(33, to(1), of(0), literal(100)),
        big,
        step,
        instruction(164, operand(U, 1, mask="xyzw"), operand(THREAD, text="x"), of(0)),
        RETURN,
    )
    shader(tokens).dispatch((len(values), 1, 1), b"", [view(source, 0, form), view(out, 0, form)])
    assert out.tolist() == expected


@pytest.mark.parametrize("raw", [True, False])
def test_a_group_shares_memory_across_a_barrier(raw: bool) -> None:
    """Each thread writes its number; after the barrier it reads its neighbour's."""
    out = np.zeros(8, np.uint32)
    memory = operand(G, 0, mask="x")
    shared = instruction(159, memory, words=[16]) if raw else instruction(160, memory, words=[4, 4])
    mine, other = operand(THREAD_IN_GROUP, text="x"), of(1)
    bytes_of = code(instruction(41, to(2), mine, literal(2)), instruction(41, to(3), other, literal(2)))
    write = instruction(166, memory, of(2), of(0)) if raw else instruction(168, memory, mine, literal(0), of(0))
    source = operand(G, 0, swizzle="xxxx")
    back = instruction(165, to(4), of(3), source) if raw else instruction(167, to(4), other, literal(0), source)
    tokens = code(
        declared([structured(0), shared], threads=(4, 1, 1)),
        instruction(MOV, to(0), operand(THREAD, text="x")),
        instruction(87, to(1), mine, literal(1)),
        bytes_of,
        write,
        instruction(190, head=3 << 11),
        back,
        stored(0, of(4)),
        RETURN,
    )
    shader(tokens).dispatch((2, 1, 1), b"", [view(out, 4)])
    assert out.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


# Refusals.

X_REGISTER, ICB, INPUT = 3, 9, 1


@pytest.mark.parametrize(
    "tokens, words",
    [
        (instruction(MOV, to(0), operand(X_REGISTER, 0, text="x", row=0)), "indexable registers .x#."),
        (instruction(MOV, to(0), operand(ICB, 0, text="x")), "an immediate constant buffer"),
        (instruction(MOV, to(0), operand(INPUT, 0, text="x")), "input registers"),
        (instruction(105, words=[0, 4, 4]), "instruction dcl_indexable_temp"),
        (instruction(173, operand(U, 0, mask="x"), literal(0), literal(1)), "instruction atomic_iadd"),
        (instruction(191, to(0, "xy"), of(0), of(0)), "instruction dadd"),
        (instruction(69, to(0)), "instruction sample"),
        (instruction(300), "opcode 300"),
        ([53 | 3 << 11, 3, 0], "an immediate constant buffer"),
        (instruction(MOV, operand(U, 0, mask="x"), of(0)), "a result in u#"),
        (instruction(MOV, to(20), of(0)), "register r20, which the shader does not declare"),
        (instruction(ADD, to(0), of(0, modifier=2), of(0)), "the magnitude of an integer"),
        (instruction(IF, of(0, modifier=1), head=NOT_ZERO), "a modifier of an operand"),
        (instruction(156, whole(U, 1), head=3 << 11, words=[0x4444]), "views of textures"),
        (instruction(156, whole(U, 1), head=1 << 11, words=[0x1111]), "components of type 1"),
        (instruction(MOV, to(0), operand(0, of(1), text="x")), "an indexed register r#"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_supported_is_named(tokens: Tokens, words: str) -> None:
    with pytest.raises(UnsupportedShader, match=words):
        rewritten(part(code(declared([structured(0)]), tokens, RETURN)))
    rewritten(part(code(declared([structured(0)]), RETURN)))


@pytest.mark.parametrize(
    "tokens, words",
    [
        (code(instruction(IF, of(0))), "ends within if"),
        (code(instruction(ENDIF)), "end of if where none is open"),
        (code(instruction(LOOP), instruction(ENDIF)), "end of if where none is open"),
        (code(instruction(BREAK)), "leaving loop or switch where none"),
        (code(instruction(IF, of(0)), instruction(ELSE), instruction(ELSE)), "a second else"),
        (code(instruction(CASE, literal(1))), "part of switch where none"),
        (code(instruction(ADD, to(0), of(0))), "an instruction iadd has 2 operands"),
        (instruction(104, words=[4097]), "4097 temporary registers"),
        (instruction(160, operand(G, 0, mask="x"), words=[4, 8193]), "shares 32772 bytes"),
        (code([ADD | 9 << 24]), "9 tokens long"),
        (code([ADD]), "0 tokens long"),
        (code(instruction(MOV, to(0), [2 | IMMEDIATE << 12, 1])), "ends within an operand"),
        (code(instruction(166, operand(U, 0, mask="x"), literal(0), of(0))), "declared structured and used as raw"),
    ],
)
def test_what_is_damaged_is_named(tokens: Tokens, words: str) -> None:
    with pytest.raises(BadContainer, match=words):
        rewritten(part(code(declared([structured(0)]), tokens, RETURN)))


@pytest.mark.parametrize(
    "version, words", [(0x50, "kind 0"), (5 << 16 | 0x51, "shader model 5.1"), (5 << 16 | 0x40, "4.0")]
)
def test_other_programs_are_named(version: int, words: str) -> None:
    with pytest.raises(UnsupportedShader, match=words):
        rewritten(part(code(declared([]), RETURN), version=version))


def test_whatever_the_tokens_are_nothing_but_those_errors_come_of_them() -> None:
    draw = random.Random(19)  # noqa: S311 - a draw that can be repeated
    lines = code(
        instruction(IF, of(0), head=NOT_ZERO),
        put(1),
        instruction(ELSE),
        put(2),
        instruction(ENDIF),
        loaded(0, 0),
        stored(0, of(8)),
    )
    whole_part = part(code(declared([structured(0)]), lines, RETURN))
    refused = 0
    for _ in range(3000):
        damaged = bytearray(whole_part)
        for _ in range(draw.choice((1, 3))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            rewritten(bytes(damaged))
        except (BadContainer, UnsupportedShader):
            refused += 1
    assert 500 < refused < 2900


def test_every_name_stands_at_its_number() -> None:
    known = {
        0: "add",
        53: "customdata",
        62: "ret",
        89: "dcl_constant_buffer",
        104: "dcl_temps",
        107: "reserved",
        112: "reserved",
        129: "rcp",
        155: "dcl_thread_group",
        158: "dcl_uav_structured",
        168: "store_structured",
        173: "atomic_iadd",
        190: "sync",
        191: "dadd",
        202: "ftod",
    }
    assert {number: NAMES[number] for number in known} == known
