"""Selftests of the house itself: rooms, arrows, words; and code mutation.

Nothing here judges an implementation.
"""
