"""The elements of all inputs together: what a case is filled with, kept in step where it is cut, joined or turned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.cases.values import Array, Streams, Values


class Elements:
    """Elements of every input tensor, by name; element i of one belongs to element i of the others.

    Args:
        arrays: 1-D, by the tensors' names in the struct's order, all of one length.
        single: the element of each tensor that has only one, by name.
        order: the names of all inputs in the struct's order; those of ``arrays``, then of ``single`` by default.
    """

    def __init__(
        self, arrays: Mapping[str, Any], single: Mapping[str, Any] | None = None, order: Iterable[str] = ()
    ) -> None:
        self.arrays: dict[str, Array] = {name: np.asarray(array) for name, array in arrays.items()}
        self.single: dict[str, Array] = {
            name: np.asarray(element).reshape(1) for name, element in (single or {}).items()
        }
        self.order = tuple(order) or (*self.arrays, *self.single)
        lengths = {array.size for array in self.arrays.values()}
        if len(lengths) != 1:
            raise ValueError(f"inputs of different lengths: {sorted(lengths)}")
        (self.count,) = lengths

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, part: Any) -> Elements:
        """The elements of a slice, of indices, or where a mask holds."""
        return self.each(lambda array: array[part])

    def ending_at(self, place: int, count: int) -> Elements:
        """``count`` elements of which the last is the one at ``place``."""
        return self[place - count + 1 : place + 1]

    @property
    def spread(self) -> dict[str, Array]:
        """Arrays of one length for all inputs: of a tensor of one element its only one, repeated."""
        repeated = {name: np.repeat(element, self.count) for name, element in self.single.items()}
        return self.arrays | repeated

    @property
    def first(self) -> Array:
        """The elements of the first input.

        1-D, of that input's type.
        """
        return next(iter(self.arrays.values()))

    def each(self, change: Callable[[Array], Array]) -> Elements:
        """The elements with each array changed; tensors of one element stay as they are.

        ``change`` is given a 1-D array of an input's type, and gives one.
        """
        return Elements({name: change(array) for name, array in self.arrays.items()}, self.single, self.order)

    def with_single(self, single: Mapping[str, Any]) -> Elements:
        """The elements with others for the tensors that have only one."""
        return Elements(self.arrays, single, self.order)

    def joined(self, *others: Elements) -> Elements:
        """These elements and then the others'."""
        return Elements(
            {
                name: np.concatenate([array, *(other.arrays[name] for other in others)])
                for name, array in self.arrays.items()
            },
            self.single,
            self.order,
        )

    def resized(self, count: int) -> Elements:
        """``count`` elements, repeated from the first on where there are fewer."""
        return self.each(lambda array: np.resize(array, count))

    def pieces(self, most: int) -> Iterator[Elements]:
        """The elements in pieces of at most so many."""
        for start in range(0, self.count, most):
            yield self[start : start + most]

    @property
    def frozen(self) -> Elements:
        """The same elements, in arrays that nobody can write to."""
        for array in (*self.arrays.values(), *self.single.values()):
            array.setflags(write=False)
        return self

    @cached_property
    def streams(self) -> Streams:
        """The elements as what fills a case's tensors."""
        arrays = {**self.arrays, **self.single}
        return Streams(tuple((name, _stream(arrays[name])) for name in self.order))


def _stream(array: Array) -> Values:
    return Values.of(array, _type_of(array.dtype))


@lru_cache(maxsize=64)
def _type_of(kind: np.dtype[Any]) -> DataType:
    return DataType[kind.name.upper()]
