"""The implementation in its own process: what it does to itself is an outcome of the case that was running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.contract import ContractError, DeviceInfo
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.description_data import read_operator, write_operator
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution, Mishap, Outcome, Refusal
from dmlcts.suites.cases.values import Values
from dmlcts.suites.isolation.descriptions import read_info, write_info
from dmlcts.suites.isolation.memory import PAGE, SharedMemory
from dmlcts.suites.isolation.process import WorkerProcess
from dmlcts.suites.isolation.proxy import Host, IsolatedBackend, IsolatedDevice
from dmlcts.suites.judging.judge import ConformanceFailure, Judge
from dmlcts.suites.judging.losses import Hazards, judge_surviving, survey
from dmlcts.suites.selftest.isolation import faulty, hostile_backends

TABLES = load_tables()
FAULTY = "dmlcts.suites.selftest.isolation.faulty"
SECONDS = 4.0  # long enough for a busy machine


def opened(backend: str = "Obeys", seconds: float = SECONDS, **options: str) -> Bench:
    return Bench(backend, IsolatedBackend(f"{FAULTY}:{backend}", seconds), options, TABLES)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    fresh_bench = opened()
    fresh_bench.hazards = Hazards()
    yield fresh_bench
    fresh_bench.close()


def ordered(minimum: float, *, sizes: tuple[int, ...] = (5,), maximum: float = 2000.0) -> Case:
    """CLIP on FLOAT32 zeros, with an order for :class:`faulty.Obeys` in Min."""
    tensor = TensorDesc(DataType.FLOAT32, sizes)
    attributes = {"ScaleBias": None, "Min": np.float32(minimum), "Max": np.float32(maximum)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    return Case(operator, Values.of([0.0], DataType.FLOAT32), "clip.formula")


def step_by_step(bench: Bench, case: Case) -> Outcome:
    """What :meth:`Bench.run` does, in three messages instead of one."""
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return kernel
    outcome = bench.run_on(kernel, case, bench.prepare(case))
    return bench.closed(kernel) or outcome


HARMLESS = ordered(-1.0)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and guard pages are POSIX's")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("run", [Bench.run, step_by_step], ids=["at once", "step by step"])
@pytest.mark.parametrize(
    "order, outcome, message",
    [
        pytest.param(faulty.ABORT, "crash", "SIGABRT", marks=POSIX),
        (faulty.EXIT, "crash", "exit code 3"),
        pytest.param(faulty.KILL, "resource_error", "SIGKILL", marks=POSIX),
        (faulty.GARBLE, "crash", "garbage"),
        pytest.param(faulty.STRAY, "crash", "SIGSEGV", marks=POSIX),
        (faulty.SLACK, "fail", "3 bytes outside the memory changed"),
        (faulty.LOSE, "device_lost", "DeviceLost: device removed"),
        (faulty.RAISE, "crash", "FloatingPointError: invalid value encountered"),
    ],
    ids=["abort", "exit", "kill", "garbage", "far stray", "near stray", "device lost", "exception"],
)
@pytest.mark.size("thorough", brief=2)
def test_a_fault_is_the_outcome_of_its_case_and_the_run_goes_on(
    bench: Bench, order: int, outcome: str, message: str, run: Callable[[Bench, Case], Outcome]
) -> None:
    assert isinstance(run(bench, HARMLESS), Execution)
    mishap = run(bench, ordered(order))
    assert isinstance(mishap, Mishap)
    assert (mishap.outcome, message in mishap.text) == (outcome, True), mishap
    assert isinstance(run(bench, HARMLESS), Execution)


def test_the_last_words_of_a_crashed_process_are_reported(bench: Bench) -> None:
    mishap = bench.run(ordered(faulty.ABORT))
    assert isinstance(mishap, Mishap)
    assert "about to abort" in mishap.text
    assert mishap.title.startswith("the process crashed")


@pytest.mark.size("thorough")
def test_a_hang_ends_with_the_limit() -> None:
    bench = opened(seconds=1.0)
    try:
        started = time.monotonic()
        mishap = bench.run(ordered(faulty.HANG))
        assert isinstance(mishap, Mishap)
        assert (mishap.outcome, mishap.text.split("\n")[0]) == ("timeout", "no answer within 1.05 s")
        assert time.monotonic() - started < 30
        assert isinstance(bench.run(HARMLESS), Execution)
    finally:
        bench.close()


@pytest.mark.size("thorough")
def test_a_hang_ends_where_only_a_thread_can_wait_for_a_pipe() -> None:
    def threaded(*arguments: Any) -> WorkerProcess:
        return WorkerProcess(*arguments, threaded=True)

    device = IsolatedDevice(Host(f"{FAULTY}:Obeys", 1.0, start=threaded), {})
    bench = Bench("threaded", None, {}, TABLES, device=device)
    for order, outcome in ((-1.0, ""), (faulty.HANG, "timeout"), (faulty.EXIT, "crash"), (-1.0, "")):
        assert getattr(bench.run(ordered(order)), "outcome", "") == outcome
    bench.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux seals memory")
@pytest.mark.parametrize("order", [faulty.TRUNCATE, faulty.EXTEND], ids=["cut off", "made longer"])
def test_sealed_memory_keeps_its_size(bench: Bench, order: int) -> None:
    assert bench._device.host.memory.sealed
    losses = bench.losses
    outcome = bench.run(ordered(order))
    assert isinstance(outcome, Execution), outcome
    assert isinstance(bench.run(ordered(-1.0, sizes=(3, 1000, 1000))), Execution), "more memory can be had"
    assert bench.losses == losses


@POSIX
@pytest.mark.parametrize("order", [faulty.TRUNCATE, faulty.EXTEND], ids=["cut off", "made longer"])
@pytest.mark.size("thorough", brief=1)
def test_memory_that_cannot_be_sealed_is_looked_at_after_every_call(order: int) -> None:
    host = Host(f"{FAULTY}:Obeys", SECONDS, memory=SharedMemory(sealed=False))
    bench = Bench("unsealed", None, {}, TABLES, device=IsolatedDevice(host, {}))
    try:
        assert isinstance(bench.run(HARMLESS), Execution)
        mishap = bench.run(ordered(order))
        assert isinstance(mishap, Mishap)
        assert (mishap.outcome, mishap.title) == ("crash", "the process changed the size of the shared memory")
        assert "the shared memory of" in mishap.text
        assert isinstance(bench.run(HARMLESS), Execution)
    finally:
        bench.close()


@POSIX
@pytest.mark.size("thorough")
def test_a_crash_is_seen_at_once_although_a_daemon_holds_the_pipes_open() -> None:
    bench = opened(seconds=60.0)
    before = len(os.listdir("/dev/fd"))
    try:
        for _ in range(3):
            assert isinstance(bench.run(HARMLESS), Execution)
            started = time.monotonic()
            mishap = bench.run(ordered(faulty.DAEMON))
            assert time.monotonic() - started < 10, "not the limit of a call, and no long farewell"
            assert isinstance(mishap, Mishap)
            assert mishap.outcome == "crash"
            assert "exit code 3" in mishap.text
            assert "about to end" in mishap.text, "its last words are read all the same"
    finally:
        started = time.monotonic()
        bench.close()
        assert time.monotonic() - started < 10
    deadline = time.monotonic() + 10
    while len(os.listdir("/dev/fd")) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(os.listdir("/dev/fd")) <= before, "no descriptor of a pipe that a daemon holds is kept"


def test_output_of_the_implementation_disturbs_nothing(bench: Bench) -> None:
    before = bench.losses
    assert isinstance(bench.run(ordered(faulty.SHOUT)), Execution)
    assert bench.losses == before


@pytest.mark.size("thorough")
def test_a_crash_at_creation_is_the_case_s(bench: Bench) -> None:
    mishap = bench.run(ordered(-1.0, maximum=faulty.ABORT))
    assert isinstance(mishap, Mishap)
    assert mishap.outcome == "crash"


def test_a_process_that_grows_and_grows_is_stopped() -> None:
    for increase, outcome in ((64 << 20, "resource_error"), (1 << 30, "")):
        backend = IsolatedBackend(f"{FAULTY}:Obeys", 30, increase)
        bench = Bench("grows", backend, {}, TABLES)
        result = bench.run(ordered(faulty.GROW))
        assert getattr(result, "outcome", "") == outcome, result
        bench.close()


def test_a_device_that_crashes_while_it_opens_is_unavailable() -> None:
    with pytest.raises(BackendUnavailable, match="was lost while it opened the device"):
        opened("CrashesAtOpen")
    with pytest.raises(UsageError, match="has no option 'nonsense'"):
        opened("LostAt", nonsense="1")


@pytest.mark.parametrize(
    "described", [lambda: DeviceInfo("misdescribed", "6.4", only=["ROUNDD"]), lambda: 1 / 0], ids=["refused", "raises"]
)
def test_a_device_whose_description_is_refused_is_closed(described: Callable[[], Any]) -> None:
    closed = []

    class Device(hostile_backends.Device):
        def close(self) -> None:
            closed.append(self)

    class Misdescribed(hostile_backends.Obedient):
        def open(self) -> Device:
            return Device(self)

        def device_info(self) -> Any:
            return described()

    with pytest.raises(ContractError):
        Bench("misdescribed", Misdescribed(), {}, TABLES)
    assert len(closed) == 1


def test_kernels_made_before_a_crash_work_after_it(bench: Bench) -> None:
    kernels = [bench.create(ordered(low).operator) for low in (-1.0, -2.0)]
    bench.run(ordered(faulty.ABORT))
    for kernel, case in zip(kernels, (ordered(-1.0), ordered(-2.0)), strict=True):
        assert isinstance(bench.run_on(kernel, case, bench.prepare(case)), Execution)
        assert bench.closed(kernel) is None


def test_a_case_that_crashes_again_in_a_fresh_process_is_to_blame(bench: Bench) -> None:
    (finding,) = judge_surviving(bench, ordered(faulty.ABORT)).findings
    assert (finding.clause, finding.outcome, finding.settled) == ("clip.formula", "crash", False)
    assert ("again", "the same in a fresh process: the case itself is to blame") in finding.details


def test_a_case_that_only_suffers_from_the_one_before_is_not_to_blame(bench: Bench) -> None:
    assert isinstance(bench.run(ordered(faulty.POISON)), Execution)
    (finding,) = judge_surviving(bench, HARMLESS).findings
    assert (finding.clause, finding.outcome, finding.settled) == ("execution.independent", "crash", True)
    assert finding.title.endswith("not again in a fresh process")
    assert not judge_surviving(bench, HARMLESS).findings, "the control: nothing is left of it"


def test_a_process_killed_once_is_distinguished_from_one_that_always_is(bench: Bench) -> None:
    kernel = bench.create(HARMLESS.operator)
    host = bench._device.host
    os.kill(host.running().pid, signal.SIGKILL)
    (finding,) = judge_surviving(bench, HARMLESS).findings
    assert (finding.clause, finding.outcome) == ("execution.repeatable", "resource_error")
    assert bench.closed(kernel) is None


def test_after_a_loss_a_property_based_test_does_not_try_smaller_cases(bench: Bench) -> None:
    judge = Judge(bench)
    with pytest.raises(ConformanceFailure):
        judge(ordered(faulty.ABORT))
    lost = bench.losses
    judge(ordered(faulty.ABORT, sizes=(1,)))
    with pytest.raises(ConformanceFailure, match="the process crashed"):
        judge(ordered(faulty.ABORT))
    assert bench.losses == lost, "neither of the two cost a process"
    assert judge.ledger.left_out == 1


@pytest.mark.size("thorough")
def test_a_test_stops_after_a_few_losses_and_counts_what_it_left_out(bench: Bench) -> None:
    judge = Judge(bench)
    with pytest.raises(ConformanceFailure) as failed:
        judge.all(ordered(faulty.ABORT, sizes=(count,)) for count in range(1, 7))
    assert len(failed.value.findings) == 4
    assert judge.ledger.left_out == 2
    control = Judge(bench)
    control.all(ordered(-1.0, sizes=(count,)) for count in range(1, 9))
    assert control.ledger.left_out == 0


@pytest.mark.size("thorough")
def test_a_test_stops_after_two_hangs() -> None:
    bench = opened(seconds=0.5)
    bench.hazards = Hazards()
    try:
        judge = Judge(bench)
        with pytest.raises(ConformanceFailure) as failed:
            judge.all(ordered(faulty.HANG, sizes=(count,)) for count in range(1, 4))
        assert [finding.outcome for finding in failed.value.findings] == ["timeout"] * 2
    finally:
        bench.close()


@pytest.mark.size("thorough")
def test_the_survey_finds_ranks_and_types_that_are_not_survived() -> None:
    bench = opened("AbortsOnInt8")
    try:
        assert survey(bench) == Hazards(
            data_types=frozenset({("ELEMENT_WISE_CLIP", DataType.INT8), ("ELEMENT_WISE_THRESHOLD", DataType.INT8)})
        )
    finally:
        bench.close()


def test_nothing_passes_because_it_was_left_out() -> None:
    bench = opened("AbortsOn7HangsOn6")
    bench.hazards = Hazards(ranks=frozenset({("ELEMENT_WISE_CLIP", 7)}))
    try:
        judge = Judge(bench)
        judge(ordered(-1.0, sizes=(1,) * 7))
        assert (judge.ledger.left_out, dict(judge.ledger.tallies)) == (1, {})
        lost = bench.losses
        with pytest.raises(ConformanceFailure, match="the process crashed"):
            judge.conclude()
        assert bench.losses == lost + 1, "what is known of the case is not tried again"
        other = Judge(bench)
        other(ordered(-1.0, sizes=(1,) * 7))
        other(HARMLESS)
        other.conclude()
        assert not other.ledger.findings, "the control: a test that judged something else ends well"
    finally:
        bench.close()


def test_memory_is_shared_and_reused_but_never_while_someone_looks(bench: Bench) -> None:
    first = bench.run(ordered(-1.0, sizes=(64,)))
    second = bench.run(ordered(3.0, sizes=(64,)))
    assert isinstance(first, Execution)
    assert isinstance(second, Execution)
    assert (first.output == 0).all(), "the second dispatch did not write over what the first gave"
    assert (second.output == 3).all()
    kept = bench.allocate(5000)
    address = kept.ctypes.data
    part = kept[10:20]
    del kept
    assert bench.allocate(5000).ctypes.data != address, "a part is still looked at"
    del part
    assert bench.allocate(5000).ctypes.data == address


@POSIX
def test_a_memory_in_a_larger_segment_ends_where_it_ends(bench: Bench) -> None:
    large = ordered(-1.0, sizes=(1 << 18,))
    half, beyond = (ordered(order, sizes=(1 << 17,)) for order in (-1.0, faulty.NEXT))
    assert isinstance(bench.run(large), Execution)
    memory = bench.allocate(300 * PAGE)
    lease = SharedMemory.lease_of(memory)
    assert lease is not None
    assert lease.segment.pages * PAGE > memory.size
    del memory, lease
    assert isinstance(bench.run(half), Execution)
    mishap = bench.run(beyond)
    assert isinstance(mishap, Mishap)
    assert mishap.outcome == "crash"
    assert isinstance(bench.run(large), Execution)


def test_a_memory_of_another_origin_is_copied_there_and_back(bench: Bench) -> None:
    from dmlcts.suites.cases.memory import Arena

    case = ordered(3.0, sizes=(64,))
    kernel = bench.create(case.operator)
    execution = bench.run_on(kernel, case, Arena.prepare(case))
    assert isinstance(execution, Execution)
    assert (execution.output == 3).all()


def test_a_fresh_device_shares_the_process(bench: Bench) -> None:
    fresh = bench.fresh()
    assert isinstance(fresh.run(HARMLESS), Execution)
    assert fresh._device.host is bench._device.host
    fresh.close()
    assert isinstance(bench.run(HARMLESS), Execution)


class Answers:
    """A worker process that gives prescribed answers, properly framed."""

    def __init__(self, **changes: dict[str, Any]) -> None:
        self.changes = changes
        self.messages: list[str] = []

    def __call__(self, *_: object) -> Answers:
        return self

    def call(self, do: str, limit: float, begun: object = None, **fields: Any) -> dict[str, Any]:
        info = {"name": "x", "feature_level": "5.0"}
        right = {
            "live": {"size": fields.get("size")},
            "open": {"device": fields.get("device"), "name": "x", "info": info},
            "create": {"kernel": fields.get("kernel")},
            "dispatch": {"size": fields.get("size")},
        }
        return self.changes.get(do, {"answer": right.get(do, {})})

    def garbled(self, message: str) -> Exception:
        from dmlcts.suites.isolation.losses import WorkerLost

        self.messages.append(message)
        return WorkerLost("crash", "the process answered garbage", message)

    def stop(self) -> None:
        pass


@pytest.mark.parametrize(
    "changes, message",
    [
        ({}, None),
        ({"dispatch": {"answer": {"size": 7}}}, "another memory"),
        ({"dispatch": {"answer": {}}}, "another memory"),
        ({"create": {"answer": {"kernel": -1}}}, "another kernel"),
        ({"dispatch": {"error": {"kind": 3}}}, "an error without"),
        ({"live": {"answer": {"size": 7}}}, "another memory"),
        ({"live": {"error": {"kind": 3}}}, "an error without"),
    ],
    ids=["right", "other size", "no size", "other kernel", "no error", "other size of all", "no error of all"],
)
def test_an_answer_to_something_else_is_garbage(changes: dict[str, Any], message: str | None) -> None:
    fake = Answers(**changes)
    device = IsolatedDevice(Host("x", start=fake), {})  # type: ignore[arg-type]  # speaks as a process does
    bench = Bench("x", None, {}, TABLES, device=device)
    outcome = bench.run(HARMLESS) if "live" in changes else step_by_step(bench, HARMLESS)
    assert (message is None) == isinstance(outcome, Execution)
    assert [words[: len(message or "")] for words in fake.messages] == ([message] if message else [])


def test_operators_travel_bit_for_bit() -> None:
    nan = np.array(0xFFC12345, np.uint32).view(np.float32)[()]
    tensor = TensorDesc(DataType.INT8, (0, 3, 1 << 32), (0, 5, 7), 1 << 40)
    for attributes in ({"Min": nan, "ScaleBias": ScaleBias(nan, 1)}, {"RoundingMode": "NONE", "ScaleBias": None}):
        operator = OperatorDesc("X", {"InputTensor": tensor}, attributes)
        assert read_operator(write_operator(operator)) == operator


def test_device_descriptions_travel() -> None:
    info = read_info(
        write_info(
            {
                "name": "n",
                "feature_level": 3.0,
                "data_types": {"CLIP": ["INT8"]},
                "driver": 7,
                "details": {"b": object, "a": [1, {2}]},
            }
        )
    )
    assert (info.name, str(info.feature_level), info.driver) == ("n", "3.0", "7")
    assert info.data_types == {"ELEMENT_WISE_CLIP": frozenset({DataType.INT8})}
    assert info.details == {"b": str(object), "a": [1, [2]]}


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process under /proc")
def test_a_worker_does_not_outlive_a_suite_that_is_killed() -> None:
    program = """
import sys
from dmlcts.suites.selftest.isolation.test_isolation import opened, ordered, faulty
bench = opened(seconds=600)
print(bench._device.host.running().pid, flush=True)
bench.run(ordered(faulty.HANG))
"""
    suite = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert suite.stdout is not None
    worker = int(suite.stdout.readline())
    suite.kill()
    suite.wait()
    suite.stdout.close()
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{worker}") and _state(worker) != "Z" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{worker}") or _state(worker) == "Z"


def _state(number: int) -> str:
    try:
        with open(f"/proc/{number}/stat", encoding="ascii") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"
