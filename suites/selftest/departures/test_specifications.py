"""The table of what runtimes' own documents say: sound, and each quotation word by word where its package is there."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dmlcts.reports.comparing.judged import EXAMPLES
from dmlcts.reports.documents.validation import DocumentError, load_results
from dmlcts.reports.migrating.specification import (
    DIFFERS,
    FILE,
    OPEN,
    RELATIONS,
    SAME,
    SETTLES,
    Inversion,
    Message,
    Specification,
    load_specifications,
)
from dmlcts.specs.loading import load_tables

TABLES = load_tables()
ROWS = load_specifications()
NAMES = [f"{row.runtime}-{row.clause}" for row in ROWS]
EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=NAMES)


@EVERY_ROW
def test_each_row_stands_beside_a_clause_of_its_operator(row: Specification) -> None:
    table = TABLES.operators[row.operator]
    clauses = {clause.id: clause for clause in TABLES.clauses_of(table)}
    assert row.clause in clauses
    is_open = clauses[row.clause].obligation == "unspecified"
    if row.relation in (SETTLES, OPEN):
        assert is_open, "DirectML's page settles it itself"
    if row.relation == SAME:
        assert not is_open, "the page does not say it"
    assert row.relation in RELATIONS
    if isinstance(row.shows, Inversion):
        assert {row.shows.greater, row.shows.gives} <= {attribute.name for attribute in _attributes(table)}


def _attributes(table: Any) -> list[Any]:
    return [member for member in table.struct if member.name not in table.tensors]


def words_of(text: str) -> str:
    """A document's words: without the markup of reStructuredText, one space between them."""
    text = re.sub(r":\w+:`([^`<]*?)(?: <[^>`]*>)?`", r"\1", text).replace("\\", "").replace("``", "")
    return " ".join(text.split())


def document_of(package: str, name: str) -> str:
    """The text of a document that a package holds."""
    module = pytest.importorskip(package, reason=f"{package} is not installed")
    if package == "onnx":
        return str(importlib.import_module("onnx.defs").get_schema(name).doc)
    return str(functools.reduce(getattr, name.split("."), module).__doc__)


@EVERY_ROW
def test_each_quotation_is_word_by_word(row: Specification) -> None:
    document = words_of(document_of(row.package, row.name))
    assert words_of(row.quotation).replace("`", "") in document.replace("`", ""), row.title


def test_other_words_are_no_quotation() -> None:
    clip = words_of(document_of("onnx", "Clip"))
    assert "sets all the 'input' values to the value of 'max'" in clip
    assert "sets all the 'input' values to the value of 'min'" not in clip
    assert words_of(":func:`torch.clamp(..., min, max) <torch.clamp>`\n  of :attr:`max`") == (
        "torch.clamp(..., min, max) of max"
    )


def test_the_behaviours_that_follow_a_document_were_seen_in_results() -> None:
    seen = {
        (row["clause"], row["behaviour"])
        for name in ("directml", "onnxruntime", "torch")
        for row in load_results(EXAMPLES / f"all_operators/{name}.results.json.gz")["behaviours"]
    }
    settled = [(row.clause, behaviour) for row in ROWS for behaviour in row.agrees]
    assert settled
    assert set(settled) <= seen


def altered(folder: Path, **changes: Any) -> Path:
    """The shipped table with its first row changed; a value of ``None`` takes a member away."""
    table = yaml.safe_load(FILE.read_text("utf-8"))
    row = table["specifications"][0] | changes
    table["specifications"][0] = {name: value for name, value in row.items() if value is not None}
    path = folder / "specifications.yaml"
    path.write_text(yaml.safe_dump(table), "utf-8")
    return path


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"document": "nowhere"}, "is none of the documents"),
        ({"clause": ROWS[1].clause, "operator": ROWS[1].operator}, "stands twice"),
        ({"shows": None}, "/specifications/0"),
        ({"relation": "same"}, "/specifications/0"),
        ({"relation": "settles", "shows": None}, "/specifications/0"),
        ({"relation": "better"}, "better"),
        ({"quotation": ""}, "/specifications/0"),
        ({"source": "x"}, "source"),
    ],
)
def test_a_broken_table_is_refused_with_the_place(tmp_path: Path, changes: Any, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        load_specifications(altered(tmp_path, **changes))


def test_a_sound_table_is_read(tmp_path: Path) -> None:
    assert load_specifications(altered(tmp_path)) == ROWS


def failing(data_type: str = "FLOAT32", got: str = "-1.0 (0xbf800000)", **attributes: str) -> dict[str, Any]:
    values = {"Min": "1.0", "Max": "-1.0"} | attributes
    return {
        "operator": "ELEMENT_WISE_CLIP",
        "clause": "clip.bounds.inverted",
        "data_type": data_type,
        "title": "input 0.5 gives -1.0",
        "details": {"got": got},
        "case": {"attributes": {name: {"value": value} for name, value in values.items()}},
    }


@pytest.mark.parametrize(
    "failure, shown",
    [
        (failing(), True),
        (failing(got="1.0 (0x3f800000)"), False),
        (failing(Max="inf"), False),
        (failing(Min="inf", Max="-inf", got="-inf (0xff800000)"), True),
        (failing("FLOAT16", Min="inf", Max="-4293.349", got="-4292.0 (0xec31)"), True),
        (failing("FLOAT16", Min="inf", Max="-4293.349", got="-4288.0 (0xec30)"), False),
        (failing("INT8", Min="1.9", Max="0.9", got="0 (0x00)"), True),
        (failing("INT8", Min="0.9", Max="0.1", got="0 (0x00)"), False),
        (failing("INT64", Min="9007199254740993", Max="9007199254740992", got="9007199254740992 (0x20)"), True),
        (failing("INT8", Min="inf", Max="0.0", got="0 (0x00)"), False),
        (failing(Min="NaN"), False),
        (failing("nonsense"), False),
        ({**failing(), "case": None}, False),
        ({**failing(), "details": {}}, False),
    ],
)
def test_a_case_shows_an_inversion_by_its_values(failure: dict[str, Any], shown: bool) -> None:
    assert Inversion("Min", "Max").shown_by(failure) is shown


def test_a_message_explains_its_own_clause_alone() -> None:
    (row,) = (row for row in ROWS if isinstance(row.shows, Message))
    stopped = failing() | {
        "operator": row.operator,
        "clause": row.clause,
        "details": {"said": "torch: ZeroDivisionError"},
    }
    assert row.relation == DIFFERS
    assert row.explains(stopped)
    assert not row.explains(stopped | {"details": {"said": "torch: OutOfMemoryError"}})
    assert not row.explains(stopped | {"clause": "modulus-truncate.formula"})
    assert not row.explains(stopped | {"operator": "ELEMENT_WISE_DIVIDE"})
