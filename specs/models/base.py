"""What the models of all tables share: the base, the kinds of text, and sources."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Obligation = Literal["required", "implied", "unspecified"]
LevelName = Literal[
    "1.0", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1", "5.2", "6.0", "6.1", "6.2", "6.3", "6.4"
]
DataTypeName = Literal[
    "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8", "FLOAT64"
]
ClauseId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+$")]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]
TypeVariable = Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]*$")]
Address = Annotated[str, Field(pattern=r"^https://[A-Za-z0-9.-]+/[A-Za-z0-9._~/%#?=&+@:-]*$")]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]


class Model(BaseModel):
    """Base: frozen, strict about types, no unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


class Source(Model):
    """Where a rule is written."""

    id: Word
    title: Text = Field(description="the document's title")
    locale: Text = Field("en-us", description="the language version that was read")
    revision: Text = Field(description="date or digest of the revision that was read")
    address: Address | None = Field(None, description="where it can be read; none where it is no document")

    @property
    def cited(self) -> str:
        """The title with the language and the revision that were read; logic has neither."""
        read = [part for part in (self.locale, self.revision) if part not in ("none", "n/a")]
        return f"{self.title} ({'; '.join(read)})" if read else self.title
