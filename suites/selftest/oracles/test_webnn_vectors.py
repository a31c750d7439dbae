"""WebNN's published inputs and outputs (``webnn_vectors.yaml``): accepted by the oracles, and what is off refused."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dmlcts.specs import DataType
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.oracles.published_vectors import Vector, accepted_of, refused, unnoticed

TABLES = family()
PUBLISHED = yaml.safe_load(Path(__file__).with_name("webnn_vectors.yaml").read_text(encoding="utf-8"))
OPERATORS = {entry["operator"]: entry for entry in PUBLISHED["operators"]}


@cache
def vectors_of(operator: str) -> list[Vector]:
    table = TABLES.operator(f"ELEMENT_WISE_{operator}")
    attributes = {item.name: None for item in table.attributes}  # ScaleBias alone
    return [
        Vector(
            table.operator,
            {name: array_of(array) for name, array in entry["inputs"].items()},
            array_of(entry["output"]),
            attributes,
        )
        for entry in OPERATORS[operator]["vectors"]
    ]


def array_of(entry: dict[str, Any]) -> np.ndarray:
    return np.array(entry["values"], DataType[entry["type"]].numpy)


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_webnn_expects_is_accepted_and_what_is_off_refused(operator: str) -> None:
    for vector in vectors_of(operator):
        accepted = accepted_of(TABLES, vector)
        assert refused(TABLES, vector, accepted) == []
        tried, unseen = unnoticed(TABLES, vector, accepted)
        assert unseen == []
        assert tried == vector.output.size, "both oracles bound every element"


@pytest.mark.parametrize("operator", OPERATORS)
def test_outputs_of_other_inputs_are_refused(operator: str) -> None:
    """Each output stands with the inputs of the element before it."""
    for vector in vectors_of(operator):
        if vector.output.size > 1:
            assert refused(TABLES, vector.with_output(np.roll(vector.output, 1)))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_states_where_its_numbers_stand(operator: str) -> None:
    entry = OPERATORS[operator]
    assert entry["path"].startswith("tests/wpt/tests/webnn/conformance_tests/")
    assert len(bytes.fromhex(entry["commit"])) == 20
    assert all(Fraction(str(vector["tolerance"]).removesuffix(" ULP")) > 0 for vector in entry["vectors"])


def test_the_wrong_expectation_is_one() -> None:
    """WebNN's quotient and zero point are right; what is published is not brought into the type."""
    ((operator, wrong),) = [(name, vector) for name, entry in OPERATORS.items() for vector in entry.get("wrong", [])]
    assert operator == "QUANTIZE_LINEAR"
    inputs = {name: Fraction(value) for name, value in wrong["inputs"].items()}
    assert round(inputs["InputTensor"] / inputs["ScaleTensor"]) + inputs["ZeroPointTensor"] == wrong["output"]
    low, high = wrong["limits"]
    assert not low <= wrong["output"] <= high
