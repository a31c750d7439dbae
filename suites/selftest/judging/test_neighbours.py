"""Which kernels a case's own is put beside, of all operators' tables; and what is refused between two of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.neighbours import _most_telling_first, _takes, mismatched, neighbours, two_neighbours
from dmlcts.suites.selftest.judging.scripted import Device, case

TABLES = load_tables()
BENCH = Bench("planted", Device(), {}, TABLES)
LENGTHS = range(1, 61)
FLOAT32, UINT8 = DataType.FLOAT32, DataType.UINT8
ALIKE = {"CLIP1", "THRESHOLD"}


def described(name: str, *sizes: int, data_type: DataType = FLOAT32, **attributes: Any) -> Case:
    """A case of an operator of one input."""
    tensors = dict.fromkeys(("InputTensor", "OutputTensor"), TensorDesc(data_type, sizes))
    return case(OperatorDesc(f"ELEMENT_WISE_{name}", tensors, {"ScaleBias": None, **attributes}), (1, 2))


def clips(*sizes: int, data_type: DataType = FLOAT32) -> Case:
    return described("CLIP", *sizes, data_type=data_type, Min=np.float32(-2), Max=np.float32(3))


def names(operators: list[OperatorDesc]) -> set[str]:
    return {TABLES.operator(one.name).short_name for one in operators}


def test_six_other_operators_stand_beside_those_with_its_attributes_always_and_the_rest_in_turn() -> None:
    """ScaleBias, which most have, makes none alike."""
    met: Counter[str] = Counter()
    for count in LENGTHS:
        found = names(neighbours(BENCH, clips(count)))
        assert len(found) == 7
        met.update(found)
    assert {name for name, times in met.items() if times == len(LENGTHS)} == {"CLIP", *ALIKE}
    assert len(met) == 29, "every operator with a FLOAT32 input and output"


def test_only_what_the_level_obliges_stands_beside() -> None:
    found = neighbours(BENCH, clips(5, data_type=DataType.FLOAT64))
    assert names(found) == {"BIT_NOT", "IDENTITY"}, "CLIP itself is not there on FLOAT64"
    assert all(BENCH.obliged(one) for one in found)
    assert len(names(neighbours(BENCH, clips(5, data_type=UINT8)))) == 7, "the control"


def test_of_many_with_its_attributes_three_come_first_and_the_others_have_their_turn() -> None:
    """As where a third party's tables hold a dozen operators with one attribute."""
    threshold, identity = TABLES.operator("THRESHOLD"), TABLES.operator("IDENTITY")
    copies = [threshold.model_copy(update={"operator": f"ELEMENT_WISE_OWN{number}"}) for number in range(5)]
    clip1 = TABLES.operator("CLIP1")  # two of CLIP's attributes
    firsts: Counter[str] = Counter()
    for count in LENGTHS:
        found = _most_telling_first(TABLES.operator("CLIP"), [identity, *copies, clip1], clips(count))
        assert [table.operator for table in found[:3]] == [clip1.operator, copies[0].operator, copies[1].operator]
        assert sorted(table.operator for table in found[3:]) == sorted(one.operator for one in [identity, *copies[2:]])
        firsts[found[3].operator] += 1
    assert len(firsts) == 4


def test_two_neighbours_are_of_the_operator_and_of_another_with_its_attributes_or_any() -> None:
    others: Counter[str] = Counter()
    for count in LENGTHS:
        own, other = two_neighbours(BENCH, clips(count))
        assert own.name == "ELEMENT_WISE_CLIP"
        assert own.attributes["ScaleBias"] == ScaleBias(2, 1)
        others.update(names([other]))
    assert "CLIP" not in others
    alike = sum(others[name] for name in ALIKE)
    assert len(LENGTHS) / 5 < alike < len(LENGTHS) / 2, "two of six"
    assert len(others) > 10


def test_of_an_operator_with_several_variants_one_is_taken() -> None:
    mode = TABLES.operator("ROUND").attribute("RoundingMode")
    assert mode is not None
    one = described("ROUND", 5, RoundingMode=mode.enumerators[0])
    assert [found.name for found in two_neighbours(BENCH, one)].count("ELEMENT_WISE_ROUND") == 1


@pytest.mark.parametrize("present, takes", [
    (("InputTensor", "ScaleTensor", "OutputTensor"), True),
    (("InputTensor", "ScaleTensor", "ZeroPointTensor", "OutputTensor"), True),
    (("InputTensor", "OutputTensor"), False), (("InputTensor", "ZeroPointTensor", "OutputTensor"), False),
    (("InputTensor", "ScaleTensor", "BTensor", "OutputTensor"), False),
])  # fmt: skip
def test_an_operator_takes_tensors_of_its_names_without_those_that_may_be_absent(
    present: tuple[str, ...], takes: bool
) -> None:
    operator = OperatorDesc("ELEMENT_WISE_OWN", dict.fromkeys(present, TensorDesc(FLOAT32, (3,))), {})
    assert _takes(TABLES.operator("QUANTIZE_LINEAR"), operator) is takes


def test_what_is_refused_has_other_attributes_and_four_more_elements_along_the_last_dimension() -> None:
    one = clips(2, 3, 4)
    odd = mismatched(BENCH, one)
    assert (odd.output.sizes, odd.output.total_size_in_bytes) == ((2, 3, 8), 192)
    assert odd.input == one.operator.input
    assert odd.attributes == {"ScaleBias": ScaleBias(2, 1), "Min": np.float32(2), "Max": np.float32(6)}


def test_where_sizes_need_not_be_equal_too_few_bytes_are_refused() -> None:
    free = TABLES.operator("CLIP").model_copy(update={"constraints": ()})
    tables = replace(TABLES, operators={**TABLES.operators, free.operator: free})
    odd = mismatched(Bench("planted", Device(), {}, tables), clips(2, 3, 4))
    assert (odd.output.sizes, odd.output.total_size_in_bytes) == ((2, 3, 8), 4)
