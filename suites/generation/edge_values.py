"""The boundary lattice: the values and bounds at which implementations go wrong, made on purpose.

Ties (:func:`ties`), numbers next to ties, NaNs, subnormals, powers of two, limits of a type, and the bounds around
them.

Random floats never find a tie, the neighbour of a bound or the limit of a type; these do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType

Array = NDArray[Any]
Bounds = tuple[np.float32, np.float32]


def _unique(values: Array) -> Array:
    """The values without repetitions by bit pattern, in their order."""
    bits = values.view(f"u{values.dtype.itemsize}")
    _, first = np.unique(bits, return_index=True)
    return values[np.sort(first)]


def _frozen(values: Array) -> Array:
    """The values, in an array that nobody can write to: all tests share it."""
    values.setflags(write=False)
    return values


def neighbours(values: Iterable[Any], data_type: DataType) -> Array:
    """Each value with the next one below and above, of the type; limits stay where they are.

    The result is 1-D, of ``data_type``: all values, then all below, then all above.
    """
    array = np.asarray(list(values), data_type.numpy)
    if data_type.is_floating:
        with np.errstate(over="ignore"):
            around = [
                array,
                np.nextafter(array, data_type.numpy.type(-np.inf)),
                np.nextafter(array, data_type.numpy.type(np.inf)),
            ]
        return np.concatenate(around)
    limits = np.iinfo(data_type.numpy)
    unit = np.ones((), data_type.numpy)
    below = np.where(array == limits.min, array, array - unit)
    above = np.where(array == limits.max, array, array + unit)
    return np.concatenate([array, below, above])


@lru_cache(maxsize=32)
def _inputs(data_type: DataType) -> Array:
    if data_type.is_floating:
        information = np.finfo(data_type.numpy)
        lowest = information.minexp - information.nmant
        powers = np.ldexp(np.ones((), np.float64), np.arange(lowest, information.maxexp)).astype(data_type.numpy)
        small = np.arange(0, 40, 0.25)
        positive = np.concatenate(
            [
                neighbours(powers, data_type),
                neighbours(small.astype(data_type.numpy), data_type),
                neighbours([information.max, information.smallest_normal, information.smallest_subnormal], data_type),
                np.array([np.inf], data_type.numpy),
            ]
        )
        positive = positive[positive > 0]
        zeros = np.array([0.0, -0.0], data_type.numpy)
        values = _unique(np.concatenate([zeros, positive, -positive]))
    else:
        limits = np.iinfo(data_type.numpy)
        whole_powers = [1 << bit for bit in range(8 * data_type.itemsize) if 1 << bit <= int(limits.max)]
        whole = [0, *range(1, 12), *whole_powers, int(limits.max), int(limits.min), 100, 127 % (int(limits.max) + 1)]
        values = neighbours(whole, data_type)
        if data_type.is_signed:
            negative = [-value for value in whole if int(limits.min) <= -value <= int(limits.max)]
            values = np.concatenate([values, neighbours(negative, data_type)])
        values = _unique(values)
    return _frozen(values)


def inputs(data_type: DataType, around: Iterable[Any] = ()) -> Array:
    """Inputs for any operator, of both signs, each with its neighbours; no NaN.

    Zeros, powers of two, small multiples of 1/4, the type's limits, infinities, and the values ``around``.

    The result is 1-D, of ``data_type``.
    """
    special = [value for value in around if np.isfinite(value)]
    if not special:
        return _inputs(data_type)
    if not data_type.is_floating:
        limits = np.iinfo(data_type.numpy)
        special = [min(max(int(value), int(limits.min)), int(limits.max)) for value in special]
    return _unique(np.concatenate([neighbours(special, data_type), _inputs(data_type)]))


def every_pattern(data_type: DataType, *, nan: bool = False) -> Array:
    """All values of an 8- or 16-bit type; NaN patterns only on demand.

    The result is 1-D, of ``data_type``.
    """
    bits = np.arange(1 << (8 * data_type.itemsize), dtype=data_type.bits_dtype)
    values = bits.view(data_type.numpy)
    return values[~np.isnan(values)] if data_type.is_floating and not nan else values


@lru_cache(maxsize=32)
def nans(data_type: DataType) -> Array:
    """NaNs of either sign, quiet and signalling: each bit of the payload alone, all of them, a quiet one with one.

    The result is 1-D, of ``data_type``.
    """
    information = np.finfo(data_type.numpy)
    mantissa = information.nmant
    exponent = ((1 << information.nexp) - 1) << mantissa
    sign = 1 << (8 * data_type.itemsize - 1)
    quiet = 1 << (mantissa - 1)
    payloads = [quiet, quiet | 1, 1, (1 << mantissa) - 1, *(1 << bit for bit in range(mantissa - 2, 0, -1))]
    bits = [exponent | payload | extra for payload in payloads for extra in (0, sign)]
    return _frozen(np.array(bits, data_type.bits_dtype).view(data_type.numpy))


@lru_cache(maxsize=32)
def subnormals(data_type: DataType) -> Array:
    """Subnormal numbers of both signs, from the smallest to the largest, and the smallest normal ones as a control.

    The result is 1-D, of ``data_type``.
    """
    information = np.finfo(data_type.numpy)
    patterns = [1, 2, 3, *(1 << bit for bit in range(2, information.nmant)), (1 << information.nmant) - 1]
    positive = np.array([*patterns, 1 << information.nmant], data_type.bits_dtype).view(data_type.numpy)
    return _frozen(_unique(np.concatenate([positive, -positive])))


@lru_cache(maxsize=32)
def ties(data_type: DataType) -> Array:
    """K + 1/2 for every exponent at which the type has halves: small k, powers of two, their neighbours; both signs.

    The result is 1-D, of ``data_type``.
    """
    information = np.finfo(data_type.numpy)
    bases = [np.arange(0, 64)]
    for exponent in range(6, information.nmant):
        base = 1 << exponent
        bases.append(np.array([base, base + 1, base + 2, base + 3, base * 3 // 2, base * 2 - 2, base * 2 - 1]))
    halves = np.unique(np.concatenate(bases)).astype(np.float64) + 0.5
    halves = halves[halves < 2.0**information.nmant].astype(data_type.numpy)
    return _frozen(np.concatenate([halves, -halves]))


@lru_cache(maxsize=32)
def near_ties(data_type: DataType) -> Array:
    """The two neighbours of every tie: 0.49999997 and 0.50000006 among them.

    The result is 1-D, of ``data_type``.
    """
    exact = ties(data_type)
    return _frozen(neighbours(exact, data_type)[exact.size :])


def integers(data_type: DataType) -> Array:
    """Floating-point integers, up to where all numbers are: around every power of two, odd ones above all.

    The result is 1-D, of ``data_type``.
    """
    information = np.finfo(data_type.numpy)
    parts = [np.arange(0, 130, dtype=np.float64)]
    for exponent in range(7, information.maxexp):
        base = 2.0**exponent
        step = max(1.0, 2.0 ** (exponent - information.nmant))
        parts.append(base + step * np.array([-2, -1, 0, 1, 2, 3, 5, 7]))
        parts.append(base * 1.5 + step * np.array([-1, 0, 1]))
    parts.append(np.array([float(information.max)]))
    whole = np.concatenate(parts)
    whole = np.unique(whole[whole <= float(information.max)].astype(data_type.numpy))
    whole = whole[np.rint(whole) == whole]
    return np.concatenate([whole, -whole])


def _single(value: float) -> np.float32:
    return np.float32(value)


@lru_cache(maxsize=32)
def limits_as_float(data_type: DataType) -> Bounds:
    """The least and the greatest FLOAT whose truncation lies within the integer type."""
    limits = np.iinfo(data_type.numpy)
    top = np.float32(limits.max)
    if int(top) > int(limits.max):
        top = np.nextafter(top, np.float32(0))
    return np.float32(limits.min), top


def bounds(data_type: DataType) -> list[Bounds]:
    """Min no greater than Max, both exactly representable in the type."""
    if data_type.is_floating:
        information = np.finfo(np.float16 if data_type is DataType.FLOAT16 else np.float32)
        greatest, tiny = float(information.max), float(information.smallest_normal)
        ulp = float(information.eps)
        pairs = [
            (-1.0, 1.0),
            (0.0, 6.0),
            (-0.5, 0.5),
            (2.0, 6.0),
            (-6.0, -2.0),
            (-1.5, 2.5),
            (-greatest, greatest),
            (0.0, greatest),
            (-greatest, 0.0),
            (tiny, 1.0),
            (-1.0, -tiny),
            (1.0 + ulp, 2.0 - ulp),
            (-2048.0, 2046.0),
        ]
        if data_type is DataType.FLOAT32:
            pairs += [(2.0**-100, 2.0**100), (8388607.5, 16777215.0), (-0.10000000149011612, 0.30000001192092896)]
        else:  # Direct3D keeps FLOAT16's subnormal numbers
            least = float(information.smallest_subnormal)
            pairs += [(least, 1.0), (-1.0, -least)]
        return [(_single(low), _single(high)) for low, high in pairs]
    low, high = limits_as_float(data_type)
    bottom, top = float(low), float(high)
    pairs = [(0.0, 1.0), (1.0, 1.0 + 5), (10.0, 100.0), (bottom, top), (0.0, top), (top, top)]
    if data_type.is_signed:
        pairs += [(-1.0, 1.0), (-100.0, 100.0), (bottom, -1.0), (-7.0, -3.0), (-1.0, 0.0)]
    for bit in (15, 16, 23, 24, 25, 31, 32, 52, 53, 62, 63):
        power = float(1 << bit)
        if power <= top:
            pairs += [(3.0, power), (power, top)]
            if data_type.is_signed:
                pairs.append((-power, power))
    return list(dict.fromkeys((_single(low), _single(high)) for low, high in pairs if low <= high))


def inverted_bounds(data_type: DataType) -> list[Bounds]:
    """Min greater than Max, both exactly representable."""
    ordered = [(low, high) for low, high in bounds(data_type) if low < high]
    return [(high, low) for low, high in ordered[:12]]


def equal_bounds(data_type: DataType) -> list[Bounds]:
    """Min equal to Max."""
    values = dict.fromkeys(value for pair in bounds(data_type)[:12] for value in pair)
    return [(value, value) for value in values]


@lru_cache(maxsize=32)
def limits_of(data_type: DataType) -> tuple[int, int]:
    """The least and the greatest integer of the type."""
    limits = np.iinfo(data_type.numpy)
    return int(limits.min), int(limits.max)


def own_bounds(data_type: DataType) -> list[tuple[Any, Any]]:
    """Pairs of the type's own numbers, the lower first: small, at the limits, and beside powers of two."""
    if data_type.is_floating:
        own: Any = data_type.numpy.type
        infinite = (own(-np.inf), own(np.inf))
        most = own(np.finfo(data_type.numpy).max)
        return [infinite, (-most, most), *((own(low), own(high)) for low, high in bounds(data_type))]
    limits = np.iinfo(data_type.numpy)
    low, high = int(limits.min), int(limits.max)
    pairs = [(0, 1), (1, 6), (10, 100), (low, high), (0, high), (high, high), (low, low), (high - 1, high)]
    for bit in (15, 16, 24, 31, 32, 53, 63):
        pairs += [(1, (1 << bit) + 1), ((1 << bit) - 1, high)] if (1 << bit) < high else []
    pairs += [(-1, 1), (-100, 100), (low, -1), (low + 1, -3)] if data_type.is_signed else []
    return list(dict.fromkeys(pairs))


