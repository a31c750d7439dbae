"""The covering arrays: they cover what they promise, by what their cases are; and a hole in them is seen."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.reports.documents.records import ItemRecord, RecordError
from dmlcts.reports.documents.validation import validate_results
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.combinations.building import space
from dmlcts.suites.combinations.classifying import levels_of
from dmlcts.suites.combinations.constraints import Relation
from dmlcts.suites.combinations.coverage import combinations_of, counts, covered, decoded, encoded
from dmlcts.suites.combinations.covering import covering_array
from dmlcts.suites.combinations.factors import Factor, Space, counts_of
from dmlcts.suites.combinations.listing import excluded_pairs, print_combinations
from dmlcts.suites.combinations.possible import asked, flat_offsets, possible
from dmlcts.suites.combinations.rows import planned_cases, recipes
from dmlcts.suites.generation.covering_subjects import covering_subjects
from dmlcts.suites.generation.profiles import FULL, QUICK, Profile
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.mutants.first_three import FIRST_THREE
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.proof.probes import Probe, probes
from dmlcts.suites.selftest.first_three import first_three

TABLES = first_three()
LEVEL = FeatureLevel("5.0")
FACTORS = TABLES.factors
assert FACTORS is not None
COUNTS = counts_of(FACTORS)
SUBJECTS = [(table, data_type) for table in TABLES.operators.values() for data_type in table.data_types]
FAMILY = load_tables()
CHOSEN = covering_subjects(FAMILY, 0)
ONE_OF_EACH = [
    (table, min(CHOSEN[name], key=str)) for name, table in FAMILY.operators.items() if name not in FIRST_THREE
]
ONE_OF = {table.short_name: Subject(table, signature, LEVEL, 0, profile=QUICK) for table, signature in ONE_OF_EACH}
IDS = [f"{table.short_name}-{data_type.name}" for table, data_type in SUBJECTS]


def subject(table: OperatorTable, data_type: DataType, seed: int = 0, *, profile: Profile = QUICK) -> Subject:
    return Subject.on(table, data_type, LEVEL, seed, profile)


def dispatched(cases: list[Case], item: Subject) -> np.ndarray[Any, Any]:
    """The rows of cases as the recorder would count them: from what they are."""
    where = space(item, FACTORS)
    histories = {
        "oracle": "fresh",
        "one value": "fresh",
        "dispatched again": "again",
        "after another": "after-another",
        "beside another": "beside-another",
    }
    return decoded(
        where, [encoded(where, levels_of(case, item.table, COUNTS, histories[case.expectation])) for case in cases]
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("table", "data_type"), SUBJECTS, ids=IDS)
def test_quick_covers_every_pair_by_what_its_cases_are(table: OperatorTable, data_type: DataType) -> None:
    covers_every_pair(subject(table, data_type), TABLES)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("table", "signature"), ONE_OF_EACH, ids=[f"{table.short_name}-{item}" for table, item in ONE_OF_EACH]
)
def test_it_covers_them_where_inputs_are_several_or_the_output_of_another_type(
    table: OperatorTable, signature: Signature
) -> None:
    covers_every_pair(Subject(table, signature, FeatureLevel("6.4"), 0, profile=QUICK), FAMILY)


def covers_every_pair(item: Subject, tables: Tables) -> None:
    cases = list(planned_cases(item, tables))
    table = item.table
    for case in cases:
        assert case.recipe is not None
        histories = levels_of(case, table, COUNTS, case.recipe.by_factor["history"])
        assert histories == case.recipe.by_factor
    rows = dispatched(cases, item)
    result = counts(space(item, FACTORS), rows)["pairs"]
    assert result["asked"] > 1000
    assert result["missing"] == 0
    # a hole: all rows of one level are dropped, one level after another
    where = space(item, FACTORS)
    for place, factor in enumerate(where.factors):
        strengths = np.array(factor.strengths)
        level = int(np.flatnonzero(strengths == 2)[-1])
        assert counts(where, rows[rows[:, place] != level])["pairs"]["missing"] > 0


def test_scale_bias_and_fused_operators_meet_layouts_of_several_inputs() -> None:
    """POW's ScaleBias meets each layout of both inputs; each of ADD1's three fused operators each placement."""
    power = replace(ONE_OF["POW"], seed=0)
    rows = [recipe.by_factor for recipe in recipes(power, FAMILY)]
    scalings = set(space(power, FAMILY.factors).factor("scale-bias").levels)  # type: ignore[union-attr]
    assert scalings == {"none", "both", "scale-only", "bias-only", "identity", "negative"}
    for factor in ("input-layout", "second-layout"):
        pairs_seen = {(row["scale-bias"], row[factor]) for row in rows}
        assert {scaling for scaling, layout in pairs_seen if layout == "broadcast"} == scalings
    value = [case.operator.attributes["ScaleBias"] for case in planned_cases(power, FAMILY)]
    assert [item is None for item in value] == [row["scale-bias"] == "none" for row in rows]
    where = space(ONE_OF["ADD1"], FAMILY.factors)
    activations, placements = where.factor("activation"), where.factor("placement")
    assert activations is not None
    assert placements is not None
    rows = [levels_of(case, ONE_OF["ADD1"].table, COUNTS) for case in planned_cases(ONE_OF["ADD1"], FAMILY)]
    assert activations.levels == ("none", "relu", "leaky-relu", "thresholded-relu")
    assert {(row["activation"], row["placement"]) for row in rows} == set(
        itertools.product(activations.levels, placements.levels)
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_other_seeds_cover_as_much_with_other_cases(seed: int) -> None:
    table = TABLES.operator("CLIP")
    item, other = subject(table, DataType.FLOAT16), subject(table, DataType.FLOAT16, seed)
    cases = list(planned_cases(other, TABLES))
    assert counts(space(other, FACTORS), dispatched(cases, other))["pairs"]["missing"] == 0
    assert cases != list(planned_cases(item, TABLES))
    assert cases == list(planned_cases(other, TABLES))


@pytest.mark.parametrize("name", ["CLIP", "ROUND"])
def test_full_covers_every_triple(name: str) -> None:
    item = subject(TABLES.operator(name), DataType.FLOAT16, profile=FULL)
    where = space(item, FACTORS, "full")
    rows = np.array(covering_array(where, 0).rows)
    result = counts(where, rows)
    assert result["triples"]["asked"] > 10000
    assert (result["pairs"]["missing"], result["triples"]["missing"]) == (0, 0)
    assert counts(where, rows[rows[:, 1] != 0])["triples"]["missing"] > 0


# -- the arrays themselves, against an enumeration of all rows --------------------------------------------------------


def toy() -> Space:
    """Four factors, one level that masks, and a constraint of three factors that also forbids pairs."""
    factors = (
        Factor("a", ("0", "1", "2"), "0", frozenset({"2"}), (3, 3, 3)),
        Factor("b", ("0", "1"), "0", frozenset(), (3, 3)),
        Factor("c", ("0", "1", "2"), "0", frozenset({"1"}), (3, 3, 3)),
        Factor("d", ("0", "1"), "0", frozenset(), (3, 2)),
    )
    rows = itertools.product(range(3), range(2), range(3))
    return Space(
        factors,
        (
            Relation("three", ("a", "b", "c"), frozenset(row for row in rows if sum(row) != 3)),
            Relation("two", ("b", "d"), frozenset({(0, 0), (0, 1), (1, 0)})),
        ),
        3,
    )


def enumerated(where: Space) -> list[tuple[int, ...]]:
    """Every row that the constraints allow."""
    product = itertools.product(*(range(len(factor.levels)) for factor in where.factors))
    named = [factor.levels for factor in where.factors]
    return [
        row
        for row in product
        if where.allows({factor.name: named[i][row[i]] for i, factor in enumerate(where.factors)})
    ]


def shown(where: Space, rows: list[tuple[int, ...]], together: int) -> set[tuple[tuple[int, int], ...]]:
    """The combinations that rows show, each with all masking levels of its row in it; one by one."""
    result = set()
    for row in rows:
        masks = {(i, level) for i, level in enumerate(row) if where.factors[i].levels[level] in where.factors[i].masks}
        result |= {item for item in itertools.combinations(enumerate(row), together) if masks <= set(item)}
    return result


@pytest.mark.parametrize("together", [2, 3])
def test_possible_and_covered_combinations_are_those_of_an_enumeration(together: int) -> None:
    where = toy()
    offsets = flat_offsets(where)

    def flat(bits: Any) -> set[tuple[tuple[int, int], ...]]:
        named = [(i, level) for i, factor in enumerate(where.factors) for level in range(len(factor.levels))]
        return {
            tuple(named[place] for place in numbers)
            for numbers in np.argwhere(bits).tolist()
            if numbers == sorted(numbers)
        }

    assert offsets.tolist() == [0, 3, 5, 8]
    everything = enumerated(where)
    assert 0 < len(everything) < 36
    assert flat(possible(where, together)) == shown(where, everything, together)
    some = everything[::5]
    assert flat(covered(where, np.array(some), together)) == shown(where, some, together)
    rows = list(covering_array(where, 7).rows)
    assert set(rows) <= set(everything)
    wanted = flat(asked(where, together))
    assert wanted < flat(possible(where, together)) or together == 2
    assert wanted <= shown(where, rows, together)
    assert len(rows) < len(everything)


def test_what_cannot_be_is_reported_with_its_constraint() -> None:
    reasons = excluded_pairs(toy())
    assert reasons["two"] == ["b 1 with d 1"]
    lines: list[str] = []
    assert print_combinations(TABLES, lines.append) == 0
    text = "\n".join(lines)
    assert "count one with input-layout broadcast" in text
    assert "one-element: a single element has no strides that matter" in text
    assert "ROUND FLOAT32" in text


def test_a_brief_account_counts_what_the_long_one_lists() -> None:
    lines: list[str] = []
    assert print_combinations(TABLES, lines.append, everything=False) == 0
    assert len(lines) == 4
    assert "0 of those missing" in lines[1]


def test_a_hole_in_the_plan_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlcts.suites.combinations import listing

    def holed(where: Space, seed: int) -> Any:
        array = covering_array(where, seed)
        place = where.position["placement"]
        return replace(array, rows=tuple(row for row in array.rows if row[place] != 2))

    monkeypatch.setattr(listing, "covering_array", holed)
    lines: list[str] = []
    assert print_combinations(TABLES, lines.append) > 0
    assert not any(line.endswith(" 0 of those missing") for line in lines)
    brief: list[str] = []
    assert print_combinations(TABLES, brief.append, everything=False) > 0
    assert any(line.startswith("  ROUND FLOAT32: ") for line in brief), "what is missing is named all the same"


# -- several inputs ------------------------------------------------------------------------------------------------


def test_each_input_has_a_layout_of_its_own() -> None:
    """Every two layouts of two inputs, in place of either too; the third input's beside each of the others'."""
    layouts = ("input-layout", "second-layout", "third-layout")
    for name, several in (("SUBTRACT", 2), ("IF", 3)):
        table = FAMILY.operator(name)
        cases = list(planned_cases(Subject.on(table, DataType.FLOAT32, FeatureLevel("6.4")), FAMILY))
        texts = [levels_of(case, table, COUNTS) for case in cases]
        assert all(set(layouts[:several]) <= set(item) for item in texts)
        for text, other in itertools.combinations(layouts[:several], 2):
            assert len({(levels[text], levels[other]) for levels in texts}) >= 49
        aliases = {case.placement.aliased(case.operator) for case in cases}
        assert aliases == {None, *table.tensors[table.output].may_alias}
        for case in cases:
            alias = case.placement.aliased(case.operator)
            assert alias is None or case.operator.tensors[alias] == case.operator.output
    apart = [case.operator for case in cases if case.operator.inputs["ATensor"] != case.operator.inputs["BTensor"]]
    assert len(apart) > 40


def test_in_place_of_one_input_the_other_is_laid_out_otherwise() -> None:
    table = FAMILY.operator("SUBTRACT")
    cases = planned_cases(Subject.on(table, DataType.INT32, FeatureLevel("6.4")), FAMILY)
    seen = {
        case.placement.aliased(case.operator)
        for case in cases
        if len({tensor.strides for tensor in case.operator.tensors.values()}) > 1
    }
    assert seen == {None, "ATensor", "BTensor"}


# -- faults that need two or three things at once ------------------------------------------------------------------


class ScaleBiasLostWithStrides(Reference):
    """ScaleBias has no effect where the input has strides."""

    def lost(self, tensor: TensorDesc) -> bool:
        return tensor.strides is not None

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if self.lost(operator.input) and "ScaleBias" in operator.attributes:
            operator = replace(operator, attributes={**operator.attributes, "ScaleBias": None})
        return super().compute(operator, x)


class ScaleBiasLostInLargeTensors(ScaleBiasLostWithStrides):
    """ScaleBias has no effect on more than 32768 elements."""

    def lost(self, tensor: TensorDesc) -> bool:
        return tensor.element_count > 32768


class ScaleBiasLostInManyDimensions(ScaleBiasLostWithStrides):
    """ScaleBias has no effect on more than four dimensions."""

    def lost(self, tensor: TensorDesc) -> bool:
        return tensor.rank > 4


class ScaleBiasLostInTwoDimensions(ScaleBiasLostWithStrides):
    """ScaleBias has no effect where two dimensions or more hold several elements."""

    def lost(self, tensor: TensorDesc) -> bool:
        return sum(size > 1 for size in tensor.sizes) > 1


class ModeLostInLargeTensors(Reference):
    """ROUND rounds halves to even beyond 2^17 elements, whatever its mode."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        if operator.input.element_count > 1 << 17 and "RoundingMode" in operator.attributes:
            operator = replace(operator, attributes={"RoundingMode": "HALVES_TO_NEAREST_EVEN"})
        return super().compute(operator, x)


