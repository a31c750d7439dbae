"""All mutants: every subclass of Reference that a module of this folder defines, found by walking the folder."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

from dmlcts.suites.selftest.mutants.reference import Reference

_PACKAGE = "dmlcts.suites.selftest.mutants"
_NO_MUTANTS = {"__init__", "reference", "catalogue", "permitted"}


def _modules() -> Iterator[str]:
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in _NO_MUTANTS:
            yield f"{_PACKAGE}.{path.stem}"


def _mutants(module: str) -> list[type[Reference]]:
    """The public subclasses that the module itself defines; a leading underscore marks a base of several."""
    found = [
        value
        for name, value in vars(importlib.import_module(module)).items()
        if isinstance(value, type)
        and issubclass(value, Reference)
        and value.__module__ == module
        and not name.startswith("_")
    ]
    return sorted(found, key=lambda mutant: mutant.__name__)


def _collect() -> tuple[type[Reference], ...]:
    owners: dict[str, str] = {}
    mutants: list[type[Reference]] = []
    for module in _modules():
        for mutant in _mutants(module):
            if mutant.__name__ in owners:
                raise ValueError(f"two mutants are called {mutant.__name__}: in {owners[mutant.__name__]} and {module}")
            owners[mutant.__name__] = module
            mutants.append(mutant)
    return tuple(mutants)


MUTANTS = _collect()
