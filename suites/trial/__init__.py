"""A backend tried in seconds, before anything is judged: is it there, what does it claim, does each operator compute.

What a whole run is lives in ``running``; nothing here gives a verdict.
"""
