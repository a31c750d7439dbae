"""Whoever judges a sweep: an implementation that changes the process in which it runs changes no verdict."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dmlcts.reports.certification.verdict import Status
from dmlcts.reports.views.sweeps import load_sweep
from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution, Mishap
from dmlcts.suites.cases.values import Values
from dmlcts.suites.certification.sweep import check_sweep
from dmlcts.suites.certification.sweep import sweep as certified
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.isolation import floating_point
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.certification.test_certified_sweep import context
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.strangers import corrupting
from dmlcts.suites.sweeping.blocks.targets import Plan, resized
from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
from dmlcts.suites.sweeping.record import publish
from dmlcts.suites.sweeping.worker_pools.processes import Processes
from dmlcts.suites.sweeping.worker_pools.workers import Orders

CORRUPTING = "dmlcts.suites.selftest.strangers.corrupting"
TABLES = load_tables()
SUBNORMAL = 1 << 16  # the first patterns of FLOAT32: zero and subnormal numbers
changes_the_word = pytest.mark.skipif(not corrupting.CAN_CHANGE, reason=corrupting.WHY_NOT)
both = pytest.mark.parametrize("isolation", ["process", "none"])


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Whatever a test does to this thread's arithmetic ends with it."""
    yield
    floating_point.reset()


def small(whole: Plan) -> Plan:
    """The first inputs of each target."""
    return Plan(tuple(resized(target, SUBNORMAL) for target in whole.targets))


def verdict(backend: str, folder: Path, isolation: str, *options: str, operator: str = "CLIP") -> str:
    """The verdict of a strict sweep over the first FLOAT32 patterns, judged by the worker pool of `dmlcts sweep`."""
    named = f"{CORRUPTING}:{backend}"
    settings = Settings.read(
        backend=named,
        options=options,
        results=str(folder),
        operators=[operator],
        data_types=["FLOAT32"],
        strict=True,
        isolation=isolation,
    )
    processes = Processes(Orders(named, options, str(folder), strict=True, isolation=isolation), 1)
    try:
        sweep = Sweep.planned(settings, processes.describe())
        sweep.plan = small(sweep.plan)
        with held(sweep) as journal:
            conduct(sweep, processes, lambda block, totals: None, journal, explained=False)
            publish(sweep, processes.size)
    finally:
        processes.close()
    record = load_sweep(folder)
    assert record["environment"]["isolation"] == isolation
    wrong = any(row["wrong"] for row in record["sweeps"])
    assert wrong == (record["verdict"] == "NOT_CONFORMANT")
    return str(record["verdict"])


@changes_the_word
@both
@pytest.mark.parametrize("at", ["open", "create", "dispatch"])
@pytest.mark.size("all", thorough=2)
def test_a_processor_set_to_flush_hides_nothing(tmp_path: Path, isolation: str, at: str) -> None:
    assert verdict("Flushing", tmp_path, isolation, f"at={at}") == "NOT_CONFORMANT"


@changes_the_word
@both
@pytest.mark.size("thorough")
def test_a_processor_set_to_flush_blames_nobody(tmp_path: Path, isolation: str) -> None:
    assert verdict("RightAndFlushing", tmp_path, isolation) == "CONFORMANT"


