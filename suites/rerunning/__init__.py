"""Tests that were lost with their process: what was collected and not recorded runs again in fresh processes.

What a run is, its journal and its records live in ``running/``; the implementation's own process in ``isolation/``.
"""
