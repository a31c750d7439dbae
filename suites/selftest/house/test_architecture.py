"""The import arrows of the house, and that importing a room does nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from dmlcts.suites.selftest.house.imports import imports_in, imports_of

ROOT = Path(__file__).resolve().parents[3]
ALLOWED = {
    "specs": {"specs"},
    "backends": {"backends", "specs"},
    "reports": {"reports", "specs"},
    "suites": {"suites", "reports", "backends", "specs"},
}


def rooms_imported(imports: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """The rooms of the house that a module imports from, by its import statements."""
    for name, _ in imports:
        parts = name.split(".")
        if parts[0] == "dmlcts" and len(parts) > 1:
            yield parts[1]
        elif name.startswith(".") or parts[0] in ALLOWED:
            yield f"not absolute: {name}"


def modules(room: str) -> list[Path]:
    return [path for path in sorted((ROOT / room).rglob("*.py")) if "selftest" not in path.parts]


@pytest.mark.parametrize("room", ALLOWED)
def test_imports_point_inwards(room: str) -> None:
    paths = modules(room)
    assert paths
    for path in paths:
        wrong = set(rooms_imported(imports_of(path))) - ALLOWED[room]
        assert not wrong, f"{path.relative_to(ROOT)} imports from {sorted(wrong)}"


def test_a_wrong_arrow_is_seen() -> None:
    planted = "def f():\n    from dmlcts.suites.cases.bench import Bench\n"
    assert set(rooms_imported(imports_in(planted))) == {"suites"}
    assert set(rooms_imported(imports_in("from .x import y\n"))) == {"not absolute: .x"}


def test_conftest_only_loads_the_plugin() -> None:
    body = ast.parse((ROOT / "conftest.py").read_text(encoding="utf-8")).body
    assert [type(node) for node in body] == [ast.Expr, ast.Assign]


IMPORTING = """
import importlib
for name in {names!r}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "llvmlite":  # of the extra `directml`; the backend says so itself where it is wanted
            raise
"""


def test_importing_prints_and_writes_nothing(tmp_path: Path) -> None:
    names = [
        "dmlcts." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in ALLOWED
        for path in modules(room)
        if path.name != "__main__.py"
    ]
    program = IMPORTING.format(names=names)
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())
