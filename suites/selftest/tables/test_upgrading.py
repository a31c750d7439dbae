"""`dmlcts spec upgrade` rewrites a table of format 1, and nothing but what changed."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmlcts.specs import TableError
from dmlcts.specs.loading import lint, load_tables
from dmlcts.specs.loading.upgrading import upgraded
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.selftest.tables.sample_tables import OPERATOR

OLD = """\
# my own table
format: dmlcts/operator/1
operator: ELEMENT_WISE_MINE
code: 901
introduced: "2.0"
summary: Mine.
in_place: true
sources:
  - {id: page, title: A page, revision: today}  # which one

struct:
  - {name: InputTensor, type: const DML_TENSOR_DESC*}
  - {name: OutputTensor, type: const DML_TENSOR_DESC*}
  - {name: Min, type: FLOAT}

attributes:
  - name: Min
    type: FLOAT
    cast: documented
constraints: [DataType, Sizes]

# what the levels list
support:
  - level: "3.0"
    rows:
      - {tensor: InputTensor, kind: Input, dimension_counts: [1, 8], data_types: [FLOAT32, INT8]}
      - {tensor: OutputTensor, kind: Output, dimension_counts: [1, 8], data_types: [FLOAT32, INT8]}

# what it does
formula: max(x, Min)
clauses:
  - id: mine.formula
    text: It is so.
    obligation: required
    subject: formula
    quotation: {source: page, words: "so it is"}
  - id: mine.in-place
    text: It is so in place.
    obligation: required
    subject: aliasing
    sources: [page]
  - id: mine.support.level-3-0
    text: It is there.
    obligation: required
    subject: descriptions
    level: "3.0"
    sources: [page]
"""
CHANGED = """\
-format: dmlcts/operator/1
+format: dmlcts/operator/2
-in_place: true
+tensors:
+  InputTensor: {name: x, kind: input, type: T}
+  OutputTensor: {kind: output, type: T, may_alias: [InputTensor]}
+
+    role: low
-constraints: [DataType, Sizes]
+constraints:
+  - {same: [DataType, Sizes], tensors: [InputTensor, OutputTensor]}
-    rows:
-      - {tensor: InputTensor, kind: Input, dimension_counts: [1, 8], data_types: [FLOAT32, INT8]}
-      - {tensor: OutputTensor, kind: Output, dimension_counts: [1, 8], data_types: [FLOAT32, INT8]}
+    dimension_counts: [1, 8]
+    types: {T: [FLOAT32, INT8]}
+    check: values
+    check: in-place
+    check: support.level
"""


def test_only_what_changed_is_rewritten() -> None:
    lines = difflib.unified_diff(OLD.splitlines(), upgraded(OLD, "mine").splitlines(), lineterm="", n=0)
    changed_lines = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    assert "\n".join(changed_lines) + "\n" == CHANGED


def test_the_command_rewrites_a_file_that_lint_refused(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OLD, encoding="utf-8")
    refused = dmlcts("spec", "lint", "mine.yaml")
    assert refused.code == 2
    assert "mine.yaml:2:9: the table is of the format dmlcts/operator/1" in refused.err
    assert "run `dmlcts spec upgrade FILE`" in refused.err
    assert dmlcts("spec", "upgrade", "mine.yaml").code == 0
    assert dmlcts("spec", "lint", "mine.yaml").code == 0
    assert load_tables(path).operator("MINE").in_place
    again = dmlcts("spec", "upgrade", "mine.yaml")
    assert again.code == 2
    assert "no format that there is an upgrade for" in again.err


def test_an_output_of_another_type_is_kept(tmp_path: Path) -> None:
    text = upgraded(
        OLD.replace(
            "Output, dimension_counts: [1, 8], data_types: [FLOAT32, INT8]",
            "Output, dimension_counts: [4, 4], data_types: [UINT8]",
        ),
        "mine",
    )
    assert "types: {T: [FLOAT32, INT8], U: [UINT8]}" in text
    assert "tensor_dimension_counts: {OutputTensor: [4, 4]}" in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace("formula: max(x, Min)", "formula: cast(U, x < Min)"), encoding="utf-8")
    assert lint(path) == ()
    assert [str(signature) for signature in signatures(load_tables(path).operator("MINE"))] == [
        "FLOAT32 to UINT8",
        "INT8 to UINT8",
    ]


def test_a_clause_that_no_check_is_known_for_is_left_to_its_author(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(upgraded(OLD.replace("id: mine.formula", "id: mine.sum"), "mine"), encoding="utf-8")
    (fault,) = lint(path)
    assert "`check` is missing in clauses[0]" in str(fault)


@pytest.mark.parametrize("text", [OPERATOR, "[1, 2]", "format: dmlcts/rules/1"])
def test_a_table_of_another_format_is_refused(text: str) -> None:
    with pytest.raises(TableError, match="no format that there is an upgrade for"):
        upgraded(text, "mine")
