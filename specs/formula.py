"""The expression language of the tables' formulas: parsed with ``ast``, whitelisted, never evaluated by Python.

An expression is built from ``x``, the operator's FLOAT attributes, numbers, ``+ - *``, unary minus, the
functions in :data:`FUNCTIONS`, and a choice on an enumeration::

    trunc(x) if RoundingMode == TOWARD_ZERO else round_half_even(x)

Both oracles walk the same small tree: :class:`Name`, :class:`Number`, :class:`Call` and :class:`Choice`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dmlcts.specs.errors import FormulaError

FUNCTIONS: Mapping[str, int] = {
    "min": 2,
    "max": 2,
    "abs": 1,
    "neg": 1,
    "floor": 1,
    "ceil": 1,
    "trunc": 1,
    "round_half_even": 1,
    "round_half_away": 1,
    "add": 2,
    "subtract": 2,
    "multiply": 2,
}
"""Every function an oracle knows, with its number of arguments; ``+ - *`` become add, subtract, multiply."""

_OPERATORS: Mapping[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}
_DEPTH = 32
_LONGEST = 2000
_SHOWN = 40


@dataclass(frozen=True)
class Name:
    """The input ``x``, ``scale``, ``bias`` or a FLOAT attribute."""

    name: str


@dataclass(frozen=True)
class Number:
    """A constant; the formulas of the tables hold it exactly."""

    value: float


@dataclass(frozen=True)
class Call:
    """A function of :data:`FUNCTIONS` applied to its arguments."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """``then`` where the enumeration ``attribute`` is ``enumerator``, else ``otherwise``."""

    attribute: str
    enumerator: str
    then: Expression
    otherwise: Expression


Expression = Name | Number | Call | Choice


class _Parser:
    def __init__(self, text: str, names: Collection[str], enumerations: Mapping[str, Collection[str]]) -> None:
        self.text = text
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
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Call("neg", (self.expression(operand, depth + 1),))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                both = self.expression(left, depth + 1), self.expression(right, depth + 1)
                return Call(_OPERATORS[type(operator)], both)
            case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
                return self.call(node, function, arguments, depth)
            case ast.IfExp():
                return self.choice(node, depth)
        raise self.fail(
            node,
            f"{self.written(node)} is not part of the formula language",
            f"use x, attributes, numbers, + - *, a choice on an enumeration, and {', '.join(FUNCTIONS)}",
        )

    def name(self, node: ast.expr, name: str) -> Name:
        if name not in self.names:
            raise self.fail(node, f"undefined name {name!r} in the formula", f"use one of {', '.join(self.names)}")
        return Name(name)

    def call(self, node: ast.expr, function: str, arguments: list[ast.expr], depth: int) -> Call:
        if function not in FUNCTIONS:
            raise self.fail(node, f"undefined function {function!r} in the formula",
                            f"use one of {', '.join(FUNCTIONS)}")  # fmt: skip
        if len(arguments) != FUNCTIONS[function]:
            raise self.fail(node, f"{function} is given {len(arguments)} arguments",
                            f"give it {FUNCTIONS[function]}")  # fmt: skip
        return Call(function, tuple(self.expression(argument, depth + 1) for argument in arguments))

    def choice(self, node: ast.IfExp, depth: int) -> Choice:
        match node.test:
            case ast.Compare(left=ast.Name(id=attribute), ops=[ast.Eq()], comparators=[ast.Name(id=enumerator)]):
                pass
            case _:
                raise self.fail(node.test, "a choice must compare an enumeration with an enumerator",
                                "write it as in `RoundingMode == TOWARD_ZERO`")  # fmt: skip
        if attribute not in self.enumerations:
            known = ", ".join(self.enumerations) or "none: the operator has no enumeration"
            raise self.fail(node.test, f"undefined enumeration {attribute!r} in the formula", f"use one of {known}")
        if enumerator not in self.enumerations[attribute]:
            raise self.fail(node.test, f"{attribute} has no enumerator {enumerator!r}",
                            f"use one of {', '.join(self.enumerations[attribute])}")  # fmt: skip
        return Choice(
            attribute,
            enumerator,
            self.expression(node.body, depth + 1),
            self.expression(node.orelse, depth + 1),
        )


def parse(text: str, names: Collection[str], enumerations: Mapping[str, Collection[str]] | None = None) -> Expression:
    """Parse a formula.

    Args:
        text: the formula as the table writes it.
        names: the names it may use: ``x`` and the operator's FLOAT attributes.
        enumerations: enumeration attributes with their enumerators.

    Raises:
        FormulaError: a syntax error, an undefined name, or anything outside the language; nothing else,
            whatever the text.
    """
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
    return _Parser(text, names, enumerations or {}).expression(tree.body)


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
    return expression
