"""What the table of functions says beside their meanings: errors, what is monotone, selects or is kept, numpy's own."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.arithmetic.binary_format import BINARY64
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.vector_arithmetic import Rounding
from dmlcts.specs.functions import FUNCTIONS, Function, in_arrays
from dmlcts.specs.latitudes import NONE

FEW = (-7.5, -3.0, -2.0, -1.0, -0.75, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0, 7.5)


@pytest.mark.parametrize(
    "function", [item for item in FUNCTIONS.values() if item.arrays.error], ids=lambda entry: entry.name
)
def test_numpy_errs_by_less_than_the_table_states(function: Function) -> None:
    numpy_s, real = function.arrays.real, function.exact.real
    assert numpy_s is not None
    assert real is not None
    number = 0
    for operands in itertools.product(FEW, repeat=len(function.takes)):
        result = real(*(BINARY64.decode(int(np.float64(operand).view(np.uint64))) for operand in operands))
        if result is None or result.low.infinite:
            continue
        with np.errstate(all="ignore"):
            value = Fraction(float(numpy_s(*(np.array([operand]) for operand in operands))[0]))
        assert abs(value - result.low.fraction) <= abs(result.low.fraction) * Fraction(function.arrays.error), operands
        number += value != result.low.fraction
    assert number > 0


def falls(function: Function) -> bool:
    """Whether a result of FLOAT16 falls anywhere as one argument grows and the others stay."""
    rounding, several = Rounding(DataType.FLOAT16, NONE), range(len(function.takes))
    floating = function.arrays.floating
    assert floating is not None
    for place, others in itertools.product(several, itertools.product(FEW, repeat=len(several) - 1)):
        values = [np.full(len(FEW), other, np.float16) for other in others]
        values.insert(place, np.array(FEW, np.float16))
        with np.errstate(all="ignore"):
            value = np.asarray(floating(rounding, *values)[0])
        value = value[~np.isnan(value)]
        if (value[1:] < value[:-1]).any():
            return True
    return False


def test_what_is_called_monotone_never_falls_and_all_else_does() -> None:
    """An interval passes through a monotone function by its ends alone."""
    for function in FUNCTIONS.values():
        if function.arrays.floating is not None:
            assert falls(function) is not function.monotone, function.name


def test_what_selects_gives_one_of_its_arguments_and_all_else_another() -> None:
    for function in FUNCTIONS.values():
        floating = function.arrays.floating
        if floating is None:
            assert not function.selects, function.name
            continue
        values = np.array(list(itertools.product(FEW, repeat=len(function.takes))), np.float32).T
        with np.errstate(all="ignore"):
            value = np.asarray(floating(Rounding(DataType.FLOAT32, NONE), *values)[0])
        assert function.selects == (values == value).any(axis=0).all(), function.name


def test_kept_are_those_that_give_every_integer_itself() -> None:
    """Whose result needs no integer type of its own."""
    limits = np.iinfo(np.int8)
    for function in FUNCTIONS.values():
        meaning = function.exact.integers
        itself = (
            len(function.takes) == 1
            and meaning is not None
            and all(
                meaning(IntegerRange.of(DataType.INT8), index) == index for index in range(limits.min, limits.max + 1)
            )
        )
        assert function.arrays.kept is itself, function.name


def test_the_function_of_the_quick_comparison_gives_what_is_acceptable() -> None:
    some, rounding = np.array([-7.5, -1.0, 0.5, 2.0, 3.0], np.float32), Rounding(DataType.FLOAT32, NONE)
    seen = set()
    for function in FUNCTIONS.values():
        arrays = function.arrays
        if arrays.ufunc is None:
            continue
        values = np.array(list(itertools.product(some, repeat=len(function.takes)))).T
        if arrays.floating is not None:
            assert np.array_equal(arrays.ufunc(*values), arrays.floating(rounding, *values)[0]), function.name
        if arrays.integers is not None and not arrays.kept:
            whole = values.astype(np.int8)
            assert np.array_equal(arrays.ufunc(*whole), arrays.integers(*whole)), function.name
        seen.add(function.name)
    assert seen == {
        "min",
        "max",
        "abs",
        "neg",
        "floor",
        "ceil",
        "trunc",
        "round_half_even",
        "add",
        "subtract",
        "difference",
        "multiply",
    }


def test_reals_of_arrays_are_the_exact_ones_as_float64_rounds_them() -> None:
    """But for what the table says of a function's error."""
    for function in FUNCTIONS.values():
        numpy_s, real = function.arrays.real, function.exact.real
        if numpy_s is None or real is None or function.arrays.error:
            continue
        every = [*FEW, -0.0, np.inf, -np.inf]
        for operands in itertools.product(every, repeat=len(function.takes)):
            with np.errstate(all="ignore"):
                value = np.asarray(numpy_s(*(np.array([operand]) for operand in operands)))[0]
            result = real(*(BINARY64.decode(int(np.float64(operand).view(np.uint64))) for operand in operands))
            if result is None:
                assert np.isnan(value), (function.name, operands)
                continue
            rounded = {BINARY64.round(end) for end in result}
            assert int(value.view(np.uint64)) in rounded, (function.name, operands)


def test_a_stated_error_is_more_than_numpy_s_own_and_nothing_beside_a_unit_of_float32() -> None:
    """Numpy's tests ask for 4 ULP."""
    stated = [function.arrays.error for function in FUNCTIONS.values() if function.arrays.error]
    assert len(stated) == len(in_arrays.REAL_FUNCTIONS) + 2  # and pow and atan_yx
    assert all(4 * 2.0**-52 <= error < 2.0**-40 for error in stated)
