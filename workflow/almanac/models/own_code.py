"""Code that comes with a checkpoint is never run, unless the user allows it and pins the commit that they have read."""

import inspect
import json
from pathlib import Path
from typing import Any

from almanac.errors import AlmanacError
from almanac.models.options import COMMIT
from almanac.sealed import PULLED

REMEDY = (
    "read it, then allow it with `trust_remote_code: true` and `revision: COMMIT` (the commit's 40 hexadecimal digits) "
    "in the model's entry, or with --trust-remote-code --revision COMMIT"
)


def check(folder: Path, trusted: bool, revision: str | None) -> None:
    """Check that trust in a checkpoint's code is pinned to a commit.

    Raises:
        AlmanacError: no commit is given, another one was pulled, or the code lies in another repository.
    """
    if not trusted:
        return
    if not COMMIT.fullmatch(revision or ""):
        raise AlmanacError(
            f"model {folder}: trust_remote_code needs the commit whose code you have read; found revision "
            f"{revision!r}; give `revision: COMMIT` (--revision), 40 hexadecimal digits"
        )
    pulled = _json(folder / PULLED).get("revision")
    if pulled not in (None, revision):
        raise AlmanacError(
            f"model {folder}: revision is {revision}, and {PULLED} says that {pulled} was pulled; pull the commit "
            "that you trust"
        )
    for name in ("config.json", "tokenizer_config.json"):
        mapped = _json(folder / name).get("auto_map", {})
        for target in _flat(mapped.values() if isinstance(mapped, dict) else [mapped]):
            if "--" in target:
                raise AlmanacError(
                    f"model {folder}: {name} takes code from another repository ({target}), which `revision` does not "
                    "pin; copy that file into the folder and name it in auto_map without the repository"
                )


def refuse(folder: Path, error: Exception) -> None:
    """Turn transformers' refusal to run a checkpoint's own code into a message that says what to do.

    Raises:
        AlmanacError: the error is such a refusal.
    """
    if "trust_remote_code" in str(error):
        files = sorted(path.name for path in folder.glob("*.py"))
        raise AlmanacError(
            f"model {folder}: needs code of its own ({', '.join(files) or 'which the folder lacks'}), and that is not "
            f"run; {REMEDY}"
        ) from error


def check_ran(network: Any, folder: Path) -> None:
    """Check that the code that runs is the code in the folder, which the digest was computed from.

    transformers runs a copy; in a process that has loaded the same architecture before, it is that older copy.

    Raises:
        AlmanacError: a file differs.
    """
    for kind in type(network).__mro__:
        if kind.__module__.partition(".")[0] != "transformers_modules":
            continue
        for copy in Path(inspect.getfile(kind)).parent.glob("*.py"):
            own = folder / copy.name
            if own.is_file() and own.read_bytes() != copy.read_bytes():
                raise AlmanacError(
                    f"model {folder}: {own.name} is not the code that runs, which was loaded in this process before; "
                    "load the model in a new process"
                )


def _json(path: Path) -> dict[str, Any]:
    """Return a file's JSON object, or {} if it cannot be read: the code that loads the file reports that."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _flat(values: Any) -> list[str]:
    """Return the texts of a list whose elements may be lists (a tokenizer maps to a slow and a fast class)."""
    return [text for value in values for text in (_flat(value) if isinstance(value, list) else [str(value)])]
