"""Numbers as people write them, with or without their bits, and counts with their nouns."""

from __future__ import annotations

from typing import Any, cast

import numpy as np


def text(value: Any) -> str:
    """A number as people write it: the shortest decimal that gives the same value back; FLOAT16 in full."""
    # an array of no dimension gives its element, which numpy's types do not express
    scalar = cast("np.floating[Any] | np.integer[Any]", np.asarray(value)[()])
    if np.issubdtype(scalar.dtype, np.floating):
        if not np.isfinite(scalar):
            return "NaN" if np.isnan(scalar) else "-inf" if scalar < 0 else "inf"
        if scalar.dtype.itemsize < 4:
            return repr(float(scalar))  # in full: the shortest text of FLOAT16's 65504 would be 65500
        if scalar == 0 or 1e-4 <= abs(float(scalar)) < 1e8:
            return str(np.format_float_positional(scalar, unique=True, trim="0"))
        return str(np.format_float_scientific(scalar, unique=True, trim="-"))
    return str(int(scalar))


def text_with_bits(value: Any) -> str:
    """A number with its bit pattern: ``-1.5 (0xbfc00000)``."""
    scalar = np.asarray(value)[()]
    bits = int(scalar.view(np.dtype(f"u{scalar.dtype.itemsize}")))
    return f"{text(scalar)} (0x{bits:0{2 * scalar.dtype.itemsize}x})"


def many(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun: "1 clause", "1,786 clauses"; with ``plural`` for a noun that takes no s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
