"""Small compute shaders of shader model 5, assembled for the selftests; the numbers are those of the DDK's headers."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from dmlcts.backends.directml.d3d12_software.codegen.shader import Shader, ShaderCompiler
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.suites.selftest.dxil.dxil_shaders import box, view

Tokens = list[int]
R, IMMEDIATE, CB, NULL, U, G, THREAD, GROUP, THREAD_IN_GROUP, FLAT = 0, 4, 8, 13, 30, 31, 32, 33, 34, 36
X = "xyzw"


def operand(
    kind: int,
    number: int | None = None,
    *,
    mask: str = "",
    swizzle: str = "",
    text: str = "",
    modifier: int = 0,
    row: int | Tokens | None = None,
) -> Tokens:
    """An operand of four components, chosen by a mask, a swizzle or one of them."""
    if mask:
        chosen = 0 << 2 | sum(1 << X.index(letter) for letter in mask) << 4
    elif swizzle:
        chosen = 1 << 2 | sum(X.index(letter) << 2 * place for place, letter in enumerate(swizzle)) << 4
    else:
        chosen = 2 << 2 | X.index(text or "x") << 4
    indices: Tokens = []
    dimensions, forms = 0, 0
    for index in (number, row):
        if index is None:
            continue
        if isinstance(index, int):
            indices.append(index)
        else:
            forms |= 2 << 3 * dimensions
            indices += index
        dimensions += 1
    token = 2 | chosen | kind << 12 | dimensions << 20 | forms << 22
    extended = [1 | modifier << 6] if modifier else []
    return [token | (1 << 31 if modifier else 0), *extended, *indices]


def to(number: int, mask: str = "x") -> Tokens:
    """A register as a result."""
    return operand(R, number, mask=mask)


def of(number: int, swizzle: str = "xxxx", modifier: int = 0) -> Tokens:
    """A register as a source."""
    return operand(R, number, swizzle=swizzle, modifier=modifier)


def literal(*values: int) -> Tokens:
    """One number, or four."""
    head = 1 | IMMEDIATE << 12 if len(values) == 1 else 2 | 1 << 2 | 0xE4 << 4 | IMMEDIATE << 12
    return [head, *(value & 0xFFFFFFFF for value in values)]


NOTHING: Tokens = [NULL << 12]


def whole(kind: int, number: int) -> Tokens:
    """A view or a constant buffer as a declaration names it."""
    return operand(kind, number, swizzle="xyzw")


def instruction(opcode: int, *operands: Tokens, head: int = 0, words: Sequence[int] = ()) -> Tokens:
    """An instruction."""
    rest = [token for each in operands for token in each] + list(words)
    return [opcode | head | (1 + len(rest)) << 24, *rest]


ZERO, NOT_ZERO, SATURATED, PRECISE = 0, 1 << 18, 1 << 13, 15 << 19
RETURN = instruction(62)


def declared(views: Sequence[Tokens], *, temporaries: int = 12, threads: tuple[int, int, int] = (1, 1, 1)) -> Tokens:
    """What comes before the code: flags, views, registers, the thread's number, a group's size."""
    flags, thread = instruction(106, head=1 << 11), instruction(95, operand(THREAD, mask="x"))
    registers = instruction(104, words=[temporaries])
    return [*flags, *(token for each in views for token in each), *thread, *registers, *instruction(155, words=threads)]


def structured(number: int, stride: int = 4) -> Tokens:
    return instruction(158, whole(U, number), words=[stride])


def loaded(register: int, view_number: int, mask: str = "x", at: Tokens | None = None) -> Tokens:
    """Lines that load an element of a structured view."""
    where = at or operand(THREAD, text="x")
    return instruction(167, to(register, mask), where, literal(0), operand(U, view_number, swizzle="xyzw"))


def stored(view_number: int, source: Tokens, mask: str = "x", at: Tokens | None = None) -> Tokens:
    """Lines that store an element of a structured view."""
    return instruction(168, operand(U, view_number, mask=mask), at or operand(THREAD, text="x"), literal(0), source)


def part(tokens: Tokens, *, version: int = 5 << 16 | 0x50) -> bytes:
    """The SHEX part of a shader."""
    return struct.pack(f"<{len(tokens) + 2}I", version, len(tokens) + 2, *tokens)


def shader(tokens: Tokens, personality: Personality | None = None) -> Shader:
    return ShaderCompiler(personality or Personality(), None).compile(box([(b"SHEX", part(tokens))]))


def results(code: Tokens, columns: Sequence[Sequence[int]], personality: Personality | None = None) -> list[int]:
    """Run ``code`` for each row, r0.x, r1.x, … holding the columns; what is in r8.x after it, as bits."""
    arrays = [np.array([value & 0xFFFFFFFF for value in column], np.uint32) for column in columns]
    out = np.zeros(len(columns[0]), np.uint32)
    views = [structured(number) for number in range(len(arrays) + 1)]
    before = [token for number in range(len(arrays)) for token in loaded(number, number)]
    made = shader([*declared(views), *before, *code, *stored(len(arrays), of(8)), *RETURN], personality)
    made.dispatch((len(out), 1, 1), b"", [view(array, 4) for array in (*arrays, out)])
    return out.tolist()
