"""What mutants of several subjects are made of: faults that strike under a condition, other strides, other positions.

No mutant itself: the catalogue passes this module over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, Region, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Reference

Bindings = Mapping[str, Region]
Strides = tuple[int, ...]


# -- what a description is like ----------------------------------------------------------------------------


def packed(sizes: Sequence[int]) -> Strides:
    """Packed row-major strides."""
    return tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))


def strided(tensor: TensorDesc) -> bool:
    """Whether any element stands elsewhere than in a packed tensor."""
    own = packed(tensor.sizes)
    return any(
        size > 1 and stride != usual
        for size, stride, usual in zip(tensor.sizes, tensor.element_strides, own, strict=True)
    )


def broadcast(tensor: TensorDesc) -> bool:
    """Whether a dimension of more than one element has a stride of zero."""
    return any(size > 1 and not stride for size, stride in zip(tensor.sizes, tensor.element_strides, strict=True))


def moving(tensor: TensorDesc) -> Strides:
    """The strides that move the position: those of dimensions of more than one element, without zeros."""
    return tuple(
        stride for size, stride in zip(tensor.sizes, tensor.element_strides, strict=True) if size > 1 and stride
    )


def permuted(tensor: TensorDesc) -> bool:
    """Whether the strides that move the position do not fall from the first dimension to the last."""
    strides = moving(tensor)
    return list(strides) != sorted(strides, reverse=True)


def padded(tensor: TensorDesc) -> bool:
    """Whether there are gaps, nothing is repeated, and the dimensions are in the usual order."""
    return strided(tensor) and not broadcast(tensor) and not permuted(tensor)


def larger(tensor: TensorDesc) -> bool:
    """Whether the total size is larger than sizes and strides ask for, in whole words."""
    return tensor.total_size_in_bytes > (tensor.minimum_size_in_bytes + 3) // 4 * 4


def wide(tensor: TensorDesc) -> int:
    """How many dimensions have more than one element."""
    return sum(size > 1 for size in tensor.sizes)


def span(tensor: TensorDesc) -> int:
    """Elements from the first to the last in memory, both included."""
    return tensor.minimum_size_in_bytes // tensor.data_type.itemsize


def in_place(bindings: Bindings) -> bool:
    """Whether the output is bound to the input's region."""
    return bindings["InputTensor"] == bindings["OutputTensor"]


def scaled(operator: OperatorDesc) -> bool:
    """Whether there is a ScaleBias."""
    return isinstance(operator.attributes.get("ScaleBias"), ScaleBias)


def inverted(operator: OperatorDesc) -> bool:
    """Whether CLIP's Min is greater than its Max."""
    low, high = operator.attributes.get("Min"), operator.attributes.get("Max")
    return isinstance(low, np.float32) and isinstance(high, np.float32) and bool(low > high)


# -- other descriptions ------------------------------------------------------------------------------------


def changed(operator: OperatorDesc, **attributes: Any) -> OperatorDesc:
    """The operator with other attributes; those that it does not have stay away."""
    kept = {name: value for name, value in attributes.items() if name in operator.attributes}
    return replace(operator, attributes={**operator.attributes, **kept})


def rescaled(operator: OperatorDesc, scale: Any = None, bias: Any = None) -> OperatorDesc:
    """The operator with another scale or bias, where it has a ScaleBias; ``None`` keeps what it has."""
    scale_bias = operator.attributes.get("ScaleBias")
    if not isinstance(scale_bias, ScaleBias):
        return operator
    factors = ScaleBias(scale_bias.scale if scale is None else scale, scale_bias.bias if bias is None else bias)
    return changed(operator, ScaleBias=factors)


def restrided(operator: OperatorDesc, source: Strides | None, target: Strides | None) -> OperatorDesc:
    """The operator with other strides and the total sizes that go with them."""
    tensors = {
        "InputTensor": TensorDesc(operator.input.data_type, operator.input.sizes, source),
        "OutputTensor": TensorDesc(operator.output.data_type, operator.output.sizes, target),
    }
    return replace(operator, tensors=tensors)


# -- bases -------------------------------------------------------------------------------------------------


