"""What an edition reads on the user's disk: looked at before any job is planned, and known by more than its date."""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from almanac import sealed
from almanac.config.edition import EditionConfig
from almanac.config.models import ModelConfig
from almanac.errors import AlmanacError, no_such
from almanac.models import checkpoint
from almanac.models.digest import TOKENIZER
from almanac.models.options import UNPINNED
from almanac.options import DiskKey, Options, places, with_places
from almanac.sources.files import check_folder, table_files
from almanac.sources.options import DumpOptions, FilesOptions

SAFETENSORS = ".safetensors"
ASKED = ("datasets", "planting", "suites", "size")  # the keys of a configuration that say what is asked, and of what


def check_inputs(config: EditionConfig, results: Path) -> None:
    """Look at everything that a configuration names, whether or not a job will read it.

    Snakemake takes a page that is there for finished when what it was made of cannot be found, so this comes first.

    Args:
        config: the configuration.
        results: the edition's folder, where the next run may write over a file that a person has made.

    Raises:
        AlmanacError: something is missing or not whole, naming its key; all of them together.
    """
    wrong = [mistake for place in places(config) if (mistake := _mistake(place, results)) is not None]
    _refuse(config, wrong)


def check_copied(config: EditionConfig, results: Path, remembered: Path) -> None:
    """Look at whether results that were made elsewhere are of these settings, which Snakemake cannot know.

    It compares settings with those that it remembers of its own runs in a folder. Of results that were copied there it
    remembers none, and would take them for finished whatever is asked now.

    Args:
        config: the configuration.
        results: the edition's folder.
        remembered: Snakemake's folder of what it remembers of a file, by the base64 of its path.

    Raises:
        AlmanacError: what is asked, of what, has changed since, naming the first key.
    """
    record = results / "edition.json"
    made = _recorded(results)
    if made is None or (remembered / urlsafe_b64encode(str(record).encode()).decode()).exists():
        return
    was, now = (with_places(one, lambda place: "") for one in (made, config))
    for key in ASKED:
        if (first := _first_difference(was[key], now[key], key)) is not None:
            raise AlmanacError(
                f"{results}: was made elsewhere with other settings ({first}), which cannot be seen in its files; "
                f"go on with its own (--configfile {record}), give another edition=NAME, or remove it"
            )


