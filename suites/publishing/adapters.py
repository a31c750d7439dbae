"""The Vulkan adapters of this machine that no row of the table names, as further implementations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from dmlcts.backends.interpreter import own_python
from dmlcts.reports.site.kept import slug_of
from dmlcts.suites.publishing.implementation import Implementation
from dmlcts.suites.targets.environment import Run, run_command

_BACKEND = "wgpu"
# In a process of its own: a driver may print, or end the process that loads it.
_LIST = """
import json
from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.wgpu.adapters import find_adapters, load_wgpu
try:
    names = [adapter.name for adapter in find_adapters(load_wgpu()) if adapter.backend == "Vulkan"]
except BackendUnavailable:
    names = []
print("adapters", json.dumps(names))
"""


def vulkan_adapters(run: Run = run_command) -> list[str]:
    """The names of the Vulkan adapters here; none where wgpu is not installed or ends its process."""
    lines = [line for line in run(own_python("-c", _LIST)).stdout.splitlines() if line.startswith("adapters [")]
    return [str(name) for name in json.loads(lines[-1].partition(" ")[2])] if lines else []


def with_adapters(implementations: Sequence[Implementation], adapters: Iterable[str]) -> tuple[Implementation, ...]:
    """The implementations, and one for each adapter that none of them names.

    Args:
        implementations: the table.
        adapters: names of adapters.
    """
    named = [each.options.get("adapter", "").lower() for each in implementations if each.backend == _BACKEND]
    every = {each.name: each for each in implementations}
    for adapter in adapters:
        if any(part and part in adapter.lower() for part in named):
            continue
        name = f"{_BACKEND}-{slug_of(adapter)}"
        title = f"the project's shaders on {adapter}, through Vulkan"
        every.setdefault(name, Implementation(name, title, _BACKEND, {"adapter": adapter}))
    return tuple(every.values())
