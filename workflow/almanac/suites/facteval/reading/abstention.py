"""When a model does not answer: a versioned list of phrases, compared word by word or as the released scorer does."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from almanac.errors import AlmanacError
from almanac.suites.facteval.reading.text import Reading, Span, read, runs
from almanac.suites.facteval.reading.values import Stretches

OWN = Path(__file__).resolve().parents[5] / "resources" / "prompts" / "abstentions.yaml"


@dataclass(frozen=True)
class Abstentions:
    """A list of phrases; ``beyond`` are those of them that the released scorer takes for answers."""

    phrases: tuple[str, ...]
    beyond: tuple[str, ...] = ()

    def released(self) -> "Abstentions":
        """Return the list without what the released scorer takes for answers."""
        return Abstentions(tuple(phrase for phrase in self.phrases if phrase not in self.beyond))

    @functools.cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The phrases as they are compared."""
        return tuple(map(read, self.phrases))

    def within(self, answer: Reading, named: Sequence[Span] = ()) -> bool:
        """Whether an answer holds one of the phrases, other than inside a name that is mentioned in it.

        Args:
            answer: what the model said.
            named: where it mentions a choice or an accepted name; the song `Sorry` is an answer.
        """
        names = Stretches(named)
        found = (span for phrase in self.readings for span in runs(phrase.words, answer.words))
        return any(not names.hold(*span) for span in found)

    def within_text(self, answer: str) -> bool:
        """Whether the lower-cased answer holds one of the phrases as a string: the released scorer's test."""
        lowered = answer.lower()
        return any(phrase in lowered for phrase in self.lowered)

    @functools.cached_property
    def lowered(self) -> tuple[str, ...]:
        """The phrases in lower case."""
        return tuple(phrase.lower() for phrase in self.phrases)


@functools.cache
def load(path: Path | None = None) -> Abstentions:
    """Read a list of phrases: the project's own, or a file's.

    Args:
        path: YAML as the project's own (`version`, `phrases`, `beyond`), or a text file with one phrase a line.

    Raises:
        AlmanacError: the file cannot be read, holds no phrase, or a phrase of a YAML file has no word.
    """
    source = path or OWN
    try:
        text = source.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AlmanacError(f"{source}: cannot be read ({error}); name a file of phrases, one a line") from error
    if source.suffix not in (".yaml", ".yml"):
        lines = tuple(line.strip() for line in text.splitlines() if line.strip())
        if not lines:
            raise AlmanacError(f"{source}: holds no phrase; write one a line")
        return Abstentions(lines)
    try:
        found: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise AlmanacError(f"{source}: is no YAML ({error}); see {OWN}") from error
    phrases = found.get("phrases") if isinstance(found, dict) else None
    if not isinstance(phrases, list) or not phrases:
        raise AlmanacError(f"{source}: needs `phrases`, a list of texts; see {OWN}")
    for at, phrase in enumerate(phrases, 1):
        if not isinstance(phrase, str) or not read(phrase).words:
            raise AlmanacError(f"{source}: phrase {at} is {phrase!r}, which has no word; write a text, in quotes")
    beyond = found.get("beyond") or []
    if not isinstance(beyond, list) or any(phrase not in phrases for phrase in beyond):
        raise AlmanacError(f"{source}: `beyond` is {beyond!r}; list some of `phrases` there, or leave it out")
    return Abstentions(tuple(phrases), tuple(beyond))
