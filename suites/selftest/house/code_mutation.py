"""Mutation testing of the suite's own code: one small change at a time, which the selftests must notice.

``python -m dmlcts.suites.selftest.house.code_mutation [--module GLOB]... [--list] [--only TEXT]`` changes the given
modules in memory (nothing on disk is touched), each change in a process of its own that a server forks with the
libraries loaded, and runs the narrowest selftests that must fail. Surviving changes are expected to stand in
``code_mutation.yaml`` with a reason each; any other survivor, and any entry that no longer matches a survivor,
makes the exit code 1. Needs ``os.fork``, so Linux or macOS.

What is changed: comparisons, arithmetic and bitwise operators, ``and``/``or``, numbers (plus one), True/False,
signs and ``not``, conditions (negated), returned values (dropped), slices (a bound dropped or moved), pairs of
functions (min/max, any/all, floor/ceil, zeros/ones, ...), and statements (dropped). What is not: text,
annotations, decorators, imports, and assertions.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import click
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
EXPLAINED = Path(__file__).with_suffix(".yaml")
_SELFTEST = "suites/selftest"
_PRELOADED = ("hypothesis.strategies", "numpy", "numpy.testing", "jsonschema", "pydantic", "rich.table", "click",
              "dmlcts.specs.loading", "dmlcts.specs.rules", "dmlcts.backends.registry")  # fmt: skip
_MOST_MEMORY = 8 << 30
_SURVIVED, _KILLED, _NOT_LOADED, _NO_TESTS = 0, 1, 71, 72


@dataclass(frozen=True)
class Target:
    """Modules, and what must notice that one of them is changed.

    Attributes:
        modules: a glob of paths from the repository's root, which also finds the parts of a module made a package.
        tests: arguments for pytest.
    """

    modules: str
    tests: tuple[str, ...]


_JUDGING = (
    f"{_SELFTEST}/judging/test_judging.py",
    f"{_SELFTEST}/judging/test_judging_closely.py",
    f"{_SELFTEST}/judging/test_expecting_closely.py",
    f"{_SELFTEST}/judging/test_relations_closely.py",
    f"{_SELFTEST}/judging/test_state_closely.py",
    "-k",
    "not strangers",
)
TARGETS = (
    Target("specs/oracle/*_typed*", (f"{_SELFTEST}/oracles/test_typed_oracles.py",)),
    Target(
        "specs/oracle/vector*",
        (f"{_SELFTEST}/oracles/test_vectorised_oracle.py", f"{_SELFTEST}/oracles/test_oracle_quickly.py"),
    ),
    Target(
        "specs/arithmetic/vector*",
        (f"{_SELFTEST}/oracles/test_vectorised_oracle.py", f"{_SELFTEST}/oracles/test_oracle_quickly.py"),
    ),
    Target("specs/functions/*", (f"{_SELFTEST}/formula/test_functions.py",)),
    Target("suites/cases/memory*", _JUDGING),
    Target("suites/judging/*", _JUDGING),
)

# ------------------------------------------------------------------------------------------ the changes

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
_PAIRS = [("min", "max"), ("any", "all"), ("floor", "ceil"), ("minimum", "maximum"), ("fmin", "fmax"),
          ("zeros", "ones"), ("add", "subtract")]  # fmt: skip
_NAMES = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}


@dataclass
class Site:
    """A node of the tree, where it hangs, and where it stands."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST
    within: str

    def put(self, node: ast.AST) -> None:
        """Hang another node there."""
        ast.copy_location(node, self.node)
        ast.fix_missing_locations(node)
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


