"""Threads of a group that meet at a barrier and share memory.

The shader runs in two phases: every thread of a group up to the barrier, then every thread from there to the end.
What the second phase needs of the first is computed again, except stores to shared memory. That is right for
one barrier, which every thread reaches, if all that was stored before it was stored to shared memory, and
nothing that was loaded before it is used after it; anything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dmlcts.backends.directml.d3d12_software.codegen.kernel import OWN
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.ir import size_of

_DECLARED = re.compile(r"^(?P<name>@\S+) = (?:\w+ )*?addrspace\(3\) global \[(?P<count>\d+) x (?P<kind>\w+)\] ")
_ADDRESS = re.compile(r"^getelementptr \[\d+ x \w+\], ptr (?P<name>%\S+), i32 0, i32 (?P<index>\S+)$")
_NAME = re.compile(r"%[\w.$-]+|%\"[^\"]*\"")
# A value can be wider than the elements of an array that it is stored to.
_SPARE_BYTES = 16


class Phases:
    """Follows the lines of a shader that may hold a barrier.

    ``arrays`` are the sizes in bytes of its shared arrays, in the order in which the shader's functions take them.
    """

    def __init__(self) -> None:
        self.arrays: list[int] = []
        self._counts: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._loaded: set[str] = set()
        self._repeated_never: set[int] = set()
        self._refused = ""
        self._barrier: int | None = None
        self._straight = True

    def declare(self, line: str) -> None:
        """Take note of a global array that a group shares.

        Raises:
            UnsupportedShader: it is no array of numbers.
        """
        match = _DECLARED.match(line)
        if match is None:
            raise UnsupportedShader(f"the global variable {line.split(' = ')[0]} (no array of numbers)")
        name = f"{OWN}shared{len(self.arrays)}"
        self._names[match["name"]] = name
        self._counts[name] = int(match["count"])
        self.arrays.append(int(match["count"]) * size_of(match["kind"]) + _SPARE_BYTES)

    def label(self, first: bool) -> None:
        """A block begins; only the first is reached by every thread in any case."""
        self._straight = self._straight and first

    def instruction(self, name: str, rest: str, place: int) -> tuple[list[str], str]:
        """An instruction with shared arrays in plain memory.

        Args:
            name: of its value.
            rest: itself.
            place: how many lines are written before it.

        Returns:
            Lines to write before it, and itself.

        Raises:
            UnsupportedShader: shared memory is stored to after the barrier, loaded from before it, or used in another
                way.
        """
        self._follow(name, rest)
        if "addrspace(3)" not in rest:
            return [], rest
        word = rest.split(" ", 1)[0]
        if word == "store":
            if self._barrier is not None:
                raise UnsupportedShader("a store to shared memory after a barrier")
            self._repeated_never.add(place)
        elif word == "load" and self._barrier is None:
            raise UnsupportedShader("a load from shared memory before a barrier")
        rest = rest.replace("ptr addrspace(3)", "ptr")
        for old, new in self._names.items():
            rest = rest.replace(f"{old},", f"{new},")
        if word == "getelementptr":
            match = _ADDRESS.match(rest)
            if match is None or match["name"] not in self._counts:
                raise UnsupportedShader(f"the address {rest!r} in shared memory")
            # An index beyond the array is undefined in Direct3D; here it must not reach other memory.
            inside = f"{OWN}inside{place}"
            last = self._counts[match["name"]] - 1
            bounded = f"  {inside} = call i32 @llvm.umin.i32(i32 {match['index']}, i32 {last})"
            return [bounded], rest[: rest.rindex("i32 ")] + f"i32 {inside}"
        if "@" in rest:
            raise UnsupportedShader(f"the instruction {rest!r} on shared memory")
        return [], rest

    def load(self, name: str) -> None:
        """A view is loaded into ``name``."""
        if self._barrier is None:
            self._loaded.add(name)

    def store(self) -> None:
        """A view is stored to."""
        self._refused = self._refused or "a store to a view before a barrier"

    def barrier(self, place: int) -> None:
        """All threads wait for each other before that line.

        Raises:
            UnsupportedShader: there is another barrier, or not every thread reaches this one.
        """
        if not self._straight or self._barrier is not None:
            raise UnsupportedShader("more than one barrier, or one that not every thread reaches")
        if self._refused:
            raise UnsupportedShader(self._refused)
        self._barrier = place

    def _follow(self, name: str, rest: str) -> None:
        """Refuse what depends on a value that may have changed since it was loaded."""
        if not self._loaded.isdisjoint(_NAME.findall(rest)):
            if self._barrier is not None:
                raise UnsupportedShader("a value loaded before a barrier and used after it")
            if name:
                self._loaded.add(name)
            elif rest.startswith("store ") and "addrspace(3)" not in rest:
                self._refused = self._refused or "a loaded value in local memory before a barrier"

    def split(self, lines: Sequence[str]) -> list[list[str]]:
        """The lines of each phase: one phase without a barrier, two with one.

        Raises:
            UnsupportedShader: memory is shared without a barrier.
        """
        if self._barrier is None:
            if self.arrays:
                raise UnsupportedShader("shared memory without a barrier")
            return [list(lines)]
        before, after = lines[: self._barrier], lines[self._barrier :]
        again = [line for place, line in enumerate(before) if place not in self._repeated_never]
        return [[*before, "  ret void"], [*again, *after]]
