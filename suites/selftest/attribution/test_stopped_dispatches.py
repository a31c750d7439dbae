"""A dispatch that does not come back, looked at closely: what is tried without silent points, and which is to blame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.outcomes import Mishap
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference

TABLES = load_tables()
LEAST = -(1 << 31)
PACKED = TensorDesc(DataType.INT32, (6,))


class Right(Reference):
    """Integer divisions by 0 give what numpy makes of them."""

    level = LEVEL


class FivesWrong(Right):
    """Quotients of 5 are 6."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """5 becomes 6."""
        y = np.asarray(super().compute_exact(operator, inputs))
        return np.where(y == 5, y.dtype.type(6), y)


class Stopping(Bench):
    """Does not come back where the divisors and dividends are such."""

    stops: Callable[[Array, Array], bool]
    outcome = "fail"

    def __init__(self, stops: Callable[[Array, Array], bool], outcome: str, backend: Any) -> None:
        super().__init__("x", backend, {}, TABLES)
        self.stops = stops
        self.outcome = outcome
        self.tried: list[tuple[list[int], list[int]]] = []

    def dispatch(self, kernel: Any, arena: Arena) -> Mishap | None:
        """One dispatch, noted."""
        a, b = arena.inputs.values()
        self.tried.append((a.tolist(), b.tolist()))
        return Mishap(self.outcome, "gone") if self.stops(a, b) else super().dispatch(kernel, arena)


def divided(
    stops: Callable[[Array, Array], bool],
    a: Sequence[int],
    b: Sequence[int],
    *,
    outcome: str = "fail",
    backend: Any = None,
    shared: TensorDesc | None = None,
) -> tuple[list[str], list[tuple[list[int], list[int]]]]:
    """The clauses that a division breaks, and the dividends and divisors of each dispatch."""
    packed = TensorDesc(DataType.INT32, shared.sizes) if shared else PACKED
    operator = OperatorDesc(
        "ELEMENT_WISE_DIVIDE", {"ATensor": packed, "BTensor": shared or packed, "OutputTensor": packed}, {}
    )
    bench = Stopping(stops, outcome, backend or Right())
    case = Case(operator, Streams.of({"ATensor": a, "BTensor": b}, operator), "divide.formula")
    findings = judge_case(bench, case).findings
    return [finding.clause for finding in findings], bench.tried


def zeros(a: Array, b: Array) -> bool:
    return bool((b == 0).any())


def leasts(a: Array, b: Array) -> bool:
    return bool(((a == LEAST) & (b == -1)).any())


A, B = [LEAST, 8, 9, 25, 7, 7], [1, 0, 3, 5, 0, 1]
WITHOUT = [1, 1, 3, 5, 1, 1]  # the divisors of the first ordinary element in place of the zeros


def test_only_the_elements_at_the_point_make_way_for_an_ordinary_one() -> None:
    clauses, tried = divided(zeros, A, B)
    assert clauses == ["divide.zero"]
    assert tried == [(A, B), ([LEAST, LEAST, 9, 25, LEAST, 7], WITHOUT)]


def test_a_wrong_value_far_from_the_point_is_found_beside_it() -> None:
    clauses, _ = divided(zeros, A, B, backend=FivesWrong())
    assert clauses == ["divide.formula", "divide.zero"]


@pytest.mark.parametrize("stops", [lambda a, b: True, lambda a, b: bool(b.max() == 5)], ids=["always", "at a 5"])
@pytest.mark.parametrize("outcome", ["fail", "crash", "device_lost"])
def test_what_stops_without_the_points_as_well_is_tried_once_and_not_theirs(
    outcome: str, stops: Callable[[Array, Array], bool]
) -> None:
    clauses, tried = divided(stops, A, B, outcome=outcome)
    assert clauses == ["divide.formula"]
    assert [numbers for numbers in tried if 0 not in numbers[1]] == [([LEAST, LEAST, 9, 25, LEAST, 7], WITHOUT)]


@pytest.mark.parametrize("strides, b, ordinary", [((0, 1), [1, 0, 5], 1), ((1, 0), [0, 4], 4)])
def test_where_elements_share_what_is_stored_one_ordinary_element_stands_for_all(
    strides: tuple[int, ...], b: list[int], ordinary: int
) -> None:
    clauses, tried = divided(zeros, A, b, shared=TensorDesc(DataType.INT32, (2, 3), strides))
    assert clauses == ["divide.zero"]
    assert len(tried) == 2
    assert set(tried[1][1]) == {ordinary}


def test_where_every_element_is_at_a_point_ones_take_their_place() -> None:
    clauses, tried = divided(zeros, A, [0] * 6)
    assert (clauses, tried[1:]) == (["divide.zero"], [([1] * 6, [1] * 6)])


@pytest.mark.parametrize(
    "stops, clause",
    [
        (zeros, "divide.zero"),
        (leasts, "divide.least"),
        (lambda a, b: zeros(a, b) and leasts(a, b), "divide.zero"),  # without either it comes back
        (lambda a, b: zeros(a, b) or leasts(a, b), "divide.zero"),  # neither alone: the first of both
    ],
)
def test_of_two_points_the_one_whose_elements_stop_the_dispatch_is_to_blame(
    stops: Callable[[Array, Array], bool], clause: str
) -> None:
    for a, b in (([7, LEAST, 9, LEAST, 8, 5], [2, 0, 3, -1, 0, 5]), ([7, LEAST] * 3, [0, -1] * 3)):
        clauses, _ = divided(stops, a, b)
        assert clauses == [clause]


def test_what_stops_without_any_point_is_not_tried_again() -> None:
    clauses, tried = divided(lambda a, b: True, [7] * 6, B[3:4])
    assert (clauses, tried) == (["divide.formula"], [([7] * 6, [5] * 6)])
