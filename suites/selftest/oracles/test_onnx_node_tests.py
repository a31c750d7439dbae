"""The data of ONNX's node tests before the oracles: what is published must be accepted, and next to it refused.

ONNX's cases were made by others, with numpy, for operators of the same meaning. Clip and Round are in
``test_outside_oracles``. Every other case is judged, or a reason says why it cannot be.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from dmlcts.backends.onnxruntime.operators import COUNTERPARTS
from dmlcts.suites.selftest.family.family_tables import family
from dmlcts.suites.selftest.oracles.published_vectors import (
    Vector,
    accepted_of,
    is_listed,
    onnx_cases,
    refused,
    unnoticed,
)

pytestmark = pytest.mark.skipif(find_spec("onnx") is None, reason="the node tests are made by the package onnx")

TABLES = family()
ELSEWHERE = {"Clip", "Round"}
OVER_BYTES = {
    "And": "LOGICAL_AND",
    "Or": "LOGICAL_OR",
    "Xor": "LOGICAL_XOR",
    "Not": "LOGICAL_NOT",
    "Where": "IF",
    "QuantizeLinear": "QUANTIZE_LINEAR",
    "DequantizeLinear": "DEQUANTIZE_LINEAR",
}
"""What a runtime is not asked for, and data can be compared with: bytes of 0 and 1, a scale for each element."""
DEFAULTS = {"ScaleBias": None, "FusedActivation": None, "InfinityMode": "EITHER"}

NOT_ARRAYS = "its elements are strings, or of 2, 4 or 8 bits in a packed form"
NOT_TWO = "it has another number of inputs than the operator"
NOT_LISTED = "no signature of the operator has these types"
OPERATORS = sorted({name for name, row in COUNTERPARTS.items() if row.name} | set(OVER_BYTES.values()))
WITHOUT = {"ADD1", "CLIP", "CLIP1", "ROUND HALVES_TO_NEAREST_EVEN", "THRESHOLD"}
"""Judged elsewhere, or ONNX's operator of the same name is another's: Add is ADD, Max is MAX."""


NAMES = (
    {row.name for row in COUNTERPARTS.values() if row.name}
    | {*OVER_BYTES}
    | {
        "Add",
        "BitShift",
        "IsInf",
        "Max",
        "Mod",
    }
)
"""ONNX's operators that have a counterpart."""


