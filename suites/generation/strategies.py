"""Hypothesis strategies: shapes, strides, attributes and small arrays, all of which shrink to something readable."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dmlcts.specs import DataType, ScalarUnion, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.attributes import type_named
from dmlcts.suites.generation.subject import Subject

_MOST_ELEMENTS = 512
_MOST_VALUES = 24


@cache  # as below: a strategy that is made anew for every draw is also checked anew
def _between(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


@cache
def _one_of(choices: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


_either = st.booleans()


@st.composite
def sizes(draw: st.DrawFn, ranks: tuple[int, ...], most: int = _MOST_ELEMENTS) -> tuple[int, ...]:
    """Sizes of a tensor of one of the ranks, of at most ``most`` elements."""
    rank = draw(_one_of(ranks), label="rank")
    chosen: list[int] = []
    for _ in range(rank):
        room = most // math.prod(chosen)
        chosen.append(draw(_between(1, min(room, 67)), label="size"))
    return tuple(draw(st.permutations(chosen), label="sizes"))


@st.composite
def strides(
    draw: st.DrawFn, shape: tuple[int, ...], *, padded: bool = False, permuted: bool = False, broadcast: bool = False
) -> tuple[int, ...]:
    """Strides without overlap: in any order, with gaps, with zeros, as asked for."""
    order = list(range(len(shape)))[::-1]
    if permuted:
        order = draw(st.permutations(order), label="order")
    found = [0] * len(shape)
    step = 1
    for axis in order:
        if broadcast and draw(_either, label=f"broadcast axis {axis}"):
            continue
        if padded:
            step += draw(_between(0, 3), label=f"gap at axis {axis}")
        found[axis] = step
        step *= shape[axis]
    return tuple(found)


@cache  # building it anew for every draw would cost more than drawing
def element(data_type: DataType) -> st.SearchStrategy[Any]:
    """One element: a lattice value, or any bit pattern that is not a NaN."""
    values = edge_values.inputs(data_type)
    order = np.argsort(np.abs(values.astype(np.float64)), kind="stable")
    known = st.sampled_from([values[i] for i in order])
    patterns = st.integers(0, (1 << (8 * data_type.itemsize)) - 1).map(
        lambda bits: np.array(bits, data_type.bits_dtype).view(data_type.numpy)[()]
    )
    if data_type.is_floating:
        patterns = patterns.filter(lambda value: not np.isnan(value))
    return known | patterns


@cache
def _few(data_type: DataType) -> st.SearchStrategy[list[Any]]:
    return st.lists(element(data_type), min_size=1, max_size=_MOST_VALUES)


@cache
def _few_rows(types: tuple[DataType, ...]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return st.lists(st.tuples(*map(element, types)), min_size=1, max_size=_MOST_VALUES)


@st.composite
def values(draw: st.DrawFn, subject: Subject) -> Streams:
    """Short explicit streams of elements, as many for each input; one for a tensor of one element."""
    if subject.of_one_type:
        return subject.elements(draw(_few(subject.data_type), label="values")).streams
    drawn = draw(_few_rows(tuple(subject.inputs.values())), label="values")
    arrays = {
        name: np.array([row[place] for row in drawn], data_type.numpy)
        for place, (name, data_type) in enumerate(subject.inputs.items())
    }
    single = {name: draw(element(data_type), label=name) for name, data_type in subject.single.items()}
    return subject.of_arrays(arrays, single).streams


@cache
def bound(data_type: DataType, *, exact: bool) -> st.SearchStrategy[np.float32]:
    """A FLOAT bound whose cast to the type the pages fix; ``exact``: which the type represents."""
    if data_type is DataType.FLOAT32:
        return st.floats(width=32, allow_nan=False).map(np.float32)
    if data_type is DataType.FLOAT16:
        halves = st.floats(width=16, allow_nan=False).map(np.float32)
        inexact = st.floats(-65519.0, 65519.0, width=32).map(np.float32)
        return halves if exact else halves | inexact
    low, high = edge_values.limits_as_float(data_type)
    whole = st.integers(int(low), int(high)).map(np.float32).filter(lambda value: low <= value <= high)
    fractions = st.floats(float(low), float(high), width=32).map(np.float32)
    return whole if exact else whole | fractions


_sixteens = st.integers(1, 40).map(lambda count: 16 * count)
_number = st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32)


@st.composite
def attributes(draw: st.DrawFn, subject: Subject) -> dict[str, Any]:
    """All attributes of the operator, the bounds in any order, no ScaleBias."""
    given: dict[str, Any] = {}
    for item in subject.table.attributes:
        if item.type == "FLOAT" and subject.of_one_type:
            given[item.name] = draw(bound(subject.data_type, exact=item.cast == "undocumented"), label=item.name)
        elif item.type == "ENUM":
            given[item.name] = draw(_one_of(item.enumerators), label=item.name)
        elif item.type == "FLOAT":
            given[item.name] = draw(_number, label=item.name)
        elif item.type == "DML_SCALAR_UNION":
            data_type = type_named(subject.table, subject.signature, item.data_type or "")
            drawn = draw(element(data_type), label=item.name)
            given[item.name] = ScalarUnion(data_type, int(np.asarray(drawn).view(data_type.bits_dtype)))
    return subject.attributes(**given)


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Offsets, order and guards of any kind, out of place."""
    return Placement(
        front=draw(_sixteens, label="front"),
        gap=draw(_sixteens, label="gap"),
        tail=draw(_sixteens, label="tail"),
        output_first=draw(_either, label="output first"),
        slack=draw(_one_of((0, 4, 16, 60)), label="slack"),
    )


@st.composite
def cases(
    draw: st.DrawFn,
    subject: Subject,
    layout_clause: str | None,
    *,
    padded: bool = False,
    permuted: bool = False,
    broadcast: bool = False,
    output: bool = False,
    in_place: bool = False,
    larger: bool = False,
    expectation: str = "oracle",
) -> Case:
    """A case of the subject with sizes, strides of the kinds asked for, attributes, values and placement drawn."""
    shape = draw(sizes(subject.ranks), label="shape")
    chosen = draw(attributes(subject), label="attributes")
    strided = padded or permuted or broadcast
    source = draw(strides(shape, padded=padded, permuted=permuted, broadcast=broadcast)) if strided else None
    target = source if in_place else None
    if output:
        target = draw(strides(shape, padded=True, permuted=True), label="output strides")
    total = None
    if larger:
        tensor = TensorDesc(subject.data_type, shape, source)
        total = tensor.total_size_in_bytes + 4 * draw(_between(1, 64), label="extra")
    placement = draw(placements(), label="placement")
    layouts: dict[str, tuple[int, ...]] = {}
    first = laid = next(iter(subject.inputs))  # the input whose strides are drawn already
    if in_place:
        allowed = subject.table.tensors[subject.table.output].may_alias
        laid = draw(_one_of(allowed), label="alias") if len(allowed) > 1 else "".join(allowed)
        shared = subject.inputs_may_be_the_output and draw(_either, label="one region")
        placement = Placement(
            front=placement.front, tail=placement.tail, slack=placement.slack, in_place=True,
            alias="" if laid == first else laid, one_region=shared,
        )  # fmt: skip
    if strided and not placement.one_region:
        for name in [one for one in subject.inputs if one != laid]:
            own = strides(shape, padded=padded, permuted=permuted, broadcast=broadcast)
            layouts[name] = draw(own, label=f"strides of {name}")
    operator = subject.describe(shape, chosen, source, target, total, layouts=layouts)
    stream = draw(values(subject), label="stream")
    return Case(operator, stream, subject.values_clause(chosen), layout_clause, expectation, placement)
