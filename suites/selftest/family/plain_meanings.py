"""What the exact operators mean, written apart from the tables: Python's integers and numpy's scalars, one element.

Integers come as Python's own and results are taken modulo 2^bits; floating-point numbers as numpy scalars of their
type. ``None`` stands for "the page says nothing".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.specs import DataType

Attributes = Mapping[str, Any]
Meaning = Callable[..., Any]


def is_float(value: Any) -> bool:
    return isinstance(value, np.floating)


def _negative_zero(value: Any) -> bool:
    return is_float(value) and value == 0 and math.copysign(1.0, float(value)) < 0


def sign(x: Any) -> int:
    return int(x > 0) - int(x < 0)


def larger(a: Any, b: Any) -> Any:
    if is_float(a):
        if np.isnan(a) or np.isnan(b):
            return np.nan
        if a == b == 0:
            return b if _negative_zero(a) else a
    return a if a > b else b


def smaller(a: Any, b: Any) -> Any:
    if is_float(a):
        if np.isnan(a) or np.isnan(b):
            return np.nan
        if a == b == 0:
            return a if _negative_zero(a) else b
    return a if a < b else b


def quotient(a: int, b: int, least: int) -> int | None:
    if b == 0 or (b == -1 and a == least):
        return None
    number = abs(a) // abs(b)
    return number if (a >= 0) == (b >= 0) else -number


def remainder(a: int, b: int, least: int) -> int | None:
    number = quotient(a, b, least)
    return None if number is None else a - b * number


def power(x: int, exponent: int, kind: DataType) -> int | None:
    if exponent < 0 and x in (1, -1):
        return 1 if x == 1 or exponent % 2 == 0 else -1
    if exponent < 0 or x == exponent == 0:
        return None
    result = x**exponent if exponent <= 32 or abs(x) < 2 else 1 << 64
    return result if np.iinfo(kind.numpy).min <= result <= np.iinfo(kind.numpy).max else None


def modulus(a: int, b: int, least: int) -> int | None:
    if quotient(a, b, least) is None:
        return None
    return a % b


def infinite(x: Any, mode: str) -> int:
    wanted = {"EITHER": (np.inf, -np.inf), "POSITIVE": (np.inf,), "NEGATIVE": (-np.inf,)}[mode]
    return int(float(x) in wanted)


def gradient(x: Any, value: Any, low: Any, high: Any) -> Any:
    if x <= low or x >= high:
        return 0
    return value


def clamped(x: Any, low: Any, high: Any) -> Any:
    if is_float(x) and np.isnan(x):
        return np.nan
    return larger(low, smaller(x, high))


ONE: dict[str, Meaning] = {
    "IDENTITY": lambda x: x,
    "ABS": lambda x: np.abs(x) if is_float(x) else abs(x),
    "NEGATE": lambda x: -x,
    "SIGN": sign,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "LOGICAL_NOT": lambda x: int(x == 0),
    "IS_NAN": lambda x: int(x != x),
}
TWO: dict[str, Meaning] = {
    "MAX": larger,
    "MIN": smaller,
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "MEAN": lambda a, b: int(math.copysign(1, a + b)) * (abs(a + b) // 2),
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2,
    "LOGICAL_EQUALS": lambda a, b: int(a == b),
    "LOGICAL_GREATER_THAN": lambda a, b: int(a > b),
    "LOGICAL_LESS_THAN": lambda a, b: int(a < b),
    "LOGICAL_GREATER_THAN_OR_EQUAL": lambda a, b: int(a >= b),
    "LOGICAL_LESS_THAN_OR_EQUAL": lambda a, b: int(a <= b),
    "LOGICAL_AND": lambda a, b: int(bool(a) and bool(b)),
    "LOGICAL_OR": lambda a, b: int(bool(a) or bool(b)),
    "LOGICAL_XOR": lambda a, b: int(bool(a) is not bool(b)),
}
DIVISIONS: dict[str, Meaning] = {"DIVIDE": quotient, "MODULUS_TRUNCATE": remainder, "MODULUS_FLOOR": modulus}
"""Of two integers and the least one of their type."""
BITS: dict[str, Meaning] = {
    "BIT_AND": lambda width, a, b: a & b,
    "BIT_OR": lambda width, a, b: a | b,
    "BIT_XOR": lambda width, a, b: a ^ b,
    "BIT_NOT": lambda width, x: x ^ ((1 << width) - 1),
    "BIT_COUNT": lambda width, x: bin(x).count("1"),
    "BIT_SHIFT_LEFT": lambda width, a, b: None if b >= width else (a << b) % (1 << width),
    "BIT_SHIFT_RIGHT": lambda width, a, b: None if b >= width else a // 2**b,
}
"""Of the width of an element and patterns."""
