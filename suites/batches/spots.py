"""Spots: where the elements of a tensor stand, of one case in its memory, and of many cases in an arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import Region, TensorDesc
from dmlcts.suites.cases.memory import Bytes

Array = NDArray[Any]
Positions = NDArray[np.int32]

MOST_BYTES = 1 << 18
"""Of the memory of a case whose elements have spots."""
_FEW = 1 << 8  # elements whose positions are listed; of more, a view of each case is read and written sooner
_PLACES: Positions = np.arange(MOST_BYTES, dtype=np.int32)
_PLACES.setflags(write=False)
_PLACE = _PLACES.itemsize


@dataclass(frozen=True, eq=False, init=False)
class Spot:
    """Where the elements of a tensor stand in the memory of a case, in row-major order.

    Attributes:
        offset: bytes from the memory's beginning to the first element.
        sizes: of the view that shows the elements.
        strides: of that view, in bytes.
        count: how many elements there are.
        places: of few elements, how many others of their type fit before each; ``None`` of many.
    """

    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    count: int
    places: Positions | None

    def __init__(
        self, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], count: int, places: Positions | None
    ) -> None:
        put = self.__dict__  # as object.__setattr__ would, in half the time
        put["offset"] = offset
        put["sizes"] = sizes
        put["strides"] = strides
        put["count"] = count
        put["places"] = places

    @classmethod
    def of(cls, region: Region, tensor: TensorDesc) -> Spot:
        """The spot of all logical elements."""
        return cls._made(region, tensor, tensor.sizes, tensor.element_strides)

    @classmethod
    def of_distinct(cls, region: Region, tensor: TensorDesc) -> Spot:
        """The same, where those that strides of zero repeat count one time only."""
        sizes = tuple(size if step else 1 for size, step in zip(tensor.sizes, tensor.element_strides, strict=True))
        return cls._made(region, tensor, sizes, tensor.element_strides)

    @classmethod
    def repeated(cls, region: Region, tensor: TensorDesc, count: int) -> Spot:
        """The spot of a tensor's only element, which stands for each of ``count``."""
        return cls._made(region, tensor, (count,), (0,))

    @classmethod
    def _made(cls, region: Region, tensor: TensorDesc, sizes: tuple[int, ...], steps: tuple[int, ...]) -> Spot:
        item, count = tensor.data_type.itemsize, 1
        for size in sizes:
            count *= size
        places = None
        if count <= _FEW:
            first = region.offset // item
            if tensor.strides is None and sizes is tensor.sizes:
                places = _PLACES[first : first + count]
            else:
                moved = tuple([_PLACE * step for step in steps])
                view: Any = np.ndarray(sizes, np.int32, _PLACES, _PLACE * first, moved)
                places = view.ravel()
        return cls(region.offset, sizes, tuple([item * step for step in steps]), count, places)

    def view(self, memory: Bytes, start: int, dtype: np.dtype[Any]) -> Array:
        """The elements in a memory, in the shape of the view, where the case's memory begins at a byte of it."""
        view: Array = np.ndarray(self.sizes, dtype, memory, start + self.offset, self.strides)
        return view

    @property
    def nbytes(self) -> int:
        """About how many bytes the spot takes."""
        return 256 + (0 if self.places is None else self.places.nbytes)


class Spots:
    """Where the elements of one tensor of some cases stand in an arena, one case's behind another's.

    Args:
        spots: of each case.
        starts: the byte of the arena at which the memory of each case begins.
        dtype: of the elements.
        counts: how many elements each case has, where that is known.
    """

    def __init__(
        self,
        spots: Sequence[Spot],
        starts: NDArray[np.intp],
        dtype: np.dtype[Any],
        counts: NDArray[np.intp] | None = None,
    ) -> None:
        self._spots = spots
        self._starts = starts
        self._dtype = dtype
        self._counts = np.array([spot.count for spot in spots]) if counts is None else counts
        listed = [spot.places for spot in spots if spot.places is not None]
        self._listed: Array = np.concatenate(listed) if listed else np.zeros(0, np.intp)
        self._large: list[tuple[int, slice]] = []
        self._few: Any = slice(None)
        self._shares: Any = slice(None)
        if len(listed) < len(spots):
            ends = np.cumsum(self._counts)
            of_few = np.array([spot.places is not None for spot in spots])
            large = np.flatnonzero(~of_few).tolist()
            self._large = [(index, slice(int(ends[index] - self._counts[index]), int(ends[index]))) for index in large]
            self._few = np.flatnonzero(of_few)
            self._shares = np.flatnonzero(np.repeat(of_few, self._counts))
        self._listed = self._listed + np.repeat(starts[self._few] // dtype.itemsize, self._counts[self._few])

    def each(self, of_cases: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What is so of each case, for each of its elements.

        ``of_cases`` has an element for each case; the result is 1-D, with one for each element of all cases.
        """
        return np.repeat(of_cases, self._counts)

    def read(self, memory: Bytes) -> Array:
        """The elements in the arena, 1-D."""
        if not self._large:
            few: Array = memory.view(self._dtype)[self._listed]
            return few
        values: Array = np.empty(int(self._counts.sum()), self._dtype)
        if self._listed.size:
            values[self._shares] = memory.view(self._dtype)[self._listed]
        for number, share in self._large:
            spot = self._spots[number]
            values[share].reshape(spot.sizes)[...] = spot.view(memory, int(self._starts[number]), self._dtype)
        return values

    def write(self, memory: Bytes, values: Array, chosen: NDArray[np.bool_] | None = None) -> None:
        """Write the elements of chosen cases.

        Args:
            memory: the arena.
            values: those of all cases, 1-D.
            chosen: of each case whether it is one; ``None`` for all.
        """
        if self._listed.size:
            listed, few = self._listed, values[self._shares]
            if chosen is not None:
                mine = np.repeat(chosen[self._few], self._counts[self._few])
                listed, few = listed[mine], few[mine]
            memory.view(self._dtype)[listed] = few
        for number, share in self._large:
            if chosen is None or chosen[number]:
                spot = self._spots[number]
                view = spot.view(memory, int(self._starts[number]), self._dtype)
                view[...] = values[share].reshape(spot.sizes)
