"""A stranger who reaches a listening runner takes no place of those who know its secret, and learns nothing of it."""

from __future__ import annotations

import contextlib
import itertools
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from dmlcts.backends.runners import authentication
from dmlcts.backends.runners.definition import definition
from dmlcts.specs import UsageError
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.runners.test_c_kit import answers, request
from dmlcts.suites.selftest.runners.test_protocol import hello
from dmlcts.suites.selftest.runners.test_transports import children, listening, opened, works

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and processes as POSIX has them")
KNOWN = definition()
LONG = 60.0  # seconds until a test gives up; nothing is asserted of how long anything takes
SILENT = 40  # more than there are places of either sort
NONCE = bytes(range(32))


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    authentication.write_secret(str(path))
    return str(path)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), LONG)


def words(secret: str) -> list[str]:
    return ["--secret", secret] if secret else []


def options(secret: str) -> dict[str, str]:
    return {"secret": secret, "patience": str(LONG)} if secret else {"patience": str(LONG)}


# Places.


@contextlib.contextmanager
def strangers(port: int, count: int) -> Iterator[None]:
    """So many connections that say nothing, or begin to and go no further."""
    with contextlib.ExitStack() as stack:
        for index in range(count):
            stranger = stack.enter_context(connected(port))
            stranger.sendall(request("hello", 1, bytes(48))[: (0, 5, 20)[index % 3]])
        yield


@pytest.mark.parametrize("count", [0, 16, SILENT])
@pytest.mark.parametrize("known", [True, False], ids=["secret", "no secret"])
@pytest.mark.size("thorough", brief=1)
def test_silent_connections_lock_nobody_out(plain_runner: Path, secret: str, known: bool, count: int) -> None:
    path = secret if known else ""
    with listening(plain_runner, *words(path)) as (port, _), strangers(port, count):
        with opened(f"tcp:{port}", **options(path)) as device:
            assert works(device)
            assert works(device, 100_000)
        with opened(f"tcp:{port}", **options(path)) as device:
            assert works(device), "and again"


def test_strangers_take_no_place_of_those_who_know_the_secret(plain_runner: Path, secret: str) -> None:
    """All conversations' places are given away while strangers hold all of theirs, and nobody loses one."""
    with listening(plain_runner, "--secret", secret) as (port, _), contextlib.ExitStack() as stack:
        first = stack.enter_context(opened(f"tcp:{port}", **options(secret)))
        stack.enter_context(strangers(port, SILENT))
        devices = [stack.enter_context(opened(f"tcp:{port}", **options(secret))) for _ in range(15)]
        assert all(works(device) for device in (first, *devices))


def sends_nothing(stranger: socket.socket) -> None:
    """It never does."""


def dribbles(stranger: socket.socket) -> None:
    for byte in itertools.chain(request("begin", 1, NONCE), itertools.repeat(0)):
        stranger.sendall(bytes([byte]))
        time.sleep(0.25)


def begins(stranger: socket.socket) -> None:
    stranger.sendall(request("begin", 1, NONCE))


@pytest.mark.parametrize("does", [sends_nothing, dribbles, begins])
@pytest.mark.size("all", thorough=1)
def test_a_connection_that_proves_nothing_is_ended(
    plain_runner: Path, secret: str, does: Callable[[socket.socket], None]
) -> None:
    """A conversation that is as idle and has proven itself goes on."""
    with listening(plain_runner, "--secret", secret) as (port, pid), opened(f"tcp:{port}", secret=secret) as device:
        (known,) = children(pid)
        with connected(port) as stranger, contextlib.suppress(ConnectionError):
            does(stranger)
            while stranger.recv(4096):
                pass
        for _ in range(int(LONG * 10)):
            if children(pid) == [known]:
                break
            time.sleep(0.1)
        assert children(pid) == [known]
        assert works(device)


@pytest.mark.size("thorough")
def test_a_hello_proves_enough_where_there_is_no_secret(plain_runner: Path) -> None:
    """Half of one does not."""
    with listening(plain_runner) as (port, pid), opened(f"tcp:{port}") as device, connected(port) as stranger:
        stranger.sendall(request("hello", 1, bytes(48))[:-1])
        with contextlib.suppress(ConnectionError):
            assert stranger.recv(1) == b""
        assert len(children(pid)) <= 2
        assert works(device)


