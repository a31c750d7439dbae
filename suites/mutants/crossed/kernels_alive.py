"""Kernels that share a program with one alive from which they differ in one respect, and faults of neighbours.

A kernel beside the one that a test is about may be wrong, or refused, whatever else is alive; a description between two
kernels may be accepted though it must be refused.
"""

from __future__ import annotations

from dmlcts.specs import DataType, OperatorDesc, ScaleBias
from dmlcts.suites.mutants.bases import Bindings, scaled, strided
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Kernel, Reference


class _Spoiling(Reference):
    """The last result of a dispatch is another where :meth:`spoils` says so."""

    level = LEVEL

    class _Kernel(Kernel):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Right, and then perhaps spoiled."""
            device, operator = self.device, self.operator
            super().dispatch(memory, bindings)
            if not isinstance(device, _Spoiling) or operator.name != device.operator:
                return
            if device.spoils(self, bindings):
                region = bindings[operator.output_name]
                outputs = device.read(memory, region, operator.output).reshape(-1)
                outputs[-1] = 1 if outputs[-1] != 1 else 0
                device.write(memory, region, operator.output, outputs.reshape(operator.output.sizes))

        def close(self) -> None:
            """It is not alive any more."""
            if isinstance(self.device, _Spoiling):
                self.device.alive.remove(self)

    def __init__(self) -> None:
        self.alive: list[Kernel] = []

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that is alive until it is closed."""
        super().create(operator)
        self.alive.append(self._Kernel(self, operator))
        return self.alive[-1]

    def spoils(self, kernel: Kernel, bindings: Bindings) -> bool:
        """Whether this dispatch meets the fault."""
        raise NotImplementedError


# -- programs that are shared ------------------------------------------------------------------------------


class _Shared(_Spoiling):
    """Kernels that are alike run the program of the first of them that is alive."""

    clause = "execution.independent"

    def spoils(self, kernel: Kernel, bindings: Bindings) -> bool:
        """That program is another description's."""
        own = kernel.operator
        alike = (
            candidate.operator
            for candidate in self.alive
            if candidate.operator.name == own.name and self.is_alike(candidate, kernel)
        )
        return next(alike) != own

    def is_alike(self, kernel: Kernel, other: Kernel) -> bool:
        """Whether two kernels of the operator share a program."""
        return repr(self.key(kernel.operator)) == repr(self.key(other.operator))

    def key(self, operator: OperatorDesc) -> object:
        """What of a description is compared."""
        raise NotImplementedError


class FractionsOfExponentsNotCompared(_Shared):
    """CONSTANT_POW: kernels alive whose exponents differ in the fraction alone share a program."""

    operator = "ELEMENT_WISE_CONSTANT_POW"

    def key(self, operator: OperatorDesc) -> object:
        """The whole part."""
        return operator.tensors, operator.attributes["ScaleBias"], int(operator.attributes["Exponent"])  # type: ignore[arg-type]  # FLOAT


class _Factors(_Shared):
    operator = "ELEMENT_WISE_ABS"

    def factor(self, scaling: ScaleBias) -> object:
        """What is compared of a ScaleBias."""
        raise NotImplementedError

    def key(self, operator: OperatorDesc) -> object:
        """Tensors and that."""
        scaling = operator.attributes["ScaleBias"]
        return operator.tensors, self.factor(scaling) if isinstance(scaling, ScaleBias) else None


class BiasesNotCompared(_Factors):
    """ABS: kernels alive that differ in the bias alone share a program."""

    def factor(self, scaling: ScaleBias) -> object:
        """The scale."""
        return scaling.scale


class ScalesNotCompared(_Factors):
    """ABS: kernels alive that differ in the scale alone share a program."""

    def factor(self, scaling: ScaleBias) -> object:
        """The bias."""
        return scaling.bias


class GreatestGradientsNotCompared(_Shared):
    """CLIP_GRAD: kernels alive that differ in Max alone share a program."""

    operator = "ELEMENT_WISE_CLIP_GRAD"

    def key(self, operator: OperatorDesc) -> object:
        """Tensors and Min."""
        return operator.tensors, operator.attributes["Min"]


