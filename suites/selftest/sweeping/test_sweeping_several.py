"""Sweeps of operators of several inputs or types: every combination once, a wrong one found, reported and replayed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from dmlcts.reports.documents.validation import load_failure
from dmlcts.reports.views.sweeps import load_sweep
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.replay import load_case, replay
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.signatures.five_tables import write_tables
from dmlcts.suites.selftest.sweeping.stopped import stopped
from dmlcts.suites.sweeping.blocks.accounting import unaccounted
from dmlcts.suites.sweeping.blocks.explaining import explain
from dmlcts.suites.sweeping.blocks.operands import (
    SeveralJudge,
    combination,
    combinations,
    numbers_of,
    sampled,
    singles_of,
)
from dmlcts.suites.sweeping.blocks.sweep_judge import SweepJudge
from dmlcts.suites.sweeping.blocks.targets import Block, Plan, Target, described, plan, subject_of
from dmlcts.suites.sweeping.blocks.totals import Suspect, Totals
from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
from dmlcts.suites.sweeping.record import publish
from dmlcts.suites.sweeping.worker_pools.workers import Alone, Orders, Worker

TABLES = load_tables()
LEVEL = FeatureLevel("6.4")
INT8, INT16, UINT8, INT64, FLOAT16 = DataType.INT8, DataType.INT16, DataType.UINT8, DataType.INT64, DataType.FLOAT16
FLOAT32 = DataType.FLOAT32


class Right(Reference):
    """The reference at the level that lists every operator."""

    level = "6.4"


def bench_of(made: Any) -> Bench:
    return Bench(made.__name__, made(), {}, TABLES)


@lru_cache(maxsize=1)
def everything() -> Plan:
    return plan(TABLES, LEVEL, operators=TABLES.operators.values(), data_types=DataType)


def of_several() -> list[Target]:
    return [target for target in everything().targets if target.inputs]


def target_of(operator: str, *types: DataType) -> Target:
    """The first target of an operator on data types: of its first inputs, and then of its output where one more."""
    return next(
        target
        for target in of_several()
        if target.operator == f"ELEMENT_WISE_{operator}"
        and [*(data_type for _, data_type in target.inputs), target.output_type][-len(types) :] == list(types)
    )


# The plan.


def test_every_signature_is_swept() -> None:
    pairs = {(target.operator, target.signature) for target in of_several()}
    assert {target.operator for target in everything().targets} == set(TABLES.operators)
    for operator, signature in pairs:
        table = TABLES.operator(operator)
        assert len([name for name, _ in pairs if name == operator]) >= len(table.data_types)
        assert signature is not None
    keys = [target.key for target in everything().targets]
    assert len(set(keys)) == len(keys)
    assert "ADD-INT16" in keys
    assert "LOGICAL_EQUALS-FLOAT16-UINT8" in keys
    assert "IS_NAN-FLOAT32-UINT32" in keys


def test_up_to_32_bits_of_inputs_are_tried_in_every_combination_and_more_are_sampled() -> None:
    for target in of_several():
        kind = "patterns" if target.input_bits <= 32 else "sample"
        assert target.kind == kind, target.key
        if kind == "patterns":
            assert target.size == 1 << target.input_bits
    assert target_of("MAX", FLOAT16, FLOAT16, FLOAT16).size == 1 << 32
    assert target_of("IF", UINT8, INT8, INT8, INT8).size == 1 << 24
    assert target_of("MAX", INT64, INT64, INT64).kind == "sample"


def test_what_a_table_leaves_open_is_not_swept_and_named(tmp_path: Path) -> None:
    """A sweep that can find nothing wrong is none: refused alone, named beside others."""
    write_tables(tmp_path)
    path = tmp_path / "own_add.yaml"
    own = load_tables(tmp_path)
    judged = plan(own, LEVEL, operators=[own.operator("OWN_ADD")], data_types=[INT8])
    assert ([target.key for target in judged.targets], judged.open) == (["OWN_ADD-INT8"], ()), "the control"
    written = path.read_text(encoding="utf-8")
    path.write_text(written.replace("latitude: [zero-sign, subnormals]", "latitude: [any-value]"), encoding="utf-8")
    left = load_tables(tmp_path)
    sweep_plan = plan(left, LEVEL, operators=[left.operator("OWN_ADD"), left.operator("ADD")], data_types=[INT8])
    assert ([target.key for target in sweep_plan.targets], sweep_plan.open) == (["ADD-INT8"], ("OWN_ADD-INT8",))
    settings = Settings.read(
        backend="cpu",
        results=str(tmp_path / "out"),
        operators=["OWN_ADD"],
        data_types=["INT8"],
        extra_tables=[str(tmp_path)],
    )
    with pytest.raises(UsageError, match="nothing is swept: the tables leave every value open for OWN_ADD-INT8"):
        Sweep.planned(settings, Alone(Worker(Orders("cpu"), bench_of(Right))).describe())


# Combinations.


def test_all_pairs_of_8_bits_are_there_once() -> None:
    target = target_of("ADD", INT8, INT8, INT8)
    pairs = combinations(target, 0, 1 << 16)
    assert {array.dtype for array in pairs.values()} == {np.dtype(np.int8)}
    assert len(set(zip(*(array.tolist() for array in pairs.values()), strict=True))) == 1 << 16


@given(data=st.data())
@profile(max_examples=200, deadline=None)
def test_a_number_names_a_combination(data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(of_several()))
    number = data.draw(st.integers(0, (1 << target.input_bits) - 1))
    operands = combination(target, number)
    assert [(name, DataType[array.dtype.name.upper()]) for name, array in operands.items()] == list(target.inputs)
    assert numbers_of(target, operands) == [number]
    if target.kind == "patterns":
        operand_block = combinations(target, number, 1)
        assert all(operand_block[name].tobytes() == array.tobytes() for name, array in operands.items())


def test_a_sample_begins_with_edge_values_and_follows_from_its_seed() -> None:
    target = target_of("LOGICAL_EQUALS", INT64, INT64, UINT8)
    subject = subject_of(TABLES, target, LEVEL)
    first, again = (sampled(subject, target, 0, 1 << 16) for _ in range(2))
    other = sampled(subject, target, 1 << 22, 1 << 16)
    for name in first:
        assert np.array_equal(first[name], again[name])
        assert not np.array_equal(first[name], other[name])
    a, b = first.values()
    assert ((a == b) & (a == np.iinfo(np.int64).min)).any()
    assert ((a >> 32 == b >> 32) & (a != b)).any(), "equal high words"
    c, d = other.values()
    assert (c == d).mean() > 0.1, "operands that are alike"


# Judging.


@pytest.mark.size("thorough")
def test_a_right_implementation_has_nothing_wrong() -> None:
    """All 8-bit combinations, and stretches of wider ones around zero, the limits, infinities and NaN."""
    block_judge = SweepJudge(bench_of(Right), slots=2, tensor_elements=1 << 13)
    kinds = set()
    for number, target in enumerate(of_several()):
        places = [0]
        if target.input_bits > 16:
            half = 1 << (target.input_bits - 1)
            places = [0, half - 2048, half, 0x7C00_7C00] if target.input_bits == 32 else [0]
        for place in places:
            count = min(target.size, 1 << 16 if target.input_bits <= 16 else 4096)
            totals = block_judge.judge(target, Block(number, place, count))
            assert totals.clean, (target.key, totals.suspects, totals.troubles)
            assert not unaccounted(totals, target, Block(number, place, totals.elements))
        kinds.add((target.kind, len(target.inputs), target.output_type is target.data_type))
    assert {("patterns", 2, True), ("patterns", 2, False), ("patterns", 1, False), ("sample", 3, True)} <= kinds
    block_judge.close()


class OnePairOfInt16(Right):
    """One of 2^32 pairs: 4660 and -7 give 0."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        outputs = np.array(super().compute_exact(operator, inputs))
        if operator.name == "ELEMENT_WISE_MAX" and inputs[0].dtype == np.int16:
            outputs[(inputs[0] == 4660) & (inputs[1] == -7)] = 0
        return outputs


