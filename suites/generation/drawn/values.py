"""Values and attributes that a seeded generator draws: half of each from known edges, half of any bits."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, ScalarUnion
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.attributes import type_named
from dmlcts.suites.generation.subject import Subject

Array = NDArray[Any]
Generator = np.random.Generator

_MOST_VALUES = 24
_GREATEST_FLOAT16 = 65_519.0  # what is cast to FLOAT16 stays finite up to here


@cache
def _known(data_type: DataType) -> Array:
    return edge_values.inputs(data_type)


def elements(data_type: DataType, count: int, generator: Generator) -> Array:
    """Elements of a type: lattice values, and bit patterns that are no NaN.

    The result is 1-D, of ``data_type``, with ``count`` elements.
    """
    known = _known(data_type)[generator.integers(0, _known(data_type).size, count)]
    patterns = generator.integers(0, 1 << 8 * data_type.itemsize, count, data_type.bits_dtype).view(data_type.numpy)
    wanted = generator.integers(0, 2, count) == 1
    if data_type.is_floating:
        wanted &= ~np.isnan(patterns)
    return np.where(wanted, patterns, known)


def values(subject: Subject, generator: Generator) -> Streams:
    """A few elements, as many for each input; one for a tensor of one element."""
    count = int(generator.integers(1, _MOST_VALUES + 1))
    if subject.of_one_type:
        return subject.elements(elements(subject.data_type, count, generator)).streams
    arrays = {name: elements(data_type, count, generator) for name, data_type in subject.inputs.items()}
    single = {name: elements(data_type, 1, generator) for name, data_type in subject.single.items()}
    return subject.of_arrays(arrays, single).streams


def bound(data_type: DataType, generator: Generator, *, exact: bool) -> np.float32:
    """A FLOAT bound whose cast to the type the pages fix; ``exact``: which the type represents."""
    if data_type is DataType.FLOAT32:
        return _number(generator, finite=False)
    if data_type is DataType.FLOAT16:
        if exact or generator.integers(0, 2):
            half = elements(data_type, 1, generator)[0]
            return np.float32(0) if np.isnan(half) else np.float32(half)
        return float16_bound(generator)
    low, high = edge_values.limits_as_float(data_type)
    if exact or generator.integers(0, 2):
        drawn = np.float32(int(generator.integers(int(low), int(high), dtype=data_type.numpy, endpoint=True)))
        small = np.float32(int(generator.integers(max(int(low), -9), 10)))
        return np.clip(drawn, low, high) if generator.integers(0, 2) else small
    drawn = np.float32(np.ldexp(generator.uniform(-1, 1), int(generator.integers(0, 8 * data_type.itemsize + 1))))
    return np.clip(drawn, low, high)


def float16_bound(generator: Generator) -> np.float32:
    """A FLOAT bound below the threshold from which it is infinite in FLOAT16, of any size."""
    exponent = generator.integers(-26, 17)
    drawn = np.float32(np.ldexp(generator.uniform(-1, 1), exponent))
    return np.clip(drawn, np.float32(-_GREATEST_FLOAT16), np.float32(_GREATEST_FLOAT16))


def _number(generator: Generator, *, finite: bool) -> np.float32:
    number = elements(DataType.FLOAT32, 1, generator)[0]
    if np.isnan(number) or (finite and np.isinf(number)):
        return np.float32(1.5)
    return np.float32(number)


def attributes(subject: Subject, generator: Generator) -> dict[str, Any]:
    """All attributes of the operator, the bounds in any order, no ScaleBias."""
    attribute_values: dict[str, Any] = {}
    for item in subject.table.attributes:
        if item.type == "FLOAT" and subject.of_one_type:
            attribute_values[item.name] = bound(subject.data_type, generator, exact=item.cast == "undocumented")
        elif item.type == "ENUM":
            attribute_values[item.name] = item.enumerators[int(generator.integers(0, len(item.enumerators)))]
        elif item.type == "FLOAT":
            attribute_values[item.name] = _number(generator, finite=True)
        elif item.type == "DML_SCALAR_UNION":
            data_type = type_named(subject.table, subject.signature, item.data_type or "")
            drawn = elements(data_type, 1, generator)
            attribute_values[item.name] = ScalarUnion(data_type, int(drawn.view(data_type.bits_dtype)[0]))
    return subject.attributes(**attribute_values)
