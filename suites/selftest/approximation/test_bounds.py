"""What is inside a bound, and what is not: of results that drivers give, and of arguments known within bounds alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.approximation.array_bounds import Around
from dmlcts.specs.approximation.array_choices import held
from dmlcts.specs.approximation.exact_results import OPEN, real_ends, truths
from dmlcts.specs.approximation.exact_spans import Span
from dmlcts.specs.approximation.exactly import ApproximateOracle, _is_about
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.approximation.intervals import Interval, ends
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.models import OperatorTable, Tolerance
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.selftest.approximation.probing import approximate, elements_of
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.looped_cases import looped

TABLES = family()


def admitted(name: str, kind: DataType, value: dict[str, float], result: float) -> bool:
    """Whether the judged rules of an operator admit a result of one element of each input, as both oracles say."""
    table = TABLES.operator(name)
    tensors = {member: TensorDesc(kind, (1,)) for member in table.tensors}
    operator = OperatorDesc(table.operator, tensors, {"ScaleBias": None} if table.has_scale_bias else {})
    law = TABLES.law(table)
    inputs = {text: np.array([number], kind.numpy) for text, number in value.items()}
    output = np.array([result], kind.numpy)

    def bits(array: NDArray[Any]) -> int:
        return int(array.view(kind.bits_dtype)[0])

    exact = ApproximateOracle(law, operator).acceptable({text: bits(array) for text, array in inputs.items()})
    right = exact.admits(bits(output), kind)
    assert bool(ApproximateVectorOracle(law, operator).acceptance(inputs).admits(output).all()) is right
    return right


@pytest.mark.parametrize("name, real", [("SIN", np.sin), ("COS", np.cos)])
@pytest.mark.parametrize(
    "x, off, right",
    [
        (8.5, 0.0028, True),
        (8.5, -0.0028, True),
        (8.5, 0.004, False),
        (300.0, 0.0028, True),
        (300.0, -0.004, False),
        (2.5, 0.0075, True),
        (2.5, 0.009, False),
    ],
)
def test_sines_of_float16_are_held_to_the_hardware_lab_kit_s_bound(
    name: str, real: np.ufunc, x: float, off: float, right: bool
) -> None:
    """0.003 up to 100 pi; up to pi WGSL's 2^-7. The rest is what rounding to FLOAT16 adds."""
    assert admitted(name, DataType.FLOAT16, {"x": x}, float(real(x)) + off) == right


LEAST = float(np.finfo(np.float32).smallest_normal)
NEXT = float(np.nextafter(np.float32(LEAST), np.float32(1)))
TWICE = 2 * NEXT + 2.0**-140


@pytest.mark.parametrize(
    "a, b, result, right",
    [
        (TWICE, -NEXT, -NEXT, True),  # the remainder is subnormal: flushed before the divisor is added
        (TWICE, NEXT, NEXT, False),  # nothing is added to a remainder with the divisor's sign
        (-TWICE, NEXT, NEXT, True),
        (7.0, -3.0, -2.0, True),
        (7.0, -3.0, -3.0, False),  # a remainder of 1 is not flushed
    ],
)
def test_a_subnormal_remainder_may_be_flushed_before_the_divisor_is_added(
    a: float, b: float, result: float, right: bool
) -> None:
    assert admitted("MODULUS_FLOOR", DataType.FLOAT32, {"a": a, "b": b}, result) == right


@pytest.mark.parametrize("name", ["MODULUS_TRUNCATE", "MODULUS_FLOOR"])
@pytest.mark.parametrize(
    "a, b, is_open",
    [
        (1.7014118e38, 1.0842022e-19, True),  # the quotient is beyond FLOAT32
        (1.7014118e38, 0.51, False),  # it is the last one below
        (1e10, 3.0, False),
    ],
)
def test_of_a_quotient_beyond_float32_any_remainder_may_come(name: str, a: float, b: float, is_open: bool) -> None:
    """PyTorch's vectorised fmod gives NaN there; its scalar one is exact."""
    assert admitted(name, DataType.FLOAT32, {"a": a, "b": b}, float("nan")) == is_open


