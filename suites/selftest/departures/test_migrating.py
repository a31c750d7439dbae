"""What changes from one implementation to another: each kind of row with a planted example and a control."""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from rich.console import Console

from dmlcts.reports.comparing.comparison import Column, finished
from dmlcts.reports.comparing.judged import EXAMPLES
from dmlcts.reports.documents.results import verdict_of
from dmlcts.reports.documents.validation import DocumentError, load_document, schema
from dmlcts.reports.documents.writing import write_json
from dmlcts.reports.migrating import digest
from dmlcts.reports.migrating.digest import Side, example_of
from dmlcts.reports.migrating.markdown import markdown
from dmlcts.reports.migrating.migration import KINDS, is_incomplete, migration, totals
from dmlcts.reports.migrating.page import page
from dmlcts.reports.migrating.specification import shipped
from dmlcts.reports.migrating.terminal import print_operators, print_summary
from dmlcts.reports.summaries.provenance import MixedTablesError
from dmlcts.reports.views.terminal_page import Page
from dmlcts.specs.loading import load_tables
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.departures.test_comparing import Page as Markup
from dmlcts.suites.selftest.reports.report_samples import CLIP, conformant

TABLES = load_tables()
INVERTED = "clip.bounds.inverted"
Results = dict[str, Any]


def clip_case(clause: str = INVERTED, data_type: str = "INT8", **values: str) -> dict[str, Any]:
    """A failing case of CLIP, with Min = 1 and Max = 0 that gives 0 where nothing else is named."""
    shown = {"Min": "1.0", "Max": "0.0", "got": "0"} | values
    return {
        "clause": clause,
        "operator": CLIP,
        "data_type": data_type,
        "outcome": "fail",
        "title": f"input 0 gives {shown['got']}",
        "file": "",
        "test": "test_bounds.py::test_inverted[CLIP-INT8]",
        "details": {
            "Min": f"{shown['Min']} (0x3f800000)",
            "Max": f"{shown['Max']} (0x00000000)",
            "input": "0 (0x00) at index [0]",
            "acceptable": "1 (0x01)",
            "got": f"{shown['got']} (0x00)",
        },
        "replay": "",
        "case": {"attributes": {name: {"bits": "0x0", "value": shown[name]} for name in ("Min", "Max")}},
    }


def run_of(outcomes: dict[tuple[str, str], str] | None = None, backend: str = "nx.py:Nx", **case: str) -> Results:
    """A run that is conformant but for some rows of CLIP, by clause and data type; each failing row has a case."""
    results = copy.deepcopy(conformant())
    results["backend"] = backend
    for (clause, data_type), outcome in (outcomes or {}).items():
        (row,) = (
            row
            for row in results["clauses"]
            if (row["id"], row["operator"], row["data_type"]) == (clause, CLIP, data_type)
        )
        row["outcome"] = outcome
        if outcome in ("fail", "crash"):
            row["failures"] = 1
            results["failures"].append(clip_case(clause, data_type, **case) | {"outcome": outcome})
    results["verdict"] = verdict_of(results).value
    return results


def migrated(first: Results, second: Results) -> Results:
    """The document of a migration, which is valid."""
    document = migration(Column("here", first), Column("there", second), TABLES, shipped())
    jsonschema.validate(document, schema("migration-1"))
    return document


def kinds(document: Results) -> dict[str, int]:
    """How many rows are of each kind but those that stay."""
    return {kind: count for kind, count in totals(document).items() if kind != "stays"}


FAILS, CRASHES, LACKS, WAIVED = (
    {(INVERTED, "INT8"): outcome} for outcome in ("fail", "crash", "not_supported", "waived")
)


@pytest.mark.parametrize(
    "before, after, kind, changes",
    [
        ({}, {}, "", False),
        ({}, FAILS, "departs", True),
        ({}, WAIVED, "departs", True),
        (FAILS, {}, "mended", True),
        (FAILS, FAILS, "both", False),
        (FAILS, CRASHES, "both", True),
        ({}, LACKS, "gone", True),
        (LACKS, {}, "added", True),
        (LACKS, LACKS, "neither", False),
    ],
)
def test_each_kind_of_row(before: Any, after: Any, kind: str, changes: bool) -> None:
    document = migrated(run_of(before), run_of(after))
    assert kinds(document) == ({kind: 1} if kind else {})
    assert document["changes"] is changes
    assert not is_incomplete(document)
    shown = [row for operator in document["operators"] for row in operator["clauses"]]
    assert [(row["clause"], row["data_types"]) for row in shown] == (
        [(INVERTED, ["INT8"])] if kind not in ("", "neither") else []
    )


