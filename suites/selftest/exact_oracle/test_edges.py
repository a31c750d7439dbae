"""Results beside an edge that the first bits do not decide: more are taken, and beyond the last either is right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.approximation import exactly as approximation
from dmlcts.specs.approximation.exactly import ApproximateOracle
from dmlcts.specs.arithmetic.binary_format import BINARY32, BINARY64
from dmlcts.specs.arithmetic.real_number import PRECISIONS, Datum, Enclosure
from dmlcts.specs.arithmetic.value_sets import Arithmetic
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.latitudes import NONE
from dmlcts.suites.selftest.exact_oracle.exact_answers import F16, F32, TABLES, describe, pattern

ONE = Datum(False, Fraction(1))


def admits(name: str, data_type: DataType, x: float, result: float, *, strict: bool = False) -> bool:
    """Whether the exact oracle accepts a result, which the type represents."""
    table = TABLES.operator(name)
    operator = describe(table.operator, data_type, ScaleBias=None)
    (formula_name,) = table.formula_names
    answer = ApproximateOracle(TABLES.law(table), operator, strict=strict).acceptable(
        {formula_name: pattern(data_type, x)}
    )
    return answer.admits(pattern(data_type, result), data_type)


def beside(number: float, data_type: DataType, *, upwards: bool) -> float:
    """The number of the type that is next to one of it."""
    here, there = np.array([number, math.inf if upwards else -math.inf]).astype(data_type.numpy)
    return float(np.nextafter(here, there))


BESIDE = [  # operator, type, where the result is less than 1 by so little, its judged bound: 1 + bound is an edge
    ("ERF", F32, 16.0, 5 / 1024),
    ("TANH", F32, 80.0, 1 / 1024),
    ("TANH", F32, 300.0, 1 / 1024),
    ("TANH", F16, 80.0, 1 / 512),
]


@pytest.mark.parametrize(("name", "data_type", "x", "bound"), BESIDE)
def test_more_than_the_bound_above_what_is_hardly_less_than_1_is_refused(
    name: str, data_type: DataType, x: float, bound: float
) -> None:
    below = beside(1 + bound, data_type, upwards=False)
    assert admits(name, data_type, x, below)
    assert not admits(name, data_type, x, 1 + bound)
    assert admits(name, data_type, -x, -below)
    assert not admits(name, data_type, -x, -1 - bound)


@pytest.mark.parametrize(("name", "data_type", "x", "bound"), BESIDE)
def test_exactly_the_bound_above_1_is_accepted(name: str, data_type: DataType, x: float, bound: float) -> None:
    assert admits(name, data_type, math.inf, 1 + bound)
    assert not admits(name, data_type, math.inf, beside(1 + bound, data_type, upwards=True))


def test_what_no_precision_decides_is_accepted_on_both_sides() -> None:
    """The error function of 1000 is 1 less 2^-1442700."""
    assert admits("ERF", F32, 1000.0, 1 + 5 / 1024)
    assert not admits("ERF", F32, 1000.0, beside(1 + 5 / 1024, F32, upwards=True))


def test_a_unit_is_that_of_the_exact_result() -> None:
    """The exponential of 0 is 1, whose unit is twice that of the numbers below; 10 of them are permitted."""
    assert admits("EXP", F32, 0.0, 1 - 10 * 2.0**-23)
    assert not admits("EXP", F32, 0.0, 1 - 10.5 * 2.0**-23)
    assert not admits("EXP", F32, 0.0, 1 + 11 * 2.0**-23)


def rounded(name: str, *operands: float) -> set[float | None]:
    """What a function rounds to in FLOAT32, without any rule."""
    floating = FUNCTIONS[name].exact.floating
    assert floating is not None
    numbers = floating(Arithmetic(BINARY32, NONE), *(pattern(F32, operand) for operand in operands))
    return {None if bits is None else float(np.uint32(bits).view(np.float32)) for bits in numbers}


@pytest.mark.parametrize(
    ("x", "y", "power"),
    [
        (4097.0, 2.0, 16785408.0),  # 16785409, half way, to even
        (8191.0, 2.0, 67092480.0),  # 67092481, beside it
        (2.0**23 + 3, 1.0, 2.0**23 + 3),
        (16785412.0**2, 0.5, 16785412.0),
        (2.0**-20, -3.0, 2.0**60),
        (-3.0, 3.0, -27.0),
        (81.0, 0.25, 3.0),
        (4.0, -1.5, 0.125),
        (2.0, -149.0, 2.0**-149),
        (2.0, -150.0, 0.0),  # half the smallest number, to even
    ],
)
def test_powers_that_are_numbers_are_known(x: float, y: float, power: float) -> None:
    value = float(np.float32(x))
    assert rounded("pow", value, y) == {power}


@pytest.mark.parametrize(("x", "y"), [(3.0, -1.0), (2.0, 0.5), (1 + 2.0**-23, 100.0), (0.1, 3.0), (-2.0, 5.0)])
def test_known_and_enclosed_powers_are_numpy_s(x: float, y: float) -> None:
    x = float(np.float32(x))
    assert rounded("pow", x, y) == {float(np.float32(np.float64(x) ** y))}


def off_by(distance: int, last: int = 1 << 20) -> Callable[..., Enclosure]:
    """1 and 2^-24, half way to the next FLOAT32, and 2^-distance: known to the bits asked for, at most ``last``."""
    truth = 1 + Fraction(1, 1 << 24) + Fraction(1, 1 << distance)

    def real(*_: Datum, bits: int = PRECISIONS[0]) -> Enclosure:
        error = Fraction(1, 1 << min(bits, last))
        return Enclosure(Datum(False, truth - error), Datum(False, truth + error))

    return real


@pytest.mark.parametrize("distance", [30, 150, 220, 700, 3000])
def test_a_result_beside_an_edge_is_decided(distance: int) -> None:
    assert set(Arithmetic(BINARY32, NONE).enclosed(off_by(distance), pattern(F32, 0.5))) == {pattern(F32, 1 + 2.0**-23)}


@pytest.mark.parametrize(("distance", "last"), [(5000, 1 << 20), (220, 200)])
def test_beyond_the_last_precision_either_is_right(distance: int, last: int) -> None:
    numbers = set(Arithmetic(BINARY32, NONE).enclosed(off_by(distance, last), pattern(F32, 0.5)))
    assert numbers == {pattern(F32, 1.0), pattern(F32, 1 + 2.0**-23)}


@pytest.mark.parametrize(("distance", "decided"), [(220, True), (3000, True), (5000, False)])
def test_approximate_results_beside_an_edge_are_decided(
    distance: int, decided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a bound of 5/1024, which takes 1 less 2^-distance beside the number 1 + 5/1024."""

    def real(*_: Datum, bits: int = PRECISIONS[0]) -> Enclosure:
        error = Fraction(1, 1 << bits)
        truth = 1 - Fraction(1, 1 << distance)
        return Enclosure(Datum(False, truth - error), Datum(False, truth + error))

    function = FUNCTIONS["erf"]
    planted = replace(function, exact=replace(function.exact, real=real))
    monkeypatch.setattr(approximation, "FUNCTIONS", {**FUNCTIONS, "erf": planted})
    assert admits("ERF", F32, 0.5, 1 + 5 / 1024) is not decided
    assert admits("ERF", F32, 0.5, beside(1 + 5 / 1024, F32, upwards=False))


