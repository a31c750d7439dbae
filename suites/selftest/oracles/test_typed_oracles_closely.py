"""Single points of formulas of several inputs and types, by hand: what one step of either oracle could get wrong."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.tables.law import Law
from dmlcts.suites.selftest.family.stated_tables import A_B, SILENT, TO_T, stated_tables, text
from dmlcts.suites.selftest.oracles.test_typed_oracles import F16, F32, INT8, INT32, UINT8, accepts, described, law


def settled(where: str, behaviour: str) -> Law:
    """A quotient of which a silent point accepts one behaviour."""
    point = f"{SILENT}    where: {where}\n    behaviours: {{it: {behaviour}}}\n    accepted: [it]\n"
    quotient = text("QUOTIENT", (*A_B, TO_T), "T: [INT8]", "a / b", point, code=2100)
    tables = stated_tables(quotient=quotient)
    return tables.law(tables.operator("QUOTIENT"))


def test_a_scale_and_a_bias_of_a_power_are_of_its_first_input() -> None:
    """(2 * 3 + 1)^2, and not 3^(2 * 2 + 1)."""
    power = load_tables().law(load_tables().operator("POW"))
    tensors = dict.fromkeys(("InputTensor", "ExponentTensor", "OutputTensor"), TensorDesc(INT8, (1,)))
    scaled = OperatorDesc("ELEMENT_WISE_POW", tensors, {"ScaleBias": ScaleBias(2, 1)})
    exact = TypedOracle(power, scaled).acceptable({"x": 3, "exponent": 2})
    given = {name: np.array([bits], np.int8) for name, bits in (("x", 3), ("exponent", 2))}
    assert exact.patterns == TypedVectorOracle(power, scaled).acceptance(given).element(0).patterns == {49}


@pytest.mark.parametrize("output", [0, 1])
def test_a_comparison_of_what_may_be_anything_may_go_either_way(output: int) -> None:
    compared = law("LOGICAL_EQUALS", formula="cast(U, a / b == 3)", types="{T: [INT32], U: [UINT8]}", latitude="")
    assert accepts(compared, output, types={"T": INT32, "U": UINT8}, a=3, b=0)


@pytest.mark.parametrize("a, b, right", [(1.0, -1.0, 0.0), (0.0, 2.0, 2.0), (-3.0, 1.0, -2.0)])
def test_a_power_that_is_a_whole_number_has_the_sign_of_that(a: float, b: float, right: float) -> None:
    power, types = law("MIXED", formula="cast(V, pow(a + b, 1))"), {"T": F32, "U": F16, "V": F32}
    assert accepts(power, right, types=types, a=a, b=b)
    assert not accepts(power, -right, types=types, a=a, b=b)


@pytest.mark.parametrize("b, output, right", [
    (0, 5, True), (0, 7, False), (0, 12, False),  # what the point accepts, and nothing else
    (3, 4, True), (3, 5, False),  # elsewhere what the formula gives
])  # fmt: skip
def test_what_a_silent_point_accepts_stands_where_the_formula_leaves_all_open(b: int, output: int, right: bool) -> None:
    assert accepts(settled("b == 0", '"5"'), output, types={"T": INT8}, a=12, b=b) is right


def test_what_no_silent_point_settles_stays_open() -> None:
    """Of two divisions by zero in the same arrays the point is about the first."""
    one = settled("b == 0 and a == 1", '"5"')
    given = {"a": np.array([1, 12, 12], np.int8), "b": np.array([0, 0, 4], np.int8)}
    found = TypedVectorOracle(one, described(one, T=INT8)).acceptance(given)
    assert [accepted.any_value for accepted in found.elements()] == [False, True, False]


@pytest.mark.parametrize("formula, right, wrong", [
    ("1 if b == 0 else a / b", {1}, {0, 77}),
    ("a / b if b != 0 else 2", {2}, {0, 77}),
    ("a / b if b == 0 else 2", {0, 2, 77}, set()),
    ("1 if b == 0 else (1 if a / b > 3 else 3)", {1}, {3, 77}),
    ("1 if a / b > 3 else 3", {1, 3}, {0, 2, 77}),  # either
    ("1 if b != 0 and a / b > 3 else 3", {3}, {1, 77}),
    ("1 if a / b > 3 else (a / b)", {1, 3, 77}, set()),
    ("min(a / b, 3)", {1, 3, 77}, set()),
    ("(a / b if b == 0 else 2) - a", {0, 77}, set()),
    ("cast(T, difference(a / b, 1))", {0, 77}, set()),
])  # fmt: skip
def test_what_may_be_anything_counts_only_where_it_is_chosen(formula: str, right: set[int], wrong: set[int]) -> None:
    """12 / 0."""
    one = law("ADD", formula=formula, types="{T: [INT8]}", latitude="")
    assert {output for output in right | wrong if accepts(one, output, types={"T": INT8}, a=12, b=0)} == right


@pytest.mark.parametrize("x, output, right", [(300, 5, True), (300, 44, False), (90, 90, True), (-200, 44, True)])
def test_a_cast_beyond_the_type_counts_only_where_it_is_chosen(x: float, output: int, right: bool) -> None:
    cast = law("CAST", formula="cast(U, x) if x < 100 else 5", types="{T: [FLOAT32], U: [INT8]}",
               latitude="integer-cast-range")  # fmt: skip
    assert accepts(cast, output, types={"T": F32, "U": INT8}, x=x) is right


@pytest.mark.parametrize("counts", ["[4, 4]", "[1, 8]"])
def test_what_float64_cannot_stand_for_is_refused_where_a_level_lists_it(counts: str) -> None:
    """Feature level 1.0 lists four dimensions alone."""
    one = law("CAST", types="{T: [INT64], U: [FLOAT32]}", counts=counts)
    with pytest.raises(UsageError, match="INT64 meets another type"):
        TypedVectorOracle(one, described(one, T=DataType.INT64, U=F32)).acceptance({"x": np.zeros(1, np.int64)})
