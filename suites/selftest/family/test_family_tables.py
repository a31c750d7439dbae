"""Every table of an exact operator: both oracles agree, mean what is written here apart, and states what is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.specs.statements.relations import Dispatched, Relation, relation_clauses
from dmlcts.specs.statements.silent_points import exact_silent_points, silent_points
from dmlcts.suites.selftest.family.family_tables import (
    every_description,
    exact_descriptions,
    exact_operators,
    exact_tables,
    family,
    label,
    rows,
    values,
    with_bounds,
)
from dmlcts.suites.selftest.family.plain_meanings import BITS, DIVISIONS, ONE, TWO, clamped, gradient, infinite, power
from dmlcts.suites.selftest.looped_cases import looped

EXACT = {
    "IDENTITY",
    "ABS",
    "NEGATE",
    "SIGN",
    "CEIL",
    "FLOOR",
    "CLIP1",
    "MAX",
    "MIN",
    "ADD",
    "SUBTRACT",
    "MULTIPLY",
    "DIVIDE",
    "MODULUS_TRUNCATE",
    "MODULUS_FLOOR",
    "MEAN",
    "DIFFERENCE_SQUARE",
    "LOGICAL_EQUALS",
    "LOGICAL_GREATER_THAN",
    "LOGICAL_LESS_THAN",
    "LOGICAL_GREATER_THAN_OR_EQUAL",
    "LOGICAL_LESS_THAN_OR_EQUAL",
    "LOGICAL_AND",
    "LOGICAL_OR",
    "LOGICAL_XOR",
    "LOGICAL_NOT",
    "IS_NAN",
    "IS_INFINITY",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "BIT_NOT",
    "BIT_COUNT",
    "BIT_SHIFT_LEFT",
    "BIT_SHIFT_RIGHT",
    "IF",
    "CLIP_GRAD",
    "CLIP_GRAD1",
    "POW",
}
Described = dict[str, tuple[OperatorTable, OperatorDesc]]
MOST = 300
STATED = 600


def test_there_is_a_table_for_every_exact_operator() -> None:
    assert {table.short_name for table in exact_tables()} >= EXACT


# oracles ---------------------------------------------------------------------------------------------


def exactly(
    table: OperatorTable, operator: OperatorDesc, value: dict[str, np.ndarray], strict: bool
) -> list[Acceptable]:
    law = family().law(table)
    if law.of_one_input:
        oracle = ExactOracle(law, operator, strict)
        return [oracle.acceptable(row["x"]) for row in rows(value)]
    typed = TypedOracle(law, operator, strict)
    return [typed.acceptable(row) for row in rows(value)]


def vectorised(
    table: OperatorTable, operator: OperatorDesc, value: dict[str, np.ndarray], strict: bool
) -> list[Acceptable]:
    law = family().law(table)
    if law.of_one_input:
        return list(VectorOracle(law, operator, strict=strict).acceptance(value["x"]).elements())
    return list(TypedVectorOracle(law, operator, strict=strict).acceptance(value).elements())


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("short_name", exact_operators())
@looped("table, operator", exact_descriptions, share=3)
def test_both_oracles_agree(table: OperatorTable, operator: OperatorDesc, strict: bool) -> None:
    value = values(table, operator, MOST)
    both = zip(
        rows(value), exactly(table, operator, value, strict), vectorised(table, operator, value, strict), strict=True
    )
    for row, acceptable, other in both:
        assert acceptable.any_value == other.any_value, row
        if not acceptable.any_value:
            assert (acceptable.patterns, acceptable.any_nan, acceptable.intervals) == (
                other.patterns,
                other.any_nan,
                other.intervals,
            ), row


BOUNDS = [
    (1.5, 2.5),
    (-0.5, 0.5),
    (65519.0, 65520.0),
    (-1e30, 1e30),
    (float("nan"), 3.0),
    (-2.0, float("nan")),
    (float("-inf"), float("inf")),
    (3.0, -2.0),
    (2049.0, 1e-7),
]


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_both_oracles_agree_on_bounds_that_the_type_does_not_hold(bounds: tuple[float, float], strict: bool) -> None:
    for table, operator in every_description():
        if not any(item.type == "FLOAT" for item in table.attributes):
            continue
        attributes = dict(zip(("Min", "Max"), map(np.float32, bounds), strict=True))
        described = OperatorDesc(operator.name, operator.tensors, attributes)
        value = values(table, described, 150)
        both = zip(exactly(table, described, value, strict), vectorised(table, described, value, strict), strict=True)
        for acceptable, other in both:
            assert acceptable.any_value == other.any_value
            assert acceptable.any_value or (acceptable.patterns, acceptable.any_nan) == (other.patterns, other.any_nan)


# meanings --------------------------------------------------------------------------------------------


def meant(table: OperatorTable, operator: OperatorDesc, row: Mapping[str, np.ndarray]) -> Any:
    """What the operator gives for one element by the meanings written apart: a number, or ``None``."""
    name, first = table.short_name, operator.tensors[table.inputs[0]].data_type
    if name in BITS:
        return BITS[name](8 * first.itemsize, *(int(item.view(f"u{item.dtype.itemsize}")) for item in row.values()))
    argument = [item if item.dtype.kind == "f" else int(item) for item in row.values()]
    numbers = [
        value.value if isinstance(value, ScalarUnion) else value
        for value in operator.attributes.values()
        if isinstance(value, (ScalarUnion, np.float32))
    ]
    bounds = [first.numpy.type(number) if first.is_floating else int(number) for number in numbers]
    match name:
        case "IS_INFINITY":
            return infinite(argument[0], str(operator.attributes["InfinityMode"]))
        case "CLIP1":
            return clamped(argument[0], *bounds)
        case "CLIP_GRAD" | "CLIP_GRAD1":
            return gradient(*argument, *bounds)
        case "IF":
            return argument[1] if argument[0] else argument[2]
        case "POW":
            return power(*argument, first)
    if name in DIVISIONS:
        return None if first.is_floating else DIVISIONS[name](*argument, int(np.iinfo(first.numpy).min))
    if first.is_floating and "any-value" in family().law(table).latitudes(first, strict=True):
        return None
    return (ONE.get(name) or TWO[name])(*argument)


def encoded(number: Any, data_type: DataType, bits: bool) -> int:
    if bits:
        return int(number)
    if data_type.is_floating:
        return int(np.asarray(number, data_type.numpy).view(data_type.bits_dtype))
    return int(number) % (1 << 8 * data_type.itemsize)


@pytest.mark.parametrize("short_name", exact_operators())
@looped("table, operator", exact_descriptions, share=4)
def test_the_oracles_mean_what_is_written_apart(table: OperatorTable, operator: OperatorDesc) -> None:
    value = values(table, operator, MOST)
    output = operator.tensors[table.output].data_type
    decided = 0
    for place, accepted in enumerate(exactly(table, operator, value, strict=True)):
        row = {name: array[place] for name, array in value.items()}
        with np.errstate(all="ignore"):
            number = meant(table, operator, row)
        assert (number is None) == accepted.any_value, row
        if number is None:
            continue
        bits = encoded(number, output, table.domain == "bits")
        if len(accepted.patterns) == 1 and not accepted.any_nan:
            assert accepted.patterns == {bits}, (row, number)
            decided += 1
        else:
            assert accepted.admits(bits, output), (row, number)
            assert len(accepted.patterns) <= 2, row
    assert decided or "any-value" in family().law(table).latitudes(output, strict=True)


# silent points ---------------------------------------------------------------------------------------

SILENT = [table.short_name for table in exact_tables() if table.checked_by("silent")]


def with_silent_points(short_name: str) -> Described:
    return {
        name: exact_description
        for name, exact_description in exact_descriptions(short_name).items()
        if silent_points(*exact_description)
    }


@pytest.mark.parametrize("short_name", SILENT)
@looped("table, operator", with_silent_points, share=3)
def test_both_meanings_of_silent_points_agree(table: OperatorTable, operator: OperatorDesc) -> None:
    value = values(table, operator, MOST)
    elements = rows(value)
    kind = operator.tensors[table.output].data_type
    for point, exact in zip(silent_points(table, operator), exact_silent_points(table, operator), strict=True):
        there = point.where(value)
        assert there.tolist() == [exact.holds(row) for row in elements], point.clause.id
        for name in point.meanings:
            array, _ = point.results(name, value)
            patterns = array.view(f"u{kind.itemsize}").tolist()
            for row, bits, explain in zip(elements, patterns, point.explains(name, value, array).tolist(), strict=True):
                assert explain == exact.explains(name, row, bits), (point.clause.id, name, row)


def test_every_silent_point_is_reached() -> None:
    """Each holds somewhere, of bounds that are NaN and of ordinary ones, and not everywhere."""
    held: set[str] = set()
    points = {point.clause.id for table, operator in every_description() for point in silent_points(table, operator)}
    for table, operator in every_description():
        for low in (-2.0, float("nan")):
            if np.isnan(low) and not (table.numbers and operator.tensors[table.output].data_type.is_floating):
                continue
            described = with_bounds(table, operator, low, 3.0)
            value = values(table, described, STATED)
            for point in silent_points(table, described):
                there = point.where(value)
                assert not there.all() or np.isnan(low), point.clause.id
                held |= {point.clause.id} if there.any() else set()
    assert held == points


@pytest.mark.parametrize("short_name", SILENT)
@looped("table, operator", with_silent_points)
def test_what_a_silent_point_names_is_acceptable_or_called_permitted(
    table: OperatorTable, operator: OperatorDesc
) -> None:
    """The first behaviour that is the formula's own is acceptable wherever the point holds."""
    value = values(table, operator, STATED)
    law = family().law(table)
    if law.of_one_input:
        acceptance = VectorOracle(law, operator).acceptance(value["x"])
    else:
        acceptance = TypedVectorOracle(law, operator).acceptance(value)
    for point in silent_points(table, operator):
        if point.clause.obligation == "implied":  # it names none: the formula's own is what is right
            assert not point.meanings
            continue
        there = point.where(value)
        array, undefined = point.results(next(iter(point.meanings)), value)
        wrong = there & ~undefined & ~acceptance.admits(array)
        shown = {name: item[wrong][:3] for name, item in value.items()}
        assert not wrong.any(), (point.clause.id, shown, array[wrong][:3])


