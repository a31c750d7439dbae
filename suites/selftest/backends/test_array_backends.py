"""Backends of runtimes that compute arrays: what they share, on a runtime made here; then each that is installed."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import BackendUnavailable, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.arrays import ArrayDevice, Call, Program, padded, padded_count
from dmlcts.backends.jax.functions import COUNTERPARTS as OF_JAX
from dmlcts.backends.jax.functions import function_of as jax_function
from dmlcts.backends.litert.operators import COUNTERPARTS as OF_LITERT
from dmlcts.backends.openvino.operations import COUNTERPARTS as OF_OPENVINO
from dmlcts.backends.openvino.operations import function_of as openvino_function
from dmlcts.backends.registry import open_device, resolve
from dmlcts.backends.runtimes import Counterpart, Mapped, none
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, UsageError
from dmlcts.suites.selftest.backends.bound_tensors import dispatched, of_sizes
from dmlcts.suites.selftest.backends.test_onnxruntime_backend import describe, run

PACKAGES = {"jax": "jax", "openvino": "openvino", "litert": "ai_edge_litert"}
MEND = {"jax": "pip install jax", "openvino": "pip install openvino", "litert": "pip install ai-edge-litert"}
INSTALLED = {name: importlib.util.find_spec(package) is not None for name, package in PACKAGES.items()}


class Numpy:
    """A runtime of arrays that computes with numpy."""

    name, prefix, version, adapter = "numpy", "numpy.", "1", "CPU"
    ranked = False
    options: Mapping[str, str] = {}
    rows: Sequence[Mapped] = ()
    counterparts: Mapping[str, Counterpart] = {
        "ADD": Counterpart("add"),
        "CLIP": Counterpart("clip"),
        "BIT_COUNT": Counterpart("bitwise_count", patterns=True, converted=True),
        "LOGICAL_AND": Counterpart("logical_and", conditions=2, truth=True),
        "LOGICAL_LESS_THAN": Counterpart("less", truth=True),
        "SQRT": Counterpart("sqrt", only=frozenset({DataType.FLOAT32}), note="half is slow"),
        "EXP": Counterpart("exp"),
        "MEAN": none("numpy has no mean of two arrays"),
    }

    def __init__(self) -> None:
        self.asked: list[Call] = []
        self.kinds: list[list[str]] = []

    def takes(self, call: Call, counterpart: Counterpart) -> None:
        self.asked.append(call)
        if counterpart.name == "exp" and call.kinds[0] != np.float32:
            raise NotSupported("numpy: no")

    def program(self, call: Call, counterpart: Counterpart) -> Program:
        def computed(arrays: Sequence[Any], scalars: Sequence[Any]) -> Any:
            self.kinds.append([array.dtype.name for array in arrays])
            result = getattr(np, counterpart.name)(*arrays, *scalars)
            kind = np.dtype(np.float64) if counterpart.name == "exp" else call.result
            return result.astype(kind)

        return computed

    def close(self) -> None:
        pass


@pytest.fixture
def numpy_device() -> Any:
    with ArrayDevice(Numpy()) as device:
        device.runtime.asked.clear()
        yield device


def of(name: str, *types: DataType, **attributes: Any) -> OperatorDesc:
    members = ("ATensor", "BTensor", "OutputTensor") if len(types) == 3 else ("InputTensor", "OutputTensor")
    return of_sizes(name, dict(zip(members, types, strict=True)), (2, 3), **attributes)


def test_a_program_is_made_once_for_all_sizes_and_bounds(numpy_device: Any) -> None:
    for maximum in (1.0, 2.0):
        assert run(numpy_device, describe(Max=maximum), [-1, 0, 1, 2, 3]).tolist()[-1] == maximum
    assert run(numpy_device, describe(sizes=(1, 3), Max=2.0), [0, 1, 9], True).tolist() == [0, 1, 2]
    assert len(numpy_device.runtime.asked) == 1
    run(numpy_device, describe(data_type=DataType.INT8, Max=2.0), [0, 1, 2, 3, 4])
    assert len(numpy_device.runtime.asked) == 2


def test_a_function_that_is_there_at_some_ranks_is_asked_for_at_each() -> None:
    """LiteRT has FLOAT16 at up to six dimensions: beyond it has no function, and no dispatch may find that out."""

    class Ranked(Numpy):
        name, ranked = "ranked", True  # what a runtime of one name takes is found once in a process

        def takes(self, call: Call, counterpart: Counterpart) -> None:
            if call.rank > 2:
                raise NotSupported("numpy: two dimensions")

    with ArrayDevice(Ranked()) as device:
        assert DataType.FLOAT32 in device.info.data_types["ELEMENT_WISE_SQRT"]
        for sizes in ((5,), (1, 5)):
            assert run(device, describe("SQRT", sizes=sizes), [0, 1, 4, 9, 16]).tolist() == [0, 1, 2, 3, 4]
        with pytest.raises(NotSupported, match="two dimensions"):
            device.create(describe("SQRT", sizes=(1, 1, 5)))


def test_that_there_is_no_program_is_asked_once(numpy_device: Any) -> None:
    exp = of("EXP", DataType.FLOAT16, DataType.FLOAT16, ScaleBias=None)
    for _ in range(3):
        with pytest.raises(NotSupported, match="numpy: no"):
            numpy_device.create(exp)
    assert len(numpy_device.runtime.asked) == 1
    numpy_device.create(of("EXP", DataType.FLOAT32, DataType.FLOAT32, ScaleBias=None)).close()


def test_truth_values_and_counts_are_converted_without_a_change(numpy_device: Any) -> None:
    kind = DataType.UINT32
    both = of("LOGICAL_AND", kind, kind, kind)
    values = {"ATensor": np.array([[0, 1, 2], [256, 1 << 31, 0]]), "BTensor": np.array([[1, 1, 4], [512, 1, 0]])}
    assert dispatched(numpy_device.create(both), both, values, "OutputTensor").tolist() == [[0, 1, 1], [1, 1, 0]]
    assert numpy_device.runtime.kinds[-1] == ["bool", "bool"]
    less = of("LOGICAL_LESS_THAN", DataType.INT8, DataType.INT8, kind)
    values = {"ATensor": np.array([[0, 1, -2], [3, 4, 5]]), "BTensor": np.zeros((2, 3))}
    assert dispatched(numpy_device.create(less), less, values, "OutputTensor").tolist() == [[0, 0, 1], [0, 0, 0]]
    bits = of("BIT_COUNT", DataType.FLOAT32, kind)
    result = dispatched(numpy_device.create(bits), bits, {"InputTensor": np.full((2, 3), -0.0)}, "OutputTensor")
    assert result.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_result_of_another_type_is_a_failure_and_never_read_as_bytes(numpy_device: Any) -> None:
    exp = describe("EXP")
    with pytest.raises(ExecutionFailed, match="the result is float64"):
        run(numpy_device, exp, [0, 1, 2, 3, 4])
    add = of("ADD", *[DataType.FLOAT32] * 3)
    ones = {name: np.ones((2, 3)) for name in ("ATensor", "BTensor")}
    assert (dispatched(numpy_device.create(add), add, ones, "OutputTensor") == 2).all()


@pytest.mark.parametrize(
    "operator, why",
    [
        (describe(strides=(2,)), "are packed"),
        (describe(ScaleBias=ScaleBias(1, 0)), "ScaleBias"),
        (describe("FLOOR"), "mapped to nothing"),
        (describe("SQRT", DataType.FLOAT16), "half is slow"),
        (of("MEAN", *[DataType.FLOAT32] * 3), "no mean of two"),
        (describe(data_type=DataType.INT8, Max=300.0), "no page says"),
    ],
)
def test_what_a_runtime_of_arrays_cannot_express_is_not_supported(
    numpy_device: Any, operator: OperatorDesc, why: str
) -> None:
    with pytest.raises(NotSupported, match=why):
        numpy_device.create(operator)
    numpy_device.create(describe()).close()


def test_invalid_descriptions_and_closed_devices_are_refused(numpy_device: Any) -> None:
    with pytest.raises(InvalidArgument):
        numpy_device.create(describe(sizes=(0,)))
    kernel = numpy_device.create(describe())
    kernel.close()
    with pytest.raises(ExecutionFailed, match="closed"):
        kernel.dispatch(np.zeros(64, np.uint8), {})
    numpy_device.close()
    with pytest.raises(ExecutionFailed, match="closed"):
        numpy_device.create(describe())


def test_the_mapping_states_what_the_backend_does_around_a_function(numpy_device: Any) -> None:
    rows = {row["what"]: row for row in numpy_device.info.details["mapping"]}
    assert rows["LOGICAL_AND"]["note"].count("the backend") == 2
    assert (rows["EXP"]["to"], rows["EXP"]["note"]) == ("numpy.exp", "takes FLOAT32")
    assert rows["MEAN"] == {"what": "MEAN", "to": "", "by": "nobody", "note": "numpy has no mean of two arrays"}
    assert rows["memory, offsets, in place"]["by"] == "backend"


def test_arrays_are_made_longer_in_front_of_their_elements() -> None:
    assert padded(np.array([[5, 6], [7, 8]], np.int8), 7).tolist() == [1, 1, 1, 5, 6, 7, 8]
    counts = range(1, 3000)
    assert {padded_count(count) for count in counts} == {7, 67, 1027, 16387}
    assert all(padded_count(count) >= count for count in counts)
    assert padded_count(1 << 20) == 1 << 20, "a long array costs more than a program"


# ---------------------------------------------------------------------------------- each of them


def opened(name: str, **options: str) -> Any:
    return open_device(resolve(name)[1], options)


@pytest.fixture(scope="module")
def devices() -> dict[str, Any]:
    return {name: opened(name) for name, there in reversed(INSTALLED.items()) if there}  # jax last: it forbids forks


def device_of(devices: Mapping[str, Any], name: str) -> Any:
    if name not in devices:
        pytest.skip(f"not installed: {PACKAGES[name]}")
    return devices[name]


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("in_place", [False, True])
def test_each_computes(devices: dict[str, Any], name: str, in_place: bool) -> None:
    device = device_of(devices, name)
    for maximum in (2.5, 3.5):
        clip = describe(Min=-1.0, Max=maximum)
        assert run(device, clip, [-3, -1, 0.25, 2.5, 7], in_place).tolist() == [-1, -1, 0.25, 2.5, maximum]
    threshold = describe("THRESHOLD", DataType.INT32, Min=1.0)
    assert run(device, threshold, [-3, 0, 1, 2, 9], in_place).tolist() == [1, 1, 1, 2, 9]
    even = describe("ROUND", sizes=(1, 1, 5), RoundingMode="HALVES_TO_NEAREST_EVEN")
    assert run(device, even, [0.5, 1.5, -2.5, 2.25, -0.75], in_place).tolist() == [0, 2, -2, 2, -1]


PROGRAM = """
import os, sys
from pathlib import Path
import numpy as np
from dmlcts.suites.selftest.backends.bound_tensors import dispatched
from dmlcts.suites.selftest.backends.test_array_backends import opened
from dmlcts.suites.selftest.backends.test_onnxruntime_backend import describe

