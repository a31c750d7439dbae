"""Which combinations of levels were covered, counted on what was dispatched and judged."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.documents.records import ItemRecord, LevelsSeen
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import FactorsTable, OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.combinations.classifying import (
    counted,
    input_of,
    levels_of_attributes,
    levels_of_sizes,
    looked_at,
    placement_of,
    room_of,
    source_of,
)
from dmlcts.suites.combinations.constraints import INPUT_LAYOUTS
from dmlcts.suites.combinations.factors import Factor, Space, counts_of, factors_of, obliged_ranks, space_of
from dmlcts.suites.combinations.possible import Bits, asked, flat_offsets, possible
from dmlcts.suites.combinations.sizes import layout_of
from dmlcts.suites.generation.covering_subjects import covering_subjects
from dmlcts.suites.generation.profiles import PROFILES

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_POSITIONS = np.array([_DIGITS.find(chr(code)) for code in range(256)], np.intp)
"""What each character of Latin-1 stands for; no others are digits."""
_NONE = "-"
_WRITTEN = _NONE + _DIGITS
_BITS = 6  # a factor's; a digit has 36 values, and there is none
_FACTOR = (1 << _BITS) - 1
_MOST_KINDS = 1 << 12
_Counts = tuple[tuple[str, tuple[int, int]], ...]  # the least and the greatest number of elements, by level
_Named = tuple[tuple[str, tuple[str, ...]], ...]  # the names of factors with their levels
NAMES = {2: "pairs", 3: "triples"}


class _Encoder:
    """The levels of an operator on a type as numbers: each factor has bits of its own, 0 where it has no level."""

    def __init__(self, factors: tuple[Factor, ...], table: OperatorTable, counts: _Counts) -> None:
        self._table = table
        self._counts = counts
        self._named = tuple((factor.name, factor.levels) for factor in factors)
        self._wide = tuple(name for name, row in table.tensors.items() if row.elements is None)
        self._digits = _Digits(self._named)
        self._kinds: dict[Hashable, _Kind | None] = {}
        self._texts: dict[int, str] = {}

    def text(self, row: int) -> str:
        """The levels of a number, as :func:`encoded` writes them."""
        text = self._texts.get(row)
        if text is None:
            shifts = range(0, _BITS * len(self._named), _BITS)
            text = self._texts[row] = "".join([_WRITTEN[row >> shift & _FACTOR] for shift in shifts])
        return text

    def kind(self, operator: OperatorDesc) -> _Kind | None:
        """What is the same of all descriptions of a kind; ``None`` where nothing is counted of them."""
        try:
            return self._kinds[operator.kind]
        except KeyError:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
        levels = levels_of_attributes(operator, self._table)
        level_kind = None
        if levels.get("scale-bias", "") is not None:  # one that nothing is said of may hide everything else
            alike = tuple(tensor.data_type is operator.data_type for tensor in operator.inputs.values())
            form = _form(self._wide, self._table.wide_inputs, self._counts, self._named, alike)
            subject = (operator.name, operator.data_type.name)
            level_kind = _Kind(self, subject, sum(map(self._digits.of, levels, levels.values())), form)
        self._kinds[operator.kind] = level_kind
        return level_kind


class _Digits(dict[tuple[str, str | None], int]):
    """The number of each level of a factor; those of different factors add up."""

    def __init__(self, named: _Named) -> None:
        super().__init__(
            ((name, level), position + 1 << _BITS * place)
            for place, (name, levels) in enumerate(named)
            for position, level in enumerate(levels)
        )

    def of(self, factor: str, level: str | None) -> int:
        """The number of a level; 0 where the factor does not have it."""
        return self.get((factor, level), 0)


class _Form:
    """What the numbers of tensors' levels depend on besides the tensors: equal ones are the same object."""

    def __init__(self, wide: tuple[str, ...], wide_inputs: tuple[str, ...], counts: _Counts, named: _Named) -> None:
        self._wide = wide
        self._wide_inputs = wide_inputs
        self._counts = dict(counts)
        self._digits = _Digits(named)
        self._sizes: dict[tuple[int, ...], int] = {}
        self._shown: dict[tuple[str, str], int] = {}

    def laid(self, operator: OperatorDesc, placement: Placement) -> _Laid:
        """What is the same of all cases that have the same sizes, layouts and places."""
        source = source_of(operator, self._wide)
        always = [operator.inputs[name] for name in self._wide_inputs]
        of = self._digits.of
        number = self._of_sizes(source.sizes) + of("placement", placement_of(placement))
        for factor, tensor in zip(INPUT_LAYOUTS, always or [source], strict=False):
            number += of(factor, layout_of(tensor))
        number += of("output-layout", layout_of(operator.output)) + of("room", room_of(operator, placement))
        shown = looked_at(operator, operator.data_type)
        return _Laid(number, shown, counted(operator.tensors[shown]))

    def of_values(self, level: str, history: str) -> int:
        """The number of a level of ``input`` and of what ran before."""
        try:
            return self._shown[level, history]
        except KeyError:
            code = self._digits.of("input", level) + self._digits.of("history", history)
            self._shown[level, history] = code
            return code

    def _of_sizes(self, sizes: tuple[int, ...]) -> int:
        code = self._sizes.get(sizes)
        if code is None:
            if len(self._sizes) >= _MOST_KINDS:
                self._sizes.clear()
            levels = levels_of_sizes(sizes, self._counts)
            code = self._sizes[sizes] = sum(map(self._digits.of, levels, levels.values()))
        return code


