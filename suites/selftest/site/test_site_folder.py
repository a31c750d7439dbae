"""The folder of a site: whole or not at all, and nothing of anybody else's is replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from dmlcts.reports.documents.writing import write_json
from dmlcts.reports.site import folder as folders
from dmlcts.reports.site.folder import check_place, site_index, write_site
from dmlcts.specs import UsageError
from dmlcts.suites import checkout
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.reports.report_samples import conformant, failing

MORE = {"made_by": "1", "mixture": "", "columns": []}


def small(text: str) -> dict[str, bytes]:
    """The files of a site of one page."""
    files = {"index.html": text.encode(), "operators/clip.html": b"clip"}
    return files | {"site.json": site_index(files, MORE)}


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_site_is_written_and_replaced_without_a_trace(tmp_path: Path) -> None:
    place = tmp_path / "new" / "site"
    write_site(place, small("first"))
    assert content(place) == small("first")
    fewer = {"index.html": b"second"}
    fewer["site.json"] = site_index(fewer, MORE)
    write_site(place, fewer)
    assert content(place) == fewer
    assert [path.name for path in place.parent.iterdir()] == ["site"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    write_site(tmp_path, small("first"))
    assert content(tmp_path) == small("first")


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        ("thesis.txt", "mine", "is not a site: it has no site.json, and holds thesis.txt"),
        ("site.json", "{}", "is not a site: "),
        ("site.json", '{"schema": "another/1"}', "is not a site: "),
    ],
)
def test_a_folder_that_is_no_site_is_refused_and_stays(tmp_path: Path, name: str, text: str, cause: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=cause):
        write_site(tmp_path, small("first"))
    assert content(tmp_path) == {name: text.encode()}


@pytest.mark.parametrize("name", ["CNAME", "operators/mine.html", ".git/config"])
def test_a_file_of_somebody_elses_in_a_site_is_refused_and_stays(tmp_path: Path, name: str) -> None:
    place = tmp_path / "site"
    write_site(place, small("first"))
    check_place(place)
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text("mine")
    with pytest.raises(UsageError, match=r"belongs to no site.*copy it"):
        write_site(place, small("second"))
    assert content(place) == small("first") | {name: b"mine"}


def test_a_file_and_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    check_place(tmp_path / "real")
    for name in ("file", "link"):
        with pytest.raises(UsageError, match="is not a folder"):
            check_place(tmp_path / name)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("earlier", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize("step", ["a file", "the first move", "the last move"])
def test_what_stops_the_writing_leaves_all_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException, earlier: bool, step: str
) -> None:
    place = tmp_path / "site"
    if earlier:
        write_site(place, small("first"))
    moves = 0

    def stopped_file(path: Path, data: bytes) -> int:
        raise error

    def stopped_move(start: Path, end: Path, rename: object = os.rename) -> None:
        nonlocal moves
        moves += 1
        if moves == (2 if earlier and step == "the last move" else 1):
            raise error
        rename(start, end)  # type: ignore[operator]

    if step == "a file":
        monkeypatch.setattr(Path, "write_bytes", stopped_file)
    else:
        monkeypatch.setattr(folders.os, "rename", stopped_move)
    with pytest.raises(UsageError if isinstance(error, OSError) else KeyboardInterrupt):
        write_site(place, small("second"))
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == (["site"] if earlier else [])
    assert not earlier or content(place) == small("first")


# The command.


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["site", *arguments])
    return done.exit_code, done.output


@pytest.fixture
def results(tmp_path: Path) -> list[str]:
    """Two results files, of which one comes from a modified suite."""
    broken = failing()
    broken["suite"]["modified"] = True
    broken["device"]["version"] = "9"
    for name, document in (("a.json", conformant()), ("b.json", broken)):
        write_json(tmp_path / name, document)
    return [str(tmp_path / "a.json"), str(tmp_path / "b.json")]


def test_the_command_writes_a_site_and_states_what_is_mixed(tmp_path: Path, results: list[str]) -> None:
    place = str(tmp_path / "site")
    code, text = run(*results, "--output", place)
    assert code == 0
    assert "note: 1 of 2 kept results come from a modified suite\n" in text
    assert f"written: {place}: " in text
    assert (tmp_path / "site/index.html").is_file()
    code, text = run(results[0], "--output", place)
    assert (code, "note:" in text) == (0, False)


def test_the_command_refuses_with_the_mend_and_writes_nothing(tmp_path: Path, results: list[str]) -> None:
    place = tmp_path / "site"
    code, text = run(*results, "--strict-tables", "--output", str(place))
    assert (code, place.exists()) == (2, False)
    assert "leave out --strict-tables to mark them" in text
    code, text = run(*results, "--output", str(tmp_path))
    assert code == 2
    assert "choose a folder that does not exist, or an earlier site" in text


def test_without_results_the_site_is_made_of_what_the_repository_keeps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, results: list[str]
) -> None:
    kept = tmp_path / "house/reports/examples"
    (kept / "pairs").mkdir(parents=True)
    (kept / "pairs/a-to-b.html").write_text("<!doctype html><title>a to b</title>")
    Path(results[0]).rename(kept / "mine.results.json")
    monkeypatch.setattr(checkout, "_HOUSE", tmp_path / "house")
    code, text = run("--output", str(tmp_path / "site"))
    assert code == 0, text
    assert (tmp_path / "site/pairs/a-to-b.html").is_file()
    assert "href=pairs/a-to-b.html" in (tmp_path / "site/pairs.html").read_text()
    code, _ = run(results[1], "--output", str(tmp_path / "other"))
    assert (code, (tmp_path / "other/pairs.html").exists()) == (0, False), "the pairs are not of these results"


def test_help_shows_an_example() -> None:
    code, text = run("--help")
    assert code == 0
    assert "dmlcts site kept/*.results.json.gz --baseline mine.yaml --output site" in text
