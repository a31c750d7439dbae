"""How exact results have to be: tolerances of functions, and formulas that are acceptable besides the table's own."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dmlcts.specs.models.base import DataTypeName, Identifier, Model, Text, Word

Amount = Annotated[float, Field(ge=0)] | Text
"""A number, or an expression of the function's arguments x and y, its real result t, and ulp, the spacing at t."""


class Tolerance(Model):
    """How far a result may be from the real number: any one of the bounds suffices."""

    ulp: Amount | None = Field(None, description="in units of the last place of the result's type")
    relative: Amount | None = None
    absolute: Amount | None = None
    factor: Amount | None = Field(
        None,
        description="at least 1: from the real number divided by it to the real number times it; the other "
        "bounds count from there, and no result has another sign than the real number",
    )
    neighbours: bool = Field(False, description="either of the two numbers next to the real one; it, where it is one")
    within: Text | None = Field(
        None, description="a condition on x and y; where it does not hold, any value is acceptable"
    )


class AccuracyRule(Model):
    """How exact a function of the formula has to be."""

    function: Identifier
    data_types: tuple[DataTypeName, ...] = Field(min_length=1)
    judged: Tolerance
    strict: Tolerance
    source: Word


class PermittedFormula(Model):
    """Another formula, each function of which is within its accuracy rule: what it gives is acceptable too."""

    formula: Text
    where: Text | None = Field(None, description="a condition on the formula's inputs; none: everywhere")
    data_types: tuple[DataTypeName, ...] = Field((), description="of the first type variable; none: all")
    strict: bool = Field(False, description="does --strict leave it?")
    source: Word
