"""Sweeps: every pattern is judged once, what is wrong is counted exactly, and what stopped goes on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.reports.documents.validation import load_failure
from dmlcts.reports.views.sweeps import load_sweep
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.cases.values import Values
from dmlcts.suites.mutants import permitted
from dmlcts.suites.mutants.rare import Index65536, OneRoundedValueOfFloat16, OneRoundedValueOfFloat32
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.mutants.values.rounding import AwayIsHalvesUp
from dmlcts.suites.proof.sweep_mutants import sweep_mutant
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.replay import load_case, replay
from dmlcts.suites.selftest.sweeping.stopped import stopped
from dmlcts.suites.selftest.tables.test_fourth_operator import table
from dmlcts.suites.sweeping.blocks.classes import classes_between, classes_of
from dmlcts.suites.sweeping.blocks.explaining import explain
from dmlcts.suites.sweeping.blocks.sweep_judge import SweepJudge
from dmlcts.suites.sweeping.blocks.targets import (
    FINITE_FLOAT16,
    Block,
    Plan,
    Target,
    bound_value,
    plan,
    resized,
    sample,
)
from dmlcts.suites.sweeping.blocks.totals import Suspect, Totals, added
from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
from dmlcts.suites.sweeping.journal import NAME
from dmlcts.suites.sweeping.record import publish
from dmlcts.suites.sweeping.worker_pools.workers import Alone, Job, Orders, Worker

TABLES = load_tables()
LEVEL = FeatureLevel.parse("5.0")
ROUND16 = {"operators": ["ROUND"], "data_types": ["FLOAT16"]}


def bench_of(made: Any) -> Bench:
    return Bench(made.__name__, made(), {}, TABLES)


OF_ONE_TYPE = [table for table in TABLES.operators.values() if of_one_type(table)]
"""Operators of one input of the output's type; the others have tests of their own."""
FIRST = [TABLES.operator(name) for name in ("CLIP", "ROUND", "THRESHOLD")]


@lru_cache(maxsize=1)
def everything() -> Plan:
    """The first three operators' sweep."""
    return plan(TABLES, LEVEL, operators=FIRST, data_types=DataType)


def rounding(mode: str, data_type: DataType = DataType.FLOAT32, size: int = 1 << 32) -> Target:
    clause = {"HALVES_TO_NEAREST_EVEN": "nearest-even", "TOWARD_ZERO": "toward-zero"}.get(mode, "toward-infinity")
    return Target("ELEMENT_WISE_ROUND", data_type, {"RoundingMode": mode}, f"round.{clause}", "patterns", size)


def swept(made: Any, folder: Path, *, selection: dict[str, Any] = ROUND16, resume: bool = False) -> dict[str, Any]:
    settings = Settings.read(backend="cpu", results=str(folder), **selection)
    single_worker = Alone(Worker(Orders("cpu", compiled=False), bench_of(made)))
    sweep = Sweep.planned(settings, single_worker.describe())
    with held(sweep, resume=resume) as journal:
        conduct(sweep, single_worker, lambda block, totals: None, journal)
        publish(sweep, single_worker.size)
    return load_sweep(folder)


# The plan -------------------------------------------------------------------------------------------------


def test_every_operator_and_type_of_the_level_is_swept() -> None:
    targets = plan(TABLES, LEVEL, operators=OF_ONE_TYPE, data_types=DataType).targets
    pairs = {(target.operator, target.data_type) for target in targets}
    wanted = {
        (table.operator, data_type)
        for table in OF_ONE_TYPE
        for data_type in DataType
        if any(table.obliged(data_type, rank, LEVEL) for rank in range(1, 9))
    }
    assert pairs == wanted
    assert len({target.key for target in targets}) == len(targets)


