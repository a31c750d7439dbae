"""Submissions: what a certification hands in, how it is signed, and what can be checked of it without a device.

``archive`` reads and writes the ZIP file, ``submission`` holds its members and signs their summary (``seal``),
``signing`` makes and checks keys and signatures, ``identity`` says which suite this is by the digests of its ``files``,
``drafts`` what makes a submission a draft, ``structure`` checks what needs no case to be judged again, and ``verdict``
puts the checks' lines together. Judging again needs the suite's generators and lives in
``dmlcts.suites.certification.verify``.
"""
