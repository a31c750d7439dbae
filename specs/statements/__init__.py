"""What clauses state in the expression language: silent points with named behaviours, and relations of results.

A statement is evaluated without any latitude: integers are exact and unbounded, whatever their type, until ``wrap`` or
``saturate`` stores them; floating-point numbers are single patterns, rounded to nearest. What has no value (division by
zero, a shift by a negative count) is *undefined*: no condition holds of it and no behaviour explains anything by it.
"""
