"""Selftests of results beside results: baselines, waivers, comparisons, DxDispatch models.

Single views are tested in ``reports``.
"""
