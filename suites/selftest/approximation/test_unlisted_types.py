"""A real function on a type that no level lists: it may be accepted, and then nothing says what is right."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.mutants.exact.descriptions import _Accepting, means_nothing
from dmlcts.suites.proof.probes import probes
from dmlcts.suites.selftest.family.family_tables import family

TABLES = family()
REAL = [table for table in TABLES.operators.values() if table.accuracy and means_nothing(table)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("table", REAL, ids=[table.short_name for table in REAL])
def test_what_a_real_function_gives_there_is_no_departure(table: OperatorTable) -> None:
    """The backend gives 1 throughout; a mutant that does so where there is a meaning is caught."""

    class Accepting(_Accepting):
        operator = table.operator
        overlooked = tuple(clause.id for clause in table.checked_by("support.unlisted"))

    bench = Bench("Accepting", Accepting(), {}, TABLES)
    asked = [
        probe
        for probe in probes(TABLES)
        if probe.table is table and "test_unlisted_types_are_characterised" in probe.test
    ]
    tallies = [probe.run(bench, 0).ledger for probe in asked]
    bench.close()
    assert sum(tally.cases for ledger in tallies for tally in ledger.tallies.values()) > 0
    assert [finding.title for ledger in tallies for finding in ledger.findings] == []


@pytest.mark.parametrize("kind, is_open", [(DataType.INT64, True), (DataType.UINT64, True), (DataType.INT16, False)])
def test_a_zero_point_of_64_bits_leaves_the_result_open(kind: DataType, is_open: bool) -> None:
    """FLOAT64 does not hold such numbers; one of 16 bits is judged."""
    table = TABLES.operator("QUANTIZE_LINEAR")
    types = {
        "InputTensor": DataType.FLOAT32,
        "ScaleTensor": DataType.FLOAT32,
        "ZeroPointTensor": kind,
        "OutputTensor": DataType.INT8,
    }
    operator = OperatorDesc(table.operator, {name: TensorDesc(kind, (1,)) for name, kind in types.items()}, {})
    values = {name: np.array([1], types[member].numpy) for name, member in table.formula_names.items()}
    acceptance = oracle_of(TABLES, operator, strict=False).acceptance(
        {member: values[name] for name, member in table.formula_names.items()}
    )
    admitted = [bool(acceptance.admits(np.array([literal], np.int8)).all()) for literal in (2, 9)]
    assert admitted == [True, is_open]


@pytest.mark.parametrize("kind, is_open", [(DataType.FLOAT64, True), (DataType.FLOAT32, False)])
def test_scales_of_64_bits_leave_the_result_open(kind: DataType, is_open: bool) -> None:
    table = TABLES.operator("QUANTIZED_LINEAR_ADD")
    types = {
        "ATensor": DataType.INT8,
        "AScaleTensor": kind,
        "BTensor": DataType.INT8,
        "BScaleTensor": kind,
        "OutputScaleTensor": kind,
        "OutputTensor": DataType.INT8,
    }
    operator = OperatorDesc(table.operator, {name: TensorDesc(kind, (1,)) for name, kind in types.items()}, {})
    values = {member: np.ones(1, types[member].numpy) for member in table.formula_names.values() if member in types}
    acceptance = oracle_of(TABLES, operator, strict=False).acceptance(values)
    assert [bool(acceptance.admits(np.array([literal], np.int8)).all()) for literal in (2, 9)] == [True, is_open]


def test_functions_of_whole_numbers_and_of_ieee_754_have_a_meaning_on_every_type() -> None:
    types = (DataType.INT32, DataType.UINT64, DataType.FLOAT64)
    assert {name: [FUNCTIONS[name].means(kind) for kind in types] for name in ("add", "pow", "sqrt", "asin")} == {
        "add": [True, True, True],
        "pow": [True, True, False],
        "sqrt": [False, False, True],
        "asin": [False] * 3,
    }
