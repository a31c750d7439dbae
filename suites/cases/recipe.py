"""What a case of a covering array was made of, so that it can be made again with one factor changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dmlcts.specs.computed import computed


@dataclass(frozen=True)
class Recipe:
    """The level of every factor, and the seed of all that was drawn within the levels.

    Attributes:
        levels: factor and level, in the order of the factors.
        seed: what the values, sizes and attributes were drawn with; each factor draws by itself, so that
            changing the level of one changes what the others draw as little as possible.
    """

    levels: tuple[tuple[str, str], ...]
    seed: int

    def level(self, factor: str) -> str | None:
        """The level of a factor; ``None`` where the operator has no such factor."""
        return self.by_factor.get(factor)

    @computed
    def by_factor(self) -> Mapping[str, str]:
        """The levels by factor."""
        return MappingProxyType(dict(self.levels))

    def __reduce__(self) -> tuple[type[Recipe], tuple[Any, ...]]:
        """The arguments alone: a mapping proxy cannot be pickled."""
        return Recipe, (self.levels, self.seed)

    def at(self, factor: str, level: str) -> Recipe:
        """The same with another level of one factor."""
        return Recipe(tuple((name, level if name == factor else known) for name, known in self.levels), self.seed)

    def __str__(self) -> str:
        return ", ".join(f"{factor} {level}" for factor, level in self.levels)
