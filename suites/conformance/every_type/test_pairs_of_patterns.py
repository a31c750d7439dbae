"""Any two of what networks' tensors are like, together, on every signature: memory, sizes, places, attributes.

The covering array of ``test_combinations`` takes a broadcast as one level and a permutation as another. Kernels
distinguish more: one element for all, one a channel, one a row; channels last, and other orders. Here they do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from dmlcts.specs import OperatorDesc, ScaleBias
from dmlcts.specs.checks import SharedCheck
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.combinations.constraints import Relation
from dmlcts.suites.combinations.covering import covering_array
from dmlcts.suites.combinations.factors import Factor, Space
from dmlcts.suites.combinations.rows import share_of
from dmlcts.suites.combinations.sizes import with_larger_totals
from dmlcts.suites.conformance.tensors.describing import (
    along,
    distinguishing_sets,
    may_be_one_region,
    plain_scaling,
    special_elements,
)
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

Sizes = tuple[int, ...]
Levels = Mapping[str, str]

_LAYOUTS: tuple[SharedCheck, ...] = (
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.output",
    "tensor.strides.broadcast",
    "tensor.position",
    "binding.offset",
    "binding.same-resource",
    "tensor.total-size.larger",
    "execution.repeatable",
)
_MOST_SETS = 3
_SLOW = frozenset({"again", "thousands"})
_VALUES = 251  # a prime number of values never falls in step


@checks(*_LAYOUTS, on="values")
def test_pairs_of_patterns(subject: Subject, judge: Judge) -> None:
    """Every two of layouts, sizes, ranks, places, attributes, kinds of elements and dispatches stand in some case."""
    judge.all(_cases(subject))


@checks(*_LAYOUTS, on="rounding")
def test_pairs_of_patterns_to_be_rounded(subject: Subject, judge: Judge) -> None:
    """The same of an operator whose values are stated by modes of rounding alone."""
    judge.all(_cases(subject))


@dataclass(frozen=True)
class _Layout:
    """How the elements of a tensor stand in memory.

    Attributes:
        clause: the clause on such a layout.
        strides: makes the strides for sizes; ``None`` for packed ones that are not given.
        several: how many dimensions have to have several elements, for it to be no other layout.
        axes: which of them, counted from the last one.
        rank: how many dimensions there are; 0 for any number.
        repeats: whether it repeats elements, as an input alone may.
    """

    clause: str
    strides: Callable[[Sizes], Sizes | None]
    several: int = 0
    axes: tuple[int, ...] = ()
    rank: int = 0
    repeats: bool = False

    def fits(self, sizes: Sizes) -> bool:
        """Whether tensors of these sizes can be so."""
        there = all(-axis <= len(sizes) and sizes[axis] > 1 for axis in self.axes)
        return there and self.rank in (0, len(sizes)) and sum(size > 1 for size in sizes) >= self.several


def _axes(sizes: Sizes) -> tuple[int, ...]:
    return tuple(range(len(sizes)))


def _rotated(sizes: Sizes) -> Sizes:
    """With gaps, the first of the dimensions that have several elements runs fastest, and the others fall as usual."""
    first = next(axis for axis, size in enumerate(sizes) if size > 1)
    return permuted(sizes, (*(axis for axis in _axes(sizes) if axis != first), first), 2)


def _turned_rows(sizes: Sizes) -> Sizes:
    """One plane for all, whose columns run fastest."""
    *_, height, width = _axes(sizes)
    return tuple({width: sizes[height], height: 1}.get(axis, 0) for axis in _axes(sizes))


_PADDED, _PERMUTED, _BROADCAST = (f"tensor.strides.{name}" for name in ("padded", "permuted", "broadcast"))
_KNOWN = {
    "packed": _Layout("tensor.position", lambda sizes: None),
    "packed and given": _Layout("tensor.position", lambda sizes: permuted(sizes, _axes(sizes)), 1),
    "padded": _Layout(_PADDED, lambda sizes: tuple(2 * stride for stride in permuted(sizes, _axes(sizes))), 1),
    "padded rows": _Layout(_PADDED, lambda sizes: permuted(sizes, _axes(sizes), 1), 2),
    "reversed": _Layout(_PERMUTED, lambda sizes: permuted(sizes, _axes(sizes)[::-1]), 2),
    "rotated": _Layout(_PERMUTED, _rotated, 3),
    "channels last": _Layout(_PERMUTED, lambda sizes: permuted(sizes, (0, 2, 3, 1)), 4, rank=4),
    "row": _Layout(_BROADCAST, lambda sizes: along(sizes, -1), 2, (-1,), repeats=True),
    "column": _Layout(_BROADCAST, lambda sizes: along(sizes, -2), 2, (-2,), repeats=True),
    "channel": _Layout(_BROADCAST, lambda sizes: along(sizes, -3), 3, (-3,), repeats=True),
    "turned rows": _Layout(_BROADCAST, _turned_rows, 3, (-2, -1), repeats=True),
    "single": _Layout(_BROADCAST, lambda sizes: (0,) * len(sizes), 1, repeats=True),
}
_SIZES: dict[str, tuple[int, ...]] = {
    "odd": (1, 3, 1, 3, 3, 5, 3, 7),
    "powers of two": (2, 1, 2, 2, 4, 4, 4, 4),
    "cube": (2, 2, 2, 2, 2, 2, 2, 2),
    "few": (1, 1, 1, 1, 1, 1, 2, 3),
    "last of one": (1, 1, 2, 3, 3, 4, 5, 1),
    "thousands": (1, 1, 1, 1, 3, 5, 17, 19),
}
"""Sizes by their kind; a lower rank has the last of them, of which the first holds what is cut off."""
_PLACES = {
    "apart": ("tensor.position", Placement()),
    "odd offset": ("binding.offset", Placement(front=528, gap=272)),
    "output first": ("binding.same-resource", Placement(output_first=True)),
    "larger region": ("binding.offset", Placement(slack=64)),
    "one region": ("binding.same-resource", Placement(one_region=True)),
}


def _sizes(kind: str, rank: int) -> Sizes:
    whole = _SIZES[kind]
    kept = whole[len(whole) - rank :]
    if kind in ("odd", "cube", "last of one") or rank > 3:
        return kept
    return (math.prod(whole[: len(whole) - rank + 1]), *kept[1:])


@dataclass(frozen=True)
class _Patterns:
    """The factors of a subject, and what their levels stand for."""

    subject: Subject
    attributes: Mapping[str, Mapping[str, Any]]
    places: Mapping[str, tuple[str, Placement]]
    elements: Mapping[str, Streams]

    @cached_property
    def clauses(self) -> Mapping[str, str]:
        """The clause on values by the level of attributes."""
        return {name: self.subject.scaled_values_clause(attributes) for name, attributes in self.attributes.items()}

    @staticmethod
    def of(subject: Subject) -> _Patterns:
        """Those of an operator on a signature."""
        sets: dict[str, Mapping[str, Any]] = {}
        for number, attributes in enumerate(distinguishing_sets(subject, _MOST_SETS)):
            sets[f"set {number}"] = attributes
            if subject.table.has_scale_bias:
                sets[f"set {number}, scaled"] = subject.scaled(attributes, plain_scaling(subject))
        plain = sets["set 0"]
        if subject.table.has_scale_bias:
            sets["identity"] = subject.scaled(plain, ScaleBias(1.0, 0.0))
        for item in subject.table.attributes:
            if item.type == FUSED:
                sets["fused"] = {**plain, item.name: OperatorDesc("ACTIVATION_RELU", {}, {})}
        places = {name: entry for name, entry in _PLACES.items() if name != "one region" or may_be_one_region(subject)}
        for place in subject.in_place:
            places[f"in place of {place.alias}"] = (subject.in_place_clause, place)
        if subject.inputs_may_be_the_output:
            both = Placement(in_place=True, one_region=True)
            places["all in one"] = (subject.in_place_clause, both)
        elements = {"distinct": subject.distinct(_VALUES).streams, "special": special_elements(subject).streams}
        return _Patterns(subject, sets, places, elements)

    @property
    def space(self) -> Space:
        """The factors, every two of whose levels are to meet, and what does not go together."""
        inputs = tuple(self.subject.inputs)
        stored = tuple(name for name, known in _KNOWN.items() if not known.repeats)
        levels: dict[str, tuple[str, ...]] = {
            "rank": tuple(map(str, self.subject.ranks)),
            "sizes": tuple(_SIZES),
            **{f"layout of {name}": tuple(_KNOWN) for name in inputs},
            "layout of the output": stored,
            "place": tuple(self.places),
            "room": ("none", "larger"),
            "attributes": tuple(self.attributes),
            "elements": tuple(self.elements),
            "dispatch": ("first", "again"),
        }
        factors = tuple(
            Factor(name, names, names[0], frozenset(), (2,) * len(names), _SLOW & set(names))
            for name, names in levels.items()
        )
        return Space(factors, tuple(self._relations(levels)), 2)

    def _relations(self, levels: Mapping[str, tuple[str, ...]]) -> Iterator[Relation]:
        ranks, sizes = levels["rank"], levels["sizes"]
        for factor in (*(f"layout of {name}" for name in self.subject.inputs), "layout of the output"):
            yield Relation("sizes", ("rank", "sizes", factor), _fitting(ranks, sizes, levels[factor]))
        several = {pair for pair in itertools.product(ranks, sizes) if math.prod(_sizes(pair[1], int(pair[0]))) > 1}
        yield Relation("sizes", ("rank", "sizes"), _positions((ranks, sizes), several))
        for alike, first, other in self._same():
            same = _same_layouts(levels["place"], levels[f"layout of {first}"], levels[f"layout of {other}"], alike)
            yield Relation("same layout", ("place", f"layout of {first}", f"layout of {other}"), same)

    def _same(self) -> Iterator[tuple[tuple[str, ...], str, str]]:
        """Two tensors that one region, or two equal ones, hold in some places."""
        inputs = self.subject.inputs
        for name in inputs:
            yield (f"in place of {name}", "all in one"), name, "the output"
        for first, other in itertools.combinations(inputs, 2):
            if inputs[first] is inputs[other]:
                yield ("one region", "all in one"), first, other

    def case(self, levels: Levels) -> Case:
        """The case of a level of every factor."""
        sizes, attributes = _sizes(levels["sizes"], int(levels["rank"])), self.attributes[levels["attributes"]]
        inputs = {name: _KNOWN[levels[f"layout of {name}"]] for name in self.subject.inputs}
        output = _KNOWN[levels["layout of the output"]]
        operator = self.subject.describe(
            sizes,
            attributes,
            None,
            output.strides(sizes),
            layouts={name: layout.strides(sizes) for name, layout in inputs.items()},
        )
        if levels["room"] == "larger":
            operator = with_larger_totals(operator, 64)
        place_clause, place = self.places[levels["place"]]
        again = levels["dispatch"] == "again"
        clauses = ["execution.repeatable"] if again else [place_clause] if place.in_place else []
        clauses += [_output_clause(output, list(inputs.values()))]
        clauses += [layout.clause for layout in inputs.values()]
        clauses += ["tensor.total-size.larger" if levels["room"] == "larger" else "tensor.position", place_clause]
        clause = next((candidate for candidate in clauses if candidate != "tensor.position"), "tensor.position")
        return Case(
            operator,
            self.elements[levels["elements"]],
            self.clauses[levels["attributes"]],
            clause,
            "dispatched again" if again else "oracle",
            placement=place,
        )


def _output_clause(output: _Layout, inputs: list[_Layout]) -> str:
    return output.clause if output in inputs or output.clause == "tensor.position" else "tensor.strides.output"


def _positions(levels: tuple[tuple[str, ...], ...], kept: Container[tuple[str, ...]]) -> frozenset[tuple[int, ...]]:
    """Which rows of some factors' levels are kept, as positions."""
    places = itertools.product(*map(range, map(len, levels)))
    rows = zip(places, itertools.product(*levels), strict=True)
    return frozenset(place for place, row in rows if row in kept)


