"""The version of each verb's results. Raise one when a change of code changes what the verb writes.

The rules pass it as a parameter, so that such a change reruns what it must, in a fresh clone too. What a page shows
depends on two of them, and a page says which.
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
    "build": 17,
    "plant": 9,
    "ask": 31,
    "answer": 11,
    "measure": 80,
    "report": 102,
    "freeze": 9,
}
MAKER = f"Almanac {__version__}, measure {VERSIONS['measure']}, report {VERSIONS['report']}"  # of a page


def maker_of(page: Path) -> str:
    """Return what a page says of the code that made it, as `MAKER`; earlier ones say nothing."""
    with page.open(encoding="utf-8", errors="replace") as stream:
        found = re.search('<meta name="generator" content="([^"<]*)">', stream.read(2000))
    return found[1] if found else "an earlier Almanac"


def commit() -> str | None:
    """Return the commit of the project that runs, or that pip has installed from a repository; none outside git.

    It ends in ``-dirty`` where files of a checkout were changed since.
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
