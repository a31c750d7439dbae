"""IF, CLIP_GRAD and CLIP_GRAD1: what is chosen is copied bit by bit, what is not chosen does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlcts.backends.cpu.programs.clamping import bounds_of_union, cast_bound
from dmlcts.backends.cpu.programs.program import Array, Program, bits, float_attribute
from dmlcts.specs import OperatorDesc


def _select(sources: Sequence[Array], target: Array, scratch: Array) -> None:
    condition, first, other = sources
    np.copyto(bits(target), np.where(condition != 0, bits(first), bits(other)))


def if_(operator: OperatorDesc) -> Program:
    """IF: the first of two, where the condition is not 0."""
    return _select


def _gradient(low: Any, high: Any) -> Program:
    """The gradient where x lies between the bounds and on neither, and where x is NaN; 0 elsewhere."""

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        x, gradient = sources
        outside = np.less_equal(x, low)
        outside |= np.greater_equal(x, high)
        np.copyto(bits(target), bits(gradient))
        np.copyto(bits(target), 0, where=outside)

    return program


def clip_grad(operator: OperatorDesc) -> Program:
    """CLIP_GRAD, with Min and Max cast as CLIP's page says."""
    data_type = operator.input.data_type
    return _gradient(*(cast_bound(float_attribute(operator, name), data_type) for name in ("Min", "Max")))


def clip_grad1(operator: OperatorDesc) -> Program:
    """CLIP_GRAD1."""
    return _gradient(*bounds_of_union(operator, operator.input.data_type))
