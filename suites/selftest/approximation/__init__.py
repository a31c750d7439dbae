"""That approximate results are judged rightly: two oracles that agree, references from outside, proof by mutants."""
