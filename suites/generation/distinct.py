"""Ordinary values that distinguish places: for tests that are about layouts, memory and state, not about values.

And values that differ in little from those of the dispatch before: kernels that keep results must notice each change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array, Streams
from dmlcts.suites.generation.edge_values import limits_of

_SCALE = 32.0  # brings the values of `of_type` down to the range of an 8-bit integer
_ZERO_POINT = 3


def of_type(data_type: DataType, count: int, generator: np.random.Generator) -> Array:
    """Values that differ from their neighbours: multiples of 1/4 up to 3000, or the whole range of an integer type.

    Some lie between -8 and 8: bounds like 2 and 6 leave them apart.

    The result is 1-D, of ``data_type``, with ``count`` elements.
    """
    small = generator.integers(0, 8, count) == 0
    if data_type.is_floating:
        wide = generator.integers(-12000, 12000, count)
        return (np.where(small, wide % 65 - 32, wide) / 4).astype(data_type.numpy)
    least, greatest = limits_of(data_type)
    values = generator.integers(least, greatest, count, data_type.numpy, endpoint=True)
    low = max(least, -8)
    return np.where(small, values % np.array(17, values.dtype) + np.array(low, values.dtype), values)


def with_zeros(integers: Array, generator: np.random.Generator) -> Array:
    """The same with zero at every twelfth place or so: signs and truth values are one and the same elsewhere.

    ``integers`` is 1-D; the result has its type and length.
    """
    return np.where(generator.integers(0, 12, integers.size) == 0, integers.dtype.type(0), integers)


def together(
    inputs: Mapping[str, DataType], count: int, generator: np.random.Generator, output: DataType
) -> dict[str, Array]:
    """Values of several inputs whose results differ from place to place, whatever the operator.

    Some are zero, some of the further inputs equal the first, or are small: comparisons, truth values and shifts give
    the same for all others. At some places all are near zero, since elsewhere arc functions give NaN and powers nothing
    that a type holds. Where a floating-point input gives another type, some are infinite or NaN.

    Each array is 1-D, of its input's type, with ``count`` elements.
    """
    arrays: dict[str, Array] = {}
    for name, data_type in inputs.items():
        array = of_type(data_type, count, generator)
        alike = next((known for known in arrays.values() if known.dtype == array.dtype), None)
        small = generator.integers(1, 8 * data_type.itemsize, count).astype(data_type.numpy)
        choice = generator.integers(0, 8, count)
        if alike is not None:
            array = np.where(choice < 3, alike, np.where(choice < 5, small, array))
        if _shows_infinities(inputs.values(), output):
            special = np.array([np.nan, np.inf, -np.inf], data_type.numpy)
            array = np.where(choice < 3, special[choice % 3], array)
        arrays[name] = np.where(choice == 7, np.zeros((), array.dtype), array)
    near = generator.integers(0, 8, count) == 0
    return {name: np.where(near, _near_zero(array.dtype, count, generator), array) for name, array in arrays.items()}


def drawn(inputs: tuple[tuple[str, DataType], ...], output: DataType | None, count: int, seed: int) -> dict[str, Array]:
    """Seeded values of an only input (:func:`of_type`, with zeros among integers), or of several (:func:`together`).

    Each array is 1-D, of its input's type, with ``count`` elements.

    Args:
        inputs: names and types of the inputs.
        output: the output's type; ``None`` where the operator has one input, of its type.
        count: how many of each.
        seed: what they are drawn with.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    if output is not None:
        return together(dict(inputs), count, generator, output)
    ((name, data_type),) = inputs
    array = of_type(data_type, count, generator)
    return {name: array if data_type.is_floating else with_zeros(array, generator)}