@pytest.mark.parametrize(
    "x, off, right",
    [
        (1.0759208e38, -3.21, True),  # 2^-21 is 3.16 units there: a result off by less is rounded once more
        (1.0759208e38, -5.21, False),
        (-1.1114923e38, 3.13, True),
        (3e38, 3.8, False),
        (8.0e37, -5.3, False),  # a normal result: 2^-21 is 4.2 units, and already counts its rounding
        (8.0e37, -3.3, True),
    ],
)
def test_a_subnormal_reciprocal_is_rounded_once_more(x: float, off: float, right: bool) -> None:
    """Direct3D bounds the instruction by 2^-21 of its result; FLOAT32's subnormals lie farther apart than that."""
    unit = 2.0**-149
    result = np.rint(1 / float(np.float32(x)) / unit + off) * unit
    assert admitted("RECIP", DataType.FLOAT32, {"x": x}, float(result)) == right


@pytest.mark.parametrize(
    "x, result, right",
    [
        (8.5070587e37, 0.0, True),
        (-8.5070587e37, 0.0, True),  # the result is normal, what the bound permits is not
        (8.5070587e37, 1e-38, False),
        (8.0e37, 0.0, False),
    ],
)
def test_what_the_bound_takes_below_the_normal_numbers_may_be_flushed(x: float, result: float, right: bool) -> None:
    assert admitted("RECIP", DataType.FLOAT32, {"x": x}, result) == right


@looped(
    "base, exponent, result, right",
    [
        (1.0, np.nan, 1.0, True),
        (1.0, np.nan, 2.0, False),
        (np.nan, 0.0, 1.0, True),
        (np.nan, 0.0, 0.0, False),
        (2.0, np.nan, np.nan, True),
        (2.0, np.nan, 1.0, False),
        (np.nan, 1.0, np.nan, True),
        (np.nan, 1.0, 1.0, False),
    ],
)
def test_one_to_any_power_and_anything_to_the_power_0_may_be_1_and_nothing_else_beside_nan(
    base: float, exponent: float, result: float, right: bool
) -> None:
    assert admitted("POW", DataType.FLOAT32, {"x": base, "exponent": exponent}, result) is right


@looped(
    "kind, base, exponent, result, right",
    [
        (DataType.FLOAT16, 1.0, 300.0, 1.0, True),
        (DataType.FLOAT16, 1.0, 300.0, 0.45, True),  # e^-0.82
        (DataType.FLOAT16, 1.0, 300.0, 2.25, True),
        (DataType.FLOAT16, 1.0, 300.0, 2.3, False),
        (DataType.FLOAT16, 1.0, 300.0, 0.42, False),
        (DataType.FLOAT16, 1.0, 300.0, -0.05, False),
        (DataType.FLOAT16, 1.0, 300.0, -0.26, False),
        (DataType.FLOAT16, 1.0, 300.0, 0.0, False),
        (DataType.FLOAT16, -1.0, 301.0, -1.0, True),
        (DataType.FLOAT16, -1.0, 301.0, -0.45, True),
        (DataType.FLOAT16, -1.0, 301.0, 0.05, False),
        (DataType.FLOAT16, -1.0, 301.0, 0.27, False),
        (DataType.FLOAT16, 1.0, 60000.0, 0.0, True),
        (DataType.FLOAT16, 1.0, 60000.0, -0.0, True),  # e^-163
        (DataType.FLOAT16, 1.0, 60000.0, np.inf, True),
        (DataType.FLOAT16, 1.0, 60000.0, -6e-8, False),
        (DataType.FLOAT16, -1.0, 2001.0, -6e-5, False),
        (DataType.FLOAT16, -1.0, 2001.0, -0.25, True),
        (DataType.FLOAT32, 1.0, 5e6, 0.25, True),
        (DataType.FLOAT32, 1.0, 5e6, 0.2, True),  # e^-1.65
        (DataType.FLOAT32, 1.0, 5e6, 0.19, False),
        (DataType.FLOAT32, 1.0, 5e6, -0.05, False),
        (DataType.FLOAT32, -1.0, 5000001.0, -0.25, True),
        (DataType.FLOAT32, -1.0, 5000001.0, 0.25, False),
        (DataType.FLOAT32, 0.0, 2.0, 0.0, True),
        (DataType.FLOAT32, 0.0, 2.0, 1e-38, False),
    ],
)
def test_the_error_of_a_power_multiplies_and_leaves_its_sign(
    kind: DataType, base: float, exponent: float, result: float, right: bool
) -> None:
    """An error of y * log2(x) is one factor more or less of 2^(y * log2(x)), however large, and never another sign."""
    assert admitted("POW", kind, {"x": base, "exponent": exponent}, result) is right


