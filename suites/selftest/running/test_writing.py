"""Files are written whole or not at all, and an unusable folder is found before the run."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, describe_device
from dmlcts.reports.documents.validation import load_failure, load_results
from dmlcts.reports.documents.writing import dump_yaml, failure_document, named, write_json, write_text
from dmlcts.reports.views.run_folder import earlier_run, prepare_folder, write_run
from dmlcts.specs import UsageError
from dmlcts.specs.tables import Tables

CLIP = "ELEMENT_WISE_CLIP"
FAILURE = FailureRecord(
    clause="clip.formula",
    operator=CLIP,
    data_type="INT8",
    outcome=Outcome.FAIL,
    test="suites/test_clip.py::test_formula[INT8]",
    title="2 where 3 is due",
    text="CLIP on INT8, sizes [1, 2]\n  element [0, 1]: 2 is none of {3}\n",
    case={"sizes": [1, 2], "attributes": {"Min": "0x40400000"}, "tensors": [{"strides": None}]},
)
ITEM = ItemRecord(
    FAILURE.test,
    Outcome.FAIL,
    0.5,
    (ClauseTally("clip.formula", CLIP, "INT8", Outcome.FAIL, 2, 4, 1),),
    (),
    (named(FAILURE),),
)


def results_of(*items: ItemRecord) -> dict[str, Any]:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    run = RunInfo("cpu", describe_device(None), "5.0", "quick", 0, False, {}, now, now)
    tables = Tables(operators={}, rules=(), latitudes={}, digests={})
    return build_results(items, [("clip.formula", CLIP, "INT8", "required")], run, tables)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if path.is_file())


def test_a_run_is_written_and_reads_back(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path / "deep" / "results")
    results = results_of(ITEM)
    written = write_run(folder, results, [ITEM])
    assert [path.name for path in written] == ["results.json", "junit.xml", "failures"]
    assert all(path.exists() for path in written)
    file = named(FAILURE).file
    assert names(folder) == [f"failures/{file}", "junit.xml", "results.json"]
    assert load_results(folder) == results
    failure = load_failure(folder / "failures" / file)
    assert (failure["case"], failure["text"], failure["title"]) == (FAILURE.case, FAILURE.text, FAILURE.title)


def test_a_run_without_failures_lists_no_failures(tmp_path: Path) -> None:
    assert [path.name for path in write_run(prepare_folder(tmp_path), results_of(), [])] == [
        "results.json",
        "junit.xml",
    ]


def test_failures_are_named_by_what_they_are() -> None:
    file = named(FAILURE).file
    assert file.startswith("clip.formula-clip-int8-")
    assert named(named(FAILURE)).file == file, "the name does not depend on itself"
    other = FailureRecord(**{**vars(FAILURE), "title": "another"})
    assert named(other).file != file
    nameless = FailureRecord("", "", "", Outcome.DEVICE_LOST, "t", "t", "t", {})
    assert named(nameless).file.startswith("device_lost-")


def test_yaml_is_written_to_be_read() -> None:
    text = dump_yaml(failure_document(FAILURE, "0.1.0"))
    assert text.startswith("format: dmlcts/failure/1\ntitle: 2 where 3 is due\nclause: clip.formula\n")
    assert "text: |\n  CLIP on INT8, sizes [1, 2]\n    element [0, 1]: 2 is none of {3}\n" in text
    assert "  sizes: [1, 2]\n  attributes:\n    Min: '0x40400000'\n" in text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.text(max_size=5), values, max_size=4),
    st.text(alphabet="ab \n\t\r:#'\"é\x85\u2028—", max_size=20),
)
def test_yaml_gives_back_what_was_written(document: dict[str, Any], text: str) -> None:
    whole = {**document, "text": text}
    assert yaml.safe_load(dump_yaml(whole)) == whole


@pytest.mark.parametrize(
    "text",
    [
        "inf",
        "-inf",
        "nan",
        "1e-07",
        "3e+38",
        "1.5",
        "-0.0",
        ".5",
        "0x3f800000",
        "y",
        "1_0",
        "007",
        "2026-11-21",
        "12:30",
        "null",
        "~",
        "",
        "True",
        "0 or -0",
    ],
)
def test_a_text_that_looks_like_something_else_reads_back_as_a_text(tmp_path: Path, text: str) -> None:
    case = {"attributes": {"Min": {"bits": "0x7f800000", "value": text}}}
    failure = named(FailureRecord(**{**FAILURE.to_json(), "outcome": Outcome.FAIL, "title": text or "t", "case": case}))
    write_text(tmp_path / "failure.yaml", dump_yaml(failure_document(failure, "0.1.0")))
    read = load_failure(tmp_path / "failure.yaml")
    assert (read["case"], read["title"]) == (case, text or "t")


def test_shared_parts_are_written_out() -> None:
    shared = [1, {"a": 2}]
    assert "&" not in dump_yaml({"one": shared, "two": shared})


def test_lone_surrogates_do_not_stop_the_writing(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"text": "a\udc80b"})
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == {"text": "a\udc80b"}


@pytest.mark.parametrize(
    "planted", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "Ctrl-C"]
)
def test_an_interrupted_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: BaseException
) -> None:
    path = tmp_path / "results.json"
    write_text(path, "before")

    def broken(*_: object) -> None:
        raise planted

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(UsageError if isinstance(planted, OSError) else KeyboardInterrupt) as stopped:
        write_text(path, "after")
    assert names(tmp_path) == ["results.json"]
    assert path.read_text(encoding="utf-8") == "before"
    if isinstance(planted, OSError):
        assert "results.json: No space left on device; free some space" in str(stopped.value)
    monkeypatch.undo()
    write_text(path, "after")
    assert path.read_text(encoding="utf-8") == "after", "the control: unhindered, it is written"


def test_results_are_the_last_file_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real = os.replace

    def noted(source: Path, target: Path) -> None:
        order.append(target.name)
        real(source, target)

    monkeypatch.setattr(os, "replace", noted)
    write_run(prepare_folder(tmp_path), results_of(ITEM), [ITEM])
    assert order == [named(FAILURE).file, "junit.xml", "results.json"]


def test_a_folder_that_is_a_file_is_refused_before_the_run(tmp_path: Path) -> None:
    assert prepare_folder(tmp_path / "fine").is_dir(), "the control"
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    for folder in (tmp_path / "taken", tmp_path / "taken" / "below"):
        with pytest.raises(UsageError, match=r"cannot use .*: .*taken.* is not a folder; choose another folder"):
            prepare_folder(folder)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "failures").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="failures is not a folder"):
        prepare_folder(tmp_path / "half")
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"


def test_a_path_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(UsageError, match=r"cannot use .* for results: "):
        prepare_folder("a\0b")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that nobody may write")
def test_a_folder_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(UsageError, match=r"cannot use /proc/dmlcts-results for results: .+; choose another folder"):
        prepare_folder("/proc/dmlcts-results")


def test_a_full_disk_is_found_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match="for results: No space left on device; choose"):
        prepare_folder(tmp_path)
    assert names(tmp_path) == []


def test_what_an_earlier_run_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    write_run(prepare_folder(tmp_path), results_of(ITEM), [ITEM])
    (tmp_path / ".results.json.00000000.dmlcts-tmp").touch()
    mine = {
        "notes.txt": "mine",
        "failures/mine.yaml": "format: something else\n",
        "failures/broken.yaml": "{",
        "failures/notes.md": "format: dmlcts/failure/1\n",
        "other.json": '{"schema": "dmlcts-results/1"}',
    }
    for name, text in mine.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    before = names(tmp_path)
    earlier = earlier_run(prepare_folder(tmp_path))
    assert earlier.words == "the run of cpu of 2026-11-21, 3 files"
    assert names(tmp_path) == before, "making a folder ready removes nothing"
    earlier.remove()
    assert names(tmp_path) == sorted(mine)
    assert earlier_run(tmp_path).words == ""


def test_foreign_results_and_junit_files_stay(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"schema": "another"}', encoding="utf-8")
    (tmp_path / "junit.xml").write_text('<testsuites name="pytest tests"/>', encoding="utf-8")
    earlier_run(prepare_folder(tmp_path)).remove()
    assert names(tmp_path) == ["junit.xml", "results.json"]
