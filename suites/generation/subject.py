"""What a test is about: one operator on one signature, and how its cases are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.descriptions import Attribute, documented_total_size
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.models.operators import AttributeTable
from dmlcts.specs.tables.signatures import Signature, signatures_on
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.generation import attributes, distinct, edge_values, operands
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.profiles import QUICK, Profile

_Given = TypeVar("_Given", bound=Attribute | float)

Strides = Sequence[int] | None

_MOST_KEPT = 2048  # elements of a subject that are drawn once


@lru_cache(maxsize=1 << 13)  # tensors of an operator are mostly alike, and those of its signatures
def tensor(
    data_type: DataType, sizes: tuple[int, ...], strides: tuple[int, ...] | None = None, total: int | None = None
) -> TensorDesc:
    """A tensor, one and the same for equal arguments: its hash and its counts are worked out once."""
    return TensorDesc(data_type, sizes, strides, total)


@lru_cache(maxsize=1 << 10)
def _shared(table: ByIdentity[OperatorTable], *value: Any) -> Subject:
    return Subject(table.value, *value)


@dataclass(frozen=True)
class Subject:
    """One operator on one signature, at the level that is judged.

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

    @classmethod
    def on(
        cls, table: OperatorTable, data_type: DataType, level: FeatureLevel, seed: int = 0, profile: Profile = QUICK
    ) -> Subject:
        """The subject of the first signature whose first type variable stands for ``data_type``."""
        return cls(table, signatures_on(table, data_type)[0], level, seed, profile)

    @classmethod
    def shared(cls, table: OperatorTable, signature: Signature, *value: Any) -> Subject:
        """The subject of these arguments that all tests share: what follows from them is worked out once."""
        return _shared(ByIdentity(table), signature, *value)

    @classmethod
    def of(
        cls, table: OperatorTable, operator: OperatorDesc, level: FeatureLevel, seed: int = 0, profile: Profile = QUICK
    ) -> Subject:
        """The subject that a description is of."""
        return cls.shared(table, Signature.of(operator, table), level, seed, profile)

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
    def of_one_type(self) -> bool:
        """Whether the operator has one input, of the output's type, which its formula calls x."""
        return of_one_type(self.table)

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

    def attributes(self, **givens: _Given) -> dict[str, Attribute | _Given]:
        """All attributes: those given that the operator has, the others ordinary ones (see ``attributes``)."""
        return {name: givens.get(name, value) for name, value in self._ordinary.items()}

    @cached_property
    def _ordinary(self) -> dict[str, Attribute]:
        return attributes.ordinary(self.table, self.signature)

    def between(self, low: Any = None, high: Any = None) -> dict[str, Any]:
        """Ordinary attributes with these bounds, where the operator has such, under the table's own names."""
        return attributes.between(self.table, self.signature, low, high)

    def scaled(self, mapping: Mapping[str, Any], scaling: ScaleBias | None) -> dict[str, Any]:
        """Attributes with a scale and bias, where the operator takes one."""
        name = self.table.scale_bias
        return {**mapping, **({} if name is None else {name: scaling})}

    def attribute_sets(self, bounds: Iterable[edge_values.Bounds] | None = None) -> Iterator[dict[str, Any]]:
        """The attributes of every ordinary pair of bounds and every enumerator; one empty set where there are none."""
        return (self.attributes(**change) for change in attributes.changes(self.table, self.signature, bounds))

    def describe(
        self,
        sizes: Sequence[int],
        attributes: Mapping[str, Any],
        strides: Strides = None,
        output_strides: Strides = None,
        total_size: int | None = None,
        *,
        layouts: Mapping[str, Strides] | None = None,
    ) -> OperatorDesc:
        """An operator description with equal sizes for all tensors but those of one element.

        Args:
            sizes: of the output and of every input of as many elements.
            attributes: all of the operator's.
            strides: of those inputs; ``None`` for none.
            output_strides: of the output.
            total_size: bytes of the first input; the others' are larger than they need be by as much.
            layouts: strides of single inputs, by name, where they are others.
        """
        extra = 0 if total_size is None else total_size - documented_total_size(self.data_type, sizes, strides)
        exact, output, own_layouts = tuple(sizes), self.table.output, layouts or {}
        tensors = {}
        for name, data_type in self.types.items():
            if name in self.single:
                tensors[name] = self.one_element(name, len(exact))
                continue
            own = output_strides if name == output else own_layouts.get(name, strides)
            total = None
            if total_size is not None:
                same = data_type is self.data_type and (own == strides or self.of_one_type)
                total = total_size if same else documented_total_size(data_type, exact, own) + extra
            tensors[name] = tensor(data_type, exact, None if own is None else tuple(own), total)
        return self.described(tensors, attributes)

    def described(self, tensors: Mapping[str, TensorDesc], attributes: Mapping[str, Any]) -> OperatorDesc:
        """A description on these tensors."""
        return OperatorDesc(self.table.operator, tensors, self._typed(attributes))

    def one_element(self, name: str, rank: int) -> TensorDesc:
        """A tensor that has one element, beside an output of ``rank``."""
        return tensor(self.types[name], (1,) * self._rank_of(name, rank))

    def _typed(self, mapping: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes, with numbers that stand for a union brought into the type that it has to be of."""
        if not self._unions:
            return mapping
        unions = {
            item.name: attributes.number(self.table, self.signature, item, mapping[item.name])
            for item in self._unions
            if isinstance(mapping.get(item.name), float | np.floating)
        }
        return {**mapping, **unions}

    @cached_property
    def _unions(self) -> tuple[AttributeTable, ...]:
        return tuple(item for item in self.table.attributes if item.type == "DML_SCALAR_UNION")

    def elements(self, value: Any) -> Elements:
        """Elements of every input: as given, or an array of the first input's beside ordinary values of the others."""
        if isinstance(value, Elements):
            return value
        if len(self.inputs) > 1:
            ordinary = self.distinct(len(value))
            return self.of_arrays({**ordinary.arrays, next(iter(self.inputs)): value}, ordinary.single)
        return Elements({next(iter(self.inputs)): np.asarray(value, next(iter(self.inputs.values())).numpy)})

    def of_arrays(self, arrays: Mapping[str, Any], single: Mapping[str, Any] | None = None) -> Elements:
        """Elements of every input, in the struct's order; tensors of one element hold ordinary ones by default.

        Where 0 is undefined there are ones in its place, and in that of numbers that may be taken for it.
        """
        kept = {
            name: distinct.without_zero(array) if self.table.tensors[name].nonzero else array
            for name, array in arrays.items()
        }
        return Elements(kept, distinct.singles(self.single) if single is None else single, self._order)

    def case(
        self,
        clause: str,
        inputs: Any,
        attributes: Mapping[str, Any] | None = None,
        *,
        expectation: str = "oracle",
        layout_clause: str | None = None,
        placement: Placement | None = None,
    ) -> Case:
        """A case on packed tensors that hold ``inputs``: elements, listed streams, or an array of the only input's."""
        if isinstance(inputs, Streams):
            count, streams = max(map(len, inputs.values())), inputs
        else:
            elements = self.elements(inputs)
            count, streams = elements.count, elements.streams
        operator = self.describe(self.flat(count), self.attributes() if attributes is None else attributes)
        return Case(operator, streams, clause, layout_clause, expectation, placement)

    def values_clause(self, attributes: Mapping[str, Any]) -> str:
        """The clause that states the values: the formula's, the activation's, the enumerator's, or that of bounds."""
        if not self.of_one_type:
            fused = any(isinstance(value, OperatorDesc) for value in attributes.values())
            clause_of = self.table.clause_of(
                "activation" if fused else "values",
                "rounding",
                data_type=self.data_type,
                types=dict(self.signature.types),
                **attributes,
            )
            return clause_of or self.table.clauses[0].id
        inverted = self.table.clause_of("bounds.inverted")
        low, high = (attributes.get(name or "", 0) for name in (self.table.lower, self.table.upper))
        if inverted is not None and low > high:
            return inverted
        infinite = self.table.clause_of("bounds.infinite")
        bounds = [attributes[name] for name in self.table.float_attributes if name in attributes]
        if infinite is not None and self.data_type.is_floating and any(map(np.isinf, bounds)):
            return infinite
        return self.table.clause_of("rounding", "values", **attributes) or self.table.clauses[0].id

    def scaled_values_clause(self, attributes: Mapping[str, Any]) -> str:
        """The same, or ScaleBias's where the attributes have one: a kernel without it gives other values."""
        if attributes.get(self.table.scale_bias or "") is None:
            return self.values_clause(attributes)
        return self.clause("scale-bias" if self.data_type.is_floating else "scale-bias.integer")

    def typical(self) -> list[dict[str, Any]]:
        """A few attribute sets, for tests that are not about attributes."""
        chosen = edge_values.bounds(self.data_type)[:3]
        return list(self.attribute_sets(chosen))[:3]

    def revealing(self) -> dict[str, Any]:
        """Attributes that leave most values of :meth:`distinct` different from each other, and change some."""
        return dict(self._revealing)

    @cached_property
    def _revealing(self) -> dict[str, Any]:
        bounds = [item for item in self.table.attributes if item.is_number and item.role in ("low", "high")]
        if not bounds:
            return next(iter(self.attribute_sets())) if self.of_one_type else self.attributes()
        return self.attributes(**attributes.far_apart(self.table, self.signature, bounds))

    def distinct(self, count: int) -> Elements:
        """Seeded values that differ from their neighbours, before and after the operator: for tests of layout."""
        elements = self._kept[count] if count in self._kept else self._drawn(count)
        if count + sum(self._kept) <= _MOST_KEPT:
            self._kept.setdefault(count, elements.frozen)
        return elements

    @cached_property
    def _kept(self) -> dict[int, Elements]:
        return {}

    def _drawn(self, count: int) -> Elements:
        draw = distinct.drawn_once if count <= _MOST_KEPT else distinct.drawn
        output = None if self.of_one_type else self.types[self.table.output]
        values = draw(tuple(self.inputs.items()), output, count, self.seed + 11)
        return self.elements(*values.values()) if self.of_one_type else self.of_arrays(values)

    @cached_property
    def _order(self) -> tuple[str, ...]:
        return tuple(name for name in self.types if name != self.table.output)

    def bulk(self, seed: int) -> Streams:
        """Seeded values over the whole range of each input's type; those of one element hold ordinary ones."""
        values = {
            name: Values.bulk(data_type, seed + 7919 * place)
            for place, (name, data_type) in enumerate(self.inputs.items())
        }
        for name, value in distinct.singles(self.single).items():
            values[name] = Values.of([value], self.single[name])
        return Streams(tuple((name, values[name]) for name in self._order))

    def bulk_elements(self, seed: int, count: int) -> Elements:
        """The first ``count`` elements of :meth:`bulk`."""
        return self.of_arrays(
            {name: values.array(count) for name, values in self.bulk(seed).items() if name in self.inputs}
        )

    @cached_property
    def ones(self) -> Streams:
        """A one for every input: for descriptions of which nothing is dispatched."""
        return Streams(tuple((name, Values.of([1], self.types[name])) for name in self._order))

    @cached_property
    def wide(self) -> dict[str, DataType]:
        """The data types of the tensors that have as many elements as the output: the inputs, and the output itself."""
        return {**self.inputs, self.table.output: self.types[self.table.output]}

    def edges(self, around: Iterable[Any] = ()) -> Elements:
        """The boundary lattice of the only input, with values ``around`` numbers; of several each in another order.

        For tests that are not about values; those have :meth:`edge_sets`.
        """
        if self.of_one_type:
            return self.elements(edge_values.inputs(self.data_type, around))
        return self.of_arrays(operands.mixed(self.inputs, self.seed))

    def edge_sets(self, around: Iterable[Any] = ()) -> Iterator[Elements]:
        """What tests of values try: the boundary lattice of an only input, pairs of several made on purpose."""
        if self.of_one_type:
            yield self.edges(around)
        else:
            yield from operands.edges(self)

    def all_sets(self) -> Iterator[Elements]:
        """All elements of narrow types, NaN left out where the operator's own input is all there is."""
        if self.of_one_type:
            yield self.elements(edge_values.every_pattern(self.data_type))
        else:
            yield from operands.everything(self)

    def __str__(self) -> str:
        return f"{self.table.short_name}-{named(self.signature)}"


def named(signature: Signature) -> str:
    """A signature in a test's name: "FLOAT32", "FLOAT32-UINT8-ZeroPointTensor"."""
    return "-".join([*(data_type.name for _, data_type in signature.types), *sorted(signature.present)])
