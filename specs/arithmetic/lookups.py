"""What is found once for elements that are alike, where each of many elements would be evaluated by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Array
from dmlcts.specs.datatypes import DataType

Inputs = Mapping[str, Array]

_MOST_BYTES = 2  # of all inputs of an element together: of more there are too many patterns
_OF_A_CALL = 1 << 10  # elements that take as long as what a call takes for none
_MANY = 1 << 12  # elements of which it is looked whether they repeat
_FACTOR = np.uint64(0x9E37_79B9_7F4A_7C15)  # odd: any would do, as elements of one key are compared


class Lookup:
    """A function of each element's patterns by itself, looked up where these are few and it was asked often enough.

    A table of all patterns is made when about as many elements were evaluated: it then costs at most as much again.

    Args:
        types: of the inputs by their names.
        function: gives one value for each element of the inputs, 1-D.
    """

    def __init__(self, types: Mapping[str, DataType], function: Callable[[Inputs], Array]) -> None:
        self._function = function
        self._inputs = dict(types)
        width = sum(data_type.itemsize for data_type in self._inputs.values())
        self._left = (1 << 8 * width) if width <= _MOST_BYTES else math.inf
        self._table: Array | None = None

    def __call__(self, inputs: Inputs) -> Array:
        """The function's values for the inputs."""
        if self._left == math.inf or inputs.keys() != self._inputs.keys():
            return self._function(inputs)
        if self._table is None:
            if self._left > 0:
                self._left -= max(array.size for array in inputs.values()) + _OF_A_CALL
                return self._function(inputs)
            self._table = self._tabulated()
        patterns = [
            np.ascontiguousarray(inputs[name]).view(data_type.bits_dtype) for name, data_type in self._inputs.items()
        ]
        place = patterns[0]
        for bits in patterns[1:]:
            place = place.astype(np.uint16) << np.uint16(8) | bits
        return np.asarray(np.take(self._table, place, mode="clip"))

    def _tabulated(self) -> Array:
        """The values for all patterns, in the order of the patterns of all inputs, those of the first one highest."""
        width = sum(data_type.itemsize for data_type in self._inputs.values())
        patterns = np.arange(1 << 8 * width, dtype=np.uint16)
        inputs = {}
        for name, data_type in self._inputs.items():
            width -= data_type.itemsize
            inputs[name] = (patterns >> np.uint16(8 * width)).astype(data_type.bits_dtype).view(data_type.numpy)
        with np.errstate(all="ignore"):
            table = np.ascontiguousarray(self._function(inputs))
        table.setflags(write=False)
        return table


def distinct_elements(arrays: Sequence[Array]) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Where each element of several arrays together stands first, and for each element which of those is its own.

    Args:
        arrays: 1-D, of one length; elements are alike where the patterns of all are.

    Returns:
        Both 1-D: the first ones' indices, and for each element its place among those; ``None`` where there are few
        elements, or most are unlike.
    """
    if arrays[0].size < _MANY:
        return None
    patterns = [np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}") for array in arrays]
    keys = np.zeros(arrays[0].size, np.uint64)
    for pattern in patterns:
        keys = (keys ^ pattern) * _FACTOR
        keys ^= keys >> np.uint64(29)
    if np.unique(keys[:_MANY]).size > _MANY // 2:
        return None
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    alike = all(np.array_equal(pattern[first][inverse], pattern) for pattern in patterns)
    return (first, inverse) if alike else None
