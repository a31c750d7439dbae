"""The one list of the functions that a formula may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dmlcts.specs.arithmetic import real_number
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.functions import exactly, in_arrays
from dmlcts.specs.functions.exactly import Exact
from dmlcts.specs.functions.in_arrays import InArrays

Kind = Literal["T", "truth"]
"""What a function takes and gives: values of one type T, the same throughout a signature, or truth values."""

Domain = Literal["number", "floating", "integer", "truth"]
"""What T may be: any number, floating-point types alone, integers alone (bit patterns count as unsigned ones)."""


@dataclass(frozen=True)
class Function:
    """One function of the formula language.

    Attributes:
        name: how a formula writes it.
        takes: the kinds of its arguments.
        gives: the kind of its result.
        domain: what T may be.
        text: what it does.
        exact: its meaning, exactly.
        arrays: its meaning, vectorised.
        monotone: whether the result never falls as an argument grows; an interval may then pass through it.
        selects: whether the result is always one of the arguments.
        on_reals: whether it is also applied to exact numbers of no type, which operands of different types give.
        of_no_type: whether its operands, of whatever types, count as exact numbers, and so does its result.
        widens: whether floating-point operands of different types, or one beside an integer, give the widest of these.
    """

    name: str
    takes: tuple[Kind, ...]
    gives: Kind
    domain: Domain
    text: str
    exact: Exact
    arrays: InArrays
    monotone: bool = False
    selects: bool = False
    on_reals: bool = False
    of_no_type: bool = False
    widens: bool = False

    @property
    def signature(self) -> str:
        """The signature as people write it: "T, T -> truth"."""
        return f"{', '.join(self.takes)} -> {self.gives}"

    def means(self, data_type: DataType) -> bool:
        """Whether its meaning alone says what it gives on a type, if no table states an accuracy.

        A real function has none on integers, and on FLOAT64, which no page lists for one, no bound that anybody states.
        """
        if data_type.is_floating:
            return self.exact.floating is not None and not self.arrays.error
        return self.exact.integers is not None


_ONE: tuple[Kind, ...] = ("T",)
_TWO: tuple[Kind, ...] = ("T", "T")
_TRUTHS: tuple[Kind, ...] = ("truth", "truth")
_ERROR = 2.0**-48
"""What numpy's FLOAT64 functions stay within, sixteen times over (their own tests ask for 4 ULP)."""


def _number(name: str, text: str, takes: tuple[Kind, ...], exact: Exact, arrays: InArrays, **more: bool) -> Function:
    return Function(name, takes, "T", "number", text, exact, arrays, **more)


def _integer(name: str, text: str, takes: tuple[Kind, ...], exact: Exact, arrays: InArrays) -> Function:
    return Function(name, takes, "T", "integer", text, exact, arrays)


def _compared(name: str, text: str, operator: str, arrays: InArrays) -> Function:
    return Function(name, _TWO, "truth", "number", text, exactly.comparison(operator), arrays)


def _class(name: str, text: str, exact: Exact, arrays: InArrays) -> Function:
    return Function(name, _ONE, "truth", "number", text, exact, arrays)


def _truth(name: str, text: str, takes: tuple[Kind, ...], exact: Exact, arrays: InArrays) -> Function:
    return Function(name, takes, "truth", "truth", text, exact, arrays)


