"""The C kit: every compiler here takes it without a warning, and no suite, however wrong, makes it fall."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dmlcts.backends.runners import messages
from dmlcts.backends.runners.definition import definition
from dmlcts.specs import Region
from dmlcts.suites.selftest.runners import kit
from dmlcts.suites.selftest.runners.test_bad_runners import clipping

pytestmark = pytest.mark.skipif(sys.platform == "win32" or bool(kit.missing()), reason=kit.missing() or "POSIX only")
KNOWN = definition()
RUNS = 150


@pytest.mark.parametrize("compiler", kit.COMPILERS)
def test_it_compiles_without_a_warning(compiler: str, tmp_path: Path) -> None:
    command = kit.COMPILERS[compiler]
    if kit.missing(command[0]):
        pytest.skip(kit.missing(command[0]))
    kit.built(tmp_path, *kit.STRICT, command=command)


def test_a_warning_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("int main(void) { int unused; return 0; }\n", encoding="utf-8")
    done = subprocess.run(["cc", *kit.STRICT, str(tmp_path / "x.c")], capture_output=True, timeout=60, check=False)  # noqa: S607
    assert done.returncode


@pytest.fixture(scope="module")
def careful_runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plain runner, built so that every bad access and overflow ends it with words."""
    try:
        return kit.built(tmp_path_factory.mktemp("sanitized"), *kit.SANITIZERS)
    except RuntimeError as error:
        pytest.skip(f"no sanitizers here: {str(error)[:200]}")


def request(kind: str, number: int, payload: bytes = b"", length: int | None = None) -> bytes:
    head = KNOWN.layouts["header"].pack(
        mark=KNOWN.mark, kind=KNOWN.kinds[kind], number=number, length=len(payload) if length is None else length
    )
    return head + payload


MEMBERS = KNOWN.operators["ELEMENT_WISE_CLIP"]
REGIONS = {"InputTensor": Region(0, 20), "OutputTensor": Region(32, 20)}


def conversation(options: dict[str, str] | None = None) -> list[bytes]:
    """A whole right conversation, request by request."""
    hello = messages.encode_hello(options or {}, shared_memory=False)
    dispatch = messages.encode_dispatch(7, MEMBERS, REGIONS, 64, 0) + bytes(64)
    share = KNOWN.layouts["share"].pack(segment=1, size=4096, token=b"x" * 16, path="/dev/zero")
    asked = [
        ("hello", hello),
        ("create", messages.encode_create(7, clipping())),
        ("ping", bytes(8)),
        ("share", share),
        ("dispatch", dispatch),
        ("create", messages.encode_create(8, clipping(3))),
        ("dispatch", dispatch),
        ("close", KNOWN.layouts["close"].pack(kernel=7)),
        ("bye", b""),
    ]
    return [request(kind, number, payload) for number, (kind, payload) in enumerate(asked, 1)]


def run(runner: Path, data: bytes, limit: int = 0) -> subprocess.CompletedProcess[bytes]:
    def limited() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    options = {"ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=1", "UBSAN_OPTIONS": "exitcode=99"}
    environment = {**os.environ, **options}
    return subprocess.run(
        [str(runner)], input=data, capture_output=True, timeout=30, check=False, preexec_fn=limited, env=environment
    )


def answers(data: bytes) -> list[tuple[int, int, int, bytes]]:
    """What came back: kind, status, number and payload of each answer."""
    replies = []
    while data:
        head = KNOWN.layouts["header"].unpack(data)
        assert head["mark"] == KNOWN.mark
        payload = data[24 : 24 + head["length"]]
        assert len(payload) == head["length"]
        replies.append((head["kind"], head["status"], head["number"], payload))
        data = data[24 + head["length"] :]
    return replies


def test_a_right_conversation(careful_runner: Path) -> None:
    done = run(careful_runner, b"".join(conversation()))
    assert (done.returncode, done.stderr) == (0, b"")
    replies = answers(done.stdout)
    assert [(kind & 0x7FFF, status) for kind, status, _, _ in replies] == [
        (1, 0),
        (2, 0),
        (5, 0),
        (7, KNOWN.statuses["not_supported"]),
        (3, 0),
        (2, 0),
        (3, 0),
        (4, 0),
        (6, 0),
    ]
    assert [number for _, _, number, _ in replies] == list(range(1, 10))


