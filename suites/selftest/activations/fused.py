"""Descriptions of ADD1 with an activation, and elements for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.generation import activations
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
ADD1 = TABLES.operator("ADD1")
LEVEL = FeatureLevel("6.4")
TYPES = (DataType.FLOAT32, DataType.FLOAT16)
EXACT = ("LINEAR", "HARD_SIGMOID", "RELU", "LEAKY_RELU", "THRESHOLDED_RELU", "IDENTITY", "SHRINK")


def add_with(data_type: DataType, name: str, count: int = 1, **numbers: float) -> OperatorDesc:
    """ADD1 on packed tensors of so many elements, with an activation by its short name."""
    subject = Subject.on(ADD1, data_type, LEVEL)
    fused = OperatorDesc(f"ACTIVATION_{name}", {}, numbers)
    return subject.describe(subject.flat(count), subject.attributes(FusedActivation=fused))


def every(data_type: DataType, name: str) -> Iterator[tuple[OperatorDesc, dict[str, Any]]]:
    """A description for each set of numbers of an activation, and the suite's own elements by the formula's names."""
    subject, known = Subject.on(ADD1, data_type, LEVEL), TABLES.activations[f"ACTIVATION_{name}"]
    for numbers in known.number_sets:
        elements = activations.elements(subject, numbers)
        values = {name: elements.arrays[member] for name, member in ADD1.formula_names.items()}
        yield add_with(data_type, name, elements.count, **numbers), values


def typed(data_type: DataType, *values: float) -> np.ndarray[Any, np.dtype[Any]]:
    """Numbers in a type."""
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(data_type.numpy)
