"""The values that fill a tensor: an explicit stream, or a recipe that any machine regenerates from its seed."""

from __future__ import annotations

import re
import sys
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, UsageError
from dmlcts.specs.computed import computed
from dmlcts.specs.number_text import text, text_with_bits

__all__ = ["Array", "Streams", "Values", "simplicity", "text", "text_with_bits"]

Array = NDArray[Any]

_LITTLE = sys.byteorder == "little"
_BLOCK = 1 << 16  # elements changed at once, so that they are still in the cache
_BEGINNING = 1024  # elements of a bulk stream that are drawn at once, and kept
_MOST_KEPT = 1 << 18  # elements of a longer beginning that is kept
BULK_PERIOD = 1_048_583  # a prime: no position that a kernel may take for another one is a multiple of it away


@dataclass(frozen=True, init=False)
class Values:
    """A stream of elements, repeated as often as a tensor needs.

    Attributes:
        data_type: the element type.
        data: the little-endian bytes of an explicit stream, or ``None`` for a recipe.
        seed: the bulk recipe's seed.
        first: for the recipe of consecutive bit patterns, the first of them; ``None`` for bulk values.
    """

    data_type: DataType
    data: bytes | None
    seed: int = 0
    first: int | None = None

    def __init__(self, data_type: DataType, data: bytes | None, seed: int = 0, first: int | None = None) -> None:
        put = self.__dict__  # as object.__setattr__ would, in half the time
        put["data_type"] = data_type
        put["data"] = data
        put["seed"] = seed
        put["first"] = first

    def __hash__(self) -> int:
        return self._hash

    @computed
    def _hash(self) -> int:
        return hash((self.data_type, self.data, self.seed, self.first))

    def __reduce__(self) -> tuple[type[Values], tuple[Any, ...]]:
        """The arguments alone: a hash holds in its own process only."""
        return Values, (self.data_type, self.data, self.seed, self.first)

    @classmethod
    def of(cls, array: Sequence[Any] | Array, data_type: DataType) -> Values:
        """The explicit stream of ``array``'s elements, in its order."""
        typed = np.asarray(array, dtype=data_type.numpy)
        if typed.size == 0:
            raise ValueError("a stream of values needs at least one")
        if not _LITTLE:
            typed = typed.astype(typed.dtype.newbyteorder("<"))
        return cls(data_type, typed.tobytes())  # in row-major order, whatever the array's

    @classmethod
    def bulk(cls, data_type: DataType, seed: int) -> Values:
        """Seeded values over the whole range of the type: normal numbers, of every exponent, for floats.

        Beyond :data:`BULK_PERIOD` elements they repeat.
        """
        return cls(data_type, None, seed)

    @classmethod
    def patterns(cls, data_type: DataType, first: int) -> Values:
        """Consecutive bit patterns from ``first`` on, wrapping around after the last: what a sweep asks for."""
        return cls(data_type, None, 0, first)

    def __len__(self) -> int:
        """The length of an explicit stream; a recipe has as many values as asked for."""
        return 0 if self.data is None else len(self.data) // self.data_type.itemsize

    @property
    def period(self) -> int:
        """After how many elements the stream repeats; 0 for consecutive patterns."""
        if self.first is not None:
            return 0
        return BULK_PERIOD if self.data is None else len(self)

    def array(self, count: int) -> Array:
        """The first ``count`` elements of the stream, in native byte order."""
        if self.first is not None:
            width = 8 * self.data_type.itemsize
            bits = np.arange(count, dtype=np.uint64) + np.uint64(self.first)
            return (bits & np.uint64((1 << width) - 1)).astype(self.data_type.bits_dtype).view(self.data_type.numpy)
        if self.data is None:
            return _bulk_elements(self.data_type, self.seed, count)
        stream = np.frombuffer(self.data, self.data_type.numpy.newbyteorder("<")).astype(self.data_type.numpy)
        return stream[:count] if count <= stream.size else repeated(stream, count)

    def fill(self, elements: Array) -> None:
        """Store the first elements of the stream, as many as there are.

        Args:
            elements: 1-D, contiguous, of the stream's type.
        """
        period = self.period
        if not 0 < period < elements.size:
            elements[...] = self._first(elements.size)
            return
        period_elements = self._first(period)
        whole = elements.size - elements.size % period
        elements[:whole].reshape(-1, period)[...] = period_elements
        elements[whole:] = period_elements[: elements.size - whole]

    def _first(self, count: int) -> Array:
        """As :meth:`array`, to be read and no more: what is kept is not copied."""
        if self.first is not None or not _LITTLE:
            return self.array(count)
        if self.data is None:
            return _bulk_read(self.data_type, self.seed, count)
        return np.frombuffer(self.data, self.data_type.numpy, count)

    def to_json(self, count: int) -> dict[str, Any]:
        """What a failure file says; an explicit stream is written up to ``count`` elements."""
        width = 2 * self.data_type.itemsize
        if self.first is not None:
            return {"patterns": {"first": f"0x{self.first:0{width}x}"}}
        if self.data is None:
            return {"bulk": {"seed": self.seed}}
        bits = self.array(min(count, len(self))).view(self.data_type.bits_dtype)
        return {"bits": [f"0x{int(pattern):0{width}x}" for pattern in bits]}

    @classmethod
    def from_json(cls, data_type: DataType, written: Any) -> Values:
        """The stream that :meth:`to_json` wrote.

        Raises:
            UsageError: the text is not one.
        """
        match written:
            case {"bulk": {"seed": int() as seed}} if 0 <= seed < 1 << 64 and not isinstance(seed, bool):
                return cls.bulk(data_type, seed)
            case {"patterns": {"first": str() as first}} if re.fullmatch(
                f"0x[0-9a-f]{{{2 * data_type.itemsize}}}", first
            ):
                return cls.patterns(data_type, int(first, 16))
            case {"bits": [*patterns]} if patterns:
                try:
                    bits = [int(str(pattern), 16) for pattern in patterns]
                    return cls.of(np.array(bits, data_type.bits_dtype).view(data_type.numpy), data_type)
                except (ValueError, OverflowError):
                    raise UsageError(
                        f"values.bits holds what is not a {data_type.name} bit pattern", 'write each as "0x…"'
                    ) from None
        raise UsageError(
            "values hold neither bits nor a bulk seed nor a first pattern",
            'write {bits: ["0x…"]}, {bulk: {seed: N}} or {patterns: {first: "0x…"}}',
        )