LIBRARY = """
#include <xmmintrin.h>
__attribute__((constructor)) static void quick(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.skipif(corrupting.MACHINE != "x86_64", reason="the library is written for x86-64")
@changes_the_word
@both
@pytest.mark.size("thorough")
def test_a_library_built_for_speed_hides_nothing(tmp_path: Path, isolation: str) -> None:
    source, library = tmp_path / "quick.c", tmp_path / "quick.so"
    source.write_text(LIBRARY, encoding="utf-8")
    gcc = str(shutil.which("gcc"))
    subprocess.run([gcc, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    assert verdict("Loading", tmp_path / "out", isolation, f"library={library}") == "NOT_CONFORMANT"


@pytest.mark.parametrize("backend", ["ReplacesTheComparison", "ReplacesNumpy", "ReplacesTheTotals"])
@pytest.mark.size("all", thorough=1)
def test_a_replaced_judge_hides_nothing(tmp_path: Path, backend: str) -> None:
    assert verdict(backend, tmp_path, "process", operator="ROUND") == "NOT_CONFORMANT"


@pytest.mark.parametrize("backend", ["ReplacesTheComparison", "ReplacesNumpy"])
@pytest.mark.size("thorough")
def test_the_command_finds_what_replaces_its_judge(tmp_path: Path, dmlcts: Callable[..., Ran], backend: str) -> None:
    ran = dmlcts("sweep", "--backend", f"{CORRUPTING}:{backend}", "--operator", "ROUND", "--data-type", "FLOAT16")
    assert (ran.code, "NOT CONFORMANT" in ran.out) == (1, True), ran.out + ran.err
    record = load_sweep(tmp_path / "results")
    assert all(row["wrong"] > 60_000 for row in record["sweeps"])
    assert record["environment"]["isolation"] == "process"


@pytest.mark.size("thorough")
def test_the_command_states_where_it_judged_in_one_process(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    asked = ("sweep", "--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16")
    ran = dmlcts(*asked, "--isolation", "none")
    assert (ran.code, "judged in one process with the implementation" in ran.out) == (0, True), ran.out + ran.err
    assert load_sweep(tmp_path / "results")["environment"]["isolation"] == "none"
    control = dmlcts(*asked)
    assert (control.code, "in one process" in control.out) == (0, False)
    assert load_sweep(tmp_path / "results")["environment"]["isolation"] == "process"


@pytest.mark.parametrize("isolation", ["process", "none"], ids=["run isolated", "run in one process, a draft"])
@pytest.mark.parametrize(
    "backend, wanted",
    [
        (f"{CORRUPTING}:ReplacesTheComparison", "NOT_CONFORMANT"),
        (f"{CORRUPTING}:ReplacesNumpy", "NOT_CONFORMANT"),
        ("cpu", "CONFORMANT"),
    ],
)
@pytest.mark.size("all", thorough=2)
def test_a_certified_sweep_is_judged_apart_however_the_run_was(
    tmp_path: Path, backend: str, wanted: str, isolation: str
) -> None:
    settings = Settings.read(backend=backend, results=str(tmp_path), isolation=isolation)
    record = certified(settings, FeatureLevel("5.0"), lambda text: None, small)
    assert (record["verdict"], record["environment"]["isolation"]) == (wanted, "process")
    sweep_context = context(record)
    sweep_context.reference = SimpleNamespace(tables=replace(TABLES))
    statuses = {status for status, _ in check_sweep(sweep_context)}
    assert statuses == {Status.FAIL}, "a part of a sweep is none, and a failing one is reported"


# The control word -------------------------------------------------------------------------------------------------


@changes_the_word
@pytest.mark.parametrize(
    "bits, message",
    [(corrupting.FLUSHING, "flushes subnormal numbers"), (corrupting.TOWARD_ZERO, "does not round to the nearest")],
    ids=["flush", "round"],
)
def test_the_control_word_is_seen_and_put_right(bits: dict[str, int], message: str) -> None:
    assert floating_point.deviation() == ""
    corrupting.set_bits(bits)
    assert message in floating_point.deviation()
    floating_point.reset()
    assert floating_point.deviation() == ""


def subnormal_case() -> Case:
    """CLIP on subnormal FLOAT32 numbers."""
    subject = Subject.on(TABLES.operator("CLIP"), DataType.FLOAT32, FeatureLevel("5.0"), 0, profile=QUICK)
    operator = subject.describe(subject.flat(256), subject.attributes(Min=np.float32(-1), Max=np.float32(1)))
    return Case(operator, Values.patterns(DataType.FLOAT32, 0), "clip.formula")


@changes_the_word
@pytest.mark.parametrize("at", ["open", "create", "dispatch", "raise"])
def test_every_call_ends_with_the_control_word_put_right(at: str) -> None:
    bench = Bench("flushing", corrupting.Flushing(), {"at": at}, TABLES, strict=True)
    assert floating_point.deviation() == ""
    outcome = bench.run(subnormal_case())
    assert isinstance(outcome, Mishap if at == "raise" else Execution)
    assert floating_point.deviation() == ""
    bench.close()


@changes_the_word
def test_an_ordinary_run_in_one_process_judges_rightly() -> None:
    for made, broken in ((corrupting.Flushing, {"clip.formula"}), (corrupting.RightAndFlushing, set())):
        bench = Bench("flushing", made(), {}, TABLES, strict=True)
        assert isinstance(bench.run(subnormal_case()), Execution)  # leaves the word changed, but for the bench
        assert {finding.clause for finding in judge_case(bench, subnormal_case()).findings} == broken
        bench.close()


@changes_the_word
def test_where_the_word_cannot_be_put_right_nothing_is_judged() -> None:
    corrupting.set_bits(corrupting.FLUSHING)
    with pytest.raises(floating_point.ArithmeticChanged, match=r"flushes subnormal numbers .* --isolation process"):
        floating_point.reset(lambda: None)

    class Unmendable(corrupting.Flushing):
        def dispatch(self, *_: object) -> None:
            raise floating_point.ArithmeticChanged("flushes")

    bench = Bench("unmendable", Unmendable(), {}, TABLES)
    with pytest.raises(floating_point.ArithmeticChanged):  # not an outcome of the case: there is no verdict
        bench.run(subnormal_case())
    bench.close()
