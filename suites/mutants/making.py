"""How a row becomes a mutant: a class whose results for one operator go through a function that spoils them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc
from dmlcts.specs.models import Clause
from dmlcts.suites.mutants.formulas import Array, numbers
from dmlcts.suites.mutants.reference import Reference

LEVEL = "6.4"
Fault = Callable[..., Any]


class _Wrong(Reference):
    """Right, but that the results of one operator go through :attr:`fault`, on the types of :attr:`types`."""

    level = LEVEL
    fault: Fault
    types: str = ""
    takes_numbers = False

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        """The spoiled results where the fault strikes."""
        right = super().compute_exact(operator, inputs)
        if operator.name != self.operator or (self.types and not has(self.types, inputs[-1].dtype)):
            return right
        more = numbers(operator, self.cast) if self.takes_numbers else ()
        return np.asarray(type(self).fault(right, *inputs, *more))


def has(types: str, dtype: np.dtype[Any]) -> bool:
    """Whether a type is one of "int", "uint", "float", or of "int64" and the like; "integer" is both of the first."""
    kinds = {"integer": "iu", "int": "i", "uint": "u", "float": "f"}
    return any(dtype.name == word or dtype.kind in kinds.get(word, "") for word in types.split())


@dataclass(frozen=True)
class Row:
    """One fault.

    Attributes:
        operator: its short name.
        wording: what is wrong, in a sentence; the mutant's docstring.
        fault: makes the wrong results of the right ones, the operands and, where ``bounds``, Min and Max or the mode.
        clause: the clause that breaks, without the operator's prefix.
        types: the types of the last operand on which it strikes, as :func:`has` reads them; all where empty.
        bounds: whether the fault is given the attributes too.
        modelled_on: the public bug that it was modelled on.
        needs: as a mutant's.
    """

    operator: str
    wording: str
    fault: Fault
    clause: str = "formula"
    types: str = ""
    bounds: bool = False
    modelled_on: str = ""
    needs: str = ""


def made(module: str, rows: Mapping[str, Row]) -> dict[str, type[Reference]]:
    """The mutants of a module's rows, by their names."""
    mutants_by_name: dict[str, type[Reference]] = {}
    for name, row in rows.items():
        members = {
            "__doc__": row.wording,
            "__module__": module,
            "operator": f"ELEMENT_WISE_{row.operator}",
            "clause": f"{row.operator.lower().replace('_', '-')}.{row.clause}",
            "fault": staticmethod(row.fault),
            "types": row.types,
            "takes_numbers": row.bounds,
            "modelled_on": row.modelled_on,
            "needs": row.needs,
        }
        mutants_by_name[name] = type(name, (_Wrong,), members)
    return mutants_by_name


# What faults are made of.


def through(kind: Any, function: Fault) -> Fault:
    """A function computed in another type, the operands converted to it and the result back."""
    return lambda y, *xs: _back(function(*(x.astype(kind) for x in xs)), y.dtype)


def _back(values: Any, dtype: np.dtype[Any]) -> Array:
    values = np.asarray(values)
    if dtype.kind not in "iu" or values.dtype.kind != "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    clipped = np.clip(np.nan_to_num(np.trunc(values.astype(np.float64))), float(limits.min), float(limits.max))
    return np.where(clipped >= float(limits.max), limits.max, clipped.astype(dtype)).astype(dtype)


def low_words(x: Array) -> Array:
    """The lower 32 bits of each 64."""
    return (x.view(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def high_words(x: Array) -> Array:
    """The upper 32 bits of each 64, with the sign of the type."""
    words = (x.view(np.uint64) >> np.uint64(32)).astype(np.uint32)
    return words.view(np.int32) if x.dtype.kind == "i" else words


def in_halves(compare: Fault) -> Fault:
    """A comparison of 64-bit integers that takes the high words, and the low ones as signed where those are equal."""

    def compared(y: Array, a: Array, b: Array) -> Array:
        return np.where(
            high_words(a) == high_words(b),
            compare(low_words(a).view(np.int32), low_words(b).view(np.int32)),
            compare(high_words(a), high_words(b)),
        )

    return compared


def as_other_sign(function: Fault) -> Fault:
    """A function of integers taken for those of the other sign."""

    def computed(y: Array, *xs: Array) -> Any:
        results = np.asarray(
            function(*(x.view(f"{'i' if x.dtype.kind == 'u' else 'u'}{x.dtype.itemsize}") for x in xs))
        )
        return results if results.dtype == bool else results.view(y.dtype)

    return computed


def exact_of(function: Callable[[int, int], int], a: Array, b: Array) -> Array:
    """A function of the exact integers, as Python's own."""
    return np.asarray(np.frompyfunc(function, 2, 1)(a.astype(object), b.astype(object)))


def outside(exact: Array, dtype: np.dtype[Any]) -> Array:
    """Which exact integers the type does not hold."""
    limits = np.iinfo(dtype)
    return ((exact < int(limits.min)) | (exact > int(limits.max))).astype(bool)


def named(clause: Clause, suffix: str) -> str:
    """A mutant's name of the clause that it breaks: ``AddConstraintSizesOverlooked``."""
    words = clause.id.replace(".", "-").split("-")
    return "".join(word.capitalize() for word in words) + suffix
