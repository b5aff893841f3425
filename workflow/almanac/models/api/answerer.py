"""A model behind an OpenAI-compatible server: it scores by echoed log-probabilities, and generates."""

import asyncio
import contextlib
import functools
import hashlib
import json
import math
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from almanac import tables
from almanac.errors import AlmanacError
from almanac.models import wrappers
from almanac.models.api.client import SHOWN, CallAnswer, CallError, Calls, Choice, OutageError, Server
from almanac.models.api.jobs import Echo, Job, echo, jobs_of, values_of
from almanac.models.api.selftest import PROBES, ServerTested, check_reading, check_scoring
from almanac.models.causal import CausalModel
from almanac.models.digest import tokenizer_digest
from almanac.models.framing import ChatTemplate, Framing, Turns, framing_of, turns
from almanac.models.options import AnswerOptions
from almanac.models.scoring.boundaries import full_text
from almanac.models.scoring.samples import sample_seed
from almanac.models.stopping import NO_ROOM, after_thinking, before_stop, closed_block_end, opened_block_end, thinks
from almanac.models.tokens import Tokens
from almanac.rows import Request, Response

ENGINE = "api/1"
KINDS = ("choices", "spans", "generate", "fill")  # similarity is missing: a server returns no hidden states
STOPS = 4  # Some servers take no more stop strings; answers are cut here at all of them.
SEEDS = 2**31  # Every server takes seeds below this.
REMEMBERED = 2**28  # Bytes of echoes that are kept for texts that are scored again: about 18 bytes per token.
SAID_ELSEWHERE = {  # What api_extra may not hold, and why.
    "": "a key has a name",
    "model": "api_model names the model",
    "n": "api_samples is how many samples a call asks for",
    **dict.fromkeys(("messages", "prompt"), "requests say what is asked"),
}
PROBED = 512  # Most models that think answer a probe within this many new tokens.
FIRST = 16  # If the first 16 answers all end while thinking, and a probe's answer too, the run stops.
# The beginning of answers of gpt-oss and Gemma 4 without their special tokens.
CHANNELS = re.compile(r"\s*(analysis.*assistantfinal|thought\n)", re.DOTALL)
# The most characters of an answer, and of a token: so a window of the longest stays below Arrow's 2 GiB.
LONG, LONGEST_TOKEN = 2**16, 64
# Options that change the calls belong to the identity; those that change only their pace do not.
IDENTITY = ("api_revision", "api_generate_with", "api_samples", "api_limit_key", "api_extra")


class ThinkingError(CallError):
    """A text ends while the model is thinking, or before the answer after it is complete."""


