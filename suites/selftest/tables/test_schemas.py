"""The JSON Schemas, the enumerations and the built-in tables agree."""

from __future__ import annotations

import json
import typing
from functools import cache

import jsonschema
import pytest

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.loading.schema import generate
from dmlcts.specs.models import MODELS, DataTypeName, LevelName
from dmlcts.specs.reading.yaml_source import Document, read_yaml
from dmlcts.suites.selftest.tables.sample_tables import ALONE, BUILTIN, GOOD, SPECS

SAMPLES = {**GOOD, **ALONE}


generated = cache(generate)


def read_builtin(name: str) -> Document:
    return read_yaml((SPECS / name).read_text(encoding="utf-8"), name)


def test_the_schemas_are_up_to_date() -> None:
    folder = SPECS / "schemas"
    checked_in = {
        entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".json")
    }
    assert checked_in == generated(), "run `python -m dmlcts.specs.loading.schema`"
    assert len(checked_in) == len(MODELS)


@pytest.mark.parametrize("name", [f"{name.split('/')[1]}.json" for name in MODELS])
def test_a_schema_is_one(name: str) -> None:
    schema = json.loads(generated()[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == f"urn:dmlcts:schema:{name.removesuffix('.json')}:{2 if name == 'operator.json' else 1}"
    assert schema["title"].startswith("dmlcts/")
    kind = name.removesuffix(".json")  # a second table of factors is never good, so that there is no sample of one
    file = f"shared/{kind.replace('-', '_')}.yaml"
    document = (read_yaml(SAMPLES[kind], name) if kind in SAMPLES else read_builtin(file)).value
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "unknown": 1}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({key: value for key, value in document.items() if key != "sources"}, schema)


@pytest.mark.parametrize("name", BUILTIN)
@pytest.mark.size("thorough", brief=15)
def test_the_built_in_tables_fit_the_schema_they_name(name: str) -> None:
    text = (SPECS / name).read_text(encoding="utf-8")
    document = read_builtin(name).value
    schema = document["format"].split("/")[1] + ".json"
    assert text.splitlines()[0] == f"# yaml-language-server: $schema=../schemas/{schema}"
    jsonschema.validate(document, json.loads(generated()[schema]))


def test_the_data_types_agree() -> None:
    rows = read_builtin("shared/data_types.yaml").value["data_types"]
    assert {row["name"]: row["value"] for row in rows} == {item.name: item.dml_value for item in DataType}
    assert {row["name"]: row["size_in_bytes"] for row in rows} == {item.name: item.itemsize for item in DataType}
    for row in rows:
        item = DataType[row["name"]]
        assert row["kind"] == ("floating" if item.is_floating else "signed" if item.is_signed else "unsigned")
    assert set(typing.get_args(DataTypeName)) == {item.name for item in DataType}


def test_the_feature_levels_agree() -> None:
    rows = read_builtin("shared/feature_levels.yaml").value["feature_levels"]
    assert [(row["level"], row["value"]) for row in rows] == [(item.value, item.dml_value) for item in FeatureLevel]
    assert [row["value"] for row in rows] == sorted(row["value"] for row in rows)
    assert typing.get_args(LevelName) == tuple(item.value for item in FeatureLevel)