@cache
def cases() -> dict[str, tuple[str, Any]]:
    """Every node test of one node that has a counterpart, with the operator that it is one of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some operators' cases overflow on purpose
        collected = onnx_cases(NAMES)
    cases_by_name = {}
    for case in collected:
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type not in ELSEWHERE and not case.name.endswith("_expanded"):
            name = counterpart(nodes[0])
            if name is not None:
                cases_by_name[case.name] = (name, case)
    return cases_by_name


def attributes_of(node: Any) -> dict[str, Any]:
    helper = importlib.import_module("onnx.helper")
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def counterpart(node: Any) -> str | None:
    """The operator, with its enumerator, that a node is one of."""
    attributes = attributes_of(node)
    if node.op_type == "Mod":
        return "MODULUS_TRUNCATE" if attributes.get("fmod") else "MODULUS_FLOOR"
    if node.op_type == "BitShift":
        return f"BIT_SHIFT_{attributes['direction'].decode()}"
    if node.op_type == "IsInf":
        signs = attributes.get("detect_positive", 1), attributes.get("detect_negative", 1)
        return "IS_INFINITY " + {(1, 1): "EITHER", (1, 0): "POSITIVE", (0, 1): "NEGATIVE"}[signs]
    named = {row.name: name for name, row in reversed(COUNTERPARTS.items()) if row.name}
    named |= {"Add": "ADD", "Max": "MAX", **OVER_BYTES}
    return named.get(node.op_type)


def spread(array: np.ndarray, shape: tuple[int, ...], attributes: Mapping[str, Any], parameter: bool) -> np.ndarray:
    """An input with as many elements as the output; scales and zero points along their axis, or by blocks of it."""
    axis = attributes.get("axis", 1)
    if parameter and array.ndim == 1 and len(shape) > 1:
        array = array.reshape([-1 if place == axis else 1 for place in range(len(shape))])
    if parameter and attributes.get("block_size"):
        array = np.repeat(array, attributes["block_size"], axis=axis)
    return np.broadcast_to(array, shape).ravel()


def vector_of(name: str) -> Vector | str:
    """A case as a vector, or why it is none."""
    operator, case = cases()[name]
    (node,), ((inputs, (output,)),) = case.model.graph.node, case.data_sets
    plain = [isinstance(array, np.ndarray | np.generic) and array.dtype.kind in "biuf" for array in (*inputs, output)]
    if not all(plain):
        return NOT_ARRAYS
    short, _, mode = operator.partition(" ")
    table = TABLES.operator(f"ELEMENT_WISE_{short}")
    members = table.inputs
    if not len([member for member in members if not table.tensors[member].optional]) <= len(inputs) <= len(members):
        return NOT_TWO
    node_attributes, quantised = attributes_of(node), "QUANTIZE" in short
    arrays = [
        np.ascontiguousarray(spread(np.asarray(array), output.shape, node_attributes, quantised and place > 0))
        for place, array in enumerate(inputs)
    ]
    arrays = [array.astype(np.uint8) if array.dtype == bool else array for array in (*arrays, output.ravel())]
    attributes = {item.name: DEFAULTS[item.name] for item in table.attributes}
    if mode:
        attributes["InfinityMode"] = mode
    vector = Vector(table.operator, dict(zip(members, arrays[:-1], strict=False)), arrays[-1], attributes)
    return vector if is_listed(TABLES, vector) else NOT_LISTED


def vectors_of(operator: str) -> dict[str, Vector]:
    """The cases of an operator that can be judged, by name."""
    named = {name: vector_of(name) for name, (other, _) in cases().items() if other == operator}
    return {name: vector for name, vector in named.items() if isinstance(vector, Vector)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("operator", sorted({*OPERATORS} - WITHOUT))
@pytest.mark.size("thorough", brief=6)
def test_what_onnx_expects_is_accepted_and_what_lies_next_to_it_refused(operator: str) -> None:
    vectors = vectors_of(operator)
    assert vectors, f"no case of {operator} is judged"
    for name, vector in vectors.items():
        accepted = accepted_of(TABLES, vector)
        assert refused(TABLES, vector, accepted) == [], name
        tried, unseen = unnoticed(TABLES, vector, accepted)
        assert unseen == [], name
        assert tried, f"{name}: all of it is open"


WRONG: dict[str, tuple[str, Callable[..., np.ndarray]]] = {
    "log of base 2": ("test_log", np.log2),
    "floored quotient": ("test_div_int32_trunc", np.floor_divide),
    "remainder with the divisor's sign": ("test_mod_mixed_sign_float32", np.mod),
    "remainder with the dividend's sign": ("test_mod_mixed_sign_int32", np.fmod),
    "degrees": ("test_sin", lambda x: np.sin(np.radians(x))),
    "operands exchanged": ("test_pow", lambda x, y: np.power(y, x)),
    "larger for smaller": ("test_min_int8", np.maximum),
    "no zero point": ("test_quantizelinear", lambda x, scale, _: np.clip(np.rint(x / scale), 0, 255).astype(np.uint8)),
}


@pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
@pytest.mark.size("thorough", brief=3)
def test_wrong_vectors_are_refused_by_both_oracles(name: str, wrong: Callable[..., np.ndarray]) -> None:
    vector = vector_of(name)
    assert isinstance(vector, Vector)
    output = wrong(*vector.inputs.values()).astype(vector.output.dtype)
    refusals = refused(TABLES, vector.with_output(output))
    assert {oracle for oracle in ("exact", "vectorised") for line in refusals if f"the {oracle} oracle" in line} == {
        "exact",
        "vectorised",
    }
    assert refused(TABLES, vector) == []


def test_cases_are_left_out_for_reasons_that_hold() -> None:
    """By name: what a later release of ONNX adds is judged, or is one of these."""
    left = {name: reason for name in cases() if isinstance(reason := vector_of(name), str)}
    assert set(left.values()) <= {NOT_ARRAYS, NOT_TWO, NOT_LISTED}
    others = {name for name, why in left.items() if why == NOT_LISTED}
    beyond = ("int64", "float64", "bitshift", "quantizelinear_uint16", "quantizelinear_int16", "uint64")
    assert [name for name in others if not any(part in name for part in beyond)] == []
    assert {name for name, why in left.items() if why == NOT_TWO} == {
        f"test_{name}_{count}" for name in ("max", "mean", "min") for count in ("example", "one_input")
    }
    judged = [name for name in cases() if name not in left]
    assert len(judged) > 5 * len(left) / 2, "more is left out than is judged"


def test_a_type_that_no_table_lists_is_not_judged() -> None:
    vector = vector_of("test_max_float32")
    assert isinstance(vector, Vector)
    wide = {member: array.astype(np.float64) for member, array in vector.inputs.items()}
    assert is_listed(TABLES, vector)
    assert not is_listed(TABLES, replace(vector, inputs=wide, output=vector.output.astype(np.float64)))
