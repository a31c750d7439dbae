"""Runs of different tables: refused by ``dmlcts compare``, marked on every page that shows them, silent where alike."""

from __future__ import annotations

import copy
import io
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from rich.console import Console

from dmlcts.reports.comparing import comparison_views, difference, history, judged
from dmlcts.reports.comparing.comparison import Column, compare
from dmlcts.reports.documents.validation import schema
from dmlcts.reports.documents.writing import write_json
from dmlcts.reports.summaries.provenance import MixedTablesError, Provenance, mixture, other_tables, tables_digest
from dmlcts.reports.views import accuracy
from dmlcts.reports.views.html import page
from dmlcts.reports.views.markdown import summary
from dmlcts.specs.loading import load_tables
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.reports.report_samples import conformant, failing

TABLES = load_tables()
COMMIT = "cd" * 20


def of_other_tables() -> dict[str, Any]:
    """A run that one table was changed for, by another commit."""
    changed = copy.deepcopy(conformant())
    changed["specs"]["operators/clip.yaml"] = "ef" * 32
    changed["suite"] = {"version": "0.9.0", "commit": COMMIT, "modified": True}
    return changed


ALIKE, OTHER = tables_digest(conformant()["specs"])[:12], tables_digest(of_other_tables()["specs"])[:12]


def printed(print_it: Any, document: Any) -> str:
    stream = io.StringIO()
    print_it(document, Console(file=stream, width=300))
    return stream.getvalue()


def written(folder: Path, **runs: dict[str, Any]) -> list[str]:
    for name, results in runs.items():
        write_json(folder / f"{name}.json", results)
    return [word for name in runs for word in ("--from", str(folder / f"{name}.json"))]


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, arguments)
    return done.exit_code, done.output


def test_one_digest_stands_for_all_tables_whatever_their_order() -> None:
    specs = {"b.yaml": "00" * 32, "a.yaml": "11" * 32}
    assert tables_digest(specs) == tables_digest(dict(sorted(specs.items())))
    for other in ({"b.yaml": "00" * 32}, specs | {"a.yaml": "12" * 32}, {"b.yaml": "00" * 32, "c.yaml": "11" * 32}):
        assert tables_digest(other) != tables_digest(specs)


def test_what_a_column_was_made_with_is_written_and_read_back() -> None:
    made = Provenance.of("mine", of_other_tables())
    assert Provenance.read("mine", made.to_json()) == made
    assert str(made) == f"tables {OTHER}, suite 0.9.0 at cdcdcdcdcdcd, modified"
    assert str(Provenance.read("old", {})) == "tables not recorded, suite not recorded"


def test_only_columns_of_other_tables_are_marked() -> None:
    alike = [Provenance.of(name, conformant()) for name in ("a", "b")]
    unknown = Provenance("gone")
    assert (mixture([*alike, unknown]), other_tables([*alike, unknown])) == ("", ["", "", ""])
    mixed = [alike[0], unknown, Provenance.of("c", of_other_tables())]
    assert mixture(mixed) == f"the runs differ in tables (a: {ALIKE}; c: {OTHER})"
    assert other_tables(mixed) == ["", "", "other tables than a"]


def test_runs_of_different_tables_are_refused_with_the_mend(tmp_path: Path) -> None:
    first, other = Column("a", conformant()), Column("c", of_other_tables())
    with pytest.raises(MixedTablesError, match="give --mixed"):
        compare([first, other], TABLES)
    arguments = written(tmp_path, a=conformant(), c=of_other_tables())
    code, text = run("compare", *arguments)
    assert code == 2
    assert f"the runs differ in tables (a: {ALIKE}; c: {OTHER}); run the older ones again, or give --mixed" in text


def test_a_run_of_other_tables_than_those_here_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    arguments = written(tmp_path, c=of_other_tables())
    code, text = run("compare", "nowhere", *arguments, "--results", str(tmp_path / "runs"))
    assert (code, "judging" in text) == (2, False)
    assert "give --mixed" in text
    code, text = run("compare", "nowhere", *arguments, "--results", str(tmp_path / "runs"), "--mixed")
    assert (code, "judging nowhere" in text) == (0, True)


def test_runs_of_the_same_tables_are_compared_without_a_mark(tmp_path: Path) -> None:
    other = of_other_tables() | {"specs": conformant()["specs"]}
    code, text = run("compare", *written(tmp_path, a=conformant(), b=other))
    assert code == 0
    assert "≠" not in text
    assert "differ in tables" not in text
    assert f"tables {ALIKE}, suite 0.9.0 at cdcdcdcdcdcd, modified" in text, "another commit is said, not refused"


