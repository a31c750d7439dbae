"""The two oracles, which give the tables their meaning, and the form of what they answer.

``exact`` goes one element at a time with Python integers and fractions; ``vectorised`` takes whole
arrays with numpy. They share no code beyond ``outcome``; the rules of both are in ``specs/README.md``.
"""
