"""The element-wise operators beyond the first three, on the real library: their descriptions, bindings and results."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends.contract import ExecutionFailed, InvalidArgument
from dmlcts.backends.directml.abi.com_object import live_objects
from dmlcts.backends.directml.abi.dml import DML_OPERATOR_DESC
from dmlcts.backends.directml.backend import DirectMLBackend, DirectMLDevice
from dmlcts.backends.directml.descriptions import Description
from dmlcts.backends.directml.elementwise import ACTIVATIONS, LAYOUTS
from dmlcts.specs import DataType, OperatorDesc, Region, ScalarUnion, TensorDesc
from dmlcts.suites.selftest.backends.worked_examples import EXAMPLES, Example, check, placed
from dmlcts.suites.selftest.directml.directml_here import needs_directml
from dmlcts.suites.selftest.looped_cases import looped

F32 = TensorDesc(DataType.FLOAT32, (4,))


def _members(operator: OperatorDesc) -> tuple[Any, bytes]:
    """The structure that the library is given, and its bytes."""
    description = Description(operator)
    structure = description.layout.structure
    content = bytes(structure.from_address(description.desc.Desc))  # a copy: the original goes with the description
    return structure.from_buffer_copy(content), content


def _clip1(data_type: Any, low: Any, high: Any, tensor: TensorDesc = F32) -> OperatorDesc:
    attributes = {"ScaleBias": None, "MinMaxDataType": data_type, "Min": low, "Max": high}
    return OperatorDesc("ELEMENT_WISE_CLIP1", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


# Descriptions. They need no library.


@pytest.mark.parametrize(
    "low, high, words",
    [
        (
            ScalarUnion.of(DataType.FLOAT16, 1.5),
            ScalarUnion(DataType.FLOAT16, 0xFC01),
            "003e0000 00000000 01fc0000 00000000",
        ),
        (ScalarUnion.of(DataType.INT8, -2), ScalarUnion.of(DataType.INT8, 3), "fe000000 00000000 03000000 00000000"),
        (
            ScalarUnion.of(DataType.INT64, -2),
            ScalarUnion.of(DataType.INT64, 1 << 40),
            "feffffff ffffffff 00000000 00010000",
        ),
        (
            ScalarUnion(DataType.FLOAT32, 0x7F800001),
            ScalarUnion(DataType.FLOAT32, 1),
            "0100807f 00000000 01000000 00000000",
        ),
    ],
)
def test_a_scalar_union_holds_the_bits_of_its_type_first(low: ScalarUnion, high: ScalarUnion, words: str) -> None:
    structure, content = _members(_clip1(low.data_type.name, low, high))
    assert structure.MinMaxDataType == low.data_type.dml_value
    assert content[type(structure).Min.offset :] == bytes.fromhex(words)


def test_a_data_type_without_a_name_reaches_the_library_as_its_number() -> None:
    zero = ScalarUnion(DataType.FLOAT32, 0)
    assert _members(_clip1(np.uint32(77), zero, zero))[0].MinMaxDataType == 77
    assert _members(_clip1(np.uint32(0xFFFFFFFF), zero, zero))[0].MinMaxDataType == -1


@pytest.mark.parametrize(
    "data_type, low, words",
    [
        ("FLOAT33", ScalarUnion(DataType.FLOAT32, 0), "MinMaxDataType is 'FLOAT33', not one of FLOAT32"),
        (None, ScalarUnion(DataType.FLOAT32, 0), "MinMaxDataType is None, not one of"),
        ("FLOAT32", np.float32(0), "Min is .*, not a ScalarUnion"),
        ("FLOAT32", None, "Min is None, not a ScalarUnion"),
    ],
)
def test_members_that_the_structure_cannot_express_are_refused(data_type: Any, low: Any, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Description(_clip1(data_type, low, ScalarUnion(DataType.FLOAT32, 0)))


def test_an_optional_tensor_that_is_not_there_is_a_null_pointer() -> None:
    tensors = {"InputTensor": F32, "ScaleTensor": F32, "OutputTensor": TensorDesc(DataType.INT8, (4,))}
    without = _members(OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {}))[0]
    assert (without.ScaleTensor is not None, without.ZeroPointTensor) == (True, None)
    tensors["ZeroPointTensor"] = tensors["OutputTensor"]
    assert _members(OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {}))[0].ZeroPointTensor is not None


def test_a_fused_activation_is_a_description_whose_tensors_are_null() -> None:
    tensors = {"ATensor": F32, "BTensor": F32, "OutputTensor": F32}
    assert _members(OperatorDesc("ELEMENT_WISE_ADD1", tensors, {"FusedActivation": None}))[0].FusedActivation is None
    fused = OperatorDesc("ACTIVATION_SHRINK", {}, {"Bias": 0.25, "Threshold": 1.5})
    description = Description(OperatorDesc("ELEMENT_WISE_ADD1", tensors, {"FusedActivation": fused}))
    members = description.layout.structure.from_address(description.desc.Desc)
    desc = DML_OPERATOR_DESC.from_address(members.FusedActivation)
    assert desc.Type == 90
    shrink = ACTIVATIONS["ACTIVATION_SHRINK"].structure.from_address(desc.Desc)
    assert (shrink.InputTensor, shrink.OutputTensor, shrink.Bias, shrink.Threshold) == (None, None, 0.25, 1.5)


@pytest.mark.parametrize(
    ("fused", "text"),
    [
        ("RELU", "FusedActivation is 'RELU', not an operator or None"),
        (
            OperatorDesc("ACTIVATION_NONE", {}),
            "FusedActivation is ACTIVATION_NONE, of which this backend has no structure",
        ),
        (OperatorDesc("ACTIVATION_RELU", {}, {"Alpha": 1.0}), "ACTIVATION_RELU has no member Alpha"),
        (OperatorDesc("ACTIVATION_LEAKY_RELU", {}), "Alpha is None, not a FLOAT"),
    ],
)
def test_what_no_structure_can_express_of_an_activation_is_refused(fused: Any, text: str) -> None:
    tensors = {"ATensor": F32, "BTensor": F32, "OutputTensor": F32}
    with pytest.raises(InvalidArgument, match=text):
        Description(OperatorDesc("ELEMENT_WISE_ADD1", tensors, {"FusedActivation": fused}))


def test_the_examples_reach_every_exact_operator() -> None:
    shown = {f"ELEMENT_WISE_{example.operator}" for example in EXAMPLES}
    assert len(shown) == 38
    assert shown <= set(LAYOUTS)


# On the library.


@pytest.fixture(scope="module")
def devices() -> Iterator[dict[str, DirectMLDevice]]:
    before = live_objects()
    with DirectMLBackend().open() as single, DirectMLBackend().open(path="graph") as graph:
        yield {"operator": single, "graph": graph}
    gc.collect()
    assert live_objects() == before


@needs_directml
@looped("example", EXAMPLES, ids=lambda example: example.slug)
@pytest.mark.parametrize("path", ["operator", "graph"])
def test_the_library_computes_the_worked_examples(
    example: Example, path: str, devices: dict[str, DirectMLDevice]
) -> None:
    check(devices[path], example)


@needs_directml
def test_a_wrong_expectation_is_seen(devices: dict[str, DirectMLDevice]) -> None:
    example = next(example for example in EXAMPLES if example.operator == "SUBTRACT")
    tensors = dict(example.tensors)
    tensors["ATensor"], tensors["BTensor"] = tensors["BTensor"], tensors["ATensor"]
    with pytest.raises(AssertionError, match="SUBTRACT"):
        check(devices["operator"], Example(example.operator, tensors, {}))


def _dispatched(
    device: DirectMLDevice, operator: OperatorDesc, memory: Any, regions: dict[str, Region], name: str = "OutputTensor"
) -> Any:
    """All elements that the output's region has room for, after one dispatch."""
    kernel = device.create(operator)
    try:
        kernel.dispatch(memory, regions)
    finally:
        kernel.close()
    return memory[regions[name].offset : regions[name].end].view(operator.tensors[name].data_type.numpy)


