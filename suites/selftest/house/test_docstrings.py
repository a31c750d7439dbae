"""Docstrings: a public function that raises an error of this project says under ``Raises:`` which, and when."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from dmlcts.suites.selftest.house.test_rooms import ROOT, modules

Function = ast.FunctionDef | ast.AsyncFunctionDef
BUILT_IN = {"BaseException", "Exception", "OSError", "RuntimeError", "ValueError", "KeyError"}


@cache
def parsed() -> dict[str, ast.Module]:
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in modules()}


@cache
def own_errors() -> frozenset[str]:
    """The names of the classes of this project that derive from an exception."""
    classes = [node for tree in parsed().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases_by_name = {node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases} for node in classes}
    errors = set(BUILT_IN)
    while more := {name for name, bases in bases_by_name.items() if bases & errors} - errors:
        errors |= more
    return frozenset(errors - BUILT_IN)


def is_command(function: Function) -> bool:
    """Whether a docstring is the help of a command, in which nobody looks for exceptions."""
    decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
    return any("command" in decorator or decorator.startswith("main.") for decorator in decorators)


def is_mutant(path: str) -> bool:
    """Whether a module holds implementations whose errors are their faults, which their docstrings describe."""
    return path.startswith("suites/mutants/")


def public_functions(body: list[ast.stmt]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body)
        elif isinstance(node, Function) and not node.name.startswith("_"):
            yield node


def raised(node: ast.AST) -> Iterator[str]:
    """The names of the errors that a function raises itself, not by what it calls or defines."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(child, ast.Raise) and child.exc is not None:
            error = child.exc.func if isinstance(child.exc, ast.Call) else child.exc
            yield ast.unparse(error).rpartition(".")[2]
        yield from raised(child)


def unmentioned(tree: ast.Module, errors: frozenset[str]) -> dict[str, list[str]]:
    """Public functions whose docstring has no ``Raises:``, with the errors of this project that they raise."""
    result = {}
    for function in public_functions(tree.body):
        text = ast.get_docstring(function)
        names = sorted(set(raised(function)) & errors)
        if text and names and "Raises:" not in text and not is_command(function):
            result[f"{function.name} in line {function.lineno}"] = names
    return result


@pytest.mark.parametrize("top", ["specs", "backends", "reports", "suites"])
def test_a_docstring_names_the_errors_that_its_function_raises(top: str) -> None:
    trees = {path: tree for path, tree in parsed().items() if path.startswith(f"{top}/") and not is_mutant(path)}
    assert len(trees) > 30
    assert {path: names for path, tree in trees.items() if (names := unmentioned(tree, own_errors()))} == {}


def test_an_error_without_a_word_in_the_docstring_is_seen() -> None:
    assert {"UsageError", "TableError", "DeviceLost", "WorkerLost"} <= own_errors()
    text = '''
def read(path):
    """Read a file."""
    if not path:
        raise {raised}
'''
    for raising, seen in (("UsageError('x', 'y')", 1), ("errors.UsageError", 1), ("ValueError('x')", 0)):
        assert len(unmentioned(ast.parse(text.format(raised=raising)), own_errors())) == seen, raising
    documented = text.replace("a file.", "a file.\n\n    Raises:\n        UsageError: no path.\n    ")
    assert unmentioned(ast.parse(documented.format(raised="UsageError")), own_errors()) == {}
    command = text.replace("def read", "@main.command()\ndef read").format(raised="UsageError")
    assert unmentioned(ast.parse(command), own_errors()) == {}, "its docstring is a help page"
