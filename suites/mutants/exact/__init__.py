"""Mutants of the exact operators: a fault a row, each a function of the right results and the operands."""
