"""Selftests of attribution: shrinking, needs, company, steadiness, one fault told once.

The judge is tested in ``judging``.
"""
