"""Earlier results in an edition's folder: refuse, rerun, keep or remove them before a run.

"Made elsewhere" means on another machine or in another copy, so that Snakemake here does not remember making them.
"""

import ast
import json
import os
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from almanac import tables
from almanac.config import EditionConfig
from almanac.config.models import ModelConfig
from almanac.edition.jobs import Jobs
from almanac.edition.layout import BETWEEN, Layout
from almanac.errors import AlmanacError
from almanac.models.options import AnswerOptions, is_here
from almanac.options import with_places
from almanac.sealed import PULLED
from almanac.versions import MAKER, VERSIONS, maker_of

PATIENCE = 3  # seconds to wait for a server's list of models
ASKED = ("datasets", "planting", "suites", "size")  # configuration keys that decide which questions are asked
BROUGHT = ("planted", "hub", "revision")  # model keys that decide what is trained or fetched
ANSWERING = (*BROUGHT, "path", *sorted(AnswerOptions.model_fields.keys() - BROUGHT))  # model keys that affect answers
FREE = ("path", "licence", "redistributable")  # source keys that may change; `_doubt_copied` handles another path
LONG_AGO = 1  # seconds since 1970; Snakemake takes 0 for no time
LONGEST = 254  # characters of a file name in Snakemake's metadata folder


def check_copied(layout: Layout, memory: Path) -> None:
    """Refuse results that were made elsewhere with other settings, which Snakemake cannot detect.

    Snakemake compares settings with those that it remembers from its own runs in a folder. For results that were copied
    there it remembers none, or those of earlier results at the same paths. It would then take the copied results for
    finished, whatever is asked now.

    Args:
        layout: the edition that is to be made.
        memory: Snakemake's folder ``.snakemake``. Its ``metadata`` has a record of how each file was made, and its
            ``incomplete`` a marker of each file whose job was stopped; both are named by the base64 of the file's path.

    Raises:
        AlmanacError: settings that decide what is asked have changed since; the message names the first key.
    """
    if layout.record_before().is_file() and not layout.record().is_file():  # an earlier run ended before its first job
        layout.record_before().replace(layout.record())
    made = _copied(layout, memory)
    if made is None:
        return
    was, now = (with_places(one, lambda place: "") for one in (made, layout.config))
    pairs = {key: (was[key], now[key]) for key in ASKED}
    for name, (old, new) in _pairs(was, now):
        pairs[f"models.{name}"] = (_only(old, BROUGHT), _only(new, BROUGHT))
    for name in was["sources"].keys() & now["sources"].keys():
        old, new = was["sources"][name], now["sources"][name]
        pairs[f"sources.{name}"] = (old, {**new, **_only(old, FREE)})
    for key, (old, new) in pairs.items():
        if (first := _first_difference(old, new, key)) is not None:
            raise AlmanacError(
                f"{layout.root}: was made elsewhere with other settings ({first}), which cannot be seen in its files; "
                f"go on with its own (--configfile {layout.record()}), give another edition=NAME, or remove it"
            )


def doubt(layout: Layout, jobs: Jobs, memory: Path) -> None:
    """Make a run check again all files that Snakemake takes for finished although they may be outdated.

    Args:
        layout: the edition that is to be made, after `check_copied`.
        jobs: its jobs.
        memory: as for `check_copied`.
    """
    updated = dict(jobs.updated())
    _doubt_failed(updated, memory)
    copied = _copied(layout, memory)
    if copied is not None:
        _doubt_copied(layout, copied, memory)
    # The record is written first and the page last, so without a page the record does not prove that the rest is up
    # to date. And files made by other code may differ although their settings are the same.
    if copied is None or not layout.page().is_file() or maker_of(layout.page()) != MAKER:
        _doubt_unwatched(jobs, updated, memory)


def remember(workflow: Any, layout: Layout, memory: Path) -> None:
    """Record in Snakemake's metadata that files it keeps have the present settings; forget files that are made anew.

    Snakemake has no metadata of results made elsewhere, so it would not notice later changes of their settings. The
    metadata of files that are made anew describe their earlier state, and must not outlive a run that is killed.

    Args:
        workflow: Snakemake's workflow, after it has planned the run.
        layout: the edition that is made.
        memory: as for `check_copied`.
    """
    anew = {*workflow.dag.needrun_jobs()}
    for job in workflow.dag.jobs:
        made = [Path(path) for path in job.output]
        if job in anew:
            for path in made:
                _remembered(path, memory).unlink(missing_ok=True)
        elif any(path.exists() and not _remembered(path, memory).exists() for path in made):
            workflow.async_run(workflow.persistence.finished(job))
    layout.record_before().unlink(missing_ok=True)


