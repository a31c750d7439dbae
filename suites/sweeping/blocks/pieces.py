"""A tensor's inputs written and its outputs judged, piece by piece: pieces stay in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.oracle.blocks import PIECE, BlockJudge, Judged
from dmlcts.suites.sweeping.blocks.classes import CLASSES, classes_between, classes_of
from dmlcts.suites.sweeping.blocks.operands import SeveralJudge, combinations, numbers_of, singles_of
from dmlcts.suites.sweeping.blocks.targets import Target
from dmlcts.suites.sweeping.blocks.tensor_memory import Tensor, TensorMemory
from dmlcts.suites.sweeping.blocks.totals import Totals

Array = NDArray[Any]


def fill_inputs(memory: TensorMemory, operator: OperatorDesc, target: Target, tensor: Tensor) -> None:
    """Write a tensor's inputs into the slot's memory."""
    if not target.inputs:
        fill_input(memory, tensor, memory.elements(memory.types[0][0], tensor.count))
        return
    for name, element in singles_of(operator, target).items():
        memory.elements(name, 1)[:] = element
    for start in range(0, tensor.count, PIECE):
        stop = min(start + PIECE, tensor.count)
        for name, array in _pristine(target, tensor, start, stop).items():
            memory.elements(name, tensor.count)[start:stop] = array


def judge_tensor(
    judge: BlockJudge | SeveralJudge, memory: TensorMemory, target: Target, tensor: Tensor, totals: Totals, poison: int
) -> tuple[int, list[Array]]:
    """Judge a tensor's outputs.

    Returns:
        How many elements of the inputs changed, and the places of elements that hold the poison, in 1-D arrays.
    """
    if isinstance(judge, SeveralJudge):
        return _judge_several(judge, memory, target, tensor, totals, poison)
    return _judge_one(judge, memory, target, tensor, totals, poison)


def _pristine(target: Target, tensor: Tensor, start: int, stop: int) -> dict[str, Array]:
    """The inputs that a piece of a tensor was given."""
    if tensor.several is not None:
        return {name: array[start:stop] for name, array in tensor.several.items()}
    return combinations(target, tensor.first + start, stop - start)


def _judge_several(
    judge: SeveralJudge, memory: TensorMemory, target: Target, tensor: Tensor, totals: Totals, poison: int
) -> tuple[int, list[Array]]:
    types, output_type = dict(target.inputs), target.output_type
    first = target.inputs[0][0]
    output = memory.elements(memory.output, tensor.count)
    kept: list[Array] = []
    altered = 0
    for start in range(0, tensor.count, PIECE):
        stop = min(start + PIECE, tensor.count)
        pristine = _pristine(target, tensor, start, stop)
        for name, data_type in types.items():
            altered += count_differences(memory.elements(name, tensor.count)[start:stop], pristine[name], data_type)
        judged = judge.judge(pristine, output[start:stop], poison)
        _count(totals, judged)
        measurement = judge.measure(pristine, output[start:stop])
        if measurement is not None:
            totals.measured(measurement)
        if judged.wrong.size:
            got = output[start:stop].view(output_type.bits_dtype)[judged.wrong]
            wrong = {name: array[judged.wrong] for name, array in pristine.items()}
            totals.blame_together(
                types, wrong, got, lambda inputs: numbers_of(target, inputs), tensor.start, tensor.count
            )
            kept.append(judged.wrong[got == poison] + start)
        kept.append(judged.poison + start)
        _count_classes(totals, pristine[first])
    return altered, [places for places in kept if places.size]


def _count(totals: Totals, judged: Judged) -> None:
    totals.elements += judged.elements
    totals.exact += judged.exact
    totals.equal += judged.equal
    totals.other += judged.other


def _count_classes(totals: Totals, x: Array) -> None:
    if x.dtype.kind != "f":
        totals.count_classes({"integer": x.size})
        return
    counts = np.bincount(classes_of(x), minlength=len(CLASSES))
    totals.count_classes({name: int(number) for name, number in zip(CLASSES, counts, strict=True)})


def _judge_one(
    judge: BlockJudge, memory: TensorMemory, target: Target, tensor: Tensor, totals: Totals, poison: int
) -> tuple[int, list[Array]]:
    """Judge the outputs for an only input; how many inputs changed, and where right elements equal the poison."""
    (source, _), (sink, _) = memory.types
    x, output = memory.elements(source, tensor.count), memory.elements(sink, tensor.count)
    kept: list[Array] = []
    altered = 0
    if tensor.values is None and judge.certifies(tensor.first, x, output, poison):
        totals.elements += tensor.count
        totals.exact += tensor.count
        totals.count_classes(classes_between(tensor.first, tensor.count, target.data_type))
        return 0, []
    for start in range(0, tensor.count, PIECE):
        stop = min(start + PIECE, tensor.count)
        if tensor.values is None and judge.certifies(tensor.first + start, x[start:stop], output[start:stop], poison):
            totals.elements += stop - start
            totals.exact += stop - start
            continue
        pristine = (
            memory.piece(tensor.first + start, stop - start) if tensor.values is None else tensor.values[start:stop]
        )
        altered += count_differences(x[start:stop], pristine, target.data_type)
        kept += _judge_piece(judge, pristine, output[start:stop], target, tensor, start, totals, poison)
    if tensor.values is None:
        totals.count_classes(classes_between(tensor.first, tensor.count, target.data_type))
    else:
        _count_classes(totals, tensor.values)
    return altered, kept


def _judge_piece(
    judge: BlockJudge,
    pristine: Array,
    output: Array,
    target: Target,
    tensor: Tensor,
    start: int,
    totals: Totals,
    poison: int,
) -> list[Array]:
    """Judge a piece that begins at ``start`` of its tensor; the places in the tensor that hold the poison."""
    judged = judge.judge(pristine, output, poison)
    _count(totals, judged)
    kept = [judged.poison + start]
    if judged.wrong.size:
        got = output[judged.wrong]
        totals.blame(pristine[judged.wrong], got, target.data_type, tensor.start, tensor.count)
        kept.append(judged.wrong[got.view(target.data_type.bits_dtype) == poison] + start)
    return [places for places in kept if places.size]


def judge_pieces(
    judge: BlockJudge,
    steps: Array,
    output: Array,
    target: Target,
    tensor: Tensor,
    start: int,
    totals: Totals,
    poison: int,
) -> list[Array]:
    """Judge a part of a tensor's outputs, for consecutive patterns that nobody wrote down.

    Args:
        judge: of the thread.
        steps: the numbers from 0 on, as many as a piece has elements, as bit patterns of the type.
        output: the part's outputs.
        target: what is swept.
        tensor: where the part belongs.
        start: its first element there.
        totals: its counts are added here, except the classes.
        poison: what the output held before.

    Returns:
        The places in the tensor that hold the poison.
    """
    kept: list[Array] = []
    for begin in range(0, output.size, PIECE):
        part = output[begin : begin + PIECE]
        first = (tensor.first + start + begin) % (1 << (8 * target.data_type.itemsize))
        pristine = (steps[: part.size] + steps.dtype.type(first)).view(target.data_type.numpy)
        kept += _judge_piece(judge, pristine, part, target, tensor, start + begin, totals, poison)
    return kept


def fill_input(memory: TensorMemory, tensor: Tensor, x: Array) -> None:
    """Write a tensor's inputs into ``x``, which lies in the slot's memory."""
    for start in range(0, tensor.count, PIECE):
        stop = min(start + PIECE, tensor.count)
        if tensor.values is not None:
            x[start:stop] = tensor.values[start:stop]
            continue
        bits = x[start:stop].view(memory.data_type.bits_dtype)
        np.add(memory.steps[: stop - start], memory.data_type.bits_dtype.type(tensor.first + start), out=bits)


def count_differences(x: Array, pristine: Array, data_type: DataType) -> int:
    """How many elements differ in their bits."""
    bits = data_type.bits_dtype
    if np.array_equal(x.view(bits), pristine.view(bits)):
        return 0
    return int(np.count_nonzero(x.view(bits) != pristine.view(bits)))