def test_a_difference_of_specifications_needs_the_runtime_its_clause_and_what_its_document_gives() -> None:
    document = migrated(run_of(), run_of(FAILS, "onnxruntime"))
    assert kinds(document) == {"specification": 1}
    (entry,) = digest.specifications(document)
    assert entry["sentence"]["title"].startswith("ONNX Clip")
    assert (entry["label"], entry["data_types"]) == ("there", ["INT8"])
    for backend, case in (
        ("wgpu", {}),  # another runtime
        ("onnxruntime", {"got": "7"}),  # its document gives Max
        ("onnxruntime", {"Max": "2.0", "got": "2"}),  # Min is not above Max
        ("onnxruntime", {"Min": "0.75", "Max": "0.25"}),  # cast to integers, Min is not above Max
        ("onnxruntime", {"got": "nonsense"}),
        ("onnxruntime", {"Min": "NaN"}),
    ):
        control = migrated(run_of(), run_of(FAILS, backend, **case))
        assert kinds(control) == {"departs": 1}, (backend, case)
        assert digest.specifications(control) == []


def test_one_case_that_the_document_does_not_ask_for_makes_the_row_a_departure() -> None:
    results = run_of(FAILS, "onnxruntime")
    results["failures"].append(clip_case(got="7"))
    assert kinds(migrated(run_of(), results)) == {"departs": 1}


def test_what_follows_under_another_clause_of_the_operator_is_the_same_difference() -> None:
    rows = {(INVERTED, "INT8"): "fail", ("clip.monotone", "INT8"): "fail"}
    document = migrated(run_of(), run_of(rows, "torch"))
    assert kinds(document) == {"specification": 2}
    (entry,) = digest.specifications(document)
    assert (entry["sentence"]["clause"], entry["clauses"]) == (INVERTED, ["clip.monotone"])


def test_leaving_a_runtime_whose_document_asks_for_it_is_a_difference_of_specifications_too() -> None:
    document = migrated(run_of(FAILS, "torch"), run_of())
    assert kinds(document) == {"specification": 1}
    (row,) = next(operator["clauses"] for operator in document["operators"] if operator["clauses"])
    assert digest.departs(row, document) == "here departs, as its own documentation asks for"
    both = migrated(run_of(FAILS, "torch"), run_of(FAILS, "onnxruntime"))
    assert (kinds(both), both["changes"]) == ({"both": 1}, False)
    assert [entry["label"] for entry in digest.specifications(both)] == ["here", "there"]


def test_a_fault_that_the_runtimes_own_document_forbids_is_marked() -> None:
    failure = clip_case("round.nearest-even", "FLOAT32") | {"operator": "ELEMENT_WISE_ROUND"}

    def departing(backend: str) -> list[str]:
        results = run_of(backend=backend)
        for row in results["clauses"]:
            if (row["id"], row["data_type"]) == ("round.nearest-even", "FLOAT32"):
                row["outcome"] = "fail"
        results["failures"].append(failure)
        document = migrated(run_of(), results)
        assert kinds(document) == {"departs": 1}
        (row,) = next(operator["clauses"] for operator in document["operators"] if operator["clauses"])
        return [sentence["relation"] for sentence in row["documents"][1]]

    assert departing("onnxruntime") == ["same"]
    assert departing("wgpu") == []


def with_behaviour(results: Results, behaviour: str) -> Results:
    seen = {"clause": "sqrt.negative", "operator": "ELEMENT_WISE_SQRT", "data_type": "FLOAT32"}
    clause = {"id": "sqrt.negative", "obligation": "unspecified", "outcome": "characterised"}
    results["behaviours"].append(seen | {"behaviour": behaviour, "example": "-1"})
    results["clauses"].append(
        seen | clause | {"cases": 1, "elements": 1, "failures": 0, "types": "FLOAT32"},
    )
    results["clauses"][-1].pop("clause")
    return results


@pytest.mark.parametrize("behaviour, follows", [("gives NaN", True), ("gives 0", False)])
def test_what_the_page_leaves_open_is_compared_and_what_the_runtimes_document_settles(
    behaviour: str, follows: bool
) -> None:
    document = migrated(with_behaviour(run_of(), "gives NaN"), with_behaviour(run_of(backend="onnxruntime"), behaviour))
    (row,) = next(part["behaviours"] for part in document["operators"] if part["operator"] == "ELEMENT_WISE_SQRT")
    assert (row["differ"], document["changes"]) == (not follows, not follows)
    assert [sentence["follows"] for sentence in row["documents"][1]] == [follows]
    assert ("it does that" in markdown(document)) is follows
    assert ("it does something else" in markdown(document)) is not follows