def _doubt_copied(layout: Layout, made: EditionConfig, memory: Path) -> None:
    """Make a run check results made elsewhere whose source of facts or model is configured differently now.

    Only the job that reads a checkpoint at another path can tell whether it is the same. So its responses are dated
    before their requests: the job compares the model's digest with theirs, and keeps them or makes them anew. Files
    made from facts come out the same if the facts are the same. Comparisons between models are removed and made anew,
    since the set of models may have changed.
    """
    was, now = (one.model_dump(mode="json") for one in (made, layout.config))
    if was == now:
        return
    places = [{name: one.get("path") or of["facts"] for name, one in of["sources"].items()} for of in (was, now)]
    doubted = [layout.source(name) / PULLED for name, place in places[1].items() if places[0].get(name, place) != place]
    models = {name for name, (old, new) in _pairs(was, now) if _only(old, ANSWERING) != _only(new, ANSWERING)}
    doubted += [path for files in layout.every_round() if files.answerer in models for path in files.responses]
    _doubt(doubted, memory)
    for table in BETWEEN:
        layout.between(table).unlink(missing_ok=True)
    # Last, so that after an earlier stop the next run does all of this again. The run writes a new record.
    layout.record().replace(layout.record_before())


def _doubt_failed(updated: Mapping[Path, Iterable[Path]], memory: Path) -> None:
    """Make a run repeat jobs that failed: Snakemake has restored their earlier files and takes them for results.

    A repeated job keeps its files if it finds that their inputs are unchanged.
    """
    for marker, files in updated.items():
        if not marker.exists():
            _doubt(files, memory)


def _doubt_unwatched(jobs: Jobs, updated: Mapping[Path, Iterable[Path]], memory: Path) -> None:
    """Make a run repeat jobs that ended after their run, as jobs on a cluster do when Snakemake is killed.

    Snakemake has no metadata of their files. Files of jobs without inputs, which dates do not rerun, are removed.
    """

    def unknown(paths: Iterable[Path]) -> Iterator[Path]:
        return (path for path in paths if path.is_file() and not _remembered(path, memory).exists())

    _doubt(list(unknown(chain(jobs.made(), *updated.values()))), memory)
    for path in list(unknown(jobs.begun())):
        path.unlink()


def _doubt(paths: Iterable[Path], memory: Path) -> None:
    """Date files before all of their inputs, so that their jobs run again."""
    for path in filter(Path.is_file, paths):
        _remembered(path, memory).unlink(missing_ok=True)  # else Snakemake ignores dates where the inputs are equal
        try:
            os.utime(path, (LONG_AGO, LONG_AGO))
        except PermissionError:  # another user's file in a shared folder: only its owner may change the date
            with tables.atomic(path) as copy:
                shutil.copyfile(path, copy)
                os.utime(copy, (LONG_AGO, LONG_AGO))


def _copied(layout: Layout, memory: Path) -> EditionConfig | None:
    """Return the configuration of results that were made elsewhere; None if they were made here, or there are none."""
    made = _recorded(layout)
    return None if made is None or _made_here(layout.record(), memory) else made


def _made_here(record: Path, memory: Path) -> bool:
    """Return whether Snakemake remembers writing this record, or was stopped while writing it and writes it again."""
    remembered = _remembered(record, memory)
    if (memory / "incomplete" / remembered.name).exists():
        return True
    try:
        params = json.loads(remembered.read_text(encoding="utf-8"))["params"]
        was = json.loads(next(ast.literal_eval(one) for one in params if one.startswith("'{")))
        found = json.loads(record.read_text(encoding="utf-8"))
        return all(found.get(key) == value for key, value in was.items())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration, SyntaxError):
        return False


def _remembered(path: Path, memory: Path) -> Path:
    """Return Snakemake's metadata file of a path: its base64, split into folders where a name would be too long."""
    name = urlsafe_b64encode(str(path).encode()).decode()
    parts = [name[at : at + LONGEST] for at in range(0, len(name), LONGEST)]
    return memory.joinpath("metadata", *(f"@{part}" for part in parts[:-1]), parts[-1])


