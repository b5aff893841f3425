"""Self-test of a server before it scores: does it return prompt log-probabilities, and each at the right token?

If values were shifted by one token, nothing in an answer would show it. So texts with two endings are echoed: values
must be equal up to the endings and differ from there on. Also, the server generates a token with its log-probability,
and an echo of that token must repeat the value.
"""

import asyncio
import math
from dataclasses import dataclass

from almanac.errors import AlmanacError
from almanac.models.api.alignment import align, special_tokens
from almanac.models.api.client import CallError, Calls, OutageError
from almanac.models.api.jobs import REMEDY, Echo, echo, echoed
from almanac.models.causal import CausalModel

PROBES = (
    "The capital of France is Paris, and the capital of Italy is",
    "One, two, three, four, five, six,",
    "Monday, Tuesday, Wednesday, Thursday,",
    "The river flows through 12 towns and into the",
    "Water boils at 100 degrees and freezes at",
    "She opened the door and looked at the",
    "In 1990 the door was red. In 1991 it was",
    "A, B, C, D, E, F,",
)
ENDINGS = (" red", " 1990")
# Texts that get two endings; for all but one text, the first values of the endings must differ. The first text is
# longer than a block of a server's prefix cache (16 tokens in vLLM), so that its second ending is read from the cache.
FORKS = (" ".join(PROBES[:4]), *PROBES[:3])
TOLERANCE = 0.25  # Nats; equal computations differ by at most this in low precision.
WRITTEN = 4  # Tokens generated after a text and after its ids.
OWN_TOKENIZER = "api_tokenizer must hold the served model's own"
LEAST = 2  # At least 2 texts, and half, must agree: an echo may tokenise the text of a generated token differently.


class OtherTokenizerError(CallError):
    """The named tokenizer is not the served model's; whether the server can score is a separate question."""


@dataclass(frozen=True)
class ServerTested:
    """Result of a server's self-test.

    Args:
        special: how many special tokens stand before a text.
        new: how many tokens are generated with an echo; see `_new_tokens`.
        difference: the largest difference between the values of generated tokens and of their echoes, nats.
        words: the result in words.
    """

    special: int
    new: int
    difference: float
    words: str


async def check_scoring(calls: Calls, name: str, tokenizer: CausalModel | None) -> ServerTested:
    """Check that a server's prompt log-probabilities can be used.

    Raises:
        AlmanacError: they cannot; the message says what was found.
    """
    where = f"{calls.server.url}: the self-test of the model {name!r} failed"
    remedy = "if the server cannot score, declare kinds: [generate]"
    try:
        new = await _new_tokens(calls, name)
        special = await _special(calls, name, PROBES[0], new)
        if tokenizer is not None:
            await _check_ids(calls, name, PROBES[0], tokenizer, new)
        await _check_places(calls, name, new)
        probes = await asyncio.gather(*(_probe(calls, name, text, special, new) for text in PROBES))
    except OtherTokenizerError as error:
        raise AlmanacError(f"{where}: {calls.server.clean(error)}") from None
    except CallError as error:
        up = "see whether the server is up and the key right; " * isinstance(error, OutageError)
        raise AlmanacError(f"{where}: {calls.server.clean(error)}; {up}{remedy}") from None
    compared = [pair for pair in probes if pair is not None]
    agree = [abs(a - b) for a, b in compared if abs(a - b) <= TOLERANCE]
    if len(agree) < max(LEAST, len(compared) - len(agree)):
        pairs = ", ".join(f"{a:.3f} and {b:.3f}" for a, b in compared) or "none"
        raise AlmanacError(
            f"{where}: the log-probabilities of generated tokens and of their echoes must agree and are {pairs}; "
            f"the prompt's values are in the wrong places; {remedy}"
        )
    words = (
        f"on {len(agree)} of {len(PROBES)} texts the log-probability of a generated token and of its echo differ by at "
        f"most {max(agree):.1e} nats"
    )
    return ServerTested(special, new, max(agree), words)


async def _new_tokens(calls: Calls, name: str) -> int:
    """Return how many tokens to generate with an echo: 0, or 1 if the server refuses 0 or takes it for no limit.

    With no limit, llama-cpp-python generates until its context is full, so its first token is sent as a stop string.
    """
    body = {"model": name, "echo": True, "logprobs": 1, "temperature": 0}
    for text in PROBES:
        # Every server can generate one token, so that an error here is about the echo.
        one = await calls.complete(**body, prompt=text, max_tokens=1)
        tokens, following = echoed(one).tokens, one.choices[0].text.removeprefix(text)
        if following.strip():
            try:
                none = await calls.complete(**body, prompt=text, max_tokens=0, stop=[following])
            except CallError:
                return 1
            return int(len(echoed(none).tokens) >= len(tokens))
    return 0


