"""The sentences that an operator's pages are known to have, by their digests: no page's text is kept.

``known_sentences.yaml`` holds them; ``dmlcts spec compare --known PAGE…`` prints it anew from pages' texts, all
revisions of all operators that it is to hold. Of an operator whose pages were read in several revisions, ``always``
are the sentences of all and ``some`` those of one revision or another.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field

from dmlcts.specs.models.base import Model
from dmlcts.specs.pages.identifying import identify
from dmlcts.specs.pages.page import Page
from dmlcts.specs.pages.sentences import letters, sentences
from dmlcts.specs.tables import Tables

FORMAT = "dmlcts/known-sentences/1"
_DIGITS = 12
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]


def digest(sentence: str) -> str:
    """The digest of a sentence, whatever its layout: 12 hexadecimal digits."""
    return hashlib.sha256(letters(sentence).encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class KnownSentences:
    """Digests of an operator's sentences.

    Attributes:
        always: of those that every revision has.
        some: of those that one revision has or another.
    """

    always: frozenset[str]
    some: frozenset[str] = frozenset()

    def __contains__(self, mark: object) -> bool:
        return mark in self.always or mark in self.some


class KnownRow(Model):
    """An operator's digests, as the file has them."""

    always: tuple[Digest, ...] = Field(min_length=1)
    some: tuple[Digest, ...] = ()


class KnownDocument(Model):
    """The file ``known_sentences.yaml``; its JSON Schema is ``KnownDocument.model_json_schema()``."""

    format: Literal["dmlcts/known-sentences/1"]
    operators: dict[str, KnownRow]


@lru_cache(maxsize=1)
def known_sentences() -> Mapping[str, KnownSentences]:
    """What is known, by the operator's name; operators whose pages were not at hand are missing."""
    text = resources.files("dmlcts.specs.comparing").joinpath("known_sentences.yaml").read_text(encoding="utf-8")
    document = KnownDocument.model_validate_json(json.dumps(yaml.safe_load(text)))
    return {
        name: KnownSentences(frozenset(row.always), frozenset(row.some)) for name, row in document.operators.items()
    }


def yaml_of(pages: Iterable[Page], tables: Tables) -> str:
    """The text of ``known_sentences.yaml`` for some pages."""
    body = yaml.safe_dump(document_of(pages, tables), sort_keys=False, width=120, default_flow_style=None)
    return f"# Made by `dmlcts spec compare --known PAGE…`; see known.py.\n{body}"


def document_of(pages: Iterable[Page], tables: Tables) -> dict[str, Any]:
    """What ``known_sentences.yaml`` says of some pages; those that are not in English say nothing.

    Args:
        pages: the pages, several revisions of one operator's among them.
        tables: the tables that they are identified by.
    """
    digests_by_operator: dict[str, list[set[str]]] = defaultdict(list)
    for page in pages:
        if page.locale == "en":
            digests_by_operator[identify(page, tables).operator].append(
                {digest(sentence.text) for sentence in sentences(page)}
            )
    operators = {}
    for name, revisions in sorted(digests_by_operator.items()):
        always = set.intersection(*revisions)
        some = set.union(*revisions) - always
        operators[name] = {"always": sorted(always)} | ({"some": sorted(some)} if some else {})
    return {"format": FORMAT, "operators": operators}
