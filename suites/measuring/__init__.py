"""What judged dispatches show besides a verdict, of which it is no part.

How far outputs are from the real numbers, measured always.
"""
