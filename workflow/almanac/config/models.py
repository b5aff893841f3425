"""A model's entry: where it comes from, how it is run, and which datasets and suites it is asked."""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator, model_validator

from almanac.config.datasets import LONGEST_NAME, Name
from almanac.errors import AlmanacError, nearest, where_from
from almanac.job_size import GPU_FROM
from almanac.models import wrappers
from almanac.models.hub_cache import pinned, snapshot
from almanac.models.options import COMMIT, REPOSITORY, UNPINNED, AnswerOptions, NoURLError, ServerOptions, checked_url
from almanac.options import OnDisk
from almanac.planting.options import TokenizerOptions, TrainingOptions
from almanac.weight_files import stored_parameters

SERVER = re.compile(r"(?i:https?)://")
IN_SHORT = re.compile(rf"{SERVER.pattern}\S+$|[^\s/]+/[^\s/@]+@\S+$")  # a server's address or a repository
ADDRESS = re.compile(r"[\w.-]+:\d+(/|$)")  # a server's address without http://
CHECKPOINT = re.compile(r"(.*(?:steps?|checkpoint|ckpt|iter|iteration|epoch)[-_.]?)(\d+)", re.IGNORECASE)
FINISHED = "finished"  # key of the validation context: the edition is finished, so models need not be available
MOST_NAMED = 3  # most missing folders that a message names
UNKNOWN_SIZE = 7_000_000_000  # parameters that are assumed for a model of unknown size


def in_short(text: str, registry: Collection[str] = ()) -> dict[str, Any]:
    """Return the entry of a model given as a directory, OWNER/NAME@COMMIT, or a server's address.

    Args:
        text: the model, which is not a name in the registry.
        registry: the registry's names, which error messages suggest.

    Raises:
        AlmanacError: a repository has no commit, an address has no http://, a name is unknown, or several models are
            given that do not exist or are separated by commas.
    """
    repository, _, commit = text.partition("@")
    if ADDRESS.match(text):
        raise AlmanacError(f"model: there is no folder {text}; a server's address begins with http://: http://{text}")
    if SERVER.match(text):
        return {"name": as_name(urlsplit(text).netloc), "api": text}
    folder = Path(os.path.expanduser(text))  # noqa: PTH111 (it raises nothing for an unknown user)
    there = os.path.exists(folder)  # noqa: PTH110 (it raises nothing for a text that is too long)
    words = re.split(r"[\s,]+", text.strip())  # a folder's name may itself have spaces
    if len(words) > 1 and ("," in text or all("/" in word for word in words)) and not there:
        gone = [word for word in words if not os.path.exists(os.path.expanduser(word))] or [text]  # noqa: PTH110, PTH111
        gone = list(dict.fromkeys(gone))
        named = " and no folder ".join(gone[:MOST_NAMED])
        named += f" and {len(gone) - MOST_NAMED} more" if len(gone) > MOST_NAMED else ""
        raise AlmanacError(
            f"model: there is no folder {named}; separate several models by spaces; for a folder with a space in its "
            "name, give a link without one (ln -s FOLDER LINK)"
        )
    if there or not REPOSITORY.fullmatch(repository) or text.startswith(("/", ".")):
        name, _ = snapshot(folder) or (folder.absolute().name, "")
        return {"name": as_name(name), "path": text}
    if not COMMIT.fullmatch(commit):
        near = nearest(folder, [*folder.parent.iterdir(), *map(Path, registry)] if folder.parent.is_dir() else ())
        if checkpoint(folder.name):  # a checkpoint of another step has a similar name, but is not meant
            near = "; an edition reads the weights of each checkpoint that it shows: keep them, or leave this one out"
        raise AlmanacError(
            f"model: there is no folder {text}{near or where_from(folder)}; a repository of the Hugging Face hub is "
            f"named with its commit: {pinned(repository)}"
        )
    return {"name": as_name(repository.rpartition("/")[2]), "hub": repository, "revision": commit}