@dataclass(frozen=True)
class Streams(Mapping[str, Values]):
    """The values that fill the inputs of a case: a stream for each, by the tensors' names, in the struct's order."""

    streams: tuple[tuple[str, Values], ...]

    @classmethod
    def of(cls, arrays: Mapping[str, Any], operator: OperatorDesc) -> Streams:
        """The explicit streams of the arrays' elements, in the types of the operator's tensors.

        Args:
            arrays: by the tensors' names; one for every input.
            operator: whose inputs they fill.
        """
        return cls(
            tuple(
                (
                    name,
                    elements if isinstance(elements := arrays[name], Values) else Values.of(elements, tensor.data_type),
                )
                for name, tensor in operator.inputs.items()
            )
        )

    def __getitem__(self, name: str) -> Values:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def items(self) -> ItemsView[str, Values]:
        """The names with their streams."""
        return self._by_name.items()

    def values(self) -> ValuesView[Values]:
        """The streams."""
        return self._by_name.values()

    @computed
    def _by_name(self) -> dict[str, Values]:
        return dict(self.streams)

    def __len__(self) -> int:
        """How many inputs there are."""
        return len(self.streams)

    @property
    def first(self) -> Values:
        """The stream of the first input."""
        return self.streams[0][1]

    @computed
    def bytes_listed(self) -> int:
        """How many bytes of values are listed one by one."""
        size = 0
        for _, values in self.streams:
            if values.data is not None:
                size += len(values.data)
        return size


def repeated(period: Array, count: int) -> Array:
    """``count`` elements: those of a 1-D array over and over, each copied once."""
    elements = np.empty(count, period.dtype)
    whole = count - count % period.size
    elements[:whole].reshape(-1, period.size)[...] = period
    elements[whole:] = period[: count - whole]
    return elements


def _bulk_elements(data_type: DataType, seed: int, count: int) -> Array:
    period = _bulk_read(data_type, seed, min(count, BULK_PERIOD))
    return period.copy() if count <= BULK_PERIOD else repeated(period, count)


def _bulk_read(data_type: DataType, seed: int, count: int) -> Array:
    """Bulk values, no more than those of a period; nobody may write to them."""
    if count <= _BEGINNING:
        return _few(data_type, seed)[:count]
    if count <= _MOST_KEPT:
        return _many(data_type, seed, count)
    return _whole(data_type, seed) if count == BULK_PERIOD else _bulk(data_type, seed, count)


@lru_cache(maxsize=1024)  # 8 kilobytes at most; all operators have the seeds in common
def _few(data_type: DataType, seed: int) -> Array:
    return _frozen(_bulk(data_type, seed, _BEGINNING))


@lru_cache(maxsize=4)  # a history asks for those of one case several times in a row
def _many(data_type: DataType, seed: int, count: int) -> Array:
    return _frozen(_bulk(data_type, seed, count))


@lru_cache(maxsize=2)  # 16 megabytes at most; a large tensor's inputs are alike, and a test has several such cases
def _whole(data_type: DataType, seed: int) -> Array:
    return _frozen(_bulk(data_type, seed, BULK_PERIOD))


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _bulk(data_type: DataType, seed: int, count: int) -> Array:
    generator = np.random.Generator(np.random.PCG64(seed))
    words = -(-count * data_type.itemsize // 8) * 2
    drawn = generator.integers(0, 1 << 32, words, np.uint32)  # as Generator.bytes does, without its copies
    bits = drawn.astype("<u4", copy=False).view(data_type.bits_dtype)[:count]
    if data_type.is_floating:
        information = np.finfo(data_type.numpy)
        mask = data_type.bits_dtype.type(((1 << information.nexp) - 1) << information.nmant)
        changed = data_type.bits_dtype.type(1 << (information.nmant + 1))
        for start in range(0, count, _BLOCK):
            block = bits[start : start + _BLOCK]
            exponent = block & mask
            # neither infinities and NaNs nor subnormals: those have tests and clauses of their own
            block ^= ((exponent == mask) | (exponent == 0)) * changed
    return bits.view(data_type.numpy)


def simplicity(values: Array) -> Array:
    """A sort key for each value, smaller for what a reader grasps sooner: short mantissas, small, positive."""
    if values.dtype.kind == "f":
        with np.errstate(all="ignore"):  # signalling NaNs are values like any other here
            wide = values.astype(np.float64)
            mantissa, exponent = np.frexp(wide)
            digits = np.where(np.isfinite(wide), np.abs(mantissa) * 2.0**53, 1).astype(np.int64)
        trailing = np.log2(np.maximum(digits & -digits, 1))
        key = (60.0 - trailing) * 64 + np.minimum(np.abs(exponent), 63)
        return np.asarray(np.where(np.isfinite(wide), key, 1e6) + 0.5 * np.signbit(wide))
    wide = np.abs(values.astype(np.float64))
    return np.asarray(np.log2(wide + 1) + 0.25 * (values < 0))
