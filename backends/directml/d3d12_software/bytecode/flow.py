"""Blocks of shader model 5 (if, loop, switch) as branches between blocks of LLVM's."""

from __future__ import annotations

from dataclasses import dataclass, field

from dmlcts.backends.directml.d3d12_software.bytecode.module import Module
from dmlcts.backends.directml.d3d12_software.bytecode.tokens import Instruction
from dmlcts.backends.directml.d3d12_software.shaders.errors import BadContainer

FLOW = frozenset(
    {
        "if",
        "else",
        "endif",
        "loop",
        "endloop",
        "break",
        "breakc",
        "continue",
        "continuec",
        "switch",
        "case",
        "default",
        "endswitch",
        "ret",
        "retc",
        "nop",
    }
)


@dataclass
class _Open:
    """A block that has begun.

    Args:
        kind: "if", "loop" or "switch".
        end: the block after it.
        other: of an if, what runs where the condition does not hold; of a loop, its begin; of a switch, its default.
        value: of a switch.
        line: of a switch, where its branch goes in the text.
        cases: of a switch, values and blocks.
        has_else: of an if.
    """

    kind: str
    end: str
    other: str = ""
    value: str = ""
    line: int = 0
    cases: list[tuple[str, str]] = field(default_factory=list)
    has_else: bool = False


class Flow:
    """Follows the blocks of one shader and writes the branches into its module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._open: list[_Open] = []

    def write(self, instruction: Instruction) -> None:
        """Write an instruction whose name is in FLOW.

        Raises:
            BadContainer: blocks are not closed as they were opened.
        """
        if instruction.name != "nop":
            getattr(self, f"_{instruction.name}")(instruction)

    def finish(self) -> None:
        """The shader ends.

        Raises:
            BadContainer: a block is still open.
        """
        if self._open:
            raise BadContainer(f"the shader ends within {self._open[-1].kind}")
        self._module.do("ret void")

    def _closed(self, kind: str) -> _Open:
        if not self._open or self._open[-1].kind != kind:
            raise BadContainer(f"the end of {kind} where none is open")
        return self._open.pop()

    def _inner(self, kind: str) -> _Open:
        if not self._open or self._open[-1].kind != kind:
            raise BadContainer(f"a part of {kind} where none is open")
        return self._open[-1]

    def _left(self, *kinds: str) -> _Open:
        for block in reversed(self._open):
            if block.kind in kinds:
                return block
        raise BadContainer(f"leaving {' or '.join(kinds)} where none is open")

    def _holds(self, instruction: Instruction) -> str:
        condition = "ne" if instruction.if_not_zero else "eq"
        return self._module.let(f"icmp {condition} i32 {self._module.bits(instruction.operands[0], 0)}, 0")

    def _unreached(self) -> None:
        """What follows a jump belongs to a block of its own, which nothing reaches."""
        self._module.label(self._module.block())

    def _branch(self, instruction: Instruction, away: str) -> None:
        test, on = self._holds(instruction), self._module.block()
        self._module.do(f"br i1 {test}, label %{away}, label %{on}")
        self._module.label(on)

    def _if(self, instruction: Instruction) -> None:
        module = self._module
        test, then, other, end = self._holds(instruction), module.block(), module.block(), module.block()
        module.do(f"br i1 {test}, label %{then}, label %{other}")
        module.label(then)
        self._open.append(_Open("if", end, other))

    def _else(self, instruction: Instruction) -> None:
        block = self._inner("if")
        if block.has_else:
            raise BadContainer("a second else")
        self._module.jump(block.end)
        self._module.label(block.other)
        block.has_else = True

    def _endif(self, instruction: Instruction) -> None:
        block = self._closed("if")
        self._module.jump(block.end)
        if not block.has_else:
            self._module.label(block.other)
            self._module.jump(block.end)
        self._module.label(block.end)

    def _loop(self, instruction: Instruction) -> None:
        begin, end = self._module.block(), self._module.block()
        self._module.jump(begin)
        self._module.label(begin)
        self._open.append(_Open("loop", end, begin))

    def _endloop(self, instruction: Instruction) -> None:
        block = self._closed("loop")
        self._module.jump(block.other)
        self._module.label(block.end)

    def _break(self, instruction: Instruction) -> None:
        self._module.jump(self._left("loop", "switch").end)
        self._unreached()

    def _breakc(self, instruction: Instruction) -> None:
        self._branch(instruction, self._left("loop", "switch").end)

    def _continue(self, instruction: Instruction) -> None:
        self._module.jump(self._left("loop").other)
        self._unreached()

    def _continuec(self, instruction: Instruction) -> None:
        self._branch(instruction, self._left("loop").other)

    def _switch(self, instruction: Instruction) -> None:
        value = self._module.bits(instruction.operands[0], 0)
        self._open.append(_Open("switch", self._module.block(), value=value, line=len(self._module.lines)))
        self._module.lines.append("")  # the branch, when the cases are known
        self._unreached()

    def _case(self, instruction: Instruction) -> None:
        block, here = self._inner("switch"), self._module.block()
        operand = instruction.operands[0]
        if operand.register != "immediate":
            raise BadContainer("a case that is no constant")
        block.cases.append((self._module.bits(operand, 0), here))
        self._module.jump(here)  # from the case before
        self._module.label(here)

    def _default(self, instruction: Instruction) -> None:
        block = self._inner("switch")
        block.other = self._module.block()
        self._module.jump(block.other)
        self._module.label(block.other)

    def _endswitch(self, instruction: Instruction) -> None:
        block = self._closed("switch")
        self._module.jump(block.end)
        self._module.label(block.end)
        cases = " ".join(f"i32 {value}, label %{target}" for value, target in block.cases)
        branch = f"  switch i32 {block.value}, label %{block.other or block.end} [ {cases} ]"
        self._module.lines[block.line] = branch

    def _ret(self, instruction: Instruction) -> None:
        self._module.do("ret void")
        self._unreached()

    def _retc(self, instruction: Instruction) -> None:
        away = self._module.block()
        self._branch(instruction, away)
        on = self._module.block()
        self._module.jump(on)
        self._module.label(away)
        self._module.do("ret void")
        self._module.label(on)
