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


def _cell(found: Counterpart | None) -> str:
    if found is None or not found.name:
        return f"{_NONE} {found.lacking}" if found else _NONE
    given = ", ".join(f"{key}={value}" for key, value in found.attributes.items())
    bound = ["patterns as integers"] * found.patterns + ["UINT8 results"] * found.truth
    notes = [note for note in (*bound, found.note) if note]
    return f"`{found.name}{f'({given})' if given else ''}`" + (f": {'; '.join(notes)}" if notes else "")


if __name__ == "__main__":
    print("\n".join(rows()))  # noqa: T201 - a command
