"""What is expected is acceptable, and what implementations usually give: elements that differ are looked at closely."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends.cpu.device import CpuBackend
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.functions.in_arrays import DIVIDE, MODULUS_FLOOR, MODULUS_TRUNCATE, POW, SHIFT_LEFT, SHIFT_RIGHT
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
LEVEL = FeatureLevel("6.4")
ELEMENTS = 2000
ANYTHING = ("POW", "DIVIDE", "MODULUS_FLOOR", "MODULUS_TRUNCATE", "BIT_SHIFT_LEFT", "BIT_SHIFT_RIGHT")
"""Operators of which integers may become anything."""


def cases_of(name: str) -> Iterator[Case]:
    """Bulk values on every listed signature of an operator; with a ScaleBias too where it has one."""
    table = TABLES.operator(name)
    for signature in signatures(table):
        subject = Subject(table, signature, LEVEL, 0, profile=QUICK)
        for attributes in attribute_sets(subject):
            yield subject.case(subject.values_clause(attributes), subject.bulk_elements(7, ELEMENTS), attributes)


def attribute_sets(subject: Subject) -> list[dict[str, Any]]:
    plain = subject.revealing()
    if "ScaleBias" not in plain or plain["ScaleBias"] is not None:
        return [plain]
    factors = (ScaleBias(np.float32(1), np.float32(3)), ScaleBias(np.float32(0.5), np.float32(0.25)))
    return [plain, *({**plain, "ScaleBias": pair} for pair in factors)]


def dispatched(bench: Bench, case: Case) -> Execution:
    execution = bench.run(case)
    assert isinstance(execution, Execution)
    return execution


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    opened = Bench("cpu", CpuBackend(), {}, TABLES)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", [*ANYTHING, "DEQUANTIZE_LINEAR", "QUANTIZED_LINEAR_ADD", "QUANTIZE_LINEAR", "MEAN"])
def test_what_is_expected_is_acceptable_and_mostly_what_the_processor_gives(name: str, bench: Bench) -> None:
    for case in cases_of(name):
        execution = dispatched(bench, case)
        oracle = oracle_of(TABLES, case.operator, strict=False)
        expected = oracle.expected(execution.inputs)
        assert oracle.admits(execution.inputs, expected).all(), case.operator
        alike = (execution.output == expected) | (np.isnan(execution.output) & np.isnan(expected))
        assert np.count_nonzero(~alike) <= ELEMENTS // 100, case.operator


@pytest.mark.parametrize("name", [*ANYTHING, "DEQUANTIZE_LINEAR"])
def test_what_is_expected_is_acceptable_with_strict_ieee(name: str, bench: Bench) -> None:
    for case in cases_of(name):
        execution = dispatched(bench, case)
        oracle = oracle_of(TABLES, case.operator, strict=True)
        if oracle.expected_suffices:
            assert oracle.admits(execution.inputs, oracle.expected(execution.inputs)).all(), case.operator


def test_powers_that_no_type_holds_wrap_and_fractions_are_zero() -> None:
    bases, exponents = np.array([3, 2, -3, 5, -1, 0], np.int8), np.array([200, 255, 129, 130, 255, 255], np.uint8)
    meaning: Any = POW.integers
    powers, is_open = meaning(bases, exponents)
    wanted = [(int(base) ** int(exponent) + 128) % 256 - 128 for base, exponent in zip(bases, exponents, strict=True)]
    assert (powers.tolist(), is_open.tolist()) == (wanted, [True, True, True, True, False, False])
    powers, is_open = meaning(np.array([3, -1, 1, 0], np.int8), np.array([-2, -3, -7, -1], np.int8))
    assert (powers.tolist(), is_open.tolist()) == ([0, -1, 1, 0], [True, False, False, True])


@pytest.mark.parametrize("shift", [SHIFT_LEFT, SHIFT_RIGHT])
def test_no_bit_is_left_of_a_shift_beyond_the_width(shift: Any) -> None:
    moved, is_open = shift.integers(np.array([255, 255], np.uint8), np.array([8, 255], np.uint8))
    assert (moved.tolist(), is_open.tolist()) == ([0, 0], [True, True])


@pytest.mark.parametrize("division", [DIVIDE, MODULUS_TRUNCATE, MODULUS_FLOOR])
def test_divisions_by_zero_give_all_ones(division: Any) -> None:
    result, is_open = division.integers(np.array([7, 0], np.uint8), np.array([0, 0], np.uint8))
    assert (result.tolist(), is_open.tolist()) == ([255, 255], [True, True])
    result, is_open = division.integers(np.array([-128], np.int8), np.array([-1], np.int8))
    assert (result.tolist(), is_open.tolist()) == ([-128 if division is DIVIDE else 0], [True])


def test_a_zero_point_that_float32_does_not_hold_is_added_as_an_integer() -> None:
    """No level lists such an output; an implementation may take it, and is right then."""
    types = {"InputTensor": "FLOAT32", "ScaleTensor": "FLOAT32", "ZeroPointTensor": "INT32", "OutputTensor": "INT32"}
    tensors = {tensor: TensorDesc(DataType[name], (2,)) for tensor, name in types.items()}
    oracle = oracle_of(TABLES, OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {}), strict=False)
    inputs = {
        "InputTensor": np.array([1233.25, 7.0], np.float32),
        "ScaleTensor": np.array([1233.25, 2.0], np.float32),
        "ZeroPointTensor": np.array([-142_435_574, 16_777_217], np.int32),
    }
    assert oracle.admits(inputs, oracle.expected(inputs)).all()
