"""Choosing the D3D12 beneath DirectML: the software adapter, WSL2's, or Windows'."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.abi.host import Host
from dmlcts.backends.directml.loading.library import WSL_FOLDER
from dmlcts.backends.directml.loading.options import SOFTWARE, Options
from dmlcts.backends.directml.windows.bridge import Bridge
from dmlcts.specs import UsageError


def has_own_d3d12() -> bool:
    """Whether this system has a D3D12 of its own: Windows', or WSL2's."""
    return sys.platform == "win32" or (WSL_FOLDER / "libd3d12.so").is_file()


def is_software(adapter: str) -> bool:
    """Whether the option ``adapter`` means the software adapter here, for a library of this system's."""
    return sys.platform != "win32" and (adapter == SOFTWARE or (not adapter and not has_own_d3d12()))


def chosen(options: Options, cache: Path, bridge: Bridge | None = None) -> Callable[[], Host]:
    """What opens the host that the options ask for.

    Args:
        options: of the backend.
        cache: the folder for what is compiled.
        bridge: what connects a library of Windows' on Linux; None for one of this system's.

    Raises:
        UsageError: the options contradict each other, or ask for what this system does not have.
        BackendUnavailable: the software adapter needs a package that is not here.
    """
    if bridge is not None:
        if options.adapter not in ("", SOFTWARE):
            raise UsageError(
                f"adapter={options.adapter}: on Linux a Windows library runs on the software D3D12 adapter only",
                f"leave the option out, or write adapter={SOFTWARE}",
            )
        return _software(options, cache, bridge)
    if is_software(options.adapter):
        return _software(options, cache, None)
    if not has_own_d3d12():
        mend = f"leave the option out, or write adapter={SOFTWARE}"
        raise UsageError(f"adapter={options.adapter}: this Linux has no D3D12 of its own (only WSL2 does)", mend)
    if options.adapter == SOFTWARE:
        raise UsageError("the software D3D12 adapter runs on Linux only", "write adapter=WARP for Microsoft's")
    if options.arithmetic:
        name = next(iter(options.arithmetic))
        raise UsageError(f"{name} is a setting of the software D3D12 adapter", f"write -o adapter={SOFTWARE} as well")

    def native() -> Host:
        from dmlcts.backends.directml.hosting.adapters import open_host

        return open_host(options.adapter)

    return native


def _software(options: Options, cache: Path, bridge: Bridge | None) -> Callable[[], Host]:
    if importlib.util.find_spec("llvmlite") is None:
        raise BackendUnavailable(
            "the software D3D12 adapter needs the package llvmlite", "pip install 'dmlcts[directml]'"
        )
    from dmlcts.backends.directml.d3d12_software.objects.host import SoftwareHost
    from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality

    personality = Personality.parse(options.arithmetic)
    return lambda: SoftwareHost(personality, cache, bridge)
