"""Proof of the tables of the family: what they mean, what they leave open, what holds between their operators."""
