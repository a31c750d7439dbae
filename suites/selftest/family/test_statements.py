"""Silent points and relations: what they say, by hand; both meanings of each, equal; what lint refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel, TableError
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.statements.relations import Dispatched, Relation, relation_clauses
from dmlcts.specs.statements.silent_points import SilentPoint, exact_silent_points, silent_points
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.selftest.family.stated_tables import (
    ADD,
    LESS,
    MEAN,
    SHIFT,
    SIGN,
    edges,
    pairs,
    stated_tables,
    without_attributes,
)
from dmlcts.suites.selftest.looped_cases import looped

F32, INT8, INT32, INT64, UINT8, UINT32, UINT64 = (
    DataType[name] for name in ("FLOAT32", "INT8", "INT32", "INT64", "UINT8", "UINT32", "UINT64")
)


def point(name: str, data_type: DataType, **changed: str) -> SilentPoint:
    tables = stated_tables(**changed)
    (silent_point,) = silent_points(tables.operator(name), without_attributes(tables, name, T=data_type))
    return silent_point


def named(name: str, data_type: DataType, a: list[Any], b: list[Any], output: list[Any]) -> str | None:
    silent_point = point(name, data_type)
    arrays = [np.array(values, data_type.numpy) for values in (a, b, output)]
    return silent_point.behaviour({"a": arrays[0], "b": arrays[1]}, arrays[2])


@pytest.mark.parametrize(
    ("name", "data_type", "a", "b", "output", "wanted"),
    [
        ("PLUS", INT8, [127, 100, 3], [1, 100, 4], [-128, -56, 0], "wraps"),
        ("PLUS", INT8, [127, 100, -128], [1, 100, -1], [127, 127, -128], "saturates"),
        ("PLUS", INT8, [127, 100], [1, 100], [127, -56], None),  # each of them once
        ("PLUS", INT8, [3, 5], [4, -6], [0, 0], None),  # nothing overflows: nothing is explained
        ("PLUS", UINT64, [2**64 - 1], [2**64 - 1], [2**64 - 2], "wraps"),
        ("PLUS", INT64, [-(2**63)], [-1], [-(2**63)], "saturates"),
        ("SHIFT", UINT8, [3, 255], [8, 200], [0, 0], "gives 0"),
        ("SHIFT", UINT8, [3, 255], [9, 10], [6, 252], "counts modulo the width"),
        ("SHIFT", UINT8, [3, 255], [33, 40], [6, 0], "counts modulo 32"),
        ("SHIFT", UINT64, [3], [65], [6], "counts modulo the width"),
        ("HALF", INT8, [1, -1, 127], [2, -2, 127], [1, -1, 127], "truncated"),
        ("HALF", INT8, [1, -1], [2, -2], [1, -2], "floored"),
        ("LARGER", F32, [np.nan, 1], [2, np.nan], [2, 1], "gives the other operand"),
        ("LARGER", F32, [np.nan, 1], [2, np.nan], [np.nan, np.nan], "gives NaN"),
        ("LARGER", F32, [np.nan, 1], [2, np.nan], [2, np.nan], None),
    ],
)
def test_behaviours_have_names(
    name: str, data_type: DataType, a: list[Any], b: list[Any], output: list[Any], wanted: str | None
) -> None:
    assert named(name, data_type, a, b, output) == wanted


def test_what_explains_equally_well_is_all_reported() -> None:
    silent_point = point("SHIFT", UINT32)
    inputs = {"a": np.array([3], np.uint32), "b": np.array([33], np.uint32)}
    assert silent_point.explaining(inputs, np.array([6], np.uint32)) == ("counts modulo the width", "counts modulo 32")


def test_zeros_are_distinguished_and_nans_are_not() -> None:
    silent_point = point("SIGN_OF", F32)
    inputs = {"x": np.array([np.nan, np.nan], np.float32)}
    assert silent_point.behaviour(inputs, np.array([0.0, 0.0], np.float32)) == "gives 0"
    assert silent_point.behaviour(inputs, np.array([0.0, -0.0], np.float32)) is None
    assert (
        silent_point.behaviour(inputs, np.array([0xFFC0_0001, 0x7F80_0001], np.uint32).view(np.float32)) == "gives NaN"
    )


NAMES = ("PLUS", "SHIFT", "HALF", "SIGN_OF", "LARGER")


def data_types_of(name: str) -> tuple[DataType, ...]:
    return tuple(stated_tables().operator(name).data_types)


def inputs_of(name: str, data_type: DataType) -> dict[str, np.ndarray]:
    if name == "SIGN_OF":
        return {"x": edges(data_type)}
    return dict(zip(("a", "b"), pairs(data_type), strict=True))


def rows(inputs: Mapping[str, np.ndarray], data_type: DataType, step: int = 1) -> list[dict[str, int]]:
    columns = {name: array.view(data_type.bits_dtype)[::step].tolist() for name, array in inputs.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("name", NAMES)
@looped("data_type", data_types_of, share=4)
def test_both_meanings_of_a_silent_point_are_equal(name: str, data_type: DataType) -> None:
    tables = stated_tables()
    table, operator = tables.operator(name), without_attributes(tables, name, T=data_type)
    inputs = inputs_of(name, data_type)
    for silent_point, exact in zip(silent_points(table, operator), exact_silent_points(table, operator), strict=True):
        there = silent_point.where(inputs).tolist()
        elements = rows(inputs, data_type)
        assert there == [exact.holds(row) for row in elements]
        assert any(there)
        assert not all(there)
        for behaviour in silent_point.meanings:
            array, undefined = silent_point.results(behaviour, inputs)
            outputs = array.view(data_type.bits_dtype).tolist()
            explained = silent_point.explains(behaviour, inputs, array).tolist()
            other = silent_point.explains(
                behaviour, inputs, (array.view(data_type.bits_dtype) ^ 1).view(array.dtype)
            ).tolist()
            for row, bits, text, changed, nothing in zip(
                elements, outputs, explained, other, undefined.tolist(), strict=True
            ):
                assert text == exact.explains(behaviour, row, bits) != nothing, (behaviour, row)
                assert changed == exact.explains(behaviour, row, bits ^ 1), (behaviour, row)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", NAMES)
@looped("data_type", data_types_of)
def test_both_oracles_take_what_a_silent_point_accepts(name: str, data_type: DataType, strict: bool) -> None:
    tables = stated_tables()
    law, operator = tables.law(tables.operator(name)), without_attributes(tables, name, T=data_type)
    inputs = {key: array[::7] for key, array in inputs_of(name, data_type).items()}
    acceptance = TypedVectorOracle(law, operator, strict=strict).acceptance(inputs)
    oracle = TypedOracle(law, operator, strict=strict)
    for row, element in zip(rows(inputs, data_type), acceptance.elements(), strict=True):
        wanted = oracle.acceptable(row)
        assert (element.patterns, element.any_nan, element.any_value) == (
            wanted.patterns,
            wanted.any_nan,
            wanted.any_value,
        )


def test_what_is_accepted_replaces_the_formula() -> None:
    tables = stated_tables()
    law = tables.law(tables.operator("HALF"))
    operator = without_attributes(tables, "HALF", T=UINT8)

    def accepted(a: int, b: int, *, strict: bool = False) -> set[int]:
        return set(TypedOracle(law, operator, strict).acceptable({"a": a, "b": b}).patterns)

    assert accepted(3, 5) == {4}
    assert accepted(200, 100) == {150, 22}
    assert accepted(200, 100, strict=True) == {150}
    sign = tables.law(tables.operator("SIGN_OF"))
    acceptable = TypedOracle(sign, without_attributes(tables, "SIGN_OF", T=F32)).acceptable({"x": 0x7FC0_0000})
    assert (acceptable.any_nan, acceptable.patterns) == (True, {0, 1 << 31})
    acceptable = TypedOracle(sign, without_attributes(tables, "SIGN_OF", T=F32), strict=True).acceptable(
        {"x": 0x7FC0_0000}
    )
    assert (acceptable.any_nan, acceptable.patterns) == (False, {0})


# relations -------------------------------------------------------------------------------------------


def relation(name: str, **types: DataType) -> Relation:
    tables = stated_tables()
    operator = without_attributes(tables, name, **types)
    (clause,) = relation_clauses(tables.operator(name), operator)
    return Relation(tables.operators, tables.operator(name), clause, operator)


def right(dispatched: Dispatched, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    a, b = inputs.values()
    match dispatched.table.short_name:
        case "PLUS":
            return a + b
        case "SHIFT":
            return np.where(b < 8, a << np.minimum(b, 7), 0).astype(a.dtype)
        case "BELOW":
            return (a < b).astype(dispatched.output.numpy)
    raise AssertionError(dispatched)


RELATIONS = [
    ("PLUS", {"T": INT8}),
    ("PLUS", {"T": UINT64}),
    ("SHIFT", {"T": UINT8}),
    ("BELOW", {"T": INT64, "U": UINT8}),
    ("BELOW", {"T": F32, "U": UINT32}),
]


@pytest.mark.parametrize(("name", "types"), RELATIONS)
def test_relations_hold_of_what_is_right_and_both_meanings_agree(name: str, types: dict[str, DataType]) -> None:
    item = relation(name, **types)
    a, b = pairs(types["T"])
    seen: list[np.ndarray] = []

    def dispatch(dispatched: Dispatched, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        with np.errstate(all="ignore"):
            output = right(dispatched, inputs)
        if faulty:
            output = np.where(inputs["ATensor"] == inputs["ATensor"][5], output ^ 1, output).astype(output.dtype)
        seen.append(output)
        return output

    for faulty in (False, True):
        seen.clear()
        broken = item.broken({"a": a, "b": b}, dispatch)
        assert broken.any() == faulty
        outputs = [output.view(f"u{output.dtype.itemsize}").tolist() for output in seen]
        elements = rows({"a": a, "b": b}, types["T"])
        for row, text, *bits in list(zip(elements, broken.tolist(), *outputs, strict=True))[::11]:
            assert text == item.broken_by(row, bits), row


def test_a_relation_states_what_has_to_be_dispatched() -> None:
    item = relation("SHIFT", T=UINT8)
    assert [dispatched.node.operator for dispatched in item.dispatched] == ["SHIFT", "PLUS"]  # each once
    assert dict(item.dispatched[1].types) == dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), UINT8)
    assert item.dispatched[1].describe((2, 3)).name == "ELEMENT_WISE_PLUS"
    types = relation("BELOW", T=INT64, U=UINT8).dispatched[0].types
    assert (types["ATensor"], types["OutputTensor"]) == (INT64, UINT8)


def test_relations_are_for_the_types_of_their_clause() -> None:
    tables = stated_tables()
    assert relation_clauses(tables.operator("SHIFT"), without_attributes(tables, "SHIFT", T=UINT32)) == []
    assert len(relation_clauses(tables.operator("SHIFT"), without_attributes(tables, "SHIFT", T=UINT8))) == 1


def test_a_relation_is_obliged_from_the_level_of_all_its_operators_on() -> None:
    text = '{level: "1.0", dimension_counts: [1, 8]'
    tables = stated_tables(plus=ADD.replace(text, '{level: "3.0", dimension_counts: [1, 8]'))
    table = tables.operator("SHIFT")
    (clause,) = relation_clauses(table, without_attributes(tables, "SHIFT", T=UINT8))
    for _ in range(2):  # what is found once is kept
        assert tables.obliged(clause, table, FeatureLevel.LEVEL_2_1) == ()
        assert tables.obliged(clause, table, FeatureLevel.LEVEL_3_0) == (UINT8,)
    control = stated_tables()
    assert control.obliged(clause, control.operator("SHIFT"), FeatureLevel.LEVEL_2_1) == (UINT8,)


# lint ------------------------------------------------------------------------------------------------

BROKEN = {
    "no condition": ("plus", ADD, "    where: outside(T, a + b)\n", "", "does not say where"),
    "a number as the condition": ("plus", ADD, "outside(T, a + b)", "a + b", "the condition is a number"),
    "a truth value as a behaviour": ("plus", ADD, '"wrap(T, a + b)"', "a == b", "is a truth value"),
    "an unknown name": ("plus", ADD, "outside(T, a + b)", "outside(T, a + c)", "undefined name 'c'"),
    "an unknown type": ("plus", ADD, "outside(T, a + b)", "outside(S, a + b)", "undefined type 'S'"),
    "outside used as a number": ("plus", ADD, "outside(T, a + b)", "outside(T)", "outside is not used so"),
    "an operator in a silent point": (
        "plus",
        ADD,
        "outside(T, a + b)",
        "PLUS(a, b) == 0",
        "undefined function 'PLUS'",
    ),
    "required": ("plus", ADD, "unspecified\n    subject: special", "required\n    subject: special", "is required"),
    "implied, with behaviours": (
        "plus",
        ADD,
        "unspecified\n    subject: special",
        "implied\n    subject: special",
        "its behaviours would name",
    ),
    "an unknown behaviour accepted": (
        "half",
        MEAN,
        "accepted: [truncated,",
        "accepted: [rounded,",
        "'rounded' is none",
    ),
    "strict beyond what is accepted": ("half", MEAN, "strict: [truncated,", "strict: [up,", "'up' is none"),
    "behaviours elsewhere": ("half", MEAN, "check: silent", "check: monotone", "has `where`, which 'monotone'"),
    "integers of floating-point numbers": (
        "sign_of",
        SIGN,
        "is_nan(x)",
        "outside(T, x)",
        "outside is about integers, and is given FLOAT32",
    ),
    "bits of floating-point numbers": (
        "sign_of",
        SIGN,
        "is_nan(x)",
        "bit_and(x, 1) == 1",
        "bit_and has no meaning on FLOAT32",
    ),
    "a relation with an unknown operator": (
        "plus",
        ADD,
        "== PLUS(b, a)",
        "== MINUS(b, a)",
        "undefined function 'MINUS'",
    ),
    "a relation with too few inputs": ("plus", ADD, "== PLUS(b, a)", "== PLUS(b)", "PLUS has 2 inputs, and is given 1"),
    "a relation of types that are not there": (
        "shift",
        SHIFT,
        "data_types: [UINT8]",
        "data_types: all",
        None,
    ),
    "a relation of values without a type": (
        "shift",
        SHIFT,
        "wrap(T, SHIFT(a, b) - SHIFT(a, b))",
        "SHIFT(a, b) - SHIFT(a, b)",
        "a value of no type",
    ),
    "a relation that says nothing": (
        "below",
        LESS,
        "    holds: not (BELOW(a, b) == 1 and BELOW(b, a) == 1)\n",
        "",
        "says nothing",
    ),
    "a relation that is a number": ("plus", ADD, "PLUS(a, b) == PLUS(b, a)", "PLUS(a, b)", "the statement is a number"),
    "a relation with an operator that lists other types": (
        "shift",
        SHIFT,
        "PLUS(SHIFT(a, b)",
        "HALF(SHIFT(a, b)",
        None,
    ),
    "a relation on types that an operator lacks": (
        "plus",
        ADD,
        "== PLUS(b, a)",
        "== SHIFT(b, a)",
        "SHIFT is not there on INT64",
    ),
    "an unspecified relation": ("plus", ADD, "obligation: implied", "obligation: unspecified", "nothing could fail it"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_broken_statements_are_refused(case: tuple[str, str, str, str, str | None]) -> None:
    name, text, old, new, cause = case
    assert text.count(old) == 1
    if cause is None:  # the control: what looks alike and is right
        assert stated_tables(**{name: text.replace(old, new)})
        return
    with pytest.raises(TableError) as error:
        stated_tables(**{name: text.replace(old, new)})
    assert cause in str(error.value), str(error.value)
    assert f"{name}.yaml:" in str(error.value)


def test_statements_are_evaluated_on_every_signature_of_their_types() -> None:
    tables = stated_tables()
    assert {
        len(silent_points(tables.operator("SIGN_OF"), without_attributes(tables, "SIGN_OF", T=data_type)))
        for data_type in (F32, DataType.FLOAT16)
    } == {1}
    assert silent_points(tables.operator("SIGN_OF"), without_attributes(tables, "SIGN_OF", T=INT8)) == ()
    assert len(signatures(tables.operator("SIGN_OF"))) == 3
