"""References in docstrings (``:mod:``, ``:func:``, ``:class:``, ``:meth:``, ``:attr:``, ``:data:``) lead somewhere."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = re.compile(r":(?:mod|func|class|meth|attr|data|exc|obj):`~?([\w.]+)`")


def module_name(path: Path) -> str:
    """The dotted name under which a file is imported."""
    return ".".join(["dmlcts", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


@cache
def imported(name: str) -> ModuleType | None:
    """A module by its name; None if there is none, or what it rests on is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def attributes_of(tree: ast.Module) -> set[str]:
    """Names that a module defines at any depth: classes, functions, parameters, fields and attributes."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.Name(id=name):
                names.add(name)
            case ast.alias(name=name, asname=asname):
                names.add((asname or name).split(".")[-1])
    return names


def dead_references(text: str, package: str) -> list[str]:
    """The references of a module's text that lead nowhere.

    Args:
        text: Python source.
        package: the dotted name of the package that a leading dot stands for.
    """
    names = set(REFERENCE.findall(text))
    if all(name.startswith((".", "dmlcts.")) for name in names):  # parsing takes long
        local: set[str] = set()
    else:
        local = attributes_of(ast.parse(text))
    return sorted(name for name in names if not leads_somewhere(name, package, local))


def leads_somewhere(name: str, package: str, local: set[str]) -> bool:
    """Whether a reference names a module, something in one, or something of the text that it stands in."""
    if not name.startswith((".", "dmlcts.")):
        first = name.split(".")[0]
        return (
            first in local
            or hasattr(builtins, first)
            or imported(f"{package}.{first}") is not None
            or imported(first) is not None
        )
    parts = (package + name if name.startswith(".") else name).split(".")
    for length in range(len(parts), 0, -1):
        module = imported(".".join(parts[:length]))
        if module is not None:
            value: object = module
            for part in parts[length:]:
                if not hasattr(value, part) and part not in getattr(value, "__annotations__", {}):
                    return False
                value = getattr(value, part, None)
            return True
    return False


def test_every_reference_in_the_code_leads_somewhere() -> None:
    dead = {}
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in ("specs", "backends", "reports", "suites") or path == Path(__file__):
            continue
        text = path.read_text(encoding="utf-8")
        if REFERENCE.search(text):
            name = module_name(path)
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            if names := dead_references(text, package):
                dead[path.relative_to(ROOT).as_posix()] = names
    assert dead == {}


def test_a_dead_reference_is_seen() -> None:
    text = (
        '"""See :mod:`.test_references`, :mod:`.gone`, :func:`here`, :func:`there` and :class:`pathlib.Path`."""\n'
        "def here(): ...\n"
    )
    assert dead_references(text, "dmlcts.suites.selftest.house") == [".gone", "there"]
    assert dead_references('""":class:`~dmlcts.specs.Gone` :class:`~dmlcts.specs.DataType`"""', "dmlcts") == [
        "dmlcts.specs.Gone"
    ]


PAGES = ("suites/LIFE_OF_A_CASE.md", "specs/TERMS.md")
PLACE = re.compile(r"`((?:specs|backends|reports|suites)/[\w/.]+)`(?:: `([\w.]+)`)?")


def defined(path: Path) -> set[str]:
    """The functions, classes and methods of a module, as ``name`` and ``Class.name``."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
    return names


def places_missing(text: str) -> list[str]:
    """The places in the code that a page names and that are not there: a path, or a path and a name in it."""
    missing = []
    for path, name in PLACE.findall(text):
        if not (ROOT / path).exists():
            missing.append(path)
        elif name and name not in defined(ROOT / path):
            missing.append(f"{path}: {name}")
    return missing


def test_every_place_that_the_pages_on_the_code_name_is_there() -> None:
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert len(PLACE.findall(text)) > 10
        assert places_missing(text) == [], page


def test_a_missing_place_is_seen() -> None:
    there = "`suites/judging/judge.py`: `Ledger.count`"
    assert places_missing(f"{there}, `suites/judging/judge.py`: `Ledger.gone`, `suites/gone.py`") == [
        "suites/judging/judge.py: Ledger.gone",
        "suites/gone.py",
    ]
