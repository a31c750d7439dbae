"""A runner of CLIP on packed FLOAT32 in a few lines of Python, which goes wrong in the way that its argument names.

Run as ``python -I -S bad_runner.py NAME``. ``right`` is the control. It knows nothing of the project: layouts stand
here as a stranger writes them. ``BAD`` maps each name to where it is noticed, as what, and words that are said of it.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

HEADER = struct.Struct("<4sHHQQ")
HELLO, CREATE, DISPATCH, CLOSE, PING, BYE, SHARE = range(1, 8)
BAD: dict[str, tuple[str, str, str]] = {}


def bad(place: str, error: str, words: str = "") -> Callable[[type], type]:
    """Register a bad runner: noticed at open, create, dispatch or close, or at none of them."""

    def add(made: type) -> type:
        BAD[made.__name__] = place, error, words
        return made

    return add


def padded(text: str, size: int) -> bytes:
    return text.encode().ljust(size, b"\0")


class Right:
    """The control: right."""

    level, version, flags = 0x5000, 1, 0

    def __init__(self) -> None:
        self.kernels: dict[int, tuple[float, float, int]] = {}

    # The conversation.

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = os.read(0, size - len(data))
            if not chunk:
                sys.exit(0)
            data += chunk
        return data

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def serve(self) -> None:
        while True:
            _, kind, _, number, length = HEADER.unpack(self.read(HEADER.size))
            status, payload = self.answer(kind, self.read(length))
            self.reply(kind, status, number, payload)
            if kind == BYE:
                sys.exit(0)

    def reply(self, kind: int, status: int, number: int, payload: bytes) -> None:
        self.write(HEADER.pack(b"DMLR", kind | 0x8000, status, number, len(payload)) + payload)

    def answer(self, kind: int, payload: bytes) -> tuple[int, bytes]:
        if kind == HELLO:
            return self.hello()
        if kind == CREATE:
            return self.create(payload)
        if kind == DISPATCH:
            return self.dispatch(payload)
        if kind == SHARE:
            return self.share(payload)
        return 0, payload if kind == PING else b""

    # The messages.

    def hello(self) -> tuple[int, bytes]:
        head = struct.pack("<16sIIIIIIQ", b"dmlcts-runner/1", self.version, self.level, self.flags, 0, 0, 0, 1 << 30)
        return 0, head + padded("bad", 64) + bytes(128 * 3 + 64)

    def create(self, payload: bytes) -> tuple[int, bytes]:
        kernel, operator, tensors, attributes = struct.unpack_from("<IIII", payload)
        assert operator == 8
        sizes = struct.unpack_from("<16I", payload, 24 + 32)
        rank = struct.unpack_from("<I", payload, 24 + 12)[0]
        count = 1
        for size in sizes[:rank]:
            count *= size
        at = 24 + 160 * tensors
        attribute_values = {}
        for index in range(attributes):
            member = struct.unpack_from("<I", payload, at + 24 * index)[0]
            attribute_values[member] = struct.unpack_from("<f", payload, at + 24 * index + 16)[0]
        self.kernels[kernel] = attribute_values[3], attribute_values[4], count
        return 0, struct.pack("<II", kernel, 0)

    def dispatch(self, payload: bytes) -> tuple[int, bytes]:
        kernel, bindings, place, _, size = struct.unpack_from("<IIIIQ", payload)
        memory = bytearray(payload[24 + 24 * bindings :])
        regions = {}
        for index in range(bindings):
            member, _, offset, _ = struct.unpack_from("<IIQQ", payload, 24 + 24 * index)
            regions[member] = offset
        self.compute(kernel, memory, regions)
        return 0, struct.pack("<IIQ", kernel, place, size) + bytes(memory)

    def compute(self, kernel: int, memory: bytearray, regions: dict[int, int]) -> None:
        low, high, count = self.kernels[kernel]
        for value in range(count):
            (x,) = struct.unpack_from("<f", memory, regions[0] + 4 * value)
            struct.pack_into("<f", memory, regions[1] + 4 * value, max(low, min(x, high)))

    def share(self, payload: bytes) -> tuple[int, bytes]:
        return 2, b"no"


class right(Right):  # noqa: N801
    """The control, by its name."""


BAD["right"] = "none", "", ""


# At hello.


@bad("open", "BackendUnavailable", "exit code 0")
class ends_at_once(Right):  # noqa: N801
    def serve(self) -> None:
        sys.exit(0)


@bad("open", "BackendUnavailable", "no such adapter")
class ends_with_words(Right):  # noqa: N801
    def serve(self) -> None:
        sys.stderr.write("no such adapter\n")
        sys.exit(3)


@bad("open", "BackendUnavailable", "SIGSEGV")
class crashes_at_hello(Right):  # noqa: N801
    def hello(self) -> Any:
        os.kill(os.getpid(), signal.SIGSEGV)


@bad("open", "BackendUnavailable", "within 1 s")
class silent_at_hello(Right):  # noqa: N801
    def hello(self) -> Any:
        time.sleep(60)


@bad("open", "BackendUnavailable", "within 1 s")
class dribbles_at_hello(Right):  # noqa: N801
    def reply(self, kind: int, status: int, number: int, payload: bytes) -> None:
        for byte in HEADER.pack(b"DMLR", kind | 0x8000, status, number, len(payload)) + payload:
            self.write(bytes([byte]))
            time.sleep(0.05)


@bad("open", "BackendUnavailable", "b'Hello, world")
class prints_before_hello(Right):  # noqa: N801
    def serve(self) -> None:
        self.write(b"Hello, world. This is a friendly banner.\n")
        super().serve()


@bad("open", "BackendUnavailable", "claims 4294967296 bytes")
class four_gib_hello(Right):  # noqa: N801
    def reply(self, kind: int, status: int, number: int, payload: bytes) -> None:
        self.write(HEADER.pack(b"DMLR", kind | 0x8000, status, number, 1 << 32) + payload)


@bad("open", "BackendUnavailable", "version 2")
class other_version(Right):  # noqa: N801
    version = 2


@bad("open", "BackendUnavailable", "speak 7")
class sends_other_version(Right):  # noqa: N801
    def hello(self) -> Any:
        return 8, b"I speak 7"


@bad("open", "BackendUnavailable", "0x5001")
class no_such_level(Right):  # noqa: N801
    level = 0x5001


@bad("open", "BackendUnavailable", "no GPU")
class unavailable(Right):  # noqa: N801
    def hello(self) -> Any:
        return 6, b"no GPU here"


@bad("open", "UsageError", "colour")
class takes_no_options(Right):  # noqa: N801
    def hello(self) -> Any:
        return 7, b"there is no option colour"


# At create.


@bad("create", "ProcessLost", "SIGABRT")
class aborts_in_create(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        os.abort()


@bad("create", "ProcessLost", "another kernel")
class other_kernel(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        super().create(payload)
        return 0, struct.pack("<II", 77, 0)


@bad("create", "ProcessLost", "claims 0 bytes where 8 are due")
class empty_create(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        return 0, b""


@bad("create", "InvalidArgument", "not today")
class refuses(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        return 1, b"not today"


@bad("create", "NotSupported", "no way")
class no_way(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        return 2, b"no way"


@bad("create", "ProcessLost", "5000 bytes of text")
class talks_too_much(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        return 1, b"x" * 5000


@bad("create", "ProcessLost", "it says of create: I do not understand")
class does_not_understand(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        return 10, b"I do not understand"


# At dispatch: its process.


@bad("dispatch", "ProcessLost", "SIGSEGV")
class crashes(Right):  # noqa: N801
    def dispatch(self, payload: bytes) -> Any:
        sys.stderr.write("about to fall\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)


@bad("dispatch", "ProcessLost", "SIGKILL")
class killed(Right):  # noqa: N801
    def dispatch(self, payload: bytes) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@bad("dispatch", "ProcessLost", "exit code 0")
class ends_early(Right):  # noqa: N801
    def dispatch(self, payload: bytes) -> Any:
        sys.exit(0)


@bad("dispatch", "ProcessLost", "goes on")
class closes_its_output(Right):  # noqa: N801
    def dispatch(self, payload: bytes) -> Any:
        os.close(1)
        time.sleep(60)


@bad("dispatch", "ProcessLost", "exit code 9")
class leaves_a_child(Right):  # noqa: N801
    """The child holds the pipes open; the end of the runner is seen all the same."""

    def dispatch(self, payload: bytes) -> Any:
        if os.fork() == 0:
            time.sleep(3)
        os._exit(9)


# At dispatch: what it answers.


class Lying(Right):
    """Answers a dispatch with a header of its own making."""

    def reply(self, kind: int, status: int, number: int, payload: bytes) -> None:
        if kind != DISPATCH:
            super().reply(kind, status, number, payload)
            return
        self.write(self.lie(number, payload))

    def lie(self, number: int, payload: bytes) -> bytes:
        raise NotImplementedError


def lying(name: str, words: str, lie: Callable[[int, bytes], bytes], error: str = "ProcessLost") -> None:
    globals()[name] = type(name, (Lying,), {"lie": lambda self, number, payload: lie(number, payload)})
    BAD[name] = "dispatch", error, words


def head(number: int, length: int, kind: int = DISPATCH | 0x8000, status: int = 0, mark: bytes = b"DMLR") -> bytes:
    return HEADER.pack(mark, kind, status, number, length)


lying("other_mark", "b'XMLR", lambda n, p: head(n, len(p), mark=b"XMLR") + p)
lying("big_endian", "b'RLMD", lambda n, p: struct.pack(">4sHHQQ", b"RLMD", 0x8003, 0, n, len(p)) + p)
lying("other_kind", "0x8002", lambda n, p: head(n, len(p), kind=0x8002) + p)
lying("no_reply", "0x0003", lambda n, p: head(n, len(p), kind=DISPATCH) + p)
lying("unknown_kind", "0xffff", lambda n, p: head(n, len(p), kind=0xFFFF) + p)
lying("other_number", "the reply to request 1000", lambda n, p: head(1000, len(p)) + p)
lying("earlier_number", "the reply to request 2", lambda n, p: head(n - 1, len(p)) + p)
lying("unknown_status", "status 999", lambda n, p: head(n, 0, status=999))
lying("refuses_dispatch", "invalid_argument", lambda n, p: head(n, 2, status=1) + b"no")
lying("four_gib", "claims 4294967296 bytes", lambda n, p: head(n, 1 << 32) + p)
lying("endless", "claims 18446744073709551615 bytes", lambda n, p: head(n, (1 << 64) - 1) + p)
lying("four_gib_of_text", "4294967296 bytes of text", lambda n, p: head(n, 1 << 32, status=4))
lying("too_short", "are due", lambda n, p: head(n, len(p) - 1) + p[:-1])
lying("too_long", "are due", lambda n, p: head(n, len(p) + 4) + p + b"more")
lying("more_follows", "more bytes follow", lambda n, p: head(n, len(p)) + p + b"more")
lying("answers_twice", "more bytes follow", lambda n, p: 2 * (head(n, len(p)) + p))
lying("random_bytes", "begins with", lambda n, p: bytes(index * 37 % 251 for index in range(3000)))
lying("zeros", "begins with", lambda n, p: bytes(3000))
lying("other_memory", "another kernel or memory", lambda n, p: head(n, len(p)) + p[:8] + struct.pack("<Q", 5) + p[16:])
lying("other_place", "another kernel or memory", lambda n, p: head(n, len(p)) + p[:4] + struct.pack("<I", 1) + p[8:])
lying("kernel_of_others", "another kernel or memory", lambda n, p: head(n, len(p)) + struct.pack("<I", 99) + p[4:])
lying("lost_device", "gone", lambda n, p: head(n, 4, status=3) + b"gone", "DeviceLost")
lying("fails", "no queue", lambda n, p: head(n, 8, status=4) + b"no queue", "ExecutionFailed")
lying("without_words", "execution failed", lambda n, p: head(n, 0, status=4), "ExecutionFailed")
lying("out_of_memory", "full", lambda n, p: head(n, 4, status=5) + b"full", "MemoryError")


@bad("dispatch", "ProcessLost", "exit code 0")
class ends_in_a_header(Lying):  # noqa: N801
    def lie(self, number: int, payload: bytes) -> bytes:
        self.write(head(number, len(payload))[:10])
        sys.exit(0)


@bad("dispatch", "ProcessLost", "exit code 0")
class ends_in_the_memory(Lying):  # noqa: N801
    def lie(self, number: int, payload: bytes) -> bytes:
        self.write(head(number, len(payload)) + payload[:100])
        sys.exit(0)


@bad("dispatch", "ProcessLost", "b'computing")
class prints(Right):  # noqa: N801
    def dispatch(self, payload: bytes) -> Any:
        self.write(b"computing, one moment please\n")
        return super().dispatch(payload)


# What is found out by nobody but the judge, or does not matter.


@bad("dispatch", "wrong", "")
class off_by_one(Right):  # noqa: N801
    def compute(self, kernel: int, memory: bytearray, regions: dict[int, int]) -> None:
        super().compute(kernel, memory, regions)
        struct.pack_into("<f", memory, regions[1] + 8, 1234.0)


@bad("none", "", "")
class chatters(Right):  # noqa: N801
    """More on its standard error than a pipe holds."""

    def dispatch(self, payload: bytes) -> Any:
        sys.stderr.write("so much to say\n" * 40_000)
        return super().dispatch(payload)


@bad("none", "", "")
class dribbles(Right):  # noqa: N801
    """An answer byte by byte is an answer."""

    def reply(self, kind: int, status: int, number: int, payload: bytes) -> None:
        data = HEADER.pack(b"DMLR", kind | 0x8000, status, number, len(payload)) + payload
        for index in range(0, len(data), 7):
            os.write(1, data[index : index + 7])


@bad("none", "", "")
class never_sends_bye(Right):  # noqa: N801
    def answer(self, kind: int, payload: bytes) -> Any:
        if kind == BYE:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)
        return super().answer(kind, payload)


# What hangs: the suite's own limit ends it, so these are tried in a process of their own only.


class hangs_in_create(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        time.sleep(600)


class hangs_in_dispatch(Right):  # noqa: N801
    def dispatch(self, payload: bytes) -> Any:
        sys.stderr.write("waiting for a fence\n")
        sys.stderr.flush()
        time.sleep(600)


class stalls_in_the_memory(Lying):  # noqa: N801
    def lie(self, number: int, payload: bytes) -> bytes:
        self.write(head(number, len(payload)) + payload[:100])
        time.sleep(600)
        return b""


class reads_no_more(Right):  # noqa: N801
    def create(self, payload: bytes) -> Any:
        answer = super().create(payload)
        self.read = lambda size: time.sleep(600)  # type: ignore[method-assign, assignment, return-value]
        return answer


class leaks_when_pinged(Right):  # noqa: N801
    """Holds 16 MiB more after every ping: noticed where that is more than the limit."""

    def answer(self, kind: int, payload: bytes) -> tuple[int, bytes]:
        if kind == PING:
            self.kept = [*getattr(self, "kept", ()), b"x" * (16 << 20)]
        return super().answer(kind, payload)


class leaks_shared_memory(Right):  # noqa: N801
    """The same, in memory that it could share."""

    def answer(self, kind: int, payload: bytes) -> tuple[int, bytes]:
        if kind == PING:
            self.kept = [*getattr(self, "kept", ()), mmap.mmap(-1, 16 << 20)]
            self.kept[-1].write(b"x" * (16 << 20))
        return super().answer(kind, payload)


HANGING = ("hangs_in_create", "hangs_in_dispatch", "stalls_in_the_memory", "reads_no_more")


# What shares memory, and lies about it.


class Sharing(Right):
    flags = 1

    def share(self, payload: bytes) -> tuple[int, bytes]:
        import mmap

        segment, _, size = struct.unpack_from("<IIQ", payload)
        path = payload[32:].partition(b"\0")[0].decode()
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)
        assert self.memory[:16] == payload[16:32]
        return 0, struct.pack("<II", segment, 0) + self.memory[16:32]

    def dispatch(self, payload: bytes) -> tuple[int, bytes]:
        kernel, bindings, place, _, size = struct.unpack_from("<IIIIQ", payload)
        if not place:
            return super().dispatch(payload)
        regions = {}
        for index in range(bindings):
            member, _, offset, _ = struct.unpack_from("<IIQQ", payload, 24 + 24 * index)
            regions[member] = offset
        self.compute(kernel, self.memory, regions)  # type: ignore[arg-type]
        return 0, struct.pack("<IIQ", kernel, place, size)


class shares(Sharing):  # noqa: N801
    """The control."""


class shares_nothing(Sharing):  # noqa: N801
    def share(self, payload: bytes) -> tuple[int, bytes]:
        return 0, payload[:8] + payload[16:32]


class shares_and_does_nothing(Sharing):  # noqa: N801
    def compute(self, kernel: int, memory: bytearray, regions: dict[int, int]) -> None: ...


class takes_no_share(Sharing):  # noqa: N801
    def share(self, payload: bytes) -> tuple[int, bytes]:
        return 2, b"not on this machine"


class truncates(Sharing):  # noqa: N801
    """Would end the suite's process by SIGBUS, if the memory were not sealed."""

    def compute(self, kernel: int, memory: bytearray, regions: dict[int, int]) -> None:
        super().compute(kernel, memory, regions)
        try:
            self.memory.resize(4096)
        except (OSError, SystemError):
            sys.stderr.write("sealed\n")


if __name__ == "__main__":
    globals()[sys.argv[1]]().serve()
