"""The tables of the family, and values to try them on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.statements.statement import descriptions
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, is_approximate, signatures
from dmlcts.suites.mutants.first_three import FIRST_THREE
from dmlcts.suites.selftest.family.stated_tables import edges


@cache
def family() -> Tables:
    """The tables of all operators that are judged, read once."""
    return load_tables()


@cache
def exact_tables() -> tuple[OperatorTable, ...]:
    """The tables of operators with exact results, but the first three, which have proofs of their own."""
    return tuple(
        table
        for table in family().operators.values()
        if table.operator not in FIRST_THREE
        and not all(is_approximate(table, signature) for signature in signatures(table))
    )


def every_description() -> Iterator[tuple[OperatorTable, OperatorDesc]]:
    """A description of every exact signature and enumerator, with bounds of -2 and 3 (0 and 3) where it has some."""
    for short_name in exact_operators():
        yield from exact_descriptions(short_name).values()


@cache
def exact_operators() -> tuple[str, ...]:
    """The short names of the operators of :func:`exact_tables`: what tests of them are parametrised by."""
    return tuple(table.short_name for table in exact_tables())


@cache
def exact_descriptions(short_name: str) -> dict[str, tuple[OperatorTable, OperatorDesc]]:
    """One operator's part of :func:`every_description`, by what tests call it."""
    return {
        label(operator): (table, operator)
        for table in exact_tables()
        if table.short_name == short_name
        for _, operator in descriptions_of(table)
        if not is_approximate(table, Signature.of(operator, table))
    }


def exact_description(name: str) -> tuple[OperatorTable, OperatorDesc]:
    """The description that tests call so."""
    return exact_descriptions(name.split("-")[0])[name]


def descriptions_of(table: OperatorTable) -> Iterator[tuple[str, OperatorDesc]]:
    """A description of every signature and enumerator of a table, with such bounds, by what tests call it."""
    for operator in descriptions(table):
        bounded = with_bounds(table, operator, -2, 3)
        yield label(bounded), bounded


def with_bounds(table: OperatorTable, operator: OperatorDesc, low: float, high: float) -> OperatorDesc:
    """The description with other numbers, by their role; the lower one is 0 on unsigned types."""
    argument = dict(operator.attributes)
    data_type = operator.tensors[table.output].data_type
    if not data_type.is_signed:
        low = max(low, 0)
    for item in table.attributes:
        value = low if item.role == "low" else high
        if item.type == "FLOAT":
            argument[item.name] = np.float32(value)
        elif item.type == "DML_SCALAR_UNION":
            argument[item.name] = ScalarUnion.of(data_type, value)
    return OperatorDesc(operator.name, operator.tensors, argument)


def label(operator: OperatorDesc) -> str:
    """What a test calls a description."""
    types = dict.fromkeys(tensor.data_type.name for tensor in operator.tensors.values())
    words = [value for value in operator.attributes.values() if isinstance(value, str)]
    chosen = [value for value in words if value not in DataType.__members__]
    return "-".join([operator.name.removeprefix("ELEMENT_WISE_"), *types, *chosen])


def values(table: OperatorTable, operator: OperatorDesc, most: int) -> dict[str, np.ndarray]:
    """Elements of every input by the formula's names: combinations of edges, spread evenly, at most so many.

    Besides there are pairs of equal operands and of neighbours, and every combination of limits and small numbers.
    """
    names = table.formula_names
    columns = [_patterns(operator.tensors[member].data_type) for member in names.values()]
    grids = np.meshgrid(*(np.arange(len(column)) for column in columns), indexing="ij")
    places = [grid.ravel() for grid in grids]
    chosen = np.unique(np.linspace(0, len(places[0]) - 1, min(most, len(places[0]))).astype(np.int64))
    rows = [place[chosen] for place in places]
    if len(columns) > 1:
        along = np.arange(len(columns[-1]))
        for last in (along, along + 1):  # equal operands, and neighbours
            shifts = [*[along] * (len(columns) - 1), last]
            rows = [
                np.concatenate([row, more % len(column)])
                for row, more, column in zip(rows, shifts, columns, strict=True)
            ]
        corners = np.meshgrid(*(_corners(column) for column in columns), indexing="ij")
        rows = [np.concatenate([row, corner.ravel()]) for row, corner in zip(rows, corners, strict=True)]
    return {name: column[row] for name, column, row in zip(names, columns, rows, strict=True)}


def _corners(column: np.ndarray) -> np.ndarray:
    """The places of the numbers whose combinations are never left out: -1, 0, 1 and the limits of the type."""
    ordinary = np.flatnonzero(np.isin(column, np.array([-1, 0, 1]).astype(column.dtype)))
    return np.concatenate([ordinary, [np.nanargmin(column), np.nanargmax(column)]])


def _patterns(data_type: DataType) -> np.ndarray:
    result = edges(data_type)
    if not data_type.is_floating:
        return result
    bits = result.view(data_type.bits_dtype)
    quiet = np.array(np.nan, data_type.numpy).view(data_type.bits_dtype)
    payloads = quiet | np.array([1, 5], data_type.bits_dtype)
    return np.concatenate([bits, payloads, bits[:4] + data_type.bits_dtype.type(1)]).view(data_type.numpy)


def rows(value: dict[str, np.ndarray]) -> list[dict[str, int]]:
    """The same as patterns, an element at a time."""
    columns = [array.view(f"u{array.dtype.itemsize}").tolist() for array in value.values()]
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