async def _special(calls: Calls, name: str, text: str, new: int) -> int:
    tokens = (await _echo(calls, name, text, new)).tokens
    special = special_tokens(tokens, text)
    if special is None and new and text.startswith("".join(tokens)):
        raise CallError(
            "the echo lacks the end of the text, so values stand in the wrong places, as llama-cpp-python's do for a "
            "model that reads no BOS"
        )
    if special is None:
        raise CallError(f"the tokens {tokens} are not those of the text {text!r}; {REMEDY}")
    return special


async def _check_places(calls: Calls, name: str, new: int) -> None:
    """Echo texts with two endings: values are at the right tokens if they change with the ending and not before."""
    differ = 0
    for text in FORKS:
        one, two = [await _echo(calls, name, text + ending, new) for ending in ENDINGS]
        pairs = zip(one.tokens, two.tokens, strict=False)
        fork = next((place for place, (a, b) in enumerate(pairs) if a != b), 0)
        gaps = [abs((a or 0.0) - (b or 0.0)) for a, b in zip(one.token_logprobs, two.token_logprobs, strict=False)]
        if fork == 0 or max(gaps[:fork]) > TOLERANCE:
            raise CallError(f"after {text!r} two endings change the values before them: values are in the wrong places")
        differ += gaps[fork] > TOLERANCE
    if differ < len(FORKS) - 1:
        raise CallError("different endings of a text have the same values: values are in the wrong places")


async def _probe(calls: Calls, name: str, text: str, special: int, new: int) -> tuple[float, float] | None:
    """Return the log-probabilities of a generated token and of its echo, or None if they prove nothing."""
    plain = await _echo(calls, name, text, new)
    answer = await calls.complete(model=name, prompt=text, max_tokens=1, temperature=0, logprobs=1)
    following = answer.choices[0].text if answer.choices else ""
    if not following.strip():  # Such as at the end of a text, for which some servers return no token.
        return None
    generated = echoed(answer).token_logprobs[-1]
    if generated is None:
        return None
    longer = await _echo(calls, name, text + following, new)
    if longer.tokens[:-1] != plain.tokens or align(longer.tokens, text + following, special) is None:
        return None  # The longer text is tokenised differently.
    before, last = longer.token_logprobs[-2:]
    if before is None or last is None or abs(before - generated) <= 2 * TOLERANCE:
        return None
    return generated, last


async def _echo(calls: Calls, name: str, prompt: str | list[int], new: int) -> Echo:
    """Echo a prompt, and check that the first token has no log-probability and the others have finite ones up to 0."""
    found = await echo(calls, name, prompt, new)
    first, *others = found.token_logprobs
    if first is not None:
        raise CallError(f"the first token has the log-probability {first}, and nothing stands before it")
    if any(value is None or not math.isfinite(value) or value > 0 for value in others):
        raise CallError(f"the log-probabilities {others} of the prompt are not all numbers up to 0")
    return found


async def _check_ids(calls: Calls, name: str, text: str, tokenizer: CausalModel, new: int) -> None:
    """Check that a text scores the same when sent as token ids and as text."""
    ids, _ = tokenizer.wrap(tokenizer.tokens.ids(text))
    plain = await _echo(calls, name, text, new)
    try:
        sent = await _echo(calls, name, list(ids), new)
    except CallError as error:
        raise CallError(f"it scores texts and not token ids; leave api_tokenizer out ({error})") from None
    pairs = zip(sent.token_logprobs[1:], plain.token_logprobs[1:], strict=False)
    alike = all(a is not None and b is not None and abs(a - b) <= TOLERANCE for a, b in pairs)
    if not len(ids) == len(sent.tokens) == len(plain.tokens) or not alike:
        raise OtherTokenizerError(
            f"the text {text!r} is {len(plain.tokens)} tokens to the server and {len(ids)} to api_tokenizer, or they "
            f"score differently; {OWN_TOKENIZER}"
        )


async def check_reading(calls: Calls, name: str, tokenizer: CausalModel) -> None:
    """Check that a server which only generates writes the same after token ids as after their text.

    Raises:
        AlmanacError: the texts differ for more than half of the probes.
    """
    differ = 0
    for text in PROBES:
        ids, _ = tokenizer.wrap(tokenizer.tokens.ids(text))
        try:
            prompts = (text, list(ids))
            body = {"model": name, "max_tokens": WRITTEN, "temperature": 0}
            answers = [await calls.complete(**body, prompt=one) for one in prompts]
        except CallError:  # Such as from a server that reads no ids; generating reports that later.
            return
        differ += len({one.choices[0].text if one.choices else "" for one in answers}) > 1
    if 2 * differ > len(PROBES):
        raise AlmanacError(
            f"{calls.server.url}: after {differ} of {len(PROBES)} texts the model {name!r} writes something else than "
            f"after their token ids by api_tokenizer; {OWN_TOKENIZER}"
        )
