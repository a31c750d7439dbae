"""Of which kind the value of a statement is, on a signature; and that every function has a meaning for its operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import FormulaError
from dmlcts.specs.formula import Call, Cast, Choice, Dispatch, Expression, Limit, Name, Number, Outside, Stored
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.formula_types import read_as
from dmlcts.specs.tables.signatures import Signature

Kind = DataType | Literal["whole", "truth", "constant"]
"""A data type; an exact integer of no type, which integer arithmetic gives; a truth value; the statement's numbers."""


@dataclass(frozen=True)
class Names:
    """What the names of a statement stand for on a signature.

    Attributes:
        values: the kind of each input and attribute, by the name that the formula has for it.
        types: the data type that each type variable stands for.
        dispatched: the output type of each operator's dispatch that the statement holds.
    """

    values: Mapping[str, Kind]
    types: Mapping[str, DataType]
    dispatched: Mapping[Dispatch, DataType]

    @classmethod
    def of(
        cls, table: OperatorTable, signature: Signature, dispatched: Mapping[Dispatch, DataType] | None = None
    ) -> Names:
        """The names of an operator's statements."""
        values: dict[str, Kind] = {}
        for name, member in table.formula_names.items():
            row = table.tensors[member]
            if row.optional and member not in signature.present:
                values[name] = "constant"
            else:
                values[name] = read_as(signature[row.type], table)
        first = read_as(signature.data_type, table)
        values |= dict.fromkeys(table.numbers, first)
        types = {variable: read_as(data_type, table) for variable, data_type in signature.types}
        return cls(values, types, dispatched or {})


def kind_of(expression: Expression, names: Names) -> Kind:
    """The kind of a statement's value.

    Raises:
        FormulaError: a function has no meaning for what it is given.
    """
    match expression:
        case Name(name):
            if name not in names.values:
                raise FormulaError(f"{name} is not there on every signature", "leave it out of the statement")
            return names.values[name]
        case Number():
            return "constant"
        case Limit("width", _):
            return "constant"
        case Limit(_, target):
            return names.types[target]
        case Outside(target, argument):
            _whole(argument, names, "outside")
            return "truth"
        case Stored(how, target, argument):
            if names.types[target].is_floating:
                raise FormulaError(
                    f"{how} stores integers, and {target} is {names.types[target].name}",
                    "limit the clause by `data_types:`",
                )
            _whole(argument, names, how)
            return names.types[target]
        case Cast(target, argument):
            return _cast(kind_of(argument, names), names.types[target])
        case Dispatch(_, arguments):
            for argument in arguments:
                kind_of(argument, names)
            return names.dispatched[expression]
        case Call("select", (condition, if_true, other)):
            kind_of(condition, names)
            return joined([kind_of(if_true, names), kind_of(other, names)], "a choice")
        case Call(name, arguments):
            return _applied(name, [kind_of(argument, names) for argument in arguments])
    assert not isinstance(expression, Choice)  # noqa: S101 - enumerators are chosen before
    raise AssertionError(f"no statement: {expression!r}")


def _whole(argument: Expression, names: Names, how: str) -> None:
    kind = kind_of(argument, names)
    if isinstance(kind, DataType) and kind.is_floating:
        raise FormulaError(f"{how} is about integers, and is given {kind.name}", "limit the clause by `data_types:`")


def _cast(kind: Kind, target: DataType) -> DataType:
    floating = isinstance(kind, DataType) and kind.is_floating
    if kind != "truth" and kind is not target and (floating or target.is_floating) and kind != "constant":
        text = kind.name if isinstance(kind, DataType) else "an integer"
        raise FormulaError(f"a statement does not cast {text} to {target.name}", "compare numbers of one type")
    return target


def joined(operand_kinds: list[Kind], what: str) -> Kind:
    """The kind in which operands meet: integers of any types are exact ones, floating-point numbers of one type.

    Raises:
        FormulaError: an integer meets a floating-point number, or two floating-point types meet.
    """
    kinds = [kind for kind in dict.fromkeys(operand_kinds) if kind != "constant"]
    if not kinds:
        return "constant"
    if len(kinds) == 1:
        return kinds[0]
    if any(isinstance(kind, DataType) and kind.is_floating for kind in kinds):
        text = " and ".join(kind.name if isinstance(kind, DataType) else "an integer" for kind in kinds)
        raise FormulaError(f"{what} is given {text}", "limit the clause by `data_types:`, or use numbers of one type")
    return "whole"


def _applied(name: str, kinds: list[Kind]) -> Kind:
    function = FUNCTIONS[name]
    if function.domain == "truth":
        return "truth"
    kind = joined(kinds, name)
    exact = function.exact
    there: object
    if isinstance(kind, DataType) and kind.is_floating:
        there, text = exact.floating or exact.compared, kind.name
        if function.arrays.error:
            there = None  # known to be within bounds, and not to a pattern
    else:
        there, text = exact.integers or exact.ordered, "integers"
    if there is None:
        raise FormulaError(f"{name} has no meaning on {text} in a statement", f"it is for {function.domain} types")
    if function.gives == "truth":
        return "truth"
    return "whole" if kind != "constant" and not (isinstance(kind, DataType) and kind.is_floating) else kind
