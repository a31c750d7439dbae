"""A worker process and the two pipes to it: started, spoken to with a limit on the time, and stopped for good.

A hang is detected here: a call without an answer within its limit ends as :class:`.losses.WorkerLost` of the outcome
``timeout``, and the process is killed (:meth:`WorkerProcess.call`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dmlcts.backends.endings import LastWords, ended
from dmlcts.backends.interpreter import own_python, workers_environment
from dmlcts.suites.isolation import framing
from dmlcts.suites.isolation.custody import custody
from dmlcts.suites.isolation.losses import WorkerLost

Clock = Callable[[], float]

_CHUNK = 1 << 16
_GRACE_SECONDS = 2.0
MOST_STEPS = 3  # that one message may ask for: a kernel is made, dispatched and closed
_CALLS_A_BURIAL = 1 << 10
_OFTEN_ASKED = frozenset({"lives"})  # the suite alone makes what these messages hold
_LOOK_SECONDS = 0.2  # how often a pipe that somebody else may hold open is left, to see whether the worker is there


class _ClosedError(Exception):
    """The pipe is closed: the worker is gone."""


class _LateError(Exception):
    """Nothing came within the limit."""


class _Source(Protocol):
    def __call__(self, deadline: float) -> bytes:
        """The bytes that are there, at least one."""


class _PolledPipe:
    """Reads with a limit where the system can wait for a pipe."""

    def __init__(self, descriptor: int, clock: Clock) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def __call__(self, deadline: float) -> bytes:
        while not self._poll.poll(max(0.0, deadline - self._clock()) * 1000):
            if self._clock() >= deadline:
                raise _LateError
        chunk = os.read(self._descriptor, _CHUNK)
        if not chunk:
            raise _ClosedError
        return chunk


class ThreadedPipe:
    """Reads with a limit anywhere: a thread waits for the pipe, and closes its descriptor at the pipe's end."""

    def __init__(self, descriptor: int, clock: Clock) -> None:
        self._clock = clock
        self._chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._drain, args=(descriptor,), daemon=True).start()

    def _drain(self, descriptor: int) -> None:
        chunk = b"-"
        while chunk:
            chunk = os.read(descriptor, _CHUNK)
            self._chunks.put(chunk)
        os.close(descriptor)

    def __call__(self, deadline: float) -> bytes:
        """The bytes that are there, at least one."""
        try:
            chunk = self._chunks.get(timeout=max(0.0, deadline - self._clock()))
        except queue.Empty:
            raise _LateError from None
        if not chunk:
            self._chunks.put(b"")  # for whoever asks again
            raise _ClosedError
        return chunk


class _Deadline:
    """The moment until which a reply is waited for; each further step of what was asked for moves it once.

    Attributes:
        moment: on the clock, in seconds.
    """

    def __init__(self, clock: Clock, limit: float, begun: Callable[[], int] | None) -> None:
        self._clock = clock
        self._limit = limit
        self._begun = begun
        self._waited_for = 1
        self.moment = clock() + limit

    def passed(self) -> bool:
        """Whether it is over, for the step that is under way."""
        if self._clock() < self.moment:
            return False
        step = 1 if self._begun is None else self._begun()
        if step <= self._waited_for:
            return True
        self._waited_for = step
        self.moment = self._clock() + self._limit
        return False


