"""The factors of one operator on one data type, with their levels, as the table of factors and its own table say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import EconomyRow, FactorRow, FactorsTable, OperatorTable
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.combinations.constraints import INPUT_LAYOUTS, Relation, relations_of
from dmlcts.suites.generation.subject import Subject

PLAIN_SCALINGS = frozenset({"none", "both", "scale-only", "bias-only", "identity", "negative"})
"""The levels of ``scale-bias`` of operators of several inputs, or with bounds of a type: the others show little."""

_SLOW = frozenset({"past-2-15", "past-2-17", "past-2-20", "gap-2-16", "again", "after-another", "beside-another"})
"""Levels that many rows have and that make a case take longer: more elements, a larger resource, more dispatches."""


@dataclass(frozen=True)
class Factor:
    """One thing that varies.

    Attributes:
        name: the table's name, or that of the enumeration.
        levels: the names of its levels.
        base: the level that an ordinary case has.
        masks: the levels that hide what other factors do.
        strengths: for each level, with how many levels of other factors at once (itself included) it is tried.
        slow: the levels that make a case take longer than the base does.
    """

    name: str
    levels: tuple[str, ...]
    base: str
    masks: frozenset[str]
    strengths: tuple[int, ...]
    slow: frozenset[str] = frozenset()

    @cached_property
    def index(self) -> dict[str, int]:
        """The position of each level."""
        return {name: position for position, name in enumerate(self.levels)}


@dataclass(frozen=True)
class Space:
    """The factors of one operator on one type at one level, and what does not go together.

    Two types with equal factors and relations have equal spaces, and share their covering array.

    Attributes:
        factors: in the table's order.
        relations: the levels that go together, for each constraint.
        strength: how many levels at once are tried in all combinations.
    """

    factors: tuple[Factor, ...]
    relations: tuple[Relation, ...]
    strength: int

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of each factor among the factors."""
        return {factor.name: place for place, factor in enumerate(self.factors)}

    def factor(self, name: str) -> Factor | None:
        """The factor of that name, where there is one."""
        place = self.position.get(name)
        return None if place is None else self.factors[place]

    def allows(self, levels: dict[str, str]) -> bool:
        """Whether no constraint speaks against these levels, one for every factor."""
        return self.against(levels) is None

    def against(self, levels: dict[str, str]) -> Relation | None:
        """The first constraint that speaks against these levels, one for every factor."""
        row = {factor.name: factor.index[levels[factor.name]] for factor in self.factors}
        for relation in self.relations:
            if tuple(row[name] for name in relation.factors) not in relation.allowed:
                return relation
        return None


def _levels(row: FactorRow, table: OperatorTable, data_type: DataType, ranks: tuple[int, ...]) -> tuple[str, ...]:
    if row.levels_of == "ranks":
        return tuple(str(rank) for rank in ranks)
    return tuple(level.name for level in row.levels if level.applies(table, data_type))


def space_of(
    factors: FactorsTable, table: OperatorTable, data_type: DataType, ranks: tuple[int, ...], profile: str
) -> Space:
    """The space of an operator on a type.

    Args:
        factors: the table of factors.
        table: the operator's table.
        data_type: the type.
        ranks: the ranks that the judged level obliges.
        profile: "quick", "full" or "certification".
    """
    return _space(ByIdentity(factors), ByIdentity(table), data_type, ranks, profile)


def factors_of(
    factors: FactorsTable, table: OperatorTable, data_type: DataType, ranks: tuple[int, ...], profile: str
) -> tuple[Factor, ...]:
    """The factors of an operator on a type, without what goes together of their levels; as :func:`space_of`."""
    return _factors(ByIdentity(factors), ByIdentity(table), data_type, ranks, profile)


def base_levels(space: Space) -> Mapping[str, str]:
    """The base level of every factor."""
    return {factor.name: factor.base for factor in space.factors}


def counts_of(factors: FactorsTable) -> Mapping[str, tuple[int, int]]:
    """The least and the greatest number of elements, by level of ``count``."""
    return _counts(ByIdentity(factors))


@lru_cache(maxsize=4)
def _counts(factors_key: ByIdentity[FactorsTable]) -> Mapping[str, tuple[int, int]]:
    factors = factors_key.value
    counts = {level.name: level.counts for row in factors.factors for level in row.levels if level.counts is not None}
    return MappingProxyType(counts)


@lru_cache(maxsize=256)
def _space(
    factors_key: ByIdentity[FactorsTable],
    operator: ByIdentity[OperatorTable],
    data_type: DataType,
    ranks: tuple[int, ...],
    profile: str,
) -> Space:
    factors, table = factors_key.value, operator.value
    space_factors = _factors(factors_key, operator, data_type, ranks, profile)
    by_name = {factor.name: factor.levels for factor in space_factors}
    wide = dict(zip(table.wide_inputs, INPUT_LAYOUTS, strict=False))  # a table may have more than there are factors
    aliases = tuple(wide[name] for name in table.tensors[table.output].may_alias if name in wide)
    strength: int = getattr(factors.strengths, profile)
    return Space(space_factors, relations_of(factors, by_name, counts_of(factors), data_type, aliases), strength)


@lru_cache(maxsize=256)
def _factors(
    factors_key: ByIdentity[FactorsTable],
    operator: ByIdentity[OperatorTable],
    data_type: DataType,
    ranks: tuple[int, ...],
    profile: str,
) -> tuple[Factor, ...]:
    factors, table = factors_key.value, operator.value
    strength: int = getattr(factors.strengths, profile)
    economies = [
        economy
        for economy in factors.economies
        if profile in economy.profiles and data_type.name in (economy.data_types or (data_type.name,))
    ]
    simple = of_one_type(table)
    factor_list = []
    for row in factors.factors:
        owners = [item for item in table.attributes if item.type == row.of]
        if row.inputs > len(table.wide_inputs):
            continue
        if row.of != "case" and (not owners or (row.of == "FLOAT" and not simple)):
            continue
        levels = _levels(row, table, data_type, ranks)
        if row.of == "DML_SCALE_BIAS" and not simple:
            levels = tuple(level for level in levels if level in PLAIN_SCALINGS)
        named = [(row.name, levels)]
        if row.levels_of == "enumerators":
            named = [(item.name, item.enumerators) for item in owners]
        masks = frozenset(level.name for level in row.levels if level.masks)
        for name, levels in named:
            base = row.base if row.base in levels else levels[0]
            strengths = tuple(_strength(economies, row.name, level, strength) for level in levels)
            slow = _SLOW & set(levels)
            factor_list.append(Factor(name, levels, base, masks & set(levels), strengths, slow))
    return tuple(factor_list)


def _strength(economies: Sequence[EconomyRow], factor: str, level: str, strength: int) -> int:
    return min([strength, *(economy.strength for economy in economies if level in economy.levels.get(factor, ()))])


def obliged_ranks(table: OperatorTable, data_type: DataType, level: FeatureLevel) -> tuple[int, ...]:
    """The ranks that ``level`` obliges; where it obliges none, those that any level lists."""
    return Subject.on(table, data_type, level).ranks
