"""Single points of formulas of several inputs and types, by hand: what one step of either oracle could get wrong."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle, _Value
from dmlcts.specs.statements.silent_points import SilentPoint
from dmlcts.specs.tables.law import Law
from dmlcts.suites.selftest.family.stated_tables import A_B, SILENT, TO_T, stated_tables, text
from dmlcts.suites.selftest.oracles.test_typed_oracles import (
    F16,
    F32,
    INF,
    INT8,
    INT32,
    NAN,
    UINT8,
    accepts,
    law,
    of_single_elements,
)


def settled(where: str, behaviour: str) -> Law:
    """A quotient of which a silent point accepts one behaviour."""
    point = f"{SILENT}    where: {where}\n    behaviours: {{it: {behaviour}}}\n    accepted: [it]\n"
    quotient = text("QUOTIENT", (*A_B, TO_T), "T: [INT8]", "a / b", point, code=2100)
    tables = stated_tables(quotient=quotient)
    return tables.law(tables.operator("QUOTIENT"))


@pytest.mark.parametrize(
    "scale, bias, right",
    [
        (2.0, 1.0, {49}),  # (2 * 3 + 1)^2, and not 3^(2 * 2 + 1)
        (0.5, 0.0, {1, 4}),  # 1.5, rounded either way
        (INF, 0.0, None),
        (1.0, NAN, None),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_scale_and_a_bias_of_a_power_are_of_its_first_input(
    scale: float, bias: float, right: set[int] | None, strict: bool
) -> None:
    power = load_tables().law(load_tables().operator("POW"))
    tensors = dict.fromkeys(("InputTensor", "ExponentTensor", "OutputTensor"), TensorDesc(INT8, (1,)))
    scaled = OperatorDesc("ELEMENT_WISE_POW", tensors, {"ScaleBias": ScaleBias(scale, bias)})
    inputs = {name: np.array([bits], np.int8) for name, bits in (("x", 3), ("exponent", 2))}
    for acceptable in (
        TypedOracle(power, scaled, strict).acceptable({"x": 3, "exponent": 2}),
        TypedVectorOracle(power, scaled, strict=strict).acceptance(inputs).element(0),
    ):
        assert (acceptable.patterns, acceptable.any_value) == (right or set(), right is None)


@pytest.mark.parametrize("output", [0, 1])
def test_a_comparison_of_what_may_be_anything_may_go_either_way(output: int) -> None:
    compared = law("LOGICAL_EQUALS", formula="cast(U, a / b == 3)", types="{T: [INT32], U: [UINT8]}", latitude="")
    assert accepts(compared, output, types={"T": INT32, "U": UINT8}, a=3, b=0)


@pytest.mark.parametrize("a, b, right", [(1.0, -1.0, 0.0), (0.0, 2.0, 2.0), (-3.0, 1.0, -2.0)])
def test_a_power_that_is_a_whole_number_has_the_sign_of_that(a: float, b: float, right: float) -> None:
    power, types = law("MIXED", formula="cast(V, pow(a + b, 1))"), {"T": F32, "U": F16, "V": F32}
    assert accepts(power, right, types=types, a=a, b=b)
    assert not accepts(power, -right, types=types, a=a, b=b)


@pytest.mark.parametrize(
    "b, output, right",
    [
        (0, 5, True),
        (0, 7, False),
        (0, 12, False),  # what the point accepts, and nothing else
        (3, 4, True),
        (3, 5, False),  # elsewhere what the formula gives
    ],
)
def test_what_a_silent_point_accepts_stands_where_the_formula_leaves_all_open(b: int, output: int, right: bool) -> None:
    assert accepts(settled("b == 0", '"5"'), output, types={"T": INT8}, a=12, b=b) is right


STATED = {"one": ([7, 1, 9], [True, False, True]), "two": ([2, 3, 9], [False, False, True])}
"""The result of each behaviour for three elements, and of which it says nothing."""


class TwoBehaviours:
    """A silent point at every element with two behaviours; each says nothing of some elements."""

    def accepted(self, *, strict: bool) -> tuple[str, ...]:
        return tuple(STATED)

    def results(self, name: str, inputs: object) -> tuple[np.ndarray, np.ndarray]:
        numbers, undefined = STATED[name]
        return np.array(numbers, np.int8), np.array(undefined)

    def where(self, inputs: object) -> np.ndarray:
        return np.ones(3, bool)


def test_a_behaviour_that_states_nothing_of_an_element_accepts_nothing_there() -> None:
    """Another's result stands for it; where none says anything the formula's stays."""
    operator_law = settled("b == 0", '"0"')
    judging = TypedVectorOracle(operator_law, of_single_elements(operator_law, T=INT8))
    point = cast(SilentPoint, TwoBehaviours())  # of which nothing else is asked
    value = judging._settled(point, {}, _Value(INT8, [np.array([5, 5, 5], np.int8)]))
    columns = np.array([np.broadcast_to(array, 3) for array in value.alternatives])
    assert [set(columns[:, place].tolist()) for place in range(3)] == [{2}, {1, 3}, {5}]


def test_what_no_silent_point_settles_stays_open() -> None:
    """Of two divisions by zero in the same arrays the point is about the first."""
    operator_law = settled("b == 0 and a == 1", '"5"')
    inputs = {"a": np.array([1, 12, 12], np.int8), "b": np.array([0, 0, 4], np.int8)}
    acceptance = TypedVectorOracle(operator_law, of_single_elements(operator_law, T=INT8)).acceptance(inputs)
    assert [accepted.any_value for accepted in acceptance.elements()] == [False, True, False]


@pytest.mark.parametrize(
    "formula, right, wrong",
    [
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
    ],
)
def test_what_may_be_anything_counts_only_where_it_is_chosen(formula: str, right: set[int], wrong: set[int]) -> None:
    """12 / 0."""
    operator_law = law("ADD", formula=formula, types="{T: [INT8]}", latitude="")
    assert {output for output in right | wrong if accepts(operator_law, output, types={"T": INT8}, a=12, b=0)} == right


@pytest.mark.parametrize(
    "name, x, is_open",
    [
        ("INT8", 127.0, False),
        ("INT8", 128.0, True),
        ("INT8", -128.0, False),
        ("INT8", -128.5, False),
        ("INT8", -129.0, True),
        ("UINT8", -0.5, False),
        ("UINT8", 255.5, False),
        ("UINT8", 256.0, True),
        ("INT64", 2.0**63, True),
        ("INT64", 2.0**62, False),
        ("INT64", -(2.0**63), False),
        ("UINT64", 2.0**64, True),
        ("UINT64", 2.0**63, False),
        ("INT8", INF, True),
        ("INT8", NAN, True),
    ],
)
def test_a_cast_is_open_from_the_first_number_beyond_the_type(name: str, x: float, is_open: bool) -> None:
    types = {"T": F32, "U": DataType[name]}
    cast = law("CAST", types=f"{{T: [FLOAT32], U: [{name}]}}", latitude="integer-cast-range")
    assert accepts(cast, 77, types=types, x=x) is is_open


@pytest.mark.parametrize(
    "name, x, limit",
    [
        ("INT64", 2.0**63, 2**63 - 1),
        ("INT64", 2.0**100, 2**63 - 1),
        ("INT64", -(2.0**100), -(2**63)),
        ("INT64", 2.0**62, 2**62),
        ("UINT64", 2.0**64, 2**64 - 1),
        ("UINT64", 2.0**63, 2**63),
        ("UINT64", -1.0, 0),
    ],
)
def test_the_nearest_limit_of_64_bits_is_no_float64(name: str, x: float, limit: int) -> None:
    types = {"T": F32, "U": DataType[name]}
    cast = law("CAST", types=f"{{T: [FLOAT32], U: [{name}]}}")
    for shift in range(3):
        output = np.array([limit ^ shift], DataType[name].numpy)
        assert accepts(cast, output, types=types, x=x) is (shift == 0)


@pytest.mark.parametrize("x, output, right", [(300, 5, True), (300, 44, False), (90, 90, True), (-200, 44, True)])
def test_a_cast_beyond_the_type_counts_only_where_it_is_chosen(x: float, output: int, right: bool) -> None:
    cast = law(
        "CAST", formula="cast(U, x) if x < 100 else 5", types="{T: [FLOAT32], U: [INT8]}", latitude="integer-cast-range"
    )
    assert accepts(cast, output, types={"T": F32, "U": INT8}, x=x) is right


@pytest.mark.parametrize("counts", ["[4, 4]", "[1, 8]"])
def test_what_float64_cannot_stand_for_is_refused_where_a_level_lists_it(counts: str) -> None:
    """Feature level 1.0 lists four dimensions alone."""
    operator_law = law("CAST", types="{T: [INT64], U: [FLOAT32]}", counts=counts)
    wrong = of_single_elements(operator_law, T=DataType.INT64, U=F32)
    with pytest.raises(UsageError, match="INT64 meets another type"):
        TypedVectorOracle(operator_law, wrong).acceptance({"x": np.zeros(1, np.int64)})


def test_a_type_that_no_level_lists_and_float64_cannot_stand_for_may_be_anything() -> None:
    operator_law = law("CAST", types="{T: [INT32], U: [FLOAT32]}")
    assert accepts(operator_law, 3.0, types={"T": DataType.INT64, "U": F32}, x=3)
    inputs = {"x": np.array([3, 4], np.int64)}
    acceptance = TypedVectorOracle(operator_law, of_single_elements(operator_law, T=DataType.INT64, U=F32)).acceptance(
        inputs
    )
    assert [accepted.any_value for accepted in acceptance.elements()] == [True, True]


@pytest.mark.parametrize("number", [70000, -3, -70000, -5 * 10**9, 2**53 + 2, -(2**53) - 2, 3 * 2**63, -(2**65)])
@pytest.mark.parametrize("name", ["INT8", "UINT8", "INT16", "INT32", "UINT32", "INT64", "UINT64"])
def test_a_number_of_a_formula_is_taken_modulo_the_width_of_the_type(name: str, number: int) -> None:
    kind = DataType[name]
    right = (number + 1) % 2 ** (8 * kind.itemsize)
    operator_law = law("ADD", formula=f"a + {number}", types=f"{{T: [{name}]}}", latitude="")
    assert accepts(operator_law, np.array([right], kind.bits_dtype), types={"T": kind}, a=1, b=0)
    assert not accepts(operator_law, np.array([right ^ 1], kind.bits_dtype), types={"T": kind}, a=1, b=0)


@pytest.mark.parametrize("a, b", [(NAN, 1.0), (1.0, NAN), (NAN, NAN)])
@pytest.mark.parametrize("operator, ordered", [("==", 0), ("!=", 1), ("<", 0), (">=", 0)])
def test_one_nan_is_enough_for_a_comparison_to_go_either_way(operator: str, ordered: int, a: float, b: float) -> None:
    compared, types = law("LOGICAL_EQUALS", formula=f"cast(U, a {operator} b)"), {"T": F32, "U": UINT8}
    assert accepts(compared, ordered, types=types, a=a, b=b)
    assert accepts(compared, 1 - ordered, types=types, a=a, b=b)
    assert not accepts(compared, 1 - ordered, types=types, a=a, b=b, strict=True)


@pytest.mark.parametrize("x", [NAN, 1.0])
def test_what_is_asked_of_one_number_is_no_comparison(x: float) -> None:
    asked, types = law("LOGICAL_EQUALS", formula="cast(U, is_nan(a))"), {"T": F32, "U": UINT8}
    assert accepts(asked, int(x != x), types=types, a=x, b=0.0)
    assert not accepts(asked, int(x == x), types=types, a=x, b=0.0)
