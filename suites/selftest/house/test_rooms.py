"""The rooms: what may import what inside a room, what lives in each, and the command of CONTRIBUTING.md that tests it.

``test_architecture`` keeps the arrows between the four rooms at the top; this keeps the order of floors below them.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from dmlcts.suites.selftest.house.imports import imports_of
from dmlcts.suites.selftest.sizes import SIZES

ROOT = Path(__file__).resolve().parents[3]
TOPS = ("specs", "backends", "reports", "suites")
NOT_PACKAGED = {
    "backends/baselines",  # of the runs in CI
    "backends/directml/windows/native",  # data of the package above it
    "reports/examples/pairs",  # pages to look at
    "reports/examples/all_operators",  # results to look at; those that runs compare behaviours with stand above
    "backends/runners/javascript",  # a sample to copy
    "backends/directml/models",  # the cases of FINDINGS.md
    "reports/examples/upstream",  # letters about findings
}
NOT_SHIPPED = {"selftest", "mutants", "proof", "__pycache__"}  # what proves the suite, and judges nobody else
# Lowest floor first: a room imports from those before it, and from none after it.
FLOORS = {
    "specs": (
        "",
        "arithmetic",
        "functions",
        "formula",
        "models",
        "tables",
        "statements",
        "rules",
        "reading",
        "checking",
        "loading",
        "pages",
        "comparing",
        "oracle",
        "approximation",
        "accuracy",
    ),
    "suites": (
        "options",
        "isolation",
        "cases",
        "generation",
        "generation.drawn",
        "combinations",
        "measuring",
        "batches",
        "judging",
        "attribution",
        "console",
        "progress",
        "running",
        "rerunning",
        "trial",
        "conformance",
        "families",
        "sweeping.blocks",
        "sweeping.worker_pools",
        "sweeping",
        "certification",
        "offline",
        "benchmarks",
        "history",
        "targets",
        "publishing",
        "mutants",
        "proof",
        "commands",
        "",
    ),
    "reports": ("documents", "summaries", "views", "comparing", "migrating", "site", "certification", ""),
}

# What asks and judges knows no report: what both need, such as how a count is written, lives in ``specs``.
BEFORE_REPORTS = ("suites.isolation", "suites.cases", "suites.generation", "suites.batches", "suites.judging")
SUITES = ROOT / "suites" / "__init__.py"


def modules() -> Iterator[Path]:
    for top in TOPS:
        yield from (path for path in sorted((ROOT / top).rglob("*.py")) if "selftest" not in path.parts)


def room_of(name: str) -> str:
    """The room of a module, or of a package named as such: ``suites.judging`` of ``dmlcts.suites.judging.judge``."""
    parts = name.removeprefix("dmlcts.").split(".")
    while parts and not (ROOT.joinpath(*parts).is_dir()):
        parts.pop()
    return ".".join(parts)


def imported(path: Path) -> Iterator[str]:
    """The project's modules and rooms that a module imports, anywhere in its text."""
    for module, names in imports_of(path):
        if module.startswith("dmlcts."):
            yield from (f"{module}.{name}" for name in names) if names else (module,)


@cache
def arrows() -> dict[str, set[str]]:
    """Which rooms each room imports from; a room without code of the project's own has none."""
    imported_rooms: dict[str, set[str]] = {}
    for path in modules():
        here = path.relative_to(ROOT).parent.as_posix().replace("/", ".")
        imported_rooms.setdefault(here, set()).update(room for room in map(room_of, imported(path)) if room != here)
    return imported_rooms


