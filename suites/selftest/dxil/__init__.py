"""Selftests of the translation of compute shaders.

The rest of the software adapter is tested in ``directml``.
"""
