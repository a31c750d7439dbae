"""Judging blocks: the fast comparisons agree with the oracles, in what they pass and in what they do not."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.formula import parse
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.blocks import PIECE, BlockJudge, FastFormula, Unsupported
from dmlcts.specs.oracle.compiled import Certifier, NotCompiled, available
from dmlcts.specs.oracle.vectorised import VectorOracle, equal
from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation import edge_values
from dmlcts.suites.selftest.oracles.test_typed_oracles import law

TABLES = load_tables()
MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
BOUNDS = [
    (-1.0, 1.0),
    (0.0, 6.0),
    (6.0, 0.0),
    (-0.0, 0.0),
    (0.0, -0.0),
    (2.5, 2.5),
    (-np.inf, np.inf),
    (1e-45, 1.0),
    (np.nan, 1.0),
    (-1.0, np.nan),
    (np.nan, np.nan),
]
needs_numba = pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="needs numba (the extra `fast`)")


def oracle_of(name: str, data_type: DataType, attributes: dict[str, Any], *, strict: bool = False) -> VectorOracle:
    table = TABLES.operator(name)
    tensor = TensorDesc(data_type, (1, 1, 1, 1))
    operator = OperatorDesc(table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    return VectorOracle(TABLES.law(table), operator, strict=strict)


def oracles(data_type: DataType, *, strict: bool = False) -> Iterator[VectorOracle]:
    if data_type.is_floating:
        for mode in MODES:
            yield oracle_of("ROUND", data_type, {"RoundingMode": mode}, strict=strict)
    for low, high in BOUNDS:
        if not data_type.is_floating and not (np.isfinite(low) and np.isfinite(high)):
            continue
        if not data_type.is_signed and low < 0:
            low = -low
        yield oracle_of("CLIP", data_type, {"ScaleBias": None, "Min": low, "Max": high}, strict=strict)
        yield oracle_of("THRESHOLD", data_type, {"ScaleBias": None, "Min": low}, strict=strict)


def inputs(data_type: DataType) -> np.ndarray:
    """All patterns of a narrow type; of a wide one the lattice, ties, near ties, NaNs, and seeded patterns."""
    if data_type.itemsize <= 2:
        return edge_values.every_pattern(data_type, nan=True)
    seeded = np.random.Generator(np.random.PCG64(5)).bytes(20_000 * data_type.itemsize)
    arrays = [edge_values.inputs(data_type), np.frombuffer(seeded, data_type.numpy)]
    if data_type.is_floating:
        arrays += [edge_values.ties(data_type), edge_values.near_ties(data_type), edge_values.integers(data_type)]
        arrays += [edge_values.subnormals(data_type), edge_values.nans(data_type)]
    return np.concatenate(arrays)


TYPES = [
    DataType.FLOAT32,
    DataType.FLOAT16,
    DataType.FLOAT64,
    DataType.INT8,
    DataType.UINT16,
    DataType.INT32,
    DataType.UINT32,
    DataType.INT64,
    DataType.UINT64,
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", TYPES, ids=lambda kind: kind.name)
def test_the_fast_formula_gives_what_the_oracle_expects(data_type: DataType, strict: bool) -> None:
    x = inputs(data_type)
    variants = [(False, False)]
    if data_type.is_floating and not strict:
        variants.append((True, False))
    if data_type is DataType.FLOAT32 and not strict:
        variants.append((False, True))
    for oracle, (number, flushed) in itertools.product(oracles(data_type, strict=strict), variants):
        if data_type is DataType.FLOAT64 and oracle.operator.attributes.get("RoundingMode") == MODES[2]:
            with pytest.raises(Unsupported):  # the fast way there rounds
                FastFormula(oracle, PIECE)
            continue
        if flushed and not oracle.rounding.flushes:  # no clause of ROUND lists subnormals: they round to zero anyway
            with pytest.raises(Unsupported):
                FastFormula(oracle, PIECE, flushed=True)
            continue
        fast = FastFormula(oracle, PIECE, number=number, flushed=flushed)
        outputs = np.concatenate([np.array(fast(x[start : start + PIECE])) for start in range(0, x.size, PIECE)])
        assert oracle.acceptance(x).admits(outputs).all(), oracle.operator
        if not number and not flushed:
            same = equal(outputs, oracle.expected(x), data_type, strict=strict)
            assert same.all(), (oracle.operator, x[~same][:3])


@needs_numba
@pytest.mark.parametrize("formula", ["CLIP", "THRESHOLD", *MODES])
@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16, DataType.INT8], ids=lambda kind: kind.name)
@pytest.mark.size("thorough", brief=3)
def test_the_compiled_comparison_agrees_with_numpy(data_type: DataType, formula: str) -> None:
    x = inputs(data_type)
    poison = int((~x.view(data_type.bits_dtype))[0])
    for oracle in oracles(data_type, strict=True):
        if formula not in (oracle.law.table.short_name, oracle.operator.attributes.get("RoundingMode")):
            continue
        right = oracle.expected(x)
        certifier = Certifier(oracle)
        assert certifier.outputs(x, right, None), oracle.operator
        if data_type.itemsize <= 2:
            held = bool((right.view(data_type.bits_dtype) == poison).any())
            assert certifier.patterns(0, x, right, poison) is not held
        bits = right.view(data_type.bits_dtype)
        for place in (0, x.size // 2, x.size - 1):
            wrong = bits.copy()
            wrong[place] ^= 1
            if np.isnan(right[place]) and np.isnan(wrong.view(x.dtype)[place]):
                continue
            assert not certifier.outputs(x, wrong.view(x.dtype), None), (oracle.operator, place)


@needs_numba
def test_the_compiled_comparison_sees_a_changed_input_and_the_poison() -> None:
    oracle = oracle_of("ROUND", DataType.FLOAT32, {"RoundingMode": "TOWARD_ZERO"})
    bits = np.arange(0x3FC0_0000, 0x3FC0_0000 + 1000, dtype=np.uint32)
    x, right = bits.view(np.float32), np.ones(1000, np.float32)
    certifier = Certifier(oracle)
    assert certifier.patterns(0x3FC0_0000, x, right, 0x3F35_A5A7)
    assert not certifier.patterns(0x3FC0_0000, x, right, 0x3F80_0000)  # an output that was not written looks right
    changed = bits.copy()
    changed[999] += 1
    assert not certifier.patterns(0x3FC0_0000, changed.view(np.float32), right, 0x3F35_A5A7)


@needs_numba
def test_the_compiled_comparison_of_given_inputs_sees_the_poison_wherever_it_is() -> None:
    oracle = oracle_of("ROUND", DataType.FLOAT32, {"RoundingMode": "TOWARD_ZERO"})
    certifier, unity, two = Certifier(oracle), 0x3F80_0000, 0x4000_0000
    x = np.full(5, 1.5, np.float32)
    assert certifier.outputs(x, np.ones(5, np.float32), two)
    assert certifier.outputs(x, np.ones(5, np.float32), None)
    assert not certifier.outputs(x, np.ones(5, np.float32), unity)  # all of them are right, and none may be written
    x[3] = 2.5
    assert not certifier.outputs(x, np.trunc(x), two)


@needs_numba
@pytest.mark.parametrize("place", [0, 1, 8191, 8192, 20_000, 29_999])  # both sides of a stretch, and of an exponent
def test_the_compiled_comparison_sees_one_wrong_output(place: int) -> None:
    oracle = oracle_of("ROUND", DataType.FLOAT32, {"RoundingMode": "TOWARD_ZERO"})
    first = 0x4000_0000 - 20_000
    x = np.arange(first, first + 30_000, dtype=np.uint32).view(np.float32)
    certifier, right = Certifier(oracle), np.trunc(x)
    assert certifier.alone(first, right, 0)
    assert certifier.patterns(first, x, right, 0)
    wrong = right.copy()
    wrong[place] += 1
    assert not certifier.alone(first, wrong, 0)
    assert not certifier.patterns(first, x, wrong, 0)


@needs_numba
def test_a_judge_certifies_alone_what_is_right_and_nothing_else() -> None:
    oracle = oracle_of("THRESHOLD", DataType.INT16, {"ScaleBias": None, "Min": 3})
    right = np.array([3, 3, 3, 3, 4, 5], np.int16)
    wrong = np.array([3, 3, 3, 3, 4, 6], np.int16)
    judge = BlockJudge(oracle)
    assert judge.certifies_alone(0, right, poison=100)
    assert not judge.certifies_alone(0, wrong, poison=100)
    assert not judge.certifies_alone(1, right, poison=100)
    assert not judge.certifies_alone(0, right, poison=5)
    assert not BlockJudge(oracle, compiled=False).certifies_alone(0, right, poison=100)


@needs_numba
@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16], ids=lambda kind: kind.name)
@pytest.mark.parametrize("x, wrong", [(np.inf, np.nan), (-np.inf, np.nan), (np.nan, np.inf), (np.nan, -np.inf)])
def test_the_compiled_comparison_distinguishes_infinity_from_nan(data_type: DataType, x: float, wrong: float) -> None:
    certifier = Certifier(oracle_of("ROUND", data_type, {"RoundingMode": "TOWARD_ZERO"}))
    outputs, bits = np.array([x], data_type.numpy), np.array([x], data_type.numpy).view(data_type.bits_dtype)
    assert certifier.outputs(outputs, outputs, None)
    assert certifier.alone(int(bits[0]), outputs, 0)
    other = np.array([wrong], data_type.numpy)
    assert not certifier.outputs(outputs, other, None)
    assert not certifier.alone(int(bits[0]), other, 0)


@needs_numba
@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16, DataType.INT8, DataType.UINT32])
def test_consecutive_patterns_are_distinguished_from_others(data_type: DataType) -> None:
    limits = {"Min": 0, "Max": 1}
    judge = BlockJudge(oracle_of("CLIP", data_type, limits), compiled=True)
    width = 8 * data_type.itemsize
    for first in (0, (1 << width - 1) - 3, (1 << width) - 3):  # the last ones wrap
        x = (np.arange(first, first + 100, dtype=np.uint64) % (1 << width)).astype(data_type.bits_dtype)
        assert judge.are_consecutive(first, x)
        assert not judge.are_consecutive(first + 1, x)
        for place in (0, 50, 99):
            changed = x.copy()
            changed[place] ^= 1 << width - 1
            assert not judge.are_consecutive(first, changed)
    plain = BlockJudge(oracle_of("CLIP", data_type, limits), compiled=False)
    assert not plain.are_consecutive(0, np.zeros(1, data_type.bits_dtype))


@needs_numba
@pytest.mark.parametrize("alone", [True, False])
def test_after_it_is_prepared_nothing_is_left_to_compile(alone: bool) -> None:
    judge = BlockJudge(oracle_of("CLIP", DataType.INT16, {"Min": -3, "Max": 3 + alone}), compiled=True)
    judge.prepare(**({"alone": True} if alone else {}))  # those with inputs unless it is said
    certifier = judge._certifier
    assert certifier is not None
    functions = (certifier._compare_alone, certifier._compare_patterns, certifier._consecutive)
    before = [len(function.signatures) for function in functions]
    x = np.arange(3, dtype=np.int16)
    if alone:
        x.setflags(write=False)  # as what comes back from a stream
        assert judge.certifies_alone(0, x, 100)
        assert judge.are_consecutive(0, x)
    else:
        assert judge.certifies(0, x, x, 100)
    assert [len(function.signatures) for function in functions] == before


@needs_numba
def test_what_is_not_compiled_is_judged_by_numpy() -> None:
    oracle = oracle_of("CLIP", DataType.FLOAT32, {"ScaleBias": ScaleBias(2, 1), "Min": 0, "Max": 1})
    with pytest.raises(NotCompiled):
        Certifier(oracle)
    with pytest.raises(Unsupported):
        FastFormula(oracle, PIECE)
    x = inputs(DataType.FLOAT32)
    judged = BlockJudge(oracle).judge(x, oracle.expected(x))
    assert (judged.elements, judged.wrong.size) == (x.size, 0)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data_type", TYPES[:4], ids=lambda kind: kind.name)
@pytest.mark.size("thorough", brief=4)
def test_a_block_is_judged_as_the_oracle_judges_it(data_type: DataType, strict: bool, compiled: bool) -> None:
    x = inputs(data_type)
    bits = data_type.bits_dtype
    sign = bits.type(1 << (8 * data_type.itemsize - 1))
    generator = np.random.Generator(np.random.PCG64(9))
    for oracle in oracles(data_type, strict=strict):
        right = oracle.expected(x)
        halves = oracle.operator.attributes.get("RoundingMode") == MODES[2]
        ignoring = right if halves else FastFormula(oracle, x.size, number=True)(x).copy()
        for spoiled in (
            right,
            ignoring,
            (right.view(bits) ^ (generator.integers(0, 50, x.size) == 0).astype(bits)).view(x.dtype),
            (right.view(bits) ^ (generator.integers(0, 2, x.size).astype(bits) * sign)).view(x.dtype),
            np.where(generator.integers(0, 2, x.size) == 0, right, np.zeros((), x.dtype)),
        ):
            judged = BlockJudge(oracle, compiled=compiled).judge(x, spoiled)
            wanted = oracle.judge(x, spoiled, right)
            assert np.array_equal(judged.wrong, wanted), oracle.operator
            assert judged.exact + judged.equal + judged.other + judged.wrong.size == judged.elements == x.size


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
@pytest.mark.parametrize(
    "data_type", [DataType.FLOAT32, DataType.FLOAT16, DataType.FLOAT64], ids=lambda kind: kind.name
)
def test_only_float32_subnormals_may_be_flushed_in_a_block(data_type: DataType, compiled: bool) -> None:
    x = edge_values.subnormals(data_type)
    tiny = np.abs(x) < np.finfo(data_type.numpy).smallest_normal
    flushed = np.where(tiny, np.zeros((), x.dtype), x)
    for oracle in (
        oracle_of("CLIP", data_type, {"ScaleBias": None, "Min": -1.0, "Max": 1.0}),
        oracle_of("THRESHOLD", data_type, {"ScaleBias": None, "Min": -1.0}),
    ):
        judge = BlockJudge(oracle, compiled=compiled)
        wanted = [] if data_type is DataType.FLOAT32 else np.flatnonzero(tiny).tolist()
        assert judge.judge(x, flushed).wrong.tolist() == wanted
        assert judge.judge(x, x).wrong.tolist() == []
    if data_type is not DataType.FLOAT32:
        with pytest.raises(Unsupported):
            FastFormula(oracle, PIECE, flushed=True)


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16], ids=lambda kind: kind.name)
def test_a_nan_bound_in_a_block_never_gives_the_other_bound(data_type: DataType) -> None:
    x = np.array([-3, 0.5, 7], data_type.numpy)
    judge = BlockJudge(oracle_of("CLIP", data_type, {"ScaleBias": None, "Min": np.nan, "Max": 2.0}))
    for good in ([-3, 0.5, 2], [np.nan] * 3, [0, 0.5, 2]):
        assert judge.judge(x, np.array(good, x.dtype)).wrong.tolist() == [], good
    assert judge.judge(x, np.array([2, 2, 2], x.dtype)).wrong.tolist() == [0, 1]


def test_outputs_that_equal_the_poison_are_distinguished_from_wrong_ones() -> None:
    oracle = oracle_of("THRESHOLD", DataType.INT32, {"ScaleBias": None, "Min": 0})
    x = np.array([5, 6, 7, 8], np.int32)
    judged = BlockJudge(oracle).judge(x, np.array([5, 7, 7, 8], np.int32), poison=7)
    assert judged.wrong.tolist() == [1]
    assert judged.poison.tolist() == [2]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_an_output_that_looks_right_and_equals_the_poison_is_reported(compiled: bool) -> None:
    oracle = oracle_of("THRESHOLD", DataType.INT32, {"ScaleBias": None, "Min": 0})
    x = np.array([5, 6, 7, 8], np.int32)
    judged = BlockJudge(oracle, compiled=compiled).judge(x, x, poison=7)
    assert (judged.wrong.tolist(), judged.poison.tolist()) == ([], [2])


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_what_is_right_is_counted_by_how_it_is_right(compiled: bool) -> None:
    integers = BlockJudge(oracle_of("THRESHOLD", DataType.INT32, {"ScaleBias": None, "Min": 6}), compiled=compiled)
    judged = integers.judge(np.array([5, 6, 7], np.int32), np.array([6, 6, 8], np.int32))
    assert (judged.exact, judged.equal, judged.other, judged.wrong.tolist()) == (2, 0, 0, [2])
    floats = BlockJudge(oracle_of("THRESHOLD", DataType.FLOAT32, {"ScaleBias": None, "Min": -1}), compiled=compiled)
    x, output = np.float32([3, np.nan, -0.0, 1e-40, 2, 7]), np.float32([3, np.nan, 0.0, 0.0, 2, 8])
    judged = floats.judge(x, output)
    assert (judged.exact, judged.equal, judged.other, judged.wrong.tolist()) == (3, 1, 1, [5])


def test_a_flushed_number_keeps_its_sign_where_that_of_zero_counts() -> None:
    negation = law("SQRT", formula="-x", more="", latitude="subnormals, nan-payload")
    tensor = TensorDesc(DataType.FLOAT32, (1,))
    operator = OperatorDesc(negation.table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, {})
    judge = BlockJudge(VectorOracle(negation, operator))
    x = np.float32([1e-40, -1e-40, 1e-40, -1e-40, 1e-40])
    assert judge.judge(x, np.float32([-0.0, 0.0, 0.0, -0.0, -1e-40])).wrong.tolist() == [2, 3]


def test_a_formula_of_other_functions_is_judged_too() -> None:
    table = TABLES.operator("THRESHOLD")
    for text in ("abs(x) + 1", "-x * x", "floor(x) - Min", "ceil(x)", "max(0, x) + 0.5"):
        expression = parse(text, ("x", "Min"))
        operator = oracle_of("THRESHOLD", DataType.FLOAT32, {"ScaleBias": None, "Min": 2}).operator
        oracle = VectorOracle(TABLES.law(table).with_expression(expression), operator)
        x = inputs(DataType.FLOAT32)
        right = oracle.expected(x)
        assert not BlockJudge(oracle).judge(x, right).wrong.size, text
        wrong = right.copy()
        finite = np.flatnonzero(np.isfinite(right) & (np.abs(right) > 1))[7]
        wrong[finite] = np.nextafter(wrong[finite], np.float32(0))
        assert BlockJudge(oracle).judge(x, wrong).wrong.tolist() == [finite], text


def test_seeded_bulk_is_judged_in_several_pieces() -> None:
    oracle = oracle_of("ROUND", DataType.FLOAT32, {"RoundingMode": "TOWARD_INFINITY"})
    x = Values.bulk(DataType.FLOAT32, 3).array(3 * PIECE + 17)
    y = oracle.expected(x).copy()
    y[[5, PIECE, 3 * PIECE + 16]] = 1e30
    assert BlockJudge(oracle).judge(x, y).wrong.tolist() == [5, PIECE, 3 * PIECE + 16]


def fast(text: str, data_type: DataType, low: float = 2.0, **kinds: bool) -> FastFormula:
    """The fast way of a formula of x and Min."""
    expression = parse(text, ("x", "Min"))
    operator = oracle_of("THRESHOLD", data_type, {"ScaleBias": None, "Min": low}).operator
    law_of_it = TABLES.law(TABLES.operator("THRESHOLD")).with_expression(expression)
    return FastFormula(VectorOracle(law_of_it, operator), PIECE, **kinds)


@pytest.mark.parametrize(
    "text, data_type, right",
    [
        ("x + 3", DataType.INT8, [2, 3, 5]),
        ("max(x, 1)", DataType.INT8, [1, 1, 2]),
        ("floor(x)", DataType.INT8, [-1, 0, 2]),
        ("x * 3", DataType.FLOAT32, [-3, 0, 6]),
        ("x + 0.5", DataType.FLOAT32, [-0.5, 0.5, 2.5]),
        ("max(x, 1)", DataType.FLOAT16, [1, 1, 2]),
        ("abs(x)", DataType.FLOAT16, [1, 0, 2]),
    ],
)
def test_a_formula_that_rounds_nowhere_else_has_a_fast_way(text: str, data_type: DataType, right: list[float]) -> None:
    assert fast(text, data_type)(np.array([-1, 0, 2], data_type.numpy)).tolist() == right


@pytest.mark.parametrize(
    "text, data_type",
    [
        ("x + 0.5", DataType.INT8),
        ("x + 3", DataType.FLOAT16),
        ("x * x", DataType.FLOAT16),
    ],
)
def test_a_fraction_on_integers_and_sums_of_float16_have_no_fast_way(text: str, data_type: DataType) -> None:
    with pytest.raises(Unsupported):
        fast(text, data_type)


def test_a_formula_selects_where_it_takes_a_minimum_or_a_maximum() -> None:
    assert fast("max(x, 1)", DataType.FLOAT32).selects
    assert not fast("x + 1", DataType.FLOAT32).selects


@pytest.mark.parametrize("text, right", [("max(x, 2)", [2.0, 2.0]), ("min(x, 2)", [2.0, -np.inf])])
def test_a_number_is_preferred_to_nan_where_it_is_asked_for(text: str, right: list[float]) -> None:
    x = np.array([np.nan, -np.inf], np.float32)
    assert fast(text, DataType.FLOAT32, number=True)(x).tolist() == right
    assert np.isnan(fast(text, DataType.FLOAT32)(x)[0])


def test_a_subnormal_bound_is_flushed_before_it_is_multiplied() -> None:
    x = np.array([1e10], np.float32)
    assert fast("x * Min", DataType.FLOAT32, 1e-40)(x).tolist() != [0]
    assert fast("x * Min", DataType.FLOAT32, 1e-40, flushed=True)(x).tolist() == [0]
    assert fast("x * Min", DataType.FLOAT32, 2.0**-126, flushed=True)(x).tolist() != [0]


@pytest.mark.parametrize("text, right", [("max(x, Min)", "0x0.0p+0"), ("min(x, Min)", "-0x0.0p+0")])
def test_zeros_are_ordered_where_their_sign_counts(text: str, right: str) -> None:
    """IEEE 754-2019, 9.6: maximum takes +0 for the greater of the two zeros, minimum -0 for the smaller."""
    table = TABLES.operator("THRESHOLD")
    for low, value in ((0.0, -0.0), (-0.0, 0.0)):
        operator = oracle_of("THRESHOLD", DataType.FLOAT32, {"ScaleBias": None, "Min": low}).operator
        judging = TABLES.law(table).with_expression(parse(text, ("x", "Min")))
        strict = FastFormula(VectorOracle(judging, operator, strict=True), PIECE)
        assert float(strict(np.full(3, value, np.float32))[1]).hex() == right


def test_what_equals_the_poison_is_named_in_whichever_piece_it_stands() -> None:
    oracle = oracle_of("ROUND", DataType.FLOAT32, {"RoundingMode": "TOWARD_ZERO"})
    x = np.full(3 * PIECE + 17, 7, np.float32)
    places = [5, PIECE, 3 * PIECE + 16]
    x[places] = 3
    poison = int(np.float32(3).view(np.uint32))
    judged = BlockJudge(oracle, compiled=False).judge(x, x.copy(), poison)
    assert (judged.poison.tolist(), judged.wrong.size) == (places, 0)


@needs_numba
def test_a_judge_certifies_what_is_right_beside_its_inputs_and_nothing_else() -> None:
    oracle = oracle_of("CLIP", DataType.INT16, {"Min": -3, "Max": 3})
    x = np.arange(5, dtype=np.int16)
    right = oracle.expected(x)
    wrong = right + np.int16([0, 0, 0, 0, 1])
    judge = BlockJudge(oracle)
    assert judge.certifies(0, x, right, 100)
    assert not judge.certifies(0, x, wrong, 100)
    assert not judge.certifies(1, x, right, 100)
    assert not judge.certifies(0, x, right, 2)
    assert not BlockJudge(oracle, compiled=False).certifies(0, x, right, 100)


def test_a_formula_without_an_input_is_judged_too() -> None:
    expression = parse("Min", ("x", "Min"))
    operator = oracle_of("THRESHOLD", DataType.FLOAT32, {"ScaleBias": None, "Min": 2}).operator
    oracle = VectorOracle(TABLES.law(TABLES.operator("THRESHOLD")).with_expression(expression), operator)
    judged = BlockJudge(oracle).judge(np.zeros(5, np.float32), np.array([2, 2, 3, 2, 2], np.float32))
    assert (judged.exact, judged.wrong.tolist()) == (4, [2])


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=needs_numba)])
def test_another_nan_is_exact_unless_payloads_count(compiled: bool) -> None:
    x = np.array([0x7FC0_0005, 0x3F80_0000], np.uint32).view(np.float32)
    output = np.array([0x7FC0_0006, 0x3F80_0000], np.uint32).view(np.float32)
    tensor = TensorDesc(DataType.FLOAT32, (1,))
    for latitude, wrong in (('"nan", nan-payload', []), ("subnormals", [0])):
        same = law("SQRT", formula="abs(x)", more="", latitude=latitude)
        operator = OperatorDesc(same.table.operator, {"InputTensor": tensor, "OutputTensor": tensor}, {})
        judged = BlockJudge(VectorOracle(same, operator), compiled=compiled).judge(x, output)
        assert (judged.exact, judged.other, judged.wrong.tolist()) == (2 - len(wrong), 0, wrong)
        kept = BlockJudge(VectorOracle(same, operator), compiled=compiled).judge(x, x.copy())
        assert (kept.exact, kept.wrong.size) == (2, 0)


@needs_numba
def test_the_compiled_comparison_is_there_where_numba_is() -> None:
    assert available() is True
    assert BlockJudge(oracle_of("CLIP", DataType.INT16, {"Min": -3, "Max": 3})).compiled


def test_without_numba_none_is_there() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        assert not available()
        with pytest.raises(NotCompiled):
            Certifier(oracle_of("CLIP", DataType.INT16, {"Min": -3, "Max": 3}))
