"""The two references of real results agree, and FLOAT64's stated error holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, FormulaError, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.accuracy.array_reference import ArrayReference, units_in
from dmlcts.specs.accuracy.bounds import reach
from dmlcts.specs.accuracy.exact_reference import ExactReference
from dmlcts.specs.accuracy.measurable import is_measured
from dmlcts.specs.accuracy.places import BUCKETS, buckets_of, described, following
from dmlcts.specs.functions.in_arrays import REAL_FUNCTIONS
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.law import Law
from dmlcts.suites.selftest.signatures.five_tables import text_of, write_tables

INTERESTING = {
    DataType.FLOAT32: [
        0,
        1 << 31,
        1,
        0x7F_FFFF,
        0x80_0000,
        0x3F80_0000,
        0x3F7F_FFFF,
        0x3F80_0001,
        0x4049_0FDB,
        0xC049_0FDB,
        0x7F7F_FFFF,
        0xFF7F_FFFF,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0x4B80_0000,
    ],
    DataType.FLOAT16: [
        0,
        1 << 15,
        1,
        0x3FF,
        0x400,
        0x3C00,
        0x3BFF,
        0x3C01,
        0x4248,
        0xC248,
        0x7BFF,
        0xFBFF,
        0x7C00,
        0xFC00,
        0x7E00,
        0x6400,
    ],
}
INTEGERS = {DataType.UINT8: [0, 1, 127, 128, 255], DataType.INT8: [0, 1, 127, 128, 255]}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return load_tables(write_tables(tmp_path_factory.mktemp("tables")))


def described_as(tables: Tables, name: str, **types: DataType) -> OperatorDesc:
    table = tables.operator(name)
    tensors = {member: TensorDesc(types[row.type], (1,)) for member, row in table.tensors.items()}
    return OperatorDesc(table.operator, tensors, {})


def drawn(operator: OperatorDesc, count: int) -> dict[str, np.ndarray[Any, Any]]:
    """Edge values of every input crossed where there are two, then drawn patterns."""
    random = np.random.default_rng(7)
    kinds = [tensor.data_type for tensor in operator.inputs.values()]
    edges = [np.array({**INTERESTING, **INTEGERS}[kind], kind.bits_dtype) for kind in kinds]
    grid = [axis.reshape(-1) for axis in np.meshgrid(*edges)]
    inputs = {}
    for name, kind, few in zip(operator.inputs, kinds, grid, strict=True):
        more = random.integers(0, 1 << 8 * kind.itemsize, count, dtype=np.uint64).astype(kind.bits_dtype)
        inputs[name] = np.concatenate([few, more]).view(kind.numpy)
    return inputs


CASES = [
    ("OWN_ADD", {"T": DataType.FLOAT32}),
    ("OWN_ADD", {"T": DataType.FLOAT16}),
    ("SUBTRACT", {"T": DataType.FLOAT32}),
    ("MULTIPLY", {"T": DataType.FLOAT32}),
    ("DIVIDE", {"T": DataType.FLOAT32}),
    ("DIVIDE", {"T": DataType.FLOAT16}),
    ("MEAN", {"T": DataType.FLOAT32}),
    ("DIFFERENCE_SQUARE", {"T": DataType.FLOAT32}),
    ("MODULUS_FLOOR", {"T": DataType.FLOAT16}),
    ("MODULUS_TRUNCATE", {"T": DataType.FLOAT32}),
    ("OWN_SQRT", {"T": DataType.FLOAT32}),
    ("OWN_SQRT", {"T": DataType.FLOAT16}),
    ("OWN_QUANTIZE_LINEAR", {"T": DataType.FLOAT16, "U": DataType.INT8}),
    ("OWN_QUANTIZE_LINEAR", {"T": DataType.FLOAT32, "U": DataType.UINT8}),
]


@pytest.mark.parametrize(
    ("name", "types"), CASES, ids=[f"{name}-{'-'.join(t.name for t in types.values())}" for name, types in CASES]
)
def test_float64_is_within_its_stated_error_of_the_exact_result(
    name: str, types: dict[str, DataType], tables: Tables
) -> None:
    operator = described_as(tables, name, **types)
    law = tables.law(tables.operator(name))
    assert is_measured(law, operator)
    inputs = drawn(operator, 300)
    value, _ = ArrayReference(law, operator).result(inputs)
    assert compared(law, operator, inputs) > value.size // 4


def compared(law: Law, operator: OperatorDesc, inputs: Mapping[str, np.ndarray[Any, Any]]) -> int:
    """See that the exact results lie within FLOAT64's errors; how many there are."""
    exact = ExactReference(law, operator)
    value, error = ArrayReference(law, operator).result(inputs)
    assert not np.isnan(error[np.isfinite(value)]).any()
    patterns = {member: array.view(f"u{array.itemsize}").tolist() for member, array in inputs.items()}
    finite = 0
    for index in range(value.size):
        real = exact.result({member: bits[index] for member, bits in patterns.items()})
        if real is None:
            assert math.isnan(value[index])
        elif real.low.infinite:
            assert value[index] == real.low.value
        else:
            finite += 1
            if np.isinf(error[index]):
                continue
            for end in real:
                assert abs(Fraction(float(value[index])) - end.fraction) <= Fraction(float(error[index])), index
    return finite


