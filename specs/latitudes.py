"""The latitudes that the oracles know how to apply: each a named transform of what is acceptable.

The oracles apply one where a clause of the operator's table lists it for the tensors' type, and nowhere else
(:meth:`dmlcts.specs.tables.law.Law.latitudes`). What each permits, and whether ``--strict-ieee`` keeps it, stands in
``shared/latitude.yaml``; what is left without it is IEEE 754 arithmetic in the tensor's type, or what the documented
casts give.

Which types' subnormals may be flushed says :attr:`dmlcts.specs.arithmetic.vector_arithmetic.Rounding.flushes`: those of
FLOAT32, and not those of FLOAT16.
"""

from __future__ import annotations

from typing import Literal, get_args

LatitudeName = Literal[
    "zero-sign",
    "subnormals",
    "nan",
    "nan-input",
    "nan-bound-zero",
    "nan-payload",
    "nan-comparison",
    "contraction",
    "float16-intermediate",
    "float16-conversion",
    "float16-overflow",
    "integer-cast-range",
    "inexact-threshold",
    "wider-maximum",
    "integer-scale-bias",
    "integer-overflow",
    "wider-activation",
    "any-value",
]

LATITUDES: tuple[LatitudeName, ...] = get_args(LatitudeName)
"""Every latitude that an oracle or an expectation applies."""

Latitudes = frozenset[LatitudeName]
"""The latitudes that act."""

NONE: Latitudes = frozenset()
"""What is left where no table grants any: plain IEEE 754."""