@dataclass
class Mutant:
    """One change of one module."""

    path: str
    line: int
    within: str
    source: str
    change: str
    site: Site = field(repr=False)
    replacement: ast.AST = field(repr=False)

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it while lines are added elsewhere."""
        return self.within, self.source, self.change

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.change}"


_UNTOUCHED = {"annotation", "returns", "decorator_list", "format_spec", "type_params"}


def sites(node: ast.AST, within: str = "") -> Iterator[Site]:
    """Every node below ``node`` that may be changed."""
    for name, value in ast.iter_fields(node):
        if name in _UNTOUCHED or isinstance(node, (ast.Import, ast.ImportFrom, ast.Assert)):
            continue
        several = isinstance(value, list)
        for index, child in enumerate(value if several else [value]):
            if not isinstance(child, ast.AST):
                continue
            inner = within
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = f"{within}.{child.name}".lstrip(".")
            yield Site(node, name, index if several else None, child, within)
            yield from sites(child, inner)


def _clone(node: Any, **changes: Any) -> Any:
    cloned = copy.copy(node)
    for name, value in changes.items():
        setattr(cloned, name, value)
    return cloned


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    """Other expressions to put in the place of this one."""
    match node:
        case ast.Compare(ops=ops):
            for index, operator in enumerate(ops):
                yield _clone(node, ops=[*ops[:index], _COMPARISONS[type(operator)](), *ops[index + 1 :]])
        case ast.BinOp(op=operator) if type(operator) in _OPERATORS:
            yield _clone(node, op=_OPERATORS[type(operator)]())
        case ast.BoolOp(op=operator):
            yield _clone(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Name(id=name, ctx=ast.Load()) if name in _NAMES:
            yield _clone(node, id=_NAMES[name])
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in _NAMES:
            yield _clone(node, attr=_NAMES[name])
        case ast.IfExp(test=test):
            yield _clone(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Slice(lower=lower, upper=upper, step=step):
            for bound, name in ((lower, "lower"), (upper, "upper"), (step, "step")):
                if bound is not None:
                    yield _clone(node, **{name: None})
                    if name != "step" and not isinstance(bound, (ast.Constant, ast.UnaryOp)):
                        yield _clone(node, **{name: ast.BinOp(bound, ast.Add(), ast.Constant(1))})
        case ast.comprehension(ifs=ifs):
            for index, test in enumerate(ifs):
                yield _clone(node, ifs=[*ifs[:index], ast.UnaryOp(ast.Not(), test), *ifs[index + 1 :]])


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Other statements to put in the place of this one."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            yield _clone(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield ast.Return(ast.Constant(None))
        case ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield ast.Pass()
        case ast.AugAssign(op=operator):
            yield ast.Pass()
            if type(operator) in _OPERATORS:
                yield _clone(node, op=_OPERATORS[type(operator)]())
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.match_case(guard=guard) if guard is not None:
            yield _clone(node, guard=ast.UnaryOp(ast.Not(), guard))


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _text(node: ast.AST) -> str:
    """A node in one line: of a compound statement only its head."""
    match node:
        case ast.If(test=test):
            return f"if {ast.unparse(test)}"
        case ast.While(test=test):
            return f"while {ast.unparse(test)}"
        case ast.match_case(guard=guard):
            return f"case if {ast.unparse(guard)}" if guard else "case"
        case ast.Slice():
            return ast.unparse(ast.Subscript(ast.Name(""), node))
    return " ".join(ast.unparse(node).split())


def mutants(path: Path) -> tuple[ast.Module, list[Mutant]]:
    """The module's tree, and every change of it."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = ast.parse(source)
    found: list[Mutant] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for site in sites(tree):
        if _hidden(site):
            continue
        for replacement in (*_expressions(site.node), *_statements(site.node)):
            line = _line(site)
            change = f"{_text(site.node)} -> {_text(replacement)}"
            mutant = Mutant(path.relative_to(ROOT).as_posix(), line, site.within, lines[line - 1].strip(), change,
                            site, replacement)  # fmt: skip
            seen[mutant.key] += 1
            if seen[mutant.key] > 1:
                mutant.change += f" #{seen[mutant.key]}"
            found.append(mutant)
    return tree, found