def own(folder: Path, formula: str, name: str = "OWN_SQRT", **types: DataType) -> tuple[Law, OperatorDesc]:
    """A table of one's own of a formula."""
    folder.mkdir(exist_ok=True)
    text = text_of(name)
    (stated,) = [line for line in text.splitlines() if line.startswith("formula:")]
    start, end = text.index("accuracy:"), text.index("clauses:")
    text = (text[:start] + text[end:]).replace(stated, f"formula: {formula}")
    (folder / "own.yaml").write_text(text, encoding="utf-8")
    tables = load_tables(folder)
    operator = described_as(tables, name, **(types or {"T": DataType.FLOAT32}))
    return tables.law(tables.operator(name)), operator


def single(*numbers: float) -> dict[str, np.ndarray[Any, Any]]:
    return {"InputTensor": np.array(numbers, np.float32)}


FEW = np.concatenate([np.linspace(-5, 5, 41), [-200, -90, 0.001, 30, 80, np.nan, np.inf, -np.inf]])


@pytest.mark.parametrize(
    ("formula", "largest"),
    [
        ("floor(exp(x))", 1e-9),
        ("log(1 + exp(x))", 1e-12),
        ("sqrt(exp(x) * 3)", 1e-12),
        ("sqrt(exp(x)) - 0.5", 1e-12),
        ("1 / (1 + exp(-x))", 1e-12),
        ("trunc(-(exp(x)) / 3)", 1e-9),
        ("exp(x) * exp(-x)", 1e-12),
        ("-(exp(x)) - x", 1e-12),
        ("sqrt(0 if is_nan(x) else abs(x))", 1e-12),
        ("sqrt(x) if x > 0 else x - 1", 1e-12),
        ("sqrt(x) if x != x else 2", 0),
        ("exp(x) if exp(x) > 2 else 2", 1e-12),
        ("pow(x, 0)", 1e-12),
        ("pow(1, x)", 1e-12),
    ],
)
def test_what_errors_grow_to_bounds_the_exact_result(formula: str, largest: float, tmp_path: Path) -> None:
    law, operator = own(tmp_path, formula)
    inputs = single(*FEW)
    assert compared(law, operator, inputs) >= 20
    value, error = ArrayReference(law, operator).result(inputs)
    ordinary = (np.abs(inputs["InputTensor"]) < 4.9) & (inputs["InputTensor"] != 0) & np.isfinite(value)
    assert (error[ordinary] <= largest * np.maximum(np.abs(value[ordinary]), 1)).all(), "and no wider than need be"


@pytest.mark.parametrize(("formula", "widest"), [("floor(exp(x))", 1), ("ceil(exp(x))", 1), ("floor(exp(x) + 0.5)", 0)])
def test_an_error_is_as_wide_as_a_step_that_it_reaches(formula: str, widest: float, tmp_path: Path) -> None:
    """FLOAT64 does not know that the exponential of 0 is not next to 1."""
    law, operator = own(tmp_path, formula)
    assert ArrayReference(law, operator).result(single(0)).error == widest


def test_each_element_has_an_error_of_its_own(tmp_path: Path) -> None:
    """0 + 0.1 is exact, and 2^53 + 0.1 is not."""
    law, operator = own(tmp_path, "floor(x + 0.1)")
    reference = ArrayReference(law, operator)
    assert reference.result(single(0)).error == 0
    assert reference.result(single(0, 2.0**53)).error.tolist() == [0, 2]