def drawn_once(
    inputs: tuple[tuple[str, DataType], ...], output: DataType | None, count: int, seed: int
) -> Mapping[str, Array]:
    """The same for few, drawn once, in arrays that nobody can write to.

    Each array is 1-D, of its input's type, with ``count`` elements.
    """
    types = tuple([data_type for _, data_type in inputs])
    if output is not None and not _shows_infinities(types, output):
        output = types[0]  # which one makes no other difference
    arrays = _drawn_once(types, output, count, seed)
    return MappingProxyType({name: array for (name, _), array in zip(inputs, arrays, strict=True)})


@lru_cache(maxsize=3072)  # operators of a form have them in common, whatever their inputs are called
def _drawn_once(types: tuple[DataType, ...], output: DataType | None, count: int, seed: int) -> tuple[Array, ...]:
    named = tuple((str(place), data_type) for place, data_type in enumerate(types))
    arrays = tuple(drawn(named, output, count, seed).values())
    for array in arrays:
        array.setflags(write=False)
    return arrays


def _shows_infinities(types: Collection[DataType], output: DataType) -> bool:
    """Whether a floating-point input gives another type."""
    return len(types) == 1 and all(data_type.is_floating and output is not data_type for data_type in types)


def _near_zero(kind: np.dtype[Any], count: int, generator: np.random.Generator) -> Array:
    """Values where powers, exponentials and inverse functions have results: within 1 of zero, or 1, 2 and 3."""
    if kind.kind == "f":
        return (generator.integers(-63, 64, count) / 64).astype(kind)
    return generator.integers(1, 4, count).astype(kind)


def distinguishing(arrays: Mapping[str, Array], expected: Array) -> list[NDArray[np.intp]]:
    """For each input, where the result is not what it holds: an element that is only copied shows there.

    Args:
        arrays: the inputs' elements, 1-D.
        expected: the results.

    Returns:
        indices, ascending, for each input that has some; all of them, once, where none has.
    """
    index_arrays = [np.flatnonzero(array != expected) for array in arrays.values()]
    return [places for places in index_arrays if places.size] or [np.arange(expected.size)]


def without_zero(array: Any) -> Array:
    """The elements with ones for zeros and subnormals.

    The result has the type and shape of ``array``.
    """
    values = np.asarray(array)
    if values.dtype.kind != "f":
        return np.where(values == 0, values.dtype.type(1), values)
    return np.where(np.abs(values) < np.finfo(values.dtype).smallest_normal, values.dtype.type(1), values)


def singles(types: Mapping[str, DataType]) -> dict[str, Array]:
    """An ordinary element for each tensor that has one: a scale, or a small integer.

    Each array has one element, of its tensor's type.
    """
    return {
        name: np.array([_SCALE if data_type.is_floating else _ZERO_POINT], data_type.numpy)
        for name, data_type in types.items()
    }


def middle_reversed(elements: Array) -> Array:
    """The elements with those of the middle third in the opposite order.

    ``elements`` is 1-D; the result has its type and length.
    """
    start, end = elements.size // 3, elements.size - elements.size // 3
    return np.concatenate([elements[:start], elements[start:end][::-1], elements[end:]])


def little_changed(case: Case, output: Array) -> list[Streams]:
    """The case's values; then with the one element in the middle changed; then with each input's middle turned too.

    The one element becomes what another place holds, whose result differs, where there is such a place.

    Args:
        case: what is dispatched.
        output: its results, 1-D.
    """
    count = output.size
    arrays = {name: values.array(case.operator.inputs[name].element_count) for name, values in case.values.items()}
    states = [arrays]
    unlike = np.flatnonzero(output != output[count // 2])
    if unlike.size:
        other = int(unlike[unlike.size // 2])
        states.append(
            {name: _with_middle(array, other) if array.size == count else array for name, array in arrays.items()}
        )
    for name in arrays if len(arrays) > 1 else ():
        states.append(states[-1] | {name: middle_reversed(states[-1][name])})
    return [Streams.of(state, case.operator) for state in states]


def _with_middle(elements: Array, other: int) -> Array:
    array = elements.copy()
    array[array.size // 2] = elements[other]
    return array
