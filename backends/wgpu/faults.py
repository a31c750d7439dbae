"""wgpu's exceptions as the contract's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dmlcts.backends.contract import DeviceLost, ExecutionFailed


class DeviceMemoryError(MemoryError):
    """The adapter cannot hold what is asked of it: beyond a limit of its, or out of memory."""


def translated(doing: str, error: Exception) -> Exception:
    """The contract's error for ``error``, which wgpu raised while ``doing`` something; itself if not wgpu's.

    Args:
        doing: what failed, as in "compiling the shader".
        error: recognised by class name, because wgpu may not be installed, and by what it says, because
            wgpu reports a lost device as an error of validation.
    """
    message = " ".join(str(error).split())
    names = {ancestor.__name__ for ancestor in type(error).__mro__}
    if "GPUOutOfMemoryError" in names:
        return DeviceMemoryError(f"{doing}: the adapter is out of memory: {message}")
    if not names & {"GPUError", "RuntimeError"}:
        return error
    if "lost" in message.lower():
        return DeviceLost(f"{doing}: {message}")
    if "memory" in message.lower() and "not enough" in message.lower():
        return DeviceMemoryError(f"{doing}: {message}")
    return ExecutionFailed(f"{doing}: {message}")


@contextmanager
def faults_translated(doing: str) -> Iterator[None]:
    """Raise what wgpu raises in the block as the contract's errors."""
    try:
        yield
    except (DeviceLost, ExecutionFailed, MemoryError):
        raise
    except Exception as error:
        other = translated(doing, error)
        if other is error:
            raise
        raise other from error
