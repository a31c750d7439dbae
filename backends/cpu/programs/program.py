"""What a program is, and what programs read of a description: how one block of elements is computed.

A program is a function of the blocks of all inputs (in the order of the operator's page), a target block and a scratch
block, all of one shape, that writes the target. The target may be the same memory as any of the inputs, element by
element, so a program reads the inputs for the last time in the call that first writes the target. The scratch has the
target's type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import InvalidArgument
from dmlcts.specs import DataType, OperatorDesc, ScaleBias

Array = NDArray[Any]
Program = Callable[[Sequence[Array], Array, Array], None]
Maker = Callable[[OperatorDesc], Program]


def bits(block: Array) -> Array:
    """The same elements as unsigned integers of their width."""
    return block.view(f"u{block.dtype.itemsize}")


def of_ufunc(function: np.ufunc) -> Program:
    """The program that is one function of numpy."""

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        function(*sources, out=target)

    return program


def limits(data_type: DataType) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    type_info = np.iinfo(data_type.numpy)
    return int(type_info.min), int(type_info.max)


def float_attribute(operator: OperatorDesc, name: str) -> np.float32:
    """A FLOAT attribute.

    Raises:
        InvalidArgument: it is none.
    """
    value = operator.attributes.get(name)
    if not isinstance(value, np.float32):
        raise InvalidArgument(f"{name} is {value!r}, not a FLOAT")
    return value


def scale_bias_attribute(operator: OperatorDesc) -> ScaleBias | None:
    """The ScaleBias, or ``None`` where there is none.

    Raises:
        InvalidArgument: it is something else.
    """
    value = operator.attributes.get("ScaleBias")
    if value is not None and not isinstance(value, ScaleBias):
        raise InvalidArgument(f"ScaleBias is {value!r}, not a ScaleBias or None")
    return value


def enumerator_attribute(operator: OperatorDesc, name: str, known: Sequence[str]) -> str:
    """An enumerator's name.

    Raises:
        InvalidArgument: it is none of those known.
    """
    value = operator.attributes.get(name)
    if not isinstance(value, str) or value not in known:
        raise InvalidArgument(f"{name} is {value!r}, not one of {', '.join(known)}")
    return value
