"""A sweep's folder: held by one, shared with a run's records, resumed only as it was, and read as a stranger's."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.documents.locking import FolderLock
from dmlcts.reports.views.sweeps import load_sweep
from dmlcts.specs import DmlctsError, UsageError
from dmlcts.suites.mutants.rare import OneRoundedValueOfFloat16
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.running.test_interrupted_runs import COMMAND, small_disk
from dmlcts.suites.selftest.sweeping.damaged_journals import DAMAGES, Damage
from dmlcts.suites.selftest.sweeping.test_sweeping import ROUND16, TABLES, HalvesUp, bench_of, swept
from dmlcts.suites.sweeping.blocks.targets import Block
from dmlcts.suites.sweeping.blocks.totals import Totals
from dmlcts.suites.sweeping.conducting import Sweep, Unaccounted, conduct, held
from dmlcts.suites.sweeping.journal import NAME
from dmlcts.suites.sweeping.worker_pools.workers import Alone, Job, Orders, Worker

__all__ = ["small_disk"]  # a fixture
SWEEP = ("sweep", "--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16", "-n", "1")
RUN = ("run", "--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16", "--clause", "round.odd")


def planned(folder: Path, **changes: Any) -> Sweep:
    """The sweep that :func:`swept` makes of HalvesUp."""
    settings = Settings.read(backend="cpu", results=str(folder), **ROUND16)
    single_worker = Alone(Worker(Orders("cpu", compiled=False), bench_of(HalvesUp)))
    return Sweep.planned(settings, replace(single_worker.describe(), **changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of a finished sweep that found wrong values in its third block."""
    folder = tmp_path_factory.mktemp("finished")
    record = swept(HalvesUp, folder)
    assert [bool(row["wrong"]) for row in record["sweeps"]] == [False, False, True]
    return folder


# Damaged journals -----------------------------------------------------------------------------------------


