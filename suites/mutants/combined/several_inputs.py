"""Layouts of several inputs that go wrong together: one tensor's strides right or wrong by what another's are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dmlcts.specs import OperatorDesc, Region
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.combinations.sizes import layout_of
from dmlcts.suites.mutants.bases import packed, read_by
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference

Strides = tuple[int, ...]
UNMOVED = ("none", "packed")


class _Misread(Reference):
    """One input of one operator is read with other strides than its own; what lies beyond its region reads as 0.

    Attributes:
        member: the input that is misread.
    """

    level = LEVEL
    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "tensor.strides.padded"
    member = "BTensor"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """The strides that are used; the input's own where nothing goes wrong."""
        raise NotImplementedError

    def dispatch_exact(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        """Read that input wrongly."""
        if operator.name != self.operator:
            super().dispatch_exact(operator, table, memory, bindings)
            return
        inputs = {name: self.read(memory, bindings[name], tensor) for name, tensor in operator.inputs.items()}
        used = self.strides(operator, bindings)
        inputs[self.member] = read_by(used, memory, bindings[self.member], operator.inputs[self.member])
        with np.errstate(all="ignore"):
            y = self.compute_exact(operator, list(inputs.values()))
        target = operator.tensors[table.output]
        self.write(memory, bindings[table.output], target, np.asarray(y).astype(target.data_type.numpy))

    def own(self, operator: OperatorDesc) -> Strides:
        """The right strides."""
        return operator.inputs[self.member].element_strides


def _levels(operator: OperatorDesc) -> dict[str, str]:
    return {name: layout_of(tensor) for name, tensor in operator.tensors.items()}


class SecondAsFirstWhereBothAreStrided(_Misread):
    """Where both operands have strides the second one is read with the first one's."""

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """The first one's where both have some."""
        first, own = operator.inputs["ATensor"].strides, operator.inputs["BTensor"].strides
        return self.own(operator) if first is None or own is None else first


class SecondTakenForPackedBesidePackedFirst(_Misread):
    """Where the first operand is packed the second one is taken for packed too."""

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """Packed ones beside a packed first operand."""
        levels = _levels(operator)
        return packed(operator.output.sizes) if levels["ATensor"] in UNMOVED else self.own(operator)


class ConditionReadAsA(_Misread):
    """IF reads its condition with ATensor's strides where it has some of its own."""

    operator = "ELEMENT_WISE_IF"
    member = "ConditionTensor"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """ATensor's."""
        strided = operator.inputs["ConditionTensor"].strides is not None
        return operator.inputs["ATensor"].element_strides if strided else self.own(operator)


class ThirdAsSecondBesideStridedCondition(_Misread):
    """IF reads BTensor with ATensor's strides where the condition is padded or permuted."""

    operator = "ELEMENT_WISE_IF"
    member = "BTensor"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """ATensor's there."""
        strided = _levels(operator)["ConditionTensor"] in ("padded", "permuted")
        return operator.inputs["ATensor"].element_strides if strided else self.own(operator)


class SecondNotBroadcastIntoPaddedOutput(_Misread):
    """Where the output is padded a stride of zero of the second operand is taken for the packed one."""

    clause = "tensor.strides.output"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """Packed strides in place of zeros."""
        own = self.own(operator)
        if _levels(operator)["OutputTensor"] != "padded":
            return own
        return tuple(stride or usual for stride, usual in zip(own, packed(operator.output.sizes), strict=True))


class FirstBroadcastWithSecondIntoReversedOutput(_Misread):
    """Where the output is in the opposite order the first operand is broadcast as the second one is."""

    clause = "tensor.strides.output"
    member = "ATensor"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """Zeros where the second one has them."""
        own, second = self.own(operator), operator.inputs["BTensor"].element_strides
        if _levels(operator)["OutputTensor"] != "reversed":
            return own
        return tuple(stride if other else 0 for stride, other in zip(own, second, strict=True))


class SecondOrderLostBesideReversedFirst(_Misread):
    """Beside a first operand in the opposite order a permuted second one is read in that order too."""

    clause = "tensor.strides.permuted"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """The first one's."""
        levels = _levels(operator)
        lost = levels["ATensor"] == "reversed" and levels["BTensor"] == "permuted"
        return operator.inputs["ATensor"].element_strides if lost else self.own(operator)


class SecondGapsLostBesideBroadcastFirst(_Misread):
    """Beside a broadcast first operand the gaps of a padded second one are ignored."""

    clause = "tensor.strides.broadcast"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """Packed ones."""
        levels = _levels(operator)
        lost = levels["ATensor"] == "broadcast" and levels["BTensor"] == "padded"
        return packed(operator.output.sizes) if lost else self.own(operator)


class SecondOrderLostBesidePaddedFirst(_Misread):
    """Beside a padded first operand a second one in the opposite order is read in row-major order."""

    clause = "tensor.strides.permuted"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """Packed ones."""
        levels = _levels(operator)
        lost = levels["ATensor"] == "padded" and levels["BTensor"] == "reversed"
        return packed(operator.output.sizes) if lost else self.own(operator)


class SecondFarApartBesidePermutedFirst(_Misread):
    """Beside a permuted first operand offsets of the second one have 16 bits."""

    clause = "tensor.strides.permuted"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """The last 16 bits of each stride."""
        lost = _levels(operator)["ATensor"] == "permuted"
        return tuple(stride & 0xFFFF for stride in self.own(operator)) if lost else self.own(operator)


class SecondAsOutputInPlaceOfFirst(_Misread):
    """In place of the first operand the second one is read with the strides of both."""

    clause = "subtract.in-place"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """The output's, which are the first one's."""
        in_place = bindings["OutputTensor"] == bindings["ATensor"]
        return operator.output.element_strides if in_place else self.own(operator)


class FirstAsOutputInPlaceOfSecond(_Misread):
    """In place of the second operand the first one is read with the strides of both."""

    clause = "subtract.in-place"
    member = "ATensor"

    def strides(self, operator: OperatorDesc, bindings: Mapping[str, Region]) -> Strides:
        """The output's, which are the second one's."""
        in_place = bindings["OutputTensor"] == bindings["BTensor"]
        return operator.output.element_strides if in_place else self.own(operator)
