"""Blocks judged in a stream: nothing is missed, nothing false is reported, and a stream is never trusted."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import DeviceLost, ExecutionFailed, NotSupported
from dmlcts.specs import DataType
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.mutants.streaming import Streaming
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.sweeping.stopped import stopped
from dmlcts.suites.sweeping.blocks import streaming, targets
from dmlcts.suites.sweeping.blocks.explaining import explain
from dmlcts.suites.sweeping.blocks.sweep_judge import SweepJudge
from dmlcts.suites.sweeping.blocks.targets import Block, Target
from dmlcts.suites.sweeping.blocks.totals import Totals, added
from dmlcts.suites.sweeping.worker_pools import workers
from dmlcts.suites.sweeping.worker_pools.workers import together

TABLES = load_tables()
SIZE = 1 << 14
BLOCKS = [Block(0, start, 1 << 16) for start in range(0x3F80_0000, 0x3F84_0000, 1 << 16)]
"""Four blocks of four tensors, from 1.0 on."""


def rounding(mode: str = "HALVES_TO_NEAREST_EVEN", data_type: DataType = DataType.FLOAT32) -> Target:
    clause = {"HALVES_TO_NEAREST_EVEN": "nearest-even", "TOWARD_ZERO": "toward-zero"}.get(mode, "toward-infinity")
    attributes = {"RoundingMode": mode}
    return Target("ELEMENT_WISE_ROUND", data_type, attributes, f"round.{clause}", "patterns", 1 << 32)


def clipping(data_type: DataType) -> Target:
    bounds = {"Min": np.float32(3), "Max": np.float32(100)}
    return Target("ELEMENT_WISE_CLIP", data_type, {"ScaleBias": None, **bounds}, "clip.values", "patterns", 1 << 32)


def sweep_judge_of(made: Any, messages: list[str], *, compiled: bool = False, **streams: Any) -> SweepJudge:
    """A sweep judge that streams; its messages are added to a list."""
    stream_options = {"threads": 2, "least": 1, "report": messages.append, "tensor_elements": SIZE, **streams}
    bench = Bench(made.__name__, made(), {}, TABLES)
    return SweepJudge(bench, streams=stream_options, compiled=compiled, tensor_elements=SIZE)


class Judged:
    """A sweep judge's verdict on some blocks, and its messages."""

    def __init__(
        self,
        made: Any,
        blocks: list[Block] = BLOCKS,
        target: Target | None = None,
        *,
        compiled: bool = False,
        **streams: Any,
    ) -> None:
        self.messages: list[str] = []
        made.opened = 0
        self.target = target or rounding()
        self.sweep_judge = sweep_judge_of(made, self.messages, compiled=compiled, **streams)
        self.bench = self.sweep_judge.bench
        self.totals = self.sweep_judge.judge_several(self.target, blocks)
        self.streams = made.opened
        self.whole = added(self.totals)

    def clauses(self) -> set[str]:
        """The clauses of the failures that the totals lead to."""
        return {
            failure_record.clause
            for failure_record in explain(self.bench, self.target, self.whole, Settings.read(backend="cpu"))
        }


def ordinarily(made: Any, target: Target | None = None, blocks: list[Block] = BLOCKS) -> list[Totals]:
    block_judge = SweepJudge(Bench(made.__name__, made(), {}, TABLES), compiled=False, tensor_elements=SIZE)
    return [block_judge.judge(target or rounding(), block) for block in blocks]


def without_times(totals: list[Totals]) -> list[dict[str, Any]]:
    return [{key: value for key, value in total.to_json().items() if key != "seconds"} for total in totals]


# What is right --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "target",
    [
        rounding(),
        rounding("TOWARD_ZERO"),
        rounding("TOWARD_INFINITY"),
        clipping(DataType.FLOAT32),
        clipping(DataType.INT32),
        clipping(DataType.UINT32),
    ],
    ids=lambda target: target.key,
)
@pytest.mark.size("thorough", brief=3)
def test_a_stream_judges_right_outputs_as_uploading_does(target: Target, compiled: bool) -> None:
    starts = (0, 0x3EFF_0000, 0x7F7F_0000, 0x7FFF_0000, 0x8000_0000, 0xFFFF_0000)
    blocks = [Block(0, start, 1 << 16) for start in starts]
    judged = Judged(Streaming, blocks, target, compiled=compiled)
    assert judged.streams == 1
    assert not judged.messages
    assert judged.whole.clean
    assert without_times(judged.totals) == without_times(ordinarily(Streaming, target, blocks))


