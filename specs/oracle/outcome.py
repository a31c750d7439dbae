"""What an oracle answers: the acceptable outcomes of one element, or that the pages constrain none."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import DmlctsError

INFINITIES = {
    DataType.FLOAT16: 0x7C00,
    DataType.FLOAT32: 0x7F80_0000,
    DataType.FLOAT64: 0x7FF0_0000_0000_0000,
}


def payload_bits(data_type: DataType) -> int:
    """The bits of a NaN that are its payload: the significand without the quiet bit."""
    infinite = INFINITIES[data_type]
    quiet = (infinite & -infinite) >> 1
    return quiet - 1


def is_nan(bits: int, data_type: DataType) -> bool:
    """Whether a pattern is a NaN of the type."""
    return data_type.is_floating and bits & (1 << 8 * data_type.itemsize - 1) - 1 > INFINITIES[data_type]


def order_of(bits: int, data_type: DataType) -> int:
    """An integer that counts as the number of a pattern does: the integer itself, or steps from zero."""
    sign = 1 << 8 * data_type.itemsize - 1
    if data_type.is_floating:
        return -(bits & sign - 1) if bits & sign else bits
    return bits - 2 * sign if data_type.is_signed and bits & sign else bits


class Unconstrained(DmlctsError):  # noqa: N818 - a finding, not a fault
    """No acceptance follows from the pages (``specs/README.md``, "Integer tensors").

    Args:
        cause: what leaves the element open, naming the attribute and its value.
    """

    def __init__(self, cause: str) -> None:
        super().__init__(f"no acceptance follows from the pages: {cause}")
        self.cause = cause


@dataclass(frozen=True)
class Acceptable:
    """The acceptable outcomes of one output element (``specs/README.md``, "What the oracle accepts").

    Attributes:
        patterns: the acceptable bit patterns, none of which is a NaN.
        any_nan: whether every NaN pattern is acceptable too.
        any_value: whether every pattern is acceptable.
        intervals: further acceptable patterns, as pairs of the lowest and the highest number.
        payload: a NaN pattern, where ``any_nan`` stands for NaNs of its payload alone; their sign and their quiet bit
            are free, as IEEE 754 leaves both.
    """

    patterns: frozenset[int]
    any_nan: bool = False
    any_value: bool = False
    payload: int | None = None
    intervals: frozenset[tuple[int, int]] = frozenset()

    def admits(self, bits: int, data_type: DataType) -> bool:
        """Whether an output element of ``data_type`` with the pattern ``bits`` is acceptable."""
        if self.any_value or bits in self.patterns:
            return True
        if self.intervals and not is_nan(bits, data_type):
            place = order_of(bits, data_type)
            if any(order_of(low, data_type) <= place <= order_of(high, data_type) for low, high in self.intervals):
                return True
        if not (self.any_nan and data_type.is_floating):
            return False
        sign, infinite = 1 << (8 * data_type.itemsize - 1), INFINITIES[data_type]
        if bits & (sign - 1) <= infinite:
            return False
        return self.payload is None or (bits ^ self.payload) & payload_bits(data_type) == 0
