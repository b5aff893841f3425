"""An archive written again by somebody who mends the manifest and the citation to what was changed."""

import hashlib
import json
import sys
import zipfile

from almanac.edition.archive import about, contents
from almanac.edition.manifest import MANIFEST, digest, written

# What Python says of brackets in JSON that go too deep.
TOO_DEEP = "maximum recursion depth" if sys.version_info < (3, 14) else "Stack overflow"


def members_of(archive):
    """Return what an archive holds, by name."""
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def write(target, members):
    """Write an archive; return its path."""
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return str(target)


def mended(layout, members, target, change):
    """Write an archive, its members and manifest changed by ``change(members, manifest)``; return its path."""
    members = dict(members)
    manifest = json.loads(members.pop(MANIFEST))
    change(members, manifest)
    for entry in manifest["files"]:
        state(entry, members[entry["path"]])
    manifest["digest"] = digest(manifest)
    rows = {
        path.relative_to(layout.root).with_suffix(".jsonl").as_posix(): row
        for path, row in contents(layout, ()).items()
    }
    members |= about(layout.config, manifest, rows)
    for entry in manifest["about"]:
        state(entry, members[entry["path"]])
    return write(target, {**members, MANIFEST: written(manifest)})


def state(entry, content):
    """Let an entry of a manifest say what a member holds."""
    entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
