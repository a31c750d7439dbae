"""The inner oracles against two from outside: MPFR through gmpy2, and the data of ONNX's Clip and Round node tests.

The exact and the vectorised oracle were written apart but by one house, from one reading of the pages. MPFR knows
nothing of either; ONNX's cases were written by others for operators of the same meaning.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import gmpy2
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.arithmetic.value_sets import Arithmetic
from dmlcts.specs.arithmetic.vector_arithmetic import fused_multiply_add, fused_multiply_add_float64
from dmlcts.specs.formula import Expression, parse
from dmlcts.specs.latitudes import NONE
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.suites.conformance.values.test_casting import _float16_bounds
from dmlcts.suites.generation import edge_values
from dmlcts.suites.selftest.exact_oracle.exact_answers import (
    F16,
    F32,
    F64,
    FORMATS,
    INF,
    INTEGERS,
    NEAREST_EVEN,
    TABLES,
    describe,
)
from dmlcts.suites.selftest.oracles.published_vectors import onnx_cases

Real = Any  # gmpy2.mpfr
Rounding = Callable[[Real], Real]
Triple = tuple[float, float, float]
CLIP, ROUND = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND"
FLOATING = (F16, F32, F64)
BOTH = {"exact", "vectorised"}
SEPARATE = parse("x * Min + Max", ("x", "Min", "Max"))


each_type = pytest.mark.parametrize("data_type", FLOATING, ids=lambda data_type: data_type.name)


def acceptables(values: np.ndarray, data_type: DataType) -> list[Acceptable]:
    """Each element as the one acceptable outcome; a NaN as any NaN."""
    patterns = values.view(data_type.bits_dtype).tolist()
    return [
        Acceptable(frozenset(), any_nan=True) if nan else Acceptable(frozenset({bits}))
        for bits, nan in zip(patterns, np.isnan(values).tolist(), strict=True)
    ]


def dissenters(outside: np.ndarray, data_type: DataType, **inner: Iterable[Acceptable]) -> dict[str, str]:
    """The inner oracles that accept anything else than the answer from outside, each with the first such element."""
    wanted = acceptables(outside, data_type)
    differences: dict[str, str] = {}
    for name, answers in inner.items():
        pairs = enumerate(zip(answers, wanted, strict=True))
        wrong = [f"element {index}: {answer} is not {right}" for index, (answer, right) in pairs if answer != right]
        differences |= {name: wrong[0]} if wrong else {}
    return differences


def dissent(
    operator: OperatorDesc, x: np.ndarray, outside: np.ndarray, formula: Expression | None = None
) -> dict[str, str]:
    """The inner oracles whose strict answers for ``x`` are not those from outside."""
    data_type = operator.input.data_type
    table = TABLES.operator(operator.name)
    law = TABLES.law(table) if formula is None else TABLES.law(table).with_expression(formula)
    exact = ExactOracle(law, operator, strict=True)
    vectorised = VectorOracle(law, operator, strict=True)
    answers = (exact.acceptable(bits) for bits in x.view(data_type.bits_dtype).tolist())
    differences = dissenters(outside, data_type, exact=answers, vectorised=vectorised.acceptance(x).elements())
    quick = vectorised.expected(x)
    apart = quick.view(data_type.bits_dtype) != outside.view(data_type.bits_dtype)  # NaNs may be
    return differences | dissenters(outside[apart], data_type, vectorised=acceptables(quick[apart], data_type))


# --------------------------------------------------------------------------------------------------- MPFR


def mpfr_format(precision: int, max_exponent: int, **changes: Any) -> Any:
    """A binary format as MPFR counts it: numbers are 0.1… times 2^e, so that every exponent is one more."""
    smallest = 1 - max_exponent - (precision - 1)
    meant = {"precision": precision, "emax": max_exponent + 1, "emin": smallest + 1, "subnormalize": True}
    return gmpy2.context(**meant | changes)


MPFR = {F16: mpfr_format(11, 15), F32: mpfr_format(24, 127), F64: mpfr_format(53, 1023)}
MPFR_MODES: dict[str, Rounding] = {
    NEAREST_EVEN: gmpy2.rint,  # in the rounding direction of the context, which is to nearest even
    "TOWARD_ZERO": gmpy2.rint_trunc,
    "TOWARD_INFINITY": gmpy2.rint_round,
}


def encoded(values: Iterable[Real], data_type: DataType) -> np.ndarray:
    """Numbers that the type represents, in it."""
    wide = np.array([float(value) for value in values])
    narrow = wide.astype(data_type.numpy)
    assert np.array_equal(narrow.astype(np.float64), wide, equal_nan=True), "MPFR's answer is no number of the type"
    return narrow


def rounding_dissent(mode: str, x: np.ndarray, data_type: DataType, function: Rounding) -> dict[str, str]:
    outside = encoded((function(gmpy2.mpfr(value)) for value in x.tolist()), data_type)
    return dissent(describe(ROUND, data_type, RoundingMode=mode), x, outside)


@pytest.mark.parametrize("mode", MPFR_MODES)
@pytest.mark.size("thorough")
def test_mpfr_rounds_every_float16_to_the_same_integer(mode: str) -> None:
    assert rounding_dissent(mode, edge_values.every_pattern(F16, nan=True), F16, MPFR_MODES[mode]) == {}


HALVES = st.integers(-(1 << 23), (1 << 23) - 1).map(lambda whole: whole + 0.5)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(width=32) | st.floats(-(2.0**24), 2.0**24, width=32) | HALVES, min_size=1))
def test_mpfr_rounds_drawn_float32_to_the_same_integers(values: list[float]) -> None:
    x = np.array(values, np.float32)
    around = np.concatenate([x, np.nextafter(x, np.float32(0)), np.nextafter(x, np.float32(1e30))])
    for mode, function in MPFR_MODES.items():
        assert rounding_dissent(mode, around, F32, function) == {}


@each_type
@pytest.mark.parametrize(
    "mode, wrong",
    [
        ("TOWARD_INFINITY", lambda x: gmpy2.rint_floor(x + 0.5)),
        ("TOWARD_INFINITY", gmpy2.rint),
        ("TOWARD_INFINITY", gmpy2.rint_ceil),
        (NEAREST_EVEN, gmpy2.rint_round),
        ("TOWARD_ZERO", gmpy2.rint_floor),
        ("TOWARD_ZERO", lambda x: gmpy2.rint_trunc(x) + 0.0),
    ],
    ids=["half-up", "half-even-for-away", "ceiling", "half-away-for-even", "floor", "minus-zero-lost"],
)
def test_a_wrong_rounding_from_outside_is_noticed(data_type: DataType, mode: str, wrong: Rounding) -> None:
    halves = encoded([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], data_type)
    assert rounding_dissent(mode, halves, data_type, wrong).keys() == BOTH
    assert rounding_dissent(mode, halves, data_type, MPFR_MODES[mode]) == {}


def cast_dissent(bound: float, data_type: DataType, mpfr: Any) -> dict[str, str]:
    """A FLOAT as Min and Max of CLIP is every output: what it was converted to."""
    operator = describe(CLIP, data_type, ScaleBias=None, Min=np.float32(bound), Max=np.float32(bound))
    return dissent(operator, encoded([-INF, INF], data_type), encoded([mpfr.plus(gmpy2.mpfr(bound))] * 2, data_type))


@each_type
def test_mpfr_converts_every_bound_of_the_lattice_to_the_same_number(data_type: DataType) -> None:
    """Every bound that the suite makes for any type, and the numbers of the boundary lattice as bounds."""
    makers = (edge_values.bounds, edge_values.inverted_bounds, edge_values.equal_bounds)
    pairs = [pair for listed in (F16, F32, *INTEGERS) for made in makers for pair in made(listed)]
    bounds = [*_float16_bounds(), *(bound for pair in pairs for bound in pair), *edge_values.inputs(F32)]
    bounds += [np.float32(sign * value) for value in (65520, 65536, 1e6, 3e38) for sign in (1, -1)]
    for bound in {value.tobytes(): float(value) for value in bounds}.values():  # by pattern: -0 is not 0
        assert cast_dissent(bound, data_type, MPFR[data_type]) == {}, bound.hex()


def halfway16(bits: int) -> float:
    """The middle between a FLOAT16 and the next, which is a FLOAT."""
    return float(np.array([bits, bits + 1], np.uint16).view(np.float16).astype(np.float64).mean())


NEAR_FLOAT16 = st.floats(-66000, 66000, width=32) | st.integers(0, 0x7BFE).map(halfway16)


@each_type
@settings(max_examples=200, deadline=None)
@given(bound=st.floats(width=32, allow_nan=False) | NEAR_FLOAT16)
def test_mpfr_converts_drawn_bounds_to_the_same_number(data_type: DataType, bound: float) -> None:
    assert cast_dissent(bound, data_type, MPFR[data_type]) == {}


@each_type
@settings(max_examples=300, deadline=None)
@given(value=st.floats(allow_nan=False, allow_infinity=False) | st.floats(-66000, 66000))
@example(value=2.0**128 - 2.0**103)  # halfway between the largest FLOAT32 and 2^128
@example(value=2.0**-150)  # half the smallest FLOAT32
def test_mpfr_converts_any_double_as_the_exact_format_does(data_type: DataType, value: float) -> None:
    for near in (value, math.nextafter(value, 0.0), math.nextafter(value, math.copysign(1e308, value))):
        bits = FORMATS[data_type].round(Datum(math.copysign(1, near) < 0, Fraction(near)))
        outside = encoded([MPFR[data_type].plus(gmpy2.mpfr(near))], data_type)
        assert dissenters(outside, data_type, exact=[Acceptable(frozenset({bits}))]) == {}


WRONG_CASTS = {
    "toward-zero": (mpfr_format(11, 15, round=gmpy2.RoundToZero), halfway16(0x3C01)),
    "upwards": (mpfr_format(11, 15, round=gmpy2.RoundUp), 0.1),
    "away-from-zero": (mpfr_format(11, 15, round=gmpy2.RoundAwayZero), halfway16(0x3C00)),
    "one-bit-less": (mpfr_format(10, 15), 1 + 2.0**-10),
    "subnormals-flushed": (mpfr_format(11, 15, subnormalize=False, emin=-13), 2.0**-15),
    "early-overflow": (mpfr_format(11, 14), 40000.0),
}


@pytest.mark.parametrize("wrong, bound", WRONG_CASTS.values(), ids=WRONG_CASTS)
def test_a_wrong_conversion_from_outside_is_noticed(wrong: Any, bound: float) -> None:
    assert cast_dissent(bound, F16, wrong).keys() == BOTH
    assert cast_dissent(bound, F16, MPFR[F16]) == {}


# -------------------------------------------------------------------------------- MPFR: multiply and add


def separate(mpfr: Any, x: Real, scale: Real, bias: Real) -> Real:
    return mpfr.add(mpfr.mul(x, scale), bias)


fused = gmpy2.context.fma


def encoded_result(data_type: DataType, way: Callable[..., Real], triple: Triple) -> np.ndarray:
    """MPFR's x * scale + bias in the arithmetic of the type."""
    return encoded([way(MPFR[data_type], *map(gmpy2.mpfr, triple))], data_type)


