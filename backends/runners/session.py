"""A conversation with one runner: every request gets exactly one reply, of a size that is known before it is read.

Nothing is allocated on a runner's word: a reply's length is compared with what can be right before a byte of it is
read. What cannot be a reply ends the conversation with :class:`dmlcts.backends.contract.ProcessLost`.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence

from dmlcts.backends.contract import (
    BackendUnavailable,
    DeviceLost,
    ExecutionFailed,
    InvalidArgument,
    NotSupported,
    ProcessLost,
)
from dmlcts.backends.runners import authentication
from dmlcts.backends.runners.definition import definition
from dmlcts.backends.runners.messages import Hello, encode_hello, hello_sizes, read_hello
from dmlcts.backends.runners.transports import Part, SilentError, Transport
from dmlcts.specs import UsageError

_HEADER = struct.Struct("<IHHQQ")  # the layout "header"; a test compares the two
_GRACE_SECONDS = 2.0
_GARBAGE = "the runner answered garbage"


class Refused(Exception):  # noqa: N818  # it says what came back
    """A runner answered a request with a status other than ok.

    Args:
        status: its name in the definition.
        text: what the runner says of it.
    """

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class RunnerProvesFirst(Exception):  # noqa: N818  # it says what came back
    """A runner does not know `begin`: it may know the earlier order of the proof, on a fresh connection."""


_ERRORS: Mapping[str, type[Exception]] = {
    "invalid_argument": InvalidArgument,
    "not_supported": NotSupported,
    "device_lost": DeviceLost,
    "execution_failed": ExecutionFailed,
    "out_of_memory": MemoryError,
}


class Session:
    """A conversation with a runner.

    Args:
        transport: the way to it.

    Attributes:
        alive: whether it can go on.
        understood: whether the runner could read every request.
        hello: what the runner said of itself; ``None`` before :meth:`greet`.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._number = 0
        known = definition()
        self._kinds = known.kinds
        self._statuses = {number: name for name, number in known.statuses.items()}
        self._allowed = known.statuses_of
        self._reply, self._mark, self._most_text = known.reply, known.mark, known.limits["most_text"]
        self.alive = True
        self.understood = True
        self.hello: Hello | None = None

    def ask(
        self,
        kind: str,
        parts: Sequence[Part] = (),
        sizes: range = range(1),
        into: memoryview | None = None,
        deadline: float | None = None,
    ) -> bytes:
        """Ask for something, and give the reply's payload.

        Args:
            kind: the message's name in the definition.
            parts: its payload.
            sizes: how long the reply's payload may be, without ``into``.
            into: filled by the last bytes of the reply; as many as it has.
            deadline: when to give up, of :func:`time.monotonic`.

        Raises:
            Refused: the runner answered with another status than ok.
            ProcessLost: the runner is gone, or answered what cannot be.
            SilentError: no reply came in time.
        """
        try:
            return self._asked(kind, parts, sizes, into, deadline)
        except Refused:
            raise
        except BaseException:  # Ctrl-C among them: a reply is still to come, so nothing more can be asked
            self.alive = False
            raise

    def _asked(
        self, kind: str, parts: Sequence[Part], sizes: range, into: memoryview | None, deadline: float | None
    ) -> bytes:
        if self._transport.pending():
            raise self.garbled(f"it sent bytes that nothing had asked for: {self._transport.unasked()!r}")
        self._number += 1
        length = sum(map(len, parts))
        head = _HEADER.pack(self._mark, self._kinds[kind], 0, self._number, length)
        self._transport.send([head, *parts])
        answer = memoryview(bytearray(_HEADER.size))
        self._transport.receive(answer, deadline)
        mark, reply, status, number, length = _HEADER.unpack(answer)
        if mark != self._mark:
            raise self.garbled(f"a reply begins with {bytes(answer[:16])!r} where b'DMLR' is due")
        if self._statuses.get(status) == "bad_message":  # to what it did not understand its reply may be of any kind
            raise self._refused(kind, status, length, deadline)
        if reply != self._kinds[kind] | self._reply:
            raise self.garbled(f"message {reply:#06x} where {self._kinds[kind] | self._reply:#06x} answers {kind}")
        if number != self._number:
            raise self.garbled(f"the reply to request {number} where request {self._number} was made")
        if status:
            raise self._refused(kind, status, length, deadline)
        large = 0 if into is None else len(into)
        if length - large not in sizes:
            due = f"{sizes.start + large}" if len(sizes) == 1 else f"{sizes.start + large} to {sizes.stop - 1 + large}"
            raise self.garbled(f"its reply to {kind} claims {length} bytes where {due} are due")
        payload = bytearray(length - large)
        self._transport.receive(memoryview(payload), deadline)
        if into is not None:
            self._transport.receive(into, deadline)
        if self._transport.pending():
            raise self.garbled(f"more bytes follow its reply to {kind}")
        self._transport.check_memory()
        return bytes(payload)

    def _refused(self, kind: str, status: int, length: int, deadline: float | None) -> Exception:
        name = self._statuses.get(status, "")
        if name not in self._allowed[kind]:
            return self.garbled(f"the status {status} {f'({name}) ' if name else ''}in its reply to {kind}")
        if length > self._most_text:
            return self.garbled(f"its error claims {length} bytes of text, at most {self._most_text} are allowed")
        text = bytearray(length)
        self._transport.receive(memoryview(text), deadline)
        message = " ".join(text.decode("utf-8", "replace").split())
        if name == "bad_message":
            self.understood = False
            return self.garbled(f"it says of {kind}: {message}")
        return Refused(name, message)

    def garbled(self, reason: str) -> ProcessLost:
        """Stop a runner whose reply cannot be; gives what to raise."""
        self.alive = False
        return self._transport.lost(_GARBAGE, f"{_GARBAGE}: {reason}")

    def error(self, refused: Refused) -> Exception:
        """The contract's error for a status, with what the runner wrote to its standard error lately."""
        raised = _ERRORS.get(refused.status, ExecutionFailed)
        recent_output = (
            "" if refused.status in ("invalid_argument", "not_supported") else self._transport.recent_output()
        )
        text = refused.text or refused.status.replace("_", " ")
        return raised(f"{text}\nthe runner said:\n{recent_output}" if recent_output else text)

    def greet(
        self,
        options: Mapping[str, str],
        secret: bytes,
        *,
        shared_memory: bool,
        patience: float,
        begun: float | None = None,
        runner_proves_first: bool = False,
    ) -> Hello:
        """Prove the secret where there is one, and say hello.

        Args:
            options: the options of ``-o`` that the runner gets.
            secret: what both sides know; b"" for none.
            shared_memory: whether to offer it.
            patience: seconds that the runner may take for all of it.
            begun: since when they count, of :func:`time.monotonic`; ``None`` for now.
            runner_proves_first: prove the secret in the earlier order. Nothing is lost by asking so: whoever answers
                has to prove the secret before the suite does.

        Raises:
            RunnerProvesFirst: the runner does not know the present order.
            BackendUnavailable: the runner is not there, does not speak the protocol or version, or cannot run.
            UsageError: an option that it does not take, or a secret that it does not know.
        """
        try:
            self.hello = self._greeted(
                encode_hello(options, shared_memory=shared_memory),
                secret,
                (time.monotonic() if begun is None else begun) + patience,
                self._prove_second if runner_proves_first else self._prove_first,
            )
        except SilentError:
            process_lost = self._transport.lost("", f"no hello from the runner within {patience:g} s")
            self.close()
            raise BackendUnavailable(
                str(process_lost), "see that it answers, or give it time: -o patience=SECONDS"
            ) from None
        except BaseException:
            self.close()
            raise
        return self.hello

    def _greeted(self, greeting: bytes, secret: bytes, deadline: float, prove: Callable[[bytes, float], None]) -> Hello:
        try:
            if secret:
                prove(secret, deadline)
            return read_hello(self.ask("hello", [greeting], hello_sizes(), deadline=deadline))
        except Refused as refused:
            raise _not_greeted(refused) from None
        except ProcessLost as lost:
            mend = "see that it speaks dmlcts-runner/1, and that nothing else prints to its standard output"
            raise BackendUnavailable(f"no hello from the runner: {lost}", mend) from None

    def _prove_first(self, secret: bytes, deadline: float) -> None:
        layouts, drawn = definition().layouts, authentication.nonce()
        size = layouts["begin_reply"].size
        asked = layouts["begin"].pack(nonce=drawn)
        try:
            answer = self.ask("begin", [asked], range(size, size + 1), None, deadline)
        except Refused as refused:
            if refused.status == "denied":  # an earlier kit asks for a secret and does not know the message
                raise RunnerProvesFirst from None
            raise
        except ProcessLost:
            if not self.understood:
                raise RunnerProvesFirst from None
            raise
        theirs = layouts["begin_reply"].unpack(answer)["nonce"]
        mine = layouts["authenticate"].pack(proof=authentication.proof(secret, "suite proves", drawn, theirs))
        size = layouts["authenticate_reply"].size
        answer = self.ask("authenticate", [mine], range(size, size + 1), None, deadline)
        proof = layouts["authenticate_reply"].unpack(answer)["proof"]
        if not authentication.proves(proof, secret, "runner proves", drawn, theirs):
            raise Refused("denied", "it does not know the secret")

    def _prove_second(self, secret: bytes, deadline: float) -> None:
        layouts = definition().layouts
        drawn = authentication.nonce()
        size = layouts["challenge_reply"].size
        asked = layouts["challenge"].pack(nonce=drawn)
        reply = layouts["challenge_reply"].unpack(self.ask("challenge", [asked], range(size, size + 1), None, deadline))
        if not authentication.proves(reply["proof"], secret, "runner", drawn, reply["nonce"]):
            raise Refused("denied", "it does not know the secret")
        mine = layouts["prove"].pack(proof=authentication.proof(secret, "suite", drawn, reply["nonce"]))
        self.ask("prove", [mine], deadline=deadline)

    def close(self) -> None:
        """Say bye where that is possible, and let the runner go."""
        if self.alive:
            try:
                self.ask("bye", deadline=time.monotonic() + _GRACE_SECONDS)
            except SilentError:
                self._transport.lost("", "")
            except (Refused, ProcessLost):
                pass  # it is going away anyway
        self.alive = False
        self._transport.close()


def _not_greeted(refused: Refused) -> Exception:
    text = refused.text or "it does not say why"
    if refused.status == "bad_option":
        return UsageError(f"the runner does not take the options: {text}", "see its own documentation")
    if refused.status == "denied":
        mend = "give -o secret=FILE with what the runner was started with"
        return UsageError(f"the runner does not let us in: {text}", mend)
    if refused.status == "bad_version":
        mend = "build it with a kit of this version"
        return BackendUnavailable(f"the runner speaks no version of ours: {text}", mend)
    if refused.status == "not_supported":
        return UsageError("the runner knows no secret", "start it with one, or leave -o secret= away")
    return BackendUnavailable(f"the runner says: {text}")
