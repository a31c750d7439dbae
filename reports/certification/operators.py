"""Which operators a submission certifies: its statement names them, and everything else in it is held to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.specs import FeatureLevel, UsageError
from dmlcts.specs.tables import Tables

ALL = "all"


def obliged_operators(tables: Tables, level: FeatureLevel) -> tuple[str, ...]:
    """The full names of the operators of which a level obliges something, sorted."""
    return tuple(name for name in sorted(tables.operators) if tables.operators[name].support_at(level))


def wanted_operators(given: str, tables: Tables) -> tuple[str, ...]:
    """The full names that ``--operators`` asks for, sorted; empty for all that the level obliges.

    Args:
        given: "all", or names and groups of operators, separated by commas.
        tables: the spec tables.

    Raises:
        UsageError: one is neither an operator nor a group, or there are none.
    """
    names = [name.strip() for name in given.split(",") if name.strip()]
    if [name.lower() for name in names] == [ALL]:
        return ()
    if not names or ALL in map(str.lower, names):
        raise UsageError(f"--operators {given!r} names no operators", f"give {ALL} alone, or names as clip,round")
    return tuple(sorted({table.operator for name in names for table in tables.selected(name)}))


def named_operators(wanted: tuple[str, ...], tables: Tables, level: FeatureLevel) -> tuple[str, ...]:
    """The operators that a statement names: those wanted, or all that the level obliges.

    Raises:
        UsageError: the level obliges nothing of one that is wanted, so that nothing of it would be certified.
    """
    obliged = obliged_operators(tables, level)
    idle = [name for name in wanted if name not in obliged]
    if idle:
        cause = f"feature level {level} obliges nothing of {', '.join(idle)}"
        raise UsageError(cause, "certify a higher --feature-level, or leave them out of --operators")
    return wanted or obliged


def certified(statement: Mapping[str, Any], tables: Tables) -> tuple[str, ...]:
    """The operators that a statement certifies; one of an earlier version names none, and certifies all.

    Unknown names are among them: that each is known, and obliged, is a check of its own.
    """
    level = FeatureLevel.parse(statement["feature_level"])
    return tuple(statement.get("operators", obliged_operators(tables, level)))
