"""The expression language of the tables' formulas: parsed with ``ast``, whitelisted, never evaluated by Python.

An expression is built from the names of the inputs and attributes, numbers, ``+ - * /``, unary minus, comparisons,
``and or not``, the functions of :mod:`dmlcts.specs.functions`, ``cast(T, a)`` to a type variable, ``lowest(T)`` and
``highest(T)``, a choice of values, and a choice on an enumeration::

    trunc(x) if RoundingMode == TOWARD_ZERO else round_half_even(x)

Both oracles walk the same small tree: :class:`Name`, :class:`Number`, :class:`Call`, :class:`Choice`, :class:`Cast`
and :class:`Limit`. What clauses state (:mod:`dmlcts.specs.statements`) is of the same language, and has besides
``wrap(T, a)``, ``saturate(T, a)`` and ``outside(T, a)`` of exact integers, ``width(T)``, and in a relation the
operators themselves, as in ``MAX(a, b)``: :class:`Stored`, :class:`Outside` and :class:`Dispatch`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from dmlcts.specs.errors import FormulaError
from dmlcts.specs.functions import FUNCTIONS, SYMBOLS
from dmlcts.specs.functions.table import Kind

ARITIES: Mapping[str, int] = {**{name: len(function.takes) for name, function in FUNCTIONS.items()}, "select": 3}
"""How many arguments each function of values takes; ``select(condition, a, b)`` gives one of two."""

_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: SYMBOLS["+"],
    ast.Sub: SYMBOLS["-"],
    ast.Mult: SYMBOLS["*"],
    ast.Div: SYMBOLS["/"],
    ast.Eq: SYMBOLS["=="],
    ast.NotEq: SYMBOLS["!="],
    ast.Lt: SYMBOLS["<"],
    ast.LtE: SYMBOLS["<="],
    ast.Gt: SYMBOLS[">"],
    ast.GtE: SYMBOLS[">="],
    ast.And: "logical_and",
    ast.Or: "logical_or",
    ast.Not: "logical_not",
    ast.USub: "neg",
}
_STATED: Mapping[str, str] = {
    "wrap": "wrap(T, a)",
    "saturate": "saturate(T, a)",
    "outside": "outside(T, a)",
    "width": "width(T)",
}
_DEPTH = 32
_LONGEST = 2000
_SHOWN = 40


@dataclass(frozen=True)
class Name:
    """An input, ``scale``, ``bias`` or an attribute that is a number."""

    name: str


@dataclass(frozen=True)
class Number:
    """A constant; the formulas of the tables hold it exactly."""

    value: float


@dataclass(frozen=True)
class Call:
    """A function of :data:`ARITIES` applied to its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """``then`` where the enumeration ``attribute`` is ``enumerator``, else ``otherwise``."""

    attribute: str
    enumerator: str
    then: Expression
    otherwise: Expression


@dataclass(frozen=True)
class Cast:
    """A value brought into the type that the type variable ``target`` stands for.

    Attributes:
        target: the type variable.
        argument: the value.
        between: it is one that could be stored in that type between two operators, and need not be: where a wider type
            computes, it may keep that.
    """

    target: str
    argument: Expression
    between: bool = False


@dataclass(frozen=True)
class Limit:
    """Of the type that ``target`` stands for: its least or greatest finite value, or its bits.

    Attributes:
        name: "lowest", "highest" or, in statements, "width".
    """

    name: str
    target: str


@dataclass(frozen=True)
class Stored:
    """An exact integer brought into the type of ``target``: ``how`` is "wrap" (modulo 2^bits) or "saturate"."""

    how: str
    target: str
    argument: Expression


@dataclass(frozen=True)
class Outside:
    """Whether an exact integer lies outside the type of ``target``."""

    target: str
    argument: Expression


@dataclass(frozen=True)
class Dispatch:
    """What an implementation gives for an operator, named as people do ("MAX"), its inputs in the struct's order."""

    operator: str
    arguments: tuple[Expression, ...]


