"""Selftests of the bridge to libraries of Windows, and of Windows' own DirectML.dll on it."""
