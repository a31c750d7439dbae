"""What a case of a covering array was made of, so that it can be made again with one factor changed."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence

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

    def __hash__(self) -> int:
        return self._hash

    @computed
    def _hash(self) -> int:
        return hash((self.levels, self.seed))

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


class _Words(ISeedSequence):
    """A seed sequence that keeps what it gives PCG64: mixing it takes longer than most of what is drawn with it."""

    def __init__(self, entropy: list[int]) -> None:
        self._sequence = np.random.SeedSequence(entropy)
        self._kept = self._sequence.generate_state(4, np.uint64)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """As the sequence's own."""
        known = n_words == self._kept.size and np.dtype(dtype) == self._kept.dtype
        return self._kept if known else self._sequence.generate_state(n_words, dtype)


@lru_cache(maxsize=1 << 12)
def _words(seed: int, name: str) -> _Words:
    return _Words([seed, zlib.crc32(name.encode())])


def generator_of(seed: int, factor: str) -> np.random.Generator:
    """What a factor draws with that is left open by a recipe of this seed."""
    words: Any = _words(seed, factor)  # numpy takes any ISeedSequence, its stubs do not
    return np.random.Generator(np.random.PCG64(words))
