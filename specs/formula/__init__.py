"""The expression language of the tables' formulas. What its functions mean stands in ``functions``, not here."""

from dmlcts.specs.formula.language import (
    ARITIES,
    Call,
    Cast,
    Choice,
    Dispatch,
    Expression,
    Limit,
    MultiplyAdd,
    Name,
    Number,
    Outside,
    Stored,
    choose,
    kind_of,
    multiply_add,
    parse,
)

__all__ = [
    "ARITIES",
    "Call",
    "Cast",
    "Choice",
    "Dispatch",
    "Expression",
    "Limit",
    "MultiplyAdd",
    "Name",
    "Number",
    "Outside",
    "Stored",
    "choose",
    "kind_of",
    "multiply_add",
    "parse",
]
