"""This checkout as pip installs its wheel, without pip: it is never modified, whatever somebody is working on."""

from __future__ import annotations

import base64
import hashlib
import tomllib
from pathlib import Path

from dmlcts.reports.certification.files import suite_files

HOUSE = Path(__file__).resolve().parents[2]


def installed(folder: Path) -> Path:
    """The rooms in a folder that goes on the path, and the list of their digests; `.ci/run` builds a real wheel."""
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = folder / f"dmlcts-{project['version']}.dist-info"
    listed = [f"{about.name}/RECORD,,"]
    for name in suite_files(HOUSE):
        content, path = (HOUSE / name).read_bytes(), folder / "dmlcts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        listed.append(f"dmlcts/{name},sha256={digest},{len(content)}")
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in named.items())
        for group, named in project["entry-points"].items()
    )
    metadata = f"Metadata-Version: 2.1\nName: dmlcts\nVersion: {project['version']}\n"
    for name, text in (("METADATA", metadata), ("entry_points.txt", points), ("RECORD", "\n".join([*listed, ""]))):
        about.mkdir(exist_ok=True)
        (about / name).write_text(text, encoding="utf-8")
    return folder / "dmlcts"
