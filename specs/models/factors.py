"""The table of factors: what a case varies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.models.base import DataTypeName, Identifier, Model, Source, Text, Word
from dmlcts.specs.models.operators import OperatorTable


class LevelRow(Model):
    """One level of a factor."""

    name: Word
    text: Text = Field(description="what a case of this level has, in our words")
    data_types: Literal["all", "floating", "integer", "not-FLOAT32"] = Field("all", description="the types it is for")
    needs: tuple[Identifier, ...] = Field((), description="attributes without which there is no such level")
    in_place: bool = Field(False, description="only for operators whose output may alias the input")
    inputs: int = Field(1, ge=1, description="only for operators with so many inputs of the output's sizes")
    masks: bool = Field(False, description="does it hide what the other factors do?")
    counts: tuple[int, int] | None = Field(None, description="for numbers of elements: the least and the greatest")

    def applies(self, table: OperatorTable, data_type: DataType) -> bool:
        """Whether there is such a level for the operator on the type."""
        types = {
            "all": True,
            "floating": data_type.is_floating,
            "integer": not data_type.is_floating,
            "not-FLOAT32": data_type is not DataType.FLOAT32,
        }
        known = all(table.attribute(name) is not None for name in self.needs)
        fits = (table.in_place or not self.in_place) and len(table.wide_inputs) >= self.inputs
        return types[self.data_types] and known and fits


class FactorRow(Model):
    """One thing that a case varies. The first level is the base, unless another one is named."""

    name: Word
    text: Text
    of: Literal["DML_SCALE_BIAS", "DML_OPERATOR_DESC", "FLOAT", "ENUM", "case"] = Field(
        description="the attributes that it is about: an operator without one has no such factor"
    )
    inputs: int = Field(1, ge=1, description="only for operators with so many inputs of the output's sizes")
    levels: tuple[LevelRow, ...] = ()
    levels_of: Literal["enumerators", "ranks"] | None = Field(
        None, description="where the levels come from, if they are not listed: one factor an enumeration; the ranks"
    )
    base: Text | None = Field(None, description="the base among the levels that are not listed, where it is there")


LevelsByFactor = dict[Word, tuple[Word, ...]]


class ConstraintRow(Model):
    """Levels that do not go together: those of ``when`` with those of ``never``, or what ``holds`` rules out."""

    id: Word
    text: Text = Field(description="why")
    data_types: Literal["all", "floating", "integer"] = "all"
    holds: Literal["sizes", "order", "same-layout", "equal-inputs"] | None = Field(
        None, description="a rule that names cannot state; see dmlcts.suites.combinations.constraints"
    )
    when: LevelsByFactor = Field(default_factory=dict)
    never: LevelsByFactor = Field(default_factory=dict)


class EconomyRow(Model):
    """Levels that a profile combines with fewer others than the rest."""

    why: Text
    profiles: tuple[Literal["quick", "full", "certification"], ...] = Field(min_length=1)
    data_types: tuple[DataTypeName, ...] = Field((), description="for these types; for all where none is named")
    levels: LevelsByFactor
    strength: int = Field(ge=0, le=2, description="0: not at all, 1: each at least once, 2: in pairs only")


class Strengths(Model):
    """How many levels at once are combined in all ways, by profile."""

    quick: int = Field(ge=1, le=3)
    full: int = Field(ge=1, le=3)
    certification: int = Field(ge=1, le=3)


class FactorsTable(Model):
    """What a case varies: the factors with their levels, and which combinations are tried."""

    format: Literal["dmlcts/factors/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    strengths: Strengths
    factors: tuple[FactorRow, ...] = Field(min_length=1)
    constraints: tuple[ConstraintRow, ...] = ()
    economies: tuple[EconomyRow, ...] = ()
