"""What an implementation leaves behind ends before anything is written, and no process of its user opens the judge."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dmlcts.backends.interpreter import own_python
from dmlcts.suites.isolation import custody
from dmlcts.suites.isolation.proxy import IsolatedBackend

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux' own")

DAEMON = '''
import os, pathlib, time
from dmlcts.backends.cpu import CpuBackend

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "results" / "results.json"

def daemon():
    """Forked twice, in a session of its own: rewrites the results as soon as they are there."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    (HERE / f"{os.getpid()}.daemon").touch()
    for _ in range(6000):
        if RESULTS.exists():
            RESULTS.write_text(RESULTS.read_text().replace("CONFORMANT", "FORGED"))
            os._exit(0)
        time.sleep(0.01)
    os._exit(0)

class Backend(CpuBackend):
    def open(self, **options):
        daemon()
        return super().open(**options)
'''
JUDGE = """
import os
from dmlcts.suites.isolation import custody

def opens() -> bool:
    child = os.fork()
    if not child:
        try:
            os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR)
        except PermissionError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

if not os.geteuid():
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    custody._prctl(custody._SET_DUMPABLE, 1)  # which a change of the user takes away
found = [opens()]
with custody.held():
    found.append(opens())
    os.close(os.open("/proc/self/statm", os.O_RDONLY))  # what a judge reads of itself
    os.listdir("/proc/self/fd")
found.append(opens())
print(found)
"""


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def daemons(folder: Path) -> list[int]:
    return [int(path.stem) for path in folder.glob("*.daemon")]


@pytest.mark.parametrize("more", [[], ["-n", "2"]], ids=["in one process", "with pytest-xdist"])
@pytest.mark.size("all", thorough=1)
def test_a_daemon_that_was_forked_twice_ends_before_the_results_are_written(
    dmlcts: Callable[..., Any], tmp_path: Path, more: list[str]
) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON, encoding="utf-8")
    words = ["--backend", "daemon.py:Backend", "--operator", "IS_NAN", "--data-type", "FLOAT16"]
    ran = dmlcts("run", *words, "--clause", "is-nan.sign", "--digest", *more)
    assert ran.code == 0, ran.out + ran.err
    assert len(daemons(tmp_path)) > len(more) // 2, "one for each device that was opened"
    assert not any(map(alive, daemons(tmp_path)))
    time.sleep(0.1)
    written = (tmp_path / "results" / "results.json").read_bytes()
    assert json.loads(written)["verdict"] == "CONFORMANT"
    assert ran.out.splitlines()[-1] == f"results.json sha256:{hashlib.sha256(written).hexdigest()}"


def test_such_a_daemon_outlives_who_does_not_end_it(tmp_path: Path) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON, encoding="utf-8")
    subprocess.run(
        own_python("-c", "import sys; sys.path.append('.'); import daemon; daemon.daemon()"), cwd=tmp_path, check=True
    )
    deadline = time.monotonic() + 60
    while not daemons(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    (pid,) = daemons(tmp_path)
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.size("thorough")
def test_a_sweeps_daemons_end_as_well(dmlcts: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON.replace("results.json", "sweep.json"), encoding="utf-8")
    ran = dmlcts("sweep", "--backend", "daemon.py:Backend", "--operator", "ROUND", "--data-type", "FLOAT16", "-n", "1")
    assert ran.code == 0, ran.out + ran.err
    assert daemons(tmp_path)
    assert not any(map(alive, daemons(tmp_path)))
    assert "FORGED" not in (tmp_path / "results" / "sweep.json").read_text(encoding="utf-8")


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user's, in a session of its own, that was there before."""
    program = "import signal; print(flush=True); signal.pause()"
    with subprocess.Popen(own_python("-c", program), start_new_session=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_the_users_own_processes_and_a_second_implementation_live_on(
    bystander: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON, encoding="utf-8")
    first = IsolatedBackend("cpu", 60).open()
    second = IsolatedBackend(f"{tmp_path / 'daemon.py'}:Backend", 60).open()
    deadline = time.monotonic() + 60
    while not daemons(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    (pid,) = daemons(tmp_path)
    sibling = subprocess.Popen(own_python("-c", "import signal; signal.pause()"))  # as pytest-xdist's processes are
    try:
        first.close()
        assert alive(pid), "it may be the second one's"
        second.close()
        assert not alive(pid)
        assert bystander.poll() is None
        assert sibling.poll() is None
    finally:
        sibling.kill()
        sibling.wait()


def test_what_was_changed_of_this_process_is_put_back() -> None:
    before = custody._prctl(custody._GET_DUMPABLE), custody._subreaper()
    with custody.held(), custody.held():
        assert (custody._prctl(custody._GET_DUMPABLE), custody._subreaper()) == (0, 1)
    assert (custody._prctl(custody._GET_DUMPABLE), custody._subreaper()) == before


def test_daemons_that_end_by_themselves_are_buried(tmp_path: Path) -> None:
    (tmp_path / "brief.py").write_text(DAEMON.replace("range(6000)", "range(0)"), encoding="utf-8")
    device = IsolatedBackend(f"{tmp_path / 'brief.py'}:Backend", 60).open()
    try:
        deadline = time.monotonic() + 60
        while not (any(child.ended for child in custody._children())) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert any(child.ended for child in custody._children())
        custody.custody().bury()
        assert not any(child.ended for child in custody._children())
    finally:
        device.close()


def test_an_ordinary_users_process_does_not_open_the_judge() -> None:
    done = subprocess.run(own_python("-c", JUDGE), capture_output=True, text=True, timeout=60, check=False)
    if done.stdout == "[False, False, False]\n":
        pytest.skip("here no process opens another's memory anyway")
    assert done.stdout == "[True, False, True]\n", done.stdout + done.stderr
