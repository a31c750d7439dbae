"""The mapping of the ``onnxruntime`` backend as its results show it: what is the runtime's, the backend's, nobody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.backends.onnxruntime.models import ATTRIBUTES_UNTIL, version_at
from dmlcts.backends.onnxruntime.operators import COUNTERPARTS
from dmlcts.backends.onnxruntime.providers import CPU
from dmlcts.backends.onnxruntime.taken import Taken
from dmlcts.backends.runtimes import CLIP, DESCRIPTIONS, NO_SCALE_BIAS, ROUND, THRESHOLD, Mapped, types_text
from dmlcts.specs import DataType


class Explained:
    """The mapping of a device.

    Args:
        onnx: the package ``onnx``.
        opset: the version of the operator set.
        options: of the device.
        taken: what its provider takes.
        claimed: operator to the types that it is judged on.
    """

    def __init__(
        self,
        onnx: Any,
        opset: int,
        options: Mapping[str, str],
        taken: Taken,
        claimed: Mapping[str, frozenset[DataType]],
    ) -> None:
        self._onnx = onnx
        self._opset = opset
        self._options = options
        self._taken = taken
        self._claimed = claimed

    def rows(self) -> list[Mapped]:
        """The lines of the mapping, as :func:`~dmlcts.backends.runtimes.mapping_rows` writes them."""
        clip, most, rounded = (version_at(self._onnx, name, self._opset) for name in ("Clip", "Max", "Round"))
        used = {way.bounds for types in self._taken.ways.values() for way in types.values()}
        operands = "constants of the model"
        if "input" in used:
            operands = "inputs of the model" + (", or constants where those are not taken" * ("constant" in used))
        bounds = "attributes min and max" if self._opset < ATTRIBUTES_UNTIL else f"min and max as {operands}"
        types = {name: types_text(kinds) for name, kinds in self._claimed.items()}
        if self._options["threshold"] == "clip":
            threshold = f"Clip-{clip} without max"
        else:
            threshold = f"Max-{most}(x, Min), Min as one of the {operands}"
        rows = [
            Mapped("CLIP", f"Clip-{clip}, {bounds}", "runtime", f"takes {types[CLIP]}"),
            Mapped(
                "THRESHOLD", threshold, "runtime" if self._claimed[THRESHOLD] else "nobody", f"takes {types[THRESHOLD]}"
            ),
            Mapped(
                "ROUND HALVES_TO_NEAREST_EVEN",
                f"Round-{rounded}" if rounded else "",
                "runtime" if self._claimed[ROUND] else "nobody",
                f"takes {types[ROUND]}",
            ),
            Mapped("ROUND TOWARD_ZERO", "", "nobody", "ONNX has no truncation"),
            Mapped("ROUND TOWARD_INFINITY", "", "nobody", "ONNX does not round halves away from zero"),
            NO_SCALE_BIAS,
        ]
        rows += [row for part in self._taken.ways for row in self._mapped_part(part)]
        if self._opset >= ATTRIBUTES_UNTIL or self._options["threshold"] == "max":
            rows.append(
                Mapped(
                    "the cast of Min and Max to the tensor's type",
                    "truncation or rounding as CLIP's page says",
                    "backend",
                    "ONNX's operands have the tensor's type: clauses on casts say nothing of the runtime; what the "
                    "pages leave open is not supported",
                )
            )
        rows += [
            self._sizes_row(),
            Mapped("strides that leave gaps, repeat or permute", "", "nobody", "a tensor of the runtime is packed"),
            self._memory_row(),
            DESCRIPTIONS,
        ]
        return rows

    def _sizes_row(self) -> Mapped:
        shapes = {way.shapes for types in self._taken.ways.values() for way in types.values()}
        if shapes == {"row"}:
            lengths = "a row of 19, 67, 259, … elements, filled up with the tensor's own"
            return Mapped("packed tensors", lengths, "backend", "clauses on sizes say nothing of the runtime")
        if "dynamic" in shapes:
            note = "those that are not loaded so have their sizes in the model" if "exact" in shapes else ""
            return Mapped("packed tensors", "models of a rank whose sizes are open", "runtime", note)
        return Mapped("packed tensors", "the sizes of x and y", "runtime")

    def _memory_row(self) -> Mapped:
        if self._options["fold"] == "yes":
            return Mapped(
                "InputTensor",
                "a constant of a model made at every dispatch",
                "backend",
                "clauses on the input's memory and on dispatching again say nothing of it",
            )
        if self._options["provider"] == CPU:
            return Mapped("bindings", "buffers bound where they stand in the memory, in place too", "runtime")
        return Mapped(
            "bindings",
            "buffers of the host, which the runtime copies to its device and back",
            "runtime",
            "writes outside the tensors are not seen",
        )

    def _mapped_part(self, part: str) -> list[Mapped]:
        """The row of a part that has none of its own above."""
        counterpart = COUNTERPARTS.get(part)
        if f"ELEMENT_WISE_{part.split(' ')[0]}" in (CLIP, ROUND, THRESHOLD):
            return []
        if counterpart is None or not counterpart.name:
            return [Mapped(part, "", "nobody", counterpart.lacking if counterpart else "mapped to nothing")]
        version = version_at(self._onnx, counterpart.name, self._opset)
        if version is None:
            return [Mapped(part, "", "nobody", f"opset {self._opset} has no {counterpart.name}")]
        attributes = "".join(f", {key}={value}" for key, value in counterpart.attributes.items())
        notes = [f"takes {types_text(self._taken.types(part))}"]
        notes += ["patterns bound as unsigned integers"] * counterpart.patterns
        notes += ["its bool bound over UINT8, by a Cast to UINT32 results"] * counterpart.truth
        notes += ["truth operands by a Cast to bool, which is exact"] * bool(counterpart.conditions)
        notes += ["elements bound as rows of one, each with its scale"] * counterpart.columns
        notes += [counterpart.note] if counterpart.note else []
        return [Mapped(part, f"{counterpart.name}-{version}{attributes}", "runtime", "; ".join(notes))]
