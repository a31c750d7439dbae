"""Submissions whose evidence, or whose very members, were tampered with, and signed again."""

from __future__ import annotations

import struct

from dmlcts.reports.certification import archive
from dmlcts.suites.selftest.certification.submissions import RECORDS, Parts
from dmlcts.suites.selftest.certification.tampered_documents import edit


@edit("evidence", r"in ELEMENT_WISE_CLIP FLOAT32 lattice 0: element 0: input -1\.0 \(0xbf800000\) gives 42\.0")
def a_wrong_output(parts: Parts) -> None:
    outputs = parts.members[archive.OUTPUTS]
    parts.members[archive.OUTPUTS] = struct.pack("<f", 42.0) + outputs[4:]


@edit("evidence", r"wrong output in \S+ \S+ sample 31")
def a_wrong_output_in_the_sample(parts: Parts) -> None:
    outputs = parts.members[archive.OUTPUTS]
    parts.members[archive.OUTPUTS] = outputs[:-4] + b"\x55\xf0\x55\xf0"


@edit("evidence", "wrong output in")
def outputs_of_zeros(parts: Parts) -> None:
    parts.members[archive.OUTPUTS] = bytes(len(parts.members[archive.OUTPUTS]))


@edit("evidence", r"evidence\.bin has [\d,]+ bytes, the plan asks for")
def missing_outputs(parts: Parts) -> None:
    parts.members[archive.OUTPUTS] = parts.members[archive.OUTPUTS][:-4]


@edit("evidence", "the statement is of another plan: plan is 000")
def evidence_of_another_plan(parts: Parts) -> None:
    parts.statement["evidence"] = {**parts.statement["evidence"], "plan": "0" * 64}


@edit("evidence", "the evidence is of another plan: cases is 3")
def evidence_of_fewer_cases(parts: Parts) -> None:
    parts.edit(archive.EVIDENCE, lambda report: report.update(cases=3))


@edit("evidence", "ELEMENT_WISE_CLIP FLOAT32 lattice 0 has no output: refused")
def an_absent_output(parts: Parts) -> None:
    report = {"case": 0, "outcome": "refused", "said": ""}
    parts.edit(archive.EVIDENCE, lambda evidence: evidence.update(absent=[report]))


@edit("evidence", "names absent cases twice, or some that are not planned")
def an_absent_output_that_was_not_planned(parts: Parts) -> None:
    report = {"case": 99999, "outcome": "refused", "said": ""}
    parts.edit(archive.EVIDENCE, lambda evidence: evidence.update(absent=[report]))


@edit("statement", "has the unknown key sponsor")
def an_unknown_member_of_the_statement(parts: Parts) -> None:
    parts.statement["sponsor"] = "me"


@edit("statement", "lacks log.txt")
def no_log(parts: Parts) -> None:
    del parts.members[archive.LOG]


@edit("statement", "lacks records")
def no_records(parts: Parts) -> None:
    del parts.members[RECORDS]