# Nothing to guess from.


def sent_by(port: int, *asked: bytes) -> bytes:
    """Everything that a runner sends to whoever says this, to its end."""
    data = b""
    with connected(port) as stranger, contextlib.suppress(ConnectionError):
        stranger.sendall(b"".join(asked))
        stranger.shutdown(socket.SHUT_WR)
        while chunk := stranger.recv(4096):
            data += chunk
    return data


BEGIN = request("begin", 1, NONCE)
PROBES: dict[str, tuple[bytes, ...]] = {
    "nothing": (),
    "garbage": (b"GET / HTTP/1.1\r\n\r\n" + bytes(100),),
    "hello": (request("hello", 1, bytes(48)),),
    "ping": (request("ping", 1, bytes(8)),),
    "bye": (request("bye", 1),),
    "the earlier order": (request("challenge", 1, NONCE), request("prove", 2, bytes(32))),
    "a proof alone": (request("authenticate", 1, bytes(32)),),
    "a beginning": (BEGIN,),
    "a beginning and hello": (BEGIN, request("hello", 2, bytes(48))),
    "two beginnings": (BEGIN, BEGIN),
    "a wrong proof": (BEGIN, request("authenticate", 2, bytes(32))),
    "a short proof": (BEGIN, request("authenticate", 2, bytes(31))),
    "a long proof": (BEGIN, request("authenticate", 2, bytes(33))),
    "an endless proof": (BEGIN, request("authenticate", 2, b"", (1 << 64) - 1)),
    "a beginning and the earlier order": (BEGIN, request("challenge", 2, NONCE)),
    "a beginning and the earlier proof": (BEGIN, request("prove", 2, bytes(32))),
}


def derived(secret: str, nonces: list[bytes]) -> set[bytes]:
    """What could be computed from the secret and what is on the wire: proofs of any order, any way around."""
    known = Path(secret).read_bytes().strip()
    roles = ("suite proves", "runner proves", "suite", "runner")
    return {authentication.proof(known, role, nonce, other) for role in roles for nonce in nonces for other in nonces}


@pytest.mark.parametrize("name", PROBES)
def test_a_stranger_gets_nothing_that_depends_on_the_secret(plain_runner: Path, tmp_path: Path, name: str) -> None:
    """Runners with different secrets say the same, but for what each draws."""
    heard = []
    for number in range(2):
        path = str(tmp_path / f"secret-{number}")
        authentication.write_secret(path)
        with listening(plain_runner, "--secret", path) as (port, _):
            replies = answers(sent_by(port, *PROBES[name]))
        drawn = [
            payload for kind, status, _, payload in replies if kind == 0x8000 | KNOWN.kinds["begin"] and not status
        ]
        assert all(len(payload) == 32 for payload in drawn)
        sent = {payload[at : at + 32] for *_, payload in replies for at in range(len(payload))}
        assert not derived(path, [NONCE, *drawn]) & sent
        heard.append([(kind, status, b"" if payload in drawn else payload) for kind, status, _, payload in replies])
    assert heard[0] == heard[1]
    assert all(status or kind == 0x8000 | KNOWN.kinds["begin"] for kind, status, _ in heard[0])


def test_a_runner_draws_anew_for_each(plain_runner: Path, secret: str) -> None:
    with listening(plain_runner, "--secret", secret) as (port, _):
        assert len({answers(sent_by(port, BEGIN))[0][3] for _ in range(5)}) == 5


def test_an_earlier_suite_gets_a_mend(plain_runner: Path, secret: str) -> None:
    with listening(plain_runner, "--secret", secret) as (port, _):
        ((_, status, _, text),) = answers(sent_by(port, request("challenge", 1, NONCE)))
    assert status == KNOWN.statuses["denied"]
    assert b"the suite proves the secret first" in text


# Proofs.


