"""The tables of five operators of different forms, as a user would write them, under names of their own."""

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
TABLES: dict[str, dict[str, Any]] = {
    "OWN_ADD": {
        "tensors": {**PAIR, "OutputTensor": SAME}, "formula": "a + b", "latitude": "zero-sign, subnormals",
        "types": "{T: [FLOAT32, FLOAT16, INT32, INT8, UINT8, INT64, UINT64]}", "in place": True,
        "constraints": ALL.format("ATensor, BTensor, OutputTensor"),
    },
    "OWN_LOGICAL_EQUALS": {
        "tensors": {**PAIR, "OutputTensor": "{kind: output, type: U}"}, "formula": "cast(U, a == b)",
        "types": "{T: [FLOAT32, INT8, UINT64], U: [UINT32, UINT8]}", "latitude": "nan-comparison, subnormals",
        "constraints": "  - {same: [DataType], tensors: [ATensor, BTensor]}\n" + SHAPES.format(
            "ATensor, BTensor, OutputTensor"
        ),
    },
    "OWN_BIT_AND": {
        "tensors": {**PAIR, "OutputTensor": SAME}, "formula": "bit_and(a, b)", "more": "domain: bits",
        "types": "{T: [FLOAT32, UINT8, UINT64]}", "in place": True,
        "constraints": ALL.format("ATensor, BTensor, OutputTensor"),
    },
    "OWN_SQRT": {
        "tensors": {"InputTensor": "{name: x, kind: input, type: T}",
                    "OutputTensor": "{kind: output, type: T, may_alias: [InputTensor]}"},
        "types": "{T: [FLOAT32, FLOAT16]}", "formula": "sqrt(x)", "more": ULP.format("sqrt"), "in place": True,
        "latitude": "zero-sign, subnormals", "constraints": ALL.format("InputTensor, OutputTensor"),
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
        "more": ULP.format("divide"), "latitude": 'integer-cast-range, "nan", subnormals',
        "constraints": SHAPES.format("InputTensor, OutputTensor"),
    },
}  # fmt: skip


def text_of(name: str) -> str:
    """One operator's table."""
    table = {"more": "", "latitude": "", **TABLES[name]}
    prefix = name.lower().replace("_", "-")
    constraints = table["constraints"].replace("\\\n", "\n")
    kinds = [("values", "the formula", "formula"), ("support.unlisted", "other types", "descriptions")]
    kinds += [("in-place", "in place", "aliasing")] if table.get("in place") else []
    for word, kind in (("DataType", "data-type"), ("DimensionCount", "dimension-count"), ("Sizes", "sizes")):
        kinds += [(f"constraint.{kind}", f"the same {word}", "descriptions")] if word in constraints else []
    written = ""
    for check, text, subject in kinds:
        written += _CLAUSE.format(prefix=prefix, name=check.replace("values", "formula"), check=check, text=text,
                                  subject=subject)  # fmt: skip
        if check == "values":
            written += f"    latitude: [{table['latitude']}]\n"
        if check == "support.unlisted":
            written = written.replace(_REQUIRED, _UNLISTED)
    level = _CLAUSE.format(prefix=prefix, name="support.level-3-0", check="support.level", text="supported",
                           subject="descriptions") + '    level: "3.0"\n'  # fmt: skip
    members = table["tensors"]
    return _HEAD.format(
        name=name, code=1000 + list(TABLES).index(name), formula=table["formula"], more=table["more"],
        struct="\n".join(f"  - {{name: {member}, type: const DML_TENSOR_DESC*}}" for member in members),
        tensors="\n".join(f"  {member}: {row}" for member, row in members.items()),
        constraints=constraints,
        support=f'  - {{level: "3.0", dimension_counts: [1, 8], types: {table["types"]}}}', clauses=written + level,
    )  # fmt: skip


def write_tables(folder: Path) -> Path:
    """The folder with the five tables."""
    folder.mkdir(exist_ok=True)
    for name in TABLES:
        (folder / f"{name.lower()}.yaml").write_text(text_of(name), encoding="utf-8")
    return folder
