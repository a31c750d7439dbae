"""A history names each departure's first and last release, stops for none that fails; a search judges few of them."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from rich.console import Console

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.reports.comparing.history import (
    DEPARTS,
    HOLDS,
    OPEN,
    UNJUDGED,
    Release,
    history_of,
    html,
    load_history,
    markdown,
    print_history,
)
from dmlcts.reports.documents.validation import DocumentError, load_results, schema
from dmlcts.specs import UsageError
from dmlcts.suites.commands.main import main
from dmlcts.suites.history.judging import Found, Judging, bisect, departs, run_command
from dmlcts.suites.history.packages import FromPyPI, Prepared, PrintLine, chosen, package
from dmlcts.suites.running.options import Settings

VERSIONS = ["1.0.0", "1.1.0", "1.1.1", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"]


def row(outcome: str, data_type: str = "INT64", clause: str = "clip.monotone") -> dict[str, Any]:
    return {"id": clause, "operator": "ELEMENT_WISE_CLIP", "data_type": data_type, "outcome": outcome}


def results(*rows: dict[str, Any]) -> dict[str, Any]:
    wrong = any(result_row["outcome"] == "fail" for result_row in rows)
    how = {"selection": {"operators": ["ELEMENT_WISE_CLIP"]}, "profile": "quick", "seed": 7, "strict": False}
    verdict = "NOT_CONFORMANT" if wrong else "CONFORMANT"
    made = {"suite": {"version": "1.0.0", "commit": None, "modified": False}, "specs": {"clip.yaml": "ab" * 32}}
    return {"clauses": list(rows), "verdict": verdict, "feature_level": "6.4", **how, **made}


# What is reported.


def test_a_departure_has_a_first_and_a_last_release() -> None:
    releases = [
        Release("1", results(row("pass"), row("pass", "INT8"), row("fail", "INT8", "clip.nan"))),
        Release("2", None, "does not load"),
        Release("3", results(row("fail"), row("fail", "INT8"))),
        Release("4", results(row("not_supported"), row("not_supported", "INT8"))),
        Release("5", results(row("crash"), row("fail", "INT8"))),
        Release("6", results(row("characterised"), row("pass", "INT8"))),
    ]
    document = history_of("thing", releases)
    monotone, nan = document["departures"]
    assert monotone["data_types"] == ["INT8", "INT64"]
    assert monotone["states"] == [HOLDS, UNJUDGED, DEPARTS, OPEN, DEPARTS, HOLDS]
    assert (monotone["first"], monotone["begins"]) == ("3", "after 1")
    assert (monotone["last"], monotone["ends"]) == ("5", "gone by 6")
    assert (nan["first"], nan["begins"], nan["last"]) == ("1", "the oldest that was judged on it", "1")
    assert nan["ends"] == "the newest that was judged on it"
    for text in (markdown(document), html(document)):
        assert "not judged: does not load" in text
        assert "gone by 6" in text
    assert "| CLIP | clip.monotone | INT8, INT64 | 3 (after 1) | 5 (gone by 6) | ✓ ✗·✗✓ |" in markdown(document)


def test_types_that_departed_at_other_times_are_distinguished() -> None:
    always = row("fail", "INT8")
    releases = [Release("1", results(row("pass"), always)), Release("2", results(row("fail"), always))]
    assert [(change["data_types"], change["first"]) for change in history_of("thing", releases)["departures"]] == [
        (["INT8"], "1"),
        (["INT64"], "2"),
    ]


def test_where_nothing_departs_nothing_is_reported() -> None:
    document = history_of("thing", [Release("1", results(row("pass")))])
    assert document["departures"] == []
    assert json.loads(json.dumps(document)) == document


def test_what_was_selected_is_reported_with_it(tmp_path: Path) -> None:
    sentence = "Judged: operators ELEMENT_WISE_CLIP; profile quick, seed 7."
    for view in (printed, markdown, html):
        assert sentence in view(four_releases()).replace("\\_", "_")
        assert "Judged:" not in view(history_of("thing", [Release("1", None, "does not load")]))
        earlier = {name: value for name, value in four_releases().items() if name != "judged"}
        assert "Judged:" not in view(load_history(written(tmp_path, earlier)))
        everything = four_releases()
        everything["judged"] |= {"selection": {}, "strict": True}
        assert "Judged: everything; profile quick, seed 7, strict." in view(everything)


def test_what_was_not_judged_is_not_called_right() -> None:
    right = history_of("thing", [Release("1", results(row("pass"))), Release("2", None, "does not load")])
    unknown = history_of("thing", [Release("1", None, "does not load")])
    for view in (printed, markdown, html):
        assert "No release departs from the pages in what was judged" in view(right)
        assert "No release could be judged: nothing is known of departures" in view(unknown)
        assert "No release" not in view(four_releases())


def printed(document: dict[str, Any]) -> str:
    console = Console(record=True, width=200, file=io.StringIO())
    print_history(document, console)
    return console.export_text()


# What was written before.


def four_releases() -> dict[str, Any]:
    """The document of four made-up releases, of which one was not judged."""
    gone = [Release("1", results(row("fail"))), Release("2", None, "does not load")]
    return history_of(
        "thing", [*gone, Release("3", results(row("fail"), row("skipped", "INT8"))), Release("4", results(row("pass")))]
    )


def written(folder: Path, document: object) -> Path:
    path = folder / "history.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")
    return path


def test_a_history_matches_its_schema_and_is_read_back(tmp_path: Path) -> None:
    nothing = [history_of("thing", [Release("1", results(row("pass")))])]
    nothing.append(history_of("thing", [Release("1", None, "does not load")]))
    for document in (four_releases(), *nothing):
        jsonschema.validate(document, schema("history-1"))  # a second opinion beside the one that reads
        assert load_history(written(tmp_path, document)) == document


def release(place: int, **members: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["releases"][place].update(members)


def departure(**members: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["departures"][0].update(members)


ALTERED: list[tuple[str, str, Callable[[dict[str, Any]], object]]] = [
    (
        "/schema",
        'is "dmlcts-results/3" where "dmlcts-history/1" is read',
        lambda document: document.update(schema="dmlcts-results/3"),
    ),
    ("/schema", 'is "dmlcts-history/2"', lambda document: document.update(schema="dmlcts-history/2")),
    ("", "lacks schema", lambda document: document.pop("schema")),
    ("", "lacks departures", lambda document: document.pop("departures")),
    ("/releases", "malformed", lambda document: document.update(releases=[])),
    ("/releases/0/verdict", "is not known here", release(0, verdict="FINE")),
    ("/releases/0/reason", 'write ""', release(0, reason="does not load")),
    ("/releases/1/reason", "is empty", release(1, reason="")),
    ("/releases/1/rows", "write 0", release(1, rows=3)),
    ("/releases/3/version", "version 1 stands twice", release(3, version="1")),
    ("/departures/0/states", "malformed", departure(states=["holds"] * 4)),
    ("/departures/0/states", "3 states of 4 releases", departure(states=["departs", "unjudged", "departs"])),
    ("/departures/0/states/1", "2 was not judged", departure(states=["departs", "holds", "departs", "holds"])),
    ("/departures/0/states/3", "4 was judged", departure(states=["departs", "unjudged", "departs", "unjudged"])),
    ("/departures/0/first", 'is "3" where the states amount to "1"', departure(first="3")),
    ("/departures/0/ends", 'the states amount to "gone by 4"', departure(ends="the newest that was judged on it")),
]


@pytest.mark.parametrize("pointer, cause, alter", ALTERED)
def test_a_history_that_is_damaged_or_no_history_states_where_and_what_to_do(
    pointer: str, cause: str, alter: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    document = four_releases()
    alter(document)
    with pytest.raises(DocumentError) as caught:
        load_history(written(tmp_path, document))
    assert caught.value.pointer == pointer
    assert cause in str(caught.value)
    assert caught.value.mend


def test_a_history_is_reported_again_without_judging(tmp_path: Path) -> None:
    path = written(tmp_path, four_releases())
    page, text = tmp_path / "page.html", tmp_path / "history.md"
    done = CliRunner().invoke(main, ["history", "--from", str(path), "--html", str(page), "--markdown", str(text)])
    assert done.exit_code == 0, done.output
    assert "thing 2: not judged: does not load" in done.output
    assert text.read_text("utf-8") == markdown(four_releases())
    assert page.read_text("utf-8") == html(four_releases())


@pytest.mark.parametrize(
    "words, message",
    [
        (["--from", "ABSENT"], "does not exist; give a file that `dmlcts history --json` wrote"),
        (["--from", "HALF"], "is no JSON: .*; give a file that `dmlcts history --json` wrote"),
        (["--from", "RESULTS"], 'RESULTS /schema: is "dmlcts-results/3" where "dmlcts-history/1" is read; give a file'),
        (["torch", "--from", "WHOLE"], "a history that is read again is of its own package; leave out torch"),
        (["--from", "WHOLE", "--clause", "clip.nan"], "is not judged again; leave out --clause"),
        (["--from", "WHOLE", "--index-url", "https://example.org"], "is not judged again; leave out --index-url"),
        ([], "no package to judge; write directml, onnxruntime or torch"),
    ],
)
def test_what_cannot_be_reported_again_is_refused_with_the_mend(words: list[str], message: str, tmp_path: Path) -> None:
    for name, content in {
        "HALF": json.dumps(four_releases())[:200],
        "WHOLE": json.dumps(four_releases()),
        "RESULTS": '{"schema": "dmlcts-results/3"}',
    }.items():
        (tmp_path / name).write_text(content, "utf-8")
    done = CliRunner().invoke(main, ["history", *(str(tmp_path / word) if word.isupper() else word for word in words)])
    assert done.exit_code == 2
    assert re.search(message, done.output), done.output


# Which releases.


@pytest.mark.parametrize(
    "written, expected",
    [
        ("", ["1.0.0", "1.1.1", "1.2.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0"]),
        ("all", VERSIONS),
        ("1.6.0,1.0.0", ["1.0.0", "1.6.0"]),
        ("1.1.1..1.3.0", ["1.1.1", "1.2.0", "1.3.0"]),
        ("..1.1.0, 1.5.0..", ["1.0.0", "1.1.0", "1.5.0", "1.6.0"]),
    ],
)
def test_releases_are_chosen_by_versions_and_spans(written: str, expected: list[str]) -> None:
    assert chosen(VERSIONS, written) == expected


def test_a_release_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"no release '1.9.0' to be had; the releases are 1.0.0, 1.1.0"):
        chosen(VERSIONS, "1.9.0")
    with pytest.raises(UsageError, match="no history of 'numpy'; write directml, onnxruntime or torch"):
        package("numpy")


def test_a_release_is_also_named_without_its_build() -> None:
    builds = ["2.7.0+cpu", "2.8.0", "2.8.0+cpu", "2.9.0+cpu"]
    assert chosen(builds, "2.9.0,2.8.0") == ["2.8.0", "2.9.0+cpu"]
    assert chosen(builds, "2.9.0+cpu") == ["2.9.0+cpu"]
    assert chosen(builds, "..2.7.0") == ["2.7.0+cpu"]
    with pytest.raises(UsageError, match=r"no release '2.7' to be had"):
        chosen(builds, "2.7")


class Pip:
    def __init__(self, text: str = "", code: int = 0, errors: str = "") -> None:
        self.wording, self.code, self.errors = text, code, errors
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if "install" in command:
            folder = Path(command[command.index("--target") + 1])
            for name, version, needs in (
                ("thing", "2.0", ["numpy>=1", "absent-thing==3 ; python_version>'3'", "other; extra == 'x'"]),
                ("absent_thing", "3", []),
            ):
                if not any(part.startswith(name.replace("_", "-")) for part in command):
                    continue
                info = folder / f"{name}-{version}.dist-info"
                info.mkdir()
                lines = [
                    f"Name: {name}",
                    f"Version: {version}",
                    *(f"Requires-Dist: {requirement}" for requirement in needs),
                ]
                (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines]))
        return subprocess.CompletedProcess(command, self.code, self.wording, self.errors)


def test_the_releases_that_pip_knows_are_listed_the_oldest_first() -> None:
    listed = "thing (2.10.0)\nAvailable versions: 2.10.0, 2.9.1, 2.9.0rc1, not-a-version, 1.0\n"
    assert FromPyPI("thing", Pip(listed)).versions() == ["1.0", "2.9.1", "2.10.0"]
    with pytest.raises(BackendUnavailable, match="pip lists no releases of thing"):
        FromPyPI("thing", Pip("nothing")).versions()
    with pytest.raises(BackendUnavailable, match="pip index failed: no such package"):
        FromPyPI("thing", Pip("", 1, "WARNING: x\nERROR: no such package\n")).versions()


def test_a_release_is_installed_once_with_what_is_missing_here_and_nothing_else(tmp_path: Path) -> None:
    pip = Pip()
    prepared = FromPyPI("thing", pip).prepare("2.0", tmp_path, lambda line: None)
    assert [command[-1] for command in pip.commands if "install" in command] != []
    assert [argument for command in pip.commands for argument in command if "==" in argument] == [
        "thing==2.0",
        "absent-thing==3",
    ]
    assert all("--no-deps" in command for command in pip.commands)
    assert prepared.environment == {"PYTHONPATH": str(tmp_path / "thing-2.0")}
    FromPyPI("thing", pip).prepare("2.0", tmp_path, lambda line: None)
    assert len(pip.commands) == 2
    prepared.throw_away()
    assert not (tmp_path / "thing-2.0").exists()


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("torch", ["torch==2.0", "filelock"]),
        ("onnxruntime", ["onnxruntime==2.0", "cuda-bindings", "filelock", "nvidia-cublas-cu12==12.8", "triton"]),
    ],
)
def test_of_a_build_of_torch_for_cuda_only_what_the_processor_needs_is_installed(
    name: str, wanted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = list[list[str]]()

    def pip(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        folder = Path(command[command.index("--target") + 1])
        if f"{name}==2.0" in command:
            info = folder / f"{name}-2.0.dist-info"
            info.mkdir()
            needs = ["nvidia-cublas-cu12==12.8", "cuda-bindings", "triton", "filelock"]
            lines = [f"Name: {name}", "Version: 2.0", *(f"Requires-Dist: {requirement}" for requirement in needs)]
            (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines]))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr("dmlcts.suites.history.packages._there", lambda name, folder: None)
    FromPyPI(name, pip).prepare("2.0", tmp_path, lambda line: None)
    named = [
        argument for command in commands for argument in command[command.index("--upgrade") + 1 :] if argument[0] != "-"
    ]
    assert [named[0], *sorted(named[1:])] == wanted


def test_another_index_is_handed_to_pip_wherever_it_is_asked(tmp_path: Path) -> None:
    pip = Pip("Available versions: 2.0\n")
    thing = FromPyPI("thing", pip, index="https://example.org/cpu")
    assert thing.versions() == ["2.0"]
    thing.prepare("2.0", tmp_path, lambda line: None)
    assert len(pip.commands) == 3
    assert all(command[command.index("--index-url") + 1] == "https://example.org/cpu" for command in pip.commands)
    usual = Pip("Available versions: 2.0\n")
    FromPyPI("thing", usual).versions()
    assert "--index-url" not in usual.commands[0]
    assert package("torch", index="https://example.org/cpu") == FromPyPI("torch", index="https://example.org/cpu")
    with pytest.raises(UsageError, match="known by their digests; leave out --index-url"):
        package("directml", index="https://example.org/cpu")


# Judging.


class Made:
    """A package whose releases are made up: a departure came with 1.4.0; 1.2.0 does not load."""

    name = "thing"

    def __init__(self, broken: Sequence[str] = ("1.2.0",)) -> None:
        self.broken = broken
        self.thrown_away: list[str] = []

    def versions(self) -> list[str]:
        return VERSIONS

    def prepare(self, version: str, cache: Path, print_line: PrintLine) -> Prepared:
        if version in self.broken:
            raise BackendUnavailable("it does not load", "use another")
        return Prepared(["--backend", "cpu"], {"VERSION": version})


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of a real run, to be changed into those of made-up releases."""
    folder = tmp_path_factory.mktemp("judged")
    command = ["run", "-q", "--backend", "cpu", "--operator", "CLIP", "--data-type", "INT8"]
    command += ["--clause", "clip.monotone"]
    assert CliRunner().invoke(main, [*command, "--results", str(folder)], standalone_mode=False).exit_code == 0
    return json.loads(json.dumps(load_results(folder)))  # type: ignore[no-any-return]


