"""Selftests of single steps of a verdict: what memory holds before a dispatch, what is expected, what is said.

Whole judgements are tested in ``judging``.
"""
