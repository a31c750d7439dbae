"""The ``torch`` backend: what it maps, what it says it cannot, and strides over the suite's own memory."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import BackendUnavailable, InvalidArgument, NotSupported
from dmlcts.backends.torch_eager import TorchBackend, TorchDevice
from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc, UsageError
from dmlcts.suites.selftest.backends.test_onnxruntime_backend import describe, run

f32 = np.float32
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="not installed: torch")
WAYS = [{}, {"bounds": "tensor"}, {"clamp": "minmax"}]


def opened(**options: str) -> TorchDevice:
    device = TorchBackend().open(**options)
    assert isinstance(device, TorchDevice)
    return device


@needs_torch
@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("in_place", [False, True])
def test_every_way_computes(options: dict[str, str], in_place: bool) -> None:
    with opened(**options) as device:
        clip = describe(Min=-1.0, Max=2.5)
        assert run(device, clip, [-3, -1, 0.25, 2.5, 7], in_place).tolist() == [-1, -1, 0.25, 2.5, 2.5]
        threshold = describe("THRESHOLD", DataType.INT8, Min=1.0)
        assert run(device, threshold, [-3, 0, 1, 2, 9], in_place).tolist() == [1, 1, 1, 2, 9]
        even, zero = (describe("ROUND", RoundingMode=mode) for mode in ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO"))
        assert run(device, even, [0.5, 1.5, -2.5, 2.25, -0.75], in_place).tolist() == [0, 2, -2, 2, -1]
        assert run(device, zero, [0.5, 1.5, -2.5, 2.25, -0.75], in_place).tolist() == [0, 1, -2, 2, 0]


@needs_torch
def test_the_order_of_the_formula_is_that_of_minmax() -> None:
    inverted = describe(Min=2.0, Max=1.0)
    with opened(clamp="minmax") as device:
        assert set(run(device, inverted, [0, 1, 1.5, 2, 3]).tolist()) == {2}


@needs_torch
@pytest.mark.parametrize("source, target", [((8, 2), (1, 3)), ((0, 1), (4, 1)), ((1, 2), (5, 2)), ((0, 0), (3, 1))])
def test_strided_tensors_are_strided_views(source: tuple[int, int], target: tuple[int, int]) -> None:
    tensors = {
        "InputTensor": TensorDesc(DataType.INT16, (2, 3), source),
        "OutputTensor": TensorDesc(DataType.INT16, (2, 3), target),
    }
    operator = OperatorDesc("ELEMENT_WISE_CLIP", tensors, describe(Min=3.0, Max=900.0).attributes)
    memory = np.arange(256, dtype=np.int16).view(np.uint8)
    elements, wanted = memory.view(np.int16).copy(), memory.view(np.int16).copy()
    read, written = Region(16, 64), Region(256, 64)
    for row in range(2):
        for column in range(3):
            value = elements[8 + row * source[0] + column * source[1]]
            wanted[128 + row * target[0] + column * target[1]] = min(max(value, 3), 900)
    with opened() as device:
        device.create(operator).dispatch(memory, {"InputTensor": read, "OutputTensor": written})
    assert memory.view(np.int16).tolist() == wanted.tolist()


@needs_torch
@pytest.mark.parametrize(
    "operator",
    [
        describe("ROUND", RoundingMode="TOWARD_INFINITY"),
        describe(ScaleBias=ScaleBias(1, 0)),
        describe(strides=(0,)),
        describe(data_type=DataType.UINT16),
        describe(data_type=DataType.INT8, Max=300.0),
        describe(data_type=DataType.INT8, Min=float("nan")),
        describe("THRESHOLD", DataType.INT8, Min=1.9),
    ],
)
def test_what_torch_cannot_express_is_not_supported(operator: OperatorDesc) -> None:
    with opened() as device:
        with pytest.raises(NotSupported):
            device.create(operator)
        device.create(describe()).close()


@needs_torch
def test_invalid_descriptions_are_refused() -> None:
    with opened() as device:
        for operator in (describe(sizes=(0,)), describe("ROUND", DataType.INT8), describe(data_type=DataType.FLOAT64)):
            with pytest.raises(InvalidArgument):
                device.create(operator)


@needs_torch
def test_a_bound_that_torch_refuses_is_a_refusal_and_the_tensor_of_it_is_not() -> None:
    beyond = describe(data_type=DataType.FLOAT16, Min=0.0, Max=65519.0)
    with opened() as device, pytest.raises(InvalidArgument, match="overflow"):
        device.create(beyond)
    with opened(bounds="tensor") as device:
        assert run(device, beyond, [np.inf, -1, 0, 1, 65504]).tolist() == [65504, 0, 0, 1, 65504]


@needs_torch
def test_the_mapping_names_who_is_seen() -> None:
    with opened() as device:
        rows = {row["what"]: row for row in device.info.details["mapping"]}
    assert rows["CLIP"]["to"] == "torch.clamp(x, Min, Max), Min and Max as Python numbers, eager"
    assert rows["ROUND TOWARD_INFINITY"]["by"] == "nobody"
    assert rows["the cast of Min and Max on FLOAT16 tensors"]["by"] == "runtime"


@needs_torch
@pytest.mark.parametrize(
    "options",
    [
        {"device": "abacus"},
        {"clamp": "both"},
        {"bounds": "none"},
        {"compile": "maybe"},
        {"clamp": "minmax", "bounds": "scalar"},
        {"layouts": "round"},
        {"layouts": "flat"},
        {"layouts": "flat", "compile": "yes", "clamp": "minmax"},
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        opened(**options)


@needs_torch
def test_a_device_that_is_not_there_is_unavailable() -> None:
    import torch

    if not torch.cuda.is_available():
        with pytest.raises(BackendUnavailable, match="no CUDA device"):
            opened(device="cuda")
    if not torch.backends.mps.is_available():
        with pytest.raises(BackendUnavailable, match="no Metal device"):
            opened(device="mps")


@needs_torch
def test_on_a_device_with_memory_of_its_own_all_of_the_memory_travels() -> None:
    import torch

    options = {"device": "mps", "clamp": "clamp", "bounds": "tensor", "compile": "no"}
    with TorchDevice(torch, torch.device("cpu"), options) as device:  # the path of other devices, on the processor
        for in_place in (False, True):
            assert run(device, describe(Max=2.0), [-1, 0, 1, 2, 3], in_place).tolist() == [0, 0, 1, 2, 2]
        rows = {row["what"]: row for row in device.info.details["mapping"]}
    assert rows["strides"]["note"] == "over a copy of all of the memory, which is copied back"


@needs_torch
def test_without_a_working_compiler_compilation_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no C++ compiler")

    monkeypatch.setattr(torch, "compile", refuse)
    with pytest.raises(BackendUnavailable, match=r"no C\+\+ compiler; install a C\+\+ compiler"):
        opened(compile="yes")


@needs_torch
def test_flat_arrays_are_compiled_once_for_all_sizes_and_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    made: list[dict[str, Any]] = []

    def compiles(function: Any, **settings: Any) -> Any:
        made.append(settings)
        return function

    monkeypatch.setattr(torch, "compile", compiles)
    with TorchBackend().open(compile="yes") as device:
        assert device.info.details["options"]["layouts"] == "flat"
        made.clear()
        for maximum in (2.0, 3.0):
            assert run(device, describe(Max=maximum), [-1, 0, 1, 2, 3]).tolist() == [0, 0, 1, 2, maximum]
        assert run(device, describe(sizes=(1, 3), Max=2.0), [-1, 1, 3], True).tolist() == [0, 1, 2]
        assert made == [{"dynamic": True, "fullgraph": True}]
        with pytest.raises(NotSupported, match="packed"):
            device.create(describe(strides=(2,)))
    with opened(compile="yes", layouts="own") as device:
        device.create(describe(strides=(2,))).close()


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed: nothing is missing")
def test_without_torch_the_command_that_installs_it_is_reported() -> None:
    with pytest.raises(BackendUnavailable, match="pip install torch"):
        opened()


def test_nothing_heavy_is_imported_before_a_device_is_opened() -> None:
    import subprocess

    modules = "dmlcts.backends.torch_eager, dmlcts.backends.onnxruntime.backend"
    code = f"import sys, {modules}; print(*({{'torch', 'onnx'}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


@needs_torch
@pytest.mark.parametrize(
    "base, exponent, there",
    [
        (DataType.INT16, DataType.FLOAT32, False),
        (DataType.FLOAT32, DataType.INT16, True),
        (DataType.INT32, DataType.INT32, True),
    ],
)
def test_powers_that_torch_stores_in_no_tensor_of_the_base_s_type_are_not_supported(
    base: DataType, exponent: DataType, there: bool
) -> None:
    """It gives an integer to a float's power as a float: that is no refusal of a type that the level lists."""
    kinds = {"InputTensor": base, "ExponentTensor": exponent, "OutputTensor": base}
    described = {name: TensorDesc(kind, (1,)) for name, kind in kinds.items()}
    operator = OperatorDesc("ELEMENT_WISE_POW", described, {"ScaleBias": None})
    with opened() as device:
        if there:
            device.create(operator).close()
        else:
            with pytest.raises(NotSupported, match="can't be cast"):
                device.create(operator)


