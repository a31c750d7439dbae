"""The pages for contributors hold: their links lead somewhere, their paths are there, their commands can be given."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from dmlcts.backends.memory_increase import most_memory_increase
from dmlcts.suites.commands.main import main
from dmlcts.suites.mutants.catalogue import MUTANTS
from dmlcts.suites.mutants.permitted import PERMITTED
from dmlcts.suites.selftest.installing import HOUSE

PAGES = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "reports/VERSIONS.md")
pytestmark = pytest.mark.skipif(not (HOUSE / "SECURITY.md").is_file(), reason="the pages are in the checkout only")


def text_of(page: str) -> str:
    return (HOUSE / page).read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """What a page's headings are linked by, as GitHub makes it of their words."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page: Path, text: str) -> list[str]:
    """The links to files and headings of this project that lead nowhere."""
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (heading and heading not in anchors(target.read_text(encoding="utf-8"))):
            dead.append(link)
    return dead


def missing_paths(text: str) -> list[str]:
    """The files and folders in backticks that are not there; a name in capitals is to be filled in."""
    named = re.findall(r"`((?:specs|backends|reports|suites|\.ci|\.github)/[\w./-]*)`", text)
    return [path for path in named if "NAME" not in path and not (HOUSE / path).exists()]


def commands(text: str) -> list[list[str]]:
    """The ``dmlcts`` commands in backticks that name an option or an argument, a word an item."""
    command_lines = [shlex.split(command) for command in re.findall(r"`dmlcts ([^`]*)`", text)]
    return [words for words in command_lines if len(words) > 1]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_paths_lead_somewhere(page: str) -> None:
    assert dead_links(HOUSE / page, text_of(page)) == []
    assert missing_paths(text_of(page)) == []


def test_a_dead_link_and_a_missing_path_are_seen() -> None:
    text = (
        "[a](reports/VERSIONS.md#what-is-supported) [b](reports/VERSIONS.md#no) [c](no.md) `suites/no/` `suites/cases/`"
    )
    assert dead_links(HOUSE / "CONTRIBUTING.md", text) == ["reports/VERSIONS.md#no", "no.md"]
    assert missing_paths(text) == ["suites/no/"]


def read_command(words: list[str]) -> None:
    """Read a command's words as the command line does, and do nothing."""
    group: click.Command = main
    while isinstance(group, click.Group) and words and words[0] in group.commands:
        group, words = group.commands[words[0]], words[1:]
    group.make_context(words[0] if words else "dmlcts", list(words)).close()


@pytest.mark.parametrize("page", PAGES)
def test_commands_can_be_given(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in commands(text_of(page)):
        if words[1:] not in ([], ["HOST:PORT"]):
            read_command(words)


def test_a_command_that_cannot_be_given_is_seen() -> None:
    read_command(["selftest", "--list"])
    with pytest.raises(click.UsageError, match="No such option"):
        read_command(["selftest", "--lists"])


def test_the_implementations_that_are_named_exist() -> None:
    named = re.findall(r"selftest --part \w+ --name (\w+)", text_of("CONTRIBUTING.md"))
    assert len(named) == 2
    assert set(named) <= {implementation.__name__ for implementation in (*MUTANTS, *PERMITTED)}


@pytest.mark.parametrize(
    "what", ["Dispute a verdict", "Add an operator", "Add a backend", "Add a latitude", "Add an option"]
)
def test_each_way_to_contribute_ends_with_its_tests(what: str) -> None:
    section = text_of("CONTRIBUTING.md").partition(f"### {what}\n")[2].partition("\n#")[0]
    assert "pytest suites/selftest/" in section


def test_the_limit_of_memory_is_what_the_page_on_security_states() -> None:
    assert "A process that grows by 4 GiB, or by half of the machine's memory, is ended." in text_of("SECURITY.md")
    assert most_memory_increase() <= 4 << 30
