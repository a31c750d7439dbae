"""Faults of state: kernels that remember what they must not, or that another kernel changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from dmlcts.backends import InvalidArgument
from dmlcts.specs import OperatorDesc, Region, TensorDesc
from dmlcts.suites.mutants.bases import changed, in_place
from dmlcts.suites.mutants.reference import Array, Kernel, Reference

Bindings = Mapping[str, Region]


class _Stateful(Reference):
    """A device with a memory of its own: :attr:`known` lives as long as the device."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}


class _KernelState(Kernel):
    """A kernel with a memory of its own."""

    def __init__(self, device: Reference, operator: OperatorDesc) -> None:
        super().__init__(device, operator)
        self.known: dict[str, Any] = {}


def shape(operator: OperatorDesc) -> tuple[Any, ...]:
    """What a kernel cache is keyed by that forgets the attributes."""
    return operator.name, *operator.tensors.values()


# -- attributes ----------------------------------------------------------------------------------------


class AttributesOfTheFirstKernel(_Stateful):
    """All kernels of an operator run with the attributes of the first one that the device made."""

    clause = "execution.independent"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Replace the attributes by the first ones."""
        kernel = super().create(operator)
        first = self.known.setdefault(operator.name, operator.attributes)
        kernel.operator = OperatorDesc(operator.name, operator.tensors, first)
        return kernel


class AttributesMissingInTheCacheKey(_Stateful):
    """Compiled kernels are kept by operator and tensors; another one's attributes come with them."""

    clause = "execution.independent"
    modelled_on = "https://github.com/tensorflow/tfjs-core/issues/75"

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel from the cache."""
        return self.known.setdefault(shape(operator), super().create(operator))  # type: ignore[no-any-return]  # Any


class ScaleBiasMissingInTheCacheKey(_Stateful):
    """Compiled kernels are kept by everything but ScaleBias."""

    clause = "execution.independent"
    modelled_on = "https://github.com/microsoft/onnxruntime/pull/24309"

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel from the cache."""
        bits = [value.tobytes() for value in operator.attributes.values() if isinstance(value, np.float32)]
        key = (*shape(operator), *bits, operator.attributes.get("RoundingMode"))
        return self.known.setdefault(key, super().create(operator))  # type: ignore[no-any-return]  # Any


class AttributesOfTheLastKernel(_Stateful):
    """A kernel runs with the attributes of the operator's kernel that was created last."""

    clause = "execution.independent"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Note the attributes."""
        kernel = super().create(operator)
        self.known[operator.name] = operator.attributes
        return kernel

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run with those noted last."""
        super().dispatch(OperatorDesc(operator.name, operator.tensors, self.known[operator.name]), memory, bindings)


class MinSharedBetweenOperators(_Stateful):
    """CLIP and THRESHOLD keep Min in one place: the kernel that was created last of both sets it."""

    clause = "execution.independent"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Note Min."""
        kernel = super().create(operator)
        if "Min" in operator.attributes:
            self.known[operator.input.data_type] = operator.attributes["Min"]
        return kernel

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run with the Min noted last for the type."""
        attributes = dict(operator.attributes)
        if "Min" in attributes:
            attributes["Min"] = self.known[operator.input.data_type]
        super().dispatch(OperatorDesc(operator.name, operator.tensors, attributes), memory, bindings)


class MinOfTheOtherOperator(_Stateful):
    """A CLIP kernel that is alive when a THRESHOLD kernel is created takes over its Min."""

    clause = "execution.independent"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Change the CLIP kernels made so far."""
        kernel = super().create(operator)
        alive = self.known.setdefault("clip", [])
        if operator.name == "ELEMENT_WISE_THRESHOLD":
            for other in alive:
                changed = {**other.operator.attributes, "Min": operator.attributes["Min"]}
                other.operator = OperatorDesc(other.operator.name, other.operator.tensors, changed)
        if operator.name == "ELEMENT_WISE_CLIP":
            self.known["clip"] = [*alive[-16:], kernel]
        return kernel


class _ClosingChangesOthers(_Stateful):
    """Closing a kernel changes what the older kernels of the device do."""

    clause = "execution.independent"

    def left(self, operator: OperatorDesc) -> OperatorDesc:
        """What a kernel does where another one was closed after it was made."""
        raise NotImplementedError

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that counts the closings after it was made."""
        super().create(operator)
        device, made = self, self.known.get("closed", 0)

        class Counting(Kernel):
            def dispatch(self, memory: Array, bindings: Bindings) -> None:
                """With what is left where another kernel was closed in the meantime."""
                if device.known.get("closed", 0) != made:
                    self.operator = device.left(self.operator)
                super().dispatch(memory, bindings)

            def close(self) -> None:
                """Count."""
                device.known["closed"] = device.known.get("closed", 0) + 1

        return Counting(self, operator)


