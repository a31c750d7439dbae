"""The tables of six operators of different forms, as a user would write them, under names of their own.

One is bounded, and shares no name with DirectML: of its tensors, of its bounds, or of its scale and bias.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HEAD = """\
format: dmlcts/operator/2
operator: ELEMENT_WISE_{name}
code: {code}
introduced: "3.0"
summary: {name} of every element.
sources: [{{id: page, title: a page, revision: made up for this test}}]
struct:
{struct}
tensors:
{tensors}
{attributes}
constraints:
{constraints}
support:
{support}
formula: {formula}
{more}
clauses:
{clauses}
"""
_CLAUSE = """\
  - id: {prefix}.{name}
    check: {check}
    text: {text}
    obligation: required
    subject: {subject}
    quotation: {{source: page, words: {text}}}
"""
_REQUIRED = "obligation: required\n    subject: descriptions"
_UNLISTED = """obligation: unspecified
    permitted: [it is refused, it is accepted and right]
    data_types: unlisted
    subject: descriptions"""
PAIR = {"ATensor": "{name: a, kind: input, type: T}", "BTensor": "{name: b, kind: input, type: T}"}
SAME = "{kind: output, type: T, may_alias: [ATensor, BTensor], at_once: several}"
ALL = "  - {{same: [DataType, DimensionCount, Sizes], tensors: [{0}]}}"
SHAPES = "  - {{same: [DimensionCount, Sizes], tensors: [{0}]}}"
ULP = """accuracy:
  - {{function: {0}, data_types: [FLOAT32, FLOAT16], judged: {{ulp: 1}}, strict: {{ulp: 0.5}}, source: page}}"""
_BOUNDED = """\
  - id: own-clip.bounds.equal
    check: bounds.equal
    text: equal bounds
    obligation: required
    subject: formula
    quotation: {source: page, words: equal bounds}
    latitude: [zero-sign, subnormals]
  - id: own-clip.bounds.inverted
    check: bounds.inverted
    text: inverted bounds
    obligation: required
    subject: formula
    quotation: {source: page, words: inverted bounds}
    latitude: [zero-sign, subnormals]
  - id: own-clip.bounds.infinite
    check: bounds.infinite
    text: infinite bounds
    obligation: required
    subject: formula
    quotation: {source: page, words: infinite bounds}
    data_types: floating
    latitude: [zero-sign, subnormals]
  - id: own-clip.cast.integer
    check: cast.integer
    text: bounds are truncated
    obligation: required
    subject: casting
    quotation: {source: page, words: bounds are truncated}
    data_types: integer
  - id: own-clip.cast.float16
    check: cast.float16
    text: bounds are rounded
    obligation: required
    subject: casting
    quotation: {source: page, words: bounds are rounded}
    data_types: [FLOAT16]
    latitude: [zero-sign, subnormals]
  - id: own-clip.cast.out-of-range
    check: cast.out-of-range
    text: bounds beyond the type
    obligation: unspecified
    subject: casting
    sources: [page]
    data_types: integer
    latitude: [integer-cast-range]
    permitted: [one value of the type for each bound]
  - id: own-clip.cast.nan
    check: cast.nan
    text: a NaN bound of integers
    obligation: unspecified
    subject: casting
    sources: [page]
    data_types: integer
    latitude: [integer-cast-range]
    permitted: [one value of the type for each bound]
  - id: own-clip.scale-bias
    check: scale-bias
    text: scaled first
    obligation: required
    subject: scale and bias
    quotation: {source: page, words: scaled first}
    data_types: floating
    latitude: [zero-sign, subnormals, contraction, float16-intermediate, float16-conversion]
  - id: own-clip.scale-bias.integer
    check: scale-bias.integer
    text: exact where all is whole
    obligation: required
    subject: scale and bias
    quotation: {source: page, words: exact where all is whole}
    data_types: integer
  - id: own-clip.scale-bias.integer-inexact
    check: scale-bias.integer-inexact
    text: fractions
    obligation: unspecified
    subject: scale and bias
    sources: [page]
    data_types: integer
    latitude: [integer-scale-bias]
    permitted: [any arithmetic]
  - id: own-clip.nan.input
    check: nan.input
    text: a NaN input
    obligation: unspecified
    subject: special values
    sources: [page]
    data_types: floating
    latitude: ["nan", nan-input]
    permitted: ["NaN", a bound]
  - id: own-clip.nan.bound
    check: nan.bound
    text: a NaN bound
    obligation: unspecified
    subject: special values
    sources: [page]
    data_types: floating
    latitude: ["nan", nan-bound-zero]
    permitted: ["NaN", x clamped by the other bound, as a bound of 0]
  - id: own-clip.zero-sign
    check: zero-sign
    text: zeros
    obligation: unspecified
    subject: special values
    sources: [page]
    data_types: floating
    latitude: [zero-sign]
    permitted: ["-0", "+0"]
  - id: own-clip.idempotent
    check: idempotent
    text: twice is once
    obligation: required
    subject: properties
    quotation: {source: page, words: twice is once}
  - id: own-clip.monotone
    check: monotone
    text: in order
    obligation: required
    subject: properties
    quotation: {source: page, words: in order}
  - id: own-clip.contained
    check: contained
    text: between the bounds
    obligation: required
    subject: properties
    quotation: {source: page, words: between the bounds}
  - id: own-clip.threshold-equivalence
    check: threshold-equivalence
    text: a threshold without High
    obligation: required
    subject: properties
    quotation: {source: page, words: a threshold without High}