@pytest.mark.parametrize("name", ["exp", "cos", "cosh"])
def test_what_is_1_at_0_is_known(name: str) -> None:
    real = FUNCTIONS[name].exact.real
    assert real is not None
    assert real(Datum(True, Fraction(0))) == Enclosure(ONE, ONE)
    away = real(Datum(False, Fraction(1, 1 << 149)), bits=PRECISIONS[-1])
    assert away is not None
    assert not away.low.value <= 1 <= away.high.value


def test_enclosures_shrink_with_the_bits_and_hold_the_same_number() -> None:
    for name in ("exp", "sqrt", "asin", "erf", "tanh"):
        real = FUNCTIONS[name].exact.real
        assert real is not None
        result = [real(Datum(False, Fraction(3, 8)), bits=bits) for bits in PRECISIONS]
        for wider, closer in itertools.pairwise(result):
            assert wider is not None
            assert closer is not None
            assert wider.low.value <= closer.low.value <= closer.high.value <= wider.high.value
            assert closer.high.fraction - closer.low.fraction < (wider.high.fraction - wider.low.fraction) / 2**100


def test_float64_roots_are_decided_at_once() -> None:
    arithmetic = Arithmetic(BINARY64, NONE)
    floating = FUNCTIONS["sqrt"].exact.floating
    assert floating is not None
    for x in (2.0, math.nextafter(1.0, 2), math.nextafter(4.0, 0)):
        assert set(floating(arithmetic, pattern(DataType.FLOAT64, x))) == {pattern(DataType.FLOAT64, math.sqrt(x))}
