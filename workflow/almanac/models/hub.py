"""Downloads checkpoints from the Hugging Face hub, pinned to a commit. Only `pull` does so: `answer` stays offline."""

import os
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError

from almanac.errors import AlmanacError
from almanac.models.hub_cache import copied, pinned
from almanac.models.options import COMMIT, REPOSITORY, UNPINNED
from almanac.sealed import MADE

# Weights without pickles, the tokenizer, the settings; code of the repository only if it is asked for.
WANTED = ("*.safetensors", "*.safetensors.index.json", "*.json", "*.txt", "*.model", "*.jinja")
CODE = ("*.py",)
LEFT = (MADE,)  # the record of a planted model, which names tables that are not brought


def download(name: str, revision: str, folder: Path, code: bool = False) -> list[Path]:
    """Download a checkpoint's files into a folder; files that are there already are not downloaded again.

    If the hub cannot be reached, a complete copy of the commit in this machine's cache of the hub is used.

    Args:
        name: the repository, ``owner/name``.
        revision: the commit, 40 hexadecimal digits.
        folder: the folder for the files.
        code: whether to download the checkpoint's own code too; it is not run here.

    Returns:
        The files, sorted.

    Raises:
        AlmanacError: the name or commit is malformed, or the download fails; the message says what to do.
    """
    if revision == UNPINNED:
        raise AlmanacError(
            f"model {name}: its revision is not pinned yet; write the commit as `revision` of its entry: {pinned(name)}"
        )
    if not REPOSITORY.fullmatch(name) or not COMMIT.fullmatch(revision):
        raise AlmanacError(f"model {name} at {revision}: needs a repository owner/name and a commit of 40 hex digits")
    wanted = [*WANTED, *(CODE if code else ())]
    try:
        snapshot_download(name, revision=revision, local_dir=folder, allow_patterns=wanted, ignore_patterns=[*LEFT])
    except (HfHubHTTPError, OSError, ValueError) as error:
        if not copied(name, revision, folder, wanted, LEFT):
            offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
            remedy = "unset HF_HUB_OFFLINE" if offline else "check name, commit, access (HF_TOKEN) and the network"
            raise AlmanacError(
                f"model {name} at {revision}: cannot be downloaded from the hub ({_first(error)}); {remedy}"
            ) from error
    return sorted(path for path in folder.iterdir() if path.is_file())


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