@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.INT16, DataType.UINT8])
def test_narrow_patterns_wrap_at_their_width(data_type: DataType) -> None:
    size = 1 << (8 * data_type.itemsize)
    blocks = [Block(0, 0, size), Block(0, 0, size)]
    judged = Judged(Streaming, blocks, clipping(data_type), tensor_elements=size // 4)
    assert judged.streams == 1
    assert judged.whole.clean
    assert judged.whole.elements == 2 * size


def test_blocks_come_in_any_order_and_any_threads() -> None:
    for threads, slots in ((1, 1), (1, 3), (3, 2), (4, 0)):
        judged = Judged(Streaming, BLOCKS[::-1], threads=threads, slots=slots)
        assert judged.streams == 1
        assert without_times(judged.totals) == without_times(ordinarily(Streaming, blocks=BLOCKS[::-1]))


def test_a_right_output_that_equals_the_poison_is_no_unwritten_one() -> None:
    target = clipping(DataType.UINT32)
    block = Block(0, 0x3F35_0000, 1 << 16)  # not clipped if it were float; as an integer all is 100
    wide = Target(
        target.operator,
        target.data_type,
        {"ScaleBias": None, "Min": np.float32(0), "Max": np.float32(4e9)},
        "clip.values",
        "patterns",
        1 << 32,
    )
    flipped = Block(0, 0xBF35_0000, 1 << 16)
    judged = Judged(Streaming, [block, flipped], wide)
    assert judged.whole.clean
    assert not judged.messages


# What is not worth a stream, or has none -----------------------------------------------------------------


def test_where_there_is_no_stream_all_is_uploaded() -> None:
    class Without(Streaming):
        def create(self, operator: Any) -> Kernel:
            return Kernel(self, operator)

    class Unable(Streaming):
        def ran(self, kernel: Kernel, memory: Array, bindings: Any) -> None:
            raise AssertionError("never")

        def create(self, operator: Any) -> Kernel:
            made = super().create(operator)

            def refuse(*_: Any) -> Any:
                raise NotSupported("not these")

            made.stream = refuse  # type: ignore[attr-defined]  # instead of the method
            return made

    for made in (Without, Unable):
        judged = Judged(made)
        assert judged.whole.clean
        assert (judged.streams, judged.messages) == (0, [])
    for different in ({"least": 1 << 40}, {"tensor_elements": 12_345}):
        assert Judged(Streaming, **different).streams == 0


def test_jobs_are_given_together_where_they_follow_each_other() -> None:
    first_target, other = rounding(), rounding("TOWARD_ZERO")
    jobs = [(first_target, Block(0, start, 1)) for start in range(5)] + [
        (other, Block(1, start, 1)) for start in range(2)
    ]
    groups = [(target, [block.start for block in blocks]) for target, blocks in together(jobs, 3)]
    assert groups == [(first_target, [0, 1, 2]), (first_target, [3, 4]), (other, [0, 1])]


# What is wrong -------------------------------------------------------------------------------------------


class OneWrong(Streaming):
    """One element of one pattern is off by one bit: whichever way it is dispatched."""

    pattern = 0x3F82_1234

    def compute(self, operator: Any, x: Array) -> Array:
        """Right but for that."""
        y = np.ascontiguousarray(super().compute(operator, x))
        y.view(np.uint32)[x.view(np.uint32) == self.pattern] ^= 1
        return y


@pytest.mark.parametrize("compiled", [True, False])
def test_one_wrong_element_is_found_and_reported_as_the_operators(compiled: bool) -> None:
    judged = Judged(OneWrong, compiled=compiled)
    assert [total.wrong for total in judged.totals] == [0, 0, 1, 0]
    assert judged.whole.suspects[0].bits == OneWrong.pattern
    assert judged.clauses() == {"round.nearest-even"}
    assert not judged.messages
    assert without_times(judged.totals) == without_times(ordinarily(OneWrong))


class Unwritten(Streaming):
    """Does not write the last element of a tensor."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        """All but one."""
        view = self.view(memory, region, tensor)
        view[..., :-1] = values[..., :-1]


class Stray(Streaming):
    """Writes a byte behind the output."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        """And one more."""
        super().write(memory, region, tensor, values)
        memory[region.offset + tensor.total_size_in_bytes] ^= 0xFF


class StrayBefore(Streaming):
    """Writes a byte before the input, which no window of the output shows."""

    def ran(self, kernel: Kernel, memory: Array, bindings: Any) -> None:
        """And one more."""
        super().ran(kernel, memory, bindings)
        memory[bindings["InputTensor"].offset - 1] = 0x11

    def dispatch(self, operator: Any, memory: Array, bindings: Any) -> None:
        """Likewise."""
        super().dispatch(operator, memory, bindings)
        memory[bindings["InputTensor"].offset - 1] = 0x11


class Altering(Streaming):
    """Changes one input element, of one tensor of the twelve, after it was read."""

    pattern = 0x3F81_0007

    def dispatch(self, operator: Any, memory: Array, bindings: Any) -> None:
        """One bit."""
        super().dispatch(operator, memory, bindings)
        bits = self.view(memory, bindings["InputTensor"], operator.input).view(np.uint32)
        bits[bits == self.pattern] ^= 1


@pytest.mark.parametrize(
    "made, counter", [(Unwritten, "unwritten"), (Stray, "strays"), (StrayBefore, "strays"), (Altering, "altered")]
)
def test_what_happens_to_memory_is_seen_in_a_stream(made: Any, counter: str) -> None:
    judged = Judged(made)
    assert getattr(judged.whole, counter)
    assert judged.streams
    assert not judged.messages
    assert without_times(judged.totals) == without_times(ordinarily(made))


class NeverRan(Streaming):
    """In streams the third dispatch does not happen, and nobody says so: a block that was not written."""

    runs = 0

    def ran(self, kernel: Kernel, memory: Array, bindings: Any) -> None:
        """But once."""
        type(self).runs += 1
        if type(self).runs != 3:
            super().ran(kernel, memory, bindings)


class OnceWrong(Streaming):
    """One element is wrong the first time."""

    spent = False

    def compute(self, operator: Any, x: Array) -> Array:
        """Once."""
        y = super().compute(operator, x)
        if not type(self).spent and (x.view(np.uint32) == OneWrong.pattern).any():
            type(self).spent = True
            y = np.where(x.view(np.uint32) == OneWrong.pattern, np.float32(7), y)
        return y


@pytest.mark.parametrize("made", [NeverRan, OnceWrong])
def test_what_comes_out_wrong_once_is_reported_though_it_comes_out_right_again(made: Any) -> None:
    made.runs, made.spent = 0, False
    judged = Judged(made)
    assert judged.whole.wrong == (SIZE if made is NeverRan else 1)
    assert judged.clauses() == {"execution.repeatable"}
    assert not judged.messages


class AltersInputsOneTime(Streaming):
    """In streams an input is changed once, after it was read."""

    runs = 0

    def ran(self, kernel: Kernel, memory: Array, bindings: Any) -> None:
        """The second time."""
        super().ran(kernel, memory, bindings)
        type(self).runs += 1
        if type(self).runs == 16:  # the last of the batch: no later output can show it
            self.view(memory, bindings["InputTensor"], kernel.operator.input).view(np.uint32)[..., 5] ^= 1


@pytest.mark.parametrize("compiled", [True, False])
def test_an_input_that_is_changed_once_is_reported(compiled: bool) -> None:
    AltersInputsOneTime.runs = 0
    judged = Judged(AltersInputsOneTime, compiled=compiled)
    assert [total.altered for total in judged.totals] == [0, 0, 0, 1]
    assert "the input holds 0x3f83c004 where 0x3f83c005 is due" in judged.whole.troubles[0].text
    assert not judged.messages


# A fill that lies ----------------------------------------------------------------------------------------


class FillLies(Streaming):
    """An element of the inputs is off by one bit, which rounding does not show."""

    def filled(self, bits: Array, first: int) -> None:
        """But one."""
        super().filled(bits, first)
        bits[77] ^= 1


class StepLies(Streaming):
    """An element is moved too far, by a quarter of its numbers' distance: outputs are wrong for what is asked."""

    def moved(self, bits: Array, step: int) -> None:
        """But one."""
        super().moved(bits, step)
        if step:
            bits[99] += bits.dtype.type(0x0080_0000)


class StepLiesUnseen(Streaming):
    """An element is moved by one too many, which rounding does not show."""

    def moved(self, bits: Array, step: int) -> None:
        """But one."""
        super().moved(bits, step)
        if step:
            bits[99] += bits.dtype.type(1)


class PoisonLies(Streaming):
    """The output is not filled."""

    def poisoned(self, words: Array, poison: int) -> None:
        """Not at all."""


@pytest.mark.parametrize(
    "made, message",
    [
        (FillLies, "holds 0x3f80004c where 0x3f80004d is due, at element 77 of the tensor from 0x3f800000 on"),
        (StepLies, "holds 0x40004063 where 0x3f804063 is due, at element 99 of the tensor from 0x3f804000 on"),
        (StepLiesUnseen, "holds 0x3f804064 where 0x3f804063 is due, at element 99"),
        (PoisonLies, "the output is not filled with 0x"),
    ],
)
def test_a_fill_that_lies_is_reported_and_not_blamed_on_the_operator(made: Any, message: str) -> None:
    start = 0x3F80_0000 if made is not PoisonLies else 0  # what begins a target is always looked into
    blocks = [Block(0, start + number * (1 << 16), 1 << 16) for number in range(4)]
    judged = Judged(made, blocks)
    assert judged.whole.clean
    assert judged.whole.elements == 4 << 16
    (line,) = judged.messages
    assert message in line
    assert "does not prepare what was requested" in line
    before = judged.streams
    assert judged.sweep_judge.judge_several(judged.target, blocks)[0].clean
    assert made.opened == before, "no further stream is opened"


def test_a_fill_that_lies_hides_no_fault_of_the_operator() -> None:
    class Both(OneWrong, StepLies):
        pass

    judged = Judged(Both)
    assert judged.whole.wrong == 1
    assert judged.clauses() == {"round.nearest-even"}


# A stream that ends --------------------------------------------------------------------------------------


class Losing(Streaming):
    """The device is lost in a stream, once."""

    runs = 0
    error: type[Exception] = DeviceLost

    def ran(self, kernel: Kernel, memory: Array, bindings: Any) -> None:
        """The sixth time."""
        type(self).runs += 1
        if type(self).runs == 6:
            raise self.error("gone with the wind")
        super().ran(kernel, memory, bindings)


def test_a_device_that_is_lost_in_a_stream_is_reported() -> None:
    Losing.runs = 0
    judged = Judged(Losing)
    assert [total.stopped for total in judged.totals] == [0, 1, 0, 0]
    (trouble,) = judged.whole.troubles
    assert (trouble.outcome, "gone with the wind" in trouble.text) == ("device_lost", True)
    assert judged.whole.elements == 4 << 16, "the blocks are judged all the same"
    assert judged.whole.unjudged == 0


@pytest.mark.parametrize("error", [DeviceLost, ExecutionFailed])
def test_what_happens_while_a_stream_is_prepared_is_reported_with_the_first_blocks(error: type[Exception]) -> None:
    class Opening(Streaming):
        """The first stream that is asked for is not had."""

        opened = 0

        def opening(self) -> None:
            if type(self).opened == 1:
                raise error("gone with the wind")

    messages: list[str] = []
    block_judge = sweep_judge_of(Opening, messages)
    block_judge.prepare(rounding())
    block_judge.prepare(rounding("TOWARD_ZERO"))
    assert Opening.opened == 1
    assert added(block_judge.judge_several(rounding("TOWARD_ZERO"), BLOCKS)).clean, "it was not this target's stream"
    assert not messages
    totals = block_judge.judge_several(rounding(), BLOCKS)
    lost = error is DeviceLost
    assert [total.stopped for total in totals] == [int(lost), 0, 0, 0]
    assert len(messages) == int(not lost)
    assert all("gone with the wind" in text for text in (*messages, *(trouble.text for trouble in totals[0].troubles)))
    assert added(totals).elements == 4 << 16
    assert added(block_judge.judge_several(rounding(), BLOCKS)).clean
    assert len(messages) == int(not lost)


def test_a_stream_that_was_prepared_is_the_one_that_is_flown() -> None:
    block_judge = sweep_judge_of(Streaming, [])
    Streaming.opened = 0
    block_judge.prepare(rounding())
    assert Streaming.opened == 1
    assert added(block_judge.judge_several(rounding(), BLOCKS)).clean
    assert Streaming.opened == 1


def test_a_stream_that_fails_is_no_fault_of_the_operator() -> None:
    class Failing(Losing):
        error = ExecutionFailed

    Failing.runs = 0
    judged = Judged(Failing)
    assert judged.whole.clean
    (text,) = judged.messages
    assert "gone with the wind" in text
    for _ in range(3):
        Failing.runs = 5
        judged.sweep_judge.judge_several(judged.target, BLOCKS)
    assert len(judged.messages) == 3, "after three ends there are no more streams"


def test_what_is_no_array_ends_the_stream() -> None:
    class Garbling(Streaming):
        def brought(self, window: Array) -> Any:
            return window[:-1].copy()

    judged = Judged(Garbling)
    assert judged.whole.clean
    assert "no array of" in judged.messages[0]


def test_threads_have_ended_before_a_lost_device_is_closed() -> None:
    class Watching(Losing):
        busy: set[threading.Thread]

        def close(self) -> None:
            assert not judging, "a thread still looks at what came back"

    judging: set[int] = set()
    Watching.runs = 0
    judged = Judged.__new__(Judged)
    from dmlcts.suites.sweeping.blocks.target_streams import TargetStream

    original = TargetStream._judged

    def slow(self: Any, *arguments: Any) -> Any:
        judging.add(threading.get_ident())
        try:
            threading.Event().wait(0.02)
            return original(self, *arguments)
        finally:
            judging.discard(threading.get_ident())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TargetStream, "_judged", slow)
        judged = Judged(Watching)
    assert judged.whole.stopped == 1