class OneNanOfFloat32(Right):
    """One NaN of all patterns is none."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        outputs = np.array(super().compute_exact(operator, inputs))
        if operator.name == "ELEMENT_WISE_IS_NAN" and inputs[0].dtype == np.float32:
            outputs[np.ascontiguousarray(inputs[0]).view(np.uint32) == 0xFF8A_BCDE] = 0
        return outputs


@pytest.mark.parametrize(
    "made, operator, types, number, clause, values",
    [
        (
            OnePairOfInt16,
            "MAX",
            (INT16, INT16, INT16),
            4660 << 16 | 0xFFF9,
            "max.formula",
            {"ATensor": {"values": [4660]}, "BTensor": {"values": [-7]}},
        ),
        (
            OneNanOfFloat32,
            "IS_NAN",
            (DataType.FLOAT32, UINT8),
            0xFF8A_BCDE,
            "is-nan.formula",
            {"InputTensor": {"bits": ["0xff8abcde"]}},
        ),
    ],
)
def test_one_wrong_combination_of_4_billion_is_found_reported_and_replayed(
    made: Any, operator: str, types: tuple[DataType, ...], number: int, clause: str, values: dict[str, Any]
) -> None:
    target = target_of(operator, *types)
    bench = bench_of(made)
    block_judge = SweepJudge(bench, tensor_elements=1 << 17)
    start = number >> 20 << 20
    totals = block_judge.judge(target, Block(0, start, 1 << 20))
    assert (totals.wrong, totals.elements) == (1, 1 << 20)
    assert [suspect.bits for suspect in totals.suspects] == [number]
    assert block_judge.judge(target, Block(0, start ^ 1 << 21, 1 << 20)).clean, "the neighbourhood is right"
    (failure,) = explain(bench, target, totals, Settings.read(backend="cpu"))
    assert failure.clause == clause
    case_values = failure.case["values"]
    assert case_values.keys() == values.keys()
    case = Case.from_json(failure.case)
    assert numbers_of(target, {name: stream.array(1) for name, stream in case.values.items()}) == [number]
    assert replay(bench, case, "").failed
    assert not replay(bench_of(Right), case, "").failed


class LowWords(Right):
    """64-bit integers are equal where their low words are."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        if operator.name == "ELEMENT_WISE_LOGICAL_EQUALS" and inputs[0].dtype == np.int64:
            return np.asarray(inputs[0].astype(np.int32) == inputs[1].astype(np.int32))
        return super().compute_exact(operator, inputs)


