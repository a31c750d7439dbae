"""The container that holds a shader: parts behind a table of offsets, one of them the DXIL program.

The layout is that of DirectXShaderCompiler's DxilContainer.h: all numbers little-endian, 32 bits unless said
otherwise.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer, UnsupportedShader

_HEADER = struct.Struct("<4s16sHHII")
_PART = struct.Struct("<4sI")
_PROGRAM = struct.Struct("<II4sIII")
# Where the bitcode header begins in the part; the bitcode's offset counts from there.
_BITCODE_HEADER = 8
_COMPUTE = 5
_KINDS = ("pixel", "vertex", "geometry", "hull", "domain", "compute", "library")


@dataclass(frozen=True, slots=True)
class Program:
    """A compute program: its shader model and LLVM bitcode."""

    shader_model: tuple[int, int]
    bitcode: bytes


def parts(container: bytes) -> Iterator[tuple[str, bytes]]:
    """The parts of a container as (four-character name, content).

    Raises:
        BadContainer: the bytes are no container or end too early.
    """
    if len(container) < _HEADER.size:
        raise BadContainer(f"a shader of {len(container)} bytes is shorter than a container's header")
    magic, _, major, _, size, count = _HEADER.unpack_from(container)
    if magic != b"DXBC":
        raise BadContainer(f"the shader begins with {magic!r}, not with b'DXBC'")
    if major != 1:
        raise BadContainer(f"the container has version {major}, not 1")
    if size > len(container):
        raise BadContainer(f"the container ends after {len(container)} of its {size} bytes")
    if _HEADER.size + 4 * count > size:
        raise BadContainer(f"the container's {size} bytes cannot hold a table of {count} parts")
    for offset in struct.unpack_from(f"<{count}I", container, _HEADER.size):
        if offset + _PART.size > size:
            raise BadContainer(f"a part begins at byte {offset} of a container of {size} bytes")
        name, length = _PART.unpack_from(container, offset)
        start = offset + _PART.size
        if start + length > size:
            raise BadContainer(f"part {name!r} ends beyond the container's {size} bytes")
        yield name.decode("latin-1"), container[start : start + length]


def older_program(container: bytes) -> bytes | None:
    """The part with the program of shader model 5 of a container; None where it holds DXIL or none of both.

    Raises:
        BadContainer: no container, or a damaged one.
    """
    by_name = dict(parts(container))
    return None if "DXIL" in by_name else by_name.get("SHEX")


def program(container: bytes) -> Program:
    """The compute program in a container that holds DXIL.

    Raises:
        BadContainer: no container, a damaged one, or one without DXIL.
        UnsupportedShader: a program that is no compute shader.
    """
    named_parts = list(parts(container))
    by_name = dict(named_parts)
    if "DXIL" not in by_name:
        if "SHDR" in by_name:
            raise UnsupportedShader("shader model 4 bytecode (a container with a SHDR part)")
        raise BadContainer(
            f"the container has no DXIL part among {', '.join(name for name, _ in named_parts) or 'none'}"
        )
    part = by_name["DXIL"]
    if len(part) < _PROGRAM.size:
        raise BadContainer(f"the DXIL part has {len(part)} bytes, fewer than its header")
    version, _, magic, _, offset, length = _PROGRAM.unpack_from(part)
    if magic != b"DXIL":
        raise BadContainer(f"the DXIL part says {magic!r} where b'DXIL' should be")
    start = _BITCODE_HEADER + offset
    if start + length > len(part):
        raise BadContainer(f"the bitcode ends beyond the DXIL part's {len(part)} bytes")
    kind = version >> 16
    if kind != _COMPUTE:
        raise UnsupportedShader(f"{_KINDS[kind] if kind < len(_KINDS) else f'kind {kind}'} shaders")
    return Program((version >> 4 & 0xF, version & 0xF), part[start : start + length])
