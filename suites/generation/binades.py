"""Numbers of every magnitude that need every bit: bounds, scales and biases that a digit or a bit less changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.generation import edge_values

_TRIES = 48
_FRACTIONS = (0.25, 0.5 - 2.0**-10, 0.5, 0.5 + 2.0**-10, 0.75)


def _digits_lost(value: np.float32) -> int:
    """How many of the texts of eight, seven and six digits do not give the value back."""
    return sum(np.float32(f"{value:.{digits}g}") != value for digits in (8, 7, 6))


@lru_cache(maxsize=1)
def every_binade() -> tuple[np.float32, ...]:
    """One normal FLOAT from 2^-126 to 2^128 in each binade, the last bit of its mantissa set, in their order.

    Where some text of eight digits gives another number back, the number is such a one: nine digits are needed.
    """
    generator = np.random.Generator(np.random.PCG64(13))
    numbers = []
    for exponent in range(1, 255):
        mantissas = generator.integers(0, 1 << 22, _TRIES, np.uint32) * np.uint32(2) + np.uint32(1)
        values: list[np.float32] = list((np.uint32(exponent << 23) | mantissas).view(np.float32))
        best = max(range(_TRIES), key=lambda index: (_digits_lost(values[index]), -index))
        numbers.append(values[best])
    return tuple(numbers)


def of_exponent(exponent: int) -> np.float32:
    """The number of :func:`every_binade` in [2^exponent, 2^(exponent + 1)), for exponents from -126 to 127."""
    return every_binade()[exponent + 126]


@lru_cache(maxsize=1)
def between_float16() -> tuple[np.float32, ...]:
    """FLOATs between two FLOAT16 of every exponent, the subnormal ones included: at the tie, near it, and far from it.

    Above the tie, and at every second tie, truncation and rounding to nearest differ.
    """
    numbers = []
    for exponent in range(31):
        for mantissa in (0x155, 0x2AA, 1):
            pair = np.array([exponent << 10 | mantissa, (exponent << 10 | mantissa) + 1], np.uint16)
            low, high = pair.view(np.float16).astype(np.float64)
            numbers += [np.float32(low + part * (high - low)) for part in _FRACTIONS]
    return tuple(numbers)


def near_whole() -> Iterator[np.float32]:
    """Positive FLOATs within 2^-20 of a whole number, on either side of it."""
    for whole in range(9):
        value = np.float32(whole)
        for part in (2.0**-20, 2.0**-21, 2.0**-30):
            yield from (np.float32(whole + sign * part) for sign in (1, -1) if whole + sign * part > 0)
        yield np.nextafter(value, np.float32(np.inf))
        if whole:
            yield np.nextafter(value, np.float32(0))


def whole_numbers() -> Iterator[int]:
    """Two to the power of 2 to 24, and the two numbers around each; none is above 2^24."""
    for bit in range(2, 25):
        yield from (number for number in ((1 << bit) - 1, 1 << bit, (1 << bit) + 1) if number <= 1 << 24)


def integer_bounds(data_type: DataType) -> list[np.float32]:
    """FLOATs of every binade whose truncation lies within the integer type, of both signs, fractions among them."""
    low, high = edge_values.limits_as_float(data_type)
    both = (sign * of_exponent(exponent) for exponent in range(-3, 64) for sign in (np.float32(1), np.float32(-1)))
    return [value for value in both if np.trunc(low) <= np.trunc(value) <= np.trunc(high)]
