"""Runs that are killed, divided and disturbed: nothing is lost, and the pieces amount to the whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.documents.results import VOLATILE, stable

COMMAND = [sys.executable, "-m", "dmlcts.suites.commands.main"]
SELECTED = ("--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16", "--clause", "round.*,binding.*")
SLOW = (
    "--backend",
    "dmlcts.suites.selftest.isolation.faulty:Slow",
    "--operator",
    "ROUND",
    "--data-type",
    "FLOAT32",
    "--clause",
    "round.*",
)


def results_in(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, dmlcts_in: Callable[..., Any]) -> Path:
    """The results folder of an undisturbed run of the selection."""
    folder = tmp_path_factory.mktemp("whole")
    ran = dmlcts_in("run", *SELECTED, folder=folder)
    assert ran.code == 0, ran.out + ran.err
    return folder / "results"


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, dmlcts_in: Callable[..., Any]) -> list[Path]:
    folder = tmp_path_factory.mktemp("shards")
    made = []
    for part in ("1/2", "2/2"):
        place = folder / part[0]
        ran = dmlcts_in("run", *SELECTED, "--shard", part, "--results", str(place), folder=folder)
        assert ran.code == 4, "a shard alone is incomplete"
        made.append(place)
    return made


@pytest.mark.size("thorough")
def test_two_runs_differ_in_the_volatile_fields_alone(tmp_path: Path, whole: Path, dmlcts: Callable[..., Any]) -> None:
    assert VOLATILE == ("timings", "environment")
    assert dmlcts("run", *SELECTED).code == 0
    again, first = results_in(tmp_path / "results"), results_in(whole)
    assert {name for name in first if first[name] != again[name]} <= {"timings", "environment"}
    assert stable(first) == stable(again)
    other = dmlcts("run", *SELECTED, "--seed", "1").results
    assert stable(other) != stable(first), "the control: another seed is seen"


@pytest.mark.size("thorough")
def test_processes_of_pytest_xdist_find_the_same(tmp_path: Path, whole: Path, dmlcts: Callable[..., Any]) -> None:
    pytest.importorskip("xdist")
    ran = dmlcts("run", *SELECTED, "--isolation", "process", "-n", "2")
    assert (ran.code, "running again" in ran.out) == (0, False), ran.out + ran.err
    assert stable(results_in(tmp_path / "results")) == stable(results_in(whole))


@pytest.mark.size("thorough")
def test_a_shard_states_that_it_is_one(shards: list[Path]) -> None:
    assert [results_in(shard)["shard"] for shard in shards] == ["1/2", "2/2"]
    assert {results_in(shard)["verdict"] for shard in shards} == {"INCOMPLETE"}


def lines_of(results: Path) -> list[str]:
    """The lines of a journal that hold a test each."""
    lines = (results / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith('{"item"')]


def test_merged_shards_are_the_whole_run(
    tmp_path: Path, whole: Path, shards: list[Path], dmlcts: Callable[..., Any]
) -> None:
    ran = dmlcts("merge", *map(str, reversed(shards)), "-o", "joined")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == f"2 shards, {len(lines_of(whole))} tests"
    assert stable(results_in(tmp_path / "joined")) == stable(results_in(whole))
    assert dmlcts("merge", "joined", "-o", "again").err.startswith("dmlcts: joined/records.jsonl is no shard's")


WRONG = """
import numpy as np
from dmlcts.suites.mutants.reference import Reference


class HalfUp(Reference):
    def half_away(self, x):
        return np.floor(x + np.asarray(0.5, x.dtype))
"""


@pytest.mark.size("thorough")
def test_merged_shards_state_what_is_wrong_and_end_as_a_run_does(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    (tmp_path / "third.py").write_text(WRONG, encoding="utf-8")
    selected = ("--operator", "ROUND", "--data-type", "FLOAT32", "--clause", "round.t*,round.nearest-even")
    for part in "12":
        ran = dmlcts("run", "--backend", "third.py:HalfUp", *selected, "--shard", f"{part}/2", "--results", part)
        assert ran.code in (1, 4), ran.out + ran.err
    joined = dmlcts("merge", "1", "2", "-o", "joined")
    assert joined.code == 1, joined.out + joined.err
    assert "FAIL  round.toward-infinity (required)" in joined.out
    assert "replay: joined/failures/round.toward-infinity-round-float32-" in joined.out
    assert joined.out.rstrip().endswith("(exit code 1)")
    assert "<title>NOT CONFORMANT" in (tmp_path / "joined" / "results.html").read_text(encoding="utf-8")


@pytest.mark.size("thorough")
def test_merged_shards_that_lack_something_required_are_incomplete(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    few = """
from dmlcts.suites.mutants.reference import Reference


