"""What Direct3D's rules bind and what they only permit: comparisons, logarithms, minimum and maximum."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.statements.statement import descriptions
from dmlcts.suites.selftest.family.acceptance import accepted
from dmlcts.suites.selftest.family.family_tables import family

COMPARISONS = (
    "LOGICAL_EQUALS",
    "LOGICAL_GREATER_THAN",
    "LOGICAL_LESS_THAN",
    "LOGICAL_GREATER_THAN_OR_EQUAL",
    "LOGICAL_LESS_THAN_OR_EQUAL",
)
FLOATS = (DataType.FLOAT32, DataType.FLOAT16)


def table(name: str) -> OperatorTable:
    return family().operator(name)


def of_floats(name: str, data_type: DataType) -> OperatorDesc:
    return next(description for description in descriptions(table(name)) if description.data_type is data_type)


def grants(name: str, latitude: str) -> bool:
    return any(latitude in clause.latitude for clause in table(name).clauses)


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("point", ["nan", "zeros"])
def test_a_comparison_with_nan_and_of_zeros_is_implied(name: str, point: str) -> None:
    clause = family().clause(f"{table(name).prefix}.{point}")
    assert clause.obligation == "implied"
    assert clause.quotation is not None
    assert clause.quotation.source == "d3d-rules"
    assert not grants(name, "nan-comparison")
    assert family().clause(f"{table(name).prefix}.subnormal").obligation == "unspecified", "the control"


@pytest.mark.parametrize("data_type", FLOATS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_a_nan_is_equal_to_nothing_below_nothing_and_above_nothing(name: str, data_type: DataType) -> None:
    described = of_floats(name, data_type)
    inputs = {"a": np.array([np.nan, 1, 2], data_type.numpy), "b": np.array([1, np.nan, 1], data_type.numpy)}
    oracle = TypedVectorOracle(family().law(table(name)), described)
    for value in (0, 1):
        admissions = oracle.acceptance(inputs).admits(np.full(3, value, oracle.output.numpy)).tolist()
        assert admissions[:2] == [value == 0] * 2
        assert admissions[2] == (value == int("GREATER" in name)), "the control: 2 with 1"


@pytest.mark.parametrize("data_type", FLOATS)
def test_the_logarithm_of_a_negative_number_is_nan(data_type: DataType) -> None:
    described = of_floats("LOG", data_type)
    inputs = {"x": np.array([-1, -2.5, -np.inf, 2], data_type.numpy)}
    numbers = np.log(np.abs(inputs["x"])).astype(data_type.numpy)
    assert accepted(table("LOG"), described, inputs, numbers, False).tolist() == [False, False, False, True]
    nans = np.full(4, np.nan, data_type.numpy)
    assert accepted(table("LOG"), described, inputs, nans, False).tolist() == [True, True, True, False]
    assert family().clause("log.negative").obligation == "implied"


def test_a_negative_subnormal_may_be_flushed_before_its_logarithm() -> None:
    described = of_floats("LOG", DataType.FLOAT32)
    inputs = {"x": np.array([-1e-40, -1e-30], np.float32)}
    least = np.full(2, -np.inf, np.float32)
    assert accepted(table("LOG"), described, inputs, least, False).tolist() == [True, False]


@pytest.mark.parametrize("name", ["MAX", "MIN"])
def test_of_a_nan_minimum_and_maximum_may_give_either(name: str) -> None:
    """Two sentences of the rules disagree: an operation gives NaN for a NaN, and min and max give the other operand."""
    assert grants(name, "nan")
    described = of_floats(name, DataType.FLOAT32)
    inputs = {"a": np.array([np.nan, 1], np.float32), "b": np.array([3, np.nan], np.float32)}
    for output, wanted in (([np.nan, np.nan], True), ([3, 1], True), ([1, 3], False)):
        assert accepted(table(name), described, inputs, np.array(output, np.float32), False).all() == wanted


@pytest.mark.parametrize("name", ["ADD", "ADD1", "MEAN", "MULTIPLY", "SUBTRACT", "DIFFERENCE_SQUARE"])
def test_a_sentence_about_32_bit_results_is_not_what_float16_rests_on(name: str) -> None:
    operator_table = table(name)
    for rule in operator_table.accuracy:
        assert rule.source == ("wgsl" if "FLOAT16" in rule.data_types else "d3d-rules"), rule
    for clause in operator_table.checked_by("values"):
        if clause.may_be_about(DataType.FLOAT16) and clause.quotation is not None:
            assert "32-bit" not in clause.quotation.words
