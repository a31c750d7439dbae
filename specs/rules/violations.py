"""The description rules: which operator descriptions DirectML must refuse, and by which clause.

Backends that have no validation of their own call :func:`violations` in ``create``; the suite uses the
same function to know what an implementation must accept. Sources: the operator pages, and DirectML's
pages on DML_BUFFER_TENSOR_DESC and its helper functions (see ``shared/tensors.yaml``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.descriptions import OperatorDesc, TensorDesc
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.fusing import fused_attribute


@dataclass(frozen=True, init=False)
class Violation:
    """One rule that a description breaks: the clause's id and what is wrong."""

    clause: str
    text: str

    def __init__(self, clause: str, text: str) -> None:
        put = self.__dict__  # as object.__setattr__ would, in half the time: a run makes ten thousands
        put["clause"] = clause
        put["text"] = text


def _is_usual(tensors: Collection[TensorDesc], limits: Mapping[str, int], *, any_types: bool) -> bool:
    """Whether the tensors are of one shape and within the limits, and of one type or any types: nearly always."""
    if not tensors:
        return True
    first = next(iter(tensors))
    sizes, data_type = first.sizes, first.data_type
    if not (
        limits["rank_min"] <= len(sizes) <= limits["rank_max"]
        and limits["size_min"] <= min(sizes)
        and first.element_count <= limits["elements_max"]
    ):
        return False
    for tensor in tensors:
        if tensor.sizes != sizes or not (any_types or tensor.data_type is data_type):
            return False
        if tensor.total_size_in_bytes < tensor.minimum_size_in_bytes:
            return False
    return True


def _tensor_violations(name: str, tensor: TensorDesc, limits: Mapping[str, int]) -> Sequence[Violation]:
    sizes = tensor.sizes
    if (
        limits["rank_min"] <= len(sizes) <= limits["rank_max"]
        and limits["size_min"] <= min(sizes)
        and tensor.element_count <= limits["elements_max"]
        and tensor.total_size_in_bytes >= tensor.minimum_size_in_bytes
    ):
        return ()
    broken_rules = []
    if tensor.rank < limits["rank_min"]:
        broken_rules.append(Violation("tensor.rank.minimum", f"{name} has no dimensions"))
    if tensor.rank > limits["rank_max"]:
        broken_rules.append(Violation("tensor.rank.maximum", f"{name} has {tensor.rank} dimensions"))
    if any(size < limits["size_min"] for size in tensor.sizes):
        broken_rules.append(Violation("tensor.size.zero", f"{name} has sizes {list(tensor.sizes)}"))
    if tensor.element_count > limits["elements_max"]:
        broken_rules.append(Violation("tensor.elements.maximum", f"{name} has {tensor.element_count} elements"))
    if tensor.total_size_in_bytes < tensor.minimum_size_in_bytes:
        needed = f"{tensor.total_size_in_bytes} bytes where sizes and strides need {tensor.minimum_size_in_bytes}"
        broken_rules.append(Violation("tensor.total-size.minimum", f"{name} has {needed}"))
    return broken_rules


def _clause(table: OperatorTable, check: OwnCheck) -> str:
    """The id of the operator's clause that ``check`` checks; where the table has none, the id that it would have."""
    return table.clause_of(check) or f"{table.prefix}.{check}"


_COMPARED: Mapping[str, tuple[OwnCheck, Callable[[TensorDesc], Any], Callable[[Any], object]]] = {
    "DataType": ("constraint.data-type", attrgetter("data_type"), attrgetter("name")),
    "DimensionCount": ("constraint.dimension-count", attrgetter("rank"), int),
    "Sizes": ("constraint.sizes", attrgetter("sizes"), list),
}
"""By what has to be the same: the clause's check, what reads it from a tensor, and what makes it what a text says."""


def _constraint_violations(operator: OperatorDesc, table: OperatorTable) -> Sequence[Violation]:
    tensors = operator.tensors
    types, sizes = [tensor.data_type for tensor in tensors.values()], [tensor.sizes for tensor in tensors.values()]
    of_one_type, of_one_shape = (
        (types.count(types[0]) == len(types), sizes.count(sizes[0]) == len(sizes)) if types else (True, True)
    )
    if of_one_type and of_one_shape:
        return ()  # whatever the table compares
    broken_rules = []
    for group in table.constraints:
        there = [name for name in group.tensors if name in tensors]
        if not there:
            continue
        for constraint in group.same:
            counting = group.counting and constraint == "DataType"
            if not counting and (of_one_type if constraint == "DataType" else of_one_shape):
                continue  # those of like sizes are of like rank
            check, read, formatter = _COMPARED[constraint]
            readings = [read(tensors[name]) for name in there]
            if not counting:
                place = next((number for number, reading in enumerate(readings) if reading != readings[0]), 0)
                if place:  # seldom
                    first, other = formatter(readings[0]), formatter(readings[place])
                    text = f"{constraint} of {there[0]} is {first}, of {there[place]} {other}"
                    broken_rules.append(Violation(_clause(table, check), text))
                continue
            values = {name: formatter(reading) for name, reading in zip(there, readings, strict=True)}
            counted = [pair for type_name, pair in group.counting.items() if values.get(group.tensors[0]) == type_name]
            if counted:
                values[group.tensors[0]] = counted[0]
            other = next((name for name in there if values[name] != values[there[0]]), None)
            if other is not None:
                text = f"{constraint} of {there[0]} is {values[there[0]]}, of {other} {values[other]}"
                broken_rules.append(Violation(_clause(table, "constraint.type-pair"), text))
    return broken_rules


