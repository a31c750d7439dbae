"""The ``onnxruntime`` backend: ONNX models of the operators, run by ONNX Runtime.

Only what ONNX can say is claimed.
"""
