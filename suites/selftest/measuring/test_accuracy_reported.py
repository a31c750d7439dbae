"""What was measured is reported: as a table, in Markdown, side by side, and where one run loses against another."""

from __future__ import annotations

import functools
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from dmlcts.reports.comparing import difference as differences
from dmlcts.reports.comparing.comparison import Column, compare
from dmlcts.reports.comparing.comparison_views import html, markdown, print_comparison
from dmlcts.reports.comparing.judged import EXAMPLES
from dmlcts.reports.documents import accuracy
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.validation import DocumentError, load_document, load_results, validate_results
from dmlcts.reports.documents.writing import write_json
from dmlcts.reports.summaries.error_plot import error_drawing
from dmlcts.reports.summaries.measured import ulp_text
from dmlcts.reports.views import accuracy as views
from dmlcts.reports.views.html import page
from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables import Tables
from dmlcts.suites.measuring.dispatches import Measurements
from dmlcts.suites.selftest.reports.report_samples import HARM, conformant

Results = dict[str, Any]
ADD = "ELEMENT_WISE_ADD"


@functools.cache
def tables() -> Tables:
    return load_tables()


@functools.cache
def rows(units: int) -> tuple[dict[str, Any], ...]:
    """The rows of ADD whose sum of 1.5 and pi is so many units too much, on two types."""
    measurements = Measurements(tables(), strict=False)
    for kind in (DataType.FLOAT32, DataType.FLOAT16):
        names = ("ATensor", "BTensor", "OutputTensor")
        operator = OperatorDesc(ADD, {name: TensorDesc(kind, (1,)) for name in names}, {})
        a = np.array([1.5, 1.5, -3, 0.1, 100], kind.numpy)
        b = np.array([np.pi, 1, 3.5, 7, -101], kind.numpy)
        output = a + b
        output.view(kind.bits_dtype)[0] += units
        measurements.note(operator, {"ATensor": a, "BTensor": b}, output)
    return tuple(accuracy.rows([ItemRecord("a test", "pass", 1.0, accuracy=measurements.records())], tables()))


def results(units: int) -> Results:
    return conformant() | {"accuracy": json.loads(json.dumps(rows(units)))}


def shown(print_it: Callable[..., None], *arguments: Any, width: int = 100) -> str:
    stream = io.StringIO()
    print_it(*arguments, Console(file=stream, width=width))
    return stream.getvalue()


def test_results_with_rows_are_valid_and_so_are_those_of_earlier_versions(tmp_path: Path) -> None:
    written = results(3)
    validate_results(written)
    write_json(tmp_path / "results.json", written)
    assert load_results(tmp_path)["accuracy"] == written["accuracy"]
    for version in ("dmlcts-results/1", "dmlcts-results/2"):
        earlier = {name: member for name, member in written.items() if name != "accuracy"} | {"schema": version}
        validate_results(earlier)
        assert "accuracy" not in earlier


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("ulp", "error"), -1),
        (("ulp", "inputs", "ATensor"), "1.5"),
        (("bins",), [-1]),
        (("elements",), "five"),
        (("range",), [[1, 0, 5, 0.5]]),
        (("apart",), {"other": 1}),
        (("more",), 1),
    ],
)
def test_malformed_rows_are_refused(path: tuple[str, ...], value: Any) -> None:
    written = results(3)
    member = written["accuracy"][0]
    for name in path[:-1]:
        member = member[name]
    member[path[-1]] = value
    with pytest.raises(DocumentError, match="/accuracy/0"):
        validate_results(written)


def test_one_run_is_reported_in_full() -> None:
    printed = shown(views.print_accuracy, [("mine", results(3))], width=80)
    first = next(line for line in printed.splitlines() if line.endswith(" ADD on FLOAT32"))
    share, error, of, bound, unit = first.split()[:5]
    assert error.startswith(("2.", "3."))
    assert (of, unit) == ("of", "ULP")
    assert float(share) == pytest.approx(float(error) / float(bound), abs=0.01)
    assert "ATensor 1.5 (0x3fc00000), BTensor 3.1415927 (0x40490fdb) gives" in " ".join(printed.split())
    assert "80.0 %" in printed, "four of five are exact"
    text = views.markdown([("mine", results(3))])
    assert "`ATensor 1.5 (0x3fc00000), BTensor 3.1415927 (0x40490fdb)`" in text
    assert text.count("| `ADD` |") == 2


