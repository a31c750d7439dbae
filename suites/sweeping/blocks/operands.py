"""The inputs of a target of several inputs, or of one of another type than the output, and how its outputs are judged.

Every combination of patterns has a number: the inputs' bits side by side, the first input's the most significant. A
block is a stretch of these numbers, and a suspect is remembered by its own. Of wider inputs there is a sample: edge
values together, then seeded ones, of which every other block has operands that are alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.oracle.blocks import Judged
from dmlcts.suites.cases.oracles import Oracle
from dmlcts.suites.generation import distinct
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.measuring.measurement import Gauge, Measurement
from dmlcts.suites.sweeping.blocks.targets import BLOCK_SAMPLES, Target
from dmlcts.suites.sweeping.blocks.totals import Suspect

Array = NDArray[Any]
Arrays = dict[str, Array]

_NONE: NDArray[np.intp] = np.zeros(0, np.intp)
_SEEDS = 1_000_003


def combinations(target: Target, first: int, count: int) -> Arrays:
    """The inputs by name of ``count`` consecutive combinations of patterns, from number ``first`` on; 1-D."""
    numbers = np.arange(first, first + count, dtype=np.uint64)
    shift, arrays = target.input_bits, {}
    for name, data_type in target.inputs:
        shift -= 8 * data_type.itemsize
        arrays[name] = (numbers >> np.uint64(shift)).astype(data_type.bits_dtype).view(data_type.numpy)
    return arrays


def numbers_of(target: Target, inputs: Mapping[str, Array]) -> list[int]:
    """The number of each combination of patterns; few, for they are whole numbers of any width."""
    numbers = [0] * next(iter(inputs.values())).size
    for name, data_type in target.inputs:
        bits = np.ascontiguousarray(inputs[name]).view(data_type.bits_dtype).tolist()
        numbers = [number << (8 * data_type.itemsize) | own for number, own in zip(numbers, bits, strict=True)]
    return numbers


def combination(target: Target, number: int) -> Arrays:
    """The inputs by name, of one element each, of a combination of patterns."""
    arrays: Arrays = {}
    for name, data_type in reversed(target.inputs):
        width = 8 * data_type.itemsize
        arrays[name] = np.array([number & ((1 << width) - 1)], data_type.bits_dtype).view(data_type.numpy)
        number >>= width
    return {name: arrays[name] for name, _ in target.inputs}


def suspect_values(target: Target, suspect: Suspect) -> tuple[Arrays, np.generic]:
    """A suspect's inputs by name, of one element each, and its output."""
    output = np.array([suspect.got], target.output_type.bits_dtype).view(target.output_type.numpy)[0]
    if target.inputs:
        return combination(target, suspect.bits), output
    data_type = target.data_type
    return {"": np.array([suspect.bits], data_type.bits_dtype).view(data_type.numpy)}, output


def sampled(subject: Subject, target: Target, start: int, count: int) -> Arrays:
    """The inputs by name of a sample's block: edge values together first, then seeded ones."""
    block = start // BLOCK_SAMPLES
    seed = (target.seed * _SEEDS + block) % (1 << 32)
    alike = replace(subject, seed=seed).distinct(count) if block % 2 else subject.bulk_elements(seed, count)
    arrays = {name: np.array(alike.arrays[name]) for name, _ in target.inputs}
    if not start:
        edges = next(iter(subject.edge_sets()))
        for name, array in arrays.items():
            array[: edges.count] = edges.arrays[name][:count]
    return arrays


def singles_of(operator: OperatorDesc, target: Target) -> Arrays:
    """The element of each input that has only one, by name: an ordinary one."""
    known = dict(target.inputs)
    return distinct.singles({name: tensor.data_type for name, tensor in operator.inputs.items() if name not in known})


class SeveralJudge:
    """Judges outputs of one operator description, piece by piece.

    Args:
        oracle: the oracle of the description.
        single: the element of each input that has only one, by name.
        gauge: measures how far results are from the real numbers; ``None`` where they are exact.
    """

    def __init__(self, oracle: Oracle, single: Mapping[str, Array], gauge: Gauge | None = None) -> None:
        self._gauge = gauge
        self._oracle = oracle
        self._single = single
        self._type: DataType = oracle.data_type

    def measure(self, inputs: Mapping[str, Array], output: Array) -> Measurement | None:
        """What is measured of a piece; ``None`` where results are exact."""
        if self._gauge is None:
            return None
        measurement = self._gauge.begun()
        self._gauge.add(measurement, self._given(inputs, output.size), output)
        return measurement

    def _given(self, inputs: Mapping[str, Array], count: int) -> Arrays:
        arrays = {**inputs, **{name: np.repeat(element, count) for name, element in self._single.items()}}
        return {name: arrays[name] for name in self._oracle.operator.inputs if name in arrays}

    def judge(self, inputs: Mapping[str, Array], output: Array, poison: int) -> Judged:
        """Judge a piece.

        Args:
            inputs: 1-D, contiguous, by name, each of its tensor's type.
            output: 1-D, likewise.
            poison: the bit pattern that every output element held before.
        """
        operands = self._given(inputs, output.size)
        bits = output.view(self._type.bits_dtype)
        with np.errstate(all="ignore"):
            expected = np.ascontiguousarray(self._oracle.expected(operands))
            same_bits = bits == expected.view(self._type.bits_dtype)
            differing = np.flatnonzero(~(same_bits & self._oracle.expected_suffices))
            wrong, equal, other = _NONE, 0, 0
            if differing.size:
                few = {name: array[differing] for name, array in operands.items()}
                got, due = output[differing], expected[differing]
                held = np.ones(differing.size, bool)
                held[self._oracle.judge(few, got, due)] = False
                wrong = differing[~held]
                same = held & (same_bits[differing] | (got != got) & (due != due))  # NaN where NaN is due
                zeros = held & (got == due) & ~same
                equal, other = int(zeros.sum()), int((held & ~zeros & ~same).sum())
        kept = np.flatnonzero(bits == self._type.bits_dtype.type(poison))
        kept = np.setdiff1d(kept, wrong, assume_unique=True) if kept.size else _NONE
        return Judged(output.size, output.size - wrong.size - equal - other, equal, other, wrong, kept)
