"""The backend contract over a runner: ``exec:COMMAND`` starts one, ``tcp:HOST:PORT`` reaches one that listens."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.contract import BackendUnavailable, DeviceInfo, DeviceLost, ExecutionFailed, InvalidArgument
from dmlcts.backends.runners import sharing
from dmlcts.backends.runners.authentication import read_secret
from dmlcts.backends.runners.definition import definition
from dmlcts.backends.runners.messages import encode_create, encode_dispatch
from dmlcts.backends.runners.session import Refused, RunnerProvesFirst, Session
from dmlcts.backends.runners.transports import (
    ProcessTransport,
    SocketTransport,
    Transport,
    is_this_machine,
    split_address,
    split_command,
)
from dmlcts.specs import FeatureLevel, OperatorDesc, Region, UsageError

Bytes = NDArray[np.uint8]

PATIENCE_SECONDS = 20.0
_LEAST_PATIENCE, _MOST_PATIENCE = 0.1, 3600.0
_EARLIER_ORDER = "the runner proves it first: whoever reaches the runner can guess at it; build it with the present kit"
LEAST_SHARED = 1 << 16  # smaller memories go quicker through the pipe
_MOST_SHARED = 1 << 34


class RunnerKernel:
    """An operator that is ready in the runner; made again where that was lost in between."""

    def __init__(self, device: RunnerDevice, operator: OperatorDesc) -> None:
        self._device = device
        self._operator = operator
        self._session, self._number = device.made(operator)
        self._members = definition().operators[operator.name]
        reply = definition().layouts["dispatch_reply"]
        self._reply, self._sizes = reply, range(reply.size, reply.size + 1)
        self._closed = False

    def dispatch(self, memory: Bytes, bindings: Mapping[str, Region]) -> None:
        """Run once, as :meth:`dmlcts.backends.contract.Kernel.dispatch`.

        Raises:
            ProcessLost: the runner is gone, or answered what cannot be.
        """
        with self._device.lock:
            self._dispatch(memory, bindings)

    def _dispatch(self, memory: Bytes, bindings: Mapping[str, Region]) -> None:
        session = self._device.session()
        if session is not self._session:
            try:
                self._session, self._number = self._device.made(self._operator)
            except InvalidArgument as error:
                raise ExecutionFailed(f"refused when it was made again in a fresh runner: {error}") from error
            session = self._session
        segment = self._device.segment(memory.size)
        try:
            head = encode_dispatch(self._number, self._members, bindings, memory.size, segment.number if segment else 0)
        except ValueError as error:
            raise ExecutionFailed(str(error)) from None
        if segment is None:
            self._device.check_length(len(head) + memory.size)
            data = memory.data
            self._answered(session, [head, data], data, memory.size, 0)
            return
        segment.bytes[: memory.size] = memory
        try:
            self._answered(session, [head], None, memory.size, 1)
        finally:
            memory[:] = segment.bytes[: memory.size]

    def _answered(self, session: Session, parts: list[Any], into: memoryview | None, size: int, place: int) -> None:
        try:
            payload = session.ask("dispatch", parts, self._sizes, into)
        except Refused as refused:
            raise session.error(refused) from None
        reply = self._reply.unpack(payload)
        if reply != {"kernel": self._number, "place": place, "memory_size": size}:
            raise session.garbled("another kernel or memory than the one that was given")

    def close(self) -> None:
        """Close the kernel; calling it again does nothing."""
        if not self._closed and self._session.alive:
            # what a runner answers does not matter any more; one that is lost here raises
            with self._device.lock, contextlib.suppress(Refused):
                self._session.ask("close", [definition().layouts["close"].pack(kernel=self._number)])
        self._closed = True


class RunnerDevice:
    """A device of a runner; where the runner was lost, the next call starts or reaches it again.

    Args:
        connect: makes a conversation on which hello has been said.
        details: what is recorded beside the runner's own details.
        share: whether memories may be shared.
    """

    def __init__(self, connect: Callable[[], Session], details: Mapping[str, Any], *, share: bool) -> None:
        self.lock = threading.RLock()  # one conversation, and sweeps have several tensors under way
        self._connect = connect
        self._numbers = itertools.count(1)
        self._session: Session | None = connect()
        self._share = share
        self._segment: sharing.SharedSegment | None = None
        hello = self._session.hello
        assert hello is not None  # noqa: S101  # connect says it
        self._hello = hello
        level = FeatureLevel.parse(hello.info["feature_level"])
        self._broken = _description_rules(level) if hello.suite_validates else None
        device_details = {**hello.info["details"], **details, "protocol": definition().protocol}
        device_details["shared_memory"] = share and hello.shared_memory
        if hello.suite_validates:
            device_details["refusals"] = "by the suite, from the spec tables"
        self.info = DeviceInfo(**{**hello.info, "details": device_details})

    def session(self) -> Session:
        """The conversation that goes on, with a fresh runner where the last was lost.

        Raises:
            DeviceLost: there is no further runner to be had.
        """
        if self._session is None or not self._session.alive:
            if self._session is not None:
                self._session.close()
            self._drop_segment()
            try:
                self._session = self._connect()
            except (BackendUnavailable, UsageError) as error:
                self._session = None
                raise DeviceLost(f"the runner was lost and does not come back: {error}") from error
        return self._session

    def made(self, operator: OperatorDesc) -> tuple[Session, int]:
        """Make a kernel in the runner; gives the conversation and the kernel's number there.

        Raises:
            InvalidArgument: the description breaks a rule that the suite checks for the runner.
        """
        broken = self._broken(operator) if self._broken is not None else ""
        if broken:
            raise InvalidArgument(broken)
        number = next(self._numbers)
        message = encode_create(number, operator)
        layout = definition().layouts["create_reply"]
        with self.lock:
            session = self.session()
            try:
                payload = session.ask("create", [message], range(layout.size, layout.size + 1))
            except Refused as refused:
                raise session.error(refused) from None
        if layout.unpack(payload)["kernel"] != number:
            raise session.garbled("another kernel than the one that was asked for")
        return session, number

    def check_length(self, length: int) -> None:
        """Refuse a message that the runner does not accept.

        Raises:
            ExecutionFailed: it is too long.
        """
        if length > self._hello.most_length:
            most = self._hello.most_length
            raise ExecutionFailed(f"a message of {length} bytes, and the runner accepts at most {most}")

    def segment(self, size: int) -> sharing.SharedSegment | None:
        """A shared segment for a memory of ``size`` bytes; ``None`` where it has to follow the message."""
        if not (self._share and self._hello.shared_memory) or not LEAST_SHARED <= size <= _MOST_SHARED:
            return None
        if self._segment is None or self._segment.size < size:
            self._share_again(1 << math.ceil(math.log2(size)))
        return self._segment

    def _share_again(self, size: int) -> None:
        session = self.session()
        number = self._segment.number + 1 if self._segment else 1
        self._drop_segment()
        layouts = definition().layouts
        reply = layouts["share_reply"]
        try:
            segment = sharing.SharedSegment(number, size)
        except OSError:  # the system gives no more: the pipe has to do
            self._share = False
            return
        asked = layouts["share"].pack(segment=number, size=size, token=segment.asked, path=segment.path)
        try:
            answer = reply.unpack(session.ask("share", [asked], range(reply.size, reply.size + 1)))
        except Refused:  # it cannot look into our memory: the pipe has to do
            segment.close()
            self._share = False
            return
        if answer != {"segment": number, "reserved": 0, "token": segment.due}:
            raise session.garbled("it shares another memory than the one that was named")
        self._segment = segment

    def _drop_segment(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def create(self, operator: OperatorDesc) -> RunnerKernel:
        """Make ``operator`` ready, as :meth:`dmlcts.backends.contract.Device.create`.

        Raises:
            ProcessLost: the runner is gone, or answered what cannot be.
        """
        return RunnerKernel(self, operator)

    def ping(self) -> float:
        """Seconds that the shortest question and its answer take.

        Raises:
            ProcessLost: the runner is gone, or answered what cannot be.
        """
        layout = definition().layouts["ping"]
        token = layout.pack(token=time.perf_counter_ns())
        with self.lock:
            session = self.session()
            begun = time.perf_counter()
            try:
                answer = session.ask("ping", [token], range(layout.size, layout.size + 1))
            except Refused as refused:
                raise session.error(refused) from None
            seconds = time.perf_counter() - begun
        if answer != token:
            raise session.garbled("another ping than the one that was sent")
        return seconds

    def close(self) -> None:
        """Say bye to the runner; calling it again does nothing."""
        if self._session is not None:
            self._session.close()
            self._session = None
        self._drop_segment()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _description_rules(level: FeatureLevel) -> Callable[[OperatorDesc], str]:
    """Gives the first rule that a description breaks at ``level``, in words, "" for none."""
    from dmlcts.specs.loading import load_tables  # a runner that refuses by itself needs no tables
    from dmlcts.specs.rules import violations

    tables = load_tables()
    return lambda operator: next((violation.text for violation in violations(operator, level, tables)), "")


class RunnerBackend:
    """The backend that ``exec:`` or ``tcp:`` names.

    Args:
        spec: as after ``--backend``.

    Raises:
        UsageError: it is no command or address.
    """

    def __init__(self, spec: str) -> None:
        self.name = spec
        self._scheme, _, self._rest = spec.partition(":")
        if self._scheme == "exec":
            split_command(self._rest)
        else:
            split_address(self._rest)

    def open(
        self, secret: str = "", patience: str = str(PATIENCE_SECONDS), shared_memory: str = "yes", **options: str
    ) -> RunnerDevice:
        """Start or reach the runner.

        Args:
            secret: the file that holds the secret, for ``tcp:``.
            patience: seconds that the runner may take to say hello.
            shared_memory: "no" sends all memories through the pipe or connection.
            options: are the runner's own.

        Raises:
            BackendUnavailable: there is no runner, or it does not speak the protocol.
            UsageError: an option makes no sense, or is unknown to the runner.
        """
        seconds = _seconds(patience)
        if shared_memory not in ("yes", "no"):
            raise UsageError(f"shared_memory={shared_memory}", "choose yes or no")
        if secret and self._scheme == "exec":
            raise UsageError("exec: needs no secret", "leave -o secret= away")
        known = read_secret(secret) if secret else b""
        if self._scheme == "tcp" and not known and not is_this_machine(split_address(self._rest)[0]):
            mend = "give -o secret=FILE, and start the runner with the same"
            raise UsageError(f"{self.name} is another machine", mend)
        share = shared_memory == "yes" and sharing.can_share()

        def connect() -> Session:
            begun = time.monotonic()  # the patience is for all that has to happen, a second connection among it
            session = Session(self._transport(seconds))
            try:
                session.greet(options, known, shared_memory=share, patience=seconds, begun=begun)
                return session
            except RunnerProvesFirst:
                details["secret"] = _EARLIER_ORDER
            session = Session(self._transport(max(_LEAST_PATIENCE, begun + seconds - time.monotonic())))
            session.greet(options, known, shared_memory=share, patience=seconds, begun=begun, runner_proves_first=True)
            return session

        details = {"runner": self._scheme}
        return RunnerDevice(connect, details, share=share)

    def _transport(self, patience: float) -> Transport:
        if self._scheme == "exec":
            return ProcessTransport(self._rest)
        return SocketTransport(*split_address(self._rest), patience)


def _seconds(written: str) -> float:
    try:
        seconds = float(written)
    except ValueError:
        seconds = math.nan
    if not _LEAST_PATIENCE <= seconds <= _MOST_PATIENCE:
        cause = f"patience={written} is no number of seconds from {_LEAST_PATIENCE:g} to {_MOST_PATIENCE:g}"
        raise UsageError(cause, "give for example patience=60")
    return seconds
