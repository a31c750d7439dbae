"""Clauses by templates: the same as written out, and refused at their place where they do not go together."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from dmlcts.specs import TableError
from dmlcts.specs.checking.table_checks import own_faults
from dmlcts.specs.loading import fit, load_tables
from dmlcts.specs.models import Clause
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.selftest.tables.sample_tables import GOOD, SPECS
from dmlcts.suites.selftest.tables.test_broken_tables import faults_of, marked

OPERATOR = GOOD["operator"]
THIRD = "  - {id: sample.third, check: in-place, text: So, obligation: implied, subject: aliasing, sources: [ page ]}\n"
FILLED = """\
  - template: in-place
    fill: {output: OutputTensor, inputs: InputTensor}
    quotation: {source: page, words: "may alias"}
"""
WRITTEN_OUT = """\
  - id: sample.in-place
    check: in-place
    text: OutputTensor may alias InputTensor; the result is the same as out of place.
    obligation: required
    subject: aliasing
    quotation: {source: page, words: "may alias"}
"""
TEMPLATES = (SPECS / "shared/clause_templates.yaml").read_text(encoding="utf-8")


def with_clause(text: str) -> str:
    assert THIRD in OPERATOR
    return OPERATOR.replace(THIRD, text)


def clauses(text: str) -> tuple[Clause, ...]:
    loaded = fit(read_yaml(text, "table.yaml"))
    assert not list(own_faults(loaded))
    table_clauses: tuple[Clause, ...] = loaded.table.clauses
    return table_clauses


def test_a_template_filled_in_is_the_clause_written_out() -> None:
    assert clauses(with_clause(FILLED)) == clauses(with_clause(WRITTEN_OUT))


def test_a_template_without_id_or_text_takes_the_clause_s_own() -> None:
    own = '  - {template: support.level, id: sample.two, text: Two., level: "2.0", sources: [page]}\n'
    clauses_by_id = {clause.id: clause for clause in clauses(with_clause(WRITTEN_OUT + own))}
    assert clauses_by_id["sample.two"].check == "support.level"
    assert (
        clauses_by_id["sample.two"].text,
        clauses_by_id["sample.two"].level,
        clauses_by_id["sample.two"].obligation,
    ) == (
        "Two.",
        "2.0",
        "required",
    )


def test_a_fault_of_what_the_clause_lacks_is_reported_at_the_clause() -> None:
    text = with_clause("  - §template: in-place\n    fill: {output: OutputTensor, inputs: InputTensor}\n")
    text, line, column = marked(text)
    (fault,) = faults_of(text)
    assert (fault.line, fault.column) == (line, column)
    assert "neither quotation nor sources" in fault.cause


BROKEN = {
    "unknown template": ("template: in-place", "template: §in-plaice", "did you mean in-place?"),
    "no name of a template": ("template: in-place", "template: §7", "there is no template 7"),
    "what the template says already": ("    fill:", "    §subject: aliasing\n    fill:", "says `subject` already"),
    "an id of its own": ("    fill:", "    §id: sample.third\n    fill:", "says `id` already"),
    "a name that is not filled": (
        "fill: {output: OutputTensor, inputs: InputTensor}",
        "fill: §{output: OutputTensor}",
        "`fill:` does not give it",
    ),
    "nothing filled": (
        "  - template: in-place\n    fill: {output: OutputTensor, inputs: InputTensor}\n",
        "  - §template: in-place\n",
        "add `",
    ),
    "a name that is not there": ("fill: {output:", "fill: {§put: a, output:", "has no {'put'}"),
    "a number for words": ("output: OutputTensor", "output: §7", "fill.output: 7 is not a text"),
    "a list for names": ("fill: {output: OutputTensor, inputs: InputTensor}", "fill: §[OutputTensor]", "not a mapping"),
    "an unknown key": ("    fill:", "    §words: so\n    fill:", "unknown key 'words'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_template_that_does_not_fit_is_refused_at_its_place(name: str) -> None:
    old, new, words = BROKEN[name]
    assert FILLED.count(old) == 1
    text, line, column = marked(with_clause(FILLED.replace(old, new)))
    faults = faults_of(text)
    assert {(fault.line, fault.column) for fault in faults} == {(line, column)}
    assert words in str(faults[0])
    assert faults[0].mend


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  - name: monotone", "  - name: §scale-bias", "'scale-bias' stands twice"),
        ("check: monotone", "check: §monoton", "did you mean monotone?"),
        ("check: monotone", "check: §tensor.position", "'tensor.position' is not allowed here"),
        ("[silence]\n    permitted: [refused, the", "[§silent]\n    permitted: [refused, the", "no source has the id"),
    ],
)
def test_a_broken_table_of_templates_is_refused(old: str, new: str, words: str) -> None:
    assert faults_of(TEMPLATES) == [], "the control"
    assert TEMPLATES.count(old) == 1
    text, line, column = marked(TEMPLATES.replace(old, new))
    (fault,) = faults_of(text)
    assert (fault.line, fault.column) == (line, column)
    assert words in str(fault)


def test_there_is_one_table_of_templates(tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(TEMPLATES, encoding="utf-8")
    with pytest.raises(TableError, match="of clause templates stands twice"):
        load_tables(tmp_path)


def test_the_schema_permits_both_forms() -> None:
    schema = json.loads((SPECS / "schemas/operator.json").read_text(encoding="utf-8"))
    for clause in (FILLED, WRITTEN_OUT):
        jsonschema.validate(read_yaml(with_clause(clause), "table.yaml").value, schema)
    for broken in (FILLED.replace("template: in-place", "check: in-place"), FILLED.replace("fill:", "full:")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(read_yaml(with_clause(broken), "table.yaml").value, schema)
