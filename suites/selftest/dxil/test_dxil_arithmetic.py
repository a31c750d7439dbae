"""LLVM instructions as Direct3D means them, and every setting of a personality."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.d3d12_software.codegen import codegen
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality, settings
from dmlcts.specs import UsageError
from dmlcts.suites.selftest.dxil.dxil_shaders import bits_of, compiled, each, intrinsic, results

INF, NAN = math.inf, math.nan
MIN32 = -(1 << 31)
FLUSH = Personality(denormals="flush")


def computed(
    lines: str,
    kinds: tuple[str, ...],
    result: str,
    *cases: tuple[float | str, ...],
    personality: Personality | None = None,
    **more: str,
) -> list[str]:
    """Results as hexadecimal digits."""
    return [f"{bits:x}" for bits in results(each(kinds, result, lines, **more), kinds, result, cases, personality)]


@pytest.mark.parametrize(
    ("word", "cases"),
    [
        ("fadd", [((1.0, "33800000"), "3f800000"), (("1", "1"), "2"), ((INF, 1.0), "7f800000"), ((0.0, -0.0), "0")]),
        ("fsub", [((1.0, "33000000"), "3f800000"), (("00800000", "1"), "7fffff"), ((-0.0, 0.0), "80000000")]),
        ("fmul", [(("00800000", 0.5), "400000"), ((3.4e38, 10.0), "7f800000"), ((-0.0, 1.0), "80000000")]),
        ("fdiv", [((1.0, 3.0), "3eaaaaab"), ((1.0, 0.0), "7f800000"), ((1.0, -0.0), "ff800000")]),
        ("frem", [((5.5, 2.0), "3fc00000"), ((-5.5, 2.0), "bfc00000"), ((1.0, INF), "3f800000")]),
    ],
)
def test_float_instructions_are_ieee_754_without_their_fast_flags(
    word: str, cases: list[tuple[tuple[float | str, ...], str]]
) -> None:
    texts = computed(f"  %r = {word} fast float %a, %b\n", ("float",) * 2, "float", *(case for case, _ in cases))
    assert texts == [expected for _, expected in cases]


def test_fast_is_no_order_to_forget_nan_and_signed_zero() -> None:
    cancels = "  %s = fadd fast float %a, %b\n  %r = fsub fast float %s, %b\n"
    assert computed(cancels, ("float",) * 2, "float", (1.0, 1e30)) == ["0"]
    itself = "  %r = fcmp fast oeq float %a, %a\n"
    assert computed(itself, ("float",), "i1", (NAN,), (1.0,)) == ["0", "1"]
    nothing = "  %r = fadd fast float %a, 0.0\n"
    assert computed(nothing, ("float",), "float", (-0.0,)) == ["0"]


def test_integers_wrap_whatever_their_flags_promise() -> None:
    grows = "  %s = add nsw i32 %a, 1\n  %r = icmp sgt i32 %s, %a\n"
    assert computed(grows, ("i32",), "i1", (0x7FFFFFFF,), (1,)) == ["0", "1"]


@pytest.mark.parametrize(
    ("word", "case", "expected"),
    [
        ("fadd", (2048.0, 1.0), "6800"),
        ("fadd", ("1", "1"), "2"),
        ("fmul", (300.0, 300.0), "7c00"),
        ("fmul", ("0400", 0.5), "200"),
        ("fdiv", (1.0, 3.0), "3555"),
        ("fsub", (-0.0, 0.0), "8000"),
        ("frem", (5.5, 2.0), "3e00"),
    ],
)
def test_half_instructions_round_once(word: str, case: tuple[float | str, ...], expected: str) -> None:
    assert computed(f"  %r = {word} half %a, %b\n", ("half",) * 2, "half", case) == [expected]


@pytest.mark.parametrize(
    ("word", "source", "target", "cases"),
    [
        (
            "fptosi",
            "float",
            "i32",
            [(1.9, 1), (-1.9, -1), (3e9, 0x7FFFFFFF), (-3e9, MIN32), (NAN, 0), (INF, 0x7FFFFFFF)],
        ),
        ("fptoui", "float", "i32", [(1.9, 1), (-1.0, 0), (5e9, -1), (NAN, 0), (INF, -1), (-INF, 0)]),
        ("fptosi", "half", "i16", [(1.9, 1), (65504.0, 0x7FFF), (-65504.0, -0x8000), (NAN, 0)]),
        ("fptoui", "half", "i16", [(-1.0, 0), (65504.0, 65504), (INF, 65535)]),
        ("fptosi", "double", "i64", [(1e300, (1 << 63) - 1), (NAN, 0)]),
    ],
)
def test_conversions_to_integers_saturate(word: str, source: str, target: str, cases: list[tuple[float, int]]) -> None:
    numbers = results(
        each((source,), target, f"  %r = {word} {source} %a to {target}\n"),
        (source,),
        target,
        [(value,) for value, _ in cases],
    )
    assert numbers == [bits_of(target, expected) for _, expected in cases]


@pytest.mark.parametrize(
    ("word", "source", "target", "case", "expected"),
    [
        ("sitofp", "i32", "float", -16777217, "cb800000"),
        ("uitofp", "i32", "float", -1, "4f800000"),
        ("uitofp", "i32", "half", 65519, "7bff"),
        ("uitofp", "i32", "half", 65520, "7c00"),
        ("sitofp", "i64", "half", -2049, "e800"),
        ("fpext", "half", "float", "0001", "33800000"),
        ("fpext", "half", "float", "fc00", "ff800000"),
        ("fptrunc", "float", "half", 65519.996, "7bff"),
        ("fptrunc", "float", "half", 65520.0, "7c00"),
        ("fptrunc", "float", "half", "33000000", "0"),
        ("fptrunc", "float", "half", "33000001", "1"),
        ("fptrunc", "float", "half", "3f801000", "3c00"),
        ("fptrunc", "float", "half", "3f803000", "3c02"),
        ("fptrunc", "double", "half", "3ff0020000000001", "3c01"),
        ("fptrunc", "double", "half", "3ff0020000000000", "3c00"),
        ("fptrunc", "double", "half", "3ff001ffffffffff", "3c00"),
        ("fptrunc", "double", "half", "bff005ffffffffff", "bc01"),
        ("fptrunc", "double", "half", "8000000000000001", "8000"),
        ("fptrunc", "double", "half", 1e300, "7c00"),
        ("fptrunc", "double", "float", 0.1, "3dcccccd"),
        ("fpext", "float", "double", "1", "36a0000000000000"),
    ],
)
def test_conversions_round_to_nearest_even(
    word: str, source: str, target: str, case: float | str, expected: str
) -> None:
    assert computed(f"  %r = {word} {source} %a to {target}\n", (source,), target, (case,)) == [expected]


@pytest.mark.parametrize(
    ("word", "case", "expected"),
    [
        ("shl", (1, 33), 2),
        ("lshr", (MIN32, 33), 0x40000000),
        ("ashr", (MIN32, 63), -1),
        ("shl", (1, 31), MIN32),
        ("udiv", (7, 2), 3),
        ("udiv", (7, 0), -1),
        ("urem", (7, 0), -1),
        ("urem", (-1, 10), 5),
        ("sdiv", (-7, 2), -3),
        ("sdiv", (MIN32, -1), MIN32),
        ("sdiv", (1, 0), -1),
        ("srem", (-7, 2), -1),
        ("srem", (MIN32, -1), 0),
        ("srem", (1, 0), -1),
    ],
)
def test_shifts_and_divisions_never_trap(word: str, case: tuple[int, int], expected: int) -> None:
    kinds = ("i32", "i32")
    assert results(each(kinds, "i32", f"  %r = {word} i32 %a, %b\n"), kinds, "i32", [case]) == [
        bits_of("i32", expected)
    ]


def test_an_unknown_instruction_or_call_is_named() -> None:
    with pytest.raises(UnsupportedShader, match="the instruction 'fence'"):
        compiled(each(("i32",), "i32", "  fence seq_cst\n  %r = add i32 %a, 1\n"))
    with pytest.raises(UnsupportedShader, match=r"the call .*@llvm\.bswap\.i32"):
        compiled(
            each(("i32",), "i32", "  %r = call i32 @llvm.bswap.i32(i32 %a)\n", top="declare i32 @llvm.bswap.i32(i32)")
        )
    compiled(each(("i32",), "i32", "  %r = add i32 %a, 1\n"))


# FMad

TWO_ROUNDINGS = ("3f800001", "3f800001", "bf800002")  # (1 + u)^2 - (1 + 2u): u^2 fused, 0 otherwise


def test_mad_rounds_once_or_twice_as_set() -> None:
    lines = intrinsic(46, ("float",) * 3, "float")
    for mad, expected in (("fused", "28800000"), ("separate", "0"), ("contract", "28800000")):
        personality = Personality(mad=mad)
        assert computed(lines, ("float",) * 3, "float", TWO_ROUNDINGS, personality=personality) == [expected]


@pytest.mark.parametrize("mad", settings()["mad"])
def test_a_precise_mad_is_never_fused(mad: str) -> None:
    precise = intrinsic(46, ("float",) * 3, "float", note=", !dx.precise !9")
    assert computed(precise, ("float",) * 3, "float", TWO_ROUNDINGS, personality=Personality(mad=mad)) == ["0"]


@pytest.mark.parametrize(
    ("flags", "note", "mad", "expected"),
    [
        ("fast", "", "contract", "28800000"),
        ("contract", "", "contract", "28800000"),
        ("fast", ", !dx.precise !9", "contract", "0"),
        ("", "", "contract", "0"),
        ("fast", "", "fused", "0"),
        ("fast", "", "separate", "0"),
    ],
)
def test_fast_products_are_fused_with_their_sums_only_where_that_is_set(
    flags: str, note: str, mad: str, expected: str
) -> None:
    for operands in ("%p, %c", "%c, %p"):
        lines = f"  %p = fmul {flags} float %a, %b{note}\n  %r = fadd {flags} float {operands}{note}\n"
        kinds = ("float",) * 3
        assert computed(lines, kinds, "float", TWO_ROUNDINGS, personality=Personality(mad=mad)) == [expected]


def exact_half(bits: int) -> Fraction:
    return Fraction(float(np.array(bits, "u2").view("f2")))


def test_a_fused_half_mad_is_the_exact_sum_rounded_once() -> None:
    patterns = np.random.default_rng(7).integers(0, 1 << 16, (6000, 3)).astype("u2")
    patterns[:2000, 2] = patterns[:2000, 0] ^ 0x8000  # near cancellation with a factor near one
    patterns[:2000, 1] = 0x3C00 + patterns[:2000, 1] % 9
    kinds = ("half",) * 3
    numbers = results(
        each(kinds, "half", intrinsic(46, kinds, "half")),
        kinds,
        "half",
        [[f"{item:x}" for item in row] for row in patterns.tolist()],
    )
    checked = 0
    for (a, b, c), bits in zip(patterns.tolist(), numbers, strict=True):
        if any(item & 0x7C00 == 0x7C00 for item in (a, b, c)):
            continue
        exact = exact_half(a) * exact_half(b) + exact_half(c)
        if not exact:
            assert not bits & 0x7FFF
            continue
        if bits & 0x7FFF == 0x7C00:
            assert abs(exact) >= 65520
            continue
        # Correctly rounded: no neighbour is nearer, and an even one wins a tie.
        distance = abs(exact_half(bits) - exact)
        for other in (bits + 1, bits - 1):
            if other & 0x7C00 != 0x7C00 and other & 0x7FFF >= 0 and bits & 0x7FFF:
                away = abs(exact_half(other & 0xFFFF) - exact)
                assert distance < away or (distance == away and not bits & 1), f"{a:x} {b:x} {c:x}"
        checked += 1
    assert checked > 4000


# Subnormals

SMALL = "00000001"


@pytest.mark.parametrize(
    ("lines", "kinds", "case", "preserved", "flushed"),
    [
        ("  %r = fadd float %a, %b\n", ("float",) * 2, (SMALL, "80000003"), "80000002", "0"),
        ("  %r = fmul float %a, %b\n", ("float",) * 2, ("80800000", 0.5), "80400000", "80000000"),
        ("  %r = fsub float %a, %b\n", ("float",) * 2, ("00800001", "00800000"), "1", "0"),
        ("  %r = fdiv float %a, %b\n", ("float",) * 2, (SMALL, "80000001"), "bf800000", "nan"),
        (intrinsic(46, ("float",) * 3, "float"), ("float",) * 3, (SMALL, 1.0, 0.0), "1", "0"),
        (intrinsic(35, ("float",) * 2, "float"), ("float",) * 2, (SMALL, 0.0), "1", "0"),
        (intrinsic(36, ("float",) * 2, "float"), ("float",) * 2, ("80000001", 0.0), "80000001", "80000000"),
        (intrinsic(36, ("float",) * 2, "float"), ("float",) * 2, (SMALL, 1.0), "1", "0"),
        (intrinsic(28, ("float",), "float"), ("float",), (SMALL,), "3f800000", "0"),
        (intrinsic(27, ("float",), "float"), ("float",), ("80000001",), "bf800000", "80000000"),
        (intrinsic(23, ("float",), "float"), ("float",), (SMALL,), "c3150000", "ff800000"),
        (intrinsic(24, ("float",), "float"), ("float",), ("80000001",), "nan", "80000000"),
    ],
)
def test_float32_arithmetic_keeps_or_flushes_subnormals(
    lines: str, kinds: tuple[str, ...], case: tuple[float | str, ...], preserved: str, flushed: str
) -> None:  # type: ignore[type-arg]
    for personality, expected in ((Personality(), preserved), (FLUSH, flushed)):
        (text,) = computed(lines, kinds, "float", case, personality=personality)
        assert (int(text, 16) & 0x7FFFFFFF > 0x7F800000) if expected == "nan" else text == expected


def test_comparisons_flush_their_operands() -> None:
    lines = "  %r = fcmp ogt float %a, 0.0\n"
    assert computed(lines, ("float",), "i1", (SMALL,)) == ["1"]
    assert computed(lines, ("float",), "i1", (SMALL,), personality=FLUSH) == ["0"]


@pytest.mark.parametrize(
    ("lines", "kind", "case"),
    [
        ("  %r = select i1 true, float %a, float 0.0\n", "float", "80000001"),
        (
            intrinsic(127, ("float",), "i32").replace("%r", "%q") + "  %r = bitcast i32 %q to float\n",
            "float",
            "00000001",
        ),
        (intrinsic(6, ("float",), "float"), "float", "00000001"),
        ("  %r = fadd half %a, 0xH0000\n", "half", "0001"),
        (intrinsic(36, ("half",) * 2, "half").replace("%b", "0xH3C00"), "half", "0001"),
        ("  %r = fadd double %a, 0.0\n", "double", "0000000000000001"),
    ],
)
def test_moves_half_and_double_never_flush(lines: str, kind: str, case: str) -> None:
    assert computed(lines, (kind,), kind, (case,), personality=FLUSH) == [f"{int(case, 16):x}"]


def test_a_shader_that_asks_for_a_denorm_mode_gets_it() -> None:
    lines = "  %r = fadd float %a, 0.0\n"
    for asked, expected in (("preserve", "1"), ("ftz", "0")):
        for personality in (Personality(), FLUSH):
            attributes = f'"fp32-denorm-mode"="{asked}"'
            assert computed(lines, ("float",), "float", (SMALL,), personality=personality, attributes=attributes) == [
                expected
            ]
    assert computed(lines, ("float",), "float", (SMALL,), personality=FLUSH, attributes='"fp32-denorm-mode"="any"') == [
        "0"
    ]


# NaN and zeros


@pytest.mark.parametrize(
    ("setting", "single", "half"),
    [("propagate", "ffc00123", "fe12"), ("canonical", "7fc00000", "7e00"), ("ones", "7fffffff", "7fff")],
)
def test_a_nan_of_arithmetic_has_the_bits_that_are_set(setting: str, single: str, half: str) -> None:
    personality = Personality(nan=setting)
    least = intrinsic(36, ("float",) * 2, "float").replace("%b", "%a")
    for lines in ("  %r = fadd float %a, 1.0\n", intrinsic(26, ("float",), "float"), least):
        if lines == least and setting == "propagate":
            continue  # one of the two NaNs, which may stay signalling
        assert computed(lines, ("float",), "float", ("ff800123",), personality=personality) == [single]
    assert computed("  %r = fadd half %a, 0xH3C00\n", ("half",), "half", ("fc12",), personality=personality) == [half]


@pytest.mark.parametrize("setting", settings()["nan"])
def test_a_nan_that_is_only_moved_keeps_its_bits(setting: str) -> None:
    lines = "  %r = select i1 true, float %a, float 0.0\n"
    assert computed(lines, ("float",), "float", ("ff800123",), personality=Personality(nan=setting)) == ["ff800123"]


@pytest.mark.parametrize("setting", settings()["nan"])
def test_min_and_max_return_the_number_beside_a_nan_whatever_is_set(setting: str) -> None:
    for opcode in (35, 36):
        for zeros in settings()["zeros"]:
            personality = Personality(nan=setting, zeros=zeros)
            lines = intrinsic(opcode, ("float",) * 2, "float")
            cases = [("7f800001", 2.0), (2.0, NAN), (-INF, NAN)]
            assert computed(lines, ("float",) * 2, "float", *cases, personality=personality) == [
                "40000000",
                "40000000",
                "ff800000",
            ]


def test_zeros_of_both_signs_are_ordered_or_equal_as_set() -> None:
    cases = [(0.0, -0.0), (-0.0, 0.0)]
    for zeros, least, greatest in (
        ("ordered", ["80000000"] * 2, ["0"] * 2),
        ("operands", ["80000000", "0"], ["0", "80000000"]),
    ):
        personality = Personality(zeros=zeros)
        for opcode, expected in ((36, least), (35, greatest)):
            lines = intrinsic(opcode, ("float",) * 2, "float")
            assert computed(lines, ("float",) * 2, "float", *cases, personality=personality) == expected


# FLOAT16 from wider types


@pytest.mark.parametrize(
    ("value", "nearest", "zero"),
    [
        ("3f801000", "3c00", "3c00"),
        ("3f803000", "3c02", "3c01"),
        ("bf803000", "bc02", "bc01"),
        (65519.0, "7bff", "7bff"),
        (65520.0, "7c00", "7bff"),
        (-1e30, "fc00", "fbff"),
        (INF, "7c00", "7c00"),
        (-INF, "fc00", "fc00"),
        (1.0, "3c00", "3c00"),
        ("33c00000", "2", "1"),
        ("337fffff", "1", "0"),
        ("b37fffff", "8001", "8000"),
        (-0.0, "8000", "8000"),
        (NAN, "7e00", "7e00"),
    ],
)
def test_half_numbers_are_rounded_to_nearest_or_cut_off_as_set(value: float | str, nearest: str, zero: str) -> None:
    for half, expected in (("nearest", nearest), ("zero", zero)):
        personality = Personality(half=half)
        narrow = "  %r = fptrunc float %a to half\n"
        assert computed(narrow, ("float",), "half", (value,), personality=personality) == [expected]
        legacy = intrinsic(130, ("float",), "i32")
        assert computed(legacy, ("float",), "i32", (value,), personality=personality) == [expected]
        double = "  %d = fpext float %a to double\n  %r = fptrunc double %d to half\n"
        assert computed(double, ("float",), "half", (value,), personality=personality) == [expected]


def test_half_arithmetic_is_to_nearest_even_where_conversions_cut_off() -> None:
    personality = Personality(half="zero")
    assert computed("  %r = fdiv half %a, %b\n", ("half",) * 2, "half", (2.0, 3.0), personality=personality) == ["3955"]
    assert computed("  %r = fmul half %a, %b\n", ("half",) * 2, "half", ("3c03", "3c03"), personality=personality) == [
        "3c06"
    ]
    assert computed("  %r = fadd half %a, %b\n", ("half",) * 2, "half", (2048.0, 3.0), personality=personality) == [
        "6802"
    ]


# The settings themselves


def test_a_personality_is_read_from_words_and_described() -> None:
    assert Personality.parse({}) == Personality()
    assert (
        Personality.parse({"mad": "separate"}).describe()
        == "denormals=preserve nan=propagate mad=separate half=nearest zeros=ordered"
    )
    assert {name: words[0] for name, words in settings().items()} == {
        name: getattr(Personality(), name) for name in settings()
    }


def test_a_wrong_word_is_refused_with_the_right_ones() -> None:
    with pytest.raises(UsageError, match="denormals cannot be 'keep'; write one of preserve, flush"):
        Personality.parse({"denormals": "keep"})
    with pytest.raises(
        UsageError, match=re.escape("no arithmetic option 'rounding'; write one of denormals, nan, mad, half, zeros")
    ):
        Personality.parse({"rounding": "up"})


# A processor without half-precision instructions


def test_half_conversions_work_without_the_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    features = codegen.processor()[1]
    if "+f16c" not in features.split(","):
        pytest.skip("this processor has no f16c to do without")
    patterns = [f"{pattern:x}" for pattern in range(0, 1 << 16, 7)]
    widen, narrow = "  %r = fpext half %a to float\n", "  %r = fptrunc float %a to half\n"
    with_them = computed(widen, ("half",), "float", *((item,) for item in patterns))
    between = [
        f"{int(text, 16) + delta & 0xFFFFFFFF:x}" for text in with_them for delta in (0, 1, 0x1000, 0xFFF, 0x1001)
    ]
    narrowed = computed(narrow, ("float",), "half", *((text,) for text in between))
    lesser = (
        ",".join(word for word in features.split(",") if not word.startswith(("+f16c", "+avx512", "+avx10")))
        + ",-f16c,-avx512f,-avx512fp16"
    )
    monkeypatch.setattr(codegen, "processor", lambda: ("x86-64-v2", lesser))
    assert computed(widen, ("half",), "float", *((item,) for item in patterns)) == with_them
    assert computed(narrow, ("float",), "half", *((text,) for text in between)) == narrowed
