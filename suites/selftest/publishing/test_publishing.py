"""Publishing: a table of implementations, judged one after another with one suite, and never twice."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from dmlcts.reports.comparing import judged
from dmlcts.reports.documents import results as result_documents
from dmlcts.reports.documents.journal import NAME as JOURNAL
from dmlcts.reports.documents.results import suite_identity
from dmlcts.reports.documents.validation import DocumentError, load_results, schema
from dmlcts.reports.site.kept import StrictTablesError
from dmlcts.reports.site.markup import with_shared
from dmlcts.reports.site.pages import POLICY
from dmlcts.reports.summaries.provenance import tables_digest
from dmlcts.specs import UsageError
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.commands.main import main
from dmlcts.suites.publishing import command as publish_command
from dmlcts.suites.publishing import implementation as table
from dmlcts.suites.publishing import publication as publications
from dmlcts.suites.publishing.adapters import vulkan_adapters, with_adapters
from dmlcts.suites.publishing.implementation import FILE, Implementation, load_implementations, selected
from dmlcts.suites.publishing.pages import keep_in_checkout, write_pairs, write_site_of
from dmlcts.suites.publishing.publication import Publication, State
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.reports.report_samples import conformant, failing
from dmlcts.suites.targets import target as targets
from dmlcts.suites.targets.environment import Environment
from dmlcts.suites.targets.target import Target, shipped_targets

SETTINGS = Settings.read()
SUITE = {"version": "1.2.3", "commit": "ab" * 20, "modified": False}
OTHER = SUITE | {"commit": "cd" * 20}
CPU = Implementation("cpu", "the suite's own backend", "cpu")
HERE = "linux-x86_64"


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "this_platform", lambda: HERE)
    monkeypatch.setattr(targets, "has_nvidia", lambda: False)


def document(of: Callable[[], Mapping[str, Any]] = conformant, **more: Any) -> dict[str, Any]:
    """Results of this suite and its tables."""
    made = {"suite": SUITE, "specs": dict(SETTINGS.tables.digests), "selection": {}, "profile": "quick", "seed": 0}
    return {**of(), **made, "backend": "cpu", **more}


class Runs:
    """Writes what a run would write; keeps the commands and the variables that they were given."""

    def __init__(self, code: int = 0, last: str = "", **more: Any) -> None:
        self.code, self.last, self.more = code, last, more
        self.commands: list[str] = []
        self.variables: list[Mapping[str, str]] = []

    def __call__(self, command: Sequence[str], more: Mapping[str, str], log: Path) -> int:
        self.commands.append(" ".join(command))
        self.variables.append(more)
        log.write_text(f"a line\n{self.last}\n", "utf-8")
        if self.code in (0, 1, 4):
            folder = log.with_suffix("")
            folder.mkdir(exist_ok=True)
            backend = command[command.index("--backend") + 1]
            (folder / "results.json").write_text(json.dumps(document(**{"backend": backend, **self.more})), "utf-8")
        return self.code


def publication(folder: Path, run: Any, suite: Mapping[str, Any] = SUITE, **more: Any) -> Publication:
    return Publication(folder, suite, SETTINGS, folder / "cache", "", lambda _: None, run, **more)


def judge(folder: Path, run: Any, implementation: Implementation = CPU, **more: Any) -> Any:
    (judged,) = publication(folder, run, **more).judge_all([implementation])
    return judged


# ----------------------------------------------------------------------------------------------- the table


def test_the_table_fits_its_schema_and_has_every_runtime_that_can_be_fetched() -> None:
    written = read_yaml(FILE.read_text("utf-8"), str(FILE)).value
    jsonschema.validate(written, schema("implementations-1"))
    every = load_implementations()
    assert [each.target for each in every if each.target is not None] == [*shipped_targets()]
    assert {"cpu", "directml", "directml-windows", "wgpu-lavapipe", "onnxruntime", "torch"} <= {e.name for e in every}
    written["implementations"][-1]["backend"] = "cpu"  # beside a target, which says it
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written, schema("implementations-1"))


def test_a_name_that_is_there_twice_and_a_target_that_is_not_there_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    row = "- {name: a, title: A, backend: cpu}"
    head = "format: dmlcts/implementations/1\nimplementations:\n"
    path.write_text(f"{head}{row}\n", "utf-8")
    assert load_implementations(path) == (Implementation("a", "A", "cpu"),)
    path.write_text(f"{head}{row}\n{row}\n", "utf-8")
    with pytest.raises(DocumentError, match="there twice"):
        load_implementations(path)
    path.write_text(f"{head}- {{name: a, target: nowhere}}\n", "utf-8")
    with pytest.raises(UsageError, match="no target 'nowhere'"):
        load_implementations(path)


def test_names_choose_implementations_and_a_wrong_name_is_refused() -> None:
    every = load_implementations()
    assert [each.name for each in selected(every, ["torch", "cpu"])] == ["cpu", "torch"]
    assert selected(every, []) == every
    with pytest.raises(UsageError, match=r"no implementation 'torhc'.*torch"):
        selected(every, ["torhc"])


def test_what_this_machine_lacks_is_named_with_the_command_that_helps(tmp_path: Path) -> None:
    driver = tmp_path / "icd.json"
    needs_driver = replace(CPU, drivers=(str(driver),), mend="apt-get install it")
    assert needs_driver.lacking() == f"its Vulkan driver is not installed ({driver}); apt-get install it"
    driver.touch()
    assert needs_driver.lacking() == ""
    assert replace(CPU, hardware="nvidia").lacking() == "there is no NVIDIA GPU here"
    assert replace(CPU, platforms=("windows-amd64",)).lacking() == f"it needs windows-amd64, and this is {HERE}"
    assert replace(CPU, platforms=(HERE,)).lacking() == ""
    by_name = {each.name: each for each in load_implementations()}
    assert by_name["torch-cuda"].lacking() == "there is no NVIDIA GPU here"
    assert by_name["onnxruntime-qnn"].mend == "dmlcts providers fetch onnxruntime-qnn --accept-terms"


def test_an_adapter_that_no_row_names_is_judged_as_well() -> None:
    every = (CPU, Implementation("wgpu-lavapipe", "Mesa", "wgpu", {"adapter": "llvmpipe"}))
    more = with_adapters(every, ["llvmpipe (LLVM 15)", "AMD Radeon 780M", "AMD Radeon 780M"])
    assert [each.name for each in more] == ["cpu", "wgpu-lavapipe", "wgpu-amd-radeon-780m"]
    assert more[-1].arguments == ["--backend", "wgpu", "-o", "adapter=AMD Radeon 780M"]
    printed = 'words of a driver\nadapters ["A"]\n'
    assert vulkan_adapters(lambda command: subprocess.CompletedProcess(command, 0, printed, "")) == ["A"]
    assert vulkan_adapters(lambda command: subprocess.CompletedProcess(command, -11, "", "")) == []


# ----------------------------------------------------------------------------------------------- judging


def test_a_result_is_kept_and_not_made_again(tmp_path: Path) -> None:
    runs = Runs()
    assert judge(tmp_path, runs).state is State.JUDGED
    kept = load_results(tmp_path / "cpu.results.json.gz")
    assert kept == load_results(tmp_path / "runs" / "cpu")
    assert judge(tmp_path, runs).state is State.FINISHED
    assert len(runs.commands) == 1
    (tmp_path / "cpu.results.json.gz").unlink()
    assert judge(tmp_path, runs).state is State.FINISHED, "its run had ended"
    assert load_results(tmp_path / "cpu.results.json.gz") == kept


@pytest.mark.parametrize(
    "other",
    [
        {"suite": OTHER},
        {"suite": SUITE | {"modified": True}},
        {"specs": {"operators/clip.yaml": "00" * 32}},
        {"selection": {"operators": ["ELEMENT_WISE_CLIP"]}},
        {"profile": "full"},
        {"interrupted": True, "verdict": "INCOMPLETE"},
        {"backend": "torch"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_result_of_another_suite_or_another_question_is_made_again(tmp_path: Path, other: dict[str, Any]) -> None:
    kept = tmp_path / "cpu.results.json.gz"
    for made, state in ((document(**other), State.JUDGED), (document(), State.FINISHED)):
        kept.write_bytes(gzip.compress(json.dumps(made).encode()))
        assert judge(tmp_path / "", Runs()).state is state
        for path in (tmp_path / "runs").rglob("*.json"):
            path.unlink()


def test_a_result_that_another_machine_made_is_taken_where_this_one_could_not_make_it(tmp_path: Path) -> None:
    windows = replace(CPU, platforms=("windows-amd64",))
    assert judge(tmp_path, Runs(), windows).state is State.UNABLE
    (tmp_path / "cpu.results.json.gz").write_bytes(gzip.compress(json.dumps(document()).encode()))
    assert judge(tmp_path, Runs(), windows).state is State.FINISHED


def test_a_draft_is_judged_each_time(tmp_path: Path) -> None:
    modified = SUITE | {"modified": True}
    runs = Runs(suite=modified)
    for _ in range(2):
        assert judge(tmp_path, runs, suite=modified).state is State.JUDGED
    assert len(runs.commands) == 2


def journal(folder: Path, suite: Mapping[str, Any] = SUITE, **more: Any) -> None:
    """What an interrupted run left behind."""
    header = {**SETTINGS.described(), "suite": suite, "specs": dict(SETTINGS.tables.digests), **more}
    folder.mkdir(parents=True)
    (folder / JOURNAL).write_text(json.dumps({"run": {"schema": "dmlcts-records/1", **header}}) + "\n", "utf-8")


@pytest.mark.parametrize(
    "other",
    [{}, {"suite": OTHER}, {"suite": SUITE | {"modified": True}}, {"seed": 5}, {"options": {"a": "b"}}],
    ids=["same", "suite", "modified", "seed", "options"],
)
def test_an_interrupted_run_is_continued_where_it_is_of_the_same_suite_and_options(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    folder = tmp_path / "runs" / "cpu"
    journal(folder, **other)
    runs = Runs()
    assert judge(tmp_path, runs).state is State.JUDGED
    assert ("--resume" in runs.commands[0], "--results" in runs.commands[0]) == (not other, bool(other))


@pytest.mark.parametrize(
    "code, last, state, reason",
    [
        (3, "dmlcts: no library here; fetch it", State.UNABLE, "no library here; fetch it"),
        (2, "dmlcts: opening X: no option y", State.UNABLE, "opening X: no option y"),
        (2, "dmlcts: no clause", State.FAILED, "no clause (exit code 2)"),
        (6, "", State.FAILED, "a line (exit code 6)"),
    ],
)
def test_a_run_without_results_has_a_reason_and_the_others_go_on(
    tmp_path: Path, code: int, last: str, state: State, reason: str
) -> None:
    bad = publication(tmp_path, Runs(code, last)).judge(CPU) if (tmp_path / "runs").mkdir() is None else None
    assert bad is not None
    assert (bad.state, bad.reason, bad.results) == (state, reason, None)

    def run(command: Sequence[str], more: Mapping[str, str], log: Path) -> int:
        return (Runs(code, last) if log.stem == "cpu" else Runs())(command, more, log)

    both = publication(tmp_path, run).judge_all([CPU, replace(CPU, name="other")])
    assert [each.state for each in both] == [state, State.JUDGED]


def test_a_suite_that_changed_during_the_run_gives_no_result(tmp_path: Path) -> None:
    result = judge(tmp_path, Runs(suite=OTHER))
    assert result.state is State.FAILED
    assert "changed during the run" in result.reason
    assert "was stopped" in judge(tmp_path, Runs(interrupted=True, verdict="INCOMPLETE")).reason
    assert not list(tmp_path.glob("*.gz"))


def test_the_driver_of_an_implementation_is_the_only_one_of_its_run(tmp_path: Path) -> None:
    driver = tmp_path / "icd.json"
    driver.touch()
    runs = Runs()
    judge(tmp_path, runs, replace(CPU, drivers=("/nowhere.json", str(driver))))
    judge(tmp_path, runs, replace(CPU, name="plain"))
    assert runs.variables == [{"VK_DRIVER_FILES": str(driver)}, {}]


# ----------------------------------------------------------------------------------------------- environments

TARGET = Target("made-up", "A runtime", ("made-up-runtime==1.0",), "cpu", (HERE,))
FETCHED = Implementation("made-up", "A runtime", "cpu", target=TARGET, mend="dmlcts providers fetch made-up")


def fetched(folder: Path) -> None:
    place = Environment(TARGET, folder / "cache").folder
    place.mkdir(parents=True)
    (place / "fetched.json").write_text(json.dumps({"packages": list(TARGET.packages), "opened": "opened A"}), "utf-8")


def answering(**more: Any) -> Callable[[Sequence[str]], subprocess.CompletedProcess[str]]:
    answer = {"suite": SUITE, "tables": tables_digest(SETTINGS.tables.digests), "xdist": True, **more}
    return lambda command: subprocess.CompletedProcess(command, 0, json.dumps(answer), "")


def test_a_runtime_that_is_neither_fetched_nor_installed_is_not_judged(tmp_path: Path) -> None:
    result = judge(tmp_path, Runs(), FETCHED)
    assert result.reason == "made-up-runtime is not installed; dmlcts providers fetch made-up"
    installed = replace(FETCHED, target=replace(TARGET, packages=("pytest==1",)))
    runs = Runs()
    assert judge(tmp_path, runs, installed).state is State.JUDGED
    assert "targets/made-up" not in runs.commands[0]


def test_a_fetched_runtime_is_judged_in_its_environment_by_the_same_suite(tmp_path: Path) -> None:
    fetched(tmp_path)
    runs = Runs()
    assert judge(tmp_path, runs, FETCHED, ask=answering()).state is State.JUDGED
    assert f"{Environment(TARGET, tmp_path / 'cache').python} -P -m" in runs.commands[0]
    (tmp_path / "made-up.results.json.gz").unlink()
    (tmp_path / "runs/made-up/results.json").unlink()
    for ask in (answering(suite=OTHER), answering(tables="00"), lambda c: subprocess.CompletedProcess(c, 1, "", "")):
        result = judge(tmp_path, runs, FETCHED, ask=ask)
        assert result.reason == "its environment holds another suite; dmlcts providers fetch made-up"


def test_an_environment_without_xdist_judges_in_one_process(tmp_path: Path) -> None:
    fetched(tmp_path)
    for xdist in (True, False):
        runs = Runs()
        folder = tmp_path / str(xdist)
        many = replace(publication(folder, runs, ask=answering(xdist=xdist)), workers="2", cache=tmp_path / "cache")
        assert many.judge_all([FETCHED])[0].state is State.JUDGED
        assert ("-n 2" in runs.commands[0]) is xdist


# ----------------------------------------------------------------------------------------------- pages


def keep(folder: Path, **runs: Mapping[str, Any]) -> None:
    for name, results in runs.items():
        (folder / f"{name}.results.json.gz").write_bytes(gzip.compress(json.dumps(results).encode(), mtime=0))


def test_pairs_from_directml_and_the_site_are_made_of_the_results(tmp_path: Path) -> None:
    keep(tmp_path, directml=document(failing, backend="directml"), cpu=document())
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs/directml-to-gone.html").touch()
    pairs = write_pairs(tmp_path, ["directml", "cpu"], SETTINGS.tables)
    assert [path.name for path in pairs] == ["directml-to-cpu.html"]
    assert sorted((tmp_path / "pairs").iterdir()) == pairs
    files, size = write_site_of(tmp_path, ["directml", "cpu"], SETTINGS.tables, draft=False)
    shared = with_shared(pairs[0].read_bytes(), "../style.css", "../page.js", POLICY)
    assert (tmp_path / "site/pairs/directml-to-cpu.html").read_bytes() == shared
    assert sum(path.stat().st_size for path in (tmp_path / "site").rglob("*") if path.is_file()) == size
    assert files > 5
    assert write_pairs(tmp_path, ["cpu"], SETTINGS.tables) == []
    assert not list((tmp_path / "pairs").iterdir())


def test_a_site_of_a_modified_suite_is_made_as_a_draft_alone(tmp_path: Path) -> None:
    keep(tmp_path, cpu=document(suite=SUITE | {"modified": True}))
    write_pairs(tmp_path, ["cpu"], SETTINGS.tables)
    with pytest.raises(StrictTablesError):
        write_site_of(tmp_path, ["cpu"], SETTINGS.tables, draft=False)
    write_site_of(tmp_path, ["cpu"], SETTINGS.tables, draft=True)
    assert "modified suite" in (tmp_path / "site/index.html").read_text("utf-8")


def test_the_checkout_s_results_are_replaced_and_its_table_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged, "examples", lambda: [document()])
    keep(tmp_path, cpu=document())
    examples = tmp_path / "examples"
    examples.mkdir()
    (examples / "README.md").write_text("<!-- generated: judged -->\nold\n<!-- end: judged -->\n", "utf-8")
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs/directml-to-cpu.html").touch()
    kept = keep_in_checkout(tmp_path, ["cpu"], examples)
    assert [path.relative_to(examples).as_posix() for path in kept] == [
        "all_operators/cpu.results.json.gz",
        "pairs/directml-to-cpu.html",
        "README.md",
    ]
    assert "| `cpu` |" in (examples / "README.md").read_text("utf-8")


# ----------------------------------------------------------------------------------------------- the command

ROWS = "- {name: mine, title: M, backend: cpu}\n- {name: again, title: A, backend: cpu}\n"


def written_table(folder: Path, more: str = "") -> str:
    path = folder / "mine.yaml"
    path.write_text(f"format: dmlcts/implementations/1\nimplementations:\n{ROWS}{more}", "utf-8")
    return str(path)


def publish(*words: str) -> Any:
    return CliRunner().invoke(main, ["publish", *words])


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.suites.publishing.adapters.vulkan_adapters", list)


def test_one_command_judges_prints_what_it_could_not_and_writes_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unlisted: None
) -> None:
    monkeypatch.setattr(result_documents, "suite_identity", lambda: SUITE)
    selection = {"operators": ["ELEMENT_WISE_CLIP"], "data_types": ["INT8"]}

    def run(command: Sequence[str], more: Mapping[str, str], log: Path) -> int:
        device = document()["device"] | {"version": log.stem}
        return Runs(selection=selection, device=device)(command, more, log)

    defaults = (run, publications.environments.run_command)
    monkeypatch.setattr(publications.Publication.__init__, "__defaults__", defaults)
    folder = tmp_path / "published"
    mine = written_table(tmp_path, "- {name: far, title: F, backend: cpu, platforms: [windows-amd64]}\n")
    words = ["--implementations", mine, "--operator", "CLIP", "--data-type", "INT8", "--output", str(folder)]
    first = publish(*words)
    assert first.exit_code == 0, first.output
    assert "judged:\n  mine                       CONFORMANT\n  again                      CONFORMANT\n" in first.output
    assert f"not judged:\n  far                        it needs windows-amd64, and this is {HERE}\n" in first.output
    assert (folder / "site/index.html").is_file()
    assert "finished before:\n  mine" in publish(*words, "--only", "mine").output
    assert publish(*words, "--only", "far").exit_code == publish_command.UNAVAILABLE


@pytest.mark.size("thorough")
def test_a_real_run_is_kept_with_its_selection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dmlcts: Callable[..., Ran]
) -> None:
    draft = ["--draft"] if suite_identity()["modified"] else []
    words = ["--implementations", written_table(tmp_path), "--operator", "IDENTITY", "--data-type", "INT8", *draft]
    done = dmlcts("publish", *words)
    assert done.code == 0, done.out + done.err
    for name in ("mine", "again"):
        assert load_results(tmp_path / f"published/{name}.results.json.gz")["selection"] == {
            "operators": ["ELEMENT_WISE_IDENTITY"],
            "data_types": ["INT8"],
        }


def test_a_modified_suite_is_refused_unless_a_draft_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unlisted: None
) -> None:
    monkeypatch.setattr(result_documents, "suite_identity", lambda: SUITE | {"modified": True})
    monkeypatch.setattr(publications.Publication, "judge_all", lambda *_: [])
    words = ["--implementations", written_table(tmp_path), "--output", str(tmp_path / "out")]
    refused = publish(*words)
    assert refused.exit_code == 2
    assert "add --draft" in refused.output
    assert publish(*words, "--draft").exit_code == publish_command.UNAVAILABLE, "it goes on, and here finds nothing"


def test_a_run_without_results_makes_the_command_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unlisted: None
) -> None:
    rows = [
        publications.Judged(CPU, State.JUDGED, document()),
        publications.Judged(replace(CPU, name="other"), State.FAILED, None, "it died"),
    ]
    monkeypatch.setattr(result_documents, "suite_identity", lambda: SUITE)
    monkeypatch.setattr(publish_command, "_write", lambda *_: None)
    words = ["--implementations", written_table(tmp_path), "--output", str(tmp_path / "out")]
    for outcome, code in ((rows, publish_command.INCOMPLETE), (rows[:1], 0)):
        monkeypatch.setattr(publications.Publication, "judge_all", lambda *_, outcome=outcome: outcome)
        assert publish(*words).exit_code == code


def test_trials_and_drafts_do_not_replace_the_kept_results(tmp_path: Path, unlisted: None) -> None:
    words = ["--implementations", written_table(tmp_path), "--output", str(tmp_path / "out"), "--keep"]
    for more in (["--draft"], ["--operator", "ABS"], ["--data-type", "INT8"]):
        refused = publish(*words, *more)
        assert (refused.exit_code, "--keep replaces" in refused.output) == (2, True)


def test_the_list_has_the_command_or_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unlisted: None
) -> None:
    assert table.FILE.is_file()
    shown = publish("--list", "--only", "cpu", "--only", "directml-gpu").output
    assert shown == (
        f"{'cpu':26} the suite's own backend\n    dmlcts run --backend cpu\n"
        f"{'directml-gpu':26} DirectML on a GPU, on Windows\n    it needs windows-amd64, and this is {HERE}\n"
    )
