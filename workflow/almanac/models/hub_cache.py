"""This machine's cache of the Hugging Face hub: which commits of repositories are in it, and copies of them.

Other programs fill it, each commit in a folder ``models--OWNER--NAME/snapshots/COMMIT``.
"""

import re
import shutil
from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from pathlib import Path

from almanac.errors import AlmanacError
from almanac.models.checkpoint import CONFIG, complete

SNAPSHOT = re.compile(r"/models--(?:[^/]+--)?([^/]+)/snapshots/([0-9a-f]{40})$")


def snapshot(folder: Path) -> tuple[str, str] | None:
    """Return the name (without owner) and commit of the repository whose cached folder this is; None for others."""
    found = SNAPSHOT.search(folder.absolute().as_posix())
    return None if found is None else (found[1], found[2])


def pinned(name: str) -> str:
    """Return how to name a repository with a commit: the cached one of its main branch, or where commits are listed."""
    from huggingface_hub import try_to_load_from_cache  # slow to load

    cached = try_to_load_from_cache(name, CONFIG)
    if isinstance(cached, str):
        return f"{name}@{Path(cached).parent.name} is in this machine's cache"
    return f"{name}@COMMIT, the 40 hexadecimal digits that `git ls-remote https://huggingface.co/{name} HEAD` prints"


def copied(name: str, revision: str, folder: Path, wanted: Sequence[str], left: Collection[str]) -> bool:
    """Copy a commit's files into a folder, if a complete checkpoint is cached; return whether it is.

    Args:
        name: the repository.
        revision: the commit.
        folder: where the copies go.
        wanted: patterns of the names of the files.
        left: names of files that are left out.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        cached = Path(snapshot_download(name, revision=revision, allow_patterns=[*wanted], local_files_only=True))
        complete(cached)
    except (HfHubHTTPError, OSError, ValueError, AlmanacError):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    for path in cached.iterdir():
        if path.is_file() and path.name not in left and any(fnmatch(path.name, pattern) for pattern in wanted):
            shutil.copyfile(path, folder / path.name)
    return True
