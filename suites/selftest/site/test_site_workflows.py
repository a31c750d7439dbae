"""The workflows for a repository of results: pinned, with the least permissions, of commands that exist and work."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dmlcts.reports.documents.writing import write_json
from dmlcts.suites.selftest.installing import HOUSE
from dmlcts.suites.selftest.reports.report_samples import conformant, failing
from dmlcts.suites.selftest.reports.test_report_workflows import document, options_of, steps

PAGES, SUBMITTED = (HOUSE / "reports/examples" / name for name in ("pages.yml", "submitted.yml"))
EACH = pytest.mark.parametrize("path", [PAGES, SUBMITTED], ids=lambda path: path.name)


@EACH
def test_actions_are_pinned_to_a_commit_that_states_its_version(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert len(used) >= 2
    for action in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


@EACH
def test_jobs_read_alone_but_for_the_one_that_publishes(path: Path) -> None:
    whole = document(path)
    assert whole["permissions"] == {"contents": "read"}
    granted = {name: job["permissions"] for name, job in whole["jobs"].items() if "permissions" in job}
    assert granted == ({"deploy": {"pages": "write", "id-token": "write"}} if path == PAGES else {})
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in text
    assert all(0 < job["timeout-minutes"] <= 60 for job in whole["jobs"].values())
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@EACH
def test_what_comes_from_outside_is_never_pasted_into_a_script(path: Path) -> None:
    assert re.findall(r"\$\{\{(.*?)\}\}", "\n".join(step.get("run", "") for step in steps(path))) == []


@EACH
def test_the_commands_exist(path: Path) -> None:
    text = "\n".join(step.get("run", "") for step in steps(path)).replace('"${baselines[@]}"', "--baseline b")
    text = (
        text.replace("--markdown -", "--markdown page.md")
        .replace("$STRICT", "--strict-tables")
        .replace("$TRUST", "--trust k.pub")
    )
    lines = [line.strip().partition(" ||")[0] for line in text.splitlines() if line.strip().startswith("dmlcts ")]
    assert lines
    words = [shlex.split(line, comments=True)[1:] for line in lines]
    assert [fault for each in words for fault in options_of(each)] == []


def _run(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    tools_first = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": tools_first, **environment}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False, timeout=300)


def _script(path: Path, name: str) -> str:
    (script,) = [step["run"] for step in steps(path) if step.get("name") == name]
    return str(script)


def _repository(folder: Path) -> str:
    """A repository of results with one commit; returns it."""
    for name in ("kept", "baselines", "submissions"):
        (folder / name).mkdir()
    _keep(folder, "first", conformant())
    return _commit(folder, "init")


def _keep(folder: Path, name: str, results: dict[str, object]) -> None:
    write_json(folder / "results.json", results)
    data = (folder / "results.json").read_bytes()
    (folder / "kept" / f"{name}.results.json.gz").write_bytes(gzip.compress(data, mtime=0))
    (folder / "results.json").unlink()


def _commit(folder: Path, begin: str = "") -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "commit.gpgsign=false"]
    git = str(shutil.which("git"))
    for words in ([["init", "-q"]] if begin else []) + [["add", "-A"], [*identity, "commit", "-qm", "x"]]:
        subprocess.run([git, *words], cwd=folder, check=True, capture_output=True)
    head = subprocess.run([git, "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return head.stdout.strip()


needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "git", "gzip"))) or not (Path(sys.executable).parent / "dmlcts").exists(),
    reason="bash, git, gzip and an installed dmlcts are needed",
)


@needs_tools
@EACH
def test_the_step_that_builds_the_site_builds_it(path: Path, tmp_path: Path) -> None:
    _repository(tmp_path)
    _keep(tmp_path, "second", failing())
    script = _script(path, "Build the site")
    done = _run(script, tmp_path, STRICT="")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site/index.html").is_file()


@needs_tools
def test_strict_tables_stop_the_workflow(tmp_path: Path) -> None:
    _repository(tmp_path)
    mixed = failing()
    mixed["suite"]["modified"] = True
    _keep(tmp_path, "second", mixed)
    done = _run(_script(PAGES, "Build the site"), tmp_path, STRICT="--strict-tables")
    assert done.returncode == 2
    assert "modified suite" in done.stderr
    assert not (tmp_path / "site").exists()


@needs_tools
def test_a_result_of_another_machines_backend_is_read_and_not_judged(tmp_path: Path) -> None:
    base = _repository(tmp_path)
    _keep(tmp_path, "a name with spaces", failing())
    _commit(tmp_path)
    script = _script(SUBMITTED, "Read results, and judge them again")
    done = _run(script, tmp_path, BASE=base, AGAIN="cpu")
    assert done.returncode == 0, done.stderr
    assert "nx.py:Nx cannot be judged here" in done.stdout
    assert not (tmp_path / "again").exists()


@needs_tools
def test_a_result_that_was_altered_stops_the_workflow(tmp_path: Path) -> None:
    base = _repository(tmp_path)
    _keep(tmp_path, "altered", failing() | {"verdict": "CONFORMANT"})
    _commit(tmp_path)
    done = _run(_script(SUBMITTED, "Read results, and judge them again"), tmp_path, BASE=base, AGAIN="cpu")
    assert done.returncode == 2
    assert "it was altered after the run" in done.stderr


@needs_tools
def test_a_submission_that_is_none_stops_the_workflow(tmp_path: Path) -> None:
    base = _repository(tmp_path)
    script = _script(SUBMITTED, "Verify submissions")
    assert _run(script, tmp_path, BASE=base, TRUST="").returncode == 0, "the control: there is none"
    (tmp_path / "submissions/a.zip").write_bytes(b"no zip")
    _commit(tmp_path)
    assert _run(script, tmp_path, BASE=base, TRUST="").returncode != 0


@needs_tools
@pytest.mark.parametrize("worse", [False, True], ids=["as it says", "worse"])
def test_a_result_that_is_worse_when_judged_again_stops_the_workflow(tmp_path: Path, worse: bool) -> None:
    repository, tools = tmp_path / "repository", tmp_path / "tools"
    repository.mkdir()
    tools.mkdir()
    base = _repository(repository)
    _keep(repository, "mine", conformant() | {"backend": "cpu"})
    _commit(repository)
    write_json(tools / "judged.json", (failing() if worse else conformant()) | {"backend": "cpu"})
    stub = f"""#!/bin/bash
[ "$1" != run ] && exec {shlex.quote(sys.executable)} -m dmlcts.suites.commands.entry "$@"
echo "$@" > "{tools}/words"; mkdir again && cp "{tools}/judged.json" again/results.json; exit {int(worse)}
"""
    (tools / "dmlcts").write_text(stub)
    (tools / "dmlcts").chmod(0o755)
    script = f'PATH="{tools}:$PATH"\n' + _script(SUBMITTED, "Read results, and judge them again")
    done = _run(script, repository, BASE=base, AGAIN="torch cpu")
    assert (tools / "words").read_text() == "run --backend cpu -n auto --results again\n"
    assert done.returncode == int(worse), done.stderr
    assert ("REGRESSION" in done.stdout) is worse
