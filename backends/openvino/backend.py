"""The ``openvino`` backend: models of one operation, compiled by one of OpenVINO's plugins.

A model is compiled once for each operation and combination of types: its sizes are dynamic, and bounds are inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.backends.arrays import Array, ArrayDevice, Call, Program, first_line
from dmlcts.backends.contract import BackendUnavailable, NotSupported
from dmlcts.backends.openvino.operations import COUNTERPARTS, function_of
from dmlcts.backends.runtimes import Counterpart, Mapped, choice, load
from dmlcts.specs import UsageError

_INSTALL = "pip install openvino"
_OPSET = "openvino.opset16"  # the first with Identity
_CLAMPS = ("minmax", "clamp")
_SHAPES = ("flat", "own")
_MODES = {"accuracy": "ACCURACY", "performance": "PERFORMANCE"}
_MOST_KEPT = 256  # compiled models of constant bounds, some hundred kilobytes each
_LARGE = 1 << 22  # bytes of an input; a compiled model holds the memory of its last run until it is released itself


class OpenVinoBackend:
    """Runs the operators with OpenVINO."""

    name = "openvino"

    def open(
        self,
        *,
        device: str = "CPU",
        clamp: str = "minmax",
        shapes: str = "flat",
        mode: str = "accuracy",
        threads: str = "1",
    ) -> ArrayDevice:
        """Open one of OpenVINO's devices.

        Args:
            device: CPU, GPU or NPU, or another name that OpenVINO lists, such as GPU.1.
            clamp: "minmax" makes CLIP Minimum(Max, Maximum(Min, x)), as OpenVINO's converter of ONNX does; "clamp"
                the operation Clamp, whose bounds are constants: every pair of them is a model to compile.
            shapes: "flat" passes arrays of one dimension; "own" passes the sizes of the description.
            mode: "accuracy" computes in the model's own types; "performance" lets the plugin choose, BF16 perhaps.
            threads: how many threads the CPU computes with; 0 leaves it to OpenVINO.

        Raises:
            UsageError: an option has a value that means nothing.
            BackendUnavailable: the package or the device is not there.
        """
        choice("clamp", clamp, _CLAMPS)
        choice("shapes", shapes, _SHAPES)
        choice("mode", mode, _MODES)
        if not threads.isdecimal():
            raise UsageError(f"the option threads is {threads!r}", "give a whole number")
        openvino = load("openvino", _INSTALL)
        opset = load(_OPSET, f"{_INSTALL}, 2025.0 or newer")
        core = openvino.Core()
        known = core.available_devices
        if device not in known:
            cause = f"openvino {_release(openvino)} finds no device {device}, only {', '.join(known) or 'none'}"
            raise BackendUnavailable(cause, "install the device's driver, or choose one of these")
        options = {"device": device, "clamp": clamp, "shapes": shapes, "mode": mode, "threads": threads}
        return ArrayDevice(OpenVinoRuntime(openvino, opset, core, options))


def _release(openvino: Any) -> str:
    return str(openvino.__version__).partition("-")[0]


class OpenVinoRuntime:
    """OpenVINO on one device.

    Args:
        openvino: the package.
        opset: its module of operations.
        core: its ``Core``.
        options: those of :meth:`OpenVinoBackend.open`, checked.
    """

    name = "openvino"
    prefix = ""
    ranked = False

    def __init__(self, openvino: Any, opset: Any, core: Any, options: Mapping[str, str]) -> None:
        self._openvino = openvino
        self._opset = opset
        self._core = core
        self.options = options
        self.version = _release(openvino)
        self.adapter = str(core.get_property(options["device"], "FULL_DEVICE_NAME"))
        self.counterparts = _counterparts(options["clamp"])
        flat = options["shapes"] == "flat"
        self.rows: Sequence[Mapped] = [
            Mapped("sizes", "one dynamic dimension", "backend", "clauses on shapes say nothing of the runtime")
            if flat
            else Mapped("sizes", "a dynamic dimension for each", "runtime"),
        ]
        self._settings: dict[str, Any] = {"EXECUTION_MODE_HINT": _MODES[options["mode"]], "NUM_STREAMS": 1}
        if options["device"] == "CPU" and options["threads"] != "0":
            self._settings["INFERENCE_NUM_THREADS"] = int(options["threads"])

    def takes(self, call: Call, counterpart: Counterpart) -> None:
        """Make the model, without compiling it.

        Raises:
            NotSupported: OpenVINO refuses the types, or gives a result of another.
        """
        self._model(call, counterpart, 1, [0] * len(call.scalars))

    def program(self, call: Call, counterpart: Counterpart) -> Program:
        """Models that are compiled once for each rank.

        Raises:
            NotSupported: the plugin does not compile the operation on these types.
        """
        flat, constant = self.options["shapes"] == "flat", counterpart.name == "Clamp"
        kept: dict[tuple[Any, ...], Any] = {}

        def request(rank: int, scalars: Sequence[Any]) -> Any:
            key = (rank, *(np.asarray(value).tobytes() for value in scalars if constant))
            if key not in kept:
                if len(kept) >= _MOST_KEPT:
                    del kept[next(iter(kept))]
                kept[key] = self._compiled(self._model(call, counterpart, rank, scalars))
            return kept[key]

        if not constant:
            request(1, ())

        def run(arrays: Sequence[Array], scalars: Sequence[Any]) -> Array:
            laid_out = [array.reshape(-1) for array in arrays] if flat else list(arrays)
            made = request(laid_out[0].ndim, scalars)
            operands = [*laid_out] if constant else [*laid_out, *map(np.asarray, scalars)]
            (result,) = made.infer(dict(enumerate(operands))).values()
            if any(array.nbytes > _LARGE for array in laid_out):
                kept.clear()
            return np.array(result)

        return run

    def _compiled(self, model: Any) -> Any:
        try:
            compiled = self._core.compile_model(model, self.options["device"], self._settings)
        except RuntimeError as error:
            raise NotSupported(f"openvino does not compile it: {_text_of(error)}") from error
        return compiled.create_infer_request()

    def _model(self, call: Call, counterpart: Counterpart, rank: int, scalars: Sequence[Any]) -> Any:
        openvino, opset = self._openvino, self._opset
        try:
            arrays = [opset.parameter([-1] * rank, kind) for kind in call.kinds]
            if counterpart.name == "Clamp":
                node, bounds = opset.clamp(arrays[0], *map(float, scalars)), []
            else:
                kinds = [np.dtype(np.float32) if name == "Exponent" else call.kinds[0] for name in call.scalars]
                bounds = [opset.parameter([], kind) for kind in kinds]
                node = function_of(opset, counterpart)([*arrays, *bounds])
        except (RuntimeError, TypeError) as error:
            raise NotSupported(f"openvino: {_text_of(error)}") from error
        kind = np.dtype(node.get_element_type().to_dtype())
        if kind != call.result:
            raise NotSupported(f"openvino: {counterpart.name} gives {kind}, not {call.result}")
        return openvino.Model([node], [*arrays, *bounds])

    def close(self) -> None:
        """Nothing is held that the collector does not release."""


def _text_of(error: BaseException) -> str:
    """What OpenVINO says, without the place in its own source that it begins with."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    distinguishing = [line for line in lines if not line.startswith(("Exception from ", "While validating", "Check "))]
    return (distinguishing or [first_line(error)])[0]


def _counterparts(clamp: str) -> Mapping[str, Counterpart]:
    if clamp == "minmax":
        return COUNTERPARTS
    clamped = Counterpart("Clamp", note="Min and Max are constants, as doubles")
    return {**COUNTERPARTS, "CLIP": clamped, "CLIP1": clamped}
