"""The ``onnxruntime`` backend: each operator as a model of one ONNX operator, on any execution provider.

What ONNX has no operator for is not supported, ScaleBias and strides among it, because a composition would be judged as
if it were the runtime's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.backends.contract import BackendUnavailable, DeviceInfo, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.onnxruntime.models import Node, build, version_at
from dmlcts.backends.onnxruntime.operators import COUNTERPARTS
from dmlcts.backends.onnxruntime.sessions import OPTIMISATIONS, KeptSessions, loaded
from dmlcts.backends.runtimes import (
    ALIGNMENT,
    CLIP,
    DESCRIPTIONS,
    LEVEL,
    NO_SCALE_BIAS,
    ROUND,
    THRESHOLD,
    Mapped,
    bound,
    cast_bound,
    check_description,
    choice,
    is_packed,
    load,
    mapping_rows,
    part_of,
    parts,
    sample,
    types_text,
)
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables

_PROVIDERS: Mapping[str, tuple[str, str]] = {
    "CPU": ("CPUExecutionProvider", "pip install onnxruntime"),
    "CUDA": ("CUDAExecutionProvider", "pip install onnxruntime-gpu, and CUDA with cuDNN"),
    "DML": ("DmlExecutionProvider", "on Windows: pip install onnxruntime-directml"),
}
_INSTALL = "pip install onnxruntime onnx"
_LEAST_OPSET = 6
_ATTRIBUTES_UNTIL = 11  # from this opset on Clip's bounds are inputs of the tensor's type
_BROADCAST_FROM = 8  # before this opset Max does not take a scalar beside a tensor
_PROBED: dict[tuple[Any, ...], tuple[Tables, Mapping[str, frozenset[DataType]]]] = {}
"""What a process found out by loading hundreds of models, with the tables that the key's identity is of."""


class OnnxRuntimeBackend:
    """Runs the operators with ONNX Runtime."""

    name = "onnxruntime"

    def open(
        self,
        *,
        provider: str = "CPU",
        opset: str = "20",
        bounds: str = "constant",
        optimize: str = "all",
        threshold: str = "max",
        fold: str = "no",
        threads: str = "1",
    ) -> OnnxRuntimeDevice:
        """Open an execution provider.

        Args:
            provider: CPU, CUDA or DML, or the full name of another execution provider.
            opset: version of the ONNX operator set, 6 or later; Clip has FLOAT attributes until 10.
            bounds: "constant" makes Min and Max initializers of the model, "input" makes them inputs.
            optimize: graph optimisation: "off", "basic" or "all".
            threshold: "max" makes THRESHOLD Max(x, Min), "clip" makes it Clip with no maximum.
            fold: "yes" makes the input a constant too, so that an optimiser computes the result while it loads.
            threads: how many threads a model runs on; 0 leaves it to the runtime.

        Raises:
            UsageError: an option has a value that means nothing.
            BackendUnavailable: a package is missing, or the provider is not there.
        """
        for option, value, known in (
            ("bounds", bounds, ("constant", "input")),
            ("optimize", optimize, OPTIMISATIONS),
            ("threshold", threshold, ("max", "clip")),
            ("fold", fold, ("no", "yes")),
        ):
            choice(option, value, known)
        for option, value in (("opset", opset), ("threads", threads)):
            if not value.isdecimal():
                raise UsageError(f"the option {option} is {value!r}", "give a whole number")
        runtime, onnx = load("onnxruntime", _INSTALL), load("onnx", _INSTALL)
        newest = onnx.defs.onnx_opset_version()
        if not _LEAST_OPSET <= int(opset) <= newest:
            raise UsageError(f"the opset is {opset}", f"choose one from {_LEAST_OPSET} to {newest}")
        full, install = _PROVIDERS.get(provider, (provider, f"choose one of {', '.join(_PROVIDERS)}"))
        offered = runtime.get_available_providers()
        if full not in offered:
            cause = f"onnxruntime {runtime.__version__} has no {full}, only {', '.join(offered)}"
            raise BackendUnavailable(cause, install)
        options = {
            "provider": full,
            "opset": opset,
            "bounds": bounds,
            "optimize": optimize,
            "threshold": threshold,
            "fold": fold,
            "threads": threads,
        }
        return OnnxRuntimeDevice(runtime, onnx, options)


