"""Kernels that keep results by too little of what is bound, and that a refusal or the closing of another spoils."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.backends import InvalidArgument
from dmlcts.specs import OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.mutants.bases import Bindings
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Kernel, Reference


def _output(operator: OperatorDesc) -> str:
    return load_tables().operator(operator.name).output


class _Keeping(Reference):
    """A kernel writes the result of its last dispatch again where the inputs are taken for those of then."""

    clause = "execution.repeatable"

    class _Kept(Kernel):
        last: tuple[dict[str, Array], Array] | None = None

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Compute, or write what was computed last."""
            device, operator = self.device, self.operator
            inputs = {name: device.read(memory, bindings[name], tensor) for name, tensor in operator.inputs.items()}
            target = _output(operator)
            if self.last is not None and isinstance(device, _Keeping) and device.is_same(self.last[0], inputs):
                device.write(memory, bindings[target], operator.output, self.last[1])
                return
            super().dispatch(memory, bindings)
            self.last = inputs, device.read(memory, bindings[target], operator.output)

    def is_same(self, before: dict[str, Array], now: dict[str, Array]) -> bool:
        """Whether the inputs are taken for those of the last dispatch."""
        raise NotImplementedError

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that keeps its result."""
        super().create(operator)
        return self._Kept(self, operator)


def _equal(before: dict[str, Array], now: dict[str, Array], names: Any) -> bool:
    return all(before[name].tobytes() == now[name].tobytes() for name in names)


class ResultKeptWhereOneElementChanged(_Keeping):
    """Inputs of which at most one element changed are taken for unchanged."""

    def is_same(self, before: dict[str, Array], now: dict[str, Array]) -> bool:
        """Count what changed."""
        return sum(int((before[name] != now[name]).sum()) for name in now) <= 1


class ResultKeptByTheFirstInput(_Keeping):
    """Where the first input is unchanged the result is taken for unchanged too."""

    level = LEVEL
    operator = "ELEMENT_WISE_SUBTRACT"

    def is_same(self, before: dict[str, Array], now: dict[str, Array]) -> bool:
        """Look at the first of several."""
        return len(now) > 1 and _equal(before, now, [*now][:1])


class ResultKeptByAllButTheZeroPoint(_Keeping):
    """A zero point that changes alone goes unnoticed."""

    level = LEVEL
    operator = "ELEMENT_WISE_QUANTIZE_LINEAR"

    def is_same(self, before: dict[str, Array], now: dict[str, Array]) -> bool:
        """Look at element and scale."""
        return "ZeroPointTensor" in now and _equal(before, now, ["InputTensor", "ScaleTensor"])


class OperandsExchangedAfterTheOtherOneInPlace(Reference):
    """A kernel that ran in place of its first operand takes the operands for exchanged in place of the second one."""

    level = LEVEL
    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "execution.repeatable"

    class _Bound(Kernel):
        aliased = False

        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Exchange them then."""
            target, first = bindings[_output(self.operator)], next(iter(self.operator.inputs))
            if self.aliased and target == bindings.get("BTensor"):
                bindings = {**bindings, first: target, "BTensor": bindings[first]}
            self.aliased |= target == bindings[first]
            super().dispatch(memory, bindings)

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that remembers."""
        super().create(operator)
        return self._Bound(self, operator)


class _Spoiled(Kernel):
    """A kernel that gives zeros once it is :attr:`spoiled`."""

    spoiled = False
    ran = False

    def dispatch(self, memory: Array, bindings: Bindings) -> None:
        """Zeros then."""
        super().dispatch(memory, bindings)
        self.ran = True
        if self.spoiled:
            target = self.operator.output
            zeros = np.zeros(target.sizes, target.data_type.numpy)
            self.device.write(memory, bindings[_output(self.operator)], target, zeros)


class RefusalSpoilsKernelsThatRan(Reference):
    """A refusal takes the memory of kernels that ran before: those, and no others, give zeros from then on."""

    clause = "execution.independent"

    def __init__(self) -> None:
        self.alive: list[_Spoiled] = []

    def create(self, operator: OperatorDesc) -> Kernel:
        """Spoil them where this one is refused."""
        try:
            super().create(operator)
        except InvalidArgument:
            for kernel in self.alive:
                kernel.spoiled = kernel.spoiled or (kernel.ran and kernel.operator.name == operator.name)
            raise
        self.alive = [*self.alive[-40:], _Spoiled(self, operator)]
        return self.alive[-1]


class _RefusalSpoilsTheNext(Reference):
    """After a refusal for one reason the kernel that is made next gives zeros."""

    clause = "execution.independent"

    def __init__(self) -> None:
        self.spoils = False

    def is_reason(self, operator: OperatorDesc) -> bool:
        """Whether the description is refused for that reason, and for no other."""
        raise NotImplementedError

    def create(self, operator: OperatorDesc) -> Kernel:
        """Note the reason."""
        spoiled, self.spoils = self.spoils, False
        try:
            super().create(operator)
        except InvalidArgument:
            self.spoils = self.is_reason(operator)
            raise
        kernel = _Spoiled(self, operator)
        kernel.spoiled = spoiled
        return kernel


class RefusedTypesSpoilTheNextKernel(_RefusalSpoilsTheNext):
    """A description that is refused for unlike types alone leaves the next kernel without memory."""

    def is_reason(self, operator: OperatorDesc) -> bool:
        """Unlike types of equal sizes."""
        tensors = operator.tensors.values()
        return len({tensor.data_type for tensor in tensors}) > 1 and len({tensor.sizes for tensor in tensors}) == 1


class RefusedDimensionsSpoilTheNextKernel(_RefusalSpoilsTheNext):
    """A description that is refused for its nine dimensions leaves the next kernel without memory."""

    def is_reason(self, operator: OperatorDesc) -> bool:
        """More than eight."""
        return operator.output.rank > 8


class ClosingReleasesKernelsOfTheSameDescription(Reference):
    """Kernels of one description share what they hold, and the first that is closed releases it."""

    clause = "execution.independent"

    class _Shared(_Spoiled):
        def close(self) -> None:
            """Spoil the others."""
            if isinstance(self.device, ClosingReleasesKernelsOfTheSameDescription):
                self.device.alive.remove(self)
                for other in self.device.alive:
                    other.spoiled = other.spoiled or other.operator == self.operator

    def __init__(self) -> None:
        self.alive: list[_Spoiled] = []

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that shares."""
        super().create(operator)
        self.alive.append(self._Shared(self, operator))
        return self.alive[-1]
