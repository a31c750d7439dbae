"""Faults that need two or three things at once: each is right wherever only one of them is there."""
