"""Holding Python's signal handlers back while native code runs that calls into Python.

A handler that raises, as Ctrl-C's does, may run at the first instruction of a callback, where no ``try`` catches it
yet: the exception would be printed and lost, and native code would see success.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the module beneath ``signal``, of which there are no stubs
import signal
import threading
from types import FrameType, TracebackType

# ``signal`` without its enumerations: it looks each handler up among the names of the system's own, which takes longer
# than all else that is done here, and this is done for every call into the library.
_handler_of, _set_handler = _signal.getsignal, _signal.signal
_HELD = tuple(
    int(number)
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if (number := getattr(signal, name, None))
)


class HeldSignals:
    """A context in which signals with a Python handler wait; their handlers run when it ends, in order.

    Only the main thread runs handlers, so in others it does nothing.
    """

    __slots__ = ("_arrived", "_handlers")

    def __enter__(self) -> HeldSignals:
        self._arrived: list[tuple[int, FrameType | None]] = []
        self._handlers = {}
        if threading.current_thread() is threading.main_thread():
            for number in _HELD:
                handler = _handler_of(number)
                if callable(handler):
                    self._handlers[number] = handler
                    _set_handler(number, self._arrive)
        return self

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        self._arrived.append((number, frame))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            _set_handler(number, handler)
        for number, frame in self._arrived:
            self._handlers[number](number, frame)
