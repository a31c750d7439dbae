"""Names of operators, tensors and attributes are the tables' own: general code asks a table, by role or kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dmlcts.specs.loading import load_tables

ROOT = Path(__file__).parents[3]

EXCEPTIONS: Mapping[str, tuple[frozenset[str], str]] = {
    "specs/__init__.py": (frozenset({"ScaleBias"}), "the class of that name"),
    "specs/descriptions.py": (
        frozenset({"OutputTensor", "ConditionTensor"}),
        "a description is read where no table is at hand",
    ),
    "specs/loading/upgrading.py": (
        frozenset({"InputTensor", "OutputTensor", "Min", "Max"}),
        "tables of format 1 leave these names out",
    ),
    "suites/cases/case.py": (
        frozenset({"InputTensor", "OutputTensor"}),
        "cases that name no format are of the first three operators",
    ),
    "specs/checks.py": (
        frozenset({"THRESHOLD"}),
        "`check: threshold-equivalence` is about that operator",
    ),
    "suites/conformance/values/test_activations.py": (
        frozenset({"ELEMENT_WISE_CLIP", "ELEMENT_WISE_ABS", "Min", "Max", "ScaleBias"}),
        "two operators that are no activations are offered as such",
    ),
    "suites/conformance/values/test_rounding.py": (frozenset({"RoundingMode"}), "about ROUND"),
    "suites/benchmarks/bench_figures.py": (frozenset({"CLIP", "ROUND"}), "what is timed"),
    "suites/benchmarks/command_times.py": (frozenset({"CLIP", "ROUND", "THRESHOLD"}), "what is timed"),
    "suites/benchmarks/engine_cost.py": (frozenset({"IDENTITY"}), "what is timed: right where nothing is done"),
    "suites/benchmarks/isolation_overhead.py": (frozenset({"CLIP"}), "what is timed"),
    "suites/benchmarks/judging_speed.py": (
        frozenset({"CLIP", "ROUND", "InputTensor", "OutputTensor", "ScaleBias", "Min", "Max", "RoundingMode"}),
        "what is timed",
    ),
    "suites/benchmarks/sweep_variants.py": (frozenset({"ROUND"}), "what is timed"),
    "suites/benchmarks/wgpu_overhead.py": (
        frozenset({"ELEMENT_WISE_CLIP", "InputTensor", "OutputTensor", "ScaleBias", "Min", "Max"}),
        "what is timed",
    ),
}
"""Modules that may spell names, the names, and why."""


def names_of_the_tables() -> frozenset[str]:
    """The names of all operators, in full and short, and of all their tensors and attributes."""
    names: set[str] = set()
    for table in load_tables().operators.values():
        names |= {table.operator, table.short_name, *table.tensors, *(item.name for item in table.attributes)}
    return frozenset(names)


def spelled(text: str, names: frozenset[str]) -> Iterator[tuple[str, int]]:
    """The names that a module spells, as constants, as keywords of a call or as parameters, each with its line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
            yield node.value, node.lineno
        elif isinstance(node, ast.keyword | ast.arg) and node.arg in names:
            yield node.arg, node.lineno


def general_modules() -> list[Path]:
    """The modules of ``specs`` and ``suites`` but for the suite's own tests and mutants."""
    paths = [path for room in ("specs", "suites") for path in (ROOT / room).rglob("*.py")]
    return [path for path in paths if not {"selftest", "mutants", "proof"} & {*path.relative_to(ROOT).parts}]


@pytest.fixture(scope="module")
def names_by_module() -> dict[str, dict[str, list[int]]]:
    """The lines in which each module spells each name."""
    names = names_of_the_tables()
    seen: dict[str, dict[str, list[int]]] = {}
    for path in general_modules():
        for name, line in spelled(path.read_text(encoding="utf-8"), names):
            seen.setdefault(path.relative_to(ROOT).as_posix(), {}).setdefault(name, []).append(line)
    return seen


def test_no_general_module_spells_a_name_that_tables_choose(names_by_module: dict[str, dict[str, list[int]]]) -> None:
    wrong = {
        f"{module}:{lines[0]} spells {name}"
        for module, spells in names_by_module.items()
        for name, lines in spells.items()
        if name not in EXCEPTIONS.get(module, (frozenset(), ""))[0]
    }
    assert not wrong, f"{sorted(wrong)}: ask the table (lower, upper, scale_bias, inputs, output) or the description"


def test_every_exception_is_still_one(names_by_module: dict[str, dict[str, list[int]]]) -> None:
    assert {module: names for module, (names, _) in EXCEPTIONS.items()} == {
        module: frozenset(spells) for module, spells in names_by_module.items() if module in EXCEPTIONS
    }
    assert all(because for _, because in EXCEPTIONS.values())


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('given["Min"]', ["Min"]),
        ("subject.attributes(Max=1)", ["Max"]),
        ("def f(ScaleBias): ...", ["ScaleBias"]),
        ('run("ELEMENT_WISE_CLIP", "CLIP")', ["ELEMENT_WISE_CLIP", "CLIP"]),
        ('"Min is a bound"', []),
        ("table.lower", []),
        ("ScaleBias(1, 0)", []),
        ("# Min", []),
    ],
)
def test_names_are_seen_where_they_are_spelled(text: str, seen: list[str]) -> None:
    assert [name for name, _ in spelled(text, names_of_the_tables())] == seen
