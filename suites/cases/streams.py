"""A stream of the implementation under test, whose errors end as values: what came of it, never a traceback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import error_kind
from dmlcts.specs import Region
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import Mishap
from dmlcts.suites.isolation.floating_point import calling

Bytes = NDArray[np.uint8]


class StreamEnded(Exception):  # noqa: N818  # it says what happened; the suite is not at fault
    """A stream ended before it was closed.

    Args:
        mishap: what the implementation did.
        lost: whether its process was lost, so that another one may be tried.
    """

    def __init__(self, mishap: Mishap, *, lost: bool) -> None:
        super().__init__(mishap.text)
        self.mishap = mishap
        self.lost = lost


class BenchStream:
    """A stream of one kernel on the bench's device; see ``Stream`` of the backend contract.

    Args:
        bench: the device.
        stream: the implementation's stream.

    Attributes:
        before_recovery: is called before a device that was lost is closed: what came back must not be looked at then.
    """

    def __init__(self, bench: Bench, stream: Any) -> None:
        self._bench = bench
        self._stream = stream
        self._sizes: dict[int, int] = {}
        self.before_recovery: Callable[[], None] = _nothing

    @classmethod
    def of(
        cls, bench: Bench, kernel: Any, memory: Bytes, bindings: Mapping[str, Region], slots: int
    ) -> BenchStream | None:
        """A stream of ``kernel``; ``None`` where the backend has none.

        Args:
            bench: the device.
            kernel: what :meth:`Bench.create` gave.
            memory: what the device's memory holds at first; one that :meth:`Bench.allocate` gave.
            bindings: the tensors' regions of it.
            slots: how many submissions may be on their way back.

        Raises:
            StreamEnded: it could not be opened.
        """
        maker = getattr(kernel, "stream", None)
        if maker is None:
            return None
        try:
            made = cls(bench, None)
            made._stream = made._asked(maker, memory, dict(bindings), slots)
            return made
        except _NoStreamError:
            return None

    def fill(self, first: int) -> None:
        """Write consecutive patterns into the input."""
        self._asked(self._stream.fill, first)

    def submit(self, slot: int, window: Region, *, step: int = 0, poison: int | None = None, run: bool = True) -> None:
        """Prepare the memory, run the kernel, and begin to bring the window back."""
        self._sizes[slot] = window.size
        self._asked(self._stream.submit, slot, window, step=step, poison=poison, run=run)

    def wait(self, slot: int) -> Bytes:
        """What came back; it stays until the slot is released.

        Raises:
            StreamEnded: the stream failed, or brought back another thing than bytes of the right size.
        """
        output = self._asked(self._stream.wait, slot)
        size = self._sizes[slot]
        if not isinstance(output, np.ndarray) or output.dtype != np.uint8 or output.shape != (size,):
            message = f"a stream brought back what is no array of {size} uint8"
            raise StreamEnded(Mishap("crash", message), lost=False)
        return output

    def release(self, slot: int) -> None:
        """Look no more at what came back."""
        self._asked(self._stream.release, slot)

    @property
    def seconds(self) -> dict[str, float]:
        """What the implementation's process spent, where it reports that."""
        return dict(getattr(self._stream, "seconds", {}))

    def close(self) -> None:
        """Close the stream."""
        self._asked(self._stream.close)

    def _asked(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        bench = self._bench
        losses = bench.losses
        try:
            with calling(), np.errstate(all="ignore"):
                return call(*arguments, **named)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the implementation's exceptions are findings, not the suite's
            if error_kind(error) == "not_supported":
                raise _NoStreamError from error
            self.before_recovery()
            mishap = bench.recovered(error)
            lost = bench.isolated and bench.losses > losses and mishap.outcome != "device_lost"
            raise StreamEnded(mishap, lost=lost) from error


class _NoStreamError(Exception):
    pass


def _nothing() -> None:
    """Before any output came back there is nothing to stop looking at."""
