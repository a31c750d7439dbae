"""The descriptions and cases that selftests make: functions of these names stand in one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from dmlcts.suites.selftest import descriptions

SHARED = {"clip", "case", "described"}
SELFTESTS = Path(descriptions.__file__).parent


def defined(text: str) -> Iterator[str]:
    """The shared names that a module defines itself; what is defined in a class or a function has another meaning."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name in SHARED:
            yield node.name


def test_descriptions_and_cases_have_one_home() -> None:
    names_by_path = {path: set(defined(path.read_text(encoding="utf-8"))) for path in SELFTESTS.rglob("*.py")}
    assert names_by_path.pop(Path(descriptions.__file__)) == SHARED
    assert not {str(path.relative_to(SELFTESTS)) for path, names in names_by_path.items() if names}


def test_a_second_definition_is_seen() -> None:
    assert list(defined("def clip(): ...\n")) == ["clip"]
    assert list(defined("class Wrong:\n    def clip(self): ...\n\ndef clipped(): ...\n")) == []


def test_a_name_stands_with_and_without_its_prefix() -> None:
    """ROUND alone has no ScaleBias; one that is given stays."""
    source = descriptions.tensor()
    for name in ("CLIP", "ELEMENT_WISE_CLIP"):
        made = descriptions.described(name, source, Min=-2, Max=3)
        assert made == descriptions.clip()
        assert dict(made.attributes) == {"ScaleBias": None, "Min": -2, "Max": 3}
    for name in ("ROUND", "ELEMENT_WISE_ROUND"):
        assert "ScaleBias" not in descriptions.described(name, source, RoundingMode="TOWARD_ZERO").attributes
