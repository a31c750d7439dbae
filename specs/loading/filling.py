"""Templates of clauses filled in: each clause of an operator's table that names one becomes the whole clause.

A template holds what a clause has in every table; the table adds what is its own, and the words for the template's
``{names}``. What does not go together is refused at its place in the operator's table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dmlcts.specs.errors import Fault, TableError
from dmlcts.specs.models import ClauseTemplate
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath, shown

_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_NOT_THE_CLAUSES = ("name", "id")


def names_a_template(document: Document) -> bool:
    """Whether any clause of a table names a template."""
    return any(isinstance(clause, dict) and "template" in clause for clause in _clauses(document))


def filled(document: Document, templates: Mapping[str, ClauseTemplate]) -> Document:
    """The document with whole clauses for those that name a template; each fault is reported where it is written.

    Args:
        document: an operator's table.
        templates: by their names.

    Raises:
        TableError: a clause names an unknown template, says again what its template says, or does not fill it.
    """
    faults = [fault for path, clause in _filling(document) for fault in _faults(document, path, clause, templates)]
    if faults:
        raise TableError(*faults)
    prefix = str(document.value.get("operator", "")).removeprefix("ELEMENT_WISE_").lower().replace("_", "-")
    whole = list(_clauses(document))
    for (_, index), clause in _filling(document):
        whole[int(index)] = _whole(clause, templates[clause["template"]], prefix)
    return replace(document, value={**document.value, "clauses": whole})


def _clauses(document: Document) -> list[Any]:
    clauses = document.value.get("clauses") if isinstance(document.value, dict) else None
    return clauses if isinstance(clauses, list) else []


def _filling(document: Document) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """The clauses that name a template, with their places."""
    for index, clause in enumerate(_clauses(document)):
        if isinstance(clause, dict) and "template" in clause:
            yield ("clauses", index), clause


def _given(template: ClauseTemplate) -> dict[str, Any]:
    """What a template gives a clause besides its id, as a table would write it."""
    return {
        name: value
        for name, value in template.model_dump(mode="json").items()
        if name not in _NOT_THE_CLAUSES and value not in (None, [])
    }


def _faults(
    document: Document, path: KeyPath, clause: dict[str, Any], templates: Mapping[str, ClauseTemplate]
) -> Iterator[Fault]:
    name = clause["template"]
    template = templates.get(name) if isinstance(name, str) else None
    if template is None:
        cause = f"there is no template {shown(name)} in shared/clause_templates.yaml"
        yield document.fault((*path, "template"), cause, closest(name, templates))
        return
    template_keys = {*_given(template), *([] if template.id is None else ["id"])}
    for key in clause:
        if key in template_keys:
            cause = f"the template {name} says `{key}` already"
            yield document.fault((*path, key), cause, "remove it, or write the clause without `template:`", at_key=True)
    wanted = _NAME.findall(template.text or "")
    fill = clause.get("fill", {})
    if not isinstance(fill, dict):
        yield document.fault((*path, "fill"), f"fill: {shown(fill)} is not a mapping", "write `name: words` entries")
        return
    for word in dict.fromkeys(wanted):
        if word not in fill:
            cause = f"the template {name} has {{{word}}}, and `fill:` does not give it"
            yield document.fault((*path, "fill"), cause, f"add `{word}:` with the words that stand there")
    for word, words in fill.items():
        if word not in wanted:
            yield document.fault(
                (*path, "fill", word),
                f"the template {name} has no {{{shown(word)}}}",
                closest(word, wanted),
                at_key=True,
            )
        elif not isinstance(words, str) or not words:
            yield document.fault((*path, "fill", word), f"fill.{word}: {shown(words)} is not a text", "write a text")


def _whole(clause: dict[str, Any], template: ClauseTemplate, prefix: str) -> dict[str, Any]:
    own = {key: value for key, value in clause.items() if key not in ("template", "fill")}
    whole = {**_given(template), **own}
    if template.id is not None:
        whole["id"] = f"{prefix}.{template.id}"
    if template.text is not None:
        fill = clause.get("fill", {})
        whole["text"] = _NAME.sub(lambda match: str(fill[match[1]]), template.text)
    return whole