# Stopped and resumed -------------------------------------------------------------------------------------


class HalvesUp(Streaming):
    """Halves go up."""

    def half_away(self, x: Array) -> Array:
        """Wrong for negative halves."""
        return np.floor(x.astype(np.float64) + 0.5).astype(x.dtype)


def test_a_sweep_in_streams_that_is_stopped_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_LEAST_ELEMENTS", 1)
    monkeypatch.setattr(streaming, "AT_ONCE", 3)
    monkeypatch.setattr(workers, "AT_ONCE", 3)
    monkeypatch.setattr(targets, "BLOCK_PATTERNS", 1 << 13)
    HalvesUp.opened = 0

    def bench() -> Bench:
        return Bench("HalvesUp", HalvesUp(), {}, TABLES)

    selection = {"operators": ["ROUND"], "data_types": ["FLOAT16"]}
    outcome = stopped(tmp_path, bench, **selection)
    assert HalvesUp.opened
    assert len(outcome.judged) == 24, "three modes of eight blocks, each counted once"
    monkeypatch.setattr(Streaming, "info", Reference.info)  # without streams
    HalvesUp.opened = 0
    uploaded = stopped(tmp_path / "uploaded", bench, **selection)
    assert not HalvesUp.opened
    outcome.ends_as(uploaded.second)


