"""Templates of clauses: what many operators' tables state alike, written once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.latitudes import LatitudeName
from dmlcts.specs.models.base import Model, Obligation, Source, Text, Word
from dmlcts.specs.models.clauses import AboutTypes, Subject

TemplateName = Annotated[str, Field(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]


class ClauseTemplate(Model):
    """What a clause has in every table that names the template; the table adds the rest, quotations among it."""

    name: TemplateName
    id: TemplateName | None = Field(None, description="the clause's, without the operator's prefix; none: its own")
    check: OwnCheck
    text: Text | None = Field(
        None, description="the statement, with {names} that a clause's `fill:` gives; none: the clause has its own"
    )
    obligation: Obligation
    subject: Subject
    sources: tuple[Word, ...] = Field((), description="ids of sources, which the operator's table lists too")
    data_types: AboutTypes | None = None
    latitude: tuple[LatitudeName, ...] = ()
    permitted: tuple[Text, ...] = ()
    where: Text | None = None


class ClauseTemplatesTable(Model):
    """The clauses that many operators share, to be filled in by each of their tables."""

    format: Literal["dmlcts/clause-templates/1"]
    title: Text
    sources: tuple[Source, ...] = Field(min_length=1)
    templates: tuple[ClauseTemplate, ...] = Field(min_length=1)
