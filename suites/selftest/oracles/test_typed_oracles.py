"""Formulas of several inputs and types: tables of five operators to come, by hand and one oracle against the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TableError, TensorDesc, UsageError
from dmlcts.specs.approximation.exactly import ApproximateOracle
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.loading import load_tables, tables_of_files
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.reading.table_files import TableFile, builtin_files
from dmlcts.specs.tables.law import Law
from dmlcts.specs.tables.signatures import Signature, is_approximate, signatures

F16, F32, F64, INT8, INT32, UINT8 = (
    DataType[name] for name in ("FLOAT16", "FLOAT32", "FLOAT64", "INT8", "INT32", "UINT8")
)
NAN, INF = float("nan"), float("inf")
HEAD = """\
format: dmlcts/operator/2
operator: ELEMENT_WISE_OWN_{name}
code: {code}
introduced: "1.0"
summary: {name}.
sources: [{{id: page, title: A page, revision: today}}]
struct:
{struct}
tensors:
{tensors}
support: [{{level: "1.0", dimension_counts: {counts}, types: {types}}}]
formula: {formula}
{more}
clauses:
  - {{id: {prefix}.formula, check: values, text: It is so., obligation: required, subject: formula, sources: [page],
     latitude: [{latitude}]}}
"""
PAIR = {
    "ATensor": "{name: a, kind: input, type: T}",
    "BTensor": "{name: b, kind: input, type: T}",
    "OutputTensor": "{kind: output, type: T, may_alias: [ATensor, BTensor], at_once: several}",
}
ONE = {"InputTensor": "{name: x, kind: input, type: T}", "OutputTensor": "{kind: output, type: T}"}
COMPARED = {**PAIR, "OutputTensor": "{kind: output, type: U}"}
QUANTIZED = {
    "InputTensor": "{name: x, kind: input, type: T}",
    "ScaleTensor": "{name: scale, kind: input, type: T, elements: one}",
    "ZeroPointTensor": "{name: zero_point, kind: input, type: U, optional: true, absent: 0, elements: one}",
    "OutputTensor": "{kind: output, type: U}",
}
ULP = """accuracy:
  - {{function: {0}, data_types: [FLOAT32, FLOAT16], judged: {{ulp: 1}}, strict: {{ulp: 0.5}}, source: page}}"""
TABLES: dict[str, dict[str, Any]] = {
    "ADD": {
        "tensors": PAIR,
        "types": "{T: [FLOAT32, FLOAT16, INT32, INT8, UINT8, INT64, UINT32, UINT64]}",
        "formula": "a + b",
        "latitude": "zero-sign, integer-overflow",
    },
    "LOGICAL_EQUALS": {
        "tensors": COMPARED,
        "types": "{T: [FLOAT32, FLOAT16, INT32, UINT64], U: [UINT32, UINT8]}",
        "formula": "cast(U, a == b)",
        "latitude": "nan-comparison",
    },
    "BIT_AND": {
        "tensors": PAIR,
        "types": "{T: [FLOAT32, FLOAT16, INT8, UINT64]}",
        "formula": "bit_and(a, b)",
        "more": "domain: bits",
        "latitude": "zero-sign",
    },
    "SQRT": {
        "tensors": ONE,
        "types": "{T: [FLOAT32, FLOAT16]}",
        "formula": "sqrt(x)",
        "more": ULP.format("sqrt"),
        "latitude": "zero-sign, subnormals",
    },
    "QUANTIZE_LINEAR": {
        "tensors": QUANTIZED,
        "types": "{T: [FLOAT32, FLOAT16], U: [UINT8, INT8]}",
        "formula": "cast(U, min(max(round_half_even(x / scale) + zero_point, lowest(U)), highest(U)))",
        "more": ULP.format("divide"),
        "latitude": 'integer-cast-range, "nan"',
    },
}


CHOSEN = {"ConditionTensor": "{name: condition, kind: input, type: C}", **PAIR}
TABLES |= {
    "IF": {
        "tensors": CHOSEN,
        "types": "{C: [UINT8], T: [FLOAT32, FLOAT16, INT8]}",
        "formula": "a if condition != 0 else b",
        "more": "domain: bits",
        "latitude": "",
    },
    "DIVIDE": {
        "tensors": PAIR,
        "types": "{T: [FLOAT32, FLOAT16, INT8, UINT8]}",
        "formula": "a / b",
        "more": ULP.format("divide"),
        "latitude": "zero-sign, subnormals",
    },
    "MAX": {
        "tensors": PAIR,
        "types": "{T: [FLOAT32, FLOAT16, INT8]}",
        "formula": "a if a > b else max(b, -a)",
        "latitude": '"nan", nan-comparison',
    },
    "DIFFERENCE_SQUARE": {
        "tensors": PAIR,
        "types": "{T: [FLOAT16, INT8, UINT32, INT64]}",
        "formula": "(a - b) * (a - b) + 1",
        "latitude": "integer-overflow, zero-sign",
    },
    "LOGICAL_XOR": {
        "tensors": COMPARED,
        "types": "{T: [FLOAT32, UINT8], U: [FLOAT32, UINT8]}",
        "formula": "cast(U, (a != 0 and not b != 0) or (not a != 0 and b != 0))",
        "latitude": "",
    },
    "CAST": {
        "tensors": {"InputTensor": ONE["InputTensor"], "OutputTensor": COMPARED["OutputTensor"]},
        "types": "{T: [FLOAT32, FLOAT16, INT32, UINT8], U: [FLOAT32, FLOAT16, INT8, UINT32]}",
        "formula": "cast(U, x)",
        "latitude": "",
    },
    "CLAMP": {
        "tensors": {"InputTensor": ONE["InputTensor"], "OutputTensor": COMPARED["OutputTensor"]},
        "types": "{T: [FLOAT32, INT32], U: [INT8, UINT8]}",
        "formula": "cast(U, min(max(x, lowest(U)), highest(U)))",
        "latitude": '"nan"',
    },
    "OFFSET": {
        "tensors": {**PAIR, "BTensor": "{name: b, kind: input, type: T, optional: true, absent: 3}"},
        "types": "{T: [FLOAT32, INT8]}",
        "formula": "a + b",
        "latitude": "",
    },
    "MIXED": {
        "tensors": {
            "ATensor": "{name: a, kind: input, type: T}",
            "BTensor": "{name: b, kind: input, type: U}",
            "OutputTensor": "{kind: output, type: V}",
        },
        "types": "{T: [FLOAT32, INT8], U: [FLOAT16, UINT8], V: [FLOAT32, INT8]}",
        "formula": "cast(V, a + b)",
        "latitude": "",
    },
    "THREE": {
        "tensors": {
            "ATensor": "{name: a, kind: input, type: T}",
            "BTensor": "{name: b, kind: input, type: U}",
            "CTensor": "{name: c, kind: input, type: T}",
            "OutputTensor": "{kind: output, type: V}",
        },
        "types": "{T: [FLOAT32], U: [INT32], V: [FLOAT32]}",
        "formula": "cast(V, cast(T, a + b) + c)",
        "latitude": "",
    },
}


def text_of(name: str, **changes: str) -> str:
    table = {"more": "", "counts": "[1, 8]", **TABLES[name], **changes}
    tensors = "\n".join(f"  {member}: {row}" for member, row in table.pop("tensors").items())
    struct = "\n".join(f"  - {{name: {member}, type: const DML_TENSOR_DESC*}}" for member in TABLES[name]["tensors"])
    prefix = "own-" + name.lower().replace("_", "-")
    code = 1000 + list(TABLES).index(name)
    return HEAD.format(name=name, code=code, prefix=prefix, tensors=tensors, struct=struct, **table)


@cache
def law(name: str, **changes: str) -> Law:
    shared = (file for file in builtin_files() if file.digest_name.startswith("shared/"))  # the operators take long
    files = [*shared, TableFile(f"{name}.yaml", f"{name}.yaml", text_of(name, **changes).encode())]
    tables = tables_of_files(files, runnable=False)
    return tables.law(tables.operator(f"OWN_{name}"))


def of_single_elements(operator_law: Law, lacking: tuple[str, ...] = (), **types: DataType) -> OperatorDesc:
    tensors = {
        member: TensorDesc(types[row.type], (1,))
        for member, row in operator_law.table.tensors.items()
        if member not in lacking
    }
    return OperatorDesc(operator_law.table.operator, tensors, {})


def oracles(
    operator_law: Law, operator: OperatorDesc, *, strict: bool
) -> tuple[TypedOracle | ApproximateOracle, TypedVectorOracle | ApproximateVectorOracle]:
    """The exact oracle and the vectorised one that a description has: of exact results, or of approximate ones."""
    if is_approximate(operator_law.table, Signature.of(operator, operator_law.table)):
        return ApproximateOracle(operator_law, operator, strict), ApproximateVectorOracle(
            operator_law, operator, strict=strict
        )
    return TypedOracle(operator_law, operator, strict), TypedVectorOracle(operator_law, operator, strict=strict)


def elements(operator_law: Law, types: Mapping[str, DataType], values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    arrays = {}
    for name, member in operator_law.table.formula_names.items():
        if name in values:
            operand = values[name]
            kind = types[operator_law.table.tensors[member].type].numpy
            arrays[name] = operand if isinstance(operand, np.ndarray) else np.array([operand]).astype(kind)
    return arrays


def bits_of(array: np.ndarray) -> list[int]:
    return [int(bits) for bits in array.view(f"u{array.dtype.itemsize}")]


def accepts(
    operator_law: Law, output: Any, *, types: Any, strict: bool = False, lacking: tuple[str, ...] = (), **values: Any
) -> bool:
    """Whether both oracles accept an output; they have to agree."""
    operator = of_single_elements(operator_law, lacking, **types)
    inputs = elements(operator_law, types, values)
    kind = types[operator_law.table.tensors[operator_law.table.output].type]
    outputs = output if isinstance(output, np.ndarray) else np.array([output]).astype(kind.numpy)
    by_element, in_arrays = oracles(operator_law, operator, strict=strict)
    exact = by_element.acceptable({name: bits_of(array)[0] for name, array in inputs.items()})
    vectorised = in_arrays.acceptance(inputs)
    accepted = exact.admits(bits_of(outputs)[0], kind)
    shown = outputs.view(vectorised.data_type.numpy)  # patterns, in the bits domain
    assert bool(vectorised.admits(shown)[0]) == accepted, (values, output, exact)
    return accepted


def test_addition() -> None:
    add = law("ADD")
    assert accepts(add, 3, types={"T": INT8}, a=1, b=2)
    assert not accepts(add, 4, types={"T": INT8}, a=1, b=2)
    for output, right in ((-128, True), (127, True), (0, False)):  # 100 + 28: wrapped or saturated
        assert accepts(add, output, types={"T": INT8}, a=100, b=28) == right
        assert accepts(add, output, types={"T": INT8}, a=100, b=28, strict=True) == (output == -128)
    assert accepts(add, 2**63 - 1, types={"T": DataType.INT64}, a=2**63 - 1, b=1)
    wrapping = law("ADD", latitude="zero-sign")
    assert not accepts(wrapping, 127, types={"T": INT8}, a=100, b=28)
    assert accepts(add, 0.30000001192092896, types={"T": F32}, a=np.float32(0.1), b=np.float32(0.2))
    assert accepts(add, -0.0, types={"T": F32}, a=1.0, b=-1.0)
    assert not accepts(add, -0.0, types={"T": F32}, a=1.0, b=-1.0, strict=True)
    assert accepts(add, NAN, types={"T": F16}, a=INF, b=-INF)
    assert accepts(add, INF, types={"T": F16}, a=65504, b=16)
    assert not accepts(add, 65504, types={"T": F16}, a=65504, b=16)


def test_a_sum_that_is_subnormal_may_be_flushed_where_a_clause_permits_it() -> None:
    flushing = law("ADD", latitude="subnormals")
    for output, right in ((1e-40, True), (0.0, True), (-0.0, False), (2e-40, False)):
        assert accepts(flushing, np.float32([output]), types={"T": F32}, a=np.float32(1e-40), b=0.0) is right
    assert not accepts(law("ADD"), 0.0, types={"T": F32}, a=np.float32(1e-40), b=0.0)
    assert not accepts(flushing, 0.0, types={"T": F16}, a=2.0**-24, b=0.0)


def test_what_is_absent_counts_as_the_table_states() -> None:
    offset = law("OFFSET")
    for kind in (INT8, F32):
        assert accepts(offset, 8, types={"T": kind}, lacking=("BTensor",), a=5)
        assert not accepts(offset, 5, types={"T": kind}, lacking=("BTensor",), a=5)
        assert accepts(offset, 7, types={"T": kind}, a=5, b=2)


@pytest.mark.parametrize(
    "formula, kinds, a, b, right, wrong",
    [
        ("a + b", (F32, F16, F32), 1.0, -1.0, 0.0, -0.0),
        ("a + b", (F32, F16, F32), -0.0, -0.0, -0.0, 0.0),
        ("a + b", (F32, UINT8, F32), -0.0, 0, 0.0, -0.0),
        ("a + b", (F32, F16, F32), INF, -INF, NAN, 0.0),
        ("a + b", (F32, F16, F32), INF, INF, INF, NAN),
        ("a + b", (F32, F16, INT8), 2.0**-149, -1.0, 0, -1),  # truncated after an exact sum
        ("a + b", (F32, UINT8, F32), 1.5 * 2.0**-23, 1, 1 + 2.0**-22, 1 + 2.0**-23),  # half way, to even
        ("a + b", (F32, F16, F64), 2.0**-60, 1.0, 1.0, 1 + 2.0**-52),
        ("difference(a, b)", (F32, F16, F32), INF, INF, NAN, INF),
        ("difference(a, b)", (F32, F16, F32), INF, -INF, INF, NAN),
        ("difference(a, b)", (F32, F16, INT8), -INF, INF, -128, 0),
        ("difference(a, b)", (F32, F16, F32), -0.0, 0.0, -0.0, 0.0),
        ("difference(a, b)", (INT8, UINT8, F32), 1, 1, 0.0, -0.0),
        ("difference(a, b)", (F32, UINT8, INT8), 2.0**-149, 1, 0, -1),
        ("min(a, b)", (F32, F16, F32), 0.0, -0.0, -0.0, 0.0),
        ("min(a, b)", (F32, UINT8, F32), -0.0, 0, -0.0, 0.0),
        ("max(a, b)", (F32, F16, F32), -0.0, 0.0, 0.0, -0.0),
        ("max(a, b)", (F32, F16, F32), 0.0, -0.0, 0.0, -0.0),
        ("max(a, b)", (F32, F16, F32), 2.0, INF, INF, 2.0),
        ("pow(a, b)", (INT8, UINT8, F32), -3, 3, -27.0, 27.0),
        ("pow(a, b)", (INT8, UINT8, INT8), 2, 7, 127, -128),  # as the nearest limit: INT64 holds the power
    ],
)
def test_numbers_of_different_types_meet_exactly(
    formula: str, kinds: tuple[DataType, ...], a: Any, b: Any, right: Any, wrong: Any
) -> None:
    types = dict(zip("TUV", kinds, strict=True))
    listed = ", ".join(f"{name}: [{kind.name}]" for name, kind in types.items())
    mixed = law("MIXED", formula=f"cast(V, {formula})", types=f"{{{listed}}}")
    assert accepts(mixed, right, types=types, a=a, b=b)
    assert not accepts(mixed, wrong, types=types, a=a, b=b)


@pytest.mark.parametrize("kinds, a, b", [((F32, UINT8), 0.5, 2), ((INT8, F16), 4, 0.5), ((F32, F16), INF, 2.0)])
def test_a_power_whose_accuracy_no_rule_states_may_be_anything(kinds: tuple[DataType, ...], a: Any, b: Any) -> None:
    types = dict(zip("TUV", (*kinds, F32), strict=True))
    power = law("MIXED", formula="cast(V, pow(a, b))")
    assert accepts(power, a**b, types=types, a=a, b=b)
    assert accepts(power, 7.0, types=types, a=a, b=b)


def test_a_constant_may_be_negated() -> None:
    for formula, right in (("-(2) if x > 0 else abs(-3)", -2.0), ("cast(T, -(0))", -0.0)):
        sign = law("ADD", formula=f"cast(T, {formula.replace('x', 'a')})", latitude="")
        assert accepts(sign, right, types={"T": F32}, a=1.0, b=0.0)
        assert not accepts(sign, -right, types={"T": F32}, a=1.0, b=0.0)


@pytest.mark.parametrize(
    "formula, right, wrong",
    [
        ("1 < 2", 1, 0),
        ("2 < 1", 0, 1),
        ("a == b or 2 >= 2", 1, 0),
        ("is_nan(0 / 0)", 1, 0),
        ("is_nan(1)", 0, 1),
        ("is_infinite(1 / 0)", 1, 0),
        ("is_negative(-(0))", 1, 0),
        ("(7 if a < b else 9) < 8", 1, 0),
        ("(7 if a > b else 9) < 8", 0, 1),
    ],
)
def test_constants_alone_are_compared(formula: str, right: int, wrong: int) -> None:
    compared, types = law("LOGICAL_EQUALS", formula=f"cast(U, {formula})", latitude=""), {"T": F32, "U": UINT8}
    assert accepts(compared, right, types=types, a=1.0, b=2.0)
    assert not accepts(compared, wrong, types=types, a=1.0, b=2.0)


@pytest.mark.parametrize(
    "formula, kind, right, wrong",
    [
        ("1 if a < b else 0", F32, 1.0, 0.0),
        ("1 if a < b else 0", INT8, 1, 0),
        ("a * (-3 if a < b else 3)", F32, -3.0, 3.0),
        ("a * (-3 if a < b else 3)", UINT8, 253, 0),
        ("max(1, 2) + a", INT8, 3, 2),
        ("max(1, 2) * (a + 2e-8)", F32, 2.0, 2.0000002),
        ("a + 1.5", INT8, 2, 4),  # 1.5 is 3 / 2
        ("a - (-1.5)", INT8, 2, 3),
        ("min(b, 300)", INT8, 2, 44),
        ("min(b + 98, 300)", INT8, 44, 100),  # 300 is 44
        ("a + 1 / 0", INT8, 7, None),
        ("a + 0 / 0", INT8, 7, None),
        ("a + pow(2, 0.5)", INT8, 7, None),
    ],
)
def test_a_constant_meets_a_type_as_a_number_of_it(formula: str, kind: DataType, right: Any, wrong: Any) -> None:
    chosen = law("ADD", formula=formula, latitude="")
    assert accepts(chosen, right, types={"T": kind}, a=1, b=2)
    assert wrong is None or not accepts(chosen, wrong, types={"T": kind}, a=1, b=2)


def test_what_is_absent_may_be_compared_with_a_constant() -> None:
    offset = law("OFFSET", formula="a if b > 2 else -a")
    for kind in (INT8, F32):
        assert accepts(offset, 5, types={"T": kind}, lacking=("BTensor",), a=5)
        assert not accepts(offset, -5, types={"T": kind}, lacking=("BTensor",), a=5)
        assert accepts(offset, -5, types={"T": kind}, a=5, b=2)


def test_bits_of_constants_alone_are_refused() -> None:
    for formula in ("bit_and(1, 3)", "bit_not(1)", "shift_left(a, bit_count(7))"):
        with pytest.raises(TableError, match="is given numbers of no type"):
            law("ADD", formula=formula, types="{T: [INT8]}")
    assert accepts(law("ADD", formula="bit_and(a, 3)", types="{T: [INT8]}"), 1, types={"T": INT8}, a=5, b=0)
    with pytest.raises(TableError, match="is given numbers of no type"):
        law("OFFSET", formula="bit_and(a, bit_not(b))", types="{T: [INT8]}")


@pytest.mark.parametrize(
    "formula",
    [
        "a + b + c",
        "c + (a + b)",
        "difference(a, b) + c",
        "difference(c, difference(b, a))",
        "min(a + b, c) + b",
        "(a + b if a < c else max(a, b)) + c",
        "difference(max(a, b) + b, c)",
    ],
)
def test_a_sum_is_added_to_in_a_type(formula: str) -> None:
    """2^100 + 1 - 2^100 is 1, and FLOAT64 holds no sum of the first two."""
    tables = "{T: [FLOAT32], U: [INT32], V: [FLOAT32]}"
    with pytest.raises(TableError, match="is given a sum of numbers of different types"):
        law("THREE", formula=f"cast(V, {formula})", types=tables)
    law("THREE", formula=f"cast(V, {formula})", types=tables.replace("FLOAT32", "INT8"))


def test_a_sum_cast_to_a_type_is_added_to() -> None:
    types = {"T": F32, "U": INT32, "V": F32}
    for formula, right, wrong in (("cast(T, a + b) + c", 0.0, 1.0), ("a + c + b", 1.0, 0.0)):
        three = law("THREE", formula=formula if "cast" in formula else f"cast(V, {formula})")
        assert accepts(three, right, types=types, a=2.0**100, b=1, c=-(2.0**100))
        assert not accepts(three, wrong, types=types, a=2.0**100, b=1, c=-(2.0**100))


@pytest.mark.parametrize("a, b, is_open", [(1.0, 2.0, False), (1.5, 2.0, True), (INF, 2.0, True), (NAN, 1.0, True)])
def test_a_power_of_numbers_of_no_type_is_known_of_whole_ones(a: float, b: float, is_open: bool) -> None:
    power, types = law("MIXED", formula="cast(V, pow(a + b, 1))"), {"T": F32, "U": F16, "V": F32}
    assert accepts(power, a + b, types=types, a=a, b=b)
    assert accepts(power, 77.0, types=types, a=a, b=b) is is_open


def test_comparison() -> None:
    equals = law("LOGICAL_EQUALS")
    for kind in (UINT8, DataType.UINT32):
        types = {"T": F32, "U": kind}
        assert accepts(equals, 1, types=types, a=2.5, b=2.5)
        assert not accepts(equals, 255, types=types, a=2.5, b=2.5)
        assert not accepts(equals, 0, types=types, a=2.5, b=2.5)
        assert accepts(equals, 1, types=types, a=-0.0, b=0.0)
        assert accepts(equals, 0, types=types, a=NAN, b=NAN)
        assert accepts(equals, 1, types=types, a=NAN, b=NAN)
        assert not accepts(equals, 1, types=types, a=NAN, b=NAN, strict=True)
        assert not accepts(law("LOGICAL_EQUALS", latitude=""), 1, types=types, a=NAN, b=NAN)
    types = {"T": DataType.UINT64, "U": UINT8}
    assert accepts(equals, 0, types=types, a=np.array([2**63 + 1], np.uint64), b=np.array([2**63], np.uint64))


def pattern(kind: DataType, bits: int) -> np.ndarray:
    return np.array([bits], kind.bits_dtype).view(kind.numpy)


def test_bits() -> None:
    bit_and = law("BIT_AND")
    for kind, a, b, right in (
        (F32, 0x7FC00001, 0xFF800003, 0x7F800001),
        (F16, 0x8001, 0xFFFF, 0x8001),
        (INT8, 0xF0, 0x3C, 0x30),
    ):
        inputs = {"a": pattern(kind, a), "b": pattern(kind, b)}
        assert accepts(bit_and, pattern(kind, right), types={"T": kind}, **inputs)
        assert not accepts(bit_and, pattern(kind, right ^ 2), types={"T": kind}, **inputs)
    zeros = {"a": pattern(F32, 0x80000000), "b": pattern(F32, 0x80000000)}
    assert not accepts(bit_and, 0.0, types={"T": F32}, **zeros)  # no closure over zeros: these are patterns


def test_square_root() -> None:
    sqrt, types = law("SQRT"), {"T": F32}
    root = np.float32(np.sqrt(np.float64(2)))  # 0.2 ULP below the real root
    above, below = np.nextafter(root, np.float32(2)), np.nextafter(root, np.float32(0))
    for value, judged, strict in (
        (root, True, True),
        (above, True, False),
        (below, False, False),
        (np.nextafter(above, np.float32(2)), False, False),
    ):
        assert accepts(sqrt, value, types=types, x=2.0) == judged
        assert accepts(sqrt, value, types=types, x=2.0, strict=True) == strict
    assert accepts(sqrt, np.nextafter(np.float32(2), np.float32(3)), types=types, x=4.0)
    assert not accepts(sqrt, np.nextafter(np.float32(2), np.float32(3)), types=types, x=4.0, strict=True)
    assert accepts(sqrt, NAN, types=types, x=-1.0)
    assert not accepts(sqrt, 0.0, types=types, x=-1.0)
    assert accepts(sqrt, INF, types=types, x=INF)
    assert accepts(sqrt, -0.0, types=types, x=-0.0)
    assert accepts(sqrt, 0.0, types=types, x=1e-40)  # the input flushed
    assert not accepts(law("SQRT", latitude="zero-sign"), 0.0, types=types, x=1e-40)


def test_quantization() -> None:
    quantize, types = law("QUANTIZE_LINEAR"), {"T": F32, "U": UINT8}
    for x, scale, zero_point, wanted in (
        (10.0, 2.0, 3, 8),
        (-100.0, 1.0, 3, 0),
        (1e9, 0.5, 3, 255),
        (2.5, 1.0, 0, 2),
        (INF, 1.0, 3, 255),
        (-INF, 1.0, 3, 0),
    ):
        inputs = {"x": x, "scale": scale, "zero_point": zero_point}
        assert accepts(quantize, wanted, types=types, **inputs)
        assert not accepts(quantize, wanted ^ 4, types=types, **inputs)
    without = {"lacking": ("ZeroPointTensor",), "types": types}
    assert accepts(quantize, 5, x=10.0, scale=2.0, **without)
    assert not accepts(quantize, 8, x=10.0, scale=2.0, **without)
    assert accepts(quantize, 3, types=types, x=2.5, scale=1.0, zero_point=0)  # within one ULP of a half: either integer
    assert not accepts(quantize, 4, types=types, x=2.5, scale=1.0, zero_point=0)
    assert accepts(quantize, 77, types=types, x=NAN, scale=1.0, zero_point=0)  # any value, as the latitude says
    documented = law("QUANTIZE_LINEAR", latitude="")
    for output, right in ((77, False), (0, True)):
        assert accepts(documented, output, types=types, x=NAN, scale=1.0, zero_point=0) == right


@pytest.mark.parametrize(
    "kind, x, wanted",
    [
        (INT8, 1000, 127),
        (INT8, -1000, -128),
        (INT8, -3, -3),
        (UINT8, 1000, 255),
        (UINT8, -3, 0),
    ],
)
@pytest.mark.parametrize("data_type", [F32, INT32])
def test_the_limits_of_another_type(data_type: DataType, kind: DataType, x: int, wanted: int) -> None:
    clamp, types = law("CLAMP"), {"T": data_type, "U": kind}
    assert accepts(clamp, wanted, types=types, x=x)
    assert not accepts(clamp, wanted ^ 1, types=types, x=x)


@pytest.mark.parametrize(
    "x, wanted, other",
    [
        (1e6, 65504.0, INF),
        (INF, 65504.0, INF),
        (-1e6, -65504.0, -INF),
        (-INF, -65504.0, 65504.0),
        (3.0, 3.0, 65504.0),
    ],
)
def test_the_limits_of_a_narrower_floating_point_type(x: float, wanted: float, other: float) -> None:
    clamp, types = law("CLAMP", types="{T: [FLOAT32], U: [FLOAT16]}"), {"T": F32, "U": F16}
    assert accepts(clamp, wanted, types=types, x=x)
    assert not accepts(clamp, other, types=types, x=x)


@pytest.mark.parametrize(
    "output, lenient, documented",
    [
        (-128, True, False),
        (127, True, False),
        (0, True, True),
        (5, False, False),
    ],
)
def test_a_minimum_with_a_nan_may_be_the_number_where_a_clause_permits_it(
    output: int, lenient: bool, documented: bool
) -> None:
    types = {"T": F32, "U": INT8}
    assert accepts(law("CLAMP"), output, types=types, x=NAN) is lenient
    assert accepts(law("CLAMP", latitude=""), output, types=types, x=NAN) is documented


def test_a_choice_of_bits() -> None:
    choice, types = law("IF"), {"C": UINT8, "T": F32}
    nans = {"a": pattern(F32, 0x7FC00001), "b": pattern(F32, 0xFF800003)}
    for condition, output, right in (
        (2, 0x7FC00001, True),
        (2, 0xFF800003, False),
        (0, 0xFF800003, True),
        (0, 0x7FC00001, False),
        (255, 0x7FC00002, False),
    ):
        assert accepts(choice, pattern(F32, output), types=types, condition=condition, **nans) == right


def test_division() -> None:
    divide = law("DIVIDE")
    for a, b, output, right in ((-7, 2, -3, True), (-7, 2, -4, False), (7, 0, 99, True), (-128, -1, 5, True)):
        assert accepts(divide, output, types={"T": INT8}, a=a, b=b) == right
    third = np.float32(1) / np.float32(3)
    assert accepts(divide, np.nextafter(third, np.float32(0)), types={"T": F32}, a=1.0, b=3.0)
    assert not accepts(divide, np.nextafter(third, np.float32(0)), types={"T": F32}, a=1.0, b=3.0, strict=True)
    assert accepts(divide, INF, types={"T": F32}, a=1.0, b=0.0)
    assert not accepts(divide, 1.0, types={"T": F32}, a=1.0, b=0.0)
    assert accepts(divide, np.float32(np.finfo(np.float32).max), types={"T": F32}, a=np.finfo(np.float32).max, b=1.0)


def test_casts() -> None:
    cast = law("CAST")
    for data_type, x, target, output, right in (
        (F32, 300.0, INT8, 127, True),
        (F32, 300.0, INT8, 44, False),
        (F32, -1.9, INT8, -1, True),
        (F32, NAN, INT8, 0, True),
        (INT32, 300, INT8, 44, True),
        (INT32, -1, DataType.UINT32, 2**32 - 1, True),
        (F32, 65520.0, F16, INF, True),
        (F32, 65520.0, F16, 65504.0, False),
        (UINT8, 200, F16, 200.0, True),
        (INT32, 2**24 + 1, F32, 2.0**24, True),
        (F32, NAN, F16, NAN, True),
    ):
        assert accepts(cast, output, types={"T": data_type, "U": target}, x=x) == right, (data_type, x, target)
    types, listed = {"T": INT32, "U": INT8}, "{T: [INT32], U: [INT8]}"
    twice = law("CAST", formula="cast(U, cast(T, cast(U, x)) / 2)", types=listed)  # 300 is 44 as an INT8
    assert accepts(twice, 22, types=types, x=300)
    assert not accepts(twice, 150 - 256, types=types, x=300)
    assert accepts(law("CAST", formula="cast(U, 1 / x)", types=listed), 77, types=types, x=0)  # 1 / 0 is any value
    opened = law("CAST", latitude="integer-cast-range")
    assert accepts(opened, 44, types={"T": F32, "U": INT8}, x=300.0)
    assert not accepts(opened, 44, types={"T": F32, "U": INT8}, x=100.0)


def patterns(data_type: DataType, count: int, seed: int) -> np.ndarray:
    """Seeded patterns and small numbers, with special values where the type has them."""
    generator = np.random.Generator(np.random.PCG64(seed))
    top = (1 << 8 * data_type.itemsize) - 1
    every = generator.integers(0, top, count, np.uint64, endpoint=True)
    arrays = [every.astype(data_type.bits_dtype).view(data_type.numpy)]
    arrays.append(generator.integers(0, 100, count).astype(data_type.numpy))
    if data_type.is_floating:
        arrays.append(generator.normal(0, 40, count).astype(data_type.numpy))
        arrays.append(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 0.5], data_type.numpy))
    mixed = np.concatenate(arrays)
    generator.shuffle(mixed)
    return mixed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_the_oracles_agree(name: str, strict: bool) -> None:
    """On every signature: the same sets, and the same verdict on the patterns around their ends."""
    operator_law = law(name)
    for signature in signatures(operator_law.table):
        types = dict(signature.types)
        lacking = tuple(
            member
            for member, row in operator_law.table.tensors.items()
            if row.optional and member not in signature.present
        )
        operator = of_single_elements(operator_law, lacking, **types)
        assert Signature.of(operator, operator_law.table) == signature
        exact, vectorised = oracles(operator_law, operator, strict=strict)
        inputs = {
            label: patterns(types[operator_law.table.tensors[member].type], 40, seed)
            for seed, (label, member) in enumerate(operator_law.table.formula_names.items())
            if member not in lacking
        }
        size = min(array.size for array in inputs.values())
        inputs = {label: array[:size] for label, array in inputs.items()}
        acceptance = vectorised.acceptance(inputs)
        kind = acceptance.data_type
        rows = zip(*(bits_of(array) for array in inputs.values()), strict=True)
        answers = [exact.acceptable(dict(zip(inputs, row, strict=True))) for row in rows]
        acceptables = list(acceptance.elements())
        assert acceptance.element(size - 1) == acceptables[-1]
        for shift in range(-3, 4):
            tried = np.array([around(answer, shift, kind) for answer in answers], kind.bits_dtype).view(kind.numpy)
            verdicts = acceptance.admits(tried)
            for index, (answer, bits) in enumerate(zip(answers, bits_of(tried), strict=True)):
                at = {label: array[index] for label, array in inputs.items()}
                assert bool(verdicts[index]) == answer.admits(bits, kind), (str(signature), at, hex(bits), answer)
                assert acceptables[index].admits(bits, kind) == answer.admits(bits, kind), (
                    at,
                    acceptables[index],
                    answer,
                )


def around(answer: Acceptable, shift: int, kind: DataType) -> int:
    """A pattern near the first one of an answer, or near the end of its interval."""
    known = sorted(answer.patterns) or [0]
    ends = [end for span in sorted(answer.intervals) for end in span] or known
    start = (ends if shift % 2 else known)[shift % len(ends if shift % 2 else known)]
    return (start + shift) % (1 << 8 * kind.itemsize)


def test_one_input_of_one_type_is_as_the_other_oracle_states() -> None:
    tables = load_tables()
    round_law = tables.law(tables.operator("ROUND"))
    tensor = TensorDesc(F16, (1,))
    operator = OperatorDesc(
        "ELEMENT_WISE_ROUND",
        {"InputTensor": tensor, "OutputTensor": tensor},
        {"RoundingMode": "HALVES_TO_NEAREST_EVEN"},
    )
    exact_oracle, other = ExactOracle(round_law, operator), TypedOracle(round_law, operator)
    every = np.arange(0, 1 << 16, 97, dtype=np.uint16)
    acceptables = list(TypedVectorOracle(round_law, operator).acceptance({"x": every.view(np.float16)}).elements())
    for bits, answer in zip(every.tolist(), acceptables, strict=True):
        assert other.acceptable({"x": bits}) == answer == exact_oracle.acceptable(bits)


def test_an_element_that_is_not_given_is_missed() -> None:
    add = law("ADD")
    operator = of_single_elements(add, T=F32)
    with pytest.raises(UsageError, match="no element of BTensor is given"):
        TypedOracle(add, operator).acceptable({"a": 0})
    with pytest.raises(UsageError, match="no elements of BTensor are given"):
        TypedVectorOracle(add, operator).acceptance({"a": np.zeros(1, np.float32)})


def test_approximate_results_have_oracles_of_their_own() -> None:
    operator_law = law("DIVIDE")
    for oracle in (TypedOracle, TypedVectorOracle):
        with pytest.raises(UsageError, match="OWN_DIVIDE is approximate on FLOAT32"):
            oracle(operator_law, of_single_elements(operator_law, T=F32))
        oracle(operator_law, of_single_elements(operator_law, T=INT8))


def test_what_float64_cannot_stand_for_is_refused() -> None:
    operator_law = law("CAST", types="{T: [INT64, FLOAT64], U: [FLOAT32]}")
    operator = of_single_elements(operator_law, T=DataType.INT64, U=F32)
    with pytest.raises(UsageError, match="INT64 meets another type"):
        TypedVectorOracle(operator_law, operator).acceptance({"x": np.zeros(1, np.int64)})
    with pytest.raises(UsageError, match="FLOAT64 meets another type"):
        TypedVectorOracle(operator_law, of_single_elements(operator_law, T=DataType.FLOAT64, U=F32)).acceptance(
            {"x": np.zeros(1)}
        )


def test_a_signature_is_read_from_a_description() -> None:
    operator_law = law("QUANTIZE_LINEAR")
    all_signatures = signatures(operator_law.table)
    assert len(all_signatures) == 8
    assert str(all_signatures[0]) == "FLOAT32 to UINT8, with ZeroPointTensor"
    assert all_signatures[0].data_type is F32
    assert all_signatures[0]["U"] is UINT8