def _first_difference(was: Any, now: Any, key: str) -> str | None:
    """Return the first key of nested settings that differs, with both values; none where all are equal."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        keys = sorted({*was, *now})
        return next((one for k in keys if (one := _first_difference(was.get(k), now.get(k), f"{key}.{k}"))), None)
    return None if was == now else f"{key}: {json.dumps(was)}, now {json.dumps(now)}"


def replaced(config: EditionConfig, results: Path) -> str | None:
    """Return what a run replaces in an edition's folder: models that it no longer asks, other facts, another size.

    Args:
        config: the configuration.
        results: the edition's folder; one that holds no edition, or a damaged one, loses nothing.
    """
    before = _recorded(results)
    if before is None:
        return None
    models, asked = _origins(before), _origins(config)
    gone = [one for one in models if one not in asked]
    was: dict[str, Sequence[str | None]] = {"model": gone, "facts": [before.facts], "size": [before.size]}
    now: dict[str, Sequence[str | None]] = {"model": asked, "facts": [config.facts], "size": [config.size]}
    changed = [key for key, values in was.items() if not set(values) <= set(now[key])]
    if not changed:
        return None
    old, new = ("; ".join(f"{key} {', '.join(map(str, of[key]))}" for key in changed) for of in (was, now))
    return f'{results} was of {old}; it is made anew for {new}; keep both with ARGS="edition=NAME" of `make own`'


def _origins(config: EditionConfig) -> list[str]:
    return [model.path or model.hub or model.api or model.name for model in config.models]


def _recorded(results: Path) -> EditionConfig | None:
    """Return the configuration that results were made with; none where they are not there, or it cannot be read."""
    try:
        return EditionConfig.model_validate(sealed.opened(json.loads((results / "edition.json").read_bytes())))
    except (OSError, ValueError):
        return None  # of another Almanac, or damaged; a step that reads it says so


def check_pinned(config: EditionConfig) -> None:
    """Look at whether every model from a hub has its commit, which a run needs and a plan does not.

    Raises:
        AlmanacError: some have none, naming them all and where to look it up.
    """
    wrong = [
        f"models.{model.name}.revision: is not pinned yet; look the commit up with "
        f"`git ls-remote https://huggingface.co/{model.hub} HEAD` and write its 40 digits"
        for model in config.models
        if model.revision == UNPINNED
    ]
    _refuse(config, wrong)


def _refuse(config: EditionConfig, wrong: list[str]) -> None:
    if wrong:
        raise AlmanacError("\n".join(f"configuration of {config.edition!r}: {line}" for line in wrong))


def _mistake(place: DiskKey, results: Path) -> str | None:
    """Return what is wrong with what is named, or none."""
    try:
        _check(place, results)
    except AlmanacError as error:
        return f"{place.key}: {error}"
    except OSError as error:
        return f"{place.key}: {error.filename or place.path}: cannot be read ({error.strerror}); mend its rights"
    return None


def _check(place: DiskKey, results: Path) -> None:
    path, kind = Path(place.path), place.named.kind
    if set(place.path) & set("{}\n\r"):
        raise AlmanacError(f"{place.path!r} holds a brace or a line break, which Snakemake reads as its own; rename it")
    if kind == "registry":
        return  # its entries have been looked up
    if kind == "facts":
        check_folder(path)
        return
    if kind == "file":
        _check_file(path, results)
        return
    if kind == "checkpoint" and path.exists():
        checkpoint.complete(path)
    if not path.is_dir():
        raise AlmanacError(no_such(path, "folder"))
    if kind == "tokenizer" and not read_of(place):
        raise AlmanacError(f"{path}: holds no {kind}; name a checkpoint's folder")
    missing = [file.name for file in read_of(place) if not file.exists()]
    if missing:
        raise AlmanacError(f"{path}: lacks {', '.join(missing)}; correct the path, or bring what is missing")


def _check_file(path: Path, results: Path) -> None:
    if path.resolve().is_relative_to(results.resolve()):
        raise AlmanacError(
            f"{path} lies in {results}, where the next run may write over what was proofread; copy it to a place of "
            "your own and name that"
        )
    if not path.is_file():
        raise AlmanacError(no_such(path, "file"))
    path.open("rb").close()


def read_of(place: DiskKey) -> list[Path]:
    """Return the files that are read of what is named."""
    path, owner = Path(place.path), place.owner
    if place.named.kind == "facts":
        return table_files(path)
    if place.named.kind == "downloads" and isinstance(owner, DumpOptions):
        wanted = [path / one.name for one in owner.downloads()]
        inside = [sorted(filter(Path.is_file, one.rglob("*"))) if one.is_dir() else [one] for one in wanted]
        return [file for several in inside for file in several]
    if place.named.kind == "tokenizer":
        return [file for file in checkpoint.files(path) if any(file.match(pattern) for pattern in TOKENIZER)]
    if place.named.kind == "checkpoint":
        return checkpoint.files(path, isinstance(owner, ModelConfig) and owner.trust_remote_code)
    return [path]


def files(settings: Options, *kinds: str) -> list[Path]:
    """Return the files that are read for some settings, of the kinds that are named."""
    return [file for place in places(settings) if place.named.kind in kinds for file in read_of(place)]


def source_files(config: EditionConfig, name: str) -> list[Path]:
    """Return the user's files that a source is read from."""
    source = config.sources[name]
    if isinstance(source, FilesOptions):
        return table_files(Path(config.source_folder(name)))
    return files(source, "downloads")


def known(paths: list[Path]) -> list[str]:
    """Return what files are known by: name, bytes, exact time and, of weights, the header's digest.

    As a parameter of a rule it reruns the rule for a file that was replaced by an older one, too.
    """
    out = []
    for path in paths:
        status = path.stat()
        weights = path.suffix == SAFETENSORS
        head = _head(path, status.st_size, status.st_mtime_ns) if weights else ""
        out.append(f"{path.name} {status.st_size} {status.st_mtime_ns} {head}".rstrip())
    return out


@cache
def _head(path: Path, size: int, time: int) -> str:
    """Return the digest of a header; size and time are there so that a file that has changed is read again."""
    return hashlib.sha256(checkpoint.header(path)).hexdigest()
