"""The ``litert`` backend: each operator as a TFLite model of one operator, run by LiteRT on the CPU."""

from dmlcts.backends.litert.backend import LiteRtBackend

__all__ = ["LiteRtBackend"]
