"""The tables load, and everything that is wrong with one is refused at its place, with cause and mend."""

from __future__ import annotations

import hashlib
import json
import math
import typing
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs import DataType, FeatureLevel, TableError, UsageError, yaml_source
from dmlcts.specs.errors import Fault
from dmlcts.specs.loading import lint, load_tables
from dmlcts.specs.models import MODELS, DataTypeName, LevelName
from dmlcts.specs.schema import generate
from dmlcts.specs.tables import Tables
from dmlcts.specs.yaml_source import Document, decode, read_yaml

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
format: dmlcts/operator/1
operator: ELEMENT_WISE_SAMPLE
code: 900
introduced: "2.0"
summary: A sample.
in_place: true
{SOURCES}
struct:
  - {{name: InputTensor, type: const DML_TENSOR_DESC*}}
  - {{name: OutputTensor, type: const DML_TENSOR_DESC*}}
  - {{name: ScaleBias, type: const DML_SCALE_BIAS*}}
  - {{name: Low, type: FLOAT}}
  - {{name: Mode, type: DML_ROUNDING_MODE}}

attributes:
  - {{name: ScaleBias, type: DML_SCALE_BIAS, formula: x * scale + bias}}
  - {{name: Low, type: FLOAT, cast: documented}}
  - {{name: Mode, type: ENUM, enumerators: [UP, DOWN]}}

constraints: [DataType]

support:
  - level: "3.0"
    rows:
      - {{tensor: InputTensor, kind: Input, dimension_counts: [1, 8], data_types: [FLOAT32, INT8]}}
  - level: "2.0"
    rows:
      - {{tensor: InputTensor, kind: Input, dimension_counts: [4, 4], data_types: [FLOAT32]}}

formula: max(Low, ceil(x) if Mode == UP else floor(x))

clauses:
  - id: sample.first
    text: It is so.
    obligation: required
    subject: formula
    quotation: {{source: page, words: "so it is"}}
    latitude: [zero-sign]
    data_types: [INT8]
    disagreements:
      - {{source: page, says: it is not}}
  - id: sample.second
    text: It may be so.
    obligation: unspecified
    subject: formula
    level: "3.0"
    sources: [page]
    permitted: [so, otherwise]

examples:
  - clause: sample.first
    source: page
    attributes: {{Low: -1.0, Mode: UP}}
    inputs: [1.5, 2.5]
    outputs: [2, 3]
"""
RULES = f"""\
format: dmlcts/rules/1
title: More rules
{SOURCES}
limits:
  sample_max: 8

