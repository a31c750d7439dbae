"""What a results folder holds stays until there is something new: no mistake of the command line erases a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dmlcts.reports.documents.journal import SCHEMA, Journal, read_journal
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.writing import SWEEP_JOURNAL
from dmlcts.specs import UsageError
from dmlcts.suites.selftest.conftest import Ran

FEW = ("--operator", "IS_NAN", "--data-type", "FLOAT32", "--clause", "is-nan.sign")
ITEM = ItemRecord("test_x.py::test_1", Outcome.PASS, 0.5)
UNREACHED = """
from dmlcts.suites.mutants.reference import Reference

class Right(Reference):
    def open(self, mark=""):
        return self
"""


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, with what they hold."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def earlier(tmp_path: Path) -> dict[str, bytes]:
    """A results folder of a run and a sweep, each as short as its files' first words."""
    folder = tmp_path / "results"
    (folder / "failures").mkdir(parents=True)
    header = {"schema": SCHEMA, "backend": "cpu", "started": "2026-11-27T10:00:00+00:00"}
    (folder / "records.jsonl").write_text(json.dumps({"run": header}) + "\n", encoding="utf-8")
    (folder / "results.json").write_text('{"schema": "dmlcts-results/3"}', encoding="utf-8")
    (folder / "failures/a.yaml").write_text("format: dmlcts/failure/1\n", encoding="utf-8")
    sweep = {"backend": "cpu", "timings": {"started": "2026-11-28T10:00:00+00:00"}}
    (folder / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
    (folder / SWEEP_JOURNAL).write_text("", encoding="utf-8")
    (folder / "mine.txt").write_text("mine", encoding="utf-8")
    return contents(folder)


@pytest.mark.parametrize("command", [("run",), ("sweep",), ("run", "--resume", "results")], ids=" ".join)
@pytest.mark.parametrize(
    "mistake, code",
    [
        (("--backend", "cpuu"), 2),
        (("--backend", "tcp:127.0.0.1:9"), 3),
        (("--backend", "third.py:Right", "-o", "no-such-option=1"), 2),
    ],
    ids=["misspelt", "unreachable", "wrong option"],
)
@pytest.mark.size("thorough", brief=1)
def test_a_mistake_removes_nothing(
    tmp_path: Path,
    earlier: dict[str, bytes],
    dmlcts: Callable[..., Ran],
    command: tuple[str, ...],
    mistake: tuple[str, ...],
    code: int,
) -> None:
    (tmp_path / "third.py").write_text(UNREACHED, encoding="utf-8")
    ran = dmlcts(*command, *mistake, "--operator", "IS_NAN", "--data-type", "FLOAT32")
    assert ran.code in (code, 2), ran.out + ran.err
    assert "Traceback" not in ran.err
    assert contents(tmp_path / "results") == earlier


def test_merging_what_is_no_run_removes_nothing(
    tmp_path: Path, earlier: dict[str, bytes], dmlcts: Callable[..., Ran]
) -> None:
    (tmp_path / "empty").mkdir()
    assert dmlcts("merge", "empty", "-o", "results").code == 2
    assert contents(tmp_path / "results") == earlier


def test_a_run_names_what_it_replaces(tmp_path: Path, earlier: dict[str, bytes], dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts("run", "--backend", "cpu", *FEW)
    assert ran.code == 0, ran.out + ran.err
    message = "dmlcts: replaces the run of cpu of 2026-11-27, 3 files in results, with its first record"
    assert ran.out.splitlines().count(message) == 1, ran.out
    now = contents(tmp_path / "results")
    assert set(now) == {*earlier, "results.html", "junit.xml"} - {"failures/a.yaml"}
    assert now["records.jsonl"] != earlier["records.jsonl"]
    assert {name: now[name] for name in ("sweep.json", SWEEP_JOURNAL, "mine.txt")} == {
        name: earlier[name] for name in ("sweep.json", SWEEP_JOURNAL, "mine.txt")
    }
    assert read_journal(tmp_path / "results").ended
    again = dmlcts("run", "--resume", "results")
    assert (again.code, "replaces" in again.out) == (0, False), "the control: what is continued replaces nothing"
    other = dmlcts("run", "--backend", "cpu", *FEW, "--results", "fresh")
    assert (other.code, "replaces" in other.out) == (0, False), "the control: there is nothing to replace"


@pytest.mark.size("thorough")
def test_a_sweep_names_what_it_replaces(tmp_path: Path, earlier: dict[str, bytes], dmlcts: Callable[..., Ran]) -> None:
    asked = ("--backend", "cpu", "--operator", "IS_NAN", "--data-type", "FLOAT16", "-n", "1", "--isolation", "none")
    ran = dmlcts("sweep", *asked)
    assert ran.code == 0, ran.out + ran.err
    message = "dmlcts: replaces the sweep of cpu of 2026-11-28, 2 files in results, with its first block"
    assert ran.out.splitlines().count(message) == 1, ran.out
    now = contents(tmp_path / "results")
    assert now["sweep.json"] != earlier["sweep.json"]
    assert now["results.json"] == earlier["results.json"]


def test_a_run_that_judges_nothing_removes_nothing(
    tmp_path: Path, earlier: dict[str, bytes], dmlcts: Callable[..., Ran]
) -> None:
    ran = dmlcts("run", "--backend", "cpu", "--operator", "IS_NAN", "--data-type", "INT8", "--clause", "is-nan.formula")
    assert ran.code == 2, ran.out + ran.err
    assert contents(tmp_path / "results") == earlier


def test_a_journal_replaces_an_earlier_one_with_its_first_record(tmp_path: Path) -> None:
    path, other = tmp_path / "records.jsonl", tmp_path / "results.json"
    path.write_text("before", encoding="utf-8")
    other.write_text("before", encoding="utf-8")
    journal = Journal(path, replaces=(path, other))
    journal.begin("run", {"schema": SCHEMA})
    journal.begin("collected", {"items": 1, "total": 1})
    assert contents(tmp_path) == {"records.jsonl": b"before", "results.json": b"before"}
    journal.append("item", ITEM.to_json())
    assert list(contents(tmp_path)) == ["records.jsonl"]
    assert read_journal(path).records == (ITEM,)
    journal.append("end", {"items": 1})
    journal.close()
    assert read_journal(path).ended
    unused = Journal(path, replaces=(path,))
    unused.begin("run", {"schema": SCHEMA})
    unused.close()
    assert read_journal(path).ended, "one that was given up leaves what was there"


def test_a_journal_that_is_continued_removes_the_results_with_its_next_record(tmp_path: Path) -> None:
    path, other = tmp_path / "records.jsonl", tmp_path / "results.json"
    first = Journal(path)
    first.begin("run", {"schema": SCHEMA})
    first.close()
    other.write_text("before", encoding="utf-8")
    journal = Journal(path, keep=path.stat().st_size, replaces=(other,))
    assert other.exists()
    journal.append("item", ITEM.to_json())
    assert not other.exists()
    journal.close()


def test_a_journal_that_no_run_wrote_is_not_replaced(tmp_path: Path) -> None:
    path, other = tmp_path / "records.jsonl", tmp_path / "results.json"
    path.write_text("mine", encoding="utf-8")
    other.write_text("before", encoding="utf-8")
    with pytest.raises(UsageError, match=r"cannot write .*records\.jsonl: File exists"):
        Journal(path, replaces=(other,))
    assert contents(tmp_path) == {"records.jsonl": b"mine", "results.json": b"before"}


def test_a_first_record_that_cannot_be_written_leaves_all(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("before", encoding="utf-8")

    def full(place: Path, mode: str) -> None:
        raise OSError(28, "No space left on device")

    journal = Journal(path, open_file=full, replaces=(path,))  # type: ignore[arg-type]
    journal.begin("run", {"schema": SCHEMA})
    with pytest.raises(UsageError, match="No space left on device"):
        journal.append("item", ITEM.to_json())
    assert contents(tmp_path) == {"records.jsonl": b"before"}
