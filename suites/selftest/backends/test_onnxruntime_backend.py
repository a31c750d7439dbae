"""The ``onnxruntime`` backend: what it maps, what it says it cannot, and that it hands over what it was given."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import BackendUnavailable, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.onnxruntime.backend import OnnxRuntimeBackend, OnnxRuntimeDevice
from dmlcts.backends.onnxruntime.providers import Provider
from dmlcts.backends.onnxruntime.sessions import KeptSessions, loaded
from dmlcts.backends.runtimes import cast_bound, load, parts, sample
from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.backends.bound_tensors import dispatched

f32 = np.float32
MISSING = [name for name in ("onnxruntime", "onnx") if importlib.util.find_spec(name) is None]
needs_runtime = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")


def describe(
    name: str = "CLIP", data_type: DataType = DataType.FLOAT32, sizes: tuple[int, ...] = (5,), **changes: Any
) -> OperatorDesc:
    table = load_tables().operator(name)
    value = dict(sample(table, parts(table)[0], data_type).attributes)
    strides = changes.pop("strides", None)
    tensor = TensorDesc(data_type, sizes, strides)
    attributes: Mapping[str, Any] = value | {key: f32(v) if isinstance(v, float) else v for key, v in changes.items()}
    return OperatorDesc(f"ELEMENT_WISE_{name}", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


def opened(**options: str) -> OnnxRuntimeDevice:
    return OnnxRuntimeBackend().open(**options)


def run(device: Any, operator: OperatorDesc, values: list[float], in_place: bool = False) -> np.ndarray[Any, Any]:
    kind = operator.input.data_type.numpy
    size = operator.input.total_size_in_bytes
    memory = np.full(4096, 0xA5, np.uint8)
    read, written = Region(64, size), Region(64 if in_place else 2048, size)
    source = memory[64 : 64 + operator.input.element_count * kind.itemsize]
    source[:] = np.array(values, kind).view(np.uint8)
    before = memory.copy()
    kernel = device.create(operator)
    kernel.dispatch(memory, {"InputTensor": read, "OutputTensor": written})
    kernel.close()
    result = memory[written.offset : written.offset + source.size].copy()
    memory[written.offset : written.offset + source.size] = before[written.offset : written.offset + source.size]
    assert (memory == before).all(), "only the output's elements change"
    return result.view(kind)


@needs_runtime
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bounds": "input"},
        {"shapes": "dynamic", "bounds": "input"},
        {"shapes": "row"},
        {"optimize": "off"},
        {"optimize": "basic"},
        {"fold": "yes"},
        {"opset": "6"},
        {"opset": "11"},
        {"opset": "12", "bounds": "input", "optimize": "off"},
        {"threshold": "clip"},
        {"threads": "0"},
        {"provider": "CPUExecutionProvider"},
    ],
)
@pytest.mark.size("thorough", brief=3)
def test_every_way_clips(options: dict[str, str]) -> None:
    with opened(**options) as device:
        for in_place in (False, True):
            operator = describe(Min=-1.0, Max=2.5)
            assert run(device, operator, [-3, -1, 0.25, 2.5, 7], in_place).tolist() == [-1, -1, 0.25, 2.5, 2.5]


@needs_runtime
@pytest.mark.parametrize("threshold", ["max", "clip"])
def test_the_other_operators(threshold: str) -> None:
    with opened(threshold=threshold) as device:
        assert run(device, describe("THRESHOLD", Min=0.5), [-3, 0.5, 0.75, 2, 9]).tolist() == [0.5, 0.5, 0.75, 2, 9]
        assert run(device, describe("ROUND"), [0.5, 1.5, -2.5, 2.25, -0.75]).tolist() == [0, 2, -2, 2, -1]


@needs_runtime
def test_a_model_is_loaded_once_for_equal_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[bytes] = []
    usual = OnnxRuntimeDevice.session

    def counting(self: OnnxRuntimeDevice, model: bytes) -> Any:
        loads.append(model)
        return usual(self, model)

    with opened() as device:
        monkeypatch.setattr(OnnxRuntimeDevice, "session", counting)
        assert run(device, describe(Min=-1.0, Max=2.0), [-3, -1, 0, 2, 7]).tolist() == [-1, -1, 0, 2, 2]
        assert run(device, describe(Min=-1.0, Max=2.0), [5, 4, 3, -2, -3]).tolist() == [2, 2, 2, -1, -1]
        assert len(loads) == 1, "a kernel of an equal description finds it, after the first was closed"
        others = [describe(Min=0.0, Max=2.0), describe(Min=-0.0, Max=2.0), describe(sizes=(4,), Min=-1.0, Max=2.0)]
        for operator in others:
            device.create(operator).close()
        assert len(loads) == 4, "bounds that differ in their bits, and other sizes, are other models"
        before = len(loads)
        with opened() as other:
            assert len(loads) == before, "which types it takes is known in this process"
            assert run(other, describe(Min=-1.0, Max=2.0), [-3, -1, 0, 2, 7]).tolist() == [-1, -1, 0, 2, 2]
        assert len(loads) == before + 1, "a device does not share models with another"


def test_few_sessions_are_kept() -> None:
    kept, made = KeptSessions(), []

    def load(number: int) -> int:
        return kept.of(describe(sizes=(1 + number,)), lambda: made.append(number) or number)

    for number in range(600):
        assert load(number) == number
        load(0)
    assert len(kept) == 512
    assert made == list(range(600)), "the one in use stays"
    load(1)
    assert made[-1] == 1, "the longest unused was released"


def test_a_refusal_is_asked_for_once_and_another_error_again() -> None:
    kept, asked = KeptSessions(), []

    def refuse(error: Exception) -> None:
        asked.append(error)
        raise error

    for error, times in ((NotSupported("no"), 1), (InvalidArgument("never"), 1), (ExecutionFailed("not now"), 2)):
        asked.clear()
        for _ in range(2):
            with pytest.raises(type(error), match=str(error)):
                kept.of(type(error), lambda error=error: refuse(error))
        assert len(asked) == times


@needs_runtime
@pytest.mark.parametrize(
    "options, sessions",
    [
        ({}, 6),
        ({"bounds": "input"}, 3),
        ({"shapes": "dynamic"}, 4),
        ({"shapes": "dynamic", "bounds": "input"}, 2),
        ({"shapes": "row", "bounds": "input"}, 1),
    ],
)
def test_one_model_serves_many_sizes_and_bounds(
    options: dict[str, str], sessions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(**options) as device:
        loads: list[bytes] = []
        usual = device.session
        monkeypatch.setattr(device, "session", lambda model: loads.append(model) or usual(model))
        for sizes in ((5,), (4,), (1, 5)):
            for low in (-1.0, 0.0):
                values = [-3.0, -0.5, 0.25, 7.0, 1.0][: int(np.prod(sizes))]
                operator = describe(sizes=sizes, Min=low, Max=2.5)
                for in_place in (False, True):
                    assert run(device, operator, values, in_place).tolist() == np.clip(values, low, 2.5).tolist()
        assert len(loads) == sessions


@needs_runtime
def test_each_element_has_its_own_scale() -> None:
    bytes_ = DataType.UINT8
    tensors = {
        "InputTensor": TensorDesc(DataType.FLOAT32, (2, 2)),
        "ScaleTensor": TensorDesc(DataType.FLOAT32, (2, 2)),
        "ZeroPointTensor": TensorDesc(bytes_, (2, 2)),
        "OutputTensor": TensorDesc(bytes_, (2, 2)),
    }
    operator = OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {})
    values = {
        "InputTensor": np.array([[5, 5], [-1, 900]], f32),
        "ScaleTensor": np.array([[1, 2], [0.5, 1]], f32),
        "ZeroPointTensor": np.array([[0, 1], [10, 0]], np.uint8),
    }
    for shapes in ("exact", "dynamic", "row"):
        with opened(shapes=shapes) as device:
            result = dispatched(device.create(operator), operator, values, "OutputTensor")
            assert result.tolist() == [[5, 3], [8, 255]]
    signed = {**tensors, "OutputTensor": TensorDesc(DataType.INT8, (2, 2))}
    del signed["ZeroPointTensor"]
    with opened() as device, pytest.raises(NotSupported, match="gives UINT8"):
        device.create(OperatorDesc(operator.name, signed, {}))


@needs_runtime
def test_any_byte_but_0_is_true_of_every_width() -> None:
    with opened() as device:
        for data_type in (DataType.UINT8, DataType.UINT32):
            tensor = TensorDesc(data_type, (4,))
            names = ("ATensor", "BTensor", "OutputTensor")
            operator = OperatorDesc("ELEMENT_WISE_LOGICAL_AND", dict.fromkeys(names, tensor), {})
            values = {
                name: np.array(words, data_type.numpy)
                for name, words in zip(names, ([0, 1, 128, 255], [7, 2, 0, 64]), strict=False)
            }
            assert dispatched(device.create(operator), operator, values, "OutputTensor").tolist() == [0, 1, 0, 1]


@needs_runtime
def test_bounds_are_handed_over_as_they_are() -> None:
    with opened(opset="6") as device:
        exact = float(np.nextafter(f32(1), f32(2)))
        assert run(device, describe(Min=exact, Max=9.0), [0, 1, 2, 3, 4])[0] == f32(exact)
    with opened() as device:
        eighth = describe(data_type=DataType.INT8, Min=-2.9, Max=3.9)
        assert run(device, eighth, [-128, -2, 0, 3, 127]).tolist() == [-2, -2, 0, 3, 3]


@needs_runtime
@pytest.mark.parametrize(
    "operator, text",
    [
        (describe("ROUND", RoundingMode="TOWARD_ZERO"), "ROUND TOWARD_ZERO"),
        (describe("ROUND", RoundingMode="TOWARD_INFINITY"), "ROUND TOWARD_INFINITY"),
        (describe(ScaleBias=ScaleBias(1, 0)), "ScaleBias"),
        (describe(strides=(2,)), "strides"),
        (describe(data_type=DataType.INT8, Max=float("nan")), "no page says"),
        (describe(data_type=DataType.UINT8, Min=-1.0), "no page says"),
        (describe(data_type=DataType.FLOAT16, Max=65520.0), "no page says"),
        (describe("THRESHOLD", DataType.FLOAT16, Min=0.1), "documents no cast"),
    ],
)
def test_what_onnx_cannot_express_is_not_supported(operator: OperatorDesc, text: str) -> None:
    with opened() as device:
        with pytest.raises(NotSupported, match=text):
            device.create(operator)
        device.create(describe()).close()


@needs_runtime
def test_types_are_claimed_as_the_runtime_takes_them() -> None:
    with opened() as new, opened(opset="6") as old:
        assert DataType.INT8 in new.info.data_types["ELEMENT_WISE_CLIP"]
        assert old.info.data_types["ELEMENT_WISE_CLIP"] <= {DataType.FLOAT32, DataType.FLOAT16}
        assert old.info.data_types["ELEMENT_WISE_ROUND"] == frozenset()
        with pytest.raises(NotSupported, match="no Round"):
            old.create(describe("ROUND"))
        with pytest.raises(NotSupported, match="no scalar"):
            old.create(describe("THRESHOLD"))


@needs_runtime
def test_invalid_descriptions_are_refused() -> None:
    with opened() as device:
        for operator in (describe(sizes=(0,)), describe("ROUND", DataType.INT8), describe(data_type=DataType.FLOAT64)):
            with pytest.raises(InvalidArgument):
                device.create(operator)


@needs_runtime
def test_a_model_that_the_runtime_refuses_is_a_refusal() -> None:
    with opened(opset="6") as device:
        with pytest.raises(InvalidArgument, match="does not load the model"):
            device.create(describe(Min=2.0, Max=1.0))
        device.create(describe(Min=1.0, Max=2.0)).close()
    with opened(opset="6", fold="yes") as device, pytest.raises(ExecutionFailed, match="does not load the model"):
        run(device, describe(Min=2.0, Max=1.0), [0, 1, 2, 3, 4])


@pytest.mark.parametrize(
    "message, error",
    [
        ("fallback to CPU EP has been explicitly disabled by the user.", NotSupported),
        ("Failed to finalize QNN graph. Code: 1002", InvalidArgument),
    ],
)
def test_a_fallback_to_the_cpu_is_not_supported_and_a_failed_graph_is_a_refusal(
    message: str, error: type[Exception]
) -> None:
    class Runtime:
        class SessionOptions:
            def add_session_config_entry(self, name: str, value: str) -> None:
                assert (name, value) == ("session.disable_cpu_ep_fallback", "1")

        class GraphOptimizationLevel:
            ORT_ENABLE_ALL = 99

        class InferenceSession:
            def __init__(self, *_: object, **__: object) -> None:
                raise RuntimeError(f"[ONNXRuntimeError] : 1 : FAIL : {message}")

    with pytest.raises(error):
        loaded(Runtime, {"threads": "1", "optimize": "all"}, Provider("OtherExecutionProvider"), b"")


@needs_runtime
def test_explicit_packed_strides_and_high_ranks_run() -> None:
    with opened() as device:
        operator = describe(sizes=(1, 5, 1, 1, 1, 1, 1, 1), strides=(99, 1, 7, 1, 1, 1, 1, 1), Max=2.0)
        assert run(device, operator, [-1, 0, 1, 2, 3]).tolist() == [0, 0, 1, 2, 2]


@needs_runtime
def test_the_mapping_names_who_is_seen() -> None:
    with opened(opset="11", bounds="input") as device:
        rows = {row["what"]: row for row in device.info.details["mapping"]}
    assert rows["CLIP"]["to"] == "Clip-11, min and max as inputs of the model"
    assert rows["ROUND TOWARD_ZERO"]["by"] == rows["ScaleBias"]["by"] == "nobody"
    assert rows["the cast of Min and Max to the tensor's type"]["by"] == "backend"
    with opened(opset="6", threshold="clip") as device:
        assert "the cast of Min and Max to the tensor's type" not in {
            row["what"] for row in device.info.details["mapping"]
        }


@needs_runtime
def test_a_closed_device_and_a_closed_kernel_refuse_to_work() -> None:
    device = opened()
    kernel = device.create(describe())
    kernel.close()
    with pytest.raises(ExecutionFailed, match="closed"):
        kernel.dispatch(np.zeros(64, np.uint8), {"InputTensor": Region(0, 20), "OutputTensor": Region(32, 20)})
    device.close()
    with pytest.raises(ExecutionFailed, match="closed"):
        device.create(describe())


@needs_runtime
@pytest.mark.parametrize(
    "bindings",
    [
        {"InputTensor": Region(0, 20)},
        {"InputTensor": Region(0, 20), "OutputTensor": Region(16, 20)},
        {"InputTensor": Region(0, 20), "OutputTensor": Region(40, 20)},
        {"InputTensor": Region(0, 16), "OutputTensor": Region(32, 20)},
        {"InputTensor": Region(0, 20), "OutputTensor": Region(128, 20)},
    ],
)
def test_bindings_that_cannot_be_used_fail(bindings: dict[str, Region]) -> None:
    with opened() as device:
        kernel = device.create(describe())
        with pytest.raises(ExecutionFailed):
            kernel.dispatch(np.zeros(128, np.uint8), bindings)
        kernel.dispatch(np.zeros(128, np.uint8), {"InputTensor": Region(0, 20), "OutputTensor": Region(32, 20)})


@needs_runtime
@pytest.mark.parametrize(
    "options, error",
    [
        ({"opset": "5"}, UsageError),
        ({"opset": "x"}, UsageError),
        ({"opset": "999"}, UsageError),
        ({"optimize": "some"}, UsageError),
        ({"bounds": "maybe"}, UsageError),
        ({"threads": "-1"}, UsageError),
        ({"shapes": "square"}, UsageError),
        ({"shapes": "row", "fold": "yes"}, UsageError),
        ({"device": "NPU"}, UsageError),
        ({"provider_options": "no equals sign"}, UsageError),
        ({"provider": "QNNExecutionProvider", "provider_library": "/no/such/library.so"}, UsageError),
        ({"provider": "NoSuchProvider"}, BackendUnavailable),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        opened(**options)


def test_a_missing_package_is_reported_with_the_command_that_installs_it() -> None:
    with pytest.raises(BackendUnavailable, match="pip install this") as caught:
        load("no_such_package_anywhere", "pip install this")
    assert caught.value.mend == "pip install this"


@pytest.mark.parametrize(
    "body, text",
    [
        ("raise ImportError('no such symbol')", "no such symbol"),
        ("raise ImportError", "ImportError, without a word"),
        (
            "try:\n    raise ValueError('built for numpy 1')\nexcept ValueError:\n    raise ImportError",
            "built for numpy 1",
        ),
    ],
)
def test_a_package_that_does_not_load_states_why_even_where_its_error_states_nothing(
    body: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_package_of_ours.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BackendUnavailable, match=f"cannot be loaded: {text}; reinstall it: pip install this"):
        load("broken_package_of_ours", "pip install this")


@pytest.mark.parametrize(
    "data_type, value, cast",
    [
        (DataType.FLOAT32, 0.1, f32(0.1)),
        (DataType.FLOAT16, 65519.996, 65504),
        (DataType.FLOAT16, 2049.0, 2048),
        (DataType.INT8, -2.9, -2),
        (DataType.INT8, 127.9, 127),
        (DataType.UINT64, 2.0**63, 2**63),
        (DataType.UINT8, -0.9, 0),
        (DataType.FLOAT16, float("inf"), np.inf),
    ],
)
def test_the_documented_cast(data_type: DataType, value: float, cast: float) -> None:
    assert cast_bound(describe(data_type=data_type, Max=value), "Max") == cast