def test_an_operator_that_is_added_as_a_table_is_swept_too(tmp_path: Path) -> None:
    written = table("MAGNITUDE", 9002, "abs(x)", "FLOAT32, FLOAT16, INT64")
    (tmp_path / "magnitude.yaml").write_text(written, encoding="utf-8")
    tables = load_tables(tmp_path)
    made = plan(tables, LEVEL, operators=[tables.operator("MAGNITUDE")], data_types=DataType)
    assert [(target.key, target.clause, target.kind) for target in made.targets] == [
        ("MAGNITUDE-FLOAT32", "magnitude.formula", "patterns"),
        ("MAGNITUDE-FLOAT16", "magnitude.formula", "patterns"),
        ("MAGNITUDE-INT64 seed=0", "magnitude.formula", "sample"),
    ]


def test_blocks_cover_every_pattern_once() -> None:
    for number, target in enumerate(everything().targets):
        ends = 0
        for block in target.blocks(number):
            assert block.start == ends
            assert block.count > 0
            ends += block.count
        assert ends == target.size
    sizes = {target.size for target in everything().targets if target.data_type is DataType.FLOAT32}
    assert sizes == {1 << 32}


def test_every_finite_float16_bound_is_taken_once() -> None:
    values = np.array([bound_value(index, tie=False) for index in range(FINITE_FLOAT16)])
    assert np.isfinite(values).all()
    assert np.unique(values.astype(np.float16).view(np.uint16)).size == FINITE_FLOAT16
    tie = bound_value(0x3C00, tie=True)
    assert float(tie) == 1 + 2**-11
    assert np.isfinite(bound_value(0x7BFF, tie=True))


def test_a_sample_begins_with_the_boundary_lattice_and_goes_on_from_its_seed() -> None:
    target = next(target for target in everything().targets if target.kind == "sample")
    first, second = sample(target, 0, 4096).array(4096), sample(target, 1 << 22, 4096).array(4096)
    limits = np.iinfo(target.data_type.numpy)
    assert {int(limits.min), int(limits.max)} <= set(first.tolist())
    assert not np.array_equal(first, second)
    assert np.array_equal(second, sample(target, 1 << 22, 4096).array(4096))


def test_consecutive_patterns_are_values_that_a_failure_file_holds() -> None:
    values = Values.patterns(DataType.FLOAT16, 0xFFFE)
    assert values.array(4).view(np.uint16).tolist() == [0xFFFE, 0xFFFF, 0, 1]
    assert Values.from_json(DataType.FLOAT16, values.to_json(4)) == values
    with pytest.raises(UsageError, match="neither bits"):
        Values.from_json(DataType.FLOAT16, {"patterns": {"first": "0x12345"}})


# Totals ---------------------------------------------------------------------------------------------------


def test_totals_add_up_in_any_order_and_survive_the_journal() -> None:
    parts = []
    for number in range(4):
        part = Totals(blocks=1, elements=10, exact=9)
        x = np.array([0.5 + number, 3.25], np.float32)
        part.blame(x, x, DataType.FLOAT32, start=number, count=10)
        part.note(number, 1, "fail", "said")
        parts.append(part)
    whole = added(parts)
    assert (whole.blocks, whole.elements, whole.wrong) == (4, 40, 8)
    for order in itertools.permutations(parts):
        assert added(order) == whole
    assert Totals.from_json(json.loads(json.dumps(whole.to_json()))) == whole
    assert whole.fractions == {"below half": 4, "half": 4}
    assert whole.exponents == {126: 1, 127: 1, 128: 6}


def test_the_simplest_of_very_many_wrong_inputs_is_kept() -> None:
    x = (np.arange(0x3F00_0001, 0x4100_0000, 37, np.uint32)).view(np.float32)
    x = np.concatenate([x, np.array([2.0, 1.0, 0.75], np.float32)])
    totals = Totals()
    totals.blame(x, x, DataType.FLOAT32)
    assert totals.wrong == x.size
    assert [suspect.bits for suspect in totals.suspects[:2]] == [0x3F80_0000, 0x4000_0000]
    few = Totals()
    few.blame(np.array([-7, 100, 3], np.int32), np.zeros(3, np.int32), DataType.INT32)
    assert [np.uint32(suspect.bits).view(np.int32) for suspect in few.suspects] == [3, -7, 100]


