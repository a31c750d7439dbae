"""Cases as files: outputs of a runner are judged, missing ones are reported, and changed ones are refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dmlcts.backends.runners.definition import definition
from dmlcts.suites.commands.main import main
from dmlcts.suites.offline.cases import read_export
from dmlcts.suites.selftest.runners import kit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the runners here are POSIX's")


def dmlcts(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("offline") / "cases"
    ran = dmlcts(
        "offline",
        "export",
        "--feature-level",
        "5.0",
        "-o",
        str(folder),
        "--operator",
        "ROUND",
        "--data-type",
        "FLOAT16",
    )
    assert ran.exit_code == 0, ran.output
    return folder


@pytest.fixture(scope="module")
def executed(cases: Path, plain_runner: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    words = [str(plain_runner), "--offline", str(cases), str(folder)]
    subprocess.run(words, check=True, timeout=60, capture_output=True)
    return folder


@pytest.fixture
def outputs(executed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(executed, tmp_path / "outputs"))


def judged(cases: Path, outputs: Path, results: Path) -> tuple[Result, dict[str, Any]]:
    ran = dmlcts("offline", "judge", str(cases), str(outputs), "--results", str(results))
    path = results / "results.json"
    return ran, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def outcomes(results: dict[str, Any], clause: str) -> set[str]:
    return {row["outcome"] for row in results["clauses"] if row["id"] == clause}


def test_the_cases_are_the_same_every_time_but_for_what_their_outputs_hold(cases: Path, tmp_path: Path) -> None:
    words = ("--feature-level", "5.0", "--operator", "ROUND", "--data-type", "FLOAT16")
    again = tmp_path / "again"
    assert dmlcts("offline", "export", *words, "-o", str(again)).exit_code == 0
    names = sorted(path.name for path in cases.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    first, second = (
        json.loads((case_folder / "manifest.json").read_text(encoding="utf-8")) for case_folder in (cases, again)
    )
    assert first["poison"] != second["poison"]
    assert [row["file"] for row in first["cases"]] == (cases / "cases.txt").read_text(encoding="utf-8").split()
    for name, item in read_export(str(cases)).files():
        regions, size = item.case.placement.regions(item.case.operator)
        output, count = regions["OutputTensor"].offset, 2 * item.case.operator.output.element_count
        first_bytes, other = (np.frombuffer((folder / name).read_bytes(), np.uint8) for folder in (cases, again))
        memory = first_bytes.size - 2 * 24 - 8 - size  # before what close holds, and the headers of close and bye
        differing = np.flatnonzero(first_bytes != other) - memory
        if item.case.operator.output.strides is None and not item.case.placement.in_place:
            assert differing.size > count // 2
            assert ((differing >= output) & (differing < output + count)).all()


def test_what_is_right_holds_and_the_rest_did_not_run(cases: Path, outputs: Path, tmp_path: Path) -> None:
    ran, results = judged(cases, outputs, tmp_path / "results")
    assert ran.exit_code == 4
    assert results["verdict"] == "INCOMPLETE"
    assert results["failures"] == []
    assert outcomes(results, "round.nearest-even") == {"pass"}
    assert outcomes(results, "tensor.output.bounds") == {"pass"}
    assert outcomes(results, "execution.repeatable") == {"skipped"}
    assert results["device"]["name"] == "plain-c"
    assert results["device"]["details"]["runner"] == "offline"
    assert "need a device that answers" in ran.output
    assert (tmp_path / "results" / "results.html").exists()


def change(path: Path, at: int, byte: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    data[at] = data[at] ^ 0x41 if byte is None else byte
    path.write_bytes(bytes(data))


def test_a_wrong_value_is_found(cases: Path, outputs: Path, tmp_path: Path) -> None:
    """One bit of the first element of the output, as the reply to dispatch holds it."""
    name, case = "000001.dmlr", read_export(str(cases)).planned[0].case
    regions, size = case.placement.regions(case.operator)
    memory = (outputs / name).stat().st_size - 2 * 24 - size
    change(outputs / name, memory + regions["OutputTensor"].offset + 1)
    ran, results = judged(cases, outputs, tmp_path / "results")
    assert ran.exit_code == 1
    assert [failure["clause"] for failure in results["failures"]] == [case.clause]
    assert results["failures"][0]["test"].endswith("::000001.dmlr")


def test_a_stray_write_is_found(cases: Path, outputs: Path, tmp_path: Path) -> None:
    path = outputs / "000002.dmlr"
    change(path, path.stat().st_size - 2 * 24 - 5)  # before the replies to close and bye: the tail of guard bytes
    _, results = judged(cases, outputs, tmp_path / "results")
    assert {failure["clause"] for failure in results["failures"]} == {"tensor.output.bounds"}


@pytest.mark.parametrize("size", [0, 10, 24, 300, 700, -100])
def test_outputs_that_end_early_are_a_case_that_was_not_survived(
    cases: Path, outputs: Path, tmp_path: Path, size: int
) -> None:
    path = outputs / "000003.dmlr"
    path.write_bytes(path.read_bytes()[:size])
    ran, results = judged(cases, outputs, tmp_path / "results")
    assert ran.exit_code == 1, ran.output
    assert [failure["outcome"] for failure in results["failures"]] == ["crash"]


def test_garbage_is_reported_for_its_case(cases: Path, outputs: Path, tmp_path: Path) -> None:
    path = outputs / "000004.dmlr"
    hello = definition().layouts["header"].unpack(path.read_bytes())["length"]
    change(path, 24 + hello + 8)  # in the header of the reply to create
    ran, results = judged(cases, outputs, tmp_path / "results")
    assert ran.exit_code == 1, ran.output
    (failure,) = results["failures"]
    assert (failure["outcome"], failure["test"][-11:]) == ("crash", "000004.dmlr")


def test_outputs_that_are_missing_are_counted(cases: Path, outputs: Path, tmp_path: Path) -> None:
    for name in ("000001.dmlr", "000005.dmlr"):
        (outputs / name).unlink()
    ran, results = judged(cases, outputs, tmp_path / "results")
    assert ran.exit_code == 4
    assert "2 without outputs" in ran.output
    assert results["failures"] == []


def test_no_outputs_at_all(cases: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert judged(cases, tmp_path / "none", tmp_path / "results")[0].exit_code == 3
    assert judged(cases, tmp_path / "nowhere", tmp_path / "results")[0].exit_code == 2


def test_outputs_of_two_devices_are_refused(cases: Path, outputs: Path, tmp_path: Path) -> None:
    path = outputs / "000006.dmlr"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"plain-c\0", b"other-c\0", 1))
    ran, _ = judged(cases, outputs, tmp_path / "results")
    assert ran.exit_code == 2
    assert "another device" in ran.output


def test_a_runner_that_computes_nothing_does_not_pass(cases: Path, tmp_path: Path) -> None:
    if kit.missing():
        pytest.skip(kit.missing())
    skeleton = kit.built(tmp_path, "-O1", program="skeleton_runner.c")
    (tmp_path / "outputs").mkdir()
    words = [str(skeleton), "--offline", str(cases), str(tmp_path / "outputs")]
    subprocess.run(words, check=True, timeout=60, capture_output=True)
    ran, results = judged(cases, tmp_path / "outputs", tmp_path / "results")
    assert ran.exit_code == 1
    assert results["device"]["details"]["refusals"] == "by the suite, from the spec tables"


def test_any_runner_does_by_its_standard_input_and_output(cases: Path, executed: Path, plain_runner: Path) -> None:
    result = subprocess.run(
        [str(plain_runner)], input=(cases / "000007.dmlr").read_bytes(), capture_output=True, timeout=10, check=True
    )
    assert result.stdout == (executed / "000007.dmlr").read_bytes()


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "dmlcts-offline/2"},
        {"plan": "0" * 64},
        {"poison": None},
        {"poison": "0"},
        {"seed": 1},
        {"seed": "0"},
        {"operators": "ROUND"},
        {"operators": ["NOTHING"]},
        {"feature_level": "9.9"},
        {"data_types": [7]},
        {"feature_level": None},
    ],
)
def test_a_manifest_that_was_changed_is_refused(
    cases: Path, outputs: Path, tmp_path: Path, changed: dict[str, Any]
) -> None:
    other = Path(shutil.copytree(cases, tmp_path / "cases"))
    manifest = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
    (other / "manifest.json").write_text(json.dumps(manifest | changed), encoding="utf-8")
    assert judged(other, outputs, tmp_path / "results")[0].exit_code == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b"{"])
def test_a_manifest_that_is_none(outputs: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    assert judged(tmp_path, outputs, tmp_path / "results")[0].exit_code == 2


@pytest.mark.size("thorough")
def test_nothing_is_overwritten(cases: Path) -> None:
    ran = dmlcts("offline", "export", "--feature-level", "5.0", "-o", str(cases))
    assert ran.exit_code == 2
    assert "not empty" in ran.output
    assert dmlcts("offline", "export", "--feature-level", "9", "-o", str(cases)).exit_code == 2


# The kit's side.


def offline(runner: Path, cases: Path, outputs: Path) -> subprocess.CompletedProcess[str]:
    words = [str(runner), "--offline", str(cases), str(outputs)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_what_is_there_already_is_left(cases: Path, outputs: Path, plain_runner: Path) -> None:
    (outputs / "000002.dmlr").unlink()
    (outputs / "000001.dmlr").write_bytes(b"left by a crash")
    done = offline(plain_runner, cases, outputs)
    assert done.returncode == 0
    assert "1 cases executed" in done.stderr
    assert (outputs / "000001.dmlr").read_bytes() == b"left by a crash"


@pytest.mark.parametrize("name", ["../000001.dmlr", "/etc/passwd", ".hidden", "a/b", "x" * 200, "a b"])
def test_a_list_leads_nowhere_else(plain_runner: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "cases.txt").write_text(f"{name}\n", encoding="utf-8")
    done = offline(plain_runner, tmp_path, tmp_path)
    assert done.returncode == 2
    assert "no file of a case" in done.stderr


def test_there_is_no_list(plain_runner: Path, tmp_path: Path) -> None:
    assert offline(plain_runner, tmp_path, tmp_path).returncode == 2
