"""Every document that a table rests on has an address, and reports and `spec show` lead to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from dmlcts.reports.summaries.overview import rule_of
from dmlcts.reports.views import html
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models.base import Source
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.selftest.reports.report_samples import conformant
from dmlcts.suites.selftest.tables.sample_tables import BUILTIN, SPECS

LEARN = "https://learn.microsoft.com/en-us/windows/win32/api/directml/"


def sources() -> list[tuple[str, Source]]:
    named_sources = []
    for name in BUILTIN:
        for source in read_yaml((SPECS / name).read_text(encoding="utf-8"), name).value.get("sources", []):
            named_sources.append((name, Source.model_validate(source)))
    return named_sources


def test_the_page_of_results_links_to_it() -> None:
    page = html.page(conformant(), load_tables())
    assert f'href="{LEARN}ns-directml-dml_element_wise_clip_operator_desc"' in page


def test_every_document_has_an_address_and_nothing_else_has() -> None:
    without = [
        (name, source.id)
        for name, source in sources()
        if (source.address is None) != ((source.locale, source.revision) == ("none", "n/a"))
    ]
    assert not without
    assert len({source.address for _, source in sources()}) > 90


def test_an_operators_own_page_stands_at_the_name_of_its_struct() -> None:
    for table in load_tables().operators.values():
        assert table.sources[0].address == f"{LEARN}ns-directml-dml_{table.operator.lower()}_operator_desc"


@pytest.mark.parametrize("address", ["http://x.example/", "https://x.example/a b", "javascript:alert(1)", "page.htm"])
def test_an_address_is_one(address: str) -> None:
    schema = json.loads((SPECS / "schemas" / "operator.json").read_text(encoding="utf-8"))
    pattern = schema["$defs"]["Source"]["properties"]["address"]
    jsonschema.validate(LEARN, pattern)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(address, pattern)


def test_spec_show_and_rules_of_reports_have_it(dmlcts: Callable[..., Any]) -> None:
    page = f"{LEARN}ns-directml-dml_element_wise_clip_operator_desc"
    assert page in dmlcts("spec", "show", "clip.formula").out
    assert rule_of("clip.formula", load_tables()).address == page
    assert rule_of("clip.zero-sign", load_tables()).address == "", "the control: silence is no document"
