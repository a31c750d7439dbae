"""The ``onnxruntime`` backend: each operator as a model of one ONNX operator, on any execution provider.

What ONNX has no operator for is not supported, ScaleBias and strides among it, because a composition would be judged as
if it were the runtime's. A Cast to ``bool`` or from it is exact, and the mapping names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from dmlcts.backends.contract import BackendUnavailable, DeviceInfo, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.onnxruntime.explained import Explained
from dmlcts.backends.onnxruntime.kernel import OnnxRuntimeKernel
from dmlcts.backends.onnxruntime.models import ATTRIBUTES_UNTIL, Node, build, version_at
from dmlcts.backends.onnxruntime.operators import COUNTERPARTS
from dmlcts.backends.onnxruntime.providers import CPU, Provider, provider_of
from dmlcts.backends.onnxruntime.sessions import OPTIMISATIONS, KeptSessions, loaded
from dmlcts.backends.onnxruntime.taken import Seen, Taken, see
from dmlcts.backends.onnxruntime.ways import ALL_SHAPES, BOUNDS, Way, ways_of
from dmlcts.backends.runtimes import (
    LEVEL,
    THRESHOLD,
    bound,
    cast_bound,
    check_description,
    choice,
    is_packed,
    load,
    mapping_rows,
    part_of,
    parts,
)
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables

_INSTALL = "pip install onnxruntime onnx"
_LEAST_OPSET = 6
_OUTPUT_TYPE_FROM = 21  # before this opset QuantizeLinear without a zero point gives UINT8
_BROADCAST_FROM = 8  # before this opset Max does not take a scalar beside a tensor
_PROBED: dict[tuple[Any, ...], tuple[Tables, Taken]] = {}
"""What a process found out by loading hundreds of models, with the tables that the key's identity is of."""


class OnnxRuntimeBackend:
    """Runs the operators with ONNX Runtime."""

    name = "onnxruntime"

    def open(
        self,
        *,
        provider: str = "CPU",
        provider_library: str = "auto",
        provider_options: str = "",
        device: str = "",
        opset: str = "20",
        bounds: str = "auto",
        shapes: str = "auto",
        optimize: str = "all",
        threshold: str = "max",
        fold: str = "no",
        threads: str = "1",
    ) -> OnnxRuntimeDevice:
        """Open an execution provider.

        Args:
            provider: CPU, CUDA or DML, or the full name of another execution provider.
            provider_library: the library of a plugin, or "auto": the build's own provider, else the plugin's package.
            provider_options: options for the provider itself, as "key=value;key=value".
            device: the kind of device of a plugin: CPU, GPU or NPU; "" for the first.
            opset: version of the ONNX operator set, 6 or later; Clip has FLOAT attributes until 10.
            bounds: "constant" makes Min and Max initializers of the model, "input" makes them inputs; "auto": on the
                CPU constants, elsewhere inputs where the provider takes them.
            shapes: "exact" makes a model for the sizes, "dynamic" one for the rank, "row" one for a row of elements;
                "auto": exact on the CPU, elsewhere dynamic where the provider takes it, or else exact.
            optimize: graph optimisation: "off", "basic" or "all".
            threshold: "max" makes THRESHOLD Max(x, Min), "clip" makes it Clip with no maximum.
            fold: "yes" makes the input a constant too, so that an optimiser computes the result while it loads.
            threads: how many threads a model runs on; 0 leaves it to the runtime.

        Raises:
            UsageError: an option has a value that means nothing.
            BackendUnavailable: a package is missing, or the provider is not there.
        """
        for option, value, known in (
            ("bounds", bounds, ("auto", *BOUNDS)),
            ("shapes", shapes, ("auto", *ALL_SHAPES)),
            ("optimize", optimize, OPTIMISATIONS),
            ("threshold", threshold, ("max", "clip")),
            ("fold", fold, ("no", "yes")),
            ("device", device, ("", "CPU", "GPU", "NPU")),
        ):
            choice(option, value, known)
        for option, value in (("opset", opset), ("threads", threads)):
            if not value.isdecimal():
                raise UsageError(f"the option {option} is {value!r}", "give a whole number")
        runtime, onnx = load("onnxruntime", _INSTALL), load("onnx", _INSTALL)
        newest = onnx.defs.onnx_opset_version()
        if not _LEAST_OPSET <= int(opset) <= newest:
            raise UsageError(f"the opset is {opset}", f"choose one from {_LEAST_OPSET} to {newest}")
        chosen = provider_of(runtime, provider, provider_library, provider_options, device)
        plain = chosen.name == CPU or fold == "yes"
        options = {
            "provider": chosen.name,
            "opset": opset,
            "bounds": "constant" if plain and bounds == "auto" else bounds,
            "shapes": "exact" if plain and shapes == "auto" else shapes,
            "optimize": optimize,
            "threshold": threshold,
            "fold": fold,
            "threads": threads,
        }
        if fold == "yes" and options["shapes"] != "exact":
            raise UsageError("elements that are constants have their sizes in the model", "leave out shapes, or fold")
        return OnnxRuntimeDevice(runtime, onnx, options, provider=chosen)