@pytest.mark.parametrize(
    "view",
    [
        lambda document: printed(comparison_views.print_comparison, document),
        comparison_views.markdown,
        comparison_views.html,
    ],
    ids=["terminal", "markdown", "page"],
)
def test_every_view_of_a_mixed_comparison_marks_the_column(view: Any) -> None:
    columns = [Column("a", conformant()), Column("b", failing()), Column("c", of_other_tables())]
    document = compare(columns, TABLES, mixed=True)
    jsonschema.validate(document, schema("comparison-1"))
    shown = view(document)
    assert f"{OTHER} (≠ other tables than a)" in shown
    assert "the runs differ in tables (a, b: " in shown
    assert shown.count("≠ other tables") == 1
    assert "0.9.0 at cdcdcdcdcdcd, modified" in shown
    earlier = copy.deepcopy(document)
    for column in earlier["columns"]:
        del column["made_with"]
    jsonschema.validate(earlier, schema("comparison-1"))
    assert "not recorded" in view(earlier)


def test_the_errors_of_mixed_runs_are_marked() -> None:
    columns = [("a", conformant()), ("c", of_other_tables())]
    for shown in (accuracy.markdown(columns), printed(accuracy.print_accuracy, columns)):
        assert f"c: tables {OTHER}, suite 0.9.0 at cdcdcdcdcdcd, modified (≠ other tables than a)" in shown
        assert "the runs differ in tables" in shown
    alike = accuracy.markdown([("a", conformant()), ("b", conformant())])
    assert ("≠" in alike, alike.count(f"tables {ALIKE}")) == (False, 2)


def test_a_difference_states_what_both_were_made_with() -> None:
    for other, marked in ((of_other_tables(), True), (conformant(), False)):
        result = difference.difference(conformant(), other)
        jsonschema.validate(result, schema("difference-1"))
        for shown in (difference.text(result, TABLES), difference.markdown(result, TABLES)):
            assert f"A: tables {ALIKE}, suite " in shown
            assert f"B: {Provenance.of('B', other)}" in shown
            assert ("other tables than A" in shown) is marked


def test_a_history_states_what_each_release_was_judged_with(tmp_path: Path) -> None:
    runs = [history.Release("1", conformant()), history.Release("2", None, "does not load")]
    mixed = history.history_of("thing", [*runs, history.Release("3", of_other_tables())])
    alike = history.history_of("thing", [*runs, history.Release("3", conformant())])
    views = (lambda document: printed(history.print_history, document), history.markdown, history.html)
    for document, marked in ((mixed, True), (alike, False)):
        jsonschema.validate(document, schema("history-1"))
        write_json(tmp_path / "history.json", document)
        assert history.load_history(tmp_path / "history.json") == document
        for view in views:
            shown = view(document)
            assert f"tables {ALIKE}, suite " in shown
            assert ("≠ other tables than 1" in shown, "the runs differ in tables" in shown) == (marked, marked)
    for item in mixed["releases"]:
        item.pop("made_with", None)
    assert all("not recorded" in view(mixed) for view in views), "as earlier versions wrote it"


def test_one_run_s_pages_name_the_digest_that_others_show() -> None:
    for results, digest in ((conformant(), ALIKE), (of_other_tables(), OTHER)):
        assert f"tables `{digest}`" in summary(results, TABLES)
        assert f"sha256 {tables_digest(results['specs'])}" in page(results, TABLES)


def _commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a guide's blocks, each with the folder that its block goes into."""
    result = []
    for block in text.split("```sh\n")[1:]:
        folder = "."
        for line in block.partition("```")[0].replace("\\\n", "").splitlines():
            words = shlex.split(line)
            if words[:1] == ["cd"]:
                folder = words[1]
            elif words:
                result.append((folder, words))
    return result


@pytest.mark.size("thorough")
def test_the_pages_beside_the_examples_are_what_their_commands_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = judged.EXAMPLES.parents[1]
    made = 0
    for folder, words in _commands((judged.EXAMPLES / "README.md").read_text("utf-8")):
        if words[:2] not in (["dmlcts", "compare"], ["dmlcts", "accuracy"]):
            continue
        monkeypatch.chdir(checkout / folder)
        place = words.index("--markdown") + 1
        kept = Path(words[place])
        words[place] = str(tmp_path / "page.md")
        assert run(*words[1:])[0] == 0
        assert (tmp_path / "page.md").read_text("utf-8") == kept.read_text("utf-8"), f"run the command of {kept}"
        made += 1
    assert made == 3
