"""LLVM's instructions as Direct3D means them: which are kept, and which a function replaces."""

from __future__ import annotations

import re
from collections.abc import Callable

from dmlcts.backends.directml.d3d12_software.codegen.arithmetic import Arithmetic
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.ir import FLOAT_BITS, INT_BITS, Body, Definitions, split_arguments

_FLAGS = re.compile(
    r"^(?P<word>[a-z0-9_]+)(?: (?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|nsw|nuw|nusw|exact|inbounds|nneg"
    r"|disjoint|samesign))+ "
)
_CAST = re.compile(r"^(?P<word>\w+) (?P<source>\w+) (?P<value>\S+) to (?P<target>\w+)$")
_BINARY = re.compile(r"^(?P<word>\w+) (?P<kind>\w+) (?P<operands>[^\[]*)$")
_FAST = re.compile(r"^(?P<word>fmul|fadd) (?:\w+ )*?(?:fast|contract) (?:\w+ )*?(?P<kind>\w+) (?P<operands>[^\[]*)$")
_COMPARE = re.compile(r"^fcmp (?P<condition>\w+) (?P<kind>\w+) (?P<operands>.*)$")
# What means the same in LLVM and Direct3D once the flags are gone. The lines between the brackets of a switch
# begin with a type, the last with the bracket.
_KEPT = frozenset(
    {
        "add",
        "sub",
        "mul",
        "and",
        "or",
        "xor",
        "icmp",
        "select",
        "phi",
        "br",
        "switch",
        "ret",
        "trunc",
        "zext",
        "sext",
        "bitcast",
        "extractvalue",
        "insertvalue",
        "alloca",
        "load",
        "store",
        "getelementptr",
        "fneg",
        "unreachable",
        "i1",
        "i8",
        "i16",
        "i32",
        "i64",
        "]",
    }
)
_ARITHMETIC = frozenset({"fadd", "fsub", "fmul", "fdiv", "frem"})
_SHIFTS = frozenset({"shl", "lshr", "ashr"})
_DIVISIONS = frozenset({"udiv", "sdiv", "urem", "srem"})


def without_flags(instruction: str) -> str:
    """An instruction without the flags that permit LLVM to assume or to approximate something."""
    return _FLAGS.sub(r"\g<word> ", instruction)


class Instructions:
    """Replaces instructions in one module, defining what it needs in ``definitions``."""

    def __init__(self, definitions: Definitions, arithmetic: Arithmetic) -> None:
        self._definitions = definitions
        self._arithmetic = arithmetic

    def replaced(self, instruction: str) -> str:
        """What to write for an instruction, itself or a call.

        Args:
            instruction: without the name of its value, flags and attachments.

        Raises:
            UnsupportedShader: naming an instruction or type that is not supported.
        """
        word = instruction.split(" ", 1)[0]
        if word in _KEPT:
            return instruction
        for replace in (self._binary, self._comparison, self._conversion):
            made = replace(word, instruction)
            if made:
                return made
        raise UnsupportedShader(f"the instruction {word!r} in {instruction!r}")

    def _binary(self, word: str, instruction: str) -> str:
        match = _BINARY.match(instruction)
        if match is None:
            return ""
        kind = match["kind"]
        if word in _ARITHMETIC and kind in FLOAT_BITS:
            function = self._arithmetic.instruction(word, kind)
        elif word in _SHIFTS and kind in INT_BITS:
            function = self._define(word, kind, _shift(word, kind))
        elif word in _DIVISIONS and kind in INT_BITS:
            function = self._define(word, kind, _division(word, kind))
        else:
            return ""
        a, b = split_arguments(match["operands"])
        return f"call {kind} @{function}({kind} {a}, {kind} {b})"

    def _define(self, word: str, kind: str, build: Callable[[Body, str, str], str]) -> str:
        return self._definitions.function(f"d3d.{word}.{kind}", kind, [kind, kind], build)

    def _comparison(self, word: str, instruction: str) -> str:
        match = _COMPARE.match(instruction)
        if match is None or match["kind"] not in FLOAT_BITS:
            return ""
        kind = match["kind"]
        a, b = split_arguments(match["operands"])
        return f"call i1 @{self._arithmetic.comparison(match['condition'], kind)}({kind} {a}, {kind} {b})"

    def _conversion(self, word: str, instruction: str) -> str:
        match = _CAST.match(instruction)
        if match is None:
            return ""
        source, target = match["source"], match["target"]
        if word in ("fptosi", "fptoui") and source in FLOAT_BITS and target in INT_BITS:
            function = self._arithmetic.to_integer(word, source, target)
        elif word in ("sitofp", "uitofp") and source in INT_BITS and target in FLOAT_BITS:
            function = self._arithmetic.from_integer(word, source, target)
        elif word == "fptrunc" and {source, target} <= set(FLOAT_BITS):
            function = self._arithmetic.narrowing(source, target)
        elif word == "fpext" and {source, target} <= set(FLOAT_BITS):
            function = self._arithmetic.widening(source, target)
        else:
            return ""
        return f"call {target} @{function}({source} {match['value']})"


class Contraction:
    """Takes up the licence of ``fast`` to round a product and the sum with it once.

    Args:
        arithmetic: where the fused multiply-add is defined.
    """

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic
        self._products: dict[tuple[str, str], tuple[str, str]] = {}

    def fused(self, name: str, instruction: str) -> str:
        """A call of the fused multiply-add instead of an addition to a product; empty for anything else.

        Args:
            name: of the instruction's value.
            instruction: with its flags; every one of the function is to be shown, in order.
        """
        match = _FAST.match(instruction)
        if match is None or match["kind"] not in FLOAT_BITS:
            return ""
        kind = match["kind"]
        a, b = split_arguments(match["operands"])
        if match["word"] == "fmul":
            self._products[kind, name] = (a, b)
            return ""
        for product, other in ((a, b), (b, a)):
            if factors := self._products.get((kind, product)):
                operands = ", ".join(f"{kind} {factor}" for factor in (*factors, other))
                return f"call {kind} @{self._arithmetic.fused(kind)}({operands})"
        return ""


def _shift(word: str, kind: str) -> Callable[[Body, str, str], str]:
    """A shift by the low bits of its second operand (page ishl of shader model 4)."""

    def build(body: Body, value: str, amount: str) -> str:
        return body.let(f"{word} {kind} {value}, {body.let(f'and {kind} {amount}, {INT_BITS[kind] - 1}')}")

    return build


def _division(word: str, kind: str) -> Callable[[Body, str, str], str]:
    """Integer division that never traps: by zero it gives all ones, the least number by -1 itself.

    Zero is the rule of UDiv; for signed division, which Direct3D 11 does not have, DXIL gives none.
    """

    def build(body: Body, a: str, b: str) -> str:
        zero = body.let(f"icmp eq {kind} {b}, 0")
        divisor = body.let(f"select i1 {zero}, {kind} 1, {kind} {b}")
        minus = body.let(f"icmp eq {kind} {divisor}, -1") if word[0] == "s" else "false"
        divisor = body.let(f"select i1 {minus}, {kind} 1, {kind} {divisor}")
        value = body.let(f"{word} {kind} {a}, {divisor}")
        opposite = body.let(f"sub {kind} 0, {a}") if word == "sdiv" else "0"
        value = body.let(f"select i1 {minus}, {kind} {opposite}, {kind} {value}")
        return body.let(f"select i1 {zero}, {kind} -1, {kind} {value}")

    return build
