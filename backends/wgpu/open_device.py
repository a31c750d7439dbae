"""What kernels, streams and batches use of the device that they run on."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Protocol

from dmlcts.backends.contract import DeviceLost
from dmlcts.backends.wgpu.faults import faults_translated
from dmlcts.backends.wgpu.layout import Axes, Limits
from dmlcts.backends.wgpu.programs import Program
from dmlcts.backends.wgpu.resources import Resources
from dmlcts.backends.wgpu.shaders import Shader


@dataclass(frozen=True)
class Compiled:
    """A shader, wgpu's pipeline of it, and the layout of its bind group."""

    shader: Shader
    pipeline: Any
    layout: Any


class OpenDevice(Protocol):
    """An open device.

    Attributes:
        wgpu: the module of wgpu-py.
        handle: wgpu's own device.
        resources: its buffers.
        turn: held while a dispatch runs: the buffers serve one at a time.
        binding_limits: how much a binding may hold, and where it may begin.
    """

    wgpu: Any
    handle: Any
    resources: Resources
    turn: threading.Lock
    binding_limits: Limits

    def compiled(self, program: Program, axes: Axes) -> Compiled:
        """The pipeline of a program for axes; compiled once."""

    def patterns(self, itemsize: int) -> tuple[Any, Any]:
        """The pipeline that fills a tensor with consecutive patterns, and its layout."""

    def groups(self, invocations: int) -> tuple[int, int]:
        """How many workgroups that takes, in columns and rows."""

    def check_open(self) -> None:
        """Refuse to go on with a device that is closed or lost.

        Raises:
            DeviceLost: it is lost.
        """

    def lose(self, why: str) -> None:
        """Note that the device is lost."""


class Work:
    """Around work on the device: wgpu's errors as the contract's; a device that is lost is remembered as such."""

    def __init__(self, device: OpenDevice, doing: str) -> None:
        self._device = device
        self._translated = faults_translated(doing)

    def __enter__(self) -> None:
        self._translated.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool | None:
        try:
            return self._translated.__exit__(kind, error, traceback)
        except DeviceLost as lost:
            self._device.lose(str(lost))
            raise
