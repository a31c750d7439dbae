"""A clause: one checkable statement, what it rests on and what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from dmlcts.specs.checks import OwnCheck, SharedCheck
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.latitudes import LatitudeName
from dmlcts.specs.models.base import (
    ClauseId,
    DataTypeName,
    Identifier,
    LevelName,
    Model,
    Obligation,
    Text,
    TypeVariable,
    Word,
)

Subject = Literal[
    "formula",
    "casting",
    "rounding",
    "special values",
    "scale and bias",
    "descriptions",
    "layout",
    "memory",
    "aliasing",
    "state",
    "properties",
]
AboutTypes = Literal["all", "floating", "integer", "unlisted", "not-FLOAT32"] | tuple[DataTypeName, ...]


class Quotation(Model):
    """A few words of a source that a clause rests on."""

    source: Word = Field(description="id of one of the table's sources")
    words: Text = Field(description="quoted exactly; short")


class Disagreement(Model):
    """Another Microsoft document that says something else, recorded beside the clause."""

    source: Word
    says: Text


class Clause(Model):
    """One checkable statement."""

    id: ClauseId
    check: OwnCheck | SharedCheck = Field(description="what the suite checks it with")
    when: dict[Identifier, Identifier] = Field(
        default_factory=dict,
        description="enumeration attributes with the enumerators that it is about, else all; "
        "attributes that are operators with the activation",
    )
    text: Text = Field(description="the statement, in our words")
    obligation: Obligation
    subject: Subject
    quotation: Quotation | None = None
    sources: tuple[Word, ...] = Field((), description="further sources, by id")
    data_types: AboutTypes = Field(
        "all",
        description="the listed types it is about; `unlisted`: those in no support row, and the listed ones "
        "beside another tensor of a type that no row lists for it",
    )
    types: dict[TypeVariable, Literal["floating", "integer"]] = Field(
        default_factory=dict, description="what other type variables than the first stand for where it is about them"
    )
    level: LevelName | None = Field(
        None, description="for `check: support.level`: the support table it states; obliged from there on"
    )
    latitude: tuple[LatitudeName, ...] = Field((), description="what is left open; it acts on the clause's types")
    permitted: tuple[Text, ...] = Field((), description="for `unspecified`: the outcomes that are permitted")
    where: Text | None = Field(
        None, description="for `check: silent` and `relation`: the condition on elements under which it holds"
    )
    point: Text | None = Field(
        None, description="for `check: silent`: what the inputs or results are there, of which the behaviours speak"
    )
    behaviours: dict[Text, Text] = Field(
        default_factory=dict, description="for `check: silent`: what may come out there, by name, each an expression"
    )
    accepted: tuple[Text, ...] = Field(
        (), description="for `check: silent`: the behaviours that are right there; none: what the formula gives is"
    )
    strict: tuple[Text, ...] = Field((), description="those of the accepted ones that --strict leaves; none: all")
    holds: Text | None = Field(None, description="for `check: relation`: what holds between inputs and results")
    disagreements: tuple[Disagreement, ...] = ()

    def may_be_about(self, data_type: DataType, types: Mapping[str, DataType] | None = None) -> bool:
        """Whether the clause is about a type, as far as it says itself which types it is about.

        Args:
            data_type: what the first type variable stands for.
            types: what the others stand for, where that is known.
        """
        for variable, kind in self.types.items():
            if types is not None and variable in types and types[variable].is_floating != (kind == "floating"):
                return False
        match self.data_types:
            case "floating":
                return data_type.is_floating
            case "integer":
                return not data_type.is_floating
            case "not-FLOAT32":
                return data_type is not DataType.FLOAT32
            case "all" | "unlisted":
                return True
            case names:
                return data_type.name in names
