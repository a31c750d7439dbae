"""LLVM bitcode of shaders, turned into the text of a module."""

from __future__ import annotations

import llvmlite.binding as llvm

from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer

_MAGIC = b"BC\xc0\xde"


def disassemble(bitcode: bytes) -> str:
    """The module in LLVM's own text form.

    Raises:
        BadContainer: LLVM cannot read it.
    """
    if bitcode[:4] != _MAGIC:
        raise BadContainer(f"the bitcode begins with {bitcode[:4]!r}, not with {_MAGIC!r}")
    context = llvm.create_context()
    try:
        return str(llvm.parse_bitcode(patch_layout(bitcode), context))
    except RuntimeError as error:
        raise BadContainer(f"LLVM cannot read the bitcode ({str(error).strip()})") from error


def patch_layout(bitcode: bytes) -> bytes:
    """Give bytes the alignment of one byte in the module's data layout.

    Some DXIL says ``i8:32``, which LLVM has refused since version 7. Nothing in a shader depends on it: the
    layout is replaced by the processor's before anything is computed. The layout is a record of characters in
    bitcode's variable width (two groups of five bits each, at any bit), so it is found as a string of bits,
    and replaced by another spelling of the same length.
    """
    bits = f"{int.from_bytes(bitcode, 'little'):0{len(bitcode) * 8}b}"
    wrong, right = _vbr6("-i8:32-"), _vbr6("-i8:08-")
    if wrong not in bits:
        return bitcode
    return int(bits.replace(wrong, right, 1), 2).to_bytes(len(bitcode), "little")


def _vbr6(text: str) -> str:
    """Characters as bitcode writes them, the first bit last."""
    return "".join(f"{ord(letter) >> 5:06b}{ord(letter) & 31 | 32:06b}" for letter in text[::-1])
