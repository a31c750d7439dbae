"""How long a certification takes is said before it starts, with the figure that it follows from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.documents.journal import NAME, SCHEMA, Journal
from dmlcts.reports.documents.outcomes import Outcome, Verdict
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.specs import UsageError
from dmlcts.suites.certification import submit
from dmlcts.suites.certification.expected import expected
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.run import all_differences, difference


def settings_of(folder: Path, *operators: str) -> Settings:
    return Settings.read(
        backend="cpu", operators=operators, results=str(folder), profile="certification", isolation="process"
    )


def left_by_a_run(folder: Path, **changed: Any) -> None:
    """The journal of a quick run of two operators that took 60 s."""
    settings = Settings.read(backend="cpu", operators=["ABS", "ROUND"], results=str(folder))
    folder.mkdir(exist_ok=True)
    journal = Journal(folder / NAME)
    journal.begin("run", {"schema": SCHEMA, **settings.described(), **changed})
    journal.begin("collected", {"items": 2, "total": 2})
    for name in ("ABS", "ROUND"):
        journal.append("item", ItemRecord(f"test_some.py::some[{name}]", Outcome.PASS, 30.0).to_json())
    journal.append("end", {"items": 2, "finished": "2026-11-28T10:00:00+00:00"})
    journal.close()


def test_without_an_earlier_run_the_figure_is_that_of_cpu(tmp_path: Path) -> None:
    line = expected(settings_of(tmp_path / "none", "ABS"), "")
    assert line.startswith("dmlcts: the run of 1 operator takes about ")
    assert "(measured on cpu, " in line
    assert expected(settings_of(tmp_path / "none"), "").startswith("dmlcts: the run of 65 operators takes about ")
    assert "several processes" in expected(settings_of(tmp_path / "none"), "auto")


def test_the_sweep_that_follows_is_named(tmp_path: Path) -> None:
    assert "then a sweep of ROUND judges 12,884,901,888 elements" in expected(settings_of(tmp_path, "ROUND"), "")
    assert "sweep" not in expected(settings_of(tmp_path, "ABS"), "")


def test_an_interrupted_certification_prints_how_to_make_the_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("certify", "--backend", "cpu", "--product", "Driver 1.2", "--output", "s.zip")
    order = submit.Order(
        settings_of(tmp_path, "ABS"), "Driver 1.2", "ACME", "", tmp_path / "s.zip", None, None, False, words
    )
    monkeypatch.setattr(submit, "draft_reasons", lambda **_: [])
    monkeypatch.setattr(submit, "_run_now", lambda _: submit.Ran({"verdict": "INCOMPLETE"}, (), "", interrupted=True))
    lines: list[str] = []
    assert submit.certify(order, lines.append) is Verdict.INCOMPLETE
    command = f"dmlcts certify --backend cpu --product 'Driver 1.2' --output s.zip --from {tmp_path}"
    assert lines[-1] == f"dmlcts: no submission yet; when the run has ended, make it with: {command}"


def test_an_earlier_run_of_the_same_backend_gives_the_figure(tmp_path: Path) -> None:
    left_by_a_run(tmp_path / "r")
    line = expected(settings_of(tmp_path / "r", "ABS"), "1")
    assert f"(the quick run in {tmp_path / 'r'} took 1 min for 2 operators, and certification takes " in line
    assert " times as long on cpu)" in line


@pytest.mark.parametrize(
    "changed", [{"backend": "other"}, {"data_types": ["INT8"]}, {"clauses": ["clip.nan.*"]}], ids=str
)
def test_a_run_of_something_else_does_not(tmp_path: Path, changed: dict[str, Any]) -> None:
    left_by_a_run(tmp_path / "r", **changed)
    assert "measured on cpu" in expected(settings_of(tmp_path / "r", "ABS"), "")


def test_all_that_differs_is_named_at_once() -> None:
    there = {"seed": 5, "profile": "quick", "options": {"a": "1", "b": "2"}, "backend": "cpu"}
    here = {"seed": 0, "profile": "certification", "options": {"a": "1", "b": "3"}, "backend": "cpu"}
    words = all_differences(there, here)
    assert words.startswith("3 points: ")
    for part in ("the seed: 5 there, 0 here", "(b): '2' there, '3' here", "'quick' there, 'certification' here"):
        assert part.replace("'", "") in words.replace("'", "")
    assert difference(there, here) in words
    assert all_differences(there, there | {"seed": 1}) == "the seed: 5 there, 1 here"
    assert all_differences(there, there) == ""


def test_certifying_other_runs_names_all_differences_of_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left_by_a_run(Path("a"), seed=5)
    left_by_a_run(Path("b"), backend="other")
    order = submit.Order(
        settings_of(Path("r"), "ABS", "ROUND"), "p", "v", "", Path("s.zip"), None, None, True, ("certify",), ("a", "b")
    )
    with pytest.raises(UsageError) as refused:
        submit.certify(order, lambda _: None)
    words = str(refused.value)
    for part in (
        "a/records.jsonl is of a run",
        "b/records.jsonl is of a run",
        "the seed: 5 there",
        "the backend: other",
    ):
        assert part in words
    assert words.count("the profile: quick there, certification here") == 2
