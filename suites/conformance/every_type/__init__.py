"""Tests of tensors on every signature in every profile: kernels of one type may be wrong where those of others are not.

Few cases each, in which much comes together; what needs more is asked in ``tensors``.
"""
