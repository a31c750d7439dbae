"""Selftests of sweeps: judging apart, folders, crews, schedulers, damaged journals.

Ordinary runs are tested in ``running``.
"""