class ApiAnswerer:
    """Answers requests by calls to a server; see `answerer.Answerer`.

    Args:
        options: the server, the model, and the kinds of requests. Scoring needs a server that echoes a prompt's
            log-probabilities; it is tested here, and refused if they are missing or in the wrong places.

    Raises:
        AlmanacError: the server cannot be reached, refuses the key or the model, or fails the self-test.
    """

    def __init__(self, options: AnswerOptions) -> None:
        self._options = options
        self._kinds = options.kinds or KINDS
        self._extra = _extra(options.api_extra)
        self._server = Server(options)
        folder = Path(options.api_tokenizer).expanduser() if options.api_tokenizer is not None else None
        self._tokenizer = _tokenizer(folder) if folder is not None else None
        self._tokenizer_digest = tokenizer_digest(folder) if folder is not None else None
        self._framing = _framing(options, self._tokenizer)
        self._echoes: dict[bytes, bytes] = {}  # By the prompt's sha256, the pickled echo; the oldest first.
        self._echo_bytes = 0  # Bytes of all kept echoes.
        self._drawn: dict[str, dict[int, list[str | CallError]]] = {}  # Samples of requests that will be sent again.
        self._unfinished: int | None = 0  # How many answers ended while thinking; None after the first complete answer.
        with self._server.explaining():
            self._name, self._tested = asyncio.run(self._open())
        identity = {key: getattr(options, key) for key in IDENTITY}
        identity |= {"url": self._server.url, "model": self._name, "tokenizer": self._tokenizer_digest}
        self._identity = identity | {"engine": ENGINE}
        self.digest = self._digest(self._framing.digest)

    async def _open(self) -> tuple[str, ServerTested | None]:
        """Find the model's name, and test the server for the kinds of requests that it will get."""
        tested, url = None, self._server.url
        async with self._server.calls() as calls:
            name = _checked_name(calls, self._options.api_model or await _only_model(calls))
            if set(self._kinds) - {"generate"}:
                tested = await check_scoring(calls, name, self._tokenizer)
                print(f"{url}: {tested.words}", file=sys.stderr)
            if "generate" in self._kinds:
                if tested is None and not self._chats and self._tokenizer is not None and self._tokenizer.tokens.prefix:
                    await check_reading(calls, name, self._tokenizer)
                try:
                    with contextlib.suppress(ThinkingError):  # One token may well be thinking.
                        await self._texts(calls, name, PROBES[0], Request("", "generate", None, "", max_new_tokens=1))
                except CallError as error:
                    if isinstance(error, OutageError):  # This says nothing about the model.
                        raise AlmanacError(f"{url}: {error}; see whether the server is up and the key right") from None
                    raise AlmanacError(
                        f"{url}: the model {name!r} does not generate: {error}; see api_model. If it refuses a "
                        "parameter, leave that out with api_extra: [temperature=null], or rename the limit with "
                        "api_limit_key. If it reads no token ids, leave out api_tokenizer. If it has no chat template, "
                        f'or only scores, its entry must say so: models=\'[{{name: served, api: "{url}", '
                        "api_generate_with: completions}]' or kinds: [choices, spans] (docs/api.md)"
                    ) from None
                await self._check_thinking(calls, name)
        return name, tested

    async def _check_thinking(self, calls: Calls, name: str) -> None:
        """Refuse a chat server if thinking that the token limit cuts off could not be told from an answer."""
        if not self._chats:
            return
        [body] = self._bodies(Request("", "generate", None, "", max_new_tokens=PROBED))
        try:
            answer = await self._generate(calls, name, PROBES[0], body)
        except CallError:  # Such as from a model that cannot read this many tokens.
            return
        choices = answer.choices
        texts = [_text_of(one) for one in choices]
        if any(map(CHANNELS.match, texts)):
            raise AlmanacError(
                f"{self._server.url}: it leaves out the tags that separate the model's thinking from its answer; serve "
                "the model with software that keeps the two apart (docs/api.md)"
            )
        if not self._framing.thinking and any(closed_block_end(one) and after_thinking(one) == one for one in texts):
            raise AlmanacError(
                f"{self._server.url}: the model {name!r} thinks before it answers, and thinking that is cut off looks "
                "like an answer, since the server's template opens it; set thinking_tokens, or switch thinking off "
                "(docs/api.md)"
            )
        hidden = _hidden(answer) and self._options.api_limit_key not in self._extra  # `api_extra` may raise the limit.
        if not self._framing.thinking and (any(map(_thinks, choices)) or hidden):
            raise AlmanacError(
                f"{self._server.url}: the model {name!r} thinks before it answers, and an answer's tokens leave no "
                "room for that; set thinking_tokens: 4096, or switch thinking off (docs/api.md)"
            )

    def _digest(self, framing: str) -> str:
        return tables.identity(self._identity | {"framing": framing})

    @property
    def is_paid(self) -> bool:
        """Whether answers are paid for; see `Answerer`."""
        return True

    @functools.cached_property
    def reusable_digests(self) -> frozenset[str]:
        """The digests of the same entry with fewer ``thinking_tokens``; see `Answerer`."""
        return frozenset(map(self._digest, self._framing.digests_of_less_thinking()))

    def record(self) -> dict[str, str]:
        """Return the metadata of the response file; what only the server knows is marked as its word."""
        revision = self._options.api_revision or "undeclared"
        word = f"{self._server.key.in_text(self._name)}, revision {revision}, by the word of {self._server.url}"
        found = {"model": self.digest, "weights": word, "tokenizer": self._tokenizer_digest or word}
        found |= {"dtype": word, "device": word, "engine": ENGINE, "openai": metadata.version("openai")}
        found |= {"wrapper": self._framing.identity}
        mode = self._framing.thinking_mode
        if mode and (self._framing.thinking or not self._chats):  # Otherwise the server's template decides.
            found |= {"thinking": mode}
        return found | ({"self_test": self._tested.words} if self._tested is not None else {})

    def answer(
        self,
        requests: Sequence[Request],
        contexts: Mapping[str, str],
        on_progress: Callable[[int], None] | None = None,
        keep: Callable[[Response], None] | None = None,
    ) -> list[Response]:
        """Answer one window of requests; equal texts are scored once, also across windows and files.

        Raises:
            AlmanacError: the server fails call after call.
        """
        with self._server.explaining():
            report, kept = on_progress or (lambda count: None), keep or (lambda response: None)
            return asyncio.run(self._window(requests, contexts, report, kept))

    async def _window(
        self,
        requests: Sequence[Request],
        contexts: Mapping[str, str],
        report: Callable[[int], None],
        keep: Callable[[Response], None],
    ) -> list[Response]:
        found: dict[int, Response] = {}
        echo_tasks: dict[bytes, asyncio.Task[Echo]] = {}
        postponed: list[tuple[int, Request]] = []

        async def work(calls: Calls, waiting: Iterator[tuple[int, Request]], last: bool) -> None:
            # All workers share one iterator, so that no more requests are open than calls may be made at a time.
            for index, request in waiting:
                found[index], may_pass = await self._answer(calls, request, contexts, echo_tasks)
                if may_pass and not last:
                    postponed.append((index, request))
                    continue
                keep(found[index])
                report(1)

        async with self._server.calls() as calls:
            # Requests that failed because the server was away for a while are sent once more, after all others.
            for last, waiting in ((False, enumerate(requests)), (True, postponed)):
                echo_tasks.clear()
                ahead = iter(waiting)
                await asyncio.gather(*(work(calls, ahead, last) for _ in range(self._options.api_concurrency)))
        self._drawn.clear()
        return [found[index] for index in range(len(requests))]

    async def _answer(
        self, calls: Calls, request: Request, contexts: Mapping[str, str], echo_tasks: dict[bytes, asyncio.Task[Echo]]
    ) -> tuple[Response, bool]:
        """Return a request's response, and whether it failed for a reason that may be temporary."""
        given: dict[str, Any] = {}
        status, reason, may_pass = "ok", None, False
        try:
            if request.kind not in self._kinds:
                raise CallError(f"the server is declared to answer {', '.join(self._kinds)}", "unsupported")
            if request.kind == "generate" and request.instruction is not None and self._chats:
                messages = self._framing.messages(request, contexts)
                given = {"texts": await self._texts(calls, self._name, messages, self._framing.stopped(request))}
            else:
                request, contexts = self._plain(request, contexts)
                if request.kind == "generate":
                    given = {"texts": await self._texts(calls, self._name, full_text(request, contexts), request)}
                else:
                    given = await self._scores(calls, request, contexts, echo_tasks)
        except CallError as error:
            if isinstance(error, ThinkingError):
                await self._check_room(calls, request, error)
            status, reason, may_pass = error.status, self._server.clean(error), isinstance(error, OutageError)
        except AlmanacError:
            raise
        except Exception as error:  # A server's answer can be wrong in any way; that is this request's failure alone.
            status, reason = "failed", self._server.clean(f"{type(error).__name__}: {error}")
        response = Response(request.request_id, status, reason, **given, model_digest=self.digest, engine=ENGINE)
        return response, may_pass

    async def _check_room(self, calls: Calls, request: Request, error: ThinkingError) -> None:
        """Stop a run if its first answers, and the answer to a simple question, all end while thinking."""
        if self._unfinished is None:
            return
        self._unfinished += 1
        if self._unfinished == FIRST:
            try:
                await self._texts(calls, self._name, PROBES[0], replace(request, request_id="", samples=1))
            except ThinkingError:
                raise AlmanacError(f"{self._server.url}: the first {FIRST} answers failed: {error}") from None
            except CallError:  # Any other failure of this question does not matter.
                pass

    def _plain(self, request: Request, contexts: Mapping[str, str]) -> tuple[Request, Mapping[str, str]]:
        arranged = self._framing.arrange([request], contexts)
        if arranged.declined:
            raise CallError(arranged.declined[request.request_id], "unsupported")
        return arranged.requests[0], arranged.contexts

    async def _scores(
        self, calls: Calls, request: Request, contexts: Mapping[str, str], echo_tasks: dict[bytes, asyncio.Task[Echo]]
    ) -> dict[str, Any]:
        assert self._tested is not None  # Nothing is scored before the self-test.
        own = jobs_of(request, contexts, self._tokenizer)
        jobs = [(hashlib.sha256(repr(job.prompt).encode()).digest(), job) for job in own]
        echoes = {key: pickle.loads(self._echoes[key]) for key, _ in jobs if key in self._echoes}
        waiting = {key: job for key, job in jobs if key not in echoes}
        for key, job in waiting.items():
            if key not in echo_tasks:
                echo_tasks[key] = asyncio.create_task(self._echo(calls, key, job, self._tested.new))
        echoes |= zip(waiting, await asyncio.gather(*(echo_tasks[key] for key in waiting)), strict=True)
        parts = [part for key, job in jobs for part in values_of(job, echoes[key], self._tested.special)]
        if request.kind != "spans" and not all(parts):
            raise CallError("a choice has no token that can be scored; lengthen it or the text")
        return {
            "logprobs": tuple(math.fsum(part) for part in parts),
            "token_counts": tuple(len(part) for part in parts),
            "token_logprobs": tuple(value for part in parts for value in part) if request.per_token else None,
        }

    async def _echo(self, calls: Calls, key: bytes, job: Job, new: int) -> Echo:
        found = await echo(calls, self._name, job.prompt if isinstance(job.prompt, str) else list(job.prompt), new)
        self._echoes[key] = pickle.dumps(found)
        self._echo_bytes += len(self._echoes[key])
        while self._echo_bytes > REMEMBERED:
            self._echo_bytes -= len(self._echoes.pop(next(iter(self._echoes))))
        return found

    async def _texts(self, calls: Calls, name: str, text: str | Turns, request: Request) -> tuple[str, ...]:
        """Return a request's samples, cut before its stop strings; a greedy sample is requested once.

        A refused sample becomes an empty text, unless all are refused.
        """
        drawn = await self._all_samples(calls, name, text, request)
        samples = [one for number in sorted(drawn) for one in drawn[number]]
        refusals = [one for one in samples if isinstance(one, CallError)]
        if len(refusals) == len(samples):
            raise refusals[0]
        texts = ["" if isinstance(one, CallError) else one for one in samples]
        most = max(LONG, LONGEST_TOKEN * (request.max_new_tokens or 0) * len(texts))
        if (length := sum(map(len, texts))) > most:
            raise CallError(f"the answer has {length} characters, and at most {most} are kept; see api_limit_key")
        texts = [self._server.in_text(text) for text in texts]
        return tuple(texts) if request.temperature else tuple(texts) * (request.samples or 1)

    async def _all_samples(
        self, calls: Calls, name: str, text: str | Turns, request: Request
    ) -> dict[int, list[str | CallError]]:
        """Return the samples of each call that a request needs, by the number of the call.

        Raises:
            OutageError: a call failed; the samples of the others are kept until the request is sent again.
            CallError: a call failed for good; calls that still wait are not made.
        """
        drawn = self._drawn.pop(request.request_id, {})

        async def draw(number: int, body: dict[str, Any]) -> OutageError | None:
            try:
                drawn[number] = await self._samples(calls, name, text, request, body)
            except OutageError as error:
                return error
            return None

        bodies = enumerate(self._bodies(request))
        drawing = [asyncio.create_task(draw(number, body)) for number, body in bodies if number not in drawn]
        try:
            outages = [error for error in await asyncio.gather(*drawing) if error is not None]
        finally:
            for one in drawing:
                one.cancel()
        if outages:
            self._drawn[request.request_id] = drawn
            raise outages[0]
        return drawn

    async def _samples(
        self, calls: Calls, name: str, text: str | Turns, request: Request, body: dict[str, Any]
    ) -> list[str | CallError]:
        """Return the samples of one call; a refused sample is given as a `CallError`."""
        wanted = body.get("n", 1)
        try:
            choices = (await self._generate(calls, name, text, body)).choices
        except CallError as error:
            if error.status != "refused":
                raise
            return [error] * wanted
        if len(choices) != wanted:
            remedy = "set api_samples: 1" if wanted > 1 else "see the server's log"
            raise CallError(f"samples that a call asked for: {wanted}, and that came back: {len(choices)}; {remedy}")
        return [_refusal(choice) or self._answer_in(choice, text, request) for choice in choices]

    def _answer_in(self, choice: Choice, prompt: str | Turns, request: Request) -> str:
        """Return a choice's answer: the text after its thinking, up to the first stop string."""
        text, message, thinking = _text_of(choice), choice.message, self._framing.thinking
        if self._chats and (message is None or (choice.finish_reason == "tool_calls" and not text)):
            raise CallError("the answer has no message" if message is None else "the answer is a tool call, not a text")
        begun = None if self._chats or not isinstance(prompt, str) else opened_block_end(prompt)
        # A block that the server's own template opens is not shown; only its end may be, if thinking is in the text.
        answer = after_thinking(text, begun or closed_block_end(text))
        thought = answer != text or bool(message and (message.reasoning or message.reasoning_content))
        whole = (answer or "").lstrip() if thought else answer or ""
        kept = self._limited(whole, request.max_new_tokens or 0) if thinking else whole
        ended, met = before_stop(kept, request.stop or ())
        cut_off = choice.finish_reason == "length"
        lacking = answer is None or (not ended.strip() and (thought or (cut_off and message is not None)))
        # If a model that may think shows no thinking, a text that the limit ended may be nothing but thinking.
        unfinished = cut_off and (not met and kept == whole if thought else thinking > 0)
        if lacking or unfinished:
            raise ThinkingError(NO_ROOM.format((request.max_new_tokens or 0) + thinking))
        self._unfinished = None
        return ended

    def _limited(self, answer: str, most: int) -> str:
        """Return the first ``most`` tokens of an answer, or all of it if there is no tokenizer to count them."""
        if self._tokenizer is None:
            return answer
        [encoding] = self._tokenizer.tokens.encode([answer])
        return answer[: encoding.offsets[most - 1][1]] if len(encoding.ids) > most else answer

    def _bodies(self, request: Request) -> Iterator[dict[str, Any]]:
        """Yield the body of each call that a request needs, without model and text."""
        new, temperature, samples = request.max_new_tokens, request.temperature or 0.0, request.samples or 1
        if new is None or new < 1 or temperature < 0 or samples < 1:
            raise CallError("max_new_tokens and samples must be at least 1, temperature at least 0")
        if temperature > 0 and request.seed is None:
            raise CallError("sampling at a temperature above 0 needs a seed")
        thinking = self._framing.thinking
        body: dict[str, Any] = {self._options.api_limit_key: new + thinking, "temperature": temperature}
        # A server would end an answer at a line break before its first word, and at a stop string in its thinking: so
        # line breaks are never sent, and nothing is if the model may think.
        if not thinking and (stops := [stop for stop in request.stop or () if stop.strip()]):
            body["stop"] = stops[:STOPS]
        step = self._options.api_samples if temperature > 0 else samples
        for first in range(0, samples, step):
            drawn: dict[str, Any] = {}
            if temperature > 0:
                drawn = {"top_p": 1.0, "seed": sample_seed(request.seed or 0, first) % SEEDS}
                drawn |= {"n": min(step, samples - first)} if step > 1 else {}
            whole = {**body, **drawn, **self._extra}
            yield {key: value for key, value in whole.items() if value is not None}

    def _with_one_bos(self, text: str | Turns) -> str | Turns | list[int]:
        """Return a text that begins with the tokenizer's BOS as token ids, since a server would add another BOS."""
        if self._tokenizer is None or not isinstance(text, str):
            return text
        tokens = self._tokenizer.tokens
        ids = tokens.ids(text)
        return ids if tokens.prefix and not tokens.before(ids) else text

    async def _generate(self, calls: Calls, name: str, text: str | Turns, body: dict[str, Any]) -> CallAnswer:
        if not self._chats:
            return await calls.complete(model=name, prompt=self._with_one_bos(text), **body)
        messages = turns("", text) if isinstance(text, str) else text
        return await calls.chat(model=name, messages=messages, **body)

    @property
    def _chats(self) -> bool:
        """Whether texts are generated by chat, with the server's own template."""
        return self._options.api_generate_with == "chat"


