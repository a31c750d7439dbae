"""Values that reveal an operator's arithmetic, few enough to stand in every layout of every input.

Ties, both sides of each seam, quotients at integers and beside them. Where a tensor has gaps or is permuted, it holds
them all; where elements are repeated, each value has its turn beside partners with which it reveals something.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.cases.values import Array, Values
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.edge_values import limits_of, neighbours

TURNS = 80
"""How many values have their turn."""
PARTNERS = 60
"""How many partners each has."""
_MOST = 4845  # values of an only input

_SEAMS = (
    math.pi / 6,
    math.pi / 4,
    math.pi / 2,
    3 * math.pi / 4,
    math.pi,
    3 * math.pi / 2,
    2 * math.pi,
    100 * math.pi,
    8192 * math.pi,
    105_615.0,
    823_549.6,
    math.log(2) / 2,
    math.log(2),
    1.5 * math.log(2),
    11.0903549,
    17.3286795,
    87.3365479,
    88.7228394,
    89.4159851,
    103.972084,
    709.782713,
    745.133219,
    0.4375,
    0.55,
    0.625,
    0.6875,
    0.84375,
    0.975,
    1.1875,
    1.25,
    2.4375,
    2.857,
    3.92,
    9.0109,
    22.0,
    28.0,
    math.sqrt(0.5),
    math.sqrt(2),
    math.sqrt(3),
    math.sqrt(2) - 1,
    math.sqrt(2) + 1,
    2 - math.sqrt(3),
    math.e,
)
"""Where implementations of elementary functions go over to another approximation, or the results leave a type."""
_MULTIPLES = (1.0, -1.0, 2.0, 3.0, 0.5, 2.5, -1.5)  # whose neighbours are taken too
_FURTHER = (5.0, 7.0, 49.0, 100.0, 127.5, 255.0, 1 / 3, 1 / 1.5, 0.4, 0.1, 1 / 7, 1 / 127.5, -2.0, -2.5, -0.5)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5, 1.5, -2.5, 0.25, 10.0, 128.0, 255.0, np.inf, -np.inf, np.nan)
_INTEGERS = (0, 1, -1, 2, -2, 3, 5, 7, -7, 10, 49, 100, 127, 128, 255, 256, 641, 65_536, 65_537, (1 << 24) + 1)


def _distinct(values: Iterable[Any], data_type: DataType) -> Array:
    """The values that the type holds, each once, in their order."""
    if not data_type.is_floating:
        least, greatest = limits_of(data_type)
        kept = dict.fromkeys(int(value) for value in values if least <= value <= greatest)
        return np.array([*kept], data_type.numpy)
    with np.errstate(all="ignore"):
        array = np.asarray(values if isinstance(values, np.ndarray) else [*values], np.float64).astype(data_type.numpy)
    _, first = np.unique(array.view(data_type.bits_dtype), return_index=True)
    return array[np.sort(first)]


def _steps(data_type: DataType) -> Array:
    """Values at even steps: of all patterns of an integer type, of the mantissas around one of a floating-point one."""
    if not data_type.is_floating:
        least, greatest = limits_of(data_type)
        return _distinct([least + (greatest - least) * step // 1021 for step in range(1022)], data_type)
    powers = np.ldexp(1.0, np.arange(-10, 11))
    return _distinct(np.outer([1, -1], np.outer(powers, 1 + (np.arange(21) + 0.37) / 21)).ravel(), data_type)


@lru_cache(maxsize=32)
def seams(data_type: DataType) -> Array:
    """Numbers at each seam, next to it and a little farther on both sides, of both signs.

    The result is 1-D, of ``data_type``, without a bit pattern twice.
    """
    with np.errstate(over="ignore"):
        own = np.array(_SEAMS).astype(data_type.numpy)
        near = np.concatenate([neighbours(own, data_type), *(own * own.dtype.type(1 + step / 256) for step in (-1, 1))])
    values = _distinct(np.concatenate([near, -near]).astype(np.float64), data_type)
    return values[np.isfinite(values)]


@lru_cache(maxsize=256)
def alone(data_type: DataType, around: tuple[Any, ...] = (), *, nan: bool = False) -> Array:
    """Values of an only input: all of 8 bits; of others the boundary lattice, ties, seams and even steps.

    The result is 1-D, of ``data_type``, without a bit pattern twice.

    Args:
        data_type: their type.
        around: numbers that are among them with their neighbours.
        nan: whether NaNs and more subnormals are among them.
    """
    if data_type.itemsize == 1:
        return edge_values.every_pattern(data_type)
    own = edge_values.inputs(data_type, around)
    if not data_type.is_floating:
        return _distinct(np.concatenate([own, turns(data_type), _steps(data_type)]).tolist(), data_type)
    special = [edge_values.nans(data_type), edge_values.subnormals(data_type)] if nan else []
    ties = [edge_values.ties(data_type), edge_values.near_ties(data_type)]
    values = np.concatenate([*special, *ties, seams(data_type), own, _steps(data_type)])
    _, first = np.unique(values.view(data_type.bits_dtype), return_index=True)
    kept = np.unique(np.linspace(0, first.size - 1, _MOST).astype(np.intp))  # FLOAT64 has more
    return values[np.sort(first)][kept]


@lru_cache(maxsize=256)
def for_all(data_type: DataType, around: tuple[Any, ...] = (), *, nan: bool = False) -> Array:
    """Values of an only input of which each is tried as the one that is repeated everywhere; arguments as before.

    The result is 1-D, of ``data_type``.
    """
    own = turns(data_type, around)
    if not data_type.is_floating:
        return np.unique(own)
    halves = edge_values.ties(data_type)
    chosen = np.concatenate([own if nan else own[~np.isnan(own)], halves[:8], halves[-halves.size // 2 :][:8]])
    return _distinct(np.concatenate([chosen, seams(data_type)[::5]]).astype(np.float64), data_type)


@lru_cache(maxsize=256)
def turns(data_type: DataType, around: tuple[Any, ...] = ()) -> Array:
    """Values of which each has its turn as the one that is repeated: both signs of many magnitudes, NaN among them.

    The result is 1-D, of ``data_type``.

    Args:
        data_type: the type of the values.
        around: numbers that are taken first, with their neighbours.
    """
    if not data_type.is_floating:
        least, greatest = limits_of(data_type)
        width = 8 * data_type.itemsize
        near = [min(max(int(bound), least), greatest) + step for bound in around for step in (0, -1, 1)]
        whole = [*near, *edge_values.shortcuts(data_type).tolist(), *_INTEGERS, width, width + 1, 2 * width]
        whole += [greatest - 1, greatest // 2, greatest // 3, least + 1, least // 2, 11, 41, 47, -49, 98, 103, 107, 161]
        whole += [1000, 2401, 46_341, 32_767, 32_768, 65_535, (1 << 24) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]
        whole += [(1 << 32) + 1, (1 << 53) + 1, -128, -3, -5, -641]
        whole += [least + (greatest - least) * step // 61 for step in range(1, 61)]
        return _resized(_distinct(whole, data_type), TURNS)
    known: Any = np.finfo(data_type.numpy)
    most, normal, ulp = float(known.max), float(known.smallest_normal), float(known.eps)
    half = 2.0 ** (known.nmant - 1) + 0.5  # the greatest tie
    magnitudes = [0.5, 1.5, 2.5, 1 - ulp / 2, 1 + ulp, 0.1, 1 / 3, 0.75, 7.0, 10.0, 49.0, 100.0, 127.5, 128.0, 255.0]
    magnitudes += [half, 2.0 ** (known.nmant + 1), normal, 2 * normal, most / 2]
    magnitudes += [1.3125 * 2.0**power for power in (-4, -7, -10, -13, -20, -27, -40, -70, -110, 12, 24, 31, 63, 110)]
    near = neighbours(around, data_type).astype(np.float64).tolist() if around else []
    signed = [sign * magnitude for magnitude in magnitudes for sign in (1, -1)]
    return _resized(_distinct([*near, *edge_values.shortcuts(data_type).tolist(), *signed], data_type), TURNS)


def _resized(values: Array, count: int) -> Array:
    """So many values: the first, or all and then the first again."""
    return np.resize(values, count)


def _partners(value: Any, data_type: DataType) -> Array:
    """Values that reveal something beside one: its multiples and fractions with their neighbours, and ordinary ones."""
    if not data_type.is_floating:
        least, greatest = limits_of(data_type)
        integer = int(value) if np.isfinite(value) and abs(value) <= 1 << 65 else 1
        partners = [integer * times + step for times in (1, 2, 3, 7, integer, -1) for step in (0, -1, 1)]
        partners += (
            [greatest // integer * integer, greatest // integer, greatest // integer + 1, (greatest + 1) // integer]
            if integer
            else []
        )
        partners += [greatest - integer, greatest - integer + 1, least - integer, least - integer - 1]
        partners += [
            integer // 2,
            integer // 3,
            integer // 7,
            -3 * integer,
            ~integer,
            integer ^ (1 << (8 * data_type.itemsize - 1)),
        ]
        partners += [*_INTEGERS, *(8 * data_type.itemsize + step for step in (-1, 0, 1))]
        partners += [greatest - 1, greatest, greatest // 2, greatest // 3, least, least + 1]
        partners += [least + (greatest - least) * step // 37 for step in range(1, 37)]
        return _resized(_distinct(partners, data_type), PARTNERS)
    number = float(value)
    with np.errstate(all="ignore"):
        exact = (np.array(_MULTIPLES) * number).astype(data_type.numpy)
        known: Any = np.finfo(data_type.numpy)
        ends = [known.max, -known.max, known.smallest_normal, -known.smallest_normal, known.smallest_subnormal]
        further = [*(np.array(_FURTHER) * number), 1 / number if number else 0.75]
    near = neighbours(exact, data_type).astype(np.float64)
    return _resized(_distinct([*near, *further, *_FLOATS, *ends, 7.0, 1e-5, 100.0], data_type), PARTNERS)


@lru_cache(maxsize=256)
def beside(types: tuple[DataType, ...], place: int, around: tuple[Any, ...] = ()) -> tuple[Array, ...]:
    """For each input a row for each turn: that of the input at ``place`` holds one value, those of others partners.

    Args:
        types: the inputs' types.
        place: of the input whose values have their turns.
        around: numbers of which that input takes the neighbours too.
    """
    own = turns(types[place], around)
    columns: list[Array] = [np.empty(0)] * len(types)
    columns[place] = np.repeat(own, PARTNERS).reshape(TURNS, PARTNERS)
    unlike: Array | None = None  # of another kind of number, so that no partner is a multiple
    for other, data_type in enumerate(types):
        if other == place:
            continue
        if data_type.is_floating is types[place].is_floating:
            rows = [np.roll(_partners(value, data_type), -7 * other) for value in own.tolist()]
            columns[other] = np.stack(rows)
        elif unlike is None:
            unlike = np.resize(turns(data_type), TURNS * PARTNERS)
            columns[other] = unlike.reshape(TURNS, PARTNERS)
        else:
            steps = np.arange(TURNS * PARTNERS)
            known = np.stack([_partners(value, data_type) for value in unlike[:TURNS].tolist()])
            columns[other] = known[steps % TURNS, (steps // TURNS + 7 * steps) % PARTNERS].reshape(TURNS, PARTNERS)
    for array in columns:
        array.setflags(write=False)
    return tuple(columns)


@lru_cache(maxsize=96)  # operators and signatures of the same types have them in common
def for_all_beside(
    types: tuple[DataType, ...], place: int, around: tuple[Any, ...], count: int
) -> tuple[tuple[Values, ...], ...]:
    """For each value that one input holds everywhere the values of all: partners, some of each kind, even steps.

    Args:
        types: the inputs' types.
        place: of the input that holds one value.
        around: numbers of which that input takes the neighbours too.
        count: how many elements there are.
    """
    rows, streams = beside(types, place, around), []
    others = [_of_each_kind(data_type, count - PARTNERS, -5 * number) for number, data_type in enumerate(types)]
    for turn in range(np.unique(rows[place][:, 0].view(types[place].bits_dtype)).size):
        arrays = [np.concatenate([rows[number][turn], other]) for number, other in enumerate(others)]
        arrays[place] = rows[place][turn, :1]
        streams.append(tuple(Values.of(array, own_type) for array, own_type in zip(arrays, types, strict=True)))
    return tuple(streams)


def _of_each_kind(data_type: DataType, count: int, turned: int) -> Array:
    """Some values of each kind, then others, all turned."""
    known = [values[:3] for values in edge_values.kinds(data_type).values()]
    return np.roll(np.resize(np.concatenate([*known, _steps(data_type)[::7]]), count), turned)
