"""The issue forms are valid forms of GitHub's, and each asks for what a report of its kind needs."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from dmlcts.suites.selftest.installing import HOUSE

FOLDER = HOUSE / ".github" / "ISSUE_TEMPLATE"
FORMS = {path.stem: path for path in sorted(FOLDER.glob("*.yml")) if path.stem != "config"}
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the forms are in the checkout only")

TOP = {"name", "description", "body", "title", "labels", "assignees", "projects", "type"}
ATTRIBUTES = {  # by kind: those that must be there, those that may
    "markdown": ({"value"}, set()),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}
NEEDED = {  # by form, the ids of what a report of its kind cannot do without
    "false-alarm": {"clause", "failure", "reason", "backend", "suite"},
    "missed-fault": {"clause", "case", "sentence", "results", "suite"},
    "new-backend": {"implementation", "way", "check"},
    "wrong-clause": {"clause", "fault", "sentence"},
}
ID = re.compile(r"[A-Za-z0-9_-]+")


def read(name: str) -> dict[str, Any]:
    form = yaml.safe_load(FORMS[name].read_text(encoding="utf-8"))
    assert isinstance(form, dict)
    return form


def faults(form: dict[str, Any]) -> Iterator[str]:
    """What GitHub refuses in a form, by its documented syntax; nothing where it is valid."""
    for key in ("name", "description"):
        if not (isinstance(form.get(key), str) and form[key].strip()):
            yield f"no {key}"
    yield from (f"unknown key {key}" for key in form.keys() - TOP)
    body = form.get("body")
    if not isinstance(body, list) or all(part.get("type") == "markdown" for part in body):
        yield "no question"
        return
    for name in ("id", "label"):
        values = [part.get("attributes", {}).get(name) if name == "label" else part.get(name) for part in body]
        named = [value for value in values if value is not None]
        if len(named) != len(set(named)):
            yield f"a {name} twice"
    for number, part in enumerate(body):
        yield from (f"part {number}: {fault}" for fault in part_faults(part))


def part_faults(part: dict[str, Any]) -> Iterator[str]:
    """What is wrong in one part of a form's body."""
    kind = part.get("type")
    if kind not in ATTRIBUTES:
        yield f"unknown type {kind}"
        return
    needed, optional = ATTRIBUTES[kind]
    attributes = part.get("attributes", {})
    yield from (f"no {name}" for name in sorted(needed - attributes.keys()))
    yield from (f"unknown attribute {name}" for name in sorted(attributes.keys() - needed - optional))
    allowed = {"type", "attributes"} | (set() if kind == "markdown" else {"id", "validations"})
    yield from (f"unknown key {name}" for name in sorted(part.keys() - allowed))
    if "id" in part and not ID.fullmatch(str(part["id"])):
        yield f"no id: {part['id']}"
    if not all(isinstance(value, bool) for value in part.get("validations", {}).values()):
        yield "required is neither true nor false"
    options = attributes.get("options", ())
    if len(options) != len(set(map(str, options))) or not all(isinstance(option, str) for option in options):
        yield "options are not different texts"
    if "none" in {str(option).casefold() for option in options}:
        yield "GitHub keeps the option None for itself"


def test_there_is_a_form_for_each_kind_of_report() -> None:
    assert FORMS.keys() == NEEDED.keys()


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_valid(name: str) -> None:
    assert list(faults(read(name))) == []


@pytest.mark.parametrize("name", FORMS)
def test_forms_require_what_a_report_needs(name: str) -> None:
    parts = {part["id"]: part for part in read(name)["body"] if "id" in part}
    required = {field_id for field_id, part in parts.items() if part.get("validations", {}).get("required")}
    assert required == NEEDED[name]
    asked = " ".join(part["attributes"].get("description", "") for part in parts.values())
    assert "results/failures/" in asked or "results.json" in asked


def test_what_github_refuses_is_seen() -> None:
    good = read("false-alarm")

    def changed(**changes: Any) -> list[str]:
        form = copy.deepcopy(good)
        form["body"][1] |= changes
        return list(faults(form))

    assert changed() == []
    assert changed(type="text") == ["part 1: unknown type text"]
    assert changed(attributes={}) == ["part 1: no label"]
    assert changed(id="failure") == ["a id twice"]
    assert changed(validations={"required": "yes"}) == ["part 1: required is neither true nor false"]
    assert list(faults({"name": "a", "description": "b", "body": []})) == ["no question"]
    assert list(faults(good | {"titel": "a"})) == ["unknown key titel"]


def test_other_reports_are_allowed_and_the_specification_is_linked() -> None:
    config = yaml.safe_load((FOLDER / "config.yml").read_text(encoding="utf-8"))
    assert config.keys() == {"blank_issues_enabled", "contact_links"}
    for link in config["contact_links"]:
        assert link.keys() == {"name", "url", "about"}
        assert link["url"].startswith("https://")