def _subtract(a: TensorDesc, b: TensorDesc, output: TensorDesc) -> OperatorDesc:
    return OperatorDesc("ELEMENT_WISE_SUBTRACT", {"ATensor": a, "BTensor": b, "OutputTensor": output}, {})


@needs_directml
@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.INT8, DataType.INT64], ids=lambda kind: kind.name)
@pytest.mark.parametrize("path", ["operator", "graph"])
def test_every_tensor_has_strides_of_its_own(
    data_type: DataType, path: str, devices: dict[str, DirectMLDevice]
) -> None:
    a = TensorDesc(data_type, (2, 3), (1, 2))  # column by column
    b = TensorDesc(data_type, (2, 3), (0, 1))  # one row, broadcast
    output = TensorDesc(data_type, (2, 3), (8, 2))  # every other element of rows of eight
    operator = _subtract(a, b, output)
    memory, regions = placed(operator.tensors)
    poison = memory[:8].view(data_type.numpy)[0]
    memory[regions["ATensor"].offset :].view(data_type.numpy)[:6] = [10, 40, 20, 50, 30, 60]
    memory[regions["BTensor"].offset :].view(data_type.numpy)[:3] = [1, 2, 3]
    after = _dispatched(devices[path], operator, memory, regions)[:13]
    expected = np.full(13, poison, data_type.numpy)
    expected[[0, 2, 4, 8, 10, 12]] = [9, 18, 27, 39, 48, 57]
    np.testing.assert_array_equal(after, expected)