class ZeroPointsNotCompared(_Shared):
    """QUANTIZE_LINEAR: kernels alive with and without a zero point share a program."""

    operator = "ELEMENT_WISE_QUANTIZE_LINEAR"

    def key(self, operator: OperatorDesc) -> object:
        """The other tensors."""
        return [tensor for name, tensor in operator.tensors.items() if name != "ZeroPointTensor"]


class TypesOfExponentsNotCompared(_Shared):
    """POW: kernels alive that differ in the exponent's type alone share a program."""

    operator = "ELEMENT_WISE_POW"

    def key(self, operator: OperatorDesc) -> object:
        """The other tensors, and the attributes."""
        return [tensor for name, tensor in operator.tensors.items() if name != "ExponentTensor"], operator.attributes


class StridesOfTheSecondOperandNotCompared(_Shared):
    """ADD: kernels alive that differ in the strides of B alone share a program."""

    operator = "ELEMENT_WISE_ADD"

    def key(self, operator: OperatorDesc) -> object:
        """Sizes and type of it, and the other tensors."""
        b = operator.tensors["BTensor"]
        return b.data_type, b.sizes, [tensor for name, tensor in operator.tensors.items() if name != "BTensor"]


class TotalSizesNotCompared(_Shared):
    """THRESHOLD: kernels alive that differ in the total sizes alone share a program, which clears the first's."""

    operator = "ELEMENT_WISE_THRESHOLD"

    def key(self, operator: OperatorDesc) -> object:
        """Everything else."""
        tensors = [(tensor.data_type, tensor.sizes, tensor.strides) for tensor in operator.tensors.values()]
        return tensors, operator.attributes


class OrderOfSizesNotCompared(_Shared):
    """SUBTRACT: kernels alive whose sizes are the same in another order share a program."""

    operator = "ELEMENT_WISE_SUBTRACT"

    def key(self, operator: OperatorDesc) -> object:
        """Sorted sizes."""
        return [(tensor.data_type, sorted(tensor.sizes), tensor.strides) for tensor in operator.tensors.values()]


# -- what ran before -------------------------------------------------------------------------------------------


class ThirdOfTwoByTurns(_Spoiling):
    """NEGATE on INT32: of two kernels that run by turns the first is wrong when its turn comes again."""

    operator = "ELEMENT_WISE_NEGATE"
    clause = "execution.independent"

    class _Kernel(_Spoiling._Kernel):
        def dispatch(self, memory: Array, bindings: Bindings) -> None:
            """Noted, whichever operator's it is."""
            if isinstance(self.device, ThirdOfTwoByTurns):
                self.device.ran = [*self.device.ran[-2:], self]
            super().dispatch(memory, bindings)

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[Kernel] = []

    def spoils(self, kernel: Kernel, bindings: Bindings) -> bool:
        """One, another, the one."""
        turns = len(self.ran) == 3 and self.ran[0] is self.ran[2] is not self.ran[1]
        return turns and kernel.operator.output.data_type is DataType.INT32


class _Bound(_Spoiling):
    """A kernel is wrong where :meth:`is_taken` for the dispatch before says so."""

    clause = "execution.repeatable"

    def __init__(self) -> None:
        super().__init__()
        self.last: dict[int, Bindings] = {}

    def create(self, operator: OperatorDesc) -> Kernel:
        """A kernel that has not run."""
        kernel = super().create(operator)
        self.last.pop(id(kernel), None)
        return kernel

    def spoils(self, kernel: Kernel, bindings: Bindings) -> bool:
        """After another dispatch of it."""
        before, self.last[id(kernel)] = self.last.get(id(kernel)), bindings
        return before is not None and self.is_taken(before, bindings)

    def is_taken(self, before: Bindings, now: Bindings) -> bool:
        """Whether the regions are taken for those of the last dispatch, or spoiled by them."""
        raise NotImplementedError