class OnnxRuntimeDevice:
    """One execution provider; a context manager.

    Args:
        runtime: the package ``onnxruntime``.
        onnx: the package ``onnx``.
        options: those of :meth:`OnnxRuntimeBackend.open`, checked, the provider by its full name.
        tables: the spec tables; the built-in ones unless given.
        provider: the provider; the CPU's unless given.
    """

    def __init__(
        self,
        runtime: Any,
        onnx: Any,
        options: Mapping[str, str],
        tables: Tables | None = None,
        provider: Provider | None = None,
    ) -> None:
        self.runtime = runtime
        self.onnx = onnx
        self.options = options
        self.opset = int(options["opset"])
        self._provider = provider or Provider(CPU)
        self._ways = ways_of(options["shapes"], options["bounds"])
        self._tables = tables or load_tables()
        self._closed = False
        self._sessions = KeptSessions()
        self._taken = self._probed()
        self._claimed = {
            name: frozenset[DataType]().union(*(self._taken.types(part) for part in parts(table)))
            for name, table in self._tables.operators.items()
        }
        if not self._taken:
            cause = f"{self._provider.name} runs none of the operators: {self._taken.complaint}"
            raise BackendUnavailable(cause, "try another opset or provider")
        details = {"options": dict(options), "onnx": onnx.__version__}
        if self._provider.name != CPU:
            details["provider"] = dict(self._provider.details) | {"options": dict(self._provider.options)}
        if self._taken.refusals:
            details["refused"] = {message: list(what) for message, what in self._taken.refusals.items()}
        explained = Explained(onnx, self.opset, options, self._taken, self._claimed)
        self.info = DeviceInfo(
            name="onnxruntime",
            feature_level=LEVEL,
            adapter=self._provider.name,
            library="onnxruntime",
            version=runtime.__version__,
            data_types=self._claimed,
            details={**details, "mapping": mapping_rows(explained.rows())},
        )

    def _probed(self) -> Taken:
        """What the provider takes; seen once in a process, and once on a machine where it is not the CPU's."""
        identity = dict(self.options) | dict(self._provider.options) | dict(self._provider.details)
        key = (self.runtime, tuple(sorted(identity.items())), id(self._tables))
        if key in _PROBED:
            return _PROBED[key][1]
        versions = {"onnxruntime": self.runtime.__version__, "onnx": self.onnx.__version__}
        seen = Seen(identity | versions | dict(self._tables.digests)) if self._provider.name != CPU else None
        taken = (seen.read() if seen else None) or see(self._tables, self._tried)
        if taken:  # whoever opens it again may have mended that
            _PROBED[key] = self._tables, taken
            if seen is not None:
                seen.keep(taken)
        return taken

    def _tried(self, operator: OperatorDesc, table: OperatorTable) -> Way:
        """The first way in which a model of a description is loaded; nothing of it is kept."""
        node, refused = self.node(operator, table), Exception()
        for way in self._ways_of(node):
            try:
                self.session(self.model(operator, table, node, way))
            except (NotSupported, InvalidArgument, ExecutionFailed) as error:
                refused = error
            else:
                return way
        raise refused

    def _ways_of(self, node: Node) -> tuple[Way, ...]:
        """The ways that differ for a node: where it has no operands, bounds do not matter.

        OpenVINO loads a model of a scale for each row whose rows are not counted, and fails to run it.
        """
        ways = self._ways
        if node.columns:
            ways = tuple(way for way in ways if way.shapes != "dynamic") or ways
        return ways if node.values else tuple(way for way in ways if way.bounds == ways[0].bounds)

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
        there = [name for name in table.inputs if name in operator.tensors]
        untyped = counterpart.columns and len(there) < len(table.inputs) and self.opset < _OUTPUT_TYPE_FROM
        if untyped and operator.tensors[table.output].data_type is DataType.INT8:
            raise NotSupported(f"{counterpart.name} without a zero point gives UINT8 in opset {self.opset}")
        return Node(
            counterpart.name,
            attributes=counterpart.attributes,
            patterns=counterpart.patterns,
            truth=counterpart.truth,
            conditions=tuple(there[: counterpart.conditions]),
            columns=(there[0], table.output) if counterpart.columns else (),
        )

    def _bounded(self, operator: OperatorDesc, named: str) -> Node:
        """The node of an operator with Min."""
        clips = named == "Clip" or self.options["threshold"] == "clip"
        names = {"min": "Min", "max": "Max"} if "Max" in operator.attributes else {"min": "Min"}
        if clips and self.opset < ATTRIBUTES_UNTIL:
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
        way: Way,
        elements: Mapping[str, NDArray[Any]] | None = None,
    ) -> bytes:
        """The model of ``node`` with the tensors of ``operator``; ``elements`` makes the inputs constants."""
        shaped = {name: (tensor, way.in_model(name, tensor, node)) for name, tensor in operator.tensors.items()}
        inputs = {name: shaped[name] for name in table.inputs if name in shaped}
        constants = way.bounds == "constant"
        return build(self.onnx, node, self.opset, inputs, shaped[table.output], constants=constants, elements=elements)

    def session(self, model: bytes) -> Any:
        """The loaded model.

        Raises:
            NotSupported: the runtime has no kernel for it.
            InvalidArgument: it refuses the model, as Clip-6 does where min is above max.
            ExecutionFailed: it loads it on another provider.
        """
        return loaded(self.runtime, self.options, self._provider, model)

    def _session_of(self, operator: OperatorDesc, table: OperatorTable, node: Node) -> tuple[Any, Way]:
        """The loaded model of ``operator`` and its way, kept for the next kernel that a model like it serves.

        Raises:
            NotSupported, InvalidArgument, ExecutionFailed: as in :meth:`session`, where it is refused in every way.
        """
        ways = self._ways_of(node)
        known = self._taken.ways.get(part_of(operator, table), {}).get(operator.tensors[table.inputs[0]].data_type)
        for way in ways[ways.index(known) if known in ways else 0 :]:
            try:
                key = way.key(node, operator.tensors)
                return self._sessions.of(key, lambda: self.session(self.model(operator, table, node, way))), way  # noqa: B023 - called at once
            except (NotSupported, InvalidArgument):
                if way == ways[-1]:
                    raise
        raise NotSupported("there is no way to make it a model")

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
        folds = self.options["fold"] == "yes"
        session, way = (None, self._ways[0]) if folds else self._session_of(operator, table, node)

        def folded(elements: Mapping[str, NDArray[Any]]) -> Any:
            return self.session(self.model(operator, table, node, way, elements))

        return OnnxRuntimeKernel(operator, table, node, way, session, folded)

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
