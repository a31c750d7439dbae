"""What is said: the records of a run, and everything that is written from them.

A run produces :class:`~dmlcts.reports.records.ItemRecord` values, one a test. From them,
:func:`dmlcts.reports.results.build_results` makes the results document (``dmlcts-results/1``), the one source
of the verdict and of every other report; :mod:`dmlcts.reports.run_folder` puts documents on disk,
:mod:`dmlcts.reports.validation` reads them back, :mod:`dmlcts.reports.html`, :mod:`dmlcts.reports.markdown`,
:mod:`dmlcts.reports.junit`, :mod:`dmlcts.reports.badge` and :mod:`dmlcts.reports.terminal` show them, and
:mod:`dmlcts.reports.difference` compares two. Reports know the spec tables and no backend, so that a result can
be read, drawn and verified on any machine.
"""