@pytest.mark.parametrize("formula", ["sin(exp(x))", "pow(exp(x), 1.5)", "pow(1.5, exp(x))"])
def test_of_what_may_fall_nothing_is_known_between_bounds(formula: str, tmp_path: Path) -> None:
    law, operator = own(tmp_path, formula)
    inputs = single(0, 1, 2)
    assert np.isinf(ArrayReference(law, operator).result(inputs).error).all()
    with pytest.raises(FormulaError, match="of an enclosure is not known"):
        ExactReference(law, operator).result({"InputTensor": 0x3F80_0000})
    assert ExactReference(law, operator).result({"InputTensor": 0}) is not None, "the power is known there: 1"


@pytest.mark.parametrize("formula", ["sqrt(1 - erf(x))", "x * sqrt(1 - erf(x))", "x * pow(exp(x), 1.5)"])
def test_a_bound_that_is_no_number_is_an_infinite_one(formula: str, tmp_path: Path) -> None:
    """erf(8) is 1 to FLOAT64, the rest 1e-29: whether it is below 0 is not known there, and so its root is not."""
    law, operator = own(tmp_path, formula)
    value, error = ArrayReference(law, operator).result(single(8))
    assert not np.isnan(value)
    assert np.isinf(error)


def test_a_comparison_that_enclosures_do_not_decide_is_refused(tmp_path: Path) -> None:
    law, operator = own(tmp_path, "1 if log(exp(x)) > x else sqrt(x)")
    exact = ExactReference(law, operator)
    with pytest.raises(FormulaError, match="is not decided"):
        exact.result({"InputTensor": 0x3F80_0000})
    assert exact.result({"InputTensor": 0}) is not None, "exp(0) is exactly 1"


@pytest.mark.parametrize("absent", [0, 3])
def test_what_is_absent_counts_as_the_table_states(absent: int, tmp_path: Path) -> None:
    text = text_of("OWN_QUANTIZE_LINEAR").replace("absent: 0", f"absent: {absent}")
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    tables = load_tables(tmp_path)
    operator = described_as(tables, "OWN_QUANTIZE_LINEAR", T=DataType.FLOAT32, U=DataType.UINT8)
    without = {name: tensor for name, tensor in operator.tensors.items() if name != "ZeroPointTensor"}
    operator = OperatorDesc(operator.name, without, {})
    law = tables.law(tables.operator("OWN_QUANTIZE_LINEAR"))
    inputs = {"InputTensor": np.array([10], np.float32), "ScaleTensor": np.array([2], np.float32)}
    assert compared(law, operator, inputs) == 1
    assert ArrayReference(law, operator).result(inputs).value == 5 + absent


def test_an_attribute_counts_as_a_number_of_the_type() -> None:
    tables = load_tables()
    tensor = TensorDesc(DataType.FLOAT16, (1,))
    operator = OperatorDesc(
        "ELEMENT_WISE_CONSTANT_POW",
        {"InputTensor": tensor, "OutputTensor": tensor},
        {"ScaleBias": None, "Exponent": np.float32(0.1)},
    )
    law, inputs = tables.law(tables.operator("CONSTANT_POW")), {"InputTensor": np.array([0.5, 2, 10], np.float16)}
    assert compared(law, operator, inputs) == 3
    assert ArrayReference(law, operator).result(inputs).value[1] == 2.0 ** float(np.float16(0.1))


