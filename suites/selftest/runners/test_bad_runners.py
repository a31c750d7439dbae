"""What bad runners do is reported rightly, on the call in which they did it, and never hangs or fills the memory."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import DeviceInfo
from dmlcts.backends.contract import ProcessLost
from dmlcts.backends.registry import open_device, resolve
from dmlcts.backends.runners.backend import RunnerDevice
from dmlcts.backends.runners.session import Session
from dmlcts.backends.runners.transports import ProcessTransport
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, describe_device
from dmlcts.reports.documents.wording import is_typed_in_results
from dmlcts.reports.views.run_folder import prepare_folder, write_run
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.judging.losses import judge_surviving
from dmlcts.suites.running.failure_record import failure_of
from dmlcts.suites.running.merge import moved_record
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.results_page import results_page
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.descriptions import case, clip
from dmlcts.suites.selftest.runners.bad_runner import BAD, HANGING

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes as POSIX has them")
SCRIPT = Path(__file__).with_name("bad_runner.py")
TABLES = load_tables()
OUTPUT = 256


def spec(name: str) -> str:
    return f"exec:'{sys.executable}' -I -S '{SCRIPT}' {name}"


def clipping(count: int = 5) -> OperatorDesc:
    return clip(TensorDesc(DataType.FLOAT32, (count,)), Min=np.float32(-1), Max=np.float32(2))


def opened(name: str, **options: str) -> RunnerDevice:
    device = open_device(resolve(spec(name))[1], {"patience": "1" if "hello" in name else "20", **options})
    assert isinstance(device, RunnerDevice)
    return device


def stages(name: str) -> tuple[str, BaseException | None]:
    """Where it went wrong and how, on a conversation of five calls."""
    place = "open"
    memory = np.zeros(512, np.uint8)
    values = memory[:20].view(np.float32)
    values[:] = [-5.0, 0.5, 3.0, 1.0, -0.5]
    try:
        with opened(name) as device:
            place = "create"
            kernel = device.create(clipping())
            place = "dispatch"
            kernel.dispatch(memory, {"InputTensor": Region(0, 20), "OutputTensor": Region(OUTPUT, 20)})
            if list(memory[OUTPUT : OUTPUT + 20].view(np.float32)) != [-1.0, 0.5, 2.0, 1.0, -0.5]:
                return place, AssertionError("wrong")
            place = "close"
            kernel.close()
    except Exception as error:
        return place, error
    return "none", None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", BAD)
def test_what_it_did_is_reported_where_it_did_it(name: str) -> None:
    due, kind, words = BAD[name]
    begun = time.monotonic()
    place, error = stages(name)
    assert time.monotonic() - begun < 15
    assert place == due, error
    if kind == "wrong":
        assert isinstance(error, AssertionError)
    elif due != "none":
        assert type(error).__name__ == kind, repr(error)
        assert words.strip() in str(error), error


def test_there_are_enough_of_them() -> None:
    assert len(BAD) + len(HANGING) >= 50


def test_what_it_printed_last_is_reported() -> None:
    _, error = stages("crashes")
    assert "about to fall" in str(error)
    assert isinstance(error, ProcessLost)
    assert (error.outcome, error.title) == ("crash", "the runner crashed (SIGSEGV)")


def test_a_killed_runner_is_reported_as_a_killed_process() -> None:
    _, error = stages("killed")
    assert isinstance(error, ProcessLost)
    assert error.outcome == "resource_error"


def test_the_next_call_after_a_loss_finds_a_fresh_runner() -> None:
    memory = np.zeros(512, np.uint8)
    regions = {"InputTensor": Region(0, 20), "OutputTensor": Region(OUTPUT, 20)}
    with opened("crashes") as device:
        kernel = device.create(clipping())
        for _ in range(2):
            with pytest.raises(ProcessLost, match="SIGSEGV"):
                kernel.dispatch(memory, regions)
    with opened("right") as device:
        kernel = device.create(clipping())
        assert device._session is not None
        device._session._transport.lost("", "")
        with pytest.raises(ProcessLost):
            kernel.dispatch(memory, regions)
        kernel.dispatch(memory, regions)
        kernel.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not report what another process holds")
@pytest.mark.parametrize(
    "name, allowed, outcome",
    [
        ("leaks_when_pinged", 64 << 20, "resource_error"),
        ("leaks_when_pinged", 1 << 30, ""),
        ("right", 64 << 20, ""),
        ("leaks_shared_memory", 64 << 20, "resource_error"),
        ("leaks_shared_memory", 1 << 30, ""),
    ],
)
def test_one_that_holds_ever_more_memory_is_stopped(name: str, allowed: int, outcome: str) -> None:
    session = Session(ProcessTransport(spec(name).removeprefix("exec:"), allowed))
    session.greet({}, b"", shared_memory=False, patience=20)
    lost: ProcessLost | None = None
    try:
        for token in range(8):
            session.ask("ping", [token.to_bytes(8, "little")], range(8, 9))
    except ProcessLost as error:
        lost = error
    session.close()
    assert (outcome or None) == (lost and lost.outcome), lost
    assert lost is None or "64 MiB are allowed" in str(lost)
    assert left_behind() == []


# In a process of its own, judged.


def judged(name: str, seconds: float, elements: int = 5) -> tuple[Any, str]:
    """What the judge finds, and the pid of nobody left behind."""
    bench = Bench(name, IsolatedBackend(spec(name), seconds), {}, TABLES)
    try:
        case = Case(clipping(elements), Values.of([-5.0, 0.5, 3.0, 1.0, -0.5], DataType.FLOAT32), "clip.formula")
        judgement = judge_surviving(bench, case)
    finally:
        bench.close()
    return judgement, name


def left_behind() -> list[str]:
    output = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout  # noqa: S607
    return [line for line in output.splitlines() if str(SCRIPT) in line and "leaves_a_child" not in line]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name, outcome, words",
    [
        ("right", "", ""),
        ("off_by_one", "fail", ""),
        ("crashes", "crash", "about to fall"),
        ("killed", "resource_error", "the runner was killed"),
        ("other_number", "crash", "the reply to request 1000"),
        ("four_gib", "crash", "4294967296"),
        ("lost_device", "device_lost", "gone"),
        ("fails", "fail", "no queue"),
        ("out_of_memory", "resource_error", "full"),
        ("refuses", "fail", "not today"),
        ("hangs_in_create", "timeout", "no answer within"),
        ("hangs_in_dispatch", "timeout", "no answer within"),
        ("stalls_in_the_memory", "timeout", "no answer within"),
    ],
)
@pytest.mark.size("thorough", brief=1)
def test_the_judge_states_it_of_the_case(name: str, outcome: str, words: str) -> None:
    judgement, _ = judged(name, 1.0 if name in HANGING else 20.0)
    outcomes = {finding.outcome for finding in judgement.findings}
    assert outcomes == ({outcome} if outcome else set())
    if words:
        assert words in "\n".join(repr(finding) for finding in judgement.findings)
    assert left_behind() == []


@pytest.mark.size("thorough")
def test_one_that_reads_no_more_is_ended() -> None:
    """The memory is larger than a pipe holds, and not shared."""
    judgement, _ = judged("reads_no_more", 1.0, 1 << 16)
    assert {finding.outcome for finding in judgement.findings} == {"timeout"}
    assert left_behind() == []


# Shared memory.

LARGE = 1 << 15


def dispatched(name: str, **options: str) -> tuple[RunnerDevice, list[float]]:
    memory = np.zeros(2 * 4 * LARGE, np.uint8)
    memory[: 4 * LARGE].view(np.float32)[:] = 3.0
    memory[4 * LARGE :] = 0xAA
    regions = {"InputTensor": Region(0, 4 * LARGE), "OutputTensor": Region(4 * LARGE, 4 * LARGE)}
    with opened(name, **options) as device:
        kernel = device.create(clipping(LARGE))
        kernel.dispatch(memory, regions)
        kernel.close()
    return device, sorted({float(value) for value in memory[4 * LARGE :].view(np.float32)})


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is shared here")
class TestSharing:
    def test_a_large_memory_is_shared(self) -> None:
        device, values = dispatched("shares")
        assert values == [2.0]
        assert device.info.details["shared_memory"] is True
        assert device._segment is None, "it is given back"

    def test_it_need_not_be(self) -> None:
        device, values = dispatched("shares", shared_memory="no")
        assert values == [2.0]
        assert device.info.details["shared_memory"] is False

    def test_a_runner_that_cannot_look_into_it_gets_it_through_the_pipe(self) -> None:
        assert dispatched("takes_no_share")[1] == [2.0]

    def test_a_runner_that_shares_something_else_is_reported(self) -> None:
        with pytest.raises(ProcessLost, match="another memory than the one that was named"):
            dispatched("shares_nothing")

    def test_what_it_leaves_in_it_is_what_counts(self) -> None:
        assert dispatched("shares_and_does_nothing")[1] != [2.0]

    def test_nobody_can_cut_it_off(self) -> None:
        assert dispatched("truncates")[1] == [2.0]


# What a report prints to see it again.


def recorded(backend: str, folder: str = "out", **options: Any) -> FailureRecord:
    settings = Settings.read(backend=backend, results=folder, **options)
    finding = Finding("clip.formula", "fail", case(clipping(1), (1,)), "1 where 0 is due")
    return failure_of("a test", TABLES, finding, settings)


def test_the_page_s_replay_command_is_typed_where_the_run_was_started(
    tmp_path: Path, dmlcts: Callable[..., Ran]
) -> None:
    """A runner's command may name files from there: from the results folder it starts nothing."""
    runner = tmp_path / "r.sh"
    runner.write_text(f"#!/bin/sh\nexec {spec('off_by_one').removeprefix('exec:')}\n", encoding="utf-8")
    runner.chmod(0o755)
    item = ItemRecord("a test", Outcome.FAIL, 1, (), (), (recorded("exec:./r.sh", "some/where"),))
    now, device = datetime.now(UTC), describe_device(DeviceInfo("bad", "5.0"))
    info = RunInfo("exec:./r.sh", device, "5.0", "quick", 0, False, {}, now, now)
    results = build_results([item], [], info, TABLES)
    page = results_page(results, TABLES)
    write_run(prepare_folder(tmp_path / "some" / "where"), results, [item], page)
    assert "Run it where the run was started." in page
    assert "Paste it into a shell such as bash, where the run was started." in page
    assert "in the results folder" not in page
    command = re.search(r"dmlcts (replay some/where/failures/\S+ --backend [^\s<]+)<", page)
    assert command is not None
    again = dmlcts(*command[1].split())
    assert (again.code, "4 bytes outside the output" in again.out) == (1, True), again.out + again.err


