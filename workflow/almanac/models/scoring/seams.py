"""Where a long context may be cut, so that its beginning is tokenised once and not with every choice.

Tokenising `context + text + choice` as a whole for each of a hundred choices costs as much as scoring them. A tokenizer
works on words: it splits a text from left to right, and no token reaches from one word into the next. So behind the
start of a word near the end of the context, the tokens of the rest are those that the whole would give. Nothing is
taken on trust: the cut is found by tokenising, and each request's first choice is tokenised both ways; where the two
differ, that request is tokenised whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Encoding

from almanac.models.causal import CausalModel

WORTH = 48  # Tokens of a context below which a cut saves little.
NEAREST, FARTHEST = 4, 48  # Tokens before the context's end between which a cut is looked for.
LEAST_CHOICES = 4


@dataclass(frozen=True, slots=True)
class Seam:
    """A cut through a context.

    Attributes:
        cut: the character at which the rest begins.
        bare: the tokens before it, as the tokenizer gives them.
        head: those with the special tokens that belong before a text.
    """

    cut: int
    bare: tuple[int, ...]
    head: tuple[int, ...]

    def tails(self, text: str, choices: Sequence[str], model: CausalModel) -> list[Encoding] | None:
        """Tokenise what follows the cut in the text with each choice; none where it is not what the whole gives."""
        if len(choices) < LEAST_CHOICES:
            return None
        [whole] = model.tokens.encode([text + choices[0]])
        tails = model.tokens.encode([text[self.cut :] + choice for choice in choices])
        return tails if (*self.bare, *tails[0].ids) == tuple(whole.ids) else None


def find(context: str, model: CausalModel) -> Seam | None:
    """Return a cut through a context, or none where it is short or cannot be cut."""
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