clauses:
  - id: more.first
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
  - name: sample-latitude
    text: Either.
    permitted: [one, another]
    strict: one
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
    "latitude": LATITUDE,
    "casts": CASTS,
    "data-types": DATA_TYPES,
    "feature-levels": FEATURE_LEVELS,
}


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


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with libyaml, where PyYAML has it, and without."""
    monkeypatch.setattr(yaml_source, "_LOADER", getattr(yaml, request.param, yaml.SafeLoader))


def refused(text: str, file: str = "f.yaml") -> tuple[Fault, ...]:
    with pytest.raises(TableError) as caught:
        read_yaml(text, file)
    return caught.value.faults


# ------------------------------------------------------------------------------------------- what is accepted


def test_the_built_in_tables_load() -> None:
    tables = load_tables()
    assert set(tables.operators) >= {"ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD"}
    assert tables.operator("clip").code == 8
    assert tables.limits["rank_max"] == 8
    assert "zero-sign" in tables.latitudes
    assert tables.clause("clip.formula").obligation == "required"
    assert lint() == ()


def test_the_built_in_tables_are_read_once() -> None:
    assert load_tables() is load_tables()


def test_digests_are_of_the_files_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, OPERATOR)
    digests = load_tables(path).digests
    assert set(digests) == {*BUILTIN, "table.yaml"}
    assert digests["table.yaml"] == hashlib.sha256(path.read_bytes()).hexdigest()
    for name in BUILTIN:
        assert digests[name] == hashlib.sha256((SPECS / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", GOOD)
def test_each_good_table_is_accepted(kind: str, tmp_path: Path) -> None:
    assert lint(written(tmp_path, GOOD[kind])) == ()


def test_extra_tables_join_the_built_in_ones(tmp_path: Path) -> None:
    for kind, text in GOOD.items():
        written(tmp_path, text, f"{kind}.yaml")
    written(tmp_path, "not a table", "notes.txt")
    tables = load_tables(tmp_path)
    assert set(tables.operators) == {*load_tables().operators, "ELEMENT_WISE_SAMPLE"}
    assert "sample-latitude" in tables.latitudes
    assert tables.limits["sample_max"] == 8
    assert tables.clause("more.first").subject == "layout"
    sample = tables.operator("SAMPLE")
    assert sample.examples[0].attributes == {"Low": -1.0, "Mode": "UP"}
    assert sample.support[0].ranks == range(1, 9)
    assert "ELEMENT_WISE_SAMPLE" not in load_tables().operators


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, OPERATOR)
    assert lint(path, tmp_path, path) == ()


def test_files_of_the_same_name_have_digests_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = written(tmp_path / "a", OPERATOR), written(tmp_path / "b", RULES)
    assert set(load_tables(first, second).digests) == {*BUILTIN, "table.yaml", "table.yaml#2"}


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize(
    "text, value",
    [
        ("true", True), ("false", False), ("null", None), ("0", 0), ("-5", -5), ("+5", 5), ("0x1F", 31),
        ("-0x1f", -31), ("18446744073709551615", 2**64 - 1), ("1.5", 1.5), ("-0.0", -0.0), ("5.", 5.0),
        (".5", 0.5), ("1.0e-3", 0.001), ("1.5E+3", 1500.0), (".inf", math.inf), ("+.inf", math.inf),
        ("-.inf", -math.inf), (".INF", math.inf), ("plain text", "plain text"), ("1.2.3", "1.2.3"),
        ("37a8df4a", "37a8df4a"), ("nano", "nano"), ("info", "info"), ("2020-01", "2020-01"), ("x:y", "x:y"),
        ("'nan'", "nan"), ('"012"', "012"), ("'yes'", "yes"), ('""', ""), ("'2020-01-01'", "2020-01-01"),
        ("|-\n  1e-3", "1e-3"), (">-\n  1:30", "1:30"), ("'<<'", "<<"), ("'~'", "~"), ("[]", []), ("{}", {}),
        ("[a, {b: 1}]", ["a", {"b": 1}]), ("'a\tb'", "a\tb"), ("x # a\tcomment", "x"),
        ("|-\n  a\tb", "a\tb"),
    ],
)  # fmt: skip
def test_values_that_every_yaml_reader_agrees_on(text: str, value: typing.Any) -> None:
    got = read_yaml(f"key: {text}\n", "f").value["key"]
    assert got == value
    assert type(got) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, got) == math.copysign(1, value)


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize("text", [".nan", ".NaN", ".NAN"])
def test_nan_is_read(text: str) -> None:
    assert math.isnan(read_yaml(text, "f").value)


def test_positions_of_values_and_keys() -> None:
    document = read_yaml("\ufeffa:\n  - b: 1\n    ä: [x, 'y']\n", "f")
    assert document.position(()) == (1, 1)
    assert document.position(("a", 0)) == (2, 5)
    assert document.position(("a", 0, "b")) == (2, 8)
    assert document.key_position(("a", 0, "b")) == (2, 5)
    assert document.position(("a", 0, "ä", 1)) == (3, 12)
    assert document.plain == {("a", 0, "b"), ("a", 0, "ä", 0)}
    assert document.position(("a", 0, "missing", "deeper")) == document.key_position(("a", 0, "missing")) == (2, 5)
    assert str(document.fault(("a", 0, "b"), "cause", "mend", offset=2)) == "f:2:10: cause; mend"


# --------------------------------------------------------------------------------------- what YAML is refused


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize(
    "text, mend",
    [
        ("-0", "-0.0"), ("+0", "+0.0"), ("-0x0", "-0.0"), ("1e-3", "1.0e-3"), ("1e3", "1.0e+3"),
        ("1.5e3", "1.5e+3"), ("-.5", "-0.5"), (".5e3", "0.5e+3"), ("nan", ".nan"), ("NaN", ".nan"),
        ("-.nan", ".nan"), ("inf", ".inf"), ("-inf", "-.inf"), ("+Inf", ".inf"), ("INFINITY", ".inf"),
        ("-infinity", "-.inf"), (".Infinity", ".inf"), ("012", "12"), ("-012", "-12"), ("00", "0"),
        ("01.5", "1.5"), ("012e3", "12.0e+3"), ("0o17", "0xf"), ("0b11", "0x3"), ("0XFF", "0xff"),
        ("1_000", "1000"), ("0x_1", "0x1"), ("1_0.5", "10.5"), ("1:30", '"1:30"'), ("-1:30:00.5", "quote"),
        ("yes", "true"), ("No", "false"), ("ON", "true"), ("off", "false"), ("y", '"y"'), ("N", '"N"'),
        ("True", "true"), ("FALSE", "false"), ("~", "null"), ("Null", "null"), ("", "null"),
        ("2020-01-01", '"2020-01-01"'), ("2020-1-1 10:00", "quotes"), ("2020-01-01T10:00:00Z", "quotes"),
        ("=", '"="'), ("<<", '"<<"'), ("1.0e+999", ".inf"), ("-1.0e+999", "-.inf"), ("1.0e-999", "0.0"),
        ("9" * 5000, "decimal point"), ("0x" + "f" * 5000, "decimal point"),
        ("18446744073709551616", "decimal point"), ("&a b", "remove"), ("!!str 1", "quotes"),
        ("!x [1]", "remove"), ("! x", "remove"),
    ],
)  # fmt: skip
def test_spellings_that_yaml_readers_differ_on_are_refused(text: str, mend: str) -> None:
    for around in ("key: {}\n", "- [a, {}]\n", "- b\n- {}\n"):
        if text or around.startswith("- b"):
            column = around.splitlines()[-1].index("{}") + 1
            (fault,) = refused(around.format(text))
            assert (fault.file, fault.line) == ("f.yaml", around.count("\n"))
            assert fault.column == column or not text
            assert fault.cause
            assert mend in fault.mend or (mend == "quote" and '"' in fault.mend)


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize(
    "text, words",
    [
        ("§", "empty"), ("§# only a comment\n", "empty"), ("§---\n", "empty"),
        ("a: 1\n§---\nb: 2\n", "second document"), ("a: 1\n§a: 2\n", "twice"),
        ("a: {b: 1, §'b': 2}", "twice"), ("a: {§<<: {b: 1}}", "merge"), ("§1: 2", ", not a text"),
        ("§null: 2", ", not a text"), ("§on: 2", "YAML 1.1"), ("? §[a]\n: 1\n", ", not a text"),
        ("? §{a: b}\n: 1\n", ", not a text"), ("- " * 32 + "§- a", "32 levels"),
        ("[" * 32 + "§" + "[" * 9999, "32 levels"), ("- §*a\n", "alias"), ("a:§\tb", "tab"),
        ("§\ta: b", "tab"), ("a:\n§\t- b", "tab"), ("a: b§\t# comment", "tab"), ("a: b§: c", "not allowed"),
        ("a: 'b§", "quote"), ("{a: 1§", "brace"), ("[a§", "bracket"), ("a: §@b", "quotes"),
        ("a: §\0", "U+0000"), ("a: b§\x85", "U+0085"), ("- a\n- b§\u2028c", "U+2028"),
        ("a: §\ud800", "U+D800"), ("a: §\ufeff", "U+FEFF"), ("a: §- b\n", "not allowed"),
        ("a: x\r\nb: §nan\r\n", ".nan"), ("ä: {ö: §nan}", ".nan"),
    ],
)  # fmt: skip
def test_documents_that_are_refused(text: str, words: str) -> None:
    text, line, column = marked(text)
    (fault,) = refused(text)
    assert (fault.line, fault.column) == (line, column)
    assert words in str(fault)
    assert fault.mend


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize("text", ['a: "\\UFFFFFFFF"', 'a: "\\uD800"', "%YAML 1." + "9" * 5000 + "\n--- a"])
def test_escapes_and_versions_out_of_range_are_refused(text: str) -> None:
    (fault,) = refused(text)
    assert fault.line == 1


@pytest.mark.usefixtures("either_parser")
def test_every_fault_is_reported_in_order() -> None:
    faults = refused("a: [nan, b]\nc: yes\na: 012\nd: e: f\n")
    assert [(fault.line, fault.column) for fault in faults] == [(1, 5), (2, 4), (3, 1), (3, 4), (4, 5)]


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    bomb = "a0: &a0 x\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
    faults = refused(bomb)
    assert len(faults) == yaml_source.MAX_FAULTS + 1
    assert "more than" in faults[-1].cause


def test_bytes_that_are_no_table() -> None:
    with pytest.raises(TableError, match=r"^f:2:3: byte 0xFF is not UTF-8; "):
        decode("a: b\nä:".encode() + b"\xff", "f")
    with pytest.raises(TableError, match=r"^f:1:1: .*1 MiB"):
        decode(b"a" * (1 << 20) + b"a", "f")
    with pytest.raises(TableError, match=r"^f:1:1: .*1 MiB"):
        read_yaml("ä" * (1 << 19) + "a", "f")
    assert decode("ä".encode(), "f") == "ä"


# ------------------------------------------------------------------------------------ what tables are refused

CLAUSE_END = "    permitted: [so, otherwise]"
FORMULA = "formula: max(Low, ceil(x) if Mode == UP else floor(x))"
AND_MODE = "Low, type: FLOAT, cast: documented}\n  - {name: Mode"
EXAMPLES = OPERATOR[OPERATOR.index("examples:") :]
ROW_3 = "dimension_counts: [1, 8], data_types: [FLOAT32, INT8]"

BROKEN: dict[str, tuple[str, dict[str, str], str]] = {
    # the shape
    "not a mapping": ("operator", {OPERATOR: "§- a\n"}, "a table is a mapping"),
    "no format": ("operator", {"format: dmlcts/operator/1\n": "§"}, "`format` is missing"),
    "unknown format": (
        "operator",
        {"dmlcts/operator/1": "§dmlcts/operatr/1"},
        "did you mean dmlcts/operator/1?",
    ),
    "format is no text": ("operator", {"dmlcts/operator/1": "§1"}, "no table format 1"),
    "unknown key": (
        "operator",
        {"    obligation: required": "    §obligations: required\n    obligation: required"},
        "did you mean obligation?",
    ),
    "unknown key at the root": ("rules", {"title: M": "§titel: M\ntitle: M"}, "did you mean title?"),
    "unknown key of several lines": (
        "operator",
        {"obligation: required": 'obligation: required\n    §"a\\nb": 1'},
        r"unknown key 'a\nb'",
    ),
    "missing key": (
        "operator",
        {"  - id: sample.first": "  - §id: sample.first", "    text: It is so.\n": ""},
        "`text` is missing in clauses[0]",
    ),
    "missing key at the root": (
        "operator",
        {"format: dm": "§format: dm", "code: 900\n": ""},
        "`code` is missing",
    ),
    "text for a number": ("operator", {"code: 900": 'code: §"900"'}, "without quotes"),
    "fraction for an integer": ("operator", {"code: 900": "code: §900.0"}, "is not an integer"),
    "boolean for an integer": ("operator", {"code: 900": "code: §true"}, "true is not an integer"),
    "number for a text": ("operator", {"summary: A sample.": "summary: §12"}, "put it in quotes"),
    "number for a level": ("operator", {'introduced: "2.0"': "introduced: §2.0"}, 'put it in quotes: "2.0"'),
    "text for a boolean": ("operator", {"in_place: true": 'in_place: §"true"'}, "is not true or false"),
    "null for a text": ("operator", {"summary: A sample.": "summary: §null"}, "null is not a text"),
    "mapping for a list": (
        "operator",
        {"constraints: [DataType]": "constraints: §{DataType: 1}"},
        "is not a list",
    ),
    "text for a mapping": (
        "operator",
        {'{source: page, words: "so it is"}': "§so it is"},
        "is not a mapping",
    ),
    "list for a text": ("operator", {"summary: A sample.": "summary: §[A sample.]"}, "a list is not a text"),
    "boolean for a number": ("operator", {"outputs: [2, 3]": "outputs: [2, §true]"}, "true is not a number"),
    "literal": ("operator", {"obligation: required": "obligation: §requird"}, "did you mean required?"),
    "literal in a list": (
        "operator",
        {"constraints: [DataType]": "constraints: [§DataTypes]"},
        "did you mean DataType?",
    ),
    "literal in a choice": ("operator", {"data_types: [INT8]": "data_types: [§INT9]"}, "did you mean INT8?"),
    "neither of a choice": ("operator", {"data_types: [INT8]": "data_types: §3"}, "or write a list"),
    "value of an example's attribute": (
        "operator",
        {"Low: -1.0": "Low: §true"},
        "in quotes, or write a number",
    ),
    "name of an example's attribute": (
        "operator",
        {"Low: -1.0": '§"L w": -1.0, Low: 1.0'},
        "not of the form",
    ),
    "empty text": ("operator", {"summary: A sample.": 'summary: §""'}, "the text is empty"),
    "empty list": (
        "operator",
        {"enumerators: [UP, DOWN]": "enumerators: §[]", FORMULA: "formula: x", EXAMPLES: ""},
        "has no enumerators",
    ),
    "too short": ("latitude", {"permitted: [one, another]": "permitted: §[]"}, "at least 1"),
    "too few ranks": (
        "operator",
        {"dimension_counts: [1, 8]": "dimension_counts: §[1]"},
        "item 2 is missing",
    ),
    "too many ranks": (
        "operator",
        {"dimension_counts: [1, 8]": "dimension_counts: §[1, 8, 9]"},
        "2 are allowed",
    ),
    "less than allowed": ("operator", {"code: 900": "code: §0"}, "write 1 or more"),
    "greater than allowed": ("data-types", {"size_in_bytes: 1": "size_in_bytes: §16"}, "write 8 or less"),
    "clause id form": ("operator", {"id: sample.second": "id: §Sample.second"}, "not of the form"),
    "item of a list": (
        "operator",
        {"  - {name: InputTensor, type: const DML_TENSOR_DESC*}": "  - §3"},
        "is not a mapping",
    ),
    # the formulas
    "undefined name": ("operator", {FORMULA: "formula: max(§Lo, x)"}, "undefined name 'Lo'"),
    "undefined name after spaces": (
        "operator",
        {FORMULA: "formula: max(  Low,   §y )"},
        "undefined name 'y'",
    ),
    "undefined name in a block": ("operator", {FORMULA: "formula: §>-\n  max(Low, y)"}, "undefined name 'y'"),
    "undefined name in quotes": ("operator", {FORMULA: 'formula: §"max(Low, y)"'}, "undefined name 'y'"),
    "undefined function": ("operator", {FORMULA: "formula: max(Low, §sqrt(x))"}, "undefined function 'sqrt'"),
    "undefined enumerator": ("operator", {"Mode == UP else": "§Mode == LEFT else"}, "no enumerator 'LEFT'"),
    "wrong count of arguments": ("operator", {FORMULA: "formula: §max(x)"}, "give it 2"),
    "formula that is none": ("operator", {FORMULA: "formula: §import os"}, "cannot be parsed"),
    "formula outside the language": (
        "operator",
        {FORMULA: "formula: §x ** 2"},
        "not part of the formula language",
    ),
    "formula too deep": ("operator", {FORMULA: "formula: §x" + ".x" * 990}, ""),
    "attribute in scale and bias": (
        "operator",
        {"x * scale + bias": "x * scale + §Low"},
        "undefined name 'Low'",
    ),
    "scale and bias without formula": (
        "operator",
        {
            "{name: ScaleBias, type: DML_SCALE_BIAS,": "§{name: ScaleBias, type: DML_SCALE_BIAS,",
            ", formula: x * scale + bias": "",
        },
        "has no formula",
    ),
    "cast missing": (
        "operator",
        {"{name: Low, type: FLOAT, cast: documented}": "§{name: Low, type: FLOAT}"},
        "has no cast",
    ),
    "cast of an enumeration": (
        "operator",
        {"[UP, DOWN]": "[UP, DOWN], §cast: documented"},
        "it belongs to FLOAT",
    ),
    "enumeration without enumerators": (
        "operator",
        {
            ", enumerators: [UP, DOWN]": "",
            "{name: Mode, type: ENUM": "§{name: Mode, type: ENUM",
            FORMULA: "formula: x",
            EXAMPLES: "",
        },
        "has no enumerators",
    ),
    "enumerator twice": ("operator", {"[UP, DOWN]": "[UP, DOWN, §UP]"}, "'UP' stands twice"),
    "attribute that is no field": (
        "operator",
        {
            "  - {name: Low, type: FLOAT}\n": "",
            "{name: Low, type: FLOAT, cast": "{name: §Low, type: FLOAT, cast",
        },
        "not a field of the struct",
    ),
    "attribute twice": (
        "operator",
        {
            "attributes:\n": "attributes:\n  - {name: Low, type: FLOAT, cast: documented}\n",
            AND_MODE: f"§{AND_MODE}",
        },
        "'Low' stands twice",
    ),
    "field twice": (
        "operator",
        {"  - {name: Mode, type: DML": "  - {name: §Low, type: FLOAT}\n  - {name: Mode, type: DML"},
        "'Low' stands twice",
    ),
    # the support tables
    "level twice": ("operator", {'  - level: "2.0"': '  - level: §"3.0"'}, "overlapping feature levels"),
    "levels ascending": (
        "operator",
        {'- level: "3.0"': '- level: "2.1"', '- level: "2.0"': '- level: §"3.0"'},
        "overlapping feature levels",
    ),
    "level before the introduction": (
        "operator",
        {'  - level: "2.0"': '  - level: §"1.0"'},
        "which introduced",
    ),
    "tensor that is no field": (
        "operator",
        {f"InputTensor, kind: Input, {ROW_3}": f"§InputTenso, kind: Input, {ROW_3}"},
        "did you mean InputTensor?",
    ),
    "tensor twice": (
        "operator",
        {ROW_3 + "}": ROW_3 + "}\n      - {tensor: §InputTensor, kind: Input, " + ROW_3 + "}"},
        "'InputTensor' stands twice",
    ),
    "data type twice": (
        "operator",
        {"[FLOAT32, INT8]": "[FLOAT32, INT8, §FLOAT32]"},
        "'FLOAT32' stands twice",
    ),
    "ranks reversed": ("operator", {"[1, 8]": "§[8, 1]"}, "write [1, 8]"),
    "rank zero": ("operator", {"[1, 8]": "§[0, 8]"}, "write 1 or more"),
    # the clauses
    "clause twice": ("operator", {"id: sample.second": "id: §sample.first"}, "sample.first stands twice"),
    "clause of another table": (
        "rules",
        {"id: more.first": "id: §clip.formula"},
        "specs/operators/clip.yaml:",
    ),
    "clause of another prefix": (
        "operator",
        {"id: sample.second": "id: §simple.second"},
        "write sample.second",
    ),
    "unknown quotation": (
        "operator",
        {"quotation: {source: page": "quotation: {source: §pag"},
        "'pag'; use page",
    ),
    "unknown source": (
        "operator",
        {"sources: [page]": "sources: [page, §pages]"},
        "no source has the id 'pages'",
    ),
    "unknown source of a disagreement": (
        "operator",
        {"- {source: page, says": "- {source: §pages, says"},
        "'pages'",
    ),
    "unknown source of an example": (
        "operator",
        {"    source: page\n    attr": "    source: §pages\n    attr"},
        "'pages'",
    ),
    "unknown source of a shared rule": ("rules", {"sources: [page]": "sources: [§pages]"}, "'pages'"),
    "unknown source of a latitude": ("latitude", {"source: page": "source: §pages"}, "'pages'"),
    "unknown source of a cast": (
        "casts",
        {"source: page}\n  - {target: FLOAT32": "source: §pages}\n  - {target: FLOAT32"},
        "'pages'",
    ),
    "source twice": (
        "operator",
        {"struct:": "  - {id: §page, title: A page, revision: today}\nstruct:"},
        "stands twice",
    ),
    "unknown latitude": ("operator", {"[zero-sign]": "[§zero-sing]"}, "did you mean zero-sign?"),
    "unknown latitude of a shared rule": (
        "rules",
        {"[subnormals]": "[§subnormal]"},
        "did you mean subnormals?",
    ),
    "nothing permitted": (
        "operator",
        {"  - id: sample.second": "  - §id: sample.second", CLAUSE_END: ""},
        "add `permitted:`",
    ),
    "permitted where required": (
        "operator",
        {"    latitude: [zero-sign]": "    §permitted: [so]"},
        "has `permitted`",
    ),
    "no evidence": (
        "operator",
        {
            "  - id: sample.first": "  - §id: sample.first",
            '    quotation: {source: page, words: "so it is"}\n': "",
        },
        "neither quotation nor sources",
    ),
    "no evidence of a shared rule": (
        "rules",
        {"  - id: more": "  - §id: more", "    sources: [page]\n": ""},
        "neither quotation",
    ),
    "level without support table": (
        "operator",
        {'    level: "3.0"': '    level: §"2.1"'},
        "no support table for level 2.1",
    ),
    "level of a shared rule": ("rules", {"    subject": '    §level: "3.0"\n    subject'}, "only operators"),
    "type without support": (
        "operator",
        {"data_types: [INT8]": "data_types: [INT8, §INT16]"},
        "no support table lists INT16",
    ),
    "no type": ("operator", {"data_types: [INT8]": "data_types: §[]"}, "about no data type"),
    # the examples
    "example of no clause": (
        "operator",
        {"clause: sample.first": "clause: §sample.frist"},
        "did you mean sample.first?",
    ),
    "example of no attribute": (
        "operator",
        {"{Low: -1.0, M": "{Low: -1.0, §High: 1.0, M"},
        "attribute 'High'",
    ),
    "example of scale and bias": (
        "operator",
        {"{Low: -1.0, M": "{Low: -1.0, §ScaleBias: 1.0, M"},
        "cannot set",
    ),
    "example of no enumerator": ("operator", {"Mode: UP}": "Mode: §LEFT}"}, "no enumerator 'LEFT'"),
    "example with text": ("operator", {"Low: -1.0": "Low: §UP"}, "write a number"),
    "example without attribute": ("operator", {"{Low: -1.0, Mode: UP}": "§{Low: -1.0}"}, "does not set Mode"),
    "unequal lengths": ("operator", {"outputs: [2, 3]": "outputs: §[2]"}, "1 outputs for 2 inputs"),
    "no inputs": (
        "operator",
        {"inputs: [1.5, 2.5]": "inputs: §[]", "outputs: [2, 3]": "outputs: []"},
        "no inputs",
    ),
    # the others, and all together
    "operator of another table": (
        "operator",
        {"ELEMENT_WISE_SAMPLE": "§ELEMENT_WISE_CLIP", "sample.": "clip."},
        "the operator ELEMENT_WISE_CLIP stands twice",
    ),
    "code of another table": ("operator", {"code: 900": "code: §8"}, "the operator code 8 stands twice"),
    "limit of another table": ("rules", {"sample_max": "§rank_max"}, "the limit rank_max stands twice"),
    "latitude of another table": (
        "latitude",
        {"sample-latitude": "§zero-sign"},
        "the latitude zero-sign stands twice",
    ),
    "cast twice": ("casts", {"target: FLOAT32": "target: §FLOAT16"}, "'FLOAT16' stands twice"),
    "wrong enumerator of a type": ("data-types", {"value: 8": "value: §9"}, "write 8"),
    "wrong size of a type": ("data-types", {"size_in_bytes: 1": "size_in_bytes: §2"}, "write 1"),
    "wrong kind of a type": ("data-types", {"kind: signed": "kind: §unsigned"}, "write signed"),
    "type twice": (
        "data-types",
        {
            "name: INT8, value: 8": "name: §FLOAT32, value: 1",
            "size_in_bytes: 1, kind: signed": "size_in_bytes: 4, kind: floating",
        },
        "'FLOAT32' stands twice",
    ),
    "wrong enumerator of a level": ("feature-levels", {"value: 0x2000": "value: §0x2100"}, "write 8192"),
    "feature level twice": (
        "feature-levels",
        {'"2.0", value: 0x2000': '§"1.0", value: 0x1000'},
        "stands twice",
    ),
    "a trap of YAML": ("operator", {"so, otherwise": "so, §nan"}, ".nan"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    kind, changes, words = BROKEN[name]
    text = GOOD[kind]
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    text, line, column = marked(text)
    path = written(tmp_path, text)
    with pytest.raises(TableError) as caught:
        load_tables(path)
    (fault,) = caught.value.faults
    assert (fault.file, fault.line, fault.column) == (str(path), line, column)
    assert words in str(fault)
    assert fault.cause
    assert fault.mend
    assert str(caught.value) == str(fault) == f"{path}:{line}:{column}: {fault.cause}; {fault.mend}"


def test_every_fault_of_every_file_is_reported(tmp_path: Path) -> None:
    written(tmp_path, OPERATOR.replace("[zero-sign]", "[no-such]").replace("page, says", "pag, says"), "b.yaml")
    written(tmp_path, RULES.replace("title: More rules", "title: yes\ntitel: x"), "a.yaml")
    written(tmp_path, CASTS.replace("exact", "exactly"), "c.yaml")
    faults = lint(tmp_path)
    # The latitude is not judged while a file is broken: it may be that file which defines it.
    assert [Path(fault.file).name for fault in faults] == ["a.yaml", "b.yaml", "c.yaml", "c.yaml"]
    assert list(faults) == sorted(faults, key=lambda fault: (fault.file, fault.line, fault.column))


def test_files_and_folders_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no table file or folder .*missing"):
        load_tables(tmp_path / "missing")
    with pytest.raises(UsageError, match=r"holds no \*\.yaml file"):
        lint(tmp_path)
    with pytest.raises(UsageError, match="no table file or folder"):
        load_tables(Path("nul\0"))
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(UsageError, match=r"folder\.yaml.* cannot be read"):
        load_tables(tmp_path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_bytes(OPERATOR.encode() + b"# \xff\n")
    (fault,) = lint(path)
    assert (fault.line, fault.column) == (OPERATOR.count("\n") + 1, 3)
    path.write_bytes(b"#" * ((1 << 20) + 1))
    assert "1 MiB" in lint(path)[0].cause


# ----------------------------------------------------------------------------------- schemas and enumerations


def read_builtin(name: str) -> Document:
    return read_yaml((SPECS / name).read_text(encoding="utf-8"), name)


def test_the_schemas_are_up_to_date() -> None:
    folder = SPECS / "schemas"
    checked_in = {
        entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".json")
    }
    assert checked_in == generate(), "run `python -m dmlcts.specs.schema`"
    assert len(checked_in) == len(MODELS)


@pytest.mark.parametrize("name", generate())
def test_a_schema_is_one(name: str) -> None:
    schema = json.loads(generate()[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == f"urn:dmlcts:schema:{name.removesuffix('.json')}:1"
    assert schema["title"].startswith("dmlcts/")
    document = read_yaml(GOOD[name.removesuffix(".json")], name).value
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "unknown": 1}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({key: value for key, value in document.items() if key != "sources"}, schema)


@pytest.mark.parametrize("name", BUILTIN)
def test_the_built_in_tables_fit_the_schema_they_name(name: str) -> None:
    text = (SPECS / name).read_text(encoding="utf-8")
    document = read_builtin(name).value
    schema = document["format"].split("/")[1] + ".json"
    assert text.splitlines()[0] == f"# yaml-language-server: $schema=../schemas/{schema}"
    jsonschema.validate(document, json.loads(generate()[schema]))


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


# ---------------------------------------------------------------------------------------- whatever is written


def assert_readable(error: TableError, text: str) -> None:
    lines = text.count("\n") + text.count("\r") + 1
    for fault in error.faults:
        assert 1 <= fault.line <= lines
        assert fault.column >= 1
        assert fault.cause
        assert fault.mend
        assert len(str(fault).splitlines()) == 1
    assert error.faults


@given(st.text(st.sampled_from("ab01-+.:e_,[]{}#&*!|>'\"%@ \t\n\r\\x~<=?\u2028ä\0") | st.characters(), max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_yaml(text, "f")
    except TableError as error:
        assert_readable(error, text)


TOKENS = st.sampled_from(
    (
        *(
            "nan",
            "012",
            "-0",
            "1",
            "2.5",
            "true",
            "null",
            "x",
            "[]",
            "{}",
            "[a]",
            "{a: b}",
            "-",
            ":",
            ",",
            "page",
        ),
        *('"3.0"', "FLOAT32", "sample.first", "UP", ">-", "|", "&a", "*a", "!t", "~", "\t", "\N{SNOWMAN}"),
    )
)


@st.composite
def mutated_tables(draw: st.DrawFn) -> str:
    """A good table with some of its lines dropped, doubled, swapped, indented, or rewritten."""
    lines = draw(st.sampled_from(sorted(GOOD.values()))).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        index = draw(st.integers(0, len(lines) - 1))
        other = draw(st.integers(0, len(lines) - 1))
        key, colon, _ = lines[index].partition(": ")
        match draw(st.sampled_from(["drop", "double", "swap", "indent", "value", "key", "cut", "any"])):
            case "drop":
                lines[index] = ""
            case "double":
                lines.insert(other, lines[index])
            case "swap":
                lines[index], lines[other] = lines[other], lines[index]
            case "indent":
                lines[index] = " " * draw(st.integers(1, 3)) + lines[index]
            case "value":
                lines[index] = f"{key}{colon}{draw(TOKENS)}"
            case "key":
                lines[index] = lines[index].replace(key.strip(), draw(TOKENS), 1)
            case "cut":
                lines[index] = lines[index][: draw(st.integers(0, len(lines[index])))]
            case _:
                lines[index] += draw(st.text(max_size=5))
    return "\n".join(lines)


@given(text=mutated_tables())
@settings(max_examples=120, deadline=None)
def test_any_table_is_loaded_or_refused(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        tables = load_tables(path)
    except TableError as error:
        assert_readable(error, text)
    else:
        assert isinstance(tables, Tables)
