"""The table of options: one row is an option everywhere, and spellings of earlier versions mean what they meant."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from dmlcts.backends.interpreter import safe_environment
from dmlcts.reports.documents.journal import read_journal
from dmlcts.specs import UsageError
from dmlcts.suites.commands.main import main
from dmlcts.suites.generation.profiles import PROFILES
from dmlcts.suites.options import table as rows
from dmlcts.suites.options.command_line import click_options
from dmlcts.suites.options.option import PYTEST, At, Kind, Option, OptionTable
from dmlcts.suites.options.pytest_options import add_options, typed_options
from dmlcts.suites.options.table import OPTIONS
from dmlcts.suites.options.value import read_shard
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.resume import resumed_settings
from dmlcts.suites.running.run import Run

ROOT = Path(__file__).resolve().parents[3]
OLD = {
    *((command, "--strict") for command in ("run", "replay", "probe", "compare", "sweep", "offline export")),
    *((command, "--timeout") for command in ("run", "replay", "probe", "certify", "backends", "sweep")),
    ("certify", "--operators"),
    *((command, "-o") for command in ("certify", "merge", "offline export")),
}
"""Spellings on which programs outside may rely."""
BUDGET = Option(
    "budget",
    ("--budget",),
    "How much the run may cost.",
    at=("run", PYTEST),
    kind=Kind.NUMBER,
    metavar="COINS",
    least=1,
    most=100,
    default="9",
    setting=True,
    journal=True,
    noun="the budget",
)
LONGER = OptionTable((*OPTIONS, BUDGET))
SELECTION: dict[str, Any] = {"operators": ["IS_NAN"], "clauses": ["is-nan.formula"]}


def command_of(typed: str) -> click.Command:
    """The command of dmlcts that is typed so."""
    command: click.Command = main
    for word in typed.split():
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


def sample(row: Option) -> list[str]:
    """A value that an option takes, as a word; no word for a flag."""
    if row.kind is Kind.FLAG:
        return []
    if row.kind is Kind.PAIRS:
        return ["feature_level=3.0"]
    if row.kind in (Kind.NUMBER, Kind.SECONDS):
        return ["7"]
    if row.name == "feature_level":
        return ["5.0"]
    return [row.choices[0] if row.choices else "clip"]


def read(typed: str, spelling: str, row: Option) -> dict[str, Any]:
    """The parameters that a command reads where one option is typed, and what else it requires."""
    words = [spelling, *sample(row)]
    for other in OPTIONS.of(typed):
        if other.required and other.name != row.name:
            words += [other.spelling, *sample(other)]
    command = command_of(typed)
    words += ["a" for parameter in command.params if isinstance(parameter, click.Argument) and parameter.required]
    with command.make_context(typed, words) as context:
        return dict(context.params)


def listed(help_text: str, spelling: str) -> bool:
    """Whether a help names a spelling as an option."""
    options = help_text.partition("Options:")[2]
    return re.search(rf"^  (-\w, )?{re.escape(spelling)}\b(?!-)", options, re.M) is not None


def old_spellings() -> Iterator[tuple[str, Option, str]]:
    """The commands of the table, and each option there with a spelling of an earlier version."""
    for command in sorted({command for row in OPTIONS for command in row.commands} - {PYTEST}):
        for row in OPTIONS.of(command):
            yield from ((command, row, spelling) for spelling in row.old)


# One row.


def test_a_row_is_an_option_in_the_help_of_run() -> None:
    command = click.Command("run", params=[*click_options("run", LONGER)])
    with command.make_context("run", ["--budget", "7"]) as context:
        assert context.params["budget"] == "7"
        assert re.search(r"--budget COINS +How much the run may cost.  \[default: 9\]", command.get_help(context))
    usual = click.Command("run", params=[*click_options("run")])
    with pytest.raises(click.NoSuchOption, match="budget"):
        usual.make_context("run", ["--budget", "7"])


def test_a_row_is_an_option_of_pytest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Plugin:
        @staticmethod
        def pytest_addoption(parser: pytest.Parser) -> None:
            add_options(parser.getgroup("longer"), LONGER)

    class Reading:
        @staticmethod
        def pytest_cmdline_main(config: pytest.Config) -> int:
            settings.update(typed_options(config, LONGER))
            return 0

    settings: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    code = pytest.main(["-p", "no:cacheprovider", "--budget=7", "--clause=a", "--clause=b"], [Plugin(), Reading()])
    assert code == 0
    assert (settings["budget"], settings["clauses"], settings["profile"]) == ("7", ["a", "b"], "quick")


def test_a_row_is_a_setting() -> None:
    settings = Settings.read(LONGER, budget="7", seed=3)
    assert (settings.value("budget"), settings.value("seed")) == (7, 3)
    assert Settings.read(LONGER).value("budget") == 9
    assert "--budget=7" in settings.arguments()
    assert settings.described() == Settings.read(seed=3).described() | {"budget": 7}
    with pytest.raises(UsageError, match="the budget 'x' is not a whole number from 1 to 100"):
        Settings.read(LONGER, budget="x")
    with pytest.raises(TypeError, match="no options of a run: budget"):
        Settings.read(budget="7")
    with pytest.raises(KeyError):
        Settings.read().value("budget")


def test_a_row_is_in_the_journal_and_resumed(tmp_path: Path) -> None:
    folder = str(tmp_path / "results")
    run = Run(Settings.read(LONGER, budget="7", results=folder, **SELECTION))
    run.begin()
    run.close()
    assert read_journal(folder).header["budget"] == 7
    resumed = resumed_settings(folder, {"budget": None}, set(), LONGER)
    assert (resumed.value("budget"), resumed.value("clauses")) == (7, ("is-nan.formula",))
    assert resumed_settings(folder, {"budget": "7"}, {"budget"}, LONGER) == resumed
    with pytest.raises(UsageError, match="the budget: 7 there, 8 here"):
        resumed_settings(folder, {"budget": "8"}, {"budget"}, LONGER)


ROW = """
    Option(
        "budget",
        ("--budget",),
        "How much the run may cost.",
        at=("run", PYTEST),
        kind=Kind.NUMBER,
        default="9",
        setting=True,
        journal=True,
        noun="the budget",
    ),