def test_classes_are_counted_without_looking() -> None:
    names = ("zero", "subnormal", "normal", "infinite", "nan")
    everything16 = np.arange(1 << 16, dtype=np.uint16)
    for start, stop in ((0, 1 << 16), (0x7BF0, 0x8005), (0x3FF, 0x401), (0xFC00, 0xFC01)):
        counted = classes_between(start, stop - start, DataType.FLOAT16)
        codes = np.bincount(classes_of(everything16[start:stop].view(np.float16)), minlength=6)
        assert [counted[name] for name in names] == codes[:5].tolist()
    assert classes_between(5, 7, DataType.INT8) == {"integer": 7}


# Judging blocks on a device -------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.size("thorough")
def test_a_right_implementation_has_nothing_wrong(concurrency: int) -> None:
    block_judge = SweepJudge(bench_of(Reference), slots=concurrency, tensor_elements=1 << 15)
    for target in everything().targets:
        if target.kind == "patterns" and target.data_type.itemsize == 2:
            totals = block_judge.judge(target, Block(0, 0, target.size))
            assert totals.clean, target.key
            assert totals.elements == 1 << 16
            assert totals.dispatches == 2
    block_judge.close()


@pytest.mark.parametrize(
    "name",
    [
        "FlushEverything",
        "FlushBoundsKeepingSign",
        "NanInputGivesMin",
        "NumbersWin",
        "NanBoundIsZero",
        "ZerosAreNegative",
        "FirstZeroWins",
        "Float16OverflowSaturates",
        "ThresholdMinRoundedUp",
    ],
)
def test_what_is_permitted_raises_no_alarm(name: str) -> None:
    block_judge = SweepJudge(bench_of(getattr(permitted, name)), compiled=False)
    accepted = 0
    for number, target in enumerate(everything().targets):
        if not target.data_type.is_floating:
            continue
        if target.kind == "bounds":
            blocks = [Block(number, start, 1) for start in (700, 31_744)]
        elif target.data_type is DataType.FLOAT32:  # around zero, the greatest numbers, infinity, NaN
            blocks = [Block(number, start, 1 << 13) for start in (0, 0x7F7F_F000, 0x7FFF_F000, 0xFF7F_F000)]
        else:
            blocks = [Block(number, 0, target.size)] if number % 6 == 0 else []
        for block in blocks:
            totals = block_judge.judge(target, block)
            assert totals.clean, (target.key, block, totals.suspects, totals.troubles)
            accepted += totals.equal + totals.other
    assert accepted or name in ("Float16OverflowSaturates", "ThresholdMinRoundedUp")
    block_judge.close()


class HalvesUp(Reference):
    """Halves go up, computed exactly."""

    def half_away(self, x: Array) -> Array:
        """Wrong for negative halves."""
        return np.floor(x.astype(np.float64) + 0.5).astype(x.dtype)


def test_wrong_values_are_counted_exactly_whatever_the_tensors() -> None:
    target = rounding("TOWARD_INFINITY", DataType.FLOAT16, 1 << 16)
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[~np.isnan(x)].astype(np.float64)
    wrong = np.floor(x + 0.5) != np.trunc(x + np.copysign(0.5, x))
    all_totals = [
        SweepJudge(bench_of(HalvesUp), slots=concurrency, tensor_elements=size).judge(target, Block(0, 0, 1 << 16))
        for concurrency, size in ((1, 1 << 16), (1, 5000), (2, 1 << 13))
    ]
    for totals in all_totals:
        assert totals.wrong == int(np.count_nonzero(wrong)) > 0
        assert totals.fractions == {"half": totals.wrong}
        assert totals.exponents == all_totals[0].exponents
        assert [suspect.bits for suspect in totals.suspects] == [suspect.bits for suspect in all_totals[0].suspects]
    assert all_totals[0].suspects[0].bits == 0xB800  # -0.5


def test_a_failure_of_one_input_in_4_billion_is_found_and_replayed() -> None:
    bench = bench_of(OneRoundedValueOfFloat32)
    failures = sweep_mutant(OneRoundedValueOfFloat32, bench, 0)
    assert [failure.clause for failure in failures] == ["round.nearest-even"]
    assert "31415.926" in failures[0].text
    assert failures[0].case["values"] == {"InputTensor": {"bits": ["0x46f56fda"]}}
    bench.close()