def circles(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Pairs of rooms of which each reaches the other."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        left = [start]
        while left:
            for after in graph.get(left.pop(), ()):
                if after not in seen:
                    seen.add(after)
                    left.append(after)
        reached[start] = seen
    return sorted(
        (room, other) for room in graph for other in reached[room] if room < other and room in reached.get(other, ())
    )


def test_no_rooms_import_from_each_other_in_a_circle() -> None:
    assert circles(arrows()) == []


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


@cache
def module_arrows() -> dict[str, set[str]]:
    """Which modules each module imports, anywhere in its text: in functions and for types as well."""
    names = {"dmlcts." + ".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in modules()}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        targets = {target if target in names else target.rpartition(".")[0] for target in imported(path)}
        graph[name] = {target for target in targets if target in names and target != name}
    return graph


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = module_arrows()
    assert len(graph) > 300
    assert circles(graph) == []


EXACT = ("oracle.exact", "oracle.exact_typed", "oracle.exact_integer_scale_bias", "oracle.exact_floating_scale_bias")
VECTORISED = (
    "oracle.vectorised",
    "oracle.vector_typed",
    "oracle.vector_integer_scale_bias",
    "oracle.vector_scale_bias",
)
SECOND_OPINIONS = ("oracle.exact", "oracle.exact_typed", "approximation.exactly", "approximation.exact_bounds")


def shared_arithmetic(graph: dict[str, set[str]]) -> set[str]:
    """What computes for both oracles, or is a part of one and imported by the other."""
    exact, vectorised = (
        set().union(*(graph[f"dmlcts.specs.{name}"] for name in names)) for names in (EXACT, VECTORISED)
    )
    both = {name for name in exact & vectorised if ".arithmetic." in name}
    crossing = {f"dmlcts.specs.{name}" for name in VECTORISED} & exact
    return both | crossing | ({f"dmlcts.specs.{name}" for name in EXACT} & vectorised)


def test_the_two_oracles_share_no_arithmetic() -> None:
    graph = module_arrows()
    assert shared_arithmetic(graph) == set()
    for name, target in (("vectorised", "arithmetic.binary_format"), ("vectorised", "oracle.exact")):
        module = f"dmlcts.specs.oracle.{name}"
        planted = graph | {module: graph[module] | {f"dmlcts.specs.{target}"}}
        assert shared_arithmetic(planted) == {f"dmlcts.specs.{target}"}


def asks_for_second_opinions(graph: dict[str, set[str]]) -> set[str]:
    """The modules of second opinions that anything but another of them imports."""
    second = {f"dmlcts.specs.{name}" for name in SECOND_OPINIONS}
    return {name for module, names in graph.items() if module not in second for name in names & second}


def test_no_run_asks_for_a_second_opinion() -> None:
    graph = module_arrows()
    assert asks_for_second_opinions(graph) == set()
    judge = "dmlcts.suites.judging.outputs"
    planted = graph | {judge: graph[judge] | {"dmlcts.specs.oracle.exact"}}
    assert asks_for_second_opinions(planted) == {"dmlcts.specs.oracle.exact"}


@pytest.mark.parametrize("top", FLOORS)
def test_each_room_imports_from_lower_floors_only(top: str) -> None:
    floors = [f"{top}.{room}".removesuffix(".") for room in FLOORS[top]]
    imported_rooms = {room: others for room, others in arrows().items() if room.split(".")[0] == top}

    def floor(room: str) -> int:
        names = [name for name in floors if room == name or (name != top and room.startswith(f"{name}."))]
        assert names, f"{room} has no floor: give it one in FLOORS"
        return floors.index(max(names, key=len))

    for room, others in imported_rooms.items():
        higher = {
            other for other in others if other.split(".")[0] == top and floor(other) > floor(room) and other != top
        }
        assert not higher, f"{room} imports from {sorted(higher)}, which lie above it"


def of_reports(graph: dict[str, set[str]], rooms: Iterable[str]) -> dict[str, list[str]]:
    """The rooms that import from ``reports``, with what they import."""
    reports_by_room = {
        room: sorted(other for other in graph[room] if other.split(".")[0] == "reports")
        for room in graph
        if any(room == name or room.startswith(f"{name}.") for name in rooms)
    }
    return {room: others for room, others in reports_by_room.items() if others}


def test_what_asks_and_judges_imports_nothing_of_reports() -> None:
    assert of_reports(arrows(), BEFORE_REPORTS) == {}


def test_a_judge_that_imports_from_reports_is_seen() -> None:
    graph = {"suites.judging": {"specs", "reports.documents"}, "suites.running": {"reports.views"}}
    assert of_reports(graph, BEFORE_REPORTS) == {"suites.judging": ["reports.documents"]}
    assert of_reports({"suites.judging": {"specs"}}, BEFORE_REPORTS) == {}


def names_selftests(text: str) -> list[str]:
    """The modules of selftests that a module imports, or names in a text that is nothing but a module's name."""
    if "selftest" not in text:  # parsing all modules takes long
        return []
    tree = ast.parse(text)
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    names += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [name for name in names if re.fullmatch(r"dmlcts\.suites\.selftest(\.\w+)*", name)]


def test_no_module_but_selftests_imports_selftests() -> None:
    texts_by_path = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in modules()}
    assert {path: names for path, text in texts_by_path.items() if (names := names_selftests(text))} == {}


@pytest.mark.parametrize(
    "text, seen",
    [
        ("def f():\n    from dmlcts.suites.selftest.first_three import first_three\n", 1),
        ("from dmlcts.suites import selftest\n", 1),
        ("import dmlcts.suites.selftest.sizes\n", 1),
        ("importlib.import_module('dmlcts.suites.selftest.sizes')\n", 1),
        ("from dmlcts.suites.proof import record\n", 0),
        ("'pytest suites/selftest'\n", 0),
    ],
)
def test_an_import_of_selftests_is_seen(text: str, seen: int) -> None:
    assert len(names_selftests(text)) == seen


def test_each_room_states_what_lives_there_and_what_does_not() -> None:
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("__init__.py")):
            docstring = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").strip()
            assert docstring, f"{path.relative_to(ROOT)} does not say what lives there"
            assert len(docstring.split()) >= 8, (
                f"{path.relative_to(ROOT)} says too little of what lives there: {docstring!r}"
            )


