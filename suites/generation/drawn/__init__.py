"""What is drawn: layouts by Hypothesis, once for operators that take the same; values and attributes from a seed."""
