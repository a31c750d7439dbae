"""The table of the activations that an operator may have fused to it."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models.accuracy import AccuracyRule, PermittedFormula
from dmlcts.specs.models.base import Identifier, LevelName, Model, Source, Text, Word


class Activation(Model):
    """An activation, as it stands in the place of a ``DML_OPERATOR_DESC``: its tensors are null there."""

    operator: Annotated[str, Field(pattern=r"^ACTIVATION_[A-Z0-9_]+$")]
    code: int = Field(ge=1, description="DML_OPERATOR_TYPE's number")
    introduced: LevelName
    numbers: tuple[Identifier, ...] = Field((), description="its FLOAT members, in the struct's order")
    formula: Text = Field(description="in the expression language, of x and the numbers")
    page_formula: Text = Field(description="the formula as the page prints it")
    accuracy: tuple[AccuracyRule, ...] = Field((), description="of functions that the fused operator has no rule for")
    permitted_formulas: tuple[PermittedFormula, ...] = Field((), description="how it may be computed besides")
    tried: tuple[dict[Identifier, float], ...] = Field(
        (), description="the sets of numbers that are tried, an ordinary one first; none where it has no numbers"
    )
    source: Word

    @property
    def short_name(self) -> str:
        """The name people use: RELU for ACTIVATION_RELU."""
        return self.operator.removeprefix("ACTIVATION_")

    @cached_property
    def feature_level(self) -> FeatureLevel:
        """The level that introduced it."""
        return FeatureLevel(self.introduced)

    @property
    def number_sets(self) -> tuple[dict[str, float], ...]:
        """The sets of numbers that are tried; an empty one where it has none."""
        return self.tried or ({},)


class ActivationsTable(Model):
    """Every activation that may be fused, in the order of the page that lists them."""

    format: Literal["dmlcts/activations/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    activations: tuple[Activation, ...] = Field(min_length=1)