def test_the_catalogue_is_one() -> None:
    refused = [damage for damage in DAMAGES if damage.wording]
    assert len(refused) >= 30
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES)
    assert all(damage.why for damage in DAMAGES)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_a_damaged_journal_is_refused_in_one_line(damage: Damage, finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(finished, folder)
    path = folder / NAME
    path.write_bytes(damage.change(path.read_bytes().splitlines(keepends=True)))
    before = {place: place.read_bytes() for place in folder.rglob("*") if place.is_file()}
    sweep = planned(folder)
    if not damage.wording:
        with held(sweep, resume=True):
            assert sweep.elements == len(sweep.done) << 16
        return
    with pytest.raises(DmlctsError) as refused, held(sweep, resume=True):
        pass
    message = str(refused.value)
    assert damage.wording in message
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    assert {place: place.read_bytes() for place in folder.rglob("*") if place.is_file()} == before
    assert not sweep.done


@pytest.mark.parametrize("name", ["one element of 65,536", "zeros in the middle", "a count that is true"])
@pytest.mark.size("all", thorough=1)
def test_the_command_refuses_a_damaged_journal(name: str, tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    (damage,) = [damage for damage in DAMAGES if damage.name == name]
    assert dmlcts(*SWEEP).code == 0
    path = tmp_path / "results" / NAME
    path.write_bytes(damage.change(path.read_bytes().splitlines(keepends=True)))
    ran = dmlcts(*SWEEP, "--resume", "results")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.out + ran.err
    assert ran.err.startswith(f"dmlcts: results/{NAME}:")
    assert load_sweep(tmp_path / "results")["verdict"] == "CONFORMANT", "what was there stays there"


def test_what_is_no_file_is_refused(finished: Path, tmp_path: Path) -> None:
    for number, make in enumerate((Path.mkdir, os.mkfifo if hasattr(os, "mkfifo") else Path.mkdir)):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(folder / NAME)
        with pytest.raises(DmlctsError), held(planned(folder), resume=True):
            pass


def test_a_worker_that_does_not_account_for_a_block_is_not_believed(tmp_path: Path) -> None:
    sweep = planned(tmp_path)
    block = next(iter(sweep.plan.blocks()))
    with pytest.raises(Unaccounted, match="of its 65536 judged elements 1 were found right or wrong"):
        sweep.count(block, Totals(blocks=1, elements=1 << 16, exact=1))
    assert not sweep.done
    right = Totals(blocks=1, elements=1 << 16, exact=1 << 16, classes={"normal": 1 << 16})
    assert sweep.count(block, right)


# What must be the same ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "member, value, message",
    [
        ("backend", "wgpu", "the backend: wgpu there, cpu here"),
        ("options", {"fast": "1"}, "the backend's options (fast)"),
        ("operators", ["ELEMENT_WISE_CLIP"], "the selected operators"),
        ("data_types", [], "the selected data types"),
        ("profile", "full", "the profile: full there, quick here"),
        ("seed", 7, "the seed: 7 there, 0 here"),
        ("strict", True, "--strict-ieee: True there, False here"),
        ("isolation", "process", "the isolation: process there, none here"),
        ("level", "6.0", "the level that is judged: 6.0 there"),
        ("specs", {"clip.yaml": "0"}, "the spec tables"),
        ("plan", "0", "what is swept"),
        ("device", None, "the device"),
    ],
)
def test_another_sweep_is_named_by_its_first_difference(
    member: str, value: object, message: str, finished: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "other"
    shutil.copytree(finished, folder)
    lines = (folder / NAME).read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    header["sweep"][member] = value
    (folder / NAME).write_bytes(b"".join([json.dumps(header).encode() + b"\n", *lines[1:]]))
    with pytest.raises(UsageError, match="a sweep that differs in") as refused, held(planned(folder), resume=True):
        pass
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("member, name", [("driver", "driver"), ("version", "version"), ("library", "library")])
def test_another_device_or_version_is_refused(member: str, name: str, finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(finished, folder)
    device = planned(folder).description.device
    with (
        pytest.raises(UsageError, match=rf"the device \({name}\): .* there, 9\.9 here"),
        held(planned(folder, device={**device, member: "9.9"}), resume=True),
    ):
        pass
    with held(planned(folder), resume=True):
        pass  # the control


def test_another_version_of_the_suite_is_refused(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(finished, folder)
    text = (folder / NAME).read_text(encoding="utf-8")
    changed = text.replace('"suite": {"version": "', '"suite": {"version": "9', 1)
    assert changed != text
    (folder / NAME).write_text(changed, encoding="utf-8")
    with pytest.raises(UsageError, match=r"the suite's version \(version\)"), held(planned(folder), resume=True):
        pass


# The folder -----------------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.size("all")
def test_a_sweep_and_a_run_leave_each_other_s_records(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    broken = f"{OneRoundedValueOfFloat16.__module__}:{OneRoundedValueOfFloat16.__name__}"
    run, sweep = (
        (words[0], "--backend", broken, "--operator", "ROUND", "--data-type", "FLOAT16") for words in (RUN, SWEEP)
    )
    folder = tmp_path / "results"
    assert dmlcts(*run, "--clause", "round.nearest-even").code == 1
    of_run = contents(folder)
    assert {"results.json", "results.html", "junit.xml", "records.jsonl"} < set(of_run)
    assert any(name.startswith("failures/") for name in of_run)
    assert dmlcts(*sweep).code == 1
    both = contents(folder)
    assert {name: data for name, data in both.items() if name in of_run} == of_run
    of_sweep = {name: data for name, data in both.items() if name not in of_run}
    assert {"sweep.json", "sweep.html", NAME} < set(of_sweep)
    assert any(name.startswith("failures/sweep-") for name in of_sweep)
    assert dmlcts(*RUN).code == 0
    after = contents(folder)
    assert {name: data for name, data in after.items() if name in of_sweep} == of_sweep
    assert not any(name.startswith("failures/") for name in set(after) - set(of_sweep)), "the earlier run's are gone"
    assert dmlcts(*SWEEP).code == 0
    last = contents(folder)
    assert not any(name.startswith("failures/") for name in last), "and so are the earlier sweep's"
    assert last["results.json"] == after["results.json"]


@pytest.mark.size("thorough")
def test_one_writes_into_a_folder_at_a_time(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    (tmp_path / "results").mkdir()
    lock = FolderLock(tmp_path / "results")
    try:
        ran = dmlcts(*SWEEP)
        assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
        assert "another run is writing into results" in ran.err
    finally:
        lock.release()
    sweep = planned(tmp_path / "mine")
    with held(sweep), pytest.raises(UsageError, match="another run is writing"), held(planned(tmp_path / "mine")):
        pass
    with held(planned(tmp_path / "mine")):
        pass  # the control: it is free again


def test_a_folder_is_free_again_after_a_refusal(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(finished, folder)
    (folder / NAME).write_bytes(b"")
    for _ in range(2):
        with pytest.raises(DmlctsError, match="is empty"), held(planned(folder), resume=True):
            pass


# A full disk ----------------------------------------------------------------------------------------------


class Filling(Alone):
    """A worker pool whose second block finds the disk full."""

    def __init__(self, worker: Worker, ballast: Path) -> None:
        super().__init__(worker)
        self._ballast = ballast

    def judge(self, jobs: Iterable[Job]) -> Iterator[tuple[Block, Totals]]:
        for number, block_result in enumerate(super().judge(jobs)):
            if number == 1:
                with contextlib.suppress(OSError), self._ballast.open("wb", buffering=0) as stream:
                    while True:
                        stream.write(bytes(512))
            yield block_result


def judged_in(folder: Path, single_worker: Alone, *, resume: bool = False) -> Sweep:
    """Sweep CLIP on INT8 with every pair of bounds: many small blocks."""
    settings = Settings.read(backend="cpu", results=str(folder), operators=["CLIP"], data_types=["INT8"])
    sweep = Sweep.planned(settings, single_worker.describe(), "full")
    with held(sweep, resume=resume) as journal:
        conduct(sweep, single_worker, lambda block, totals: None, journal)
    return sweep


def test_a_full_disk_ends_a_sweep_in_one_line_and_leaves_it_resumable(small_disk: Path) -> None:
    folder, ballast = small_disk / "results", small_disk / "ballast"
    worker = Worker(Orders("cpu", compiled=False), bench_of(Reference))
    with pytest.raises(UsageError, match=r"cannot write .*No space left.*`dmlcts sweep --resume`") as full:
        judged_in(folder, Filling(worker, ballast))
    assert "\n" not in str(full.value)
    ballast.unlink()
    lines = (folder / NAME).read_bytes().splitlines(keepends=True)
    assert len(lines) > 1
    assert all(line.endswith(b"\n") for line in lines)
    sweep = judged_in(folder, Alone(worker), resume=True)
    assert 0 < sweep.resumed == (len(lines) - 1) << 8 < sweep.elements == sweep.plan.elements


@pytest.mark.size("thorough")
def test_a_small_disk_is_reported_in_one_line(small_disk: Path, dmlcts: Callable[..., Ran]) -> None:
    (small_disk / "ballast").write_bytes(bytes(80_000))  # what is left takes the journal, and not the record
    types = [word for name in ("INT8", "INT16") for word in ("--data-type", name)]
    asked = ("sweep", "--backend", "cpu", "--operator", "CLIP", *types, "--profile", "full", "-n", "1")
    folder = small_disk / "results"
    ran = dmlcts(*asked, "--results", str(folder))
    assert (ran.code, ran.err.count("dmlcts: cannot write")) == (2, 1), ran.out + ran.err
    assert "No space left on device" in ran.err
    assert "Traceback" not in ran.out + ran.err
    assert not (folder / "sweep.json").exists()
    (small_disk / "ballast").unlink()
    resumed = dmlcts(*asked, "--resume", str(folder))
    assert (resumed.code, "this sitting 0 in" in resumed.out) == (0, True), resumed.out + resumed.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
@pytest.mark.size("all", thorough=1)
def test_a_stopped_sweep_goes_on_to_the_same_record(
    tmp_path: Path, dmlcts: Callable[..., Ran], number: signal.Signals
) -> None:
    asked = ("sweep", "--backend", "cpu", "--operator", "CLIP", "--data-type", "INT16", "-n", "1")
    running = subprocess.Popen([*COMMAND, *asked], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "results" / NAME
    deadline = time.monotonic() + 100
    while not journal.exists() or journal.read_bytes().count(b'{"block"') < 2:
        assert time.monotonic() < deadline, "the sweep records nothing"
        time.sleep(0.005)
    running.send_signal(number)
    running.wait(60)
    resumed = dmlcts(*asked, "--resume", "results")
    assert resumed.code == 0, resumed.out + resumed.err
    record = load_sweep(tmp_path / "results")
    assert (record["verdict"], record["interrupted"]) == ("CONFORMANT", False)
    assert all(row["elements"] == row["elements_planned"] for row in record["sweeps"])
    blocks = [json.loads(line)["block"]["id"] for line in journal.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(blocks) == len(set(blocks)) == len(record["sweeps"])


def test_tables_that_differ_are_seen(tmp_path: Path) -> None:
    assert planned(tmp_path).header["specs"] == dict(sorted(TABLES.digests.items()))
