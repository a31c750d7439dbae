"""Comparisons, logical operators, IS_NAN and IS_INFINITY: results are exactly 1 and 0, any operand but 0 is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dmlcts.backends.cpu.programs.program import Array, Maker, Program, enumerator_attribute
from dmlcts.specs import OperatorDesc


def _truth(function: np.ufunc, *constants: float) -> Program:
    """The program that writes a truth function of numpy as 1 and 0.

    Args:
        function: gives ``bool``; comparisons with NaN are false.
        constants: further operands, in the type of the first source.
    """

    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        operands = [*sources, *(sources[0].dtype.type(constant) for constant in constants)]
        if target.itemsize == 1 and target.flags.c_contiguous:
            function(*operands, out=target.view(np.bool_))
        else:  # numpy 2.4.6 leaves elements out where isnan and isinf write with strides
            np.copyto(target, function(*operands))

    return program


def _of(function: np.ufunc) -> Maker:
    program = _truth(function)
    return lambda operator: program


equals = _of(np.equal)
greater_than = _of(np.greater)
less_than = _of(np.less)
greater_than_or_equal = _of(np.greater_equal)
less_than_or_equal = _of(np.less_equal)
logical_and = _of(np.logical_and)
logical_or = _of(np.logical_or)
logical_xor = _of(np.logical_xor)
logical_not = _of(np.logical_not)
is_nan = _of(np.isnan)

_INFINITIES: Mapping[str, Program] = {
    "EITHER": _truth(np.isinf),
    "POSITIVE": _truth(np.equal, np.inf),
    "NEGATIVE": _truth(np.equal, -np.inf),
}


def is_infinity(operator: OperatorDesc) -> Program:
    """IS_INFINITY."""
    return _INFINITIES[enumerator_attribute(operator, "InfinityMode", tuple(_INFINITIES))]
