"""Faults that show only where conditions of two kinds meet: an attribute and a refusal, ScaleBias and neighbours.

What is wrong with one layout, value or attribute alone does not belong here.
"""
