"""Selftests of the command line, its exit codes, and the guides' commands.

What the commands do is tested beside it.
"""
