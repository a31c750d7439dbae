"""The ways to a runner: a process of its own and its pipes, or a connection to another machine. Bytes, no messages."""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from dmlcts.backends.contract import BackendUnavailable, ProcessLost
from dmlcts.backends.endings import LastWords, Outcome, ended
from dmlcts.backends.interpreter import users_environment
from dmlcts.backends.memory_increase import MemoryIncrease, Resident, most_memory_increase, overgrown
from dmlcts.backends.runners.sharing import all_shared
from dmlcts.specs import UsageError

Part = bytes | memoryview

_LOOK_SECONDS = 0.2  # how often a silent pipe is left, to see whether the runner is there: others may hold it open
_GRACE_SECONDS = 2.0
_CONNECT_SECONDS = 10.0
_MOST_PARTS_AT_ONCE = 1 << 16  # what one write takes whole, so that small messages need one
_MOST_SHOWN = 24  # bytes: what is shorter than a header is shown where a runner ends, for it may be words
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


class SilentError(Exception):
    """Nothing came within the limit."""


class Transport(Protocol):
    """A way to one runner."""

    def send(self, parts: Sequence[Part]) -> None:
        """Send all of it.

        Raises:
            ProcessLost: the runner takes no more.
        """

    def receive(self, into: memoryview, deadline: float | None) -> None:
        """Fill ``into``, until :func:`time.monotonic` is ``deadline``; ``None`` waits as long as it takes.

        Raises:
            ProcessLost: the runner sends no more.
            SilentError: it did not do so in time.
        """

    def pending(self) -> bool:
        """Whether there are bytes that nobody has received."""

    def unasked(self) -> bytes:
        """The first bytes that nobody has received; none where there are none. They are received by that."""

    def recent_output(self) -> str:
        """The last lines of the runner's standard error by now; "" where they are not to be had."""

    def lost(self, title: str, text: str) -> ProcessLost:
        """Stop a runner that did what it must not do; gives what to raise."""

    def check_memory(self) -> None:
        """Stop a runner that holds far more memory than at its first check, where that can be seen from here.

        Raises:
            ProcessLost: it does, as ``resource_error``.
        """

    def close(self) -> None:
        """Let the runner go; calling it again does nothing."""


def _joined(parts: Sequence[Part]) -> Sequence[Part]:
    """The parts as few writes: small ones in one piece, large ones without a copy."""
    return [b"".join(parts)] if sum(map(len, parts)) <= _MOST_PARTS_AT_ONCE else parts


