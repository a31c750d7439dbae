"""Attributes of every type: ordinary ones, and sets of numbers around which implementations go wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from dmlcts.specs import DataType, ScalarUnion, ScaleBias
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.models.operators import AttributeTable
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.generation import edge_values

Attributes = Mapping[str, Attribute]
"""All attributes of a description, by name."""

_MOST_SETS = 40
_OTHER_NUMBERS = (
    1.0,
    0.0,
    2.0,
    0.5,
    -1.0,
    3.0,
    -0.25,
    100.0,
    -2.0,
    -0.5,
    4.0,
    1.5,
    -3.0,
    5.0,
    7.0,
    33.0,
    301.0,
    5000001.0,
)
"""The last two are exponents with which a logarithm that is a little off makes another power."""


def ordinary(table: OperatorTable, signature: Signature) -> dict[str, Attribute]:
    """No ScaleBias or fused operator, the first enumerator, the types of the tensors, bounds of -1 and 1, and ones."""
    signed = signature.data_type.is_signed
    values: dict[str, Attribute] = {}
    for item in table.attributes:
        low = -1.0 if signed else 0.0
        if item.type == "ENUM":
            values[item.name] = item.enumerators[0]
        elif item.type in ("DML_SCALE_BIAS", "DML_OPERATOR_DESC"):
            values[item.name] = None
        elif item.type == "DML_TENSOR_DATA_TYPE":
            values[item.name] = type_named(table, signature, item.name).name
        elif item.is_number:
            values[item.name] = number(table, signature, item, low if item.role == "low" else 1.0)
    return values


def variants(table: OperatorTable, signature: Signature, low: float, high: float) -> tuple[Attributes, ...]:
    """What kernels beside another have: the last enumerator, then with a ScaleBias, and each other enumerator.

    Args:
        table: the operator's table.
        signature: what its type variables stand for.
        low: the lower bound.
        high: every other number.
    """
    return _variants(ByIdentity(table), signature, low, high)


@lru_cache(maxsize=1 << 10)
def _variants(
    table_key: ByIdentity[OperatorTable], signature: Signature, low: float, high: float
) -> tuple[Attributes, ...]:
    table = table_key.value
    last = ordinary(table, signature)
    for item in table.attributes:
        if item.is_number:
            last[item.name] = number(table, signature, item, low if item.role == "low" else high)
        elif item.type == "ENUM":
            last[item.name] = item.enumerators[-1]
    alternatives = [last]
    for item in table.attributes:
        if item.type == "DML_SCALE_BIAS":
            alternatives.append({**last, item.name: ScaleBias(2, 1)})
        elif item.type == "ENUM":
            alternatives += [{**last, item.name: name} for name in item.enumerators[:-1]]
    return tuple(map(MappingProxyType, alternatives))


def between(table: OperatorTable, signature: Signature, low: Any = None, high: Any = None) -> dict[str, Attribute]:
    """Ordinary attributes with these bounds, where the operator has such and they are given."""
    bounds = {table.lower: low, table.upper: high}
    return ordinary(table, signature) | {
        item.name: number(table, signature, item, bounds[item.name])
        for item in table.attributes
        if bounds.get(item.name) is not None
    }


def type_named(table: OperatorTable, signature: Signature, name: str) -> DataType:
    """The type that a DML_TENSOR_DATA_TYPE attribute has to name."""
    item = table.attribute(name)
    assert item is not None and item.same_as is not None  # noqa: PT018, S101  # lint asks for it
    return signature[table.tensors[item.same_as].type]


def number(table: OperatorTable, signature: Signature, item: AttributeTable, value: Any) -> Attribute:
    """A number as an attribute of its type; of a union in the type that its other attribute names."""
    if item.type == "DML_SCALAR_UNION":
        assert item.data_type is not None  # noqa: S101  # lint asks for it
        return ScalarUnion.of(type_named(table, signature, item.data_type), value)
    return np.float32(value)


def number_sets(table: OperatorTable, signature: Signature) -> Iterator[dict[str, Attribute]]:
    """Sets of the numbers among the attributes: lows with highs as the boundary lattice has them, and others."""
    lows = [item for item in table.attributes if item.is_number and item.role == "low"]
    highs = [item for item in table.attributes if item.is_number and item.role == "high"]
    others = [item for item in table.attributes if item.is_number and item.role == "other"]
    data_type = signature.data_type
    unions = any(item.type == "DML_SCALAR_UNION" for item in (*lows, *highs))
    pairs = [*edge_values.own_bounds(data_type)] if unions else [*edge_values.bounds(data_type)]
    pairs += [(high, low) for low, high in pairs[:6] if low < high] if lows and highs else []
    if not unions and not data_type.is_floating:  # fractions, of which the casts are seen at the elements beside them
        pairs.append((np.float32(-2.5 if data_type.is_signed else 1.5), np.float32(6.5)))
    choices = pairs if lows or highs else [(None, None)]
    numbers = [fitting_numbers(table, signature, item) for item in others]
    sets = itertools.product(choices, *numbers) if others else ((pair,) for pair in choices)
    for (low, high), *rest in itertools.islice(sets, _MOST_SETS):
        numbers_by_name = {item.name: number(table, signature, item, low) for item in lows}
        numbers_by_name |= {item.name: number(table, signature, item, high) for item in highs}
        yield numbers_by_name | {item.name: value for item, value in zip(others, rest, strict=True)}


def changes(
    table: OperatorTable, signature: Signature, bounds: Iterable[edge_values.Bounds] | None = None
) -> Iterator[dict[str, Any]]:
    """What makes ordinary attributes those of every pair of bounds, or set of numbers, with every enumerator.

    Args:
        table: the operator's.
        signature: what its type variables stand for.
        bounds: pairs for an operator with one input; those of the boundary lattice by default.
    """
    names = table.float_attributes if of_one_type(table) else ()
    enumerations = [(item.name, item.enumerators) for item in table.attributes if item.type == "ENUM"]
    sets: Iterable[dict[str, Any]] = ({},)
    if names:
        ends = (table.lower, table.upper)
        pairs = edge_values.bounds(signature.data_type) if bounds is None else bounds
        sets = ({name: bound for name, bound in zip(ends, pair, strict=False) if name} for pair in pairs)
    elif table.numbers:
        sets = number_sets(table, signature)
    seen = set()
    for change in sets:
        kept = tuple(change.get(name) for name in table.numbers)
        if kept in seen:
            continue
        seen.add(kept)
        if not enumerations:
            yield change
        for name, enumerators in enumerations:
            for enumerator in enumerators:
                yield {**change, name: enumerator}


def far_apart(table: OperatorTable, signature: Signature, bounds: Iterable[AttributeTable]) -> dict[str, Attribute]:
    """Bounds that change some ordinary values, and leave most different from each other."""
    pair: tuple[int, int] = (-2048, 2046)
    if not signature.data_type.is_floating:
        low, high = map(int, edge_values.limits_as_float(signature.data_type))
        pair = (low // 2 if low < 0 else high // 8, high // 4 * 3)
    return {item.name: number(table, signature, item, pair[item.role == "high"]) for item in bounds}


def usual_sets(table: OperatorTable, signature: Signature) -> list[dict[str, Attribute]]:
    """Ordinary attributes with bounds of which kernels often are their own; none where there are no bounds."""
    usual = ordinary(table, signature)
    bounds = [item for item in table.attributes if item.is_number and item.role in ("low", "high")]
    usual_attributes: list[dict[str, Attribute]] = []
    for pair in edge_values.usual_bounds(signature.data_type, as_float=bool(table.float_attributes)) if bounds else ():
        pair_bounds = {item.name: number(table, signature, item, pair[item.role == "high"]) for item in bounds}
        if usual | pair_bounds not in usual_attributes:  # with one bound alone several pairs are the same
            usual_attributes.append(usual | pair_bounds)
    return usual_attributes


def nan_sets(table: OperatorTable, signature: Signature) -> Iterator[dict[str, Attribute]]:
    """Ordinary attributes with NaN for each number in turn, and for all of them; none where there can be no NaN."""
    numbers = [item for item in table.attributes if item.is_number]
    usual = ordinary(table, signature)
    chosen = [*([item] for item in numbers), *([numbers] if len(numbers) > 1 else [])]
    for items in chosen:
        try:
            yield usual | {item.name: number(table, signature, item, np.nan) for item in items}
        except ValueError:
            return  # the type holds none


def fitting_numbers(table: OperatorTable, signature: Signature, item: AttributeTable) -> list[Attribute]:
    """Numbers that an attribute of no bound is tried with, as its type and the tensors hold them."""
    numbers = []
    own = signature.data_type
    for value in _OTHER_NUMBERS:
        if own.is_floating and value > float(np.finfo(own.numpy).max):
            continue
        try:
            numbers.append(number(table, signature, item, value))
        except ValueError:
            continue  # the type does not hold it
    return numbers
