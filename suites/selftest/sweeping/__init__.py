"""Selftests of sweeps: judging apart, folders, worker pools, schedulers, damaged journals.

Ordinary runs are tested in ``running``.
"""
