"""What a test draws: as many cases as the profile says, the same for a seed, others for another one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from dmlcts.suites.generation.drawn import values
from dmlcts.suites.generation.drawn.draws import drawn_cases, generators
from dmlcts.suites.generation.drawn.layouts import Form, Kinds, drawn_layouts
from dmlcts.suites.generation.edge_values import limits_as_float
from dmlcts.suites.generation.profiles import FULL, PROFILES, QUICK
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
LEVEL = FeatureLevel("6.4")
EVERY = [
    Kinds(),
    Kinds(padded=True),
    Kinds(padded=True, permuted=True, broadcast=True, output=True),
    Kinds(padded=True, permuted=True, in_place=True),
    Kinds(larger=True),
]
OPERATORS = ["CLIP", "ADD", "IF", "QUANTIZE_LINEAR", "POW", "FILL_VALUE_CONSTANT"]


def subject(name: str, data_type: DataType = DataType.FLOAT32) -> Subject:
    table = TABLES.operator(name)
    return Subject.on(table, data_type if data_type in table.data_types else table.data_types[0], LEVEL)


@pytest.mark.parametrize("kinds", EVERY, ids=str)
@pytest.mark.parametrize(
    "name", [text for text in OPERATORS if text in {t.short_name for t in TABLES.operators.values()}]
)
def test_cases_are_as_many_as_the_profile_states_and_must_be_taken(name: str, kinds: Kinds) -> None:
    item = subject(name)
    if kinds.in_place and not item.table.tensors[item.table.output].may_alias:
        pytest.skip("it has no input in whose place its output may be")
    cases = list(drawn_cases(item, None, kinds))
    assert len(cases) == QUICK.examples
    assert not [case for case in cases if violations(case.operator, LEVEL, TABLES)]
    assert len({case.operator.output.sizes for case in cases}) > QUICK.examples // 2
    assert {case.placement.in_place for case in cases} == {kinds.in_place}
    assert any(case.operator.output.strides for case in cases) == (kinds.output or kinds.in_place)


def test_cases_follow_from_the_seed_and_the_subject() -> None:
    item = subject("CLIP")
    first, again, other, more = (
        list(drawn_cases(about, None, EVERY[2]))
        for about in (item, subject("CLIP"), replace(item, seed=1), replace(item, profile=FULL))
    )
    assert first == again
    assert first != other
    assert len(more) == FULL.examples > len(first)
    assert [case.values for case in first] != [case.values for case in drawn_cases(subject("ABS"), None, EVERY[2])]


def test_operators_of_a_form_share_their_layouts() -> None:
    form, other = Form.of(subject("ABS")), Form.of(subject("SIN"))
    assert drawn_layouts(form, EVERY[1], 0, 12) is drawn_layouts(other, EVERY[1], 0, 12)
    assert Form.of(subject("ADD")) != form


@pytest.mark.parametrize("data_type", list(DataType))
def test_elements_are_edges_and_bits_of_every_kind_but_drawn_nan(data_type: DataType) -> None:
    elements = values.elements(data_type, 4000, np.random.default_rng(3))
    assert elements.dtype == data_type.numpy
    assert len(np.unique(elements.view(data_type.bits_dtype))) > min(200, 1 << 8 * data_type.itemsize - 1)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("data_type", list(DataType))
def test_bounds_have_casts_that_the_pages_fix(data_type: DataType, exact: bool) -> None:
    if data_type is DataType.FLOAT64:
        pytest.skip("no operator with bounds takes it")
    source = np.random.default_rng(5)
    result = [values.bound(data_type, source, exact=exact) for _ in range(600)]
    assert all(isinstance(item, np.float32) and not np.isnan(item) for item in result)
    assert len(set(result)) > 60
    if not data_type.is_floating:
        low, high = limits_as_float(data_type)
        assert all(low <= item <= high for item in result)
        assert any(item != np.floor(item) for item in result) != exact
    if data_type is DataType.FLOAT16 and exact:
        assert all(np.float32(np.float16(item)) == item for item in result)


def test_every_case_of_a_test_has_a_generator_of_its_own() -> None:
    item = subject("CLIP")
    drawn = [source.integers(0, 1 << 62) for word in ("a", "b") for source in generators(item, word)]
    assert len(set(drawn)) == 2 * QUICK.examples


def test_profiles_have_the_names_that_commands_take() -> None:
    assert list(PROFILES) == ["quick", "full", "certification"]
    assert all(name == profile.name for name, profile in PROFILES.items())
    assert QUICK.examples < FULL.examples < PROFILES["certification"].examples