FAULTS = [
    (ScaleBiasLostWithStrides, "CLIP", DataType.FLOAT32),
    (ScaleBiasLostInLargeTensors, "THRESHOLD", DataType.FLOAT16),
    (ScaleBiasLostInManyDimensions, "CLIP", DataType.INT32),
    (ScaleBiasLostInTwoDimensions, "CLIP", DataType.FLOAT16),
    (ModeLostInLargeTensors, "ROUND", DataType.FLOAT32),
]


def combining(name: str, data_type: DataType) -> list[Probe]:
    return [
        probe
        for probe in probes(TABLES)
        if probe.module == "test_combinations" and probe.table.short_name == name and probe.data_type is data_type
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("fault", "name", "data_type"), FAULTS, ids=[fault.__name__ for fault, _, _ in FAULTS])
def test_faults_of_two_factors_are_found_and_a_right_implementation_is_not(
    fault: type[Reference], name: str, data_type: DataType
) -> None:
    chosen = combining(name, data_type)
    assert chosen
    findings = {
        made: [finding for probe in chosen for finding in probe.run(Bench("x", made(), {}, TABLES), 0).ledger.findings]
        for made in (fault, Reference)
    }
    assert findings[fault]
    assert not findings[Reference]


# -- measured ------------------------------------------------------------------------------------------------------