# In a process of its own ---------------------------------------------------------------------------------

ISOLATED = '''
import os
from dmlcts.suites.mutants.streaming import Streaming
from dmlcts.suites.selftest.sweeping import test_streaming

class Deadly(Streaming):
    """Takes its process down in a stream."""
    def ran(self, kernel, memory, bindings):
        os._exit(9)

OneWrong, StepLies, Losing, Right = test_streaming.OneWrong, test_streaming.StepLies, test_streaming.Losing, Streaming
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "isolated.py"
    path.write_text(ISOLATED, encoding="utf-8")
    return path


def isolated(path: Path, name: str) -> tuple[Totals, list[str]]:
    messages: list[str] = []
    bench = Bench(name, IsolatedBackend(f"{path}:{name}"), {}, TABLES)
    block_judge = SweepJudge(
        bench,
        compiled=False,
        tensor_elements=SIZE,
        timeout=30,
        streams={"threads": 2, "least": 1, "report": messages.append, "tensor_elements": SIZE},
    )
    try:
        return added(block_judge.judge_several(rounding(), BLOCKS)), messages
    finally:
        block_judge.close()


def test_a_stream_in_a_process_of_its_own(module: Path) -> None:
    totals, messages = isolated(module, "Right")
    assert (totals.clean, totals.elements, messages) == (True, 4 << 16, [])
    assert totals.dispatches == 16


@pytest.mark.size("thorough")
def test_faults_are_found_in_a_process_of_its_own(module: Path) -> None:
    totals, messages = isolated(module, "OneWrong")
    assert (totals.wrong, messages) == (1, [])
    totals, messages = isolated(module, "StepLies")
    assert totals.clean
    assert "where 0x3f804063 is due" in messages[0]
    totals, messages = isolated(module, "Losing")
    assert [trouble.outcome for trouble in totals.troubles] == ["device_lost"]


@pytest.mark.size("thorough")
def test_a_process_that_is_lost_in_a_stream_is_started_again(module: Path) -> None:
    totals, messages = isolated(module, "Deadly")
    assert totals.clean, "as a tensor whose process is lost is tried once more"
    assert totals.elements == 4 << 16
    assert not messages
