"""Wrappers: named texts with slots, which say how the parts of an instructed request become a prompt.

They are data (`resources/prompts/wrappers.yaml`, or a user's file of the same form). Nothing here needs a tokenizer, so
that a configuration is checked before any job starts; `framing.py` applies them.
"""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, model_validator

from almanac import tables
from almanac.errors import AlmanacError
from almanac.options import Options, validated
from almanac.project import RESOURCES
from almanac.yaml_file import load

SHIPPED = RESOURCES / "prompts" / "wrappers.yaml"
SLOTS = ("CONTEXT", "INSTRUCTION", "OPTIONS", "INPUT")
SLOT = re.compile(rf"\[({'|'.join(SLOTS)})\]")
INPUT = "[INPUT]"
ENDINGS = (".yaml", ".yml")
DEFAULTS = ("chat", "plain")  # The first if the tokenizer has a chat template, else the second.
TEMPLATES = ("chat_template.jinja", "chat_template.json", "additional_chat_templates/*.jinja")


@dataclass(frozen=True, slots=True)
class InstructedParts:
    """The parts of an instructed request: a passage to read (or ""), the instruction, the options, the question."""

    context: str
    instruction: str
    options: Sequence[str]
    input: str


class Wrapper(Options):
    """One wrapper: either a whole ``text``, or the ``system`` and ``user`` turns of a chat; see wrappers.yaml."""

    source: str = Field(min_length=1)
    text: str | None = None
    system: str | None = None
    user: str | None = None
    context: str = "[CONTEXT]\n"
    options: str = "\nChoices:\n[OPTIONS]"
    option: str = "  - [OPTION]"
    between: str = Field(default="\n", min_length=1)
    answer: Literal["", " "] = ""
    stop: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        turns = (self.system, self.user)
        if (self.text is None) == (turns == (None, None)) or None in turns != (None, None):
            raise ValueError("needs either text, or system and user (system may be empty)")
        if self.chat and self.answer:
            raise ValueError("answer: the chat template says where an answer begins; leave it out")
        if not all(self.stop):
            raise ValueError("stop: a text that an answer stops at cannot be empty")
        count = Counter(SLOT.findall(f"{self.system or ''}{self.user or ''}{self.text or ''}"))
        for slot in SLOTS:
            if count[slot] != 1:
                raise ValueError(f"the slot [{slot}] must occur once, found {count[slot]} times")
        for name, slot in (("context", "CONTEXT"), ("options", "OPTIONS"), ("option", "OPTION")):
            if getattr(self, name).count(f"[{slot}]") != 1:
                raise ValueError(f"{name}: the slot [{slot}] must occur once, found {getattr(self, name)!r}")
        return self

    @property
    def digest(self) -> str:
        """The sha256 of its content, all but `source`."""
        return tables.identity(self.model_dump(exclude={"source"}))

    @property
    def chat(self) -> bool:
        """Whether it consists of chat turns, which a chat template joins."""
        return self.text is None

    def whole(self, parts: InstructedParts) -> tuple[str, str]:
        """Return the text before the question, which requests of one task share, and the text from the question on."""
        before, after = str(self.text).split(INPUT)
        return self._filled(before, parts), parts.input + self._filled(after, parts)

    def turns(self, parts: InstructedParts) -> tuple[str, str]:
        """Return the system message (or "") and the user message."""
        return self._filled(str(self.system), parts), self._filled(str(self.user), parts)

    def _filled(self, pattern: str, parts: InstructedParts) -> str:
        """Fill all slots at once, so that a slot's name within a filled text is left as it is."""
        options = self.between.join(self.option.replace("[OPTION]", " ".join(one.split())) for one in parts.options)
        filling = {
            "CONTEXT": self.context.replace("[CONTEXT]", parts.context) if parts.context else "",
            "INSTRUCTION": parts.instruction,
            "OPTIONS": self.options.replace("[OPTIONS]", options) if parts.options else "",
            "INPUT": parts.input,
        }
        return SLOT.sub(lambda slot: filling[slot[1]], pattern)


@functools.cache
def read(path: Path) -> dict[str, Wrapper]:
    """Read the wrappers of a file, by name.

    Raises:
        AlmanacError: the file cannot be read, or an entry is no valid wrapper, naming the key.
    """
    try:
        entries = load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AlmanacError(f"wrapper: {path}: cannot be read ({error.strerror}); name a file of wrappers") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AlmanacError(f"wrapper: {path}: is no YAML: {error}; see {SHIPPED.name} for the form") from error
    if not isinstance(entries, dict) or not entries:
        raise AlmanacError(f"wrapper: {path}: must hold wrappers by name; see {SHIPPED.name} for the form")
    return {
        str(name): validated(Wrapper, entry, f"{path}: {name}", "docs/wrappers.md") for name, entry in entries.items()
    }


def split(name: str) -> tuple[str | None, str]:
    """Split ``FILE.yaml:NAME`` into file and ``:NAME``; for a wrapper that ships with Almanac, return None and NAME."""
    path, colon, own = name.rpartition(":")
    if path.endswith(ENDINGS):
        return path, colon + own
    return (name, "") if name.endswith(ENDINGS) else (None, name)


def find(name: str) -> Wrapper:
    """Return a wrapper by name: one that ships with Almanac, or ``FILE.yaml:NAME`` from a user's file.

    Raises:
        AlmanacError: there is no such wrapper; the message lists the names that exist.
    """
    path, own = split(name)
    if path is not None:
        file = Path(path).expanduser()
        known = read(file)
        if own[1:] in known:
            return known[own[1:]]
        if not own and len(known) == 1:
            return next(iter(known.values()))
        raise AlmanacError(f"wrapper: {file} holds {', '.join(known)}; name one of them, as {file}:{next(iter(known))}")
    known = read(SHIPPED)
    if name not in known:
        raise AlmanacError(
            f"wrapper: there is no wrapper {name!r}; there are {', '.join(known)}; one of your own is named "
            "FILE.yaml:NAME"
        )
    return known[name]


def digests(name: str | None) -> list[str]:
    """Return the digest of a wrapper, or of all default wrappers if no name is given."""
    return [find(one).digest for one in ((name,) if name is not None else DEFAULTS)]


def has_template(folder: Path) -> bool:
    """Return whether the files of a checkpoint's tokenizer hold a chat template; nothing is loaded."""
    settings = folder / "tokenizer_config.json"
    named = settings.is_file() and '"chat_template"' in settings.read_text(encoding="utf-8", errors="replace")
    return named or any(any(folder.glob(pattern)) for pattern in TEMPLATES)