@pytest.mark.size("thorough")
def test_a_run_measures_what_it_dispatched(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    dmlcts("run", "--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16", "--results", str(tmp_path))
    results = json.loads((tmp_path / "results.json").read_text())
    (row,) = results["combinations"]
    assert (row["operator"], row["data_type"]) == ("ELEMENT_WISE_ROUND", "FLOAT16")
    assert row["pairs"]["missing"] == 0
    assert row["pairs"]["possible"] >= row["pairs"]["covered"] >= row["pairs"]["asked"] > 1000
    assert row["triples"]["possible"] > row["triples"]["covered"] > 0
    lines = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    records = [ItemRecord.from_json(line["item"]) for line in lines if "item" in line]
    subjects = [("ELEMENT_WISE_ROUND", "FLOAT16")]
    assert combinations_of(records, TABLES, LEVEL, "quick", subjects)["combinations"] == results["combinations"]
    # two shards add up
    halves = [records[::2], records[1::2]]
    for half in halves:
        assert combinations_of(half, TABLES, LEVEL, "quick", subjects)["combinations"][0]["triples"] != row["triples"]
    assert (
        combinations_of([*halves[1], *halves[0]], TABLES, LEVEL, "quick", subjects)["combinations"]
        == results["combinations"]
    )
    # a hole: nothing of one mode was dispatched
    mode = space(subject(TABLES.operator("ROUND"), DataType.FLOAT16), FACTORS).position["RoundingMode"]
    holed = [
        replace(
            record,
            combinations=tuple(
                replace(seen, rows=tuple(item for item in seen.rows if item[mode] != "1"))
                for seen in record.combinations
            ),
        )
        for record in records
    ]
    assert combinations_of(holed, TABLES, LEVEL, "quick", subjects)["combinations"][0]["pairs"]["missing"] > 0
    # documents of earlier versions say nothing of combinations
    del results["combinations"]
    validate_results(results)


def test_records_of_earlier_versions_are_read() -> None:
    written = ItemRecord.from_json(
        {"test": "t", "outcome": "pass", "seconds": 1.0, "tallies": [], "behaviours": [], "failures": [], "left_out": 0}
    )
    assert written.combinations == ()
    with pytest.raises(RecordError, match="lacks 'left_out'"):
        ItemRecord.from_json(
            {"test": "t", "outcome": "pass", "seconds": 1.0, "tallies": [], "behaviours": [], "failures": []}
        )
