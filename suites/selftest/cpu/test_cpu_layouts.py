"""The cpu backend on several tensors: strides of each, broadcast operands, blocks, and regions that tensors share."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dmlcts.backends import ExecutionFailed
from dmlcts.backends.cpu import device as cpu_device
from dmlcts.backends.cpu.device import CpuKernel
from dmlcts.backends.cpu.layouts import coalesced, is_disjoint
from dmlcts.backends.cpu.programs import PROGRAMS
from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.suites.selftest.backends.bound_tensors import Array, aligned, dispatched, of_sizes

PAIR = ("ATensor", "BTensor")
OUTPUT = "OutputTensor"
INT32, UINT8 = DataType.INT32, DataType.UINT8


def kernel_of(operator: OperatorDesc, may_alias: tuple[str, ...] = PAIR) -> CpuKernel:
    inputs = [name for name in operator.tensors if name != OUTPUT]
    return CpuKernel(operator, PROGRAMS[operator.name](operator), inputs, OUTPUT, may_alias, 16)


def subtraction(sizes: tuple[int, ...], **strides: tuple[int, ...]) -> OperatorDesc:
    return of_sizes("SUBTRACT", dict.fromkeys((*PAIR, OUTPUT), INT32), sizes, strides)


SIZES = (2, 3, 4)
INPUT_STRIDES = [(12, 4, 1), (1, 2, 6), (40, 9, 2), (0, 4, 1), (0, 0, 1), (12, 0, 0), (0, 0, 0), (1, 1, 1)]
OUTPUT_STRIDES = [(12, 4, 1), (1, 2, 6), (60, 13, 3), (3, 6, 24)]


@pytest.mark.parametrize("block", [1, 5, 1 << 17])
def test_each_operand_has_its_own_strides(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(cpu_device, "BLOCK_ELEMENTS", block)
    generator = np.random.default_rng(17)
    for first, second, target in itertools.product(INPUT_STRIDES, INPUT_STRIDES, OUTPUT_STRIDES):
        operator = subtraction(SIZES, ATensor=first, BTensor=second, OutputTensor=target)
        values = {name: readable(operator.tensors[name], generator) for name in PAIR}
        got = dispatched(kernel_of(operator), operator, values, OUTPUT)
        assert np.array_equal(got, values["ATensor"] - values["BTensor"]), (first, second, target)


def readable(tensor: TensorDesc, generator: np.random.Generator) -> Array:
    """Elements that the tensor can hold: those that share a place are equal."""
    places = np.zeros(tensor.sizes, np.int64)
    for axis, (size, stride) in enumerate(zip(tensor.sizes, tensor.element_strides, strict=True)):
        places += (np.arange(size) * stride).reshape([size if index == axis else 1 for index in range(tensor.rank)])
    return generator.integers(-99, 99, int(places.max()) + 1).astype(tensor.data_type.numpy)[places]


@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.FLOAT32, DataType.INT8, INT32, DataType.INT64])
def test_negate_reads_every_step(data_type: DataType) -> None:
    """NumPy 2.4's negative is wrong for a step of 4 elements of 4 bytes, or 8 of 8; packed outputs are right."""
    x = np.arange(1, 34).astype(data_type.numpy)
    for source, target in itertools.product(range(1, 18), (1, 2, 7)):
        operator = of_sizes(
            "NEGATE",
            dict.fromkeys(("InputTensor", OUTPUT), data_type),
            (33,),
            {"InputTensor": (source,), OUTPUT: (target,)},
        )
        got = dispatched(kernel_of(operator, ("InputTensor",)), operator, {"InputTensor": x}, OUTPUT)
        assert np.array_equal(got, -x), (source, target)


@pytest.mark.parametrize("member", PAIR)
@pytest.mark.parametrize("target", OUTPUT_STRIDES)
@pytest.mark.parametrize("block", [1, 5, 1 << 17])
def test_in_place_of_either_operand(
    monkeypatch: pytest.MonkeyPatch, member: str, target: tuple[int, ...], block: int
) -> None:
    monkeypatch.setattr(cpu_device, "BLOCK_ELEMENTS", block)
    generator = np.random.default_rng(18)
    (other,) = set(PAIR) - {member}
    for aliased, apart in itertools.product(INPUT_STRIDES, INPUT_STRIDES):
        strides = {member: aliased, other: apart, OUTPUT: target}
        operator = subtraction(SIZES, **strides)
        values = {name: readable(operator.tensors[name], generator) for name in PAIR}
        got = dispatched(kernel_of(operator), operator, values, OUTPUT, {OUTPUT: member})
        assert np.array_equal(got, values["ATensor"] - values["BTensor"]), strides


