"""Tests of tensors: descriptions, layouts, memory, aliasing, and state between dispatches.

What an element becomes is asked in ``values``.
"""
