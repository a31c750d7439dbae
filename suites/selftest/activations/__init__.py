"""Tests of activations that are fused to an operator: descriptions, tables, oracles, the judgement and its mutants."""
