"""Mutation testing of the suite's own code: one small change at a time, which the selftests must notice.

``python -m dmlcts.suites.selftest.house.code_mutation`` changes the modules named in ``mutation_targets`` in memory
(nothing on disk is touched), each change in a process of its own that a server forks with the libraries loaded, and
runs the narrowest selftests that must fail. What survives these meets many more, with whole runs among them, before
it counts (``--narrow`` leaves that out). Surviving changes are expected to stand in ``code_mutation.yaml`` with a
reason each; any other survivor, and any entry that no longer matches a survivor, makes the exit code 1. Needs
``os.fork``, so Linux or macOS. ``-n`` says how many run at a time, ``--shard K/N`` runs every N-th change, ``--time``
only measures how long the tests of unchanged modules take, and ``--list`` runs nothing.

What is changed: comparisons, arithmetic and bitwise operators, ``and``/``or``, numbers (plus one), True/False,
signs and ``not``, conditions (negated), returned values (dropped), slices (a bound dropped or moved), pairs of
functions (min/max, any/all, floor/ceil, zeros/ones, ...), and statements (dropped). What is not: text,
annotations, decorators, imports, and assertions.

Why no library does this, as tried in November 2026 on ``specs/arithmetic/integer_arithmetic.py`` and its 51 tests:
mutmut 3.8.1, the closest, forks and chooses tests by the functions that they call, but only in a copy below
``src/dmlcts`` (here folders are imported under other names than their paths), where it took as long as this program;
it changes neither decorated functions nor what stands outside functions (62 of the 341 explained changes), and numbers
its changes, so that no reason could be kept by what a change is. pytest-gremlins 1.12.2 stopped at a warning of
coverage; without it, it ran all 51 tests for each change, had tried 35 of 86 after two and a half minutes (this program
tried 213 in less than two), and keeps reasons as comments in the code. Not tried, by their sources: cosmic-ray 8.7.0
starts the test command anew for each change and chooses no tests by coverage, and mutatest 3.1.0 needs coverage below
6.0, where pytest-cov needs 7.10 or later.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import CodeType

import click
import yaml

from dmlcts.suites.selftest.house.changed_module import MARKERS, Trial, in_processes, prepare
from dmlcts.suites.selftest.house.code_changes import ROOT, Mutant, mutants
from dmlcts.suites.selftest.house.covering import FOLDER, Covering, merged
from dmlcts.suites.selftest.house.mutation_targets import COVERED, TARGETS, modules, tests_for, wide_tests_for

EXPLAINED = Path(__file__).with_suffix(".yaml")
_UNCHANGED_LIMIT = 600


@dataclass
class Explanation:
    """Changes that no test can notice, and why: an entry of ``code_mutation.yaml``."""

    module: str
    within: str
    line: str
    change: str
    reason: str
    used: bool = False

    def fits(self, mutant: Mutant) -> bool:
        """Whether it speaks about this mutant."""
        return fnmatch(mutant.path, self.module) and (self.within, self.line, self.change) == mutant.key

    def __str__(self) -> str:
        return f"{self.module}, {self.within or 'the module'}: `{self.line}`: {self.change}"


def explanations(path: Path = EXPLAINED) -> list[Explanation]:
    """The entries of ``code_mutation.yaml``, one for each change."""
    entries = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []:
        if not entry["reason"].strip():
            raise ValueError(f"{path.name}: an entry without a reason: {entry}")
        for change in entry["changes"]:
            entries.append(Explanation(entry["module"], entry["within"], entry["line"], change, entry["reason"]))
    return entries


def unexplained(left: Sequence[Mutant], known: Sequence[Explanation]) -> list[Mutant]:
    """The survivors that no entry explains; marks the entries that explain one."""
    unexplained_mutants = []
    for mutant in left:
        fitting = [entry for entry in known if entry.fits(mutant)]
        for entry in fitting:
            entry.used = True
        if not fitting:
            unexplained_mutants.append(mutant)
    return unexplained_mutants


@dataclass(frozen=True)
class Module:
    """A module, the changes of it that are tried, and the tests that must notice them."""

    path: Path
    tree: ast.Module
    mutants: tuple[Mutant, ...]
    tests: tuple[str, ...]
    whole: bool = False

    def unchanged(self) -> Trial:
        """The tests of the module as it is."""
        return Trial(
            self.path, lambda: compile(self.tree, str(self.path), "exec"), self.tests, _UNCHANGED_LIMIT, self.whole
        )

    def changed(self, mutant: Mutant, tests: tuple[str, ...], limit: float) -> Trial:
        """Some tests of a mutant."""

        def compiled() -> CodeType:
            mutant.site.put(mutant.replacement)  # in the forked process: the tree here stays as it is
            return compile(self.tree, str(self.path), "exec")

        return Trial(self.path, compiled, tests, limit, self.whole)

    def widely(self, left: Sequence[Mutant]) -> Module:
        """The module with those of its mutants that survived, and the many tests that these meet."""
        tests = wide_tests_for(str(self))
        return Module(
            self.path, self.tree, tuple(mutant for mutant in self.mutants if mutant in left), tests, whole=True
        )

    def __str__(self) -> str:
        return self.path.relative_to(ROOT).as_posix()


def chosen_modules(paths: Sequence[Path], only: str, shard: tuple[int, int]) -> list[Module]:
    """The modules, with those of their changes that are asked for."""
    selected_modules, place = [], 0
    for path in paths:
        tree, changes = mutants(path)
        tests = tests_for(path.relative_to(ROOT).as_posix()) if changes else ()
        asked = []
        for mutant in changes if tests else ():
            if only in str(mutant):
                place += 1
                if place % shard[1] == shard[0] % shard[1]:
                    asked.append(mutant)
        if asked:
            selected_modules.append(Module(path, tree, tuple(asked), tests))
    return selected_modules


def unchanged_seconds(chosen: Sequence[Module], workers: int) -> dict[tuple[str, ...], float]:
    """How many seconds of processor time each choice of tests takes on the modules as they are.

    Raises:
        SystemExit: tests fail without any change.
    """
    seconds_by_tests: dict[tuple[str, ...], float] = {}
    one_each = {module.tests: module for module in chosen}.values()
    for trial in in_processes((module.unchanged() for module in one_each), workers):
        if trial.end != "survived":
            raise SystemExit(
                f"{trial.path.relative_to(ROOT)}: the tests fail without any change ({trial.end})\n{trial.wording}"
            )
        seconds_by_tests[tuple(trial.tests)] = trial.seconds
    return seconds_by_tests


@dataclass(frozen=True)
class Choice:
    """Which tests each mutant meets: its module's, or, where it is known what they execute, those of its line.

    Attributes:
        seconds: processor time of each module's choice of tests.
        covering: which tests execute which lines.
        most: seconds of such tests for one mutant.
    """

    seconds: dict[tuple[str, ...], float]
    covering: Covering | None = None
    most: float = 0.0

    def trial(self, module: Module, mutant: Mutant) -> Trial:
        """The trial of a mutant of a module."""
        tests, seconds = module.tests, self.seconds[module.tests]
        if self.covering is not None:
            known, took = self.covering.chosen(mutant.path, mutant.within, mutant.line, self.most)
            if known:
                tests, seconds = known, took
        return module.changed(mutant, tests, 5 * seconds + 15)


def survivors(
    chosen: Sequence[Module], choice: Choice, workers: int, print_line: Callable[[str], None]
) -> tuple[list[Mutant], Counter[str]]:
    """Run the changes, those that may take longest first; the survivors, and how many ended in which way.

    Raises:
        SystemExit: a module's tests do not import it, or there are none.
    """
    tried: dict[int, Mutant] = {}

    def trials() -> Iterator[Trial]:
        for module in sorted(chosen, key=lambda module: -choice.seconds[module.tests]):
            for mutant in module.mutants:
                trial = choice.trial(module, mutant)
                tried[id(trial)] = mutant
                yield trial

    ends: dict[Path, Counter[str]] = {module.path: Counter() for module in chosen}
    took: Counter[Path] = Counter()
    left: list[Mutant] = []
    named = {module.path: module for module in chosen}
    for trial in in_processes(trials(), workers):
        mutant = tried.pop(id(trial))
        end = trial.end
        if end not in ("killed", "timeout", "survived"):
            raise SystemExit(f"{mutant}: {end}\n{trial.wording}")
        ends[trial.path][end] += 1
        took[trial.path] += trial.seconds
        if end == "survived":
            left.append(mutant)
        if end != "killed":
            print_line(f"  {end}: {mutant.within}: {mutant}")
        here = ends[trial.path]
        if sum(here.values()) == len(named[trial.path].mutants):
            print_line(
                f"{named[trial.path]}: {sum(here.values())} mutants, {here['killed']} killed, {here['timeout']} "
                f"timed out, {here['survived']} survived, {took[trial.path]:.0f} s of processor time"
            )
    return sorted(left, key=lambda mutant: (mutant.path, mutant.line)), sum(ends.values(), Counter())


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not K/N with K from 1 to N")
    return int(number), int(count)


def _workers(text: str) -> int:
    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on, or auto")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it as a program; the exit code."""
    parser = argparse.ArgumentParser(prog="code_mutation", description="Mutation testing of the suite's own code.")
    parser.add_argument("--module", action="append", metavar="GLOB", help="files, folders or globs from the root")
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants whose path:line: change holds it")
    parser.add_argument("--shard", type=_shard, default=(1, 1), metavar="K/N", help="only every N-th mutant, from K")
    parser.add_argument("-n", type=_workers, default=1, metavar="N", dest="workers", help="at a time, or auto")
    parser.add_argument("--list", action="store_true", help="list the mutants, run nothing")
    parser.add_argument("--cover", type=Path, metavar="FILE", help="only find out which tests execute what; keep it")
    parser.add_argument("--covering", type=Path, metavar="FILE", help="what --cover kept: choose tests by it")
    parser.add_argument("--most", type=float, default=30.0, metavar="SECONDS", help="of such tests for one change")
    parser.add_argument("--narrow", action="store_true", help="let survivors of the narrow tests meet no others")
    parser.add_argument("--time", action="store_true", help="run the tests of the unchanged modules alone")
    asked = parser.parse_args(arguments)
    if asked.cover:
        return _cover(asked.cover, asked.workers)
    paths = modules(asked.module or [target.modules for target in TARGETS])
    if not paths:
        raise SystemExit(f"no module matches {asked.module}")
    chosen = chosen_modules(paths, asked.only, asked.shard)
    if asked.list:
        for module in chosen:
            for mutant in module.mutants:
                click.echo(f"{mutant.within}: {mutant}")
        return 0
    prepare()
    seconds = unchanged_seconds(chosen, asked.workers)
    if asked.time:
        for module in chosen:
            took = seconds[module.tests]
            click.echo(f"{module}: {len(module.mutants)} mutants, {took:.1f} s each at most")
        total = sum(len(module.mutants) * seconds[module.tests] for module in chosen)
        click.echo(f"{sum(len(module.mutants) for module in chosen)} mutants, {total / 60:.0f} minutes at most")
        return 0
    covering = Covering.read(asked.covering) if asked.covering else None
    left, ends = survivors(chosen, Choice(seconds, covering, asked.most), asked.workers, click.echo)
    if left and not asked.narrow:
        click.echo(f"{len(left)} survived the narrow tests; now many more, with whole runs")
        widely = [module.widely(left) for module in chosen if any(candidate in left for candidate in module.mutants)]
        seconds = unchanged_seconds(widely, asked.workers)
        left, late = survivors(widely, Choice(seconds), asked.workers, click.echo)
        ends = ends - Counter(survived=late.total()) + late
    return _account(left, ends, paths, everything=not asked.module, part=asked.only != "" or asked.shard[1] > 1)


