"""Activations with their numbers, and elements whose results stand where the activation bends or breaks off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.models import Activation
from dmlcts.suites.cases.values import Array
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.elements import Elements
from dmlcts.suites.generation.subject import Subject

_POINTS = (0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0, 100.0)


def descriptions(activation: Activation) -> Iterator[OperatorDesc]:
    """The activation with each set of numbers that its table has, without tensors, as it is fused."""
    for numbers in activation.number_sets:
        yield OperatorDesc(activation.operator, {}, numbers)


def elements(subject: Subject, numbers: Mapping[str, float]) -> Elements:
    """Elements of two inputs whose sums are around an activation's numbers, of every magnitude, and special.

    Most sums are exact, so that it is known on which side of a number they stand; of many of them one operand alone
    stands on another side.
    """
    results = _results(subject.data_type, numbers)
    with np.errstate(all="ignore"):
        half = results.dtype.type(0.5)
        splits = [
            (results, np.zeros_like(results)),
            (half * results, half * results),
            (results + results, -results),
            (-half * results, results + half * results),
            (results, results[::-1]),
        ]
    first, second = (np.concatenate(side) for side in zip(*splits, strict=True))
    return subject.of_arrays(dict(zip(subject.inputs, (first, second), strict=True)))


def of_one_sign(subject: Subject, count: int, sign: int) -> Elements:
    """So many elements of two inputs whose sums are exact, from 1.5 to 8 times ``sign``: no activation keeps them all.

    ``IDENTITY`` does, and what keeps positive sums keeps none of the negative ones.
    """
    places = np.arange(count)
    total = sign * (1.5 + 0.25 * (places % 27))
    first = 0.5 * total - 0.25 * (places % 5)
    own = subject.data_type.numpy
    return subject.of_arrays(dict(zip(subject.inputs, (first.astype(own), (total - first).astype(own)), strict=True)))


def _results(data_type: DataType, numbers: Mapping[str, float]) -> Array:
    own = data_type.numpy
    points = {*_POINTS, *(abs(number) for number in numbers.values())}
    slope, offset = numbers.get("Alpha", 0.0), numbers.get("Beta", 0.0)
    if slope:  # where a line reaches 0 and 1
        points |= {abs(offset / slope), abs((1 - offset) / slope)}
    with np.errstate(all="ignore"):
        near = edge_values.neighbours(np.array(sorted(points)).astype(own), data_type)
        limits = np.finfo(own)
        powers = np.ldexp(1.375, np.arange(limits.minexp, limits.maxexp, 1 if own.itemsize == 2 else 5)).astype(own)
        ends = np.array([limits.max, limits.max / 2, limits.smallest_normal, np.inf], own)
        values = np.concatenate([near, powers, ends])
        return np.concatenate([values, -values, edge_values.nans(data_type)[:4]])
