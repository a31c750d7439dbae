"""Short cuts in drawing the cases of covering arrays: they draw and decide what the plain way does."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.recipe import generator_of
from dmlcts.suites.combinations import building
from dmlcts.suites.combinations.classifying import kind_of
from dmlcts.suites.combinations.drawing import LENGTH, arranged, begun, stream
from dmlcts.suites.combinations.rows import cheap_cases
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
LEVELS = ("distinct", "lattice", "ties", "subnormals", "specials")
TYPES = (DataType.FLOAT16, DataType.FLOAT32, DataType.INT8, DataType.UINT64)


@pytest.mark.parametrize("data_type", TYPES, ids=lambda item: item.name)
@pytest.mark.parametrize("count", [1, 3, 40, LENGTH])
@pytest.mark.parametrize("length", [5, LENGTH])
def test_where_a_level_begins_is_where_its_elements_are_of_it(data_type: DataType, count: int, length: int) -> None:
    generator = np.random.default_rng(3)
    starts = np.arange(0, length, 4)
    result = set()
    for drawn in LEVELS if data_type.is_floating else LEVELS[:2]:
        x = stream(generator, data_type, drawn, 4)[:length]
        kinds = [kind_of(x[np.arange(start, start + count) % length], data_type) for start in starts]
        for level in LEVELS:
            assert begun(x, data_type, level, count, starts).tolist() == [kind == level for kind in kinds], level
        result |= set(kinds)
    assert length < LENGTH or len(result) == (5 if data_type.is_floating else 2), "the control: all levels were there"


@pytest.mark.parametrize("high", [-15.0, 0.5, 100.0], ids=["few", "half", "all"])
def test_a_stream_begins_at_an_element_that_bounds_let_through(high: float) -> None:
    x = stream(np.random.default_rng(3), DataType.FLOAT32, "distinct", 4)
    values = arranged(x, DataType.FLOAT32, "distinct", 3, lambda some: some < high, np.random.default_rng(4))
    assert values[0] < high
    assert kind_of(values[:3], DataType.FLOAT32) == "distinct"


@pytest.mark.parametrize("high", [-np.inf, 1.0], ids=["nothing", "half"])
def test_a_stream_begins_where_it_is_of_its_level_whatever_bounds_let_through(high: float) -> None:
    x = stream(np.random.default_rng(3), DataType.FLOAT32, "lattice", 4)
    for seed in range(40):
        values = arranged(x, DataType.FLOAT32, "lattice", 1, lambda some: some < high, np.random.default_rng(seed))
        assert kind_of(values[:1], DataType.FLOAT32) == "lattice"


def test_a_generator_draws_what_its_seed_fixes() -> None:
    for seed, name in ((0, "sizes"), (5 << 16, "input"), (7, "input")):
        plain = np.random.Generator(np.random.PCG64([seed, zlib.crc32(name.encode())]))
        for _ in range(2):
            kept = generator_of(seed, name)
            assert kept.bit_generator.state == plain.bit_generator.state


def without_nonzero(table: OperatorTable) -> OperatorTable:
    """The table of an operator whose inputs may all be zero."""
    rows = {name: row.model_copy(update={"nonzero": False}) for name, row in table.tensors.items()}
    return table.model_copy(update={"tensors": rows})


def without_alias(table: OperatorTable) -> OperatorTable:
    """The table of an operator whose output may be the memory of its last input alone."""
    output = table.tensors[table.output]
    alone = output.model_copy(update={"may_alias": output.may_alias[-1:]})
    return table.model_copy(update={"tensors": {**table.tensors, table.output: alone}})


def drawn(table: OperatorTable, *, forgetting: bool) -> list[tuple[Case, str]]:
    result = []
    for signature in signatures(table)[:3]:
        for case in list(cheap_cases(Subject(table, signature, FeatureLevel("5.0"), 0, profile=QUICK), TABLES))[::5]:
            result.append((case, repr(case.values)))
            if forgetting:
                forget()  # as if no other operator had been there
    return result


KEPT = (building._streams, building._laid, building._attributes)


def forget() -> None:
    for lru_cache_wrapper in KEPT:
        lru_cache_wrapper.cache_clear()
    building._first.cache_clear()


def test_what_is_kept_of_other_operators_is_their_own() -> None:
    """Of one name and type, inputs have an output of another type, or no zeros, or other memory for the output."""
    names = (
        "IS_NAN",
        "CONSTANT_POW",
        "CLIP1",
        "ADD",
        "POW",
        "QUANTIZE_LINEAR",
        "IF",
        "ABS",
        "SIGN",
        "CEIL",
        "ROUND",
        "CLIP",
        "THRESHOLD",
    )
    tables = [TABLES.operators[f"ELEMENT_WISE_{name}"] for name in names]
    tables.append(without_nonzero(TABLES.operators["ELEMENT_WISE_QUANTIZE_LINEAR"]))
    tables.append(without_alias(TABLES.operators["ELEMENT_WISE_ADD"]))
    forget()
    kept = [drawn(table, forgetting=False) for table in tables]
    assert all(lru_cache_wrapper.cache_info().hits for lru_cache_wrapper in KEPT), "the control: some were shared"
    assert kept == [drawn(table, forgetting=True) for table in tables]