@pytest.mark.parametrize(
    "x, got, below",
    [
        (1e-4, -8e-4, 1e-4),
        (8e-4, 1.7e-3, 8e-4),  # within 1/1024, which means nothing for such numbers
        (1e-4, 1.5e-4, None),
        (1e-4, -5e-3, None),
        (0.5, 0.4624, None),  # a digit; not acceptable; far above the bound
    ],
)
def test_acceptable_results_without_a_correct_digit_are_remarked(x: float, got: float, below: float | None) -> None:
    measurements = Measurements(tables(), strict=False)
    tensors = {name: TensorDesc(DataType.FLOAT32, (1,)) for name in ("InputTensor", "OutputTensor")}
    values, output = np.array([x, 1.0], np.float32), np.array([got, np.tanh(1.0)], np.float32)
    measurements.note(OperatorDesc("ELEMENT_WISE_TANH", tensors, {"ScaleBias": None}), {"InputTensor": values}, output)
    records = [ItemRecord.from_json(ItemRecord("a test", "pass", 1.0, accuracy=measurements.records()).to_json())]
    document = conformant() | {"accuracy": json.loads(json.dumps(accuracy.rows(records, tables())))}
    validate_results(document)
    remarks = list(views.remarks(document))
    assert len(remarks) == (below is not None)
    if below is not None:
        text = f"yet no correct digit below {below:.2g}: "
        assert "TANH on FLOAT32: within the bound (WebNN's tests" in remarks[0]
        assert text in remarks[0]
        assert text in views.markdown([("x", document)])
        assert text in page(document, tables())


def test_the_largest_error_where_a_bound_is_judged_stands_beside_a_larger_one() -> None:
    written = results(3)
    row = next(row for row in written["accuracy"] if row["data_type"] == "FLOAT32")
    row["range"] = [[1, 0, 5, 0.75, 2.5, 1], [1, 64, 5, row["ulp"]["error"], None, None]]
    printed = shown(views.print_accuracy, [("mine", written)]).splitlines()
    first = next(line for line in printed if line.endswith("ADD on FLOAT32"))
    assert first.startswith("  any  ")
    assert "(0.75 where bounded)" in first
    row["range"][1][4] = 3.0
    assert "where bounded" not in shown(views.print_accuracy, [("mine", written)])


def test_no_line_of_a_run_is_wider_than_the_terminal_and_the_worst_share_is_first() -> None:
    document = load_results(EXAMPLES / "all_operators/directml.results.json.gz")
    for width in (40, 80):
        printed = shown(views.print_accuracy, [("directml", document)], width=width).splitlines()[2:]
        assert max(map(len, printed)) <= width
    shares = [float(line[:5]) for line in printed if re.match(r" ?\d*\d\.\d\d  \d", line)]
    assert len(shares) > 100
    assert shares == sorted(shares, reverse=True)


def test_errors_and_bounds_are_written_as_people_write_numbers() -> None:
    assert [ulp_text(error) for error in (719.7, 26_800.0, 4.823e40, 0.5)] == ["719.7", "26,800", "4.823e+40", "0.5"]


def test_several_runs_stand_side_by_side() -> None:
    columns = [("better", results(1)), ("worse", results(6)), ("silent", conformant())]
    lines = views.markdown(columns).splitlines()
    assert lines[2].startswith("- `better: tables "), "what each was made with"
    assert lines[6] == "| operator | types | `better` | `worse` | `silent` |"
    better, worse, silent = [part.strip(" `") for part in lines[8].strip("|").split("|")[2:]]
    assert float(better.split()[0]) < float(worse.split()[0])
    assert silent == ""
    printed = shown(views.print_accuracy, columns)
    assert "worse" in printed