class ClosingReleasesOthers(_ClosingChangesOthers):
    """Closing a kernel releases the constants of all kernels of the device, which then clamp with zeros."""

    def left(self, operator: OperatorDesc) -> OperatorDesc:
        """Zeros for FLOATs."""
        floats = [name for name, value in operator.attributes.items() if isinstance(value, np.float32)]
        return changed(operator, **dict.fromkeys(floats, np.float32(0)))


class ClosingDropsScaleBias(_ClosingChangesOthers):
    """Closing a kernel drops the ScaleBias of all kernels of the device that are older."""

    def left(self, operator: OperatorDesc) -> OperatorDesc:
        """No ScaleBias."""
        return changed(operator, ScaleBias=None)


class BoundsOfTheRefusedKernel(_Stateful):
    """The bounds of a description are noted before it is refused, and the next kernel of the operator takes them."""

    clause = "execution.independent"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Take what was noted, once."""
        numbers = {name: value for name, value in operator.attributes.items() if isinstance(value, np.float32)}
        try:
            kernel = super().create(operator)
        except InvalidArgument:
            self.known[operator.name] = numbers
            raise
        kernel.operator = changed(operator, **self.known.pop(operator.name, {}))
        return kernel


class RefusalChangesKernelsAlive(_Stateful):
    """A description that is refused leaves its attributes in the operator's kernel that was made last."""

    clause = "execution.independent"

    def create(self, operator: OperatorDesc) -> Kernel:
        """Change the last kernel where this one is refused."""
        try:
            kernel = super().create(operator)
        except InvalidArgument:
            if operator.name in self.known:
                self.known[operator.name].operator = changed(self.known[operator.name].operator, **operator.attributes)
            raise
        self.known[operator.name] = kernel
        return kernel


# -- tensors -------------------------------------------------------------------------------------------


class _LastOfThoseAlive(_Stateful):
    """A kernel takes something from the one made last, of its operator, of those alive."""

    clause = "execution.independent"

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that is alive until it is closed."""
        super().create(operator)
        alive: list[Kernel] = self.known.setdefault(operator.name, [])

        class Alive(Kernel):
            def close(self) -> None:
                """It takes part no longer."""
                alive.remove(self)

        alive.append(Alive(self, operator))
        return alive[-1]

    def last(self, operator: OperatorDesc) -> OperatorDesc:
        """What that one was made of."""
        operators = [
            kernel.operator for kernel in self.known[operator.name] if self.is_alike(kernel.operator, operator)
        ]
        return operators[-1] if operators else operator

    def is_alike(self, operator: OperatorDesc, other: OperatorDesc) -> bool:
        """Whether a kernel takes it from another."""
        return operator.input.data_type is other.input.data_type


class StridesOfTheLastKernel(_LastOfThoseAlive):
    """Of kernels on tensors of equal sizes and type, all use the strides of the one that was made last."""

    def is_alike(self, operator: OperatorDesc, other: OperatorDesc) -> bool:
        """Sizes and type count."""
        return super().is_alike(operator, other) and operator.input.sizes == other.input.sizes

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run with those strides where the tensors have room for them."""
        last = self.last(operator)
        tensors = {}
        for name, tensor in operator.tensors.items():
            other = TensorDesc(tensor.data_type, tensor.sizes, last.tensors[name].strides)
            fits = other.minimum_size_in_bytes <= tensor.total_size_in_bytes
            tensors[name] = other if fits else tensor
        super().dispatch(OperatorDesc(operator.name, tensors, operator.attributes), memory, bindings)


class StridesOfTheLastKernelInPlace(StridesOfTheLastKernel):
    """The same, in place only."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run with its own strides out of place."""
        if in_place(bindings):
            super().dispatch(operator, memory, bindings)
        else:
            Reference.dispatch(self, operator, memory, bindings)


