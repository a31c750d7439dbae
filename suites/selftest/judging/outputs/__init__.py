"""Selftests of what stands in a memory after a dispatch, and of outputs in it."""
