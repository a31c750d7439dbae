"""From the text of a DXIL module to the text of a module for the processor: one function, ``kernel``.

The entry function is kept line by line; only what Direct3D defines otherwise than LLVM is replaced by calls of
functions from ``instructions``, ``intrinsics`` and ``memory``. Flags that would permit LLVM to assume or to
approximate something (``fast``, ``nsw``, ...) are dropped: a licence is not an order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dmlcts.backends.directml.d3d12_software.codegen.arithmetic import Arithmetic
from dmlcts.backends.directml.d3d12_software.codegen.groups import Phases
from dmlcts.backends.directml.d3d12_software.codegen.instructions import Contraction, Instructions, without_flags
from dmlcts.backends.directml.d3d12_software.codegen.intrinsics import INTRINSICS, Call, argument_kinds
from dmlcts.backends.directml.d3d12_software.codegen.kernel import METADATA, OWN, group_kernel, kernel, shader_function
from dmlcts.backends.directml.d3d12_software.codegen.memory import Memory
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.ir import Definitions, split_arguments
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.backends.directml.d3d12_software.shaders.plan import Plan
from dmlcts.backends.directml.d3d12_software.shaders.resources import Format, Resource, typed_format

_ATTACHMENTS = re.compile(r"(?:, ![\w.]+ !\d+)+$")
_PRECISE = re.compile(r", !dx\.precise !\d+")
_ASSIGNED = re.compile(r"^(?P<name>%[\w.$-]+|%\"[^\"]*\") = (?P<rest>.*)$")
_CALL = re.compile(r"^call (?P<result>[^@]+?) @(?P<name>[\w.$]+)\((?P<arguments>.*)\)(?: #\d+)?$")
_TAIL = re.compile(r"^(?:tail|musttail|notail) (?=call )")
_LABEL = re.compile(r"^(?:[\w.$-]+|\"[^\"]*\"):")
_COMMENT = re.compile(r"\s+; preds = .*$")
_DENORM_MODE = re.compile(r'"fp32-denorm-mode"="(\w+)"')
_CLASSES = {0: "shader resource views (SRV)", 1: "views", 2: "constants", 3: "samplers"}
_VIEWS, _CONSTANTS = 1, 2


def translate(shader: Plan, personality: Personality, formats: Mapping[int, int]) -> str:
    """The module for the processor.

    Args:
        shader: from :func:`~dmlcts.backends.directml.d3d12_software.shaders.plan.plan`.
        personality: how to compute; the shader's own ``fp32-denorm-mode`` comes first.
        formats: the DXGI_FORMAT of each typed view by register.

    Raises:
        UnsupportedShader: naming the opcode, instruction, resource or format.
    """
    asked = _DENORM_MODE.search(shader.text)
    if asked and asked[1] in ("preserve", "ftz"):
        personality = replace(personality, denormals="flush" if asked[1] == "ftz" else "preserve")
    return _Translation(shader, personality, formats).module()


class _Translation:
    def __init__(self, shader: Plan, personality: Personality, formats: Mapping[int, int]) -> None:
        self._shader = shader
        self._formats = formats
        self._definitions = Definitions()
        self._arithmetic = Arithmetic(self._definitions, personality)
        self._instructions = Instructions(self._definitions, self._arithmetic)
        self._memory = Memory(self._definitions, self._arithmetic)
        self._handles: dict[str, tuple[int, int]] = {}
        self._contract = Contraction(self._arithmetic) if personality.mad == "contract" else None
        self._body: list[str] = []
        self._lines: list[str] = []
        self._temporaries = 0
        self._phases = Phases()

    def module(self) -> str:
        types, globals_, self._body = self._sections()
        for line in self._body:
            self._line(line)
        registers, rows = self._shader.registers, self._shader.rows
        phases, arrays = self._phases.split(self._lines), self._phases.arrays
        if len(phases) == 1:
            whole = kernel(registers, rows)
        else:
            whole = group_kernel(registers, rows, self._shader.interface.threads, arrays, len(phases))
        functions = (
            shader_function(f"phase{place}", registers, len(arrays), lines) for place, lines in enumerate(phases)
        )
        texts = ("\n".join(types), "\n".join(globals_), self._definitions.text(), *functions, whole, METADATA)
        return "\n\n".join(texts)

    def _sections(self) -> tuple[list[str], list[str], list[str]]:
        """Type definitions, constant tables, and the lines of the entry function."""
        entry = self._shader.interface.entry
        types: list[str] = []
        globals_: list[str] = []
        body: list[str] = []
        lines = iter(self._shader.text.splitlines())
        for line in lines:
            if line.startswith("%"):
                types.append(line)
            elif line.startswith("@"):
                name, definition = line.split(" = ", 1)
                if definition.startswith("external") or name.startswith("@llvm."):
                    continue  # names a resource, or lists what compilers must keep
                if "constant" in definition and "addrspace(" not in definition:
                    globals_.append(_ATTACHMENTS.sub("", line))
                else:
                    self._phases.declare(line)
            elif line.startswith("define"):
                if f"@{entry}(" not in line:
                    raise UnsupportedShader(f"the function {line.split('@', 1)[1].split('(')[0]} beside the entry")
                for inner in lines:
                    if inner == "}":
                        break
                    body.append(inner)
        if not body:
            raise UnsupportedShader(f"a module without its entry function {entry}")
        return types, globals_, body

    # One line

    def _line(self, line: str) -> None:
        line = _COMMENT.sub("", line).strip()
        if not line or line.startswith((";", "#dbg", "call void @llvm.dbg")):
            return
        if _LABEL.match(line):
            self._phases.label(first=not self._lines)
            self._lines.append(line)
            return
        precise = bool(_PRECISE.search(line))
        line = _ATTACHMENTS.sub("", line)
        assigned = _ASSIGNED.match(line)
        name, rest = (assigned["name"], assigned["rest"]) if assigned else ("", line)
        rest = _TAIL.sub("", rest)
        fused = self._contract.fused(name, rest) if self._contract is not None and not precise else ""
        rest = fused or without_flags(rest)
        before, rest = self._phases.instruction(name, rest, len(self._lines))
        self._lines += before
        if "addrspace(" in rest:
            raise UnsupportedShader("memory outside views and constants (an address space)")
        if fused:
            self._add(name, fused)
        elif rest.startswith("call "):
            self._call(name, rest, precise)
        else:
            self._add(name, self._instructions.replaced(rest))

    def _add(self, name: str, rest: str) -> None:
        self._lines.append(f"  {name} = {rest}" if name else f"  {rest}")

    def _let(self, rest: str) -> str:
        self._temporaries += 1
        name = f"{OWN}{self._temporaries}"
        self._add(name, rest)
        return name

    # Calls

    def _call(self, name: str, rest: str, precise: bool) -> None:
        match = _CALL.match(rest)
        if match is None or not match["name"].startswith("dx.op."):
            raise UnsupportedShader(f"the call {rest!r}")
        first, *arguments = split_arguments(match["arguments"])
        opcode = _literal(first, "opcode")
        special = self._SPECIAL.get(opcode)
        if special is not None:
            special(self, name, match["result"], arguments)
            return
        intrinsic = INTRINSICS.get(opcode)
        if intrinsic is None:
            raise UnsupportedShader(f"DXIL opcode {opcode} ({match['name']})")
        call = Call(self._definitions, self._arithmetic, match["result"], argument_kinds(arguments), precise)
        if call.kind not in intrinsic.overloads:
            raise UnsupportedShader(f"DXIL opcode {opcode} ({intrinsic.name}) of type {call.kind}")
        self._add(name, f"call {match['result']} @{intrinsic.function(call)}({', '.join(arguments)})")

    def _create_handle(self, name: str, result: str, arguments: list[str]) -> None:
        number = _literal(arguments[0], "resource class")
        register = _literal(arguments[2], "register of createHandle")
        if number not in (_VIEWS, _CONSTANTS):
            raise UnsupportedShader(f"handles of {_CLASSES.get(number, f'class {number}')}")
        if number == _VIEWS and self._shader.at(register) is None:
            raise UnsupportedShader(f"a handle of register u{register}, which the shader does not declare")
        self._handles[name] = (number, register)

    def _handle(self, argument: str, number: int) -> int:
        handle = self._handles.get(argument.rsplit(" ", 1)[1])
        if handle is None:
            raise UnsupportedShader("a handle that does not come from createHandle right away")
        if handle[0] != number:
            raise UnsupportedShader(f"{_CLASSES[handle[0]]} used as {_CLASSES[number]}")
        return handle[1]

    def _view(self, argument: str) -> tuple[Resource, int, str]:
        """The view behind a handle argument: its declaration, register, and its two arguments."""
        register = self._handle(argument, _VIEWS)
        resource = self._shader.at(register)
        assert resource is not None  # noqa: S101 - _create_handle looked
        return resource, register, f"ptr {OWN}u{register}, i32 {OWN}n{register}"

    def _constant_row(self, name: str, result: str, arguments: list[str]) -> None:
        self._handle(arguments[0], _CONSTANTS)
        function = self._memory.constants(result, self._member(result), self._shader.rows)
        self._add(name, f"call {result} @{function}(ptr {OWN}c, {arguments[1]})")

    def _load(self, name: str, result: str, arguments: list[str]) -> None:
        resource, register, view = self._view(arguments[0])
        self._phases.load(name)
        kind, used = self._member(result), self._components(name)
        if resource.kind == "typed":
            function = self._memory.typed_load(result, kind, self._format(register), used)
            self._add(name, f"call {result} @{function}({view}, {arguments[1]})")
            return
        function = self._memory.load(result, kind, _stride(resource), used)
        offset = arguments[2] if resource.kind == "structured" else "i32 0"
        self._add(name, f"call {result} @{function}({view}, {arguments[1]}, {offset})")

    def _store(self, name: str, result: str, arguments: list[str]) -> None:
        resource, register, view = self._view(arguments[0])
        self._phases.store()
        values, mask = arguments[3:7], _literal(arguments[7], "write mask")
        kind = values[0].split(" ", 1)[0]
        if resource.kind == "typed":
            form = self._format(register)
            function = self._memory.typed_store(kind, form)
            chosen = "".join(f", {value}" for value in values[: form.components])
            self._add("", f"call void @{function}({view}, {arguments[1]}{chosen})")
            return
        function = self._memory.store(kind, _stride(resource), mask)
        offset = arguments[2] if resource.kind == "structured" else "i32 0"
        chosen = "".join(f", {value}" for place, value in enumerate(values) if mask >> place & 1)
        self._add("", f"call void @{function}({view}, {arguments[1]}, {offset}{chosen})")

    def _format(self, register: int) -> Format:
        return typed_format(self._formats[register])

    def _member(self, struct: str) -> str:
        """The type of the first member of a named struct."""
        match = re.search(rf"^{re.escape(struct)} = type {{ (\w+)", self._shader.text, re.MULTILINE)
        if match is None:
            raise UnsupportedShader(f"results of type {struct}")
        return match[1]

    def _components(self, name: str) -> set[int]:
        """Which of the four components of a loaded value the shader reads."""
        used: set[int] = set()
        word = re.compile(rf"{re.escape(name)}(?![\w.$-])")
        for line in self._body:
            if word.search(line) is None or line.strip().startswith(f"{name} = "):
                continue
            place = re.search(rf"extractvalue \S+ {re.escape(name)}, (\d+)", line)
            used |= {int(place[1])} if place else {0, 1, 2, 3}
        return used & {0, 1, 2, 3}

    def _barrier(self, name: str, result: str, arguments: list[str]) -> None:
        self._phases.barrier(len(self._lines))

    def _thread(self, name: str, result: str, arguments: list[str]) -> None:
        self._add(name, f"add i32 {OWN}{_axis(arguments)[0]}, 0")

    def _group(self, name: str, result: str, arguments: list[str]) -> None:
        axis, place = _axis(arguments)
        self._add(name, f"udiv i32 {OWN}{axis}, {self._shader.interface.threads[place]}")

    def _thread_in_group(self, name: str, result: str, arguments: list[str]) -> None:
        axis, place = _axis(arguments)
        self._add(name, f"urem i32 {OWN}{axis}, {self._shader.interface.threads[place]}")

    def _flat_thread(self, name: str, result: str, arguments: list[str]) -> None:
        sizes = self._shader.interface.threads
        x, y, z = (self._let(f"urem i32 {OWN}{axis}, {size}") for axis, size in zip("xyz", sizes, strict=True))
        plane = self._let(f"add i32 {self._let(f'mul i32 {z}, {sizes[1]}')}, {y}")
        self._add(name, f"add i32 {self._let(f'mul i32 {plane}, {sizes[0]}')}, {x}")

    _SPECIAL: Mapping[int, Callable[[_Translation, str, str, list[str]], None]] = {
        57: _create_handle,
        59: _constant_row,
        68: _load,
        69: _store,
        80: _barrier,
        93: _thread,
        94: _group,
        95: _thread_in_group,
        96: _flat_thread,
        139: _load,
        140: _store,
    }


SPECIAL_OPCODES = frozenset(_Translation._SPECIAL)


def _stride(resource: Resource) -> int:
    if resource.kind == "structured" and not resource.stride:
        raise UnsupportedShader("a structured view of unknown stride")
    return resource.stride


def _axis(arguments: Sequence[str]) -> tuple[str, int]:
    place = _literal(arguments[0], "component of a thread number")
    return "xyz"[place], place


def _literal(argument: str, what: str) -> int:
    """The number in a constant argument.

    Raises:
        UnsupportedShader: it is not constant.
    """
    word = argument.rsplit(" ", 1)[1]
    if not re.fullmatch(r"-?\d+", word):
        raise UnsupportedShader(f"a {what} that is not constant ({argument})")
    return int(word)