def separate_dissent(data_type: DataType, triple: Triple, outside: np.ndarray) -> dict[str, str]:
    """Against the oracles' ``multiply`` and ``add``, in the arithmetic of the type."""
    x, scale, bias = triple
    operator = describe(CLIP, data_type, ScaleBias=None, Min=np.float32(scale), Max=np.float32(bias))
    return dissent(operator, encoded([x], data_type), outside, SEPARATE)


def fused_dissent(data_type: DataType, triple: Triple, outside: np.ndarray) -> dict[str, str]:
    """Against the two fused functions, which paths of ScaleBias take."""
    operands = [encoded([value], data_type) for value in triple]
    exact = Arithmetic(FORMATS[data_type], NONE)
    members = [exact.member(int(operand.view(data_type.bits_dtype)[0])) for operand in operands]
    results = exact.fused_multiply_add(*members)
    answers = [Acceptable(frozenset({member} - {None}), any_nan=member is None) for member in results]
    if data_type is F64:
        x, scale, bias = operands
        quick = fused_multiply_add_float64(x, np.float32(scale[0]), np.float32(bias[0]))
        quick = np.where((quick == 0) & (outside == 0), outside, quick)  # where it is used either zero is accepted
    else:
        quick = fused_multiply_add(*operands, data_type.numpy)
    return dissenters(outside, data_type, exact=answers, vectorised=acceptables(quick, data_type))


