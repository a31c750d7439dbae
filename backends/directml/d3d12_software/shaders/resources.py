"""What a shader binds, read from its metadata, and the formats that typed views can have."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.ir import split_arguments

_SHAPES = {10: "typed", 11: "raw", 12: "structured"}
_SHAPE_NAMES = {
    1: "Texture1D",
    2: "Texture2D",
    3: "Texture2DMS",
    4: "Texture3D",
    5: "TextureCube",
    6: "Texture1DArray",
    7: "Texture2DArray",
    8: "Texture2DMSArray",
    9: "TextureCubeArray",
    13: "CBuffer",
    14: "Sampler",
    15: "TBuffer",
    16: "RTAccelerationStructure",
    17: "FeedbackTexture2D",
    18: "FeedbackTexture2DArray",
}
_COMPONENT_TAG, _STRIDE_TAG = 0, 1
_THREADS_TAG = 4
_NODE = re.compile(r"^!(\w[\w.$-]*|\d+) = (?:distinct )?!\{(.*)\}$")


@dataclass(frozen=True, slots=True)
class Format:
    """A DXGI format as typed views use it: equal components side by side.

    Args:
        name: without ``DXGI_FORMAT_``.
        kind: LLVM's type of a component.
        low: the least number it holds, for integers; None for floating point.
        high: the greatest.
        components: how many.
    """

    name: str
    kind: str
    low: int | None = None
    high: int | None = None
    components: int = 1

    @property
    def signed(self) -> bool:
        """Whether its numbers are signed integers."""
        return self.low is not None and self.low < 0


FORMATS: dict[int, Format] = {
    2: Format("R32G32B32A32_FLOAT", "float", components=4),
    10: Format("R16G16B16A16_FLOAT", "half", components=4),
    41: Format("R32_FLOAT", "float"),
    42: Format("R32_UINT", "i32", 0, 0xFFFFFFFF),
    43: Format("R32_SINT", "i32", -(1 << 31), (1 << 31) - 1),
    54: Format("R16_FLOAT", "half"),
    57: Format("R16_UINT", "i16", 0, 0xFFFF),
    59: Format("R16_SINT", "i16", -(1 << 15), (1 << 15) - 1),
    62: Format("R8_UINT", "i8", 0, 0xFF),
    64: Format("R8_SINT", "i8", -(1 << 7), (1 << 7) - 1),
}


def typed_format(number: int) -> Format:
    """The format of that DXGI_FORMAT number.

    Raises:
        UnsupportedShader: naming it.
    """
    try:
        return FORMATS[number]
    except KeyError:
        known = ", ".join(f"{dxgi_format.name} ({number})" for number, dxgi_format in FORMATS.items())
        raise UnsupportedShader(f"DXGI_FORMAT {number} in a typed view (it knows {known})") from None


@dataclass(frozen=True, slots=True)
class Resource:
    """One binding range of a shader.

    Args:
        kind: ``structured``, ``typed``, ``raw`` or ``constants``.
        register: the first register of the range.
        count: registers in it; -1 if unbounded.
        space: the register space.
        stride: bytes of a structure, or of the whole buffer for ``constants``; 0 otherwise.
        component: DXIL's number of the type of a typed view's components; 0 otherwise.
    """

    kind: str
    register: int
    count: int
    space: int
    stride: int
    component: int = 0

    @property
    def likely_format(self) -> int:
        """A format that a typed view could have, to try a translation with before there is a view."""
        return {8: 54, 9: 41}.get(self.component, 62)


@dataclass(frozen=True, slots=True)
class Interface:
    """What a shader's metadata declares: entry function, group size, resources."""

    entry: str
    threads: tuple[int, int, int]
    views: tuple[Resource, ...]
    constants: tuple[Resource, ...]


class Metadata:
    """The metadata of a module in text form."""

    def __init__(self, text: str) -> None:
        self._nodes = {match[1]: match[2] for line in text.splitlines() if (match := _NODE.match(line))}

    def items(self, reference: str) -> list[str]:
        """The operands of a node, e.g. of ``!7`` or ``!dx.resources``; none if there is no such node."""
        return split_arguments(self._nodes.get(reference.lstrip("!"), ""))

    def numbers(self, reference: str) -> list[int]:
        """The integers among the operands of a node."""
        return [number for item in self.items(reference) if (number := _integer(item)) is not None]

    def interface(self) -> Interface:
        """Read the entry point and the resources.

        Raises:
            UnsupportedShader: several entry points, or a resource that is no buffer.
        """
        entries = self.items("!dx.entryPoints")
        if len(entries) != 1:
            raise UnsupportedShader(f"a module with {len(entries)} entry points")
        function, _, _, resources, properties = self.items(entries[0])
        views: list[Resource] = []
        constants: list[Resource] = []
        if resources != "null":
            reads, writes, buffers, samplers = self.items(resources)
            if reads != "null":
                raise UnsupportedShader("shader resource views (SRV)")
            if samplers != "null":
                raise UnsupportedShader("samplers")
            views = [self._view(record) for record in self.items(writes)]
            constants = [self._constants(record) for record in self.items(buffers)]
        threads = self._threads(properties)
        return Interface(function.rsplit("@", 1)[1], threads, tuple(views), tuple(constants))

    def _threads(self, properties: str) -> tuple[int, int, int]:
        operands = self.items(properties)
        for tag, value in zip(operands[::2], operands[1::2], strict=False):
            if _integer(tag) == _THREADS_TAG:
                x, y, z = self.numbers(value)
                return x, y, z
        raise UnsupportedShader("a compute shader without a thread group size")

    def _view(self, record: str) -> Resource:
        _, _, _, space, register, count, shape, _, counter, ordered, tags = self.items(record)
        number = _integer(shape)
        kind = _SHAPES.get(number or 0)
        if kind is None:
            raise UnsupportedShader(f"unordered access views of kind {_SHAPE_NAMES.get(number or 0, number)}")
        if counter.endswith("true"):
            raise UnsupportedShader("unordered access views with a counter")
        if ordered.endswith("true"):
            raise UnsupportedShader("rasterizer ordered views")
        pairs = [_number(item) for item in self.items(tags)]
        extra = dict(zip(pairs[::2], pairs[1::2], strict=True))
        stride, component = extra.get(_STRIDE_TAG, 0), extra.get(_COMPONENT_TAG, 0)
        return Resource(kind, _number(register), _number(count), _number(space), stride, component)

    def _constants(self, record: str) -> Resource:
        _, _, _, space, register, count, size, *_ = self.items(record)
        return Resource("constants", _number(register), _number(count), _number(space), _number(size))


def _integer(item: str) -> int | None:
    kind, _, value = item.rpartition(" ")
    if kind == "i1":
        return int(value == "true")
    return int(value) if kind.startswith("i") else None


def _number(item: str) -> int:
    number = _integer(item)
    if number is None:
        raise UnsupportedShader(f"metadata {item!r} where a number should be")
    return number
