"""Whose refusals a run sees: the implementation's own, or those of the suite's rule checks in its backend."""

from __future__ import annotations

from dataclasses import replace

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import violations
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import DeviceGone, Mishap, Refusal

REFUSALS = "refusals"
"""The key under ``details`` of a device that says so."""

BY_THE_SUITE = "by the suite's own rule checks (dmlcts.specs.rules), not by the implementation"


def disclose(bench: Bench) -> None:
    """Note in the bench's device information where refusals come from the suite's own rule checks.

    A backend without a validation of its own may call :func:`dmlcts.specs.rules.violations`. What it then refuses
    says nothing of the implementation, and whoever reads the results must know. It shows by the words: one
    description that every level forbids is offered, and the refusal repeats what the suite itself says of it.
    """
    for table in bench.tables.operators.values():
        # A tensor left out would be null to the implementation, which no rule is about and not every library survives.
        unary = len(table.tensors) == 2
        if unary and _repeats_the_suite(bench, table):
            bench.info = replace(bench.info, details={**(bench.info.details or {}), REFUSALS: BY_THE_SUITE})
            return


def _repeats_the_suite(bench: Bench, table: OperatorTable) -> bool:
    tensor = TensorDesc(DataType.FLOAT32, (1,) * (bench.tables.limits.get("rank_max", 8) + 1))
    attributes: dict[str, Attribute | float] = {
        item.name: None if item.type == "DML_SCALE_BIAS" else item.enumerators[0] if item.type == "ENUM" else 0.0
        for item in table.attributes
    }
    operator = OperatorDesc(table.operator, dict.fromkeys(table.tensors, tensor), attributes)
    sentences = [violation.text for violation in violations(operator, bench.level, bench.tables)]
    try:
        with bench.hurried():
            answer = bench.create(operator)
    except DeviceGone:
        return False  # the run will say so
    if not isinstance(answer, (Refusal, Mishap)):
        bench.closed(answer)
    return isinstance(answer, Refusal) and any(text in answer.text for text in sentences)