@pytest.mark.parametrize("scale", [0.25, 0.1, 0.0, -0.0, np.inf, np.nan])
def test_an_input_alike_in_all_elements_counts_as_if_each_were_alone(scale: float, tables: Tables) -> None:
    """It is evaluated once; a zero of the other sign among them keeps it from that."""
    operator = described_as(tables, "OWN_QUANTIZE_LINEAR", T=DataType.FLOAT32, U=DataType.UINT8)
    reference = ArrayReference(tables.law(tables.operator("OWN_QUANTIZE_LINEAR")), operator)
    inputs = {
        "InputTensor": np.array([0, -1, 0.3, 1e30, np.inf, np.nan], np.float32),
        "ScaleTensor": np.full(6, scale, np.float32),
        "ZeroPointTensor": np.full(6, 3, np.uint8),
    }
    assert set(inputs) == set(operator.inputs)
    for last in (scale, -scale):
        inputs["ScaleTensor"][-1] = last
        together = np.array(reference.result(inputs))
        alone = [reference.result({name: array[[place]] for name, array in inputs.items()}) for place in range(6)]
        assert np.array_equal(together, np.concatenate(alone, axis=1), equal_nan=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", [name for name, _, _ in REAL_FUNCTIONS])
@pytest.mark.parametrize("kind", [DataType.FLOAT16, DataType.FLOAT32], ids=lambda kind: kind.name)
def test_real_functions_in_float64_are_within_their_stated_error(function: str, kind: DataType, tmp_path: Path) -> None:
    table = text_of("OWN_SQRT").replace("sqrt(x)", f"{function}(x)").replace("function: sqrt", f"function: {function}")
    (tmp_path / "own.yaml").write_text(table, encoding="utf-8")
    tables = load_tables(tmp_path)
    operator = described_as(tables, "OWN_SQRT", T=kind)
    law = tables.law(tables.operator("OWN_SQRT"))
    assert is_measured(law, operator)
    inputs = drawn(operator, 150)
    near = np.linspace(-1.5, 1.5, 60).astype(kind.numpy)
    x = np.concatenate([inputs["InputTensor"], near])
    exact = ExactReference(law, operator)
    value, error = ArrayReference(law, operator).result({"InputTensor": x})
    units = units_in(kind, value)
    finite = 0
    for index, bits in enumerate(x.view(kind.bits_dtype).tolist()):
        real = exact.result({"InputTensor": bits})
        if real is None or not np.isfinite(value[index]) or real.low.infinite:
            continue
        finite += 1
        for end in real:
            assert abs(Fraction(float(value[index])) - end.fraction) <= Fraction(float(error[index])), float(x[index])
        if abs(value[index]) >= np.finfo(kind.numpy).smallest_normal:
            assert error[index] * units[index] < 2.0**-20, "to a millionth of a unit"
    assert finite > 40


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("OWN_ADD", {"T": DataType.INT32}),
        ("OWN_LOGICAL_EQUALS", {"T": DataType.FLOAT32, "U": DataType.UINT8}),
        ("OWN_BIT_AND", {"T": DataType.FLOAT32}),
        ("MAX", {"T": DataType.FLOAT32}),
        ("ABS", {"T": DataType.FLOAT16}),
        ("IF", {"T": DataType.FLOAT32, "C": DataType.UINT8}),
        ("NEGATE", {"T": DataType.FLOAT32}),
    ],
)
def test_what_is_exact_is_not_measured(name: str, types: dict[str, DataType], tables: Tables) -> None:
    table = tables.operator(name)
    variables = dict(zip(table.type_variables, types.values(), strict=False))
    tensors = {
        member: TensorDesc(variables.get(row.type, DataType.UINT8), (1,)) for member, row in table.tensors.items()
    }
    attributes = {item.name: None for item in table.attributes}
    assert not is_measured(tables.law(table), OperatorDesc(table.operator, tensors, attributes))


def measured(law: Law, operator: OperatorDesc, **attributes: Any) -> object:
    return is_measured(law, OperatorDesc(operator.name, operator.tensors, {**operator.attributes, **attributes}))


def test_what_the_references_do_not_know_is_not_measured(tmp_path: Path) -> None:
    law, operator = own(tmp_path, "sqrt(x)")
    assert measured(law, operator) is True
    for formula in ("sqrt(x) if is_infinite(x) else x", "sqrt(x) if is_negative(x) else x"):
        assert measured(*own(tmp_path, formula)) is False
    wide = OperatorDesc(operator.name, {**operator.tensors, "InputTensor": TensorDesc(DataType.FLOAT64, (1,))}, {})
    assert is_measured(law, wide) is False, "FLOAT64 is no reference for itself"
    mixed = {"T": DataType.FLOAT32, "U": DataType.UINT8}
    assert measured(*own(tmp_path, "cast(U, x / scale + zero_point)", "OWN_QUANTIZE_LINEAR", **mixed)) is True
    whole = dict.fromkeys(operator.tensors, TensorDesc(DataType.INT32, (1,)))
    assert is_measured(law, OperatorDesc(operator.name, whole, {})) is False, "integers are exact"


def test_what_is_scaled_or_activated_besides_is_not_measured() -> None:
    tables = load_tables()
    law = tables.law(tables.operator("CONSTANT_POW"))
    tensors = dict.fromkeys(law.table.tensors, TensorDesc(DataType.FLOAT32, (1,)))
    operator = OperatorDesc(law.table.operator, tensors, {"ScaleBias": None, "Exponent": np.float32(2.5)})
    assert measured(law, operator) is True
    assert measured(law, operator, ScaleBias=ScaleBias(np.float32(2), np.float32(1))) is False
    number = law.table.attributes[-1].model_copy(update={"type": "DML_SCALAR_UNION"})
    table = law.table.model_copy(update={"attributes": [*law.table.attributes[:-1], number]})
    assert is_measured(replace(law, table=table), operator) is False, "a number that the references do not read"


