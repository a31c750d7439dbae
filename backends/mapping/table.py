"""The table of ``README.md`` that says which operator of which runtime stands for each of DirectML's.

``python -m dmlcts.backends.mapping.table`` prints it as Markdown.

The mappings themselves belong to the backends: :mod:`dmlcts.backends.onnxruntime.operators`,
:mod:`dmlcts.backends.litert.operators`, :mod:`dmlcts.backends.openvino.operations`, and the modules ``functions`` of
``jax`` and ``torch_eager``.
"""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.backends.arrays import counterpart_notes
from dmlcts.backends.jax.functions import COUNTERPARTS as OF_JAX
from dmlcts.backends.litert.operators import COUNTERPARTS as OF_LITERT
from dmlcts.backends.onnxruntime.operators import COUNTERPARTS as OF_ONNX
from dmlcts.backends.openvino.operations import COUNTERPARTS as OF_OPENVINO
from dmlcts.backends.runtimes import Counterpart
from dmlcts.backends.torch_eager.functions import COUNTERPARTS as OF_TORCH

_NONE = "—"


ARRAYS: Mapping[str, Mapping[str, Counterpart]] = {"jax": OF_JAX, "openvino": OF_OPENVINO, "litert": OF_LITERT}
"""What stands for what in the runtimes of arrays, by the backend's name."""


def rows() -> list[str]:
    """The lines of the table, its head first; parts that ONNX or PyTorch splits by type have a line for each."""
    lines = ["| part | ONNX | `torch` |", "|---|---|---|"]
    named = list(dict.fromkeys((*OF_ONNX, *OF_TORCH)))
    for part in sorted(named, key=lambda part: list(OF_TORCH).index(part)):
        lines.append(f"| {part} | {_cell(OF_ONNX.get(part.removesuffix(' of integers')))} | {_cell(OF_TORCH[part])} |")
    return lines


def array_rows() -> list[str]:
    """The lines of the table of runtimes that compute arrays, its head first."""
    lines = [f"| part | {' | '.join(f'`{name}`' for name in ARRAYS)} |", "|---|" + "---|" * len(ARRAYS)]
    for part in OF_TORCH:
        whole = part.removesuffix(" of integers")
        cells = [_array_cell(table.get(part, table[whole])) for table in ARRAYS.values()]
        lines.append(f"| {part} | {' | '.join(cells)} |")
    return lines


def _cell(counterpart: Counterpart | None) -> str:
    if counterpart is None or not counterpart.name:
        return f"{_NONE} {counterpart.lacking}" if counterpart else _NONE
    bound = ["patterns as integers"] * counterpart.patterns + ["UINT8 results"] * counterpart.truth
    bound += ["truth operands"] * (counterpart.conditions > 0)
    bound += ["a scale for each row of one element"] * counterpart.columns
    return _named(counterpart, [note for note in (*bound, counterpart.note) if note])


def _array_cell(counterpart: Counterpart) -> str:
    if not counterpart.name:
        return f"{_NONE} {counterpart.lacking}"
    return _named(counterpart, [_SHORTER.get(note, note) for note in counterpart_notes(counterpart)])


def _named(counterpart: Counterpart, notes: list[str]) -> str:
    attributes = ", ".join(f"{key}={value}" for key, value in counterpart.attributes.items())
    return f"`{counterpart.name}{f'({attributes})' if attributes else ''}`" + (f": {'; '.join(notes)}" if notes else "")


_SHORTER = {
    "patterns as unsigned integers": "patterns",
    "the backend makes truth values of operands that are not 0": "conditions",
    "the backend writes truth values as 0 and 1 of the output's type": "truth",
    "the backend converts the result to the output's type": "converted",
}
"""What the guide explains above the table, by one word."""


if __name__ == "__main__":
    print("\n".join((*rows(), "", *array_rows())))  # noqa: T201 - a command