"""


@pytest.mark.size("thorough")
def test_a_row_in_a_copy_of_the_suite_is_an_option_everywhere(tmp_path: Path) -> None:
    """Nothing but the file of the table is edited, and the commands are those that people type."""
    house = tmp_path / "copy" / "dmlcts"
    house.mkdir(parents=True)
    for room in ("specs", "backends", "reports"):
        (house / room).symlink_to(ROOT / room, target_is_directory=True)
    shutil.copytree(ROOT / "suites", house / "suites", ignore=shutil.ignore_patterns("selftest", "__pycache__"))
    edited = house / "suites" / "options" / "table.py"
    text = edited.read_text(encoding="utf-8")
    beginning = "_JUDGED: Final = (\n"
    assert text.count(beginning) == 1
    edited.write_text(text.replace(beginning, beginning + ROW.lstrip("\n")), encoding="utf-8")

    def typed(*words: str) -> str:
        environment = dict(safe_environment()) | {"PYTHONPATH": str(house.parent)}
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    dmlcts = "dmlcts.suites.commands.main"
    assert "--budget" in typed(dmlcts, "run", "--help")
    assert "--budget" not in typed(dmlcts, "probe", "--help")
    assert "--budget" in typed("pytest", "-p", "dmlcts.suites.plugin", "--help")
    selection = ("--operator", "IS_NAN", "--data-type", "FLOAT16", "--clause", "is-nan.formula")
    assert "--budget=7" in typed(dmlcts, "run", "--backend", "cpu", *selection, "--budget", "7", "-v")
    header = json.loads((tmp_path / "results" / "records.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert 7 in (header.get("budget"), header.get("run", {}).get("budget"))
    assert "--budget=7" in typed(dmlcts, "run", "--resume", "results", "-v")
    assert os.path.realpath(house / "suites") != os.path.realpath(ROOT / "suites")


# Spellings of earlier versions.


def test_no_spelling_of_an_earlier_version_is_missing() -> None:
    assert {(command, spelling) for command, _, spelling in old_spellings()} == OLD


@pytest.mark.parametrize(
    ("command", "row", "spelling"), [pytest.param(*case, id=f"{case[0]} {case[2]}") for case in old_spellings()]
)
def test_an_old_spelling_means_the_same_and_is_not_listed(command: str, row: Option, spelling: str) -> None:
    old, new = read(command, spelling, row), read(command, row.spelling, row)
    assert old == new
    usual = row.usual if not row.required else None
    assert old[row.name] != usual, "it is read"
    names = {row.name for row in OPTIONS.settings} & old.keys() - {"operators", "clauses"}
    if command not in ("merge", "certify"):
        before = Settings.read(**{name: old[name] for name in names if name != "backend"})
        assert before == Settings.read(**{name: new[name] for name in names if name != "backend"})
    with command_of(command).make_context(command, [], resilient_parsing=True) as context:
        text = command_of(command).get_help(context)
    assert listed(text, row.spelling)
    assert not listed(text, spelling)


def test_an_error_names_the_present_spelling() -> None:
    with pytest.raises(click.BadParameter) as raised:
        command_of("sweep").make_context("sweep", ["--backend", "cpu", "--timeout", "soon"])
    assert "--block-timeout" in raised.value.format_message()
    assert "'--timeout'" not in raised.value.format_message()


CERTIFY = ("--backend", "cpu", "--product", "P", "--vendor", "V")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "adapter=1", "--output", "s.zip"), "write --option adapter=1, or --output"),
        (("-o", "adapter=1", "-o", "s.zip"), "write --option adapter=1"),
        (("-o", "adapter=1"), "may be an option of the backend"),
        (("-o", "a.zip", "--output", "s.zip"), "give it once"),
    ],
    ids=["and the output", "and the output as before", "alone", "twice"],
)
def test_an_old_spelling_that_may_be_another_option_is_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        command_of("certify").make_context("certify", [*CERTIFY, *words])


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("-o", "s.zip", "--option", "adapter=1"), "s.zip"),
        (("-o", "a=1.zip"), "a=1.zip"),
        (("-o", "a.zip", "-o", "s.zip"), "s.zip"),
        (("--output", "a=1"), "a=1"),
    ],
    ids=["beside an option", "an archive", "twice", "the listed one"],
)
def test_an_old_spelling_that_is_clear_is_taken(words: tuple[str, ...], output: str) -> None:
    with command_of("certify").make_context("certify", [*CERTIFY, *words]) as context:
        assert context.params["output"] == output


def test_a_wrong_value_by_an_old_spelling_is_refused_for_what_it_is() -> None:
    """No other option is spelled --timeout, so a value with = is a bad time, and no option of the backend."""
    with command_of("run").make_context("run", ["--backend", "cpu", "--timeout", "adapter=1"]) as context:
        assert context.params["timeout"] == "adapter=1"
    with pytest.raises(UsageError, match="the time limit 'adapter=1' is not a number of seconds"):
        Settings.read(timeout="adapter=1")


def test_both_spellings_of_a_repeatable_option_count() -> None:
    words = [*CERTIFY, "--output", "s.zip", "--operators", "clip", "--operator", "round"]
    with command_of("certify").make_context("certify", words) as context:
        assert sorted(context.params["operators"]) == ["clip", "round"]


def test_a_spelling_is_of_one_option_alone() -> None:
    """Whichever command it is typed for; what is not listed any more may have meant several."""
    owners: dict[str, set[str]] = {}
    for command in {command for row in OPTIONS for command in row.commands}:
        for row in OPTIONS.rows:
            if command in row.commands:
                for spelling in row.for_command(command).spellings:
                    owners.setdefault(spelling, set()).add(row.name)
    assert {spelling: names for spelling, names in owners.items() if len(names) > 1} == {}


# The table.


def test_rows_that_hide_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="the same name"):
        OptionTable((BUDGET, BUDGET))
    price = Option("price", ("--price",), "", at=("run",), old=("--budget",))
    with pytest.raises(ValueError, match="two options of run are spelled --budget"):
        OptionTable((BUDGET, price))
    elsewhere = Option("price", ("--price",), "", at=("probe", At("run", old=())), old=("--budget",))
    assert len(list(OptionTable((BUDGET, elsewhere)))) == 2


def test_the_table_names_the_profiles_that_there_are() -> None:
    assert tuple(PROFILES) == rows.PROFILES


def test_what_the_journal_keeps_is_a_setting_with_a_noun() -> None:
    assert all(row.setting and row.noun for row in OPTIONS.journal)
    names = [row.name for row in OPTIONS.journal]
    assert list(Settings.read().described()) == names
    assert set(names) == {
        *("backend", "options", "operators", "data_types", "clauses", "feature_level", "profile", "seed", "strict"),
        *("extra_tables", "isolation", "timeout", "shard"),
    }, "the fields of a journal's first line: programs outside read them"


def test_a_shard_is_a_part_of_so_many() -> None:
    assert read_shard("1/4") == (1, 4)
    assert read_shard("9999/9999") == (9999, 9999)
    for text in ("0/4", "5/4", "1/0", "1/10000", "01/4", "1", "1/4/2", "-1/4", "1/4 ", ""):
        with pytest.raises(UsageError, match="--shard 1/4"):
            read_shard(text)


def test_the_option_that_is_proposed_for_a_misspelled_one_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["certify", "--timeou", "3"])
    message = capfd.readouterr().err
    assert "'--dispatch-timeout'" in message
    assert "'--timeout'" not in message