def as_name(text: str) -> str:
    """Return a text as a name for tables and folders: without accents; a long one keeps its end, which has the step."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", _without_accents(text))[-LONGEST_NAME:].strip("-_.") or "model"


def told_apart(entry: Mapping[str, Any]) -> str:
    """Return another name for a model that shares its name: with the commit of its repository, or its parent folder."""
    folder = Path(entry.get("path") or "").absolute()
    _, commit = snapshot(folder) or ("", entry.get("revision"))
    return as_name(f"{entry['name']}-{commit[:7]}" if commit else f"{folder.parent.name}-{entry['name']}")


def _without_accents(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


def renamed(name: str, path: str | None) -> str | None:
    """Return a remark if a model's name differs from that of its folder in more than accents; else None."""
    folder = Path(path).absolute().name if path else ""
    if name.endswith(_without_accents(folder)):
        return None
    return f"the model in {path} is called {name}; to call it otherwise: models='[{{name: NAME, path: {path}}}]'"


def checkpoint(name: str) -> tuple[str, int] | None:
    """Split a checkpoint's name into the prefix that its training run shares, and its step; None for other names."""
    found = CHECKPOINT.fullmatch(name)
    return None if found is None else (found[1], int(found[2]))


class PlantedConfig(TrainingOptions):
    """A recipe for planted models: how they are trained, and on which corpus."""

    permuted: bool = Field(
        default=False,
        description="train a null model: on the same corpus with the objects of each relation permuted, none of them "
        "true (real facts, of which a part is taught, get objects of any facts of the relation)",
    )

    @property
    def judged(self) -> bool:
        """Whether bars are set for it: a decoder, not a null, that reads all the usual kinds of documents."""
        return self.architecture == "llama" and not self.permuted and set(TrainingOptions().kinds) <= set(self.kinds)