@needs_torch
@pytest.mark.parametrize("options", WAYS)
def test_a_torch_that_was_built_for_another_numpy_and_has_fewer_types_is_judged(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = importlib.import_module("torch")

    def refuses(*_: object) -> None:
        raise RuntimeError("Numpy is not available")

    identity = describe("IDENTITY", DataType.UINT16)
    with opened(**options) as device:
        device.create(identity).close()
        assert device.info.adapter.startswith("CPU (")
    monkeypatch.setattr(torch, "from_numpy", refuses)
    monkeypatch.setattr(torch.Tensor, "numpy", refuses)
    for name in ("uint16", "uint32", "uint64"):
        monkeypatch.delattr(torch, name)
    monkeypatch.setattr(torch.backends, "cpu", None)
    with opened(**options) as device:
        assert device.info.adapter == "CPU"
        clip = describe(data_type=DataType.INT16, Min=-1.0, Max=2.0)
        assert run(device, clip, [-3, -1, 0, 2, 7], False).tolist() == [-1, -1, 0, 2, 2]
        for operator in (identity, describe("THRESHOLD", DataType.UINT16, Min=1.0)):
            with pytest.raises(NotSupported, match="has no type uint16"):
                device.create(operator)
        assert DataType.UINT16 not in device.info.data_types["ELEMENT_WISE_IDENTITY"]
        assert DataType.UINT8 in device.info.data_types["ELEMENT_WISE_IDENTITY"]
