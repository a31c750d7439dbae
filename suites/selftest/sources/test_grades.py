"""One rule of precedence, and one grade: the operator's own newest page wins, and a sentence is graded alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlcts import specs
from dmlcts.specs.checking.table_checks import own_faults
from dmlcts.specs.errors import Fault
from dmlcts.specs.loading import fit
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.selftest.family.family_tables import family

HYPERBOLIC = ("SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH")


def faults_of_clip(old: str, new: str) -> list[Fault]:
    text = (Path(specs.__file__).parent / "operators" / "clip.yaml").read_text(encoding="utf-8")
    assert old in text
    return list(own_faults(fit(read_yaml(text.replace(old, new), "clip.yaml"))))


def test_a_sentence_has_one_grade_on_every_page() -> None:
    grades: dict[tuple[str, str], dict[str, str]] = {}
    for table in family().operators.values():
        for clause in table.clauses:
            if clause.quotation is not None and clause.quotation.source == table.sources[0].id:
                clauses_by_grade = grades.setdefault((clause.check, clause.quotation.words), {})
                clauses_by_grade.setdefault(clause.obligation, clause.id)
    assert len(grades) > 50
    assert not {sentence: ids for sentence, ids in grades.items() if len(ids) > 1}


def test_the_first_source_is_the_operators_own_page() -> None:
    for table in family().operators.values():
        assert f"DML_{table.operator}_OPERATOR_DESC" in table.sources[0].title
        for clause in table.clauses:
            cited = {*clause.sources, *([clause.quotation.source] if clause.quotation else [])}
            assert clause.obligation != "required" or table.sources[0].id in cited, clause.id


@pytest.mark.parametrize("name", HYPERBOLIC)
def test_that_the_overview_scales_after_hyperbolic_functions_is_recorded(name: str) -> None:
    table = family().operator(name)
    (clause,) = table.checked_by("scale-bias")
    (other,) = clause.disagreements
    assert (clause.obligation, other.source) == ("required", "overview")
    assert "* scale + bias" in other.says
    assert not family().operator("SIN").checked_by("scale-bias")[0].disagreements, "the control"


def test_inverted_bounds_are_required_whoever_disagrees() -> None:
    clause = family().clause("clip.bounds.inverted")
    assert (clause.obligation, len(clause.disagreements)) == ("required", 2)
    assert not faults_of_clip("clip", "clip")


def test_a_disagreement_with_the_own_page_does_not_open_a_clause() -> None:
    index = 2  # of the clause on inverted bounds, as the table lists it
    assert family().operator("CLIP").clauses[index].id == "clip.bounds.inverted"
    text = (Path(specs.__file__).parent / "operators" / "clip.yaml").read_text(encoding="utf-8")
    start = text.index("  - id: clip.bounds.inverted")
    before, after = text[:start], text[start:]
    opened = before + after.replace("obligation: required", "obligation: unspecified\n    permitted: [Min, Max]", 1)
    (fault,) = own_faults(fit(read_yaml(opened, "clip.yaml")))
    assert "the operator's own page wins" in fault.cause
    assert fault.line == 1 + opened[: opened.index("obligation: unspecified", len(before))].count("\n")


def test_what_is_required_rests_on_the_own_page() -> None:
    quotation = 'quotation: {source: page, words: "OutputTensor is permitted to alias InputTensor during binding"}'
    (fault,) = faults_of_clip(quotation, "sources: [overview]")
    assert "does not rest on 'page'" in fault.cause
