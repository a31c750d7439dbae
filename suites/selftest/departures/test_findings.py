"""DirectML's page of findings and the cases beside it: what the generator makes of the kept results, and replayable.

No library is needed: the page is made from a results file, and the cases are judged on the reference.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from dmlcts.reports.comparing import baseline, findings, judged
from dmlcts.reports.comparing.reproduction import Reproduction
from dmlcts.reports.documents.validation import load_failure, load_results, schema
from dmlcts.reports.documents.writing import write_json
from dmlcts.specs.loading import load_tables
from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.departures.test_baseline import FORMULA, TRUNCATION, TRUNCATION_32, results

TABLES = load_tables()
CHECKOUT = judged.EXAMPLES.parents[1]
PAGE = CHECKOUT / "backends/directml/FINDINGS.md"
MODELS = PAGE.parent / "models"
KEPT = judged.EXAMPLES / "all_operators/directml.results.json.gz"
WINDOWS = CHECKOUT / "backends/baselines/directml-windows.yaml"
BASELINE = CHECKOUT / "backends/baselines/directml.yaml"


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, arguments)
    return done.exit_code, done.output


@pytest.fixture(scope="module")
def command() -> list[str]:
    """The command that the page names, which the guide beside the results names as well."""
    result = re.search(r"^Made by `(dmlcts findings [^`]+)`", PAGE.read_text("utf-8"), re.MULTILINE)
    assert result is not None
    guide = (judged.EXAMPLES / "README.md").read_text("utf-8").replace("\\\n", " ")
    assert result[1] in " ".join(guide.split())
    return shlex.split(result[1])[1:]


def test_the_page_and_its_cases_are_what_their_command_makes(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("reports", "backends/baselines"):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / part).symlink_to(CHECKOUT / part, target_is_directory=True)
    (tmp_path / "backends/directml").mkdir()
    monkeypatch.chdir(tmp_path)
    code, text = run(*command)
    assert code == 0, text
    made = {path.name: path.read_text("utf-8") for path in Path("backends/directml/models").iterdir()}
    kept = {path.name: path.read_text("utf-8") for path in MODELS.iterdir()}
    assert made.keys() - kept.keys() == set(), "run the command of the page"
    assert kept.keys() - made.keys() == set(), "delete the cases that belong to no finding"
    assert made == kept
    assert Path("backends/directml/FINDINGS.md").read_text("utf-8") == PAGE.read_text("utf-8")


def test_the_page_s_figures_are_those_of_the_run_that_it_names() -> None:
    kept, page = load_results(KEPT), PAGE.read_text("utf-8")
    rows = [row["outcome"] for row in kept["clauses"]]
    wrong = rows.count("fail")
    assert f"{len(rows) - wrong:,} of {len(rows):,} clause rows hold. {wrong} do not, for " in page
    for value in (kept["suite"]["commit"][:12], kept["timings"]["started"][:10], kept["device"]["version"]):
        assert value in page
    assert page.count("\n## ") == page.count("**Smallest case:**") == page.count("\n```sh\ndmlcts replay ")
    assert page.count("\n## ") == page.count("\nCause: "), "each says what in the shader or library is the cause"
    assert page.count("\n## ") == page.count("**Since:**")
    assert len(page.split()) < 4000, "a page that a person reads in ten minutes or so"


def test_every_link_of_the_page_to_a_file_leads_to_one() -> None:
    links = set(re.findall(r"\]\((?!https?:)([^)]+)\)", PAGE.read_text("utf-8")))
    assert links
    assert [link for link in links if not (PAGE.parent / link).is_file()] == []
    assert {link.removeprefix("models/") for link in links if link.endswith(".json")} == {
        path.name for path in MODELS.glob("*.json")
    }


def test_every_model_matches_its_schema_and_every_case_is_a_failure_file() -> None:
    model = jsonschema.Draft202012Validator(schema("dxdispatch-model"))
    models = sorted(MODELS.glob("*.json"))
    assert len(models) > 15
    for path in models:
        model.validate(json.loads(path.read_text("utf-8")))
        assert load_failure(path.with_suffix(".yaml"))["case"]["operator"].startswith("ELEMENT_WISE_")
    broken = json.loads(models[0].read_text("utf-8"))
    del broken["commands"]
    assert not model.is_valid(broken)


@pytest.mark.size("thorough")
def test_every_case_is_judged_again_by_replay_and_the_reference_is_right() -> None:
    code, text = run("replay", str(MODELS), "--backend", "cpu")
    cases = len([*MODELS.glob("*.yaml")])
    assert (code, f"{cases} cases: 0 fail, {cases} pass" in text) == (0, True), text


def test_since_when_is_what_the_history_and_the_windows_library_show() -> None:
    """The releases of a finding are those that the history names for its rows, and it is in 1.15.4 for Windows."""
    text = (judged.EXAMPLES / "history.md").read_text("utf-8")
    part = text.partition("## DirectML for Windows")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (\S+) \| ([\w, ]+) \| (\S+) \([^|]+ \| (\S+) \([^|]+ \|", part, re.MULTILINE)
    known = {
        (operator, clause, name): (first, last)
        for operator, clause, types, first, last in rows
        for name in types.split(", ")
    }
    on_windows, dated = baseline.load(WINDOWS).departures, 0
    for finding in findings.findings_of(load_results(KEPT), TABLES, baseline.load(BASELINE)):
        assert "1.15.4" in finding.since
        for row in finding.departures:
            assert row in on_windows, finding.title
            spans = known.get((row.operator.removeprefix("ELEMENT_WISE_"), row.clause, row.data_type))
            if spans is not None:
                dated += 1
                assert finding.since.startswith(spans[0]), finding.title
                assert spans[1] in finding.since, finding.title
    assert dated > 8


def test_the_smallest_case_is_one_of_what_is_required_and_the_fewest_elements() -> None:
    def case(clause: str, elements: int) -> Reproduction:
        tensors = {"InputTensor": {"data_type": "FLOAT32", "sizes": [elements]}}
        return Reproduction({"clause": clause, "title": "t", "case": {"tensors": tensors}}, "1")

    required, larger, silent = case("clip.formula", 2), case("clip.formula", 3), case("clip.zero-sign", 1)
    assert sorted([silent, larger, required], key=lambda reproduction: reproduction.size(TABLES)) == [
        required,
        larger,
        silent,
    ]
    malformed = Reproduction({"clause": "clip.formula", "title": "t", "case": {"tensors": 3}}, "1")
    assert malformed.size(TABLES) > larger.size(TABLES)


def test_models_are_written_beside_the_page_and_what_is_left_over_is_named(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", results(FORMULA, TRUNCATION, TRUNCATION_32))
    page, folder = tmp_path / "page.md", tmp_path / "cases"
    folder.mkdir()
    (folder / "gone.json").write_text("{}", "utf-8")
    arguments = ("findings", str(tmp_path / "run.json"), "--markdown", str(page), "--models", str(folder))
    code, message = run(*arguments)
    assert code == 0
    assert f"note: {folder / 'gone.json'} belongs to no finding of this run: delete it" in message
    text = page.read_text("utf-8")
    name = "round-float16-round.toward-zero"
    assert f"[FLOAT16](cases/{name}.json)" in text or f"[FLOAT16](cases/{name}.yaml)" in text
    assert load_failure(folder / f"{name}.yaml")["clause"] == "round.toward-zero"
    (folder / "gone.json").unlink()
    assert "belongs to no finding" not in run(*arguments)[1]


def test_a_folder_that_cannot_be_written_is_refused_with_the_mend(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", results(FORMULA))
    (tmp_path / "file").write_text("", "utf-8")
    code, text = run("findings", str(tmp_path / "run.json"), "--models", str(tmp_path / "file" / "cases"))
    assert (code, "choose another folder" in text) == (2, True)
