"""Faults that show only where conditions of two kinds of test meet: an attribute and a refusal, ScaleBias and company.

What is wrong with one layout, value or attribute alone does not belong here.
"""