class Restrided(Reference):
    """Elements are addressed by other strides than the description's; accesses beyond the memory do nothing."""

    def source(self, operator: OperatorDesc) -> Strides:
        """The strides that the input is read with."""
        return operator.input.element_strides

    def target(self, operator: OperatorDesc) -> Strides:
        """The strides that the output is written with."""
        return operator.output.element_strides

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run with the strides of :meth:`source` and :meth:`target`."""
        seen = restrided(operator, self.source(operator), self.target(operator))
        end = max(bindings[name].offset + tensor.minimum_size_in_bytes for name, tensor in seen.tensors.items())
        enough = memory if end <= memory.size else np.concatenate([memory, np.zeros(end - memory.size, np.uint8)])
        super().dispatch(seen, enough, bindings)
        if enough is not memory:
            memory[...] = enough[: memory.size]


class Conditional(Reference):
    """A fault that strikes only where several things come together; elsewhere everything is right."""

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Whether this dispatch meets the fault."""
        raise NotImplementedError

    def instead(self, operator: OperatorDesc) -> OperatorDesc:
        """The operator whose values the struck elements get."""
        return operator

    def wrong(self, operator: OperatorDesc, x: Array) -> Array:
        """The values that the struck elements get."""
        return self.compute(self.instead(operator), x)

    def struck(self, operator: OperatorDesc, count: int) -> slice:
        """Which flat elements get them: all, unless said otherwise."""
        return slice(0, count)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Right values, the struck elements wrong."""
        if not self.strikes(operator, bindings):
            super().dispatch(operator, memory, bindings)
            return
        x = self.read(memory, bindings["InputTensor"], operator.input)
        with np.errstate(all="ignore"):
            where = self.struck(operator, x.size)
            y = np.ascontiguousarray(self.compute(operator, x)).reshape(-1)
            y[where] = np.ascontiguousarray(self.wrong(operator, x)).reshape(-1)[where]
        self.write(memory, bindings["OutputTensor"], operator.output, y.reshape(x.shape))


class Displaced(Reference):
    """Elements stand at other positions than the dot product of coordinates and strides says."""

    def lost_input(self, operator: OperatorDesc) -> bool:
        """Whether the input's positions are wrong."""
        return False

    def lost_output(self, operator: OperatorDesc) -> bool:
        """Whether the output's positions are wrong."""
        return False

    def position(self, tensor: TensorDesc) -> Array:
        """The positions that are used, in elements from the region's start, in the tensor's shape.

        What lies beyond the tensor is neither read (zero comes instead) nor written.
        """
        raise NotImplementedError

    def places(self, tensor: TensorDesc) -> Array:
        """The right positions: the dot product of coordinates and strides."""
        positions = np.zeros(tensor.sizes, np.int64)
        for axis, (size, stride) in enumerate(zip(tensor.sizes, tensor.element_strides, strict=True)):
            shape = [1] * tensor.rank
            shape[axis] = size
            positions += (np.arange(size, dtype=np.int64) * stride).reshape(shape)
        return positions

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Gather and scatter by the wrong positions where they are wrong."""
        lost_input, lost_output = self.lost_input(operator), self.lost_output(operator)
        if not lost_input and not lost_output:
            super().dispatch(operator, memory, bindings)
            return
        x = self.gathered(memory, bindings, operator.input) if lost_input else None
        if x is None:
            x = self.read(memory, bindings["InputTensor"], operator.input)
        with np.errstate(all="ignore"):
            y = self.compute(operator, x)
        if lost_output:
            self.scatter(memory, bindings, operator.output, y)
        else:
            self.write(memory, bindings["OutputTensor"], operator.output, y)

    def gathered(self, memory: Array, bindings: Bindings, tensor: TensorDesc) -> Array:
        """The input's elements at the wrong positions."""
        flat, position = self._flat(memory, bindings["InputTensor"], tensor), self.position(tensor)
        inside = (position >= 0) & (position < flat.size)
        return np.where(inside, flat[np.where(inside, position, 0)], flat.dtype.type(0))

    def scatter(self, memory: Array, bindings: Bindings, tensor: TensorDesc, values: Array) -> None:
        """Store the output's elements at the wrong positions."""
        flat, position = self._flat(memory, bindings["OutputTensor"], tensor), self.position(tensor)
        inside = (position >= 0) & (position < flat.size)
        flat[position[inside]] = values[inside]

    def _flat(self, memory: Array, region: Region, tensor: TensorDesc) -> Array:
        end = region.offset + tensor.minimum_size_in_bytes
        return memory[region.offset : end].view(tensor.data_type.numpy)


def read_by(strides: Strides, memory: Array, region: Region, tensor: TensorDesc) -> Array:
    """The elements of a tensor at the places that other strides name; 0 beyond its end."""
    flat = memory[region.offset : region.offset + tensor.minimum_size_in_bytes].view(tensor.data_type.numpy)
    places = np.zeros(tensor.sizes, np.int64)
    for axis, (size, stride) in enumerate(zip(tensor.sizes, strides, strict=True)):
        shape = [1] * tensor.rank
        shape[axis] = size
        places += (np.arange(size) * stride).reshape(shape)
    inside = places < flat.size
    return np.where(inside, flat[np.where(inside, places, 0)], flat.dtype.type(0))


class OfOneType(Reference):
    """The results of one operator, on one type of its first input or on all, are spoiled where :meth:`strikes` says."""

    level = LEVEL
    data_type: DataType | None = None

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Whether this dispatch meets the fault: every one, unless said otherwise."""
        return True

    def spoiled(self, operator: OperatorDesc, inputs: list[Array], right: Array) -> Array:
        """The results that come instead; the last one changed unless said otherwise."""
        wrong = right.reshape(-1).copy()
        wrong[-1] = 1 if wrong[-1] != 1 else 0
        return wrong.reshape(right.shape)

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Right, and then spoiled."""
        kind = next(iter(operator.inputs.values())).data_type
        is_match = operator.name == self.operator and self.data_type in (kind, None)
        struck = is_match and self.strikes(operator, bindings)
        inputs = [self.read(memory, bindings[name], tensor) for name, tensor in operator.inputs.items()]
        super().dispatch_exact(operator, table, memory, bindings)
        if struck:
            right = self.read(memory, bindings[table.output], operator.output)
            with np.errstate(all="ignore"):
                wrong = self.spoiled(operator, inputs, right)
            self.write(memory, bindings[table.output], operator.output, wrong.astype(right.dtype))


class OfOneRegion(OfOneType):
    """The results of an operator of inputs A and B are spoiled where both are bound to one region."""

    clause = "binding.same-resource"

    def strikes(self, operator: OperatorDesc, bindings: Bindings) -> bool:
        """Where both are bound alike."""
        return bindings["ATensor"] == bindings["BTensor"]


def bound(operator: OperatorDesc, name: str) -> float:
    """A bound as it is described, of a union or not."""
    attribute = operator.attributes[name]
    return float(attribute.value if isinstance(attribute, ScalarUnion) else attribute)
