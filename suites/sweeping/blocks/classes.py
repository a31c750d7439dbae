"""What kind of number an input is: the classes by which a sweep counts what it judged, and what was wrong."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType

Array = NDArray[Any]

CLASSES = ("zero", "subnormal", "normal", "infinite", "nan", "integer")
FRACTIONS = ("integer", "below half", "half", "above half", "none")


def exponents_of(x: Array, data_type: DataType) -> Array:
    """The biased exponent of each element; of integers the bit length."""
    if data_type.is_floating:
        mantissa = np.finfo(x.dtype).nmant
        shifted = x.view(data_type.bits_dtype) >> data_type.bits_dtype.type(mantissa)
        exponents: Array = shifted & data_type.bits_dtype.type((1 << np.finfo(x.dtype).nexp) - 1)
    else:
        exponents = np.ceil(np.log2(np.abs(x.astype(np.float64)) + 1)).astype(np.int64)
    return exponents


def fractions_of(x: Array) -> Array:
    """The index in :data:`FRACTIONS` of each element's fraction; "none" for infinities and NaN."""
    if x.dtype.kind != "f":
        return np.zeros(x.size, np.int64)
    with np.errstate(all="ignore"):
        wide = np.abs(x.astype(np.float64))
        fraction = wide - np.floor(wide)
        codes = np.where(fraction == 0, 0, np.where(fraction < 0.5, 1, np.where(fraction == 0.5, 2, 3)))
        return np.where(np.isfinite(wide), codes, 4)


def classes_of(x: Array) -> Array:
    """The index in :data:`CLASSES` of each element."""
    if x.dtype.kind != "f":
        return np.full(x.size, CLASSES.index("integer"))
    with np.errstate(all="ignore"):
        magnitude = np.abs(x)
        codes = np.full(x.size, CLASSES.index("normal"))
        codes[magnitude < np.finfo(x.dtype).smallest_normal] = CLASSES.index("subnormal")
        codes[x == 0] = CLASSES.index("zero")
        codes[np.isinf(x)] = CLASSES.index("infinite")
        codes[np.isnan(x)] = CLASSES.index("nan")
    return codes


def classes_between(first: int, count: int, data_type: DataType) -> dict[str, int]:
    """How many of ``count`` consecutive patterns from ``first`` on belong to each class, without looking at them."""
    if not data_type.is_floating:
        return {"integer": count}
    counts = dict.fromkeys(CLASSES[:-1], 0)
    for name, low, high in _stretches(data_type):
        counts[name] += max(0, min(first + count, high) - max(first, low))
    return counts


@lru_cache(maxsize=8)
def _stretches(data_type: DataType) -> tuple[tuple[str, int, int], ...]:
    """The classes of a floating-point type's patterns in their order: name, first pattern, the one after the last."""
    information = np.finfo(data_type.numpy)
    sign = 1 << (8 * data_type.itemsize - 1)
    infinity = ((1 << information.nexp) - 1) << information.nmant
    ends = [0, 1, 1 << information.nmant, infinity, infinity + 1, sign]
    within = list(zip(CLASSES[:-1], ends[:-1], ends[1:], strict=True))
    return tuple((name, base + low, base + high) for base in (0, sign) for name, low, high in within)