async def _only_model(calls: Calls) -> str:
    try:
        names = await calls.models()
    except CallError as error:
        raise AlmanacError(
            f"{calls.server.url}: {error}; see whether the server is up and the URL its base, up to /v1, and name the "
            "model with api_model"
        ) from None
    if len(names) != 1:
        raise AlmanacError(
            f"{calls.server.url}: it serves {calls.server.clean(', '.join(names[:20])) or 'nothing'}; name one with "
            "api_model"
        )
    return names[0]


def _checked_name(calls: Calls, name: str) -> str:
    """Return a model's name if files can hold it.

    Raises:
        AlmanacError: it is no text, or longer than any name.
    """
    if len(name) > SHOWN or name != name.encode("utf-8", "replace").decode():
        raise AlmanacError(
            f"{calls.server.url}: the model's name {calls.server.clean(name)!r} has more than {SHOWN} characters or "
            "half a one; name the model with api_model"
        )
    return name


def _framing(options: AnswerOptions, tokenizer: CausalModel | None) -> Framing:
    """Return the framing of a served model.

    Raises:
        AlmanacError: the wrapper is a text and texts are generated by chat, or the other way round.
    """
    own = tokenizer.tokens.tokenizer if tokenizer is not None else None
    if options.api_generate_with == "completions":
        where = options.api_tokenizer or f"{options.api} (without api_tokenizer)"
        return framing_of(options.wrapper, own, where, options.thinking_tokens)
    name = options.wrapper or "chat"
    wrapper = wrappers.find(name)
    if not wrapper.chat:
        raise AlmanacError(
            f"wrapper: {name} is one text, and a server that generates by chat puts texts together itself; set "
            "api_generate_with: completions, or name a wrapper of turns, as chat"
        )
    has_template = own is not None and bool(own.chat_template)
    template = ChatTemplate(own, str(options.api_tokenizer)) if has_template else None
    return Framing(name, wrapper, template, options.thinking_tokens)