def through_float32(reals: list[Real]) -> list[Real]:
    """Separate and fused, each step rounded to nearest or to either side; separate to nearest comes first."""
    ways = (MPFR[F32], DOWN_32, UP_32)
    return [
        *(second.add(first.mul(reals[0], reals[1]), reals[2]) for first in ways for second in ways),
        *(fused(way, *reals) for way in ways),
    ]


def scale_bias_paths(data_type: DataType, triple: Triple) -> list[np.ndarray]:
    """Every path of rule 4 that flushes nothing, in MPFR; the path that ``strict`` prescribes comes first."""
    reals = [gmpy2.mpfr(value) for value in triple]
    both = (separate, fused)
    if data_type is F64:
        return [encoded([way(MPFR[F64], *reals)], data_type) for way in both]
    ends = [*through_float32(reals), fused(MPFR[F64], *reals)]
    if data_type is F32:
        return [encoded([MPFR[F32].plus(end)], data_type) for end in ends]
    stored = [fused(EXACTLY, *reals)]  # once, and only to nearest
    for narrow in (MPFR[F16], TOWARD_ZERO_16):
        factors = [reals[0], *(narrow.plus(real) for real in reals[1:])]
        stored += [way(MPFR[F16], *factors) for way in both]
        ends += [*through_float32(factors), fused(MPFR[F64], *factors)]
    nearest, truncated = ([narrow.plus(end) for end in ends] for narrow in (MPFR[F16], TOWARD_ZERO_16))
    return [encoded([MPFR[F16].plus(end)], data_type) for end in (*nearest, *truncated, *stored)]


