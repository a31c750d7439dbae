"""CLIP, CLIP1 and THRESHOLD: max(Min, min(x, Max)), and the bounds in the tensor's type.

That FLOAT16 is clamped before the one rounding that follows ScaleBias changes nothing: rounding is monotone and keeps
the bounds, which are FLOAT16 values themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.cpu.programs.float16 import floating, ordinal
from dmlcts.backends.cpu.programs.program import Array, Program, float_attribute, limits, scale_bias_attribute
from dmlcts.backends.cpu.programs.scale_bias import float_scaled, integer_scaled
from dmlcts.specs import DataType, OperatorDesc, ScalarUnion

_INFINITE_HALF = np.int16(0x7C00)  # the pattern of FLOAT16's infinity


def _filling(value: Any) -> Program:
    def fill(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        target.fill(value)

    return fill


def _float_clamp(low: np.float32, high: np.float32) -> Program:
    """max(low, min(x, high)) as IEEE 754-2019 maximum and minimum: NaN propagates, -0 is less than +0."""
    if np.isnan(low) or np.isnan(high):
        return _filling(np.nan)
    constant = low > high or (low == high and (np.signbit(high) or not np.signbit(low)))
    # One pass of np.clip, which keeps NaN, does it where the bounds are ordered. Where they are not, low is
    # the result, because the maximum is taken last.
    top = low if constant else high

    def clamp(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        np.clip(sources[0], low, top, out=target)

    if low != 0 and top != 0:
        return clamp

    # np.clip may take either of two equal zeros, so a bound of zero needs a second pass for the sign.
    if low == 0 and not np.signbit(low):

        def sign_is_plus(sources: Sequence[Array], target: Array, scratch: Array) -> None:
            np.clip(sources[0], low, top, out=target)
            np.abs(target, out=target)

        return sign_is_plus
    if top == 0 and np.signbit(top):

        def sign_is_minus(sources: Sequence[Array], target: Array, scratch: Array) -> None:
            np.clip(sources[0], low, top, out=target)
            np.copysign(target, np.float32(-1), out=target)

        return sign_is_minus

    def sign_of_source(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        np.clip(sources[0], low, top, out=scratch)
        np.copysign(scratch, sources[0], out=target)

    return sign_of_source


def _half_clamp(low: np.float16, high: np.float16) -> Program:
    """The same on FLOAT16, in integers: numpy has no FLOAT16 arithmetic of its own, and converts slowly."""
    if np.isnan(low) or np.isnan(high):
        return _filling(np.nan)
    bottom, top = (ordinal(np.atleast_1d(bound).view(np.int16))[0] for bound in (low, high))
    top = max(bottom, top)

    def clamp(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        ordinals, result = scratch.view(np.int16), target.view(np.int16)
        ordinal(sources[0].view(np.int16), out=ordinals)
        lost = np.flatnonzero((ordinals > _INFINITE_HALF) | (ordinals < ~_INFINITE_HALF))
        nans = ordinals.flat[lost]
        np.clip(ordinals, bottom, top, out=ordinals)
        ordinals.flat[lost] = nans
        ordinal(ordinals, out=result)

    return clamp


def _integer_clamp(low: Any, high: Any) -> Program:
    top = max(low, high)

    def clamp(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        np.clip(sources[0], low, top, out=target)

    return clamp


def cast_bound(value: np.float32, data_type: DataType) -> Any:
    """A FLOAT in the tensor's type, a numpy scalar.

    FLOAT16 rounds to nearest, ties to even, with infinity from 65520 on. Integers truncate toward zero; beyond the
    type they take the nearest limit, and 0 for NaN.
    """
    kind = data_type.numpy.type
    if data_type.is_floating:
        with np.errstate(all="ignore"):
            return kind(value)
    least, most = limits(data_type)
    if np.isnan(value):
        return kind(0)
    if np.isinf(value):
        return kind(most if value > 0 else least)
    return kind(max(least, min(int(value), most)))


def bounds_of_union(operator: OperatorDesc, data_type: DataType) -> tuple[Any, Any]:
    """Min and Max of CLIP1 and CLIP_GRAD1, which are of the tensor's type already.

    Raises:
        InvalidArgument: MinMaxDataType, or a bound, is of another type.
    """
    named = operator.attributes.get("MinMaxDataType")
    if named != data_type.name:
        raise InvalidArgument(f"MinMaxDataType is {named!r}, and the tensors are {data_type.name}")
    bounds = []
    for name in ("Min", "Max"):
        value = operator.attributes.get(name)
        if not isinstance(value, ScalarUnion) or value.data_type is not data_type:
            raise InvalidArgument(f"{name} is {value!r}, not a DML_SCALAR_UNION of {data_type.name}")
        bounds.append(value.value)
    return bounds[0], bounds[1]


def _clamp(operator: OperatorDesc, low: Any, high: Any) -> Program:
    """The clamp between two bounds of the tensor's type; ``high`` is ``None`` where nothing bounds from above."""
    data_type = operator.input.data_type
    scale_bias = scale_bias_attribute(operator)
    if not data_type.is_floating:
        top = data_type.numpy.type(limits(data_type)[1]) if high is None else high
        return integer_scaled(_integer_clamp(low, top), scale_bias, data_type)
    top = data_type.numpy.type(np.inf) if high is None else high
    if data_type is DataType.FLOAT16 and scale_bias is None:
        return _half_clamp(low, top)
    return floating(float_scaled(_float_clamp(np.float32(low), np.float32(top)), scale_bias), operator.output)


def clip(operator: OperatorDesc) -> Program:
    """CLIP."""
    low, high = (cast_bound(float_attribute(operator, name), operator.input.data_type) for name in ("Min", "Max"))
    return _clamp(operator, low, high)


def clip1(operator: OperatorDesc) -> Program:
    """CLIP1."""
    return _clamp(operator, *bounds_of_union(operator, operator.input.data_type))


def threshold(operator: OperatorDesc) -> Program:
    """THRESHOLD."""
    return _clamp(operator, cast_bound(float_attribute(operator, "Min"), operator.input.data_type), None)