@lru_cache(maxsize=64)
def _fitting(ranks: tuple[str, ...], sizes: tuple[str, ...], layouts: tuple[str, ...]) -> frozenset[tuple[int, ...]]:
    """Which layouts tensors of which sizes can have, by rank; the same of most operators."""
    levels = (ranks, sizes, layouts)
    kept = {row for row in itertools.product(*levels) if _KNOWN[row[2]].fits(_sizes(row[1], int(row[0])))}
    return _positions(levels, kept)


@lru_cache(maxsize=64)
def _same_layouts(
    places: tuple[str, ...], ones: tuple[str, ...], others: tuple[str, ...], alike: tuple[str, ...]
) -> frozenset[tuple[int, ...]]:
    """Which layouts of two tensors go together in each place: equal ones alone, where it holds both of them."""
    levels = (places, ones, others)
    return _positions(levels, {row for row in itertools.product(*levels) if row[0] not in alike or row[1] == row[2]})


def _cases(subject: Subject) -> Iterator[Case]:
    """The cases of the array's rows; of an operator with many signatures each has a share of them, or all in full."""
    patterns = _Patterns.of(subject)
    array = covering_array(patterns.space, subject.seed)
    return (patterns.case(dict(array.levels(row))) for row in share_of(subject, array.rows))