EXACTLY = mpfr_format(700, 16383)
"""Holds x * scale + bias of any FLOAT16 and two FLOATs: from 2^145 down to 2^-198."""
DOWN_32, UP_32 = (mpfr_format(24, 127, round=way) for way in (gmpy2.RoundDown, gmpy2.RoundUp))
TOWARD_ZERO_16 = mpfr_format(11, 15, round=gmpy2.RoundToZero)


def nothing_tiny(data_type: DataType, triple: Triple) -> bool:
    """Whether no FLOAT32 number that a path meets is subnormal, so that none may be flushed."""
    return data_type is F64 or all(value == 0 or abs(value) >= 2.0**-35 for value in triple)


def any_of(paths: list[np.ndarray], data_type: DataType) -> Acceptable:
    """What is accepted where the paths give these numbers, and bounds of both infinities change none of them."""
    answers = [answer for path in paths for answer in acceptables(path, data_type)]
    patterns = frozenset().union(*(answer.patterns for answer in answers))
    sign = 1 << 8 * data_type.itemsize - 1
    if patterns & {0, sign}:
        patterns |= {0, sign}
    any_nan = any(answer.any_nan for answer in answers)
    if any_nan:  # rule 6: the bounds count too
        patterns |= {int(np.array(bound, data_type.numpy).view(data_type.bits_dtype)) for bound in (-INF, INF)}
    return Acceptable(patterns, any_nan)


def scale_bias_dissent(data_type: DataType, triple: Triple, paths: list[np.ndarray]) -> dict[str, str]:
    """Against ScaleBias before bounds that change nothing: strict the first path, otherwise every one is accepted.

    Where nothing may be flushed, nothing else is accepted either.
    """
    operator = describe(CLIP, data_type, ScaleBias=ScaleBias(*triple[1:]), Min=-INF, Max=INF)
    x, table = encoded([triple[0]], data_type), TABLES.operator(CLIP)
    differences = {} if np.isnan(paths[0]).any() else dissent(operator, x, paths[0])  # after a NaN the bounds count too
    exact = ExactOracle(TABLES.law(table), operator).acceptable(int(x.view(data_type.bits_dtype)[0]))
    lenient = VectorOracle(TABLES.law(table), operator).acceptance(x).element(0)
    for name, accepted in (("exact", exact), ("vectorised", lenient)):
        for path in paths:
            if not accepted.admits(int(path.view(data_type.bits_dtype)[0]), data_type):
                differences[name] = f"{path} is a path and not accepted"
        if nothing_tiny(data_type, triple) and accepted != any_of(paths, data_type):
            differences.setdefault(name, f"{accepted} is more than the paths' {any_of(paths, data_type)}")
    return differences


