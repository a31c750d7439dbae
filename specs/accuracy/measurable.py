"""Which descriptions are measured: those whose formula rounds floating-point numbers somewhere."""

from __future__ import annotations

from dmlcts.specs.descriptions import OperatorDesc
from dmlcts.specs.errors import FormulaError
from dmlcts.specs.formula import Call, Cast, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.law import Law

_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "modulus_truncate", "modulus_floor"})
"""Functions that round, though every real result of theirs is a fraction; those with a real meaning round as well."""

_FOLLOWED = frozenset(
    {
        "min",
        "max",
        "abs",
        "neg",
        "floor",
        "ceil",
        "trunc",
        "round_half_even",
        "round_half_away",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "is_nan",
        "logical_and",
        "logical_or",
        "logical_xor",
        "logical_not",
        "select",
    }
)
"""Functions that the references follow and that round nothing."""


def is_measured(law: Law, operator: OperatorDesc) -> bool:
    """Whether results of a description can be inexact, and the references know the real numbers they stand for.

    Comparisons, bits, integers, and what only selects or rounds to whole numbers are exact: nothing is measured. Nor is
    anything with a ScaleBias or a fused activation, where the last rounding is one of several.
    """
    table = law.table
    if any(tensor.data_type.itemsize > _WIDEST for tensor in operator.tensors.values()):
        return False  # FLOAT64 is no reference for types of 64 bits
    if table.domain != "number" or not any(tensor.data_type.is_floating for tensor in operator.tensors.values()):
        return False
    if any(operator.attributes.get(item.name) is not None for item in table.attributes if item.type in _OPTIONAL):
        return False
    if not _numbers_known(table):
        return False
    return any(map(_rounds, called(law.expression_for(operator)))) and all(
        name in _FOLLOWED or _rounds(name) for name in called(law.expression_for(operator))
    )


_WIDEST = 4
_OPTIONAL = ("DML_SCALE_BIAS", "DML_OPERATOR_DESC")


def _numbers_known(table: OperatorTable) -> bool:
    return all(item.type in ("FLOAT", "ENUM", *_OPTIONAL) for item in table.attributes)


def _rounds(name: str) -> bool:
    if name in _FOLLOWED:
        return False
    return name in _ROUNDED or (name in FUNCTIONS and FUNCTIONS[name].exact.real is not None)


def called(expression: Expression) -> frozenset[str]:
    """The functions that a formula calls, no choice being left in it.

    Raises:
        FormulaError: it holds what stands in statements alone.
    """
    match expression:
        case Name() | Number() | Limit():
            return frozenset()
        case Cast(_, argument):
            return called(argument)
        case Call(name, arguments):
            return frozenset({name}).union(*map(called, arguments))
    raise FormulaError(f"{expression} is no part of a formula", "write a formula of functions of inputs")
