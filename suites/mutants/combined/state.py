"""Kernels that remember too much or are found by too little, only with strides, ScaleBias, modes or many elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.mutants.bases import Bindings, changed, in_place, restrided, scaled, strided
from dmlcts.suites.mutants.reference import Array, Kernel, Reference


def exactly(operator: OperatorDesc) -> tuple[Any, ...]:
    """The operator's name and attributes, floats by their bits."""
    return operator.name, tuple(
        value.tobytes() if isinstance(value, np.float32) else value for value in operator.attributes.values()
    )


class _Cached(Reference):
    """Compiled kernels are kept by :meth:`key`; what the key leaves out comes from the kernel that was made first."""

    clause = "execution.independent"

    def __init__(self) -> None:
        self.known: dict[Any, OperatorDesc] = {}

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        raise NotImplementedError

    def mixed(self, operator: OperatorDesc, first: OperatorDesc) -> OperatorDesc:
        """What runs for ``operator`` where ``first`` has its key."""
        return first

    def create(self, operator: OperatorDesc) -> Kernel:
        kernel = super().create(operator)
        first = self.known.setdefault(self.key(operator), operator)
        if first != operator:
            kernel.operator = self.mixed(operator, first)
        return kernel


class _Layouts(_Cached):
    """The layout of the first kernel is used by later ones, as far as their memory goes."""

    def mixed(self, operator: OperatorDesc, first: OperatorDesc) -> OperatorDesc:
        taken = {
            name: first.tensors[name]
            if first.tensors[name].minimum_size_in_bytes <= tensor.minimum_size_in_bytes
            else tensor
            for name, tensor in operator.tensors.items()
        }
        return OperatorDesc(operator.name, taken, operator.attributes)


class CacheWithoutInputStrides(_Layouts):
    """Kernels are kept by everything but the input's strides."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        tensor = operator.input
        return (*exactly(operator), tensor.data_type, tensor.sizes, operator.output)


class CacheWithoutOutputStrides(_Layouts):
    """Kernels are kept by everything but the output's strides."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        return (*exactly(operator), operator.input)


class CacheByElementCount(_Cached):
    """Kernels are kept by attributes, type, whether there are strides, and the number of elements, not by sizes."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        tensor = operator.input
        flags = tuple(tensor.strides is not None for tensor in operator.tensors.values())
        return (*exactly(operator), tensor.data_type, tensor.element_count, flags)

    def mixed(self, operator: OperatorDesc, first: OperatorDesc) -> OperatorDesc:
        fits = all(
            first.tensors[name].minimum_size_in_bytes <= tensor.minimum_size_in_bytes
            for name, tensor in operator.tensors.items()
        )
        return first if fits else operator


class CacheByElementWidth(_Cached):
    """Kernels are kept by attributes, layout and the width of the type: INT32 runs where UINT32 came first."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        tensors = [(tensor.sizes, tensor.strides) for tensor in operator.tensors.values()]
        return (*exactly(operator), operator.input.data_type.itemsize, *tensors)

    def mixed(self, operator: OperatorDesc, first: OperatorDesc) -> OperatorDesc:
        return first


class CacheOfBoundsInSixDigits(_Cached):
    """Kernels are kept by the text of their bounds, in six digits."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        attribute_values = [
            f"{value:.6g}" if isinstance(value, np.float32) else value for value in operator.attributes.values()
        ]
        return (operator.name, *attribute_values, *operator.tensors.values())


class CacheWithoutScaleBiasWhereStrided(_Cached):
    """Kernels for strided inputs are kept by everything but ScaleBias."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        seen = changed(operator, ScaleBias=None) if strided(operator.input) else operator
        return (*exactly(seen), *operator.tensors.values())


class CacheWithoutModeWhereStrided(_Cached):
    """Kernels of ROUND on strided tensors are kept without the mode."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        seen = changed(operator, RoundingMode="") if strided(operator.input) else operator
        return (*exactly(seen), *operator.tensors.values())


class CacheWithoutBoundsAboveFourDimensions(_Cached):
    """Kernels of more than four dimensions are kept without the bounds."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        zero = np.float32(0)
        seen = changed(operator, Min=zero, Max=zero) if operator.input.rank > 4 else operator
        return (*exactly(seen), *operator.tensors.values())


class GridOfTheFirstLargeKernel(_Cached):
    """Above 2^15 elements an operator's grid is as large as its first such kernel's on the type: less is written."""

    def key(self, operator: OperatorDesc) -> tuple[Any, ...]:
        large = operator.input.element_count > 1 << 15
        return (operator.name, operator.input.data_type, large or operator)

    def mixed(self, operator: OperatorDesc, first: OperatorDesc) -> OperatorDesc:
        plain = not strided(operator.input) and not strided(operator.output)
        count = first.input.element_count
        if not plain or count >= operator.input.element_count:
            return operator
        tensor = TensorDesc(operator.input.data_type, (count,))
        return OperatorDesc(operator.name, dict.fromkeys(operator.tensors, tensor), operator.attributes)


class ConstantsOfTheFirstScaledKernel(Reference):
    """Constants are uploaded once for all kernels with ScaleBias that are alive: all have the first one's bounds."""

    clause = "execution.independent"

    def __init__(self) -> None:
        self.users = 0
        self.constants: OperatorDesc | None = None

    class _Counted(Kernel):
        def close(self) -> None:
            if isinstance(self.device, ConstantsOfTheFirstScaledKernel) and scaled(self.operator):
                self.device.users -= 1

    def create(self, operator: OperatorDesc) -> Kernel:
        super().create(operator)
        if scaled(operator):
            if not self.users or self.constants is None:
                self.constants = operator
            self.users += 1
            first = self.constants.attributes
            operator = changed(operator, **{name: first[name] for name in ("Min", "Max") if name in first})
        return self._Counted(self, operator)