def _enumerator_violations(operator: OperatorDesc, table: OperatorTable) -> list[Violation]:
    """Numbers that an enumeration does not define: the pages are silent, so they may be refused."""
    return [
        Violation(_clause(table, "enumerator.undefined"), f"{item.name} is {number}, which has no name")
        for item in table.attributes
        if item.type == "ENUM" and isinstance(number := operator.attributes.get(item.name), np.uint32)
    ]


def _type_violations(operator: OperatorDesc, table: OperatorTable) -> list[Violation]:
    """A DML_TENSOR_DATA_TYPE that is not the type of the tensor that it has to agree with."""
    broken_rules = []
    for item in table.type_attributes:
        if item.same_as is None or item.same_as not in operator.tensors:
            continue
        actual, wanted = operator.attributes.get(item.name), operator.tensors[item.same_as].data_type.name
        if actual != wanted:
            text = f"{item.name} is {actual}, where {item.same_as} holds {wanted}"
            broken_rules.append(Violation(_clause(table, "constraint.attribute-type"), text))
    return broken_rules


def unconditional_violations(
    operator: OperatorDesc, tables: Tables, *, right_types: bool = False
) -> tuple[Violation, ...]:
    """The rules that ``operator`` breaks whatever the feature level: such a description must be refused.

    Args:
        operator: the description.
        tables: the spec tables.
        right_types: whether its types are known to go together.
    """
    table, limits = tables.operator(operator.name), tables.limits
    broken_rules: list[Violation] = []
    if not _is_usual(operator.tensors.values(), limits, any_types=right_types):
        for name, tensor in operator.tensors.items():
            broken_rules += _tensor_violations(name, tensor, limits)
        broken_rules += _constraint_violations(operator, table)
    if table.type_attributes:
        broken_rules += _type_violations(operator, table)
    return tuple(broken_rules)


def _unlisted(operator: OperatorDesc, table: OperatorTable) -> list[Violation]:
    """Types that no level lists: they may be refused, or accepted and then be right."""
    return [
        Violation(
            _clause(table, "support.unlisted"), f"no feature level lists {tensor.data_type.name} for {table.short_name}"
        )
        for name, tensor in operator.tensors.items()
        if tensor.data_type not in table.types_of(name)
    ]


def _activation_violations(operator: OperatorDesc, level: FeatureLevel, tables: Tables) -> list[Violation]:
    """An activation that the list does not have, or that only a later level has."""
    activation, table = operator.activation, tables.operator(operator.name)
    if activation is None:
        return []
    known = tables.activations.get(activation.name)
    if known is None or fused_attribute(table) is None:
        text = f"{activation.name} is not among the activations that may be fused to {table.short_name}"
        return [Violation(_clause(table, "activation.unlisted"), text)]
    if known.feature_level > level:
        text = f"feature level {level} does not list {activation.name}"
        return [Violation(_clause(table, "activation.later-level"), text)]
    return []


def violations(operator: OperatorDesc, level: FeatureLevel, tables: Tables) -> tuple[Violation, ...]:
    """Everything for which an implementation of ``level`` may refuse ``operator``.

    Args:
        operator: the description.
        level: the feature level that the implementation claims.
        tables: the spec tables.

    Returns:
        The broken rules in a fixed order; empty where the level obliges the implementation to accept.

    Raises:
        UsageError: no table describes ``operator.name``.
    """
    table = tables.operator(operator.name)
    last = tables.last_wrong.get(level)
    if last is not None and last[0] is operator:  # whoever refuses it and whoever judges that ask one after the other
        known: tuple[Violation, ...] = last[1]
        return known
    kind = (level, operator.kind, *[len(tensor.sizes) for tensor in operator.tensors.values()])
    if kind in tables.known_right:
        broken = unconditional_violations(operator, tables, right_types=True)
        if broken:
            tables.last_wrong[level] = operator, broken
        return broken
    broken_rules = [
        *unconditional_violations(operator, tables),
        *_unlisted(operator, table),
        *_enumerator_violations(operator, table),
        *_activation_violations(operator, level, tables),
    ]
    tensors = {name: (tensor.data_type, tensor.rank) for name, tensor in operator.tensors.items()}
    if not broken_rules and not table.supports(tensors, level):
        types = dict.fromkeys(data_type.name for data_type, _ in tensors.values())
        ranks = dict.fromkeys(str(rank) for _, rank in tensors.values())
        text = (
            f"feature level {level} does not list {table.short_name} on {' to '.join(types)} "
            f"with {' and '.join(ranks)} dimensions"
        )
        broken_rules.append(Violation(_clause(table, "support.later-level"), text))
    if not broken_rules:
        tables.note_right(kind)
        return ()
    tables.last_wrong[level] = operator, tuple(broken_rules)
    return tuple(broken_rules)