def test_a_replay_that_needs_nothing_of_the_run_s_folder_is_typed_in_the_results_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").touch()

    def of(backend: str, folder: str = "out", **options: Any) -> str:
        return recorded(backend, folder, **options).replay

    for replay in (of("cpu"), of("mine.py:Backend"), of("tcp:127.0.0.1:1", options=("a=b",))):
        assert replay.startswith("dmlcts replay failures/clip.formula-clip-float32-"), replay
        assert is_typed_in_results(replay)
    for replay in (of("exec:java -cp . R"), of("tcp:127.0.0.1:1", options=("secret=secret.txt",))):
        assert replay.startswith("dmlcts replay out/failures/clip.formula-clip-float32-"), replay
        assert not is_typed_in_results(replay)
    assert not is_typed_in_results(of("exec:./r", "failures"))


def test_merged_shards_have_their_replays_in_the_joined_folder() -> None:
    for backend, replay in (
        ("exec:./r", "dmlcts replay whole/failures/f.yaml"),
        ("cpu", "dmlcts replay failures/f.yaml"),
    ):
        record = FailureRecord("clip.formula", "ELEMENT_WISE_CLIP", "INT8", Outcome.FAIL, "t", "1", "", {}, "f.yaml")
        written = "part/failures" if backend != "cpu" else "failures"
        record = replace(record, replay=f"dmlcts replay {written}/f.yaml --backend {backend}")
        (moved,) = moved_record(ItemRecord("t", Outcome.FAIL, 1, (), (), (record,)), Path("whole")).failures
        assert moved.replay == f"{replay} --backend {backend}"