def _pairs(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the names of models in both of two dumped configurations, with the entries of both."""
    old = {model["name"]: model for model in was["models"]}
    for model in now["models"]:
        if model["name"] in old:
            yield model["name"], (old[model["name"]], model)


def _only(settings: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: settings[key] for key in keys if key in settings}


def drop_page(layout: Layout, anew: Iterable[str]) -> None:
    """Remove the page if a run makes any table anew (files ``anew``): until it ends, the tables are of two runs."""
    if not set(anew).isdisjoint(map(str, (*layout.tables(), layout.record()))):
        layout.page().unlink(missing_ok=True)


def check_served(layout: Layout) -> None:
    """Check that a server configured without a model's name still serves the model whose responses exist.

    If it served another model, the existing responses would be taken for finished. A server that does not answer is no
    error: it may be gone when all responses exist.

    Raises:
        AlmanacError: the server has another model; the message names both.
    """
    for name, one in layout.config.participants().items():
        if one.model.api is None or one.model.api_model is not None:
            continue
        answered = next(_of_answers(layout, name), None)
        if answered is None:
            continue
        was = answered.get("almanac.weights", "").rpartition(", revision ")[0]
        served = _served(one.model.api, os.environ.get(one.model.api_key_variable))
        if was and served and was != served:
            raise AlmanacError(
                f"{layout.root}: holds answers of {was}, and {one.model.api} serves {served} now; keep both with "
                f"{_other_name()}, or remove responses/{name} there"
            )


def _of_answers(layout: Layout, name: str) -> Iterator[dict[str, str]]:
    """Yield the metadata of each response file of a model."""
    for path in (path for files in layout.every_round() if files.answerer == name for path in files.responses):
        with suppress(AlmanacError):  # missing, or damaged: the job that reads it reports that
            yield tables.read_metadata(path)


def _served(url: str, key: str | None) -> str | None:
    """Return the id of a server's only model; None if it does not list its models, or has several."""
    import requests  # slow to load, and most runs ask no server

    with requests.Session() as session:
        session.trust_env = not is_here(urlsplit(url).hostname or "")
        try:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            answer = session.get(
                urljoin(url.rstrip("/") + "/", "models"), headers=headers, timeout=PATIENCE, allow_redirects=False
            )
            [only] = answer.json()["data"]
            return str(only["id"])
        except (requests.RequestException, ValueError, KeyError, TypeError):
            return None


def _first_difference(was: Any, now: Any, key: str) -> str | None:
    """Return the first key of nested settings that differs, with both values; None if all are equal."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        keys = sorted({*was, *now})
        return next((one for k in keys if (one := _first_difference(was.get(k), now.get(k), f"{key}.{k}"))), None)
    return None if was == now else f"{key}: {json.dumps(was)}, now {json.dumps(now)}"


def replaced(layout: Layout) -> list[str]:
    """Return remarks on results that a run will replace: dropped models, other facts, another size, other code.

    A folder that holds no edition, or a damaged one, loses nothing.
    """
    before, config = _recorded(layout), layout.config
    page = layout.page()
    told = []
    if page.is_file() and (maker := maker_of(page)) != MAKER:
        told.append(
            f"{layout.root} was made by {maker}, and this is {MAKER}: whatever that changes is made anew; keep "
            "both with another edition=NAME"
        )
    version = str(VERSIONS["answer"])
    for name, one in config.participants().items():
        entries = _of_answers(layout, name) if one.model.api is not None else ()
        if any(entry.get("almanac.version", version) != version for entry in entries):
            told.append(
                f"{layout.root}: {name} has answered a version of Almanac that asked servers in another way: all is "
                "asked of it, and paid for, again; to keep those answers stop now, and use that version's commit"
            )
    if before is None:
        return told
    models, asked = _origins(before), _origins(config)
    gone = [one for one in models if one not in asked] if asked else []  # without models only questions are made
    facts, others = ([one.facts or "of another source"] for one in (before, config))
    was: dict[str, Sequence[str]] = {"model": gone, "facts": facts, "size": [before.size]}
    now: dict[str, Sequence[str]] = {"model": asked, "facts": others, "size": [config.size]}
    changed = [key for key, values in was.items() if not set(values) <= set(now[key])]
    if not changed:
        return told
    if changed == ["model"] and set(asked) <= set(models):
        leave = f"leave{'s' * (len(gone) == 1)}"
        return [*told, f"{', '.join(gone)} {leave} the page of {layout.root}; answers are kept"]
    old, new = ("; ".join(f"{key} {', '.join(map(str, entry[key]))}" for key in changed) for entry in (was, now))
    return [*told, f"{layout.root} was made for {old}; it is made anew for {new}; keep both with {_other_name()}"]


def _other_name() -> str:
    """Return the option that gives another edition's name to the command that started this run."""
    if "MAKELEVEL" not in os.environ:
        return "--config edition=NAME"
    # make exports MODEL to all commands that it starts, but only `make own` is called with it.
    return 'ARGS="edition=NAME" of `make own`' if os.environ.get("MODEL") else 'ARGS="--config edition=NAME" of `make`'


def _origins(config: EditionConfig) -> list[str]:
    """Return where each model comes from: two commits of a repository, or two models of a server, are two models."""
    return [model.path or _on_hub(model) or _on_server(model) or model.name for model in config.models]


def _on_hub(model: ModelConfig) -> str | None:
    return f"{model.hub}@{model.revision}" if model.hub else None


def _on_server(model: ModelConfig) -> str | None:
    return f"{model.api_model} at {model.api}" if model.api and model.api_model else model.api


def _recorded(layout: Layout) -> EditionConfig | None:
    """Return the configuration that results were made with; None if there are none, or it cannot be read."""
    try:
        return Layout.open(layout.root).config
    except (AlmanacError, OSError):
        return None  # of another version, or damaged; a step that reads it reports that
