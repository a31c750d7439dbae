"""A static site of kept results: pages of operators and of implementations, and the folder that holds them.

A single run is shown by ``views``, and runs beside runs by ``comparing``; the site arranges what these two have.
"""
