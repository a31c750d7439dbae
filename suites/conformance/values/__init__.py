"""Tests of values: what an element becomes.

Where elements lie, and what a description may say, is asked in ``tensors``.
"""
