"""A device that does what is prescribed at each dispatch, and what its judgements are looked at with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, Judgement
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.selftest.descriptions import tensor
from dmlcts.suites.selftest.first_three import first_three

f32 = np.float32

TABLES = first_three()


def bench(backend: Any, **changes: Any) -> Bench:
    return Bench("planted", backend, {}, TABLES, **changes)


def threshold(source: TensorDesc | None = None, **attributes: Any) -> OperatorDesc:
    source = source or tensor()
    return OperatorDesc(
        "ELEMENT_WISE_THRESHOLD",
        {"InputTensor": source, "OutputTensor": source},
        {"ScaleBias": None, "Min": f32(-2)} | attributes,
    )


def rounding(source: TensorDesc, mode: str = "HALVES_TO_NEAREST_EVEN") -> OperatorDesc:
    return OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": source, "OutputTensor": source}, {"RoundingMode": mode})


FLOAT = tensor((5,), DataType.FLOAT32)


class Device(Reference):
    """Notes what is asked of it; a fault is a function of the values, or of how often it was asked.

    Args:
        wrong: input values to the wrong outputs they give.
        fails: after how many dispatches it raises an exception.
        spoils: at which dispatches the first output element is wrong.
        refuse: says why a description is refused, beyond the rules.
        closes: how many kernels close before closing one fails; ``None`` where all close.
    """

    def __init__(
        self,
        wrong: Any = None,
        *,
        fails: int = 999,
        spoils: tuple[int, ...] = (),
        refuse: Any = None,
        closes: int | None = None,
        level: str = "5.0",
    ) -> None:
        self.wrong = wrong or {}
        self.fails = fails
        self.spoils = spoils
        self.refuse = refuse
        self.closes = closes
        self.level = level
        self.created: list[OperatorDesc] = []
        self.dispatched: list[OperatorDesc] = []
        self.closed: list[OperatorDesc] = []
        self.inputs: list[list[Any]] = []
        self.bindings: list[Mapping[str, Region]] = []

    def refuses(self, operator: OperatorDesc) -> str:
        return (self.refuse(operator) if self.refuse else "") or super().refuses(operator)

    def create(self, operator: OperatorDesc) -> Kernel:
        kernel = super().create(operator)
        self.created.append(operator)
        device = self

        class Noting(Kernel):
            def close(self) -> None:
                if device.closes is not None and len(device.closed) >= device.closes:
                    raise OSError("closing fails")
                device.closed.append(operator)

        return Noting(self, kernel.operator)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.dispatched.append(operator)
        self.bindings.append(bindings)
        if len(self.dispatched) > self.fails:
            raise ZeroDivisionError("dispatching fails")
        super().dispatch(operator, memory, bindings)

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        self.inputs.append(x.reshape(-1).tolist())
        y = super().compute(operator, x).copy()
        for value, output in self.wrong.items():
            y[x == value] = output
        if len(self.dispatched) in self.spoils:
            y.reshape(-1)[0] = 1
        return y


def judged(backend: Device, case: Case, **changes: Any) -> Judgement:
    return judge_case(bench(backend, **changes), case)


def only(judgement: Judgement) -> Finding:
    (finding,) = judgement.findings
    return finding


def details(finding: Finding) -> dict[str, str]:
    return dict(finding.details)
