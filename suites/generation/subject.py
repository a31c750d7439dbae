"""What a test is about: one operator on one data type, and how its cases are put together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc
from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.case import Case, Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation import edge_values

_Given = TypeVar("_Given", bound=Attribute | float)


@dataclass(frozen=True)
class Subject:
    """One operator on one data type, at the level that is judged.

    Attributes:
        table: the operator's table.
        data_type: the element type.
        level: the feature level that is judged.
        seed: the run's seed, for bulk values.
        thorough: whether the profile asks for more than the quick one's cases.
    """

    table: OperatorTable
    data_type: DataType
    level: FeatureLevel
    seed: int
    thorough: bool

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that the level obliges; where it obliges none, those that any level lists."""
        obliged = tuple(rank for rank in range(1, 9) if self.table.obliged(self.data_type, rank, self.level))
        listed = tuple(rank for rank in range(1, 9) if self.table.listed(self.data_type, rank))
        return obliged or listed or (4,)

    def clause(self, check: OwnCheck, **enumerators: str) -> str:
        """The id of the operator's own clause that ``check`` checks: ``clause("values")`` is ``clip.formula``.

        Raises:
            LookupError: the table has none; a test names what it needs in its marker.
        """
        found = self.table.clause_of(check, **enumerators)
        if found is None:
            raise LookupError(f"{self.table.operator} has no clause with `check: {check}`")
        return found

    def flat(self, count: int) -> tuple[int, ...]:
        """Sizes of a tensor of ``count`` elements with the lowest rank: [n], or [1, 1, 1, n]."""
        return (*([1] * (self.ranks[0] - 1)), count)

    def attributes(self, **given: _Given) -> dict[str, Attribute | _Given]:
        """All attributes: those given that the operator has, no ScaleBias, the first enumerator, bounds of -1 and 1."""
        found: dict[str, Attribute | _Given] = {}
        for item in self.table.attributes:
            default: Attribute = None
            if item.type == "ENUM":
                default = item.enumerators[0]
            elif item.type == "FLOAT":
                default = np.float32(1.0 if item.role != "low" else (-1.0 if self.data_type.is_signed else 0.0))
            found[item.name] = given.get(item.name, default)
        return found

    def attribute_sets(self, bounds: Iterable[edge_values.Bounds] | None = None) -> Iterator[dict[str, Any]]:
        """The attributes of every ordinary pair of bounds and every enumerator; one empty set where there are none."""
        names = self.table.float_attributes
        enumerations = [(item.name, item.enumerators) for item in self.table.attributes if item.type == "ENUM"]
        pairs = list(edge_values.bounds(self.data_type) if bounds is None else bounds) if names else [None]
        seen = set()
        for pair in pairs:
            given = {} if pair is None else dict(zip(("Min", "Max"), pair, strict=True))
            kept = tuple(given.get(name) for name in names)
            if kept in seen:
                continue
            seen.add(kept)
            if not enumerations:
                yield self.attributes(**given)
            for name, enumerators in enumerations:
                for enumerator in enumerators:
                    yield self.attributes(**given, **{name: enumerator})

    def describe(
        self,
        sizes: Sequence[int],
        attributes: Mapping[str, Any],
        strides: Sequence[int] | None = None,
        output_strides: Sequence[int] | None = None,
        total_size: int | None = None,
    ) -> OperatorDesc:
        """An operator description with equal sizes for both tensors."""
        tensors = {
            "InputTensor": TensorDesc(self.data_type, sizes, strides, total_size),
            "OutputTensor": TensorDesc(self.data_type, sizes, output_strides, total_size),
        }
        return OperatorDesc(self.table.operator, tensors, attributes)

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
        """A case on a packed tensor that holds exactly ``inputs``."""
        values = inputs if isinstance(inputs, Values) else Values.of(inputs, self.data_type)
        operator = self.describe(self.flat(len(values)), self.attributes() if attributes is None else attributes)
        return Case(operator, values, clause, layout_clause, expectation, placement or Placement())

    def values_clause(self, attributes: Mapping[str, Any]) -> str:
        """The clause that states the operator's values: the formula's, the enumerator's, or that of special bounds."""
        inverted = self.table.clause_of("bounds.inverted")
        if inverted is not None and attributes.get("Min", 0) > attributes.get("Max", 0):
            return inverted
        infinite = self.table.clause_of("bounds.infinite")
        bounds = [attributes[name] for name in self.table.float_attributes if name in attributes]
        if infinite is not None and self.data_type.is_floating and any(map(np.isinf, bounds)):
            return infinite
        return self.table.clause_of("rounding", "values", **attributes) or self.table.clauses[0].id

    def scaled_values_clause(self, attributes: Mapping[str, Any]) -> str:
        """The same, or ScaleBias's where the attributes have one: a kernel without it gives other values."""
        if attributes.get("ScaleBias") is None:
            return self.values_clause(attributes)
        return self.clause("scale-bias" if self.data_type.is_floating else "scale-bias.integer")

    def typical(self) -> list[dict[str, Any]]:
        """A few attribute sets, for tests that are not about attributes."""
        chosen = edge_values.bounds(self.data_type)[:3]
        return list(self.attribute_sets(chosen))[:3]

    def revealing(self) -> dict[str, Any]:
        """Attributes that leave most values of :meth:`distinct` different from each other, and change some."""
        if self.data_type.is_floating:
            return next(iter(self.attribute_sets([(np.float32(-2048.0), np.float32(2046.0))])))
        low, high = edge_values.limits_as_float(self.data_type)
        pair = (np.float32(int(low) // 2 if low < 0 else int(high) // 8), np.float32(int(high) // 4 * 3))
        return next(iter(self.attribute_sets([pair])))

    def distinct(self, count: int) -> Any:
        """Seeded values that differ from their neighbours, before and after the operator: for tests of layout."""
        generator = np.random.Generator(np.random.PCG64(self.seed + 11))
        if self.data_type.is_floating:
            return (generator.integers(-12000, 12000, count) / 4).astype(self.data_type.numpy)
        limits = np.iinfo(self.data_type.numpy)
        return generator.integers(limits.min, limits.max, count, self.data_type.numpy, endpoint=True)

    def __str__(self) -> str:
        return f"{self.table.short_name}-{self.data_type.name}"