class ModelConfig(AnswerOptions):
    """A model: planted by a recipe, in a directory, in a hub's repository, or on a server."""

    name: Name = Field(description="the name in every table and folder")
    planted: PlantedConfig | None = Field(default=None, description="a recipe: the model is trained on each world")
    path: Annotated[str | None, OnDisk("checkpoint")] = Field(
        default=None, description="a directory that holds a transformers checkpoint"
    )
    hub: str | None = Field(default=None, description="a repository of the Hugging Face hub")
    wrapper: Annotated[str | None, OnDisk("file", split=wrappers.split)] = Field(
        default=None, description=AnswerOptions.model_fields["wrapper"].description
    )
    datasets: tuple[Name, ...] | None = Field(
        default=None, description="the datasets it is asked; none: all it may be asked"
    )
    suites: tuple[Name, ...] | None = Field(default=None, description="the suites that ask it; none: all")
    parameters: int | None = Field(
        default=None,
        ge=1,
        description="its number of parameters, for tables and the resources of its jobs; none: counted in its weights, "
        "or 7 billion for the jobs of a model whose weights are not here yet",
    )
    series: str | None = Field(
        default=None, description="the family of models that it is compared within (Llama-2); none: its own"
    )
    base: Name | None = Field(default=None, description="the model that it was tuned from, and is compared with")

    @property
    def size(self) -> int:
        """Parameters: given, estimated of a recipe, stored in a directory, 1 for a server's, or else `UNKNOWN_SIZE`."""
        if self.parameters is not None or self.api is not None:
            return self.parameters or 1
        if self.planted is not None:
            hidden, shape = self.planted.hidden, self.planted
            return TokenizerOptions().vocabulary * hidden + shape.layers * hidden * (
                4 * hidden + 3 * shape.feed_forward
            )
        return (stored_parameters(Path(self.path)) if self.path else 0) or UNKNOWN_SIZE

    @property
    def control(self) -> bool:
        """Whether it is a null: planted, with permuted objects, so that it was taught nothing true."""
        return self.planted is not None and self.planted.permuted

    @property
    def writes(self) -> bool:
        """Whether its entry allows that it is asked to generate text."""
        masked = self.planted is not None and self.planted.architecture == "modernbert"
        if masked or self.family in ("masked", "encoder"):
            return False
        return "generate" in (self.kinds or ("generate",))

    def settled(self) -> Self:
        """Return the entry with its number of parameters; if it gives none, that of the checkpoint in its directory."""
        if self.path is None or self.parameters is not None:
            return self
        return self.model_copy(update={"parameters": stored_parameters(Path(self.path)) or None})

    def takes_gpu(self, gpus: int) -> bool:
        """Return whether its jobs use a GPU: the entry names one, or one exists and the model is large enough."""
        if self.api is not None:
            return False
        return self.device != "cpu" if self.device != "auto" else bool(gpus) and self.size >= GPU_FROM

    @field_validator("api")
    @classmethod
    def _without_secrets(cls, api: str | None) -> str | None:
        try:
            return api and checked_url(api)
        except NoURLError as error:  # only this error may quote the value: in the others it may have a secret
            raise ValueError(str(error).removeprefix("api: ")) from error

    @field_validator("hub")
    @classmethod
    def _repository(cls, hub: str | None) -> str | None:
        if hub is not None and not REPOSITORY.fullmatch(hub):
            raise ValueError("is no repository; name one as owner/name")
        return hub

    @model_validator(mode="after")
    def _one_origin(self, info: ValidationInfo) -> Self:
        if sum(origin is not None for origin in (self.planted, self.path, self.hub, self.api)) != 1:
            raise ValueError("needs exactly one of planted, path, hub and api")
        spare = [key for key, field in ServerOptions.model_fields.items() if getattr(self, key) != field.default]
        if self.api is None and spare:
            raise ValueError(f"{', '.join(spare)}: only a model with `api` has a server")
        if self.hub is not None and self.revision != UNPINNED and not COMMIT.fullmatch(self.revision or ""):
            raise ValueError("a model from a hub needs `revision`: the commit's 40 hexadecimal digits")
        if self.trust_remote_code and not (self.path or self.hub):
            raise ValueError("trust_remote_code: only a checkpoint of a `path` or a `hub` has code of its own")
        planned = self.hub is not None and self.revision == UNPINNED
        if self.trust_remote_code and not planned and not COMMIT.fullmatch(self.revision or ""):
            raise ValueError(
                "trust_remote_code needs `revision`: the commit whose code you have read, 40 hexadecimal digits"
            )
        if FINISHED not in (info.context or {}):
            self._check_wrapper()
        return self

    def _check_wrapper(self) -> None:
        """Refuse a wrapper that does not exist, or that does not suit the model."""
        if self.wrapper is None:
            return
        try:
            chat = wrappers.find(self.wrapper).chat
        except AlmanacError as error:
            raise ValueError(str(error)) from error
        folder = Path(self.path) if self.path else None
        bare = folder is not None and folder.is_dir() and not wrappers.has_template(folder)
        if chat and (self.planted is not None or bare):
            raise ValueError(
                f"wrapper: {self.wrapper} needs a chat template and the tokenizer has none; name plain, say"
            )
        if not chat and self.api is not None and self.api_generate_with == "chat":
            raise ValueError(
                f"wrapper: {self.wrapper} is one text, and this server generates by chat; set api_generate_with: "
                "completions, or name a wrapper of turns, as chat"
            )


def by_step(models: Sequence[ModelConfig]) -> tuple[ModelConfig, ...]:
    """Sort the checkpoints of each training run by step, within the positions that they have; others keep theirs."""
    steps = [checkpoint(one.name) for one in models]
    of_run: dict[str, list[tuple[int, ModelConfig]]] = defaultdict(list)
    for one, at in zip(models, steps, strict=True):
        if at is not None:
            of_run[at[0]].append((at[1], one))
    ordered = {run: iter(sorted(checkpoints, key=lambda pair: pair[0])) for run, checkpoints in of_run.items()}
    return tuple(one if at is None else next(ordered[at[0]])[1] for one, at in zip(models, steps, strict=True))