def test_operands_and_output_in_one_region() -> None:
    for name, wanted in (("ADD", [2, 4, 6]), ("MULTIPLY", [1, 4, 9]), ("DIFFERENCE_SQUARE", [0, 0, 0])):
        operator = of_sizes(name, dict.fromkeys((*PAIR, OUTPUT), INT32), (3,))
        values = {"ATensor": np.array([1, 2, 3])}
        for same in ({"BTensor": "ATensor"}, {"BTensor": "ATensor", OUTPUT: "ATensor"}):
            assert dispatched(kernel_of(operator), operator, values, OUTPUT, same).tolist() == wanted


def test_one_operand_transposed_in_the_region_of_the_other() -> None:
    operator = subtraction((3, 3), ATensor=(3, 1), BTensor=(1, 3), OutputTensor=(3, 1))
    values = {"ATensor": np.arange(9).reshape(3, 3)}
    for same in ({"BTensor": "ATensor"}, {"BTensor": "ATensor", OUTPUT: "ATensor"}):
        got = dispatched(kernel_of(operator), operator, values, OUTPUT, same)
        assert np.array_equal(got, values["ATensor"] - values["ATensor"].T)


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank_with_results_of_another_type(rank: int) -> None:
    generator = np.random.default_rng(rank)
    sizes = tuple(int(size) for size in generator.integers(1, 4, rank))
    order = generator.permutation(rank)
    permuted, step = [0] * rank, 1
    for axis in order:
        permuted[axis], step = step, step * sizes[axis]
    kinds = {"ATensor": DataType.INT64, "BTensor": DataType.INT64, OUTPUT: DataType.UINT32}
    operator = of_sizes("LOGICAL_LESS_THAN", kinds, sizes, {"BTensor": tuple(permuted)})
    values = {name: generator.integers(-2, 2, sizes) for name in PAIR}
    got = dispatched(kernel_of(operator, ()), operator, values, OUTPUT)
    assert np.array_equal(got, values["ATensor"] < values["BTensor"])


def test_a_choice_between_broadcast_operands() -> None:
    kinds = {"ConditionTensor": UINT8, **dict.fromkeys((*PAIR, OUTPUT), DataType.FLOAT16)}
    operator = of_sizes("IF", kinds, (2, 3), {"ConditionTensor": (0, 1), "ATensor": (0, 0), "BTensor": (1, 0)})
    value = {"ConditionTensor": np.array([[0, 2, 1]] * 2), "ATensor": np.full((2, 3), 7), "BTensor": [[1] * 3, [2] * 3]}
    got = dispatched(kernel_of(operator, ()), operator, value, OUTPUT)
    assert got.tolist() == [[1, 7, 7], [2, 7, 7]]


def test_a_tensor_of_one_element_is_for_all() -> None:
    many, tensor_desc = TensorDesc(INT32, (2, 3)), TensorDesc(INT32, (1, 1))
    tensors = {"ATensor": many, "BTensor": tensor_desc, OUTPUT: many}
    operator = OperatorDesc("ELEMENT_WISE_SUBTRACT", tensors, {})
    values = {"ATensor": np.arange(6).reshape(2, 3), "BTensor": np.array([[4]])}
    assert dispatched(kernel_of(operator), operator, values, OUTPUT).tolist() == [[-4, -3, -2], [-1, 0, 1]]


def test_layouts_are_flattened_together() -> None:
    packed, padded = TensorDesc(INT32, (2, 3, 4)), TensorDesc(INT32, (2, 3, 4), (24, 4, 1))
    assert coalesced([packed, packed], packed) == ((24,), [(1,), (1,), (1,)])
    assert coalesced([packed, padded], packed) == ((2, 12), [(12, 1), (24, 1), (12, 1)])
    assert coalesced([TensorDesc(INT32, (1, 1))], TensorDesc(INT32, (1, 1))) == ((1,), [(1,), (1,)])