class PlaceOfTheSecondOperandKept(_Bound):
    """SUBTRACT: a second operand that moves alone goes unnoticed."""

    operator = "ELEMENT_WISE_SUBTRACT"
    moving = "BTensor"

    def is_taken(self, before: Bindings, now: Bindings) -> bool:
        """It alone."""
        return [name for name in now if now[name] != before[name]] == [self.moving]


class PlaceOfTheOutputKept(PlaceOfTheSecondOperandKept):
    """ADD: an output that moves alone goes unnoticed."""

    operator = "ELEMENT_WISE_ADD"
    moving = "OutputTensor"


class OutOfPlaceAfterInPlace(_Bound):
    """MULTIPLY: a kernel that ran in place takes its output for its first operand's memory as long as that stays."""

    operator = "ELEMENT_WISE_MULTIPLY"

    def is_taken(self, before: Bindings, now: Bindings) -> bool:
        """In place before, and not now."""
        return before["ATensor"] == before["OutputTensor"] == now["ATensor"] != now["OutputTensor"]


# -- neighbouring kernels --------------------------------------------------------------------------------------


class ScaledWithOutputStrides(_Spoiling):
    """SQRT on FLOAT32 with a ScaleBias is wrong where the output alone has strides."""

    operator = "ELEMENT_WISE_SQRT"
    clause = "tensor.strides.output"

    def spoils(self, kernel: Kernel, bindings: Bindings) -> bool:
        """Packed inputs."""
        operator = kernel.operator
        is_match = scaled(operator) and strided(operator.output) and not strided(operator.input)
        return is_match and operator.output.data_type is DataType.FLOAT32


class ScaledAtOddOffsets(_Spoiling):
    """CLIP1 on FLOAT16 with a ScaleBias is wrong at offsets that are odd multiples of 16 bytes."""

    operator = "ELEMENT_WISE_CLIP1"
    clause = "binding.offset"

    def spoils(self, kernel: Kernel, bindings: Bindings) -> bool:
        """Of the input."""
        operator = kernel.operator
        odd = bindings["InputTensor"].offset % 32 != 0
        return odd and scaled(operator) and operator.output.data_type is DataType.FLOAT16


class ScaledDimensionsRefused(Reference):
    """POW with a ScaleBias is refused in two to seven dimensions."""

    operator = "ELEMENT_WISE_POW"
    clause = "pow.scale-bias"
    level = LEVEL

    def refuses(self, operator: OperatorDesc) -> str:
        """Then as well."""
        scaling = operator.attributes.get("ScaleBias") is not None and operator.name == self.operator
        return super().refuses(operator) or ("ScaleBias" if scaling and 1 < operator.output.rank < 8 else "")


class _Accepting(Reference):
    """Descriptions that must be refused are accepted where :meth:`is_overlooked` says so; they are not dispatched."""

    level = LEVEL

    def is_overlooked(self, operator: OperatorDesc) -> bool:
        """Whether nothing of a description is checked."""
        raise NotImplementedError

    def refuses(self, operator: OperatorDesc) -> str:
        """Not those."""
        return "" if operator.name == self.operator and self.is_overlooked(operator) else super().refuses(operator)


class SizesOfOtherModesNotCompared(_Accepting):
    """ROUND in another mode than the first accepts an output of other sizes."""

    operator = "ELEMENT_WISE_ROUND"
    clause = "round.constraint.sizes"

    def is_overlooked(self, operator: OperatorDesc) -> bool:
        """Any in those modes."""
        unlike = operator.input.sizes != operator.output.sizes
        return unlike and operator.attributes["RoundingMode"] in ("TOWARD_ZERO", "TOWARD_INFINITY")


class TypesOfStridedTensorsNotCompared(_Accepting):
    """MAX accepts unlike types where strides are given."""

    operator = "ELEMENT_WISE_MAX"
    clause = "max.constraint.data-type"

    def is_overlooked(self, operator: OperatorDesc) -> bool:
        """Of equal sizes."""
        tensors = operator.tensors.values()
        return any(tensor.strides is not None for tensor in tensors) and len({tensor.sizes for tensor in tensors}) == 1
