"""Execution providers: those that a build of ONNX Runtime has, and those of packages of their own (plugins)."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dmlcts.backends.contract import BackendUnavailable, words_of
from dmlcts.specs import UsageError

CPU = "CPUExecutionProvider"
_BUILDS: Mapping[str, tuple[str, str]] = {
    "CPU": (CPU, "pip install onnxruntime"),
    "CUDA": ("CUDAExecutionProvider", "pip install onnxruntime-gpu, and CUDA with cuDNN"),
    "DML": ("DmlExecutionProvider", "on Windows: pip install onnxruntime-directml"),
}
_REGISTERED: set[tuple[str, str]] = set()
"""The plugins that this process has registered, by name and library: a second time is an error of the runtime."""


@dataclass(frozen=True)
class Plugin:
    """A package that brings an execution provider as a library.

    Attributes:
        module: what is imported; its ``get_library_path`` says where the library is.
        install: the command that installs it.
        options: the provider's options to functions of the module that give their values: it has no default for them.
    """

    module: str
    install: str
    options: Mapping[str, str] = field(default_factory=dict)


PLUGINS: Mapping[str, Plugin] = {
    "OpenVINOExecutionProvider": Plugin("onnxruntime_ep_openvino", "pip install onnxruntime-ep-openvino"),
    "QNNExecutionProvider": Plugin(
        "onnxruntime_qnn", "pip install onnxruntime-qnn", {"backend_path": "get_qnn_htp_path"}
    ),
    "WebGpuExecutionProvider": Plugin("onnxruntime_ep_webgpu", "pip install onnxruntime-ep-webgpu"),
    "NvTensorRTRTXExecutionProvider": Plugin(
        "onnxruntime_ep_nv_tensorrt_rtx", "pip install onnxruntime-ep-nv-tensorrt-rtx-cu13"
    ),
}


@dataclass(frozen=True)
class Provider:
    """An execution provider that can be asked to load models.

    Attributes:
        name: its full name.
        options: what the provider itself is given.
        devices: of a plugin: the runtime's device that is used; empty for a provider of the build.
        details: what identifies it, for the results.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[Any, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)

    def load(self, runtime: Any, chosen: Any, model: bytes) -> Any:
        """A session of a model; raises what the runtime raises.

        Args:
            runtime: the package ``onnxruntime``.
            chosen: its ``SessionOptions``, which belong to this session alone.
            model: as ONNX writes it.
        """
        if not self.devices:
            provider = (self.name, dict(self.options)) if self.options else self.name
            return runtime.InferenceSession(model, chosen, providers=[provider])
        chosen.add_provider_for_devices(list(self.devices), dict(self.options))
        return runtime.InferenceSession(model, chosen)


def provider_options(written: str) -> dict[str, str]:
    """The options of a provider, written as "key=value;key=value".

    Raises:
        UsageError: a part has no equals sign.
    """
    options: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in written.split(";"))):
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise UsageError(f"the option provider_options has {item!r}", "write key=value;key=value")
        options[key] = value
    return options


def provider_of(runtime: Any, written: str, library: str = "auto", options: str = "", device: str = "") -> Provider:
    """The execution provider of that name.

    Args:
        runtime: the package ``onnxruntime``.
        written: CPU, CUDA, DML, or a provider's full name.
        library: the path of a plugin's library; "auto" takes the build's own provider, else a known plugin's.
        options: for the provider itself, as :func:`provider_options` reads them.
        device: the kind of device of a plugin: CPU, GPU or NPU; "" for the first that it offers.

    Raises:
        UsageError: an option means nothing.
        BackendUnavailable: the provider, its plugin or its device is not there.
    """
    name, install = _BUILDS.get(written, (written, f"choose one of {', '.join(_BUILDS)}"))
    own_options = provider_options(options)
    offered = runtime.get_available_providers()
    registered = any(name == known for known, _ in _REGISTERED)  # the runtime lists those among its own from then on
    if library == "auto" and name in offered and not registered:
        if device:
            raise UsageError(f"the option device chooses a device of a plugin; {name} is none", "leave it out")
        return Provider(name, own_options, details={} if name == CPU else _build_details())
    plugin = PLUGINS.get(name)
    details = {}
    if library == "auto":
        if plugin is None or importlib.util.find_spec(plugin.module) is None:
            cause = f"onnxruntime {runtime.__version__} has no {name}, only {', '.join(offered)}"
            raise BackendUnavailable(cause, plugin.install if plugin else install)
        library, defaults = _of_package(plugin)
        own_options = defaults | own_options
        details = {"package": _version_of(plugin.module)}
    elif not Path(library).is_file():
        raise UsageError(f"the option provider_library is {library!r}, which is no file", "give a library, or auto")
    there = _devices(runtime, name, library)
    matching = [item for item in there if device in ("", item.device.type.name)]
    if not matching:
        kinds = ", ".join(item.device.type.name for item in there)
        cause = (
            f"the plugin of {name} offers no {device or 'device'} on this machine{f', only {kinds}' if kinds else ''}"
        )
        raise BackendUnavailable(cause, "run it where its hardware and driver are")
    details |= {"library": Path(library).name, "device": matching[0].device.type.name}
    return Provider(name, own_options, tuple(matching[:1]), details)


def _of_package(plugin: Plugin) -> tuple[str, dict[str, str]]:
    """A plugin's library, and the options that it has no default for."""
    try:
        module = importlib.import_module(plugin.module)
        paths = {option: str(getattr(module, function)()) for option, function in plugin.options.items()}
        return str(module.get_library_path()), paths
    except Exception as error:  # whatever a broken package raises, it cannot be used
        cause = f"the package {plugin.module} cannot be loaded: {words_of(error) or type(error).__name__}"
        raise BackendUnavailable(cause, f"reinstall it: {plugin.install}") from error


def _devices(runtime: Any, name: str, library: str) -> list[Any]:
    """The devices that a plugin offers, registered once a process."""
    if not hasattr(runtime, "register_execution_provider_library"):
        cause = f"onnxruntime {runtime.__version__} has no plugins"
        raise BackendUnavailable(cause, "pip install --upgrade onnxruntime")
    if (name, library) not in _REGISTERED:
        try:
            runtime.register_execution_provider_library(name, library)
        except Exception as error:  # the runtime's errors have names of their own
            cause = f"onnxruntime does not load {library}: {words_of(error)}"
            raise BackendUnavailable(cause, "see that the plugin fits this release of onnxruntime") from error
        _REGISTERED.add((name, library))
    return [item for item in runtime.get_ep_devices() if item.ep_name == name]


def _build_details() -> dict[str, str]:
    """Which package the build is from: several bring a module called ``onnxruntime``."""
    return {"package": _version_of("onnxruntime")}


def _version_of(module: str) -> str:
    names = sorted(set(importlib.metadata.packages_distributions().get(module, ())))
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
