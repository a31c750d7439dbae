"""Selftests of a release: one version everywhere, what a wheel and a source archive hold, the community files.

What a run judges, and how, is tested elsewhere.
"""
