"""A device that answers out of files: what a runner said in recorded conversations, read as if it said it now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends import DeviceInfo
from dmlcts.backends.contract import BackendUnavailable, ExecutionFailed, ProcessLost
from dmlcts.backends.runners.backend import RunnerDevice, RunnerKernel
from dmlcts.backends.runners.session import Session
from dmlcts.backends.runners.transports import Part
from dmlcts.specs import OperatorDesc, Region, UsageError

_ONCE = "offline, a case runs once"


class FileTransport:
    """A runner whose answers stand in a file; what it is sent is known already.

    Raises:
        UsageError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}", "give the folder of outputs") from None

    def send(self, parts: Sequence[Part]) -> None:
        """Nothing: the runner got it when it ran."""

    def receive(self, into: memoryview, deadline: float | None) -> None:
        """Fill ``into``.

        Raises:
            ProcessLost: the file ends.
        """
        if self._file.readinto(into) < len(into):
            text = f"{self._path.name} ends early: the runner ended, or was ended, while it ran this case"
            raise ProcessLost("crash", "the runner ended in this case", text)

    def pending(self) -> bool:
        """No: everything after an answer is the next one."""
        return False

    def unasked(self) -> bytes:
        """Nothing, as nothing is pending."""
        return b""

    def recent_output(self) -> str:
        """Nothing: its standard error stayed where it ran."""
        return ""

    def lost(self, title: str, text: str) -> ProcessLost:
        """What to raise for an answer that cannot be."""
        return ProcessLost("crash", title, f"{self._path.name}: {text}")

    def check_memory(self) -> None:
        """Nothing: what recorded the replies has ended."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _RecordedKernel:
    """A kernel of a recorded conversation, which holds one dispatch."""

    def __init__(self, kernel: RunnerKernel) -> None:
        self._kernel = kernel
        self._left = 1

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """What the device made of the memory, the first time."""
        if not self._left:
            raise ExecutionFailed(_ONCE)
        self._left = 0
        self._kernel.dispatch(memory, bindings)

    def close(self) -> None:
        """Close it, as the conversation goes on to say."""
        if not self._left:
            self._kernel.close()


class RecordedDevice:
    """All recorded conversations of a device, of which :meth:`play` chooses one.

    Args:
        folder: the outputs.
        names: the files that may be there.

    Raises:
        BackendUnavailable: none of them is there, or none begins with a hello.
        UsageError: the folder cannot be read.

    Attributes:
        info: what the device said of itself, in the first file that says it.
    """

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder", "give the folder that the runner wrote its outputs to")
        self._folder = folder
        self._device: RunnerDevice | None = None
        self._fresh = False
        first_error = None
        for name in names:
            if self.has(name):
                try:
                    self._open(name)
                except BackendUnavailable as error:
                    first_error = first_error or error
                    continue
                assert self._device is not None  # noqa: S101  # just opened
                self.info: DeviceInfo = self._device.info
                return
        mend = "run the cases with a runner of the kit: RUNNER --offline CASES OUTPUTS"
        raise first_error or BackendUnavailable(f"{folder} holds no outputs of these cases", mend)

    def has(self, name: str) -> bool:
        """Whether a case's outputs are there, whole or not."""
        return (self._folder / name).is_file()

    def play(self, name: str) -> None:
        """Let the conversation in a file be the one that goes on.

        Raises:
            UsageError: it is another device's than the first file's.
        """
        self._fresh = False
        try:
            self._open(name)
        except BackendUnavailable:
            return  # create() reports it of the case
        if self._device is not None and self._device.info != self.info:
            raise UsageError(f"{name} is of another device than the outputs before it", "judge each device by itself")
        self._fresh = True

    def _open(self, name: str) -> None:
        if self._device is not None:
            self._device.close()
            self._device = None

        def connect() -> Session:
            session = Session(FileTransport(self._folder / name))
            session.greet({}, b"", shared_memory=False, patience=1)
            return session

        self._device = RunnerDevice(connect, {"runner": "offline"}, share=False)

    def create(self, operator: OperatorDesc) -> _RecordedKernel:
        """The kernel of the conversation.

        Raises:
            ProcessLost: the conversation ends before, or is none.
        """
        if self._device is None:
            raise ProcessLost("crash", "the runner ended in this case", "the outputs of this case begin with no hello")
        if not self._fresh:
            raise ExecutionFailed(_ONCE)
        self._fresh = False
        return _RecordedKernel(self._device.create(operator))

    def close(self) -> None:
        """Close the file that is open."""
        if self._device is not None:
            self._device.close()
            self._device = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RecordedBackend:
    """The backend of a recorded device, which is open as long as it is judged."""

    name = "offline"

    def __init__(self, device: RecordedDevice) -> None:
        self._device = device

    def open(self, **_: Any) -> RecordedDevice:
        """The same device: what it lost is in its files."""
        return self._device
