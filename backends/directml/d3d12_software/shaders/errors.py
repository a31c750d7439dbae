"""What can be wrong with a shader, with cause and mend."""

from __future__ import annotations

from dmlcts.specs import DmlctsError


class BadContainer(DmlctsError):  # noqa: N818 - named for what is wrong, as the contract names its errors
    """The bytes are no shader container, or a damaged one."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"{cause}; give the bytes of a whole DXBC container with one DXIL part")
        self.cause = cause


class UnsupportedShader(DmlctsError):  # noqa: N818 - see above
    """The shader is sound as far as can be seen, but needs ``feature``, which the software adapter has not.

    Args:
        feature: what is missing, named as DXIL or DXGI name it.
    """

    def __init__(self, feature: str) -> None:
        super().__init__(f"the software D3D12 adapter does not support {feature}; run it on another adapter")
        self.feature = feature
