"""Several tensors confused: one operand read with another's strides, or overwritten before it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.specs import OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.mutants.bases import packed, read_by
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Reference

Bindings = Mapping[str, Region]


class _SecondOperand(Reference):
    """The last input of operators with several is read with other strides; what lies beyond its region reads as 0."""

    level = LEVEL
    operator = "ELEMENT_WISE_SUBTRACT"  # it strikes on all that have several inputs; the proof is by this one

    def strides(self, first: TensorDesc, last: TensorDesc) -> tuple[int, ...]:
        """The strides that are used for the last one."""
        raise NotImplementedError

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Read the last input wrongly."""
        names = [name for name in table.inputs if name in operator.tensors]
        if len(names) < 2:
            super().dispatch_exact(operator, table, memory, bindings)
            return
        tensors = [operator.tensors[name] for name in names]
        inputs = [self.read(memory, bindings[name], operator.tensors[name]) for name in names]
        inputs[-1] = read_by(self.strides(tensors[0], tensors[-1]), memory, bindings[names[-1]], tensors[-1])
        with np.errstate(all="ignore"):
            y = self.compute_exact(operator, inputs)
        target = operator.tensors[table.output]
        self.write(memory, bindings[table.output], target, y.astype(target.data_type.numpy))


class SecondReadWithFirstStrides(_SecondOperand):
    """The last operand is read with the strides of the first."""

    clause = "tensor.strides.padded"

    def strides(self, first: TensorDesc, last: TensorDesc) -> tuple[int, ...]:
        """The first one's."""
        return first.element_strides


class SecondTakenForPacked(_SecondOperand):
    """The strides of the last operand are ignored."""

    clause = "tensor.strides.permuted"

    def strides(self, first: TensorDesc, last: TensorDesc) -> tuple[int, ...]:
        """Packed ones."""
        return packed(last.sizes)


class SecondNotBroadcast(_SecondOperand):
    """A stride of zero of the last operand is taken for the packed one."""

    clause = "tensor.strides.broadcast"

    def strides(self, first: TensorDesc, last: TensorDesc) -> tuple[int, ...]:
        """Its own, but for zeros."""
        usual = packed(last.sizes)
        return tuple(own or stride for own, stride in zip(last.element_strides, usual, strict=True))


class SecondBroadcastWithFirst(_SecondOperand):
    """Where the first operand has a stride of zero the last one is read with it too."""

    clause = "tensor.strides.broadcast"

    def strides(self, first: TensorDesc, last: TensorDesc) -> tuple[int, ...]:
        """Its own, but where the first one has zeros."""
        return tuple(
            own if stride else 0 for own, stride in zip(last.element_strides, first.element_strides, strict=True)
        )


class _Clearing(Reference):
    """In place of one operand, half of the output is cleared before that operand is read."""

    level = LEVEL
    member = ""

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Clear the second half first."""
        if operator.name == self.operator and bindings[table.output] == bindings[self.member]:
            elements = self.view(memory, bindings[table.output], operator.tensors[table.output])
            elements[elements.shape[0] // 2 :] = 1
        super().dispatch_exact(operator, table, memory, bindings)


class _OneRegionForBoth(Reference):
    """Right, but where both operands of one operator are one region."""

    level = LEVEL
    operator = "ELEMENT_WISE_ADD1"  # whose output may alias one or more of its inputs

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Go wrong there."""
        region, target = bindings.get("BTensor"), bindings[table.output]
        if operator.name != self.operator or region is None or bindings["ATensor"] != region:
            super().dispatch_exact(operator, table, memory, bindings)
            return
        both = self.view(memory, region, operator.tensors["BTensor"])
        with np.errstate(all="ignore"):
            self.combine(operator, both, self.view(memory, target, operator.output), in_place=region == target)

    def combine(self, operator: OperatorDesc, both: Array, output: Array, *, in_place: bool) -> None:
        """Write to the output what the elements with themselves give."""
        raise NotImplementedError


class SharedWritesBeforeSecondIsRead(_OneRegionForBoth):
    """Where both operands and the output are one region, half of it is cleared before the second operand is read."""

    clause = "add1.in-place"

    def combine(self, operator: OperatorDesc, both: Array, output: Array, *, in_place: bool) -> None:
        """Keep the first operand only."""
        first = both.copy()
        if in_place:
            both[both.shape[0] // 2 :] = 1
        output[...] = self.compute_exact(operator, [first, both.copy()])


class SharedInPlaceInTwoPasses(_OneRegionForBoth):
    """Where all is one region a first pass negates it for the second operand, and the second pass adds that twice."""

    clause = "add1.in-place"

    def combine(self, operator: OperatorDesc, both: Array, output: Array, *, in_place: bool) -> None:
        """Negate, then add the first operand."""
        right = self.compute_exact(operator, [both.copy(), both.copy()])
        output[...] = -(both + both) if in_place else right


class SharedSecondNegatedForAWhile(_OneRegionForBoth):
    """Out of place, the shared operands are negated for the second one while the first is read, and put back after."""

    operator = "ELEMENT_WISE_SUBTRACT"
    clause = "binding.same-resource"

    def combine(self, operator: OperatorDesc, both: Array, output: Array, *, in_place: bool) -> None:
        """Negate, add, and put back what was there."""
        kept = both.copy()
        output[...] = self.compute_exact(operator, [kept, kept]) if in_place else -(kept + kept)


def _of_table(table: OperatorTable) -> dict[str, Any]:
    mutants_by_name = {}
    for clause in table.checked_by("in-place"):
        for member in table.tensors[table.output].may_alias:
            words = "".join(word.capitalize() for word in table.short_name.split("_"))
            name = f"{words}InPlaceOf{member}"
            description = (
                f"In place of {member} {table.short_name} overwrites half of the elements before it reads them."
            )
            members = {"__doc__": description, "__module__": __name__, "operator": table.operator, "clause": clause.id}
            mutants_by_name[name] = type(name, (_Clearing,), {**members, "member": member})
    return mutants_by_name


MADE = {
    name: made
    for table in load_tables().operators.values()
    if table.short_name not in ("CLIP", "ROUND", "THRESHOLD")
    for name, made in _of_table(table).items()
}

globals().update(MADE)
