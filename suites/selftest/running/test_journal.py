"""The journal of a run: whole lines whatever happens, nothing believed that it does not say, one writer a folder."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from dmlcts.reports.documents.journal import SCHEMA, Collection, Journal, read_journal
from dmlcts.reports.documents.locking import FolderLock
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.validation import DocumentError
from dmlcts.specs import UsageError
from dmlcts.suites.running.item_record import publish
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.run import Run, difference, key_of

ITEMS = [ItemRecord(f"test_x.py::test_{number}", Outcome.PASS, 0.5) for number in range(3)]


def written(folder: Path, items: list[ItemRecord] = ITEMS) -> Path:
    path = folder / "records.jsonl"
    journal = Journal(path)
    journal.append("run", {"schema": SCHEMA, "seed": 1})
    journal.append("collected", {"items": len(items), "total": 9})
    for item in items:
        journal.append("item", item.to_json())
    journal.close()
    return path


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    content = read_journal(tmp_path)
    assert list(content.records) == ITEMS
    assert (content.header["seed"], content.collection, content.ended) == (1, Collection(3, 9), False)
    assert content.whole == path.stat().st_size


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_passed_over_and_cut_off(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    content = read_journal(path)
    assert list(content.records) == ITEMS[:2]
    journal = Journal(path, keep=content.whole)
    journal.append("item", ITEMS[2].to_json())
    journal.close()
    assert list(read_journal(path).records) == ITEMS


BROKEN = {
    "no JSON": b"{broken\n",
    "no object": b"[1]\n",
    "two kinds": b'{"item": {}, "end": {}}\n',
    "unknown kind": b'{"song": {}}\n',
    "no record": b'{"item": {"test": 1}}\n',
    "twice": (json.dumps({"item": ITEMS[0].to_json()}) + "\n").encode(),
    "not a number": b'{"item": {"seconds": NaN}}\n',
    "deep": b'{"item": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "no counts": b'{"collected": {"items": -1, "total": true}}\n',
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_refused_by_file_and_number(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(DocumentError, match=r"records\.jsonl:6"):
        read_journal(path)


def test_what_is_no_journal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="does not exist"):
        read_journal(tmp_path)
    for content in (b"", b'{"item": {}}\n', b'{"run": {"schema": "dmlcts-records/9"}}\n', b"\xff\xfe\n"):
        (tmp_path / "records.jsonl").write_bytes(content)
        with pytest.raises(DocumentError, match=r"records\.jsonl"):
            read_journal(tmp_path)


class Full:
    """A file on a disk that is full after so many bytes; like a disk, it takes the part that fits."""

    def __init__(self, path: Path, mode: str, room: int) -> None:
        self.stream: BinaryIO = open(path, mode, buffering=0)  # type: ignore[assignment]  # noqa: SIM115
        self.room = room

    def write(self, data: Any) -> int:
        fits = bytes(data)[: self.room]
        if not fits:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(fits)
        return self.stream.write(fits)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def test_a_full_disk_is_reported_and_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    journal = Journal(path, open_file=lambda place, mode: Full(place, mode, 700))  # type: ignore[arg-type,return-value]
    journal.append("run", {"schema": SCHEMA})
    for number in range(3):
        journal.append("item", ItemRecord(f"t::{number}", Outcome.PASS, 0.1).to_json())
    with pytest.raises(UsageError, match=r"No space left on device; .* --resume"):
        journal.append("item", ItemRecord("t::" + 700 * "x", Outcome.PASS, 0.1).to_json())
    journal.close()
    assert len(read_journal(path).records) == 3
    assert path.read_bytes().endswith(b"}\n")


def test_the_second_writer_of_a_folder_is_refused(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(UsageError, match="another run is writing into"):
        FolderLock(tmp_path)
    first.release()
    FolderLock(tmp_path).release()


def test_a_lock_does_not_outlive_its_process(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time; from dmlcts.reports.documents.locking import FolderLock; "
        "lock = FolderLock(pathlib.Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(UsageError, match="another run"):
        FolderLock(tmp_path)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    FolderLock(tmp_path).release()


def test_a_difference_is_named() -> None:
    header = {"seed": 1, "specs": {"clip.yaml": "a"}, "options": {}}
    assert difference(header, dict(header)) == ""
    assert difference(header, header | {"seed": 2}) == "the seed: 1 there, 2 here"
    assert difference(header, header | {"specs": {"clip.yaml": "b"}}) == "the spec tables (clip.yaml): a there, b here"
    other = header | {"options": {"level": "x"}}
    assert difference(header, other) == "the backend's options (level): None there, x here"


def test_a_test_has_the_same_key_wherever_pytest_was_started() -> None:
    assert key_of("suites/test_x.py::test_y[a/b]") == key_of("test_x.py::test_y[a/b]") == "test_x.py::test_y[a/b]"
    assert key_of("suites\\test_x.py::test_y") == "test_x.py::test_y"


@pytest.mark.parametrize("step", [-3600, 3600 * 24 * 365], ids=["back", "ahead"])
def test_a_clock_that_jumps_changes_nothing_but_the_timings(tmp_path: Path, step: int) -> None:
    moments = iter([datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=step * count) for count in range(9)])
    settings = Settings.read(results=str(tmp_path / "results"), operators=["ROUND"], clauses=["round.odd"])
    run = Run(settings, clock=lambda: next(moments))
    run.begin()
    run.collected(Collection(1, 1))
    run.add(ITEMS[0])
    run.end()
    publish(run)
    run.close()
    results = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert results["timings"]["seconds"] == max(step, 0)
    assert results["verdict"] == "INCOMPLETE"
    assert read_journal(settings.results).ended
