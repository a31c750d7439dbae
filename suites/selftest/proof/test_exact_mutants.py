"""Mutants of the exact operators before the suite meets them: the oracle refuses what each gives."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import ModuleType

import numpy as np
import pytest

from dmlcts.specs import OperatorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.mutants.exact import (
    arithmetic,
    bit_patterns,
    choices,
    comparisons,
    division,
    signs,
    truth,
)
from dmlcts.suites.mutants.permitted.exact import PERMITTED_EXACT
from dmlcts.suites.mutants.permitted.steps import Permitted
from dmlcts.suites.mutants.permitted.turns import PERMITTED_BY_TURNS
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.selftest.family.acceptance import accepted
from dmlcts.suites.selftest.family.family_tables import (
    every_description,
    exact_descriptions,
    exact_operators,
    family,
    label,
    values,
    with_bounds,
)
from dmlcts.suites.selftest.looped_cases import looped

MODULES: tuple[ModuleType, ...] = (arithmetic, bit_patterns, choices, comparisons, division, signs, truth)
ROWS: dict[str, type[Reference]] = {name: getattr(module, name) for module in MODULES for name in module.ROWS}
OPERATORS = list(dict.fromkeys(mutant.operator for mutant in ROWS.values()))
MOST = 4000


def mutants_of(operator: str) -> dict[str, type[Reference]]:
    """The mutants of an operator, by name."""
    return {name: mutant for name, mutant in ROWS.items() if mutant.operator == operator}


@cache
def descriptions_of(operator: str) -> list[tuple[OperatorTable, OperatorDesc]]:
    """Every description of an operator, with bounds in order, equal and inverted."""
    return [
        (table, description)
        for table, base_description in every_description()
        if base_description.name == operator
        for description in (
            base_description,
            *(with_bounds(table, base_description, *pair) for pair in bounds(base_description)),
        )
    ]


def bounds(operator: OperatorDesc) -> Iterator[tuple[float, float]]:
    """Bounds to try beside those that a description has: inverted, high in the type, and beyond what FLOAT32 holds."""
    kind = next(iter(operator.tensors.values())).data_type
    if "Min" not in operator.attributes:
        return
    yield from ((3, 0), (0, 100))
    if operator.name == "ELEMENT_WISE_CLIP1" and kind.is_floating:
        yield np.nan, 3
    if not kind.is_floating:
        most = int(np.iinfo(kind.numpy).max)
        yield 0, most // 4 * 3
        if kind.itemsize > 2:
            yield 0, 2**31 - 1


def with_signalling(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The elements and, of one floating-point input, signalling NaNs of either sign."""
    ((name, x),) = inputs.items() if len(inputs) == 1 else (("", np.zeros(0)),)
    if not name or x.dtype.kind != "f":
        return inputs
    infinite = np.array([np.inf, -np.inf], x.dtype).view(f"u{x.dtype.itemsize}")
    return {name: np.concatenate([x, (infinite + infinite.dtype.type(1)).view(x.dtype)])}


def given_by(
    device: Reference, table: OperatorTable, operator: OperatorDesc, inputs: dict[str, np.ndarray]
) -> np.ndarray:
    kind = operator.tensors[table.output].data_type.numpy
    with np.errstate(all="ignore"):
        outputs = device.compute_exact(operator, [inputs[name] for name in table.formula_names])
    return np.ascontiguousarray(outputs.astype(kind))


def refused(mutant: type[Reference]) -> Iterator[str]:
    """The descriptions on which the oracle refuses an element of what a mutant gives."""
    for table, operator in descriptions_of(mutant.operator):
        inputs = with_signalling(values(table, operator, MOST))
        if not accepted(table, operator, inputs, given_by(mutant(), table, operator, inputs), False).all():
            yield label(operator)


@pytest.mark.parametrize("short_name", exact_operators())
@looped("table, operator", exact_descriptions)
def test_the_reference_is_right(table: OperatorTable, operator: OperatorDesc) -> None:
    inputs = values(table, operator, MOST)
    for strict in (False, True):
        assert accepted(table, operator, inputs, given_by(Reference(), table, operator, inputs), strict).all()


@pytest.mark.parametrize("operator", OPERATORS)
@looped("mutant", mutants_of)
def test_the_oracle_refuses_every_mutant(mutant: type[Reference]) -> None:
    assert next(refused(mutant), None) is not None


@looped("mutant", ROWS)
def test_a_mutant_names_a_clause_of_its_operator(mutant: type[Reference]) -> None:
    table = family().operator(mutant.operator)
    assert mutant.clause in {clause.id for clause in table.clauses}


def test_no_two_mutants_have_one_name() -> None:
    names = [name for module in MODULES for name in module.ROWS]
    assert len(names) == len(set(names)) >= 200


# Permitted implementations.


@pytest.mark.parametrize("permitted", [*PERMITTED_EXACT, *PERMITTED_BY_TURNS], ids=lambda made: made.__name__)
def test_the_oracle_accepts_what_is_permitted(permitted: type[Permitted]) -> None:
    changed = False
    for table, operator in every_description():
        if table.short_name in permitted.among:
            inputs = with_signalling(values(table, operator, MOST))
            output = given_by(permitted(), table, operator, inputs)
            changed |= output.tobytes() != given_by(Reference(), table, operator, inputs).tobytes()
            right = accepted(table, operator, inputs, output, False)
            refused = {name: array[~right][:3] for name, array in inputs.items()}
            assert right.all(), (label(operator), refused, output[~right][:3])
    assert changed, "it does what the reference does"
