"""How an implementation is probed: the conformance tests, and all that runs and judges them.

The rooms, in the order in which a case passes through them (``LIFE_OF_A_CASE.md``):

- ``conformance``: what is asked of an implementation, as tests; begin here.
- ``options``, ``commands``, ``console``: the options of a run, the command line, what it prints through.
- ``families``: a family of conformance tests on an operator is one pytest item.
- ``generation``, ``combinations``: where cases come from, and which combinations they cover.
- ``cases``: one question to an implementation, with its memory.
- ``batches``, ``isolation``: many cases dispatched together, in a process of their own.
- ``judging``, ``measuring``: whether an answer is right, and how far it is from the real number.
- ``attribution``: what is to blame for a wrong one.
- ``running``, ``progress``, ``rerunning``: a run and its records, where it is, and tests lost with their process.
- ``sweeping``, ``offline``, ``trial``: every input, devices without a connection, a first try.
- ``history``, ``targets``: releases of a runtime, and the runtimes that others move to, each in its environment.
- ``publishing``: all that a machine can judge, and the site of it.
- ``certification``, ``benchmarks``: submissions, and what judging costs.
- ``mutants``, ``proof``, ``selftest``: the suite's own proof and tests; no wheel holds them.
"""
