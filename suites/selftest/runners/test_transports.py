"""``exec:`` and ``tcp:`` over the C kit: who is let in, what is reported, and that nobody outlives anybody."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dmlcts.backends.contract import BackendUnavailable, ProcessLost
from dmlcts.backends.registry import open_device, resolve
from dmlcts.backends.runners import authentication
from dmlcts.backends.runners.backend import RunnerDevice
from dmlcts.backends.runners.transports import split_address, split_command
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc, UsageError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and processes as POSIX has them")
VALUES = [-5.0, 0.5, 3.0, 1.0, -0.5]
CLIPPED = [-1.0, 0.5, 2.0, 1.0, -0.5]


def works(device: RunnerDevice, count: int = 5) -> bool:
    """Whether a clip of so many elements comes out right."""
    tensor = TensorDesc(DataType.FLOAT32, (count,))
    attributes = {"ScaleBias": None, "Min": np.float32(-1), "Max": np.float32(2)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    size = -(-4 * count // 16) * 16
    memory = np.zeros(2 * size, np.uint8)
    memory[: 4 * count].view(np.float32)[:] = np.resize(VALUES, count)
    kernel = device.create(operator)
    kernel.dispatch(memory, {"InputTensor": Region(0, 4 * count), "OutputTensor": Region(size, 4 * count)})
    kernel.close()
    kernel.close()
    return bool(np.array_equal(memory[size : size + 4 * count].view(np.float32), np.resize(CLIPPED, count)))


def opened(spec: str, **options: str) -> RunnerDevice:
    device = open_device(resolve(spec)[1], options)
    assert isinstance(device, RunnerDevice)
    return device


@contextlib.contextmanager
def listening(runner: Path, *words: str) -> Iterator[tuple[int, int]]:
    """A runner that listens; gives its port and process."""
    process = subprocess.Popen([str(runner), "--listen", "0", *words], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        match = re.search(r"port (\d+)", line)
        assert match, line
        yield int(match[1]), process.pid
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    authentication.write_secret(str(path))
    return str(path)


# exec:


def test_a_command_with_arguments_and_quotations() -> None:
    assert split_command("'a b/runner' --x \"y z\"") == ["a b/runner", "--x", "y z"]


@pytest.mark.parametrize("spec", ["exec:", "exec:  ", "exec:'a", "tcp:", "tcp:x", "tcp:h:0", "tcp:h:65536", "tcp:h:٣"])
def test_what_is_no_command_or_address(spec: str) -> None:
    with pytest.raises(UsageError):
        resolve(spec)


def test_addresses() -> None:
    assert split_address("47800") == ("127.0.0.1", 47800)
    assert split_address("board.example:1") == ("board.example", 1)
    assert split_address("[::1]:65535") == ("::1", 65535)


@pytest.mark.parametrize(
    "command, words",
    [
        ("./no-such-runner", "No such file"),
        ("/", "ermission denied|Is a directory"),
        ("false", "exit code 1"),
        ("true", "exit code 0"),
        ("cat", "0x0001 where 0x8001|message 0x0001"),
    ],
)
def test_a_command_that_is_no_runner(command: str, words: str) -> None:
    with pytest.raises(BackendUnavailable, match=words):
        opened(f"exec:{command}", patience="5")


def test_the_kit_over_pipes(plain_runner: Path) -> None:
    with opened(f"exec:{plain_runner}") as device:
        assert (device.info.name, str(device.info.feature_level)) == ("plain-c", "5.0")
        assert device.info.details["runner"] == "exec"
        assert works(device)
        assert works(device, 100_000)
        assert device.ping() < 1
    device.close()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is shared here")
def test_large_memories_are_shared_and_grow(plain_runner: Path) -> None:
    with opened(f"exec:{plain_runner}") as device:
        sizes = []
        for count in (5, 100_000, 10, 400_000, 100_000):
            assert works(device, count)
            sizes.append(device._segment.size if device._segment else 0)
        assert sizes == [0, 1 << 20, 1 << 20, 1 << 22, 1 << 22]


def test_through_the_pipe_alone(plain_runner: Path) -> None:
    with opened(f"exec:{plain_runner}", shared_memory="no") as device:
        assert works(device, 1_000_000)
        assert device._segment is None


@pytest.mark.parametrize(
    "options, words",
    [
        ({"colour": "red"}, "no option colour"),
        ({"patience": "soon"}, "patience"),
        ({"secret": "x"}, "needs no secret"),
        ({"shared_memory": "maybe"}, "yes or no"),
    ],
)
def test_options_that_make_no_sense(plain_runner: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        opened(f"exec:{plain_runner}", **options)


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_a_runner_ends_when_the_device_closes(plain_runner: Path) -> None:
    device = opened(f"exec:{plain_runner}")
    pid = device._session._transport.pid
    device.close()
    assert gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a runner notices only the end of its pipe")
def test_a_hanging_runner_does_not_outlive_the_process_that_started_it(tmp_path: Path) -> None:
    """The process is killed while its runner sleeps, and cannot send it anything."""
    program = (
        "from dmlcts.backends.runners.transports import ProcessTransport\n"
        "import time\n"
        "print(ProcessTransport('sleep 600').pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the runner went on")


# tcp:


def test_the_kit_over_a_connection(plain_runner: Path) -> None:
    with listening(plain_runner) as (port, _):
        with opened(f"tcp:127.0.0.1:{port}") as device, opened(f"tcp:{port}") as other:
            assert works(device)
            assert works(other, 100_000)
            assert works(device, 100_000)
            assert device.info.details["runner"] == "tcp"
        with opened(f"tcp:localhost:{port}", shared_memory="no") as device:
            assert works(device, 100_000)


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(BackendUnavailable, match="no runner at"):
        opened(f"tcp:127.0.0.1:{port}")


def test_a_listener_that_is_no_runner() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(BackendUnavailable, match=r"no hello from the runner within 0\.5 s"):
            opened(f"tcp:127.0.0.1:{other.getsockname()[1]}", patience="0.5")


def test_a_secret_lets_in_who_knows_it(plain_runner: Path, secret: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    authentication.write_secret(str(other))
    with listening(plain_runner, "--secret", secret) as (port, _):
        with opened(f"tcp:{port}", secret=secret) as device:
            assert works(device)
        with pytest.raises(UsageError, match="the secret is another"):
            opened(f"tcp:{port}", secret=str(other))
        with pytest.raises(UsageError, match="asks for a secret"):
            opened(f"tcp:{port}")
    with listening(plain_runner) as (port, _), pytest.raises(UsageError, match="knows no secret"):
        opened(f"tcp:{port}", secret=secret)


def test_the_secret_itself_is_never_sent(plain_runner: Path, secret: str) -> None:
    """A man in the middle sees what goes by."""
    import threading

    seen = bytearray()
    with listening(plain_runner, "--secret", secret) as (port, _), socket.socket() as middle:
        middle.bind(("127.0.0.1", 0))
        middle.listen()

        def pass_on() -> None:
            here, _ = middle.accept()
            there = socket.create_connection(("127.0.0.1", port))

            def pump(source: socket.socket, target: socket.socket) -> None:
                with contextlib.suppress(OSError):
                    while chunk := source.recv(4096):
                        seen.extend(chunk)
                        target.sendall(chunk)
                with contextlib.suppress(OSError):
                    target.shutdown(socket.SHUT_RDWR)

            back = threading.Thread(target=pump, args=(there, here))
            back.start()
            pump(here, there)
            back.join()
            here.close()
            there.close()

        thread = threading.Thread(target=pass_on)
        thread.start()
        with opened(f"tcp:127.0.0.1:{middle.getsockname()[1]}", secret=secret) as device:
            assert works(device)
        thread.join(10)
    assert b"DMLR" in seen
    assert Path(secret).read_bytes().strip() not in seen


def test_another_machine_needs_a_secret_on_both_sides(plain_runner: Path) -> None:
    with pytest.raises(UsageError, match="another machine"):
        opened("tcp:192.0.2.1:47800")
    done = subprocess.run(
        [str(plain_runner), "--listen", "0", "--address", "0.0.0.0"],  # noqa: S104  # that it does not is the point
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    assert done.returncode == 2
    assert "needs --secret" in done.stderr


def children(pid: int) -> list[int]:
    output = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return [int(word) for word in output.split()]


def test_a_connection_that_crashes_takes_no_other_with_it(plain_runner: Path) -> None:
    with listening(plain_runner) as (port, pid), opened(f"tcp:{port}") as device:
        (first,) = children(pid)
        with opened(f"tcp:{port}") as other:
            (second,) = set(children(pid)) - {first}
            os.kill(first, signal.SIGSEGV)
            with pytest.raises(ProcessLost, match=r"the connection to .* ended"):
                works(device)
            assert works(other)
            assert works(device), "the next call reaches it again"
            assert second in children(pid)


def test_connections_are_counted(plain_runner: Path) -> None:
    """The seventeenth gets a refusal; when one has gone there is room again."""
    with listening(plain_runner) as (port, _), contextlib.ExitStack() as stack:
        devices = [stack.enter_context(opened(f"tcp:{port}")) for _ in range(16)]
        with pytest.raises(BackendUnavailable, match="all places for conversations are taken, 16 of them"):
            opened(f"tcp:{port}")
        devices[3].close()
        with opened(f"tcp:{port}") as device:
            assert works(device)


def test_a_connection_whose_suite_has_gone_is_ended_though_it_hangs(plain_runner: Path) -> None:
    with listening(plain_runner) as (port, pid):
        device = opened(f"tcp:{port}")
        (child,) = children(pid)
        os.kill(child, signal.SIGSTOP)  # as a device that hangs: it notices nothing itself
        device._session.alive = False
        device.close()
        for _ in range(100):
            if not children(pid):
                break
            time.sleep(0.1)
        assert children(pid) == []