Expression = Name | Number | Call | Choice | Cast | Limit | Stored | Outside | Dispatch


@dataclass(frozen=True)
class MultiplyAdd:
    """What a ScaleBias does: the product of two of ``x``, ``scale`` and ``bias``, plus the third."""

    factors: tuple[str, str]
    addend: str


def kind_of(expression: Expression) -> Kind:
    """Whether an expression is a number (``T``) or a truth value."""
    match expression:
        case Call("select", (_, if_true, _)):
            return kind_of(if_true)
        case Call(function, _):
            return FUNCTIONS[function].gives
        case Choice(_, _, then, _):
            return kind_of(then)
        case Outside():
            return "truth"
    return "T"


class _Parser:
    def __init__(
        self,
        text: str,
        names: Collection[str],
        enumerations: Mapping[str, Collection[str]],
        types: Collection[str],
        operators: Mapping[str, int] | None,
    ) -> None:
        self.text = text
        self.types = types
        self.operators = operators
        self.source = _joined(text).encode()
        self.names = names
        self.enumerations = enumerations

    def fail(self, node: ast.expr, cause: str, mend: str) -> FormulaError:
        offset = len(self.source[: node.col_offset].decode())  # Python counts bytes
        return FormulaError(cause, mend, _offset_as_written(self.text, offset))

    def written(self, node: ast.expr) -> str:
        """The part of the formula that ``node`` is, shortened and quoted."""
        return _shown(self.source[node.col_offset : node.end_col_offset].decode())

    def expression(self, node: ast.expr, depth: int = 0) -> Expression:
        if depth > _DEPTH:
            raise self.fail(node, "the formula is nested too deeply", f"keep it within {_DEPTH} levels")
        match node:
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Constant(value=bool() | None | str() | bytes() | complex() as value):
                raise self.fail(node, f"{_shown(value)} is not a number", "use a decimal number")
            case ast.Constant(value=int() | float() as value):
                try:
                    return Number(float(value))
                except OverflowError:
                    raise self.fail(node, "the number is too large", "use a number within FLOAT64") from None
            case ast.UnaryOp(op=ast.USub() | ast.Not() as operator, operand=operand):
                return self.applied(_OPERATORS[type(operator)], [operand], depth)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return self.applied(_OPERATORS[type(operator)], [left, right], depth)
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _OPERATORS:
                return self.applied(_OPERATORS[type(operator)], [left, right], depth)
            case ast.BoolOp(op=operator, values=[first, *others]):
                joined = self.argument(first, depth, "truth")
                for other in others:
                    joined = Call(_OPERATORS[type(operator)], (joined, self.argument(other, depth, "truth")))
                return joined
            case ast.Call(
                func=ast.Name(id="cast" | "between" as name), args=[ast.Name(id=target), argument], keywords=[]
            ):
                return Cast(self.type(node, target), self.expression(argument, depth + 1), name == "between")
            case ast.Call(func=ast.Name(id="lowest" | "highest" as name), args=[ast.Name(id=target)], keywords=[]):
                return Limit(name, self.type(node, target))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if self.operators is not None and (
                name in _STATED or name in self.operators
            ):
                return self.stated(node, name, arguments, depth)
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
                return self.call(node, function, arguments, depth)
            case ast.IfExp():
                return self.choice(node, depth)
        raise self.fail(
            node,
            f"{self.written(node)} is not part of the formula language",
            f"use inputs, attributes, numbers, + - * /, comparisons, choices, and {', '.join(ARITIES)}",
        )

    def type(self, node: ast.expr, name: str) -> str:
        if name not in self.types:
            known = ", ".join(self.types) or "none: the formula has no types"
            raise self.fail(node, f"undefined type {name!r} in the formula", f"use one of {known}")
        return name

    def name(self, node: ast.expr, name: str) -> Name:
        if name not in self.names:
            raise self.fail(node, f"undefined name {name!r} in the formula", f"use one of {', '.join(self.names)}")
        return Name(name)

    def call(self, node: ast.expr, function: str, arguments: list[ast.expr], depth: int) -> Call:
        if function not in ARITIES:
            raise self.fail(
                node,
                f"undefined function {function!r} in the formula",
                f"use one of {', '.join((*ARITIES, 'cast', 'lowest', 'highest'))}",
            )
        if len(arguments) != ARITIES[function]:
            raise self.fail(node, f"{function} is given {len(arguments)} arguments", f"give it {ARITIES[function]}")
        return self.applied(function, arguments, depth)

    def stated(self, node: ast.expr, name: str, arguments: list[ast.expr], depth: int) -> Expression:
        """What only statements may hold: exact integers stored in a type, a type's width, operators."""
        match arguments:
            case [ast.Name(id=target)] if name == "width":
                return Limit(name, self.type(node, target))
            case [ast.Name(id=target), argument] if name in ("wrap", "saturate"):
                return Stored(name, self.type(node, target), self.argument(argument, depth, "T"))
            case [ast.Name(id=target), argument] if name == "outside":
                return Outside(self.type(node, target), self.argument(argument, depth, "T"))
        if name in _STATED:
            raise self.fail(node, f"{name} is not used so", f"write {_STATED[name]}")
        wanted = (self.operators or {})[name]
        if len(arguments) != wanted:
            raise self.fail(node, f"{name} has {wanted} inputs, and is given {len(arguments)}", "give it one for each")
        return Dispatch(name, tuple(self.argument(argument, depth, "T") for argument in arguments))

    def applied(self, function: str, arguments: list[ast.expr], depth: int) -> Call:
        if function == "select":
            condition, first, other = arguments
            test = self.argument(condition, depth, "truth")
            chosen = self.expression(first, depth + 1)
            return Call(function, (test, chosen, self.argument(other, depth, kind_of(chosen))))
        takes = FUNCTIONS[function].takes
        return Call(
            function,
            tuple(self.argument(argument, depth, kind) for argument, kind in zip(arguments, takes, strict=True)),
        )

    def argument(self, node: ast.expr, depth: int, wanted: Kind) -> Expression:
        """An argument, which must be a number, or a truth value, as ``wanted`` says."""
        expression = self.expression(node, depth + 1)
        if kind_of(expression) == wanted:
            return expression
        if wanted == "truth":
            raise self.fail(
                node, f"{self.written(node)} is a number where a truth value belongs", "compare it, as in x != 0"
            )
        raise self.fail(
            node,
            f"{self.written(node)} is a truth value where a number belongs",
            "cast it to a type, or choose by it, as in 1 if x > 0 else 0",
        )

    def choice(self, node: ast.IfExp, depth: int) -> Expression:
        match node.test:
            case ast.Compare(left=ast.Name(id=attribute), ops=[ast.Eq()], comparators=[ast.Name(id=enumerator)]) if (
                attribute not in self.names
            ):
                pass
            case _:
                return self.applied("select", [node.test, node.body, node.orelse], depth)
        if attribute not in self.enumerations:
            known = ", ".join(self.enumerations) or "none: the operator has no enumeration"
            raise self.fail(node.test, f"undefined enumeration {attribute!r} in the formula", f"use one of {known}")
        if enumerator not in self.enumerations[attribute]:
            raise self.fail(
                node.test,
                f"{attribute} has no enumerator {enumerator!r}",
                f"use one of {', '.join(self.enumerations[attribute])}",
            )
        return Choice(
            attribute,
            enumerator,
            self.expression(node.body, depth + 1),
            self.expression(node.orelse, depth + 1),
        )


