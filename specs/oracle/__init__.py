"""The two oracles, which give the tables their meaning, and the form of what they answer.

``vectorised`` takes whole arrays with numpy, casts FLOAT attributes to the tensor's type, and judges. ``exact`` goes
one element at a time with Python integers and fractions; no run uses it: it is the second opinion that the selftests
compare ``vectorised`` with. Both read the same parsed tables and answer in the form of ``outcome``; they share no
arithmetic. The rules of both are in ``specs/README.md``.
"""
