"""What a test is about: one operator on one signature, and how its cases are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import Signature, signatures_on
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.generation import distinct, edge_values, operands
from dmlcts.suites.generation.descriptions import Descriptions
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.profiles import QUICK, Profile

_MOST_KEPT = 2048  # elements of a subject that are drawn once


@lru_cache(maxsize=1 << 10)
def _shared(table: ByIdentity[OperatorTable], *value: Any) -> Subject:
    return Subject(table.value, *value)


@dataclass(frozen=True)
class Subject(Descriptions):
    """One operator on one signature, at the level that is judged: its elements and its cases.

    Tensors and their types are in :mod:`.signature_tensors`, attributes and descriptions in :mod:`.descriptions`.
    """

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
            yield from (self.of_arrays(arrays, single) for arrays, single in operands.edges(self))

    def all_sets(self) -> Iterator[Elements]:
        """All elements of narrow types, NaN left out where the operator's own input is all there is."""
        if self.of_one_type:
            yield self.elements(edge_values.every_pattern(self.data_type))
        else:
            yield from (self.of_arrays(arrays, single) for arrays, single in operands.everything(self))
