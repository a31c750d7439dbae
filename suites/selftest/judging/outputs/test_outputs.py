"""Outputs, looked at closely: what stands there before a dispatch, what is expected once, where bytes go astray."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, Mask, Masks
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.judging import outputs
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.outputs import expected_outputs, marks
from dmlcts.suites.mutants.making import LEVEL
from dmlcts.suites.mutants.reference import Array, Reference

TABLES = load_tables()
CLIPPED = (-100, -2, 0, 3, 100)


def clip_or_max(
    name: str,
    data_type: DataType = DataType.INT8,
    sizes: Sequence[int] = (5,),
    *strides: Sequence[int] | None,
    low: float = -2,
) -> OperatorDesc:
    """CLIP from ``low`` to 3, or MAX; the strides are the inputs', and the output's after them."""
    inputs = ("InputTensor",) if name == "CLIP" else ("ATensor", "BTensor")
    each = (*strides, *(None,) * 3)
    tensors = {
        member: TensorDesc(data_type, sizes, tensor_strides)
        for member, tensor_strides in zip(inputs, each, strict=False)
    }
    tensors["OutputTensor"] = TensorDesc(data_type, sizes, each[len(inputs)])
    bounds = {"ScaleBias": None, "Min": np.float32(low), "Max": np.float32(3)}
    return OperatorDesc(f"ELEMENT_WISE_{name}", tensors, bounds if name == "CLIP" else {})


def streamed(operator: OperatorDesc, *streams: Sequence[int], **changes: Any) -> Case:
    values = Streams.of(dict(zip(operator.inputs, streams, strict=True)), operator)
    clause = f"{operator.name.removeprefix('ELEMENT_WISE_').lower()}.formula"
    return Case(operator, values, clause, **changes)


def bench(backend: Reference) -> Bench:
    return Bench("planted", backend, {}, TABLES)


class Leaving(Reference):
    """Writes nothing, and notes what stands where the outputs would."""

    level = LEVEL

    def __init__(self) -> None:
        self.stood: list[list[int]] = []

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Nothing."""
        self.stood.append(self.view(memory, region, tensor).tolist())