def _line(site: Site) -> int:
    for node in (site.node, *ast.walk(site.node), site.parent):
        if hasattr(node, "lineno"):
            return int(node.lineno)
    raise AssertionError("no node without a place")


def _hidden(site: Site) -> bool:
    """Whether the node only decides what a traceback shows."""
    return isinstance(site.parent, ast.Assign) and ast.unparse(site.parent.targets[0]) == "__tracebackhide__"


# ------------------------------------------------------------------------------------------ running one


class _Substitute(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, and loads it from the given code."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self.name = name
        self.path = path
        self.code = code
        self.loaded = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        package = self.path.name == "__init__.py"
        spec = importlib.machinery.ModuleSpec(name, self, origin=str(self.path), is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [str(self.path.parent)]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        self.loaded = True
        exec(self.code, module.__dict__)  # noqa: S102  # the module itself, changed


def module_name(path: Path) -> str:
    """The name under which the suite imports a file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("dmlcts", *parts)).removesuffix(".__init__")


def _in_child(path: Path, compiled: Callable[[], CodeType], tests: Sequence[str], log: int) -> int:
    os.dup2(log, 1)
    os.dup2(log, 2)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    name = module_name(path)
    if name in sys.modules:
        for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == "dmlcts"]:
            del sys.modules[loaded]
    substitute = _Substitute(name, path, compiled())
    sys.meta_path.insert(0, substitute)
    code = pytest.main(["-x", "-q", "--noconftest", "-p", "no:cacheprovider", "--tb=line", *tests])
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        return _NO_TESTS
    if not substitute.loaded:
        return _NOT_LOADED
    return _SURVIVED if code == pytest.ExitCode.OK else _KILLED


def run_changed(path: Path, compiled: Callable[[], CodeType], tests: Sequence[str], limit: float) -> tuple[str, str]:
    """Run the tests against a module made of other code, in a forked process.

    Returns:
        ``survived``, ``killed`` or ``timeout``, and what the tests said.
    """
    with tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            status = _KILLED  # whatever escapes from the changed module
            try:
                status = _in_child(path, compiled, tests, log.fileno())
            finally:
                os._exit(status)
        status = _waited(child, limit)
        log.seek(0)
        said = log.read().decode(errors="replace")
    match status:
        case None:
            return "timeout", said
        case 0:
            return "survived", said
        case 71 | 72:
            problem = "its tests do not import it" if status == _NOT_LOADED else "no test was found"
            raise SystemExit(f"{path.relative_to(ROOT)}: {problem}\n{said}")
    return "killed", said


def _waited(child: int, limit: float) -> int | None:
    """The exit status of a process, a signal's as a negative number; ``None`` where it had to be ended."""
    end = time.monotonic() + limit
    pause = 0.002
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(pause * 1.3, 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_mutant(path: Path, tree: ast.Module, mutant: Mutant, tests: Sequence[str], limit: float) -> tuple[str, str]:
    """Run the tests against the mutant."""

    def compiled() -> CodeType:
        mutant.site.put(mutant.replacement)  # in the forked process: the tree here stays as it is
        return compile(tree, str(path), "exec")

    return run_changed(path, compiled, tests, limit)


# ------------------------------------------------------------------------------------------ the account


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
    found = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else []:
        if not entry["reason"].strip():
            raise ValueError(f"{path.name}: an entry without a reason: {entry}")
        for change in entry["changes"]:
            found.append(Explanation(entry["module"], entry["within"], entry["line"], change, entry["reason"]))
    return found


def tests_for(path: str) -> tuple[str, ...]:
    """The pytest arguments for a module, given by its path from the root."""
    for target in TARGETS:
        if fnmatch(path, target.modules):
            return target.tests
    raise SystemExit(f"{path}: no tests are named for it; add it to TARGETS in {Path(__file__).name}")


def modules(patterns: Sequence[str]) -> list[Path]:
    """The files that the patterns (globs, files, folders) name."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            found |= dict.fromkeys(sorted(path.rglob("*.py")) if path.is_dir() else [path])
    return [path for path in found if path.suffix == ".py" and path.read_text(encoding="utf-8").strip()]


def survivors(path: Path, only: str, say: Callable[[str], None]) -> tuple[list[Mutant], Counter[str]]:
    """Run every mutant of one module; the survivors, and how many came to which end."""
    relative = path.relative_to(ROOT).as_posix()
    tests = tests_for(relative)
    tree, found = mutants(path)
    found = [mutant for mutant in found if only in str(mutant)]
    ends: Counter[str] = Counter()
    left: list[Mutant] = []
    if not found:
        return left, ends
    started = time.monotonic()
    end, said = run_changed(path, lambda: compile(tree, str(path), "exec"), tests, 120)
    if end != "survived":
        raise SystemExit(f"{relative}: the tests fail without any change ({end})\n{said}")
    took = time.monotonic() - started
    for mutant in found:
        end, _ = run_mutant(path, tree, mutant, tests, 5 * took + 3)
        ends[end] += 1
        if end == "survived":
            left.append(mutant)
            say(f"  survived: {mutant.within}: {mutant}")
        elif end == "timeout":
            say(f"  timeout: {mutant.within}: {mutant}")
    say(f"{relative}: {len(found)} mutants, {ends['killed']} killed, {ends['timeout']} timed out, "
        f"{ends['survived']} survived, {time.monotonic() - started:.0f} s")  # fmt: skip
    return left, ends


def unexplained(left: Sequence[Mutant], known: Sequence[Explanation]) -> list[Mutant]:
    """The survivors that no entry explains; marks the entries that explain one."""
    found = []
    for mutant in left:
        fitting = [entry for entry in known if entry.fits(mutant)]
        for entry in fitting:
            entry.used = True
        if not fitting:
            found.append(mutant)
    return found


def _prepare() -> None:
    """Load what every process needs, and keep the tests from writing anything but below a temporary folder."""
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = os.path.join(tempfile.gettempdir(), "dmlcts-code-mutation")
    sys.dont_write_bytecode = True
    for name in _PRELOADED:
        importlib.import_module(name)
    importlib.import_module("dmlcts.specs.loading").load_tables()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it as a program; the exit code."""
    parser = argparse.ArgumentParser(prog="code_mutation", description="Mutation testing of the suite's own code.")
    parser.add_argument("--module", action="append", metavar="GLOB", help="files, folders or globs from the root")
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants whose path:line: change holds it")
    parser.add_argument("--list", action="store_true", help="list the mutants, run nothing")
    chosen = parser.parse_args(arguments)
    paths = modules(chosen.module or [target.modules for target in TARGETS])
    if not paths:
        raise SystemExit(f"no module matches {chosen.module}")
    if chosen.list:
        for path in paths:
            for mutant in mutants(path)[1]:
                click.echo(f"{mutant.within}: {mutant}")
        return 0
    _prepare()
    known = explanations()
    left: list[Mutant] = []
    total: Counter[str] = Counter()
    for path in paths:
        here, ends = survivors(path, chosen.only, click.echo)
        left += here
        total += ends
    open_ones = unexplained(left, known)
    judged = [path.relative_to(ROOT).as_posix() for path in paths]
    everything = not (chosen.only or chosen.module)
    stale = [
        entry
        for entry in known
        if not entry.used and not chosen.only and (everything or any(fnmatch(path, entry.module) for path in judged))
    ]
    for mutant in open_ones:
        click.echo(f"SURVIVED, and unexplained: {mutant.within}: {mutant}")
    for entry in stale:
        click.echo(f"EXPLAINED, but no survivor: {entry}")
    click.echo(
        f"{sum(total.values())} mutants: {total['killed']} killed, {total['timeout']} timed out, "
        f"{total['survived']} survived, {len(open_ones)} of them unexplained; {len(stale)} stale entries"
    )
    return 1 if open_ones or stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
