"""`dmlcts run --resume DIR` runs the code that a journal names: it says so, and trusts no other user's journal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dmlcts.specs import UsageError
from dmlcts.suites.running.resume import resumed_settings
from dmlcts.suites.selftest.conftest import Ran

ROUND = ("--operator", "ROUND", "--data-type", "FLOAT16", "--clause", "round.odd")
MINE = """
from pathlib import Path
from dmlcts.suites.mutants.reference import Reference

class Mine(Reference):
    def open(self, mark=""):
        (Path(__file__).parent / "it-ran").touch()
        return self
"""
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are POSIX's")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, dmlcts_in: Callable[..., Ran]) -> Path:
    """A folder with mine.py and, under results, the run that it was judged in."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    ran = dmlcts_in("run", "--backend", "mine.py:Mine", "-o", "mark=1", *ROUND, folder=folder)
    assert ran.code == 0, ran.out + ran.err
    (folder / "it-ran").unlink()
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder; it is the current one."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "results").chmod(0o755)
    (tmp_path / "results" / "records.jsonl").chmod(0o644)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def resumed(*named: str, **options: Any) -> str:
    """The backend that is resumed, with the options that were written, on the command line, as ``named``."""
    defaults = dict.fromkeys(
        (
            "backend",
            "operators",
            "data_types",
            "clauses",
            "feature_level",
            "profile",
            "seed",
            "strict",
            "extra_tables",
            "isolation",
            "timeout",
            "shard",
        )
    )
    return resumed_settings("results", {**defaults, "results": "results", **options}, set(named)).backend


@pytest.mark.size("thorough")
def test_what_is_run_is_stated_before_it_runs(place: Path, dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts("run", "--resume", "results")
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.splitlines()[0] == "dmlcts: results is of a run of mine.py:Mine, which is run now"
    named = dmlcts("run", "--resume", "results", "--backend", "mine.py:Mine")
    assert (named.code, "which is run now" in named.out) == (0, False), "the control: who names it knows it"


@pytest.mark.size("thorough")
def test_a_resume_that_finds_nothing_left_adds_no_time(place: Path, dmlcts: Callable[..., Ran]) -> None:
    path = place / "results" / "results.json"
    first = json.loads(path.read_text(encoding="utf-8"))["timings"]
    resumed = dmlcts("run", "--resume", "results")
    assert (resumed.code, "none is left" in resumed.out) == (0, True), resumed.out + resumed.err
    assert resumed.results is not None
    assert resumed.results["timings"] == first
    journal = place / "results" / "records.jsonl"
    *lines, end = journal.read_text(encoding="utf-8").splitlines()
    assert set(json.loads(end)["end"]) == {"items", "finished"}
    journal.write_text("\n".join([*lines, json.dumps({"end": {"items": len(lines) - 2}})]) + "\n", encoding="utf-8")
    written = datetime.fromisoformat(first["started"]).timestamp() + 1000
    os.utime(journal, (written, written))
    earlier = dmlcts("run", "--resume", "results")
    assert earlier.results is not None
    assert 999 <= earlier.results["timings"]["seconds"] <= 1000, "a journal that does not say when it ended"
    *kept, last = [line for line in lines if line.startswith('{"item"')]
    others = [line for line in lines if line not in (*kept, last)]
    journal.write_text("\n".join([*others, *kept]) + "\n", encoding="utf-8")
    more = dmlcts("run", "--resume", "results")
    assert more.results is not None
    assert more.results["timings"]["finished"] > first["finished"], "the control: what runs takes time"


@POSIX
@pytest.mark.parametrize(
    "name, mode, text",
    [
        ("results", 0o777, "every user may change results"),
        ("results/records.jsonl", 0o666, "every user may change results/records.jsonl"),
    ],
)
@pytest.mark.size("thorough")
def test_what_every_user_may_change_is_not_believed(
    name: str, mode: int, text: str, place: Path, dmlcts: Callable[..., Ran]
) -> None:
    (place / name).chmod(mode)
    ran = dmlcts("run", "--resume", "results")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.out + ran.err
    assert f"dmlcts: {text}, and its journal names the code to run: --backend 'mine.py:Mine' -o 'mark=1'" in ran.err
    assert "write it yourself, beside --resume" in ran.err
    assert not (place / "it-ran").exists()
    half = dmlcts("run", "--resume", "results", "--backend", "mine.py:Mine")
    assert (half.code, "names the code to run" in half.err) == (2, True), "an option may name a file as well"
    whole = dmlcts("run", "--resume", "results", "--backend", "mine.py:Mine", "-o", "mark=1")
    assert whole.code == 0, whole.err
    other = dmlcts("run", "--resume", "results", "--backend", "other.py:Mine", "-o", "mark=1")
    assert (other.code, "differs in the backend" in other.err) == (2, True)


@POSIX
@root
@pytest.mark.parametrize("name", ["results", "results/records.jsonl"])
def test_what_another_user_made_is_not_believed(name: str, place: Path) -> None:
    assert resumed() == "mine.py:Mine", "the control"
    os.chown(place / name, 65534, -1)
    with pytest.raises(UsageError, match=rf"{name} is another user's \(number 65534\), and its journal names the code"):
        resumed()
    assert resumed("backend", "options", backend="mine.py:Mine", options=("mark=1",)) == "mine.py:Mine"


@POSIX
@root
def test_what_another_group_may_change_is_not_believed(place: Path) -> None:
    (place / "results").chmod(0o775)
    assert resumed() == "mine.py:Mine", "the control: the user's own group"
    os.chown(place / "results", -1, 65534)
    with pytest.raises(UsageError, match="the users of group 65534 may change results"):
        resumed()


@POSIX
def test_a_registered_name_without_options_needs_no_trust(place: Path) -> None:
    (place / "results").chmod(0o777)
    path = place / "results" / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    header = json.loads(lines[0])
    for backend, options, trusted in (
        ("cpu", {}, True),
        ("cpu", {"library": "x.so"}, False),
        ("package.module:Backend", {}, False),
        (7, {}, False),
    ):
        header["run"] |= {"backend": backend, "options": options}
        path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n", encoding="utf-8")
        if trusted:
            assert resumed() == "cpu"
            continue
        with pytest.raises(UsageError, match="names the code to run"):
            resumed()


@POSIX
def test_what_a_journal_names_is_shown_without_control_characters(place: Path) -> None:
    (place / "results").chmod(0o777)
    path = place / "results" / "records.jsonl"
    text = path.read_text(encoding="utf-8").replace("mine.py:Mine", "a\\u001b[2Jb\\n:error::c:Mine")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        resumed()
    assert str(refused.value).isprintable()
    assert r"a\x1b[2Jb\n:error::c:Mine" in str(refused.value)