class Few(Reference):
    info = {"name": "few", "feature_level": "5.0", "data_types": {"CLIP": []}}

    def refuses(self, operator):
        return "not claimed" if operator.name.endswith("CLIP") else super().refuses(operator)
"""
    (tmp_path / "third.py").write_text(few, encoding="utf-8")
    for part in "12":
        arguments = ("--operator", "CLIP,ROUND,THRESHOLD", "--clause", "*.formula", "--data-type", "FLOAT32")
        shard = ("--shard", f"{part}/2", "--results", part)
        assert dmlcts("run", "--backend", "third.py:Few", *arguments, *shard).code == 4
    joined = dmlcts("merge", "1", "2", "-o", "joined")
    assert (joined.code, "INCOMPLETE" in joined.out) == (4, True), joined.out + joined.err


def changed(shard: Path, folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> Path:
    """A copy of a shard with its journal's lines changed."""
    copy = folder / "changed"
    shutil.copytree(shard, copy)
    path = copy / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return copy


CHANGES: dict[str, tuple[Callable[[list[dict[str, Any]]], Any], str]] = {
    "nothing": (lambda lines: None, ""),
    "other seed": (lambda lines: lines[0]["run"].update(seed=5), "the seed: 0 there, 5 here"),
    "other device": (lambda lines: lines[0]["run"]["device"].update(driver="9"), "the device (driver):  there, 9 here"),
    "other tables": (lambda lines: lines[0]["run"]["specs"].update({"clip.yaml": "0"}), "the spec tables"),
    "other suite": (lambda lines: lines[0]["run"]["suite"].update(version="9"), "the suite's version"),
    "other options": (lambda lines: lines[0]["run"].update(options={"x": "1"}), "the backend's options (x)"),
    "other division": (lambda lines: lines[0]["run"].update(shard="2/3"), "one of 3 shards"),
    "same shard": (lambda lines: lines[0]["run"].update(shard="1/2"), "are both shard 1/2"),
    "not ended": (lambda lines: lines.pop(), "did not end"),
    "a test less": (lambda lines: lines.pop(2), "tests"),
    "no shard": (lambda lines: lines[0]["run"].update(shard=None), "is no shard's"),
    "a shard beyond the last": (lambda lines: lines[0]["run"].update(shard="3/2"), "is no shard's"),
    "other total": (lambda lines: lines[1]["collected"].update(total=999), "999 tests in all"),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.size("all", brief=1, thorough=4)
def test_merge_refuses_what_is_not_one_run(
    tmp_path: Path, shards: list[Path], dmlcts: Callable[..., Any], name: str
) -> None:
    change, message = CHANGES[name]
    other = changed(shards[1], tmp_path, change)
    ran = dmlcts("merge", str(shards[0]), str(other), "-o", "joined")
    if not message:
        assert ran.code == 0, ran.err
        return
    assert (ran.code, ran.err.count("\n"), message in ran.err) == (2, 1, True), ran.err
    assert "records.jsonl" in ran.err
    assert not (tmp_path / "joined").exists()


@pytest.mark.size("thorough")
def test_merge_refuses_gaps_and_overlaps(tmp_path: Path, shards: list[Path], dmlcts: Callable[..., Any]) -> None:
    gap = dmlcts("merge", str(shards[1]), "-o", "joined")
    assert (gap.code, "shard 1 of 2 is missing" in gap.err) == (2, True), gap.err
    first = json.loads((shards[0] / "records.jsonl").read_text(encoding="utf-8").splitlines()[2])["item"]["test"]
    other = changed(shards[1], tmp_path, lambda lines: lines[2]["item"].update(test=first))
    overlap = dmlcts("merge", str(shards[0]), str(other), "-o", "joined")
    assert (overlap.code, f"both hold {first}" in overlap.err) == (2, True), overlap.err


def started(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "run", *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def recorded(folder: Path, count: int) -> None:
    """Wait until a run has recorded so many tests."""
    deadline = time.monotonic() + 100
    path = folder / "results" / "records.jsonl"
    while not path.exists() or path.read_bytes().count(b'{"item"') < count:
        assert time.monotonic() < deadline, "the run records nothing"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory, dmlcts_in: Callable[..., Any]) -> Path:
    folder = tmp_path_factory.mktemp("slow")
    ran = dmlcts_in("run", *SLOW, folder=folder)
    assert ran.code == 0, ran.out + ran.err
    return folder / "results"


@pytest.mark.sampled(2)
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
@pytest.mark.size("thorough")
def test_a_stopped_run_continues_to_the_same_results(
    tmp_path: Path, slow: Path, dmlcts: Callable[..., Any], number: signal.Signals
) -> None:
    run = started(tmp_path, *SLOW)
    recorded(tmp_path, 3)
    run.send_signal(number)
    run.wait(30)
    path = tmp_path / "results" / "records.jsonl"
    before = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(before[:-1]) + "\n" + before[-1][:20], encoding="utf-8")  # and the last line is torn
    for arguments, message in (
        (("--seed", "7"), "the seed: 0 there, 7 here"),
        (("--backend", "cpu"), "the backend: "),
        (("--profile", "full"), "the profile"),
        (("--operator", "CLIP"), "the selected operators"),
        (("--feature-level", "3.0"), "the feature level"),
        (("-o", "x=1"), "the backend's options"),
    ):
        refused = dmlcts("run", "--resume", "results", *arguments)
        assert (refused.code, message in refused.err, refused.err.count("\n")) == (2, True, 1), refused.err
    resumed = dmlcts("run", "--resume", "results")
    assert resumed.code == 0, resumed.out + resumed.err
    assert stable(resumed.results) == stable(results_in(slow))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[: len(before) - 1] == before[:-1], "what was recorded did not run again"
    assert len(lines) == len((slow / "records.jsonl").read_text(encoding="utf-8").splitlines())


