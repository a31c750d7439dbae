"""The ``cpu`` backend: the operators in numpy, following IEEE 754 strictly.

It is one more implementation under test, and shares no arithmetic with the oracle that judges it.
"""

from dmlcts.backends.cpu.device import CpuBackend, CpuDevice

__all__ = ["CpuBackend", "CpuDevice"]
