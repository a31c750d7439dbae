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


class Due(NamedTuple):
    """What the worker has to do, as :class:`~dmlcts.suites.isolation.lives.Life`."""

    act: str
    kernel: int
    kind: tuple[str, Mapping[str, Any]]
    form: tuple[int, dict[str, TensorDesc], dict[str, Region]]
    start: int


def is_refused(act: str, step: str, kind: str) -> bool:
    """Whether an error is the refusal that a step asks for.

    Args:
        act: what is done.
        step: of a kernel's life, which raised it.
        kind: the error's.
    """
    return act == "refuse" and step == "create" and kind in ("invalid_argument", "not_supported")


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
            if due.act in ("life", "create"):
                numbers[due.kernel], made = made, made + 1
                operator = OperatorDesc(due.kind[0], tensors, due.kind[1])
                self._add(place, BatchStep("create", numbers[due.kernel], operator))
            if due.act in ("life", "dispatch", "dispatch unseen"):
                memory = self._copied(place, due)[:size]
                self._add(place, BatchStep("dispatch", numbers[due.kernel], None, memory, dict(regions)))
            if due.act == "refuse":
                operator = OperatorDesc(due.kind[0], tensors, due.kind[1])
                self._add(place, BatchStep("create", made, operator))
                self._add(place, BatchStep("close", made))
                made += 1
            closing = list(numbers) if due.act == "end" else [due.kernel] if due.act in ("life", "close") else []
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
            error = errors[place]
            if due.act == "refuse":
                stopped = stopped or error is None or not is_refused(due.act, error["step"], error["kind"])
            elif due.act != "life":  # behind what raised nothing of a program counts
                stopped = due.act != "end" and bool(stopped or error)
        return errors
