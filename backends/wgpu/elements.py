"""How each tensor data type is held in memory and computed with in WGSL."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.specs import DataType


@dataclass(frozen=True)
class Element:
    """One element as the shader sees it.

    Attributes:
        data_type: the tensor's data type.
        value: the WGSL type that values are computed in.
        stored: the WGSL type of the memory's elements; a word of ``elements_per_word`` elements where they are packed.
        feature: the wgpu feature that computing with it needs, or "".
        pattern: the value is the element's bits, without a meaning as a number.
    """

    data_type: DataType
    value: str
    stored: str
    feature: str = ""
    pattern: bool = False

    @property
    def bits(self) -> int:
        """Bits of one element."""
        return 8 * self.data_type.itemsize

    @property
    def elements_per_word(self) -> int:
        """Elements that share one 32-bit word, or 1 where each is stored by itself."""
        return 4 // self.data_type.itemsize if self.stored == "u32" and self.bits < 32 else 1

    @property
    def mask(self) -> str:
        """A WGSL literal with the element's bits set."""
        return f"{(1 << self.bits) - 1:#x}u"

    @property
    def signed(self) -> bool:
        """Whether negative values can be represented."""
        return self.data_type.is_signed

    @property
    def pairs(self) -> bool:
        """Whether a value is a pair of 32-bit words, the lower one first."""
        return self.value == "vec2<u32>"

    @property
    def native_float16(self) -> bool:
        """Whether FLOAT16 is computed in the adapter's own FLOAT16."""
        return self.data_type is DataType.FLOAT16 and bool(self.feature)

    @property
    def emulated_float16(self) -> bool:
        """Whether FLOAT16 is computed in FLOAT32."""
        return self.data_type is DataType.FLOAT16 and not self.native_float16

    @property
    def path(self) -> str:
        """``native`` or ``emulated`` where both exist, else ""."""
        if self.data_type is not DataType.FLOAT16 and self.bits < 64:
            return ""
        if self.pattern and not self.feature:
            return ""
        return "native" if self.feature else "emulated"

    def as_pattern(self, *, computed: bool) -> Element:
        """The same element, held as its bits in words of 32; with ``computed``, numbers are made of them."""
        words = "vec2<u32>" if self.bits == 64 else "u32"
        return Element(self.data_type, words, words, self.feature if computed else "", pattern=True)

    # Limits of integer types, as WGSL expressions.

    @property
    def float_above(self) -> str:
        """The FLOAT32 just above the type, a power of two."""
        return f"{1 << (self.bits - self.signed)}.0"

    @property
    def float_least(self) -> str:
        """The least value as a FLOAT32."""
        return f"-{1 << (self.bits - 1)}.0" if self.signed else "0.0"

    @property
    def greatest(self) -> str:
        """The greatest value."""
        return f"{self.value}({(1 << (self.bits - self.signed)) - 1}{_SUFFIX.get(self.value, '')})"

    @property
    def least(self) -> str:
        """The least value; WGSL has no literal for that of a signed type, so it is the negated greatest less one."""
        return f"(-{self.greatest} - {self.value}(1))" if self.signed else f"{self.value}(0)"


_SUFFIX = {"i32": "i", "u32": "u", "i64": "li", "u64": "lu"}


def elements(*, native_float16: bool, native_int64: bool) -> dict[DataType, Element]:
    """The element of every data type that the operators take; FLOAT64 is only known as bits."""
    known_elements = [
        Element(DataType.FLOAT32, "f32", "f32"),
        Element(DataType.FLOAT64, "vec2<u32>", "vec2<u32>", pattern=True),
    ]
    if native_float16:
        known_elements.append(Element(DataType.FLOAT16, "f16", "f16", "shader-f16"))
    else:
        known_elements.append(Element(DataType.FLOAT16, "f32", "u32"))
    for signed, value in ((True, "i32"), (False, "u32")):
        prefix = "INT" if signed else "UINT"
        known_elements += [Element(DataType[f"{prefix}{bits}"], value, "u32") for bits in (8, 16)]
        known_elements.append(Element(DataType[f"{prefix}32"], value, value))
        wide = DataType[f"{prefix}64"]
        if native_int64:
            known_elements.append(Element(wide, value.replace("32", "64"), value.replace("32", "64"), "shader-int64"))
        else:
            known_elements.append(Element(wide, "vec2<u32>", "vec2<u32>"))
    return {element.data_type: element for element in known_elements}
