"""Before the suite runs them: mutants of approximate operators are refused, what documents permit is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import is_approximate, signatures
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.mutants.approximate import arithmetic, functions, powers, quantising
from dmlcts.suites.mutants.permitted.minimum import MINIMUM, nearest, toward_zero
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.selftest.approximation.probing import approximate, elements_of
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.looped_cases import looped

Array = np.ndarray[Any, np.dtype[Any]]
TABLES = family()
CASES = approximate(TABLES)
MODULES: tuple[ModuleType, ...] = (arithmetic, functions, powers, quantising)
ROWS = [pytest.param(getattr(module, name), id=name) for module in MODULES for name in module.ROWS]
MOST = 6000


def cases_of(operator: str) -> Iterator[tuple[OperatorTable, OperatorDesc, dict[str, Array]]]:
    table = TABLES.operator(operator)
    mixed = len(table.type_variables) > 1  # of which some signatures are exact
    for signature in signatures(table):
        if mixed or is_approximate(table, signature):
            for described, inputs in elements_of(table, signature, MOST, seed=11):
                yield table, described, inputs


def given_by(device: Reference, table: OperatorTable, operator: OperatorDesc, values: dict[str, Array]) -> Array:
    with np.errstate(all="ignore"):
        result = device.compute_exact(operator, [values[name] for name in table.formula_names if name in values])
        return np.ascontiguousarray(result.astype(operator.output.data_type.numpy))


def refused(table: OperatorTable, operator: OperatorDesc, values: dict[str, Array], output: Array) -> Array:
    members = table.formula_names
    inputs = {members[name]: array for name, array in values.items()}
    return np.flatnonzero(~oracle_of(TABLES, operator, strict=False).admits(inputs, output))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("operator", sorted({table.operator for table, _ in CASES}))
def test_the_reference_is_right(operator: str) -> None:
    for table, described, values in cases_of(operator):
        output = given_by(Reference(), table, described, values)
        wrong = refused(table, described, values, output)
        assert not wrong.size, ({name: array[wrong[0]] for name, array in values.items()}, output[wrong[0]])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mutant", ROWS)
def test_the_oracle_refuses_every_mutant(mutant: type[Reference]) -> None:
    assert any(
        refused(table, described, values, given_by(mutant(), table, described, values)).size
        for table, described, values in cases_of(mutant.operator)
    )


@looped("mutant", ROWS)
def test_a_mutant_names_a_clause_of_its_operator(mutant: type[Reference]) -> None:
    assert mutant.clause in {clause.id for clause in TABLES.operator(mutant.operator).clauses}


def test_every_approximate_operator_has_mutants() -> None:
    assert {table.operator for table, _ in CASES} == {
        getattr(module, name).operator for module in MODULES for name in module.ROWS
    }


@pytest.mark.sampled(5)
@pytest.mark.parametrize("operator", sorted(MINIMUM))
@pytest.mark.parametrize("rounding", [nearest, toward_zero])
def test_the_minimum_of_direct3d_is_accepted(operator: str, rounding: Callable[[Array, DataType], Array]) -> None:
    """Computed in FLOAT32, each step rounded so; FLOAT16 through FLOAT32."""
    changed = False
    for table, described, value in cases_of(f"ELEMENT_WISE_{operator}"):
        with np.errstate(all="ignore"):
            operands = [value[name].astype(np.float64) for name in table.formula_names]
        operands += [np.float64(described.attributes[name]) for name in table.numbers]  # type: ignore[arg-type]

        def in_float32(values: Array) -> Array:
            return rounding(np.asarray(values, float), DataType.FLOAT32).astype(float)

        with np.errstate(all="ignore"):
            single = MINIMUM[operator](*operands, in_float32)
            output = np.ascontiguousarray(rounding(single, described.output.data_type))
        right = given_by(Reference(), table, described, value)
        if operator == "CONSTANT_POW":  # the sign of negative bases stands apart from the function
            output = np.where(operands[0] > 0, output, right)
        changed |= output.tobytes() != right.tobytes()
        wrong = refused(table, described, value, output)
        assert not wrong.size, ({name: array[wrong[:3]] for name, array in value.items()}, output[wrong[:3]])
    assert changed or operator in ("ADD", "ADD1", "SUBTRACT", "MULTIPLY", "MEAN", "DIFFERENCE_SQUARE", "SQRT")
