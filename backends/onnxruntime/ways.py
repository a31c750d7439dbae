"""Ways to make a description a model: what stands in the model, and what each run of it is given.

To load a model takes far longer than to run it, with some providers a thousand times. A model whose dimensions are left
open serves all sizes of a rank; one whose bounds are inputs serves all of them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dmlcts.backends.onnxruntime.models import Node
from dmlcts.specs import TensorDesc

Shapes = Literal["exact", "dynamic", "row"]
Bounds = Literal["constant", "input"]
ALL_SHAPES: tuple[Shapes, ...] = ("exact", "dynamic", "row")
SHAPES: tuple[Shapes, ...] = ("dynamic", "exact")  # those that "auto" tries, in this order
BOUNDS: tuple[Bounds, ...] = ("input", "constant")
_LONGEST_ROW = 65_536  # few tensors are longer, and a row of four times their elements may be more than a device takes
_EXTRA = 3  # elements beyond what vectors hold evenly, so that their ends are judged as well


@dataclass(frozen=True)
class Way:
    """How descriptions become models.

    Attributes:
        shapes: "exact": the sizes stand in the model; "dynamic": it has the rank alone; "row": the elements are one
            row of 19, 67, 259, … elements, filled up with themselves; from 65,537 elements on, of their own number.
        bounds: "constant": Min and Max are initializers of the model; "input": inputs of it.
    """

    shapes: Shapes = "exact"
    bounds: Bounds = "constant"

    def in_model(self, name: str, tensor: TensorDesc, node: Node) -> list[int | str]:
        """A tensor's dimensions in the model; those that are left open have names."""
        if self.shapes == "dynamic":
            length: int | str = "n"
        else:
            length = self.length(tensor)
        if node.columns:
            return [length, 1] if name in node.columns else [length]
        if self.shapes == "row":
            return [length]
        return [f"n{axis}" for axis in range(len(tensor.sizes))] if self.shapes == "dynamic" else list(tensor.sizes)

    def bound(self, name: str, tensor: TensorDesc, node: Node) -> tuple[int, ...]:
        """The sizes of the array that a run is given for a tensor."""
        length = self.length(tensor)
        if node.columns:
            return (length, 1) if name in node.columns else (length,)
        return (length,) if self.shapes == "row" else tensor.sizes

    def length(self, tensor: TensorDesc) -> int:
        """How many elements a run is given for a tensor."""
        count = math.prod(tensor.sizes)
        if self.shapes != "row" or count > _LONGEST_ROW:
            return count
        length = 16
        while length + _EXTRA < count:
            length *= 4
        return length + _EXTRA

    def key(self, node: Node, tensors: Mapping[str, TensorDesc]) -> Hashable:
        """What models have in common that are the same."""
        shapes = tuple((name, tensor.data_type, *self.in_model(name, tensor, node)) for name, tensor in tensors.items())
        values = {name: np.asarray(value).tobytes() for name, value in node.values.items()}
        attributes = tuple((name, _bits(value)) for name, value in node.attributes.items())
        constants = tuple(values.items()) if self.bounds == "constant" else tuple(values)
        return self, node.operator, attributes, node.conditions, constants, shapes


def _bits(value: Any) -> Hashable:
    """A value that differs where its bits differ: -0.0 is not 0.0, and a NaN is itself."""
    return np.float64(value).tobytes() if isinstance(value, float) else str(value)


def ways_of(shapes: str, bounds: str) -> tuple[Way, ...]:
    """The ways that options leave, the one that needs fewest models first.

    Args:
        shapes: a name of :data:`Shapes`, or "auto".
        bounds: a name of :data:`Bounds`, or "auto".
    """
    first = SHAPES if shapes == "auto" else tuple(name for name in ALL_SHAPES if name == shapes)
    second = tuple(name for name in BOUNDS if bounds in ("auto", name))
    return tuple(Way(sizes, values) for sizes in first for values in second)
