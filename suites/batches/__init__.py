"""Many small cases judged together: layouts planned once, one arena, one question to the oracle, one comparison.

Each case is still created, dispatched and closed by itself, in its order, on its own slice of the arena.
"""