@pytest.mark.parametrize(
    "regions, text",
    [
        ({"ATensor": (0, 16), "BTensor": (32, 16)}, "the bindings are"),
        ({"ATensor": (0, 16), "BTensor": (32, 16), "OutputTensor": (16, 32)}, "overlap"),
        ({"ATensor": (0, 16), "BTensor": (32, 16), "OutputTensor": (32, 16)}, "in-place execution on BTensor"),
        ({"ATensor": (0, 16), "BTensor": (24, 16), "OutputTensor": (64, 16)}, "BTensor.*multiple of 16"),
        ({"ATensor": (0, 12), "BTensor": (32, 16), "OutputTensor": (64, 16)}, "ATensor.*needs 16"),
        ({"ATensor": (0, 16), "BTensor": (128, 16), "OutputTensor": (64, 16)}, "BTensor.*only 128"),
    ],
)
def test_bindings_that_cannot_be_used_fail(regions: dict[str, tuple[int, int]], text: str) -> None:
    kernel = kernel_of(subtraction((4,)), may_alias=("ATensor",))
    memory = aligned(128)
    with pytest.raises(ExecutionFailed, match=text):
        kernel.dispatch(memory, {name: Region(*region) for name, region in regions.items()})
    for shared in (0, 32):  # operands may share, and the output may take the first one's place
        fine = {"ATensor": 0, "BTensor": shared, "OutputTensor": 0 if shared else 64}
        kernel.dispatch(memory, {name: Region(offset, 16) for name, offset in fine.items()})


@pytest.mark.parametrize(
    "sizes, strides, apart",
    [
        ((3, 4), (4, 1), True),
        ((3, 4), (9, 2), True),
        ((2, 3, 4), (12, 4, 1), True),
        ((1,), (1,), True),
        ((3, 4), (3, 1), False),  # the last of a row is the first of the next
        ((3, 4), (1, 1), False),
        ((3,), (0,), False),
        ((2, 3), (2, 0), False),
    ],
)
def test_elements_that_share_a_place_are_reported(
    sizes: tuple[int, ...], strides: tuple[int, ...], apart: bool
) -> None:
    assert is_disjoint(sizes, strides) == apart
    places = sum(np.indices(sizes)[axis] * stride for axis, stride in enumerate(strides))
    assert (np.unique(places).size == np.prod(sizes)) == apart, "what the strides say by themselves"


class _Watching:
    """A program that notes whether its first operand is the output's own memory."""

    def __init__(self) -> None:
        self.shared: list[bool] = []

    def __call__(self, read: list[Array], written: Array, scratch: Array) -> None:
        self.shared.append(np.shares_memory(read[0], written))
        np.subtract(read[0], read[1], out=written)


@pytest.mark.parametrize("strides, shared", [((4, 1), True), ((9, 2), True), ((3, 1), False)])
def test_in_place_the_operand_is_copied_where_elements_share_a_place(strides: tuple[int, int], shared: bool) -> None:
    """Elements that share a place would be read after the first of them was written; apart, no copy is made."""
    tensor = TensorDesc(INT32, (3, 4), strides)
    operator = OperatorDesc("ELEMENT_WISE_SUBTRACT", {"ATensor": tensor, "BTensor": tensor, OUTPUT: tensor}, {})
    program = _Watching()
    kernel = CpuKernel(operator, program, PAIR, OUTPUT, PAIR, 16)
    size = -(-tensor.total_size_in_bytes // 16) * 16
    memory = aligned(2 * size)
    read, other = Region(0, tensor.total_size_in_bytes), Region(size, tensor.total_size_in_bytes)
    memory.view(np.int32)[: size // 4] = np.arange(size // 4)
    memory.view(np.int32)[size // 4 :] = 1
    kernel.dispatch(memory, {"ATensor": read, "BTensor": other, OUTPUT: read})
    assert program.shared == [shared]
    places = sorted({row * strides[0] + column * strides[1] for row in range(3) for column in range(4)})
    assert memory.view(np.int32)[places].tolist() == [place - 1 for place in places], "each is taken one from, once"
