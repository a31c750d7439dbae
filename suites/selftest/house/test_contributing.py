"""CONTRIBUTING.md: every room has a test command, and every test command has tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    [re.findall(r"`([a-z_/]+)`", cell) for cell in line.strip("|").split("|")]
    for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| `") and "/" in line.split("|")[1]
]


def rooms() -> set[str]:
    """The folders of the four rooms that hold code or tables."""
    folders = [path for top in ("specs", "backends", "reports", "suites") for path in (ROOT / top).iterdir()]
    return {
        path.relative_to(ROOT).as_posix()
        for path in folders
        if path.is_dir() and any(path.rglob("*.py") if path.parent.name != "specs" else path.rglob("*.[py]*"))
    }


def test_every_room_with_code_has_a_command() -> None:
    named = {room for row in ROWS for room in row[0]}
    assert rooms() - named - {f"{top}/__pycache__" for top in ("specs", "backends", "reports", "suites")} == set()


def test_every_room_that_is_named_is_there() -> None:
    assert {room for row in ROWS for room in row[0]} <= rooms()


def test_every_command_has_tests() -> None:
    without = [folder for row in ROWS for folder in row[1] if not any((ROOT / folder).rglob("test_*.py"))]
    assert ROWS
    assert without == []