class ElementCountOfTheLastKernel(_LastOfThoseAlive):
    """Of kernels on one type, none writes more elements than the one that was made last has."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Put back what was behind that many elements."""
        count, target = self.last(operator).output.element_count, bindings["OutputTensor"]
        before = self.read(memory, target, operator.output)
        super().dispatch(operator, memory, bindings)
        outputs = self.read(memory, target, operator.output)
        kept = np.arange(outputs.size).reshape(outputs.shape) < count
        self.write(memory, target, operator.output, np.where(kept, outputs, before))


class ElementCountOfTheLastKernelInPlace(ElementCountOfTheLastKernel):
    """The same, in place only."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Write all elements out of place."""
        if in_place(bindings):
            super().dispatch(operator, memory, bindings)
        else:
            Reference.dispatch(self, operator, memory, bindings)


class DataTypeOfTheLastKernel(_LastOfThoseAlive):
    """Of kernels on tensors of equal sizes and equally wide elements, all compute in the type of the one made last."""

    def is_alike(self, operator: OperatorDesc, other: OperatorDesc) -> bool:
        """Sizes and width count."""
        width = other.input.data_type.itemsize
        return operator.input.sizes == other.input.sizes and operator.input.data_type.itemsize == width

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run with that type."""
        kind = self.last(operator).input.data_type
        tensors = {name: TensorDesc(kind, tensor.sizes, tensor.strides) for name, tensor in operator.tensors.items()}
        super().dispatch(OperatorDesc(operator.name, tensors, operator.attributes), memory, bindings)


# -- devices -------------------------------------------------------------------------------------------


class _SharedByDevices(Reference):
    """All devices of a process know each other: :attr:`devices` holds those that are open, in their order."""

    clause = "execution.independent"
    devices: ClassVar[list[Any]]

    def __init_subclass__(cls) -> None:
        """Each mutant has devices of its own."""
        cls.devices = []

    def open(self) -> Reference:
        """One more."""
        opened = type(self)() if self in self.devices else self
        self.devices.append(opened)
        return super(_SharedByDevices, opened).open()

    def close(self) -> None:
        """One less."""
        if self in self.devices:
            self.devices.remove(self)


class SecondDeviceComputesNothing(_SharedByDevices):
    """A device that is opened while another is open leaves its outputs as they are."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run on the device that was opened first."""
        if self.devices[:1] == [self]:
            super().dispatch(operator, memory, bindings)


class DeviceOpenedLastIsCurrent(_SharedByDevices):
    """A process has one current device, the one that was opened last: what the others are asked to do is left out."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Nothing, on a device that is not current."""
        if self.devices[-1:] == [self]:
            super().dispatch(operator, memory, bindings)


class ClosingADeviceEndsAll(_SharedByDevices):
    """Closing a device frees what all devices share: those that were open then write nothing any more."""

    ended = False

    def open(self) -> Reference:
        """It works until another is closed."""
        self.ended = False
        return super().open()

    def close(self) -> None:
        """End the others as well."""
        super().close()
        for other in self.devices:
            other.ended = True

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Bindings) -> None:
        """Run until another is closed."""
        if not self.ended:
            super().dispatch(operator, memory, bindings)


# -- dispatches ----------------------------------------------------------------------------------------


class SecondDispatchDoesNothing(Reference):
    """A kernel that has run once does nothing any more."""

    clause = "execution.repeatable"

    class _RunsOneTime(_KernelState):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Run the first time."""
            if not self.known.setdefault("done", False):
                super().dispatch(memory, bindings)
            self.known["done"] = True

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that counts."""
        super().create(operator)
        return self._RunsOneTime(self, operator)


class SixteenSlots(Reference):
    """A kernel has slots for sixteen dispatches; the seventeenth and later ones write nothing."""

    clause = "execution.repeatable"

    class _Slots(_KernelState):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Run while there are slots."""
            self.known["ran"] = self.known.get("ran", 0) + 1
            if self.known["ran"] <= 16:
                super().dispatch(memory, bindings)

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that counts."""
        super().create(operator)
        return self._Slots(self, operator)


class FirstOutputReturnedAgain(Reference):
    """A kernel keeps the result of its first dispatch and writes it at every further one."""

    clause = "execution.repeatable"

    class _Memo(_KernelState):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Compute once, write always."""
            device, operator = self.device, self.operator
            if "output" not in self.known:
                super().dispatch(memory, bindings)
                self.known["output"] = device.read(memory, bindings["OutputTensor"], operator.output)
            device.write(memory, bindings["OutputTensor"], operator.output, self.known["output"])

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that remembers."""
        super().create(operator)
        return self._Memo(self, operator)