def _extra(words: Sequence[str]) -> dict[str, Any]:
    """Parse words of the form KEY=JSON; keys that requests or other options set are refused."""
    found = {}
    for word in words:
        key, _, value = word.partition("=")
        try:
            found[key] = json.loads(value)
        except ValueError:
            raise AlmanacError(f"api_extra: {word!r} is no KEY=JSON; write for example top_k=-1") from None
        if (where := SAID_ELSEWHERE.get(key)) is not None:
            raise AlmanacError(f"api_extra: {word!r}: {where}; leave it out")
    return found


def _tokenizer(folder: Path) -> CausalModel:
    """Return the served model's tokenizer as a causal model without a network, which tokenising does not need."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # A damaged file makes the libraries raise errors of a dozen kinds.
        raise AlmanacError(
            f"api_tokenizer: {folder} holds no tokenizer that can be read ({error}); give the folder of a checkpoint"
        ) from error
    return CausalModel(network=None, tokens=Tokens(tokenizer), digest="", max_length=None)


def _thinks(choice: Choice) -> bool:
    """Return whether a choice holds thinking, in its text or in a field of its own."""
    message = choice.message
    apart = message is not None and (message.reasoning or message.reasoning_content)
    return bool(apart) or thinks(_text_of(choice))


def _hidden(answer: CallAnswer) -> bool:
    """Return whether, by the server's count, tokens were spent on thinking, even if none is shown."""
    details = answer.usage.get("completion_tokens_details") if isinstance(answer.usage, dict) else None
    spent = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return isinstance(spent, int) and spent > 0


def _refusal(choice: Choice) -> CallError | None:
    """Return the refusal by a content filter or by the model itself, or None if there is none."""
    if choice.finish_reason == "content_filter":
        return CallError("the server's content filter held the text back", "refused")
    if choice.message is not None and choice.message.refusal:
        return CallError(f"the model refused: {choice.message.refusal}", "refused")
    return None


def _text_of(choice: Choice) -> str:
    return choice.text if choice.message is None else choice.message.content or ""
