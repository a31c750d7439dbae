"""Comparisons: what differs shows, with an example, in every form; what cannot run is a column that says why."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dmlcts.reports.comparing.comparison import (
    Column,
    compare,
    example,
    example_text,
    finished,
    grouped_departures,
    labelled,
    matrix_cell,
    operator_rows,
    worst_departures,
)
from dmlcts.reports.comparing.comparison_views import html, markdown, print_comparison
from dmlcts.reports.comparing.judged import EXAMPLES
from dmlcts.reports.documents.validation import DocumentError, load_document
from dmlcts.reports.documents.writing import write_json
from dmlcts.reports.views.html import template
from dmlcts.specs import UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.running.side_by_side import Contender, judge_all, read_all
from dmlcts.suites.selftest.conftest import Ran

INVERTED = """
import numpy as np
from dmlcts.backends import NotSupported
from dmlcts.suites.mutants.reference import Reference

class Inverted(Reference):
    \"\"\"Takes the minimum last, and has no FLOAT16.\"\"\"

    @property
    def info(self):
        return {"name": "inverted", "feature_level": "5.0", "library": "a | library", "version": "1 <2>",
                "details": {"mapping": [{"what": "CLIP", "to": "min(max(x, Min), Max)", "by": "runtime", "note": ""}]}}

    def create(self, operator):
        kernel = super().create(operator)
        if operator.input.data_type.name == "FLOAT16":
            raise NotSupported("no FLOAT16")
        return kernel

    def clip(self, x, low, high):
        return np.minimum(np.maximum(x, low), high)
"""
SELECTED = ("--operator", "CLIP", "--data-type", "INT8,FLOAT16", "--clause", "clip.bounds.*,clip.zero-sign")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory, dmlcts_in: Callable[..., Ran]) -> dict[str, Any]:
    """A comparison of two real runs and two backends that cannot run, made by the command itself."""
    folder = tmp_path_factory.mktemp("comparison")
    (folder / "mine.py").write_text(INVERTED, "utf-8")
    ran = dmlcts_in(
        "compare",
        "cpu[feature_level=5.0]",
        "mine.py:Inverted",
        "nowhere",
        "--json",
        "c.json",
        "--html",
        "c.html",
        "--markdown",
        "c.md",
        *SELECTED,
        folder=folder,
    )
    assert ran.code == 0, ran.out + ran.err
    read = {name: (folder / f"c.{name}").read_text("utf-8") for name in ("html", "md")}
    return {
        "folder": folder,
        "out": ran.out,
        "document": load_document(folder / "c.json", "comparison-1", ""),
        **read,
    }


@pytest.mark.size("thorough")
def test_the_document_is_valid_and_names_who_differs(compared: dict[str, Any]) -> None:
    document = compared["document"]
    verdicts = [column.get("verdict") for column in document["columns"]]
    assert verdicts == ["CONFORMANT", "NOT_CONFORMANT", None]
    assert "no backend is called 'nowhere'" in document["columns"][2]["reason"]
    cells = {(row["clause"], row["data_type"]): row["cells"] for row in document["departures"]}
    right, wrong, absent = cells["clip.bounds.inverted", "INT8"]
    assert (right["outcome"], wrong["outcome"], absent) == ("pass", "fail", None)
    assert {"given", "input", "acceptable", "got"} <= set(wrong["example"])
    assert "clip.bounds.equal" not in {clause for clause, kind in cells if kind == "INT8"}, "there they agree"
    assert cells["clip.bounds.equal", "FLOAT16"][1]["outcome"] == "not_supported"


def test_the_fingerprints_stand_side_by_side(compared: dict[str, Any]) -> None:
    (behaviour,) = compared["document"]["behaviours"]
    assert (behaviour["clause"], behaviour["data_type"], behaviour["differ"]) == ("clip.zero-sign", "FLOAT16", False)
    assert behaviour["cells"][1:] == [None, None]


def test_the_terminal_shows_the_departure_with_its_example(compared: dict[str, Any]) -> None:
    text = " ".join(compared["out"].split())
    assert "CLIP clip.bounds.inverted (required) on INT8" in text
    assert "mine.py:Inverted: ✗ fail: Min = 1.0 (0x3f800000), Max = 0.0 (0x00000000): input 0 (0x00) gives" in text
    assert "nowhere: unavailable: no backend" in text


def test_markdown_is_tables_whose_cells_are_whole(compared: dict[str, Any]) -> None:
    rows = [line for line in compared["md"].splitlines() if line.startswith("|")]
    widths = {line.replace("\\|", "").count("|") for line in rows}
    assert widths <= {4, 5, 6}, rows
    assert "| implementation | version | verdict | tables | suite |" in rows
    assert "| mine.py:Inverted | CLIP | min(max(x, Min), Max) | runtime |  |" in compared["md"]
    assert "a \\| library 1 &lt;2&gt;" in compared["md"]
    assert "| nowhere |  | unavailable: no backend" in compared["md"]
    assert "clip.bounds.inverted | INT8 | mine.py:Inverted" in compared["md"]


class Page(HTMLParser):
    """What a page refers to outside itself, and whether its tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        links = [str(value) for name, value in attrs if name in ("src", "href")]
        self.outside += [link for link in links if not link.startswith("#")]
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_self_contained_and_escaped(compared: dict[str, Any]) -> None:
    page = Page()
    page.feed(compared["html"])
    assert (page.open, page.outside) == ([], [])
    assert "1 &lt;2&gt;" in compared["html"]
    assert template("report.css") in compared["html"], "the style of results.html"
    assert template("page.js") in compared["html"], "and its filters"
    assert "✗ fail" in compared["html"], "shown by a sign, not by colour alone"