def test_what_fails_where_the_runtimes_document_settles_it_is_listed_without_a_behaviour() -> None:
    failing = with_behaviour(run_of(backend="onnxruntime"), "gives NaN")
    failing["clauses"][-1]["outcome"], failing["behaviours"] = "fail", failing["behaviours"][:-1]
    failing["failures"].append(
        clip_case("sqrt.negative", "FLOAT32") | {"operator": "ELEMENT_WISE_SQRT", "title": "input -1 gives 7"}
    )
    document = migrated(with_behaviour(run_of(), "gives NaN"), failing)
    (row,) = next(part["clauses"] for part in document["operators"] if part["operator"] == "ELEMENT_WISE_SQRT")
    assert (row["kind"], [sentence["relation"] for sentence in row["documents"][1]]) == ("departs", ["settles"])
    text = markdown(document)
    assert "settles what DirectML's page leaves open" in text
    assert "it does" not in text


def test_a_missing_type_and_a_missing_operator_are_named_with_the_reason() -> None:
    def lacking(data_types: tuple[str, ...]) -> dict[str, Any]:
        results = run_of()
        results["device"]["details"] = {
            "mapping": [{"what": "CLIP", "to": "", "by": "nobody", "note": "has no bounds"}]
        }
        for row in results["clauses"]:
            if row["operator"] == CLIP and (not data_types or row["data_type"] in data_types):
                row["outcome"] = "not_supported"
        results["verdict"] = verdict_of(results).value
        document = migrated(run_of(), results)
        return next(operator for operator in document["operators"] if operator["operator"] == CLIP)

    part, whole = lacking(("INT8", "UINT8")), lacking(())
    assert (part["state"], part["missing_types"]) == ("partly", ["UINT8", "INT8"])
    assert (whole["state"], whole["lacking"]) == ("gone", ["CLIP: has no bounds"])
    assert len(whole["missing_types"]) > 2
    assert digest.losses(part) == {}, "they are named as types already"


def test_shared_clauses_are_named_for_operators_that_are_still_there() -> None:
    def lost(whole: bool) -> dict[str, list[str]]:
        results = run_of()
        for row in results["clauses"]:
            if row["operator"] == CLIP and (whole or row["id"] == "tensor.strides.broadcast"):
                row["outcome"] = "not_supported"
        results["verdict"] = verdict_of(results).value
        return digest.shared_losses(migrated(run_of(), results))

    assert lost(whole=False) == {"tensor.strides.broadcast": ["CLIP"]}
    assert lost(whole=True) == {}


@pytest.mark.parametrize("outcome", ["skipped", "harness_error"])
def test_what_did_not_run_or_the_suite_could_not_judge_is_no_change(outcome: str) -> None:
    for runs in ((run_of(), run_of({(INVERTED, "INT8"): outcome})), (run_of({(INVERTED, "INT8"): outcome}), run_of())):
        document = migrated(*runs)
        assert (kinds(document), document["changes"]) == ({"unjudged": 1}, False)
        assert is_incomplete(document)


def test_clauses_that_one_of_the_two_has_no_row_of_are_counted_and_make_it_incomplete() -> None:
    shorter = run_of()
    shorter["clauses"] = [row for row in shorter["clauses"] if row["id"] != INVERTED]
    document = migrated(run_of(), shorter)
    assert set(kinds(document)) == {"unjudged"}
    assert (document["changes"], is_incomplete(document)) == (False, True)


# ------------------------------------------------------------------------------------------------------- views


def printed(document: Results, width: int = 80, verbose: bool = True) -> str:
    stream = io.StringIO()
    shown = Page(Console(file=stream, width=width))
    print_summary(document, shown)
    if verbose:
        print_operators(document, shown)
    return stream.getvalue()


VIEWS = pytest.mark.parametrize(
    "view",
    [lambda document: printed(document, 2000), markdown, page],
    ids=["terminal", "markdown", "page"],
)


def plain(text: str) -> str:
    """A view's text without Markdown's escapes, and without the headings of a page's tables."""
    return re.sub(r"<thead>.*?</thead>", "", text.replace("\\", ""))


