"""Shaders ready to dispatch, and what makes them from containers."""

from __future__ import annotations

import ctypes
import hashlib
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from dmlcts.backends.directml.d3d12_software.bytecode.rewriting import rewritten
from dmlcts.backends.directml.d3d12_software.codegen.codegen import Code, in_values, object_code, processor
from dmlcts.backends.directml.d3d12_software.codegen.kernel import HEADER, VIEW
from dmlcts.backends.directml.d3d12_software.codegen.translation import translate
from dmlcts.backends.directml.d3d12_software.shaders.bitcode import disassemble
from dmlcts.backends.directml.d3d12_software.shaders.cache import Cache
from dmlcts.backends.directml.d3d12_software.shaders.container import older_program, program
from dmlcts.backends.directml.d3d12_software.shaders.ir import size_of
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.backends.directml.d3d12_software.shaders.plan import Plan, plan
from dmlcts.backends.directml.d3d12_software.shaders.resources import Interface, Resource, typed_format
from dmlcts.backends.processors import usable_processors

# From here on a dispatch is worth the time of waking other threads.
SPLIT_THREADS = 1 << 16
_FULL = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class View:
    """An unordered access view of a stretch of memory.

    Args:
        address: of its first byte.
        size: bytes; what lies beyond reads as 0 and is not written.
        kind: ``structured``, ``typed`` or ``raw``.
        stride: bytes of a structure; unused by other kinds.
        format: the DXGI_FORMAT of a typed view; unused by other kinds.
    """

    address: int
    size: int
    kind: str
    stride: int
    format: int


class WrongBinding(ValueError):  # noqa: N818 - named for what is wrong, as the contract names its errors
    """What is bound does not suit what the shader declares."""


