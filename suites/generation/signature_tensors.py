"""The tensors of an operator on a signature: their types, the ranks that a level obliges, the clauses about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.generation.profiles import Profile


@dataclass(frozen=True)
class SignatureTensors:
    """The tensors of one operator on one signature, at the level that is judged.

    Attributes:
        table: the operator's table.
        signature: what its type variables stand for, and which optional tensors are there.
        level: the feature level that is judged.
        seed: the run's seed, for bulk values.
        profile: how much is generated.
    """

    table: OperatorTable
    signature: Signature
    level: FeatureLevel
    seed: int
    profile: Profile

    @property
    def data_type(self) -> DataType:
        """The data type of the first type variable."""
        return self.signature.data_type

    @cached_property
    def types(self) -> dict[str, DataType]:
        """The data type of each tensor that is there, by name, in the struct's order."""
        return {
            name: self.signature[row.type]
            for name, row in self.table.tensors.items()
            if not row.optional or name in self.signature.present
        }

    @cached_property
    def inputs(self) -> dict[str, DataType]:
        """The data types of the inputs that have as many elements as the output."""
        return {
            name: data_type
            for name, data_type in self.types.items()
            if name != self.table.output and self.table.tensors[name].elements is None
        }

    @cached_property
    def single(self) -> dict[str, DataType]:
        """The data types of the inputs that have one element."""
        return {name: data_type for name, data_type in self.types.items() if self.table.tensors[name].elements}

    @cached_property
    def wide(self) -> dict[str, DataType]:
        """The data types of the tensors that have as many elements as the output: the inputs, and the output itself."""
        return {**self.inputs, self.table.output: self.types[self.table.output]}

    @cached_property
    def of_one_type(self) -> bool:
        """Whether the operator has one input, of the output's type, which its formula calls x."""
        return of_one_type(self.table)

    @cached_property
    def _order(self) -> tuple[str, ...]:
        return tuple(name for name in self.types if name != self.table.output)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that the level obliges; where it obliges none, those that any level lists."""
        return self.obliged_ranks or tuple(rank for rank in range(1, 9) if self.listed(rank)) or (4,)

    @cached_property
    def obliged_ranks(self) -> tuple[int, ...]:
        """The ranks of the output that the level obliges an implementation to take."""
        return tuple(rank for rank in range(1, 9) if self.listed(rank, self.level))

    def listed(self, rank: int, level: FeatureLevel | None = None) -> bool:
        """Whether a support table of a level, or of any, lists the signature with an output of that rank."""
        return self.table.supports(
            {name: (data_type, self._rank_of(name, rank)) for name, data_type in self.types.items()}, level
        )

    def _rank_of(self, name: str, rank: int) -> int:
        """The rank that a tensor has beside an output of ``rank``: the same, where its own ranks allow that."""
        own = [
            support.tensor_dimension_counts[name]
            for support in self.table.support
            if name in support.tensor_dimension_counts
        ]
        return min(max(rank, own[0][0]), own[0][1]) if own else rank

    def clause(self, check: OwnCheck, **enumerators: str) -> str:
        """The id of the operator's own clause that ``check`` checks: ``clause("values")`` is ``clip.formula``.

        Raises:
            LookupError: the table has none; a test names what it needs in its marker.
        """
        types = dict(self.signature.types)
        clause_of = self.table.clause_of(check, data_type=self.data_type, types=types, **enumerators)
        if clause_of is None:
            raise LookupError(f"{self.table.operator} has no clause with `check: {check}`")
        return clause_of

    @property
    def in_place_clause(self) -> str:
        """The clause on in-place execution; where no page speaks of it, that on tensors in one resource."""
        return self.table.clause_of("in-place") or "binding.same-resource"

    @property
    def in_place(self) -> list[Placement]:
        """The output bound to the region of each input whose memory it may be."""
        allowed = self.table.tensors[self.table.output].may_alias
        return [Placement(in_place=True, alias=name) for name in allowed if name in self.inputs]

    @property
    def inputs_may_be_the_output(self) -> bool:
        """Whether the output may be the memory of several inputs at once, so that all of them may be one region."""
        return self.table.alias_at_once(*self.inputs) == "several"

    def flat(self, count: int) -> tuple[int, ...]:
        """Sizes of a tensor of ``count`` elements with the lowest rank: [n], or [1, 1, 1, n]."""
        return (*([1] * (self.ranks[0] - 1)), count)

    def __str__(self) -> str:
        return f"{self.table.short_name}-{named(self.signature)}"


def named(signature: Signature) -> str:
    """A signature in a test's name: "FLOAT32", "FLOAT32-UINT8-ZeroPointTensor"."""
    return "-".join([*(data_type.name for _, data_type in signature.types), *sorted(signature.present)])
