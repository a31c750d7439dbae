"""What Direct3D leaves to the device about floating-point arithmetic, chosen by the user.

Sources: Direct3D 11.3 functional specification sections 3.1.3 to 3.1.5 and the pages "Floating-point rules"
(Direct3D 11) and "Data Conversion Rules" (Direct3D 10), which Direct3D 12 inherits; DXIL.rst of
DirectXShaderCompiler for the single operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, Self, get_args, get_type_hints

from dmlcts.specs import UsageError


@dataclass(frozen=True, slots=True)
class Personality:
    """The arithmetic of one device. The default is IEEE 754 as strictly as Direct3D allows.

    Args:
        denormals: what FLOAT32 arithmetic does with subnormal operands and results. ``preserve`` computes with
            them; ``flush`` makes them zeros of the same sign. Loads, stores, moves, selections, absolute values
            and bit casts never flush, nor do FLOAT16 and FLOAT64 arithmetic. A shader that asks for one of the
            two itself (the attribute ``fp32-denorm-mode`` of shader model 6.2) gets that one.
        nan: which NaN arithmetic returns; the pages promise a NaN, not its bits. ``propagate`` keeps the payload
            of an operand and makes it quiet, as this processor does (FMin and FMax of two NaNs return the
            first, which may stay signalling); ``canonical`` gives the positive quiet NaN
            without payload (0x7fc00000), ``ones`` the one with every bit below the sign set (0x7fffffff).
            A NaN that is only moved keeps its bits.
        mad: whether FMad rounds once (``fused``) or after the product too (``separate``). ``contract`` rounds once
            as well where a shader adds to a product and marks both instructions ``fast``. An operation that the
            shader marks precise is separate always. Fused is the default because the multiply-add
            instructions of the GPUs in use round once.
        half: how FLOAT32 and FLOAT64 become FLOAT16, in conversions and in stores to views. ``nearest`` takes the
            nearest number, ties to even, which is what LLVM means by the instruction and what GPUs do; ``zero``
            cuts off digits, so that too large numbers become 65504, as the page "Data conversion rules"
            (Direct3D 10) has it. Arithmetic on FLOAT16 itself is to nearest in both.
        zeros: which zero FMin and FMax return for zeros of both signs. ``ordered`` takes -0 as less than +0, as
            the specification recommends; ``operands`` follows the comparisons of DXIL.rst (FMin: a < b, FMax:
            a >= b), in which both zeros are equal.
    """

    denormals: Literal["preserve", "flush"] = "preserve"
    nan: Literal["propagate", "canonical", "ones"] = "propagate"
    mad: Literal["fused", "separate", "contract"] = "fused"
    half: Literal["nearest", "zero"] = "nearest"
    zeros: Literal["ordered", "operands"] = "ordered"

    def __post_init__(self) -> None:
        allowed = settings()
        for name, words in allowed.items():
            value = getattr(self, name)
            if value not in words:
                raise UsageError(f"{name} cannot be {value!r}", f"write one of {', '.join(words)}")

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read a personality from option words; what is absent keeps its default.

        Raises:
            UsageError: an option or a value that does not exist.
        """
        unknown = sorted(set(options) - set(settings()))
        if unknown:
            raise UsageError(f"there is no arithmetic option {unknown[0]!r}", f"write one of {', '.join(settings())}")
        return cls(**dict(options))  # type: ignore[arg-type]  # __post_init__ checks the words

    def describe(self) -> str:
        """All settings in one line, e.g. ``denormals=preserve nan=propagate mad=fused ...``."""
        return " ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))


def settings() -> dict[str, tuple[str, ...]]:
    """Every option of a personality with the words it can have, the default first."""
    return {name: get_args(hint) for name, hint in get_type_hints(Personality).items()}
