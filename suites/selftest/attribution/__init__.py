"""Selftests of attribution: shrinking, needs, neighbours, steadiness, one fault reported once.

The judge is tested in ``judging``.
"""