def test_the_suites_list_each_room_once_and_the_conformance_tests_first() -> None:
    listed = re.findall(
        r"``(\w+)``(?=[^\n]*: )", ast.get_docstring(ast.parse(SUITES.read_text(encoding="utf-8"))) or ""
    )
    rooms = {path.name for path in SUITES.parent.iterdir() if (path / "__init__.py").is_file()}
    assert sorted(listed) == sorted(rooms)
    assert listed[0] == "conformance"


def test_each_room_is_packaged() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    assert len(listed) == len(set(listed))
    rooms = {path.parent.relative_to(ROOT) for top in TOPS for path in (ROOT / top).rglob("*") if path.is_file()}
    kept = {room.as_posix() for room in rooms if not NOT_SHIPPED & {*room.parts}} - NOT_PACKAGED
    assert {f"dmlcts.{room.replace('/', '.')}" for room in kept} == set(listed)


# ---------------------------------------------------------------------------------- the map in CONTRIBUTING.md

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.*`(?:specs|backends|reports|suites)/.*|the YAML.*) \| (.*) \|$", GUIDE, re.MULTILINE)


def rooms_to_change() -> set[str]:
    """The four tops, and the folders right below them that hold Python."""
    paths = {path for top in TOPS for path in (ROOT / top).iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    return {f"{path.relative_to(ROOT)}/" for path in paths} | {f"{top}/" for top in TOPS}


def commands_in(text: str) -> list[str]:
    """The ``pytest`` commands that a text names."""
    return re.findall(r"`pytest ([^`]*)`", text)


def without_tests(command: str) -> list[str]:
    """The folders and modules of a command that hold no test."""
    named = [word for word in command.split() if "/" in word]
    return [path for path in named if not any(map(holds_tests, {*(ROOT / path).rglob("test_*.py"), ROOT / path}))]


def holds_tests(path: Path) -> bool:
    return path.is_file() and re.search(r"^ *def test_", path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_contributing_has_a_row_with_a_command_for_every_room() -> None:
    named = [room for what, _ in ROWS for room in re.findall(r"`([\w/]+/)`", what)]
    assert sorted(named) == sorted(rooms_to_change()), "each once"
    assert all(commands_in(tested) for _, tested in ROWS)


def test_every_command_of_contributing_finds_tests() -> None:
    commands = commands_in(GUIDE)
    assert len(commands) > len(ROWS)
    assert {command: without_tests(command) for command in commands if without_tests(command)} == {}


def test_a_command_that_finds_none_is_seen() -> None:
    assert without_tests("suites/selftest/judging suites/selftest/jugding") == ["suites/selftest/jugding"]
    assert without_tests("suites/mutants") == ["suites/mutants"], "a room without tests"


def test_contributing_names_every_room_of_selftests() -> None:
    there = {f"suites/selftest/{path.parent.name}" for path in (ROOT / "suites/selftest").glob("*/test_*.py")}
    assert there <= {word for command in commands_in(GUIDE) for word in command.split()}


def test_contributing_names_the_sizes_and_is_short() -> None:
    assert all(f"`{size}`" in GUIDE for size in SIZES)
    assert (ROOT / ".ci/run").exists()
    assert "`.ci/run --all`" in GUIDE
    assert len(GUIDE.splitlines()) < 130
