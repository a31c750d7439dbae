"""Selftests of the ``directml`` backend: layouts, COM, adapter, session.

Its shader translation is tested in ``dxil``.
"""
