"""Targets: a pinned table, environments that are continued where they were cut off, and plain reasons why not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.registry import available
from dmlcts.reports.documents.validation import DocumentError, schema
from dmlcts.specs import UsageError
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.commands.main import main
from dmlcts.suites.targets import target as targets
from dmlcts.suites.targets.environment import Environment
from dmlcts.suites.targets.target import FILE, Target, Terms, load_targets, shipped_targets, target_of

HERE = "linux-x86_64"


class Pip:
    """Makes what a command would make; the commands that contain ``failing`` fail."""

    def __init__(self, failing: str = "", opened: str = "opened A device") -> None:
        self.failing = failing
        self.answer = opened
        self.commands: list[str] = []

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        text = " ".join(command)
        self.commands.append(text)
        if self.failing and self.failing in text:
            return subprocess.CompletedProcess(command, 1, "", "ERROR: no address of the index\nmore")
        if "venv" in command:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        return subprocess.CompletedProcess(command, 0, f"words of a library\n{self.answer}\n", "")


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "this_platform", lambda: HERE)


def made(**more: object) -> Target:
    return Target("made-up", "A runtime", ("made-up==1.0",), "onnxruntime", (HERE,), **more)  # type: ignore[arg-type]


def test_the_table_fits_its_schema_and_every_version_is_pinned() -> None:
    document = read_yaml(FILE.read_text("utf-8"), str(FILE)).value
    jsonschema.validate(document, schema("targets-1"))
    document["targets"][0]["packages"] = ["onnxruntime>=1.0"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema("targets-1"))


def test_every_target_has_a_backend() -> None:
    names = {listing.name for listing in available()}
    assert {target.backend for target in shipped_targets()} <= names
    assert len(shipped_targets()) > 9


def test_a_target_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "targets.yaml"
    row = "- {name: a, title: A, packages: [a==1], backend: cpu, platforms: [linux-x86_64]}"
    path.write_text(f"format: dmlcts/targets/1\ntargets:\n{row}\n", "utf-8")
    assert load_targets(path)[0].arguments == ["--backend", "cpu"]
    path.write_text(f"format: dmlcts/targets/1\ntargets:\n{row}\n{row}\n", "utf-8")
    with pytest.raises(DocumentError, match="stands twice"):
        load_targets(path)


def test_a_name_that_means_no_target_is_refused() -> None:
    assert target_of("jax").backend == "jax"
    with pytest.raises(UsageError, match=r"no target 'jaxx'.*choose one of"):
        target_of("jaxx")


def test_an_environment_is_made_once_and_the_suite_installed_each_time(tmp_path: Path) -> None:
    pip = Pip()
    environment = Environment(made(options={"provider": "X"}), tmp_path, pip)
    assert environment.opened() is None
    assert environment.fetch(lambda _: None, suite="/the/suite") == "opened A device"
    assert environment.opened() == "opened A device"
    assert sum("venv" in command for command in pip.commands) == 1
    assert sum("made-up==1.0" in command for command in pip.commands) == 1
    assert pip.commands[-1].endswith("onnxruntime provider=X")
    before = len(pip.commands)
    environment.fetch(lambda _: None, suite="/the/suite")
    again = pip.commands[before:]
    assert not any("venv" in command or "made-up==1.0" in command for command in again)
    assert any("/the/suite" in command for command in again)
    assert "--backend onnxruntime -o provider=X --results results/made-up" in environment.command


def test_a_fetch_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    broken = Pip(failing="made-up==1.0")
    with pytest.raises(BackendUnavailable, match=r"pip failed for made-up: no address of the index; .* goes on"):
        Environment(made(), tmp_path, broken).fetch(lambda _: None, suite="/the/suite")
    assert Environment(made(), tmp_path).opened() is None
    whole = Pip(opened="refused no device here")
    assert Environment(made(), tmp_path, whole).fetch(lambda _: None, suite="/s") == "refused no device here"
    assert not any("venv" in command for command in whole.commands), "the environment was there"


def test_terms_are_shown_and_must_be_accepted(tmp_path: Path) -> None:
    target = made(terms=Terms("Acme", "Acme's licence", "https://acme.invalid/", "acme/LICENSE.pdf"))
    pip, lines = Pip(), list[str]()
    with pytest.raises(UsageError, match=r"terms of Acme are not accepted; add --accept-terms"):
        Environment(target, tmp_path, pip).fetch(lines.append, suite="/s")
    assert "Acme's licence (https://acme.invalid/, in acme/LICENSE.pdf of the environment)" in lines[0]
    assert not pip.commands
    assert Environment(target, tmp_path, pip).fetch(lines.append, accepted=True, suite="/s").startswith("opened")


def test_what_this_machine_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "has_nvidia", lambda: False)
    assert made().lacking() == ""
    assert made(hardware="nvidia").lacking() == "there is no NVIDIA GPU here"
    monkeypatch.setattr(targets, "this_platform", lambda: "plan9-mips")
    assert "no packages for plan9-mips" in made().lacking()
    with pytest.raises(BackendUnavailable, match="cannot be installed"):
        Environment(made(), tmp_path, Pip()).fetch(lambda _: None, suite="/s")


def test_the_list_shows_what_is_fetched_and_why_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "has_nvidia", lambda: False)
    jax = target_of("jax")
    folder = tmp_path / "targets" / "jax"
    folder.mkdir(parents=True)
    state = {"packages": list(jax.packages), "opened": "opened cpu jax 0.10.2"}
    (folder / "fetched.json").write_text(json.dumps(state), "utf-8")
    shown = CliRunner().invoke(main, ["providers", "list"], env={"DMLCTS_CACHE": str(tmp_path)}).output
    assert "jax                        fetched" in shown
    assert f"{folder}/bin/dmlcts run --backend jax" in shown
    assert "there is no NVIDIA GPU here" in shown
    assert "terms of Qualcomm" in shown
    assert "dmlcts providers fetch onnxruntime-qnn" in shown
    state["packages"] = ["jax==0.1"]
    (folder / "fetched.json").write_text(json.dumps(state), "utf-8")
    shown = CliRunner().invoke(main, ["providers", "list"], env={"DMLCTS_CACHE": str(tmp_path)}).output
    assert "jax                        not fetched" in shown, "other versions are another environment"
