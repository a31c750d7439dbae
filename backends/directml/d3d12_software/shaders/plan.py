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
        return max((view.register + view.count for view in self.interface.views), default=0)

    @property
    def rows(self) -> int:
        """16-byte rows of its constants."""
        return max((-(-constant.stride // 16) for constant in self.interface.constants), default=0)

    def at(self, register: int) -> Resource | None:
        """The view declared for ``register``."""
        for view in self.interface.views:
            if view.register <= register < view.register + view.count:
                return view
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
    for view in (*interface.views, *interface.constants):
        if view.space:
            raise UnsupportedShader(f"register space {view.space}")
        if view.count < 0:
            raise UnsupportedShader("an unbounded range of registers")
    for view in interface.constants:
        if view.register or view.count != 1:
            raise UnsupportedShader(f"a constant buffer in register b{view.register or view.count - 1}")
    return Plan(text, interface)