@pytest.mark.parametrize("name", ["MODULUS_FLOOR", "MODULUS_TRUNCATE"])
@looped(
    "a, result, right",
    [
        (7.5000005, 4.7683716e-07, True),
        (7.5000005, 2.5000005, True),
        (7.5000005, 1.25, False),
        (7.5000005, 5.0, False),
        (7.5, 0.0, True),
        (7.5, -0.0, True),
        (7.5, 2.5, False),
        (7.5, 1.25, False),  # a whole one leaves nothing
    ],
)
def test_of_a_quotient_next_to_a_whole_number_one_of_both_sides_is_taken_and_nothing_between(
    name: str, a: float, result: float, right: bool
) -> None:
    assert admitted(name, DataType.FLOAT32, {"a": a, "b": 2.5}, result) is right


@pytest.mark.parametrize("name", ["MODULUS_FLOOR", "MODULUS_TRUNCATE"])
@pytest.mark.parametrize("kind", [DataType.FLOAT32, DataType.FLOAT16])
@looped("a, b", [(6.0, 3.0), (-6.0, 3.0), (6.0, -3.0), (1230.0, 41.0), (1.0, 1.0), (0.0, 7.0)])
def test_whole_quotients_leave_nothing(name: str, kind: DataType, a: float, b: float) -> None:
    """Their pages: the C and the Python modulus; the formula agrees, whose steps are exact there."""
    for result, right in ((0.0, True), (-0.0, True), (b, False), (-b, False)):
        assert admitted(name, kind, {"a": a, "b": b}, result) is right


@looped(
    "name, a, b, result, right",
    [
        ("MODULUS_FLOOR", -7.0, 3.0, 2.0, True),
        ("MODULUS_FLOOR", -7.0, 3.0, -1.0, False),
        ("MODULUS_FLOOR", 7.0, -3.0, -2.0, True),
        ("MODULUS_FLOOR", 7.0, -3.0, 1.0, False),
        ("MODULUS_TRUNCATE", -7.0, 3.0, -1.0, True),
        ("MODULUS_TRUNCATE", -7.0, 3.0, 2.0, False),
        ("MODULUS_FLOOR", 7.0, 3.0, 4.0, False),
        ("MODULUS_FLOOR", 3e38, 1.5e38, 3e38, True),  # a flushed reciprocal
    ],
)
def test_a_remainder_has_the_sign_that_the_page_states_and_is_smaller_than_the_divisor(
    name: str, a: float, b: float, result: float, right: bool
) -> None:
    assert admitted(name, DataType.FLOAT32, {"a": a, "b": b}, result) is right


_HALF = {
    "SIN": 2.0**-7,
    "COS": 2.0**-7,
    "ASIN": 0.00391,
    "ACOS": 0.00391,
    "TANH": 2.0**-9,
    "LOG": 2.0**-7,
    "ACOSH": 2.0**-6,
    "ASINH": 2.0**-6,
    "ATANH": 2.0**-6,
    "SINH": 0.005,
}
_SINGLE = {
    "SIN": 8e-4,
    "COS": 8e-4,
    "ASIN": 8e-4,
    "ACOS": 8e-4,
    "ATAN": 8e-4,
    "ATAN_YX": 8e-4,
    "SINH": 8e-4,
    "TANH": 2.0**-10,
    "ERF": 5 * 2.0**-10,
    "LOG": 5e-7,
    "ACOSH": 1.1e-4,
    "ASINH": 1.1e-4,
    "ATANH": 1.1e-4,
}
_UNITS = {"EXP": 330.0, "DIVIDE": 3.0, "RECIP": 3.0}
"""Bounds in units of the last place: below the normal numbers these reach over zero (EXP's relation refuses it)."""


