"""The table of ``README.md`` that says which operator of which runtime stands for each of DirectML's.

``python -m dmlcts.backends.mapping.table`` prints it as Markdown.
"""

from __future__ import annotations

from dmlcts.backends.onnxruntime.operators import COUNTERPARTS as OF_ONNX
from dmlcts.backends.runtimes import Counterpart
from dmlcts.backends.torch_eager.functions import COUNTERPARTS as OF_TORCH

_NONE = "—"


def rows() -> list[str]:
    """The lines of the table, its head first; parts that ONNX or PyTorch splits by type have a line for each."""
    lines = ["| part | ONNX | `torch` |", "|---|---|---|"]
    named = list(dict.fromkeys((*OF_ONNX, *OF_TORCH)))
    for part in sorted(named, key=lambda part: list(OF_TORCH).index(part)):
        lines.append(f"| {part} | {_cell(OF_ONNX.get(part.removesuffix(' of integers')))} | {_cell(OF_TORCH[part])} |")
    return lines


def _cell(counterpart: Counterpart | None) -> str:
    if counterpart is None or not counterpart.name:
        return f"{_NONE} {counterpart.lacking}" if counterpart else _NONE
    attributes = ", ".join(f"{key}={value}" for key, value in counterpart.attributes.items())
    bound = ["patterns as integers"] * counterpart.patterns + ["UINT8 results"] * counterpart.truth
    notes = [note for note in (*bound, counterpart.note) if note]
    return f"`{counterpart.name}{f'({attributes})' if attributes else ''}`" + (f": {'; '.join(notes)}" if notes else "")


if __name__ == "__main__":
    print("\n".join(rows()))  # noqa: T201 - a command
