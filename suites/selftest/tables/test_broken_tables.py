"""Everything that may be wrong with a table is refused at its place, with cause and mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlcts.specs import Fault, TableError
from dmlcts.specs.checking.table_checks import own_faults
from dmlcts.specs.loading import fit, load_tables, tables_of_files
from dmlcts.specs.reading.table_files import TableFile, builtin_files
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.selftest.tables.sample_tables import ALONE, GOOD, OPERATOR, marked, written

CLAUSE_END = "    permitted: [so, otherwise]"
FORMULA = "formula: max(Min, ceil(x) if Mode == UP else floor(x))"
AND_MODE = "Min, type: FLOAT, cast: documented, role: low}\n  - {name: Mode"
EXAMPLES = OPERATOR[OPERATOR.index("examples:") :]
RANKS_3 = "dimension_counts: [1, 8]"

BROKEN: dict[str, tuple[str, dict[str, str], str]] = {
    # the shape
    "not a mapping": ("operator", {OPERATOR: "§- a\n"}, "a table is a mapping"),
    "no format": ("operator", {"format: dmlcts/operator/2\n": "§"}, "`format` is missing"),
    "unknown format": (
        "operator",
        {"dmlcts/operator/2": "§dmlcts/operatr/2"},
        "did you mean dmlcts/operator/2?",
    ),
    "format is no text": ("operator", {"dmlcts/operator/2": "§1"}, "no table format 1"),
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
    "unknown key of a tensor": (
        "operator",
        {"InputTensor: {name: x,": "InputTensor: {§nam: q, name: x,"},
        "did you mean name?",
    ),
    "more dimensions than there are": (
        "operator",
        {RANKS_3: "dimension_counts: §[1, 800000000000]"},
        "the highest rank is 800000000000; DirectML has no tensor of more than 8 dimensions",
    ),
    "one dimension more than there are": (
        "operator",
        {RANKS_3: "dimension_counts: §[1, 9]"},
        "the highest rank is 9",
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
    "text for a boolean": (
        "operator",
        {"kind: input, type: T": 'kind: input, type: T, optional: §"true"'},
        "is not true or false",
    ),
    "null for a text": ("operator", {"summary: A sample.": "summary: §null"}, "null is not a text"),
    "mapping for a list": (
        "operator",
        {"same: [DataType]": "same: §{DataType: 1}"},
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
        {"same: [DataType]": "same: [§DataTypes]"},
        "did you mean DataType?",
    ),
    "literal in a choice": ("operator", {"data_types: [INT8]": "data_types: [§INT9]"}, "did you mean INT8?"),
    "neither of a choice": ("operator", {"data_types: [INT8]": "data_types: §3"}, "or write a list"),
    "value of an example's attribute": (
        "operator",
        {"Min: -1.0": "Min: §true"},
        "in quotes, or write a number",
    ),
    "name of an example's attribute": (
        "operator",
        {"Min: -1.0": '§"L w": -1.0, Min: 1.0'},
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
    "undefined name": ("operator", {FORMULA: "formula: max(§Mi, x)"}, "undefined name 'Mi'"),
    "undefined name after spaces": (
        "operator",
        {FORMULA: "formula: max(  Min,   §y )"},
        "undefined name 'y'",
    ),
    "undefined name in a block": ("operator", {FORMULA: "formula: §>-\n  max(Min, y)"}, "undefined name 'y'"),
    "undefined name in quotes": ("operator", {FORMULA: 'formula: §"max(Min, y)"'}, "undefined name 'y'"),
    "undefined function": ("operator", {FORMULA: "formula: max(Min, §root(x))"}, "undefined function 'root'"),
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
        {"x * scale + bias": "x * scale + §Min"},
        "undefined name 'Min'",
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
        {"{name: Min, type: FLOAT, cast: documented, role: low}": "§{name: Min, type: FLOAT, role: low}"},
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
            "  - {name: Min, type: FLOAT}\n": "",
            "{name: Min, type: FLOAT, cast": "{name: §Min, type: FLOAT, cast",
        },
        "not a field of the struct",
    ),
    "attribute twice": (
        "operator",
        {
            "attributes:\n": "attributes:\n  - {name: Min, type: FLOAT, cast: documented, role: low}\n",
            AND_MODE: f"§{AND_MODE}",
        },
        "'Min' stands twice",
    ),
    "field twice": (
        "operator",
        {"  - {name: Mode, type: DML": "  - {name: §Min, type: FLOAT}\n  - {name: Mode, type: DML"},
        "'Min' stands twice",
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
        {
            "  InputTensor: {name: x": "  §InputTenso: {name: x",
            "may_alias: [InputTensor]": "may_alias: [InputTenso]",
            "tensors: [InputTensor, O": "tensors: [InputTenso, O",
        },
        "did you mean InputTensor?",
    ),
    "type of no tensor": ("operator", {"types: {T: [FLOAT32]}": "types: {T: [FLOAT32], §U: [INT8]}"}, "has the type U"),
    "type variable without types": ("operator", {"{T: [FLOAT32]}": "{T: §[]}"}, "T has no data type"),
    "input without a name": (
        "operator",
        {"  InputTensor: {name: x, ": "  §InputTensor: {", FORMULA: "formula: Min"},
        "has no name for the formula",
    ),
    "output with a name": ("operator", {"{kind: output": "{§name: z, kind: output"}, "does not name the output"),
    "no output": (
        "operator",
        {
            "tensors:\n": "§tensors:\n",
            "kind: output, type: T, may_alias: [InputTensor]": "kind: input, name: z, type: T",
        },
        "there is no output",
    ),
    "alias of no input": ("operator", {"may_alias: [InputTensor]": "may_alias: [§InputTenso]"}, "InputTensor"),
    "one alias, and how many at once": (
        "operator",
        {"may_alias: [InputTensor]": "may_alias: [InputTensor], §at_once: one"},
        "remove it",
    ),
    "optional without a value": (
        "operator",
        {"  InputTensor: {name: x, kind: input": "  §InputTensor: {name: x, optional: true, kind: input"},
        "`absent:`",
    ),
    "constraint of no tensor": ("operator", {"tensors: [InputTensor, O": "tensors: [§Inputs, O"}, "no tensor 'Inputs'"),
    "formula of another type": (
        "operator",
        {FORMULA: "formula: §x < Min"},
        "the formula gives a truth value where the output is FLOAT32",
    ),
    "function without a meaning there": ("operator", {FORMULA: "formula: §sqrt(x)"}, "sqrt has no meaning on INT8"),
    "number without a role": (
        "operator",
        {"{name: Min, type: FLOAT, cast: documented, role: low}": "§{name: Min, type: FLOAT, cast: documented}"},
        "has no role",
    ),
    "accuracy of an exact function": (
        "operator",
        {
            FORMULA: FORMULA + "\naccuracy:\n  - {function: §max, data_types: [FLOAT32], judged: {ulp: 1}, "
            "strict: {ulp: 0.5}, source: page}"
        },
        "no accuracy can be stated of 'max'",
    ),
    "an approximate value where only exact ones go": (
        "operator",
        {
            FORMULA: "formula: §abs(x / 3)\naccuracy: [{function: divide, data_types: [FLOAT32], judged: {ulp: 1}, "
            "strict: {ulp: 0.5}, source: page}]"
        },
        "abs is given an approximate value",
    ),
    "a table of format 1": ("operator", {"dmlcts/operator/2": "§dmlcts/operator/1"}, "dmlcts spec upgrade FILE"),
    "data type twice": (
        "operator",
        {"[FLOAT32, INT8]}": "[FLOAT32, INT8, §FLOAT32]}"},
        "'FLOAT32' stands twice",
    ),
    "ranks reversed": ("operator", {"[1, 8]": "§[8, 1]"}, "write [1, 8]"),
    "rank zero": ("operator", {"[1, 8]": "§[0, 8]"}, "write 1 or more"),
    # the clauses
    "clause twice": ("operator", {"id: sample.second": "id: §sample.first"}, "sample.first stands twice"),
    "clause of another prefix": (
        "operator",
        {"id: sample.second": "id: §simple.second"},
        "write sample.second",
    ),
    "clause that nothing checks": (
        "operator",
        {"  - id: sample.first": "  - §id: sample.first", "    check: values\n": ""},
        "`check` is missing in clauses[0]",
    ),
    "unknown check": ("operator", {"check: values": "check: §valuse"}, "did you mean values?"),
    "check of the shared rules": (
        "operator",
        {"check: values": "check: §tensor.position"},
        "checks a clause of the shared rules",
    ),
    "checked twice": (
        "operator",
        {
            "    when: {Mode: UP}\n": "",
            "  - id: sample.second\n    check: support.level": "  - id: sample.second\n    check: §values",
            '    level: "3.0"\n': "",
        },
        "checks sample.first already",
    ),
    "when of no enumeration": ("operator", {"when: {Mode: UP}": "when: {§Mood: UP}"}, "'Mood'; use Mode"),
    "when of no enumerator": ("operator", {"when: {Mode: UP}": "when: {Mode: §LEFT}"}, "no enumerator 'LEFT'"),
    "level clause without a level": (
        "operator",
        {"check: support.level": "check: §support.level", '    level: "3.0"\n': ""},
        "states no level",
    ),
    "level of another check": (
        "operator",
        {"check: support.level": "check: values", '    level: "3.0"': '    §level: "3.0"'},
        "`check: support.level`",
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
    "level without support table": (
        "operator",
        {'    level: "3.0"': '    level: §"2.1"'},
        "no support table for level 2.1",
    ),
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
        {"{Min: -1.0, M": "{Min: -1.0, §High: 1.0, M"},
        "attribute 'High'",
    ),
    "example of scale and bias": (
        "operator",
        {"{Min: -1.0, M": "{Min: -1.0, §ScaleBias: 1.0, M"},
        "cannot set",
    ),
    "example of no enumerator": ("operator", {", Mode: UP}": ", Mode: §LEFT}"}, "no enumerator 'LEFT'"),
    "example with text": ("operator", {"Min: -1.0": "Min: §UP"}, "write a number"),
    "example without attribute": ("operator", {"{Min: -1.0, Mode: UP}": "§{Min: -1.0}"}, "does not set Mode"),
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
    "unknown source of a shared rule": ("shared rules", {"sources: [page]": "sources: [§pages]"}, "'pages'"),
    "no evidence of a shared rule": (
        "shared rules",
        {"  - id: tensor": "  - §id: tensor", "    sources: [page]\n": ""},
        "neither quotation",
    ),
    "a level of a shared rule": (
        "shared rules",
        {"    subject": '    §level: "3.0"\n    subject'},
        "does not look at",
    ),
    "when of a shared rule": ("shared rules", {"    subject": "    §when: {Mode: UP}\n    subject"}, "only operators"),
    "unknown check of a shared rule": (
        "shared rules",
        {"check: tensor.position": "check: §tensor.positron"},
        "did you mean tensor.position?",
    ),
    "check of an operator of a shared rule": (
        "shared rules",
        {"check: tensor.position": "check: §values"},
        "checks clauses of operators",
    ),
    "id that is not checked of a shared rule": (
        "shared rules",
        {"id: tensor.position": "id: tensor.place", "check: t": "check: §t"},
        "of that id",
    ),
    "unknown latitude of a shared rule": (
        "shared rules",
        {"[subnormals]": "[§subnormal]"},
        "did you mean subnormals?",
    ),
    "latitude that no oracle applies": (
        "latitude",
        {"name: zero-sign": "name: §zero-sing"},
        "did you mean zero-sign?",
    ),
    "latitude twice": (
        "latitude",
        {
            "latitudes:\n": "latitudes:\n  - {name: zero-sign, text: a, permitted: [b], strict: c, "
            "kept_when_strict: true, source: page}\n",
            "  - name: zero-sign": "  - name: §zero-sign",
        },
        "'zero-sign' stands twice",
    ),
    "a trap of YAML": ("operator", {"so, otherwise": "so, §nan"}, ".nan"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.size("thorough", brief=40)
def test_a_broken_table_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    kind, changes, words = BROKEN[name]
    text = {**GOOD, **ALONE}[kind]
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    text, line, column = marked(text)
    if kind in ALONE:
        (fault,) = faults_of(text)
        assert (fault.line, fault.column) == (line, column)
        assert words in str(fault)
        return
    path = written(tmp_path, text)
    with pytest.raises(TableError) as caught:
        load_tables(path)
    (fault,) = caught.value.faults
    assert (fault.file, fault.line, fault.column) == (str(path), line, column)
    assert words in str(fault)
    assert fault.cause
    assert fault.mend
    assert str(caught.value) == str(fault) == f"{path}:{line}:{column}: {fault.cause}; {fault.mend}"


@pytest.mark.parametrize("kind", ALONE)
def test_a_table_that_stands_alone_is_accepted_as_it_is(kind: str) -> None:
    assert faults_of(ALONE[kind]) == []


def test_a_name_that_only_one_table_may_have_is_refused_in_another(tmp_path: Path) -> None:
    for kind, words in (
        ("latitude", "the latitude zero-sign stands twice, first in specs/shared/latitude.yaml:"),
        ("casts", "the cast to FLOAT16 stands twice, first in specs/shared/casts.yaml:"),
        ("shared rules", "the clause id tensor.position stands twice, first in specs/shared/tensors"),
    ):
        with pytest.raises(TableError) as caught:
            load_tables(written(tmp_path, ALONE[kind]))
        assert words in str(caught.value)


def faults_of(text: str) -> list[Fault]:
    """What is wrong with a table, looked at by itself."""
    try:
        return list(own_faults(fit(read_yaml(text, "table.yaml"))))
    except TableError as error:
        return list(error.faults)


OF_ANY_FORM: dict[str, dict[str, str]] = {
    "several inputs": {
        "  OutputTensor: {kind": "  BTensor: {name: b, kind: input, type: T}\n  OutputTensor: {kind",
        "struct:\n": "struct:\n  - {name: BTensor, type: const DML_TENSOR_DESC*}\n",
        "inputs: [1.5, 2.5]": "inputs: {x: [1.5, 2.5], b: [0, 0]}",
    },
    "an output of another type": {
        "  OutputTensor: {kind: output, type: T": "  OutputTensor: {kind: output, type: U",
        "types: {T: [FLOAT32, INT8]}": "types: {T: [FLOAT32, INT8], U: [UINT8]}",
        "types: {T: [FLOAT32]}": "types: {T: [FLOAT32], U: [UINT8]}",
        FORMULA: "formula: cast(U, x < Min)",
    },
    "bits": {FORMULA: "formula: bit_not(x)\ndomain: bits"},
    "accuracy": {
        FORMULA: "formula: x / 3\naccuracy: [{function: divide, data_types: [FLOAT32], judged: {ulp: 1}, "
        "strict: {ulp: 0.5}, source: page}]",
    },
    "another input name": {"{name: x": "{name: a", FORMULA: "formula: max(a, Min)"},
    "one element": {"  InputTensor: {name: x": "  InputTensor: {name: x, elements: one"},
    "a number of no role": {"role: low": "role: other"},
    "an integer attribute": {
        "Mode, type: ENUM, enumerators: [UP, DOWN]": "Mode, type: INT, role: other",
        "    when: {Mode: UP}\n": "",
        FORMULA: "formula: max(x, Mode)",
        "Mode: UP}": "Mode: 3}",
    },
    "FLOAT64": {"types: {T: [FLOAT32]}": "types: {T: [FLOAT32, FLOAT64]}"},
}


def changed(changes: dict[str, str]) -> str:
    text = OPERATOR
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("name", OF_ANY_FORM)
def test_a_table_of_any_form_is_loaded(name: str, tmp_path: Path) -> None:
    """The suite can run what the format allows; the proof is in ``signatures``."""
    assert load_tables(written(tmp_path, changed(OF_ANY_FORM[name]))).operator("SAMPLE")


UNSPOKEN: dict[str, tuple[dict[str, str], str]] = {
    "no clause on execution in place": (
        {"  OutputTensor: {kind": "  §OutputTensor: {kind", "check: in-place": "check: monotone"},
        "execution in place where no clause speaks of it",
    ),
    "no clause on a scaled integer": (
        {
            "  - {name: ScaleBias, type: DML_SCALE_BIAS, f": "  - §{name: ScaleBias, type: DML_SCALE_BIAS, f",
            "check: scale-bias.integer": "check: monotone",
        },
        "ScaleBias on integer types where no clause speaks of it",
    ),
}


@pytest.mark.parametrize("name", UNSPOKEN)
def test_what_no_clause_speaks_of_is_refused_by_name(name: str, tmp_path: Path) -> None:
    changes, words = UNSPOKEN[name]
    text, line, column = marked(changed(changes))
    path = written(tmp_path, text)
    with pytest.raises(TableError, match="the suite cannot run") as caught:
        load_tables(path)
    (fault,) = caught.value.faults
    assert (fault.line, fault.column) == (line, column)
    assert words in fault.cause
    files = [*builtin_files(), TableFile(str(path), "table.yaml", text.encode())]
    assert "ELEMENT_WISE_SAMPLE" in tables_of_files(files, runnable=False).operators  # the oracles may be asked