"""
TABLES: dict[str, dict[str, Any]] = {
    "OWN_ADD": {
        "tensors": {**PAIR, "OutputTensor": SAME},
        "formula": "a + b",
        "latitude": "zero-sign, subnormals",
        "types": "{T: [FLOAT32, FLOAT16, INT32, INT8, UINT8, INT64, UINT64]}",
        "in place": True,
        "constraints": ALL.format("ATensor, BTensor, OutputTensor"),
    },
    "OWN_LOGICAL_EQUALS": {
        "tensors": {**PAIR, "OutputTensor": "{kind: output, type: U}"},
        "formula": "cast(U, a == b)",
        "types": "{T: [FLOAT32, INT8, UINT64], U: [UINT32, UINT8]}",
        "latitude": "nan-comparison, subnormals",
        "constraints": "  - {same: [DataType], tensors: [ATensor, BTensor]}\n"
        + SHAPES.format("ATensor, BTensor, OutputTensor"),
    },
    "OWN_BIT_AND": {
        "tensors": {**PAIR, "OutputTensor": SAME},
        "formula": "bit_and(a, b)",
        "more": "domain: bits",
        "types": "{T: [FLOAT32, UINT8, UINT64]}",
        "in place": True,
        "constraints": ALL.format("ATensor, BTensor, OutputTensor"),
    },
    "OWN_SQRT": {
        "tensors": {
            "InputTensor": "{name: x, kind: input, type: T}",
            "OutputTensor": "{kind: output, type: T, may_alias: [InputTensor]}",
        },
        "types": "{T: [FLOAT32, FLOAT16]}",
        "formula": "sqrt(x)",
        "more": ULP.format("sqrt"),
        "in place": True,
        "latitude": "zero-sign, subnormals",
        "constraints": ALL.format("InputTensor, OutputTensor"),
    },
    "OWN_QUANTIZE_LINEAR": {
        "tensors": {
            "InputTensor": "{name: x, kind: input, type: T}",
            "ScaleTensor": "{name: scale, kind: input, type: T, elements: one}",
            "ZeroPointTensor": "{name: zero_point, kind: input, type: U, optional: true, absent: 0, elements: one}",
            "OutputTensor": "{kind: output, type: U}",
        },
        "types": "{T: [FLOAT32, FLOAT16], U: [UINT8, INT8]}",
        "formula": "cast(U, min(max(round_half_even(x / scale) + zero_point, lowest(U)), highest(U)))",
        "more": ULP.format("divide"),
        "latitude": 'integer-cast-range, "nan", subnormals',
        "constraints": SHAPES.format("InputTensor, OutputTensor"),
    },
    "OWN_CLIP": {
        "tensors": {
            "SourceTensor": "{name: x, kind: input, type: T}",
            "OutputResult": "{kind: output, type: T, may_alias: [SourceTensor]}",
        },
        "types": "{T: [FLOAT32, FLOAT16, INT8]}",
        "formula": "max(Low, min(x, High))",
        "in place": True,
        "latitude": "zero-sign, subnormals",
        "constraints": ALL.format("SourceTensor, OutputResult"),
        "members": {"High": "FLOAT", "Low": "FLOAT", "Scaling": "const DML_SCALE_BIAS*"},
        "attributes": {
            "High": "type: FLOAT, cast: documented, role: high",
            "Low": "type: FLOAT, cast: documented, role: low",
            "Scaling": "type: DML_SCALE_BIAS, formula: x * scale + bias",
        },
        "clauses": _BOUNDED,
    },
}


def text_of(name: str) -> str:
    """One operator's table."""
    table = {"more": "", "latitude": "", "members": {}, "attributes": {}, "clauses": "", **TABLES[name]}
    prefix = name.lower().replace("_", "-")
    constraints = table["constraints"].replace("\\\n", "\n")
    kinds = [("values", "the formula", "formula"), ("support.unlisted", "other types", "descriptions")]
    kinds += [("in-place", "in place", "aliasing")] if table.get("in place") else []
    for word, kind in (("DataType", "data-type"), ("DimensionCount", "dimension-count"), ("Sizes", "sizes")):
        kinds += [(f"constraint.{kind}", f"the same {word}", "descriptions")] if word in constraints else []
    written = ""
    for check, text, subject in kinds:
        written += _CLAUSE.format(
            prefix=prefix, name=check.replace("values", "formula"), check=check, text=text, subject=subject
        )
        if check == "values":
            written += f"    latitude: [{table['latitude']}]\n"
        if check == "support.unlisted":
            written = written.replace(_REQUIRED, _UNLISTED)
    level = (
        _CLAUSE.format(
            prefix=prefix, name="support.level-3-0", check="support.level", text="supported", subject="descriptions"
        )
        + '    level: "3.0"\n'
    )
    members = {**dict.fromkeys(table["tensors"], "const DML_TENSOR_DESC*"), **table["members"]}
    attributes = "\n".join(f"  - {{name: {member}, {row}}}" for member, row in table["attributes"].items())
    return _HEAD.format(
        name=name,
        code=1000 + list(TABLES).index(name),
        formula=table["formula"],
        more=table["more"],
        struct="\n".join(f"  - {{name: {member}, type: {kind}}}" for member, kind in members.items()),
        tensors="\n".join(f"  {member}: {row}" for member, row in table["tensors"].items()),
        attributes=f"attributes:\n{attributes}" if attributes else "",
        constraints=constraints,
        support=f'  - {{level: "3.0", dimension_counts: [1, 8], types: {table["types"]}}}',
        clauses=written + level + table["clauses"],
    )


def write_tables(folder: Path) -> Path:
    """The folder with the six tables."""
    folder.mkdir(exist_ok=True)
    for name in TABLES:
        (folder / f"{name.lower()}.yaml").write_text(text_of(name), encoding="utf-8")
    return folder
