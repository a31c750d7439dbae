"""`dmlcts sweep --scheduler` at an address where something else answers: one clear line, soon, in little memory."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from dmlcts.specs import UsageError
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.sweeping.worker_pools.schedulers import check_scheduler

msgpack = pytest.importorskip("msgpack", reason="needs distributed (the extra `cluster`)")
SECONDS = 2.0


def greeting(**changes: object) -> bytes:
    """What a scheduler says first, with members changed."""
    fields = {"compression": None, "python": [3, 11, 7], "pickle-protocol": 5, **changes}
    frame = msgpack.packb({key: value for key, value in fields.items() if value != "left out"})
    body = (1).to_bytes(8, "little") + len(frame).to_bytes(8, "little") + frame
    return len(body).to_bytes(8, "little") + body


@contextmanager
def answering(first: bytes, *, waits: bool = False, then: str = "close", most: int = 8) -> Iterator[str]:
    """A server on the loopback that says one thing to at most so many visitors; gives its address.

    Args:
        first: what it says.
        waits: only after the visitor has said something, as a web server does.
        then: "close", "stay" silent, or "drip" a byte now and then.
        most: how many visitors.
    """
    over = threading.Event()
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.1)

    def serve() -> None:
        served = 0
        kept = []
        while not over.is_set() and served < most:
            try:
                visitor, _ = server.accept()
            except TimeoutError:
                continue
            served += 1
            visitor.settimeout(SECONDS)
            try:
                if waits:
                    visitor.recv(1)
                visitor.sendall(first)
                while then == "drip" and not over.wait(0.05):
                    visitor.sendall(b"\x01")
            except OSError:
                pass
            if then == "stay":
                kept.append(visitor)
            else:
                visitor.close()
        for visitor in kept:
            visitor.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
    finally:
        over.set()
        thread.join()
        server.close()


WEB = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
OTHERS = {
    "a web server that speaks at once": (WEB, {}, "would have 3543824036068086856 bytes"),
    "a web server": (WEB, {"waits": True, "then": "stay"}, "says nothing that is whole"),
    "a mail server": (b"220 mail.example ESMTP\r\n", {"then": "stay"}, "its first message would have"),
    "a shell server": (b"SSH-2.0-OpenSSH_9.2\r\n", {"then": "stay"}, "its first message would have"),
    "silence": (b"", {"then": "stay"}, "says nothing that is whole"),
    "a closed door": (b"", {}, "closes the connection"),
    "a length alone": ((100).to_bytes(8, "little"), {"then": "stay"}, "says nothing that is whole"),
    "a message that drips": ((60_000).to_bytes(8, "little"), {"then": "drip"}, "says nothing that is whole"),
    "no byte": ((0).to_bytes(8, "little"), {}, "would have 0 bytes"),
    "a gibibyte": ((1 << 30).to_bytes(8, "little") + bytes(1000), {"then": "stay"}, "would have 1073741824 bytes"),
    "zeros": ((64).to_bytes(8, "little") + bytes(64), {}, "is no greeting"),
    "very many frames": ((16).to_bytes(8, "little") + b"\xff" * 16, {}, "is no greeting"),
    "a frame of random bytes": (
        (24).to_bytes(8, "little")
        + (1).to_bytes(8, "little")
        + (8).to_bytes(8, "little")
        + b"\xc1\xff\xfe\x93\x00\x01\x02\x03",
        {},
        "is no greeting",
    ),
    "a map of something else": (greeting(python="left out"), {}, "is no greeting"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_something_else_is_reported_soon_and_in_little_memory(name: str) -> None:
    first, manner, message = OTHERS[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with answering(first, **manner) as address:  # type: ignore[arg-type]  # the manner's members are its arguments
        started = time.monotonic()
        with pytest.raises(UsageError, match="is no Dask scheduler") as refused:
            check_scheduler(address, SECONDS)
        assert time.monotonic() - started < SECONDS + 3
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


def test_a_greeting_is_one() -> None:
    with answering(greeting()) as address:
        check_scheduler(address, SECONDS)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:99999", "tcp://", ":"])
def test_an_address_where_nobody_is(address: str) -> None:
    with pytest.raises(UsageError, match="no scheduler answers at"):
        check_scheduler(address, SECONDS)


def listens(port: int) -> bool:
    """Whether anybody answers there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.size("thorough")
def test_a_scheduler_is_not_disturbed_by_being_looked_at() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not listens(port) and time.monotonic() < deadline:
            time.sleep(0.2)
        for address in (f"tcp://127.0.0.1:{port}", f"127.0.0.1:{port}"):
            check_scheduler(address, 5.0)
    finally:
        scheduler.terminate()
        _, errors = scheduler.communicate(timeout=30)
    assert "Traceback" not in errors


def test_the_command_states_it_in_one_line(dmlcts: Callable[..., Ran]) -> None:
    with answering(WEB) as address:
        ran = dmlcts("sweep", "--backend", "cpu", "--scheduler", address)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
    assert f"what answers at {address} is no Dask scheduler" in ran.err