class UploadSkippedByItsBeginning(_Stateful):
    """Results are kept by the description and the input's first 64 bytes: the rest is not compared."""

    clause = "execution.repeatable"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """What was computed for such an input before."""
        key = (repr(operator), x.shape, x.tobytes()[:64])
        return self.known.setdefault(key, super().compute(operator, x)).copy()  # type: ignore[no-any-return]  # Any


class PreviousOutputReturned(Reference):
    """The output of a kernel lags one dispatch behind, from the second dispatch on."""

    clause = "execution.repeatable"

    class _Late(_KernelState):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Write what the dispatch before computed."""
            device, operator = self.device, self.operator
            super().dispatch(memory, bindings)
            output = device.read(memory, bindings["OutputTensor"], operator.output)
            device.write(memory, bindings["OutputTensor"], operator.output, self.known.get("output", output))
            self.known["output"] = output

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that lags."""
        super().create(operator)
        return self._Late(self, operator)


class FirstBindingsRemembered(Reference):
    """A kernel goes on to read where its first dispatch read, where that still lies in the memory."""

    clause = "execution.repeatable"
    modelled_on = "https://github.com/mrdoob/three.js/pull/34381"

    class _Bound(_KernelState):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Bind the input once."""
            first = self.known.setdefault("input", bindings["InputTensor"])
            if first.offset + self.operator.input.minimum_size_in_bytes <= memory.size:
                bindings = {**bindings, "InputTensor": first}
            super().dispatch(memory, bindings)

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that remembers."""
        super().create(operator)
        return self._Bound(self, operator)


class FirstMemoryRemembered(Reference):
    """A kernel goes on to work on the resource of its first dispatch."""

    clause = "execution.repeatable"

    class _Bound(_KernelState):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Use the first memory with its bindings."""
            super().dispatch(*self.known.setdefault("first", (memory, dict(bindings))))

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that remembers."""
        super().create(operator)
        return self._Bound(self, operator)


class DispatchesAccumulate(Reference):
    """A kernel starts from its own previous result where that is larger, as if it reduced over dispatches."""

    clause = "execution.repeatable"

    class _Growing(_KernelState):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """The larger of now and before."""
            device, operator = self.device, self.operator
            super().dispatch(memory, bindings)
            output = device.read(memory, bindings["OutputTensor"], operator.output)
            with np.errstate(all="ignore"):
                self.known["output"] = np.maximum(output, self.known.get("output", output))
            device.write(memory, bindings["OutputTensor"], operator.output, self.known["output"])

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that accumulates."""
        super().create(operator)
        return self._Growing(self, operator)


# -- neighbours ----------------------------------------------------------------------------------------


class RepeatedInputsNotWritten(Reference):
    """An element equal to the one before it is not written, as if the output held the result already."""

    clause = "tensor.output.complete"

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Skip where the input repeats."""
        kept = self.read(memory, region, tensor).reshape(-1)
        flat = values.reshape(-1)
        fresh = np.r_[True, self.x[1:] != self.x[:-1]]
        kept[fresh] = flat[fresh]
        super().write(memory, region, tensor, kept.reshape(tensor.sizes))

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Note the input."""
        self.x = x.reshape(-1)
        return super().compute(operator, x)


class InfinityIsSticky(Reference):
    """The element after an infinite one is taken for infinite too."""

    clause = "tensor.position"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Carry infinities on."""
        flat = x.reshape(-1).copy()
        after = np.r_[False, np.isinf(flat[:-1])]
        flat[after] = np.r_[flat[:1], flat[:-1]][after]
        return super().compute(operator, flat.reshape(x.shape))


class ResultsDependOnOrder(Reference):
    """Where inputs fall by more than half of the previous one, the pipeline returns the previous element's result."""

    clause = "tensor.position"

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """A hazard between neighbours."""
        y = super().compute(operator, x).reshape(-1)
        flat = x.reshape(-1).astype(np.float64)
        hazard = np.r_[False, (flat[:-1] > 4) & (flat[1:] < 0)]
        return np.where(hazard, np.r_[y[:1], y[:-1]], y).reshape(x.shape)
