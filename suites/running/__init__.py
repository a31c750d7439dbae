"""A run: its options, pytest around it, its records, and what may be made of them afterwards (resume, merge, replay).

Commands, with their options and messages, live in ``commands``.
"""
