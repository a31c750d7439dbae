"""Programs: how a block of elements is computed, for each operator, type and attributes.

A program is a function of a source block, a target block and a scratch block of the same shape, that writes the
target. Source and target may be the same memory, so a program reads the source for the last time in the call that
first writes the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import InvalidArgument
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc

Array = NDArray[Any]
Program = Callable[[Array, Array, Array], None]

# From here on a table of every FLOAT16 pattern costs less than it saves.
TABLE_ELEMENTS = 1 << 18
_INFINITE_HALF = np.int16(0x7C00)  # the pattern of FLOAT16's infinity
# The largest FLOAT32 below one half. One half itself would carry 0.49999997 up to 1.
_BELOW_HALF = np.nextafter(np.float32(0.5), np.float32(0))


def _float(operator: OperatorDesc, name: str) -> np.float32:
    value = operator.attributes.get(name)
    if not isinstance(value, np.float32):
        raise InvalidArgument(f"{name} is {value!r}, not a FLOAT")
    return value


def _scale_bias(operator: OperatorDesc) -> ScaleBias | None:
    value = operator.attributes.get("ScaleBias")
    if value is not None and not isinstance(value, ScaleBias):
        raise InvalidArgument(f"ScaleBias is {value!r}, not a ScaleBias or None")
    return value


# Programs on floating-point tensors. FLOAT16 is computed in FLOAT32, which holds each of its values: clamping
# and rounding to an integer give FLOAT16 values again, so the way back is exact. After ScaleBias it is the
# one rounding to FLOAT16; that clamping comes before it changes nothing, for rounding is monotone and keeps
# the bounds, which are FLOAT16 values themselves.


def _floating(program: Program, tensor: TensorDesc) -> Program:
    """``program``, which computes in FLOAT32, made fit for blocks of the tensor's type."""
    if tensor.data_type is DataType.FLOAT32:
        return program

    def widened(source: Array, target: Array, scratch: Array) -> None:
        work = source.astype(np.float32)
        program(work, work, np.empty_like(work))
        np.copyto(target, work, casting="same_kind")

    return _tabulated(widened) if tensor.element_count >= TABLE_ELEMENTS else widened


def _tabulated(program: Program) -> Program:
    """``program`` on a 16-bit type, looked up: numpy converts FLOAT16 slower than it reads a table."""
    patterns = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    table = np.empty_like(patterns)
    with np.errstate(all="ignore"):
        program(patterns, table, np.empty_like(patterns))

    def look_up(source: Array, target: Array, scratch: Array) -> None:
        np.copyto(target, table[source.view(np.uint16)])

    return look_up


def _float_clamp(low: np.float32, high: np.float32) -> Program:
    """max(low, min(x, high)) as IEEE 754-2019 maximum and minimum: NaN propagates, -0 is less than +0."""
    if np.isnan(low) or np.isnan(high):
        return lambda source, target, scratch: target.fill(np.nan)
    constant = low > high or (low == high and (np.signbit(high) or not np.signbit(low)))
    # One pass of np.clip, which keeps NaN, does it where the bounds are ordered. Where they are not, low is
    # the result, because the maximum is taken last.
    top = low if constant else high

    def clamp(source: Array, target: Array, scratch: Array) -> None:
        np.clip(source, low, top, out=target)

    if low != 0 and top != 0:
        return clamp

    # np.clip may take either of two equal zeros, so a bound of zero needs a second pass for the sign.
    if low == 0 and not np.signbit(low):

        def sign_is_plus(source: Array, target: Array, scratch: Array) -> None:
            np.clip(source, low, top, out=target)
            np.abs(target, out=target)

        return sign_is_plus
    if top == 0 and np.signbit(top):

        def sign_is_minus(source: Array, target: Array, scratch: Array) -> None:
            np.clip(source, low, top, out=target)
            np.copysign(target, np.float32(-1), out=target)

        return sign_is_minus

    def sign_of_source(source: Array, target: Array, scratch: Array) -> None:
        np.clip(source, low, top, out=scratch)
        np.copysign(scratch, source, out=target)

    return sign_of_source


def _half_clamp(low: np.float16, high: np.float16) -> Program:
    """The same on FLOAT16, in integers: numpy has no FLOAT16 arithmetic of its own, and converts slowly."""
    if np.isnan(low) or np.isnan(high):
        return lambda source, target, scratch: target.fill(np.nan)
    bottom, top = (_ordinal(np.atleast_1d(bound).view(np.int16))[0] for bound in (low, high))
    top = max(bottom, top)

    def clamp(source: Array, target: Array, scratch: Array) -> None:
        ordinals, result = scratch.view(np.int16), target.view(np.int16)
        _ordinal(source.view(np.int16), out=ordinals)
        lost = np.flatnonzero((ordinals > _INFINITE_HALF) | (ordinals < ~_INFINITE_HALF))
        nans = ordinals.flat[lost]
        np.clip(ordinals, bottom, top, out=ordinals)
        ordinals.flat[lost] = nans
        _ordinal(ordinals, out=result)

    return clamp


def _ordinal(bits: Array, out: Array | None = None) -> Array:
    """FLOAT16 patterns as integers that count as the numbers do, -0 next below +0; its own inverse."""
    flipped = np.bitwise_and(np.right_shift(bits, 15), np.int16(0x7FFF))
    return np.bitwise_xor(bits, flipped, out=out)


