"""ScaleBias: x * scale + bias, before the operator's own program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.program import Array, Program, limits
from dmlcts.specs import DataType, ScaleBias, TensorDesc


def float_scaled(program: Program, scale_bias: ScaleBias | None, tensor: TensorDesc | None = None) -> Program:
    """``program`` of x * scale + bias, the product and the sum each rounded to the type that it computes in.

    Args:
        program: the operator's own.
        scale_bias: scale and bias, or ``None``: nothing comes before the program.
        tensor: the tensor to whose type x * scale + bias is rounded before the program, where that makes a difference.
    """
    if scale_bias is None:
        return program
    scale, bias = scale_bias.scale, scale_bias.bias
    narrow = tensor is not None and tensor.data_type is DataType.FLOAT16

    def scaled(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        np.multiply(sources[0], scale, out=target)
        np.add(target, bias, out=target)
        if narrow:
            np.copyto(target, target.astype(np.float16))
        program((target, *sources[1:]), target, scratch)

    return scaled


def integer_scaled(program: Program, scale_bias: ScaleBias | None, data_type: DataType) -> Program:
    """``program`` of x * scale + bias.

    Where scale and bias are values of the type, in integers that wrap. Otherwise in FLOAT64, truncated
    toward zero, saturating, with 0 for NaN.
    """
    if scale_bias is None:
        return program
    least, most = limits(data_type)
    factors = [float(scale_bias.scale), float(scale_bias.bias)]
    if all(factor.is_integer() and least <= factor <= most for factor in factors):
        scale, bias = (data_type.numpy.type(int(factor)) for factor in factors)

        def wrapping(sources: Sequence[Array], target: Array, scratch: Array) -> None:
            np.multiply(sources[0], scale, out=target)
            np.add(target, bias, out=target)
            program((target, *sources[1:]), target, scratch)

        return wrapping

    def saturating(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        exact = sources[0].astype(np.float64)
        exact *= factors[0]
        exact += factors[1]
        np.trunc(exact, out=exact)
        # The limits are compared as powers of two, which FLOAT64 holds where it does not hold 2^64 - 1.
        above, below = exact >= float(most + 1), exact < float(least)
        exact[above | below | np.isnan(exact)] = 0
        np.copyto(target, exact, casting="unsafe")
        np.copyto(target, data_type.numpy.type(most), where=above)
        np.copyto(target, data_type.numpy.type(least), where=below)
        program((target, *sources[1:]), target, scratch)

    return saturating
