"""Faults that only some magnitudes show: a binade, a digit, a bit."""
