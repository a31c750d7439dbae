"""The proof of the suite: its engine finds what it should, says whom it missed, and writes what its schema says.

The whole proof is ``dmlcts selftest``; here a few implementations of each kind go through it.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dmlcts.reports.documents import killmatrix
from dmlcts.reports.documents.validation import schema
from dmlcts.specs.loading import load_tables
from dmlcts.suites.families.family import families, functions_by_clause
from dmlcts.suites.mutants.catalogue import MUTANTS
from dmlcts.suites.mutants.exact.descriptions import means_nothing
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.mutants.values.rounding import AwayIsHalvesUp
from dmlcts.suites.proof import prove
from dmlcts.suites.proof.probes import conformance_tests, probes
from dmlcts.suites.proof.prove import catalogues, judge_mutant
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import CONFORMANCE


def test_the_catalogue_is_large_and_states_what_each_mutant_breaks() -> None:
    mutants, singles, pairs = catalogues()
    clauses = {clause.id for clause in load_tables().clauses}
    assert len(mutants) >= 100
    assert len(singles) >= 20
    assert len(pairs) > len(singles)
    for mutant in mutants:
        assert mutant.clause in clauses, mutant
        assert (mutant.__doc__ or "").strip(), mutant
        assert mutant.needs in ("", "full", "sweep", "isolation"), mutant


def test_every_clause_that_can_be_broken_has_a_mutant() -> None:
    tables = load_tables()
    clauses = {clause.id for clause in tables.clauses}
    broken = {mutant.clause for mutant in MUTANTS}
    forbids_nothing = {"tensor.output.padding"}  # padding may be kept or overwritten
    for table in tables.operators.values():
        forbids_nothing |= {clause.id for clause in table.checked_by("in-place.together")}  # refused, or any values
        if means_nothing(table):  # a real function may give anything on a type that no level lists
            forbids_nothing |= {clause.id for clause in table.checked_by("support.unlisted")}
    assert clauses - broken == forbids_nothing


def test_every_test_function_is_a_probe_and_its_clauses_name_it() -> None:
    """What pytest collects by itself, of a module's functions, but for those that quick leaves to other profiles."""
    tables = load_tables()
    written = set()
    for path in sorted(CONFORMANCE.rglob("test_*.py")):
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]
        written |= {f"{path.name}::{function.name}" for function in functions}
    clauses_by_test: dict[str, set[str]] = {}
    for probe in probes(tables, 0):
        for clause in probe.clauses:
            clauses_by_test.setdefault(clause, set()).add(probe.test.split("[")[0])
    of_other_profiles = {
        f"{conformance_test.module}.py::{conformance_test.name}"
        for conformance_test in conformance_tests()
        if conformance_test.checked.programs
    }
    assert set[str]().union(*clauses_by_test.values()) >= written - of_other_profiles
    named = functions_by_clause(Settings.read())
    assert clauses_by_test == {clause: {test.split("/")[-1] for test in tests} for clause, tests in named.items()}


SOME = ("CLIP", "ADD", "MEAN", "IF", "QUANTIZE_LINEAR")  # tried on all signatures, and on some; of one type, of several


@pytest.mark.size("thorough")
def test_the_proof_tries_what_a_quick_run_tries() -> None:
    """The same tests on the same signatures: what the proof shows of an implementation, a user's run shows."""
    words = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "dmlcts.suites.plugin", "--backend", "cpu"]
    words += ["--seed", "1", "--operator", ",".join(SOME), str(CONFORMANCE)]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=True)
    collected = {line.rsplit("/", 1)[-1] for line in done.stdout.splitlines() if "::" in line}
    settings = Settings.read(operators=SOME, seed=1)
    chosen = [operator for operator in settings.tables.operators.values() if settings.selects_operator(operator)]
    inside = {
        f"{family.path.name}::{family.item_name(table)}": [probe.name for probe in family.selected(settings, table)]
        for family in families()
        for table in chosen
    }
    assert {item for item, tests in inside.items() if tests} == collected
    tried = sorted(probe.name for probe in probes(load_tables(), 1) if probe.table.short_name in SOME)
    assert tried == sorted(name for tests in inside.values() for name in tests)
    assert len(tried) < sum(probe.table.short_name in SOME for probe in probes(load_tables()))  # which leaves some out