@pytest.mark.size("thorough")
def test_a_run_with_other_tables_is_not_resumed(tmp_path: Path, whole: Path, dmlcts: Callable[..., Any]) -> None:
    copy = changed(whole, tmp_path, lambda lines: lines[0]["run"]["specs"].update({"clip.yaml": "0" * 64}))
    ran = dmlcts("run", "--resume", str(copy))
    assert (ran.code, "differs in the spec tables (clip.yaml)" in ran.err) == (2, True), ran.err
    assert dmlcts("run", "--resume", str(whole)).code == 0, "the control"
    assert dmlcts("run", "--resume", "nowhere").err.startswith("dmlcts: nowhere")


@pytest.mark.size("thorough")
def test_the_second_of_two_runs_into_one_folder_refuses(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    run = started(tmp_path, *SLOW)
    try:
        recorded(tmp_path, 1)
        second = dmlcts("run", *SELECTED)
        assert (second.code, second.err.count("\n")) == (2, 1)
        assert "another run is writing into results" in second.err
    finally:
        run.kill()
        run.wait()
    assert dmlcts("run", *SELECTED, "--clause", "round.odd").code == 0, "the control: after its end the folder is free"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
@pytest.mark.size("thorough")
def test_a_full_disk_ends_a_run_in_one_line_and_leaves_whole_records(
    tmp_path: Path, dmlcts: Callable[..., Any]
) -> None:
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000)); "  # the probe of the folder takes 64 KiB
        "from dmlcts.suites.commands.main import main; sys.argv[0] = 'dmlcts'; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "run", *SELECTED[:4]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stdout + done.stderr
    error_lines = [line for line in done.stderr.splitlines() if line.startswith("dmlcts: cannot write")]
    assert len(error_lines) == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "results" / "results.json").exists()
    lines = (tmp_path / "results" / "records.jsonl").read_bytes().splitlines(keepends=True)
    assert all(json.loads(line) for line in lines if line.endswith(b"\n"))
    assert len(lines) > 10
    assert dmlcts("run", "--resume", "results").code == 0, "the control: with more room it ends as it should"


def _filled(place: Path) -> Iterator[None]:
    """Mount a very small disk."""
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=160k", "tmpfs", str(place)]
    mount = shutil.which("mount")
    if mount is None or os.geteuid() or subprocess.run([mount, *options], check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs to be root, and allowed to")
    yield
    umount = shutil.which("umount")
    assert umount is not None
    subprocess.run([umount, str(place)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if not hasattr(os, "geteuid"):
        pytest.skip("POSIX mounts")
    place = tmp_path / "disk"
    for _ in _filled(place):
        yield place


@pytest.mark.size("thorough")
def test_a_small_disk_ends_a_run_in_one_line(small_disk: Path, dmlcts: Callable[..., Any]) -> None:
    ran = dmlcts("run", *SELECTED[:4], "--results", str(small_disk / "results"))
    assert ran.code == 2, ran.out + ran.err
    assert "No space left on device" in ran.err
    assert "Traceback" not in ran.out + ran.err
    assert not (small_disk / "results" / "results.json").exists()


def test_a_folder_that_cannot_be_written_is_reported_before_anything_runs(
    tmp_path: Path, dmlcts: Callable[..., Any]
) -> None:
    place = Path("/proc/self/results") if hasattr(os, "geteuid") and not os.geteuid() else tmp_path / "locked"
    if not place.is_relative_to("/proc"):
        place.mkdir()
        place.chmod(0o500)
    elif not Path("/proc/self").exists():
        pytest.skip("root may write everywhere here")
    ran = dmlcts("run", *SELECTED, "--results", str(place))
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.err
    assert "cannot use" in ran.err
