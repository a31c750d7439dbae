"""How operators and element types are said, alike in every report."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from dmlcts.specs import DataType, UsageError
from dmlcts.specs.tables import Tables


def short(operator: str) -> str:
    """The operator as people call it: "CLIP"."""
    return operator.removeprefix("ELEMENT_WISE_") or "(no operator)"


def is_typed_in_results(replay: str) -> bool:
    """Whether a replay command is typed in the results folder, of which it names ``failures/FILE``; else in the run's.

    A run names the file from where it was started if its backend is found only from there, as a runner may be.
    """
    return re.match(r"dmlcts replay '?failures/[^/\s]+(?:\s|$)", replay) is not None


def is_own(clause: str, operator: str) -> bool:
    """Whether a clause is the operator's own, and none of those that all operators share."""
    return clause.startswith(short(operator).lower().replace("_", "-") + ".")


def type_order(name: str) -> int:
    """The place of an element type in the header's order; names that are none come last."""
    return list(DataType.__members__).index(name) if name in DataType.__members__ else len(DataType)


def _type_names(names: Iterable[str], operator: str, tables: Tables) -> str:
    """A set of data types in as few words as they can be said."""
    ordered = sorted(set(names), key=type_order)
    table = tables.operators.get(operator)
    if table is not None and len(ordered) > 2:
        listed = {data_type.name for data_type in table.data_types}
        floating = {data_type.name for data_type in table.data_types if data_type.is_floating}
        for words, meant in (
            ("all types", listed),
            ("floating types", floating),
            ("integer types", listed - floating),
        ):
            if set(ordered) == meant:
                return words
            missing = sorted(meant - set(ordered), key=type_order)
            if set(ordered) < meant and len(missing) < 3 <= len(ordered) - len(missing):
                return f"{words} but {', '.join(missing)}"
    return ", ".join(ordered)


def places(pairs: Iterable[tuple[str, str]], tables: Tables) -> str:
    """(operator, data type) pairs, compactly: "CLIP, ROUND on FLOAT32; CLIP on INT8"."""
    types: dict[str, set[str]] = defaultdict(set)
    for operator, data_type in pairs:
        types[operator].add(data_type)
    operators: dict[str, list[str]] = defaultdict(list)
    for operator, names in sorted(types.items()):
        operators[_type_names(filter(None, names), operator, tables)].append(short(operator))
    parts = (f"{', '.join(group)} on {words}" if words else ", ".join(group) for words, group in operators.items())
    return "; ".join(parts)


def behaviour_text(clause: str, behaviour: str, tables: Tables) -> str:
    """A behaviour after the point that it is about: "a subnormal: counts it as a number".

    Args:
        clause: the id of the clause that leaves it open; any, of a record that others' tables made.
        behaviour: as the record has it, which is the same in every version of the suite.
        tables: the spec tables.
    """
    try:
        point = tables.clause(clause).point
    except UsageError:
        return behaviour
    return behaviour if point is None else f"{point}: {behaviour}"
