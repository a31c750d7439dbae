"""Mutants made from the approximate operators' own tables: ScaleBias left out, and a failure where a page is silent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.backends import ExecutionFailed
from dmlcts.specs import OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.statements.silent_points import silent_points
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL, named
from dmlcts.suites.mutants.reference import Reference


class _WithoutScaleBias(Reference):
    """ScaleBias is ignored on the kinds of numbers that :attr:`kinds` names."""

    level = LEVEL
    kinds = ""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """As if there were none."""
        if operator.name == self.operator and inputs[0].dtype.kind in self.kinds:
            operator = replace(operator, attributes={**operator.attributes, "ScaleBias": None})
        return super().compute_exact(operator, inputs)


class _FailsAtPoint(Reference):
    """A dispatch fails where one element is such that the clause's condition holds."""

    level = LEVEL

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Raises, where one element asks for it."""
        if operator.name == self.operator and self._is_there(operator, inputs):
            raise ExecutionFailed("the operands cannot be computed")
        return super().compute_exact(operator, inputs)

    def _is_there(self, operator: OperatorDesc, inputs: list[Array]) -> bool:
        table = load_tables().operator(operator.name)
        named_inputs = dict(zip(operator.inputs, inputs, strict=True))
        named = {name: named_inputs[member] for name, member in table.formula_names.items() if member in named_inputs}
        with np.errstate(all="ignore"):
            return any(
                bool(np.any(point.where(named)))
                for point in silent_points(table, operator)
                if point.clause.id == self.clause
            )


_ALWAYS = ("add1.rounding",)
"""Points that hold of all numbers: an implementation that fails there computes nothing."""


def _of_table(table: OperatorTable) -> Iterator[Any]:
    for clause in table.clauses:
        about = {"__module__": __name__, "operator": table.operator, "clause": clause.id}
        if clause.check in ("scale-bias", "scale-bias.integer"):
            description = f"{table.short_name} ignores ScaleBias: {clause.text}"
            kinds = "f" if clause.check == "scale-bias" else "iu"
            yield type(
                named(clause, "Ignored"), (_WithoutScaleBias,), {"__doc__": description, "kinds": kinds, **about}
            )
        elif clause.check == "silent" and clause.id not in _ALWAYS:
            description = f"{table.short_name} fails where the page is silent: {clause.text}"
            yield type(named(clause, "Fails"), (_FailsAtPoint,), {"__doc__": description, **about})


APPROXIMATE = (
    "SQRT",
    "RECIP",
    "EXP",
    "LOG",
    "POW",
    "CONSTANT_POW",
    "SIN",
    "COS",
    "TAN",
    "ASIN",
    "ACOS",
    "ATAN",
    "ATAN_YX",
    "SINH",
    "COSH",
    "TANH",
    "ASINH",
    "ACOSH",
    "ATANH",
    "ERF",
    "ADD1",
    "QUANTIZE_LINEAR",
    "DEQUANTIZE_LINEAR",
    "QUANTIZED_LINEAR_ADD",
)

MADE = {made.__name__: made for name in APPROXIMATE for made in _of_table(load_tables().operator(name))}

globals().update(MADE)


class Add1RoundingFails(Reference):
    """ADD1 fails where an operand is infinite."""

    operator = "ELEMENT_WISE_ADD1"
    clause = "add1.rounding"
    level = LEVEL

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """Raises, where one element asks for it."""
        if operator.name == self.operator and inputs[0].dtype.kind == "f" and np.isinf(inputs).any():
            raise ExecutionFailed("the operands cannot be computed")
        return super().compute_exact(operator, inputs)
