"""Every option of a command stands in the table of options, and no module defines one beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dmlcts.suites.commands.main import main
from dmlcts.suites.options.command_line import TableOption
from dmlcts.suites.selftest.house.test_rooms import ROOT, modules

TABLE_ROOM = ROOT / "suites" / "options"
SCRIPTS = (
    "reports/comparing/judged.py",
    "suites/benchmarks/isolation_overhead.py",
    "suites/benchmarks/runner_overhead.py",
    "suites/benchmarks/sweep_variants.py",
    "suites/benchmarks/wgpu_overhead.py",
)
"""Modules that are started by themselves and are no commands of dmlcts."""
DEFINING = ("option", "Option", "addoption", "add_option", "add_argument")
_MAY_DEFINE = re.compile(rf"\b(?:{'|'.join(DEFINING)})\b")
"""What stands in a module that defines one; the others need not be parsed, which takes long."""


def definitions(source: str) -> Iterator[str]:
    """The options that a module defines: the first spelling of each, by the calls that define options."""
    if not _MAY_DEFINE.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            words = [
                word for argument in node.args[:1] for word in ast.walk(argument) if isinstance(word, ast.Constant)
            ]
            if name in DEFINING and words and isinstance(words[0].value, str) and words[0].value.startswith("-"):
                yield words[0].value


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """All commands of a group by how they are typed, those of groups below it included."""
    for name, command in group.commands.items():
        typed = f"{path} {name}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, typed)
        else:
            yield typed, command


def outside(command: click.Command) -> list[str]:
    """The options of a command that are not of the table."""
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return [option.opts[-1] for option in options if not isinstance(option, TableOption)]


def test_no_module_defines_an_option_outside_the_table() -> None:
    paths: list[Path] = [path for path in modules() if TABLE_ROOM not in path.parents]
    defined = {path.relative_to(ROOT).as_posix(): list(definitions(path.read_text("utf-8"))) for path in paths}
    assert {path for path, options in defined.items() if options} == set(SCRIPTS)


@pytest.mark.parametrize(
    "planted",
    [
        'click.option("--budget", help="An option outside the table.")',
        'option("-b", "--budget")',
        'click.Option(["--budget"])',
        'group.addoption("--budget", default="1")',
        'parser.add_argument("--budget")',
    ],
)
def test_an_option_outside_the_table_is_seen(planted: str) -> None:
    assert len(list(definitions(f"def build(group, parser):\n    {planted}\n"))) == 1
    assert list(definitions("row = Option('budget', ('--budget',), 'A row of the table.')\nread('--budget')\n")) == []


def test_every_option_of_every_command_is_a_row_of_the_table() -> None:
    assert {typed: outside(command) for typed, command in commands(main) if outside(command)} == {}
    assert len(list(commands(main))) > 25


def test_a_command_with_an_option_of_its_own_is_seen() -> None:
    @click.command()
    @click.option("--budget")
    def planted(budget: str) -> None:
        """Take an option that is in no table."""

    assert outside(planted) == ["--budget"]
