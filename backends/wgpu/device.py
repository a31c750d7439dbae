"""Opening an adapter, and the pipelines that are compiled for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dmlcts.backends.contract import (
    BackendUnavailable,
    BatchStep,
    DeviceInfo,
    DeviceLost,
    ExecutionFailed,
    InvalidArgument,
)
from dmlcts.backends.descriptions import checked_table
from dmlcts.backends.wgpu.adapters import Adapter, choose, find_adapters, load_wgpu
from dmlcts.backends.wgpu.batch import run_batch
from dmlcts.backends.wgpu.elements import Element, elements
from dmlcts.backends.wgpu.faults import faults_translated
from dmlcts.backends.wgpu.kernel import WgpuKernel
from dmlcts.backends.wgpu.layout import Axes, Limits
from dmlcts.backends.wgpu.open_device import Compiled
from dmlcts.backends.wgpu.programs import OPERATORS, Program, program_of
from dmlcts.backends.wgpu.resources import Resources
from dmlcts.backends.wgpu.shaders import GROUP, Shader, prepared_folder
from dmlcts.backends.wgpu.stream import patterns_source
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, UsageError
from dmlcts.specs.loading import load_tables


class WgpuBackend:
    """Runs the operators on a GPU through wgpu-py."""

    name = "wgpu"

    def open(
        self,
        *,
        adapter: str = "",
        power: str = "high",
        float16: str = "auto",
        int64: str = "auto",
        builtin: str = "no",
        dump: str = "",
        feature_level: str | FeatureLevel = "6.4",
    ) -> WgpuDevice:
        """Open an adapter.

        Args:
            adapter: its number in wgpu's list, or a part of its name; "" for the best that is not OpenGL.
            power: "high" prefers a discrete GPU, "low" an integrated one.
            float16: "native" or "emulated" in FLOAT32; "auto" takes the native one where there is one.
            int64: "native" or "emulated" in pairs of 32-bit words; "auto" likewise.
            builtin: "yes" uses WGSL's clamp, round and trunc.
            dump: a folder that every shader is written to.
            feature_level: the level to claim; what it does not list is refused.

        Raises:
            BackendUnavailable: there is no wgpu, no adapter, or not the feature that was asked for.
            UsageError: an option's value makes no sense.
        """
        level = FeatureLevel.parse(feature_level)
        for option, value in (("float16", float16), ("int64", int64)):
            if value not in ("auto", "native", "emulated"):
                raise UsageError(f"{option} is {value!r}", f"give -o {option}=native or -o {option}=emulated")
        if builtin not in ("yes", "no"):
            raise UsageError(f"builtin is {builtin!r}", "give -o builtin=yes or -o builtin=no")
        folder = prepared_folder(dump) if dump else None
        wgpu = load_wgpu()
        chosen = choose(find_adapters(wgpu), adapter, power)
        # D3D12 offers 64-bit integers, but not in storage buffers (gfx-rs/wgpu issues 5857 and 6081).
        native = {
            "float16": _native(chosen, "float16", float16, "shader-f16"),
            "int64": _native(chosen, "int64", int64, "shader-int64", unless="D3D12"),
        }
        known = elements(native_float16=native["float16"], native_int64=native["int64"])
        return WgpuDevice(wgpu, chosen, known, level, builtin=builtin == "yes", dump=folder)


def _native(adapter: Adapter, option: str, wanted: str, feature: str, unless: str = "") -> bool:
    offered = feature in adapter.handle.features
    if wanted == "native" and not offered:
        cause = f"the adapter {adapter.name!r} does not offer {feature}"
        raise BackendUnavailable(cause, f"leave -o {option}=native out, and it is emulated")
    return wanted == "native" or (wanted == "auto" and offered and adapter.backend != unless)


class WgpuDevice:
    """An adapter, claiming ``level``; a context manager. :meth:`WgpuBackend.open` makes it."""

    def __init__(
        self,
        wgpu: Any,
        adapter: Adapter,
        known: Mapping[DataType, Element],
        level: FeatureLevel,
        *,
        builtin: bool,
        dump: Path | None,
    ) -> None:
        self._level = level
        self._tables = load_tables()
        self._elements = known
        self._builtin = builtin
        self._dump = dump
        self.wgpu = wgpu
        self._compiled: dict[Shader, Compiled] = {}
        self._layouts: dict[int, Any] = {}  # of bind groups, by the number of sources
        self._patterns: dict[int, tuple[Any, Any]] = {}  # pipelines and layouts, by the bytes of an element
        self._closed = False
        self._lost = ""
        self.turn = threading.Lock()  # the buffers serve one dispatch at a time, whichever thread it is from
        limits = adapter.handle.limits
        alignment = max(limits["min-storage-buffer-offset-alignment"], 16)
        self.binding_limits = Limits(limits["max-storage-buffer-binding-size"] // 16 * 16, alignment)
        self.most_groups = int(limits["max-compute-workgroups-per-dimension"])
        try:
            features = sorted({element.feature for element in known.values()} - {""})
            self.handle = adapter.handle.request_device_sync(required_features=features)
            self.resources = Resources(wgpu, self.handle, int(limits["max-buffer-size"]))
        except Exception as error:
            cause = f"the adapter {adapter.name!r} gives no device: {error}"
            raise BackendUnavailable(cause, "choose another with -o adapter=NAME, or mend its driver") from error
        self.info = _described(wgpu, adapter, known, level, builtin, self._tables.operators)

    def create(self, operator: OperatorDesc) -> WgpuKernel:
        """Check ``operator`` against the rules of the claimed level and compile its shader.

        Raises:
            InvalidArgument: it breaks rules; the message gives each clause and what is wrong.
            ExecutionFailed: the device is closed, or the shader is not accepted.
            DeviceLost: the adapter is gone.
            MemoryError: a tensor is beyond what a buffer of the adapter can hold.
        """
        self.check_open()
        table = checked_table(operator, self._level, self._tables, zero_output_strides=False)
        if table.operator not in OPERATORS:
            raise InvalidArgument(f"the wgpu backend has no {table.operator}")
        for tensor in operator.tensors.values():
            self.resources.check(tensor.total_size_in_bytes)
        named = OperatorDesc(table.operator, operator.tensors, operator.attributes)
        inputs = [name for name in table.inputs if name in operator.tensors]
        program = program_of(named, inputs, table.output, self._elements)
        may_alias, alignment = table.tensors[table.output].may_alias, self._tables.limits["offset_alignment"]
        return WgpuKernel(self, operator, program, table.output, may_alias, alignment)

    def batch(self, steps: Sequence[BatchStep]) -> list[Exception | None]:
        """Do what the steps say, with one submission for all dispatches; see ``BatchingDevice`` of the contract.

        Raises:
            ExecutionFailed, DeviceLost, MemoryError: as dispatches do.
        """
        return run_batch(self, steps)

    def compiled(self, program: Program, axes: Axes) -> Compiled:
        """The shader that computes ``program`` on elements laid out as ``axes`` say, compiled once.

        Raises:
            ExecutionFailed: it is not accepted.
            DeviceLost: the adapter is gone.
        """
        shader = Shader.of(program, axes, self._builtin)
        compiled_shader = self._compiled.get(shader)
        if compiled_shader is None:
            text = shader.source()
            if self._dump is not None:
                self._dump.joinpath(f"{shader.slug}.wgsl").write_text(text, encoding="utf-8")
            with faults_translated(f"compiling the shader '{shader.title}'"):
                module = self.handle.create_shader_module(code=text, label=shader.slug)
                layout = self._layout(len(shader.sources))
                pipeline = self.handle.create_compute_pipeline(
                    layout=self.handle.create_pipeline_layout(bind_group_layouts=[layout]),
                    compute={"module": module, "entry_point": "main"},
                )
            compiled_shader = self._compiled[shader] = Compiled(shader, pipeline, layout)
        return compiled_shader

    def _layout(self, sources: int) -> Any:
        """The layout of a bind group: parameters, target, sources."""
        if sources not in self._layouts:
            # The sources are bound as writable too: wgpu refuses a buffer that is bound read-only beside it.
            kinds = ["uniform", *["storage"] * (1 + sources)]
            visible = self.wgpu.ShaderStage.COMPUTE
            self._layouts[sources] = self.handle.create_bind_group_layout(
                entries=[
                    {"binding": number, "visibility": visible, "buffer": {"type": kind}}
                    for number, kind in enumerate(kinds)
                ]
            )
        return self._layouts[sources]

    def patterns(self, itemsize: int) -> tuple[Any, Any]:
        """The pipeline that writes consecutive patterns of so many bytes, and the layout of its bind group."""
        if itemsize not in self._patterns:
            text = patterns_source(itemsize)
            if self._dump is not None:
                self._dump.joinpath(f"patterns-{8 * itemsize}.wgsl").write_text(text, encoding="utf-8")
            layout = self._layout(0)
            pipeline = self.handle.create_compute_pipeline(
                layout=self.handle.create_pipeline_layout(bind_group_layouts=[layout]),
                compute={"module": self.handle.create_shader_module(code=text), "entry_point": "main"},
            )
            self._patterns[itemsize] = pipeline, layout
        return self._patterns[itemsize]

    def groups(self, invocations: int) -> tuple[int, int]:
        """Workgroups along x and y that hold at least as many invocations."""
        needed = -(-invocations // GROUP)
        rows = -(-needed // self.most_groups)
        return -(-needed // rows), rows

    def check_open(self) -> None:
        """Refuse further work on a device that is lost or closed.

        Raises:
            DeviceLost: the device is lost.
            ExecutionFailed: it was closed.
        """
        if self._lost:
            raise DeviceLost(self._lost)
        if self._closed:
            raise ExecutionFailed("the device is closed")

    def lose(self, why: str) -> None:
        """Remember that the device is lost, so that nothing is submitted to it again."""
        self._lost = why

    def close(self) -> None:
        """Free the device; calling it again does nothing."""
        if not self._closed:
            self._closed = True
            self._compiled.clear()
            self._patterns.clear()
            self.resources.close()
            self.handle.destroy()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _described(
    wgpu: Any,
    adapter: Adapter,
    known: Mapping[DataType, Element],
    level: FeatureLevel,
    builtin: bool,
    operators: Mapping[str, Any],
) -> DeviceInfo:
    lacking = {name: frozenset[DataType]() for name in operators if name not in OPERATORS}
    native = ".".join(map(str, getattr(wgpu.backends.wgpu_native, "lib_version_info", ()))) or "unknown"
    return DeviceInfo(
        name="wgpu",
        feature_level=level,
        adapter=f"{adapter.name} (software)" if adapter.software else adapter.name,
        driver=adapter.driver,
        library="wgpu",
        version=str(wgpu.__version__),
        data_types=lacking or None,
        details={
            "adapter_type": adapter.kind,
            "backend_type": adapter.backend,
            "software": adapter.software,
            "vendor": str(adapter.info.get("vendor", "")),
            "vendor_id": int(adapter.info.get("vendor_id", 0)),
            "device_id": int(adapter.info.get("device_id", 0)),
            "wgpu_native": native,
            "float16": known[DataType.FLOAT16].path,
            "int64": known[DataType.INT64].path,
            "builtin": builtin,
            "streams": True,
            "batches": True,
            "largest_binding": int(adapter.handle.limits["max-storage-buffer-binding-size"]),
            "largest_buffer": int(adapter.handle.limits["max-buffer-size"]),
        },
    )
