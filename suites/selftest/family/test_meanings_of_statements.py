"""What statements mean: the kind in which operands meet, and both meanings of an expression on integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, FormulaError
from dmlcts.specs.formula import parse
from dmlcts.specs.statements import exactly, in_arrays
from dmlcts.specs.statements.kinds import Names, joined, kind_of

INT8, UINT8, INT32, INT64, UINT64 = (DataType[name] for name in ("INT8", "UINT8", "INT32", "INT64", "UINT64"))
F16, F32 = DataType.FLOAT16, DataType.FLOAT32


@pytest.mark.parametrize(
    "value, kind",
    [
        ([INT8, INT8], INT8),
        ([INT8, UINT8], "whole"),
        ([INT8, "whole"], "whole"),
        ([INT8, "constant"], INT8),
        (["constant", "constant"], "constant"),
        ([], "constant"),
        ([F32, "constant", F32], F32),
        (["truth", "truth"], "truth"),
    ],
)
def test_operands_meet_in_their_type_or_as_exact_integers(value: list[Any], kind: Any) -> None:
    assert joined(value, "a sum") == kind


@pytest.mark.parametrize("value, text", [([F32, INT8], "FLOAT32 and INT8"), ([F16, "whole"], "FLOAT16 and an integer")])
def test_floating_point_numbers_meet_nothing_else(value: list[Any], text: str) -> None:
    with pytest.raises(FormulaError, match=text):
        joined(value, "a sum")


@pytest.mark.parametrize(
    "text, a, b, wanted",
    [
        ("bit_not(a)", 5, 0, -6),
        ("bit_not(a)", -1, 0, 0),
        ("bit_and(a, b)", 12, 10, 8),
        ("bit_or(a, b)", 12, 10, 14),
        ("bit_xor(a, b)", 12, 10, 6),
        ("a + b", 127, 1, 128),
        ("a * b", -128, -128, 16384),
        ("-a", -128, 0, 128),
        ("bit_not(a) + b", -128, 127, 254),
    ],
)
@pytest.mark.parametrize("kind", [INT8, INT32, INT64])
def test_integers_have_no_limits_in_a_statement(text: str, a: int, b: int, wanted: int, kind: DataType) -> None:
    bits = 8 * kind.itemsize
    expression = parse(text, {"a", "b"})
    elements = {name: exactly.of_pattern(value % (1 << bits), kind) for name, value in (("a", a), ("b", b))}
    assert exactly.evaluate(expression, elements, {}).content == wanted
    arrays = {name: in_arrays.of_elements(np.array([value], kind.numpy), kind) for name, value in (("a", a), ("b", b))}
    values = in_arrays.evaluate(expression, arrays, {})
    assert int(values.array[0]) == wanted
    assert not np.any(values.undefined)


@pytest.mark.parametrize(
    "text, a, target, wanted",
    [
        ("cast(U, a)", 300, UINT8, 44),
        ("cast(U, a)", -1, UINT8, 255),
        ("cast(U, a)", 200, INT8, -56),
        ("cast(U, a)", -1, UINT64, 2**64 - 1),
        ("cast(U, a)", 7, INT64, 7),
        ("cast(U, a == 7)", 7, UINT8, 1),
        ("cast(U, a == 7)", 8, F32, 0),
        ("wrap(U, a * a * a)", -3, UINT64, 2**64 - 27),
        ("wrap(U, a * a)", 300, UINT8, 144),
        ("wrap(U, -1)", 0, UINT8, 255),
        ("saturate(U, a * a)", 300, UINT8, 255),
        ("saturate(U, -a)", 300, INT8, -128),
    ],
)
def test_integers_are_stored_in_a_type(text: str, a: int, target: DataType, wanted: int) -> None:
    """Casts wrap; truth values become 1 and 0, of any type."""
    expression, types = parse(text, {"a"}, types={"U"}, operators={}), {"U": target}
    value = exactly.evaluate(expression, {"a": exactly.of_pattern(a % (1 << 32), INT32)}, types)
    vector = in_arrays.evaluate(expression, {"a": in_arrays.of_elements(np.array([a], np.int32), INT32)}, types)
    assert (value.kind, vector.kind) == (target, target)
    assert vector.array.dtype == target.numpy
    assert np.atleast_1d(vector.array).tolist() == [wanted]
    assert exactly.pattern(value, target) == np.array([wanted], target.numpy).view(target.bits_dtype)[0]


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("1 / 4", 0.25),
        ("3 / 2", 1.5),
        ("-(1 / 4)", -0.25),
        ("1 / 0", None),
        ("0 / 0", None),
        ("(1 / 0) / 2", None),
        ("2 / (1 / 0)", None),
        ("1 + 2", 3.0),
        ("1 + 1 / 4", None),
    ],
)
def test_numbers_of_the_statement_are_divided_as_they_are_and_added_as_integers(
    text: str, wanted: float | None
) -> None:
    expression = parse(text, {"a"}, operators={})
    values = in_arrays.evaluate(expression, {}, {})
    assert values.kind == "constant"
    assert bool(values.undefined) is (wanted is None)
    if wanted is None:
        with pytest.raises(exactly.Undefined):
            exactly.evaluate(expression, {}, {})
        return
    assert values.array == wanted
    assert exactly.evaluate(expression, {}, {}).content == wanted


@pytest.mark.parametrize(
    "text, target, message",
    [
        ("cast(U, x)", INT8, "not cast FLOAT32 to INT8"),
        ("cast(U, n + n)", F32, "not cast an integer to FLOAT32"),
        ("cast(U, n)", F16, "not cast INT32 to FLOAT16"),
        ("cast(U, x)", F16, "not cast FLOAT32 to FLOAT16"),
    ],
)
def test_a_statement_does_not_cast_to_or_from_floating_point(text: str, target: DataType, message: str) -> None:
    names = Names({"x": F32, "n": INT32}, {"U": target}, {})
    with pytest.raises(FormulaError, match=message):
        kind_of(parse(text, {"x", "n"}, types={"U"}, operators={}), names)


@pytest.mark.parametrize(
    "text, target",
    [
        ("cast(U, x)", F32),
        ("cast(U, x > 0)", F16),
        ("cast(U, n)", INT8),
        ("cast(U, n + n)", INT64),
        ("cast(U, 1)", F16),
    ],
)
def test_a_statement_casts_integers_numbers_and_truth_values(text: str, target: DataType) -> None:
    names = Names({"x": F32, "n": INT32}, {"U": target}, {})
    assert kind_of(parse(text, {"x", "n"}, types={"U"}, operators={}), names) is target


@pytest.mark.parametrize("data_type, other", [(INT32, UINT8), (INT64, INT32), (UINT64, INT64), (UINT64, INT32)])
@pytest.mark.parametrize("text", ["a < b", "a == b", "a >= 2", "b > -1", "a < 18014398509481986"])
def test_integers_of_different_kinds_are_compared_exactly(text: str, data_type: DataType, other: DataType) -> None:
    """At the limits of each type, and where FLOAT64 does not distinguish neighbours."""
    expression = parse(text, {"a", "b"})
    numbers = [0, 1, 2, -1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 18014398509481985, 255]
    pairs = [(a % (1 << 8 * data_type.itemsize), b % (1 << 8 * other.itemsize)) for a in numbers for b in numbers]
    columns = {
        name: np.array([pair[place] for pair in pairs], kind.bits_dtype)
        for place, (name, kind) in enumerate((("a", data_type), ("b", other)))
    }
    kinds = {"a": data_type, "b": other}
    arrays = {name: in_arrays.of_elements(column, kinds[name]) for name, column in columns.items()}
    held = in_arrays.held(in_arrays.evaluate(expression, arrays, {}), len(pairs))
    for place, pair in enumerate(pairs):
        elements = {name: exactly.of_pattern(bits, kinds[name]) for name, bits in zip("ab", pair, strict=True)}
        try:
            wanted = bool(exactly.evaluate(expression, elements, {}).content)
        except exactly.Undefined:
            wanted = False
        assert held[place] == wanted, pair


@pytest.mark.parametrize("kind", [INT8, UINT8, INT32, INT64, UINT64])
@pytest.mark.parametrize("undefined", [np.array(False), np.array(True), np.array([True, False, False])])
@pytest.mark.parametrize("into", [INT8, INT64, UINT64])
def test_integers_are_stored_as_they_are_where_they_fit(kind: DataType, undefined: Any, into: DataType) -> None:
    limits = np.iinfo(kind.numpy)
    elements = np.array([limits.min, 5, limits.max], kind.numpy)
    array, without = in_arrays.stored(in_arrays.Values(kind, elements, undefined), into, 3)
    held = [np.iinfo(into.numpy).min <= int(element) <= np.iinfo(into.numpy).max for element in elements]
    left = [gone or not known for gone, known in zip(np.broadcast_to(undefined, 3), held, strict=True)]
    assert without.tolist() == left
    assert array.dtype == into.numpy
    assert array.tolist() == [0 if gone else int(element) for element, gone in zip(elements, left, strict=True)]
