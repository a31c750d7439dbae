"""Writing LLVM IR as text: bodies of small functions, each defined once in a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

FLOAT_BITS = {"half": 16, "float": 32, "double": 64}
INT_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def size_of(kind: str) -> int:
    """Bytes of a value of an LLVM number type in memory."""
    return (FLOAT_BITS.get(kind) or INT_BITS[kind]) // 8


def split_arguments(text: str) -> list[str]:
    """Cut ``text`` at the commas that no bracket or quotation encloses."""
    arguments, depth, start, quoted = [], 0, 0, False
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}>":
            depth -= 1
        elif letter == "," and depth == 0:
            arguments.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return [*arguments, last] if last or arguments else []


class Body:
    """The lines of one function; every method that computes returns the name of the value."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0
        self.block = "entry"

    def name(self) -> str:
        """A name that this body has not used."""
        self._count += 1
        return f"%t{self._count}"

    def let(self, instruction: str) -> str:
        """Add ``instruction`` and name its value."""
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction without a value."""
        self.lines.append(f"  {instruction}")

    def label(self, label: str) -> None:
        """Begin the block ``label``."""
        self.lines.append(f"{label}:")
        self.block = label

    def bits(self, kind: str, value: str) -> str:
        """A floating-point value as the integer of its size."""
        return self.let(f"bitcast {kind} {value} to i{FLOAT_BITS[kind]}")

    def floating(self, kind: str, value: str) -> str:
        """The integer ``value`` as the floating-point type of its size."""
        return self.let(f"bitcast i{FLOAT_BITS[kind]} {value} to {kind}")

    def call(self, kind: str, function: str, *arguments: tuple[str, str]) -> str:
        """Call ``@function`` with (type, value) pairs; the name may carry its overload."""
        inner = ", ".join(f"{type_name} {value}" for type_name, value in arguments)
        return self.let(f"call {kind} @{function}({inner})")

    def struct(self, kind: str, *members: tuple[str, str]) -> str:
        """A struct of type ``kind`` with (type, value) members."""
        made = "poison"
        for place, (type_name, value) in enumerate(members):
            made = self.let(f"insertvalue {kind} {made}, {type_name} {value}, {place}")
        return made


Builder = Callable[..., str | None]


class Definitions:
    """The functions and globals that a translated shader needs, each once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def function(self, name: str, result: str, kinds: Sequence[str], build: Builder) -> str:
        """Define ``@name`` if it is not there, with the body that ``build(body, *arguments)`` writes.

        Args:
            name: without ``@``.
            result: the type it returns, ``void`` included.
            kinds: the types of its arguments.
            build: returns the name of the value to return, None for ``void``.

        Returns:
            ``name``.
        """
        if name not in self._texts:
            self._texts[name] = ""  # a body may need itself no more, but others in between keep their order
            body = Body()
            arguments = [f"%a{place}" for place in range(len(kinds))]
            value = build(body, *arguments)
            inner = ", ".join(f"{kind} {argument}" for kind, argument in zip(kinds, arguments, strict=True))
            self._texts[name] = "\n".join(
                (
                    f"define internal {result} @{name}({inner}) alwaysinline nounwind {{",
                    "entry:",
                    *body.lines,
                    f"  ret {result} {value}" if value is not None else "  ret void",
                    "}",
                )
            )
        return name

    def text(self) -> str:
        """All of them as IR."""
        return "\n\n".join(self._texts.values())
