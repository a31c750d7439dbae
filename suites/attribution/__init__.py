"""From something that is wrong to what is to blame: smaller cases, what a fault needs, and the clause it breaks.

Whether something is wrong is decided in ``judging``.
"""
