"""All mutants: every subclass of Reference that a module here or in a folder below defines, found by walking them.

The clause under which a mutant must be caught is the attribute ``clause`` of its class (:class:`.reference.Reference`);
:mod:`dmlcts.suites.proof.prove` compares it with what the suite reports.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

from dmlcts.suites.mutants.reference import Reference

_PACKAGE = "dmlcts.suites.mutants"
_NO_MUTANTS = {"__init__", "bases", "formulas", "making", "reference", "streaming", "catalogue", "first_three"}


def _modules() -> Iterator[str]:
    here = Path(__file__).parent
    for path in sorted(here.rglob("*.py")):
        parts = path.relative_to(here).with_suffix("").parts
        if parts[-1] not in _NO_MUTANTS and not parts[0].startswith("permitted"):
            yield ".".join((_PACKAGE, *parts))


def _mutants(module: str) -> list[type[Reference]]:
    """The public subclasses that the module itself defines; a leading underscore marks a base of several."""
    mutant_types = [
        value
        for name, value in vars(importlib.import_module(module)).items()
        if isinstance(value, type)
        and issubclass(value, Reference)
        and value.__module__ == module
        and not name.startswith("_")
    ]
    return sorted(mutant_types, key=lambda mutant: mutant.__name__)


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
