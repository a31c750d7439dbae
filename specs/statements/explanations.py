"""Which named behaviours explain what came out at a silent point: one, one that computes otherwise, or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.arithmetic.vector_arithmetic import Array
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.statements.silent_points import Mask, SilentPoint

NAMELESS = "none of the behaviours that have a name"
"""What is said where not every element follows a behaviour that has a name."""

Real = Callable[[Mapping[str, Array]], NDArray[np.float64]]
"""The function's values in FLOAT64, of inputs by the names that the formula has for them."""

_FAR = 1024  # units in the last place


@dataclass(frozen=True)
class _Way:
    """A way to compute that differs from the table's: in FLOAT32, or with subnormals flushed.

    Attributes:
        wording: the words that follow the behaviour's name.
        wide: whether FLOAT16 is computed with in FLOAT32.
        read: how an input is read.
        written: how a result is written.
    """

    wording: str
    wide: bool = False
    read: Callable[[Array], Array] | None = None
    written: Callable[[Array], Array] | None = None

    def inputs(self, values: Mapping[str, Array]) -> Mapping[str, Array]:
        """The inputs as they are read."""
        return values if self.read is None else {name: self.read(array) for name, array in values.items()}

    def output(self, values: Array) -> Array:
        """A result as it is written."""
        return values if self.written is None else self.written(values)


def _flushed(values: Array) -> Array:
    """Subnormals as the zeros of their signs."""
    if values.dtype.kind != "f":
        return values
    small = np.abs(values) < np.finfo(values.dtype).smallest_normal
    return np.where(small, np.copysign(values.dtype.type(0), values), values)


def _cleared(values: Array) -> Array:
    """Subnormals as +0; zeros stay as they are."""
    if values.dtype.kind != "f":
        return values
    small = (np.abs(values) < np.finfo(values.dtype).smallest_normal) & (values != 0)
    return np.where(small, values.dtype.type(0), values)


_PLAIN = _Way("")
_WIDE = _Way(", in FLOAT32", wide=True)
_FLUSHING = tuple(
    _Way(f", {text} flushed", read=read, written=written)
    for text, reads, writes in (
        ("subnormal inputs", True, False),
        ("subnormal results", False, True),
        ("subnormals", True, True),
    )
    for how in (_flushed, _cleared)
    for read, written in [(how if reads else None, how if writes else None)]
)


def explanation(point: SilentPoint, inputs: Mapping[str, Array], output: Array, real: Real | None = None) -> str:
    """What happened where a silent point holds, in words.

    One behaviour that explains every element goes before several of which each explains some: "mixed: gives 0 and
    gives NaN".

    Args:
        point: the silent point.
        inputs: 1-D arrays of one length, by the names that the formula has for the inputs.
        output: what came out.
        real: the function's values, where the operator has an accuracy; ``None`` where it has none.

    Raises:
        UsageError: an input is not given.
    """
    there = point.where(inputs)
    if not there.any():
        return NAMELESS
    point_inputs, point_outputs = {name: array[there] for name, array in inputs.items()}, output[there]
    known: dict[str, Mask] = {}
    for looked in (
        _explained(point, point_inputs, point_outputs, real),
        _roughly(point, point_inputs, point_outputs, real),
    ):
        for name, explained in looked:
            if explained.all():
                return name
            known[name] = known[name] | explained if name in known else explained
        several = _together(known, point_outputs.size)
        if several:
            return f"mixed: {' and '.join(several)}"
    return NAMELESS


def _together(known: Mapping[str, Mask], count: int) -> list[str]:
    """Some behaviours of which each element follows one, first those that explain the most; none where none do."""
    left, several = np.ones(count, bool), []
    while left.any():
        name = max(
            known, key=lambda behaviour: int((known[behaviour] & left).sum())
        )  # the first of those that explain as many
        if not (known[name] & left).any():
            return []
        several.append(name)
        left &= ~known[name]
    return several


def _explained(
    point: SilentPoint, inputs: Mapping[str, Array], output: Array, real: Real | None
) -> Iterator[tuple[str, Mask]]:
    """The behaviours, and which elements each explains: as the table has them, in other ways, by a function."""
    kind = point.stated.output
    for way in (_PLAIN, *([_WIDE] if kind is DataType.FLOAT16 else []), *(_FLUSHING if kind.is_floating else ())):
        for name in point.meanings:
            wanted, undefined = point.results(name, way.inputs(inputs), wide=way.wide)
            yield name + way.wording, point.same(output, way.output(wanted)) & ~undefined
    for way, wanted in _values(point, inputs, output, real):
        same = _same(output, wanted)
        apart = np.abs(_places(output) - _places(wanted))
        near = same | (~np.isnan(wanted) & ~np.isnan(output) & (apart <= _FAR))
        if near.any():
            bound = 1 << int(max(apart[near & ~same], default=1) - 1).bit_length()
            yield f"gives the function's value within {bound} ULP{way.wording}", near


def _roughly(
    point: SilentPoint, inputs: Mapping[str, Array], output: Array, real: Real | None
) -> Iterator[tuple[str, Mask]]:
    """What can be said of floating-point results that follow no behaviour: how far from the function, and the kind."""
    if not point.stated.output.is_floating:
        return
    for way, wanted in _values(point, inputs, output, real):
        finite = np.isfinite(wanted) & np.isfinite(output)
        with np.errstate(all="ignore"):
            error = np.abs(output.astype(np.float64) - wanted.astype(np.float64))[finite]
        if error.any():
            yield (
                f"gives values up to 2^{int(np.ceil(np.log2(error.max())))} from the function's{way.wording}",
                (finite | _same(output, wanted)),
            )
    for text, reached in (("gives NaN", np.isnan), ("gives an infinity", np.isinf), ("gives 0", np.logical_not)):
        yield text, np.asarray(reached(output))


def _values(
    point: SilentPoint, inputs: Mapping[str, Array], output: Array, real: Real | None
) -> Iterator[tuple[_Way, Array]]:
    """The function's values, with subnormals kept and flushed."""
    if real is not None and point.stated.output.is_floating:
        for way in (_PLAIN, *_FLUSHING):
            with np.errstate(all="ignore"):
                yield way, way.output(real(way.inputs(inputs)).astype(output.dtype))


def _same(output: Array, wanted: Array) -> Mask:
    return np.asarray((wanted == output) | (np.isnan(wanted) & np.isnan(output)))


def _places(values: Array) -> NDArray[np.int64]:
    """The place of each value among those of its type: neighbours are 1 apart, the two zeros are at 0."""
    bits = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    sign = -(1 << 8 * values.dtype.itemsize - 1)
    return np.where(bits < 0, sign - bits, bits)
