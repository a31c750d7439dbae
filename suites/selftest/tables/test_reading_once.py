"""What selftests keep of built-in tables hides no change: what differs is parsed, and its relations are checked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from dmlcts.specs import TableError
from dmlcts.specs.loading import load, tables_of_files
from dmlcts.specs.reading.table_files import TableFile, builtin_files
from dmlcts.specs.reading.yaml_source import Document
from dmlcts.suites.selftest.reading_once import reading_once

HOLDS = "holds: ABS(NEGATE(x)) == ABS(x)"


def changed(old: str, new: str) -> list[TableFile]:
    """The built-in files with another text in that of ABS."""
    files = {file.digest_name: file for file in builtin_files()}
    text = files["operators/abs.yaml"].data.decode()
    assert old in text
    files["operators/abs.yaml"] = replace(files["operators/abs.yaml"], data=text.replace(old, new).encode())
    return list(files.values())


def faults(files: list[TableFile]) -> list[str]:
    tables_of_files(builtin_files())  # what stays of these
    with pytest.raises(TableError) as error:
        tables_of_files(files)
    return [str(fault) for fault in error.value.faults]


def test_only_what_is_changed_is_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: Counter[str] = Counter()
    plainly = load.read_yaml

    def counting(text: str, name: str) -> Document:
        parsed[name] += 1
        return plainly(text, name)

    monkeypatch.setattr(load, "read_yaml", counting)
    with reading_once():
        tables_of_files(builtin_files())
        again = tables_of_files(changed("page_formula: f(x)", "page_formula: g(x)"))
    assert parsed == dict.fromkeys((file.name for file in builtin_files()), 1) | {"specs/operators/abs.yaml": 2}
    assert again.operator("ABS").page_formula == "g(x) = abs(x)"


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("format: dmlcts/operator/2", "format: dmlcts/operatr/2", "did you mean dmlcts/operator/2?"),
        ("formula: ", "formula: 0 if y else ", "undefined name 'y'"),
        (HOLDS, "holds: ABS(NEGATE(x))", "the statement is a number"),
        (HOLDS, "holds: ABS(NEGATED(x)) == ABS(x)", "NEGATED"),
    ],
)
def test_a_fault_of_a_changed_file_is_found(old: str, new: str, text: str) -> None:
    assert any("abs.yaml" in fault and text in fault for fault in faults(changed(old, new)))


def test_a_relation_is_checked_again_where_a_table_that_it_names_is_another() -> None:
    negate = "operators/negate.yaml"
    files = {file.digest_name: file for file in builtin_files()}
    without = [file for name, file in files.items() if name != negate]
    assert any("abs.yaml" in fault and "NEGATE" in fault for fault in faults(without))
    files[negate] = replace(files[negate], data=files[negate].data.replace(b"FLOAT16, ", b""))
    assert any("abs.yaml" in fault and "NEGATE is not there on" in fault for fault in faults([*files.values()]))
