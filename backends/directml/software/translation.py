"""From the text of a DXIL module to the text of a module for the processor: one function, ``kernel``.

The entry function is kept line by line; only what Direct3D defines otherwise than LLVM is replaced by calls of
functions from ``arithmetic``, ``intrinsics`` and ``memory``. Flags that would permit LLVM to assume or to
approximate something (``fast``, ``nsw``, ...) are dropped: a licence is not an order. ``kernel`` runs it for a
block of threads, one after the other or, where LLVM sees how, several in the lanes of a vector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dmlcts.backends.directml.software.arithmetic import Arithmetic
from dmlcts.backends.directml.software.errors import UnsupportedShader
from dmlcts.backends.directml.software.intrinsics import INTRINSICS, Call, argument_kinds
from dmlcts.backends.directml.software.ir import FLOAT_BITS, INT_BITS, Definitions, split_arguments
from dmlcts.backends.directml.software.memory import Memory
from dmlcts.backends.directml.software.personality import Personality
from dmlcts.backends.directml.software.resources import Interface, Metadata, Resource, typed_format

# Bytes in front of the views in a kernel's block of arguments: first and last thread in x, y and z, two unused.
HEADER_BYTES = 32
# Bytes of one view there: address (64 bits), elements (32), unused (32).
VIEW_BYTES = 16

_FLAGS = re.compile(
    r"^(?P<word>[a-z0-9_]+)(?: (?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|nsw|nuw|exact|inbounds|nneg|disjoint"
    r"|samesign|nusw))+ "
)
_ATTACHMENTS = re.compile(r"(?:, ![\w.]+ !\d+)+$")
_PRECISE = re.compile(r", !dx\.precise !\d+")
_ASSIGNED = re.compile(r"^(?P<name>%[\w.$-]+|%\"[^\"]*\") = (?P<rest>.*)$")
_CALL = re.compile(r"^(?:tail )?call (?P<result>[^@]+?) @(?P<name>[\w.$]+)\((?P<arguments>.*)\)(?: #\d+)?$")
_LABEL = re.compile(r"^(?:[\w.$-]+|\"[^\"]*\"):")
_CAST = re.compile(r"^(?P<word>\w+) (?P<source>\w+) (?P<value>\S+) to (?P<target>\w+)$")
_BINARY = re.compile(r"^(?P<word>\w+) (?P<kind>\w+) (?P<operands>.*)$")
_COMPARE = re.compile(r"^fcmp (?P<condition>\w+) (?P<kind>\w+) (?P<operands>.*)$")
_KEPT = frozenset(
    "add sub mul and or xor icmp select phi br switch ret trunc zext sext bitcast extractvalue insertvalue alloca load"
    " store getelementptr fneg unreachable freeze".split()
)
_SHIFTS = frozenset({"shl", "lshr", "ashr"})
_DIVISIONS = frozenset({"udiv", "sdiv", "urem", "srem"})
_FLOAT_WORDS = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
_CLASSES = {0: "shader resource views (SRV)", 1: "views", 2: "constants", 3: "samplers"}
_DENORM_MODE = re.compile(r'"fp32-denorm-mode"="(\w+)"')


@dataclass(frozen=True, slots=True)
class Plan:
    """A shader ready for translation: its text and what it declares.

    Args:
        text: the module as LLVM prints it.
        interface: entry, threads of a group, resources.
        formats_needed: registers of its typed views, whose formats the dispatch gives.
    """

    text: str
    interface: Interface

    @property
    def registers(self) -> int:
        """How many view registers it can reach."""
        return max((one.register + one.count for one in self.interface.views), default=0)

    @property
    def rows(self) -> int:
        """16-byte rows of its constants."""
        return max((-(-one.stride // 16) for one in self.interface.constants), default=0)

    def at(self, register: int) -> Resource | None:
        """The view declared for ``register``."""
        for one in self.interface.views:
            if one.register <= register < one.register + one.count:
                return one
        return None


def plan(text: str) -> Plan:
    """Read what a module declares.

    Raises:
        UnsupportedShader: it declares something that is not supported.
    """
    interface = Metadata(text).interface()
    for one in (*interface.views, *interface.constants):
        if one.space:
            raise UnsupportedShader(f"register space {one.space}")
        if one.count < 0:
            raise UnsupportedShader("an unbounded range of registers")
    for one in interface.constants:
        if one.register or one.count != 1:
            raise UnsupportedShader(f"a constant buffer in register b{one.register or one.count - 1}")
    return Plan(text, interface)


def translate(shader: Plan, personality: Personality, formats: Mapping[int, int]) -> str:
    """The module for the processor.

    Args:
        shader: from :func:`plan`.
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
        self._memory = Memory(self._definitions, self._arithmetic)
        self._handles: dict[str, tuple[int, int]] = {}
        self._lines: list[str] = []
        self._body: list[str] = []
        self._temporary = 0

    def module(self) -> str:
        types, globals_, body = self._sections()
        self._body = body
        for line in body:
            self._line(line)
        views = "".join(f", ptr %u{place}, i32 %n{place}" for place in range(self._shader.registers))
        return "\n\n".join((
            "\n".join(types),
            "\n".join(globals_),
            self._definitions.text(),
            f"define internal void @shader(i32 %x, i32 %y, i32 %z, ptr %c{views}) alwaysinline nounwind {{",
            "\n".join(self._lines),
            "}",
            self._kernel(),
            "!0 = distinct !{}\n!1 = !{}\n!2 = distinct !{!2, !3}\n"
            '!3 = !{!"llvm.loop.parallel_accesses", !0}',
        ))  # fmt: skip

    def _sections(self) -> tuple[list[str], list[str], list[str]]:
        """Type definitions, constant tables, and the lines of the entry function."""
        entry = self._shader.interface.entry
        types, globals_, body = [], [], []
        lines = iter(self._shader.text.splitlines())
        for line in lines:
            if line.startswith("%"):
                types.append(line)
            elif line.startswith("@"):
                name, definition = line.split(" = ", 1)
                if "external" in definition:
                    continue  # names a resource
                if "addrspace(" in definition or "constant" not in definition:
                    raise UnsupportedShader(f"the global variable {name} (group shared memory)")
                globals_.append(_ATTACHMENTS.sub("", line))
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
        stripped = line.split(" ; ")[0].strip() if '"' not in line else line.strip()
        if not stripped or stripped.startswith((";", "#dbg", "call void @llvm.dbg")):
            return
        if _LABEL.match(stripped):
            self._lines.append(stripped)
            return
        precise = bool(_PRECISE.search(stripped))
        stripped = _ATTACHMENTS.sub("", stripped)
        assigned = _ASSIGNED.match(stripped)
        name, rest = (assigned["name"], assigned["rest"]) if assigned else ("", stripped)
        rest = _FLAGS.sub(r"\g<word> ", rest)
        if "addrspace(" in rest:
            raise UnsupportedShader("memory outside views and constants (an address space)")
        word = rest.split(" ", 1)[0]
        if word in ("call", "tail"):
            self._call(name, rest, precise)
        elif word in _KEPT or word.startswith(("i32", "i64", "i16", "i8", "i1", "]")):
            # The lines between the brackets of a switch begin with a type.
            self._add(name, rest)
        else:
            self._replaced(name, word, rest)

    def _add(self, name: str, rest: str) -> None:
        self._lines.append(f"  {name} = {rest}" if name else f"  {rest}")

    def _fresh(self) -> str:
        self._temporary += 1
        return f"%dmlcts.{self._temporary}"

    def _replaced(self, name: str, word: str, rest: str) -> None:
        arithmetic = self._arithmetic
        if word == "fcmp" and (match := _COMPARE.match(rest)) and match["kind"] in FLOAT_BITS:
            function = arithmetic.comparison(match["condition"], match["kind"])
            self._apply(name, "i1", function, match["kind"], split_arguments(match["operands"]))
        elif word in _FLOAT_WORDS and (match := _BINARY.match(rest)) and match["kind"] in FLOAT_BITS:
            function = arithmetic.instruction(word, match["kind"])
            self._apply(name, match["kind"], function, match["kind"], split_arguments(match["operands"]))
        elif word in _SHIFTS and (match := _BINARY.match(rest)) and match["kind"] in INT_BITS:
            value, amount = split_arguments(match["operands"])
            masked = self._fresh()
            self._add(masked, f"and {match['kind']} {amount}, {INT_BITS[match['kind']] - 1}")
            self._add(name, f"{word} {match['kind']} {value}, {masked}")
        elif word in _DIVISIONS and (match := _BINARY.match(rest)) and match["kind"] in INT_BITS:
            function = self._division(word, match["kind"])
            self._apply(name, match["kind"], function, match["kind"], split_arguments(match["operands"]))
        elif function := self._conversion(word, rest):
            source, value, target = (_CAST.match(rest) or {})["source"], _CAST.match(rest)["value"], _CAST.match(rest)["target"]
            self._apply(name, target, function, source, [value])
        else:
            raise UnsupportedShader(f"the instruction {word!r} in {rest!r}")

    def _apply(self, name: str, result: str, function: str, kind: str, operands: Sequence[str]) -> None:
        self._add(name, f"call {result} @{function}({', '.join(f'{kind} {one}' for one in operands)})")

    def _conversion(self, word: str, rest: str) -> str:
        """The function of a conversion instruction between scalars; empty for anything else."""
        match = _CAST.match(rest)
        if match is None:
            return ""
        source, target = match["source"], match["target"]
        if word in ("fptosi", "fptoui") and source in FLOAT_BITS and target in INT_BITS:
            return self._arithmetic.to_integer(word, source, target)
        if word in ("sitofp", "uitofp") and source in INT_BITS and target in FLOAT_BITS:
            return self._arithmetic.from_integer(word, source, target)
        if word == "fptrunc" and {source, target} <= set(FLOAT_BITS):
            return self._arithmetic.narrowing(source, target)
        if word == "fpext" and {source, target} <= set(FLOAT_BITS):
            return self._arithmetic.widening(source, target)
        return ""

    def _division(self, word: str, kind: str) -> str:
        """Integer division that never traps: by zero it gives all ones, the least number by -1 itself."""

        def build(body, a: str, b: str) -> str:  # type: ignore[no-untyped-def]
            zero = body.let(f"icmp eq {kind} {b}, 0")
            divisor = body.let(f"select i1 {zero}, {kind} 1, {kind} {b}")
            if word[0] == "s":
                minus = body.let(f"icmp eq {kind} {b}, -1")
                divisor = body.let(f"select i1 {minus}, {kind} 1, {kind} {divisor}")
                value = body.let(f"{word} {kind} {a}, {divisor}")
                negated = body.let(f"sub {kind} 0, {a}") if word == "sdiv" else "0"
                value = body.let(f"select i1 {minus}, {kind} {negated}, {kind} {value}")
            else:
                value = body.let(f"{word} {kind} {a}, {divisor}")
            return body.let(f"select i1 {zero}, {kind} -1, {kind} {value}")

        return self._definitions.function(f"d3d.{word}.{kind}", kind, [kind, kind], build)

    # Calls

    def _call(self, name: str, rest: str, precise: bool) -> None:
        match = _CALL.match(rest)
        if match is None or not match["name"].startswith("dx.op."):
            raise UnsupportedShader(f"the call {rest!r}")
        result = _FLAGS.sub(r"\g<word> ", f"call {match['result']} ")[5:].strip()
        first, *arguments = split_arguments(match["arguments"])
        opcode = _literal(first, "opcode")
        special = self._SPECIAL.get(opcode)
        if special is not None:
            special(self, name, result, arguments)
            return
        intrinsic = INTRINSICS.get(opcode)
        if intrinsic is None:
            raise UnsupportedShader(f"DXIL opcode {opcode} ({match['name']})")
        call = Call(self._definitions, self._arithmetic, result, argument_kinds(arguments), precise)
        if call.kind not in intrinsic.overloads:
            raise UnsupportedShader(f"DXIL opcode {opcode} ({intrinsic.name}) of type {call.kind}")
        self._add(name, f"call {result} @{intrinsic.function(call)}({', '.join(arguments)})")

    def _create_handle(self, name: str, result: str, arguments: list[str]) -> None:
        number = _literal(arguments[0], "resource class")
        register = _literal(arguments[2], "register of createHandle")
        if number not in (1, 2):
            raise UnsupportedShader(f"handles of {_CLASSES.get(number, f'class {number}')}")
        if number == 1 and self._shader.at(register) is None:
            raise UnsupportedShader(f"a handle of register u{register}, which the shader does not declare")
        self._handles[name] = (number, register)

    def _view(self, argument: str) -> tuple[Resource, int, str]:
        """The view behind a handle argument: its declaration, register, and its two arguments."""
        register = self._handle(argument, 1)
        resource = self._shader.at(register)
        assert resource is not None  # noqa: S101 - _create_handle looked
        return resource, register, f"ptr %u{register}, i32 %n{register}"

    def _handle(self, argument: str, number: int) -> int:
        found = self._handles.get(argument.rsplit(" ", 1)[1])
        if found is None:
            raise UnsupportedShader("a handle that is not made by createHandle right away")
        if found[0] != number:
            raise UnsupportedShader(f"{_CLASSES[found[0]]} used as {_CLASSES[number]}")
        return found[1]

    def _constant_row(self, name: str, result: str, arguments: list[str]) -> None:
        self._handle(arguments[0], 2)
        kind = self._member(result)
        function = self._memory.constants(result, kind, self._shader.rows)
        self._add(name, f"call {result} @{function}(ptr %c, {arguments[1]})")

    def _load(self, name: str, result: str, arguments: list[str]) -> None:
        resource, register, view = self._view(arguments[0])
        kind = self._member(result)
        if resource.kind == "typed":
            function = self._memory.typed_load(result, kind, self._format(register))
            self._add(name, f"call {result} @{function}({view}, {arguments[1]})")
            return
        function = self._memory.load(result, kind, self._stride(resource), self._components(name))
        offset = arguments[2] if resource.kind == "structured" else "i32 0"
        self._add(name, f"call {result} @{function}({view}, {arguments[1]}, {offset})")

    def _store(self, name: str, result: str, arguments: list[str]) -> None:
        resource, register, view = self._view(arguments[0])
        values, mask = arguments[3:7], _literal(arguments[7], "write mask")
        kind = values[0].split(" ", 1)[0]
        if resource.kind == "typed":
            if mask & 1:  # the format has one component
                function = self._memory.typed_store(kind, self._format(register))
                self._add("", f"call void @{function}({view}, {arguments[1]}, {values[0]})")
            return
        function = self._memory.store(kind, self._stride(resource), mask)
        offset = arguments[2] if resource.kind == "structured" else "i32 0"
        chosen = "".join(f", {value}" for place, value in enumerate(values) if mask >> place & 1)
        self._add("", f"call void @{function}({view}, {arguments[1]}, {offset}{chosen})")

    def _format(self, register: int):  # type: ignore[no-untyped-def]
        return typed_format(self._formats[register])

    @staticmethod
    def _stride(resource: Resource) -> int:
        if resource.kind == "structured" and not resource.stride:
            raise UnsupportedShader("a structured view of unknown stride")
        return resource.stride

    def _member(self, struct: str) -> str:
        """The type of the first member of a named struct."""
        match = re.search(rf"^{re.escape(struct)} = type {{ (\w+)", self._shader.text, re.MULTILINE)
        if match is None:
            raise UnsupportedShader(f"results of type {struct}")
        return match[1]

    def _components(self, name: str) -> set[int]:
        """Which of the four components of a loaded value the shader reads."""
        used = set()
        word = re.compile(rf"{re.escape(name)}(?![\w.$-])")
        for line in self._body:
            found = word.search(line)
            if found is None or line.strip().startswith(f"{name} = "):
                continue
            place = re.search(rf"extractvalue \S+ {re.escape(name)}, (\d+)", line)
            used |= {int(place[1])} if place else {0, 1, 2, 3}
        return used & {0, 1, 2, 3}

    def _thread(self, name: str, result: str, arguments: list[str]) -> None:
        self._add(name, f"add i32 %{_axis(arguments)[0]}, 0")

    def _group(self, name: str, result: str, arguments: list[str]) -> None:
        axis, place = _axis(arguments)
        self._add(name, f"udiv i32 %{axis}, {self._shader.interface.threads[place]}")

    def _thread_in_group(self, name: str, result: str, arguments: list[str]) -> None:
        axis, place = _axis(arguments)
        self._add(name, f"urem i32 %{axis}, {self._shader.interface.threads[place]}")

    def _flat_thread(self, name: str, result: str, arguments: list[str]) -> None:
        sizes = self._shader.interface.threads
        parts = []
        for axis, size in zip("xyz", sizes, strict=True):
            parts.append(self._fresh())
            self._add(parts[-1], f"urem i32 %{axis}, {size}")
        total = parts[2]
        for part, size in ((parts[1], sizes[1]), (parts[0], sizes[0])):
            scaled, total_next = self._fresh(), self._fresh()
            self._add(scaled, f"mul i32 {total}, {size}")
            self._add(total_next, f"add i32 {scaled}, {part}")
            total = total_next
        self._add(name, f"add i32 {total}, 0")

    _SPECIAL: Mapping[int, Callable[[_Translation, str, str, list[str]], None]] = {
        57: _create_handle,
        59: _constant_row,
        68: _load,
        69: _store,
        93: _thread,
        94: _group,
        95: _thread_in_group,
        96: _flat_thread,
        139: _load,
        140: _store,
    }

    # The loop around it

    def _kernel(self) -> str:
        """``kernel(block of arguments)``: the shader for every thread in a box."""
        registers = self._shader.registers
        size = HEADER_BYTES + VIEW_BYTES * registers + 16 * self._shader.rows
        lines = [
            f"define void @kernel(ptr noalias readonly dereferenceable({size}) %a) nounwind {{",
            "entry:",
        ]
        for place, name in enumerate(("x0", "x1", "y0", "y1", "z0", "z1")):
            lines += [
                f"  %p{name} = getelementptr i8, ptr %a, i64 {4 * place}",
                f"  %{name} = load i32, ptr %p{name}, align 4, !invariant.load !1",
            ]
        views = ""
        for place in range(registers):
            start = HEADER_BYTES + VIEW_BYTES * place
            lines += [
                f"  %pu{place} = getelementptr i8, ptr %a, i64 {start}",
                f"  %u{place} = load ptr, ptr %pu{place}, align 4, !invariant.load !1",
                f"  %pn{place} = getelementptr i8, ptr %a, i64 {start + 8}",
                f"  %n{place} = load i32, ptr %pn{place}, align 4, !invariant.load !1",
            ]
            views += f", ptr %u{place}, i32 %n{place}"
        lines += [
            f"  %c = getelementptr i8, ptr %a, i64 {HEADER_BYTES + VIEW_BYTES * registers}",
            "  br label %planes",
            "planes:",
            "  %z = phi i32 [ %z0, %entry ], [ %zn, %plane ]",
            "  br label %rows",
            "rows:",
            "  %y = phi i32 [ %y0, %planes ], [ %yn, %row ]",
            "  br label %threads",
            "threads:",
            "  %x = phi i32 [ %x0, %rows ], [ %xn, %threads ]",
            f"  call void @shader(i32 %x, i32 %y, i32 %z, ptr %c{views})",
            "  %xn = add nuw nsw i32 %x, 1",
            "  %xm = icmp ult i32 %xn, %x1",
            "  br i1 %xm, label %threads, label %row, !llvm.loop !2",
            "row:",
            "  %yn = add nuw nsw i32 %y, 1",
            "  %ym = icmp ult i32 %yn, %y1",
            "  br i1 %ym, label %rows, label %plane",
            "plane:",
            "  %zn = add nuw nsw i32 %z, 1",
            "  %zm = icmp ult i32 %zn, %z1",
            "  br i1 %zm, label %planes, label %done",
            "done:",
            "  ret void",
            "}",
        ]
        return "\n".join(lines)


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