class WorkerProcess:
    """One worker process.

    Args:
        file: descriptor of the shared memory's file, which the worker inherits; -1 for none.
        name: the shared memory's name.
        increase_limit: bytes by which it may grow after its device was opened; ``None`` for the usual.
        clock: gives seconds; never goes back.
        threaded: read with a thread even where the system could wait for a pipe.
    """

    def __init__(
        self,
        file: int,
        name: str,
        increase_limit: int | None = None,
        clock: Clock = time.monotonic,
        *,
        threaded: bool = False,
    ) -> None:
        self._clock = clock
        command = own_python("-m", "dmlcts.suites.isolation.worker", str(file), name)
        command += [] if increase_limit is None else [str(increase_limit)]
        settings: dict[str, Any] = {"env": workers_environment()}  # what it starts is the implementation's
        if sys.platform == "win32":
            settings["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP
        else:
            settings["start_new_session"] = True  # Ctrl-C is the suite's; what the worker starts ends with it
            settings["pass_fds"] = (file,) if file >= 0 else ()
        custody().enter()
        self._stopped = False
        try:
            self._process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **settings
            )
        except BaseException:
            custody().leave()
            raise
        custody().add(self._process.pid)
        source, target, errors = self._process.stdout, self._process.stdin, self._process.stderr
        assert source is not None and target is not None and errors is not None  # noqa: PT018, S101  # pipes, as asked for
        self._input = target.fileno()
        polled = hasattr(select, "poll") and not threaded
        self._source: _Source = (
            _PolledPipe(source.fileno(), clock) if polled else ThreadedPipe(os.dup(source.fileno()), clock)
        )
        self._pending = b""
        self._last_words = LastWords(os.dup(errors.fileno()))
        errors.close()
        self._asked = 0

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def _read(self, deadline: _Deadline, count: int) -> bytes:
        while len(self._pending) < count:
            self._pending += self._come(deadline)
        taken, self._pending = self._pending[:count], self._pending[count:]
        return taken

    def _come(self, deadline: _Deadline) -> bytes:
        """The bytes that are there; a worker that has ended sends no more, whoever holds its end of the pipe."""
        ended_before = False
        while True:
            try:
                return self._source(min(deadline.moment, self._clock() + _LOOK_SECONDS))
            except _LateError:
                if ended_before:
                    raise _ClosedError from None
                if deadline.passed():
                    raise
            ended_before = self._process.poll() is not None

    def call(self, do: str, limit: float, begun: Callable[[], int] | None = None, **fields: Any) -> dict[str, Any]:
        """Ask the worker for something and wait for the reply.

        Args:
            do: what to do.
            limit: seconds to wait; for each step, where there are several.
            begun: says how many steps were begun, never more than there are; ``None`` where there is one.
            fields: further members of the message.

        Returns:
            The reply, with either ``answer`` or ``error``, both objects.

        Raises:
            WorkerLost: there is no proper reply; the worker has been stopped.
        """
        if not self._asked:
            custody().used(self._process.pid)
        self._asked += 1
        if not self._asked % _CALLS_A_BURIAL:
            custody().bury()
        try:
            encode = framing.encode_trusted if do in _OFTEN_ASKED else framing.encode
            frame = encode({"id": self._asked, "do": do, **fields})
            while frame:
                frame = frame[os.write(self._input, frame) :]
            deadline = _Deadline(self._clock, limit, begun)
            reply = framing.decode(lambda count: self._read(deadline, count))
            self._check(reply)
        except _LateError:
            self._kill()
            raise self._lost("timeout", "it did not come back", f"no answer within {limit:g} s") from None
        except (_ClosedError, BrokenPipeError, ConnectionResetError):
            self._await_end()
            raise self._lost(*ended(self._kill())) from None
        except framing.GarbledFrame as garbled:
            self._kill()
            raise self.garbled(str(garbled)) from None
        except BaseException:  # Ctrl-C among them: the reply is still to come, so the worker is of no more use
            self._kill()
            raise
        return reply

    def garbled(self, message: str) -> WorkerLost:
        """Stop a worker whose reply cannot be; gives what to raise."""
        self._kill()
        title = "the process answered garbage"
        return self._lost("crash", title, f"{title}: {message}", placed=False)

    def broke(self, message: str) -> WorkerLost:
        """Stop a worker that took away what it shares with the suite; gives what to raise."""
        self._kill()
        return self._lost("crash", "the process changed the size of the shared memory", message, placed=False)

    def _check(self, reply: dict[str, Any]) -> None:
        kind = next(iter(set(reply) - {"id"}), "")
        if len(reply) != 2 or kind not in ("answer", "error") or not isinstance(reply[kind], dict):
            raise framing.GarbledFrame("a reply has neither answer nor error")
        if reply.get("id") != self._asked:
            raise framing.GarbledFrame("a reply to something that was not asked")
        if self._pending:
            raise framing.GarbledFrame("more bytes follow a reply")

    def _lost(self, outcome: str, title: str, text: str, *, placed: bool = True) -> WorkerLost:
        words = self._last_words.text()
        return WorkerLost(outcome, title, f"{text}\nits last words:\n{words}" if words else text, placed=placed)

    def _await_end(self) -> None:
        """Let a process that closed its pipe end by itself, so that its own signal or exit code is seen."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)

    def _kill(self) -> int:
        """End the process and all that it started; gives its return code."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()

    def resources(self, text: str) -> WorkerLost:
        """Stop a worker that holds more than it may; gives what to raise."""
        self._kill()
        return self._lost("resource_error", "the process holds ever more memory", text)

    def left(self, error: Mapping[str, str]) -> WorkerLost:
        """Stop a worker whose implementation was in a further process that is gone; gives what to raise.

        Args:
            error: what the worker says of it: outcome, title (``said``) and text.
        """
        outcome = error.get("outcome")
        self._kill()
        known = outcome if outcome in ("timeout", "resource_error") else "crash"
        return self._lost(known, error["said"], error["text"])

    def stop(self) -> None:
        """End the process and all that stems from it; calling it again does nothing."""
        if self._process.poll() is None:
            self._kill()
        if not self._stopped:
            self._stopped = True
            custody().gone(self._process.pid)
            custody().leave()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._last_words.close()
