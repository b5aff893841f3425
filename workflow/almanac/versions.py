"""The version of each verb's results. Raise one when a change of code changes what the verb writes.

The rules pass it as a parameter, so that such a change reruns the affected jobs, in a fresh clone too. A page depends
on two of these versions, and states them (`MAKER`).
"""

import json
import re
import subprocess
from importlib import metadata
from pathlib import Path

from almanac import __version__
from almanac.project import INSTALLED, PROJECT

VERSIONS = {
    "pull": 17,
    "build": 18,
    "plant": 9,
    "ask": 33,
    "answer": 12,
    "measure": 83,
    "report": 105,
    "freeze": 9,
}
MAKER = f"Almanac {__version__}, measure {VERSIONS['measure']}, report {VERSIONS['report']}"  # a page states this


def maker_of(page: Path) -> str:
    """Return the code that made a page, in the form of `MAKER`; the pages of early versions do not state it."""
    with page.open(encoding="utf-8", errors="replace") as stream:
        found = re.search('<meta name="generator" content="([^"<]*)">', stream.read(2000))
    return found[1] if found else "an earlier Almanac"


def commit() -> str | None:
    """Return the commit of the checkout that runs, or that pip has installed from a repository; None outside git.

    It ends in ``-dirty`` if files of a checkout were changed since.
    """
    if INSTALLED:
        came_from = json.loads(metadata.distribution("almanac").read_text("direct_url.json") or "{}")
        found: str | None = came_from.get("vcs_info", {}).get("commit_id")
        return found
    if not (PROJECT / ".git").exists():
        return None
    described = ["git", "-C", str(PROJECT), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        return subprocess.run(described, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
