"""Both inputs and the output in one region: left open where the page says "one of" the inputs, and judged elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dmlcts import specs
from dmlcts.backends import ExecutionFailed
from dmlcts.specs import OperatorDesc, Region
from dmlcts.specs.checking.table_checks import own_faults
from dmlcts.specs.loading import fit, load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.mutants.formulas import Array
from dmlcts.suites.mutants.permitted import descriptions
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.proof.probes import Probe, probes

ONE_OF = (
    "DIVIDE",
    "MULTIPLY",
    "SUBTRACT",
    "MEAN",
    "MODULUS_TRUNCATE",
    "MODULUS_FLOOR",
    "BIT_SHIFT_LEFT",
    "BIT_SHIFT_RIGHT",
    "LOGICAL_AND",
    "LOGICAL_OR",
    "LOGICAL_XOR",
    "MAX",
    "MIN",
    "ATAN_YX",
    "DIFFERENCE_SQUARE",
)
ONE_OR_MORE_OF = ("ADD", "ADD1", "BIT_AND", "BIT_OR", "BIT_XOR")
TABLES = load_tables()
TOGETHER = "test_all_in_one_region_where_one_input_may_be_aliased"


@cache
def every_probe() -> dict[str, list[Probe]]:
    """The tests that bind several tensors to one region, on the signatures of a quick run, by the operator."""
    probes_by_operator: dict[str, list[Probe]] = {}
    for probe in probes(TABLES, 0):
        about = probe.module in ("test_aliasing", "test_everyday_patterns", "test_layouts_on_every_type")
        if about and "lattice" not in probe.test and probe.table.short_name in (*ONE_OF, *ONE_OR_MORE_OF):
            probes_by_operator.setdefault(probe.table.short_name, []).append(probe)
    return probes_by_operator


def judged(made: type[Reference], name: str, test: str = "") -> list[Judge]:
    """What the tests find on an operator's first signature, one judge each."""
    chosen = [probe for probe in every_probe()[name] if test in probe.test]
    first = chosen[0].signature
    bench = Bench(made.__name__, made(), {}, TABLES)
    return [probe.run(bench, 0) for probe in chosen if probe.signature == first]


def test_the_pages_words_decide() -> None:
    for name, table in ((table.short_name, table) for table in TABLES.operators.values()):
        row = table.tensors[table.output]
        wanted = "one" if name in ONE_OF else "several" if name in ONE_OR_MORE_OF else None
        assert row.at_once == wanted, name
        open_ = table.checked_by("in-place.together")
        assert [clause.obligation for clause in open_] == ["unspecified"] * (wanted == "one"), name
        for clause in (*table.checked_by("in-place"), *open_):
            assert clause.quotation is not None
            assert ("one or more of" in clause.quotation.words) == (wanted == "several"), name


def test_a_table_states_how_many_inputs_the_output_may_alias_at_once() -> None:
    text = (Path(specs.__file__).parent / "operators" / "subtract.yaml").read_text(encoding="utf-8")
    fragment = "may_alias: [ATensor, BTensor], at_once: one}"
    assert fragment in text
    assert not list(own_faults(fit(read_yaml(text, "subtract.yaml"))))
    silent = text.replace(fragment, "may_alias: [ATensor, BTensor]}")
    (fault,) = own_faults(fit(read_yaml(silent, "subtract.yaml")))
    line = 1 + silent[: silent.index("may_alias:")].count("\n")
    assert (fault.line, "at_once: one" in fault.mend) == (line, True)


@pytest.mark.parametrize("name", ONE_OF)
def test_where_the_page_states_one_of_it_may_be_refused(name: str) -> None:
    (judge,) = judged(descriptions.AllInOneRegionRefused, name, TOGETHER)
    assert not judge.ledger.findings
    assert [behaviour for behaviour, _ in judge.ledger.behaviours.values()] == ["refused"]


@pytest.mark.parametrize(
    ("made", "expected_behaviour"),
    [
        (Reference, "gives the same as out of place"),
        (descriptions.AllInOneRegionIsAnArgument, "refused"),
        (descriptions.AllInOneRegionRemovesTheDevice, "refused"),
        (descriptions.AllInOneRegionOtherwise, "gives other values than out of place"),
    ],
)
def test_what_happens_is_named(made: type[Reference], expected_behaviour: str) -> None:
    (judge,) = judged(made, "SUBTRACT", TOGETHER)
    assert not judge.ledger.findings
    assert [behaviour for behaviour, _ in judge.ledger.behaviours.values()] == [expected_behaviour]


@pytest.mark.parametrize("made", descriptions.PERMITTED_TOGETHER)
def test_no_other_test_binds_all_to_one_region(made: type[Reference]) -> None:
    judges = judged(made, "SUBTRACT")
    assert len(judges) > 5
    assert not [finding.title for judge in judges for finding in judge.ledger.findings]


class RefusesAll(Reference):
    """Refuses a dispatch with all tensors in one region, whatever the page says."""

    level = "6.4"

    def dispatch_exact(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        if len(set(bindings.values())) == 1:
            raise ExecutionFailed("one region")
        super().dispatch_exact(operator, table, memory, bindings)


@pytest.mark.parametrize("name", ONE_OR_MORE_OF)
def test_where_the_page_states_one_or_more_of_it_may_not_be_refused(name: str) -> None:
    judges = judged(RefusesAll, name, "test_in_place_with_strides")
    findings = [judged_finding for judge in judges for judged_finding in judge.ledger.findings]
    assert {finding.title for finding in findings} == {"the dispatch failed"}


class StraysTogether(descriptions.AllInOneRegionOtherwise):
    """Writes behind the region where all tensors are one."""

    def together(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        memory[bindings[table.output].end + 3] ^= np.uint8(0xFF)


class RaisesTogether(descriptions.AllInOneRegionOtherwise):
    """Falls over where all tensors are one region, with an error that is none of the contract's."""

    def together(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("made", "clause"),
    [
        (StraysTogether, "tensor.output.bounds"),
        (RaisesTogether, "subtract.in-place.together"),
    ],
)
def test_what_is_left_open_is_safe(made: type[Reference], clause: str) -> None:
    (judge,) = judged(made, "SUBTRACT", TOGETHER)
    assert {finding.clause for finding in judge.ledger.findings} == {clause}