class SeventeenthKernelTakesTheFirstSlot(Reference):
    """A device has sixteen slots for constants: the seventeenth kernel that is alive overwrites the first one's."""

    clause = "execution.independent"

    def __init__(self) -> None:
        self.slots: list[Kernel | None] = [None] * 16
        self.made = 0

    class _Slotted(Kernel):
        def close(self) -> None:
            device = self.device
            if isinstance(device, SeventeenthKernelTakesTheFirstSlot) and self in device.slots:
                device.slots[device.slots.index(self)] = None

    def create(self, operator: OperatorDesc) -> Kernel:
        super().create(operator)
        kernel = self._Slotted(self, operator)
        slot = self.slots.index(None) if None in self.slots else self.made % 16
        self.made += 1
        before = self.slots[slot]
        if before is not None and before.operator.name == operator.name:
            before.operator = OperatorDesc(operator.name, before.operator.tensors, operator.attributes)
        self.slots[slot] = kernel
        return kernel


# One kernel, dispatched again.


class _Again(Reference):
    """From its second dispatch on a kernel runs :meth:`later`."""

    clause = "execution.repeatable"

    class _Counting(Kernel):
        dispatches = 0

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            device = self.device
            if self.dispatches and isinstance(device, _Again):
                device.again(self, memory, bindings)
            else:
                super().dispatch(memory, bindings)
            self.dispatches += 1

    def create(self, operator: OperatorDesc) -> Kernel:
        super().create(operator)
        return self._Counting(self, operator)

    def later(self, operator: OperatorDesc) -> OperatorDesc:
        return operator

    def again(self, kernel: Kernel, memory: Array, bindings: Bindings) -> None:
        self.dispatch(self.later(kernel.operator), memory, bindings)


class ScaleBiasLostAtTheSecondDispatch(_Again):
    """A kernel dispatched again has no ScaleBias."""

    def later(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, ScaleBias=None)


class BiasAccumulatesOverDispatches(_Again):
    """A kernel dispatched again adds its bias twice."""

    def later(self, operator: OperatorDesc) -> OperatorDesc:
        scale_bias = operator.attributes.get("ScaleBias")
        if not isinstance(scale_bias, ScaleBias):
            return operator
        return changed(operator, ScaleBias=ScaleBias(scale_bias.scale, scale_bias.bias * 2))


class StridesLostAtTheSecondDispatch(_Again):
    """A kernel dispatched again takes its input as packed; only a strided one is wrong."""

    def later(self, operator: OperatorDesc) -> OperatorDesc:
        return restrided(operator, None, operator.output.strides) if strided(operator.input) else operator


class ModeLostAtTheSecondDispatch(_Again):
    """A kernel dispatched again rounds to nearest even, whatever its mode."""

    def later(self, operator: OperatorDesc) -> OperatorDesc:
        return changed(operator, RoundingMode="HALVES_TO_NEAREST_EVEN")


class FractionsRoundedAtTheSecondDispatch(_Again):
    """A kernel dispatched again rounds fractional bounds of integers to nearest."""

    def later(self, operator: OperatorDesc) -> OperatorDesc:
        if operator.input.data_type.is_floating:
            return operator
        bounds = {
            name: np.rint(value) if np.isfinite(value) else value
            for name, value in operator.attributes.items()
            if isinstance(value, np.float32)
        }
        return changed(operator, **bounds)


class LargeTensorsKeepTheirFirstTail(_Again):
    """A kernel of more than 2^15 elements keeps, when dispatched again, the last 64 results of the time before."""

    def __init__(self) -> None:
        self.tails: dict[int, Array] = {}

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        super().dispatch(operator, memory, bindings)
        if operator.input.element_count > 1 << 15:
            tail = self.read(memory, bindings["OutputTensor"], operator.output).reshape(-1)[-64:]
            self.tails.setdefault(id(operator), tail)

    def again(self, kernel: Kernel, memory: Array, bindings: Bindings) -> None:
        operator = kernel.operator
        super().again(kernel, memory, bindings)
        if id(operator) in self.tails:
            values = self.read(memory, bindings["OutputTensor"], operator.output).reshape(-1)
            values[-64:] = self.tails[id(operator)]
            self.write(memory, bindings["OutputTensor"], operator.output, values.reshape(operator.output.sizes))


class StridedOutputStaysWhereItWasInPlace(Reference):
    """After a strided dispatch in place a kernel goes on to write where it read."""

    clause = "execution.repeatable"

    class _Remembering(Kernel):
        aliased = False

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            if self.aliased and strided(self.operator.input):
                bindings = {**bindings, "OutputTensor": bindings["InputTensor"]}
            self.aliased |= in_place(bindings)
            super().dispatch(memory, bindings)

    def create(self, operator: OperatorDesc) -> Kernel:
        super().create(operator)
        return self._Remembering(self, operator)


class StridesOfTheKernelBefore(Reference):
    """A kernel without strides runs with the input strides that the device used last for the same sizes."""

    clause = "execution.independent"

    def __init__(self) -> None:
        self.last: TensorDesc | None = None

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        tensor, last = operator.input, self.last
        self.last = tensor if strided(tensor) else None
        if last is not None and tensor.strides is None and last.sizes == tensor.sizes:
            own = TensorDesc(tensor.data_type, tensor.sizes, last.strides)
            if bindings["InputTensor"].offset + own.minimum_size_in_bytes <= memory.size:
                operator = restrided(operator, last.strides, operator.output.strides)
        super().dispatch(operator, memory, bindings)
