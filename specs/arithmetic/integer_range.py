"""The integers that an integer type holds, and how one outside is stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dmlcts.specs.datatypes import DataType


@dataclass(frozen=True)
class IntegerRange:
    """The integers from ``lowest`` to ``highest``, which are 2^``width`` in number.

    Attributes:
        width: bits of the type.
        signed: whether half of them are negative (two's complement).
    """

    width: int
    signed: bool

    @classmethod
    def of(cls, data_type: DataType) -> IntegerRange:
        """The range of an integer type."""
        return cls(8 * data_type.itemsize, data_type.is_signed)

    @cached_property
    def lowest(self) -> int:
        """The least integer of the type."""
        return -(1 << self.width - 1) if self.signed else 0

    @cached_property
    def highest(self) -> int:
        """The greatest integer of the type."""
        return self.lowest + (1 << self.width) - 1

    def __contains__(self, value: int) -> bool:
        return self.lowest <= value <= self.highest

    def saturated(self, value: int | float) -> int:
        """The integer itself, or the nearest limit of the type; ``value`` is an integer or an infinity."""
        if value < self.lowest:
            return self.lowest
        return self.highest if value > self.highest else int(value)

    def wrapped(self, value: int) -> int:
        """The integer of the type that is congruent to ``value`` modulo 2^width."""
        return (value - self.lowest) % (1 << self.width) + self.lowest

    def encode(self, value: int) -> int:
        """The pattern of ``value`` modulo 2^width."""
        return value % (1 << self.width)
