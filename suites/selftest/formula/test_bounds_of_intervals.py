"""What is permitted of functions whose arguments are known within bounds alone."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.approximation.array_bounds import Around
from dmlcts.specs.approximation.exact_results import OPEN, real_ends
from dmlcts.specs.approximation.exact_spans import Span
from dmlcts.specs.approximation.intervals import Interval
from dmlcts.specs.arithmetic.real_number import Datum
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.models import Tolerance


def interval(low: float, high: float) -> Interval:
    return Interval(np.array([low]), np.array([high]))


@pytest.mark.parametrize("x, y, inside", [
    ((1, 1), (1, 1), True), ((1, 1), (1, 2), True), ((1, 1), (1, 3), False), ((1, 1), (3, 3), False),
    ((1, 3), (1, 1), True), ((1, 3), (1, 3), False), ((1, 1), (-3, 1), False),
])  # fmt: skip
def test_a_rule_is_about_arguments_that_it_holds_of_at_both_ends(
    x: tuple[float, float], y: tuple[float, float], inside: bool
) -> None:
    around = Around(FUNCTIONS["divide"], DataType.FLOAT32, interval(0, 1), (interval(*x), interval(*y)))
    assert around.inside(Tolerance(ulp=1, within="abs(y) <= 2")).all() == inside
    assert around.inside(Tolerance(ulp=1)).all()


def span(low: float, high: float) -> Span:
    def number(value: float) -> Datum:
        return Datum(value < 0, value if math.isinf(value) else Fraction(value))

    return Span(number(low), number(high))


@pytest.mark.parametrize("one, other, ends", [
    ((-1, 1), (2, math.inf), OPEN),  # 0 times infinity lies inside
    ((2, math.inf), (-1, 1), OPEN),
    ((-1, 1), (-math.inf, 2), OPEN),
    ((-1, 1), (2, 3), (-3, 3)),
    ((2, 3), (-1, 1), (-3, 3)),
    ((1, 2), (2, math.inf), (2, math.inf)),
    ((-2, -1), (2, math.inf), (-math.inf, -2)),
])  # fmt: skip
def test_a_product_has_no_bounds_where_an_infinity_may_meet_a_zero(
    one: tuple[float, float], other: tuple[float, float], ends: object
) -> None:
    found = real_ends(FUNCTIONS["multiply"], (span(*one), span(*other)), 64)
    if isinstance(ends, tuple):
        widest = found[0]
        assert (float(widest.low.value), float(widest.high.value)) == ends
    else:
        assert found is ends
