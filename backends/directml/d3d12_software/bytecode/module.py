"""The DXIL of a shader in the making: registers as variables, lines, what is declared."""

from __future__ import annotations

import re

from dmlcts.backends.directml.d3d12_software.bytecode.tokens import MAGNITUDE, NEGATED, Index, Operand
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.resources import Interface, Resource

ENTRY = "main"
_TYPES = """\
%dx.types.Handle = type { ptr }
%dx.types.CBufRet.i32 = type { i32, i32, i32, i32 }
%dx.types.ResRet.i32 = type { i32, i32, i32, i32, i32 }
%dx.types.ResRet.f32 = type { float, float, float, float, i32 }
%dx.types.i32c = type { i32, i1 }
%dx.types.twoi32 = type { i32, i32 }
"""
_AXES = {"vThreadID": 93, "vThreadGroupID": 94, "vThreadIDInGroup": 95}  # dx.op's numbers
_FLAT_THREAD = 96
_CALLED = re.compile(r"call (?P<result>\S+) @(?P<name>[\w.]+)\((?P<arguments>.*?)\)")
_SIGN, _BELOW_SIGN = -(1 << 31), (1 << 31) - 1


class Module:
    """Lines of the entry function, written one after the other; every method that computes names the value."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.threads: tuple[int, int, int] | None = None
        self.views: list[Resource] = []
        self.constants: list[Resource] = []
        self.temporaries = 0
        self.shared: dict[int, tuple[int, int]] = {}  # words of a structure, words of all
        self._handles: list[str] = []
        self._count = 0

    # Text

    def name(self) -> str:
        """A name that was not used."""
        self._count += 1
        return f"%v{self._count}"

    def block(self) -> str:
        """The name of a new block."""
        self._count += 1
        return f"b{self._count}"

    def let(self, instruction: str) -> str:
        """Add an instruction and name its value."""
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def jump(self, block: str) -> None:
        """Go on in ``block``."""
        self.do(f"br label %{block}")

    def intrinsic(self, number: int, result: str, suffix: str, *arguments: str, precise: bool = False) -> str:
        """Call DXIL's operation of that number with arguments written as ``type value``."""
        mark = ", !dx.precise !0" if precise else ""
        return self.let(f"call {result} @dx.op.{number}.{suffix}({', '.join((f'i32 {number}', *arguments))}){mark}")

    # Declarations

    def declare_view(self, view: Resource) -> None:
        """A view, with its handle."""
        self.views.append(view)
        self._handle("u", 1, view.register)

    def declare_constants(self, register: int, rows: int) -> None:
        """A constant buffer of that many rows, with its handle."""
        self.constants.append(Resource("constants", register, 1, 0, 16 * rows))
        self._handle("cb", 2, register)

    def _handle(self, letters: str, kind: int, register: int) -> None:
        call = f"call %dx.types.Handle @dx.op.57(i32 57, i8 {kind}, i32 {register}, i32 {register}, i1 false)"
        self._handles.append(f"  %{letters}{register} = {call}")

    def view(self, register: int) -> Resource:
        """The declared view of a register.

        Raises:
            UnsupportedShader: none is declared.
        """
        resource = next((candidate for candidate in self.views if candidate.register == register), None)
        if resource is None:
            raise UnsupportedShader(f"register u{register}, which the shader does not declare")
        return resource

    def text(self) -> str:
        """The whole module."""
        variables = [f"  %r{number}{axis} = alloca i32" for number in range(self.temporaries) for axis in "xyzw"]
        arrays = [
            f"@g{number} = internal addrspace(3) global [{words} x i32] undef, align 4"
            for number, (_, words) in self.shared.items()
        ]
        body = [f"define void @{ENTRY}() {{", "entry:", *variables, *self._handles, *self.lines, "}"]
        declared: dict[str, str] = {}
        for line in body:
            if match := _CALLED.search(line):
                kinds = ", ".join(argument.strip().rsplit(" ", 1)[0] for argument in match["arguments"].split(","))
                declared[match["name"]] = f"declare {match['result']} @{match['name']}({kinds})"
        return "\n".join([_TYPES, *arrays, *body, *declared.values(), "!0 = !{i32 1}"])

    def interface(self) -> Interface:
        """What the shader declares.

        Raises:
            UnsupportedShader: it declares no size of its groups.
        """
        if self.threads is None:
            raise UnsupportedShader("a compute shader without a thread group size")
        return Interface(ENTRY, self.threads, tuple(self.views), tuple(self.constants))

    # Operands

    def bits(self, operand: Operand, place: int) -> str:
        """What is read for a place, as it is: i32.

        Raises:
            UnsupportedShader: the operand has a modifier, or cannot be read.
        """
        if operand.modifier:
            raise UnsupportedShader("a modifier of an operand that is only moved or compared as bits")
        return self._read(operand, place)

    def number(self, operand: Operand, place: int) -> str:
        """What is read for a place, as an integer: i32.

        Raises:
            UnsupportedShader: the magnitude of an integer is asked for.
        """
        value = self._read(operand, place)
        if operand.modifier & MAGNITUDE:
            raise UnsupportedShader("the magnitude of an integer operand")
        return self.let(f"sub i32 0, {value}") if operand.modifier & NEGATED else value

    def floating_bits(self, operand: Operand, place: int) -> str:
        """What is read for a place, with the modifiers of floating-point numbers, as i32."""
        value = self._read(operand, place)
        if operand.modifier & MAGNITUDE:
            value = self.let(f"and i32 {value}, {_BELOW_SIGN}")
        if operand.modifier & NEGATED:
            value = self.let(f"xor i32 {value}, {_SIGN}")
        return value

    def floating(self, operand: Operand, place: int) -> str:
        """The same as float."""
        return self.let(f"bitcast i32 {self.floating_bits(operand, place)} to float")

    def as_bits(self, value: str) -> str:
        """A float as i32."""
        return self.let(f"bitcast float {value} to i32")

    def _read(self, operand: Operand, place: int) -> str:
        component = operand.at(place)
        if operand.register == "immediate":
            word = operand.values[component if len(operand.values) > 1 else 0]
            return str(word - (1 << 32) if word >> 31 else word)
        if operand.register == "r":
            return self.let(f"load i32, ptr {self._variable(operand, component)}")
        if operand.register == "cb":
            row, handle = self.index(operand.indices[1]), f"%dx.types.Handle %cb{operand.number}"
            loaded = self.intrinsic(59, "%dx.types.CBufRet.i32", "i32", handle, f"i32 {row}")
            return self.let(f"extractvalue %dx.types.CBufRet.i32 {loaded}, {component}")
        if operand.register in _AXES:
            return self.intrinsic(_AXES[operand.register], "i32", "i32", f"i32 {component}")
        if operand.register == "vThreadIDInGroupFlattened":
            return self.intrinsic(_FLAT_THREAD, "i32", "i32")
        raise UnsupportedShader(f"reading {operand.register}# as a number")

    def index(self, index: Index) -> str:
        """An index, as i32."""
        if index.added is None:
            return str(index.fixed)
        value = self.number(index.added, 0)
        return self.let(f"add i32 {value}, {index.fixed}") if index.fixed else value

    def put(self, target: Operand, values: dict[int, str]) -> None:
        """Write i32 values to places of a register; all were computed before the first is written.

        Raises:
            UnsupportedShader: the target is no temporary register.
        """
        if target.register == "null":
            return
        if target.register != "r":
            raise UnsupportedShader(f"a result in {target.register}#")
        for place, value in values.items():
            self.do(f"store i32 {value}, ptr {self._variable(target, place)}")

    def _variable(self, operand: Operand, component: int) -> str:
        if operand.number >= self.temporaries:
            raise UnsupportedShader(f"register r{operand.number}, which the shader does not declare")
        return f"%r{operand.number}{'xyzw'[component]}"
