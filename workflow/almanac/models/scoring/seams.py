"""Cuts a long context in two, so that its beginning is tokenised once and not again with every choice.

Tokenising `context + text + choice` as a whole for each of a hundred choices costs as much as scoring them. But a
tokenizer splits a text into words, and no token reaches from one word into the next. So if the context is cut before a
word near its end, tokenising the rest alone gives the same tokens as tokenising the whole. This is checked, not
assumed: a cut is tried by tokenising, and each request's first choice is tokenised both ways. If the two differ, that
request is tokenised as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Encoding

from almanac.models.causal import CausalModel

WORTH = 48  # Cutting a context of fewer tokens saves little.
NEAREST, FARTHEST = 4, 48  # The cut is looked for this many tokens before the end of the context.
LEAST_CHOICES = 4


@dataclass(frozen=True, slots=True)
class Seam:
    """A cut through a context.

    Attributes:
        cut: the character at which the rest begins.
        bare: the tokens before the cut, without special tokens.
        head: the same tokens, after the special tokens that begin a text.
    """

    cut: int
    bare: tuple[int, ...]
    head: tuple[int, ...]

    def tails(self, text: str, choices: Sequence[str], model: CausalModel) -> list[Encoding] | None:
        """Tokenise the text after the cut with each choice; None if tokenising the whole gives other tokens."""
        if len(choices) < LEAST_CHOICES:
            return None
        [whole] = model.tokens.encode([text + choices[0]])
        tails = model.tokens.encode([text[self.cut :] + choice for choice in choices])
        return tails if (*self.bare, *tails[0].ids) == tuple(whole.ids) else None


def find(context: str, model: CausalModel) -> Seam | None:
    """Return a cut through a context, or None if it is short or cannot be cut."""
    [encoding] = model.tokens.encode([context])
    ids, offsets = encoding.ids, encoding.offsets
    if len(ids) < WORTH:
        return None
    for token in range(len(ids) - NEAREST, max(1, len(ids) - FARTHEST), -1):
        start = offsets[token][0]
        # A space may belong to the word after it, or be put before a text by the tokenizer itself.
        for cut in (start, start + 1):
            if not (context[cut : cut + 1].isspace() or context[cut - 1 : cut].isspace()):
                continue
            [tail] = model.tokens.encode([context[cut:]])
            if tail.ids == ids[token:]:
                return Seam(cut, tuple(ids[:token]), model.wrap(ids[:token])[0])
    return None
