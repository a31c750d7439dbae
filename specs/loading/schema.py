"""JSON Schemas of the table formats, for editors; ``python -m dmlcts.specs.loading.schema`` writes them.

They are generated from the models, so that both always agree. What only the loader can know (names that
must exist, levels in order) is not in them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dmlcts.specs.models import MODELS, OperatorTable
from dmlcts.specs.models.templates import TemplateName

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def generate() -> dict[str, str]:
    """The text of every schema, by file name."""
    schemas = {}
    for name, model in MODELS.items():
        project, kind, version = name.split("/")
        schema = _tidied(model.model_json_schema())
        if model is OperatorTable:
            _permit_templates(schema)
        head = {
            "$schema": DIALECT,
            "$id": f"urn:{project}:schema:{kind}:{version}",
            "title": f"{name}: {schema['description'].rstrip('.')}",
        }
        text = json.dumps({**head, **schema}, indent=2, ensure_ascii=False)
        schemas[f"{kind}.json"] = f"{text}\n"
    return schemas


def _permit_templates(schema: dict[str, Any]) -> None:
    """Let a clause name a template, which then gives what it lacks; the loader fills it in before the model sees it."""
    clause, name = schema["$defs"]["Clause"], TypeAdapter(TemplateName).json_schema()
    words = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
    schema["$defs"]["FilledClause"] = {
        **clause,
        "description": "A clause of which a template of shared/clause_templates.yaml says the rest.",
        "properties": {
            "template": {"description": "the template's name", **name},
            "fill": {"description": "the words for the {names} of the template's text", **words},
            **clause["properties"],
        },
        "required": ["template"],
    }
    schema["properties"]["clauses"]["items"] = {
        "if": {"required": ["template"]},  # so that an editor shows the faults of the form that was meant
        "then": {"$ref": "#/$defs/FilledClause"},
        "else": {"$ref": "#/$defs/Clause"},
    }


def _tidied(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema in the one form that all supported versions of pydantic lead to.

    Titles that only repeat a key are dropped, and the ``enum`` that older versions put beside ``const``.
    """
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title" or (key == "enum" and "const" in schema):
            continue
        if key in ("properties", "$defs"):  # there the keys are names, which may be "title" too
            kept[key] = {name: _tidied(item) for name, item in value.items()}
        else:
            kept[key] = _tidied_value(value)
    return kept


def _tidied_value(value: Any) -> Any:
    if isinstance(value, dict):
        return _tidied(value)
    if isinstance(value, list):
        return [_tidied_value(item) for item in value]
    return value


def main() -> None:
    """Write the schemas into the ``schemas`` folder of the room, and name them."""
    folder = Path(__file__).parents[1] / "schemas"
    folder.mkdir(exist_ok=True)
    for name, text in generate().items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        sys.stdout.write(f"schemas/{name}\n")


if __name__ == "__main__":
    main()
