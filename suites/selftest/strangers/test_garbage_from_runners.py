"""Garbage from a runner: whatever bytes come, the suite's side says what is wrong and takes no memory for it."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from dmlcts.backends.contract import ProcessLost, error_kind
from dmlcts.backends.runners.backend import RunnerDevice
from dmlcts.backends.runners.definition import definition
from dmlcts.backends.runners.session import Session
from dmlcts.backends.runners.transports import Part
from dmlcts.specs import DmlctsError, Region
from dmlcts.suites.selftest.runners.test_bad_runners import clipping
from dmlcts.suites.selftest.runners.test_protocol import hello

KNOWN = definition()
RUNS = 4000


class Canned:
    """A transport whose runner said everything beforehand."""

    def __init__(self, data: bytes) -> None:
        self.everything_sent, self.at, self.asked = data, 0, b""

    def send(self, parts: Sequence[Part]) -> None:
        self.asked += b"".join(parts)

    def receive(self, into: memoryview, deadline: float | None) -> None:
        if len(self.everything_sent) - self.at < len(into):
            raise ProcessLost("crash", "ended", "it ended")
        into[:] = self.everything_sent[self.at : self.at + len(into)]
        self.at += len(into)

    def pending(self) -> bool:
        return False  # it said everything at once

    def unasked(self) -> bytes:
        return b""

    def check_memory(self) -> None:
        pass

    def recent_output(self) -> str:
        return ""

    def lost(self, title: str, text: str) -> ProcessLost:
        return ProcessLost("crash", title, text)

    def close(self) -> None: ...


def reply(kind: str, number: int, payload: bytes = b"", status: int = 0) -> bytes:
    head = KNOWN.layouts["header"].pack(
        mark=KNOWN.mark, kind=KNOWN.kinds[kind] | KNOWN.reply, status=status, number=number, length=len(payload)
    )
    return head + payload


MEMORY = 512
RIGHT = [
    reply("hello", 1, hello(detail_count=1) + KNOWN.layouts["detail"].pack(key="a", value="b")),
    reply("create", 2, KNOWN.layouts["create_reply"].pack(kernel=1)),
    reply("dispatch", 3, KNOWN.layouts["dispatch_reply"].pack(kernel=1, memory_size=MEMORY) + bytes(range(256)) * 2),
    reply("close", 4),
    reply("bye", 5),
]


def converse(data: bytes) -> str:
    """How a conversation with what was said ends; anything but the errors that a user sees is raised."""
    place = "open"

    def connect() -> Session:
        session = Session(Canned(data))
        session.greet({}, b"", shared_memory=False, patience=1)
        return session

    try:
        with RunnerDevice(connect, {}, share=False) as device:
            place = "create"
            kernel = device.create(clipping())
            place = "dispatch"
            kernel.dispatch(np.zeros(MEMORY, np.uint8), {"InputTensor": Region(0, 20), "OutputTensor": Region(256, 20)})
            place = "close"
            kernel.close()
    except (ProcessLost, DmlctsError):
        return place
    except Exception as error:
        if error_kind(error) is None and not isinstance(error, MemoryError):
            raise
        return place
    return "none"


def test_the_right_answers() -> None:
    assert converse(b"".join(RIGHT)) == "none"


@pytest.mark.parametrize("length", [1 << 20, 1 << 32, (1 << 63) - 1, (1 << 64) - 1])
@pytest.mark.parametrize("index, place", [(0, "open"), (1, "create"), (2, "dispatch"), (3, "close")])
def test_no_length_is_believed(index: int, place: str, length: int) -> None:
    messages = list(RIGHT)
    messages[index] = messages[index][:16] + length.to_bytes(8, "little") + messages[index][24:]
    tracemalloc.start()
    try:
        assert converse(b"".join(messages)) == place
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def corrupted(drawn: random.Random) -> bytes:
    messages = list(RIGHT)
    match drawn.randrange(6):
        case 0:
            drawn.shuffle(messages)
        case 1:
            del messages[drawn.randrange(len(messages))]
        case 2:
            messages.insert(drawn.randrange(len(messages)), drawn.choice(messages))
        case 3:
            messages[drawn.randrange(len(messages))] = drawn.randbytes(drawn.randrange(100))
    data = bytearray(b"".join(messages))
    heads = [24 * index for index in range(3)]
    for _ in range(drawn.choice((0, 1, 1, 2, 8))):
        at = drawn.choice(heads) + drawn.randrange(24) if drawn.random() < 0.3 else drawn.randrange(len(data))
        data[at] = drawn.choice((0, 1, 0x7F, 0x80, 0xFF, drawn.randrange(256)))
    if drawn.random() < 0.1:
        del data[drawn.randrange(len(data)) :]
    return bytes(data)


def test_corrupted_answers_end_in_words() -> None:
    drawn = random.Random(21)  # noqa: S311  # the same every time
    places = Counter(converse(corrupted(drawn)) for _ in range(RUNS))
    assert set(places) == {"none", "open", "create", "dispatch", "close"}
