"""One question to an implementation: a description, values, a memory, a history, and the bench that puts it.

Whether the answer is right is no matter of this room.
"""