class ProcessTransport:
    """A runner that is started here, with its standard input and output.

    Args:
        command: the command line, as after ``exec:``; no shell reads it.
        allowed: by how many bytes the process may grow.

    Raises:
        UsageError: it is no command line.
        BackendUnavailable: it cannot be started.
    """

    def __init__(self, command: str, allowed: int | None = None) -> None:
        words = split_command(command)
        self._allowed = most_memory_increase() if allowed is None else allowed
        self._memory_increase: MemoryIncrease | None = None
        try:
            self._process = subprocess.Popen(  # noqa: S603  # what the user named after exec:
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=users_environment(),
                preexec_fn=_dying_with_parent(),  # one system call
            )
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise BackendUnavailable(f"cannot start {words[0]!r}: {reason}", "check the command after exec:") from None
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None and stdout is not None and stderr is not None  # noqa: PT018, S101  # pipes, as asked for
        self._input, self._output = stdin.fileno(), stdout.fileno()
        self._words = LastWords(os.dup(stderr.fileno()))
        stderr.close()
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(self._output, select.POLLIN)
        self._resident = Resident(self._process.pid)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def send(self, parts: Sequence[Part]) -> None:
        """Send all of it."""
        try:
            for part in _joined(parts):
                left = memoryview(part)
                while left:
                    left = left[os.write(self._input, left) :]
        except OSError:
            raise self._gone(self.unasked()) from None

    def receive(self, into: memoryview, deadline: float | None) -> None:
        """Fill ``into``."""
        whole = into
        while into:
            if self._poll is not None:
                self._await(self._poll, deadline, whole[: len(whole) - len(into)])
            count = os.readv(self._output, [into]) if hasattr(os, "readv") else self._read(into)
            if not count:
                raise self._gone(whole[: len(whole) - len(into)])
            into = into[count:]

    def _read(self, into: memoryview) -> int:
        chunk = os.read(self._output, len(into))
        into[: len(chunk)] = chunk
        return len(chunk)

    def _await(self, poll: select.poll, deadline: float | None, came: memoryview) -> None:
        """Wait for bytes after some that came; a runner that has ended sends no more, whoever holds its end."""
        while True:
            gone = False
            if poll.poll(0):
                return
            gone = self._process.poll() is not None
            wait = _LOOK_SECONDS if deadline is None else max(0.0, min(_LOOK_SECONDS, deadline - time.monotonic()))
            if poll.poll(wait * 1000):
                return
            if gone:
                raise self._gone(came)
            if deadline is not None and time.monotonic() >= deadline:
                raise SilentError

    def pending(self) -> bool:
        """Whether there are bytes that nobody has received; the end of the runner is none."""
        if self._poll is None:
            return False
        return any(event & select.POLLIN for _, event in self._poll.poll(0))

    def unasked(self) -> bytes:
        """The first bytes that nobody has received; none where there are none. They are received by that."""
        return os.read(self._output, _MOST_SHOWN - 1) if self.pending() else b""

    def recent_output(self) -> str:
        """The last lines of its standard error by now."""
        return self._words.so_far()

    def _gone(self, came: memoryview | bytes = b"") -> ProcessLost:
        """What to raise for a runner that ended after some bytes of a message, which may be words instead."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # its own signal or exit code says more than ours
            self._process.wait(_GRACE_SECONDS)
        if self._process.poll() is None:
            return self.lost("the runner closed its pipes", "the runner closed its standard output and goes on")
        outcome, title, text = ended(self._process.returncode, "the runner")
        if 0 < len(came) < _MOST_SHOWN:
            text += f" after {bytes(came)!r}, which is no whole message"
        return ProcessLost(outcome, title, self._with_words(text))

    def _with_words(self, text: str) -> str:
        output = self._words.text()
        return f"{text}, and said last:\n{output}" if output else text

    def lost(self, title: str, text: str) -> ProcessLost:
        """Stop it; gives what to raise."""
        return self._stopped("crash", title, text)

    def _stopped(self, outcome: Outcome, title: str, text: str) -> ProcessLost:
        self._process.kill()
        self._process.wait()
        return ProcessLost(outcome, title, self._with_words(text))

    def check_memory(self) -> None:
        """Stop it where it holds far more memory than at the first check."""
        held = self._resident.bytes()
        if self._memory_increase is None:
            self._memory_increase = MemoryIncrease(self._allowed, all_shared, self._resident)
            self._memory_increase.begin(held)
        reason = overgrown(self._memory_increase.grown(held), self._allowed)
        if reason:
            raise self._stopped("resource_error", "the runner holds ever more memory", f"it was stopped: {reason}")

    def close(self) -> None:
        """Close its input, give it a moment to end, then end it."""
        self._resident.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._words.close()


def split_command(command: str) -> list[str]:
    """The words of a command line after ``exec:``, by the rules of a POSIX shell, of which none is started.

    Raises:
        UsageError: there are none, or a quotation does not end.
    """
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be read: {error}", "close the quotation") from None
    if not words:
        raise UsageError("exec: names no command", "write exec:COMMAND, for example exec:./runner")
    return words


def _dying_with_parent() -> Callable[[], object] | None:
    """What a new process does first, so that it does not outlive this one; ``None`` where nothing can be done."""
    # the signal comes when the thread that started the process ends, so only the main thread may
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    prctl = ctypes.CDLL(None).prctl  # looked up here: the new process may do next to nothing
    return lambda: prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))


class SocketTransport:
    """A runner that listens on an address.

    Args:
        host: a name or address.
        port: from 1 to 65535.
        patience: seconds that taking the connection may last, where they are fewer than ten.

    Raises:
        BackendUnavailable: nobody takes the connection.
    """

    def __init__(self, host: str, port: int, patience: float = _CONNECT_SECONDS) -> None:
        self._where = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), min(patience, _CONNECT_SECONDS))
        except OSError as error:
            reason = error.strerror or str(error)
            mend = "start the runner there, and see that it listens on that address"
            raise BackendUnavailable(f"no runner at {self._where}: {reason}", mend) from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(None)

    def send(self, parts: Sequence[Part]) -> None:
        """Send all of it."""
        try:
            for part in _joined(parts):
                self._socket.sendall(part)
        except OSError as error:
            raise self._gone(error) from None

    def receive(self, into: memoryview, deadline: float | None) -> None:
        """Fill ``into``.

        Raises:
            SilentError: nothing came in time.
        """
        while into:
            self._socket.settimeout(None if deadline is None else max(0.001, deadline - time.monotonic()))
            try:
                count = self._socket.recv_into(into)
            except TimeoutError:
                raise SilentError from None
            except OSError as error:
                raise self._gone(error) from None
            if not count:
                raise self._gone(None)
            into = into[count:]
        self._socket.settimeout(None)

    def pending(self) -> bool:
        """Whether there are bytes that nobody has received; the end of the connection is none."""
        self._socket.setblocking(False)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except OSError:
            return False
        finally:
            self._socket.setblocking(True)

    def unasked(self) -> bytes:
        """The first bytes that nobody has received; none where there are none. They are received by that."""
        return self._socket.recv(_MOST_SHOWN - 1) if self.pending() else b""

    def recent_output(self) -> str:
        """Nothing: its standard error is where it runs."""
        return ""

    def _gone(self, error: OSError | None) -> ProcessLost:
        why = f" ({error.strerror or error})" if error is not None else ""
        text = f"the connection to {self._where} ended{why}; the runner's own words are where it runs"
        return ProcessLost("crash", "the runner ended the connection", text)

    def lost(self, title: str, text: str) -> ProcessLost:
        """End the connection; gives what to raise."""
        self.close()
        return ProcessLost("crash", title, text)

    def check_memory(self) -> None:
        """Nothing: its machine is another one."""

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


def split_address(written: str) -> tuple[str, int]:
    """Host and port of what stands after ``tcp:``; without a host it is this machine.

    Raises:
        UsageError: it is no address.
    """
    host, _, port = written.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise UsageError(f"tcp:{written} names no port", "write tcp:HOST:PORT, for example tcp:127.0.0.1:47800")
    return host, int(port)


def is_this_machine(host: str) -> bool:
    """Whether an address can only be this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