class Complements(Masks):
    """Not drawn: every bit is changed."""

    def mask(self, size: int, inputs: Array) -> Mask:
        return Mask(np.full(-(-size // 8), -1, np.int64).view(np.uint64))


@pytest.mark.parametrize(
    "operator, streams, first, second",
    [
        # 5 is the first of the marks that CLIP changes
        (clip_or_max("CLIP"), [CLIPPED], [1, 1, -1, -4, -4], [5, 5, 5, 5, 5]),
        # where it stood already (an output of -6 is expected) 7 has its turn
        (clip_or_max("CLIP", low=-6), [CLIPPED], [5, 1, -1, -4, -4], [7, 5, 5, 5, 5]),
        # MAX changes no value that both inputs hold: 1, or 2 where 1 is expected or stood already
        (clip_or_max("MAX"), [(5, -2, 1, 0, 0), (4, -3, 0, -7, 0)], [-6, 1, -2, -1, -1], [1, 2, 2, 1, 1]),
    ],
)
def test_what_was_not_written_is_tried_again_over_what_no_input_becomes(
    operator: OperatorDesc, streams: list[Sequence[int]], first: list[int], second: list[int]
) -> None:
    device = Leaving()
    on = bench(device)
    on.masks = Complements()
    (finding,) = judge_case(on, streamed(operator, *streams)).findings
    assert (finding.clause, finding.wrong) == ("tensor.output.complete", 5)
    assert device.stood == [first, second]


@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.UINT8, DataType.INT64, DataType.UINT64])
def test_every_mark_is_a_value_of_the_type(data_type: DataType) -> None:
    limits, mark_values = np.iinfo(data_type.numpy), marks(data_type)
    assert mark_values.dtype == data_type.numpy
    assert (-1 in mark_values.tolist()) is (limits.min < 0)
    assert (1000 in mark_values.tolist()) is (limits.max > 1000)


@pytest.mark.parametrize(
    "beyond, where",
    [
        (0, "0 bytes after the output's end"),
        (5, "5 bytes after the output's end"),
        (-9, "1 bytes before the output's beginning"),
    ],
)
def test_a_stray_byte_is_counted_from_the_nearer_end_of_the_output(beyond: int, where: str) -> None:
    class Straying(Reference):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            super().dispatch(operator, memory, bindings)
            memory[bindings["OutputTensor"].offset + 8 + beyond] ^= 1  # five INT8 elements have a total size of 8

    (finding,) = judge_case(bench(Straying()), streamed(clip_or_max("CLIP"), CLIPPED)).findings
    assert dict(finding.details)["bytes"].startswith(f"1 changed, the first {where} (offset ")


class EndsInverted(Reference):
    """Gives the complements of the first and the last input."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        """The complements, at both ends."""
        y = super().compute(operator, x)
        y[0], y[-1] = ~x[0], ~x[-1]
        return y


@pytest.mark.parametrize("in_place", [False, True], ids=["apart", "in place"])
@pytest.mark.parametrize("strides", [None, (3,)], ids=["packed", "strided"])
@pytest.mark.parametrize("piece", [2, 5, 1 << 20])
def test_outputs_judged_in_pieces_are_judged_by_what_is_expected_not_by_what_stood_there(
    piece: int, strides: tuple[int, ...] | None, in_place: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "PIECE", piece)
    case = streamed(
        clip_or_max("CLIP", DataType.INT8, (5,), strides, strides), CLIPPED, placement=Placement(in_place=in_place)
    )
    (finding,) = judge_case(bench(EndsInverted()), case).findings
    assert (finding.clause, finding.wrong, finding.index) == ("clip.formula", 2, 4)
    assert judge_case(bench(Reference()), case).findings == ()


def test_what_is_harmless_need_not_be_written() -> None:
    judgement = judge_case(bench(Leaving()), streamed(clip_or_max("CLIP"), CLIPPED, expectation="harmless"))
    assert judgement.findings == ()
    assert judgement.clauses == ("clip.formula", "tensor.output.bounds", "tensor.input.unchanged")


class Asked:
    """An oracle that notes of how many elements outputs are expected."""

    def __init__(self, operator: OperatorDesc) -> None:
        self.oracle = oracle_of(TABLES, operator, strict=False)
        self.counts: list[int] = []

    def expected(self, inputs: Mapping[str, Array]) -> Array:
        """What the oracle expects, noted."""
        self.counts += {array.size for array in inputs.values()}
        return self.oracle.expected(inputs)


SEVEN, FIVE = (-3, -2, -1, 0, 1, 2, 5), (4, -4, 0, 1, 2)


@pytest.mark.parametrize(
    "operator, streams, count",
    [
        (clip_or_max("CLIP", DataType.INT8, (40,)), [SEVEN], 7),
        (clip_or_max("CLIP", DataType.INT8, (4, 10), (20, 2)), [SEVEN], 7),
        (clip_or_max("CLIP", DataType.INT8, (1, 40), (0, 1)), [SEVEN], 7),  # of one place nothing is repeated
        (clip_or_max("CLIP", DataType.INT8, (4, 10), (0, 1)), [SEVEN], 40),
        (clip_or_max("CLIP", DataType.INT8, (2, 20), (0, 1)), [SEVEN], 40),
        (clip_or_max("CLIP", DataType.INT8, (4, 10), (1, 0)), [SEVEN], 40),
        (clip_or_max("CLIP", DataType.INT8, (15,)), [SEVEN], 7),
        (clip_or_max("CLIP", DataType.INT8, (14,)), [SEVEN], 14),  # to repeat so few takes as long
        (clip_or_max("MAX", DataType.INT8, (40,)), [SEVEN, SEVEN], 7),
        (clip_or_max("MAX", DataType.INT8, (40,)), [SEVEN, FIVE], 40),
        (clip_or_max("MAX", DataType.INT8, (4, 10), None, (0, 1)), [SEVEN, SEVEN], 40),
    ],
)
def test_what_repeats_is_expected_once(operator: OperatorDesc, streams: list[Sequence[int]], count: int) -> None:
    case, asked = streamed(operator, *streams), Asked(operator)
    inputs = Arena.prepare(case).inputs
    expected = expected_outputs(asked, case, inputs)  # type: ignore[arg-type]  # it is asked for nothing else
    assert asked.counts == [count]
    assert expected.tolist() == asked.oracle.expected(inputs).tolist()