def odd_bounds(data_type: DataType) -> list[tuple[Any, Any]]:
    """Pairs of the type's own numbers, one of each kind: inverted, equal, infinite, and such that every bit counts."""
    if data_type.is_floating:
        own: Any = data_type.numpy.type
        step = np.finfo(data_type.numpy).eps
        pairs = [(2.0, -1.0), (1.5, 1.5), (-np.inf, np.inf), (1.0, np.inf), (-np.inf, 1.0), (1 + step, 2 - step)]
        return [(own(low), own(high)) for low, high in pairs]
    least, greatest = limits_of(data_type)
    low, high = least // 2 + 3 if least else greatest // 4 + 2, greatest // 2 + 2  # of as many digits as there are
    return [(high, low), (high, high), (least, greatest), (low, high)]


def tiny_bounds(data_type: DataType) -> list[tuple[Any, Any]]:
    """Pairs of the type's own numbers, one of each next to zero: of FLOAT16 subnormal, which Direct3D keeps."""
    if not data_type.is_floating:
        return []
    own: Any = data_type.numpy.type
    information = np.finfo(np.float16 if data_type is DataType.FLOAT16 else np.float32)
    tiny = information.smallest_subnormal if data_type is DataType.FLOAT16 else information.smallest_normal
    return [(own(tiny), own(1)), (own(-1), own(-tiny))]


