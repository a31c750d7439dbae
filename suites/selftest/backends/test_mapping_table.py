"""The mapping of operators onto runtimes: the guide's table is the code's, and names what the runtimes have."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dmlcts.backends.mapping.table import ARRAYS, array_rows, rows
from dmlcts.backends.onnxruntime.operators import COUNTERPARTS as OF_ONNX
from dmlcts.backends.runtimes import Counterpart, parts
from dmlcts.backends.torch_eager.functions import COUNTERPARTS as OF_TORCH
from dmlcts.backends.torch_eager.functions import function_of
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.looped_cases import looped

GUIDE = Path(__file__).parents[3] / "backends" / "README.md"


def test_the_guide_shows_the_table() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for lines in (rows(), array_rows()):
        assert "\n".join(lines) in text, "python -m dmlcts.backends.mapping.table prints what has to stand there"


def test_all_runtimes_have_a_word_on_every_part() -> None:
    named = {part.removesuffix(" of integers") for part in OF_TORCH}
    assert named == set(OF_ONNX)
    for table in ARRAYS.values():
        assert {part.removesuffix(" of integers") for part in table} == named
    assert {part for table in load_tables().operators.values() for part in parts(table)} <= named


@looped(
    "counterpart",
    [item for table in (OF_ONNX, OF_TORCH, *ARRAYS.values()) for item in table.values()],
    ids=lambda item: item.name or item.lacking,
)
def test_what_is_not_mapped_states_why_and_what_is_mapped_does_not(counterpart: Counterpart) -> None:
    assert bool(counterpart.name) != bool(counterpart.lacking)


@pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="not installed: onnx")
def test_onnx_has_the_operators() -> None:
    import onnx

    known = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    assert {counterpart.name for counterpart in OF_ONNX.values() if counterpart.name} <= known
    assert not {"Trunc", "PopCount", "Atan2", "RoundHalfAwayFromZero"} & known  # what is said to be lacking


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="not installed: torch")
def test_torch_has_the_functions() -> None:
    import torch

    assert all(callable(function_of(torch, counterpart)) for counterpart in OF_TORCH.values() if counterpart.name)
    assert not any(hasattr(torch, name) for name in ("bitwise_count", "popcount"))  # what is said to be lacking
