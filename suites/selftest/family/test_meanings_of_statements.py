"""What statements mean: the kind in which operands meet, and both meanings of an expression on integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, FormulaError
from dmlcts.specs.formula import parse
from dmlcts.specs.statements import exactly, in_arrays
from dmlcts.specs.statements.kinds import joined

INT8, UINT8, INT32, INT64 = (DataType[name] for name in ("INT8", "UINT8", "INT32", "INT64"))
F16, F32 = DataType.FLOAT16, DataType.FLOAT32


@pytest.mark.parametrize("given, kind", [
    ([INT8, INT8], INT8), ([INT8, UINT8], "whole"), ([INT8, "whole"], "whole"), ([INT8, "constant"], INT8),
    (["constant", "constant"], "constant"), ([], "constant"), ([F32, "constant", F32], F32),
    (["truth", "truth"], "truth"),
])  # fmt: skip
def test_operands_meet_in_their_type_or_as_exact_integers(given: list[Any], kind: Any) -> None:
    assert joined(given, "a sum") == kind


@pytest.mark.parametrize("given, said", [([F32, INT8], "FLOAT32 and INT8"), ([F16, "whole"], "FLOAT16 and an integer")])
def test_floating_point_numbers_meet_nothing_else(given: list[Any], said: str) -> None:
    with pytest.raises(FormulaError, match=said):
        joined(given, "a sum")


@pytest.mark.parametrize("text, a, b, wanted", [
    ("bit_not(a)", 5, 0, -6), ("bit_not(a)", -1, 0, 0), ("bit_and(a, b)", 12, 10, 8), ("bit_or(a, b)", 12, 10, 14),
    ("bit_xor(a, b)", 12, 10, 6), ("a + b", 127, 1, 128), ("a * b", -128, -128, 16384), ("-a", -128, 0, 128),
    ("bit_not(a) + b", -128, 127, 254),
])  # fmt: skip
@pytest.mark.parametrize("kind", [INT8, INT32, INT64])
def test_integers_have_no_limits_in_a_statement(text: str, a: int, b: int, wanted: int, kind: DataType) -> None:
    bits = 8 * kind.itemsize
    expression = parse(text, {"a", "b"})
    elements = {name: exactly.of_pattern(value % (1 << bits), kind) for name, value in (("a", a), ("b", b))}
    assert exactly.evaluate(expression, elements, {}).content == wanted
    arrays = {name: in_arrays.of_elements(np.array([value], kind.numpy), kind) for name, value in (("a", a), ("b", b))}
    found = in_arrays.evaluate(expression, arrays, {})
    assert int(found.array[0]) == wanted
    assert not np.any(found.undefined)
