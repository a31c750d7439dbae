"""The help of every command: grouped, with examples that can be given as they stand, and no formatting signs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from dmlcts.suites.commands.main import SECTIONS, main


def commands(
    command: click.Command = main, words: tuple[str, ...] = ("dmlcts",)
) -> Iterator[tuple[str, click.Command]]:
    """Every command and group, by what is typed for it."""
    yield " ".join(words), command
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            yield from commands(member, (*words, name))


ALL = dict(commands())


def help_of(typed: str) -> str:
    return ALL[typed].get_help(click.Context(ALL[typed], info_name=typed))


def examples(text: str) -> list[str]:
    """The commands that a help shows, each on a line of its own; one that is continued is joined."""
    joined = re.sub(r" \\\n +", " ", text.partition("\nOptions:")[0])
    return re.findall(r"^  (dmlcts .*)$", joined, re.M)


def parsed(example: str) -> None:
    """Read an example as the command line does, and run nothing.

    Raises:
        click.ClickException: it cannot be given so.
    """
    words = shlex.split(example)
    command: click.Command = main
    while isinstance(command, click.Group) and len(words) > 1:
        inner = command.commands.get(words[1])
        if inner is None:
            raise click.UsageError(f"no command {words[1]}")
        command, words = inner, words[1:]
    if isinstance(command, click.Group):
        raise click.UsageError(f"no command of {words[0]}")
    command.make_context(words[0], words[1:])


@pytest.mark.parametrize("typed", [typed for typed in ALL if typed != "dmlcts"])
def test_a_help_shows_an_example_of_its_command_and_each_can_be_given(typed: str) -> None:
    shown = examples(help_of(typed))
    assert any(example == typed or example.startswith(f"{typed} ") for example in shown), help_of(typed)
    for example in shown:
        parsed(example)


@pytest.mark.parametrize(
    "wrong", ["dmlcts report", "dmlcts run --backend cpu --profil x", "dmlcts verfy x.zip", "dmlcts spec", "dmlcts -x"]
)
def test_an_example_that_cannot_be_given_is_seen(wrong: str) -> None:
    with pytest.raises(click.ClickException):
        parsed(wrong)


def test_a_continued_example_is_read_whole() -> None:
    assert examples("x\n\n  dmlcts run \\\n    --resume out\n\nOptions:\n  dmlcts no\n") == ["dmlcts run --resume out"]


def test_no_formatting_sign_is_printed() -> None:
    for typed in ALL:
        assert not re.search(r"\\b|\x08", help_of(typed)), typed


def test_the_help_lists_every_command_under_one_heading() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(main.commands)
    text = help_of("dmlcts")
    assert [text.index(f"\n{heading}:\n") for heading in SECTIONS] == sorted(
        text.index(f"\n{key}:") for key in SECTIONS
    )
    assert "Commands:" not in text
    assert "Commands:" in help_of("dmlcts spec")
