"""Invented names, built from random syllables: reproducible from a seed, and unique within a world."""

import random
from typing import Literal

from almanac.errors import AlmanacError
from almanac.tables import seed_of

ONSETS = (
    *("b", "br", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kl", "kr", "l", "m", "n", "p", "pl", "pr", "r"),
    *("s", "sk", "st", "t", "tr", "v", "vl", "w", "z", "zv"),
)
VOWELS = ("a", "e", "i", "o", "u", "ae", "au", "ei", "oa")
CODAS = ("", "l", "m", "n", "r", "s", "th", "x")
SYLLABLES = 400  # per world: few enough that each becomes a frequent token, many enough for distinct names
TRIES = 1000
GIVEN_NAMES = 40

Shape = Literal["one_word", "two_words"]


class Names:
    """Generates the names of one world; no name is returned twice.

    Each name depends on the seed and on the class and index of its entity. Adding a class of entities therefore leaves
    all other names as they are, unless two names collide.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.taken: set[str] = set()
        self.given: list[str] = []
        every = [onset + vowel + coda for onset in ONSETS for vowel in VOWELS for coda in CODAS]
        self.syllables = random.Random(seed_of(seed, "syllables")).sample(every, SYLLABLES)

    def word(self, what: str, index: int, syllables: tuple[int, int], capital: bool) -> str:
        """Return a new word for entity number ``index`` of the class ``what``; ``syllables`` are (least, most).

        Raises:
            AlmanacError: no free word was found; the world is too large for names of this length.
        """
        draw = random.Random(seed_of(self.seed, "name", what, index))
        for _ in range(TRIES):
            word = "".join(draw.choice(self.syllables) for _ in range(draw.randint(*syllables)))
            if self._free(word):
                self.taken.add(word)
                return word.capitalize() if capital else word
        raise AlmanacError(
            f"no free name for {what} {index + 1} after {TRIES} tries: the world has too many things; make it smaller"
        )

    def name(self, what: str, index: int, shape: Shape) -> str:
        """Return a new name: a unique word, preceded by a shared given name if the shape is ``two_words``."""
        word = self.word(what, index, (2, 2), capital=True)
        if shape == "one_word":
            return word
        if not self.given:
            self.given = [self.word("given name", number, (2, 2), capital=True) for number in range(GIVEN_NAMES)]
        return f"{random.Random(seed_of(self.seed, 'given', what, index)).choice(self.given)} {word}"

    def _free(self, word: str) -> bool:
        return len(word) > 3 and word not in self.taken
