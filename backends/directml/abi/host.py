"""What the backend needs of the D3D12 beneath DirectML, whether it is the software adapter or a real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.directml.abi.com_object import Faults


@dataclass(frozen=True)
class AdapterInfo:
    """What is said of an adapter in reports.

    Args:
        name: the adapter.
        driver: its driver and version.
        details: anything else.
    """

    name: str
    driver: str
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class Host(Protocol):
    """A D3D12 device with one queue, one command list, one resource and one descriptor heap.

    The list is open for recording whenever :meth:`execute` is not running.
    """

    @property
    def info(self) -> AdapterInfo:
        """What to say of the adapter."""

    @property
    def faults(self) -> Faults:
        """Exceptions raised under native code; nothing is ever kept here for a real device."""

    @property
    def device(self) -> int:
        """The address of the ``ID3D12Device``."""

    @property
    def command_list(self) -> int:
        """The address of the ``ID3D12GraphicsCommandList`` to record into."""

    def descriptors(self, count: int) -> tuple[int, int]:
        """The handles of at least ``count`` descriptors, for the processor and for the device."""

    def prepare_list(self) -> None:
        """Make the list ready for DirectML to record into."""

    def bind(self, memory: NDArray[np.uint8]) -> int:
        """Give the device ``memory``'s content, and return the address of the ``ID3D12Resource`` that holds it."""

    def scratch(self, size: int) -> Scratch:
        """A resource of ``size`` bytes for the library's own use."""

    def execute(self) -> None:
        """Execute what was recorded, wait for its end, and open the list again.

        Raises:
            ComError: a call failed.
        """

    def read_back(self, memory: NDArray[np.uint8]) -> None:
        """Put all of the bound resource's content into ``memory``."""

    def abandon(self) -> None:
        """Forget what was recorded, after a failure."""

    def removed_reason(self) -> int:
        """What ``ID3D12Device::GetDeviceRemovedReason`` says, as an unsigned HRESULT."""

    def close(self) -> None:
        """Release everything."""


class Scratch(Protocol):
    """A resource for the library's own use."""

    @property
    def address(self) -> int:
        """The address of the ``ID3D12Resource``."""

    @property
    def size(self) -> int:
        """Its bytes."""

    def close(self) -> None:
        """Release it."""