@VIEWS
def test_every_view_states_which_of_both_departs(view: Callable[[Results], str]) -> None:
    for before, after, words in (
        ({}, FAILS, "there departs"),
        (FAILS, {}, "here departs"),
        (FAILS, FAILS, "both depart"),
        ({}, LACKS, "there does not support"),
    ):
        shown = plain(view(migrated(run_of(before), run_of(after))))
        assert words in shown, (before, after)
        assert words not in plain(view(migrated(run_of(), run_of())))
    shown = plain(view(migrated(run_of(), run_of(FAILS))))
    assert "With Min greater than Max the formula gives Min" in shown, "what the page requires"
    assert "input 0 (0x00) gives 0 (0x00); acceptable 1 (0x01)" in shown, "what the second does"


@VIEWS
def test_every_view_shows_both_quotations_of_a_difference_of_specifications(view: Callable[[Results], str]) -> None:
    shown = plain(view(migrated(run_of(), run_of(FAILS, "torch"))))
    assert "sets all elements in input to the value of max." in shown
    assert "https://docs.pytorch.org/docs/stable/generated/torch.clamp.html" in shown
    assert "f(x) = max(Min, min(x, Max))" in shown or "because the maximum is taken last" in shown
    assert "torch.clamp" not in view(migrated(run_of(), run_of(FAILS)))


def test_the_page_is_self_contained_and_reads_without_a_script() -> None:
    text = page(migrated(run_of(), run_of(FAILS, "onnxruntime")))
    seen = Markup()
    seen.feed(text)
    assert all(address.startswith(("#", "https://")) for address in seen.outside)
    assert text.count("<script") == 1, "the filters of every page"
    assert set(re.findall(r" src=", text)) == set()
    assert "prefers-color-scheme: dark" in text
    anchors = set(re.findall(r'href="#([^"]+)"', text))
    assert anchors <= set(re.findall(r'id="([^"]+)"', text)), "every link inside the page leads somewhere"


@pytest.mark.parametrize("name", ["onnxruntime", "torch", "cpu", "wgpu-nvidia"])
@pytest.mark.parametrize("label", ["", "onnxruntime[provider=OpenVINOExecutionProvider]"])
def test_the_summary_is_one_screen_on_real_runs(name: str, label: str) -> None:
    columns = [finished(run, EXAMPLES / f"all_operators/{run}.results.json.gz") for run in ("directml", name)]
    named = [Column(f"{label}{column.label}", column.results) for column in columns]
    document = migration(named[0], named[1], TABLES, shipped(), mixed=True)
    lines = printed(document, 80, verbose=False).splitlines()
    assert len(lines) + 2 <= 24, "with what was written and the prompt"
    assert max(map(len, lines)) <= 80


# ----------------------------------------------------------------------------------------------------- command


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["migrate", *map(str, arguments)])
    return done.exit_code, done.output


def write(folder: Path, **runs: Results) -> list[Path]:
    for name, results in runs.items():
        write_json(folder / f"{name}.json", results)
    return [folder / f"{name}.json" for name in runs]


def test_the_exit_codes_state_whether_something_changes(tmp_path: Path) -> None:
    shorter = run_of()
    shorter["clauses"] = [row for row in shorter["clauses"] if row["id"] != INVERTED]
    same, alike, other, part = write(tmp_path, same=run_of(), alike=run_of(), other=run_of(FAILS), part=shorter)
    assert run("--from", same, "--to", alike)[0] == 0
    assert run("--from", same, "--to", other)[0] == 1
    assert run("--from", same, "--to", part)[0] == 4
    code, text = run("--from", same, "--to", same)
    assert (code, "is both sides of the migration" in text) == (2, True)
    code, text = run("--from", same, "--to", "nowhere")
    assert (code, "neither a finished run nor a backend" in text) == (2, True)
    code, text = run("--from", same, "--to", alike, "--operator", "CLIP")
    assert (code, "leave --operator out" in text) == (2, True)
    code, text = run("--from", same, "--to", tmp_path / "gone.json")
    assert (code, "neither a finished run" in text) == (2, True)


def test_runs_of_different_tables_are_refused_or_marked(tmp_path: Path) -> None:
    changed = run_of()
    changed["specs"]["operators/clip.yaml"] = "ef" * 32
    first, second = write(tmp_path, first=run_of(), second=changed)
    code, text = run("--from", first, "--to", second)
    assert (code, "give --mixed" in text) == (2, True)
    code, text = run("--from", first, "--to", second, "--mixed", "--output", tmp_path / "out")
    assert (code, "the runs differ in tables" in text) == (0, True)
    for name in ("migration.html", "migration.md"):
        assert "≠ other tables than first" in (tmp_path / "out" / name).read_text("utf-8")
    with pytest.raises(MixedTablesError):
        migration(Column("a", run_of()), Column("b", changed), TABLES, shipped())
    code, text = run("--from", first, "--to", tmp_path / "first.json")
    assert code == 2, "the same run twice"


