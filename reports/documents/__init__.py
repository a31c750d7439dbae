"""The documents that are written and read back: records, results, journals, waivers, their schemas and limits.

How they are shown is no matter of this room.
"""
