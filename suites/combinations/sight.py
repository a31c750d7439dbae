"""What of a covering array's row is in sight: its combinations of levels, but for those that a masking level hides."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from dmlcts.suites.combinations.factors import Space
from dmlcts.suites.combinations.possible import flat_offsets

Row = tuple[int, ...]
"""The position of the chosen level of each factor, in the factors' order."""


class Sight:
    """The levels of a space's rows, counted through all factors.

    Attributes:
        offsets: where each factor's levels begin.
        masking: for each factor the positions of its levels that mask the others.
    """

    def __init__(self, space: Space) -> None:
        self.offsets: list[int] = flat_offsets(space).tolist()
        self.masking = [frozenset(factor.index[name] for name in factor.masks) for factor in space.factors]

    def flat(self, row: Row) -> list[int]:
        """The row's levels counted through."""
        return [offset + level for offset, level in zip(self.offsets, row, strict=True)]

    def parts(self, row: Row) -> tuple[list[int], list[int]]:
        """The row's levels counted through: those that mask nothing, and those that mask the others."""
        flat = self.flat(row)
        masks = [flat[factor] for factor, level in enumerate(row) if level in self.masking[factor]]
        return [position for position in flat if position not in masks], masks


def in_sight(others: list[int], masks: list[int], together: int) -> tuple[NDArray[np.intp], ...]:
    """The index of all combinations of so many levels that a row has in sight, each in every order.

    Without masking levels a level beside itself is among them, which nobody asks for.

    Args:
        others: the row's levels that mask nothing, counted through.
        masks: those that mask the others; every combination has all of them.
        together: how many levels are combined.
    """
    if not masks:
        return np.ix_(*([others] * together))
    rest = itertools.combinations(others, together - len(masks)) if together >= len(masks) else ()
    every = [order for some in rest for order in itertools.permutations((*masks, *some))]
    return tuple(np.array(every, np.intp).reshape(-1, together).T)
