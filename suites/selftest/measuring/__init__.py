"""Errors are measured right: the references against each other, planted inaccuracies, merging."""
