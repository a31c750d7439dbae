"""Every instruction of shader model 5 that only computes, against results worked out by hand."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.d3d12_software.bytecode.computing import COMPUTED
from dmlcts.backends.directml.d3d12_software.bytecode.tokens import NAMES
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.suites.selftest.bytecode.assembling import (
    NOTHING,
    PRECISE,
    SATURATED,
    instruction,
    literal,
    of,
    results,
    to,
)
from dmlcts.suites.selftest.dxil.dxil_shaders import bits_of

INF, NAN = math.inf, math.nan
MIN32, ALL = 0x80000000, 0xFFFFFFFF
Value = float | int | str


def bits(value: Value) -> int:
    """A number with a point as FLOAT32, another as it is; text is bits in hexadecimal."""
    return (
        bits_of("float", value)
        if isinstance(value, float)
        else int(value, 16)
        if isinstance(value, str)
        else value & ALL
    )


# opcode, name, cases of (sources, result).
ONE_RESULT: list[tuple[int, str, list[tuple[list[Value], Value]]]] = [
    (
        0,
        "add",
        [
            ([1.0, 2.0], 3.0),
            ([INF, 1.0], INF),
            (["3f800000", "33800000"], 1.0),
            ([-0.0, -0.0], -0.0),
            ([1.5, -1.5], 0.0),
        ],
    ),
    (1, "and", [([0xF0F0, 0xFF00], 0xF000), ([ALL, 0], 0)]),
    (14, "div", [([6.0, 3.0], 2.0), ([1.0, 0.0], INF), ([1.0, -0.0], -INF), ([1.0, 3.0], "3eaaaaab")]),
    (24, "eq", [([1.0, 1.0], ALL), ([0.0, -0.0], ALL), ([1.0, 2.0], 0), ([NAN, NAN], 0)]),
    (25, "exp", [([3.0], 8.0), ([-1.0], 0.5), ([-INF], 0.0)]),
    (26, "frc", [([1.75], 0.75), ([-0.25], 0.75), ([2.0], 0.0)]),
    (27, "ftoi", [([1.9], 1), ([-1.9], -1), ([NAN], 0), ([3e9], 0x7FFFFFFF), ([-3e9], MIN32)]),
    (28, "ftou", [([1.9], 1), ([-1.9], 0), ([NAN], 0), ([3e9], 3_000_000_000), ([5e9], ALL)]),
    (29, "ge", [([2.0, 1.0], ALL), ([1.0, 1.0], ALL), ([1.0, 2.0], 0), ([NAN, 1.0], 0)]),
    (30, "iadd", [([1, 2], 3), ([ALL, 1], 0), ([0x7FFFFFFF, 1], MIN32)]),
    (32, "ieq", [([5, 5], ALL), ([5, 6], 0)]),
    (33, "ige", [([-1, -2], ALL), ([-2, -1], 0), ([1, -1], ALL), ([7, 7], ALL)]),
    (34, "ilt", [([-2, -1], ALL), ([-1, 1], ALL), ([1, -1], 0), ([7, 7], 0)]),
    (35, "imad", [([3, -4, 5], -7), ([1 << 30, 4, 7], 7)]),
    (36, "imax", [([-1, 1], 1), ([MIN32, 0], 0)]),
    (37, "imin", [([-1, 1], -1), ([MIN32, 0], MIN32)]),
    (39, "ine", [([5, 6], ALL), ([5, 5], 0)]),
    (40, "ineg", [([5], -5), ([MIN32], MIN32)]),
    (41, "ishl", [([1, 4], 16), ([1, 33], 2), ([-1, 31], MIN32)]),
    (42, "ishr", [([-16, 2], -4), ([16, 34], 4)]),
    (43, "itof", [([-3], -3.0), ([16777217], 16777216.0)]),
    (47, "log", [([8.0], 3.0), ([0.0], -INF)]),
    (49, "lt", [([1.0, 2.0], ALL), ([2.0, 1.0], 0), ([1.0, 1.0], 0), ([1.0, NAN], 0)]),
    (50, "mad", [([2.0, 3.0, 1.0], 7.0), (["3f800001", "3f800001", "bf800002"], "28800000")]),
    (51, "min", [([1.0, 2.0], 1.0), ([NAN, 2.0], 2.0), ([2.0, NAN], 2.0)]),
    (52, "max", [([1.0, 2.0], 2.0), ([NAN, 2.0], 2.0), ([-INF, NAN], -INF)]),
    (54, "mov", [([0x7F800001], 0x7F800001), ([-0.0], -0.0), ([1], 1)]),
    (55, "movc", [([1, 5, 6], 5), ([0, 5, 6], 6), ([MIN32, 5, 6], 5)]),
    (56, "mul", [([2.0, 3.0], 6.0), ([INF, 2.0], INF), ([-0.0, 2.0], -0.0)]),
    (57, "ne", [([1.0, 2.0], ALL), ([1.0, 1.0], 0), ([NAN, NAN], ALL), ([0.0, -0.0], 0)]),
    (59, "not", [([0xF0F0F0F0], 0x0F0F0F0F)]),
    (60, "or", [([0xF0, 0x0F], 0xFF)]),
    (64, "round_ne", [([0.5], 0.0), ([1.5], 2.0), ([2.5], 2.0), ([-0.5], -0.0)]),
    (65, "round_ni", [([1.5], 1.0), ([-1.5], -2.0)]),
    (66, "round_pi", [([1.5], 2.0), ([-1.5], -1.0)]),
    (67, "round_z", [([1.9], 1.0), ([-1.9], -1.0)]),
    (68, "rsq", [([4.0], 0.5), ([0.0], INF)]),
    (75, "sqrt", [([9.0], 3.0), ([2.0], "3fb504f3")]),
    (79, "ult", [([1, ALL], ALL), ([ALL, 1], 0), ([1, 1], 0)]),
    (80, "uge", [([ALL, 1], ALL), ([1, ALL], 0), ([1, 1], ALL)]),
    (82, "umad", [([3, 4, 5], 17), ([ALL, ALL, 0], 1)]),
    (83, "umax", [([-1, 1], -1)]),
    (84, "umin", [([-1, 1], 1)]),
    (85, "ushr", [([-16, 2], 0x3FFFFFFC), ([16, 34], 4)]),
    (86, "utof", [([-1], 4294967296.0), ([5], 5.0)]),
    (87, "xor", [([0xFF, 0x0F], 0xF0)]),
    (129, "rcp", [([4.0], 0.25), ([0.0], INF)]),
    (130, "f32tof16", [([1.0], 0x3C00), ([65504.0], 0x7BFF), ([INF], 0x7C00)]),
    (131, "f16tof32", [([0x3C00], 1.0), ([0xABCD3C00], 1.0), ([0xFC00], -INF)]),
    (134, "countbits", [([0], 0), ([0x80000001], 2)]),
    (135, "firstbit_hi", [([0], -1), ([0x10000000], 3), ([1], 31)]),
    (136, "firstbit_lo", [([0], -1), ([12], 2)]),
    (137, "firstbit_shi", [([0], -1), ([-1], -1), ([-2], 31), ([0x10000000], 3)]),
    (138, "ubfe", [([4, 4, 0xF0], 15), ([0, 4, -1], 0)]),
    (139, "ibfe", [([4, 4, 0xF0], -1), ([4, 4, 0x70], 7)]),
    (140, "bfi", [([4, 8, 0xA, -1], 0xFFFFFAFF), ([0, 8, -1, 7], 7)]),
    (141, "bfrev", [([1], MIN32), ([0x12345678], 0x1E6A2C48)]),
]

# The same for two results.
TWO_RESULTS: list[tuple[int, str, list[tuple[list[Value], tuple[Value, Value]]]]] = [
    (38, "imul", [([-1, 2], (-1, -2)), ([MIN32, MIN32], (1 << 30, 0)), ([3, 5], (0, 15))]),
    (77, "sincos", [([0.0], (0.0, 1.0))]),
    (78, "udiv", [([7, 2], (3, 1)), ([7, 0], (ALL, ALL)), ([-1, 2], (0x7FFFFFFF, 1))]),
    (81, "umul", [([-1, 2], (1, -2)), ([-1, -1], (-2, 1))]),
    (132, "uaddc", [([-1, 1], (0, 1)), ([1, 1], (2, 0))]),
    (133, "usubb", [([0, 1], (-1, 1)), ([1, 1], (0, 0))]),
    (142, "swapc", [([1, 5, 6], (6, 5)), ([0, 5, 6], (5, 6))]),
]
DOTS = [(15, "dp2", 2), (16, "dp3", 3), (17, "dp4", 4)]


@pytest.mark.parametrize("opcode, name, cases", ONE_RESULT, ids=lambda value: str(value)[:12])
def test_an_instruction_gives_what_is_worked_out_by_hand(
    opcode: int, name: str, cases: list[tuple[list[Value], Value]]
) -> None:
    assert NAMES[opcode] == name
    columns = [[bits(value) for value in column] for column in zip(*(case[0] for case in cases), strict=True)]
    numbers = results(instruction(opcode, to(8), *(of(number) for number in range(len(columns)))), columns)
    assert [f"{value:08x}" for value in numbers] == [f"{bits(case[1]):08x}" for case in cases]


@pytest.mark.parametrize("opcode, name, cases", TWO_RESULTS, ids=lambda value: str(value)[:12])
def test_an_instruction_with_two_results_gives_both_or_either(
    opcode: int, name: str, cases: list[tuple[list[Value], tuple[Value, Value]]]
) -> None:
    assert NAMES[opcode] == name
    columns = [[bits(value) for value in column] for column in zip(*(case[0] for case in cases), strict=True)]
    sources = [of(number) for number in range(len(columns))]
    for place, targets in ((0, (to(8), to(9))), (1, (to(9), to(8))), (0, (to(8), NOTHING)), (1, (NOTHING, to(8)))):
        assert results(instruction(opcode, *targets, *sources), columns) == [bits(case[1][place]) for case in cases]


@pytest.mark.parametrize("opcode, name, count", DOTS)
def test_a_dot_product_takes_as_many_components_as_it_states(opcode: int, name: str, count: int) -> None:
    assert NAMES[opcode] == name
    first = [bits(value) for value in (1.0, 2.0, 3.0, 4.0)]
    second = [bits(value) for value in (5.0, 7.0, 11.0, 13.0)]
    expected = bits(float(sum(a * b for a, b in [(1, 5), (2, 7), (3, 11), (4, 13)][:count])))
    assert results(instruction(opcode, to(8), literal(*first), literal(*second)), [[0]]) == [expected]


def test_every_instruction_that_computes_is_tested() -> None:
    assert {row[1] for row in (*ONE_RESULT, *TWO_RESULTS, *DOTS)} == COMPUTED


def test_a_result_is_put_between_0_and_1_where_that_is_stated() -> None:
    values = [[bits(value) for value in (-2.0, 0.25, 3.0, NAN)]]
    expected = [bits(value) for value in (0.0, 0.25, 1.0, 0.0)]
    assert results(instruction(54, to(8), of(0), head=SATURATED), values) == expected
    assert results(instruction(0, to(8), of(0), literal(0), head=SATURATED), values) == expected
    assert results(instruction(54, to(8), of(0)), values) == values[0]


@pytest.mark.parametrize("modifier, expected", [(0, 1.5), (1, -1.5), (2, 1.5), (3, -1.5)])
def test_signs_are_modified_before_a_floating_instruction(modifier: int, expected: float) -> None:
    for value in (1.5, -1.5):
        wanted = abs(expected) if modifier & 2 else expected * (1 if value > 0 else -1)
        wanted = math.copysign(wanted, expected) if modifier & 2 else wanted
        assert results(instruction(54, to(8), of(0, modifier=modifier)), [[bits(value)]]) == [bits(wanted)]
        assert results(instruction(0, to(8), of(0, modifier=modifier), literal(0)), [[bits(value)]]) == [bits(wanted)]


def test_a_negated_integer_is_its_negative() -> None:
    assert results(instruction(30, to(8), of(0, modifier=1), of(1)), [[5], [7]]) == [2]


def test_a_precise_multiplication_and_addition_is_rounded_twice() -> None:
    factors = [[0x3F800001], [0x3F800001], [0xBF800002]]
    sources = [of(number) for number in range(3)]
    assert results(instruction(50, to(8), *sources), factors) == [0x28800000]
    assert results(instruction(50, to(8), *sources, head=PRECISE), factors) == [0]
    assert results(instruction(50, to(8), *sources), factors, Personality(mad="separate")) == [0]


def test_a_personality_flushes_what_it_names() -> None:
    small = [[0x00000003], [0x00000004]]
    code = instruction(0, to(8), of(0), of(1))
    assert results(code, small) == [7]
    assert results(code, small, Personality(denormals="flush")) == [0]
    assert results(instruction(54, to(8), of(0)), small, Personality(denormals="flush")) == [3]
