"""Errors that an implementation raised in its own process, raised again in the suite's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.contract import ContractError, DeviceLost, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.specs import UsageError


class RemoteError(Exception):
    """What the implementation raised in its process.

    Attributes:
        message: its words, after the name of its class.
        step: which step of a kernel's whole life raised it (``create``, ``dispatch`` or ``close``); "" where the
            message asked for one step alone.
        placed: whether that step is to blame; not where the backend had many at once.
    """

    def __init__(self, text: str, message: str, step: str = "") -> None:
        super().__init__(text)
        self.message = message
        self.step = step
        self.placed = True


class _RemoteInvalidArgumentError(RemoteError, InvalidArgument):
    pass


class _RemoteNotSupportedError(RemoteError, NotSupported):
    pass


class _RemoteDeviceLostError(RemoteError, DeviceLost):
    pass


class RemoteExecutionFailedError(RemoteError, ExecutionFailed):
    """A dispatch went wrong, as the process said or as the memory shows."""


class _RemoteMemoryError(RemoteError, MemoryError):
    pass


_RAISED: Mapping[str, type[RemoteError]] = {
    "invalid_argument": _RemoteInvalidArgumentError,
    "not_supported": _RemoteNotSupportedError,
    "device_lost": _RemoteDeviceLostError,
    "execution_failed": RemoteExecutionFailedError,
    "memory": _RemoteMemoryError,
    "other": RemoteError,
}


def raise_reported(error: Mapping[str, Any]) -> None:
    """Raise what a worker reported.

    Raises:
        BackendUnavailable: the backend cannot run here.
        ContractError: it breaks the backend contract.
        UsageError: there is no such backend or option.
        RemoteError: anything else, as the subclass of its kind.
    """
    kind = str(error["kind"])
    cause, mend = str(error.get("cause", error["text"])), str(error.get("mend", ""))
    if kind == "unavailable":
        raise BackendUnavailable(cause, mend)
    if kind == "contract":
        raise ContractError(cause, mend)
    if kind == "usage":
        raise UsageError(cause, mend)
    raise _RAISED.get(kind, RemoteError)(str(error["text"]), str(error["said"]), str(error.get("step", "")))
