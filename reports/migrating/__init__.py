"""What changes for whoever moves from one implementation to another: the document of it, and its pages.

Several implementations side by side, and one that changed, are shown by ``comparing``.
"""
