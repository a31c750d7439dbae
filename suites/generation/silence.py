"""Where the pages are silent: elements and attributes at which each silent point of a table holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dmlcts.specs.statements.silent_points import SilentPoint, silent_points
from dmlcts.suites.generation import attributes, edge_values
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.subject import Subject

_MOST = 1021

At = tuple[Mapping[str, Any], SilentPoint, Elements]


def at_silent_points(subject: Subject) -> Iterator[At]:
    """Attributes, the point, and elements at it with as many ordinary ones behind them.

    Every set of ordinary attributes is tried; for points that hold under none of them, such with NaN among them.
    """
    reached = set()
    for attribute_set in subject.attribute_sets():
        for point, elements in _held(subject, attribute_set):
            reached.add(point.clause.id)
            yield attribute_set, point, elements
    for attribute_set in attributes.nan_sets(subject.table, subject.signature):
        for point, elements in _held(subject, attribute_set):
            if point.clause.id not in reached:
                yield attribute_set, point, elements


def _held(subject: Subject, attribute_set: Mapping[str, Any]) -> Iterator[tuple[SilentPoint, Elements]]:
    points = silent_points(subject.table, subject.describe(subject.flat(1), attribute_set))
    for point in points:
        elements = _at(subject, point, [other for other in points if other is not point])
        if elements is not None:
            yield point, elements


def _at(subject: Subject, point: SilentPoint, others: list[SilentPoint]) -> Elements | None:
    """Elements at which the point holds and ordinary ones behind them; ``None`` where no edge value is at it.

    Those at which no other point holds, if there are any: what goes wrong there is this point's matter alone.
    """
    names = subject.table.formula_names
    for elements in _edges(subject):
        spread = elements.spread
        with np.errstate(all="ignore"):
            operands = {name: spread[member] for name, member in names.items() if member in spread}
            here = np.broadcast_to(point.where(operands), (elements.count,))
            elsewhere = np.zeros(elements.count, bool)
            for other in others:
                elsewhere |= other.where(operands)
        alone, together = np.flatnonzero(here & ~elsewhere), np.flatnonzero(here & elsewhere)
        held = alone if alone.size else together
        if held.size:
            chosen = held[:: max(1, held.size // _MOST)]
            return elements[chosen].joined(subject.distinct(chosen.size).with_single(elements.single))
    return None


def _edges(subject: Subject) -> Iterator[Elements]:
    """What tests of values try, and for an only floating-point input the NaNs, which those leave out."""
    yield from subject.edge_sets()
    if subject.of_one_type and subject.data_type.is_floating:
        yield subject.elements(edge_values.nans(subject.data_type))