def test_a_strangers_words_are_nothing_but_text() -> None:
    written = results(1)
    written["accuracy"][0]["types"] = HARM[8][:500]
    written["accuracy"][1]["types"] = HARM[6][:500]
    printed = shown(views.print_accuracy, [(HARM[8], written)])
    assert "\x1b" not in printed
    text = views.markdown([(HARM[6], written), (HARM[0], written)])
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    cells = [part.strip() for line in rows for part in re.split(r"(?<!\\)\|", line)[1:-1]]
    assert cells
    assert all(not part or (part.startswith("`") and part.endswith("`")) for part in cells)


def test_a_comparison_holds_the_largest_errors(tmp_path: Path) -> None:
    columns = [Column("better", results(1)), Column("worse", results(6)), Column("gone", None, "not here")]
    document = compare(columns, tables())
    write_json(tmp_path / "comparison.json", document)
    load_document(tmp_path / "comparison.json", "comparison-1", "")
    (first, _) = document["accuracy"]
    assert first["operator"] == ADD
    assert first["cells"][0]["ulp"] < first["cells"][1]["ulp"]
    assert first["cells"][2] is None
    value = f"{first['cells'][1]['ulp']:.3g} ("
    assert value in shown(print_comparison, document, width=200)
    assert value in markdown(document)
    assert value in html(document)
    without = compare([Column("one", conformant())], tables())
    assert "accuracy" not in without


def test_a_loss_of_accuracy_is_reported_and_is_no_regression(tmp_path: Path) -> None:
    difference = differences.difference(results(1), results(6))
    assert [(loss["operator"], loss["types"]) for loss in difference["lost_accuracy"]] == [
        (ADD, "FLOAT32"),
        (ADD, "FLOAT16"),
    ]
    assert difference["lost_accuracy"][0]["before"] < difference["lost_accuracy"][0]["after"]
    assert difference["lost_accuracy"][0]["at"] == "ATensor 1.5 (0x3fc00000), BTensor 3.1415927 (0x40490fdb)"
    assert not difference["regression"]
    write_json(tmp_path / "difference.json", difference)
    load_document(tmp_path / "difference.json", "difference-1", "")
    assert "lost accuracy (2)" in differences.text(difference, tables())
    assert "2 losses of accuracy" in differences.closing(difference)
    assert "### Lost accuracy" in differences.markdown(difference, tables())
    for first, second in ((results(6), results(1)), (results(3), results(3)), (conformant(), results(6))):
        difference = differences.difference(first, second)
        assert difference["lost_accuracy"] == []
        assert "accuracy" not in differences.text(difference, tables())


def test_a_grown_error_within_a_tenth_is_no_loss() -> None:
    before, after = results(3), results(3)
    for row in after["accuracy"]:
        row["ulp"]["error"] *= 1.09
    assert differences.difference(before, after)["lost_accuracy"] == []
    for row in after["accuracy"]:
        row["ulp"]["error"] *= 1.02
    assert len(differences.difference(before, after)["lost_accuracy"]) == 2


def test_the_command_reports_finished_runs(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    for name, units in (("one", 1), ("two", 6)):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "results.json", results(units))
    (tmp_path / "none").mkdir()
    write_json(tmp_path / "none" / "results.json", conformant())
    alone = dmlcts("accuracy", "one", "--data-type", "FLOAT16", "--markdown", "table.md")
    assert alone.code == 0, alone.err
    assert "Largest errors of one" in alone.out
    assert "FLOAT32" not in alone.out
    assert "`ADD`" in (tmp_path / "table.md").read_text(encoding="utf-8")
    both = dmlcts("accuracy", "one", "two", "--markdown", "-")
    assert both.code == 0, both.err
    assert "| operator | types | `one` | `two` |" in both.out
    empty = dmlcts("accuracy", "none")
    assert empty.code == 4, empty.out
    assert dmlcts("accuracy").code == 2
    assert dmlcts("accuracy", "nowhere").code == 2
    assert dmlcts("accuracy", "--backend", "cpu", "--operator", "MAX").code == 2
    assert dmlcts("accuracy", "--backend", "no-such-backend", "--operator", "ADD").code == 3


