"""Memory after a dispatch: every byte that changed outside the output is named, however much memory there is."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import _BLOCK, _FEW_BYTES, Arena, _same
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values

SMALL, LARGE = 64, 5 * _FEW_BYTES  # elements of FLOAT32, of which the latter take more than several blocks
GUARD = 1 << 17  # bytes, so that each side of the output alone is compared block by block


@pytest.mark.parametrize(
    "size",
    [
        0,
        1,
        7,
        _FEW_BYTES - 1,
        _FEW_BYTES,
        _FEW_BYTES + 1,
        _FEW_BYTES + 2,
        _FEW_BYTES + 3,
        _FEW_BYTES + 4,
        4 * _BLOCK,
        4 * _BLOCK + 5,
        8 * _BLOCK + 3,
    ],
)
def test_two_stretches_are_the_same_unless_a_byte_differs_anywhere(size: int) -> None:
    """At both ends, beside the ends of blocks, and in the last bytes that fill no word."""
    before = np.random.default_rng(5).integers(0, 256, size, np.uint8)
    assert _same(before.copy(), before) is True
    edges = {0, 1, 2, 3, 4, 4 * _BLOCK, size // 4 * 4, size // 2, size}
    places = {edge + step for edge in edges for step in range(-5, 3)} & set(range(size))
    assert len(places) >= min(size, 10)
    for place in places:
        now = before.copy()
        now[place] ^= 0x40
        assert _same(now, before) is False, place


def arena_of(count: int, placement: Placement) -> tuple[Case, Arena]:
    tensor = TensorDesc(DataType.FLOAT32, (count,))
    attributes = {"ScaleBias": None, "Min": -2, "Max": 3}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    case = Case(operator, Values.of([-100, -2, 0, 3, 100], DataType.FLOAT32), "clip.formula", placement=placement)
    return case, Arena.prepare(case).poisoned(case)


@pytest.mark.parametrize("output_first", [False, True])
@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_a_byte_that_changed_is_named_on_its_side(count: int, output_first: bool) -> None:
    """Inside the input it is a change of the input, before and behind it and between the tensors it is a stray."""
    case, arena = arena_of(count, Placement(GUARD, GUARD, GUARD, output_first=output_first))
    source, target = arena.bindings["InputTensor"], arena.bindings["OutputTensor"]
    assert arena.strays(case) == ([], [])
    for place in (0, source.offset - 1, source.end, target.offset - 1, target.end, arena.memory.size - 1):
        arena.memory[place] ^= 1
        assert arena.strays(case) == ([], [place])
        arena.memory[place] ^= 1
    for place in (source.offset, source.offset + source.size // 2, source.end - 1):
        arena.memory[place] ^= 1
        assert arena.strays(case) == ([place], [])
        arena.memory[place] ^= 1
    arena.memory[target.offset : target.end] ^= 1
    assert arena.strays(case) == ([], [])


def test_a_single_element_is_repeated_for_every_element_of_the_output() -> None:
    """A scale beside many elements; where the output has one element, all inputs have one."""
    single = TensorDesc(DataType.FLOAT32, (1,))
    for count in (5, 2, 1):
        source = TensorDesc(DataType.FLOAT32, (count,))
        output = TensorDesc(DataType.INT8, source.sizes)
        tensors = {"InputTensor": source, "ScaleTensor": single, "OutputTensor": output}
        operator = OperatorDesc("ELEMENT_WISE_QUANTIZE_LINEAR", tensors, {})
        streams = Streams.of({"InputTensor": [1, 2, 3, 4, 5], "ScaleTensor": [0.5]}, operator)
        inputs = Arena.prepare(Case(operator, streams, "quantize-linear.accuracy")).inputs
        assert inputs["ScaleTensor"].tolist() == [0.5] * count
        assert inputs["InputTensor"].tolist() == [1, 2, 3, 4, 5][:count]


def test_the_bytes_of_guards_are_the_same_in_every_memory_and_hide_no_zeros() -> None:
    _, arena = arena_of(SMALL, Placement())
    _, other = arena_of(SMALL, Placement())
    front = arena.memory[: arena.bindings["InputTensor"].offset]
    assert front.all()  # a kernel that clears what is not its own is seen
    assert len(np.unique(front)) > 100
    assert np.array_equal(front, other.memory[: front.size])
