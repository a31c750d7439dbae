"""DIVIDE, MODULUS_TRUNCATE and MODULUS_FLOOR.

Integers of a sign are divided as magnitudes without one, which cannot overflow: MIN / -1 wraps to MIN, with a remainder
of 0. Quotient and remainder of a division by zero are all ones, as Direct3D's udiv has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.float16 import in_float32
from dmlcts.backends.cpu.programs.program import Array, Maker, bits, of_ufunc
from dmlcts.specs import DataType


def _negated(where: Array, values: Array) -> Array:
    """``values`` with those negated, wrapping, that ``where`` says."""
    np.negative(values, out=values, where=where)
    return values


def _quotient(a: Array, b: Array) -> Array:
    if a.dtype.kind == "u":
        return np.asarray(a // b)
    magnitude = bits(np.absolute(a)) // bits(np.absolute(b))
    return _negated((a ^ b) < 0, magnitude.view(a.dtype))


def _remainder_truncated(a: Array, b: Array) -> Array:
    """The remainder that has the dividend's sign."""
    if a.dtype.kind == "u":
        return np.asarray(a % b)
    magnitude = bits(np.absolute(a)) % bits(np.absolute(b))
    return _negated(a < 0, magnitude.view(a.dtype))


def _remainder_floored(a: Array, b: Array) -> Array:
    """The remainder that has the divisor's sign."""
    remainder = _remainder_truncated(a, b)
    if a.dtype.kind == "i":
        np.add(remainder, b, out=remainder, where=(remainder != 0) & ((remainder ^ b) < 0))
    return remainder


_INTEGER_MEANINGS = {"quotient": _quotient, "truncated": _remainder_truncated, "floored": _remainder_floored}


def _division(of_floats: np.ufunc, of_integers: str) -> Maker:
    meaning = _INTEGER_MEANINGS[of_integers]

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        a, b = sources
        by_zero = np.equal(b, b.dtype.type(0))
        np.copyto(target, meaning(a, b))
        np.copyto(bits(target), ~bits(target).dtype.type(0), where=by_zero)

    floats = of_ufunc(of_floats)
    special = {DataType.FLOAT32: floats, DataType.FLOAT16: in_float32(floats)}
    return lambda operator: special.get(operator.output.data_type, program)


# fmod is exact, and np.remainder makes it have the divisor's sign, as Python does.
divide = _division(np.true_divide, "quotient")
modulus_truncate = _division(np.fmod, "truncated")
modulus_floor = _division(np.remainder, "floored")
