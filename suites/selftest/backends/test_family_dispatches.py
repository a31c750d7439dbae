"""The tasks reach what they are meant to reach, and a wrong kernel does not pass them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.selftest.backends.bound_tensors import elements_of
from dmlcts.suites.selftest.backends.family_dispatches import Task, tasks, wrong
from dmlcts.suites.selftest.family.family_tables import exact_operators


class Subtracting:
    """A kernel of SUBTRACT that keeps everything, or does one thing wrong."""

    def __init__(self, operator: OperatorDesc, fault: str) -> None:
        self.operator, self.fault = operator, fault

    def dispatch(self, memory: Any, regions: Mapping[str, Region]) -> None:
        """Subtract, with the fault."""
        views = {name: elements_of(memory, regions[name], self.operator.tensors[name]) for name in regions}
        a, b = (views[name] if self.fault == "in place" else views[name].copy() for name in ("ATensor", "BTensor"))
        if self.fault == "in place":
            views["OutputTensor"][...] = a
            views["OutputTensor"][...] -= b
        elif self.fault == "saturating":
            exact = a.astype(np.int64) - b.astype(np.int64)
            views["OutputTensor"][...] = np.clip(exact, 0, None).astype(a.dtype)
        else:
            views["OutputTensor"][...] = a - b
        if self.fault == "stray":
            memory[regions["OutputTensor"].end] ^= 1

    def close(self) -> None: ...


def _seen(fault: str, name: str = "SUBTRACT-INT32") -> list[bool]:
    made = tasks("SUBTRACT")[name]
    return [wrong(lambda operator: Subtracting(operator, fault), task) is not None for task in made]


def test_a_right_kernel_passes_and_wrong_ones_do_not() -> None:
    assert not any(_seen("none"))
    assert any(_seen("saturating"))
    made = tasks("SUBTRACT")["SUBTRACT-INT32"]
    in_place = [task.same for task, seen in zip(made, _seen("in place"), strict=True) if seen]
    assert in_place
    assert all(same.get("OutputTensor") == "BTensor" or "BTensor" in same for same in in_place)


def test_a_stray_write_is_seen() -> None:
    with pytest.raises(AssertionError, match="which are no elements of OutputTensor"):
        _seen("stray")


def test_layouts_aliases_and_factors_are_all_there() -> None:
    signatures = [result for operator in exact_operators() for result in tasks(operator).values()]
    reached: Counter[str] = Counter()
    for task in itertools.chain.from_iterable(signatures):
        reached.update(_traits(task))
    assert len(signatures) > 300
    assert min(reached[trait] for trait in ("broadcast", "strided", "rank 8", "alias", "twins", "all", "scaled")) > 50


def _traits(task: Task) -> set[str]:
    output = task.table.output
    tensors = task.operator.tensors
    strides = [tensor.strides for tensor in tensors.values() if tensor.strides is not None]
    owners = Counter(task.same.values())
    texts = {f"rank {tensors[output].rank}"}
    texts |= {"broadcast"} if any(0 in stride for stride in strides) else set()
    texts |= {"strided"} if strides else set()
    texts |= {"alias"} if output in task.same else set()
    texts |= {"twins"} if any(name != output for name in task.same) else set()
    texts |= {"all"} if any(count > 1 for count in owners.values()) else set()
    texts |= {"scaled"} if task.operator.attributes.get("ScaleBias") is not None else set()
    return texts
