"""Which type a formula gives on a signature: every function applied to what it has a meaning for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import FormulaError
from dmlcts.specs.formula import Call, Cast, Choice, Expression, Limit, Name, Number
from dmlcts.specs.functions import FUNCTIONS, Function
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature

Typed = DataType | Literal["truth", "real", "constant"]
"""A data type; a truth value; an exact number of no type, which operands of different types give; a constant."""

_OF_INTERVALS = ("subtract", "multiply", "divide", "neg")
"""Functions that may fall, and are known on intervals all the same."""
_ORDERED = ("less", "less_equal", "greater", "greater_equal")
"""Comparisons by which a choice between approximate values may be made: of intervals either may hold, or both."""
_SUMS = ("add", "difference")
"""Functions whose results FLOAT64 rounds where floating-point numbers meet others."""
_PATTERNS = {1: DataType.UINT8, 2: DataType.UINT16, 4: DataType.UINT32, 8: DataType.UINT64}


def read_as(data_type: DataType, table: OperatorTable) -> DataType:
    """What a tensor's elements are for the formula: of the type, or patterns, which are unsigned integers."""
    return _PATTERNS[data_type.itemsize] if table.domain == "bits" else data_type


def type_of(expression: Expression, table: OperatorTable, signature: Signature) -> Typed:
    """The type of an expression's value.

    Raises:
        FormulaError: a function has no meaning for what it is given there.
    """
    names: dict[str, Typed] = {}
    for name, member in table.formula_names.items():
        row = table.tensors[member]
        lacking = row.optional and member not in signature.present
        names[name] = "constant" if lacking else read_as(signature[row.type], table)
    names |= dict.fromkeys(table.numbers, read_as(signature.data_type, table))
    types = {variable: read_as(data_type, table) for variable, data_type in signature.types}
    return _of(expression, names, types)


def result_fault(expression: Expression, table: OperatorTable, signature: Signature) -> str | None:
    """Why the formula does not give the output's type on a signature; ``None`` where it does."""
    try:
        actual = type_of(expression, table, signature)
    except FormulaError as error:
        return f"{error.cause} (on {signature})"
    variable = table.tensors[table.output].type
    wanted = read_as(signature[variable], table)
    if actual in (wanted, "constant"):
        return None
    description = actual.name if isinstance(actual, DataType) else f"a {actual} value"
    return f"the formula gives {description} where the output is {wanted.name} (on {signature})"


def misplaced_approximation(expression: Expression, approximate: Collection[str]) -> str | None:
    """Why an approximate value cannot go where a formula puts it; ``None`` where all is well.

    Args:
        expression: the formula.
        approximate: the functions that an accuracy rule is about.
    """
    match expression:
        case Call("select", (Call(comparison, sides), if_true, other)) if comparison in _ORDERED:
            parts = (*sides, if_true, other)
            return next((fault for part in parts if (fault := misplaced_approximation(part, approximate))), None)
        case Call(name, arguments):
            for argument in arguments:
                inner = misplaced_approximation(argument, approximate)
                if inner is not None:
                    return inner
            exact = name == "select" or not (FUNCTIONS[name].monotone or name in _OF_INTERVALS)
            if exact and any(_is_approximate(argument, approximate) for argument in arguments):
                return f"{name} is given an approximate value, and it may fall where that grows"
        case Choice(_, _, then, otherwise):
            return misplaced_approximation(then, approximate) or misplaced_approximation(otherwise, approximate)
        case Cast(_, argument):
            return misplaced_approximation(argument, approximate)
    return None


def _is_approximate(expression: Expression, approximate: Collection[str]) -> bool:
    match expression:
        case Call(name, arguments):
            return name in approximate or any(_is_approximate(argument, approximate) for argument in arguments)
        case Choice(_, _, then, otherwise):
            return _is_approximate(then, approximate) or _is_approximate(otherwise, approximate)
        case Cast(_, argument):
            return _is_approximate(argument, approximate)
    return False


def _of(expression: Expression, names: Mapping[str, Typed], types: Mapping[str, DataType]) -> Typed:
    match expression:
        case Name(name):
            return names[name]
        case Number():
            return "constant"
        case Limit(_, target):
            return types[target]
        case Cast(target, argument):
            _of(argument, names, types)
            return types[target]
        case Choice(_, _, then, otherwise):
            return joined([_of(then, names, types), _of(otherwise, names, types)])
        case Call("select", (condition, if_true, other)):
            _of(condition, names, types)
            return joined([_of(if_true, names, types), _of(other, names, types)])
        case Call(name, arguments):
            kind = _applied(name, [_of(argument, names, types) for argument in arguments])
            if kind == "real" and name in _SUMS and any(_is_rounded(operand, names, types) for operand in arguments):
                raise FormulaError(f"{name} is given a sum of numbers of different types", "cast that sum first")
            return kind
    raise AssertionError(f"no expression: {expression!r}")


def _is_rounded(expression: Expression, names: Mapping[str, Typed], types: Mapping[str, DataType]) -> bool:
    """Whether FLOAT64 may not hold an exact number of no type: it holds sums of integers, and rounds others once."""
    if _of(expression, names, types) != "real":
        return False
    if isinstance(expression, Call) and expression.function in _SUMS:
        return _holds_floating(expression, names, types)
    return any(_is_rounded(part, names, types) for part in _parts(expression))


def _holds_floating(expression: Expression, names: Mapping[str, Typed], types: Mapping[str, DataType]) -> bool:
    """Whether a floating-point number is among those that an exact number of no type comes of."""
    kind = _of(expression, names, types)
    if isinstance(kind, DataType):
        return kind.is_floating
    return any(_holds_floating(part, names, types) for part in _parts(expression))


def _parts(expression: Expression) -> tuple[Expression, ...]:
    """What an exact number of no type is computed of, or chosen from."""
    match expression:
        case Call("select", (_, if_true, other)) | Choice(_, _, if_true, other):
            return (if_true, other)
        case Call(_, arguments):
            return tuple(arguments)
    return ()


def joined(operand_types: list[Typed]) -> Typed:
    """The type of operands that have to be of one: exact numbers where they are not."""
    kinds = [kind for kind in dict.fromkeys(operand_types) if kind != "constant"]
    if not kinds:
        return "constant"
    return kinds[0] if len(kinds) == 1 else "real"


def common_type(function: Function, operand_types: list[Typed]) -> Typed:
    """The type in which a function's operands meet."""
    if function.of_no_type:
        return "real"
    floats = [kind for kind in operand_types if isinstance(kind, DataType) and kind.is_floating]
    if function.widens and floats:
        return max(floats, key=lambda kind: kind.itemsize)
    return joined(operand_types)


def _applied(name: str, operand_types: list[Typed]) -> Typed:
    function = FUNCTIONS[name]
    if function.domain == "truth":
        return "truth"
    kind = common_type(function, operand_types)
    if isinstance(kind, DataType):
        floating = kind.is_floating
        exact = function.exact
        there = (exact.floating or exact.compared) if floating else (exact.integers or exact.ordered)
        if there is None:
            raise FormulaError(f"{name} has no meaning on {kind.name}", f"it is for {function.domain} types")
    elif kind == "real" and not function.on_reals:
        raise FormulaError(f"{name} is given numbers of different types", "cast one of them to the other's type")
    elif kind == "constant" and function.domain == "integer":
        raise FormulaError(f"{name} is given numbers of no type", "cast one of them, as in cast(T, 1)")
    return "truth" if function.gives == "truth" else kind