def _cover(file: Path, workers: int) -> int:
    """Run the selftests that may notice a change, and keep which lines each executes; pytest's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        plugins = ["no:cacheprovider", "xdist.plugin", "dmlcts.suites.selftest.house.covering"]
        words = ["-q", "--noconftest", "-o", MARKERS, "-n", str(workers), *(f"-p{name}" for name in plugins), *COVERED]
        environment = os.environ | {FOLDER: folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, check=False)
        merged(Path(folder)).write(file)
    return done.returncode


def _account(left: list[Mutant], ends: Counter[str], paths: Sequence[Path], *, everything: bool, part: bool) -> int:
    """Say what no entry explains, and which entries explain nothing (of a part that is not known); the exit code."""
    known = explanations()
    open_ones = unexplained(left, known)
    judged = [path.relative_to(ROOT).as_posix() for path in paths]
    stale = (
        []
        if part
        else [
            entry
            for entry in known
            if not entry.used and (everything or any(fnmatch(path, entry.module) for path in judged))
        ]
    )
    for mutant in open_ones:
        click.echo(f"SURVIVED, and unexplained: {mutant.within}: {mutant}")
    for entry in stale:
        click.echo(f"EXPLAINED, but no survivor: {entry}")
    click.echo(
        f"{ends.total()} mutants: {ends['killed']} killed, {ends['timeout']} timed out, "
        f"{ends['survived']} survived, {len(open_ones)} of them unexplained; {len(stale)} stale entries"
    )
    return 1 if open_ones or stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
