"""Submissions made and verified by judging again.

What can be checked of a submission without judging lives in ``dmlcts.reports.certification``.
"""
