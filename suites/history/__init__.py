"""Releases of one package judged one after the other with the same suite: since when each departure exists.

What a history says is put together and written by ``reports.comparing.history``.
"""
