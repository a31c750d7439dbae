"""The Markdown summary and the badge say what the document says, and nothing that the document smuggles in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dmlcts.reports.documents.validation import schema
from dmlcts.reports.views import markdown
from dmlcts.reports.views.badge import badge
from dmlcts.specs import UsageError
from dmlcts.suites.selftest.first_three import first_three
from dmlcts.suites.selftest.reports.report_samples import HARM, ROUND, conformant, failing, hostile

TABLES = first_three()


def made(document: dict[str, Any]) -> str:
    return markdown.summary(document, TABLES)


def outside_code(text: str) -> str:
    """What Markdown would read as Markdown: the text without its code blocks and code spans."""
    kept, fence = [], ""
    for line in text.split("\n"):
        opening = re.match(r"(`{3,})", line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif opening and "`" not in line[len(opening[1]) :]:
            fence = opening[1]
        else:
            kept.append(re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", line))
    assert not fence, "a code block is not closed"
    return "\n".join(kept)


def test_a_conformant_run_is_stated_in_a_few_lines() -> None:
    text = made(conformant())
    assert text.startswith("## ✅ CONFORMANT: `Example NX-2`\n")
    assert "3 operators hold." in text
    assert "\n|" not in text.partition("silent")[0]
    assert "Broken" not in text
    assert len(text.splitlines()) < 30


def test_a_failing_run_names_clauses_cases_and_replays() -> None:
    text = made(failing())
    clause = TABLES.clause("round.toward-infinity")
    assert clause.quotation is not None
    assert text.startswith("## ❌ NOT CONFORMANT: `Example NX-2`\n")
    assert f"| `round.toward-infinity` | fail | `ROUND on FLOAT32` | `{clause.quotation.words}` |" in text
    assert re.search(r"^\|  \| FLOAT32 \| FLOAT16 \| .*\bINT8\b", text, re.M)
    assert re.search(r"^\| ROUND \| \*\*✗ 1\*\* fail \| ✓ \| .*✓ unlisted", text, re.M)
    assert "| CLIP |" not in text
    assert "2 other operators hold." in text
    assert "### 5 failing cases" in text
    assert "acceptable    -1.0 (0xbf800000)" in text
    assert (
        "```sh\ndmlcts replay failures/round.toward-infinity-round-float32-bf000000.yaml --backend nx.py:Nx\n```"
        in text
    )


def test_operators_that_fail_stand_worst_first_and_what_did_not_run_is_named() -> None:
    document = failing()
    for row in document["clauses"]:
        if row["operator"].endswith("CLIP") and row["data_type"] in ("INT8", "UINT8"):
            row["outcome"] = "fail"
        elif row["operator"].endswith("THRESHOLD") and row["data_type"] == "INT8":
            row["outcome"] = "skipped"
    text = made(document)
    assert text.index("| CLIP |") < text.index("| ROUND |")
    assert "waived, not supported or did not run: `THRESHOLD`." in text
    assert "operators hold" not in text


def test_a_selection_is_stated() -> None:
    document = conformant() | {"selection": {"operators": [ROUND]}}
    assert "Only a selection was judged: `operators ELEMENT_WISE_ROUND`." in made(document)
    assert "selection" not in made(conformant())


def test_harmful_strings_stay_inside_code() -> None:
    outside = outside_code(made(hostile()))
    for word in ("harmed", "onerror", "example.invalid", "@someone", "[link]", "# heading", "<b>", "\x1b", "\u202e"):
        assert word not in outside, word
    assert set(re.findall(r"<[^>]*>", outside)) == {"<details>", "</details>", "<summary>", "</summary>"}
    assert any(harm in made(hostile()) for harm in HARM[:2])


def test_a_hole_in_the_code_would_be_noticed() -> None:
    assert "@someone" in outside_code("`a` @someone `b`")
    assert "@someone" not in outside_code("`` ` @someone ``")


@given(st.text(max_size=40))
@example("`")
@example("``x`")
@example("a|b\\|c")
@example("")
def test_a_code_span_holds_any_text(text: str) -> None:
    span = markdown.code(text)
    assert outside_code(f"before {span} after") == "before  after"
    assert "\n" not in span
    assert not re.search(r"(?<!\\)\|", markdown.cell(text))


def test_too_much_is_left_out_with_its_count() -> None:
    document = failing()
    first = document["failures"][0]
    document["failures"] = [first | {"title": f"input {number} gives 0.0", "file": ""} for number in range(40)]
    for number, failure in enumerate(document["failures"]):
        failure["test"] = f"t{number}"
    text = made(document)
    assert text.count("<details>") == 1, "of one fault, one is shown"
    message = (
        "39 cases more of it, or that it explains. Seen on `round.toward-infinity (ROUND on FLOAT32)`, by "
        "`t0`, `t1`, `t2`, `t3`, `t4`, `t5` and 34 more tests."
    )
    assert message in text
    for number, failure in enumerate(document["failures"]):
        failure["clause"] = TABLES.clauses[number % 20].id
    text = made(document)
    assert text.count("<details>") == markdown.MOST_FAILURES
    assert "16 further cases in `results.html`." in text, "two clauses on descriptions follow from a wrong value"


def test_the_summary_is_appended_to_the_file_that_github_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv(markdown.STEP_SUMMARY, str(path))
    assert markdown.append_to_step("after\n") == path
    assert path.read_text(encoding="utf-8") == "before\nafter\n"
    monkeypatch.setenv(markdown.STEP_SUMMARY, str(tmp_path))
    with pytest.raises(UsageError, match="cannot be written"):
        markdown.append_to_step("after\n")


@pytest.mark.parametrize(
    "document, message",
    [
        (conformant(), "conformant, level 5.0"),
        (failing(), "not conformant (1 clause), level 5.0"),
        (conformant() | {"verdict": "INCOMPLETE", "interrupted": True}, "incomplete, level 5.0"),
        (conformant() | {"selection": {"operators": [ROUND]}}, "conformant, level 5.0, selection only"),
    ],
)
def test_a_badge_states_the_verdict_and_what_it_holds_for(document: dict[str, Any], message: str) -> None:
    made = badge(document)
    jsonschema.validate(made, schema("badge-1"))
    assert made["message"] == message
    colours = {
        badge(results)["color"] for results in (conformant(), failing(), conformant() | {"verdict": "INCOMPLETE"})
    }
    assert len(colours) == 3


def test_the_badge_schema_refuses_what_shields_would() -> None:
    for change in ({"schemaVersion": 2}, {"label": ""}, {"color": "red;"}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(badge(conformant()) | change, schema("badge-1"))
