"""A dispatch that fails on elements at a silent point breaks the clause on those; the other elements are judged."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import ExecutionFailed
from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.outcomes import Mishap
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.proof.probes import Probe, probes

TABLES = load_tables()
TESTS = (
    "ordinary_bounds",
    "broadcast",
    "a_kernel_is_dispatched_again",
    "drawn_in_place",
    "relations_hold",
    "silent_points",
)


@cache
def probes_of_integers() -> list[Probe]:
    """The probes of those tests on operators with a silent point of integers."""
    return [
        probe
        for probe in probes(TABLES)
        if any(part in probe.test for part in TESTS)
        and probe.data_type.name in ("INT32", "UINT32")
        and probe.table.short_name in ("DIVIDE", "BIT_SHIFT_RIGHT", "MODULUS_FLOOR")
    ]


class Right(Reference):
    """Integer divisions by 0 give what numpy makes of them."""

    level = LEVEL


class RefusesZeros(Right):
    """A dispatch with a divisor of 0 fails as a whole, as ONNX Runtime's do."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The results, where no divisor is 0."""
        divides = operator.name.endswith(("DIVIDE", "MODULUS_FLOOR"))
        if divides and not operator.output.data_type.is_floating and not np.all(inputs[1]):
            raise ExecutionFailed("integer division by zero")
        return self.spoiled(operator, super().compute_exact(operator, inputs))

    def spoiled(self, operator: OperatorDesc, y: Array) -> Array:
        """Nothing wrong."""
        return y


class RefusesZerosAndDividesWrong(RefusesZeros):
    """Quotients of 3 are 4 besides."""

    def spoiled(self, operator: OperatorDesc, y: Array) -> Array:
        """3 becomes 4."""
        return np.where(y == 3, y.dtype.type(4), y) if operator.name.endswith("DIVIDE") else y


class RefusesAlways(Right):
    """Every dispatch fails, whatever the divisors."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Nothing."""
        raise ExecutionFailed("not today")


def broken(made: type[Reference]) -> tuple[set[str], set[str]]:
    """The clauses of the findings after shrinking, and those of which a case failed."""
    bench = Bench("x", made(), {}, TABLES)
    clauses, failed = set(), set()
    for probe in probes_of_integers():
        judge = probe.run(bench, 0)
        clauses |= {smallest(bench, finding).clause for finding in judge.ledger.findings[:2]}
        failed |= {clause for (clause, _, _), tally in judge.ledger.tallies.items() if tally.failures}
    return clauses, failed


def test_the_probes_divide_and_shift() -> None:
    assert {probe.table.short_name for probe in probes_of_integers()} == {"DIVIDE", "BIT_SHIFT_RIGHT", "MODULUS_FLOOR"}


@pytest.mark.parametrize(
    ("made", "texts"),
    [
        (Right, set()),
        (RefusesZeros, {"divide.zero", "modulus-floor.zero"}),
    ],
)
@pytest.mark.size("thorough")
def test_a_dispatch_that_fails_on_zeros_breaks_the_clause_on_zeros(made: type[Reference], texts: set[str]) -> None:
    assert broken(made) == (texts, texts)


@pytest.mark.size("thorough")
def test_what_stands_beside_the_zeros_is_judged_all_the_same() -> None:
    clauses, failed = broken(RefusesZerosAndDividesWrong)
    assert {"divide.zero", "modulus-floor.zero", "divide.formula"} <= clauses
    assert "divide.formula" in failed
    assert "modulus-floor.formula" not in failed


@pytest.mark.size("thorough")
def test_a_dispatch_that_fails_anyway_breaks_the_clause_of_its_case() -> None:
    clauses, failed = broken(RefusesAlways)
    assert {"divide.formula", "modulus-floor.formula"} <= clauses
    assert {"divide.formula", "modulus-floor.formula"} <= failed


@pytest.mark.parametrize(
    "divisors, clause",
    [
        ([1, 0, 5], "divide.zero"),  # the element beside the one that takes the place of all is a 0
        ([0, 1, 0], "divide.zero"),
        ([0, 0, 0], "divide.zero"),
        ([1, 2, 5], "divide.formula"),
    ],
)
@pytest.mark.parametrize("strides", [None, (0, 1)])
def test_one_ordinary_element_takes_the_place_of_all_where_elements_share_what_is_stored(
    divisors: list[int], clause: str, strides: tuple[int, ...] | None
) -> None:
    class Refusing(RefusesAlways):
        """Every dispatch but those of divisors without a 0 where there may be some."""

        def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
            if clause != "divide.zero" or not np.all(inputs[1]):
                raise ExecutionFailed("not today")
            return Right.compute_exact(self, operator, inputs)

    packed, shared = TensorDesc(DataType.INT32, (2, 3)), TensorDesc(DataType.INT32, (2, 3), strides)
    tensors = {"ATensor": packed, "BTensor": shared, "OutputTensor": packed}
    operator = OperatorDesc("ELEMENT_WISE_DIVIDE", tensors, {})
    values = Streams.of({"ATensor": [7, 8, 9], "BTensor": divisors}, operator)
    bench = Bench("x", Refusing(), {}, TABLES)
    (finding,) = judge_case(bench, Case(operator, values, "divide.formula")).findings
    assert finding.clause == clause


class Losing(Bench):
    """Loses the process where a divisor is 0, or always."""

    always = False
    dispatches = 0

    def dispatch(self, kernel: Any, arena: Arena) -> Mishap | None:
        """One dispatch."""
        self.dispatches += 1
        return Mishap("crash", "gone") if self.always or not np.all(arena.inputs["BTensor"]) else None


@pytest.mark.parametrize("always", [False, True])
def test_a_process_that_is_lost_anyway_is_not_lost_again_to_find_that_out(always: bool) -> None:
    tensor = TensorDesc(DataType.INT32, (3,))
    operator = OperatorDesc("ELEMENT_WISE_DIVIDE", {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}, {})
    bench = Losing("x", Right(), {}, TABLES)
    bench.always = always
    spent = []
    for a in (7, 8):
        values = Streams.of({"ATensor": [a, 8, 9], "BTensor": [1, 0, 5]}, operator)
        judgement = judge_case(bench, Case(operator, values, "divide.formula"))
        lost = [finding.clause for finding in judgement.findings if finding.outcome == "crash"]
        assert lost == ["divide.formula" if always else "divide.zero"]
        spent.append(bench.dispatches)
    if always:
        assert spent[1] - spent[0] < spent[0]
