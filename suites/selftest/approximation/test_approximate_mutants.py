"""Before the suite runs them: mutants of approximate operators are refused, what documents permit is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.approximation.rules import is_approximate
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.selftest.approximation.probing import approximate, elements_of
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.mutants.approximate import arithmetic, functions, powers, quantising
from dmlcts.suites.selftest.mutants.formulas import error_function
from dmlcts.suites.selftest.mutants.reference import Reference

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
            for described, given in elements_of(table, signature, MOST, seed=11):
                yield table, described, given


def given_by(device: Reference, table: OperatorTable, operator: OperatorDesc, given: dict[str, Array]) -> Array:
    with np.errstate(all="ignore"):
        found = device.compute_exact(operator, [given[name] for name in table.formula_names if name in given])
        return np.ascontiguousarray(found.astype(operator.output.data_type.numpy))


def refused(table: OperatorTable, operator: OperatorDesc, given: dict[str, Array], output: Array) -> Array:
    members = table.formula_names
    inputs = {members[name]: array for name, array in given.items()}
    return np.flatnonzero(~oracle_of(TABLES, operator, strict=False).admits(inputs, output))


@pytest.mark.parametrize("operator", sorted({table.operator for table, _ in CASES}))
def test_the_reference_is_right(operator: str) -> None:
    for table, described, given in cases_of(operator):
        output = given_by(Reference(), table, described, given)
        wrong = refused(table, described, given, output)
        assert not wrong.size, ({name: array[wrong[0]] for name, array in given.items()}, output[wrong[0]])


@pytest.mark.parametrize("mutant", ROWS)
def test_the_oracle_refuses_every_mutant(mutant: type[Reference]) -> None:
    assert any(
        refused(table, described, given, given_by(mutant(), table, described, given)).size
        for table, described, given in cases_of(mutant.operator)
    )


@pytest.mark.parametrize("mutant", ROWS)
def test_a_mutant_names_a_clause_of_its_operator(mutant: type[Reference]) -> None:
    assert mutant.clause in {clause.id for clause in TABLES.operator(mutant.operator).clauses}


def test_every_approximate_operator_has_mutants() -> None:
    assert {table.operator for table, _ in CASES} == {
        getattr(module, name).operator for module in MODULES for name in module.ROWS
    }


# What is permitted: Direct3D's minimum, rounded to nearest or toward zero, FLOAT16 through FLOAT32.

_RELATIVE = 2.0**-21
_LOG2_E, _LN2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)


def toward_zero(values: Array, kind: DataType) -> Array:
    rounded = values.astype(kind.numpy)
    beyond = np.abs(rounded.astype(np.float64)) > np.abs(values)
    return np.where(beyond, np.nextafter(rounded, kind.numpy.type(0)), rounded)


def nearest(values: Array, kind: DataType) -> Array:
    return values.astype(kind.numpy)


def signs(x: Array) -> Array:
    return np.where(np.arange(x.size) % 2 == 0, 1.0, -1.0)


def exp_of_minimum(x: Array, rounded: Callable[[Array], Array]) -> Array:
    """2^x to 2^-21 of the rounded product, as Direct3D asks for at least."""
    product = rounded(x * np.float64(_LOG2_E))
    return rounded(np.exp2(product) * (1 + _RELATIVE * signs(x)))


def log_of_minimum(x: Array, rounded: Callable[[Array], Array]) -> Array:
    exact = np.log2(x)
    error = np.where((x >= 0.5) & (x <= 2), _RELATIVE, np.abs(exact) * _RELATIVE) * signs(x)
    return rounded(rounded(np.where(np.isfinite(exact), exact + error, exact)) * np.float64(_LN2))


def off_by(amount: float, function: Callable[[Array], Array]) -> Callable[[Array, Any], Array]:
    def found(x: Array, rounded: Callable[[Array], Array]) -> Array:
        right = function(x)
        return rounded(np.where(np.isfinite(right), right + amount * signs(x), right))

    return found


def hyperbolic(sign: int) -> Callable[[Array, Any], Array]:
    def found(x: Array, rounded: Callable[[Array], Array]) -> Array:
        return rounded(rounded(exp_of_minimum(x, rounded) + sign * exp_of_minimum(-x, rounded)) / 2)

    return found


def quotient_of_minimum(a: Array, b: Array, rounded: Callable[[Array], Array]) -> Array:
    return rounded(a * rounded(1 / b))


def remainder(whole: Callable[[Array], Array], exact: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """Step by step; of a divisor whose reciprocal overflows the exact one."""

    def found(a: Array, b: Array, rounded: Callable[[Array], Array]) -> Array:
        steps = rounded(a - rounded(b * whole(quotient_of_minimum(a, b, rounded))))
        return np.where(np.abs(b) < 2.0**-126, rounded(exact(a, b)), steps)

    return found


MINIMUM: dict[str, Callable[..., Array]] = {
    "ADD": lambda a, b, r: r(a + b), "ADD1": lambda a, b, r: r(a + b), "SUBTRACT": lambda a, b, r: r(a - b),
    "MULTIPLY": lambda a, b, r: r(a * b), "DIVIDE": quotient_of_minimum,
    "MEAN": lambda a, b, r: r(r(a + b) * 0.5), "DIFFERENCE_SQUARE": lambda a, b, r: r(r(a - b) * r(a - b)),
    "MODULUS_TRUNCATE": remainder(np.trunc, np.fmod), "MODULUS_FLOOR": remainder(np.floor, np.mod),
    "SQRT": lambda x, r: r(np.sqrt(x)), "RECIP": lambda x, r: r(1 / x * (1 + _RELATIVE * 0.7 * signs(x))),
    "EXP": exp_of_minimum, "LOG": log_of_minimum,
    "SIN": off_by(0.00079, np.sin), "COS": off_by(0.00079, np.cos),
    "TAN": lambda x, r: r(off_by(0.00079, np.sin)(x, r) / off_by(0.00079, np.cos)(x, r)),
    "ASIN": off_by(0.00079, np.arcsin), "ACOS": off_by(0.00079, np.arccos), "ATAN": off_by(0.00079, np.arctan),
    "ATAN_YX": lambda a, b, r: off_by(0.00079, lambda _: np.arctan2(a, b))(a, r),
    "SINH": hyperbolic(-1), "COSH": hyperbolic(1), "TANH": off_by(0.00097, np.tanh),
    "ASINH": lambda x, r: log_of_minimum(r(x + r(np.sqrt(r(r(x * x) + 1)))), r),
    "ACOSH": lambda x, r: log_of_minimum(r(x + r(np.sqrt(r(r(x * x) - 1)))), r),
    "ATANH": lambda x, r: r(log_of_minimum(r(r(1 + x) / r(1 - x)), r) / 2),
    "ERF": off_by(0.0048, error_function),
    "CONSTANT_POW": lambda x, e, r: r(np.exp2(r(e * r(np.log2(x))))),
}  # fmt: skip


@pytest.mark.parametrize("operator", sorted(MINIMUM))
@pytest.mark.parametrize("rounding", [nearest, toward_zero])
def test_the_minimum_of_direct3d_is_accepted(operator: str, rounding: Callable[[Array, DataType], Array]) -> None:
    """Computed in FLOAT32, each step rounded so; FLOAT16 through FLOAT32."""
    changed = False
    for table, described, given in cases_of(f"ELEMENT_WISE_{operator}"):
        with np.errstate(all="ignore"):
            operands = [given[name].astype(np.float64) for name in table.formula_names]
        operands += [np.float64(described.attributes[name]) for name in table.numbers]  # type: ignore[arg-type]

        def in_float32(values: Array) -> Array:
            return rounding(np.asarray(values, float), DataType.FLOAT32).astype(float)

        with np.errstate(all="ignore"):
            single = MINIMUM[operator](*operands, in_float32)
            output = np.ascontiguousarray(rounding(single, described.output.data_type))
        right = given_by(Reference(), table, described, given)
        if operator == "CONSTANT_POW":  # the sign of negative bases stands apart from the function
            output = np.where(operands[0] > 0, output, right)
        changed |= output.tobytes() != right.tobytes()
        wrong = refused(table, described, given, output)
        assert not wrong.size, ({name: array[wrong[:3]] for name, array in given.items()}, output[wrong[:3]])
    assert changed or operator in ("ADD", "ADD1", "SUBTRACT", "MULTIPLY", "MEAN", "DIFFERENCE_SQUARE", "SQRT")
