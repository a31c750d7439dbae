"""``dmlcts report`` and ``dmlcts diff`` as their users meet them: files, exit codes, one line for bad input."""

from __future__ import annotations

import gzip
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from html import unescape
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from dmlcts.reports.documents.validation import schema
from dmlcts.reports.views import html
from dmlcts.reports.views.run_folder import earlier_run, prepare_folder, write_run
from dmlcts.specs.loading import load_tables
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.reports.report_samples import conformant, failing


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of two runs, ``good`` and ``bad``."""
    for name, document in (("good", conformant()), ("bad", failing())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def dmlcts(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def texts(paths: Iterable[Path]) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in paths]


def test_a_report_stands_beside_its_results(runs: Path) -> None:
    for path in ("bad", "bad/results.json"):
        (runs / "bad/results.html").unlink(missing_ok=True)
        done = dmlcts("report", path)
        assert (done.exit_code, done.output) == (0, f"written: {Path('bad/results.html')}\n")
        assert "<h1>" in (runs / "bad/results.html").read_text(encoding="utf-8")


def test_each_form_goes_where_it_is_sent(runs: Path) -> None:
    done = dmlcts("report", "bad", "--html", "p.html", "--markdown", "s.md", "--junit", "j.xml", "--badge", "b.json")
    assert done.exit_code == 0
    page, summary = texts([runs / "p.html", runs / "s.md"])
    assert "NOT CONFORMANT" in page
    assert summary.startswith("## ❌")
    jsonschema.validate(json.loads((runs / "b.json").read_text(encoding="utf-8")), schema("badge-1"))
    assert ET.parse(runs / "j.xml").getroot().get("failures") == "1"  # noqa: S314 - our own document
    assert not (runs / "bad/results.html").exists()


def test_a_dash_prints_the_summary(runs: Path) -> None:
    done = dmlcts("report", "good", "--markdown", "-")
    assert done.output.startswith("## ✅ CONFORMANT")
    assert [path.name for path in (runs / "good").iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    "first, second, code", [("good", "good", 0), ("good", "bad", 1), ("bad", "good", 0), ("bad", "bad", 0)]
)
def test_a_difference_ends_with_1_where_something_got_worse(runs: Path, first: str, second: str, code: int) -> None:
    done = dmlcts("diff", first, second, "--json", "d.json", "--markdown", "d.md")
    assert done.exit_code == code
    difference = json.loads((runs / "d.json").read_text(encoding="utf-8"))
    jsonschema.validate(difference, schema("difference-1"))
    assert difference["regression"] is bool(code)
    assert done.output.splitlines()[-1].startswith("REGRESSION" if code else "no regression")


def test_a_difference_can_be_printed_for_a_machine(runs: Path) -> None:
    assert json.loads(dmlcts("diff", "good", "bad", "--json", "-").output)["regression"] is True
    assert dmlcts("diff", "good", "bad", "--markdown", "-").output.startswith("## ❌ REGRESSION")


BAD_INPUT = {
    "absent": (None, "does not exist"),
    "no JSON": ("{", "is no JSON"),
    "other schema": ('{"schema": "dmlcts-results/9"}', "read it with the version that wrote it"),
    "altered verdict": (json.dumps(failing() | {"verdict": "CONFORMANT"}), "amount to NOT_CONFORMANT"),
}


@pytest.mark.parametrize("kind", BAD_INPUT)
def test_unusable_input_ends_with_2_and_one_line(runs: Path, kind: str) -> None:
    text, message = BAD_INPUT[kind]
    if text is not None:
        (runs / "x.json").write_text(text, encoding="utf-8")
    for arguments in (("report", "x.json"), ("diff", "good", "x.json"), ("diff", "x.json", "good")):
        done = dmlcts(*arguments)
        assert done.exit_code == 2
        assert message in done.output
        assert len(done.output.splitlines()) == 1
    assert not (runs / "results.html").exists()


def test_a_report_that_cannot_be_written_ends_with_2(runs: Path) -> None:
    done = dmlcts("report", "good", "--html", "good")
    assert (done.exit_code, len(done.output.splitlines())) == (2, 1)


def test_a_run_writes_its_page_and_the_next_one_replaces_it(tmp_path: Path) -> None:
    folder = prepare_folder(tmp_path)
    written = write_run(folder, conformant(), [], '<!doctype html>\n<meta name="generator" content="dmlcts">')
    assert [path.name for path in written] == ["results.json", "results.html", "junit.xml"]
    earlier_run(tmp_path).remove()
    assert not (tmp_path / "results.html").exists()
    (tmp_path / "results.html").write_text("<p>mine</p>", encoding="utf-8")
    earlier_run(tmp_path).remove()
    assert (tmp_path / "results.html").exists()
    assert not (tmp_path / "results.json").exists()


def test_a_run_on_github_writes_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    monkeypatch.chdir(tmp_path)
    from dmlcts.specs.loading import load_tables
    from dmlcts.suites.commands.reports import write_github_summary

    (tmp_path / "results").mkdir()
    (tmp_path / "results/results.json").write_text(json.dumps(failing()), encoding="utf-8")
    write_github_summary(Path("results"), load_tables())
    assert (tmp_path / "step.md").read_text(encoding="utf-8").startswith("## ❌ NOT CONFORMANT")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    write_github_summary(Path("absent"), load_tables())  # nothing is asked of the folder where nobody reads the summary
    assert len(list(tmp_path.iterdir())) == 2


def zipped(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def test_results_that_gzip_made_small_are_read_as_they_are(runs: Path) -> None:
    data = (runs / "bad/results.json").read_bytes()
    small = zipped(runs / "bad.json.gz", gzip.compress(data))
    assert dmlcts("diff", "bad", small).output == dmlcts("diff", "bad", "bad").output
    assert dmlcts("report", small, "--markdown", "-").output == dmlcts("report", "bad", "--markdown", "-").output


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda data: gzip.compress(data)[:-20], "is no whole file of gzip"),
        (lambda data: data, "is no whole file of gzip"),
        (lambda data: gzip.compress(data)[:30] + b"garbage" + gzip.compress(data)[37:], "is no whole file of gzip"),
        (lambda data: gzip.compress(bytes(1 << 26)), "is larger than 32 MiB"),
    ],
)
def test_what_gzip_did_not_make_is_one_line(runs: Path, make: Callable[[bytes], bytes], text: str) -> None:
    path = zipped(runs / "bad.json.gz", make((runs / "bad/results.json").read_bytes()))
    done = dmlcts("diff", "bad", path)
    assert done.exit_code == 2
    assert text in done.output
    assert len(done.output.splitlines()) == 1


def test_the_command_in_the_page_judges_its_case_without_the_folder() -> None:
    page = html.page(failing(), load_tables(), [])
    text = re.search(r'<code class="case">(.*?)</code>', page, re.DOTALL)
    assert text is not None
    case = unescape(text[1])
    words = ["replay", "-", "--backend", "cpu", "--isolation", "none"]
    passed = CliRunner().invoke(main, words, input=case)
    assert (passed.exit_code, "passes, 1 elements judged" in passed.output) == (0, True), passed.output
    cut = CliRunner().invoke(main, words, input=case.partition("case:")[0])
    assert cut.exit_code == 2
    assert "the standard input" in cut.output
