"""Loads and stores of views and root constants, with the bounds that Direct3D promises.

Sources: the pages ld_structured, store_structured and store_uav_typed of shader model 5 (out of bounds a load
gives 0 and a store is dropped) and "Data Conversion Rules" (an integer stored with fewer bits is clamped to
the range of the format). A byte offset beyond its structure, which the pages leave undefined, is treated alike.
A view reaches the functions here as its address and the number of its elements (structures, formatted
elements, or bytes of a raw view).
"""

from __future__ import annotations

from collections.abc import Iterable

from dmlcts.backends.directml.d3d12_software.codegen.arithmetic import Arithmetic
from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.ir import FLOAT_BITS, INT_BITS, Body, Definitions, size_of
from dmlcts.backends.directml.d3d12_software.shaders.resources import Format

# Every access of a view carries this; ``kernel`` says of it that threads do not depend on each other.
ACCESS = "!llvm.access.group !0"
CONSTANT = "!invariant.load !1, !llvm.access.group !0"
_VIEW = ("ptr", "i32")


def _zero(kind: str) -> str:
    return "0.0" if kind in FLOAT_BITS else "0"


def _guarded_load(body: Body, allowed: str, kind: str, address: str) -> str:
    """What lies at ``address``, or 0 where the condition ``allowed`` is false."""
    before, inside, after = body.block, body.name()[1:], body.name()[1:]
    body.do(f"br i1 {allowed}, label %{inside}, label %{after}")
    body.label(inside)
    value = body.let(f"load {kind}, ptr {address}, align 1, {ACCESS}")
    body.do(f"br label %{after}")
    body.label(after)
    return body.let(f"phi {kind} [ {value}, %{inside} ], [ {_zero(kind)}, %{before} ]")


def _guarded_store(body: Body, allowed: str, kind: str, address: str, value: str) -> None:
    inside, after = body.name()[1:], body.name()[1:]
    body.do(f"br i1 {allowed}, label %{inside}, label %{after}")
    body.label(inside)
    body.do(f"store {kind} {value}, ptr {address}, align 1, {ACCESS}")
    body.do(f"br label %{after}")
    body.label(after)


