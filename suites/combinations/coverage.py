"""Which combinations of levels were covered, counted on what was dispatched and judged."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.documents.records import ItemRecord, LevelsSeen
from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.models import FactorsTable, OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.case import Case
from dmlcts.suites.combinations.building import counts_of
from dmlcts.suites.combinations.classifying import level_of_input, levels_of_attributes, levels_of_tensors
from dmlcts.suites.combinations.factors import Space, obliged_ranks, space_of
from dmlcts.suites.combinations.possible import Bits, asked, flat_offsets, possible
from dmlcts.suites.generation.covering_subjects import covering_subjects
from dmlcts.suites.generation.profiles import PROFILES

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NONE = "-"
NAMES = {2: "pairs", 3: "triples"}


class Seen:
    """The levels of the cases that one test dispatched and judged, each kind of case once."""

    def __init__(self, tables: Tables, level: FeatureLevel) -> None:
        self._tables = tables
        self._level = level
        self._counts = {} if tables.factors is None else counts_of(tables.factors)
        self._spaces: dict[tuple[str, str], Space] = {}
        self._attributes: dict[Hashable, dict[int, str]] = {}
        self.rows: dict[tuple[str, str], set[str]] = defaultdict(set)

    def note(self, case: Case, history: str, kept: dict[Hashable, Any] | None = None) -> None:
        """Count a case that was dispatched.

        Args:
            case: the case.
            history: what ran before it.
            kept: what is kept of the case's sizes, layouts and places, for other cases that have the same.
        """
        factors = self._tables.factors
        if factors is None:
            return
        table = self._tables.operator(case.operator.name)
        subject = (table.operator, case.data_type.name)
        if subject not in self._spaces:
            self._spaces[subject] = _space(factors, table, case.data_type, self._level, "quick")
        space = self._spaces[subject]
        operator = case.operator
        given = self._attributes.get(operator.kind)
        if given is None:
            levels = levels_of_attributes(operator, table)
            # one that nothing is said of may hide everything else
            unknown = levels.get("scale-bias", "") is None
            given = self._attributes[operator.kind] = {} if unknown else places_of(space, levels)
        if not given:
            return
        kept = {} if kept is None else kept
        laid = kept.get(subject)
        if laid is None:
            laid = kept[subject] = places_of(space, levels_of_tensors(operator, case.placement, table, self._counts))
        row = [_NONE] * len(space.factors)
        shown = places_of(space, {"input": level_of_input(case), "history": history})
        for place, digit in itertools.chain(given.items(), laid.items(), shown.items()):
            if place >= 0:
                row[place] = digit
        self.rows[subject].add("".join(row))

    def records(self) -> tuple[LevelsSeen, ...]:
        """What was seen, for a test's record."""
        return tuple(LevelsSeen(*subject, tuple(sorted(rows))) for subject, rows in sorted(self.rows.items()))


def _space(
    factors: FactorsTable, table: OperatorTable, data_type: DataType, level: FeatureLevel, profile: str
) -> Space:  # fmt: skip
    return space_of(factors, table, data_type, obliged_ranks(table, data_type, level), profile)


def places_of(space: Space, levels: Mapping[str, str | None]) -> dict[int, str]:
    """The digit of each level by the place of its factor; never empty, place -1 being none."""
    found = {-1: _NONE}
    for place, factor in enumerate(space.factors):
        position = factor.index.get(levels.get(factor.name) or "")
        if position is not None:
            found[place] = _DIGITS[position]
    return found


def encoded(space: Space, levels: Mapping[str, str | None]) -> str:
    """Levels as text, one digit a factor: the level's position, in base 36; ``-`` where there is none."""
    places = (factor.index.get(levels.get(factor.name) or "") for factor in space.factors)
    return "".join(_NONE if place is None else _DIGITS[place] for place in places)


def decoded(space: Space, rows: Collection[str]) -> NDArray[np.intp]:
    """Positions of levels, one row each, -1 where there is none; what is no row of the space is left out."""
    sizes = [len(factor.levels) for factor in space.factors]
    found = []
    for row in rows:
        places = [_DIGITS.find(digit) for digit in row]
        if len(places) == len(sizes) and all(place < size for place, size in zip(places, sizes, strict=True)):
            found.append(places)
    return np.array(found, np.intp).reshape(-1, len(sizes))


def covered(space: Space, rows: NDArray[np.intp], together: int) -> Bits:
    """Which combinations of so many levels stand in the rows, none of them hidden by a level that masks.

    Returns:
        A symmetric array over all levels counted through, as :func:`possible` gives.
    """
    offsets = flat_offsets(space)
    masked = np.zeros(rows.shape, bool)
    for place, factor in enumerate(space.factors):
        masked[:, place] = np.isin(rows[:, place], [factor.index[name] for name in factor.masks])
    total = masked.sum(1)
    found = np.zeros([sum(len(factor.levels) for factor in space.factors)] * together, bool)
    for kept in itertools.combinations(range(len(space.factors)), together):
        chosen = rows[:, kept]
        shown = (chosen >= 0).all(1) & (masked[:, kept].sum(1) == total)
        flat = chosen[shown] + offsets[list(kept)]
        for order in itertools.permutations(range(together)):
            found[tuple(flat[:, list(order)].T)] = True
    return found


def counts(space: Space, rows: NDArray[np.intp]) -> dict[str, dict[str, int]]:
    """How many pairs and triples there can be, are asked for, are covered, and are missing of those asked for."""
    told = {}
    for together, name in NAMES.items():
        can, wanted, seen = possible(space, together), asked(space, together), covered(space, rows, together)
        orders = 2 if together == 2 else 6
        told[name] = {
            "possible": int(can.sum()) // orders,
            "asked": int(wanted.sum()) // orders,
            "covered": int((seen & can).sum()) // orders,
            "missing": int((wanted & ~seen).sum()) // orders,
        }
    return told


def told(
    records: Iterable[ItemRecord],
    tables: Tables,
    level: FeatureLevel,
    profile: str,
    subjects: Iterable[tuple[str, str]],
    seed: int = 0,
) -> dict[str, Any]:
    """What a results document says of combinations: a row for every operator and type, from all tests together.

    Where the quick profile tries layouts, memory and state on some signatures of an operator only, ``shared_out`` names
    those; of the others no combination is asked for.

    Args:
        records: of the tests, of all shards.
        tables: the tables of the run.
        level: the level that is judged.
        profile: what the run asked for.
        subjects: operators and names of types that the run was to judge.
        seed: the run's seed, which chooses those signatures.
    """
    subjects = sorted(set(subjects))
    covering = covering_subjects(tables, seed) if PROFILES[profile].covering else {}
    shared_out = {
        operator: sorted(map(str, covering[operator]))
        for operator in dict.fromkeys(operator for operator, _ in subjects)
        if operator in covering and len(covering[operator]) < len(signatures(tables.operators[operator]))
    }
    factors = tables.factors
    if factors is None:
        return {}
    rows: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in records:
        for seen in record.combinations:
            rows[seen.operator, seen.data_type] |= set(seen.rows)
    found = []
    for operator, name in subjects:
        table, data_type = tables.operators.get(operator), DataType[name]
        if table is None or data_type not in table.data_types:
            continue
        space = _space(factors, table, data_type, level, profile)
        counted = counts(space, decoded(space, rows[operator, name]))
        if operator in shared_out and not any(one.data_type is data_type for one in covering[operator]):
            counted = {together: {**one, "asked": 0, "missing": 0} for together, one in counted.items()}
        found.append({"operator": operator, "data_type": name, **counted})
    return {"combinations": found, **({"shared_out": shared_out} if shared_out else {})}