def test_round_half_up_dies_of_a_single_element() -> None:
    kill = judge_mutant(AwayIsHalvesUp, 0)
    assert (kill.killed, kill.rightly, kill.clause) == (True, True, "round.toward-infinity")
    assert "[1], packed" in kill.account
    assert re.search(r"input (-0\.5 gives 0\.0|0\.49999997 gives 1\.0)", kill.account), (
        "the tie, or a sum that is rounded up"
    )


def test_a_right_implementation_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    class Right(Reference):
        """Nothing is wrong with it."""

        clause = "tensor.rank.maximum"
        needs = "sweep"  # only the clause's own tests

    kill = judge_mutant(Right, 0)
    assert (kill.killed, kill.rightly, kill.clauses) == (False, False, ())
    proof = killmatrix.document([kill.__dict__ | {"needs": ""}], [], [], [0])
    assert killmatrix.unexpected(proof) == ["survivor: Right (seed 0): Nothing is wrong with it."]


def test_what_must_not_be_is_reported() -> None:
    kill = judge_mutant(AwayIsHalvesUp, 0).__dict__
    alarm = {
        "name": "P",
        "latitude": "l",
        "strict": False,
        "alarms": ["t: c: x"],
        "cases": 1,
        "seconds": 0.0,
        "seed": 0,
    }
    messages = killmatrix.unexpected(
        killmatrix.document(
            [kill | {"rightly": False, "clauses": ["round.odd"]}, kill | {"seed": 1, "killed": False}],
            [alarm],
            [],
            [0, 1],
        )
    )
    assert [line.split(":")[0] for line in messages] == [
        "misattributed",
        "survivor",
        "false alarm",
        "another seed, another verdict",
    ]


def test_a_verdict_is_reported_as_soon_as_it_is_there() -> None:
    """A proof of hours that is cut off has said whom it missed."""
    kill = judge_mutant(AwayIsHalvesUp, 0)
    cleared = prove.Clearance("P", "l", False, (), 1, 0.0)
    verdicts: list[prove.Kill | prove.Clearance] = [
        kill,
        replace(kill, rightly=False, clauses=("round.odd",)),
        replace(kill, killed=False),
        replace(kill, killed=False, needs="a device"),
        cleared,
        replace(cleared, alarms=("t: c: x",)),
    ]
    assert [prove._verdict(verdict) for verdict in verdicts] == [
        f"AwayIsHalvesUp (seed 0): killed under {kill.clause}",
        "AwayIsHalvesUp (seed 0): MISATTRIBUTED to round.odd",
        "AwayIsHalvesUp (seed 0): SURVIVED",
        "AwayIsHalvesUp (seed 0): survives the quick profile, it needs a device",
        "P (seed 0): no alarm",
        "P (seed 0): FALSE ALARMS: 1, the first: t: c: x",
    ]


