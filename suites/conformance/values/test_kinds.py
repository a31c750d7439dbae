"""Tensors whose elements are all of one kind: kernels that look at a block at once ("no NaN here") go wrong there.

Other tests mix what they try: a shortcut for blocks that are all false, all NaN, all positive or all the same is never
taken in them. An implementation may take one where an input is alike, or where all inputs are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array
from dmlcts.suites.conformance.tensors.describing import told_sets
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
    sets = told_sets(subject, _MOST_SETS)
    for elements in _alike(subject):
        for attributes in sets:
            yield subject.case(subject.values_clause(attributes), elements, attributes)


def _alike(subject: Subject) -> Iterator[Elements]:
    ordinary = subject.distinct(_COUNT).arrays
    known = {name: kinds(data_type) for name, data_type in subject.inputs.items()}
    names = tuple(known)
    for kind in dict.fromkeys(kind for found in known.values() for kind in found):
        for alike in (names, *((name,) for name in names if len(names) > 1)):
            if all(kind in known[name] for name in alike):
                yield subject.of_arrays(ordinary | _filled({name: known[name][kind] for name in alike}))
    yield subject.of_arrays(_filled({name: array[:1] for name, array in ordinary.items()}))


def _filled(alike: Mapping[str, Array]) -> dict[str, Array]:
    """The given values over and over, those of each input from another one on."""
    return {name: np.resize(np.roll(values, -place), _COUNT) for place, (name, values) in enumerate(alike.items())}
