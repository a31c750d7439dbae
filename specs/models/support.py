"""The support tables of an operator: what holds at a feature level and above."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models.base import DataTypeName, Identifier, LevelName, Model, TypeVariable

MAIN = "T"
"""The type variable that a table's records, and the `data_types` of its clauses, are about, where it has one."""


@dataclass(frozen=True)
class SupportRow:
    """One row of a page's support table: a tensor with its lowest and highest rank and its data types."""

    tensor: str
    kind: Literal["Input", "Optional input", "Output"]
    dimension_counts: tuple[int, int]
    data_types: tuple[str, ...]


class SupportTable(Model):
    """What holds at a feature level and above."""

    level: LevelName
    dimension_counts: tuple[int, int] = Field(description="lowest and highest rank")
    tensor_dimension_counts: dict[Identifier, tuple[int, int]] = Field(
        default_factory=dict, description="of tensors whose ranks are others"
    )
    types: dict[TypeVariable, tuple[DataTypeName, ...]] = Field(
        min_length=1, description="the data types of each type variable; all combinations, or those `together`"
    )
    together: tuple[dict[TypeVariable, DataTypeName], ...] = Field(
        (), description="the combinations of data types of some type variables that are supported, where not all are"
    )
    lacks: tuple[Identifier, ...] = Field((), description="optional tensors that are not there yet")
    requires: tuple[Identifier, ...] = Field((), description="optional tensors that may not be left out yet")

    @cached_property
    def feature_level(self) -> FeatureLevel:
        """The level as a :class:`FeatureLevel`."""
        return FeatureLevel(self.level)

    @cached_property
    def data_types(self) -> tuple[DataType, ...]:
        """The element types of the main type variable, in the page's order: T's, else the first one's."""
        return tuple(DataType[name] for name in self.types.get(MAIN, next(iter(self.types.values()))))

    def allows(self, types: Mapping[str, DataType]) -> bool:
        """Whether data types of type variables are supported together, each of which the level lists."""
        return not self.together or any(
            all(variable not in types or types[variable].name == name for variable, name in row.items())
            for row in self.together
        )

    @cached_property
    def ranks(self) -> range:
        """The ranks of the tensors that have none of their own."""
        low, high = self.dimension_counts
        return range(low, high + 1)
