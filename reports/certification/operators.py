"""Which operators a submission certifies: its statement names them, and everything else in it is held to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dmlcts.specs import FeatureLevel, UsageError
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

ALL = "all"


def obliged_operators(tables: Tables, level: FeatureLevel) -> tuple[str, ...]:
    """The full names of the operators of which a level obliges something, sorted."""
    return tuple(name for name in sorted(tables.operators) if tables.operators[name].support_at(level))


def wanted_operators(text: str, tables: Tables) -> tuple[str, ...]:
    """The full names that ``--operator`` asks for, sorted; empty for all that the level obliges.

    Args:
        text: "all", or names and groups of operators, separated by commas.
        tables: the spec tables.

    Raises:
        UsageError: one is neither an operator nor a group, or there are none.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if [name.lower() for name in names] == [ALL]:
        return ()
    if not names or ALL in map(str.lower, names):
        raise UsageError(f"--operator {text!r} names no operators", f"give {ALL} alone, or names as clip,round")
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
        raise UsageError(cause, "certify a higher --feature-level, or leave them out of --operator")
    return wanted or obliged


def certified(statement: Mapping[str, Any], tables: Tables) -> tuple[str, ...]:
    """The operators that a statement certifies; one of an earlier version names none, and certifies all.

    Unknown names are among them: that each is known, and obliged, is a check of its own.
    """
    level = FeatureLevel.parse(statement["feature_level"])
    return tuple(statement.get("operators", obliged_operators(tables, level)))


def operator_faults(statement: Mapping[str, Any], results: Mapping[str, Any], tables: Tables) -> list[tuple[str, str]]:
    """In which ways the operators that a statement names are not those that its run selected and judged, by kind."""
    level, named = FeatureLevel.parse(statement["feature_level"]), certified(statement, tables)
    obliged = obliged_operators(tables, level)
    known = [name for name in named if name in tables.operators]
    faults = [("unknown", f"{name} is no operator of the tables") for name in named if name not in known]
    faults += [("idle", f"level {level} obliges nothing of {name}") for name in known if name not in obliged]
    repeated = {name: times for name, times in Counter(named).items() if times > 1}
    faults += [("repeated", f"the statement names {name} {times} times") for name, times in repeated.items()]
    run = results["selection"].get("operators") or obliged
    unrun, unnamed = sorted(set(named) - set(run)), sorted(set(run) - set(named))
    faults += [("unrun", f"the statement names {name}, which was not selected in the run") for name in unrun]
    faults += [("unnamed", f"the run selected {name}, which the statement does not name") for name in unnamed]
    judged = {row["operator"] for row in results["clauses"] if row["obligation"] != "unspecified"}
    rowless = [f"the statement names {name}, of which the results have no row" for name in sorted(set(named) - judged)]
    return [*faults, *(("rowless", text) for text in rowless)]


def operators_text(statement: Mapping[str, Any], tables: Tables) -> str:
    """How many operators a statement names, of how many, in words."""
    level, named = FeatureLevel.parse(statement["feature_level"]), certified(statement, tables)
    obliged = obliged_operators(tables, level)
    if set(named) == set(obliged):
        return f"{many(len(named), 'operator')}, all that level {level} obliges"
    short = ", ".join(name.removeprefix("ELEMENT_WISE_") for name in named)
    return f"{many(len(named), 'operator')} of {len(obliged)}: {short}"
