"""The outcome of a dispatch, or of a try at one: whatever an implementation does is one of these values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dmlcts.backends.contract import error_kind, words_of
from dmlcts.backends.frames import with_frames
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.remote_errors import RemoteError

Array = NDArray[Any]


@dataclass(frozen=True)
class Execution:
    """A dispatch that came back.

    Attributes:
        inputs: the logical elements of each input by tensor name, 1-D and of the output's length.
        output: the logical output elements, 1-D.
        poison: what the output elements held before, 1-D.
        strays_in_input: offsets of bytes of inputs that changed although the output does not alias those.
        strays: offsets of other bytes that changed outside the output's total size.
        padding_changed: whether bytes between output elements changed; ``None`` if there are none, or if the output
            is so large that looking would take longer than the dispatch.
        unwritten: indices of elements that a second dispatch, over another poison, has shown to be left as they were:
            what stands there is no result. ``None`` where there was no second one.
    """

    inputs: Mapping[str, Array]
    output: Array
    poison: Array
    strays_in_input: tuple[int, ...]
    strays: tuple[int, ...]
    padding_changed: bool | None
    unwritten: Array | None = None

    @property
    def x(self) -> Array:
        """The logical elements of the first input."""
        return next(iter(self.inputs.values()))


@dataclass(frozen=True)
class Refusal:
    """The implementation refused the description; ``obliged`` says that it had to accept."""

    text: str
    obliged: bool


@dataclass(frozen=True)
class Unsupported(Refusal):
    """The backend has no way to express a description that its level obliges it to take; nothing ran."""


@dataclass(frozen=True)
class Mishap:
    """The implementation did what it must never do.

    Attributes:
        outcome: the outcome's name.
        text: the exception's text, or how the implementation's process ended.
        title: one short line where there is more to say than the outcome's name does.
        refusing: whether it is one of the contract's errors, by which a dispatch can say that it will not run: what the
            pages leave open may be refused so.
    """

    outcome: str
    text: str
    title: str = ""
    refusing: bool = False


Outcome = Execution | Refusal | Mishap


def mishap_of(error: BaseException) -> Mishap:
    """What the implementation did by raising ``error``."""
    if isinstance(error, WorkerLost):
        return Mishap(error.outcome, error.text, error.title)
    words = words_of(error)
    message = f"{type(error).__name__}: {words}" if words else type(error).__name__
    if isinstance(error, RemoteError):
        message = error.message
    kind = error_kind(error)
    match kind:
        case "device_lost":
            return Mishap("device_lost", message, refusing=True)
        case "execution_failed" | "not_supported":  # the latter only creation may say
            return Mishap("fail", message, refusing=True)
    if not isinstance(error, RemoteError):
        message = with_frames(message, error)
    outcome = "resource_error" if isinstance(error, MemoryError) else "crash"
    return Mishap(outcome, message, refusing=kind == "invalid_argument")


class DeviceGone(Exception):  # noqa: N818  # it says what happened; the suite is not at fault
    """The device was lost and could not be opened again: nothing more can be judged."""
