"""Which adapter to judge, and what it says of itself."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.specs import UsageError

# Best first. OpenGL is left out: wgpu falls back to it silently where a driver is missing, and it has neither
# FLOAT16 nor 64-bit integers. It is judged where it is asked for by name or number.
BACKENDS = ("Vulkan", "Metal", "D3D12")
_POWER = {
    "high": ("DiscreteGPU", "IntegratedGPU", "VirtualGPU", "Unknown", "CPU"),
    "low": ("IntegratedGPU", "DiscreteGPU", "VirtualGPU", "Unknown", "CPU"),
}
_INSTALL = "install the GPU's Vulkan driver, or for a software adapter `apt-get install mesa-vulkan-drivers libvulkan1`"


@dataclass(frozen=True)
class Adapter:
    """A wgpu adapter.

    Attributes:
        handle: wgpu's object.
        index: its number in wgpu's list.
        info: what it says of itself.
    """

    handle: Any
    index: int
    info: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The device's name, as its driver gives it."""
        return str(self.info.get("device", "")) or "unnamed"

    @property
    def backend(self) -> str:
        """The graphics interface it is reached through: "Vulkan", "Metal", "D3D12" or "OpenGL"."""
        return str(self.info.get("backend_type", ""))

    @property
    def kind(self) -> str:
        """The adapter's type as wgpu calls it, for example "DiscreteGPU"; "CPU" is a software adapter."""
        return str(self.info.get("adapter_type", "Unknown"))

    @property
    def software(self) -> bool:
        """Whether a processor does the work."""
        return self.kind == "CPU"

    @property
    def driver(self) -> str:
        """The driver and the interface, in words."""
        description = str(self.info.get("description", "")) or str(self.info.get("vendor", ""))
        return f"{description} ({self.backend})" if description else self.backend

    def __str__(self) -> str:
        software = ", software" if self.software else ""
        return f"{self.index}: {self.name} ({self.backend}{software})"


def load_wgpu() -> Any:
    """The wgpu module.

    Raises:
        BackendUnavailable: it is not installed, or its library does not load.
    """
    try:
        return importlib.import_module("wgpu")
    except Exception as error:
        cause = f"wgpu cannot be imported: {type(error).__name__}: {error}"
        raise BackendUnavailable(cause, "`pip install 'dmlcts[wgpu]'`") from error


def find_adapters(wgpu: Any) -> list[Adapter]:
    """Every adapter here, in wgpu's order.

    Raises:
        BackendUnavailable: wgpu cannot look for any.
    """
    try:
        handles = wgpu.gpu.enumerate_adapters_sync()
    except Exception as error:
        raise BackendUnavailable(f"wgpu finds no adapter: {error}", _INSTALL) from error
    return [Adapter(handle, index, dict(handle.info)) for index, handle in enumerate(handles)]


def choose(adapters: Sequence[Adapter], wanted: str = "", power: str = "high") -> Adapter:
    """The adapter to judge.

    Args:
        adapters: all there are.
        wanted: a number in the list, else a part of a name in any case; "" for the best that is not OpenGL.
        power: "high" to prefer a discrete GPU, "low" to prefer an integrated one.

    Raises:
        BackendUnavailable: there is none, or only one that must be asked for.
        UsageError: ``power`` is neither, or ``wanted`` matches no adapter.
    """
    if power not in _POWER:
        raise UsageError(f"power is {power!r}", "give -o power=high or -o power=low")
    if not adapters:
        raise BackendUnavailable("wgpu finds no adapter", _INSTALL)
    listed = "; ".join(map(str, adapters))
    candidates = [adapter for adapter in adapters if adapter.backend in BACKENDS]
    if wanted.isdecimal() and int(wanted) < len(adapters):
        candidates = [adapters[int(wanted)]]
    elif wanted:
        named = [adapter for adapter in adapters if wanted.lower() in adapter.name.lower()]
        candidates = [adapter for adapter in named if adapter.backend in BACKENDS] or named
    elif not candidates:
        cause = f"wgpu finds no {', '.join(BACKENDS)} adapter, only {listed}"
        raise BackendUnavailable(cause, f"{_INSTALL}; or give -o adapter=NUMBER to judge one of these")
    if not candidates:
        raise UsageError(f"no adapter is number or name {wanted!r}", f"choose one of {listed}")

    def rank(adapter: Adapter) -> tuple[int, int, int]:
        kinds, backends = _POWER[power], (*BACKENDS, adapter.backend)
        return (
            kinds.index(adapter.kind) if adapter.kind in kinds else len(kinds),
            backends.index(adapter.backend),
            adapter.index,
        )

    return min(candidates, key=rank)
