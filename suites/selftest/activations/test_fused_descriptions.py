"""Operators as attributes: frozen, compared by content, written and read again, and printed for a person."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument
from dmlcts.backends.cpu import CpuBackend
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc, UsageError
from dmlcts.specs.description_data import read_operator, write_operator
from dmlcts.specs.rules import violations
from dmlcts.suites.judging.findings import attribute_text
from dmlcts.suites.selftest.activations.fused import ADD1, TABLES, add_with


def test_it_compares_by_content_and_by_bits() -> None:
    described, same = (add_with(DataType.FLOAT32, "LEAKY_RELU", Alpha=0.5) for _ in range(2))
    assert described == same
    assert hash(described) == hash(same)
    assert described != add_with(DataType.FLOAT32, "LEAKY_RELU", Alpha=0.25)
    assert described != add_with(DataType.FLOAT32, "THRESHOLDED_RELU", Alpha=0.5)
    assert add_with(DataType.FLOAT32, "LINEAR", Alpha=0.0) != add_with(DataType.FLOAT32, "LINEAR", Alpha=-0.0)
    fused = described.activation
    assert fused is not None
    with pytest.raises(TypeError):
        fused.attributes["Alpha"] = np.float32(1)  # type: ignore[index]
    plain = OperatorDesc(described.name, described.tensors, {"FusedActivation": None})
    assert plain.activation is None
    assert plain != described


def test_it_is_written_and_read_again_with_every_bit() -> None:
    nan = np.array(0x7FA12345, np.uint32).view(np.float32)[()]
    described = add_with(DataType.FLOAT16, "SHRINK", Bias=nan, Threshold=-0.0)
    assert read_operator(write_operator(described)) == described
    written = write_operator(described)["attributes"]["FusedActivation"]
    assert written["operator"] == "ACTIVATION_SHRINK"
    assert written["attributes"]["Bias"]["bits"] == "0x7fa12345"


def test_operators_within_fused_ones_are_refused() -> None:
    written = write_operator(add_with(DataType.FLOAT32, "RELU"))
    inner = written["attributes"]["FusedActivation"]
    inner["attributes"] = {"FusedActivation": {"operator": "ACTIVATION_RELU", "tensors": {}, "attributes": {}}}
    with pytest.raises(UsageError, match="is an operator within a fused one; fuse one that has none itself"):
        read_operator(written)


@pytest.mark.parametrize(
    ("member", "value", "text"),
    [
        ("operator", 3, "is not text of the expected form"),
        ("tensors", [], "is not a mapping"),
        ("attributes", None, "is not a mapping"),
        ("attributes", {"Alpha": {"bits": "1"}}, "attribute Alpha is not a FLOAT"),
    ],
)
def test_what_is_malformed_is_refused(member: str, value: object, text: str) -> None:
    written = write_operator(add_with(DataType.FLOAT32, "RELU"))
    written["attributes"]["FusedActivation"][member] = value
    with pytest.raises(UsageError, match=text):
        read_operator(written)


def test_it_is_reported_with_its_numbers() -> None:
    fused = add_with(DataType.FLOAT32, "LEAKY_RELU", Alpha=0.5).activation
    assert attribute_text(fused) == "ACTIVATION_LEAKY_RELU with Alpha 0.5 (0x3f000000)"
    assert attribute_text(add_with(DataType.FLOAT32, "RELU").activation) == "ACTIVATION_RELU"


@pytest.mark.parametrize(
    ("name", "level", "clause"),
    [
        ("CELU", "2.0", "add1.activation.later-level"),
        ("CELU", "3.0", ""),
        ("GELU", "5.0", "add1.activation.later-level"),
        ("GELU", "5.1", ""),
        ("SHRINK", "2.0", ""),
        ("SWISH", "6.4", "add1.activation.unlisted"),
    ],
)
def test_which_activations_a_level_lists(name: str, level: str, clause: str) -> None:
    numbers = {"CELU": {"Alpha": 1.0}, "SHRINK": {"Bias": 0.0, "Threshold": 0.5}}.get(name, {})
    tensors = {tensor: TensorDesc(DataType.FLOAT32, (1, 1, 1, 4)) for tensor in ADD1.tensors}
    fused = OperatorDesc(f"ACTIVATION_{name}", {}, numbers)
    operator = OperatorDesc(ADD1.operator, tensors, {"FusedActivation": fused})
    result = violations(operator, FeatureLevel(level), TABLES)
    assert [violation.clause for violation in result] == ([clause] if clause else [])


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({}, "ACTIVATION_LEAKY_RELU is given none; its members are Alpha"),
        ({"Alpha": 1.0, "Beta": 1.0}, "is given Alpha, Beta; its members are Alpha"),
        ({"Alpha": "RELU"}, "Alpha of ACTIVATION_LEAKY_RELU is 'RELU', not a FLOAT"),
    ],
)
def test_the_cpu_backend_refuses_other_members(numbers: dict[str, float], text: str) -> None:
    with CpuBackend().open() as device, pytest.raises(InvalidArgument, match=text):
        device.create(add_with(DataType.FLOAT32, "LEAKY_RELU", **numbers))


def test_the_cpu_backend_refuses_tensors_that_have_to_be_null() -> None:
    described = add_with(DataType.FLOAT32, "RELU")
    fused = OperatorDesc("ACTIVATION_RELU", {"InputTensor": described.input, "OutputTensor": described.output})
    with CpuBackend().open() as device, pytest.raises(InvalidArgument, match="has tensors, which have to be null"):
        device.create(OperatorDesc(described.name, described.tensors, {"FusedActivation": fused}))
