"""A whole shader of shader model 5 as DXIL: declarations, memory, and the rest by name.

Registers are variables in what is written here; ``codegen`` turns them into values.
"""

from __future__ import annotations

from collections.abc import Callable

from dmlcts.backends.directml.d3d12_software.bytecode.computing import COMPUTED, compute
from dmlcts.backends.directml.d3d12_software.bytecode.flow import FLOW, Flow
from dmlcts.backends.directml.d3d12_software.bytecode.module import Module
from dmlcts.backends.directml.d3d12_software.bytecode.tokens import Instruction, Operand, instructions
from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer, UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.plan import Plan, checked
from dmlcts.backends.directml.d3d12_software.shaders.resources import Resource

_BUFFER = 1
# What the components of a typed view are, by the number in its declaration: DXIL's number, and how they are loaded.
_COMPONENTS = {3: (4, "i32"), 4: (5, "i32"), 5: (9, "float")}
_LOAD_TYPED, _STORE_TYPED, _BARRIER, _LOAD, _STORE = 68, 69, 80, 139, 140
_GROUP_AND_SHARED = 9
# Direct3D 11's limits.
_MOST_REGISTERS, _MOST_SHARED_BYTES = 4096, 32768


def rewritten(part: bytes) -> Plan:
    """The plan of a shader.

    Args:
        part: the content of its SHEX part.

    Raises:
        BadContainer: the part is damaged.
        UnsupportedShader: naming what is not supported.
    """
    module = Module()
    flow = Flow(module)
    for instruction in instructions(part):
        try:
            if instruction.name in COMPUTED:
                compute(module, instruction)
            elif instruction.name in FLOW:
                flow.write(instruction)
            elif instruction.name in _OTHERS:
                _OTHERS[instruction.name](module, instruction)
            else:
                raise UnsupportedShader(f"the instruction {instruction.name} of shader model 5")
        except (IndexError, ValueError, TypeError) as error:
            raise BadContainer(f"an instruction {instruction.name} has {len(instruction.operands)} operands") from error
    flow.finish()
    return checked(module.text(), module.interface())


# Declarations.


def _nothing(module: Module, instruction: Instruction) -> None:
    """Flags permit what is not made use of; inputs declare themselves."""


def _constant_buffer(module: Module, instruction: Instruction) -> None:
    (operand,) = instruction.operands
    module.declare_constants(operand.number, operand.indices[1].fixed)


def _typed_view(module: Module, instruction: Instruction) -> None:
    (operand,), (kinds,) = instruction.operands, instruction.words
    if instruction.head >> 11 & 0x1F != _BUFFER:
        raise UnsupportedShader("unordered access views of textures")
    if kinds & 15 not in _COMPONENTS:
        raise UnsupportedShader(f"typed views with components of type {kinds & 15}")
    module.declare_view(Resource("typed", operand.number, 1, 0, 0, _COMPONENTS[kinds & 15][0]))


def _raw_view(module: Module, instruction: Instruction) -> None:
    (operand,) = instruction.operands
    module.declare_view(Resource("raw", operand.number, 1, 0, 0))


def _structured_view(module: Module, instruction: Instruction) -> None:
    (operand,), (stride,) = instruction.operands, instruction.words
    module.declare_view(Resource("structured", operand.number, 1, 0, stride))