@st.composite
def ties(draw: st.DrawFn, data_type: DataType) -> Triple:
    """A product one bit longer than the type, and a bias of any size, mostly far too small to be seen in a sum."""
    digits = MPFR[data_type].precision // 2 + 1
    fewer = min(digits, MPFR[F32].precision)  # scale is a FLOAT
    x, scale = (
        st.integers(1 << count - 2, (1 << count - 1) - 1).map(lambda half: 2 * half + 1)
        for count in (2 * digits - fewer, fewer)
    )
    lowest = max(MPFR[data_type].emin, MPFR[F32].emin) - 1
    bias = st.just(0.0) | st.integers(lowest, 12).map(lambda exponent: 2.0**exponent)
    sign = st.sampled_from([1, -1])
    return draw(sign) * draw(x) * 2.0 ** draw(st.integers(-6, 2)), float(draw(scale)), draw(sign) * draw(bias)


@st.composite
def cancellations(draw: st.DrawFn, data_type: DataType) -> Triple:
    """A bias that cancels the rounded product, so that the fused sum is the product's error."""
    number = st.floats(0.015625, 128, width=16 if data_type is F16 else 32)
    x, scale = draw(number), draw(number)
    narrow = data_type if data_type is F16 else F32  # bias is a FLOAT
    return x, scale, -float(MPFR[narrow].mul(gmpy2.mpfr(x), gmpy2.mpfr(scale)))


def triples(data_type: DataType) -> st.SearchStrategy[Triple]:
    anything = st.floats(width=16 if data_type is F16 else 32)
    x = st.floats() if data_type is F64 else anything
    return st.tuples(x, anything, anything) | ties(data_type) | cancellations(data_type)


MODERATE = st.floats(-2048, 2048, width=32).filter(lambda value: value == 0 or abs(value) > 2.0**-35)
FLOATS = st.floats(width=32) | MODERATE
"""Any; and those that make no FLOAT32 subnormal of a FLOAT16."""


@each_type
@settings(max_examples=200, deadline=None)
@given(data=st.data())
@pytest.mark.size("thorough")
def test_mpfr_multiplies_and_adds_the_same(data_type: DataType, data: st.DataObject) -> None:
    triple = data.draw(triples(data_type), label="x, scale, bias")
    assert separate_dissent(data_type, triple, encoded_result(data_type, separate, triple)) == {}
    assert fused_dissent(data_type, triple, encoded_result(data_type, fused, triple)) == {}
    factors = data.draw(st.tuples(FLOATS, FLOATS), label="FLOAT scale and bias")
    for pair in (triple[1:], factors):
        paths = scale_bias_paths(data_type, (triple[0], *pair))
        assert scale_bias_dissent(data_type, (triple[0], *pair), paths) == {}


SEEN_WHEN_FUSED = {  # just above a tie to even, downwards
    F16: (33.0, 65.0, 2.0**-24),
    F32: (4097.0, 4097.0, 2.0**-40),
    F64: (2.0**36 + 1, 2.0**17 + 1, 2.0**-40),
}


@each_type
def test_separate_for_fused_and_fused_for_separate_are_noticed(data_type: DataType) -> None:
    triple = SEEN_WHEN_FUSED[data_type]
    apart, at_once = encoded_result(data_type, separate, triple), encoded_result(data_type, fused, triple)
    assert fused_dissent(data_type, triple, apart).keys() == BOTH
    assert separate_dissent(data_type, triple, at_once).keys() == BOTH
    assert scale_bias_dissent(data_type, triple, [at_once]).keys() == BOTH
    assert scale_bias_dissent(data_type, triple, [apart, at_once + at_once]).keys() == BOTH


