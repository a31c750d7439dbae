"""What is expected of millions of elements: the same as of few at a time, and found in as little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.oracles import Inputs, Oracle, oracle_of
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
LEVEL = FeatureLevel("6.4")
ELEMENTS = (1 << 21) + 37
MOST_BYTES = 40 << 20  # besides the outputs; all at once, QUANTIZED_LINEAR_ADD takes 248 MiB, DIVIDE 46, EXP 64
of_each_kind = pytest.mark.parametrize("name", ["QUANTIZED_LINEAR_ADD", "DIVIDE", "EXP", "CLIP", "IF"])


def asked(name: str) -> tuple[Oracle, Inputs]:
    """The oracle of an operator's first signature, and elements for its inputs."""
    table = TABLES.operator(name)
    subject = Subject(table, signatures(table)[0], LEVEL, 0, profile=QUICK)
    operator = subject.describe(subject.flat(ELEMENTS), subject.revealing())
    streams = subject.distinct(1021).streams
    return oracle_of(TABLES, operator, strict=False), {
        member: np.resize(values.array(1021 if member in subject.inputs else 1), ELEMENTS)
        for member, values in streams.items()
    }


@of_each_kind
def test_it_is_the_same_as_of_few(name: str) -> None:
    oracle, inputs = asked(name)
    expected = oracle.expected(inputs)
    assert (expected.size, expected.dtype) == (ELEMENTS, oracle.data_type.numpy)
    for start in (0, 1 << 17, (1 << 18) - 3, ELEMENTS - 40):
        place = slice(start, start + 1000)
        few = oracle.expected({member: array[place] for member, array in inputs.items()})
        assert expected[place].tobytes() == few.tobytes()


@of_each_kind
def test_it_takes_little_memory_beside_the_outputs(name: str) -> None:
    oracle, inputs = asked(name)
    tracemalloc.start()
    try:
        expected = oracle.expected(inputs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - expected.nbytes < MOST_BYTES, f"{(peak - expected.nbytes) >> 20} MiB"
