"""What is known of a shader before it is compiled, with what cannot be compiled refused."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.backends.directml.d3d12_software.shaders.errors import UnsupportedShader
from dmlcts.backends.directml.d3d12_software.shaders.resources import Interface, Metadata, Resource


@dataclass(frozen=True, slots=True)
class Plan:
    """A shader ready for translation.

    Args:
        text: the module as LLVM prints it.
        interface: entry, threads of a group, resources.
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
    return checked(text, Metadata(text).interface())


def checked(text: str, interface: Interface) -> Plan:
    """A module with what it declares.

    Raises:
        UnsupportedShader: it declares something that is not supported.
    """
    for one in (*interface.views, *interface.constants):
        if one.space:
            raise UnsupportedShader(f"register space {one.space}")
        if one.count < 0:
            raise UnsupportedShader("an unbounded range of registers")
    for one in interface.constants:
        if one.register or one.count != 1:
            raise UnsupportedShader(f"a constant buffer in register b{one.register or one.count - 1}")
    return Plan(text, interface)
