"""Kernels that keep what a later dispatch changes, and keys that take one layout or number for another.

Each does so only with tensors or attributes of one kind: broadcast, permuted or larger ones, or a ScaleBias.
"""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.mutants.bases import Bindings, broadcast, moving, permuted, scaled, strided
from dmlcts.suites.mutants.crossed.patterns import channels_last
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Kernel, Reference

# -- operands in another order ---------------------------------------------------------------------------------


class _Repacked(Reference):
    """A kernel repacks one operand, and again only when that is bound to another region."""

    clause = "execution.repeatable"
    level = LEVEL
    data_type = DataType.FLOAT32
    operand = "BTensor"

    class _Kernel(Kernel):
        """One that has what it repacked last, and from where."""

        def __init__(self, device: Reference, operator: OperatorDesc) -> None:
            super().__init__(device, operator)
            self.source: object = None
            self.packed: Array | None = None

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """With what it repacked, where it does so."""
            device = self.device
            if not isinstance(device, _Repacked) or not device.repacks(self.operator):
                super().dispatch(memory, bindings)
                return
            region, tensor = bindings[device.operand], self.operator.tensors[device.operand]
            if self.packed is None or self.source != region:
                self.source, self.packed = region, device.read(memory, region, tensor)
            device.repacked = self.packed
            super().dispatch(memory, bindings)
            device.repacked = None

    def __init__(self) -> None:
        self.repacked: Array | None = None

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that has repacked nothing."""
        super().create(operator)
        return self._Kernel(self, operator)

    def repacks(self, operator: OperatorDesc) -> bool:
        """Whether the operand is repacked."""
        mine = operator.name == self.operator and next(iter(operator.inputs.values())).data_type is self.data_type
        return mine and self.needs_it(operator.tensors[self.operand])

    def needs_it(self, tensor: TensorDesc) -> bool:
        """Whether an operand so laid out is."""
        raise NotImplementedError

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Right of what was repacked."""
        if self.repacked is None:
            super().dispatch_exact(operator, table, memory, bindings)
            return
        inputs = [
            self.repacked if name == self.operand else self.read(memory, bindings[name], tensor)
            for name, tensor in operator.inputs.items()
        ]
        with np.errstate(all="ignore"):
            results = np.asarray(self.compute_exact(operator, inputs))
        self.write(memory, bindings[table.output], operator.output, results.astype(operator.output.data_type.numpy))


class SpreadRowsKept(_Repacked):
    """MULTIPLY on FLOAT32: rows of the first operand that stand for others are spread once for each region."""

    operator = "ELEMENT_WISE_MULTIPLY"
    operand = "ATensor"

    def needs_it(self, tensor: TensorDesc) -> bool:
        """Some of its elements in more places, not one in all."""
        return broadcast(tensor) and bool(moving(tensor))


class SingleDivisorsKept(_Repacked):
    """DIVIDE on FLOAT16: the reciprocal of a divisor that is one for all is taken once for each region."""

    operator = "ELEMENT_WISE_DIVIDE"
    data_type = DataType.FLOAT16

    def needs_it(self, tensor: TensorDesc) -> bool:
        """One element."""
        return broadcast(tensor) and not moving(tensor)


class TransposedOperandsKept(_Repacked):
    """MAX on INT32: a second operand of whole rows in another order is sorted once for each region."""

    operator = "ELEMENT_WISE_MAX"
    data_type = DataType.INT32

    def needs_it(self, tensor: TensorDesc) -> bool:
        """Permuted but for the rows."""
        return permuted(tensor) and moving(tensor)[-1] == 1


class ScaledImagesKept(_Repacked):
    """LOG on FLOAT16 with a ScaleBias: an input whose channels are last is sorted once for each region."""

    operator = "ELEMENT_WISE_LOG"
    data_type = DataType.FLOAT16
    operand = "InputTensor"

    def repacks(self, operator: OperatorDesc) -> bool:
        """With a ScaleBias alone."""
        return super().repacks(operator) and scaled(operator)

    def needs_it(self, tensor: TensorDesc) -> bool:
        """Images as networks have them."""
        return channels_last(tensor)


# -- programs by coarse keys -------------------------------------------------------------------------------------


