"""Tensors whose elements are all of one kind: kernels that look at a block at once ("no NaN here") go wrong there.

Other tests mix what they try: a shortcut for blocks that are all false, all NaN, all positive or all the same is never
taken in them. An implementation may take one where an input is alike, or where all inputs are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from dmlcts.suites.cases.case import Case
from dmlcts.suites.generation.edge_values import kinds
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_COUNT = 67  # whole blocks of up to 64 elements, and a tail
_MOST_SETS = 4


@checks("values")
def test_elements_of_one_kind(subject: Subject, judge: Judge) -> None:
    """Zeros, ones, small, large, negative, infinite, NaN, subnormal: in all inputs, in each beside ordinary ones."""
    judge.all(_cases(subject))


@checks("rounding")
def test_rounded_elements_of_one_kind(subject: Subject, judge: Judge) -> None:
    """The same of operators whose values their modes' clauses state."""
    judge.all(_cases(subject))


def _cases(subject: Subject) -> Iterator[Case]:
    bounded = any(item.role in ("low", "high") for item in subject.table.attributes)
    sets = [subject.revealing()] if bounded else [*islice(subject.attribute_sets(), _MOST_SETS)]
    for elements in _alike(subject):
        for attributes in sets:
            yield subject.case(subject.values_clause(attributes), elements, attributes)


def _alike(subject: Subject) -> Iterator[Elements]:
    known = {name: kinds(data_type) for name, data_type in subject.inputs.items()}
    names = tuple(known)
    for kind in dict.fromkeys(kind for found in known.values() for kind in found):
        for alike in (names, *((name,) for name in names if len(names) > 1)):
            if all(kind in known[name] for name in alike):
                yield _filled(subject, {name: known[name][kind] for name in alike})
    ordinary = subject.distinct(_COUNT).arrays
    yield _filled(subject, {name: array[:1] for name, array in ordinary.items()})


def _filled(subject: Subject, alike: Mapping[str, Any]) -> Elements:
    """Elements of which some inputs hold the given values, each from another one on, and the others ordinary ones."""
    arrays = dict(subject.distinct(_COUNT).arrays)
    for place, (name, values) in enumerate(alike.items()):
        arrays[name] = np.resize(np.roll(values, -place), _COUNT)
    return subject.of_arrays(arrays)
