"""The levels of any case, read from what is dispatched: the description, the values and the placement.

Nothing here knows what a case was meant to be, so that what a plan promises and what its cases are can differ.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.descriptions import whole_words
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Array, Values
from dmlcts.suites.combinations.constraints import INPUT_LAYOUTS
from dmlcts.suites.combinations.magnitudes import holds, magnitudes, needs_rounding, within
from dmlcts.suites.combinations.sizes import layout_of, sides_of, spread_of
from dmlcts.suites.generation import edge_values

_LOOKED_AT = 1021
_LISTED = 2  # bytes of an element: of wider types not every pattern is listed
_SMALL = 13  # integers below are neighbours of powers of two, nearly all of them
_MANY = 0.25
ACTIVATIONS = {  # of the first level that has any, and changing about half of ordinary sums
    "relu": OperatorDesc("ACTIVATION_RELU", {}, {}),
    "leaky-relu": OperatorDesc("ACTIVATION_LEAKY_RELU", {}, {"Alpha": np.float32(0.5)}),
    "thresholded-relu": OperatorDesc("ACTIVATION_THRESHOLDED_RELU", {}, {"Alpha": np.float32(1)}),
}
"""The fused operator of each level of ``activation``, but for none."""


def levels_of(
    case: Case, table: OperatorTable, counts: Mapping[str, tuple[int, int]], history: str = "fresh"
) -> dict[str, str | None]:
    """The level of every factor of a case; ``None`` where it has none of them.

    Args:
        case: the case.
        table: its operator's table.
        counts: the least and the greatest number of elements, by level of ``count``.
        history: what ran before it, the level.
    """
    return {
        **levels_of_attributes(case.operator, table),
        **levels_of_tensors(case.operator, case.placement, table, counts),
        "input": level_of_input(case),
        "history": history,
    }


def levels_of_attributes(operator: OperatorDesc, table: OperatorTable) -> dict[str, str | None]:
    """The levels of the factors that are attributes."""
    data_type = operator.data_type
    levels: dict[str, str | None] = {}
    if table.has_scale_bias:
        levels["scale-bias"] = scale_bias_of(operator, data_type)
    if table.float_attributes and of_one_type(table):
        levels["bounds"] = bounds_of(operator, table, data_type)
    for item in table.attributes:
        if item.type == "ENUM":
            levels[item.name] = str(operator.attributes[item.name])
        elif item.type == FUSED:
            levels["activation"] = activation_of(operator.activation)
    return levels


def levels_of_tensors(
    operator: OperatorDesc, placement: Placement, table: OperatorTable, counts: Mapping[str, tuple[int, int]]
) -> dict[str, str | None]:
    """The levels of the factors on sizes, layouts and places.

    Args:
        operator: the description.
        placement: where its tensors stand.
        table: its operator's table.
        counts: the least and the greatest number of elements, by level of ``count``.
    """
    source = source_of(operator, [name for name, row in table.tensors.items() if row.elements is None])
    always = [operator.inputs[name] for name in table.wide_inputs]
    return {
        **levels_of_sizes(source.sizes, counts),
        **{name: layout_of(tensor) for name, tensor in zip(INPUT_LAYOUTS, always or [source], strict=False)},
        "output-layout": layout_of(operator.output),
        "placement": placement_of(placement),
        "room": room_of(operator, placement),
    }


def source_of(operator: OperatorDesc, wide: Collection[str]) -> TensorDesc:
    """The tensor whose sizes are classified: the first input that is among the wide ones, or the output."""
    return next((tensor for name, tensor in operator.inputs.items() if name in wide), operator.output)


def levels_of_sizes(sizes: tuple[int, ...], counts: Mapping[str, tuple[int, int]]) -> dict[str, str | None]:
    """The levels of the factors on sizes alone.

    Args:
        sizes: the sizes.
        counts: the least and the greatest number of elements, by level of ``count``.
    """
    number = math.prod(sizes)
    return {
        "rank": str(len(sizes)),
        "spread": spread_of(sizes),
        "sides": sides_of(sizes),
        "count": next((name for name, (low, high) in counts.items() if low <= number <= high), None),
    }


def level_of_input(case: Case) -> str:
    """The level of ``input``."""
    shown = looked_at(case.operator, case.data_type)
    return input_of(case.values[shown], counted(case.operator.tensors[shown]))


def counted(tensor: TensorDesc) -> int:
    """How many elements of a tensor decide the level of ``input``: the first of those that it holds."""
    return min(stored_count(tensor), _LOOKED_AT)


def looked_at(operator: OperatorDesc, data_type: DataType) -> str:
    """The name of the input whose elements decide the level of ``input``: the first of the type that the rows name.

    IF's first input holds its conditions, which are no numbers of that type.
    """
    inputs, sizes = operator.inputs, operator.output.sizes
    wide = [name for name, tensor in inputs.items() if tensor.sizes == sizes] or list(inputs)
    return next((name for name in wide if inputs[name].data_type is data_type), wide[0])


def stored_count(tensor: TensorDesc) -> int:
    """How many elements a tensor holds, those that a stride of zero repeats once."""
    if 0 not in tensor.element_strides:
        return tensor.element_count
    return math.prod(
        size for size, stride in zip(tensor.sizes, tensor.element_strides, strict=True) if stride or size == 1
    )


def scale_bias_of(operator: OperatorDesc, data_type: DataType) -> str | None:
    """The level of ``scale-bias``; ``None`` where one of the two is infinite or a NaN."""
    scale_bias = next((value for value in operator.attributes.values() if isinstance(value, ScaleBias)), None)
    if scale_bias is None:
        return "none"
    scale, bias = float(scale_bias.scale), float(scale_bias.bias)
    if not math.isfinite(scale) or not math.isfinite(bias):
        return None
    known = magnitudes(data_type)
    if scale == 0:
        return "zero"
    if abs(scale) >= 2.0**known.overflowing or abs(bias) >= 2.0 ** (known.most - 1):
        return "overflowing"
    if abs(scale) <= 2.0**known.tiny:
        return "tiny"
    if abs(scale) >= 2.0**known.large:
        return "large"
    if needs_rounding(scale, data_type) or needs_rounding(bias, data_type):
        return "inexact"
    if scale < 0 or bias < 0:
        return "negative"
    if scale == 1:
        return "bias-only" if bias else "identity"
    return "both" if bias else "scale-only"


def bounds_of(operator: OperatorDesc, table: OperatorTable, data_type: DataType) -> str:
    """The level of ``bounds``."""
    values = [np.float32(operator.attributes[name]) for name in table.float_attributes]  # type: ignore[arg-type]
    finite = [value for value in values if math.isfinite(value)]
    if any(math.isnan(value) for value in values):
        return "no-number"
    if any(not within(value, data_type) for value in finite):
        return "beyond"
    if len(finite) < len(values):
        return "infinite" if data_type.is_floating else "beyond"
    low, high = (operator.attributes.get(name or "") for name in (table.lower, table.upper))
    if isinstance(low, np.float32) and isinstance(high, np.float32) and low >= high:
        return "equal" if low == high else "inverted"
    if any(not holds(value, data_type) for value in values):
        return "inexact"
    if any(value == 0 and np.signbit(value) for value in values):
        return "negative-zero"
    return "extreme" if any(value in _limits(data_type) for value in values) else "ordinary"


@lru_cache(maxsize=16)
def _limits(data_type: DataType) -> frozenset[np.float32]:
    if data_type.is_floating:
        most = np.float32(min(np.finfo(data_type.numpy).max, np.finfo(np.float32).max))  # FLOAT64's is no FLOAT
        return frozenset({most, -most})
    return frozenset(value for value in edge_values.limits_as_float(data_type) if value != 0)


def placement_of(placement: Placement) -> str:
    """The level of ``placement``."""
    if placement.in_place:
        return "in-place"
    if placement.output_first:
        return "output-first"
    if placement.one_region:
        return "one-region"
    if placement.gap == 0:
        return "touching"
    return "odd-offset" if placement.front % 32 == 16 else "apart"


def room_of(operator: OperatorDesc, placement: Placement) -> str:
    """The level of ``room``."""
    if any(map(_is_larger, operator.tensors.values())):
        return "larger-total-size"
    return "larger-region" if placement.slack else "none"


def _is_larger(tensor: TensorDesc) -> bool:
    return tensor.total_size_in_bytes > whole_words(tensor.minimum_size_in_bytes)


def activation_of(fused: OperatorDesc | None) -> str | None:
    """The level of ``activation``; ``None`` for one that no level is about."""
    if fused is None:
        return "none"
    return next((level for level, activation in ACTIVATIONS.items() if activation.name == fused.name), None)


@lru_cache(maxsize=1 << 13)
def input_of(values: Values, number: int) -> str:
    """The level of ``input``, from the first ``number`` elements."""
    if values.data is None:
        return "bulk"
    return kind_of(values.array(number), values.data_type)


@dataclass(frozen=True, eq=False)
class _Shown:
    """What elements of a type show, by their bits.

    Attributes:
        bits: the unsigned type of an element's width.
        size: the bits of its magnitude; all of an integer's.
        infinite: the magnitude of an infinity; those from there on are no numbers, or infinite.
        normal: that of the smallest normal number.
        lattice: the patterns of the boundary lattice, ascending; of integers those that are no small numbers.
        known: whether a pattern is in the lattice, for each of them; empty where there are too many.
    """

    bits: np.dtype[Any]
    size: Any
    infinite: Any
    normal: Any
    lattice: Array
    known: NDArray[np.bool_]

    def on_lattice(self, patterns: Array) -> NDArray[np.bool_]:
        """Which elements are values of the boundary lattice."""
        if self.known.size:
            return np.asarray(self.known[patterns])
        places = self.lattice.searchsorted(patterns)
        return np.asarray(self.lattice.take(places, mode="clip") == patterns)


@lru_cache(maxsize=16)
def _shown(data_type: DataType) -> _Shown:
    bits = data_type.bits_dtype
    values = edge_values.inputs(data_type)
    size, infinite, normal = (1 << 8 * data_type.itemsize) - 1, 0, 0
    if data_type.is_floating:
        information = np.finfo(data_type.numpy)
        size >>= 1
        infinite = (size >> information.nmant) << information.nmant
        normal = 1 << information.nmant
    else:
        values = values[(values >= _SMALL) | (values + values.dtype.type(_SMALL) <= 0)]
    lattice = np.sort(values.view(bits))
    known = np.zeros(1 << 8 * data_type.itemsize if data_type.itemsize <= _LISTED else 0, bool)
    if known.size:
        known[lattice] = True
    known.setflags(write=False)
    lattice.setflags(write=False)
    return _Shown(bits, bits.type(size), bits.type(infinite), bits.type(normal), lattice, known)


def shown_by(x: Array, data_type: DataType) -> Iterator[tuple[str, float, NDArray[np.bool_]]]:
    """The levels of ``input`` that are no matter of chance, the first one that a stream has being its own.

    Args:
        x: the elements of an explicit stream.
        data_type: their type.

    Returns:
        for each level the share of elements that have to show it, and which do; "distinct" is what none is left for.
    """
    known = _shown(data_type)
    patterns = x.view(known.bits)
    if data_type.is_floating:
        less = (patterns & known.size) - known.bits.type(1)  # below nothing, and beyond all, for zeros
        yield "specials", _MANY, less >= known.infinite - known.bits.type(1)
        yield "subnormals", _MANY, less < known.normal - known.bits.type(1)
        with np.errstate(invalid="ignore"):
            yield "ties", _MANY, np.abs(x - np.trunc(x)) == 0.5
    yield "lattice", 0.5, known.on_lattice(patterns)


def kind_of(x: Array, data_type: DataType) -> str:
    """The level of ``input`` that the elements of an explicit stream have."""
    for level, share, shown in shown_by(x, data_type):
        if np.count_nonzero(shown) >= share * x.size:
            return level
    return "distinct"