class _ByKey(Reference):
    """Kernels whose keys are equal run the program of the one that was made first and is alive.

    The last result shows where that is another description's.
    """

    clause = "execution.independent"
    level = LEVEL

    class _Kernel(Kernel):
        """One that is found by its key."""

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Right, but for the last result of another's program."""
            device, operator = self.device, self.operator
            super().dispatch(memory, bindings)
            if not isinstance(device, _ByKey) or operator.name != device.operator:
                return
            key = device.key(operator)
            first = next(kernel.operator for kernel in device.alive if device.key(kernel.operator) == key)
            if first != operator:
                region = bindings[operator.output_name]
                results = device.read(memory, region, operator.output)
                results.flat[-1] = 1 if results.flat[-1] != 1 else 0
                device.write(memory, region, operator.output, results)

        def close(self) -> None:
            """Its program goes to the next."""
            if isinstance(self.device, _ByKey):
                self.device.alive = [kernel for kernel in self.device.alive if kernel is not self]

    def __init__(self) -> None:
        self.alive: list[Kernel] = []

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that can be found."""
        super().create(operator)
        kernel = self._Kernel(self, operator)
        self.alive += [kernel] if operator.name == self.operator else []
        return kernel

    def key(self, operator: OperatorDesc) -> object:
        """What the program is found by."""
        raise NotImplementedError

    def layouts(self, operator: OperatorDesc) -> list[tuple[object, ...]]:
        """The types, sizes, strides and total sizes of all tensors."""
        return [
            (tensor.data_type, tensor.sizes, tensor.strides, tensor.total_size_in_bytes)
            for tensor in operator.tensors.values()
        ]


class ZeroStridesTakenForPacked(_ByKey):
    """ADD: kernels alive of which one repeats elements of B, where the other holds each, share a program."""

    operator = "ELEMENT_WISE_ADD"

    def key(self, operator: OperatorDesc) -> object:
        """The strides of B without zeros, and only those that are not packed."""
        tensor = operator.tensors["BTensor"]
        plain = not strided(tensor) or broadcast(tensor)
        others = [tensor_desc for name, tensor_desc in operator.tensors.items() if name != "BTensor"]
        return others, tensor.data_type, tensor.sizes, () if plain else tensor.strides


class WhichOperandIsStridedNotCompared(_ByKey):
    """SUBTRACT: kernels alive with the layouts of A and B exchanged share a program."""

    operator = "ELEMENT_WISE_SUBTRACT"

    def key(self, operator: OperatorDesc) -> object:
        """All layouts, in no order."""
        return sorted(map(repr, self.layouts(operator)))


class _Factors(_ByKey):
    """Of a ScaleBias what :meth:`compared` leaves is in the key."""

    def compared(self, scale_bias: ScaleBias) -> object:
        """That."""
        raise NotImplementedError

    def key(self, operator: OperatorDesc) -> object:
        """That, and the tensors."""
        scale_bias = operator.attributes["ScaleBias"]
        return self.layouts(operator), self.compared(scale_bias) if isinstance(scale_bias, ScaleBias) else None


class SignsOfBiasesNotCompared(_Factors):
    """EXP: kernels alive whose biases differ in the sign alone share a program."""

    operator = "ELEMENT_WISE_EXP"

    def compared(self, scale_bias: ScaleBias) -> object:
        """The magnitude of it."""
        return scale_bias.scale, abs(scale_bias.bias)


class FactorsComparedWithSixDigits(_Factors):
    """SQRT: kernels alive whose factors are alike in six digits share a program: its source is its key."""

    operator = "ELEMENT_WISE_SQRT"

    def compared(self, scale_bias: ScaleBias) -> object:
        """As they are written out."""
        return f"{float(scale_bias.scale):.6g} {float(scale_bias.bias):.6g}"


class HighWordsOfBoundsNotCompared(_ByKey):
    """CLIP1: kernels alive on INT64 whose bounds have the same low words share a program."""

    operator = "ELEMENT_WISE_CLIP1"

    def key(self, operator: OperatorDesc) -> object:
        """Everything, but of bounds of INT64 the low words."""
        return self.layouts(operator), {name: _low_word(attribute) for name, attribute in operator.attributes.items()}


def _low_word(attribute: object) -> object:
    value = attribute.value if isinstance(attribute, ScalarUnion) else None
    return int(value) & 0xFFFFFFFF if isinstance(value, np.int64) else attribute
