"""What tests share: subjects, elements that nobody can change, and what is worked out once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.computed import computed
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables.signatures import signatures_on
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Array, Streams, Values
from dmlcts.suites.conformance.tensors import test_description_limits as limits
from dmlcts.suites.conformance.values import test_kinds as kinds
from dmlcts.suites.generation import distinct, edge_values
from dmlcts.suites.generation.descriptions import tensor
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject

TABLES = load_tables()
LEVEL = FeatureLevel("6.4")


def fresh(operator: str, data_type: DataType, seed: int = 0) -> Subject:
    return Subject.on(TABLES.operator(operator), data_type, LEVEL, seed)


def shared(operator: str, data_type: DataType, seed: int = 0) -> Subject:
    table = TABLES.operator(operator)
    return Subject.shared(table, signatures_on(table, data_type)[0], LEVEL, seed, QUICK)


@dataclass(frozen=True)
class Counted:
    """A value that counts how often its double is worked out."""

    number: int
    looks: list[int]

    @computed
    def double(self) -> int:
        """Twice the number."""
        self.looks.append(self.number)
        return 2 * self.number


def test_a_computed_attribute_is_worked_out_once_for_each_value() -> None:
    looks: list[int] = []
    two, three = Counted(2, looks), Counted(3, looks)
    assert [two.double, three.double, two.double, three.double] == [4, 6, 4, 6]
    assert looks == [2, 3]


def test_a_data_type_keeps_its_hash_in_another_process() -> None:
    known = {data_type: data_type.name for data_type in DataType}
    elsewhere = pickle.loads(pickle.dumps([*DataType]))  # noqa: S301 - what it wrote itself
    assert [known[data_type] for data_type in elsewhere] == [data_type.name for data_type in DataType]


def test_tests_share_a_subject_of_equal_arguments_alone() -> None:
    assert shared("ADD", DataType.INT32) is shared("ADD", DataType.INT32)
    assert shared("ADD", DataType.INT32) == fresh("ADD", DataType.INT32)
    assert shared("ADD", DataType.INT32).seed != shared("ADD", DataType.INT32, seed=1).seed
    assert shared("ADD", DataType.INT32).types != shared("ADD", DataType.INT8).types


def test_subjects_of_another_table_of_the_same_name_are_not_shared() -> None:
    table = TABLES.operator("ADD")
    other = table.model_copy(update={"constraints": ()})
    signature = signatures_on(table, DataType.INT32)[0]
    assert Subject.shared(other, signature, LEVEL, 0, QUICK).table is other
    assert Subject.shared(table, signature, LEVEL, 0, QUICK).table is table


@pytest.mark.parametrize(
    ("operator", "data_type"),
    [
        ("CLIP", DataType.FLOAT32),
        ("CLIP", DataType.INT8),
        ("ADD", DataType.FLOAT16),
        ("IS_NAN", DataType.FLOAT32),
        ("RECIP", DataType.FLOAT32),
        ("DIVIDE", DataType.INT32),
    ],
)
def test_elements_are_those_that_the_seed_draws_whatever_was_drawn_before(operator: str, data_type: DataType) -> None:
    for count in (61, 251, 61, 5, 3000, 251):
        for seed in (0, 1):
            subject = shared(operator, data_type, seed)
            generator = np.random.Generator(np.random.PCG64(seed + 11))
            if subject.of_one_type:
                wanted = {name: distinct.of_type(subject.data_type, count, generator) for name in subject.inputs}
                if not subject.data_type.is_floating:
                    wanted = {name: distinct.with_zeros(array, generator) for name, array in wanted.items()}
            else:
                output = subject.types[subject.table.output]
                drawn = distinct.together(subject.inputs, count, generator, output)
                wanted = dict(subject.of_arrays(drawn).arrays)
            elements = subject.distinct(count)
            assert {name: array.tobytes() for name, array in elements.arrays.items()} == {
                name: array.tobytes() for name, array in wanted.items()
            }
            assert elements.streams == Streams(
                tuple((name, Values.of(array, subject.inputs[name])) for name, array in wanted.items())
            )


def test_nobody_can_write_to_what_is_shared_and_much_is_not_kept() -> None:
    subject = shared("ADD", DataType.FLOAT32, seed=5)
    several: list[Array] = [*subject.distinct(97).arrays.values(), *edge_values.kinds(DataType.FLOAT16).values()]
    several += distinct.drawn_once((("InputTensor", DataType.INT8),), None, 33, 4).values()
    several += [edge_values.nans(DataType.FLOAT32), edge_values.shortcuts(DataType.INT8)]
    assert not any(array.flags.writeable for array in several)
    assert subject.distinct(97) is subject.distinct(97)
    large = subject.distinct(100_000)
    assert large is not subject.distinct(100_000)
    assert all(array.flags.writeable for array in large.arrays.values())


def test_attributes_that_a_test_changes_stay_as_they_are_for_others() -> None:
    subject = shared("CLIP", DataType.FLOAT32)
    for made in (subject.revealing, subject.attributes):
        before = dict(made())
        made()["Min"] = np.float32(77)
        assert made() == before


def test_a_table_with_other_clauses_answers_of_its_own() -> None:
    table = TABLES.operator("CLIP")
    known = table.checked_by("values")
    assert known
    without = table.model_copy(
        update={"clauses": tuple(clause for clause in table.clauses if clause.check != "values")}
    )
    assert not without.checked_by("values")
    assert table.checked_by("values") == known


@pytest.mark.parametrize(("size", "place", "count"), [(1, 0, 67), (11, 3, 67), (28, 5, 7), (8, 9, 1)])
def test_values_over_and_over_begin_at_their_place(size: int, place: int, count: int) -> None:
    values = np.arange(100, 100 + size)
    turned = values[kinds._turned(size, place, count)]
    assert turned.tolist() == [100 + (place + index) % size for index in range(count)]


def test_only_the_cases_of_a_share_are_made_and_the_types_take_all() -> None:
    made: list[tuple[DataType, int]] = []

    def maker(data_type: DataType, number: int) -> Callable[[], Case]:
        return partial(lambda: made.append((data_type, number)) or number)  # type: ignore[func-returns-value]

    types = TABLES.operator("ADD").data_types
    for data_type in types:
        cases = limits._share(fresh("ADD", data_type), [maker(data_type, number) for number in range(23)])
        assert cases == [number for kind, number in made if kind is data_type]
        assert len(cases) < 6
    assert {number for _, number in made} == set(range(23))


def test_a_case_of_another_description_is_the_same_in_everything_else() -> None:
    subject = shared("ADD", DataType.FLOAT32)
    earlier = subject.case("add.formula", subject.distinct(5))
    place = subject.in_place[0]
    case = replace(
        subject.case("add.formula", subject.distinct(7), layout_clause="tensor.position", placement=place),
        earlier=(earlier,),
    )
    operator = subject.describe(subject.flat(9), subject.attributes())
    assert case.with_operator(operator) == replace(case, operator=operator, recipe=None)


def test_equal_tensors_are_one_and_others_are_not() -> None:
    assert tensor(DataType.INT8, (2, 3)) is tensor(DataType.INT8, (2, 3))
    tensor_desc, other = tensor(DataType.INT8, (2, 3)), tensor(DataType.INT8, (2, 3), (0, 1))
    assert (tensor_desc.minimum_size_in_bytes, other.minimum_size_in_bytes) == (6, 3)
    assert (tensor_desc.total_size_in_bytes, other.total_size_in_bytes, other.element_strides) == (8, 4, (0, 1))


def test_values_and_places_are_found_again_by_their_content_in_every_process() -> None:
    values = [Values.of([1, 2], DataType.INT8), Values.bulk(DataType.INT8, 3), Values.patterns(DataType.INT8, 0)]
    places = [Placement(), Placement(front=16), Placement(alias="BTensor", in_place=True), Placement(apart="BTensor")]
    known = {item: number for number, item in enumerate((*values, *places))}
    assert len(known) == 7
    for entry, number in known.items():
        assert "_hash" in vars(entry)
        twin = pickle.loads(pickle.dumps(entry))  # noqa: S301  # what it wrote itself
        assert vars(twin) == {name: value for name, value in vars(entry).items() if name != "_hash"}
        assert twin == entry
        assert known[twin] == number
