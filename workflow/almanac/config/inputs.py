"""The user's files that an edition reads: checked before jobs are planned, and identified by more than their date."""

import hashlib
import os
from functools import cache
from pathlib import Path

from almanac.config.edition import EditionConfig
from almanac.config.models import ModelConfig
from almanac.errors import AlmanacError, no_such, refuse
from almanac.models import checkpoint
from almanac.models.digest import TOKENIZER
from almanac.models.hub_cache import pinned
from almanac.models.options import UNPINNED
from almanac.models.wrappers import TEMPLATES
from almanac.options import DiskKey, Options, places
from almanac.sealed import sha256
from almanac.sources.files import check_folder, table_files
from almanac.sources.options import DumpOptions, FilesOptions

SAFETENSORS = ".safetensors"


def check_inputs(config: EditionConfig, results: Path) -> None:
    """Check every file and folder that a configuration names, whether or not a job will read it.

    This comes first because Snakemake takes an existing page for finished if the page's inputs cannot be found.

    Args:
        config: the configuration.
        results: the edition's folder; the user's files may not lie there, since a run may overwrite them.

    Raises:
        AlmanacError: files are missing or incomplete; the message names all their keys.
    """
    wrong = [mistake for place in places(config) if (mistake := _mistake(place, results)) is not None]
    refuse([f"configuration of {config.edition!r}: {line}" for line in wrong], len(wrong))


def check_writable(results: Path) -> None:
    """Check that an edition's folder can be written, or made if it does not exist.

    Raises:
        AlmanacError: it cannot.
    """
    stands = next(path for path in (results, *results.parents) if path.exists())
    if stands.is_dir() and os.access(stands, os.W_OK):
        return
    what = f"{results}: " if stands == results else f"{results}: cannot be written, since {stands} "
    if os.statvfs(stands).f_flag & os.ST_RDONLY:
        raise AlmanacError(f"{what}is on a read-only file system; work in a copy on another disk")
    raise AlmanacError(f"{what}is no writable folder; move it or mend its rights")


def check_pinned(config: EditionConfig) -> None:
    """Check that every model from a hub has its commit, which a run needs and a plan does not.

    Raises:
        AlmanacError: models without a commit, naming all of them and the command that looks it up.
    """
    wrong = [
        f"configuration of {config.edition!r}: models.{model.name}.revision: is not pinned yet; write its commit: "
        f"{pinned(str(model.hub))}"
        for model in config.models
        if model.revision == UNPINNED
    ]
    refuse(wrong, len(wrong))


def _mistake(place: DiskKey, results: Path) -> str | None:
    """Return what is wrong with a file or folder that the configuration names; None if nothing is."""
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
    if kind == "tokenizer" and not _like(read_of(place), *TOKENIZER):
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
    """Return the files that are read from a file or folder that the configuration names."""
    path, owner = Path(place.path), place.owner
    if place.named.kind == "facts":
        return table_files(path)
    if place.named.kind == "downloads" and isinstance(owner, DumpOptions):
        wanted = [path / one.name for one in owner.downloads()]
        inside = [sorted(filter(Path.is_file, one.rglob("*"))) if one.is_dir() else [one] for one in wanted]
        return [file for several in inside for file in several]
    if place.named.kind == "tokenizer":
        return _like(checkpoint.files(path), *TOKENIZER, *TEMPLATES)
    if place.named.kind == "checkpoint":
        return checkpoint.files(path, isinstance(owner, ModelConfig) and owner.trust_remote_code)
    return [path]


def _like(paths: list[Path], *patterns: str) -> list[Path]:
    return [path for path in paths if any(path.match(pattern) for pattern in patterns)]


def files(settings: Options, *kinds: str) -> list[Path]:
    """Return the files that settings name and that are of one of the kinds (`OnDisk.kind`)."""
    return [file for place in places(settings) if place.named.kind in kinds for file in read_of(place)]


def carried_digests(config: EditionConfig) -> list[str]:
    """Return the sha256 of each existing file of the user's whose content a frozen edition carries."""
    return sorted({sha256(path) for path in files(config, "file") if path.is_file()})


def source_files(config: EditionConfig, name: str) -> list[Path]:
    """Return the user's files that a source is read from."""
    source = config.sources[name]
    if isinstance(source, FilesOptions):
        return table_files(Path(config.source_folder(name)))
    return files(source, "downloads")


def fingerprints(paths: list[Path]) -> list[str]:
    """Return a text that identifies each file: name, bytes, exact time and, for weights, the header's digest.

    Used as a parameter of a rule, it reruns the rule also if a file was replaced by an older one.
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
    """Return the digest of a header; size and time are cache keys, so that a changed file is read again."""
    return hashlib.sha256(checkpoint.header(path)).hexdigest()