def proven(port: int, made: Callable[[bytes], bytes]) -> tuple[int, bytes]:
    """Status and payload of the reply to the proof that is made of the runner's nonce, as by a suite by hand."""
    with connected(port) as suite, suite.makefile("rb") as heard:
        suite.sendall(BEGIN)
        theirs = heard.read(24 + 32)[24:]
        suite.sendall(request("authenticate", 2, made(theirs)))
        head = KNOWN.layouts["header"].unpack(heard.read(24))
        return head["status"], heard.read(head["length"])


def test_who_proves_the_secret_gets_the_runners_proof_and_nobody_else(plain_runner: Path, secret: str) -> None:
    known = Path(secret).read_bytes().strip()
    seen: list[bytes] = []

    def right(theirs: bytes) -> bytes:
        seen.append(theirs)
        return authentication.proof(known, "suite proves", NONCE, theirs)

    with listening(plain_runner, "--secret", secret) as (port, _):
        status, proof = proven(port, right)
        assert status == 0
        assert authentication.proves(proof, known, "runner proves", NONCE, seen[0])
        wrong: list[Callable[[bytes], bytes]] = [
            lambda theirs: authentication.proof(known[:-1] + b"x", "suite proves", NONCE, theirs),
            lambda theirs: authentication.proof(known, "runner proves", NONCE, theirs),
            lambda theirs: authentication.proof(known, "suite", NONCE, theirs),
            lambda theirs: authentication.proof(known, "suite proves", theirs, NONCE),
            lambda theirs: authentication.proof(known, "suite proves", NONCE, seen[0]),
            lambda theirs: proof,
            lambda theirs: theirs,
        ]
        for made in wrong:
            assert proven(port, made) == (KNOWN.statuses["denied"], b"the secret is another")


# Whoever answers in the runner's place.

Answering = Callable[[str, bytes], tuple[str, bytes]]


@contextlib.contextmanager
def answering(answer: Answering) -> Iterator[tuple[int, list[tuple[str, bytes]]]]:
    """A listener that answers by a function of a request's kind and payload; gives its port and what it heard.

    A status other than ok ends the connection.
    """
    heard: list[tuple[str, bytes]] = []
    names = {number: name for name, number in KNOWN.kinds.items()}

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                here, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(ConnectionError), here, here.makefile("rb") as file:
                while len(head := file.read(24)) == 24:
                    asked = KNOWN.layouts["header"].unpack(head)
                    name = names[asked["kind"]]
                    payload = file.read(asked["length"])
                    heard.append((name, payload))
                    status, reply = answer(name, payload)
                    kind, fields = asked["kind"] | KNOWN.reply, {"status": KNOWN.statuses[status], "length": len(reply)}
                    here.sendall(KNOWN.layouts["header"].pack(**{**asked, **fields, "kind": kind}) + reply)
                    if status != "ok":
                        break

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1], heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(LONG)


def test_a_runner_that_does_not_know_the_secret_receives_nothing_more(secret: str) -> None:
    refused = pytest.raises(UsageError, match="it does not know the secret")
    with answering(lambda kind, _: ("ok", bytes(32))) as (port, heard), refused:
        opened(f"tcp:127.0.0.1:{port}", secret=secret)
    assert [kind for kind, _ in heard if kind != "bye"] == ["begin", "authenticate"]


def earlier(secret: str, refusal: str) -> Answering:
    """A runner of the earlier order, which does not know `begin`; it proves with this secret."""
    known = Path(secret).read_bytes().strip()
    suite = b""

    def answer(kind: str, payload: bytes) -> tuple[str, bytes]:
        nonlocal suite
        if kind == "begin":
            return refusal, b"what is this?"
        if kind == "challenge":
            suite = payload
            return "ok", NONCE + authentication.proof(known, "runner", suite, NONCE)
        if kind == "prove" and payload != authentication.proof(known, "suite", suite, NONCE):
            return "denied", b""
        return "ok", hello() if kind == "hello" else b""

    return answer


@pytest.mark.parametrize("refusal", ["denied", "bad_message"])
def test_a_runner_of_the_earlier_order_is_still_reached(secret: str, refusal: str) -> None:
    with answering(earlier(secret, refusal)) as (port, heard), opened(f"tcp:{port}", secret=secret) as device:
        assert "the runner proves it first" in device.info.details["secret"]
    assert [kind for kind, _ in heard] == ["begin", "challenge", "prove", "hello", "bye"]