def test_a_comparison_of_low_words_is_found_in_the_sample() -> None:
    target = target_of("LOGICAL_EQUALS", INT64, INT64, UINT8)
    bench = bench_of(LowWords)
    totals = SweepJudge(bench).judge(target, Block(0, 0, 1 << 16))
    assert totals.wrong > 10
    (failure, *_) = explain(bench, target, totals, Settings.read(backend="cpu"))
    assert failure.clause == "logical-equals.formula"
    assert SweepJudge(bench_of(Right)).judge(target, Block(0, 0, 1 << 16)).clean


class ByPlace(Right):
    """The element at place 65536 of a tensor is wrong, whatever its operands."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        outputs = np.array(super().compute_exact(operator, inputs))
        if outputs.size > 65_536:
            outputs.reshape(-1)[65_536] ^= 1
        return outputs


def test_what_a_place_makes_wrong_is_not_blamed_on_the_operands() -> None:
    target = target_of("ADD", INT16, INT16, INT16)
    bench = bench_of(ByPlace)
    totals = SweepJudge(bench, tensor_elements=1 << 17).judge(target, Block(0, 0, 1 << 17))
    assert totals.wrong == 1
    (failure,) = explain(bench, target, totals, Settings.read(backend="cpu"))
    assert failure.clause == "tensor.position"


# A whole sweep.


def swept(made: Any, folder: Path, *, resume: bool = False, **selection: Any) -> dict[str, Any]:
    chosen = Settings.read(backend="cpu", results=str(folder), **selection)
    single_worker = Alone(Worker(Orders("cpu", compiled=False), bench_of(made)))
    sweep = Sweep.planned(chosen, single_worker.describe())
    with held(sweep, resume=resume) as journal:
        conduct(sweep, single_worker, lambda block, totals: None, journal)
        publish(sweep, single_worker.size)
    return load_sweep(folder)


class Unwritten(Right):
    """Does not write the last element of a tensor."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        self.view(memory, region, tensor)[..., :-1] = values[..., :-1]


