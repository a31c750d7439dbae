"""Batches: the same judgements as of each case alone."""
