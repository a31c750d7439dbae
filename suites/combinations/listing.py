"""What `dmlcts spec coverage` says of combinations: what the profiles try, and why the rest is left out."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.models import FactorsTable, OperatorTable
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables
from dmlcts.suites.combinations.coverage import covered
from dmlcts.suites.combinations.covering import covering_array
from dmlcts.suites.combinations.factors import Space, obliged_ranks, space_of
from dmlcts.suites.combinations.possible import asked, flat_offsets, possible

PrintLine = Callable[[str], object]
_JOINT = "several constraints together"


def _spaces(tables: Tables, profile: str) -> Iterator[tuple[OperatorTable, DataType, Space]]:
    assert tables.factors is not None  # noqa: S101  # print_combinations looked
    for table in tables.operators.values():
        newest = max(FeatureLevel(support.level) for support in table.support)
        for data_type in table.data_types:
            ranks = obliged_ranks(table, data_type, newest)
            yield table, data_type, space_of(tables.factors, table, data_type, ranks, profile)


def excluded_pairs(space: Space) -> dict[str, list[str]]:
    """The pairs of levels that no row can have, by the constraint that rules them out."""
    pairs: dict[str, list[str]] = defaultdict(list)
    can, offsets = possible(space, 2), flat_offsets(space)
    for (axis, left), (two, right) in itertools.combinations(enumerate(space.factors), 2):
        for (i, first), (j, second) in itertools.product(enumerate(left.levels), enumerate(right.levels)):
            if can[offsets[axis] + i, offsets[two] + j]:
                continue
            reasons = [
                relation.id
                for relation in space.relations
                if left.name in relation.factors
                and right.name in relation.factors
                and not any(
                    row[relation.factors.index(left.name)] == i and row[relation.factors.index(right.name)] == j
                    for row in relation.allowed
                )
            ]
            pairs[reasons[0] if reasons else _JOINT].append(f"{left.name} {first} with {right.name} {second}")
    return dict(pairs)


def spared_levels(factors: FactorsTable, space: Space, data_type: DataType, profile: str) -> Iterator[str]:
    """The levels that a profile combines with fewer others than the rest, and why."""
    for factor in space.factors:
        for level, strength in zip(factor.levels, factor.strengths, strict=True):
            if strength < space.strength:
                why = next(
                    economy.why
                    for economy in factors.economies
                    if profile in economy.profiles
                    and level in economy.levels.get(factor.name, ())
                    and data_type.name in (economy.data_types or (data_type.name,))
                    and economy.strength == strength
                )
                amount = ("not at all", "once", "in pairs")[strength]
                yield f"{factor.name} {level} {amount} ({why})"


def print_combinations(
    tables: Tables, print_line: PrintLine, profile: str = "quick", *, everything: bool = True
) -> int:
    """Say, operator by operator, which pairs of levels there are, which are covered, and why the others are not.

    Args:
        tables: the tables.
        print_line: is given each line.
        profile: whose covering arrays are looked at.
        everything: whether to list each operator and type and each pair that cannot be, or only how many there are.

    Returns:
        How many pairs that the profile asks for its covering arrays miss.
    """
    factors = tables.factors
    if factors is None:
        return 0
    missed = cases = pairs_possible = pairs_required = 0
    excluded: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    spared: dict[str, list[str]] = defaultdict(list)
    print_line(f"combinations: pairs of levels in the {profile} profile, by operator and data type")
    for table, data_type, space in _spaces(tables, profile):
        name = f"{table.short_name} {data_type.name}"
        array = covering_array(space, 0)
        rows = np.array(array.rows, np.intp)
        can, wanted, seen = possible(space, 2), asked(space, 2), covered(space, rows, 2)
        missing = int((wanted & ~seen).sum()) // 2
        missed += missing
        cases += len(rows)
        pairs_possible += int(can.sum()) // 2
        pairs_required += int(wanted.sum()) // 2
        if everything or missing:
            print_line(
                f"  {name}: {len(rows)} cases; {int(can.sum()) // 2} pairs possible, "
                f"{int(wanted.sum()) // 2} asked for, {missing} of those missing"
            )
        for reason, pairs in excluded_pairs(space).items():
            for pair in pairs:
                excluded[reason][pair].append(name)
        for line in spared_levels(factors, space, data_type, profile):
            spared[line].append(name)
    if not everything:
        impossible = len({pair for by_pair in excluded.values() for pair in by_pair})
        print_line(
            f"  {many(cases, 'case')}; {pairs_possible:,} pairs possible, {pairs_required:,} asked for, "
            f"{missed:,} of those missing"
        )
        print_line(f"  {many(impossible, 'kind')} of pairs that cannot be, by {many(len(excluded), 'constraint')}")
        print_line(f"  {many(len(spared), 'level')} that the profile combines with fewer others")
        return missed
    all_names = [f"{table.short_name} {data_type.name}" for table, data_type, _ in _spaces(tables, profile)]
    texts = {row.id: row.text for row in factors.constraints}
    print_line("combinations that cannot be, by constraint")
    for reason, by_pair in excluded.items():
        suffix = f": {texts[reason]}" if reason in texts else ""
        print_line(f"  {reason}{suffix}")
        for pair, names in by_pair.items():
            print_line(f"    {pair}{_reported(names, all_names)}")
    print_line(f"levels that the {profile} profile combines with fewer others")
    for line, names in spared.items():
        print_line(f"  {line}{_reported(names, all_names)}")
    return missed


def _reported(names: list[str], everything: list[str]) -> str:
    """Types with their operators, shortly; nothing where it is all of them."""
    if names == everything:
        return ""
    mine, whole = _by_type(names), _by_type(everything)
    entire = [data_type for data_type, operators in mine.items() if operators == whole[data_type]]
    parts = [", ".join(entire)] if entire else []
    groups: dict[str, list[str]] = defaultdict(list)
    for data_type, operators in mine.items():
        if data_type not in entire:
            absent = [operator for operator in whole[data_type] if operator not in operators]
            groups[_some(operators, absent)].append(data_type)
    return ", for " + "; ".join([*parts, *(f"{', '.join(types)} {some}" for some, types in groups.items())])


def _some(operators: list[str], absent: list[str]) -> str:
    """A part of the operators, by those that are in it, or that are not, whichever are fewer."""
    if len(absent) < len(operators):
        return f"but of {', '.join(absent)}"
    return f"of {', '.join(operators)}"


def _by_type(names: list[str]) -> dict[str, list[str]]:
    operators: dict[str, list[str]] = defaultdict(list)
    for name in names:
        operator, data_type = name.split(" ")
        operators[data_type].append(operator)
    return operators
