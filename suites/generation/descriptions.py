"""Descriptions of an operator on a signature: attributes, tensors with sizes and strides, clauses on their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.descriptions import Attribute, documented_total_size
from dmlcts.specs.models.operators import AttributeTable
from dmlcts.suites.generation import attributes, edge_values
from dmlcts.suites.generation.signature_tensors import SignatureTensors

_Value = TypeVar("_Value", bound=Attribute | float)

Strides = Sequence[int] | None


@lru_cache(maxsize=1 << 13)  # tensors of an operator are mostly alike, and those of its signatures
def tensor(
    data_type: DataType, sizes: tuple[int, ...], strides: tuple[int, ...] | None = None, total: int | None = None
) -> TensorDesc:
    """A tensor, one and the same for equal arguments: its hash and its counts are worked out once."""
    return TensorDesc(data_type, sizes, strides, total)


@dataclass(frozen=True)
class Descriptions(SignatureTensors):
    """Descriptions of one operator on one signature, and the attributes that they have."""

    def attributes(self, **givens: _Value) -> dict[str, Attribute | _Value]:
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