class OnnxRuntimeDevice:
    """One execution provider; a context manager.

    Args:
        runtime: the package ``onnxruntime``.
        onnx: the package ``onnx``.
        options: those of :meth:`OnnxRuntimeBackend.open`, checked, the provider by its full name.
        tables: the spec tables; the built-in ones unless given.
    """

    def __init__(self, runtime: Any, onnx: Any, options: Mapping[str, str], tables: Tables | None = None) -> None:
        self.runtime = runtime
        self.onnx = onnx
        self.options = options
        self.opset = int(options["opset"])
        self._tables = tables or load_tables()
        self._closed = False
        self._complaint = ""
        self._sessions = KeptSessions()
        self._taken_parts = self._probed()
        self._claimed = {
            name: frozenset[DataType]().union(*(self._taken_parts[part] for part in parts(table)))
            for name, table in self._tables.operators.items()
        }
        if not any(self._claimed.values()):
            raise BackendUnavailable(
                f"{options['provider']} runs none of the operators: {self._complaint}", "try another opset or provider"
            )
        self.info = DeviceInfo(
            name="onnxruntime",
            feature_level=LEVEL,
            adapter=options["provider"],
            library="onnxruntime",
            version=runtime.__version__,
            data_types=self._claimed,
            details={"options": dict(options), "onnx": onnx.__version__, "mapping": mapping_rows(self._mapping())},
        )

    def _probed(self) -> Mapping[str, frozenset[DataType]]:
        """What :meth:`_taken` finds for each part; once in a process for all devices of these options and tables."""
        key = (self.runtime, tuple(sorted(self.options.items())), id(self._tables))
        if key not in _PROBED:
            types_by_part = {
                part: self._taken(table, part) for table in self._tables.operators.values() for part in parts(table)
            }
            if not any(types_by_part.values()):
                return types_by_part  # whoever opens it again may have mended that
            _PROBED[key] = self._tables, types_by_part
        return _PROBED[key][1]

    def _taken(self, table: OperatorTable, part: str) -> frozenset[DataType]:
        """The element types on which the provider runs a part of an operator, found by loading a model of each."""
        taken = set()
        for data_type in table.data_types:
            operator = sample(table, part, data_type)
            try:
                self.session(self.model(operator, table, self.node(operator, table)))
            except (NotSupported, InvalidArgument, ExecutionFailed) as error:
                self._complaint = str(error)
            else:
                taken.add(data_type)
        return frozenset(taken)

    def _mapping(self) -> list[Mapped]:
        clip, most, rounded = (version_at(self.onnx, name, self.opset) for name in ("Clip", "Max", "Round"))
        operands = "constants of the model" if self.options["bounds"] == "constant" else "inputs of the model"
        bounds = "attributes min and max" if self.opset < _ATTRIBUTES_UNTIL else f"min and max as {operands}"
        types = {name: types_text(kinds) for name, kinds in self._claimed.items()}
        if self.options["threshold"] == "clip":
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
        rows += [row for part in self._taken_parts for row in self._mapped_part(part)]
        if self.opset >= _ATTRIBUTES_UNTIL or self.options["threshold"] == "max":
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
            Mapped("packed tensors", "the sizes of x and y", "runtime"),
            Mapped("strides that leave gaps, repeat or permute", "", "nobody", "a tensor of the runtime is packed"),
            self._memory_row(),
            DESCRIPTIONS,
        ]
        return rows

    def _memory_row(self) -> Mapped:
        if self.options["fold"] == "yes":
            return Mapped(
                "InputTensor",
                "a constant of a model made at every dispatch",
                "backend",
                "clauses on the input's memory and on dispatching again say nothing of it",
            )
        if self.options["provider"] == "CPUExecutionProvider":
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
        version = version_at(self.onnx, counterpart.name, self.opset)
        if version is None:
            return [Mapped(part, "", "nobody", f"opset {self.opset} has no {counterpart.name}")]
        attributes = "".join(f", {key}={value}" for key, value in counterpart.attributes.items())
        notes = [f"takes {types_text(self._taken_parts[part])}"]
        notes += ["patterns bound as unsigned integers"] * counterpart.patterns
        notes += ["its bool bound over UINT8"] * counterpart.truth
        notes += [counterpart.note] if counterpart.note else []
        return [Mapped(part, f"{counterpart.name}-{version}{attributes}", "runtime", "; ".join(notes))]

    def node(self, operator: OperatorDesc, table: OperatorTable) -> Node:
        """What ``operator`` is mapped to.

        Raises:
            NotSupported: nothing.
        """
        part = part_of(operator, table)
        counterpart = COUNTERPARTS.get(part)
        if counterpart is None or not counterpart.name:
            raise NotSupported(f"{part}: {counterpart.lacking if counterpart else 'mapped to nothing'}")
        if version_at(self.onnx, counterpart.name, self.opset) is None:
            raise NotSupported(f"opset {self.opset} has no {counterpart.name}")
        if "Min" in operator.attributes:
            return self._bounded(operator, counterpart.name)
        data_type = operator.tensors[table.inputs[0]].data_type
        if counterpart.only is not None and data_type not in counterpart.only:
            raise NotSupported(f"{part} on {data_type.name}: {counterpart.note}")
        if counterpart.truth and operator.tensors[table.output].data_type is not DataType.UINT8:
            raise NotSupported(f"{part}: the result of {counterpart.name} is bool, of one byte")
        return Node(
            counterpart.name, attributes=counterpart.attributes, patterns=counterpart.patterns, truth=counterpart.truth
        )

    def _bounded(self, operator: OperatorDesc, named: str) -> Node:
        """The node of an operator with Min."""
        clips = named == "Clip" or self.options["threshold"] == "clip"
        names = {"min": "Min", "max": "Max"} if "Max" in operator.attributes else {"min": "Min"}
        if clips and self.opset < _ATTRIBUTES_UNTIL:
            return Node("Clip", attributes={key: float(bound(operator, name)) for key, name in names.items()})
        if not clips and self.opset < _BROADCAST_FROM:
            raise NotSupported(f"Max of opset {self.opset} takes no scalar beside a tensor")
        values = {key: cast_bound(operator, name, operator.name != THRESHOLD) for key, name in names.items()}
        return Node("Clip" if clips else "Max", tuple(values), values)

    def model(
        self,
        operator: OperatorDesc,
        table: OperatorTable,
        node: Node,
        elements: Mapping[str, NDArray[Any]] | None = None,
    ) -> bytes:
        """The model of ``node`` with the tensors of ``operator``; ``elements`` makes the inputs constants."""
        constants = self.options["bounds"] == "constant"
        inputs = {name: operator.tensors[name] for name in table.inputs if name in operator.tensors}
        output = operator.tensors[table.output]
        return build(self.onnx, node, self.opset, inputs, output, constants=constants, elements=elements)

    def session(self, model: bytes) -> Any:
        """The loaded model.

        Raises:
            NotSupported: the runtime has no kernel for it.
            InvalidArgument: it refuses the model, as Clip-6 does where min is above max.
            ExecutionFailed: it loads it on another provider.
        """
        return loaded(self.runtime, self.options, model)

    def session_of(self, operator: OperatorDesc, table: OperatorTable, node: Node) -> Any:
        """The loaded model of ``operator``, kept for the next kernel of an equal description.

        Raises:
            NotSupported, InvalidArgument, ExecutionFailed: as in :meth:`session`.
        """
        return self._sessions.of(operator, lambda: self.session(self.model(operator, table, node)))

    def create(self, operator: OperatorDesc) -> OnnxRuntimeKernel:
        """Check ``operator`` and load a model of it; kernels of equal descriptions share what is loaded.

        Raises:
            InvalidArgument: the description breaks the rules of the tables, or the runtime refuses the model.
            NotSupported: ONNX, or this provider, cannot express it.
            ExecutionFailed: the device is closed, or the runtime loads the model on another provider.
        """
        if self._closed:
            raise ExecutionFailed("the device is closed")
        table = check_description(operator, FeatureLevel(LEVEL), self._tables)
        node = self.node(operator, table)
        for name, tensor in operator.tensors.items():
            if not is_packed(tensor):
                raise NotSupported(f"{name} has strides {list(tensor.element_strides)}; onnxruntime's are packed")
        return OnnxRuntimeKernel(self, operator, table, node)

    def close(self) -> None:
        """Refuse further work and release the models; calling it again does nothing."""
        self._closed = True
        self._sessions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class OnnxRuntimeKernel:
    """A loaded model; ``create`` of :class:`OnnxRuntimeDevice` makes it."""

    def __init__(self, device: OnnxRuntimeDevice, operator: OperatorDesc, table: OperatorTable, node: Node) -> None:
        self._device = device
        self._operator = operator
        self._table = table
        self._node = node
        self._folds = device.options["fold"] == "yes"
        self._session = None if self._folds else device.session_of(operator, table, node)
        self._closed = False

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run the model once, on the memory itself.

        Raises:
            ExecutionFailed: the kernel is closed, memory or bindings cannot be used, or the runtime failed.
        """
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        operator, node, output = self._operator, self._node, self._table.output
        may_alias = self._table.tensors[output].may_alias
        check_bindings(memory, bindings, operator.tensors, ALIGNMENT, output=output, may_alias=may_alias)
        sources = {
            name: self._view(memory, bindings, name, node.bound_as(tensor))
            for name, tensor in operator.tensors.items()
            if name != output
        }
        target = self._view(memory, bindings, output, node.result_as(operator.tensors[output]))
        try:
            session = self._session
            if session is None:
                session = self._device.session(self._device.model(operator, self._table, node, sources))
            binding = session.io_binding()
            if not self._folds:
                for name, source in sources.items():
                    self._bind(binding.bind_input, name, source)
            if self._device.options["bounds"] == "input":
                for name, value in node.values.items():
                    binding.bind_cpu_input(name, np.asarray(value))
            self._bind(binding.bind_output, "y", target)
            session.run_with_iobinding(binding)
        except ExecutionFailed:
            raise
        except Exception as error:  # as in OnnxRuntimeDevice.session
            raise ExecutionFailed(f"onnxruntime: {' '.join(str(error).split())}") from error

    def _view(
        self, memory: NDArray[np.uint8], bindings: Mapping[str, Region], name: str, dtype: np.dtype[Any]
    ) -> NDArray[Any]:
        return np.ndarray(self._operator.tensors[name].sizes, dtype, memory, bindings[name].offset)

    @staticmethod
    def _bind(bind: Any, name: str, array: NDArray[Any]) -> None:
        bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def close(self) -> None:
        """Release the model; calling it again does nothing."""
        self._session = None
        self._closed = True
