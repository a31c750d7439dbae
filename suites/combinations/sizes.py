"""Sizes and strides: how they are classified, and how some of a class are found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from dmlcts.specs import OperatorDesc, TensorDesc

_ENUMERATED = 512  # up to so many elements all sizes are listed; beyond, some are made
_LONG = 4
_FEW = 4
_PRIMES = tuple(n for n in range(3, 2000, 2) if all(n % factor for factor in range(3, math.isqrt(n) + 1, 2)))
GAPS = {"gap-2-16": 1 << 16, "gap-2-24": 1 << 24}
Generator = np.random.Generator


def with_larger_totals(operator: OperatorDesc, extra: int) -> OperatorDesc:
    """The description with tensors that are all so many bytes larger than they are in it."""
    tensors = {
        name: TensorDesc(tensor.data_type, tensor.sizes, tensor.strides, tensor.total_size_in_bytes + extra)
        for name, tensor in operator.tensors.items()
    }
    return OperatorDesc(operator.name, tensors, operator.attributes)


def dimensions(rank: int, spread: str) -> int:
    """How many dimensions of more than one element the spread has at that rank (or less, for a single element)."""
    return {"one": 1, "two": 2, "all": rank}[spread]


def _prime(number: int) -> bool:
    return number > 2 and number % 2 == 1 and all(number % factor for factor in range(3, math.isqrt(number) + 1, 2))


def _power(number: int) -> bool:
    return number & (number - 1) == 0


@lru_cache(maxsize=4096)
def spread_of(sizes: tuple[int, ...]) -> str | None:
    """The level of ``spread``; ``None`` where it is none of them."""
    several = sum(size > 1 for size in sizes)
    if several <= 2:
        return "two" if several == 2 else "one"
    return "all" if several == len(sizes) else None


@lru_cache(maxsize=4096)
def sides_of(sizes: tuple[int, ...]) -> str:
    """The level of ``sides``."""
    longer = [size for size in sizes if size > 1]
    if not longer:
        return "ordinary"
    if len(longer) == 1 and sizes[-1] == 1:
        return "long-columns"
    if all(map(_power, longer)):
        return "powers-of-two"
    if all(map(_prime, longer)):
        return "primes"
    if len(longer) > 1:
        for name, size, others in (("long-rows", sizes[-1], sizes[:-1]), ("long-columns", sizes[0], sizes[1:])):
            if size > _LONG * max(others):
                return name
    return "ordinary"


def layout_of(tensor: TensorDesc) -> str:
    """The level of ``input-layout`` or ``output-layout``: by the dimensions of more than one element."""
    return "none" if tensor.strides is None else _strided(tensor.sizes, tensor.strides)


@lru_cache(maxsize=1 << 13)
def _strided(sizes: tuple[int, ...], element_strides: tuple[int, ...]) -> str:
    longer = [(stride, size) for stride, size in zip(element_strides, sizes, strict=True) if size > 1]
    strides = [stride for stride, _ in longer]
    if 0 in strides:
        return "broadcast"
    packed = packed_strides([size for _, size in longer])
    if tuple(strides) == packed:
        return "packed"
    last = sum(stride * (size - 1) for stride, size in longer)
    if last >= _FEW * math.prod(sizes):
        for name, least in reversed(GAPS.items()):
            if last >= least:
                return name
    if strides == sorted(strides, reverse=True):
        return "padded"
    return "reversed" if strides == sorted(strides) else "permuted"


def layout_text(name: str, tensor: TensorDesc) -> str:
    """In words how a tensor with strides is laid out: "BTensor repeated", "gaps in BTensor"."""
    axes = [(stride, size) for stride, size in zip(tensor.element_strides, tensor.sizes, strict=True) if size > 1]
    longer = sorted(axes)
    kept = [(stride, size) for stride, size in longer if stride]
    if longer and not kept:
        return f"one element of {name} for all"
    dense = tuple(stride for stride, _ in reversed(kept)) == packed_strides([size for _, size in reversed(kept)])
    if len(kept) < len(longer):
        return f"{name} repeated" if dense else f"{name} repeated with gaps"
    if axes == longer[::-1]:
        return f"strides of {name}" if dense else f"gaps in {name}"  # which may be those of a packed tensor
    return f"{name} permuted" if dense else f"{name} permuted with gaps"


def _factorisations(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as an ordered product of so many factors above one."""
    if parts == 1:
        if number > 1:
            yield (number,)
        return
    for factor in range(2, number // 2 ** (parts - 1) + 1):
        if number % factor == 0:
            for rest in _factorisations(number // factor, parts - 1):
                yield (factor, *rest)


def _spread_out(parts: Sequence[int], rank: int, places: Sequence[int]) -> tuple[int, ...]:
    sizes = [1] * rank
    for place, size in zip(places, parts, strict=True):
        sizes[place] = size
    return tuple(sizes)


def _of_class(rank: int, spread: str, sides: str, least: int, greatest: int) -> Iterator[tuple[int, ...]]:
    """All sizes of a class with few elements, those of one dimension at its two ends only; some come twice."""
    if least == 1:
        if spread == "one" and sides == "ordinary":
            yield (1,) * rank
        return
    count = dimensions(rank, spread)
    if count > rank or (spread == "all" and rank < 3):
        return
    for number in range(least, greatest + 1):
        for parts in _factorisations(number, count):
            for places in _places(rank, count):
                sizes = _spread_out(parts, rank, places)
                if sides_of(sizes) == sides:
                    yield sizes


@lru_cache(maxsize=4096)
def _listed(rank: int, spread: str, sides: str, least: int, greatest: int) -> tuple[tuple[int, ...], ...]:
    """The sizes of :func:`_of_class`, each once."""
    return tuple(dict.fromkeys(_of_class(rank, spread, sides, least, greatest)))


def _places(rank: int, count: int) -> list[tuple[int, ...]]:
    if count == 1:
        return list(dict.fromkeys([(rank - 1,), (0,)]))
    if count == 2:
        return [(first, second) for first in range(rank) for second in range(first + 1, rank)]
    return [tuple(range(rank))]


@lru_cache(maxsize=4096)
def exists(rank: int, spread: str, sides: str, least: int, greatest: int) -> bool:
    """Whether there are sizes of that rank, spread and kind with so many elements."""
    if greatest <= _ENUMERATED:
        return next(_of_class(rank, spread, sides, least, greatest), None) is not None
    if spread == "one":
        return sides in ("ordinary", "powers-of-two", "primes") or (sides == "long-columns" and rank > 1)
    return dimensions(rank, spread) <= rank and (spread == "two" or rank >= 3)


def choose(generator: Generator, rank: int, spread: str, sides: str, least: int, greatest: int) -> tuple[int, ...]:
    """Some sizes of that rank, spread and kind, with few more than ``least`` elements where those are many.

    Raises:
        ValueError: there are none; :func:`exists` says so beforehand.
    """
    if greatest <= _ENUMERATED:
        listed = _listed(rank, spread, sides, least, greatest)
        if not listed:
            raise ValueError(f"no sizes of rank {rank}, {spread}, {sides}, with {least} to {greatest} elements")
        return listed[int(generator.integers(len(listed)))]
    greatest = min(greatest, least + least // 4 if least >= 1 << 15 else 4096)
    for _ in range(2000):
        sizes = _drawn(generator, rank, spread, sides, least, greatest)
        if sizes is not None and least <= math.prod(sizes) and sides_of(sizes) == sides:
            return sizes
    raise ValueError(f"no sizes of rank {rank}, {spread}, {sides}, with {least} to {greatest} elements")


def _drawn(
    generator: Generator, rank: int, spread: str, sides: str, least: int, greatest: int
) -> tuple[int, ...] | None:
    count = dimensions(rank, spread)
    wanted = int(generator.integers(least, greatest + 1))
    if sides == "powers-of-two":
        total = max(least - 1, 1).bit_length()
        if total < count:
            return None
        bits = 1 + np.bincount(generator.integers(0, count, total - count), minlength=count)
        parts = [1 << int(bit) for bit in bits]
    elif sides == "primes":
        parts = []
        for left in range(count - 1, 0, -1):
            parts.append(_PRIMES[int(generator.integers(_room(wanted // math.prod(parts), left)))])
        last = wanted // math.prod(parts) | 1
        while not _prime(last):
            last += 2
        parts.append(last)
        generator.shuffle(parts)
    else:
        parts = []
        for left in range(count - 1, 0, -1):
            room = wanted // math.prod(parts)
            most = 3 if sides.startswith("long") else max(2, int(room ** (1 / (left + 1)) * 1.5))
            parts.append(int(generator.integers(2, min(most, max(2, room // 2**left)) + 1)))
        parts.append(max(2, -(-wanted // math.prod(parts))))
        parts = parts[::-1] if sides == "long-columns" else parts
        if sides == "ordinary":
            generator.shuffle(parts)
    places = _places(rank, count)
    if spread == "two" and sides.startswith("long"):  # the long one stands at the end that names it
        places = [place for place in places if (place[-1] == rank - 1 if sides == "long-rows" else place[0] == 0)]
    if spread == "one":
        places = [(0,)] if sides == "long-columns" else [(rank - 1,)]
    return _spread_out(parts, rank, places[int(generator.integers(len(places)))])


def _room(number: int, left: int) -> int:
    """How many of the primes leave room for ``left`` more factors of three."""
    most = max(3, int(number ** (1 / (left + 1)) * 1.5))
    greatest: int = min(most, number // 3**left)
    return max(1, sum(prime <= greatest for prime in _PRIMES[:60]))


def strides_for(generator: Generator, sizes: Sequence[int], layout: str) -> tuple[int, ...] | None:
    """Strides of a level of ``input-layout`` or ``output-layout`` for the sizes; ``None`` where none are given."""
    if layout == "none":
        return None
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    strides = list(packed_strides(sizes))
    if layout == "packed":
        return tuple(strides)
    gaps = dict.fromkeys(axes, 0)
    order = axes
    zeros: set[int] = set()
    if layout == "padded":
        gaps[axes[int(generator.integers(len(axes)))]] = int(generator.integers(1, 3))  # a stride of at most 3
    elif layout == "reversed":
        order = axes[::-1]
    elif layout == "permuted":
        while order in (axes, axes[::-1]):
            order = [int(axis) for axis in generator.permutation(axes)]
    elif layout == "broadcast":
        zeros = {axis for axis in axes if generator.integers(2)} or {axes[int(generator.integers(len(axes)))]}
        kept = [axis for axis in axes if axis not in zeros]
        if kept and generator.integers(2):  # what is repeated need not be packed
            gaps[kept[int(generator.integers(len(kept)))]] = int(generator.integers(1, 3))
        if generator.integers(2):
            order = axes[::-1]
    else:
        return _with_a_gap(generator, sizes, axes, GAPS[layout])
    step = 1
    for axis in reversed(order):
        if axis in zeros:
            strides[axis] = 0
            continue
        step += gaps[axis]
        strides[axis] = step
        step *= sizes[axis]
    return tuple(strides)


def packed_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a packed row-major tensor."""
    step, strides = 1, []
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def _with_a_gap(generator: Generator, sizes: Sequence[int], axes: list[int], least: int) -> tuple[int, ...]:
    """One dimension's elements stand far apart, the others packed between them."""
    far = axes[int(generator.integers(len(axes)))]
    count = math.prod(sizes)
    strides = [1] * len(sizes)
    step = 1
    for axis in reversed(axes):
        if axis != far:
            strides[axis] = step
            step *= sizes[axis]
    span = max(least, _FEW * count) + int(generator.integers(1, 1000))
    strides[far] = max(step, -(-span // (sizes[far] - 1)))
    return tuple(strides)