def test_folders_of_one_name_are_distinguished(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "results", tmp_path / "b" / "results"
    for folder in (first, second):
        folder.mkdir(parents=True)
        write_json(folder / "results.json", run_of())
    code, text = run("--from", first, "--to", second)
    assert (code, "nothing changes" in text) == (0, True)


def test_a_backend_that_cannot_run_is_exit_code_3_and_the_other_is_not_judged(tmp_path: Path) -> None:
    broken = tmp_path / "mine.py"
    broken.write_text(
        "from dmlcts.backends import BackendUnavailable\n"
        "class Mine:\n"
        "    name = 'mine'\n"
        "    def open(self, **options):\n"
        "        raise BackendUnavailable('no such device', 'plug it in')\n",
        "utf-8",
    )
    (here,) = write(tmp_path, here=run_of())
    code, text = run("--from", f"{broken}:Mine", "--to", "cpu", "--mixed", "--results", tmp_path / "runs")
    assert (code, "plug it in" in text, "judging cpu" in text) == (3, True, False)
    code, text = run("--from", here, "--to", f"{broken}:Mine", "--results", tmp_path / "runs")
    assert (code, "plug it in" in text) == (3, True)


@pytest.mark.size("thorough")
def test_two_backends_are_judged_and_compared(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from dmlcts.suites.mutants.reference import Reference\n"
        "class Inverted(Reference):\n"
        '    """Takes the minimum last."""\n'
        "    @property\n"
        "    def info(self):\n"
        "        return {'name': 'inverted', 'feature_level': '5.0'}\n"
        "    def clip(self, x, low, high):\n"
        "        return np.minimum(np.maximum(x, low), high)\n",
        "utf-8",
    )
    selection = ("--operator", "CLIP", "--data-type", "FLOAT32", "--clause", "clip.bounds.*")
    ran = dmlcts(
        "migrate", "--from", "cpu[feature_level=5.0]", "--to", "mine.py:Inverted", *selection, "--output", "out"
    )
    assert ran.code == 1, ran.out + ran.err
    document = load_document(tmp_path / "out" / "migration.json", "migration-1", "")
    (operator,) = document["operators"]
    assert (operator["state"], operator["rows"]["departs"]) == ("changes", 1)
    (row,) = operator["clauses"]
    assert (row["clause"], row["data_types"]) == (INVERTED, ["FLOAT32"])
    again = dmlcts("migrate", "--from", "cpu[feature_level=5.0]", "--to", "migration/cpu_feature_level=5.0", *selection)
    assert (again.code, "nothing changes" in again.out) == (0, True), again.out + again.err


# ---------------------------------------------------------------------------------------------------- document


def test_real_output_fits_the_schema_and_what_was_altered_does_not(tmp_path: Path) -> None:
    columns = [finished(name, EXAMPLES / f"{name}.results.json") for name in ("directml", "torch")]
    document = migration(columns[0], columns[1], TABLES, shipped())
    write_json(tmp_path / "m.json", document)
    assert load_document(tmp_path / "m.json", "migration-1", "") == document
    counts = totals(document)
    assert counts["specification"] >= 6, "torch.clamp on six types"
    assert {"stays", "departs", "mended", "both", "gone"} <= set(counts) <= set(KINDS)
    document["operators"][0]["state"] = "fine"
    (tmp_path / "m.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(DocumentError):
        load_document(tmp_path / "m.json", "migration-1", "")


def test_a_row_whose_fault_is_another_listed_clauses_has_no_example_of_its_own() -> None:
    own, cause = (
        Side("fail", "✗ fail", "1 gives 2", "clip.formula", ()),
        {"clause": "clip.formula", "documents": [[], []]},
    )
    failing = {"outcome": "fail", "cases": 1, "failures": 1, "title": "3 gives 4"}
    failing["example"] = {"title": "3 gives 4", "details": {}}
    passing = {"outcome": "pass", "cases": 1, "failures": 0}
    assert example_of(own, 1, [cause | {"cells": [passing, failing]}]) == ""
    assert example_of(own, 0, [cause | {"cells": [passing, failing]}]) == "1 gives 2", "the other side breaks it"
    assert example_of(own, 1, []) == "1 gives 2", "the clause is not listed"
