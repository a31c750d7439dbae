"""The built-in tables load, extra ones join them, and whatever cannot be read is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs import TableError, UsageError
from dmlcts.specs.loading import lint, load_tables
from dmlcts.specs.tables import Tables
from dmlcts.suites.selftest.tables.sample_tables import (
    BUILTIN,
    CASTS,
    GOOD,
    OPERATOR,
    RULES,
    SPECS,
    assert_readable,
    written,
)


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
    assert tables.limits["sample_max"] == 8
    sample = tables.operator("SAMPLE")
    assert sample.examples[0].attributes == {"Min": -1.0, "Mode": "UP"}
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
