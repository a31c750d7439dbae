"""What the worker asks a backend for that takes many steps with one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import BatchStep
from dmlcts.specs import OperatorDesc, Region, TensorDesc
from dmlcts.suites.isolation.memory import PAGE, Window, room

Bytes = NDArray[np.uint8]


_CLOSING = ("life", "close", "refuse")


class Due(NamedTuple):
    """What the worker has to do, as :class:`~dmlcts.suites.isolation.lives.Life`."""

    act: str
    kernel: int
    kind: tuple[str, Mapping[str, Any]]
    form: tuple[int, dict[str, TensorDesc], dict[str, Region]]
    start: int


def ends_program(act: str, error: Mapping[str, Any] | None) -> bool:
    """Whether nothing more of a program counts behind a step: one that raised, or did not refuse what it has to.

    Args:
        act: what was done.
        error: what it raised, with the ``step`` of a kernel's life and the ``kind``; ``None`` for nothing.
    """
    if act == "refuse":
        return error is None or error["step"] != "create" or error["kind"] not in ("invalid_argument", "not_supported")
    return error is not None


class BackendBatch:
    """Lives and whole programs as the steps of one batch, each dispatch on a copy of its part of the memory.

    Args:
        dues: what is done.
        window: the memory.

    Attributes:
        steps: what the backend is asked for.
    """

    def __init__(self, dues: Sequence[Due], window: Window) -> None:
        self._dues = dues
        self._window = window
        self.steps: list[BatchStep] = []
        self._owners: list[tuple[int, str]] = []  # of each step: whose it is, and what it is called
        self._copies: dict[int, Bytes] = {}  # of the pages of each part, so that bytes behind its end are looked at too
        self._arena = np.empty(sum(room(due.form[0]) + PAGE for due in dues) + PAGE, np.uint8)
        self._end = -self._arena.ctypes.data % PAGE
        numbers: dict[int, int] = {}
        made = 0
        for place, due in enumerate(dues):
            size, tensors, regions = due.form
            if due.act in ("life", "create", "refuse"):
                numbers[due.kernel], made = made, made + 1
                operator = OperatorDesc(due.kind[0], tensors, due.kind[1])
                self._add(place, BatchStep("create", numbers[due.kernel], operator))
            if due.act in ("life", "dispatch", "dispatch unseen"):
                memory = self._copied(place, due)[:size]
                self._add(place, BatchStep("dispatch", numbers[due.kernel], None, memory, dict(regions)))
            closing = list(numbers) if due.act == "end" else [due.kernel] if due.act in _CLOSING else []
            for kernel in closing:
                self._add(place, BatchStep("close", numbers.pop(kernel)))

    def _copied(self, place: int, due: Due) -> Bytes:
        """The pages of a part, copied to where nothing else stands; a page lies behind them."""
        pages = room(due.form[0])
        copy = self._copies[place] = self._arena[self._end : self._end + pages]
        self._window.read(due.start, copy)
        self._end += pages + PAGE
        return copy

    def _add(self, place: int, step: BatchStep) -> None:
        self.steps.append(step)
        self._owners.append((place, step.act))

    def ended(
        self, outcomes: Sequence[Exception | None], described: Callable[[BaseException], dict[str, Any]]
    ) -> list[dict[str, Any] | None]:
        """What each life or step ended in; what the dispatches left is put where the suite looks for it.

        Args:
            outcomes: of the steps.
            described: puts an exception into words.
        """
        errors: list[dict[str, Any] | None] = [None] * len(self._dues)
        for (place, step), outcome in zip(self._owners, outcomes, strict=True):
            if outcome is not None:
                errors[place] = described(outcome) | {"step": step}
        stopped = False
        for place, due in enumerate(self._dues):
            if not (stopped or errors[place]) and due.act in ("life", "dispatch"):
                self._window.write(due.start, self._copies[place])
            stopped = due.act not in ("life", "end") and (stopped or ends_program(due.act, errors[place]))
        return errors
