"""A good table of every format, to be broken, and what every refusal of one has in common."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from dmlcts.specs import TableError

SPECS = resources.files("dmlcts.specs")
BUILTIN = sorted(
    f"{folder}/{entry.name}"
    for folder in ("operators", "shared")
    for entry in (SPECS / folder).iterdir()
    if entry.name.endswith(".yaml")
)

SOURCES = """\
sources:
  - id: page
    title: A page
    revision: today
"""
OPERATOR = f"""\
format: dmlcts/operator/2
operator: ELEMENT_WISE_SAMPLE
code: 900
introduced: "2.0"
summary: A sample.
{SOURCES}
struct:
  - {{name: InputTensor, type: const DML_TENSOR_DESC*}}
  - {{name: OutputTensor, type: const DML_TENSOR_DESC*}}
  - {{name: ScaleBias, type: const DML_SCALE_BIAS*}}
  - {{name: Min, type: FLOAT}}
  - {{name: Mode, type: DML_ROUNDING_MODE}}

tensors:
  InputTensor: {{name: x, kind: input, type: T}}
  OutputTensor: {{kind: output, type: T, may_alias: [InputTensor]}}

attributes:
  - {{name: ScaleBias, type: DML_SCALE_BIAS, formula: x * scale + bias}}
  - {{name: Min, type: FLOAT, cast: documented, role: low}}
  - {{name: Mode, type: ENUM, enumerators: [UP, DOWN]}}

constraints:
  - {{same: [DataType], tensors: [InputTensor, OutputTensor]}}

support:
  - level: "3.0"
    dimension_counts: [1, 8]
    types: {{T: [FLOAT32, INT8]}}
  - level: "2.0"
    dimension_counts: [4, 4]
    types: {{T: [FLOAT32]}}

formula: max(Min, ceil(x) if Mode == UP else floor(x))

clauses:
  - id: sample.first
    check: values
    when: {{Mode: UP}}
    text: It is so.
    obligation: required
    subject: formula
    quotation: {{source: page, words: "so it is"}}
    latitude: [zero-sign]
    data_types: [INT8]
    disagreements:
      - {{source: page, says: it is not}}
  - id: sample.second
    check: support.level
    text: It may be so.
    obligation: unspecified
    subject: formula
    level: "3.0"
    sources: [page]
    permitted: [so, otherwise]
  - {{id: sample.third, check: in-place, text: So, obligation: implied, subject: aliasing, sources: [ page ]}}
  - {{id: sample.fourth, check: scale-bias, text: So, obligation: implied, subject: formula, sources: [ page ]}}
  - {{id: sample.fifth, check: scale-bias.integer, text: So, obligation: implied, subject: formula, sources: [ page ]}}

examples:
  - clause: sample.first
    source: page
    attributes: {{Min: -1.0, Mode: UP}}
    inputs: [1.5, 2.5]
    outputs: [2, 3]
"""
RULES = f"""\
format: dmlcts/rules/1
title: More rules
{SOURCES}
limits:
  sample_max: 8
"""
SHARED = f"""\
{RULES}
clauses:
  - id: tensor.position
    check: tensor.position
    text: It is so.
    obligation: required
    subject: layout
    sources: [page]
    latitude: [subnormals]
"""
LATITUDE = f"""\
format: dmlcts/latitude/1
title: More latitude
{SOURCES}
latitudes:
  - name: zero-sign
    text: Either.
    permitted: [one, another]
    strict: one
    kept_when_strict: false
    source: page
"""
CASTS = f"""\
format: dmlcts/casts/1
title: Casts
{SOURCES}
casts:
  - {{target: FLOAT16, rounding: exact, range: all, beyond: none, source: page}}
  - {{target: FLOAT32, rounding: exact, range: all, beyond: none, source: page}}
"""
DATA_TYPES = f"""\
format: dmlcts/data-types/1
title: Types
{SOURCES}
data_types:
  - {{name: FLOAT32, value: 1, size_in_bytes: 4, kind: floating}}
  - {{name: INT8, value: 8, size_in_bytes: 1, kind: signed}}
"""
FEATURE_LEVELS = f"""\
format: dmlcts/feature-levels/1
title: Levels
{SOURCES}
feature_levels:
  - {{level: "1.0", value: 0x1000}}
  - {{level: "2.0", value: 0x2000}}
"""
GOOD = {
    "operator": OPERATOR,
    "rules": RULES,
    "data-types": DATA_TYPES,
    "feature-levels": FEATURE_LEVELS,
}

"""A good table of each format that joins the built-in ones."""
ALONE = {"latitude": LATITUDE, "casts": CASTS, "shared rules": SHARED}
"""Good tables that do not: each name of theirs stands in a built-in one, and may stand but once."""


def marked(text: str) -> tuple[str, int, int]:
    """The text without its one ``§``, and the line and column where it stood."""
    before, mark, after = text.partition("§")
    assert mark
    assert "§" not in after
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")


def written(folder: Path, text: str, name: str = "table.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def assert_readable(error: TableError, text: str) -> None:
    lines = text.count("\n") + text.count("\r") + 1
    for fault in error.faults:
        assert 1 <= fault.line <= lines
        assert fault.column >= 1
        assert fault.cause
        assert fault.mend
        assert len(str(fault).splitlines()) == 1
    assert error.faults
