"""Elements of several inputs, or of one of another type than the output: the edges of each, and pairs made on purpose.

Two numbers drawn by themselves are never equal, opposite or neighbours, their quotient is never close to an integer,
and a shift count drawn from 2^32 is never the width; these are.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.cases.values import Array
from dmlcts.suites.generation import distinct, edge_values
from dmlcts.suites.generation.signature_tensors import SignatureTensors

Pairs = list[Array]
_MOST_CROSSED = 20_000
_SMALL = 17
_SHARE = 8
_SCALES = (1.0, 0.5, 2.0, 0.1, 3.0, 100.0, 2.0**-10, -1.5)


def _typed(values: Any, data_type: DataType) -> Array:
    """The values in the type, those that it holds, without repetitions."""
    if data_type.is_floating:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(values, np.float64).astype(data_type.numpy)
    limits = np.iinfo(data_type.numpy)
    kept = [int(value) for value in values if int(limits.min) <= int(value) <= int(limits.max)]
    return np.array(list(dict.fromkeys(kept)), data_type.numpy)


@lru_cache(maxsize=32)
def few_edges(data_type: DataType) -> Array:
    """Some hundred values of a type: zeros, small ones, powers of two with neighbours, limits; infinities, NaNs.

    The result is 1-D, of ``data_type``.
    """
    if data_type.is_floating:
        own: Any = data_type.numpy.type
        information = np.finfo(data_type.numpy)
        unit, greatest, normal = own(1), information.max, information.smallest_normal
        whole = own(2.0**information.nmant)
        small = [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 5.0, 7.0, 10.0, 100.0, 127.0, 128.0, 255.0, 256.0]
        magnitudes = np.concatenate(
            [
                np.array(small, data_type.numpy),
                edge_values.neighbours([unit, own(2), whole, own(0.5)], data_type),
                edge_values.neighbours([greatest, greatest / 2, normal, normal * 2], data_type),
                np.sqrt(np.array([greatest, normal, own(3)], data_type.numpy)),
                np.array([information.smallest_subnormal, normal / own(2), unit / own(3), np.inf], data_type.numpy),
            ]
        )
        bits = np.unique(np.concatenate([magnitudes, -magnitudes]).view(data_type.bits_dtype))
        edge_values_array = np.concatenate([bits.view(data_type.numpy), edge_values.nans(data_type)[:4]])
    else:
        limits = np.iinfo(data_type.numpy)
        width = int(limits.bits)
        places = [0, 1, 2, 3, 5, 7, 10, 100, width - 1, width, width + 1, 2 * width]
        places += [
            (1 << bit) + step
            for bit in range(3, width)
            for step in (-1, 0, 1)
            if bit in (3, 4, 7, 8, 15, 16, 24, 31, 32, 33, 53, 62, 63, width - 1)
        ]
        places += [int(limits.max) - step for step in (0, 1, 2)] + [int(limits.max) // 2, int(limits.max) // 3]
        places += [-place for place in places] + [int(limits.min) + step for step in (0, 1, 2)]
        edge_values_array = _typed(places, data_type)
    edge_values_array.setflags(write=False)
    return edge_values_array


def _near(a: Array, data_type: DataType) -> Iterator[tuple[Array, Array]]:
    """Pairs of a value with itself, its neighbours and its opposite, with zero and with one."""
    neighbourhood = edge_values.neighbours(a, data_type)
    parts = np.split(neighbourhood, 3)
    for other in (*parts, np.zeros_like(a), np.ones_like(a)):
        yield a, other
        yield other, a
    with np.errstate(all="ignore"):
        yield a, (-a if data_type.is_signed else np.iinfo(data_type.numpy).max - a)


def _words(data_type: DataType) -> tuple[Array, Array]:
    """64-bit integers that differ in the high or in the low word alone."""
    words = np.array([0, 1, 2, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF], np.uint64)
    high, low, other = (grid.ravel() for grid in np.meshgrid(words, words, words))
    left = high << np.uint64(32) | low
    pairs = [(left, other << np.uint64(32) | low), (left, high << np.uint64(32) | other)]
    joined = tuple(np.concatenate(side).astype(np.uint64).view(data_type.numpy) for side in zip(*pairs, strict=True))
    return joined[0], joined[1]


def _quotients(data_type: DataType) -> tuple[Array, Array]:
    """Dividends at, just below and just above multiples of divisors."""
    if data_type.is_floating:
        divisors = _typed([1, 2, 3, 5, 7, 10, 0.1, 0.3, 1.5, 100, 255, -3, -0.7], data_type)
        counts = _typed([0.5, 1, 1.5, 2, 3, 5, 10, 100, 127, 128, 254.5, 255, 256, 1000], data_type)
        with np.errstate(over="ignore"):
            products = np.multiply.outer(counts, divisors)
        divisors = np.broadcast_to(divisors, products.shape).ravel()
        around = edge_values.neighbours(products.ravel(), data_type)
        return np.concatenate([around, -around]), np.concatenate([np.tile(divisors, 3)] * 2)
    limits = np.iinfo(data_type.numpy)
    pairs = [
        (count * divisor + step, divisor)
        for divisor in (1, 2, 3, 5, 7, 10, 100, 127, 641, 65_537, -1, -2, -3, -7)
        for count in (0, 1, 2, 3, 10, 17, 1000, int(limits.max) // abs(divisor))
        for step in (-1, 0, 1)
    ]
    pairs += [(-dividend, other) for dividend, other in pairs]
    pairs += [(int(limits.min), -1), (int(limits.min), 1), (int(limits.max), -1), (0, 0), (1, 0), (int(limits.min), 0)]
    kept = [pair for pair in pairs if all(limits.min <= operand <= limits.max for operand in pair)]
    return np.array([dividend for dividend, _ in kept], data_type.numpy), np.array(
        [second for _, second in kept], data_type.numpy
    )


def _of_alike(data_type: DataType) -> Iterator[tuple[Array, Array]]:
    """Pairs of one type, made on purpose."""
    wide = edge_values.inputs(data_type)
    yield from _near(wide, data_type)
    if data_type.is_floating:
        small = edge_values.subnormals(data_type)
        yield small, small[::-1]
        yield _quotients(data_type)
    else:
        yield _quotients(data_type)
        counts = np.arange(0, _SMALL, dtype=data_type.numpy)
        width = _typed([8 * data_type.itemsize + step for step in (-2, -1, 0, 1, 8, 24, 32)], data_type)
        yield tuple_of(few_edges(data_type), np.concatenate([counts, width]))
        if data_type.itemsize == np.dtype(np.int64).itemsize:
            yield _words(data_type)


def tuple_of(left: Array, other: Array) -> tuple[Array, Array]:
    """All pairs of two arrays' elements.

    Both arrays are 1-D; each result is 1-D, with an element for each pair.
    """
    return np.repeat(left, other.size), np.tile(other, left.size)


def _crossed(types: list[DataType], seed: int) -> list[Array]:
    """All combinations of few edge values; of more than can be tried a seeded part."""
    edges = [few_edges(data_type) for data_type in types]
    total = int(np.prod([array.size for array in edges]))
    if total <= _MOST_CROSSED or len(types) <= 2:
        return [grid.ravel() for grid in np.meshgrid(*edges, indexing="ij")]
    generator = np.random.Generator(np.random.PCG64(seed + 23))
    return [generator.choice(array, _MOST_CROSSED) for array in edges]


@lru_cache(maxsize=64)
def _edge_arrays(types: tuple[DataType, ...], seed: int) -> tuple[Array, ...]:
    parts: list[list[Array]] = [_crossed(list(types), seed)]
    if len(types) == 1:
        (data_type,) = types
        parts = [[edge_values.inputs(data_type)]]
        parts += [[edge_values.nans(data_type)], [edge_values.subnormals(data_type)]] if data_type.is_floating else []
        parts += [[edge_values.ties(data_type)], [edge_values.near_ties(data_type)]] if data_type.is_floating else []
    alike = [place for place, data_type in enumerate(types) if types.count(data_type) > 1]
    if len(alike) > 1:
        data_type = types[alike[0]]
        generator = np.random.Generator(np.random.PCG64(seed + 29))
        for pair in _of_alike(data_type):
            others = [generator.choice(few_edges(other_type), pair[0].size) for other_type in types]
            for place, array in zip(alike, itertools.chain(pair, pair), strict=False):
                others[place] = array
            parts.append(others)
    elif len(types) > 1:  # of different types: every edge of each beside some of the others
        generator = np.random.Generator(np.random.PCG64(seed + 31))
        for place, data_type in enumerate(types):
            wide = edge_values.inputs(data_type)
            others = [generator.choice(few_edges(other_type), wide.size) for other_type in types]
            others[place] = wide
            parts.append(others)
    joined = tuple(np.concatenate([part[place] for part in parts]) for place in range(len(types)))
    for array in joined:
        array.setflags(write=False)
    return joined


def edges(tensors: SignatureTensors) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
    """Edge values of all inputs together, with each of a few elements of the tensors that have only one.

    Given are the arrays of the inputs, 1-D and of one length, and those of the tensors of one element.
    """
    arrays = dict(zip(tensors.inputs, _edge_arrays(tuple(tensors.inputs.values()), tensors.seed), strict=True))
    for single in _shared_out(tensors):
        yield arrays, single


def mixed(types: Mapping[str, DataType], seed: int) -> dict[str, Array]:
    """The boundary lattice of each input, each but the first in another order.

    Each array is 1-D, of its input's type; all have one length.
    """
    generator = np.random.Generator(np.random.PCG64(seed + 17))
    arrays = {name: edge_values.inputs(data_type) for name, data_type in types.items()}
    count = max(array.size for array in arrays.values())
    return {
        name: np.concatenate([array, generator.choice(array, count - array.size)])[
            generator.permutation(count) if place else slice(None)
        ]
        for place, (name, array) in enumerate(arrays.items())
    }


def _shared_out(tensors: SignatureTensors) -> list[dict[str, Array]]:
    """Elements for the tensors that have one: of many sets this signature's share, where not all are asked for."""
    sets = list(singles(tensors.single, [name for name, row in tensors.table.tensors.items() if row.nonzero]))
    shares = max(1, len(sets) // _SHARE) if tensors.profile.shares_out else 1
    return sets[(zlib.crc32(str(tensors.signature).encode()) + tensors.seed) % shares :: shares]


def singles(types: Mapping[str, DataType], nonzero: Collection[str] = ()) -> Iterator[dict[str, Array]]:
    """Elements for the tensors that have one: scales with zero points, each value of either with an ordinary other.

    Each array has one element, of its tensor's type.

    Args:
        types: the tensors that have one element, with their types.
        nonzero: those of which 0 is not tried.
    """
    usual = distinct.singles(types)
    if not types:
        yield {}
        return
    for name, data_type in types.items():
        scales = _SCALES if name in nonzero else (*_SCALES, 0.0)
        values = scales if data_type.is_floating else (0, 1, -1, *edge_values.limits_of(data_type), 10)
        for value in _typed(values, data_type):
            yield usual | {name: np.array([value], data_type.numpy)}


def everything(tensors: SignatureTensors) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
    """All patterns of one input of 8 or 16 bits, all pairs of two of 8 bits; nothing for wider ones.

    Given are the arrays of the inputs, 1-D and of one length, and those of the tensors of one element.
    """
    types = list(tensors.inputs.values())
    bits = 8 * sum(data_type.itemsize for data_type in types)
    if bits > 16:
        return
    every = [edge_values.every_pattern(data_type, nan=True) for data_type in types]
    arrays = dict(zip(tensors.inputs, (grid.ravel() for grid in np.meshgrid(*every, indexing="ij")), strict=True))
    for single in _shared_out(tensors):
        yield arrays, single
