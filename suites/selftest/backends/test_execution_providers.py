"""Execution providers of the ``onnxruntime`` backend: plugins, their devices, and what was seen of them before."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from dmlcts.backends import BackendUnavailable, InvalidArgument, NotSupported
from dmlcts.backends.onnxruntime.backend import OnnxRuntimeBackend
from dmlcts.backends.onnxruntime.models import Node
from dmlcts.backends.onnxruntime.providers import Plugin, Provider, provider_of, provider_options
from dmlcts.backends.onnxruntime.taken import Seen, Taken, see
from dmlcts.backends.onnxruntime.ways import Way, ways_of
from dmlcts.backends.runtimes import part_of
from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable

NAME = "MadeUpExecutionProvider"


@dataclass
class Runtime:
    """What of the package ``onnxruntime`` a plugin needs."""

    kinds: tuple[str, ...] = ("CPU",)
    registered: list[tuple[str, str]] = field(default_factory=list)
    __version__: str = "1.32.0"

    def get_available_providers(self) -> list[str]:
        return ["CPUExecutionProvider", *(name for name, _ in self.registered)]

    def register_execution_provider_library(self, name: str, library: str) -> None:
        if (name, library) in self.registered:
            raise RuntimeError("registered twice")
        self.registered.append((name, library))

    def get_ep_devices(self) -> list[Any]:
        return [
            SimpleNamespace(ep_name=NAME, device=SimpleNamespace(type=SimpleNamespace(name=kind)))
            for kind in self.kinds
        ]


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.backends.onnxruntime.providers._REGISTERED", set())


@pytest.fixture
def library(tmp_path: Path) -> str:
    path = tmp_path / "libmade_up.so"
    path.touch()
    return str(path)


def test_a_plugin_is_registered_once_and_its_device_chosen(library: str) -> None:
    runtime = Runtime(("CPU", "NPU"))
    first = provider_of(runtime, NAME, library, "a=1;b=x=y")
    second = provider_of(runtime, NAME, library, device="NPU")
    assert runtime.registered == [(NAME, library)]
    assert (first.options, first.details["device"]) == ({"a": "1", "b": "x=y"}, "CPU")
    assert second.details == {"library": "libmade_up.so", "device": "NPU"}
    with pytest.raises(BackendUnavailable, match="offers no GPU on this machine, only CPU, NPU"):
        provider_of(runtime, NAME, library, device="GPU")


def test_a_plugin_without_hardware_is_unavailable(library: str) -> None:
    with pytest.raises(BackendUnavailable, match="offers no device on this machine"):
        provider_of(Runtime(()), NAME, library)


def test_the_package_of_a_plugin_is_looked_for(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlcts.backends.onnxruntime import providers

    known = {NAME: Plugin("made_up_plugin_package", "pip install made-up", {"backend_path": "get_path"})}
    monkeypatch.setattr(providers, "PLUGINS", known)
    with pytest.raises(BackendUnavailable, match=f"has no {NAME}.*pip install made-up"):
        provider_of(Runtime(), NAME)
    module = ModuleType("made_up_plugin_package")
    module.__spec__ = SimpleNamespace(name=module.__name__)  # type: ignore[assignment]
    module.get_library_path = lambda: library  # type: ignore[attr-defined]
    module.get_path = lambda: "/where/it/is"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    runtime = Runtime()
    for _ in range(2):  # the runtime lists it among its own after the first time
        assert provider_of(runtime, NAME).options == {"backend_path": "/where/it/is"}
        assert provider_of(runtime, NAME).devices
    assert provider_of(runtime, NAME, options="backend_path=mine").options == {"backend_path": "mine"}


def test_a_plugin_loads_models_on_its_device_and_a_build_by_name() -> None:
    asked: list[Any] = []
    runtime = SimpleNamespace(InferenceSession=lambda *words, **more: asked.append((words, more)))
    chosen = SimpleNamespace(add_provider_for_devices=lambda *words: asked.append(words))
    Provider(NAME, {"a": "1"}, ("device",)).load(runtime, chosen, b"model")
    assert asked == [(["device"], {"a": "1"}), ((b"model", chosen), {})]
    asked.clear()
    Provider(NAME, {"a": "1"}).load(runtime, chosen, b"model")
    assert asked == [((b"model", chosen), {"providers": [(NAME, {"a": "1"})]})]


def test_rows_are_of_few_lengths_until_they_are_long() -> None:
    row = Way("row")
    lengths = [row.length(TensorDesc(DataType.INT8, (1, count))) for count in (1, 19, 20, 65_536, 65_537)]
    assert lengths == [19, 19, 67, 65_539, 65_537]
    assert Way().length(TensorDesc(DataType.INT8, (2, 3))) == 6


def test_options_of_a_provider_are_pairs() -> None:
    assert provider_options("") == {}
    assert provider_options("device_type=GPU; x=") == {"device_type": "GPU", "x": ""}


def test_ways_are_in_the_order_of_their_models() -> None:
    assert ways_of("auto", "auto")[0] == Way("dynamic", "input")
    assert ways_of("auto", "auto")[-1] == Way("exact", "constant")
    assert ways_of("row", "constant") == (Way("row", "constant"),)


@pytest.mark.skipif(find_spec("onnxruntime") is None or find_spec("onnx") is None, reason="not installed: onnxruntime")
def test_a_scale_for_each_row_has_its_rows_counted() -> None:
    with OnnxRuntimeBackend().open(shapes="auto", bounds="auto") as device:
        device._ways = ways_of("auto", "auto")
        assert device._ways_of(Node("QuantizeLinear", columns=("x", "y"))) == (Way("exact", "input"),)
        assert device._ways_of(Node("Abs")) == (Way("dynamic", "input"), Way("exact", "input"))


def test_what_a_provider_takes_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMLCTS_CACHE", str(tmp_path))

    def tried(operator: OperatorDesc, table: OperatorTable) -> Way:
        part, data_type = part_of(operator, table), operator.tensors[table.inputs[0]].data_type
        if part == "ABS" and data_type is DataType.FLOAT32:
            return Way("dynamic", "input")
        if part == "SQRT":
            raise InvalidArgument("failed to finalise the graph")
        raise NotSupported("left to the CPU")

    taken = see(load_tables(), tried)
    assert taken.types("ABS") == {DataType.FLOAT32}
    assert taken.types("CLIP") == frozenset()
    assert taken.refusals == {"failed to finalise the graph": ("SQRT on FLOAT32", "SQRT on FLOAT16")}
    assert taken
    assert not Taken()
    seen = Seen({"release": "1"})
    assert seen.read() is None
    seen.keep(taken)
    assert seen.read() == taken
    assert Seen({"release": "2"}).read() is None
    for path in (tmp_path / "onnxruntime").iterdir():
        path.write_text('{"ways": {"ABS": {"FLOAT32": ["square", "input"]}}}', "utf-8")
    assert seen.read() is None