@pytest.mark.size("thorough")
def test_the_command_measures_a_backend(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    done = dmlcts("accuracy", "--backend", "cpu", "--operator", "MULTIPLY", "--data-type", "FLOAT16")
    assert done.code == 0, done.out + done.err
    (line,) = [line.split() for line in done.out.splitlines() if "MULTIPLY" in line]
    assert line[:6] == ["1.00", "0.5", "of", "0.5", "ULP", "MULTIPLY"]
    (row,) = load_results(tmp_path / "accuracy" / "cpu")["accuracy"]
    assert row["ulp"]["error"] <= 0.5


class Drawings(HTMLParser):
    """The drawings of a page: their labels, and the classes of their paths."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.labels: list[str] = []
        self.classes: list[list[str]] = []
        self.tags: set[str] = set()
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.add(tag)
        if tag == "svg" and attributes.get("class") == "plot errors":
            self.labels.append(attributes["aria-label"] or "")
            self.classes.append([])
            self._inside = True
        elif self._inside and attributes.get("class"):
            self.classes[-1].append(attributes["class"] or "")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "svg"


def test_the_page_draws_errors_with_their_bounds() -> None:
    drawn = Drawings(page(results(3), tables()))
    assert len(drawn.labels) == 2
    assert "at ATensor 1.5 (0x3fc00000), BTensor 3.1415927 (0x40490fdb)" in drawn.labels[0]
    assert {"stem", "dot", "axis"} <= set(drawn.classes[0])
    bounded = [bound for row in results(3)["accuracy"] for *_, bound in row["range"] if bound is not None]
    assert ("bound strict" in drawn.classes[0]) == bool(bounded)
    assert Drawings(page(conformant(), tables())).labels == []


def test_bounds_are_lines_with_their_names() -> None:
    row = json.loads(json.dumps(rows(3)[0]))
    row["range"] = [[-1, 0, 4, 0.4, 2.5, 1], [1, 0, 5, 0.5, 2.5, 1], [1, 1, 5, 0.5, None, None], [1, 64, 1, 0, 1, 1]]
    text = str(error_drawing(row, "a title & more"))
    assert 'aria-label="a title &amp; more"' in text
    assert text.count('class="bound judged"') == text.count('class="bound strict"') == 1
    assert ">judged</text>" in text
    assert ">strict</text>" in text
    judged = re.search(r'class="bound judged" d="([^"]*)"', text)
    assert judged is not None
    assert judged[1].count("M") == 3, "a gap where any value is permitted, and where no results are"
    stems = re.search(r'class="stem" d="([^"]*)"', text)
    assert stems is not None
    assert stems[1].count("M") == 4


def test_a_strangers_words_are_nothing_but_text_on_the_page() -> None:
    written = results(1)
    for row, harm in zip(written["accuracy"], (HARM[1], HARM[2]), strict=True):
        row["types"] = harm[:500]
    drawn = Drawings(page(written, tables()))
    assert not drawn.tags & {"img"}
    assert any(HARM[1][:20] in label for label in drawn.labels)


def test_a_bound_far_beyond_the_errors_does_not_flatten_them() -> None:
    row = json.loads(json.dumps(rows(3)[0]))
    row["range"] = [[1, 0, 5, 3.0, 1e30, 1.0], [1, 1, 5, 0.5, 1e30, 1.0]]
    tops = [
        float(y)
        for y in re.findall(r"V([0-9.]+)", re.search(r'class="stem" d="([^"]*)"', str(error_drawing(row, "t")))[1])
    ]
    assert tops[1] - tops[0] > 20
    labels = [float(x) for x in re.findall(r'class="tick" x="([0-9.]+)"', str(error_drawing(rows(3)[0], "t")))]
    assert all(after - before >= 40 for before, after in zip(sorted(labels), sorted(labels)[1:], strict=False))


def test_the_largest_and_the_least_errors_are_drawn() -> None:
    row = json.loads(json.dumps(rows(3)[0]))
    row["range"] = [[1, 0, 1, 1e300, 0.0, None], [1, None, 1, 0.0, 1e-300, 0]]
    assert "nan" not in str(error_drawing(row, "t")).lower()
