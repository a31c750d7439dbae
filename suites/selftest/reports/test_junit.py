"""The JUnit document says of every test what the records say."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results, describe_device
from dmlcts.reports.views.junit import items_of, junit_xml
from dmlcts.specs.tables import Tables

CLIP = "ELEMENT_WISE_CLIP"


def results() -> dict[str, Any]:
    now = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
    run = RunInfo("cpu", describe_device(None), "5.0", "quick", 3, True, {}, now, now)
    return build_results([], [], run, Tables(operators={}, rules=(), latitudes={}, digests={}))


def parsed(*items: ItemRecord) -> ET.Element:
    return ET.fromstring(junit_xml(items, results()))  # noqa: S314 - our own document


def failure(title: str, text: str = "account", outcome: Outcome = Outcome.FAIL) -> FailureRecord:
    return FailureRecord("clip.formula", CLIP, "INT8", outcome, "t", title, text, {}, "a.yaml")


def item(outcome: Outcome, test: str = "suites/test_clip.py::test_formula[INT8]") -> ItemRecord:
    failures = (failure("first", "account 1"), failure("second", "account 2")) if outcome.breaks_conformance else ()
    tallies = (ClauseTally("clip.formula", CLIP, "INT8", outcome, 1, 1, 0),)
    return ItemRecord(test, outcome, 0.25, tallies, (), failures)


def properties(element: ET.Element) -> list[tuple[str | None, str | None]]:
    return [(each.get("name"), each.get("value")) for each in element.findall("properties/property")]


@pytest.mark.parametrize(
    "outcome, element",
    [
        (Outcome.CRASH, "error"),
        (Outcome.TIMEOUT, "error"),
        (Outcome.DEVICE_LOST, "error"),
        (Outcome.RESOURCE_ERROR, "error"),
        (Outcome.HARNESS_ERROR, "error"),
        (Outcome.FAIL, "failure"),
        (Outcome.WAIVED, "skipped"),
        (Outcome.SKIPPED, "skipped"),
        (Outcome.NOT_SUPPORTED, "skipped"),
        (Outcome.CHARACTERISED, None),
        (Outcome.PASS, None),
    ],
    ids=str,
)
def test_every_outcome_has_its_element(outcome: Outcome, element: str | None) -> None:
    root = parsed(item(outcome))
    (case,) = root.iter("testcase")
    assert [child.tag for child in case] == [*([element] if element else []), "system-out"]
    assert case.attrib == {"classname": "suites.test_clip", "name": "test_formula[INT8]", "time": "0.250"}
    lines = (case.findtext("system-out") or "").splitlines()
    assert lines[:2] == [f"outcome: {outcome.value}", "clause: clip.formula"]
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    for total, names in ((root, ("failures", "errors")), (root[0], tuple(kinds))):
        counted = {name: int(total.get(name, "-1")) for name in ("tests", *names)}
        assert counted == {"tests": 1} | {name: int(kinds[name] == element) for name in names}


# What the XSD of Jenkins's xUnit plugin (junit-10.xsd) lets through: attributes, and children, by element. A suite
# must have the first four of its attributes, a case its name, a property both.
ACCEPTED = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    **{name: ({"type", "message"}, set()) for name in ("failure", "error", "skipped")},
    **{name: (set(), set()) for name in ("system-out", "system-err")},
}


def refused(document: ET.Element) -> list[str]:
    """What the plugin would refuse of a document."""
    problems = []
    for element in document.iter():
        attributes, children = ACCEPTED.get(element.tag, (set(), set()))
        problems += [f"{element.tag}@{name}" for name in element.attrib if name not in attributes]
        problems += [f"{element.tag}/{child.tag}" for child in element if child.tag not in children]
        needed = {
            "testsuite": ("name", "tests", "failures", "errors"),
            "testcase": ("name",),
            "property": ("name", "value"),
        }
        problems += [
            f"{element.tag} lacks {name}" for name in needed.get(element.tag, ()) if name not in element.attrib
        ]
    return problems


def test_the_strictest_common_reader_takes_the_document() -> None:
    assert refused(parsed(*(item(outcome, f"m.py::test_{outcome}") for outcome in Outcome))) == []


def test_that_reader_refuses_what_it_should() -> None:
    root = parsed(item(Outcome.FAIL))
    root.set("skipped", "0")
    ET.SubElement(next(root.iter("testcase")), "properties")
    del root[0].attrib["errors"]
    assert refused(root) == ["testsuites@skipped", "testsuite lacks errors", "testcase/properties"]


def test_a_document_without_records_becomes_one_case_a_row() -> None:
    tallies = tuple(
        ClauseTally("clip.formula", CLIP, name, outcome, 3, 30, int(outcome is Outcome.FAIL))
        for name, outcome in (("INT8", Outcome.FAIL), ("INT16", Outcome.PASS))
    )
    stray = FailureRecord("", "", "", Outcome.CRASH, "m.py::gone", "it went away", "account", {})
    records = [
        ItemRecord("m.py::t", Outcome.FAIL, 1.0, tallies, (), (failure("wrong"),)),
        ItemRecord("m.py::gone", Outcome.CRASH, 1.0, (), (), (stray,)),
    ]
    now = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
    run = RunInfo("cpu", describe_device(None), "5.0", "quick", 3, True, {}, now, now)
    obligations = [("clip.formula", CLIP, name, "required") for name in ("INT8", "INT16")]
    document = build_results(records, obligations, run, Tables(operators={}, rules=(), latitudes={}, digests={}))
    root = ET.fromstring(junit_xml(items_of(document), document))  # noqa: S314 - our own document
    tags_by_name = {case.get("name"): next(child.tag for child in case) for case in root.iter("testcase")}
    assert tags_by_name == {"formula[CLIP-INT8]": "failure", "formula[CLIP-INT16]": "system-out", "gone": "error"}
    assert refused(root) == []


def test_several_failures_of_a_test_are_reported_together() -> None:
    (element,) = parsed(item(Outcome.FAIL)).iter("failure")
    assert (element.get("message"), element.get("type")) == ("first (and 1 more)", "fail")
    assert element.text == "account 1\n\naccount 2"


def test_there_is_one_suite_a_module() -> None:
    tests = [
        "suites/test_b.py::test_x",
        "suites/test_a.py::TestIt::test_y[a::b]",
        "suites/test_a.py::test_x",
        "odd",
    ]
    root = parsed(*(item(Outcome.PASS, test) for test in tests))
    assert (root.tag, root.get("tests"), root.get("time")) == ("testsuites", "4", "1.000")
    assert [(suite.get("name"), suite.get("tests")) for suite in root] == [
        ("odd", "1"),
        ("suites.test_a", "2"),
        ("suites.test_b", "1"),
    ]
    cases = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert ("suites.test_a.TestIt", "test_y[a::b]") in cases
    assert ("odd", "odd") in cases


def test_a_suite_names_who_was_judged() -> None:
    root = parsed(item(Outcome.PASS))
    assert root[0].get("timestamp") == "2026-11-21T12:30:00"
    property_values = dict(properties(root[0]))
    assert (
        property_values["backend"],
        property_values["verdict"],
        property_values["seed"],
        property_values["strict"],
    ) == (
        "cpu",
        "INCOMPLETE",
        "3",
        "True",
    )


def test_a_run_of_nothing_is_a_document_too() -> None:
    assert parsed().attrib == {
        "name": "dmlcts",
        "tests": "0",
        "failures": "0",
        "errors": "0",
        "time": "0.000",
    }


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet=st.characters(), max_size=12))
def test_no_text_makes_the_document_unreadable(text: str) -> None:
    failed = ItemRecord(f"m.py::{text}", Outcome.FAIL, 0, (), (), (failure(text, text),))
    assert len(list(parsed(failed).iter("failure"))) == 1


def test_illegal_characters_are_left_out() -> None:
    failed = ItemRecord("m.py::t", Outcome.FAIL, 0, (), (), (failure("a\x00b\ud800c", "x\x1by\ufffez <&> é"),))
    (element,) = parsed(failed).iter("failure")
    assert (element.get("message"), element.text) == ("abc", "xyz <&> é")