BAD = KNOWN.statuses["bad_message"]
HELLO, CREATE, DISPATCH, CLOSE = (conversation()[index] for index in (0, 1, 4, 7))
WRONG: dict[str, tuple[bytes, int]] = {
    "nothing is no fault": (b"", -1),
    "half a header": (HELLO[:10], -1),
    "half a hello": (HELLO[:40], -1),
    "garbage": (b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", BAD),
    "a reply": (HELLO[:5] + b"\x80" + HELLO[6:], BAD),
    "a status in a request": (HELLO[:6] + b"\x01" + HELLO[7:], BAD),
    "an unknown kind": (HELLO + HELLO[:4] + b"\x42\0" + HELLO[6:], BAD),
    "create before hello": (CREATE, BAD),
    "hello twice": (HELLO + HELLO, BAD),
    "another protocol": (HELLO.replace(b"runner/1", b"runner/9"), KNOWN.statuses["bad_version"]),
    "a hello of 4 GiB": (request("hello", 1, b"", 1 << 32), BAD),
    "a hello that counts options it has not": (HELLO[: 24 + 28] + b"\x05" + HELLO[24 + 29 :], BAD),
    "an option": (conversation({"a": "b"})[0], KNOWN.statuses["bad_option"]),
    "an option without an end": (conversation({"a": "b" * 959})[0][:-1] + b"b", BAD),
    "a create of 4 GiB": (HELLO + request("create", 2, b"", 1 << 32), BAD),
    "a create with too many tensors": (
        HELLO + request("create", 2, KNOWN.layouts["create"].pack(tensor_count=17)),
        BAD,
    ),
    "17 tensors that are all there": (
        HELLO
        + request(
            "create",
            2,
            KNOWN.layouts["create"].pack(kernel=9, operator_type=8, tensor_count=17)
            + b"".join(
                KNOWN.layouts["tensor"].pack(member=member, data_type=1, dimension_count=1) for member in range(17)
            ),
        ),
        BAD,
    ),
    "17 attributes that are all there": (
        HELLO
        + request(
            "create",
            2,
            KNOWN.layouts["create"].pack(kernel=9, operator_type=8, attribute_count=17)
            + b"".join(KNOWN.layouts["attribute"].pack(member=member, kind=1) for member in range(17)),
        ),
        BAD,
    ),
    "a create that counts too many": (HELLO + request("create", 2, KNOWN.layouts["create"].pack(tensor_count=1)), BAD),
    "a kernel twice": (HELLO + CREATE + CREATE, BAD),
    "17 dimensions": (HELLO + CREATE.replace(b"\1\0\0\0\0\0\0\0\0\0\0\0\x14", b"\x11\0\0\0\0\0\0\0\0\0\0\0\x14"), BAD),
    "a dispatch of no kernel": (HELLO + DISPATCH, BAD),
    "a dispatch of 4 GiB": (
        HELLO
        + CREATE
        + request("dispatch", 3, messages.encode_dispatch(7, MEMBERS, REGIONS, 1 << 32, 0), (1 << 32) + 72),
        BAD,
    ),
    "a dispatch of 2^64 bytes": (
        HELLO
        + CREATE
        + request("dispatch", 3, messages.encode_dispatch(7, MEMBERS, REGIONS, (1 << 64) - 1, 0), (1 << 64) - 1),
        BAD,
    ),
    "a dispatch whose length is another": (HELLO + CREATE + request("dispatch", 3, DISPATCH[24:], len(DISPATCH)), BAD),
    "a dispatch that ends early": (HELLO + CREATE + DISPATCH[:-1], -1),
    "a short dispatch": (HELLO + CREATE + request("dispatch", 3, bytes(8)), BAD),
    "a binding outside": (
        HELLO
        + CREATE
        + request(
            "dispatch", 3, messages.encode_dispatch(7, MEMBERS, {"InputTensor": Region(48, 20)}, 64, 0) + bytes(64)
        ),
        BAD,
    ),
    "a binding far outside": (
        HELLO
        + CREATE
        + request(
            "dispatch",
            3,
            messages.encode_dispatch(7, MEMBERS, {"InputTensor": Region((1 << 64) - 16, 20)}, 64, 0) + bytes(64),
        ),
        BAD,
    ),
    "a binding at 8": (
        HELLO
        + CREATE
        + request(
            "dispatch", 3, messages.encode_dispatch(7, MEMBERS, {"InputTensor": Region(8, 20)}, 64, 0) + bytes(64)
        ),
        BAD,
    ),
    "a shared memory that was not shared": (
        HELLO + CREATE + request("dispatch", 3, messages.encode_dispatch(7, MEMBERS, REGIONS, 64, 1)),
        BAD,
    ),
    "a close of no kernel": (HELLO + CLOSE, BAD),
    "a challenge where there is no secret": (
        request("challenge", 1, bytes(32)) + HELLO,
        KNOWN.statuses["not_supported"],
    ),
    "a beginning where there is no secret": (request("begin", 1, bytes(32)) + HELLO, KNOWN.statuses["not_supported"]),
    "a proof without a beginning": (request("authenticate", 1, bytes(32)), BAD),
    "a proof of the earlier order": (request("prove", 1, bytes(32)), BAD),
    "half a beginning": (request("begin", 1, bytes(16)), BAD),
    "a tensor that is not bound": (
        HELLO
        + CREATE
        + request(
            "dispatch", 3, messages.encode_dispatch(7, MEMBERS, {"InputTensor": Region(0, 20)}, 64, 0) + bytes(64)
        ),
        KNOWN.statuses["execution_failed"],
    ),
    "a binding that is too small": (
        HELLO
        + CREATE
        + request(
            "dispatch",
            3,
            messages.encode_dispatch(7, MEMBERS, {**REGIONS, "OutputTensor": Region(32, 16)}, 64, 0) + bytes(64),
        ),
        KNOWN.statuses["execution_failed"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_suite_that_is_wrong_is_named_as_wrong(name: str, careful_runner: Path) -> None:
    data, status = WRONG[name]
    done = run(careful_runner, data)
    assert done.returncode in (0, 1), done.stderr.decode()
    assert b"runtime error" not in done.stderr
    assert b"Sanitizer" not in done.stderr
    wrong = [answer for answer in answers(done.stdout) if answer[1]]
    assert [answer[1] for answer in wrong] == ([status] if status >= 0 else [])


@pytest.mark.skipif(sys.platform != "linux", reason="this system does not report how much a process has asked for")
def test_a_memory_is_taken_as_it_arrives(plain_runner: Path) -> None:
    """One GiB is announced and 64 bytes come: hardly more than that is asked of the system."""
    head = messages.encode_dispatch(7, MEMBERS, REGIONS, 1 << 30, 0)
    data = HELLO + CREATE + request("dispatch", 3, head + bytes(64), len(head) + (1 << 30))
    with subprocess.Popen([str(plain_runner)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(data)
        process.stdin.flush()
        hello = KNOWN.layouts["header"].unpack(process.stdout.read(24))["length"]
        process.stdout.read(hello + 24 + 8)  # the replies to hello and create: it reads the dispatch now
        time.sleep(0.2)
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        process.stdin.close()
        assert process.wait(10) == 1
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmPeak"))
    assert peak < 128 << 10, f"{peak} KiB"


def test_no_room_for_a_memory_is_an_answer(plain_runner: Path) -> None:
    """The memory does come, and there is no room for it: an error, and the conversation goes on."""
    size = 100 << 20
    head = messages.encode_dispatch(7, MEMBERS, REGIONS, size, 0)
    data = HELLO + CREATE + request("dispatch", 3, head + bytes(size)) + conversation()[-1]
    done = run(plain_runner, data, 90 << 20)
    assert [answer[1] for answer in answers(done.stdout)] == [0, 0, KNOWN.statuses["out_of_memory"], 0]


def corrupted(random_: random.Random) -> bytes:
    """A right conversation with some of its bytes, lengths or order changed."""
    asked = conversation({"a": "b"} if random_.random() < 0.05 else None)
    match random_.randrange(5):
        case 0:
            random_.shuffle(asked)
        case 1:
            del asked[random_.randrange(len(asked))]
        case 2:
            asked.insert(random_.randrange(len(asked)), random_.choice(asked))
    data = bytearray(b"".join(asked))
    for _ in range(random_.choice((0, 1, 1, 2, 5, 50))):
        at = random_.randrange(len(data))
        data[at] = random_.choice((0, 1, 0x7F, 0x80, 0xFF, random_.randrange(256)))
    for _ in range(random_.choice((0, 0, 1, 3))):  # a number of 32 bits where numbers stand
        at = random_.randrange(len(data) // 4 - 1) * 4
        data[at : at + 4] = random_.choice((0xFFFFFFFF, 0x80000000, 17, 0, 1 << 16)).to_bytes(4, "little")
    if random_.random() < 0.1:
        del data[random_.randrange(len(data)) :]
    return bytes(data)


@pytest.mark.size("thorough")
def test_corrupted_conversations_do_it_no_harm(careful_runner: Path) -> None:
    drawn = random.Random(20)  # noqa: S311  # the same every time
    codes: dict[int, int] = {}
    for number in range(RUNS):
        done = run(careful_runner, corrupted(drawn))
        assert done.returncode in (0, 1), f"conversation {number}: {done.stderr.decode()}"
        assert b"runtime error" not in done.stderr, f"conversation {number}: {done.stderr.decode()}"
        codes[done.returncode] = codes.get(done.returncode, 0) + 1
    assert set(codes) == {0, 1}, "some are right and some are wrong"


@pytest.mark.size("thorough")
def test_its_evidence_verifies(plain_runner: Path) -> None:
    """What a certification of the plain runner carries is judged again from inputs that are made anew."""
    from dmlcts.specs import FeatureLevel
    from dmlcts.suites.certification import evidence
    from dmlcts.suites.running.options import Settings

    settings = Settings.read(backend=f"exec:{plain_runner}", isolation="process")
    planned = [
        item
        for item in evidence.plan(settings.tables, FeatureLevel("5.0"), 0)
        if item.case.operator.name == "ELEMENT_WISE_ROUND"
    ]
    bench = settings.open()
    try:
        outputs, absent = evidence.gather(bench, planned)
    finally:
        bench.close()
    assert absent == []
    assert evidence.judge(planned, outputs, frozenset(), settings.tables) == []
    assert evidence.judge(planned, bytes(len(outputs)), frozenset(), settings.tables), "zeros are no evidence"