# relations -------------------------------------------------------------------------------------------

RELATED = [table.short_name for table in exact_tables() if table.checked_by("relation")]


def with_relations(short_name: str) -> Described:
    return {
        name: exact_description
        for name, exact_description in exact_descriptions(short_name).items()
        if relation_clauses(*exact_description)
    }


def reference(dispatched: Dispatched, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """What the meanings written apart give, element by element; 0 where they say nothing."""
    operator = dispatched.describe((1,))
    names = {member: name for name, member in dispatched.table.formula_names.items()}
    result = []
    for place in range(len(next(iter(inputs.values())))):
        row = {names[member]: array[place] for member, array in inputs.items()}
        with np.errstate(all="ignore"):
            number = meant(dispatched.table, operator, row)
        result.append(encoded(0 if number is None else number, dispatched.output, dispatched.table.domain == "bits"))
    return np.array(result, dispatched.output.bits_dtype).view(dispatched.output.numpy)


@pytest.mark.parametrize("short_name", RELATED)
@looped("table, operator", with_relations, share=4)
def test_relations_hold_of_what_is_right_and_not_of_what_is_wrong(table: OperatorTable, operator: OperatorDesc) -> None:
    value = values(table, operator, MOST)
    for clause in relation_clauses(table, operator):
        related = Relation(family().operators, table, clause, operator)
        outputs: list[np.ndarray] = []

        def right(
            dispatched: Dispatched, inputs: Mapping[str, np.ndarray], seen: list[np.ndarray] = outputs
        ) -> np.ndarray:
            seen.append(reference(dispatched, inputs))
            return seen[-1]

        broken = related.broken(value, right)
        assert not broken.any(), (clause.id, {name: item[broken][:3] for name, item in value.items()})
        patterns = [output.view(f"u{output.dtype.itemsize}").tolist() for output in outputs]
        for row, *bits in list(zip(rows(value), *patterns, strict=True))[::7]:
            assert not related.broken_by(row, bits), (clause.id, row)

        def wrong(
            dispatched: Dispatched, inputs: Mapping[str, np.ndarray], changed: Dispatched = related.dispatched[-1]
        ) -> np.ndarray:
            output = reference(dispatched, inputs)
            bits = output.view(dispatched.output.bits_dtype) ^ dispatched.output.bits_dtype.type(0b101)
            return bits.view(output.dtype) if dispatched is changed else output

        assert related.broken(value, wrong).any(), clause.id


# examples --------------------------------------------------------------------------------------------

EXAMPLES = [
    pytest.param(table, example, id=f"{table.short_name}-{place}")
    for table in exact_tables()
    for place, example in enumerate(table.examples)
]


@pytest.mark.parametrize(("table", "example"), EXAMPLES)
def test_published_vectors_are_right(table: OperatorTable, example: Any) -> None:
    wanted = {variable: DataType[name] for variable, name in example.types.items()}
    for described, operator in every_description():
        types = {
            table.tensors[name].type: tensor.data_type
            for name, tensor in operator.tensors.items()
            if described is table
        }
        if described is not table or any(types[variable] is not data_type for variable, data_type in wanted.items()):
            continue
        value = {
            name: np.array(numbers, operator.tensors[table.formula_names[name]].data_type.numpy)
            for name, numbers in table.example_inputs(example).items()
        }
        output = operator.tensors[table.output].data_type
        for accepted, number in zip(exactly(table, operator, value, strict=True), example.outputs, strict=True):
            assert accepted.patterns == {encoded(number, output, bits=False)}


def test_a_scale_bias_is_not_for_the_oracles_of_several_inputs() -> None:
    law = family().law(family().operator("CLIP1"))
    assert law.of_one_input
    tensors = dict.fromkeys(("InputTensor", "OutputTensor"), TensorDesc(DataType.INT8, (1,)))
    bounds = {"Min": ScalarUnion.of(DataType.INT8, -2), "Max": ScalarUnion.of(DataType.INT8, 3)}
    value = {"MinMaxDataType": "INT8", **bounds}
    scaled = OperatorDesc("ELEMENT_WISE_CLIP1", tensors, {**value, "ScaleBias": ScaleBias(2, 1)})
    for oracle in (TypedOracle, TypedVectorOracle):
        with pytest.raises(UsageError, match="is given a ScaleBias"):
            oracle(law, scaled)
    assert ExactOracle(law, scaled).acceptable(0).patterns == {1}
    assert ExactOracle(law, scaled).acceptable(5).patterns == {3}


SCALED = [(2.0, 1.0), (1.0, 0.0), (0.5, 0.25), (3.0, 7.0), (-1.0, 0.5), (1e-4, 1e-5), (1e30, -3.0), (3.0, float("inf"))]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("pair", SCALED, ids=str)
@pytest.mark.size("thorough", brief=1)
def test_both_oracles_agree_on_scaled_inputs(pair: tuple[float, float], strict: bool) -> None:
    """A third of the elements with each pair, every one of them with two pairs at least."""
    first = SCALED.index(pair) % 3
    for table, operator in every_description():
        if not table.has_scale_bias:
            continue
        attributes = {**operator.attributes, "ScaleBias": ScaleBias(*pair)}
        described = OperatorDesc(operator.name, operator.tensors, attributes)
        value = {name: array[first::3] for name, array in values(table, described, 150).items()}
        both = exactly(table, described, value, strict), vectorised(table, described, value, strict)
        for row, acceptable, other in zip(rows(value), *both, strict=True):
            assert acceptable.any_value == other.any_value, (label(described), row)
            same = (acceptable.patterns, acceptable.any_nan) == (other.patterns, other.any_nan)
            assert acceptable.any_value or same, (label(described), row, acceptable, other)


def test_a_function_may_be_taken_of_the_scaled_input_before_it_is_narrowed() -> None:
    """Cases that an honest implementation of each kind gives: FLOAT32 in between, or 32-bit integers."""
    half, scale_bias = DataType.FLOAT16, ScaleBias(2, 1)

    def accepted(name: str, data_type: DataType, number: float, scale: ScaleBias, *, strict: bool = False) -> set[Any]:
        tensors = dict.fromkeys(("InputTensor", "OutputTensor"), TensorDesc(data_type, (1,)))
        operator = OperatorDesc(f"ELEMENT_WISE_{name}", tensors, {"ScaleBias": scale})
        law = family().law(family().operator(name))
        bits = int(np.array(number, data_type.numpy).view(data_type.bits_dtype))
        numbers = ExactOracle(law, operator, strict).acceptable(bits).patterns
        return {np.array(item, data_type.bits_dtype).view(data_type.numpy)[()].item() for item in numbers}

    assert accepted("CEIL", half, 6.104e-05, scale_bias) == {1.0, 2.0}
    assert accepted("CEIL", half, 6.104e-05, scale_bias, strict=True) == {1.0}
    assert accepted("FLOOR", half, 6.104e-05, scale_bias) == {1.0}
    assert {-1, 32767} <= accepted("ABS", DataType.INT16, -32768, scale_bias)
    assert {16391, 32767} >= accepted("ABS", DataType.INT16, -8192, ScaleBias(2, -7)) == {16391}
    assert {-9, 127} <= accepted("ABS", DataType.INT8, -128, ScaleBias(2, 9))  # 247
