"""Every activation through every backend that has them; what has none says so, and refuses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument, NotSupported
from dmlcts.backends.cpu import CpuBackend
from dmlcts.backends.directml.backend import DirectMLBackend
from dmlcts.backends.registry import open_device, resolve
from dmlcts.backends.runners.messages import encode_create
from dmlcts.backends.wgpu.formulas import ACTIVATIONS
from dmlcts.specs import DataType, OperatorDesc
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.selftest.activations.fused import TABLES, TYPES, add_with, every
from dmlcts.suites.selftest.activations.test_fused_oracles import members
from dmlcts.suites.selftest.backends.bound_tensors import dispatched
from dmlcts.suites.selftest.directml.directml_here import needs_directml
from dmlcts.suites.selftest.wgpu.wgpu_bench import open_or_skip

NAMES = [activation.short_name for activation in TABLES.activations.values()]
on_every_activation = pytest.mark.parametrize("name", NAMES)
on_both_types = pytest.mark.parametrize("data_type", TYPES)


def wrong(device: Any, operator: OperatorDesc, inputs: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The operands and results that the oracle refuses."""
    inputs = members(inputs)
    output = dispatched(device.create(operator), operator, inputs, "OutputTensor").ravel()
    flatnonzero = np.flatnonzero(~oracle_of(TABLES, operator, strict=False).admits(inputs, output))
    return [
        (inputs["a"][signedinteger], inputs["b"][signedinteger], output[signedinteger]) for signedinteger in flatnonzero
    ]


@on_every_activation
@on_both_types
def test_on_the_processor(name: str, data_type: DataType) -> None:
    with CpuBackend().open() as device:
        for operator, inputs in every(data_type, name):
            assert wrong(device, operator, inputs) == []


@pytest.fixture(scope="module", params=["native", "emulated"])
def adapter(request: pytest.FixtureRequest) -> Iterator[Any]:
    with open_or_skip(float16=request.param) as opened:
        yield opened


@on_every_activation
@on_both_types
def test_on_an_adapter(name: str, data_type: DataType, adapter: Any) -> None:
    for operator, inputs in every(data_type, name):
        assert wrong(adapter, operator, inputs) == []


def test_wgpu_has_every_activation() -> None:
    assert set(ACTIVATIONS) == set(TABLES.activations)


@pytest.fixture(scope="module")
def library() -> Iterator[Any]:
    with DirectMLBackend().open() as opened:
        yield opened


@needs_directml
@on_every_activation
@on_both_types
def test_in_microsofts_library(name: str, data_type: DataType, library: Any) -> None:
    """Right but for RELU, whose shader multiplies what is below 0 by a slope of 0."""
    for operator, inputs in every(data_type, name):
        result = wrong(library, operator, inputs)
        if name == "RELU":
            assert result
            assert all(np.isneginf(a + b) and np.isnan(output) for a, b, output in result)
        else:
            assert result == []


@needs_directml
@pytest.mark.parametrize("name", ["ELEMENT_WISE_CLIP", "ELEMENT_WISE_ABS"])
def test_microsofts_library_refuses_what_is_no_activation(name: str, library: Any) -> None:
    attributes: dict[str, Any] = {"ScaleBias": None} | ({"Min": -1.0, "Max": 1.0} if name.endswith("CLIP") else {})
    operator = add_with(DataType.FLOAT32, "RELU")
    fused = OperatorDesc(name, {}, attributes)
    with pytest.raises(InvalidArgument, match="E_INVALIDARG"):
        library.create(OperatorDesc(operator.name, operator.tensors, {"FusedActivation": fused}))


@pytest.mark.parametrize("backend", ["onnxruntime", "torch"])
@pytest.mark.size("thorough")
def test_runtimes_state_that_they_have_none(backend: str) -> None:
    pytest.importorskip(backend)
    with open_device(resolve(backend)[1], {}) as device:
        with pytest.raises(NotSupported, match="ACTIVATION_RELU: no operator of the runtime has an activation fused"):
            device.create(add_with(DataType.FLOAT32, "RELU"))
        with pytest.raises(InvalidArgument, match="not among the activations"):
            device.create(add_with(DataType.FLOAT32, "SWISH"))


def test_runners_are_not_asked_what_the_protocol_cannot_express() -> None:
    with pytest.raises(NotSupported, match="dmlcts-runner/1 cannot say that ACTIVATION_RELU is fused"):
        encode_create(1, add_with(DataType.FLOAT32, "RELU"))
