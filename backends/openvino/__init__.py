"""The ``openvino`` backend: each operator as a model of one OpenVINO operation, on the CPU, a GPU or an NPU."""

from dmlcts.backends.openvino.backend import OpenVinoBackend

__all__ = ["OpenVinoBackend"]
