"""Turns requests into prompts that a server scores, and its answers into log-probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from almanac.models.api.alignment import align, token_range
from almanac.models.api.client import CallAnswer, CallError, Calls, Logprobs, damage
from almanac.models.causal import CausalModel
from almanac.models.scoring.blanks import BLANK, read_blank
from almanac.models.scoring.boundaries import full_text, tokenise
from almanac.rows import Request

FLOOR = -9999.0  # Nats; vLLM returns this for everything less likely.
ROUNDING = 1e-3  # Rounding may put a log-probability this many nats above 0.
REMEDY = "name the model's tokenizer with api_tokenizer, if the server reads token ids"


@dataclass(frozen=True, slots=True)
class Job:
    """A prompt and its parts to score: ranges of tokens if it is ids, ranges of characters if it is a text."""

    prompt: str | tuple[int, ...]
    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Echo:
    """The tokens of a prompt, their log-probabilities, and how many special tokens before them the server hides."""

    tokens: list[str]
    token_logprobs: list[float | None]
    unshown: int = 0


def jobs_of(request: Request, contexts: Mapping[str, str], model: CausalModel | None) -> list[Job]:
    """Return the prompts that a server must score for a request.

    Args:
        request: of the kind ``choices``, ``spans`` or ``fill``.
        contexts: the texts of the contexts, by id.
        model: the server's tokenizer, as a causal model; None if it is not known.

    Raises:
        CallError: the request is malformed, or a server cannot answer it.
    """
    if request.kind == "fill":
        _check_fill(request)
    if model is not None:
        return _by_ids(request, contexts, model)
    if request.kind == "spans":
        return [_spans(request, contexts)]
    text = full_text(request, contexts)
    left = text.removesuffix(BLANK) if request.kind == "fill" else text
    if request.kind == "fill" and (left == text or BLANK in left):
        raise CallError(f"a server fills only one {BLANK} that ends the text", "unsupported")
    # The space before a blank is part of the word in it, as in `scoring.blanks`.
    start = len(left) - (request.kind == "fill" and left.endswith(" "))
    if not request.choices:
        raise CallError("the request has no choices; give at least one")
    return [Job(left + choice, ((start, len(left) + len(choice)),)) for choice in request.choices]


def _check_fill(request: Request) -> None:
    if request.top_k:
        raise CallError("servers do not give the whole vocabulary's probabilities, which top_k needs", "unsupported")
    if not request.choices:
        raise CallError("without choices a server cannot fill a blank", "unsupported")


def _by_ids(request: Request, contexts: Mapping[str, str], model: CausalModel) -> list[Job]:
    if request.kind == "fill":
        blank = read_blank(request, full_text(request, contexts), model)
        problem, sequences = blank.problem, blank.choices
    else:
        [tokenised] = tokenise([request], contexts, model)
        blank, problem, sequences = None, tokenised.problem, tokenised.sequences
    if problem is not None:
        raise CallError(problem, "unsupported" if blank is not None and blank.unsupported else "failed")
    return [Job(sequence.ids, sequence.parts) for sequence in sequences]


def _spans(request: Request, contexts: Mapping[str, str]) -> Job:
    if request.pieces is not None:
        raise CallError(f"pieces are tokenised one by one, which a server does not do; {REMEDY}", "unsupported")
    text = full_text(request, contexts)
    shift = len(text) - len(request.text)
    spans = tuple(zip(request.span_starts or (), request.span_ends or (), strict=False))
    if not spans or len(request.span_starts or ()) != len(request.span_ends or ()):
        raise CallError("the request's spans are no pairs of a start and an end; give pairs, at least one")
    for start, end in spans:
        if not 0 <= start < end <= len(request.text):
            raise CallError(f"the span {start} to {end} does not lie in the text of {len(request.text)} characters")
    return Job(text, tuple((start + shift, end + shift) for start, end in spans))


def echoed(answer: CallAnswer) -> Logprobs:
    """Return the echoed tokens of a prompt and their log-probabilities.

    Raises:
        CallError: they are missing, differ in number, or are not texts and numbers.
    """
    found = answer.choices[0].logprobs if answer.choices else None
    if not isinstance(found, dict) or not found.get("tokens") or not found.get("token_logprobs"):
        raise CallError("the answer has no log-probabilities of the prompt")
    try:
        logprobs = Logprobs.model_validate(found)
    except ValidationError as error:
        raise CallError(f"the answer's log-probabilities are damaged: {damage(error)}") from None
    if len(logprobs.tokens) != len(logprobs.token_logprobs):
        raise CallError(f"the answer has {len(logprobs.tokens)} tokens and {len(logprobs.token_logprobs)} values")
    return logprobs


async def echo(calls: Calls, name: str, prompt: str | list[int], new: int) -> Echo:
    """Have a server echo a prompt.

    Args:
        calls: the calls to the server.
        name: the model's name.
        prompt: a text or token ids.
        new: how many tokens to generate: 0, or 1 if the server takes 0 for no limit; generated tokens are dropped.

    Raises:
        CallError: there is no echo, or the server does not say how many tokens were generated.
    """
    answer = await calls.complete(model=name, prompt=prompt, max_tokens=new, echo=True, logprobs=1, temperature=0)
    found = echoed(answer)
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    read, generated = usage.get("prompt_tokens"), usage.get("completion_tokens") if new else 0
    if not isinstance(generated, int) or not 0 <= generated < len(found.tokens):
        raise CallError(f"the server returned {len(found.tokens)} tokens and says that it generated {generated}")
    stop = len(found.tokens) - generated
    unshown = read - stop if isinstance(read, int) else 0
    return Echo(found.tokens[:stop], found.token_logprobs[:stop], max(0, unshown))


def values_of(job: Job, logprobs: Echo, special: int) -> list[list[float]]:
    """Return the log-probabilities of a job's parts, token by token, in nats.

    Args:
        job: the prompt and its parts.
        logprobs: the server's answer.
        special: how many special tokens the server puts before a text.

    Raises:
        CallError: the tokens of a part cannot be found, or a value is no log-probability.
    """
    if isinstance(job.prompt, str):
        aligned = align(logprobs.tokens, job.prompt, special)
        if aligned is None:
            raise CallError(f"the server's tokens are not those of the text; {REMEDY}")
        ranges = [token_range(aligned, job.prompt, start, end) for start, end in job.parts]
    else:
        if len(logprobs.tokens) != len(job.prompt):
            raise CallError(f"{len(job.prompt)} token ids were sent and {len(logprobs.tokens)} tokens came back")
        ranges = list(job.parts)
    found = []
    for part in ranges:
        if part is None:
            raise CallError(f"a boundary falls between tokens that do not show their characters; {REMEDY}")
        # A text's first token, with nothing before it, has no log-probability and is left out.
        first = part[0] == 0 and logprobs.token_logprobs[0] is None
        if first and logprobs.unshown:
            raise CallError(
                "the text's first token is to be scored, and the server gives it no log-probability although it reads "
                "a special token before it",
                "unsupported",
            )
        start = part[0] + first
        found.append([_finite(value) for value in logprobs.token_logprobs[start : part[1]]])
    return found


def _finite(value: float | None) -> float:
    if value is None or not FLOOR < value <= ROUNDING:  # Also refuses NaN and the infinities.
        raise CallError(
            f"a log-probability is {value}, which is no number of nats up to 0 (servers cut off at {FLOOR:g})"
        )
    return value
