"""What ran before a dispatch: the level of ``history``, seen where kernels are made, dispatched and closed."""

from __future__ import annotations

from typing import Any

from dmlcts.specs import OperatorDesc


class Histories:
    """Keeps account of the kernels of one device."""

    def __init__(self) -> None:
        self._alive: dict[int, OperatorDesc] = {}
        self._ran: set[int] = set()
        self._last: OperatorDesc | None = None

    def made(self, kernel: Any, operator: OperatorDesc) -> None:
        """A kernel was created."""
        self._alive[id(kernel)] = operator
        self._ran.discard(id(kernel))

    def closed(self, kernel: Any) -> None:
        """A kernel was closed."""
        self._alive.pop(id(kernel), None)
        self._ran.discard(id(kernel))

    def dispatched(self, kernel: Any, operator: OperatorDesc) -> str:
        """A kernel was dispatched; gives the history that it had."""
        me = id(kernel)
        history = "fresh"
        if me in self._ran:
            history = "again"
        elif len(self._alive) > 1 and any(
            other in self._ran and _akin(known, operator) for other, known in self._alive.items() if other != me
        ):
            history = "beside-another"
        elif self._last is not None and _akin(self._last, operator):
            history = "after-another"
        self._ran.add(me)
        self._last = operator
        return history

    def lived(self, operator: OperatorDesc) -> str:
        """A kernel was created, dispatched once and closed; gives the history that its dispatch had."""
        kernel = object()
        self.made(kernel, operator)
        history = self.dispatched(kernel, operator)
        self.closed(kernel)
        return history


def _akin(first: OperatorDesc, other: OperatorDesc) -> bool:
    """Whether two descriptions have equal tensors and differ otherwise."""
    same = first.name == other.name and first.attributes == other.attributes
    return not same and first.tensors == other.tensors