@pytest.mark.size("thorough")
def test_selftest_runs_and_writes_what_its_schema_states(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    names = ("AwayIsHalvesUp", "OneBytePastTheEnd", "SignOfNanIsNan_ZerosOfSignsAreKept")
    asked = [part for name in names for part in ("--name", name)]
    ran = dmlcts("selftest", *asked, "--json", "proof.json", "--html", "proof.html", "-n", "1")
    assert ran.code == 0, ran.out + ran.err
    proof = json.loads((tmp_path / "proof.json").read_text(encoding="utf-8"))
    jsonschema.validate(proof, schema("selftest-1"))
    assert proof["score"] | {"not_run": 0} == {
        "mutants": 2,
        "killed": 2,
        "rightly": 2,
        "permitted": 1,
        "alarms": 0,
        "not_run": 0,
    }
    assert "OneBytePastTheEnd (seed 0): killed under tensor.output.bounds" in ran.err
    assert "2 of 2 mutants killed under their clause" in ran.out.replace("\n", " ")
    coverage = dmlcts("spec", "coverage", "--all", "--proof", "proof.json")
    assert coverage.code == 0, coverage.err
    assert ", 1 are caught by it alone" in next(
        line for line in coverage.out.splitlines() if line.startswith("tensor.output.bounds")
    )
    refused = dmlcts("spec", "coverage", "--proof", "proof.html")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    page = (tmp_path / "proof.html").read_text(encoding="utf-8")
    assert "AwayIsHalvesUp" in page
    assert "http" not in page.replace("https://github.com", "")


def test_the_fingerprint_matches_its_schema(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    assert dmlcts("probe", "--backend", "cpu", "--clause", "round.*", "--json", "print.json").code == 0
    jsonschema.validate(json.loads((tmp_path / "print.json").read_text(encoding="utf-8")), schema("fingerprint-1"))


def test_every_module_of_values_is_known_as_one() -> None:
    """A module that is left out would be tried on two types alone."""
    written = {path.stem for path in (CONFORMANCE / "values").glob("test_*.py")}
    assert set(prove._VALUE_MODULES) == written


def test_a_sample_keeps_its_order_is_the_seeds_and_no_larger_than_asked() -> None:
    everything = list(range(100))
    few = prove._drawn(everything, 7, 0)
    assert (len(few), few) == (7, sorted(set(few) & set(everything)))
    assert few == prove._drawn(everything, 7, 0)
    assert few != prove._drawn(everything, 7, 1)
    assert prove._drawn(everything, None, 0) == prove._drawn(everything, 100, 0) == everything


def test_a_permitted_implementation_is_judged_on_operators_that_are_there() -> None:
    from dmlcts.suites.mutants import permitted

    _, singles, pairs = prove.catalogues()
    judged = set(load_tables().operators)
    for name in (*singles, *pairs, "StrictIeee"):
        among = {f"ELEMENT_WISE_{operator}" for operator in getattr(permitted, name).among}
        assert not among or among & judged, name


def test_a_job_that_breaks_is_named_at_once() -> None:
    named = {"strict": False, "scope": "few values"}
    jobs: list[prove.Job] = [(prove.clear, (name, 0), named) for name in ("NoSuchOne", "Level10")]
    with pytest.raises(AttributeError, match="NoSuchOne") as raised:
        prove.in_parallel(jobs, 1, lambda text: pytest.fail(f"{text} was judged after the fault"))
    assert raised.value.__notes__ == ["while judging ('NoSuchOne', 0)"]


def started_proof() -> subprocess.Popen[str]:
    """A proof of many mutants in a process group of its own, once it has printed its first verdict."""
    what = ["selftest", "--part", "mutants", "--mutants", "300", "-n", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dmlcts.suites.commands.main", *what],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's job in the background ignores it
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("[1/300] ")
    return process


@pytest.mark.sampled(2)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to another process")
@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.size("thorough")
def test_ctrl_c_ends_a_proof_at_once(everywhere: bool) -> None:
    """Whether the terminal sends it to every process, or somebody to the command alone."""
    process = started_proof()
    try:
        (os.killpg if everywhere else os.kill)(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 130, errors
        assert errors.endswith("dmlcts: interrupted: no verdict\n")
        assert "[100/300]" not in errors
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups to end what is left")
@pytest.mark.size("thorough")
def test_workers_end_with_a_proof_that_is_killed() -> None:
    process = started_proof()
    try:
        process.kill()
        process.communicate(timeout=60)  # returns when the last of them has closed the pipes
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