def may_have_another_sign(name: str, kind: DataType, values: dict[str, NDArray[Any]], real: NDArray[Any]) -> Any:
    """Where a source's own bound is at least what the exact result is: an absolute one, or units of subnormals."""
    half = kind is DataType.FLOAT16
    bound = (_HALF if half else _SINGLE).get(name, _SINGLE.get(name, 0.0))
    bound = max(bound, _UNITS.get(name, 0.0) * float(np.finfo(kind.numpy).smallest_subnormal))
    if not half:  # what is below the normal numbers may count as 0, operand or result
        bound = max(bound, float(np.finfo(np.float32).smallest_normal))
    allowed = np.abs(real) <= bound
    first, *_, last = (array.astype(np.float64) for array in (*values.values(), *values.values()))
    if name == "TAN":  # the quotient of a sine and a cosine, each as far off
        allowed |= np.minimum(np.abs(np.sin(first)), np.abs(np.cos(first))) <= (2.0**-7 if half else 8e-4)
    lost = {"ATAN_YX": first, "POW": first, "CONSTANT_POW": first, "RECIP": first, "DIVIDE": last}.get(name)
    if lost is not None:  # the sign of a zero, or of what counts as one
        allowed |= np.abs(lost) < np.finfo(np.float32).smallest_normal
    return allowed | name.startswith("MODULUS")  # steps of the page's formula, which clauses of their own bound


@pytest.mark.parametrize(
    "table, signature",
    [
        pytest.param(*case, id=f"{case[0].short_name}-{case[1]}")
        for case in approximate(TABLES)
        if case[1].data_type.is_floating and not case[0].prefix.startswith("quantize")
    ],
)
def test_no_interval_reaches_over_zero_where_no_source_s_bound_does(table: OperatorTable, signature: Signature) -> None:
    """A scan of every tolerance: results of another sign than the exact one are refused, but within a stated bound."""
    for operator, inputs in elements_of(table, signature, 1500, seed=3):
        oracle = ApproximateVectorOracle(TABLES.law(table), operator)
        with np.errstate(all="ignore"):
            acceptance, real = oracle.acceptance(inputs), oracle.real(inputs)
            real = np.broadcast_to(real, acceptance.alternatives[0].shape)
            crosses = np.zeros(real.shape, bool)
            for low, high in acceptance.spans:
                crosses |= ((real > 0) & (low < 0)) | ((real < 0) & (high > 0))
            allowed = may_have_another_sign(table.short_name, operator.output.data_type, inputs, real)
        wrong = crosses & ~allowed
        if acceptance.any_value is not None:
            wrong &= ~acceptance.any_value
        assert not wrong.any(), {name: array[wrong][:3] for name, array in inputs.items()}


def interval(low: float, high: float) -> Interval:
    return Interval(np.array([low]), np.array([high]))


@pytest.mark.parametrize(
    "x, y, inside",
    [
        ((1, 1), (1, 1), True),
        ((1, 1), (1, 2), True),
        ((1, 1), (1, 3), False),
        ((1, 1), (3, 3), False),
        ((1, 3), (1, 1), True),
        ((1, 3), (1, 3), False),
        ((1, 1), (-3, 1), False),
    ],
)
def test_a_rule_is_about_arguments_that_it_holds_of_at_both_ends(
    x: tuple[float, float], y: tuple[float, float], inside: bool
) -> None:
    around = Around(FUNCTIONS["divide"], DataType.FLOAT32, interval(0, 1), (interval(*x), interval(*y)))
    small, anywhere = Tolerance(ulp=1, within="abs(y) <= 2"), Tolerance(ulp=1)
    assert around.inside(small).all() == _is_about(small, (span(*x), span(*y))) == inside
    assert around.inside(anywhere).all() == _is_about(anywhere, (span(*x), span(*y))) is True