_ROWS = (
    _number("min", "the smaller", _TWO, exactly.MIN, in_arrays.MIN, monotone=True, selects=True, on_reals=True),
    _number("max", "the larger", _TWO, exactly.MAX, in_arrays.MAX, monotone=True, selects=True, on_reals=True),
    _number("abs", "without its sign", _ONE, exactly.ABS, in_arrays.ABS),
    _number("neg", "with the other sign", _ONE, exactly.NEG, in_arrays.NEG),
    _number(
        "floor",
        "the greatest integer not above",
        _ONE,
        exactly.rounding(real_number.floor),
        in_arrays.whole(in_arrays.FLOOR),
        monotone=True,
    ),
    _number(
        "ceil",
        "the least integer not below",
        _ONE,
        exactly.rounding(real_number.ceil),
        in_arrays.whole(in_arrays.CEIL),
        monotone=True,
    ),
    _number(
        "trunc",
        "without its fraction",
        _ONE,
        exactly.rounding(real_number.trunc),
        in_arrays.whole(in_arrays.TRUNC),
        monotone=True,
    ),
    _number(
        "round_half_even",
        "the nearest integer, halves to the even one",
        _ONE,
        exactly.rounding(real_number.half_even),
        in_arrays.whole(in_arrays.RINT),
        monotone=True,
    ),
    _number(
        "round_half_away",
        "the nearest integer, halves away from zero",
        _ONE,
        exactly.rounding(real_number.half_away),
        in_arrays.whole(in_arrays.round_half_away),
        monotone=True,
    ),
    _number("add", "the sum", _TWO, exactly.ADD, in_arrays.ADD, monotone=True, on_reals=True),
    _number("subtract", "the difference", _TWO, exactly.SUBTRACT, in_arrays.SUBTRACT),
    _number(
        "difference",
        "the exact difference of numbers of any types",
        _TWO,
        exactly.DIFFERENCE,
        in_arrays.DIFFERENCE,
        on_reals=True,
        of_no_type=True,
    ),
    _number("multiply", "the product", _TWO, exactly.MULTIPLY, in_arrays.MULTIPLY),
    _number("divide", "the quotient, of integers truncated", _TWO, exactly.DIVIDE, in_arrays.DIVIDE),
    _number(
        "modulus_truncate",
        "the remainder with the sign of the first",
        _TWO,
        exactly.MODULUS_TRUNCATE,
        in_arrays.MODULUS_TRUNCATE,
    ),
    _number(
        "modulus_floor",
        "the remainder with the sign of the second",
        _TWO,
        exactly.MODULUS_FLOOR,
        in_arrays.MODULUS_FLOOR,
    ),
    _number(
        "pow",
        "the first to the power of the second, of integers where the type holds it",
        _TWO,
        exactly.POW,
        in_arrays.POW,
        on_reals=True,
        widens=True,
    ),
    Function(
        "atan_yx",
        _TWO,
        "T",
        "floating",
        "the angle of the point with ordinate and abscissa",
        exactly.ATAN_YX,
        in_arrays.ATAN_YX,
    ),
    Function("recip", _ONE, "T", "floating", "the reciprocal", exactly.RECIP, in_arrays.RECIP),
    Function("sqrt", _ONE, "T", "floating", "the square root", exactly.SQRT, in_arrays.SQRT, monotone=True),
    *(
        Function(
            name,
            _ONE,
            "T",
            "floating",
            text,
            exactly.opaque(name),
            in_arrays.opaque(ufunc, _ERROR),
            monotone=name not in ("sin", "cos", "tan", "cosh", "acos"),
        )
        for name, text, ufunc in in_arrays.REAL_FUNCTIONS
    ),
    _integer("bit_and", "the bits that both have", _TWO, exactly.BIT_AND, in_arrays.BIT_AND),
    _integer("bit_or", "the bits that one of them has", _TWO, exactly.BIT_OR, in_arrays.BIT_OR),
    _integer("bit_xor", "the bits that just one has", _TWO, exactly.BIT_XOR, in_arrays.BIT_XOR),
    _integer("bit_not", "every bit changed", _ONE, exactly.BIT_NOT, in_arrays.BIT_NOT),
    _integer("bit_count", "how many bits are set", _ONE, exactly.BIT_COUNT, in_arrays.BIT_COUNT),
    _integer("shift_left", "bits moved up", _TWO, exactly.SHIFT_LEFT, in_arrays.SHIFT_LEFT),
    _integer("shift_right", "bits moved down, zeros from above", _TWO, exactly.SHIFT_RIGHT, in_arrays.SHIFT_RIGHT),
    _compared("equal", "whether they are equal", "eq", in_arrays.EQ),
    _compared("not_equal", "whether they differ", "ne", in_arrays.NE),
    _compared("less", "whether the first is less", "lt", in_arrays.LT),
    _compared("less_equal", "whether the first is not greater", "le", in_arrays.LE),
    _compared("greater", "whether the first is greater", "gt", in_arrays.GT),
    _compared("greater_equal", "whether the first is not less", "ge", in_arrays.GE),
    _class("is_nan", "whether it is a NaN", exactly.IS_NAN, in_arrays.IS_NAN),
    _class("is_infinite", "whether it is an infinity", exactly.IS_INFINITE, in_arrays.IS_INFINITE),
    _class("is_subnormal", "whether it is a subnormal number", exactly.IS_SUBNORMAL, in_arrays.IS_SUBNORMAL),
    _class("is_negative", "whether its sign bit is set", exactly.IS_NEGATIVE, in_arrays.IS_NEGATIVE),
    _truth("logical_and", "whether both hold", _TRUTHS, exactly.AND, in_arrays.AND),
    _truth("logical_or", "whether one of them holds", _TRUTHS, exactly.OR, in_arrays.OR),
    _truth("logical_xor", "whether just one holds", _TRUTHS, exactly.XOR, in_arrays.XOR),
    _truth("logical_not", "whether it does not hold", ("truth",), exactly.NOT, in_arrays.NOT),
)

FUNCTIONS: Mapping[str, Function] = {function.name: function for function in _ROWS}
"""Every function by its name, but ``select`` and ``cast``, which the oracles treat like the language's own parts."""

SYMBOLS: Mapping[str, str] = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
"""What the symbols of a formula stand for."""