class Stray(Right):
    """Writes a byte behind the output."""

    def write(self, memory: Array, region: Any, tensor: Any, values: Array) -> None:
        super().write(memory, region, tensor, values)
        memory[region.offset + tensor.total_size_in_bytes] ^= 0xFF


class StrayBetweenInputs(Right):
    """Writes a byte behind the first input, before the second."""

    def dispatch_exact(self, operator: OperatorDesc, table: Any, memory: Array, bindings: Any) -> None:
        super().dispatch_exact(operator, table, memory, bindings)
        region = bindings["ATensor"]
        memory[region.offset + operator.tensors["ATensor"].total_size_in_bytes] ^= 0xFF


class AlteringTheSecond(Right):
    """Leaves the result in the second input as well."""

    def dispatch_exact(self, operator: OperatorDesc, table: Any, memory: Array, bindings: Any) -> None:
        super().dispatch_exact(operator, table, memory, bindings)
        self.view(memory, bindings["BTensor"], operator.tensors["BTensor"])[...] = 3


@pytest.mark.parametrize(
    "made, clause, counter",
    [
        (Unwritten, "tensor.output.complete", "unwritten"),
        (Stray, "tensor.output.bounds", "strays"),
        (StrayBetweenInputs, "tensor.output.bounds", "strays"),
        (AlteringTheSecond, "tensor.input.unchanged", "altered"),
    ],
)
def test_what_happens_to_memory_is_seen(made: Any, clause: str, counter: str, tmp_path: Path) -> None:
    record = swept(made, tmp_path, operators=["ADD"], data_types=["INT8"])
    assert record["verdict"] == "NOT_CONFORMANT"
    assert {failure["clause"] for failure in record["failures"]} == {clause}
    assert all(row[counter] for row in record["sweeps"])


def test_a_right_sweep_is_conformant_and_names_types(tmp_path: Path) -> None:
    record = swept(Right, tmp_path, operators=["LOGICAL_EQUALS", "ADD"], data_types=["INT8"])
    assert record["verdict"] == "CONFORMANT"
    rows = {(row["id"], row["operator"]): row for row in record["clauses"]}
    equals = rows["logical-equals.formula", "ELEMENT_WISE_LOGICAL_EQUALS"]
    assert equals["elements"] == 2 << 16
    assert equals["types"] == ["INT8 to UINT32", "INT8 to UINT8"]
    assert rows["add.formula", "ELEMENT_WISE_ADD"]["elements"] == 1 << 16


