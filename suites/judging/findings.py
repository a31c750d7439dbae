"""What a judgement says: findings, each with the clause that it breaks, and the words for elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.oracle.vectorised import Acceptance
from dmlcts.suites.cases.bench import Bench, Execution
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values, text_with_bits

Array = NDArray[Any]

MEMORY_CLAUSES = ("tensor.output.complete", "tensor.output.bounds", "tensor.input.unchanged")

WITHOUT_DISPATCH = ("refused", "accepted", "either")


@dataclass(frozen=True)
class Finding:
    """Something wrong.

    Attributes:
        clause: id of the clause it breaks.
        outcome: ``fail``, ``crash``, ``timeout``, ``device_lost``, ``resource_error``.
        case: the case that showed it.
        title: one short line.
        details: label and text pairs, for the full account.
        wrong: how many elements are wrong.
        suspects: input values of wrong elements, the simplest first; single-element cases are made of them.
        settled: whether it stays as it is: trying smaller cases would lose the process, or show nothing.
        needs: the factors that it needs, by name; see :mod:`dmlcts.suites.attribution.needs`.
        index: the flat index of the wrong element that is shown, -1 where it is not about one.
        repeat: how often a replay has to try, for what does not come every time; 0 where it does.
    """

    clause: str
    outcome: str
    case: Case
    title: str
    details: tuple[tuple[str, str], ...] = ()
    wrong: int = 0
    suspects: tuple[Any, ...] = ()
    settled: bool = False
    needs: tuple[str, ...] = ()
    index: int = -1
    repeat: int = 0


@dataclass(frozen=True)
class Judgement:
    """What judging a case came to.

    Attributes:
        findings: all that is wrong; empty where the case passes.
        clauses: ids of the clauses that were checked.
        elements: how many elements were judged.
        executions: the dispatches, in order; empty where the implementation legitimately refused.
        refused: the implementation refused the description, and had the right to.
        unsupported: why the backend cannot express the description; ``clauses`` then holds the one for whose
            sake it cannot, and nothing was checked. ``None`` where it can.
        unreached: ids of the further clauses that the case would have checked.
    """

    findings: tuple[Finding, ...] = ()
    clauses: tuple[str, ...] = ()
    elements: int = 0
    executions: tuple[Execution, ...] = ()
    refused: bool = False
    unsupported: str | None = None
    unreached: tuple[str, ...] = ()


Expectation = Callable[[Bench, Case], Judgement]


def value_clauses(case: Case) -> tuple[str, ...]:
    """The clauses that the values of a dispatch of ``case`` speak about."""
    return (case.clause,) if case.layout_clause is None else (case.clause, case.layout_clause)


def index_text(tensor: TensorDesc, flat: int) -> str:
    """The coordinates of an element, from its place in row-major order."""
    return str([int(part) for part in np.unravel_index(flat, tensor.sizes)])


def acceptable_text(acceptance: Acceptance, data_type: DataType) -> str:
    """What is acceptable of one element, in words: its values with their bits."""
    """What is acceptable of one element, in words: its values with their bits."""
    element = acceptance.element(0)
    bits = np.array(sorted(element.patterns), data_type.bits_dtype)
    shown = [text_with_bits(value) for value in bits.view(data_type.numpy)]
    if element.any_nan:
        shown.append("any NaN")
    return " or ".join(shown) if shown else "any value"


def plain(bench: Bench, case: Case, values: Values, count: int) -> Case:
    """The same attributes on a packed tensor of ``count`` elements, out of place, at the lowest rank there is."""
    table = bench.tables.operator(case.operator.name)
    data_type = case.data_type
    ranks = [rank for rank in range(1, 9) if table.obliged(data_type, rank, bench.level)]
    ranks = ranks or [rank for rank in range(1, 9) if table.listed(data_type, rank)] or [1]
    tensor = TensorDesc(data_type, (*([1] * (ranks[0] - 1)), count))
    tensors = {"InputTensor": tensor, "OutputTensor": tensor}
    operator = OperatorDesc(case.operator.name, tensors, case.operator.attributes)
    return Case(operator, values, case.clause, None, case.expectation)