@pytest.mark.parametrize("refusal", ["denied", "bad_message"])
def test_asking_for_the_earlier_order_brings_a_stranger_nothing(secret: str, tmp_path: Path, refusal: str) -> None:
    """He would have to prove the secret first: the suite has sent what it drew, and no proof."""
    other = tmp_path / "other"
    authentication.write_secret(str(other))
    refused = pytest.raises(UsageError, match="it does not know the secret")
    with answering(earlier(str(other), refusal)) as (port, heard), refused:
        opened(f"tcp:{port}", secret=secret)
    assert [kind for kind, _ in heard if kind != "bye"] == ["begin", "challenge"]
    nonces = [payload for _, payload in heard if payload]
    assert not derived(secret, [NONCE, *nonces]) & set(nonces)


def test_a_runner_of_the_present_order_is_not_asked_for_the_earlier_one(plain_runner: Path, secret: str) -> None:
    with listening(plain_runner, "--secret", secret) as (port, _), opened(f"tcp:{port}", secret=secret) as device:
        assert "secret" not in device.info.details


# Secrets.


def made_by_the_kit(runner: Path, path: Path) -> int:
    return subprocess.run([runner, "--new-secret", path], capture_output=True, timeout=LONG, check=False).returncode


def made_by_the_command(_: Path, path: Path) -> int:
    return CliRunner().invoke(main, ["runners", "secret", str(path)]).exit_code


@pytest.mark.parametrize("make", [made_by_the_kit, made_by_the_command])
def test_a_secret_that_was_made_works(plain_runner: Path, tmp_path: Path, make: Callable[[Path, Path], int]) -> None:
    path = tmp_path / "made"
    assert make(plain_runner, path) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    assert len(bytes.fromhex(content.decode().strip())) == 32
    with listening(plain_runner, "--secret", str(path)) as (port, _), opened(f"tcp:{port}", secret=str(path)) as device:
        assert works(device)
    assert make(plain_runner, path) == 2, "a file that is there is not replaced"
    assert path.read_bytes() == content
    assert make(plain_runner, tmp_path / "no" / "folder") == 2
    assert make(plain_runner, tmp_path / "other") == 0
    assert (tmp_path / "other").read_bytes() != content


DRAWN = "9533682e9ca7adb701707d0de731ffebeae4c78adeda7ad888d06bfe674f6b30"
SECRETS: dict[str, tuple[bytes, str]] = {  # content, and why it is refused
    "short": (b"too short", "has 9 bytes"),
    "long": (DRAWN.encode() * 20, "has 1280 bytes|has 1027 bytes"),
    "two letters": (b"a1" * 20, "same few bytes"),
    "a short phrase": (b"correct horse battery staple", "has 28 bytes"),
    "a phrase": (b"correct horse battery staple, and 4 words more", "phrase"),
    "a phrase without spaces": (b"correct-horse-battery-staple-or-another", "phrase"),
    "hexadecimal": (f"{DRAWN}\n".encode(), ""),
    "white space at its ends": (f" {DRAWN[:32]} \r\n".encode(), ""),
    "bytes": (b"\x01" + bytes(range(128, 176)) + b"\x02", ""),
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_that_can_be_guessed_is_refused_on_both_sides(plain_runner: Path, tmp_path: Path, name: str) -> None:
    content, why = SECRETS[name]
    path = tmp_path / "secret"
    path.write_bytes(content)
    if not why:
        assert authentication.read_secret(str(path)) == content.strip()
        with listening(plain_runner, "--secret", str(path)) as (port, _), opened(f"tcp:{port}", secret=str(path)) as it:
            assert works(it)
        return
    with pytest.raises(UsageError, match=f"{why}.*dmlcts runners secret FILE"):
        authentication.read_secret(str(path))
    words = [str(plain_runner), "--listen", "0", "--secret", str(path)]
    done = subprocess.run(words, capture_output=True, timeout=LONG, check=False)
    assert done.returncode == 2
    assert b"--new-secret FILE" in done.stderr


def test_a_secret_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        authentication.read_secret(str(tmp_path / "none"))