def _shared(module: Module, instruction: Instruction) -> None:
    (operand,) = instruction.operands
    stride, count = instruction.words if instruction.name == "dcl_tgsm_structured" else (4, instruction.words[0] // 4)
    if stride % 4 or not stride:
        raise UnsupportedShader(f"shared structures of {stride} bytes")
    if stride * count > _MOST_SHARED_BYTES:
        raise BadContainer(f"a group shares {stride * count} bytes, more than {_MOST_SHARED_BYTES}")
    module.shared[operand.number] = stride // 4, stride // 4 * count


def _threads(module: Module, instruction: Instruction) -> None:
    x, y, z = instruction.words
    module.threads = (x, y, z)


def _temporaries(module: Module, instruction: Instruction) -> None:
    (count,) = instruction.words
    if count > _MOST_REGISTERS:
        raise BadContainer(f"{count} temporary registers are declared, more than {_MOST_REGISTERS}")
    module.temporaries = count


# Memory.


def _address(module: Module, instruction: Instruction, operands: tuple[Operand, ...]) -> tuple[str, str]:
    """The element and the byte in it that an instruction names."""
    element = module.number(operands[0], 0)
    return element, module.number(operands[1], 0) if instruction.name.endswith("structured") else "0"


def _handle(module: Module, operand: Operand, *kinds: str) -> str:
    if operand.register != "u":
        raise UnsupportedShader(f"memory behind {operand.register}#")
    kind = module.view(operand.number).kind
    if kind not in kinds:
        raise BadContainer(f"u{operand.number} is declared {kind} and used as {kinds[0]}")
    return f"%dx.types.Handle %u{operand.number}"


def _shared_place(module: Module, operand: Operand, element: str, offset: str, component: int) -> str:
    stride, words = module.shared.get(operand.number, (0, 0))
    if not words:
        raise UnsupportedShader(f"register g{operand.number}, which the shader does not declare")
    place = module.let(f"mul i32 {element}, {stride}")
    place = module.let(f"add i32 {place}, {module.let(f'lshr i32 {offset}, 2')}")
    place = module.let(f"add i32 {place}, {component}")
    return module.let(f"getelementptr [{words} x i32], ptr addrspace(3) @g{operand.number}, i32 0, i32 {place}")


def _load(module: Module, instruction: Instruction) -> None:
    target, *where, view = instruction.operands
    element, offset = _address(module, instruction, tuple(where))
    if view.register == "g":
        if instruction.name == "ld_raw":
            element, offset = "0", element
        places = {place: _shared_place(module, view, element, offset, view.at(place)) for place in target.mask}
        module.put(
            target, {place: module.let(f"load i32, ptr addrspace(3) {at}, align 4") for place, at in places.items()}
        )
        return
    handle, kind = _handle(module, view, instruction.name.removeprefix("ld_")), "%dx.types.ResRet.i32"
    loaded = module.intrinsic(_LOAD, kind, "i32", handle, f"i32 {element}", f"i32 {offset}", "i8 15", "i32 4")
    module.put(target, {place: module.let(f"extractvalue {kind} {loaded}, {view.at(place)}") for place in target.mask})


def _store(module: Module, instruction: Instruction) -> None:
    view, *where, source = instruction.operands
    element, offset = _address(module, instruction, tuple(where))
    if view.register == "g":
        if instruction.name == "store_raw":
            element, offset = "0", element
        for place in view.mask:
            at = _shared_place(module, view, element, offset, place)
            module.do(f"store i32 {module.floating_bits(source, place)}, ptr addrspace(3) {at}, align 4")
        return
    handle = _handle(module, view, instruction.name.removeprefix("store_"))
    values = [module.floating_bits(source, place) if place in view.mask else "undef" for place in range(4)]
    listed = ", ".join(f"i32 {value}" for value in values)
    mask = sum(1 << place for place in view.mask)
    at = f"{handle}, i32 {element}, i32 {offset}"
    module.do(f"call void @dx.op.{_STORE}.i32(i32 {_STORE}, {at}, {listed}, i8 {mask}, i32 4)")


def _kind(module: Module, view: Operand) -> str:
    numbers = dict(_COMPONENTS.values())
    return numbers[module.view(view.number).component]


def _load_typed(module: Module, instruction: Instruction) -> None:
    target, where, view = instruction.operands
    handle, kind = _handle(module, view, "uav_typed", "typed"), _kind(module, view)
    struct = f"%dx.types.ResRet.{'f32' if kind == 'float' else 'i32'}"
    element = module.number(where, 0)
    loaded = module.intrinsic(_LOAD_TYPED, struct, struct[-3:], handle, f"i32 {element}", "i32 undef")
    values = {place: module.let(f"extractvalue {struct} {loaded}, {view.at(place)}") for place in target.mask}
    if kind == "float":
        values = {place: module.as_bits(value) for place, value in values.items()}
    module.put(target, values)


def _store_typed(module: Module, instruction: Instruction) -> None:
    view, where, source = instruction.operands
    handle, kind = _handle(module, view, "uav_typed", "typed"), _kind(module, view)
    element = module.number(where, 0)
    read = module.floating if kind == "float" else module.floating_bits
    listed = ", ".join(f"{kind} {read(source, place)}" for place in range(4))
    number = f"i32 {_STORE_TYPED}"
    module.do(f"call void @dx.op.{_STORE_TYPED}.{kind}({number}, {handle}, i32 {element}, i32 undef, {listed}, i8 15)")


def _sync(module: Module, instruction: Instruction) -> None:
    module.do(f"call void @dx.op.{_BARRIER}(i32 {_BARRIER}, i32 {_GROUP_AND_SHARED})")


_OTHERS: dict[str, Callable[[Module, Instruction], None]] = {
    "dcl_global_flags": _nothing,
    "dcl_input": _nothing,
    "dcl_constant_buffer": _constant_buffer,
    "dcl_uav_typed": _typed_view,
    "dcl_uav_raw": _raw_view,
    "dcl_uav_structured": _structured_view,
    "dcl_tgsm_raw": _shared,
    "dcl_tgsm_structured": _shared,
    "dcl_thread_group": _threads,
    "dcl_temps": _temporaries,
    "ld_raw": _load,
    "ld_structured": _load,
    "store_raw": _store,
    "store_structured": _store,
    "ld_uav_typed": _load_typed,
    "store_uav_typed": _store_typed,
    "sync": _sync,
}

SUPPORTED = COMPUTED | FLOW | frozenset(_OTHERS)