@pytest.mark.parametrize("off, right", [(0, True), (3, True), (-3, True), (5, False), (-9, False)])
@pytest.mark.parametrize("x", [1.0, 2.0, -0.5])
def test_a_relative_bound_holds_of_every_result(x: float, off: int, right: bool) -> None:
    """Four units above a power of two, eight below; of 1 as of others."""
    assert admitted("RECIP", DataType.FLOAT32, {"x": x}, (1 + off * 2.0 ** (-23 if off > 0 else -24)) / x) is right


@pytest.mark.parametrize(
    "comparison, item, other, may",
    [
        ("less", (1, 2), (2, 3), {True, False}),
        ("less", (1, 1), (2, 2), {True}),
        ("less", (2, 2), (2, 2), {False}),
        ("less_equal", (1, 2), (2, 3), {True}),
        ("less_equal", (2, 3), (1, 2), {True, False}),
        ("less_equal", (2, 2), (2, 2), {True}),
        ("less_equal", (3, 3), (2, 2), {False}),
        ("greater", (1, 2), (2, 3), {False}),
        ("greater", (1, 3), (2, 2), {True, False}),
        ("greater", (3, 3), (2, 2), {True}),
        ("greater_equal", (1, 2), (2, 3), {True, False}),
        ("greater_equal", (2, 3), (1, 2), {True}),
        ("greater_equal", (1, 1), (2, 2), {False}),
    ],
)
def test_bounds_compare_as_some_numbers_between_them_may(
    comparison: str, item: tuple[float, float], other: tuple[float, float], may: set[bool]
) -> None:
    assert truths(comparison, (span(*item), span(*other)), lenient=False) == may
    result = held(comparison, interval(*item), interval(*other), lenient=False)
    assert {truth for truth, mask in ((True, result.true), (False, result.false)) if mask.all()} == may


@pytest.mark.parametrize("lenient", [False, True])
def test_nothing_compares_with_a_nan_but_where_the_latitude_is(lenient: bool) -> None:
    wanted = {True, False} if lenient else {False}
    assert truths("less", (None, span(1, 1)), lenient=lenient) == wanted
    item = replace(interval(5, 5), nan=np.array([True]))
    result = held("less", item, interval(1, 1), lenient=lenient)
    assert {truth for truth, mask in ((True, result.true), (False, result.false)) if mask.all()} == wanted
    assert truths("less", (OPEN, span(1, 1)), lenient=False) == {True, False}


@pytest.mark.parametrize(
    "divisor, is_open",
    [
        ((-1, 0.5), True),
        ((0, 0.25), True),
        ((-0.25, 0), True),
        ((0.25, 0.5), False),
        ((-2, -1), False),
        ((2, 2), False),
    ],
)
def test_a_quotient_has_no_bounds_where_the_divisor_may_be_zero(divisor: tuple[float, float], is_open: bool) -> None:
    with np.errstate(all="ignore"):
        low, high = ends(FUNCTIONS["divide"], (interval(1, 2), interval(*divisor)))
    assert (np.isneginf(low).all(), np.isnan(high).all()) == (is_open, is_open)
    assert (real_ends(FUNCTIONS["divide"], (span(1, 2), span(*divisor)), 64) is OPEN) == is_open


def span(low: float, high: float) -> Span:
    def number(value: float) -> Datum:
        return Datum(value < 0, value if math.isinf(value) else Fraction(value))

    return Span(number(low), number(high))


@pytest.mark.parametrize(
    "item, other, ends",
    [
        ((-1, 1), (2, math.inf), OPEN),  # 0 times infinity lies inside
        ((2, math.inf), (-1, 1), OPEN),
        ((-1, 1), (-math.inf, 2), OPEN),
        ((-1, 1), (2, 3), (-3, 3)),
        ((2, 3), (-1, 1), (-3, 3)),
        ((1, 2), (2, math.inf), (2, math.inf)),
        ((-2, -1), (2, math.inf), (-math.inf, -2)),
    ],
)
def test_a_product_has_no_bounds_where_an_infinity_may_meet_a_zero(
    item: tuple[float, float], other: tuple[float, float], ends: object
) -> None:
    result = real_ends(FUNCTIONS["multiply"], (span(*item), span(*other)), 64)
    if isinstance(ends, tuple):
        widest = result[0]
        assert (float(widest.low.value), float(widest.high.value)) == ends
    else:
        assert result is ends
