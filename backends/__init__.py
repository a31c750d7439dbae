"""Who is judged: the backend contract, the registry, and the backends that come with the project.

Importing this package costs numpy and nothing else, so a third party may use the names below freely;
it may as well define classes of the same names, since the suite recognises errors by class name.
"""

from dmlcts.backends.contract import (
    Backend,
    BackendUnavailable,
    Device,
    DeviceInfo,
    DeviceLost,
    ExecutionFailed,
    InvalidArgument,
    Kernel,
    NotSupported,
)

__all__ = [
    "Backend",
    "BackendUnavailable",
    "Device",
    "DeviceInfo",
    "DeviceLost",
    "ExecutionFailed",
    "InvalidArgument",
    "Kernel",
    "NotSupported",
]