class Suite:
    """Stands for ``dmlcts run``: writes the results that the release would have, and counts its runs."""

    def __init__(self, judged: dict[str, Any], wrong_from: str = "1.4.0", reported_version: str = "") -> None:
        self.judged, self.wrong_from, self.reported_version = judged, wrong_from, reported_version
        self.versions: list[str] = []

    def __call__(self, command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        version = environment["VERSION"]
        self.versions.append(version)
        made = json.loads(json.dumps(self.judged))
        made["device"]["version"] = self.reported_version or version
        if VERSIONS.index(version) >= (VERSIONS.index(self.wrong_from) if self.wrong_from else 99):
            made["clauses"][0] |= {"outcome": "fail", "failures": 1}
            made["verdict"] = "NOT_CONFORMANT"
        folder = Path(command[command.index("--results") + 1])
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(made))
        return subprocess.CompletedProcess(command, 0, "", "")


def judging(
    folder: Path,
    run: Any,
    made: Made | None = None,
    arguments: Sequence[str] = (),
    print_line: PrintLine = lambda line: None,
) -> Judging:
    tables = Settings.read().tables
    return Judging(made or Made(), folder, arguments, tables, False, print_line, run)  # type: ignore[arg-type]


def test_one_release_that_fails_does_not_stop_the_rest_and_nothing_is_judged_twice(
    judged: dict[str, Any], tmp_path: Path
) -> None:
    suite = Suite(judged)
    first = [judging(tmp_path, suite).judge(version) for version in VERSIONS]
    assert [judged_release.version for judged_release in first if judged_release.results is None] == ["1.2.0"]
    assert "does not load" in first[3].reason
    (departure,) = history_of("thing", first)["departures"]
    assert (departure["first"], departure["begins"]) == ("1.4.0", "after 1.3.0")
    assert load_history(written(tmp_path, history_of("thing", first))) == history_of("thing", first)
    assert len(suite.versions) == 7
    again = [judging(tmp_path, suite).judge(version) for version in VERSIONS]
    assert history_of("thing", again) == history_of("thing", first)
    assert len(suite.versions) == 7
    judging(tmp_path, suite, arguments=["--operator=CLIP"]).judge("1.0.0")  # another selection is another question
    assert len(suite.versions) == 8


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda path: path.write_text("{"), "is no JSON"),
        (lambda path: path.write_text('{"schema": "dmlcts-history/1"}'), "where this version of dmlcts reads"),
        (
            lambda path: path.write_text(path.read_text().replace('"version": "1.0.0"', '"version": "1.1.0"')),
            "are of 1.1.0",
        ),
    ],
)
def test_results_that_were_damaged_since_are_reported_and_judged_again(
    damage: Callable[[Path], object], message: str, judged: dict[str, Any], tmp_path: Path
) -> None:
    suite, messages = Suite(judged), list[str]()
    judge = judging(tmp_path, suite, print_line=messages.append)
    first = judge.judge("1.0.0")
    (path,) = tmp_path.rglob("results.json")
    whole = path.read_bytes()
    damage(path)
    assert path.read_bytes() != whole
    assert judge.judge("1.0.0") == first
    assert len(suite.versions) == 2
    assert any(message in line and "judged again" in line for line in messages), messages
    messages.clear()
    judge.judge("1.0.0")
    assert messages == ["thing 1.0.0: judged before"]