class Shader:
    """A compute shader; thread-safe.

    Args:
        build: what compiles it for the formats that its typed views turn out to have.

    Attributes:
        interface: what the shader declares.
        resources: the shader's views and constants.
        threads: threads of a group in x, y and z.
    """

    def __init__(self, build: _Build) -> None:
        self._build = build
        self.interface = build.interface
        self.resources: tuple[Resource, ...] = (*self.interface.views, *self.interface.constants)
        self.threads = self.interface.threads
        self._by_register = [build.at(register) for register in range(build.registers)]
        self._typed = [
            place for place, resource in enumerate(self._by_register) if resource and resource.kind == "typed"
        ]
        self._declared_bytes = max((constant.stride for constant in self.interface.constants), default=0)
        self._constant_bytes = 16 * build.rows
        self._variants: dict[tuple[int, ...], _Variant] = {}
        self._checked: set[tuple[tuple[str, int, int], ...]] = set()
        self._lock = threading.Lock()
        if not self._typed:
            self._variant(())

    def dispatch(
        self, groups: tuple[int, int, int], root_constants: bytes | bytearray | memoryview, views: Sequence[View]
    ) -> None:
        """Run ``groups`` thread groups and wait for them.

        Args:
            groups: in x, y and z.
            root_constants: the constants of b0; what is missing reads as 0.
            views: one for each register from u0.

        Raises:
            WrongBinding: a view is missing or of another kind or stride than declared.
            UnsupportedShader: the format of a typed view is not supported.
        """
        size_x, size_y, size_z = self.threads
        x, y, z = groups[0] * size_x, groups[1] * size_y, groups[2] * size_z
        if not (x and y and z):
            return
        kinds = tuple([(view.kind, view.stride, view.format) for view in views])
        if kinds not in self._checked:
            self._check(views)
            self._checked.add(kinds)
        formats = tuple([views[place].format for place in self._typed])
        variant = self._variants.get(formats) or self._variant(formats)
        tail = b"".join(
            [
                VIEW.pack(view.address, min(view.size // unit, _FULL))
                for view, unit in zip(views, variant.units, strict=False)
            ]
        )
        constants = bytes(root_constants)[: self._declared_bytes]
        tail += constants.ljust(self._constant_bytes, b"\0")
        if x * y * z < SPLIT_THREADS or x < 2 * size_x:
            variant.function(HEADER.pack(0, x, 0, y, 0, z) + tail)
            return
        workers = _workers()
        share = -(-groups[0] // workers) * size_x
        futures = [
            _pool().submit(variant.function, HEADER.pack(start, min(start + share, x), 0, y, 0, z) + tail)
            for start in range(share, x, share)
        ]
        variant.function(HEADER.pack(0, share, 0, y, 0, z) + tail)
        for future in futures:
            future.result()

    def _check(self, views: Sequence[View]) -> None:
        for register, resource in enumerate(self._by_register):
            if resource is None:
                continue
            if register >= len(views):
                raise WrongBinding(f"the shader declares u{register}, but {len(views)} views are bound")
            view = views[register]
            if view.kind != resource.kind:
                raise WrongBinding(f"u{register} is declared {resource.kind}, but a {view.kind} view is bound")
            if resource.kind == "structured" and view.stride != resource.stride:
                raise WrongBinding(
                    f"u{register} is declared with stride {resource.stride}, but one of stride {view.stride} is bound"
                )

    def _variant(self, formats: tuple[int, ...]) -> _Variant:
        with self._lock:
            variant = self._variants.get(formats)
            if variant is None:
                chosen = dict(zip(self._typed, formats, strict=True))
                units = []
                for register, resource in enumerate(self._by_register):
                    if register in chosen:
                        form = typed_format(chosen[register])
                        units.append(size_of(form.kind) * form.components)
                    else:
                        units.append((resource.stride if resource else 0) or 1)
                variant = _Variant(Code(self._build.object_for(chosen)), tuple(units))
                self._variants[formats] = variant
            return variant


class _Variant:
    """Machine code for one choice of typed formats."""

    def __init__(self, code: Code, units: tuple[int, ...]) -> None:
        self._code = code  # keeps the memory of the function
        self.units = units
        # A bytes object is passed by its address; ctypes lets other Python threads run meanwhile.
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(code.address)


class _Build:
    """One shader under one personality: its plan, from the cache or not, and its object code."""

    def __init__(self, container: bytes, digest: str, personality: Personality, cache: Cache) -> None:
        self._container = container
        self._personality = personality
        self._cache = cache
        self._key = f"{digest}\n{personality.describe()}\n{_environment()}"
        self._plan: Plan | None = None
        kept = cache.get(self._name("interface"))
        if kept is None:
            self.interface = self._planned().interface
            # Whatever the shader holds that is not supported is to be found now, and not at its first dispatch.
            tried = {
                place: view.likely_format
                for view in self.interface.views
                if view.kind == "typed"
                for place in range(view.register, view.register + view.count)
            }
            if tried:
                translate(self._planned(), personality, tried)
            cache.put(self._name("interface"), json.dumps(asdict(self.interface)).encode())
        else:
            self.interface = _interface(json.loads(kept))
        declared = Plan("", self.interface)
        self.registers, self.rows, self.at = declared.registers, declared.rows, declared.at

    def object_for(self, formats: dict[int, int]) -> bytes:
        """Object code for the formats of the typed views."""
        name = self._name(json.dumps(formats, sort_keys=True))
        kept = self._cache.get(name)
        if kept is None:
            kept = object_code(translate(self._planned(), self._personality, formats))
            self._cache.put(name, kept)
        return kept

    def _planned(self) -> Plan:
        if self._plan is None:
            older = older_program(self._container)
            if older is None:
                self._plan = plan(disassemble(program(self._container).bitcode))
            else:
                made = rewritten(older)
                self._plan = Plan(in_values(made.text), made.interface)
        return self._plan

    def _name(self, part: str) -> str:
        return hashlib.sha256(f"{self._key}\n{part}".encode()).hexdigest()


class ShaderCompiler:
    """Makes shaders of one personality.

    Args:
        personality: the arithmetic.
        cache_folder: where compiled code is kept between processes; None keeps it in memory only.
    """

    def __init__(self, personality: Personality, cache_folder: Path | None) -> None:
        self.personality = personality
        self._cache = Cache(cache_folder)
        self._shaders: dict[str, Shader] = {}
        self._lock = threading.Lock()

    def compile(self, container: bytes) -> Shader:
        """The shader in ``container``; the same object for the same bytes.

        Raises:
            BadContainer: the bytes are no container, or a damaged one.
            UnsupportedShader: the shader needs something that is not supported; the error names it.
        """
        digest = hashlib.sha256(container).hexdigest()
        shader = self._shaders.get(digest)
        if shader is None:
            with self._lock:
                shader = self._shaders.get(digest)
                if shader is None:
                    shader = Shader(_Build(container, digest, self.personality, self._cache))
                    self._shaders[digest] = shader
        return shader


@cache
def compiler_of(personality: Personality, cache_folder: Path | None) -> ShaderCompiler:
    """The compiler of that personality in this process: devices that follow each other share its shaders.

    A shader holds nothing of a device, and nothing changes it once it is made.
    """
    return ShaderCompiler(personality, cache_folder)


def _interface(kept: dict[str, Any]) -> Interface:
    views, constants = ([Resource(**fields) for fields in kept[name]] for name in ("views", "constants"))
    return Interface(str(kept["entry"]), tuple(kept["threads"]), tuple(views), tuple(constants))


@cache
def _environment() -> str:
    """All that compiled code depends on beside the shader: this package's text, LLVM, the processor."""
    own = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        own.update(path.read_bytes())
    version = ".".join(map(str, llvm.llvm_version_info))
    return "\n".join((own.hexdigest(), llvmlite.__version__, version, llvm.get_process_triple(), *processor()))


@cache
def _workers() -> int:
    return usable_processors()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, _workers() - 1), thread_name_prefix="dmlcts-shader")
