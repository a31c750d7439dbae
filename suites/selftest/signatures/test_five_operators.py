"""Operators of other forms and names, from YAML alone: right is conformant; wrong is reported, replayed, listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.documents.validation import load_failure
from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import lint, load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.certification import evidence
from dmlcts.suites.commands.listing import print_operator
from dmlcts.suites.console.plain import PlainConsole
from dmlcts.suites.selftest.signatures import five_operators
from dmlcts.suites.selftest.signatures.five_operators import FAULTS, FOLDER, Right
from dmlcts.suites.selftest.signatures.five_tables import TABLES, write_tables

MODULE = "dmlcts.suites.selftest.signatures.five_operators"
SMALL = 4
"""Elements that a fault of a value needs at most to be shown."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = write_tables(tmp_path / "tables")
    monkeypatch.setenv(FOLDER, str(made))
    return made


def run(dmlcts: Callable[..., Any], folder: Path, device: type[Right], operator: str, *more: str) -> Any:
    return dmlcts(
        "run",
        "--backend",
        f"{MODULE}:{device.__name__}",
        "--isolation",
        "none",
        "--tables",
        str(folder),
        "--operator",
        operator,
        "--results",
        "results",
        *more,
    )


def test_the_tables_are_sound(folder: Path) -> None:
    assert lint(folder) == ()
    assert len(load_tables(folder).operators) == len(load_tables().operators) + len(TABLES)


@pytest.mark.parametrize("operator", TABLES)
@pytest.mark.size("all", thorough=2)
def test_a_right_implementation_is_conformant(operator: str, folder: Path, dmlcts: Callable[..., Any]) -> None:
    done = run(dmlcts, folder, Right, operator)
    assert done.code == 0, done.out[-3000:]
    results = done.results
    assert results["verdict"] == "CONFORMANT"
    values = [row for row in results["clauses"] if row["id"].endswith(".formula")]
    table = load_tables(folder).operator(operator)
    assert {row["data_type"] for row in values} == {data_type.name for data_type in table.data_types}
    assert all(row["cases"] > 1 for row in values)
    if not table.of_one_type_variable:
        assert all(len(row["types"]) > 1 for row in values), "every signature is judged"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.size("all", brief=1, thorough=3)
def test_a_fault_is_caught_reported_and_replayed(
    fault: type[Right], folder: Path, tmp_path: Path, dmlcts: Callable[..., Any]
) -> None:
    done = run(dmlcts, folder, fault, fault.operator, "--clause", fault.clause, "-x")
    assert done.code == 1, done.out[-3000:]
    failures = sorted((tmp_path / "results" / "failures").glob("*.yaml"))
    documents = [load_failure(path) for path in failures]
    mine = [
        (path, document)
        for path, document in zip(failures, documents, strict=True)
        if document["clause"] == fault.clause
    ]
    assert mine, [document["clause"] for document in documents]
    path, failure = mine[0]
    assert fault.operator in failure["operator"]
    output = next(tensor for name, tensor in failure["case"]["tensors"].items() if name.startswith("Output"))
    if fault.clause.endswith(".formula"):
        count = 1
        for size in output["sizes"]:
            count *= size
        assert count <= SMALL, "the least case"
    again = dmlcts(
        "replay", str(path), "--backend", f"{MODULE}:{fault.__name__}", "--isolation", "none", "--tables", str(folder)
    )
    assert again.code == 1, again.out
    right = dmlcts("replay", str(path), "--backend", f"{MODULE}:Right", "--isolation", "none", "--tables", str(folder))
    assert right.code == 0, right.out


@pytest.mark.size("thorough")
def test_the_operators_are_shown_and_covered(
    folder: Path, dmlcts: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    tables = load_tables(folder)
    first, *others = TABLES
    shown = dmlcts("spec", "show", first, "--tables", str(folder))
    assert shown.code == 0, shown.err
    assert tables.operator(first).formula in " ".join(shown.out.split())
    for operator in others:  # what the command prints, of tables that are read once
        capsys.readouterr()
        print_operator(PlainConsole(), tables, tables.operator(operator))
        assert tables.operator(operator).formula in " ".join(capsys.readouterr().out.split())
    covered = dmlcts("spec", "coverage", "--all", "--tables", str(folder))
    assert covered.code == 0, covered.err
    assert all(f"{operator.lower().replace('_', '-')}.formula" in covered.out for operator in TABLES)


LEVEL = FeatureLevel("5.0")
NAMES = tuple(sorted(f"ELEMENT_WISE_{operator}" for operator in TABLES))


def gathered(folder: Path, device: type[Right]) -> tuple[list[evidence.Planned], bytes, list[evidence.Absent]]:
    """The evidence of a draft certification of the operators, by a device."""
    tables = load_tables(folder)
    planned = evidence.plan(tables, LEVEL, 0, "", NAMES)
    bench = Bench(device.__name__, device(), {}, tables, LEVEL)
    try:
        return (planned, *evidence.gather(bench, planned))
    finally:
        bench.close()


def test_the_operators_are_in_the_evidence_of_a_certification(folder: Path) -> None:
    planned, outputs, absent = gathered(folder, Right)
    assert not absent
    assert {item.case.operator.name for item in planned} == set(NAMES)
    for name in NAMES:
        kinds = {item.identity.split()[-2] for item in planned if item.case.operator.name == name}
        assert kinds == {"lattice", "sample"}, name
    with_zero_point = [
        "ZeroPointTensor" in item.case.operator.tensors
        for item in planned
        if item.case.operator.name.endswith("QUANTIZE_LINEAR")
    ]
    assert set(with_zero_point) == {True, False}
    assert evidence.judge(planned, outputs, frozenset(), load_tables(folder)) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.clause.endswith(".formula")])
@pytest.mark.size("all", thorough=2)
def test_a_fault_of_values_is_in_the_evidence(fault: type[Right], folder: Path) -> None:
    """What a verifier judges again shows it, of every operator's own cases and of no other's."""
    planned, outputs, absent = gathered(folder, fault)
    assert not absent
    wrong = evidence.judge(planned, outputs, frozenset(), load_tables(folder))
    assert {wrong_output.planned.case.operator.name for wrong_output in wrong} == {f"ELEMENT_WISE_{fault.operator}"}
    assert {wrong_output.planned.case.clause for wrong_output in wrong} == {fault.clause}


def test_every_operator_has_four_faults() -> None:
    assert {fault.operator for fault in FAULTS} == set(TABLES)
    assert len(FAULTS) == 4 * len(TABLES)
    assert all(getattr(five_operators, fault.__name__) is fault for fault in FAULTS)
