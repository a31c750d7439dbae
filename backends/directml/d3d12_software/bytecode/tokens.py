"""The tokens of shader model 5: instructions with their operands.

Source: the Windows Driver Kit's d3d10TokenizedProgramFormat.hpp and d3d11TokenizedProgramFormat.hpp (opcodes, operands
and their numbers); the pages of the instructions of "Shader Model 5 Assembly".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer, UnsupportedShader

_WRITTEN = """
add and break breakc call callc case continue continuec cut default deriv_rtx deriv_rty discard div dp2 dp3 dp4 else
emit emit_then_cut endif endloop endswitch eq exp frc ftoi ftou ge iadd if ieq ige ilt imad imax imin imul ine ineg
ishl ishr itof label ld ld_ms log loop lt mad min max customdata mov movc mul ne nop not or resinfo ret retc round_ne
round_ni round_pi round_z rsq sample sample_c sample_c_lz sample_l sample_d sample_b sqrt switch sincos udiv ult uge
umul umad umax umin ushr utof xor dcl_resource dcl_constant_buffer dcl_sampler dcl_index_range
dcl_gs_output_primitive_topology dcl_gs_input_primitive dcl_max_output_vertex_count dcl_input dcl_input_sgv
dcl_input_siv dcl_input_ps dcl_input_ps_sgv dcl_input_ps_siv dcl_output dcl_output_sgv dcl_output_siv dcl_temps
dcl_indexable_temp dcl_global_flags reserved lod gather4 sample_pos sample_info reserved hs_decls
hs_control_point_phase hs_fork_phase hs_join_phase emit_stream cut_stream emit_then_cut_stream interface_call bufinfo
deriv_rtx_coarse deriv_rtx_fine deriv_rty_coarse deriv_rty_fine gather4_c gather4_po gather4_po_c rcp f32tof16
f16tof32 uaddc usubb countbits firstbit_hi firstbit_lo firstbit_shi ubfe ibfe bfi bfrev swapc dcl_stream
dcl_function_body dcl_function_table dcl_interface dcl_input_control_point_count dcl_output_control_point_count
dcl_tess_domain dcl_tess_partitioning dcl_tess_output_primitive dcl_hs_max_tessfactor dcl_hs_fork_phase_instance_count
dcl_hs_join_phase_instance_count dcl_thread_group dcl_uav_typed dcl_uav_raw dcl_uav_structured dcl_tgsm_raw
dcl_tgsm_structured dcl_resource_raw dcl_resource_structured ld_uav_typed store_uav_typed ld_raw store_raw
ld_structured store_structured atomic_and atomic_or atomic_xor atomic_cmp_store atomic_iadd atomic_imax atomic_imin
atomic_umax atomic_umin imm_atomic_alloc imm_atomic_consume imm_atomic_iadd imm_atomic_and imm_atomic_or
imm_atomic_xor imm_atomic_exch imm_atomic_cmp_exch imm_atomic_imax imm_atomic_imin imm_atomic_umax imm_atomic_umin
sync dadd dmax dmin dmul deq dge dlt dne dmov dmovc dtof ftod
"""
NAMES = tuple(_WRITTEN.split())  # the place is the opcode

REGISTERS = {
    0: "r",
    4: "immediate",
    8: "cb",
    13: "null",
    30: "u",
    31: "g",
    32: "vThreadID",
    33: "vThreadGroupID",
    34: "vThreadIDInGroup",
    36: "vThreadIDInGroupFlattened",
}
_OTHER_REGISTERS = {
    1: "input registers (v#)",
    2: "output registers (o#)",
    3: "indexable registers (x#)",
    6: "samplers",
    7: "resources (t#)",
    9: "an immediate constant buffer (icb)",
}
_COMPUTE = 5
_CUSTOM_DATA, _IMMEDIATE_CONSTANTS = NAMES.index("customdata"), 3
_FIXED, _RELATIVE, _FIXED_AND_RELATIVE = 0, 2, 3
NEGATED, MAGNITUDE = 1, 2


@dataclass(frozen=True, slots=True)
class Index:
    """One index of an operand: a number, and what is added to it while the shader runs."""

    fixed: int
    added: Operand | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand.

    Args:
        register: what it names, as in assembly: "r", "cb", "u", …
        components: how many a register of that kind has: 0, 1 or 4.
        mode: how components are chosen: 0 by a mask, 1 by a swizzle, 2 one of them.
        chosen: the mask, the swizzle of two bits each, or the one.
        indices: which register, and where in it.
        values: of an immediate.
        modifier: bits of NEGATED and MAGNITUDE, the magnitude first.
    """

    register: str
    components: int
    mode: int
    chosen: int
    indices: tuple[Index, ...] = ()
    values: tuple[int, ...] = ()
    modifier: int = 0

    @property
    def number(self) -> int:
        """Of the register.

        Raises:
            UnsupportedShader: it is found while the shader runs.
        """
        if not self.indices or self.indices[0].added is not None:
            raise UnsupportedShader(f"an indexed register {self.register}# in shader model 5")
        return self.indices[0].fixed

    @property
    def mask(self) -> tuple[int, ...]:
        """The places that a result goes to."""
        if self.components != 4:
            return (0,)
        return tuple(place for place in range(4) if self.chosen >> place & 1)

    def at(self, place: int) -> int:
        """The component that is read for the place ``place`` of a result."""
        if self.components != 4:
            return 0
        return (place, self.chosen >> 2 * place & 3, self.chosen & 3)[self.mode]


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction.

    Args:
        name: as in assembly.
        head: its first token, with the bits that are its own.
        operands: in order.
        words: what follows the operands, of declarations.
    """

    name: str
    head: int
    operands: tuple[Operand, ...]
    words: tuple[int, ...] = ()

    @property
    def saturates(self) -> bool:
        """Whether a result is put between 0 and 1."""
        return bool(self.head >> 13 & 1)

    @property
    def precise(self) -> bool:
        """Whether the result must be computed as written."""
        return bool(self.head >> 19 & 15)

    @property
    def if_not_zero(self) -> bool:
        """Whether a condition means "not zero" and not "zero"."""
        return bool(self.head >> 18 & 1)


# How many operands come before the words, of what has both; everything else has operands only.
_OPERANDS_BEFORE_WORDS = {
    "dcl_temps": 0,
    "dcl_global_flags": 0,
    "dcl_thread_group": 0,
    "dcl_indexable_temp": 0,
    "sync": 0,
    "dcl_uav_typed": 1,
    "dcl_uav_structured": 1,
    "dcl_tgsm_raw": 1,
    "dcl_tgsm_structured": 1,
}


def instructions(part: bytes) -> Iterator[Instruction]:
    """The instructions of a SHEX part.

    Raises:
        BadContainer: the part is damaged.
        UnsupportedShader: it is no compute shader of shader model 5.0, or has what is not supported.
    """
    tokens = struct.unpack(f"<{len(part) // 4}I", part[: len(part) // 4 * 4])
    if len(tokens) < 2 or not 2 <= tokens[1] <= len(tokens):
        raise BadContainer(f"the SHEX part has {len(part)} bytes, fewer than its header says")
    version, kind = tokens[0] & 0xFF, tokens[0] >> 16
    if kind != _COMPUTE:
        raise UnsupportedShader(f"shaders of kind {kind} in shader model 5")
    if version != 0x50:
        raise UnsupportedShader(f"shader model {version >> 4}.{version & 15} bytecode")
    place, end = 2, tokens[1]
    while place < end:
        head = tokens[place]
        if head & 0x7FF == _CUSTOM_DATA:
            if head >> 11 == _IMMEDIATE_CONSTANTS:
                raise UnsupportedShader(_OTHER_REGISTERS[9])
            length = tokens[place + 1] if place + 1 < end else 0  # comments and the like
        else:
            length = head >> 24 & 0x7F
        if not length or place + length > end:
            raise BadContainer(f"an instruction at token {place} is {length} tokens long, {end - place} before the end")
        if head & 0x7FF != _CUSTOM_DATA:
            yield _instruction(tokens[place : place + length], place)
        place += length


def _instruction(tokens: tuple[int, ...], place: int) -> Instruction:
    opcode = tokens[0] & 0x7FF
    if opcode >= len(NAMES):
        raise UnsupportedShader(f"opcode {opcode} of shader model 5")
    name = NAMES[opcode]
    reader = _Reader(tokens, place)
    head = tokens[0]
    extended = head
    while extended >> 31:
        extended = reader.word()
    most = _OPERANDS_BEFORE_WORDS.get(name, len(tokens))
    operands: list[Operand] = []
    while len(operands) < most and reader.left:
        operands.append(reader.operand())
    return Instruction(name, head, tuple(operands), reader.rest())


class _Reader:
    """Reads the tokens of one instruction after its head."""

    def __init__(self, tokens: tuple[int, ...], place: int) -> None:
        self._tokens = tokens
        self._place = 1
        self._start = place

    @property
    def left(self) -> int:
        return len(self._tokens) - self._place

    def word(self) -> int:
        if not self.left:
            raise BadContainer(f"the instruction at token {self._start} ends within an operand")
        self._place += 1
        return self._tokens[self._place - 1]

    def rest(self) -> tuple[int, ...]:
        return tuple(self.word() for _ in range(self.left))

    def operand(self) -> Operand:
        token = self.word()
        kind, wide = token >> 12 & 0xFF, token & 3
        if kind not in REGISTERS:
            raise UnsupportedShader(f"{_OTHER_REGISTERS.get(kind, f'operands of type {kind}')} of shader model 5")
        if wide == 3:
            raise UnsupportedShader("operands of more than four components")
        modifier, extended = 0, token
        while extended >> 31:
            extended = self.word()
            if extended & 0x3F == 1:
                modifier = extended >> 6 & 0xFF
        if modifier > NEGATED | MAGNITUDE:
            raise UnsupportedShader(f"an operand with modifier {modifier}")
        components = (0, 1, 4)[wide]
        values = tuple(self.word() for _ in range(components)) if REGISTERS[kind] == "immediate" else ()
        indices = tuple(self._index(token >> (22 + 3 * place) & 7) for place in range(token >> 20 & 3))
        mode, chosen = token >> 2 & 3, token >> 4 & 0xFF
        if mode == 3:
            raise BadContainer(f"the instruction at token {self._start} chooses components in no known way")
        return Operand(REGISTERS[kind], components, mode, chosen, indices, values, modifier)

    def _index(self, form: int) -> Index:
        if form == _FIXED:
            return Index(self.word())
        if form not in (_RELATIVE, _FIXED_AND_RELATIVE):
            raise UnsupportedShader(f"an index of form {form} in shader model 5")
        fixed = self.word() if form == _FIXED_AND_RELATIVE else 0
        return Index(fixed, self.operand())