def held(operator):
    large = describe(operator, sizes=(1 << 23,))
    dispatched(device.create(large), large, {"InputTensor": np.ones(1 << 23, np.float32)}, "OutputTensor")
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")

with opened(sys.argv[1]) as device:
    before = held("ABS")
    print(max(held(operator) for operator in ("SQRT", "EXP", "LOG", "SIN", "COS", "TANH")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the process's memory as Linux gives it")
@pytest.mark.parametrize("name", PACKAGES)
def test_the_memory_of_large_tensors_is_not_kept(name: str) -> None:
    """Models hold the memory of a dispatch until they are released: of all operators together it looked like a leak."""
    if not INSTALLED[name]:
        pytest.skip(f"not installed: {PACKAGES[name]}")
    done = subprocess.run([sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1 << 26, "of six operators with 64 MiB each, in and out"


def test_litert_refuses_halves_of_more_than_six_dimensions(devices: dict[str, Any]) -> None:
    device = device_of(devices, "litert")
    device.create(describe("SQRT", DataType.FLOAT16, sizes=(1,) * 6)).close()
    device.create(describe("SQRT", sizes=(1,) * 7)).close()
    with pytest.raises(NotSupported, match="FLOAT16"):
        device.create(describe("SQRT", DataType.FLOAT16, sizes=(1,) * 7))


@pytest.mark.parametrize("name", PACKAGES)
def test_the_order_of_operands_is_that_of_the_page(devices: dict[str, Any], name: str) -> None:
    device = device_of(devices, name)
    values = {"ATensor": np.array([[7, 6, 5], [4, 3, 2]]), "BTensor": np.array([[1, 2, 1], [2, 1, 2]])}
    subtract = of("SUBTRACT", *[DataType.INT32] * 3)
    result = dispatched(device.create(subtract), subtract, values, "OutputTensor")
    assert result.tolist() == [[6, 4, 4], [2, 2, 0]]
    greater = of("LOGICAL_GREATER_THAN", DataType.FLOAT32, DataType.FLOAT32, DataType.UINT32)
    result = dispatched(device.create(greater), greater, values, "OutputTensor")
    assert result.tolist() == [[1, 1, 1], [1, 1, 0]]


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize(
    "options", [{"shapes": "round"}, {"kernels": "none"}, {"threads": "-1"}, {"platform": "abacus"}]
)
def test_options_that_mean_nothing_are_refused(devices: dict[str, Any], name: str, options: dict[str, str]) -> None:
    device_of(devices, name)
    with pytest.raises(UsageError):
        opened(name, **options)


@pytest.mark.parametrize("name", PACKAGES)
def test_without_its_package_the_command_that_installs_it_is_named(name: str) -> None:
    if INSTALLED[name]:
        pytest.skip("it is installed: nothing is missing")
    with pytest.raises(BackendUnavailable, match=MEND[name]):
        opened(name)


def test_a_device_that_is_not_there_is_unavailable() -> None:
    for name, option in (("jax", "platform=tpu"), ("openvino", "device=NPU")):
        if INSTALLED[name]:
            with pytest.raises(BackendUnavailable, match="finds no"):
                opened(name, **dict([option.split("=")]))


def test_the_runtimes_have_the_functions() -> None:
    if INSTALLED["jax"]:
        jax = importlib.import_module("jax")
        importlib.import_module("jax.scipy.special")
        assert all(callable(jax_function(jax, item)) for item in OF_JAX.values() if item.name)
    if INSTALLED["openvino"]:
        opset = importlib.import_module("openvino.opset16")
        assert all(callable(openvino_function(opset, item)) for item in OF_OPENVINO.values() if item.name)
        assert not any(hasattr(opset, name) for name in ("trunc", "atan2", "bitwise_count"))  # what is lacking
    if INSTALLED["litert"]:
        known = importlib.import_module("ai_edge_litert.schema_py_generated").BuiltinOperator
        names = {item.name for item in OF_LITERT.values() if item.name and "(" not in item.name}
        assert all(hasattr(known, name) for name in names)
        assert not any(hasattr(known, name) for name in ("TRUNC", "IS_NAN", "RECIPROCAL", "BITWISE_AND", "IDENTITY"))
