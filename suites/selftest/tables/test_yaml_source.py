"""YAML that every reader understands alike is read; everything else is refused at its place."""

from __future__ import annotations

import math
import typing

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs import TableError
from dmlcts.specs.errors import Fault
from dmlcts.specs.reading import yaml_source
from dmlcts.specs.reading.yaml_source import decode, read_yaml
from dmlcts.suites.selftest.looped_cases import looped
from dmlcts.suites.selftest.tables.sample_tables import assert_readable, marked


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with libyaml, where PyYAML has it, and without."""
    monkeypatch.setattr(yaml_source, "_LOADER", getattr(yaml, request.param, yaml.SafeLoader))


def refused(text: str, file: str = "f.yaml") -> tuple[Fault, ...]:
    with pytest.raises(TableError) as caught:
        read_yaml(text, file)
    return caught.value.faults


@pytest.mark.usefixtures("either_parser")
@looped(
    "text, value",
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("0", 0),
        ("-5", -5),
        ("+5", 5),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("18446744073709551615", 2**64 - 1),
        ("1.5", 1.5),
        ("-0.0", -0.0),
        ("5.", 5.0),
        (".5", 0.5),
        ("1.0e-3", 0.001),
        ("1.5E+3", 1500.0),
        (".inf", math.inf),
        ("+.inf", math.inf),
        ("-.inf", -math.inf),
        (".INF", math.inf),
        ("plain text", "plain text"),
        ("1.2.3", "1.2.3"),
        ("37a8df4a", "37a8df4a"),
        ("nano", "nano"),
        ("info", "info"),
        ("2020-01", "2020-01"),
        ("x:y", "x:y"),
        ("'nan'", "nan"),
        ('"012"', "012"),
        ("'yes'", "yes"),
        ('""', ""),
        ("'2020-01-01'", "2020-01-01"),
        ("|-\n  1e-3", "1e-3"),
        (">-\n  1:30", "1:30"),
        ("'<<'", "<<"),
        ("'~'", "~"),
        ("[]", []),
        ("{}", {}),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
        ("'a\tb'", "a\tb"),
        ("x # a\tcomment", "x"),
        ("|-\n  a\tb", "a\tb"),
    ],
)
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


@pytest.mark.usefixtures("either_parser")
@looped(
    "text, mend",
    [
        ("-0", "-0.0"),
        ("+0", "+0.0"),
        ("-0x0", "-0.0"),
        ("1e-3", "1.0e-3"),
        ("1e3", "1.0e+3"),
        ("1.5e3", "1.5e+3"),
        ("-.5", "-0.5"),
        (".5e3", "0.5e+3"),
        ("nan", ".nan"),
        ("NaN", ".nan"),
        ("-.nan", ".nan"),
        ("inf", ".inf"),
        ("-inf", "-.inf"),
        ("+Inf", ".inf"),
        ("INFINITY", ".inf"),
        ("-infinity", "-.inf"),
        (".Infinity", ".inf"),
        ("012", "12"),
        ("-012", "-12"),
        ("00", "0"),
        ("01.5", "1.5"),
        ("012e3", "12.0e+3"),
        ("0o17", "0xf"),
        ("0b11", "0x3"),
        ("0XFF", "0xff"),
        ("1_000", "1000"),
        ("0x_1", "0x1"),
        ("1_0.5", "10.5"),
        ("1:30", '"1:30"'),
        ("-1:30:00.5", "quote"),
        ("yes", "true"),
        ("No", "false"),
        ("ON", "true"),
        ("off", "false"),
        ("y", '"y"'),
        ("N", '"N"'),
        ("True", "true"),
        ("FALSE", "false"),
        ("~", "null"),
        ("Null", "null"),
        ("", "null"),
        ("2020-01-01", '"2020-01-01"'),
        ("2020-1-1 10:00", "quotes"),
        ("2020-01-01T10:00:00Z", "quotes"),
        ("=", '"="'),
        ("<<", '"<<"'),
        ("1.0e+999", ".inf"),
        ("-1.0e+999", "-.inf"),
        ("1.0e-999", "0.0"),
        ("9" * 5000, "decimal point"),
        ("0x" + "f" * 5000, "decimal point"),
        ("18446744073709551616", "decimal point"),
        ("&a b", "remove"),
        ("!!str 1", "quotes"),
        ("!x [1]", "remove"),
        ("! x", "remove"),
    ],
)
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
@looped(
    "text, words",
    [
        ("§", "empty"),
        ("§# only a comment\n", "empty"),
        ("§---\n", "empty"),
        ("a: 1\n§---\nb: 2\n", "second document"),
        ("a: 1\n§a: 2\n", "twice"),
        ("a: {b: 1, §'b': 2}", "twice"),
        ("a: {§<<: {b: 1}}", "merge"),
        ("§1: 2", ", not a text"),
        ("§null: 2", ", not a text"),
        ("§on: 2", "YAML 1.1"),
        ("? §[a]\n: 1\n", ", not a text"),
        ("? §{a: b}\n: 1\n", ", not a text"),
        ("- " * 32 + "§- a", "32 levels"),
        ("[" * 32 + "§" + "[" * 9999, "32 levels"),
        ("{a: " * 32 + "§" + "{a: " * 2000, "32 levels"),
        ("a:\n- " + "[" * 30 + "§" + "[" * 2000, "32 levels"),
        ("- §*a\n", "alias"),
        ("a:§\tb", "tab"),
        ("§\ta: b", "tab"),
        ("a:\n§\t- b", "tab"),
        ("a: b§\t# comment", "tab"),
        ("a: b§: c", "not allowed"),
        ("a: 'b§", "quote"),
        ("{a: 1§", "brace"),
        ("[a§", "bracket"),
        ("a: §@b", "quotes"),
        ("a: §\0", "U+0000"),
        ("a: b§\x85", "U+0085"),
        ("- a\n- b§\u2028c", "U+2028"),
        ("a: §\ud800", "U+D800"),
        ("a: §\ufeff", "U+FEFF"),
        ("a: §- b\n", "not allowed"),
        ("a: x\r\nb: §nan\r\n", ".nan"),
        ("ä: {ö: §nan}", ".nan"),
    ],
)
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


@given(st.text(st.sampled_from("ab01-+.:e_,[]{}#&*!|>'\"%@ \t\n\r\\x~<=?\u2028ä\0") | st.characters(), max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_yaml(text, "f")
    except TableError as error:
        assert_readable(error, text)
