"""The ``litert`` backend: TFLite models of one operator, run by LiteRT's interpreter on the CPU.

A model is made once for each operator and combination of types, and resized to the sizes of a description.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.backends.arrays import Array, ArrayDevice, Call, Program, first_line
from dmlcts.backends.contract import NotSupported
from dmlcts.backends.litert.models import build, steps_of
from dmlcts.backends.litert.operators import COUNTERPARTS
from dmlcts.backends.runtimes import Counterpart, Mapped, choice, load
from dmlcts.specs import UsageError

_INSTALL = "pip install ai-edge-litert"
_LARGE = 1 << 22  # bytes of an input; an interpreter holds the memory of the largest dispatch until it is released
_KERNELS = {"default": "AUTO", "builtin": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "reference": "BUILTIN_REF"}


class LiteRtBackend:
    """Runs the operators with LiteRT."""

    name = "litert"

    def open(self, *, kernels: str = "default", threads: str = "1") -> ArrayDevice:
        """Open LiteRT's interpreter.

        Args:
            kernels: "default" lets XNNPACK compute what it can, as LiteRT does; "builtin" leaves XNNPACK away;
                "reference" takes LiteRT's reference kernels.
            threads: how many threads a model runs on.

        Raises:
            UsageError: an option has a value that means nothing.
            BackendUnavailable: the package is not there.
        """
        choice("kernels", kernels, _KERNELS)
        if not threads.isdecimal() or threads == "0":
            raise UsageError(f"the option threads is {threads!r}", "give a whole number from 1 up")
        package = load("ai_edge_litert", _INSTALL)
        interpreter = load("ai_edge_litert.interpreter", _INSTALL)
        schema, flatbuffers = load("ai_edge_litert.schema_py_generated", _INSTALL), load("flatbuffers", _INSTALL)
        options = {"kernels": kernels, "threads": threads}
        return ArrayDevice(LiteRtRuntime(str(package.__version__), interpreter, schema, flatbuffers, options))


class LiteRtRuntime:
    """LiteRT's interpreter on the CPU.

    Args:
        version: of the package.
        interpreter: its module of interpreters.
        schema: its module of TFLite's schema.
        flatbuffers: the package that writes models.
        options: those of :meth:`LiteRtBackend.open`, checked.
    """

    name = "litert"
    prefix = ""
    counterparts = COUNTERPARTS
    ranked = True  # XNNPACK takes up to six dimensions; beyond, LiteRT's own kernels compute, and have fewer types

    def __init__(
        self, version: str, interpreter: Any, schema: Any, flatbuffers: Any, options: Mapping[str, str]
    ) -> None:
        self._interpreter = interpreter
        self._schema = schema
        self._flatbuffers = flatbuffers
        self.options = options
        self.version = version
        kernels = options["kernels"]
        self.adapter = f"CPU ({platform.machine()})" + ("" if kernels == "default" else f", {kernels} kernels")
        self.rows: Sequence[Mapped] = [Mapped("sizes", "the shape that a model is resized to", "runtime")]

    def takes(self, call: Call, counterpart: Counterpart) -> None:
        """Run the model on ones.

        Raises:
            NotSupported: LiteRT has no kernel for it.
        """
        program = self.program(call, counterpart)
        arrays = [np.ones([1] * call.rank, kind) for kind in call.kinds]
        try:
            result = program(arrays, [kind.type(1) for kind in _scalar_kinds(call)])
        except Exception as error:  # RuntimeError for most, ValueError for some
            raise NotSupported(f"litert: {first_line(error)}") from error
        if result.dtype != call.result:
            raise NotSupported(f"litert: {counterpart.name} gives {result.dtype}, not {call.result}")

    def program(self, call: Call, counterpart: Counterpart) -> Program:
        """A model, resized to the sizes of each dispatch.

        Raises:
            NotSupported: LiteRT does not load it.
        """
        kept = [self._model(call, counterpart)]

        def run(arrays: Sequence[Array], scalars: Sequence[Any]) -> Array:
            model = kept.pop() if kept else self._model(call, counterpart)
            result = model.run(arrays, scalars)
            if all(array.nbytes <= _LARGE for array in arrays):
                kept.append(model)
            return result

        return run

    def _model(self, call: Call, counterpart: Counterpart) -> _Model:
        scalar_kinds = _scalar_kinds(call)
        steps = steps_of(counterpart.name, len(call.kinds) + len(scalar_kinds))
        model = build(self._schema, self._flatbuffers, steps, call.kinds, scalar_kinds, call.result, call.rank)
        resolver = getattr(self._interpreter.OpResolverType, _KERNELS[self.options["kernels"]])
        threads = int(self.options["threads"])
        try:
            return _Model(
                self._interpreter.Interpreter(
                    model_content=model, num_threads=threads, experimental_op_resolver_type=resolver
                )
            )
        except Exception as error:  # RuntimeError for most, ValueError for some
            raise NotSupported(f"litert does not load it: {first_line(error)}") from error

    def close(self) -> None:
        """Nothing is held that the collector does not release."""


class _Model:
    """A loaded model, resized where the sizes differ from those of the dispatch before."""

    def __init__(self, interpreter: Any) -> None:
        self._interpreter = interpreter
        self._inputs = [tensor["index"] for tensor in interpreter.get_input_details()]
        (self._output,) = (tensor["index"] for tensor in interpreter.get_output_details())
        self._sizes: tuple[int, ...] | None = None

    def run(self, arrays: Sequence[Array], scalars: Sequence[Any]) -> Array:
        """The result of one dispatch."""
        sizes = arrays[0].shape
        if sizes != self._sizes:
            self._sizes = None  # until it is resized
            for index in self._inputs[: len(arrays)]:
                self._interpreter.resize_tensor_input(index, sizes)
            self._interpreter.allocate_tensors()
            self._sizes = sizes
        for index, value in zip(self._inputs, (*arrays, *map(np.asarray, scalars)), strict=True):
            self._interpreter.set_tensor(index, value)
        self._interpreter.invoke()
        return np.asarray(self._interpreter.get_tensor(self._output))


def _scalar_kinds(call: Call) -> list[np.dtype[Any]]:
    return [np.dtype(np.float32) if name == "Exponent" else call.kinds[0] for name in call.scalars]