def test_errors_are_stated_in_units_of_the_last_place_at_the_real_result(tables: Tables) -> None:
    operator = described_as(tables, "OWN_SQRT", T=DataType.FLOAT32)
    exact = ExactReference(tables.law(tables.operator("OWN_SQRT")), operator)
    four, two = {"InputTensor": 0x4080_0000}, 0x4000_0000
    assert exact.error(four, two) == (0, 0)
    assert exact.error(four, two + 3) == (3, Fraction(3, 1 << 22)), "above 2 the spacing is 2^-22"
    assert exact.error(four, two - 3) == (Fraction(3, 2), Fraction(3, 1 << 23)), "below 2 it is half as much"
    assert exact.error({"InputTensor": 0xBF80_0000}, two) is None, "the root of -1"
    assert exact.error(four, 0x7F80_0000) is None, "infinity has no distance"


def reached(tables: Tables, name: str, *patterns: int, strict: bool) -> float:
    operator = described_as(tables, name, T=DataType.FLOAT32)
    inputs = {
        member: np.array([bits], np.uint32).view(np.float32)
        for member, bits in zip(operator.inputs, patterns, strict=True)
    }
    (bound,) = reach(tables.law(tables.operator(name)), operator, inputs, strict=strict)
    return float(bound)


def test_bounds_reach_to_the_farthest_acceptable_number_of_near_elements(tables: Tables) -> None:
    pi = 0x4049_0FDB
    assert 0.9 < reached(tables, "OWN_SQRT", pi, strict=False) <= 1, "the table says 1 ULP"
    assert 0.4 < reached(tables, "OWN_SQRT", pi, strict=True) <= 0.5
    assert np.isnan(reached(tables, "OWN_SQRT", 0xC049_0FDB, strict=False)), "the root of -pi is no number"
    assert reached(tables, "OWN_ADD", 0x3F80_0000, 0x3300_0000, strict=False) == 0.5, "rounded once, ties among them"


def test_what_may_be_any_value_has_no_bound(tmp_path: Path) -> None:
    unity = 0x3F80_0000
    (tmp_path / "right").mkdir()
    assert reached(load_tables(write_tables(tmp_path / "right")), "OWN_ADD", unity, unity, strict=False) == 0.5, (
        "the control"
    )
    written = write_tables(tmp_path)
    path = written / "own_add.yaml"
    text = path.read_text(encoding="utf-8").replace("latitude: [zero-sign, subnormals]", "latitude: [any-value]")
    path.write_text(text, encoding="utf-8")
    assert np.isnan(reached(load_tables(written), "OWN_ADD", unity, unity, strict=False))


def test_buckets_are_in_the_order_of_the_numbers() -> None:
    values = np.array(
        [
            -np.inf,
            -1e38,
            -300,
            -2,
            -1.5,
            -1,
            -1e-30,
            -1e-45,
            -0.0,
            0.0,
            1e-45,
            0.5,
            1,
            1.99,
            2,
            256,
            511,
            65536,
            1e38,
            np.inf,
        ],
        np.float64,
    )
    buckets = buckets_of(values)
    assert (np.diff(buckets) >= 0).all()
    assert buckets.min() >= 0
    assert buckets.max() < BUCKETS
    assert described(int(buckets_of(np.array([1.99]))[0])) == (1, 0)
    assert described(int(buckets_of(np.array([-3.0]))[0])) == (-1, 1)
    assert described(int(buckets_of(np.array([-0.0]))[0])) == (-1, None)
    for number in range(BUCKETS):
        sign, exponent = described(number)
        least = 0.0 if exponent is None else 2.0**exponent
        after = following(exponent)
        inside = [least, *([] if after is None else [np.nextafter(2.0**after, 0)])]
        assert {int(buckets_of(np.array([np.copysign(magnitude, sign)]))[0]) for magnitude in inside} == {number}


def test_a_signalling_nan_has_the_place_of_a_nan() -> None:
    nans = np.array([0x7FA0_0000, 0x7FC0_0000], np.uint32).view(np.float32)
    assert len(set(buckets_of(nans).tolist())) == 1
