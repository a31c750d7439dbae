"""Exhaustive sweeps: every input of a type, judged in blocks that know nothing of each other."""
