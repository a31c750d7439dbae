"""``dmlcts diff``: what got worse, what got better, and what only differs because the runs were different runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from dmlcts.reports.comparing import difference as differences
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.validation import schema
from dmlcts.reports.summaries.provenance import tables_digest
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.reports.report_samples import CLIP, HARM, ROUND, conformant, failing, hostile
from dmlcts.suites.selftest.reports.test_report_markdown import outside_code

TABLES = load_tables()
ROW = {"clause": "round.toward-infinity", "operator": ROUND, "data_type": "FLOAT32"}
LISTS = [*differences.TITLES]


def compared(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    difference = differences.difference(first, second)
    jsonschema.validate(difference, schema("difference-1"))
    return difference


def with_outcome(outcome: Outcome) -> dict[str, Any]:
    document = conformant()
    for row in document["clauses"]:
        if (row["id"], row["operator"], row["data_type"]) == tuple(ROW.values()):
            row["outcome"] = outcome.value
    return document


def without_row() -> dict[str, Any]:
    document = conformant()
    document["clauses"] = [
        row for row in document["clauses"] if (row["id"], row["operator"], row["data_type"]) != tuple(ROW.values())
    ]
    return document


def filled(difference: dict[str, Any]) -> set[str]:
    return {name for name in LISTS if difference[name]}


def test_a_run_does_not_differ_from_itself() -> None:
    for sample in (conformant, failing, hostile):
        difference = compared(sample(), sample())
        assert not difference["regression"]
        assert not filled(difference)
        assert (difference["identity"], difference["behaviours"]) == ([], [])
    made = f"tables {tables_digest(conformant()['specs'])[:12]}, suite 0.1.0 at {'ab' * 6}"
    assert differences.text(compared(conformant(), conformant()), TABLES).splitlines() == [
        "verdict: CONFORMANT",
        f"A: {made}",
        f"B: {made}",
        "",
        "no regression: nothing changed in rows and behaviours",
    ]


OUTCOMES = {  # from A to B: the list that the row is in, and whether that is a regression
    ("pass", "fail"): ("newly_failing", True),
    ("pass", "crash"): ("newly_failing", True),
    ("pass", "harness_error"): ("newly_failing", True),
    ("waived", "fail"): ("newly_failing", True),
    ("skipped", "fail"): ("newly_failing", True),
    ("fail", "crash"): ("failing_worse", True),
    ("crash", "fail"): ("changed", False),
    ("pass", "skipped"): ("no_longer_run", True),
    ("pass", "not_supported"): ("no_longer_run", True),
    ("fail", "not_supported"): ("no_longer_run", True),
    ("skipped", "not_supported"): ("changed", False),
    ("fail", "pass"): ("newly_passing", False),
    ("waived", "pass"): ("newly_passing", False),
    ("fail", "waived"): ("changed", False),
    ("pass", "waived"): ("changed", False),
    ("skipped", "pass"): ("changed", False),
    ("pass", "characterised"): ("changed", False),
}


@pytest.mark.parametrize("change", OUTCOMES, ids="-to-".join)
def test_each_change_of_an_outcome_is_distinguished(change: tuple[str, str]) -> None:
    name, regression = OUTCOMES[change]
    difference = compared(*(with_outcome(Outcome(outcome)) for outcome in change))
    assert filled(difference) == {name}
    assert difference[name] == [ROW | {"before": change[0], "after": change[1]}]
    assert difference["regression"] is regression


def test_rows_appear_and_disappear() -> None:
    gone = compared(conformant(), without_row())
    assert (filled(gone), gone["regression"]) == ({"disappeared"}, False)
    news = compared(without_row(), conformant())
    assert (filled(news), news["regression"]) == ({"appeared"}, False)
    broken = compared(without_row(), with_outcome(Outcome.FAIL))
    assert (filled(broken), broken["regression"]) == ({"appeared_failing"}, True)


def test_a_test_that_ends_badly_outside_any_clause_is_a_regression() -> None:
    stray = failing()["failures"][0] | {"clause": "", "operator": "", "data_type": "", "outcome": "crash", "test": "t"}
    ended = conformant() | {"failures": [stray], "verdict": "NOT_CONFORMANT"}
    difference = compared(conformant(), ended)
    assert (filled(difference), difference["regression"]) == ({"newly_stray"}, True)
    assert not compared(ended, ended)["regression"]


def test_an_interrupted_run_is_a_regression() -> None:
    stopped = conformant() | {"interrupted": True, "verdict": "INCOMPLETE"}
    assert compared(conformant(), stopped)["regression"]
    assert not compared(stopped, stopped)["regression"]
    assert "the run was interrupted" in differences.text(compared(conformant(), stopped), TABLES)


def test_another_behaviour_is_no_regression() -> None:
    other = conformant()
    other["behaviours"][0]["behaviour"] = "NaN input gives Min"
    del other["behaviours"][1]
    difference = compared(conformant(), other)
    assert not difference["regression"]
    assert [(change["data_type"], change["before"], change["after"]) for change in difference["behaviours"]] == [
        ("FLOAT16", "NaN input gives Max", "NaN input gives Min"),
        ("FLOAT32", "NaN input gives NaN", None),
    ]
    text = differences.text(difference, TABLES)
    assert "clip.nan.input · CLIP on FLOAT16: NaN input gives Max -> NaN input gives Min" in text


@pytest.mark.parametrize(
    "what, change",
    [
        ("backend", lambda document: document.update(backend="other")),
        ("feature_level", lambda document: document.update(feature_level="3.0")),
        ("profile", lambda document: document.update(profile="full")),
        ("seed", lambda document: document.update(seed=7)),
        ("strict", lambda results: results.update(strict=True)),
        ("selection", lambda results: results.update(selection={"operators": [CLIP]})),
        ("device driver", lambda results: results["device"].update(driver="32.0")),
        ("suite commit", lambda results: results["suite"].update(commit="cd" * 20)),
        ("table operators/clip.yaml", lambda results: results["specs"].update({"operators/clip.yaml": "0f" * 32})),
        ("table operators/ceil.yaml", lambda results: results["specs"].update({"operators/ceil.yaml": "0f" * 32})),
    ],
)
def test_a_different_run_is_reported_as_one(what: str, change: Callable[[dict[str, Any]], None]) -> None:
    other = conformant()
    change(other)
    difference = compared(conformant(), other)
    assert [identity_change["what"] for identity_change in difference["identity"]] == [what]
    assert (filled(difference), difference["regression"]) == (set(), False)
    assert f"  {what}: " in differences.text(difference, TABLES)


def test_what_depends_on_time_and_machine_alone_is_no_difference() -> None:
    other = conformant()
    other["timings"]["seconds"] = 99.0
    other["environment"]["platform"] = "Windows"
    assert compared(conformant(), other) == compared(conformant(), conformant())


def test_the_markdown_reports_the_same() -> None:
    text = differences.markdown(compared(conformant(), failing()), TABLES)
    assert text.startswith("## ❌ REGRESSION: 1 newly failing\n")
    assert "| `round.toward-infinity` | `pass → fail` | `ROUND on FLOAT32` |" in text
    assert differences.markdown(compared(failing(), conformant()), TABLES).startswith(
        "## ✅ no regression: 1 newly passing"
    )


def test_harmful_strings_stay_inside_code_and_off_the_terminal() -> None:
    other = hostile() | {"backend": HARM[8], "profile": "full"}
    other["device"]["driver"] = HARM[7]
    difference = compared(conformant(), other)
    outside = outside_code(differences.markdown(difference, TABLES))
    for word in ("harmed", "onerror", "example.invalid", "@someone", "[link]", "\x1b"):
        assert word not in outside, word
    text = differences.text(difference, TABLES)
    assert "\x1b" not in text
    assert "\\u{1b}[31m" in text
    assert not [line for line in text.splitlines() if line.startswith(("#", "<"))]  # a value stays on its line


def test_the_schema_refuses_another_format() -> None:
    difference = compared(conformant(), failing())
    for change in ({"schema": "dmlcts-difference/2"}, {"more": 1}, {"newly_failing": [{"clause": "a"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(difference | change, schema("difference-1"))