@needs_directml
@pytest.mark.parametrize("alias", ["ATensor", "BTensor", "both inputs", "all"])
@pytest.mark.parametrize("path", ["operator", "graph"])
def test_regions_may_be_shared(alias: str, path: str, devices: dict[str, DirectMLDevice]) -> None:
    operator = _subtract(F32, F32, F32)
    memory, regions = placed(operator.tensors)
    a, b = np.array([5, 6, 7, 8], np.float32), np.array([1, 2, 3, 4], np.float32)
    for name, values in (("ATensor", a), ("BTensor", b)):
        memory[regions[name].offset : regions[name].end] = values.view(np.uint8)
    if alias in ("both inputs", "all"):
        regions["BTensor"], b = regions["ATensor"], a
    if alias != "both inputs":
        regions["OutputTensor"] = regions["ATensor" if alias == "all" else alias]
    np.testing.assert_array_equal(_dispatched(devices[path], operator, memory, regions), a - b)


@needs_directml
@pytest.mark.parametrize("path", ["operator", "graph"])
@pytest.mark.parametrize("zero_point", [None, 3])
def test_an_optional_tensor_may_be_left_out(
    zero_point: int | None, path: str, devices: dict[str, DirectMLDevice]
) -> None:
    int8 = TensorDesc(DataType.INT8, (4,))
    tensors = {"InputTensor": F32, "ScaleTensor": F32, "ZeroPointTensor": int8, "OutputTensor": int8}
    if zero_point is None:
        del tensors["ZeroPointTensor"]
    operator = OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {})
    memory, regions = placed(tensors)
    memory[regions["InputTensor"].offset :].view(np.float32)[:4] = [1, -2, 30, 0]
    memory[regions["ScaleTensor"].offset :].view(np.float32)[:4] = 0.5
    if zero_point is not None:
        memory[regions["ZeroPointTensor"].offset :][:4] = zero_point
    expected = np.array([2, -4, 60, 0]) + (zero_point or 0)
    np.testing.assert_array_equal(_dispatched(devices[path], operator, memory, regions), expected)


@needs_directml
@pytest.mark.parametrize(
    "tensors",
    [
        {"ATensor": F32, "OutputTensor": F32},
        {"ATensor": F32, "BTensor": TensorDesc(DataType.FLOAT16, (4,)), "OutputTensor": F32},
        {"ATensor": F32, "BTensor": TensorDesc(DataType.FLOAT32, (5,)), "OutputTensor": F32},
        {"ATensor": F32, "BTensor": TensorDesc(DataType.FLOAT32, (1, 4)), "OutputTensor": F32},
    ],
    ids=["a missing input", "another type", "other sizes", "another rank"],
)
def test_the_library_refuses_inputs_that_do_not_agree(
    tensors: dict[str, TensorDesc], devices: dict[str, DirectMLDevice]
) -> None:
    with pytest.raises(InvalidArgument, match="CreateOperator returned E_INVALIDARG"):
        devices["operator"].create(OperatorDesc("ELEMENT_WISE_SUBTRACT", tensors, {}))
    devices["operator"].create(_subtract(F32, F32, F32)).close()


@needs_directml
def test_the_adapter_offers_float64_for_the_operators_that_copy_it(devices: dict[str, DirectMLDevice]) -> None:
    """The library takes FLOAT64 tensors where the adapter has double-precision instructions."""
    assert "FLOAT64" in devices["operator"].info.details["data types"]


@needs_directml
@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("path", ["operator", "graph"])
def test_the_library_binds_is_nan_to_uint32_against_its_own_shader(
    data_type: str, path: str, devices: dict[str, DirectMLDevice]
) -> None:
    """Its shader for UINT8 outputs declares typed views; for UINT32 it is dispatched with structured ones.

    Direct3D leaves the result of that undefined. The adapter reports it as a failure of the dispatch, not as a crash,
    and the device stays good.
    """
    device = devices[path]
    tensors = {"InputTensor": (data_type, [1.0, np.nan]), "OutputTensor": ("UINT32", [0, 1])}
    with pytest.raises(ExecutionFailed, match="u0 is declared typed, but a structured view is bound"):
        check(device, Example("IS_NAN", tensors, {}))
    tensors["OutputTensor"] = ("UINT8", [0, 1])
    check(device, Example("IS_NAN", tensors, {}))
