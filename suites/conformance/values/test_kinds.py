"""Tensors whose elements are all of one kind: kernels that look at a block at once ("no NaN here") go wrong there.

Other tests mix what they try: a shortcut for blocks that are all false, all NaN, all positive or all the same is never
taken in them. An implementation may take one where an input is alike, or where all inputs are, and may take it by
mistake where elements are strided, broadcast or overwritten, or where a ScaleBias or an activation comes besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import TensorDesc
from dmlcts.specs.checks import SharedCheck
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array
from dmlcts.suites.combinations.rows import share_of
from dmlcts.suites.combinations.sizes import with_larger_totals
from dmlcts.suites.conformance.tensors.describing import (
    at_every_rank,
    attribute_turns,
    distinguishing_sets,
    low_rank,
    plain_scaling,
    plane,
)
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation.edge_values import kinds
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_COUNT = 67  # whole blocks of up to 64 elements, and a tail
_COUNTS = (1, 3, 7, (1 << 12) + 3)  # less than a block, and more than a workgroup takes at once
_MOST_SETS = 4
_LAYOUTS: tuple[SharedCheck, ...] = (
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.output",
    "tensor.position",
    "binding.offset",
    "binding.same-resource",
    "tensor.total-size.larger",
)


@checks("values")
def test_elements_of_one_kind(subject: Subject, judge: Judge) -> None:
    """Zeros, ones, small, large, negative, infinite, NaN, subnormal: in all inputs, in each beside ordinary ones."""
    judge.all(_cases(subject))


@checks("rounding")
def test_rounded_elements_of_one_kind(subject: Subject, judge: Judge) -> None:
    """The same of operators whose values their modes' clauses state."""
    judge.all(_cases(subject))


@checks("values", "tensor.strides.broadcast", *_LAYOUTS)
def test_elements_of_one_kind_in_layouts(subject: Subject, judge: Judge) -> None:
    """Each kind strided, in place, at every rank and offset, and beside other inputs that repeat a single element.

    Strided all tensors are, in both orders of the dimensions, or the output alone.
    """
    judge.all(share_of(subject, list(_laid_out(subject))))


@checks("rounding", *_LAYOUTS)
def test_rounded_elements_of_one_kind_in_layouts(subject: Subject, judge: Judge) -> None:
    """The same of operators whose values their modes' clauses state."""
    judge.all(share_of(subject, list(_laid_out(subject))))


@checks("scale-bias")
def test_scaled_elements_of_one_kind(subject: Subject, judge: Judge) -> None:
    """Each kind with a ScaleBias, which lets no kind stay what it is: zeros become the bias."""
    judge.all(_scaled(subject))


@checks("scale-bias.integer")
def test_scaled_integers_of_one_kind(subject: Subject, judge: Judge) -> None:
    """The same on integer types."""
    judge.all(_scaled(subject))


@checks("activation")
def test_activated_elements_of_one_kind(subject: Subject, judge: Judge) -> None:
    """Each kind in all inputs, with each activation that the level lists: of zeros too it makes what it makes."""
    fused = {item.name for item in subject.table.attributes if item.type == FUSED}
    turns = attribute_turns(subject, judge.bench.tables.activations.values())
    sets = [attributes for attributes in turns if any(attributes.get(name) is not None for name in fused)]
    judge.all(
        subject.case(subject.values_clause(attributes), elements, attributes)
        for elements, alike in _alike(subject)
        if len(alike) == len(subject.inputs)
        for attributes in sets
    )


def _cases(subject: Subject) -> Iterator[Case]:
    sets = distinguishing_sets(subject, _MOST_SETS)
    for elements, _ in _alike(subject):
        for attributes in sets:
            yield subject.case(subject.values_clause(attributes), elements, attributes)
    for count in _COUNTS:
        for elements, alike in _alike(subject, count):
            if len(alike) == len(subject.inputs):
                yield subject.case(subject.values_clause(sets[0]), elements, sets[0])


def _scaled(subject: Subject) -> Iterator[Case]:
    scaling = plain_scaling(subject)
    sets: list[dict[str, Any]] = [
        subject.scaled(attribute_set, scaling) for attribute_set in distinguishing_sets(subject, _MOST_SETS)
    ]
    for elements, _ in _alike(subject):
        for attributes in sets:
            yield subject.case(subject.scaled_values_clause(attributes), elements, attributes)


def _laid_out(subject: Subject) -> Iterator[Case]:
    attributes, sizes = subject.revealing(), subject.flat(_COUNT)
    clause = subject.values_clause(attributes)
    padded = tuple(2 * stride for stride in TensorDesc(subject.data_type, sizes).element_strides)
    packed = subject.describe(sizes, attributes)
    larger = with_larger_totals(packed, 256)
    rows = plane(subject, 5, 7)
    turned = permuted(rows, tuple(range(len(rows)))[::-1], 1)
    for elements, alike in _alike(subject):
        values = elements.streams
        yield Case(subject.describe(sizes, attributes, padded, padded), values, clause, "tensor.strides.padded")
        if others := subject.inputs.keys() - set(alike):
            repeated = subject.describe(sizes, attributes, layouts=dict.fromkeys(others, (0,) * len(sizes)))
            yield Case(repeated, values, clause, "tensor.strides.broadcast")
        if len(alike) == len(subject.inputs):
            yield from at_every_rank(subject, attributes, values)
            written = subject.describe(rows, attributes, None, turned)
            yield Case(written, values, clause, "tensor.strides.output")
            if low_rank(subject) > 1:
                both = subject.describe(rows, attributes, turned, turned)
                yield Case(both, values, clause, "tensor.strides.permuted")
        for place in subject.in_place:
            if place.aliased(packed) in alike:
                for operator in (packed, larger):
                    yield Case(operator, values, clause, subject.in_place_clause, placement=place)


def _alike(subject: Subject, count: int = _COUNT) -> Iterator[tuple[Elements, tuple[str, ...]]]:
    """Elements, and the inputs whose elements are of one kind; last, each input's elements are one element."""
    ordinary = subject.distinct(count).arrays
    known = {name: kinds(data_type) for name, data_type in subject.inputs.items()}
    names = tuple(known)
    for kind in dict.fromkeys(kind for arrays in known.values() for kind in arrays):
        for alike in (names, *((name,) for name in names if len(names) > 1)):
            if all(kind in known[name] for name in alike):
                yield subject.of_arrays(ordinary | _filled({name: known[name][kind] for name in alike}, count)), alike
    yield subject.of_arrays(_filled({name: array[:1] for name, array in ordinary.items()}, count)), names


def _filled(alike: Mapping[str, Array], count: int) -> dict[str, Array]:
    """The given values over and over, those of each input from another one on."""
    return {name: values[_turned(values.size, place, count)] for place, (name, values) in enumerate(alike.items())}


@lru_cache(maxsize=64)
def _turned(size: int, place: int, count: int) -> NDArray[np.intp]:
    """Indices that run through so many values over and over, from a place on."""
    return (np.arange(count) + place) % size
