"""What is said: the records of a run, and everything that is written from them.

A run produces records, one a test. From them :func:`dmlcts.reports.documents.results.build_results` makes the results
document (``dmlcts-results/2``), the one source of the verdict and of every other report. ``documents`` are written and
read back, ``views`` show one, ``comparing`` compares several, ``certification`` hands them in. Reports know the spec
tables and no backend, so that a result can be read, drawn and verified on any machine.
"""