def test_what_a_position_makes_wrong_is_not_blamed_on_the_value() -> None:
    bench = bench_of(Index65536)
    target = rounding("TOWARD_ZERO", size=1 << 17)
    totals = SweepJudge(bench, tensor_elements=1 << 17).judge(target, Block(0, 0x3F80_0000, 1 << 17))
    assert totals.wrong == 1
    (failure,) = explain(bench, target, totals, Settings.read(backend="cpu"))
    assert failure.clause == "tensor.position"
    assert failure.case["values"] == {"InputTensor": {"bits": ["0x3f810000"]}}, "the wrong element's, for all of them"
    assert replay(bench, Case.from_json(failure.case), "").failed


def test_the_neighbourhood_of_that_input_is_clean_in_a_right_implementation() -> None:
    class Right(Reference):
        clause = "round.nearest-even"
        operator = "ELEMENT_WISE_ROUND"
        data_type = "FLOAT32"
        pattern = 0x46F5_6FDA

    assert sweep_mutant(Right, bench_of(Right), 0) == []


class Unwritten(Reference):
    """Does not write the last element of a tensor."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        """All but one."""
        view = self.view(memory, region, tensor)
        view[..., :-1] = values[..., :-1]


class Stray(Reference):
    """Writes a byte behind the output."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        """And one more."""
        super().write(memory, region, tensor, values)
        memory[region.offset + tensor.total_size_in_bytes] ^= 0xFF


class Altering(Reference):
    """Leaves the rounded values in the input as well."""

    def read(self, memory: Array, region: Any, tensor: Any) -> Array:
        """A copy; the original is spoiled."""
        values = super().read(memory, region, tensor)
        self.view(memory, region, tensor)[...] = np.trunc(values)
        return values


class Raising(Reference):
    """Raises where NaN comes in."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """Or right."""
        if np.isnan(x).any():
            raise RuntimeError("not a number")
        return super().compute(operator, x)


class Moody(Reference):
    """One value is wrong the first time only."""

    spent = False

    def round(self, x: Array, mode: str) -> Array:
        """Once."""
        y = super().round(x, mode)
        if not Moody.spent and (x == 1.25).any():
            Moody.spent = True
            y[x == 1.25] = 7
        return y


@pytest.mark.parametrize(
    "made, clause, counter",
    [
        (Unwritten, "tensor.output.complete", "unwritten"),
        (Stray, "tensor.output.bounds", "strays"),
        (Altering, "tensor.input.unchanged", "altered"),
    ],
)
def test_what_happens_to_memory_is_seen(made: Any, clause: str, counter: str, tmp_path: Path) -> None:
    record = swept(made, tmp_path)
    assert record["verdict"] == "NOT_CONFORMANT"
    assert {failure["clause"] for failure in record["failures"]} == {clause}
    assert all(row[counter] for row in record["sweeps"])
    rows = {row["id"]: row["outcome"] for row in record["clauses"]}
    assert rows[clause] == "fail"


def test_an_exception_is_the_implementations_failure(tmp_path: Path) -> None:
    record = swept(Raising, tmp_path)
    assert record["verdict"] == "NOT_CONFORMANT"
    assert {failure["outcome"] for failure in record["failures"]} == {"crash"}
    assert sum(row["stopped"] for row in record["sweeps"]) == 3


def test_what_comes_out_right_the_second_time_is_not_repeatable(tmp_path: Path) -> None:
    record = swept(Moody, tmp_path)
    assert [failure["clause"] for failure in record["failures"]] == ["execution.repeatable"]
    assert "1.25 gave 7.0 once" in record["failures"][0]["title"]
    rows = {row["id"]: row["outcome"] for row in record["clauses"]}
    assert (rows["execution.repeatable"], rows["round.nearest-even"]) == ("fail", "pass")


def test_a_refusal_of_what_is_obliged_is_reported_under_the_support_clause(tmp_path: Path) -> None:
    class Refusing(Reference):
        def refuses(self, operator: OperatorDesc) -> str:
            return "too hot today"

    record = swept(Refusing, tmp_path)
    assert {failure["clause"] for failure in record["failures"]} == {"round.support.level-3-0"}
    assert record["verdict"] == "NOT_CONFORMANT"


# A whole sweep --------------------------------------------------------------------------------------------


def test_a_conformant_sweep_states_so(tmp_path: Path) -> None:
    record = swept(Reference, tmp_path)
    assert record["verdict"] == "CONFORMANT"
    rows = {row["id"]: row for row in record["clauses"]}
    assert rows["round.nan"]["elements"] == 3 * 2046
    assert rows["round.infinity"]["elements"] == 3 * 2
    assert rows["round.toward-zero"]["elements"] == (1 << 16) - 2048
    assert "CONFORMANT" in (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert not list((tmp_path / "failures").iterdir())


def test_failures_are_written_replayable_and_plotted(tmp_path: Path) -> None:
    record = swept(OneRoundedValueOfFloat16, tmp_path)
    assert record["verdict"] == "NOT_CONFORMANT"
    row = next(row for row in record["sweeps"] if row["wrong"])
    assert row["wrong_by_fraction"]["half"] == 1
    assert row["simplest_wrong"] == [
        {"input": "818.5 (0x6265)", "got": "818.5 (0x6265)", "acceptable": "818.0 (0x6264)"}
    ]
    (path, *_) = [tmp_path / "failures" / failure["file"] for failure in record["failures"]]
    load_failure(path)
    (first, *_) = record["failures"]
    assert first["details"]["got"] == "818.5 (0x6265)"
    assert first["replay"] == f"dmlcts replay failures/{first['file']} --backend cpu"
    bench = bench_of(OneRoundedValueOfFloat16)
    assert replay(bench, load_case(path, TABLES), "").failed
    assert not replay(bench_of(Reference), load_case(path, TABLES), "").failed
    page = (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert page.count("<svg xmlns") == sum(bool(row["wrong"]) for row in record["sweeps"])


def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    def cut_off() -> None:
        with (tmp_path / NAME).open("a") as journal:
            journal.write('{"block": "1:0x0+0x10000", "tot')  # cut off while it was written

    outcome = stopped(tmp_path, lambda: bench_of(AwayIsHalvesUp), cut_off, **ROUND16)
    assert len(outcome.judged) == 3
    assert outcome.first["verdict"] == "INCOMPLETE"
    outcome.ends_as(swept(AwayIsHalvesUp, tmp_path / "whole"))


def test_another_sweep_is_not_resumed(tmp_path: Path) -> None:
    swept(Reference, tmp_path)
    with pytest.raises(UsageError, match="a sweep that differs in the selected data types"):
        swept(Reference, tmp_path, selection={"operators": ["ROUND"], "data_types": ["FLOAT32"]}, resume=True)
    with pytest.raises(UsageError, match="no sweep to resume"):
        swept(Reference, tmp_path / "nothing", resume=True)


def test_a_block_that_comes_twice_is_counted_once(tmp_path: Path) -> None:
    class Stuttering(Alone):
        def judge(self, jobs: Iterable[Job]) -> Iterator[tuple[Block, Totals]]:
            for block, totals in super().judge(jobs):
                yield block, totals
                yield block, totals

    settings = Settings.read(backend="cpu", results=str(tmp_path), **ROUND16)
    single_worker = Stuttering(Worker(Orders("cpu", compiled=False), bench_of(Reference)))
    sweep = Sweep.planned(settings, single_worker.describe())
    with held(sweep) as journal:
        conduct(sweep, single_worker, lambda block, totals: None, journal)
    assert sweep.elements == sweep.plan.elements


def test_nothing_selected_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is swept"):
        swept(Reference, tmp_path, selection={"operators": ["ROUND"], "data_types": ["INT8"]})


def test_suspects_are_ordered_by_how_soon_a_reader_grasps_them() -> None:
    assert sorted([Suspect(2.0, 1, 0), Suspect(1.0, 9, 0)])[0].bits == 9
    assert resized(rounding("TOWARD_ZERO"), 1 << 20).elements == 1 << 20
