"""What an oracle answers: the acceptable outcomes of one element or of many, or that the pages constrain none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Array
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
        place = order_of(bits, data_type)  # of a NaN it lies beyond the infinities, which no interval does
        if any(order_of(low, data_type) <= place <= order_of(high, data_type) for low, high in self.intervals):
            return True
        if not (self.any_nan and data_type.is_floating):
            return False
        sign, infinite = 1 << (8 * data_type.itemsize - 1), INFINITIES[data_type]
        if bits & (sign - 1) <= infinite:
            return False
        return self.payload is None or (bits ^ self.payload) & payload_bits(data_type) == 0

    def listed(self, data_type: DataType) -> tuple[list[int], list[tuple[int, int]]]:
        """The numbers as a person lists them: each once, single ones first, then ranges of more than one.

        A range of one number is that number, ranges that overlap are one, and no number stands beside a range that
        holds it. Zeros of both signs are one number with two patterns.
        """

        def place(bits: int) -> int:
            return order_of(bits, data_type)

        single = set(self.patterns)
        ranges: list[tuple[int, int]] = []
        for low, high in sorted(self.intervals, key=lambda interval: (place(interval[0]), place(interval[1]))):
            if place(low) == place(high):
                single |= {low, high}
            elif ranges and place(low) <= place(ranges[-1][1]):
                ranges[-1] = (ranges[-1][0], max(ranges[-1][1], high, key=place))
            else:
                ranges.append((low, high))
        within = [range(place(low), place(high) + 1) for low, high in ranges]
        return [bits for bits in sorted(single) if not any(place(bits) in span for span in within)], ranges


@dataclass(frozen=True)
class Acceptance:
    """What is acceptable for each element of an array.

    Attributes:
        data_type: the output's element type.
        alternatives: arrays of that type; every element of each is acceptable at its place.
        any_value: where nothing follows from the pages (integers, and ScaleBias that is not finite), or ``None``.
        strict: whether the sign of zero counts.
        spans: pairs of arrays; every number from the first to the second is acceptable too.
        payloads: the inputs, where a NaN that comes of a NaN must keep its payload; else ``None``.
    """

    data_type: DataType
    alternatives: tuple[Array, ...]
    any_value: NDArray[np.bool_] | None
    strict: bool
    payloads: Array | None = None
    spans: tuple[tuple[Array, Array], ...] = ()

    def admits(self, output: Array) -> NDArray[np.bool_]:
        """Which elements of ``output`` are acceptable.

        ``output`` is of ``data_type``; the mask has its shape.
        """
        admitted = np.zeros(output.shape, bool) if self.any_value is None else self.any_value.copy()
        for alternative in self.alternatives:
            admitted |= equal(output, alternative, self.data_type, strict=self.strict)
        for low, high in self.spans:
            admitted |= (low <= output) & (output <= high)
        return admitted if self.payloads is None else admitted & ~self._changes_payload(output, self.payloads)

    def _changes_payload(self, output: Array, x: Array) -> NDArray[np.bool_]:
        """Where a NaN came of a NaN with another payload; sign and quiet bit are free."""
        bits = self.data_type.bits_dtype
        mask = bits.type(payload_bits(self.data_type))
        differs = (output.view(bits) ^ np.ascontiguousarray(x).view(bits)) & mask != 0
        return np.asarray(np.isnan(output) & np.isnan(x) & differs)

    def element(self, index: int) -> Acceptable:
        """The acceptable patterns of one element, as the exact oracle states them."""
        window = slice(index, index + 1)
        any_value = None if self.any_value is None else self.any_value[window]
        alternatives = tuple(array[window] for array in self.alternatives)
        payloads = None if self.payloads is None else self.payloads[window]
        spans = tuple((low[window], high[window]) for low, high in self.spans)
        return next(Acceptance(self.data_type, alternatives, any_value, self.strict, payloads, spans).elements())

    def elements(self) -> Iterator[Acceptable]:
        """The acceptable patterns of every element in turn."""
        sign = 1 << (8 * self.data_type.itemsize - 1)
        nan_above = INFINITIES.get(self.data_type, sign)
        columns = [array.view(self.data_type.bits_dtype).tolist() for array in self.alternatives]
        open_ones = [False] * len(columns[0]) if self.any_value is None else self.any_value.tolist()
        either_zero = self.data_type.is_floating and not self.strict
        inputs = [0] * len(columns[0])
        if self.payloads is not None:
            inputs = np.ascontiguousarray(self.payloads).view(self.data_type.bits_dtype).tolist()
        pattern = self.data_type.bits_dtype
        ends = [[np.ascontiguousarray(end).view(pattern).tolist() for end in span] for span in self.spans]
        for index, (any_value, input_bits, *patterns) in enumerate(zip(open_ones, inputs, *columns, strict=True)):
            if any_value:
                yield Acceptable(frozenset(), any_value=True)
                continue
            between = frozenset(
                (low[index], high[index]) for low, high in ends if not is_nan(low[index], self.data_type)
            )
            numbers = {bits for bits in patterns if not self.data_type.is_floating or bits & (sign - 1) <= nan_above}
            any_nan = self.data_type.is_floating and any(bits & (sign - 1) > nan_above for bits in patterns)
            if either_zero and (0 in numbers or sign in numbers):
                numbers |= {0, sign}
            payload = input_bits if self.data_type.is_floating and input_bits & (sign - 1) > nan_above else None
            yield Acceptable(frozenset(numbers), any_nan, payload=payload, intervals=between)


def equal(output: Array, expected: Array, data_type: DataType, *, strict: bool) -> NDArray[np.bool_]:
    """Element-wise sameness: NaN equals NaN, and without ``strict`` the two zeros are the same.

    ``output`` and ``expected`` are of ``data_type`` and of one shape, that of the mask.
    """
    if not data_type.is_floating:
        return np.asarray(output == expected)
    bits = data_type.bits_dtype
    same = output.view(bits) == np.ascontiguousarray(expected).view(bits)
    if not same.all():
        if not strict:
            same |= output == expected
        same |= np.isnan(output) & np.isnan(expected)
    return np.asarray(same)