@lru_cache(maxsize=1024)
def _form(
    wide: tuple[str, ...], wide_inputs: tuple[str, ...], counts: _Counts, named: _Named, alike: tuple[bool, ...]
) -> _Form:
    del alike  # it decides which input is looked at, so that forms that differ in it share nothing
    return _Form(wide, wide_inputs, counts, named)


@dataclass(frozen=True, eq=False)
class _Kind:
    """What is known of a description's kind.

    Attributes:
        encoder: of its operator and type.
        subject: its operator's name and its type's.
        attribute_levels: the levels of its attributes.
        form: what the levels of its tensors depend on besides these.
    """

    encoder: _Encoder
    subject: tuple[str, str]
    attribute_levels: int
    form: _Form


class _Laid(NamedTuple):
    """What is known of a case's tensors and their places.

    Attributes:
        levels: their levels.
        shown: the input whose elements decide the level of ``input``.
        number: how many of them are looked at.
    """

    levels: int
    shown: str
    number: int


@lru_cache(maxsize=256)
def _encoder(
    factors: ByIdentity[FactorsTable], table: ByIdentity[OperatorTable], data_type: DataType, level: FeatureLevel
) -> _Encoder:
    ranks = obliged_ranks(table.value, data_type, level)
    space_factors = factors_of(factors.value, table.value, data_type, ranks, "quick")
    return _Encoder(space_factors, table.value, tuple(counts_of(factors.value).items()))


class Seen:
    """The levels of the cases that one test dispatched and judged, each kind of case once."""

    def __init__(self, tables: Tables, level: FeatureLevel) -> None:
        self._tables = tables
        self._level = level
        self._kinds: dict[Hashable, _Kind | None] = {}
        self._rows: dict[tuple[str, str], tuple[_Encoder, set[int]]] = {}

    def note(self, case: Case, history: str, kept: dict[Hashable, Any] | None = None) -> None:
        """Count a case that was dispatched.

        Args:
            case: the case.
            history: what ran before it.
            kept: what is kept of the case's sizes, layouts and places, for other cases that have the same.
        """
        operator = case.operator
        try:
            kind = self._kinds[operator.kind]
        except KeyError:
            kind = self._kinds[operator.kind] = self._kind(operator)
        if kind is None:
            return
        form = kind.form
        laid: _Laid | None = None if kept is None else kept.get(form)
        if laid is None:
            laid = form.laid(operator, case.placement)
            if kept is not None:
                kept[form] = laid
        if kind.subject not in self._rows:
            self._rows[kind.subject] = (kind.encoder, set())
        shown = form.of_values(input_of(case.values[laid.shown], laid.number), history)
        self._rows[kind.subject][1].add(kind.attribute_levels + laid.levels + shown)

    def _kind(self, operator: OperatorDesc) -> _Kind | None:
        factors = self._tables.factors
        if factors is None:
            return None
        table = self._tables.operator(operator.name)
        return _encoder(ByIdentity(factors), ByIdentity(table), operator.data_type, self._level).kind(operator)

    @property
    def rows(self) -> dict[tuple[str, str], set[str]]:
        """The levels by operator and name of the type, as :func:`encoded` writes them."""
        return {subject: {encoder.text(row) for row in rows} for subject, (encoder, rows) in self._rows.items()}

    def records(self) -> tuple[LevelsSeen, ...]:
        """What was seen, for a test's record."""
        return tuple(LevelsSeen(*subject, tuple(sorted(rows))) for subject, rows in sorted(self.rows.items()))


