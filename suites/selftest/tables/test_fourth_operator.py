"""A new element-wise operator is a YAML file and nothing else: CEILING and MAGNITUDE, from a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CLAUSE = """
  - id: {prefix}.{name}
    check: {check}
    text: {text}
    obligation: required
    subject: {subject}
    quotation: {{source: page, words: {text}}}
"""


def table(name: str, code: int, formula: str, data_types: str) -> str:
    """An operator's table with a formula clause, in-place, constraints and one support level."""
    prefix = name.lower().replace("_", "-")
    clauses = [
        ("formula", "the formula", "formula"),
        ("in-place", "in place", "aliasing"),
        ("constraint.data-type", "same type", "descriptions"),
        ("constraint.sizes", "same sizes", "descriptions"),
        ("constraint.dimension-count", "same rank", "descriptions"),
    ]
    written = "".join(
        CLAUSE.format(prefix=prefix, name=clause, check=clause, text=text, subject=subject)
        for clause, text, subject in clauses
    )
    written = written.replace("check: formula", "check: values")
    level = CLAUSE.format(
        prefix=prefix, name="support.level-3-0", check="support.level", text="supported", subject="descriptions"
    )
    return f"""format: dmlcts/operator/2
operator: ELEMENT_WISE_{name}
code: {code}
introduced: "1.0"
summary: {name} of every element.
sources:
  - {{id: page, title: a page, revision: made up for this test}}
struct:
  - {{name: InputTensor, type: const DML_TENSOR_DESC*}}
  - {{name: OutputTensor, type: const DML_TENSOR_DESC*}}
tensors:
  InputTensor: {{name: x, kind: input, type: T}}
  OutputTensor: {{kind: output, type: T, may_alias: [InputTensor]}}
constraints:
  - {{same: [DataType, DimensionCount, Sizes], tensors: [InputTensor, OutputTensor]}}
support:
  - level: "3.0"
    dimension_counts: [1, 8]
    types: {{T: [{data_types}]}}
formula: {formula}
clauses:{written}{level}    level: "3.0"
"""


BACKEND = """
import numpy as np
from dmlcts.suites.mutants.reference import Kernel, Reference
from dmlcts.backends import InvalidArgument
from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from pathlib import Path

TABLES = load_tables(Path({tables!r}))


class Right(Reference):
    def refuses(self, operator):
        return "; ".join(found.text for found in violations(operator, FeatureLevel("5.0"), TABLES))

    def compute(self, operator, x):
        return np.ceil(x) if operator.name == "ELEMENT_WISE_CEILING" else np.abs(x)


class Wrong(Right):
    def compute(self, operator, x):
        y = super().compute(operator, x)
        return np.where(x == -0.75, np.asarray(-1, x.dtype), y).astype(x.dtype)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the tables of CEILING and MAGNITUDE, and backends that implement them."""
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "ceiling.yaml").write_text(table("CEILING", 4007, "ceil(x)", "FLOAT32, FLOAT16"), encoding="utf-8")
    (tables / "magnitude.yaml").write_text(table("MAGNITUDE", 4002, "abs(x)", "FLOAT32, FLOAT16"), encoding="utf-8")
    (tmp_path / "backend.py").write_text(BACKEND.format(tables=str(tables)), encoding="utf-8")
    return tmp_path


def run(dmlcts: Callable[..., Any], name: str, operator: str) -> Any:
    return dmlcts("run", "--backend", f"backend.py:{name}", "--tables", "tables", "--operator", operator)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("operator", ["CEILING", "MAGNITUDE"])
@pytest.mark.size("thorough")
def test_an_operator_from_a_folder_is_judged(folder: Path, dmlcts: Callable[..., Any], operator: str) -> None:
    ran = run(dmlcts, "Right", operator)
    assert ran.code == 0, ran.out + ran.err
    assert ran.results["verdict"] == "CONFORMANT"
    assert {row["operator"] for row in ran.results["clauses"]} == {f"ELEMENT_WISE_{operator}"}
    assert ran.outcomes(f"{operator.lower()}.formula") == {"pass"}
    assert ran.outcomes(f"{operator.lower()}.support.level-3-0") == {"pass"}
    assert ran.outcomes("tensor.strides.broadcast") == {"pass"}


@pytest.mark.size("all")
def test_a_wrong_implementation_of_it_is_caught(folder: Path, dmlcts: Callable[..., Any]) -> None:
    ran = run(dmlcts, "Wrong", "CEILING")
    assert ran.code == 1, ran.out + ran.err
    assert ran.outcomes("ceiling.formula") == {"fail"}
    assert "input -0.75 gives -1.0" in ran.out
    failure = next((folder / "results" / "failures").glob("ceiling.formula-*.yaml"))
    again = dmlcts("replay", str(failure), "--backend", "backend.py:Wrong", "--tables", "tables")
    assert again.code == 1
    assert "input -0.75 gives -1.0" in again.out
    assert dmlcts("replay", str(failure), "--backend", "backend.py:Right", "--tables", "tables").code == 0
