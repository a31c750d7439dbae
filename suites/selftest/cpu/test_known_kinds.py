"""What is known of a kind of descriptions says nothing of another description's sizes, ranks, level or attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.descriptions import checked_table
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.rules import violations
from dmlcts.suites.selftest.descriptions import clip

LEVEL = FeatureLevel("2.1")
TABLES = load_tables()


def unit_clip(source: TensorDesc, target: TensorDesc | None = None, **attributes: object) -> OperatorDesc:
    return clip(source, target, Min=np.float32(0), Max=np.float32(1), **attributes)


def floats(*sizes: int, **more: object) -> TensorDesc:
    return TensorDesc(DataType.FLOAT32, sizes, **more)  # type: ignore[arg-type]


WRONG = [
    unit_clip(floats(2, 0, 2, 2)),
    unit_clip(floats(1, 1, 1, 1 << 32)),
    unit_clip(floats(2, 2, 2, 2, total_size_in_bytes=60)),
    unit_clip(floats(2, 2, 2, 2), floats(2, 2, 2, 3)),
    unit_clip(floats(2, 2, 2, 2, 2, 2)),
    unit_clip(floats(2, 2, 2, 2), TensorDesc(DataType.FLOAT16, (2, 2, 2, 2))),
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_is_wrong_is_found_after_what_is_right(wrong: OperatorDesc) -> None:
    tables = replace(TABLES)
    right = unit_clip(floats(2, 2, 2, 2))
    alone = violations(wrong, LEVEL, replace(TABLES))
    for _ in range(2):
        assert violations(right, LEVEL, tables) == ()
        assert violations(wrong, LEVEL, tables) == alone != ()


def test_a_kind_is_known_at_its_level_alone() -> None:
    tables, deep = replace(TABLES), unit_clip(floats(1, 1, 1, 1, 1, 2, 2, 2))
    assert violations(deep, FeatureLevel("6.4"), tables) == ()
    assert violations(deep, LEVEL, tables) != ()


def test_what_was_found_wrong_last_is_stated_for_that_description_and_level_alone() -> None:
    tables, later = replace(TABLES), FeatureLevel("6.4")
    asked = [(wrong, level) for wrong in WRONG for level in (LEVEL, later)]
    alone = [violations(wrong, level, replace(TABLES)) for wrong, level in asked]
    assert len({item[0].text for item in alone if item}) == len(WRONG)
    for (wrong, level), result in zip(asked * 2, alone * 2, strict=True):
        assert violations(wrong, level, tables) == violations(wrong, level, tables) == result
        assert violations(unit_clip(floats(2, 2, 2, 2)), level, tables) == ()


@pytest.mark.parametrize(
    "wrong, text",
    [
        (unit_clip(floats(2, 2, 2, 2, strides=(8, 4, 2, -1), total_size_in_bytes=64)), "unsigned"),
        (unit_clip(floats(2, 2, 2, 2), floats(2, 2, 2, 2, strides=(0, 4, 2, 1))), "zero"),
        (unit_clip(floats(2, 2, 2, 2), Mean=np.float32(1)), "Mean"),
    ],
)
def test_what_cannot_be_expressed_is_refused_after_what_can(wrong: OperatorDesc, text: str) -> None:
    tables = replace(TABLES)
    for _ in range(2):
        checked_table(unit_clip(floats(2, 2, 2, 2)), LEVEL, tables, zero_output_strides=False)
        with pytest.raises(InvalidArgument, match=text):
            checked_table(wrong, LEVEL, tables, zero_output_strides=False)