def _space(
    factors: FactorsTable, table: OperatorTable, data_type: DataType, level: FeatureLevel, profile: str
) -> Space:
    return space_of(factors, table, data_type, obliged_ranks(table, data_type, level), profile)


def encoded(space: Space, levels: Mapping[str, str | None]) -> str:
    """Levels as text, one digit a factor: the level's position, in base 36; ``-`` where there is none."""
    places = (factor.index.get(levels.get(factor.name) or "") for factor in space.factors)
    return "".join(_NONE if place is None else _DIGITS[place] for place in places)


def decoded(space: Space, rows: Collection[str]) -> NDArray[np.intp]:
    """Positions of levels, one row each, -1 where there is none; what is no row of the space is left out.

    The result is 2-D: a row for each text, a column for each factor of the space.
    """
    sizes = [len(factor.levels) for factor in space.factors]
    text = "".join(row for row in rows if len(row) == len(sizes))
    digits = np.frombuffer(text.encode("latin-1", "replace"), np.uint8).reshape(-1, len(sizes))
    positions = _POSITIONS[digits]
    return np.asarray(positions[(positions < sizes).all(1)])


def covered(space: Space, rows: NDArray[np.intp], together: int) -> Bits:
    """Which combinations of so many levels stand in the rows, none of them hidden by a level that masks.

    Returns:
        A symmetric array over all levels counted through, as :func:`possible` gives.
    """
    ascending = _ascending(space, rows, together)
    bitmap = np.zeros_like(ascending)
    for order in itertools.permutations(range(together)):
        bitmap |= ascending.transpose(order)
    return bitmap


def _ascending(space: Space, rows: NDArray[np.intp], together: int) -> Bits:
    """Which combinations stand in the rows, as :func:`covered`, each in the factors' order alone."""
    offsets = flat_offsets(space)
    masked = np.zeros(rows.shape, bool)
    for place, factor in enumerate(space.factors):
        if factor.masks:
            masking = np.array([*(level in factor.masks for level in factor.levels), False])  # -1 stands for none
            masked[:, place] = masking[rows[:, place]]
    count = sum(len(factor.levels) for factor in space.factors)
    kept = np.array(list(itertools.combinations(range(len(space.factors)), together)))  # each with all rows at once
    bits = 1 << np.arange(len(space.factors))  # a row's factors as one number
    inside = bits[kept].sum(1)
    hiding, absent = (masked @ bits)[:, None], ((rows < 0) @ bits)[:, None]
    shown = (hiding & ~inside | absent & inside) == 0
    flat = rows + offsets
    places = np.zeros(shown.shape, np.intp)
    for factors in kept.T:
        places = places * count + flat[:, factors]
    ascending = np.zeros([count] * together, bool)
    ascending.reshape(-1)[places[shown]] = True
    return ascending


def _number(bits: Bits) -> int:
    """How many are set."""
    return int(np.count_nonzero(bits))


def counts(space: Space, rows: NDArray[np.intp]) -> dict[str, dict[str, int]]:
    """How many pairs and triples there can be, are asked for, are covered, and are missing of those asked for."""
    summary = {}
    for together, name in NAMES.items():
        can, wanted = possible(space, together), asked(space, together)
        seen, orders = _ascending(space, rows, together), math.factorial(together)
        every, due = _number(can) // orders, _number(wanted) // orders
        summary[name] = {
            "possible": every,
            "asked": due,
            "covered": _number(seen & can),
            "missing": due - _number(seen & wanted),
        }
    return summary


def combinations_of(
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
    entries = []
    for operator, name in subjects:
        table, data_type = tables.operators.get(operator), DataType[name]
        if table is None or data_type not in table.data_types:
            continue
        space = _space(factors, table, data_type, level, profile)
        counted = counts(space, decoded(space, rows[operator, name]))
        if operator in shared_out and not any(signature.data_type is data_type for signature in covering[operator]):
            counted = {together: {**figures, "asked": 0, "missing": 0} for together, figures in counted.items()}
        entries.append({"operator": operator, "data_type": name, **counted})
    return {"combinations": entries, **({"shared_out": shared_out} if shared_out else {})}
