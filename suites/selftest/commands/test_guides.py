"""The guides do what they say: their code runs, and their commands print what they show."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.installing import HOUSE, installed

IMPLEMENTING = HOUSE / "backends" / "IMPLEMENTING.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(not IMPLEMENTING.exists(), reason="the guides are in the checkout only")


def name_of(statement: ast.stmt) -> str | None:
    """What a top-level statement defines, where that is one name."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def edited(program: str, block: str) -> str:
    """The program as a reader of the guide edits it: what the block defines replaces what had its name."""
    old, new = ast.parse(program).body, ast.parse(block).body
    defined = {name_of(statement): statement for statement in new}
    known = {name_of(statement) for statement in old} - {None}
    kept = [defined.get(name_of(statement), statement) if name_of(statement) else statement for statement in old]
    added = [statement for statement in new if name_of(statement) not in known]
    return ast.unparse(ast.Module([*added, *kept], []))


def test_a_block_is_edited_in_as_a_reader_would() -> None:
    assert edited("class A: ...\nb = 1", "import c\nclass A:\n    d = 2") == "import c\n\nclass A:\n    d = 2\nb = 1"


def shows(block: str, printed: str) -> str:
    """The first line of the block that the output does not have, after those before it; "" where it has all."""
    lines = [line.rstrip() for line in printed.splitlines()]
    at = 0
    for line in block.splitlines():
        wanted = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("…")))
        if line.strip() == "…":
            continue
        found = next((index for index in range(at, len(lines)) if wanted.fullmatch(lines[index])), None)
        if found is None:
            return line
        at = found + 1
    return ""


def test_a_shown_output_is_compared_in_its_order() -> None:
    assert shows("a\n…\nb 1… c", "a\nx\nb 12 c\n") == ""
    assert shows("b\na", "a\nb\n") == "a"
    assert shows("a…", "b\n") == "a…"


def steps() -> list[tuple[str, str, str]]:
    """The guide's blocks, in its order: kind, content, and the file that the text before it says to save it as."""
    text = IMPLEMENTING.read_text(encoding="utf-8") if IMPLEMENTING.exists() else ""
    found, file, end = [], "", 0
    for block in _FENCE.finditer(text):
        named = re.findall(r"\bsave (?:this|it)\s+as `(\S+)`", text[end : block.start()], re.IGNORECASE)
        file = named[-1] if named else file
        end = block.end()
        if block[1] in ("python", "console", "c"):
            found.append((block[1], block[2], file))
    return found