def parse(
    text: str,
    names: Collection[str],
    enumerations: Mapping[str, Collection[str]] | None = None,
    types: Collection[str] = (),
    operators: Mapping[str, int] | None = None,
) -> Expression:
    """Parse a formula, or what a clause states.

    Args:
        text: the formula as the table writes it.
        names: the names it may use: the inputs' and the attributes'.
        enumerations: enumeration attributes with their enumerators.
        types: the type variables that ``cast``, ``lowest`` and ``highest`` may name.
        operators: for a statement, the operators that it may apply, with the number of their inputs; ``None``: it is a
            formula.

    Raises:
        FormulaError: a syntax error, an undefined name, or anything outside the language; nothing else,
            whatever the text.
    """
    return _parsed(
        text,
        tuple(names),
        tuple((name, tuple(known)) for name, known in (enumerations or {}).items()),
        tuple(types),
        None if operators is None else tuple(operators.items()),
    )


@lru_cache(maxsize=4096)  # a statement is parsed again for every description that it is about
def _parsed(
    text: str,
    names: tuple[str, ...],
    enumerations: tuple[tuple[str, tuple[str, ...]], ...],
    types: tuple[str, ...],
    operators: tuple[tuple[str, int], ...] | None,
) -> Expression:
    if len(text) > _LONGEST:
        raise FormulaError(f"the formula is longer than {_LONGEST} characters", "shorten it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of texts such as `1if` that are judged below
            tree = ast.parse(_joined(text), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise FormulaError(
            f"the formula cannot be parsed: {reason}",
            "write an expression such as max(Min, min(x, Max))",
            _offset_as_written(text, max(0, (getattr(error, "offset", None) or 1) - 1)),
        ) from None
    known = None if operators is None else dict(operators)
    return _Parser(text, names, dict(enumerations), types, known).expression(tree.body)


def multiply_add(text: str) -> MultiplyAdd:
    """Parse what a ScaleBias does: ``x * scale + bias``, or the three in other places.

    Raises:
        FormulaError: it is no product of two of ``x``, ``scale`` and ``bias``, plus the third.
    """
    match parse(text, ("x", "scale", "bias")):
        case Call("add", (Call("multiply", (Name(a), Name(b))), Name(c))) if {a, b, c} == {"x", "scale", "bias"}:
            return MultiplyAdd((a, b), c)
        case Call("add", (Name(c), Call("multiply", (Name(a), Name(b))))) if {a, b, c} == {"x", "scale", "bias"}:
            return MultiplyAdd((a, b), c)
    raise FormulaError(
        f"{_shown(text)} is not what the suite can compute of x, scale and bias",
        "write the product of two of them plus the third, as in x * scale + bias",
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}\N{HORIZONTAL ELLIPSIS}"


def _joined(text: str) -> str:
    """The text on one line, with single spaces between its parts."""
    return " ".join(text.split())


def _offset_as_written(text: str, offset: int) -> int:
    """Where in ``text`` the character stands that has this offset in the joined text."""
    kept = [index for index, pair in enumerate(zip(text, f" {text}", strict=False)) if not "".join(pair).isspace()]
    return kept[min(offset, len(kept) - 1)] if kept else 0


def choose(expression: Expression, enumerators: Mapping[str, str]) -> Expression:
    """The branch of every choice that the given enumerators select; no :class:`Choice` is left."""
    match expression:
        case Choice(attribute, enumerator, then, otherwise):
            return choose(then if enumerators[attribute] == enumerator else otherwise, enumerators)
        case Call(function, arguments):
            return Call(function, tuple(choose(argument, enumerators) for argument in arguments))
        case Cast(target, argument, between):
            return Cast(target, choose(argument, enumerators), between)
        case Stored(how, target, argument):
            return Stored(how, target, choose(argument, enumerators))
        case Outside(target, argument):
            return Outside(target, choose(argument, enumerators))
        case Dispatch(operator, arguments):
            return Dispatch(operator, tuple(choose(argument, enumerators) for argument in arguments))
    return expression
