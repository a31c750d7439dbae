"""The table of judged implementations: one line a results file, between its marks, and up to date."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import tomllib
from pathlib import Path

import jsonschema
import pytest

from dmlcts.reports.comparing import judged
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import schema
from dmlcts.reports.summaries.provenance import tables_digest
from dmlcts.specs import UsageError
from dmlcts.suites.selftest.departures.test_baseline import CLIP, FORMULA, HELD, TRUNCATION, TRUNCATION_32, results

README = Path(__file__).resolve().parents[3] / "README.md"
MANUAL = README.parent / "suites" / "MANUAL.md"
TABLE = judged.EXAMPLES / "README.md"


def test_each_document_is_one_line_in_the_order_of_backends() -> None:
    made = {"suite": {"version": "1.0.0", "commit": "cd" * 20, "modified": True}, "specs": {"clip.yaml": "ab" * 32}}
    runs = [results(FORMULA, HELD, backend="z", **made), results(HELD, backend="a", **made)]
    digest = tables_digest(made["specs"])[:12]
    assert judged.table(runs).splitlines()[2:4] == [
        f"| `{name}` | a | l · 1 | 5.0 | quick | 1 | {text} | {digest} | 1.0.0 at cdcdcdcdcdcd, modified |"
        for name, text in (("a", "CONFORMANT | 1 of 1 | none"), ("z", "NOT CONFORMANT | 1 of 2 | CLIP: 1 clause"))
    ]


def test_a_run_of_other_tables_than_the_newest_is_marked() -> None:
    newer = results(HELD, backend="a") | {"timings": {"started": "2026-02-02", "finished": "2026-02-02", "slowest": []}}
    older = results(HELD, backend="b", specs={"clip.yaml": "ab" * 32})
    alike = judged.table([newer, results(HELD, backend="b")])
    assert "≠" not in alike
    first, second, _, text, *_ = judged.table([older, newer]).splitlines()[2:]
    assert "≠" not in first
    assert f"| {tables_digest(older['specs'])[:12]} (≠ the newest) |" in second
    assert text.startswith(f"1 of 2 runs used other tables than the newest run ({tables_digest(newer['specs'])[:12]})")


def test_runs_of_a_modified_suite_are_counted_below_the_table() -> None:
    clean, modified = ({"version": "1.0.0", "commit": "cd" * 20, "modified": value} for value in (False, True))
    runs = [results(HELD, backend="a", suite=clean), results(HELD, backend="b", suite=modified)]
    assert judged.table(runs).endswith("1 of 2 runs used a modified suite, so nobody can repeat them exactly.")
    assert "modified" not in judged.table(runs[:1])


def test_departures_are_counted_by_clause_not_by_type_and_gaps_are_none() -> None:
    unable = ("clip.formula", CLIP, "FLOAT16", Outcome.NOT_SUPPORTED)
    line = judged.table([results(TRUNCATION, TRUNCATION_32, FORMULA, unable)]).splitlines()[2]
    assert "| 0 of 4 | CLIP: 1 clause, ROUND: 1 clause |" in line


def test_a_section_is_replaced_between_its_marks_and_nothing_else() -> None:
    begin, end = judged.marks("judged")
    text = f"before\n{begin}\nold\n{end}\nafter\n"
    assert judged.replaced(text, "judged", "new\n") == f"before\n{begin}\nnew\n{end}\nafter\n"


@pytest.mark.parametrize(
    "text", ["", "{begin}\n", "{end}\n{begin}\n", "{begin}\n{begin}\n{end}\n", "{end}{begin}{end}"]
)
def test_marks_that_do_not_stand_there_once_are_refused(text: str) -> None:
    begin, end = judged.marks("judged")
    with pytest.raises(UsageError, match="do not stand there once"):
        judged.replaced(text.format(begin=begin, end=end), "judged", "new")


@pytest.mark.size("thorough")
def test_the_command_writes_and_then_finds_nothing_to_change(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("\n".join(judged.marks("judged")), encoding="utf-8")
    assert judged.main([str(path), "--check"]) == 1
    assert judged.main([str(path)]) == 0
    assert path.read_text("utf-8").strip() in TABLE.read_text("utf-8"), "the same as where it is up to date"


def test_the_sweeps_among_the_examples_match_their_schema() -> None:
    sweeps = sorted(judged.EXAMPLES.glob("*.sweep.json"))
    assert sweeps
    for path in sweeps:
        jsonschema.Draft202012Validator(schema("sweep-1")).validate(json.loads(path.read_text("utf-8")))


def test_the_table_of_the_examples_is_up_to_date() -> None:
    command = "python -m dmlcts.reports.comparing.judged reports/examples/README.md"
    assert judged.main([str(TABLE), "--check"]) == 0, f"run `{command}`"
    assert command in TABLE.read_text("utf-8")
    assert judged.marks("judged")[0] not in README.read_text("utf-8")


def test_the_extra_all_brings_every_backend_and_nothing_of_a_developer_s() -> None:
    extras = tomllib.loads((README.parent / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = everything.removeprefix("dmlcts[").removesuffix("]").split(",")
    assert set(named) == set(extras) - {"all", "dev"}


def test_the_commands_of_the_readme_and_the_manual_can_be_given() -> None:
    """What it has found is shown by commands; each of them is one."""
    from dmlcts.suites.commands.main import main

    for page, fewest in ((README, 10), (MANUAL, 18)):
        commands = re.findall(r"^\| .* \| `dmlcts (run .*)` \|$", page.read_text("utf-8"), re.MULTILINE)
        assert len(commands) >= fewest
        for command in commands:
            main.commands["run"].make_context("run", shlex.split(command)[1:]).close()


def test_a_sweep_s_page_is_one_file_in_the_style_of_the_results(tmp_path: Path) -> None:
    """Of a sweep of a GPU that holds, and of the same with wrong values and hostile words in it."""
    from dmlcts.reports.views.sweeps import load_sweep, page

    record = load_sweep(next(iter(judged.EXAMPLES.glob("*.sweep.json"))))
    right = page(record)
    style = right.partition("<style>")[2].partition("</style>")[0]
    assert "--bad-paper" in style, "the style sheet of results.html"
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in right
    assert not re.search(r"(?:src|href)=[\"'](?!#)|<script.+<script| style=", right, re.DOTALL)
    assert '<header class="v-CONFORMANT">' in right
    assert 'id="failing"' not in right
    record["verdict"] = "NOT_CONFORMANT"
    record["backend"] = "<img src=x onerror=alert(1)>\N{RIGHT-TO-LEFT OVERRIDE}"
    row = record["sweeps"][0]
    row |= {"wrong": 2, "wrong_by_exponent": {"127": 2}}
    row["simplest_wrong"] = [{"input": "1.0", "got": "<b>"}, {"input": "2.0", "acceptable": "4.0", "got": "5.0"}]
    wrong = page(record)
    assert "<code>not recorded</code></td><td><code>&lt;b&gt;" in wrong, "a sweep of an earlier version"
    assert "<code>4.0</code></td><td><code>5.0</code>" in wrong
    assert "exponent of the input</text>" in wrong
    assert "wrong elements</text>" in wrong
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in wrong
    assert "&lt;img src=x" in wrong
    assert "<img" not in wrong
    assert "\\u{202e}" in wrong
    assert f"<p>2 of {row['elements']:,} elements are wrong." in wrong
