"""Bounds and conditions as lists of steps: what an expression says twice is found once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dmlcts.specs.formula import Call, Expression, Name, Number
from dmlcts.specs.functions import FUNCTIONS

_OF_RESULTS = frozenset({"t", "ulp"})
_MOST = 512

Known = dict[int, Any]
"""The values of steps by their place."""


@dataclass(frozen=True)
class _Step:
    """One function of earlier steps."""

    place: int
    function: Callable[..., Any]
    operands: tuple[int, ...]


class Steps:
    """An expression over FLOAT64, ready to be evaluated many times.

    Args:
        expression: a bound or a condition.
    """

    def __init__(self, expression: Expression) -> None:
        self._places: dict[tuple[Any, ...], int] = {}
        self._numbers: Known = {}
        self._names: list[tuple[int, str]] = []
        self._fixed: list[_Step] = []
        self._moving: list[_Step] = []
        self._of_results: set[int] = set()
        self._last = self._placed(expression)

    def _placed(self, expression: Expression) -> int:
        match expression:
            case Name(name):
                key: tuple[Any, ...] = ("name", name)
            case Number(value):
                key = ("number", float(value).hex())  # 0 and -0 are equal, and two numbers
            case Call(name, arguments):
                key = (name, *map(self._placed, arguments))
            case _:
                raise AssertionError(f"lint refuses {expression} as a bound")
        if key not in self._places:
            self._places[key] = len(self._places)
            self._add(expression, self._places[key], key)
        return self._places[key]

    def _add(self, expression: Expression, place: int, key: tuple[Any, ...]) -> None:
        match expression:
            case Name(name):
                self._names.append((place, name))
                moving = name in _OF_RESULTS
            case Number(value):
                self._numbers[place] = np.asarray(value, np.float64)
                moving = False
            case _:
                step = _Step(place, _function(key[0]), key[1:])
                moving = not self._of_results.isdisjoint(step.operands)
                (self._moving if moving else self._fixed).append(step)
        if moving:
            self._of_results.add(place)

    def value(self, names: Mapping[str, Any], known: Known | None = None) -> Any:
        """The expression's value.

        Args:
            names: arrays of FLOAT64 by the names that the expression has for them.
            known: what evaluations of this expression share whose ``names`` differ in ``t`` and ``ulp`` alone; empty
                for the first of them.
        """
        known = {} if known is None else known
        if not known:
            known.update(self._numbers)
            known.update((place, names[name]) for place, name in self._names if name not in _OF_RESULTS)
            _run(self._fixed, known)
        if not self._moving and self._last in known:
            return known[self._last]
        values = known | {place: names[name] for place, name in self._names if name in _OF_RESULTS}
        _run(self._moving, values)
        return values[self._last]


def _run(steps: list[_Step], values: Known) -> None:
    for step in steps:
        values[step.place] = step.function(*[values[place] for place in step.operands])


def _function(name: str) -> Callable[..., Any]:
    if name == "select":
        return np.where
    arrays = FUNCTIONS[name].arrays
    function: Callable[..., Any] | None = arrays.truth or arrays.compared or arrays.real or arrays.ufunc
    if function is None:
        raise AssertionError(f"lint refuses {name} in a bound")
    return function


class _Same:
    """An expression that is compared by identity: comparing its text takes time."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __hash__(self) -> int:
        return id(self.expression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.expression is self.expression


@lru_cache(maxsize=_MOST)
def _kept(same: _Same) -> Steps:
    return Steps(same.expression)


def steps_of(expression: Expression) -> Steps:
    """An expression as a list of steps; kept, so that the same object gives the same list."""
    return _kept(_Same(expression))
