"""This checkout as pip installs its wheel, without pip: it is never modified, whatever somebody is working on."""

from __future__ import annotations

import base64
import hashlib
import tomllib
from pathlib import Path

from dmlcts.reports.certification.files import suite_files

HOUSE = Path(__file__).resolve().parents[2]
ABOUT = "dmlcts-0.1.0.dist-info"


def installed(folder: Path) -> Path:
    """The rooms in a folder that goes on the path, and the list of their digests; `.ci/run` builds a real wheel."""
    listed = [f"{ABOUT}/RECORD,,"]
    for name in suite_files(HOUSE):
        content, path = (HOUSE / name).read_bytes(), folder / "dmlcts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        listed.append(f"dmlcts/{name},sha256={digest},{len(content)}")
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in named.items())
        for group, named in project["entry-points"].items()
    )
    about = f"Metadata-Version: 2.1\nName: dmlcts\nVersion: {project['version']}\n"
    for name, text in (("METADATA", about), ("entry_points.txt", points), ("RECORD", "\n".join([*listed, ""]))):
        (folder / ABOUT).mkdir(exist_ok=True)
        (folder / ABOUT / name).write_text(text, encoding="utf-8")
    return folder / "dmlcts"