def test_a_release_that_turns_out_to_be_another_is_not_believed(judged: dict[str, Any], tmp_path: Path) -> None:
    release = judging(tmp_path / "1", Suite(judged, reported_version="1.0.1")).judge("1.0.0")
    assert release.reason == "what was loaded says that it is 1.0.1"
    for reported_version in ("1.0.0", "1.0.0.0", "1.0.0+cpu"):
        assert (
            judging(tmp_path / reported_version, Suite(judged, reported_version=reported_version))
            .judge("1.0.0")
            .results
            is not None
        )
    assert judging(tmp_path / "2", Suite(judged, reported_version="1.0.01")).judge("1.0.0").results is None


def test_a_run_without_results_is_a_reason_and_a_wrong_option_an_error(judged: dict[str, Any], tmp_path: Path) -> None:
    def crashes(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 3, "", "dmlcts: libcudart.so.12: no such file\n")

    assert judging(tmp_path, crashes).judge("1.0.0").reason == "libcudart.so.12: no such file"

    def stopped(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        made = judged | {"interrupted": True, "verdict": "INCOMPLETE"}
        folder = Path(command[command.index("--results") + 1])
        folder.mkdir(parents=True)
        (folder / "results.json").write_text(json.dumps(made))
        return subprocess.CompletedProcess(command, 4, "", "interrupted\n")

    assert judging(tmp_path / "stopped", stopped).judge("1.0.0").reason.startswith("the run was stopped before its end")

    def refuses(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 2, "", "dmlcts: no clause 'x'\n")

    with pytest.raises(UsageError, match="no clause 'x'"):
        judging(tmp_path, refuses).judge("1.0.0")

    def lacks(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 2, "", "dmlcts: opening 'thing' failed: it lacks cpu\n")

    assert judging(tmp_path, lacks).judge("1.0.0").reason == "opening 'thing' failed: it lacks cpu"


def test_variables_of_the_environment_reach_the_run() -> None:
    done = run_command(["sh", "-c", "echo $PYTHONPATH"], {"PYTHONPATH": "/somewhere"})
    assert done.stdout == "/somewhere\n"


# Searching.


@pytest.mark.parametrize("wrong_from", VERSIONS[1:])
@pytest.mark.parametrize("broken", [(), ("1.2.0",), ("1.0.0", "1.3.0", "1.6.0")])
def test_the_release_that_brought_a_departure_in_is_found(
    wrong_from: str, broken: tuple[str, ...], judged: dict[str, Any], tmp_path: Path
) -> None:
    suite = Suite(judged, wrong_from)
    bisection = bisect(judging(tmp_path, suite, Made(broken)), VERSIONS)
    there = [version for version in VERSIONS if version not in broken]
    wrong = [version for version in there if VERSIONS.index(version) >= VERSIONS.index(wrong_from)]
    right = [version for version in there if version not in wrong]
    if wrong and right:
        assert (bisection.right, bisection.wrong) == (right[-1], wrong[0])
        assert len(suite.versions) <= 5
    elif wrong:
        assert (bisection.right, bisection.wrong) == (None, wrong[0])
    else:
        assert (bisection.right, bisection.wrong) == (right[-1], None)


def test_without_a_departure_or_without_a_release_that_is_stated(judged: dict[str, Any], tmp_path: Path) -> None:
    assert bisect(judging(tmp_path, Suite(judged, "")), VERSIONS) == Found("1.6.0", None, 2)
    with pytest.raises(BackendUnavailable, match="no release could be judged"):
        bisect(judging(tmp_path / "none", Suite(judged), Made(VERSIONS)), VERSIONS)


def test_what_was_not_required_states_nothing() -> None:
    assert departs(Release("1", results(row("not_supported")))) is None
    assert departs(Release("1", None, "absent")) is None
    assert departs(Release("1", results(row("pass"), row("not_supported")))) is False
    assert departs(Release("1", results(row("fail")))) is True