def usual_bounds(data_type: DataType, *, as_float: bool) -> list[tuple[Any, Any]]:
    """Pairs of which kernels often are their own: what saturates, is a hard tanh, a ReLU6, or a ReLU.

    Args:
        data_type: the type that holds them.
        as_float: whether FLOAT has to hold them too: the highest integer is the highest one that it does.
    """
    if data_type.is_floating:
        own: Any = data_type.numpy.type
        highest = np.finfo(data_type.numpy).max
        return [(own(low), own(high)) for low, high in ((0, 1), (-1, 1), (0, 6), (0, np.inf), (0, highest))]
    top = int(limits_as_float(data_type)[1]) if as_float else limits_of(data_type)[1]
    return [(0, 1), *([(-1, 1)] if data_type.is_signed else []), (0, 6), (0, top)]


@lru_cache(maxsize=32)
def kinds(data_type: DataType) -> Mapping[str, Array]:
    """Values of one kind each, by its name: what a kernel may look for in all elements of a block at once.

    Each array is 1-D, of ``data_type``.
    """
    return MappingProxyType({name: _frozen(values) for name, values in _kinds(data_type).items()})


def _kinds(data_type: DataType) -> dict[str, Array]:
    low = range(1, 12)
    if not data_type.is_floating:
        least, greatest = limits_of(data_type)
        whole = {"zero": [0], "one": [1], "small": [*low], "greatest": [greatest + 1 - step for step in low]}
        if data_type.is_signed:
            whole |= {"negative": [-step for step in low], "least": [least - 1 + step for step in low]}
        return {name: np.array(values, data_type.numpy) for name, values in whole.items()}
    floats = {
        "zero": [0.0],
        "one": [1.0],
        "small": [step / 4 for step in low],
        "infinite": [np.inf],
        "large": [4096.0 + 8 * step for step in low],
        "negative": [-step / 4 for step in low],
        "large and negative": [-4096.0 - 8 * step for step in low],
    }
    arrays = {name: np.array(values, data_type.numpy) for name, values in floats.items()}
    return arrays | {"NaN": nans(data_type), "subnormal": subnormals(data_type)[:8]}


@lru_cache(maxsize=32)
def shortcuts(data_type: DataType) -> Array:
    """Values for which a kernel may have a shortcut, where one element stands for all of an operand.

    Neutral ones, powers of two, counts of half the bits and more, limits, both zeros, the least number, infinities,
    NaN; integers that no float holds.

    The result is 1-D, of ``data_type``.
    """
    if data_type.is_floating:
        known = np.finfo(data_type.numpy)
        most, least = float(known.max), float(known.smallest_subnormal)
        values = [0.0, 1.0, -1.0, 2.0, -2.0, 4.0, 0.5, 3.0, -most, most, -np.inf, np.inf, np.nan, -0.0, least]
        return _frozen(np.array(values, data_type.numpy))
    limits, width = limits_of(data_type), 8 * data_type.itemsize
    whole = [0, 1, -1, 2, -2, 4, 3, width - 1, width // 2, width // 2 + 3, *limits, 1 << (width - 1)]
    whole += [(1 << bit) + 1 for bit in (30, 32, 60)]  # and their neighbours are one in FLOAT32, and in FLOAT64
    kept = dict.fromkeys(value for value in whole if limits[0] <= value <= limits[1])
    return _frozen(np.array([*kept], data_type.numpy))
