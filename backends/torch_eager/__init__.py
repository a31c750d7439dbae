"""The ``torch`` backend: each operator mapped onto one function of PyTorch."""

from dmlcts.backends.torch_eager.backend import TorchBackend, TorchDevice

__all__ = ["TorchBackend", "TorchDevice"]
