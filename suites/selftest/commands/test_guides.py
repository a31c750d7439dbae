"""The guides do what they say: their code runs, their commands print and exit as shown, their claims are tested."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from dmlcts.suites.selftest import command_server
from dmlcts.suites.selftest.commands.guides import (
    CERTIFYING,
    FENCE,
    GUIDES,
    IMPLEMENTING,
    RUNNERS,
    Command,
    Reader,
    Step,
    commands_of,
    edited,
    missing_line,
    prose_of,
    steps_of,
)
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.installing import HOUSE, installed

pytestmark = pytest.mark.skipif(not IMPLEMENTING.exists(), reason="the guides are in the checkout only")

NO_INDEX = "needs a package index; .ci/steps builds the wheel and installs it"
NO_MACHINE = "needs another machine; the commands before it do the same on this one"
NOT_TYPED = {
    "python3 -m venv ~/dmlcts-env && . ~/dmlcts-env/bin/activate": "the tests have an environment",
    "python -m pip install -e '.[certify]'": NO_INDEX,
    "python -m pip install .": NO_INDEX,
    "python -m pip install build": NO_INDEX,
    "python -m build --wheel --outdir dist .": NO_INDEX,
    'python -m pip install "$(echo dist/*.whl)[certify]"': NO_INDEX,
    "./my_runner --listen 47800 --address 192.0.2.7 --secret secret.txt": NO_MACHINE,
    "dmlcts run --backend tcp:192.0.2.7:47800 -o secret=secret.txt": NO_MACHINE,
}
"""The commands of the guides that no test types, each with its reason."""


def text_of(guide: Path) -> str:
    return guide.read_text(encoding="utf-8") if guide.exists() else ""


def commands(guide: Path) -> list[Command]:
    return [step for step in steps_of(text_of(guide)) if isinstance(step, Command)]


# How a guide is read.


def test_a_block_is_edited_in_as_a_reader_would() -> None:
    assert edited("class A: ...\nb = 1", "import c\nclass A:\n    d = 2") == "import c\n\nclass A:\n    d = 2\nb = 1"


def test_a_shown_output_is_compared_in_its_order() -> None:
    assert missing_line("a\n…\nb 1… c", "a\nx\nb 12 c\n") == ""
    assert missing_line("b\na", "a\nb\n") == "a"
    assert missing_line("a…", "b\n") == "a…"


def test_a_shown_exit_code_is_read() -> None:
    block = "$ a\nCONFORMANT: 1 (exit code 0)\n$ b\n$ echo $?\n3\nboard$ c\nNOT: 2 (exit code 1)\n$ d\n"
    assert [(command.line, command.code) for command in commands_of(block)] == [("a", 0), ("b", 3), ("c", 1), ("d", 0)]


PRINTED = {"right": Step(1, "verdict\n"), "other code": Step(0, "verdict\n"), "other output": Step(1, "other\n")}


@pytest.mark.parametrize("name", PRINTED)
def test_a_wrong_output_and_a_wrong_exit_code_are_seen(name: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path, lambda words: PRINTED[name])
    text = "```console\n$ dmlcts run\nverdict\n$ echo $?\n1\n```\n"
    if name == "right":
        reader.follow(text)
    else:
        with pytest.raises(AssertionError, match="exits 0, not 1" if name == "other code" else "does not print"):
            reader.follow(text)


# What they show.


SLOWER = "dmlcts run --backend mine.py:Backend --operator CLIP,ROUND,THRESHOLD --data-type FLOAT16"


@pytest.mark.parametrize(
    "slower",
    [pytest.param(False, marks=pytest.mark.size("thorough")), pytest.param(True, marks=pytest.mark.size("all"))],
)
def test_the_guide_to_backends_does_what_it_shows(slower: bool, tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    """The slowest of its commands in a test of its own."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler for the guide's second example")
    shown = [command.line for command in commands(IMPLEMENTING)]
    wanted = [line for line in shown if (line == SLOWER) == slower]
    wanted = [line for line in wanted if line not in NOT_TYPED]
    left = {line: "typed with the other parameter" for line in shown if line not in wanted}
    reader = Reader(tmp_path, typing(dmlcts), left=NOT_TYPED | left)
    reader.follow(text_of(IMPLEMENTING))
    assert reader.typed == wanted
    assert wanted
    assert {path.name for path in tmp_path.iterdir()} >= {"mine.py", "native.py", "rounding.c"}


