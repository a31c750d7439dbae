"""Descriptions, found usable before anything is made of them: what backends without validation of their own share."""

from __future__ import annotations

import numpy as np

from dmlcts.backends.contract import InvalidArgument
from dmlcts.specs import FeatureLevel, OperatorDesc, TensorDesc, UsageError
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import Violation, violations
from dmlcts.specs.tables import Tables


def checked_table(
    operator: OperatorDesc, level: FeatureLevel, tables: Tables, *, zero_output_strides: bool = True
) -> OperatorTable:
    """The table of ``operator``, once the description has been found usable.

    Args:
        operator: the description.
        level: the feature level that the backend claims.
        tables: the spec tables.
        zero_output_strides: whether an output may have several elements in one place, on which the pages are silent.

    Raises:
        InvalidArgument: the description breaks rules of the tables, each given with its clause, or says what
            DirectML's own cannot even say.
    """
    try:
        table = tables.operator(operator.name)
    except UsageError as error:
        raise InvalidArgument(error.cause) from None
    usable = ("usable", operator.kind)
    known = usable in tables.known_right
    if not known:
        _check_tensor_names(operator, table)
    for name, tensor in operator.tensors.items():
        if tensor.strides and min(tensor.strides) < 0:
            raise InvalidArgument(f"{name} has strides {list(tensor.element_strides)}, which are unsigned in DirectML")
    broken_rules = violations(operator, level, tables)
    if not zero_output_strides and repeats_elements(operator.tensors[table.output]):
        text = f"{table.output} has a stride of zero, so several elements would be written to one place"
        broken_rules = (*broken_rules, Violation("tensor.strides.zero-output", text))
    if broken_rules:
        raise InvalidArgument("; ".join(f"{violation.clause}: {violation.text}" for violation in broken_rules))
    if not known:
        _check_attributes(operator, table)
        _check_activation(operator, tables)
        tables.note_right(usable)
    return table


def _check_attributes(operator: OperatorDesc, table: OperatorTable) -> None:
    """Refuse attributes that the operator does not have."""
    known = [attribute.name for attribute in table.attributes]
    for name in operator.attributes:
        if name not in known:
            raise InvalidArgument(f"{table.operator} has no attribute {name}; it has {', '.join(known) or 'none'}")


def _check_activation(operator: OperatorDesc, tables: Tables) -> None:
    """Refuse an activation with tensors of its own, or with other members than its structure has."""
    activation = operator.activation
    if activation is None:
        return
    if activation.tensors:
        raise InvalidArgument(f"{activation.name} is fused and has tensors, which have to be null")
    numbers = tables.activations[activation.name].numbers
    if sorted(activation.attributes) != sorted(numbers):
        names = ", ".join(activation.attributes) or "none"
        raise InvalidArgument(f"{activation.name} is given {names}; its members are {', '.join(numbers) or 'none'}")
    for name, value in activation.attributes.items():
        if not isinstance(value, np.float32):
            raise InvalidArgument(f"{name} of {activation.name} is {value!r}, not a FLOAT")


def _check_tensor_names(operator: OperatorDesc, table: OperatorTable) -> None:
    """Refuse tensors that the operator does not have, and the lack of those that it must have."""
    needed = {name for name, row in table.tensors.items() if not row.optional}
    if not needed <= operator.tensors.keys() <= table.tensors.keys():
        known = ", ".join(table.tensors)
        raise InvalidArgument(f"the tensors are {sorted(operator.tensors)}; those of {table.operator} are {known}")


def repeats_elements(tensor: TensorDesc) -> bool:
    """Whether a stride of zero puts several elements into one place."""
    strides = tensor.strides
    if strides is None or 0 not in strides:  # packed strides of sizes that are not zero are none
        return False
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.sizes, strides, strict=True))
