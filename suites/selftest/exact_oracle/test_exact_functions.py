"""The exact oracle on the functions of the formula language."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from dmlcts.specs.arithmetic.binary_format import BINARY32
from dmlcts.specs.arithmetic.value_sets import Arithmetic
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.oracle.outcome import Acceptable, Unconstrained
from dmlcts.suites.selftest.exact_oracle.exact_answers import F16, F32, F64, INF, NAN, accept, values


@pytest.mark.parametrize(
    "formula, x, expected",
    [
        ("floor(x)", -0.5, -1.0),
        ("floor(x)", 1.75, 1.0),
        ("ceil(x)", -0.5, -0.0),
        ("ceil(x)", 1.25, 2.0),
        ("floor(x)", -0.0, -0.0),
        ("ceil(x)", INF, INF),
        ("abs(x)", -3.5, 3.5),
        ("abs(x)", -0.0, 0.0),
        ("abs(x)", -INF, INF),
        ("-x", 0.0, -0.0),
        ("-x", -INF, INF),
        ("x + x", -0.0, -0.0),
        ("x - x", -0.0, 0.0),
        ("x - x", 5.0, 0.0),
        ("x * x", 300.0, 90000.0),
        ("x * 0.5", 3.0, 1.5),
        ("x + 1", 2.0**24, 2.0**24),
        ("x + 3", 2.0**24, 2.0**24 + 4),
        ("x * -1", 0.0, -0.0),
        ("x + 1e999", 1.0, INF),
        ("2 / x", INF, 0.0),
        ("2 / x", -INF, -0.0),
        ("x / 2", -INF, -INF),
        ("2 / x", -0.0, -INF),
        ("min(abs(x), 2) * Max + Min", -7.0, 2 * 3 + 1),
    ],
)
def test_functions_strict(formula: str, x: float, expected: float) -> None:
    assert accept("CLIP", F32, x, formula=formula, strict=True, Min=1.0, Max=3.0) == values(F32, expected)


def test_functions_round_once_to_float16() -> None:
    assert accept("CLIP", F16, 300.0, formula="x * x", Min=0.0, Max=0.0) == values(F16, INF)
    assert accept("CLIP", F16, 2048.0, formula="x + 1", Min=0.0, Max=0.0) == values(F16, 2048)
    assert accept("CLIP", F16, 2048.0, formula="x + 3", Min=0.0, Max=0.0) == values(F16, 2052)
    assert accept("CLIP", F16, 1.0, formula="x + 0.0001", Min=0.0, Max=0.0) == values(F16, 1.0)


def test_functions_round_once_to_float64() -> None:
    x = 1 + 2.0**-40
    assert accept("CLIP", F64, x, formula="x * x", Min=0.0, Max=0.0) == values(F64, 1 + 2.0**-39)
    assert accept("CLIP", F64, 2.0**53, formula="x + 1", Min=0.0, Max=0.0) == values(F64, 2.0**53)
    assert accept("CLIP", F64, 2.0**53, formula="x + Max", Min=0.0, Max=3.0) == values(F64, 2.0**53 + 4)
    assert accept("CLIP", F64, 1e300, formula="x * x", Min=0.0, Max=0.0) == values(F64, INF)


def test_what_is_tiny_before_rounding_may_be_flushed_in_float32_only() -> None:
    # (1 - 2^-13) * (1 + 2^-13) * 2^-126 is tiny, and the nearest FLOAT32 is the smallest normal number.
    x, smallest = 1 - 2.0**-13, 2.0**-126
    factors = {"Min": (1 + 2.0**-13) * smallest, "Max": 0.0}
    assert accept("CLIP", F32, x, formula="x * Min", **factors) == values(F32, smallest, 0.0, -0.0)
    assert accept("CLIP", F32, x, formula="x * Min", strict=True, **factors) == values(F32, smallest)
    assert accept("CLIP", F32, 0.5, formula="x * Min", Min=2 * smallest, Max=0.0) == values(F32, smallest)
    # (1 - 2^-6) * (1 + 2^-6) * 2^-14 on FLOAT16.
    factors = {"Min": (1 + 2.0**-6) * 2.0**-14, "Max": 0.0}
    assert accept("CLIP", F16, 1 - 2.0**-6, formula="x * Min", **factors) == values(F16, 2.0**-14)


@pytest.mark.parametrize("formula", ["floor(x)", "abs(x)", "-x", "x + 1", "1 - x", "x * 0"])
def test_functions_of_nan(formula: str) -> None:
    result = accept("CLIP", F32, NAN, formula=formula, strict=True, Min=1.0, Max=3.0)
    assert result == Acceptable(frozenset(), any_nan=True)


@pytest.mark.parametrize("formula", ["x - x", "x * 0"])
def test_functions_that_make_a_nan(formula: str) -> None:
    result = accept("CLIP", F32, INF, formula=formula, Min=1.0, Max=3.0)
    assert result == Acceptable(frozenset(), any_nan=True)


@pytest.mark.parametrize(
    "formula, x, expected",
    [
        ("x + 100", 100, -56),
        ("x * 3", 100, 44),
        ("-x", -128, -128),
        ("abs(x)", -128, -128),
        ("abs(x)", -5, 5),
        ("x - 100", -100, 56),
        ("floor(x) + ceil(x)", 3, 6),
        ("trunc(x)", -3, -3),
        ("round_half_even(x) * round_half_away(x)", -3, 9),
        ("min(x, 2)", 5, 2),
    ],
)
def test_functions_on_integers_wrap(formula: str, x: int, expected: int) -> None:
    result = accept("CLIP", DataType.INT8, x, formula=formula, Min=0.0, Max=0.0)
    assert result == values(DataType.INT8, expected)


def test_a_fraction_in_an_integer_formula_is_unconstrained() -> None:
    for constant in ("0.5", "1e999"):
        with pytest.raises(Unconstrained, match="INT8"):
            accept("CLIP", DataType.INT8, 1, formula=f"x * {constant}", Min=0.0, Max=0.0)


@pytest.mark.parametrize(
    "latitudes, a, unordered, may",
    [
        (set(), None, False, {False}),
        (set(), None, True, {True}),
        (set(), 0, False, {True}),
        (set(), 0, True, {True}),
        ({"nan-comparison"}, None, False, {True, False}),
        ({"nan-comparison"}, None, True, {True, False}),
        ({"nan-comparison"}, 0, False, {True}),
    ],
)
def test_a_comparison_with_a_nan_may_hold_where_the_latitude_is(
    latitudes: set[Any], a: int | None, unordered: bool, may: set[bool]
) -> None:
    arithmetic = Arithmetic(BINARY32, frozenset(latitudes))
    for number, other in ((a, 0), (0, a)):
        assert set(arithmetic.compared(operator.eq, number, other, unordered=unordered)) == may