def typing(dmlcts: Callable[..., Ran], folder: Path | None = None) -> Callable[[list[str]], Step]:
    def typed(words: list[str]) -> Step:
        ran = dmlcts(*words, folder=folder)
        return Step(ran.code, ran.out + ran.err)

    return typed


# Fewer and smaller cases, so that a certification takes a moment; everything else is what a user runs.
FEWER = """
from dataclasses import replace
from dmlcts.suites.generation.profiles import PROFILES
PROFILES.update({name: replace(profile, examples=5) for name, profile in PROFILES.items()})
PROFILES["certification"] = replace(PROFILES["quick"], name="certification", programs=16)
"""
ENTRY = 'if __name__ == "__main__":\n'


def divided(line: str) -> bool:
    return "part1" in line or "part2" in line


@pytest.mark.parametrize(
    "parts",
    [pytest.param(False, marks=pytest.mark.size("thorough")), pytest.param(True, marks=pytest.mark.size("all"))],
)
def test_the_guide_to_certification_does_what_it_shows(parts: bool, tmp_path: Path) -> None:
    """As a wheel is installed, with an implementation that is called `mine`; the second one divides the run.

    That a wheel is built and installed so is `.ci/run`'s to show.
    """
    pytest.importorskip("cryptography", reason="signing needs the extra `certify`")
    site, place = tmp_path / "site", tmp_path / "place"
    site.mkdir()
    place.mkdir()
    installed(site)
    named_mine(site)
    shown = [command.line for command in commands(CERTIFYING)]
    others = [line for line in shown if divided(line) != parts and not (parts and "keygen" in line)]
    with typing_installed(site, place) as typed:
        reader = Reader(place, typed, left=NOT_TYPED | dict.fromkeys(others, "typed with the other parameter"))
        reader.follow(text_of(CERTIFYING))
    assert reader.typed == [line for line in shown if line not in NOT_TYPED and line not in others]
    if not parts:
        page = (place / "verification.md").read_text(encoding="utf-8")
        assert page.startswith("# Submission submission.zip: PASS")