def test_a_fused_sum_that_double_rounds_on_the_way_is_noticed() -> None:
    x, scale, bias = SEEN_WHEN_FUSED[F32]
    twice = np.array([x * scale + bias]).astype(np.float32)
    assert fused_dissent(F32, (x, scale, bias), twice).keys() == BOTH


# --------------------------------------------------------------------------------------------------- ONNX

CLIPS = ("test_clip", "test_clip_example", "test_clip_inbounds", "test_clip_outbounds", "test_clip_splitbounds")
MAPPED = (*CLIPS, "test_round")  # to CLIP, and to ROUND with HALVES_TO_NEAREST_EVEN
NO_BOUND = "a bound is left out; CLIP has no default for Min and Max"
INVERTED = "Min > Max: ONNX gives Max, the page's max(Min, min(x, Max)) gives Min"
EXPANDED = "the function body, Less and Where, in place of the operator; its data are those of the case of that name"
UNMAPPED = {
    "test_clip_min_greater_than_max": INVERTED,
    "test_clip_default_min": NO_BOUND,
    "test_clip_default_max": NO_BOUND,
    "test_clip_default_inbounds": NO_BOUND,
    "test_clip_default_int8_min": NO_BOUND,
    "test_clip_default_int8_max": NO_BOUND,
    "test_clip_default_int8_inbounds": NO_BOUND,
}
UNMAPPED |= {f"{name}_expanded": EXPANDED for name in (*CLIPS, *UNMAPPED)}


class NodeCase(NamedTuple):
    """A node test of ONNX: the operators of its graph, and its data."""

    operators: set[str]
    inputs: list[np.ndarray]
    output: np.ndarray


@lru_cache(maxsize=1)
def node_cases() -> dict[str, NodeCase]:
    """Every node test of the package that is about Clip or Round, made by the code that the package ships."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the other operators' cases overflow on purpose
        collected = onnx_cases({"Clip", "Round"})
    nodes = {case.name: case.model.graph.node for case in collected}
    about = {name for name, graph in nodes.items() if len(graph) == 1 and graph[0].op_type in ("Clip", "Round")}
    cases_by_name = {}
    for case in collected:
        if case.name.partition("_expanded")[0] in about:
            ((inputs, outputs),) = case.data_sets
            operators = {node.op_type for node in nodes[case.name]}
            cases_by_name[case.name] = NodeCase(operators, [np.asarray(item) for item in inputs], outputs[0].ravel())
    return cases_by_name


def case_dissent(case: NodeCase, outside: np.ndarray) -> dict[str, str]:
    x, *bounds = case.inputs
    operator = describe(ROUND, F32, RoundingMode=NEAREST_EVEN)
    if bounds:
        operator = describe(CLIP, F32, ScaleBias=None, Min=np.float32(bounds[0]), Max=np.float32(bounds[1]))
    return dissent(operator, x.ravel(), outside)


def test_every_clip_and_round_case_of_onnx_is_mapped_or_listed_with_a_reason() -> None:
    listed = {*MAPPED, *UNMAPPED}
    assert node_cases().keys() - listed == set()
    assert {*node_cases(), "test_clip_of_a_later_release"} - listed == {"test_clip_of_a_later_release"}


@pytest.mark.parametrize("name", MAPPED)
def test_onnx_expects_what_the_oracles_accept(name: str) -> None:
    case = node_cases()[name]
    assert case_dissent(case, case.output) == {}
    wrong = case.output.copy()
    wrong[-1] = np.nextafter(wrong[-1], np.float32(0))
    assert case_dissent(case, wrong).keys() == BOTH, "one output, one unit off, is noticed"


@pytest.mark.parametrize("name", UNMAPPED)
def test_the_reason_for_leaving_an_onnx_case_out_is_true(name: str) -> None:
    case = node_cases().get(name)
    if case is None or UNMAPPED[name] == EXPANDED:  # an older release lacks some
        assert case is None or not {"Clip", "Round"} & case.operators
    elif UNMAPPED[name] == NO_BOUND:
        assert len(case.inputs) < 3
    else:
        low, high = case.inputs[1:]
        assert low > high
        assert case_dissent(case, case.output).keys() == BOTH
        assert case_dissent(case, np.full_like(case.output, low)) == {}
