"""An operator with an activation fused to it, as one operator: its formula around the other's, and its numbers as own.

The page says so: f(a, b) = FusedActivation(a + b). Oracles then need not know of activations.
"""

from __future__ import annotations

import re

from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.models import Activation, AttributeTable, Clause, OperatorTable, PermittedFormula

FUSED = "DML_OPERATOR_DESC"
"""The type of an attribute that is an operator."""


def around(formula: str, inner: str, target: str) -> str:
    """The text of an activation's formula with another one, of a type variable, in the place of its x."""
    return _with_x(formula, f"between({target}, {inner})")


def _with_x(text: str, inner: str) -> str:
    return re.sub(r"\bx\b", inner, text)


def _together(*conditions: str | None) -> str | None:
    """The text of conditions that all have to hold."""
    return " and ".join(f"({condition})" for condition in conditions if condition is not None) or None


def fused_attribute(table: OperatorTable) -> AttributeTable | None:
    """The attribute of an operator that may be an activation, or ``None``."""
    return next((item for item in table.attributes if item.type == FUSED), None)


def is_about_activation(clause: Clause, table: OperatorTable, activation: str | None) -> bool:
    """Whether a clause is about descriptions with an activation, named as in ``OperatorDesc``, or without one.

    One that names an activation is about that alone. The others that state values are about none; what they leave open
    in the operator's own arithmetic is open before an activation as well.
    """
    attribute = fused_attribute(table)
    wanted = None if attribute is None else clause.when.get(attribute.name)
    return wanted is None or wanted == activation


def fused_table(table: OperatorTable, activation: Activation) -> OperatorTable:
    """The table of an operator with an activation fused to it: numbers, formulas and accuracy rules of both."""
    numbers = tuple(
        AttributeTable(name=name, type="FLOAT", cast="undocumented", role="other") for name in activation.numbers
    )
    target = table.tensors[table.output].type
    stated = {(rule.function, name) for rule in table.accuracy for name in rule.data_types}
    rules = tuple(
        rule for rule in activation.accuracy if not any((rule.function, name) in stated for name in rule.data_types)
    )
    inner = [PermittedFormula(formula=table.formula, strict=True, source=activation.source), *table.permitted_formulas]
    outer = [
        PermittedFormula(formula=activation.formula, strict=True, source=activation.source),
        *activation.permitted_formulas,
    ]
    ways = [
        PermittedFormula(
            formula=around(permitted_formula.formula, other.formula, target),
            where=_together(
                other.where,
                None if permitted_formula.where is None else _with_x(permitted_formula.where, f"({other.formula})"),
            ),
            strict=permitted_formula.strict and other.strict,
            data_types=permitted_formula.data_types or other.data_types,
            source=permitted_formula.source,
        )
        for other in inner
        for permitted_formula in outer
    ]
    fields = {name: getattr(table, name) for name in OperatorTable.model_fields}
    return OperatorTable.model_construct(
        **{
            **fields,
            "attributes": (*(item for item in table.attributes if item.type != FUSED), *numbers),
            "formula": around(activation.formula, table.formula, target),
            "accuracy": (*table.accuracy, *rules),
            "permitted_formulas": tuple(ways[1:]),
            "clauses": tuple(
                clause for clause in table.clauses if is_about_activation(clause, table, activation.operator)
            ),
        }
    )


def flattened(operator: OperatorDesc) -> OperatorDesc:
    """A description with the numbers of the activation that is fused to it among its own, and without it."""
    if operator.activation is None:
        return operator
    own = {name: value for name, value in operator.attributes.items() if not isinstance(value, OperatorDesc)}
    return OperatorDesc(operator.name, operator.tensors, own | dict(operator.activation.attributes))
