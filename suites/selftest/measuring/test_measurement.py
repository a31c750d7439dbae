"""What is measured: planted inaccuracies under their operands, controls within half a unit, in any order."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.reports.documents import accuracy
from dmlcts.reports.documents.accuracy import rounded
from dmlcts.reports.documents.records import ItemRecord, RecordError
from dmlcts.specs import DataType, DmlctsError, OperatorDesc, TensorDesc
from dmlcts.specs.accuracy.places import buckets_of, described
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables import Tables
from dmlcts.suites.measuring.dispatches import Measurements
from dmlcts.suites.selftest.measuring.inexact import OPERANDS, UNITS
from dmlcts.suites.selftest.measuring.test_references import own
from dmlcts.suites.selftest.signatures.five_operators import FOLDER
from dmlcts.suites.selftest.signatures.five_tables import write_tables

MODULE = "dmlcts.suites.selftest.measuring.inexact"
Row = dict[str, Any]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return load_tables(write_tables(tmp_path_factory.mktemp("tables")))


def sqrt(kind: DataType) -> OperatorDesc:
    return OperatorDesc(
        "ELEMENT_WISE_OWN_SQRT", {"InputTensor": TensorDesc(kind, (1,)), "OutputTensor": TensorDesc(kind, (1,))}, {}
    )


def every_float16() -> np.ndarray[Any, Any]:
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def roots(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        return np.asarray(np.sqrt(x.astype(np.float64)).astype(x.dtype))


def record_of(tables: Tables, *dispatches: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> ItemRecord:
    measurements = Measurements(tables, strict=False)
    for x, output in dispatches:
        measurements.note(sqrt(DataType.FLOAT16), {"InputTensor": x}, output)
    return ItemRecord("a test", "pass", 1.0, accuracy=measurements.records())


def row_of(tables: Tables, *records: ItemRecord) -> Row:
    (row,) = accuracy.rows(records, tables)
    return row


def test_what_is_correctly_rounded_is_half_a_unit_off_at_most(tables: Tables) -> None:
    x = every_float16()
    row = row_of(tables, record_of(tables, (x, roots(x))))
    assert 0.49 < row["ulp"]["error"] <= 0.5
    assert len(row["bins"]) == 2, "exact, and up to one half"
    assert row["elements"] == sum(row["bins"]) == sum(bucket[2] for bucket in row["range"])
    assert row["elements"] + sum(row["apart"].values()) == x.size
    assert all(error <= strict <= 0.5 < judged <= 1 for *_, error, judged, strict in row["range"] if error)


def test_what_the_references_do_not_follow_is_unsure(tmp_path: Path) -> None:
    """A sine of an exponential: of a function that falls nothing is known between bounds, and exp(1) has such."""
    _, operator = own(tmp_path, "sin(exp(x))")
    measurements = Measurements(load_tables(tmp_path), strict=False)
    measurements.note(operator, {"InputTensor": np.array([0, 1, 2], np.float32)}, np.zeros(3, np.float32))
    row = row_of(load_tables(tmp_path), ItemRecord("a test", "pass", 1.0, accuracy=measurements.records()))
    assert row["apart"]["unsure"] == 3


@pytest.mark.parametrize("units", [1, 2, 3, 1000])
@pytest.mark.parametrize("operand", [0x4248, 0x0001, 0x7BFF, 0x3C01])
def test_a_planted_error_is_measured_exactly_under_its_operand(units: int, operand: int, tables: Tables) -> None:
    x = every_float16()
    output = roots(x)
    bits = output.view(np.uint16)
    wrong = int(bits[operand]) - units
    bits[operand] = wrong
    row = row_of(tables, record_of(tables, (x, output)))
    assert row["ulp"]["inputs"] == {"InputTensor": f"0x{operand:04x}"}
    assert row["ulp"]["got"] == f"0x{wrong:04x}"
    root = Fraction(*np.sqrt(np.longdouble(x[operand])).as_integer_ratio())  # to 2^-64 of it
    unit = Fraction(2) ** int(np.floor(np.log2(float(root)))) / 1024
    distance = abs(Fraction(float(np.array(wrong, np.uint16).view(np.float16))) - root)
    assert row["ulp"]["error"] == rounded(distance / unit)
    wide = [bucket for bucket in row["range"] if bucket[3] == rounded(distance / unit, 3)]
    assert any(bucket[:2] == list(described(int(buckets_of(x[operand : operand + 1])[0]))) for bucket in wide)


def test_the_order_and_the_number_of_records_change_nothing(tables: Tables) -> None:
    x = every_float16()
    output = roots(x)
    output.view(np.uint16)[[0x4248, 0x4249]] += 4
    pieces = [(x[start : start + 4096], output[start : start + 4096]) for start in range(0, x.size, 4096)]
    whole = row_of(tables, record_of(tables, *pieces))
    for seed in range(4):
        shuffled = [pieces[place] for place in np.random.default_rng(seed).permutation(len(pieces))]
        apart = [record_of(tables, piece) for piece in shuffled]
        assert row_of(tables, *apart) == whole
        assert row_of(tables, record_of(tables, *shuffled)) == whole


def test_equally_wrong_operands_are_distinguished_by_their_bits(tables: Tables) -> None:
    x = np.array([16.0, 4.0, 1.0], np.float16)
    output = np.array([4.0, 2.0, 1.0], np.float16)
    output.view(np.uint16)[:] += 2
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        row = row_of(tables, *(record_of(tables, (x[[place]], output[[place]])) for place in order))
        assert row["ulp"] == {"error": 2.0, "inputs": {"InputTensor": "0x3c00"}, "got": "0x3c02"}
        assert row["absolute"]["inputs"] == {"InputTensor": "0x4c00"}


def test_what_has_no_error_is_counted_by_why(tables: Tables) -> None:
    measurements = Measurements(tables, strict=False)
    smallest = float(np.finfo(np.float32).smallest_normal)
    x = np.array([-1, np.nan, np.inf, smallest / 2, 4, 9], np.float32)
    measurements.note(sqrt(DataType.FLOAT32), {"InputTensor": x}, np.array([0, 0, 0, 0, np.nan, 3], np.float32))
    (seen,) = measurements.records()
    assert seen.apart == {"special": 3, "subnormal": 1, "lost": 1}
    assert seen.elements == 1
    strict = Measurements(tables, strict=True)
    strict.note(sqrt(DataType.FLOAT32), {"InputTensor": x[3:4]}, np.zeros(1, np.float32))
    (seen,) = strict.records()
    assert seen.ulp["error"] > 1e6, "what --strict keeps counts"


def test_stated_digits_are_right() -> None:
    assert rounded(Fraction(1, 3)) == 0.333333
    assert rounded(Fraction(2, 3)) == 0.666667
    assert rounded(Fraction(123456789)) == 123457000
    assert rounded(Fraction(1, 10**30)) == 1e-30
    assert rounded(Fraction(999999999)) == 1e9
    assert rounded(Fraction(0)) == 0


def test_records_travel_as_json_and_malformed_ones_are_refused(tables: Tables) -> None:
    x = every_float16()
    record = record_of(tables, (x, roots(x)))
    written = json.loads(json.dumps(record.to_json()))
    assert ItemRecord.from_json(written) == record
    for path, value in (
        (("ulp", "error"), -1),
        (("ulp", "inputs"), [1, 2]),
        (("tensors", "InputTensor"), "FLOAT17"),
        (("apart", "special"), "many"),
        (("absolute", "got"), None),
    ):
        broken = json.loads(json.dumps(written))
        broken["accuracy"][0][path[0]][path[1]] = value
        with pytest.raises(RecordError):
            ItemRecord.from_json(broken)
    earlier = {name: member for name, member in written.items() if name != "accuracy"}
    assert ItemRecord.from_json(earlier).accuracy == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("operator",), "ELEMENT_WISE_MAX"),
        (("operator",), "ELEMENT_WISE_OWN_ADD"),
        (("operator",), "NO_SUCH"),
        (("ulp", "inputs"), [1 << 16]),
        (("ulp", "got"), 1 << 20),
        (("ulp", "inputs"), [0x8001]),
        (("ulp", "attributes"), {"Exponent": "two"}),
        (("buckets", 0, "bucket"), 999),
        (("bins",), [1] * 500),
        (("tensors",), {"InputTensor": "FLOAT16", "Other": "FLOAT16"}),
        (("tensors", "InputTensor"), "UINT8"),
    ],
)
def test_a_strangers_records_are_refused_with_a_sentence(path: tuple[Any, ...], value: Any, tables: Tables) -> None:
    x = np.array([4.0, 9.0, 2.0], np.float16)
    written = json.loads(json.dumps(record_of(tables, (x, roots(x))).to_json()))
    member = written["accuracy"][0]
    for name in path[:-1]:
        member = member[name]
    member[path[-1]] = value
    try:
        rows = accuracy.rows([ItemRecord.from_json(written)], tables)
    except DmlctsError:
        return
    assert path == ("ulp", "attributes"), rows  # attributes that the operator does not have are passed over


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = write_tables(tmp_path / "tables")
    monkeypatch.setenv(FOLDER, str(made))
    return made


def run(dmlcts: Callable[..., Any], folder: Path, backend: str, *more: str) -> Any:
    return dmlcts(
        "run",
        "--backend",
        backend,
        "--isolation",
        "none",
        "--tables",
        str(folder),
        "--operator",
        "OWN_SQRT",
        "--clause",
        "own-sqrt.formula",
        "--results",
        "results",
        *more,
    )


@pytest.mark.size("thorough")
def test_a_run_states_what_was_planted_whatever_the_processes(folder: Path, dmlcts: Callable[..., Any]) -> None:
    backend = f"{MODULE}:SqrtIsFiveUnitsOffAtOneOperand"
    done = run(dmlcts, folder, backend, "--data-type", "FLOAT16")
    assert done.code == 1, done.out[-2000:] + done.err
    (row,) = done.results["accuracy"]
    assert row["ulp"]["inputs"] == {"InputTensor": f"0x{OPERANDS['FLOAT16']:04x}"}
    assert UNITS - 0.5 <= row["ulp"]["error"] <= UNITS + 0.5
    assert row["elements"] >= 31_000, "every FLOAT16 input that has a root, in every run"
    two = run(dmlcts, folder, backend, "--data-type", "FLOAT16", "-n", "2")
    assert two.results["accuracy"] == done.results["accuracy"]


def test_a_right_run_shows_half_a_unit_at_most(folder: Path, dmlcts: Callable[..., Any]) -> None:
    accuracy_rows = run(dmlcts, folder, "dmlcts.suites.selftest.signatures.five_operators:Right").results["accuracy"]
    assert [row["data_type"] for row in accuracy_rows] == ["FLOAT16", "FLOAT32"]
    assert all(0.49 < row["ulp"]["error"] <= 0.5 for row in accuracy_rows)
    assert all(len(json.dumps(row)) < 2000 for row in accuracy_rows)


# -- dispatches that wait for each other ---------------------------------------------------------------------------


def sines(seed: int) -> list[tuple[OperatorDesc, dict[str, Any], np.ndarray[Any, Any]]]:
    """Small dispatches of two types with many equal errors, among them results without a digit and special ones."""
    draw = np.random.default_rng(seed)
    dispatches = []
    for number in range(60):
        kind = (DataType.FLOAT32, DataType.FLOAT16)[number // 3 % 2]
        count = int(draw.integers(1, 40))
        x = draw.choice([0.0004, -0.0004, 0.0003, 0.5, -0.5, 1.5, 3.0, 1e-6, np.inf, 0.0], count).astype(kind.numpy)
        with np.errstate(all="ignore"):
            output = np.sin(x.astype(np.float64)).astype(kind.numpy)
        output[draw.integers(0, 4, count) == 0] *= kind.numpy.type(1.25)
        output[np.abs(x) < 0.01] *= (draw.integers(0, 3, count) > 0)[np.abs(x) < 0.01]
        tensor = TensorDesc(kind, (count,))
        operator = OperatorDesc(
            "ELEMENT_WISE_SIN", {"InputTensor": tensor, "OutputTensor": tensor}, {"ScaleBias": None}
        )
        dispatches.append((operator, {"InputTensor": x}, output))
    return dispatches


@pytest.mark.parametrize("seed", range(6))
def test_small_dispatches_that_are_measured_together_are_measured_as_by_themselves(seed: int) -> None:
    tables = load_tables()
    together, alone = (Measurements(tables, strict=False) for _ in range(2))
    for operator, inputs, output in sines(seed):
        together.note(operator, inputs, output)
        alone.note(operator, inputs, output)
        assert alone.records(), "it is measured as soon as somebody asks"
    assert together.records() == alone.records()
    float32 = together.records()[1]
    assert (float32.data_type, bool(float32.digitless), bool(float32.apart)) == ("FLOAT32", True, True)


def test_what_waits_to_be_measured_is_what_was_noted() -> None:
    measurements, right = (Measurements(load_tables(), strict=False) for _ in range(2))
    for operator, inputs, output in sines(0):
        right.note(operator, inputs, output.copy())
        measurements.note(operator, inputs, output)
        output[:] = 0  # the memory is the implementation's
    assert measurements.records() == right.records()