class Memory:
    """Writes the functions of one module into ``definitions``."""

    def __init__(self, definitions: Definitions, arithmetic: Arithmetic) -> None:
        self._definitions = definitions
        self._arithmetic = arithmetic

    # Structured and raw views

    def load(self, result: str, kind: str, stride: int, used: Iterable[int]) -> str:
        """The function (address, count, element, byte offset in it) -> struct of up to four ``kind`` and a status.

        Args:
            result: the struct's type.
            kind: of one component.
            stride: bytes of a structure; 0 for a raw view, whose element is a byte.
            used: the components that the shader reads; the others are left 0.
        """
        used = sorted(used)

        def build(body: Body, base: str, count: str, element: str, offset: str) -> str:
            members = [(kind, _zero(kind))] * 4
            for place in used:
                allowed, address = self._place(body, base, count, element, offset, stride, size_of(kind), place)
                members[place] = (kind, _guarded_load(body, allowed, kind, address))
            return body.struct(result, *members, ("i32", "-1"))

        name = f"d3d.load.{stride}.{kind}.{''.join(map(str, used))}"
        return self._definitions.function(name, result, [*_VIEW, "i32", "i32"], build)

    def store(self, kind: str, stride: int, mask: int) -> str:
        """The function (address, count, element, byte offset, one value for each bit set in ``mask``)."""
        places = [place for place in range(4) if mask >> place & 1]

        def build(body: Body, base: str, count: str, element: str, offset: str, *values: str) -> None:
            for place, value in zip(places, values, strict=True):
                allowed, address = self._place(body, base, count, element, offset, stride, size_of(kind), place)
                _guarded_store(body, allowed, kind, address, value)

        name = f"d3d.store.{stride}.{kind}.{mask}"
        return self._definitions.function(name, "void", [*_VIEW, "i32", "i32"] + [kind] * len(places), build)

    @staticmethod
    def _place(
        body: Body, base: str, count: str, element: str, offset: str, stride: int, size: int, place: int
    ) -> tuple[str, str]:
        """Whether a component may be accessed, and where it is."""
        within = body.let(f"zext i32 {offset} to i64")
        within = body.let(f"add i64 {within}, {size * place}") if place else within
        start = body.let(f"zext i32 {element} to i64")
        if stride:
            inside = body.let(f"icmp ule i64 {within}, {stride - size}") if stride >= size else "false"
            present = body.let(f"icmp ult i32 {element}, {count}")
            allowed = body.let(f"and i1 {inside}, {present}")
            start = body.let(f"mul i64 {start}, {stride}")
            start = body.let(f"add i64 {start}, {within}")
        else:
            start = body.let(f"add i64 {start}, {within}")
            end = body.let(f"add i64 {start}, {size}")
            allowed = body.let(f"icmp ule i64 {end}, {body.let(f'zext i32 {count} to i64')}")
        return allowed, body.let(f"getelementptr i8, ptr {base}, i64 {start}")

    # Typed views

    def typed_load(self, result: str, kind: str, form: Format, used: Iterable[int]) -> str:
        """The function (address, count, element) -> struct of four ``kind`` and a status.

        Components that the format lacks are 0, the last one 1.
        """
        self._check(kind, form, "load")
        used = sorted(used)

        def build(body: Body, base: str, count: str, element: str) -> str:
            allowed = body.let(f"icmp ult i32 {element}, {count}")
            members = [(kind, _zero(kind))] * 4
            for place in used:
                if place < form.components:
                    value = _guarded_load(body, allowed, form.kind, self._element(body, base, element, form, place))
                    members[place] = (kind, self._loaded(body, kind, form, value))
                elif place == 3:
                    unit = "1.0" if kind in FLOAT_BITS else "1"
                    last = body.let(f"select i1 {allowed}, {kind} {unit}, {kind} {_zero(kind)}")
                    members[place] = (kind, last)
            return body.struct(result, *members, ("i32", "-1"))

        name = f"d3d.load.{form.name}.{kind}.{''.join(map(str, used))}"
        return self._definitions.function(name, result, [*_VIEW, "i32"], build)

    def typed_store(self, kind: str, form: Format) -> str:
        """The function (address, count, element, one value for each component of the format)."""
        self._check(kind, form, "store")

        def build(body: Body, base: str, count: str, element: str, *values: str) -> None:
            allowed = body.let(f"icmp ult i32 {element}, {count}")
            for place, value in enumerate(values):
                stored = self._stored(body, kind, form, value)
                _guarded_store(body, allowed, form.kind, self._element(body, base, element, form, place), stored)

        kinds = [*_VIEW, "i32"] + [kind] * form.components
        return self._definitions.function(f"d3d.store.{form.name}.{kind}", "void", kinds, build)

    @staticmethod
    def _element(body: Body, base: str, element: str, form: Format, place: int) -> str:
        index = body.let(f"zext i32 {element} to i64")
        if form.components > 1:
            index = body.let(f"add i64 {body.let(f'mul i64 {index}, {form.components}')}, {place}")
        return body.let(f"getelementptr {form.kind}, ptr {base}, i64 {index}")

    @staticmethod
    def _check(kind: str, form: Format, what: str) -> None:
        alike = (kind in FLOAT_BITS) == (form.kind in FLOAT_BITS)
        if not alike or size_of(kind) < size_of(form.kind) or kind in ("i64", "double"):
            raise UnsupportedShader(f"a typed {what} of {kind} in a view of format {form.name}")

    def _loaded(self, body: Body, kind: str, form: Format, value: str) -> str:
        if kind == form.kind:
            return value
        if kind in FLOAT_BITS:
            return body.let(f"fpext {form.kind} {value} to {kind}")
        return body.let(f"{'sext' if form.signed else 'zext'} {form.kind} {value} to {kind}")

    def _stored(self, body: Body, kind: str, form: Format, value: str) -> str:
        if kind == form.kind:
            return value
        if kind in FLOAT_BITS:
            return body.call(form.kind, self._arithmetic.narrowing(kind, form.kind), (kind, value))
        if form.signed:
            value = body.call(kind, f"llvm.smax.{kind}", (kind, value), (kind, str(form.low)))
        value = body.call(
            kind, f"llvm.{'smin' if form.signed else 'umin'}.{kind}", (kind, value), (kind, str(form.high))
        )
        return body.let(f"trunc {kind} {value} to {form.kind}")

    # Constants

    def constants(self, result: str, kind: str, rows: int) -> str:
        """The function (address, row) -> struct of the 16 bytes of a row; rows beyond ``rows`` are 0.

        Raises:
            UnsupportedShader: constants are of a type that is no number.
        """
        size = size_of(kind)

        def build(body: Body, base: str, row: str) -> str:
            inside = body.let(f"icmp ult i32 {row}, {rows}")
            safe = body.let(f"select i1 {inside}, i32 {row}, i32 0")
            start = body.let(f"mul i64 {body.let(f'zext i32 {safe} to i64')}, 16")
            members = []
            for place in range(16 // size):
                at = body.let(f"add i64 {start}, {place * size}")
                address = body.let(f"getelementptr i8, ptr {base}, i64 {at}")
                value = body.let(f"load {kind}, ptr {address}, align {min(size, 4)}, {CONSTANT}")
                members.append((kind, body.let(f"select i1 {inside}, {kind} {value}, {kind} {_zero(kind)}")))
            return body.struct(result, *members)

        if kind not in FLOAT_BITS and kind not in INT_BITS:
            raise UnsupportedShader(f"constants of type {kind}")
        return self._definitions.function(f"d3d.constants.{kind}", result, ["ptr", "i32"], build)