def _float_scaled(program: Program, scale_bias: ScaleBias | None) -> Program:
    """``program`` of x * scale + bias, the product and the sum each rounded to FLOAT32."""
    if scale_bias is None:
        return program
    scale, bias = scale_bias.scale, scale_bias.bias

    def scaled(source: Array, target: Array, scratch: Array) -> None:
        np.multiply(source, scale, out=target)
        np.add(target, bias, out=target)
        program(target, target, scratch)

    return scaled


def _half_even(source: Array, target: Array, scratch: Array) -> None:
    np.rint(source, out=target)


def _toward_zero(source: Array, target: Array, scratch: Array) -> None:
    np.trunc(source, out=target)


def _half_away(source: Array, target: Array, scratch: Array) -> None:
    # trunc(x + copysign(h, x)) with h just below one half. A fraction of exactly one half makes the sum a
    # tie between the next integer and its lower neighbour, and the integer is the even one; any smaller
    # fraction stays below, any integer is kept, and so are the signs of zeros, infinities and NaN.
    # The copysign is made of bits, which takes numpy a quarter of the time.
    half = scratch.view(np.int32)
    np.bitwise_and(source.view(np.int32), np.int32(-1 << 31), out=half)
    np.bitwise_or(half, _BELOW_HALF.view(np.int32), out=half)
    np.add(scratch, source, out=scratch)
    np.trunc(scratch, out=target)


_ROUNDINGS: Mapping[str, Program] = {
    "HALVES_TO_NEAREST_EVEN": _half_even,
    "TOWARD_ZERO": _toward_zero,
    "TOWARD_INFINITY": _half_away,
}


# Programs on integer tensors.


def _limits(data_type: DataType) -> tuple[int, int]:
    limits = np.iinfo(data_type.numpy)
    return int(limits.min), int(limits.max)


def _integer_bound(value: np.float32, data_type: DataType) -> int:
    """``value`` truncated toward zero; beyond the type the nearest limit, and 0 for NaN."""
    least, most = _limits(data_type)
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return most if value > 0 else least
    return max(least, min(int(value), most))


def _integer_clamp(low: int, high: int, data_type: DataType) -> Program:
    bottom, top = data_type.numpy.type(low), data_type.numpy.type(max(low, high))

    def clamp(source: Array, target: Array, scratch: Array) -> None:
        np.clip(source, bottom, top, out=target)

    return clamp


def _integer_scaled(program: Program, scale_bias: ScaleBias | None, data_type: DataType) -> Program:
    """``program`` of x * scale + bias.

    Where scale and bias are values of the type, in integers that wrap. Otherwise in FLOAT64, truncated
    toward zero, saturating, with 0 for NaN.
    """
    if scale_bias is None:
        return program
    least, most = _limits(data_type)
    factors = [float(scale_bias.scale), float(scale_bias.bias)]
    if all(factor.is_integer() and least <= factor <= most for factor in factors):
        scale, bias = (data_type.numpy.type(int(factor)) for factor in factors)

        def wrapping(source: Array, target: Array, scratch: Array) -> None:
            np.multiply(source, scale, out=target)
            np.add(target, bias, out=target)
            program(target, target, scratch)

        return wrapping

    def saturating(source: Array, target: Array, scratch: Array) -> None:
        exact = source.astype(np.float64)
        exact *= factors[0]
        exact += factors[1]
        np.trunc(exact, out=exact)
        # The limits are compared as powers of two, which FLOAT64 holds where it does not hold 2^64 - 1.
        above, below = exact >= float(most + 1), exact < float(least)
        exact[above | below | np.isnan(exact)] = 0
        np.copyto(target, exact, casting="unsafe")
        np.copyto(target, data_type.numpy.type(most), where=above)
        np.copyto(target, data_type.numpy.type(least), where=below)
        program(target, target, scratch)

    return saturating


# Operators.


def _clamp(operator: OperatorDesc, low: np.float32, high: np.float32 | None) -> Program:
    """The clamp that CLIP and THRESHOLD share; ``high`` is ``None`` where nothing bounds from above."""
    data_type = operator.input.data_type
    scale_bias = _scale_bias(operator)
    if data_type.is_floating:
        with np.errstate(all="ignore"):
            # To FLOAT16 to nearest, ties to even, with infinity from 65520 on.
            cast = [data_type.numpy.type(bound) for bound in (low, np.float32(np.inf) if high is None else high)]
            bounds = [np.float32(bound) for bound in cast]
        if data_type is DataType.FLOAT16 and scale_bias is None:
            return _half_clamp(*cast)
        return _floating(_float_scaled(_float_clamp(*bounds), scale_bias), operator.input)
    bottom = _integer_bound(low, data_type)
    top = _limits(data_type)[1] if high is None else _integer_bound(high, data_type)
    return _integer_scaled(_integer_clamp(bottom, top, data_type), scale_bias, data_type)


def _clip(operator: OperatorDesc) -> Program:
    return _clamp(operator, _float(operator, "Min"), _float(operator, "Max"))


def _threshold(operator: OperatorDesc) -> Program:
    return _clamp(operator, _float(operator, "Min"), None)


def _round(operator: OperatorDesc) -> Program:
    mode = operator.attributes.get("RoundingMode")
    if not isinstance(mode, str) or mode not in _ROUNDINGS:
        raise InvalidArgument(f"RoundingMode is {mode!r}, not one of {', '.join(_ROUNDINGS)}")
    return _floating(_ROUNDINGS[mode], operator.input)


PROGRAMS: Mapping[str, Callable[[OperatorDesc], Program]] = {
    "ELEMENT_WISE_CLIP": _clip,
    "ELEMENT_WISE_ROUND": _round,
    "ELEMENT_WISE_THRESHOLD": _threshold,
}