class Saturating(Right):
    """Sums saturate."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        if operator.name == "ELEMENT_WISE_ADD" and inputs[0].dtype == np.uint8:
            return np.minimum(inputs[0].astype(np.int32) + inputs[1], 255).astype(np.uint8)
        if operator.name == "ELEMENT_WISE_BIT_AND" and inputs[0].dtype == np.uint8:
            return inputs[0] & inputs[1] & np.uint8(0x7F)
        return super().compute_exact(operator, inputs)


def test_a_failure_is_written_with_its_operands_and_replayed(tmp_path: Path) -> None:
    record = swept(Saturating, tmp_path, operators=["BIT_AND"], data_types=["UINT8", "INT8"])
    assert record["verdict"] == "NOT_CONFORMANT"
    row = next(row for row in record["sweeps"] if row["wrong"])
    assert row["wrong"] == 1 << 14
    assert row["simplest_wrong"][0]["input"] == "ATensor 128 (0x80), BTensor 128 (0x80)"
    (first, *_) = record["failures"]
    load_failure(tmp_path / "failures" / first["file"])
    case = load_case(tmp_path / "failures" / first["file"], TABLES)
    assert replay(bench_of(Saturating), case, "").failed
    assert not replay(bench_of(Right), case, "").failed
    page = (tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert "BTensor 128" in page


def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    chosen = {"operators": ["BIT_AND"], "data_types": ["UINT8", "INT8"]}
    outcome = stopped(tmp_path, lambda: bench_of(Saturating), **chosen)
    assert len(outcome.judged) == 2
    outcome.ends_as(swept(Saturating, tmp_path / "whole", **chosen))


def test_a_worker_s_answer_about_pairs_that_cannot_be_is_refused() -> None:
    target = target_of("ADD", INT8, INT8, INT8)
    block = Block(0, 0, 1 << 16)
    totals = SweepJudge(bench_of(Saturating)).judge(target, block)
    assert not unaccounted(totals, target, block)
    beyond = Totals.from_json(totals.to_json())
    beyond.wrong, beyond.exact = 1, beyond.exact - 1
    beyond.classes, beyond.wrong_classes = {"integer": 1 << 16}, {"integer": 1}
    beyond.exponents, beyond.fractions, beyond.failing = {1: 1}, {"integer": 1}, 1
    beyond.suspects = (Suspect(1.0, 0xFFFF, 0xFF, 0, 1),)
    assert not unaccounted(beyond, target, block), "the control"
    for bits, got in ((1 << 16, 0), (0, 1 << 8)):
        beyond.suspects = (Suspect(1.0, bits, got, 0, 1),)
        assert "where its examples stand" in unaccounted(beyond, target, block)


def test_suspects_of_128_bits_survive_the_journal() -> None:
    target = target_of("MAX", INT64, INT64, INT64)
    a, b = np.array([1, -1], np.int64), np.array([-1, 5], np.int64)
    totals = Totals()
    got = np.array([7, 8], np.uint64)
    inputs = dict(zip([name for name, _ in target.inputs], (a, b), strict=True))
    totals.blame_together(dict(target.inputs), inputs, got, lambda few: numbers_of(target, few))
    again = Totals.from_json(totals.to_json())
    assert again.suspects == totals.suspects
    assert {suspect.bits for suspect in again.suspects} == {(1 << 64) | ((1 << 64) - 1), ((1 << 64) - 1) << 64 | 5}


def test_the_judge_agrees_with_the_oracle_on_right_other_and_wrong_outputs() -> None:
    """NaN payloads and zeros of either sign count as the oracle counts them."""
    target = target_of("MAX", FLOAT16, FLOAT16, FLOAT16)
    operator = described(TABLES, target, LEVEL, 1 << 16)
    oracle = oracle_of(TABLES, operator, strict=False)
    inputs = combinations(target, 0x7BFF_0000, 1 << 16)
    output = oracle.expected(inputs)
    bits = np.array(output).view(np.uint16)
    bits[::3] ^= np.uint16(1)
    changed = bits.view(np.float16)
    judged = SeveralJudge(oracle, {}).judge(inputs, changed, poison=0x3A5B)
    wrong = oracle.judge(inputs, changed)
    assert judged.wrong.tolist() == wrong.tolist()
    assert judged.exact + judged.equal + judged.other + judged.wrong.size == judged.elements == 1 << 16


def test_the_first_block_of_every_operator_and_type_holds_on_the_cpu() -> None:
    bench = Settings.read(backend="cpu", isolation="none").open()
    block_judge = SweepJudge(bench, tensor_elements=1 << 8, compiled=False)
    targets = plan(TABLES, bench.level, operators=TABLES.operators.values(), data_types=DataType).targets
    kinds = {
        (candidate.operator, str(candidate.signature), candidate.data_type, candidate.kind): candidate
        for candidate in targets
    }
    assert {operator for operator, *_ in kinds} == {table.operator for table in TABLES.operators.values()}
    for target in kinds.values():
        count = 1 if target.kind == "bounds" else min(1 << 8, target.block_size(), target.size)
        totals = block_judge.judge(target, Block(0, 0, count))
        assert totals.clean, (target.key, totals.troubles)
        assert totals.elements
    block_judge.close()


def outputs_near(expected: Array) -> list[Array]:
    """What is expected, each with its last bit changed, and every other one with its sign changed."""
    bits = expected.view(f"u{expected.itemsize}")
    signs = bits ^ (np.arange(bits.size) % 2 << 8 * expected.itemsize - 1).astype(bits.dtype)
    return [expected, (bits ^ 1).view(expected.dtype), signs.view(expected.dtype)]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.size("thorough")
def test_the_judge_finds_wrong_what_the_oracle_refuses_on_every_operator_and_type(strict: bool) -> None:
    count = 1 << 9
    judged = 0
    for target in {
        (candidate.operator, candidate.inputs, candidate.output_type): candidate for candidate in of_several()
    }.values():
        operator = described(TABLES, target, LEVEL, count)
        generator = np.random.Generator(np.random.PCG64(3))
        inputs = {}
        for name, data_type in target.inputs:
            inputs[name] = np.frombuffer(generator.bytes(count * data_type.itemsize), data_type.numpy).copy()
            if data_type.is_floating:
                inputs[name][::2] = generator.uniform(-100, 100, count // 2).astype(data_type.numpy)
        oracle, single = oracle_of(TABLES, operator, strict=strict), singles_of(operator, target)
        judge = SeveralJudge(oracle, single)
        whole = inputs | {name: np.repeat(array, count) for name, array in single.items()}
        with np.errstate(all="ignore"):
            for output in outputs_near(np.ascontiguousarray(oracle.expected(whole))):
                refused = np.flatnonzero(~oracle.admits(whole, output))
                judgement = judge.judge(inputs, output, poison=0x3A)
                assert judgement.wrong.tolist() == refused.tolist(), target.key
                assert judgement.exact + judgement.equal + judgement.other + judgement.wrong.size == count
                judged += 1
    assert judged > 1000


@pytest.mark.parametrize("strict", [False, True])
def test_a_result_rounded_once_is_wrong_where_strict_asks_for_every_rounding(strict: bool) -> None:
    """(a - b) * (a - b) of FLOAT32: the difference is rounded first."""
    target = target_of("DIFFERENCE_SQUARE", FLOAT32, FLOAT32, FLOAT32)
    operator = described(TABLES, target, LEVEL, 1 << 10)
    oracle = oracle_of(TABLES, operator, strict=strict)
    drawn = np.random.Generator(np.random.PCG64(3)).uniform(-100, 100, (2, 1 << 10)).astype(np.float32)
    inputs = dict(zip(operator.inputs, drawn, strict=True))
    expected = oracle.expected(inputs)
    judged = SeveralJudge(oracle, {}).judge(inputs, expected, poison=0x3A5B)
    assert judged.wrong.tolist() == oracle.judge(inputs, expected).tolist()
    assert bool(judged.wrong.size) is strict
    assert (judged.exact, judged.equal, judged.other) == (expected.size - judged.wrong.size, 0, 0)
    each = np.square(drawn[0] - drawn[1])
    judged = SeveralJudge(oracle, {}).judge(inputs, each, poison=0x3A5B)
    assert not judged.wrong.size, "the control: every step rounded"


@pytest.mark.size("thorough")
def test_the_command_sweeps_pairs(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    done = dmlcts(
        "sweep",
        "--backend",
        "cpu",
        "--operator",
        "ADD,BIT_COUNT",
        "--data-type",
        "INT8",
        "--results",
        str(tmp_path / "swept"),
    )
    assert done.code == 0, done.out + done.err
    assert "sweeping 3 targets, 66,048 elements" in done.err
    assert "CONFORMANT" in done.out