@pytest.mark.size("thorough")
def test_the_guide_to_backends_does_what_it_shows(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    """Some seconds: it runs the suite six times, on a few clauses each, and once on all of ROUND on FLOAT32."""
    programs: dict[str, str] = {}
    commands = 0
    for kind, content, file in steps():
        if kind != "console":
            programs[file] = edited(programs.get(file, ""), content) if kind == "python" else content
            (tmp_path / file).write_text(programs[file], encoding="utf-8")
            continue
        command, _, shown = content.partition("\n")
        if command.startswith("$ cc "):
            if shutil.which("cc") is None:
                pytest.skip("no C compiler for the guide's second example")
            subprocess.run(shlex.split(command[2:]), cwd=tmp_path, check=True)
            continue
        assert command.startswith("$ dmlcts ")
        words = shlex.split(command[len("$ dmlcts ") :])
        words = [name for word in words for name in expanded(word, tmp_path)]
        ran = dmlcts(*words)
        missing = shows(shown, ran.out)
        assert not missing, f"{command}\ndoes not print: {missing}\nbut:\n{ran.out[-3000:]}{ran.err}"
        commands += 1
    assert (commands, sorted(programs)) == (6, ["mine.py", "native.py", "rounding.c"])


def expanded(word: str, folder: Path) -> list[str]:
    """The files that a word with a folder and an asterisk matches, as a shell would write them; else the word."""
    if not ("*" in word and "/" in word):
        return [word]
    found = [path.relative_to(folder).as_posix() for path in sorted(folder.glob(word))]
    assert found, f"no file matches {word}"
    return found


CERTIFYING = HOUSE / "reports" / "CERTIFYING.md"


def blocks(kind: str) -> list[str]:
    """The blocks of the guide to certification that are of one kind."""
    return [content for found, content in _FENCE.findall(CERTIFYING.read_text(encoding="utf-8")) if found == kind]


def commands(verb: str) -> list[list[str]]:
    """The words of its commands with this verb, without ``dmlcts``."""
    lines = (line for block in blocks("console") for line in block.splitlines() if line.startswith(f"$ dmlcts {verb}"))
    return [shlex.split(line)[2:] for line in lines]


def test_the_commands_of_the_guide_to_certification_can_be_given() -> None:
    from dmlcts.suites.certification.command import certify_words
    from dmlcts.suites.commands.main import main

    assert len(commands("certify")) == 4
    for words in commands("certify"):
        assert certify_words(words)["vendor"] == "ACME"
    for verb, count in (("run", 3), ("verify", 1), ("keygen", 1)):
        assert len(commands(verb)) == count
        for words in commands(verb):
            main.commands[verb].make_context(verb, words[1:]).close()


def test_the_waiver_in_the_guide_is_one() -> None:
    from dmlcts.reports.documents.results import suite_version
    from dmlcts.reports.documents.validation import parse_yaml
    from dmlcts.reports.documents.waivers import read
    from dmlcts.specs.loading import load_tables

    (written,) = blocks("yaml")
    found = read(parse_yaml(written.encode(), "waivers-1", "the guide"), "the guide")
    found.check_run(load_tables(), suite_version(), found.entries[0].expires)


def test_the_guide_names_every_check() -> None:
    from dmlcts.reports.certification.structure import CHECKS

    text = CERTIFYING.read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    early, late = ["archive", "statement", "form"], ["command", "records", "results", "evidence", "sweep"]
    assert named == [*early, *CHECKS, *late]


# Fewer drawn examples, so that a certification takes a moment; everything else is what a user runs.
PROGRAM = """
from dataclasses import replace
from dmlcts.suites.commands.main import main
from dmlcts.suites.generation.profiles import PROFILES
PROFILES["certification"] = replace(PROFILES["certification"], examples=5)
main()
"""


@pytest.mark.parametrize(
    "parts",
    [pytest.param(False, marks=pytest.mark.size("thorough")), pytest.param(True, marks=pytest.mark.size("all"))],
)
def test_the_guide_to_certification_does_what_it_shows(parts: bool, tmp_path: Path) -> None:
    """A certification of an operator, a draft and the verification; the long one divides the run into parts as well.

    As a wheel is installed, with cpu for `mine`; that a wheel is built and installed so is `.ci/run`'s to show.
    """
    pytest.importorskip("cryptography", reason="signing needs the extra `certify`")
    site, place = tmp_path / "site", tmp_path / "place"
    site.mkdir()
    place.mkdir()
    installed(site)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    given = []
    for command, shown in shown_commands():
        if not command.startswith("dmlcts ") or ("part" in command and not parts):
            continue
        words = ["cpu" if word == "mine" else word for word in shlex.split(command)[1:]]
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            cwd=place, env=environment, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        printed = ran.stdout + ran.stderr
        missing = shows(shown, printed)
        assert not missing, f"{command}\ndoes not print: {missing}\nbut:\n{printed[-3000:]}"
        codes = re.findall(r"\(exit code (\d)\)$", shown, re.MULTILINE)
        refused = "this cannot be certified" in shown
        assert ran.returncode == (2 if refused else int(codes[-1]) if codes else 0), f"{command}\n{printed[-3000:]}"
        given.append(words[0])
    divided = ["run", "run", "certify"] if parts else []
    begun, ended = ["--version", "run", "keygen", "certify"], ["certify", "certify", "verify", "challenge"]
    assert given == [*begun, *divided, *ended]
    assert (place / "verification.md").read_text(encoding="utf-8").startswith("# Submission submission.zip: PASS")


def shown_commands() -> list[tuple[str, str]]:
    """The guide's commands in its order, each with what the guide shows of its output."""
    found: list[tuple[str, str]] = []
    for line in "\n".join(blocks("console")).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def test_the_guide_builds_and_installs_the_suite_as_continuous_integration_does() -> None:
    first, second, *_ = (command for command, _ in shown_commands())
    said = (HOUSE / ".ci" / "steps" / "wheel.sh").read_text(encoding="utf-8")
    assert first == "python -m build --wheel --outdir dist ."
    assert 'python -m build --wheel --outdir "$work/dist" .' in said
    assert second == 'python -m pip install "$(echo dist/*.whl)[certify]"'
    assert '/bin/pip" install --quiet "$(echo "$work"/dist/*.whl)[certify]"' in said
