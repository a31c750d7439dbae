"""The built-in tables are checked once, and kept for later processes: as they are, whole, and for these bytes alone."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dmlcts.specs.loading import kept, lint, load, load_tables
from dmlcts.specs.reading.table_files import builtin_files
from dmlcts.specs.tables import Tables


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DMLCTS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tables"


def loaded() -> Tables:
    """What a new process would load."""
    return load._load_builtin.__wrapped__()


def test_what_was_kept_is_what_the_files_state(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = loaded()
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(load, "_builtin_batch", lambda: pytest.fail("the files were read anew"))
    again = loaded()
    assert (again, again.digests) == (first, load_tables().digests)
    assert again is not first


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: data[:10], lambda data: b"", lambda data: data[:-9] + b"x" + data[-8:]],
    ids=["cut", "cut in the digest", "empty", "one byte changed"],
)
@pytest.mark.size("thorough", brief=1)
def test_what_is_damaged_is_read_anew_and_kept_again(cache: Path, damage: object) -> None:
    first = loaded()
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))  # type: ignore[operator]  # one of the functions above
    assert kept.read(path.stem) is None
    assert loaded() == first
    assert len(path.read_bytes()) == len(whole)


def test_the_key_is_that_of_the_tables_and_of_the_code(tmp_path: Path) -> None:
    files = builtin_files()
    (tmp_path / "code.py").write_text("a = 1")
    keys = {kept.key_of(files, tmp_path), kept.key_of(files, tmp_path)}
    assert len(keys) == 1
    keys.add(kept.key_of([*files[:-1], replace(files[-1], data=files[-1].data + b" ")], tmp_path))
    keys.add(kept.key_of(files[:-1], tmp_path))
    (tmp_path / "code.py").write_text("a = 12")
    keys.add(kept.key_of(files, tmp_path))
    os.utime(tmp_path / "code.py", (1, 1))
    keys.add(kept.key_of(files, tmp_path))
    (tmp_path / "more.py").write_text("")
    keys.add(kept.key_of(files, tmp_path))
    assert len(keys) == 6


def test_a_cache_that_cannot_be_written_costs_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DMLCTS_CACHE", str(tmp_path / "file"))
    assert loaded() == load_tables()


def test_lint_never_trusts_what_was_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded()
    asked = []
    monkeypatch.setattr(load, "joint_faults", lambda tables, whole: asked.append(whole) or [])
    assert lint() == ()
    assert asked == [True]


def test_tables_of_other_versions_are_kept_for_a_week(cache: Path) -> None:
    cache.mkdir(parents=True)
    for name, days in (("old", 8), ("new", 6)):
        (cache / f"{name}.tables").write_bytes(b"")
        then = (cache / f"{name}.tables").stat().st_mtime - days * 24 * 3600
        os.utime(cache / f"{name}.tables", (then, then))
    loaded()
    assert sorted(path.stem for path in cache.glob("*.tables") if len(path.stem) < 64) == ["new"]
    assert not [path for path in cache.iterdir() if path.suffix != ".tables"], "nothing unfinished"