@contextmanager
def typing_installed(site: Path, place: Path) -> Iterator[Callable[[list[str]], Step]]:
    """Types commands in a place for the suite that is installed in a folder; on Linux in forked processes."""
    result = {"PYTHONPATH": str(site)}
    if sys.platform != "linux":
        program = f"{FEWER}from dmlcts.suites.commands.main import main\nmain()\n"

        def started(words: list[str]) -> Step:
            done = subprocess.run(
                [sys.executable, "-c", program, *words],
                cwd=place,
                env={**os.environ, **result},
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            return Step(done.returncode, done.stdout + done.stderr)

        yield started
        return
    served = Path(command_server.__file__).read_text(encoding="utf-8")
    assert ENTRY in served
    path = site.parent / "serve.py"
    path.write_text(served.replace(ENTRY, f"{FEWER}{ENTRY}"), encoding="utf-8")
    with command_server.CommandServer(path, result) as server:

        def forked(words: list[str]) -> Step:
            code, out, err = server.run(tuple(words), place)
            return Step(code, out + err)

        yield forked


def named_mine(site: Path) -> None:
    """Install a package that names an implementation `mine`, as section 8 of the guide to backends shows it."""
    about = site / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", encoding="utf-8")
    points = "[dmlcts.backends]\nmine = dmlcts.backends.cpu:CpuBackend\n"
    (about / "entry_points.txt").write_text(points, encoding="utf-8")
    shown = [tomllib.loads(block[2]) for block in FENCE.finditer(text_of(IMPLEMENTING)) if block[1] == "toml"]
    (declared,) = shown
    assert declared["project"]["entry-points"] == {"dmlcts.backends": {"mine": "mine:Backend"}}
    assert declared["tool"]["setuptools"]["py-modules"] == ["mine"], "the module is in the package"


def test_every_command_that_is_not_typed_is_in_a_guide() -> None:
    shown = {command.line for guide in GUIDES for command in commands(guide)}
    assert set(NOT_TYPED) <= shown


def test_the_guide_builds_and_installs_the_suite_as_continuous_integration_does() -> None:
    text = (HOUSE / ".ci" / "steps" / "wheel.sh").read_text(encoding="utf-8")
    assert 'python -m build --outdir "$work/dist" .' in text  # the wheel too, of the source archive
    assert "'$wheel[certify]' pytest-xdist" in text


# What they claim.

VERDICT = re.compile(r"\b[Ee]xit(?:s| codes?)(?: is)? \d|CONFORMANT|INCOMPLETE|\bDRAFT\b|\bPASS with")
DRAFT_CODES = "certification/test_certification.py::test_a_draft_ends_with_the_code_that_it_prints"
STANDINGS = "commands/test_guides.py::test_the_table_of_verdicts_has_their_exit_codes"
LACKING = "judging/test_not_supported.py::test_a_run_without_one_mode_is_incomplete"
BEFORE_HELLO = (
    "runners/test_runners_guide.py::test_the_exit_codes_of_errors_before_hello_in_the_guide_are_those_of_the_code"
)
UNCLAIMED = "runners/test_trial.py::test_a_next_command_that_ends_incomplete_names_the_operators_that_are_not_claimed"
CLAIMS: dict[Path, dict[str, str]] = {
    CERTIFYING: {
        "A required clause that did not run makes the run INCOMPLETE": "4 dmlcts run --backend mine",
        "Each part alone is INCOMPLETE.": "4 dmlcts run --backend mine",
        "`dmlcts certify` refuses a modified suite": "certification/test_certification.py::test_what_makes_a_draft",
        "It is marked as a draft": "4 dmlcts certify --backend mine",
        "The exit code is 4, or 1 if the draft": DRAFT_CODES,
        "`PASS with 2 waived clauses": "commands/test_guides.py::test_waived_clauses_are_counted_as_shown",
        "| DRAFT |": STANDINGS,
        "| INCOMPLETE |": STANDINGS,
        "Exit code 2 is a usage error": "commands/test_guides.py::test_what_cannot_be_verified_is_a_usage_error",
        "Exit codes 5, 6 and 130": "commands/test_guides.py::test_verify_lists_the_codes_without_a_verdict",
        "| `draft` |": "certification/test_tampering.py::test_a_draft_is_a_draft",
    },
    IMPLEMENTING: {
        "`dmlcts replay` exits 1": "1 dmlcts replay",
        "The case of section 3 now passes": "0 dmlcts replay",
        "An operator that `only` leaves out": "4 dmlcts run --backend mine.py:Backend --operator ABS",
        "`dmlcts run` prints that text": "commands/test_guides.py::test_a_missing_device_is_one_line",
        "The suite reports the rest as not supported": "4 dmlcts run --backend mine.py:Backend --operator ABS",
    },
    RUNNERS: {
        "| nothing, garbage or an error instead": "commands/test_guides.py::test_what_is_no_runner_is_one_line",
        "| bad_option or denied instead": BEFORE_HELLO,
        "| unavailable, bad_version |": BEFORE_HELLO,
        "| bad_option, denied |": BEFORE_HELLO,
        "Some clauses also run a second operator": UNCLAIMED,
        "Clauses that depend on answers did not run": "4 dmlcts offline judge",
        "The suite reports required operators and types": LACKING,
        "If you do not claim it, the clause does not run": LACKING,
    },
}
"""How each sentence that names a verdict or an exit code is known: by a command of its guide, or by a test."""


def test_every_claim_is_a_command_of_its_guide_or_a_test() -> None:
    for guide, claims in CLAIMS.items():
        claimed = [sentence for sentence in prose_of(text_of(guide)) if VERDICT.search(sentence)]
        unknown = [sentence for sentence in claimed if not sentence.startswith(tuple(claims))]
        assert not unknown, f"{guide.name} claims what no test shows: {unknown}"
        gone = [begun for begun in claims if not any(sentence.startswith(begun) for sentence in claimed)]
        assert not gone, f"{guide.name} no longer claims: {gone}"
        for shown in claims.values():
            assert shows(guide, shown), f"{guide.name}: there is no {shown}"


def shows(guide: Path, shown: str) -> bool:
    """Whether the guide has a command that begins so and exits so, or the selftests have such a test."""
    module, _, name = shown.partition("::")
    if name:
        return f"def {name}(" in (HOUSE / "suites" / "selftest" / module).read_text(encoding="utf-8")
    code, _, begun = shown.partition(" ")
    return any(command.line.startswith(begun) and command.code == int(code) for command in commands(guide))


def test_the_table_of_verdicts_has_their_exit_codes() -> None:
    from dmlcts.reports.certification.verdict import Line, Standing, Status, Verification

    report = {
        name: int(code) for name, code in re.findall(r"^\| ([A-Z]+) \| .* \| (\d) \|$", text_of(CERTIFYING), re.M)
    }
    status = {"PASS": Status.PASS, "FAIL": Status.FAIL, "DRAFT": Status.OPEN, "INCOMPLETE": Status.OPEN}
    made = {name: Verification((Line("all", item, ""),), name == "DRAFT", {}) for name, item in status.items()}
    assert {name: verification.standing.value for name, verification in made.items()} == {
        name: name for name in Standing
    }
    assert report == {name: verification.exit_code for name, verification in made.items()}


def test_what_cannot_be_verified_is_a_usage_error(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="signing needs the extra `certify`")
    assert dmlcts("verify", "nothing.zip").code == 2
    (tmp_path / "any.zip").write_bytes(b"no archive")
    assert dmlcts("verify", "any.zip", "--trust", "nothing.pub").code == 2
    assert dmlcts("verify", "any.zip").code == 1  # it can be read, and is no submission


def test_verify_lists_the_codes_without_a_verdict(dmlcts: Callable[..., Ran]) -> None:
    text = " ".join(dmlcts("verify", "--help").out.split())
    for code in ("5 the output could not be written", "6 a fault of dmlcts", "130 interrupted"):
        assert code in text


def test_waived_clauses_are_counted_as_shown() -> None:
    from dmlcts.reports.documents.waivers import with_waived

    names = ["round.a", "round.a", "round.b", *["round.c"] * 783]
    rows = [
        {"id": name, "operator": "ROUND", "outcome": "waived" if index < 3 else "pass"}
        for index, name in enumerate(names)
    ]
    (quoted,) = re.findall(r"`(PASS with .*)`", text_of(CERTIFYING))
    assert quoted == with_waived("PASS", rows)


def test_a_missing_device_is_one_line(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    (raised,) = re.findall(r"`(BackendUnavailable\(.*?\))`", text_of(IMPLEMENTING))
    program = f"class BackendUnavailable(Exception): ...\nclass Backend:\n    def open(self):\n        raise {raised}\n"
    (tmp_path / "absent.py").write_text(program, encoding="utf-8")
    ran = dmlcts("run", "--backend", "absent.py:Backend", "--operator", "ROUND")
    assert (ran.code, lines_with("why; what would help", ran)) == (3, 1)


def lines_with(words: str, ran: Ran) -> int:
    return sum(words in line for line in (ran.out + ran.err).splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="the runners here are POSIX's")
def test_what_is_no_runner_is_one_line(dmlcts: Callable[..., Ran]) -> None:
    for words in (("run",), ("backends", "--check")):
        for command in ("false", "echo Hello, world"):
            backend = ("--backend", f"exec:{command}") if words == ("run",) else (f"exec:{command}",)
            ran = dmlcts(*words, *backend)
            assert (ran.code, lines_with("the runner", ran)) == (3, 1), ran.out + ran.err


# What they name.


def options_of(command: click.Command) -> Iterator[str]:
    """The options of a command and of those below it."""
    for parameter in command.params:
        yield from (name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("-"))
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from options_of(below)


def below(command: click.Command, words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words name, and the words behind its name."""
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("guide", GUIDES, ids=[guide.stem for guide in GUIDES])
def test_every_option_and_command_that_a_guide_names_is_there(guide: Path) -> None:
    """Commands of its text, which nobody types; those of its blocks are typed."""
    from dmlcts.suites.commands.main import main

    kit = (HOUSE / "backends" / "runners" / "c" / "dmlcts_runner.c").read_text(encoding="utf-8")
    known = {*options_of(main), *re.findall(r'argv\[i?1?\], "(--[a-z-]+)"', kit)}
    quoted = re.findall(r"`([^`]+)`", FENCE.sub("", text_of(guide)))
    named = {word.partition("=")[0] for item in quoted for word in item.split() if re.match(r"-{1,2}[a-z]", word)}
    assert named - {"-L", "-m", "--help"} <= known, "-L is ssh's and -m Python's"
    for line in quoted:
        if line.startswith("dmlcts "):
            command, words = below(main, line.split()[1:])
            assert not isinstance(command, click.Group) or not words, line
            assert {word for word in words if word.startswith("-")} <= {*options_of(command), "--help"}, line


def test_the_commands_of_the_guide_to_certification_are_read_by_a_verifier() -> None:
    from dmlcts.suites.certification.command import certify_words

    certifying = [
        command.line.split('"') for command in commands(CERTIFYING) if command.line.startswith("dmlcts certify ")
    ]
    assert len(certifying) == 4
    for parts in certifying:
        words = [word for index, part in enumerate(parts) for word in ([part] if index % 2 else part.split())]
        assert certify_words(words[1:])["vendor"] == "ACME"


def test_the_guide_lists_every_option_of_a_certification() -> None:
    from dmlcts.suites.commands.main import main

    (listed,) = re.findall(r"### Options\n(.*?)\n### ", text_of(CERTIFYING), re.DOTALL)
    named = set(re.findall(r"`(--?[a-z-]+)`", listed)) - {"--strict-ieee"}
    assert named == set(options_of(main.commands["certify"])) - {"--help", "-h"}


def test_the_guide_lists_every_file_of_a_submission() -> None:
    from dmlcts.reports.certification import archive

    (listed,) = re.findall(r"## What is in a submission\n(.*?)\n\n## ", text_of(CERTIFYING), re.DOTALL)
    named = {name for row in re.findall(r"^\| (`.*?) \|", listed, re.M) for name in re.findall(r"`(.*?)`", row)}
    members = {
        archive.STATEMENT,
        archive.SIGNATURE,
        archive.RESULTS,
        archive.LOG,
        archive.ENVIRONMENT,
        archive.WAIVERS,
        archive.SWEEP,
        archive.EVIDENCE,
        archive.OUTPUTS,
    }
    assert named == members | {"records-I-of-N.jsonl"}


def test_the_waiver_in_the_guide_is_one() -> None:
    from dmlcts.reports.documents.validation import parse_yaml
    from dmlcts.reports.documents.waivers import read
    from dmlcts.specs.loading import load_tables

    (written,) = (content for kind, content in FENCE.findall(text_of(CERTIFYING)) if kind == "yaml")
    waivers = read(parse_yaml(written.encode(), "waivers-1", "the guide"), "the guide")
    waivers.check_run(load_tables(), VERSION, waivers.entries[0].expires)


VERSION = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_the_version_in_the_guide_is_the_project_s() -> None:
    assert f"a wheel of version {VERSION} from the checkout" in text_of(CERTIFYING)


def test_the_guide_names_every_check() -> None:
    from dmlcts.reports.certification.structure import CHECKS

    (listed,) = re.findall(r"### The checks\n(.*?)\n### ", text_of(CERTIFYING), re.DOTALL)
    named = re.findall(r"^\| `(\w+)` \|", listed, re.MULTILINE)
    early, late = ["archive", "statement", "form"], ["command", "records", "results", "evidence", "sweep"]
    assert named == [*early, *CHECKS, *late]


def test_every_heading_that_is_linked_to_is_there() -> None:
    """From the project's pages; the links between files are tested with the sources."""
    rooms = ("specs", "backends", "reports", "suites")
    pages = [*HOUSE.glob("*.md"), *(page for room in rooms for page in (HOUSE / room).rglob("*.md"))]
    linked = {result for page in pages for result in re.findall(r"(\w+\.md)#([a-z0-9-]+)\)", text_of(page))}
    for guide in GUIDES:
        heads = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(guide)), re.MULTILINE)
        own = re.findall(r"\]\(#([a-z0-9-]+)\)", text_of(guide))
        wanted = {anchor for name, anchor in linked if name == guide.name} | set(own)
        assert wanted <= {re.sub(r"[^a-z0-9 _-]", "", head.lower()).replace(" ", "-") for head in heads}, guide.name
