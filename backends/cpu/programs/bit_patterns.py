"""BIT_AND, BIT_OR, BIT_XOR, BIT_NOT, BIT_COUNT and the shifts: any type, as unsigned integers of its width.

Shifts are logical. A shift by the width or more gives 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dmlcts.backends.cpu.programs.program import Array, Maker, bits


def _of(function: np.ufunc) -> Maker:
    def program(sources: Sequence[Array], target: Array, scratch: Array) -> None:
        function(*map(bits, sources), out=bits(target))

    return lambda operator: program


bit_and = _of(np.bitwise_and)
bit_or = _of(np.bitwise_or)
bit_xor = _of(np.bitwise_xor)
bit_not = _of(np.bitwise_not)
bit_count = _of(np.bitwise_count)
shift_left = _of(np.left_shift)
shift_right = _of(np.right_shift)