@pytest.mark.size("thorough")
def test_finished_runs_are_compared_as_well(compared: dict[str, Any], dmlcts: Callable[..., Ran]) -> None:
    folders = [str(compared["folder"] / "comparison" / name) for name in ("cpu_feature_level=5.0", "mine.py_Inverted")]
    ran = dmlcts("compare", "--from", folders[0], "--from", folders[1])
    assert ran.code == 0, ran.err
    assert "mine.py_Inverted: NOT CONFORMANT" in ran.out
    assert dmlcts("compare", "--from", folders[0], "--from", folders[0]).code == 2


def test_only_where_nothing_can_run_is_the_exit_code_3(dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts("compare", "nowhere", "neither")
    assert (ran.code, "unavailable" in ran.out) == (3, True)
    assert dmlcts("compare").code == 2
    assert dmlcts("compare", "cpu[no_such=option]").code == 2


def test_runs_that_are_not_alike_are_reported(compared: dict[str, Any]) -> None:
    folder = compared["folder"] / "comparison" / "cpu_feature_level=5.0"
    column, other = finished("one", folder), finished("other", folder)
    assert compare([column, other], load_tables())["uneven"] == []
    changed = copy.deepcopy(dict(other.results or {}))
    changed["profile"] = "full"
    document = compare([column, Column("other", changed)], load_tables())
    assert document["uneven"] == ["the runs differ in profile (one: quick; other: full)"]
    console = Console(record=True, width=200, file=io.StringIO())
    print_comparison(document, console)
    assert "note: the runs differ in profile" in console.export_text()
    assert "Note: the runs differ in profile" in markdown(document)
    assert "the runs differ in profile" in html(document)


def test_a_brief_comparison_shows_what_differs_the_worst_first() -> None:
    folder = EXAMPLES / "all_operators"
    columns = read_all([str(folder / f"{name}.results.json.gz") for name in ("onnxruntime", "torch")])
    document = compare(columns, load_tables())
    rows = operator_rows(document, (0, 1))
    assert [row.failing for row in rows] == sorted((row.failing for row in rows), reverse=True)
    assert not next(row for row in rows if row.operator.endswith("_TANH")).failing
    worst = worst_departures(document)
    assert worst[0]["clause"].startswith("divide.")
    assert len(worst) == len(grouped_departures(document))
    console = Console(record=True, width=80, file=io.StringIO())
    print_comparison(document, console, brief=True)
    text = console.export_text()
    assert text.index("divide.zero") < text.index("clip.bounds.inverted")
    assert "-v prints " in text
    assert len(text.splitlines()) < 160
    assert len(worst) > 10, "and so it was cut"


def test_columns_that_are_alike_show_no_operator() -> None:
    (column,) = read_all([str(EXAMPLES / "all_operators/torch.results.json.gz")])
    document = compare([column, Column("again", column.results)], load_tables())
    console = Console(record=True, width=80, file=io.StringIO())
    print_comparison(document, console, brief=True)
    text = console.export_text()
    assert "Operators on which they differ" not in text
    assert "All treat 65 operators alike." in text


def test_a_column_is_there_once() -> None:
    with pytest.raises(UsageError, match="compared with itself"):
        compare([Column("a", None, "why"), Column("a", None, "why")], load_tables())
    with pytest.raises(UsageError, match="would write into"):
        judge_all([Contender.parse("cpu[a=1]"), Contender.parse("cpu_a=1")], Path("x"), [], print)


def test_a_comparison_that_was_altered_is_refused(compared: dict[str, Any], tmp_path: Path) -> None:
    document = copy.deepcopy(compared["document"])
    write_json(tmp_path / "c.json", document)
    assert load_document(tmp_path / "c.json", "comparison-1", "") == document
    document["departures"][0]["cells"][0] = {"outcome": "fine", "cases": 1, "failures": 0}
    (tmp_path / "c.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(DocumentError):
        load_document(tmp_path / "c.json", "comparison-1", "")


@pytest.mark.parametrize(
    "written, backend, options, folder",
    [
        ("cpu", "cpu", (), "cpu"),
        (
            "onnxruntime[opset=6, provider=CPU]",
            "onnxruntime",
            (("opset", "6"), ("provider", "CPU")),
            "onnxruntime_opset=6_provider=CPU",
        ),
        ("a/b.py:C[]", "a/b.py:C", (), "a_b.py_C"),
    ],
)
def test_backends_are_written_with_their_options(
    written: str, backend: str, options: tuple[tuple[str, str], ...], folder: str
) -> None:
    read = Contender.parse(written)
    assert (read.label, read.backend, read.options, read.folder) == (written, backend, options, folder)


@pytest.mark.parametrize("written", ["", "[a=1]", "cpu[a=1", "cpu]a", "cpu[a]", "cpu[a=1,a=2]", "cpu[a=1]b"])
def test_what_is_written_otherwise_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        Contender.parse(written)


ACCOUNT = """ELEMENT_WISE_CLIP on INT8: input 0 gives 1
  input        INT8 [1], packed, 4 bytes
  output       INT8 [1], strides [2], 4 bytes
  ScaleBias    none
  Min          1.0 (0x3f800000)
  input        0 (0x00) at index [0]
  acceptable   1 (0x01)
  got          0 (0x00)
  wrong        1 of 1 elements
  needs        Min = 1.0 (right with an ordinary one)
  clause       clip.formula (required): text
               "got          not this"
  replay       dmlcts replay x"""


def test_an_account_is_read_back_as_an_example() -> None:
    result = example("input 0 gives 1", labelled(ACCOUNT))
    assert result["input"] == "0 (0x00) at index [0]"
    assert result["given"] == "ScaleBias = none, Min = 1.0 (0x3f800000)"
    assert example_text(result) == "Min = 1.0 (0x3f800000): input 0 (0x00) gives 0 (0x00); acceptable 1 (0x01)"
    assert example_text(example("refused", [("said", "never heard of it")])) == "refused (never heard of it)"


def test_results_alone_are_compared_by_their_own_details() -> None:
    """Without the failure files of their folder; the column is called after the file, without its endings."""
    (column,) = read_all([str(EXAMPLES / "all_operators/torch.results.json.gz")])
    assert (column.label, column.accounts) == ("torch", {})
    departures = compare([column], load_tables())["departures"]
    shown = [cell["example"] for row in departures for cell in row["cells"] if cell and "example" in cell]
    assert len(shown) > 20
    assert all("got" in item or "said" in item for item in shown)


def test_cells_are_reported_in_words() -> None:
    assert matrix_cell({"pass": 3, "characterised": 1}, True) == ("pass", "✓ 4")
    assert matrix_cell({"pass": 3, "not_supported": 1}, True) == ("partly", "✓ 3, ○ 1 not supported")
    assert matrix_cell({"not_supported": 2}, True) == ("none", "○ not supported")
    assert matrix_cell({"pass": 1, "crash": 1, "skipped": 1}, True) == ("fail", "✗ 1 of 3 fail, 1 not supported")
    assert matrix_cell(None, True) == ("absent", "not required")
    assert matrix_cell(None, False) == ("absent", "")


@pytest.mark.size("thorough")
def test_types_that_all_treat_alike_share_an_entry(compared: dict[str, Any]) -> None:
    document = copy.deepcopy(compared["document"])
    row = next(row for row in document["departures"] if row["data_type"] == "INT8")
    document["departures"].append({**row, "data_type": "UINT8"})
    shared = [entry["data_types"] for entry in grouped_departures(document) if entry["clause"] == row["clause"]]
    assert shared == [["INT8", "UINT8"]]
