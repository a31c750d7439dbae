"""What a replayed case did, element by element: a table of what is wrong, and everything as .npy files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import UsageError
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.oracle.vectorised import Acceptance
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import OneInput, Oracle
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import text_with_bits
from dmlcts.suites.judging.findings import acceptable_text, inputs_text
from dmlcts.suites.judging.one_value import adopted_oracle

ROWS_SHOWN = 20
"""Rows of a table; the dump has them all."""

_OTHER_KERNELS = {"beside others": 0, "threshold equivalence": 1}
"""Expectations whose dispatches are not all of the case's own description: how many of the first are."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Dispatch:
    """One dispatch of a case, with what the oracle says of it.

    Attributes:
        execution: what went in and what came out.
        acceptance: what is acceptable for each element.
        wrong: 1-D, the flat indices of the elements that are not acceptable.
    """

    execution: Execution
    acceptance: Acceptance
    wrong: NDArray[np.intp]


def _oracle(bench: Bench, case: Case, execution: Execution) -> Oracle | None:
    oracle = bench.oracle(case.operator)
    if isinstance(oracle, OneInput):
        try:
            _ = oracle.vector.attributes
        except Unconstrained:
            adopted = case.expectation == "one value"
            return OneInput(adopted_oracle(bench, case, execution)[0]) if adopted else None
    return oracle


def dispatches(bench: Bench, case: Case, executions: Sequence[Execution]) -> list[Dispatch]:
    """The dispatches of a judged case that were of its own description, each with the oracle's answer."""
    records = []
    for execution in executions[: _OTHER_KERNELS.get(case.expectation, len(executions))]:
        oracle = _oracle(bench, case, execution)
        if oracle is not None:
            acceptance = oracle.acceptance(execution.inputs)
            wrong = np.flatnonzero(~oracle.admits(execution.inputs, execution.output))
            records.append(Dispatch(execution, acceptance, wrong))
    return records


def _got(execution: Execution, index: int) -> str:
    left = execution.unwritten is not None and index in execution.unwritten
    return "was not written" if left else text_with_bits(execution.output[index])


def table(case: Case, dispatch: Dispatch) -> list[str]:
    """The lines of a table of the wrong elements, with a heading; none where nothing is wrong."""
    wrong, execution = dispatch.wrong, dispatch.execution
    if not wrong.size:
        return []
    rows = [("index", "input", "acceptable", "got")]
    for flat in wrong[:ROWS_SHOWN].tolist():
        index = [int(part) for part in np.unravel_index(flat, case.operator.output.sizes)]
        rows.append(
            (
                str(index),
                inputs_text(execution.inputs, flat, text_with_bits),
                acceptable_text(dispatch.acceptance, case.operator.output.data_type, flat),
                _got(execution, flat),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    more = wrong.size - ROWS_SHOWN
    if more > 0:
        lines.append(f"  … and {more:,} more of {execution.output.size:,} elements; --dump DIR writes them all")
    return lines


def _inputs(execution: Execution, sizes: tuple[int, ...]) -> dict[str, Array]:
    """The only input as "input", several by the tensors' names; of a tensor of one element its only one, repeated."""
    if len(execution.inputs) == 1:
        return {"input": execution.x.reshape(sizes)}
    return {name: array.reshape(sizes) for name, array in execution.inputs.items()}


def dump(folder: Path, case: Case, records: Sequence[Dispatch]) -> list[Path]:
    """Write what went in, what came out and what is acceptable, each dispatch after the first in a folder of its own.

    ``input.npy`` (of several inputs ``ATensor.npy`` and so on) and ``output.npy`` have the tensors' sizes and element
    type; ``acceptable.npy`` has one more dimension in front, of the alternatives (a NaN stands for any NaN, a zero for
    both zeros unless ``--strict-ieee``); ``wrong.npy`` is boolean, and
    ``any_value.npy``, where it stands, says which elements nothing constrains.

    Raises:
        UsageError: a file cannot be written.
    """
    written = []
    sizes = case.operator.output.sizes
    for number, dispatch in enumerate(records, 1):
        place = folder if number == 1 else folder / f"dispatch-{number}"
        wrong = np.zeros(dispatch.execution.output.size, bool)
        wrong[dispatch.wrong] = True
        arrays: dict[str, Array] = {
            **_inputs(dispatch.execution, sizes),
            "output": dispatch.execution.output.reshape(sizes),
            "acceptable": np.stack(dispatch.acceptance.alternatives).reshape(-1, *sizes),
            "wrong": wrong.reshape(sizes),
        }
        if dispatch.acceptance.any_value is not None:
            arrays["any_value"] = dispatch.acceptance.any_value.reshape(sizes)
        try:
            place.mkdir(parents=True, exist_ok=True)
            for name, array in arrays.items():
                np.save(place / f"{name}.npy", array, allow_pickle=False)
                written.append(place / f"{name}.npy")
        except OSError as error:
            cause = f"cannot write into {place}: {error.strerror}"
            raise UsageError(cause, "choose another folder with --dump") from None
    return written
