"""Selftests of what is generated: cases, covering arrays, seeds.

Their judgement is tested in ``judging``.
"""
