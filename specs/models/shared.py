"""The tables that all operators share: rules, latitudes, casts, data types and feature levels."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dmlcts.specs.latitudes import LatitudeName
from dmlcts.specs.models.base import DataTypeName, Identifier, LevelName, Model, Source, Text, Word
from dmlcts.specs.models.clauses import Clause


class RulesTable(Model):
    """Rules that all operators share: limits with their clauses."""

    format: Literal["dmlcts/rules/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    limits: dict[Identifier, int] = Field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()


class Latitude(Model):
    """Something the pages leave open, and the outcomes a conforming implementation may choose from."""

    name: LatitudeName
    text: Text
    permitted: tuple[Text, ...] = Field(min_length=1)
    strict: Text = Field(description="the behaviour that --strict leaves")
    kept_when_strict: bool = Field(description="does --strict keep the latitude as it is?")
    source: Word


class LatitudeTable(Model):
    """Every latitude, by name."""

    format: Literal["dmlcts/latitude/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    latitudes: tuple[Latitude, ...] = Field(min_length=1)


class CastRule(Model):
    """How a FLOAT attribute becomes a value of the tensor's type."""

    target: Literal["integer", "FLOAT16", "FLOAT32"]
    rounding: Literal["toward zero", "to nearest, ties to even", "exact"]
    range: Text = Field(description="which values the rule covers")
    beyond: Text = Field(description="what is known of the others")
    source: Word


class CastsTable(Model):
    """The documented casts of FLOAT attributes."""

    format: Literal["dmlcts/casts/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    casts: tuple[CastRule, ...] = Field(min_length=1)


class DataTypeRow(Model):
    """One element type."""

    name: DataTypeName
    value: int = Field(ge=1, description="the enumerator's number")
    size_in_bytes: int = Field(ge=1, le=8)
    kind: Literal["floating", "signed", "unsigned"]


class DataTypesTable(Model):
    """The element types."""

    format: Literal["dmlcts/data-types/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    data_types: tuple[DataTypeRow, ...] = Field(min_length=1)


class FeatureLevelRow(Model):
    """One feature level."""

    level: LevelName
    value: int = Field(ge=1, description="the enumerator's number")


class FeatureLevelsTable(Model):
    """The feature levels, ascending."""

    format: Literal["dmlcts/feature-levels/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    feature_levels: tuple[FeatureLevelRow, ...] = Field(min_length=1)
