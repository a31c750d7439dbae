"""Mutants of the approximate operators: a fault a row, each a function of the right results and the operands."""
