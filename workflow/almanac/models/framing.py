"""Framing: turns an instructed request into plain text with the model's wrapper, before anything is tokenised.

Later steps see plain requests only. Requests without an instruction pass through unchanged, so that in-context scoring
uses the same text for every model.
"""

import datetime
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from almanac import tables
from almanac.errors import AlmanacError
from almanac.models import wrappers
from almanac.models.stopping import FINAL, opened_block_end
from almanac.models.wrappers import DEFAULTS, InstructedParts, Wrapper
from almanac.rows import Request

BLANK = "[MASK]"
# Templates that write the date get this one, so that a request is the same text on every day.
TODAY = datetime.date(2024, 7, 26)
DATED = re.compile(r"""strftime_now\(\s*(["'])([^"']*)\1\s*\)""")
# Replaces the function `strftime_now` in templates that compute its format instead of writing it out.
_CODES = [f"%{code}" for code in ("-d", "-m", *"aAbBdemyYDFHIMRSTpjZ")]
_DATES = "".join(f" | replace({code!r}, {TODAY.strftime(code)!r})" for code in _CODES)
STILL = f"{{% macro strftime_now(format) %}}{{{{ format{_DATES} }}}}{{% endmacro %}}"
AT_MOST = "at most {} tokens before an answer"  # that a model may think with
HARMONY = "<|start|>assistant"  # The end of a prompt to gpt-oss, which then chooses a channel.
PROBES = ("Say what the system says.", "What does the user ask?")
Turns = list[dict[str, str]]


@dataclass(frozen=True)
class Arranged:
    """Requests as plain text, in their order, and those that cannot become plain text.

    Attributes:
        requests: plain requests, with the ids of the original ones.
        contexts: the texts of contexts, by id: the given ones, and those made from wrappers.
        declined: by request id, why a request cannot become plain text.
    """

    requests: list[Request]
    contexts: Mapping[str, str]
    declined: dict[str, str]


def turns(system: str, user: str, merged: bool = False) -> Turns:
    """Return the messages of a chat: system (unless it is empty) and user; or both merged into the user's."""
    if system and merged:
        return turns("", f"{system}\n\n{user}")
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": user}]


class ChatTemplate:
    """A tokenizer's chat template. If it has no system role, the system message is put before the user message.

    Args:
        tokenizer: a transformers tokenizer.
        where: the model's folder, for error messages.

    Raises:
        AlmanacError: there is no template, or it fails, or it drops a message.
    """

    def __init__(self, tokenizer: Any, where: str) -> None:
        self._tokenizer = tokenizer
        if not getattr(tokenizer, "chat_template", None):
            raise AlmanacError(
                f"model {where}: wrapper: the tokenizer has no chat template; name another wrapper, as plain, or put "
                "the template in the tokenizer's folder as chat_template.jinja"
            )
        # If there are several templates, this is the one for chats without tools.
        self.source = DATED.sub(lambda call: repr(TODAY.strftime(call[2])), tokenizer.get_chat_template())
        if "strftime_now" in self.source:
            self.source = STILL + self.source
        self.merges = self._problem(merged=False) is not None
        if self.merges and (problem := self._problem(merged=True)) is not None:
            raise AlmanacError(
                f"model {where}: wrapper: the tokenizer's chat template fails: {problem}; correct it, or name another "
                "wrapper, as plain"
            )

    def _problem(self, merged: bool) -> str | None:
        """Return why the template cannot write a probe, or None if it can."""
        try:
            text = self._rendered(turns(*PROBES, merged))
            self._rendered(turns(*PROBES, merged), thinks=True)
        except Exception as error:  # Templates are programs, and fail in many ways.
            return f"{type(error).__name__}: {error}".splitlines()[0]
        lost = next((probe for probe in PROBES if probe not in text), None)
        return None if lost is None else f"{lost!r} is lost in {text[:200]!r}"

    def probes(self) -> list[str]:
        """Return a probe chat as the template writes it, without thinking and with it."""
        return [self._rendered(turns(*PROBES, self.merges), thinks) for thinks in (False, True)]

    def text(self, system: str, user: str, thinks: bool = False) -> str:
        """Return the text of both messages, up to where the answer begins or, with ``thinks``, the thinking."""
        rendered = self._rendered(turns(system, user, self.merges), thinks)
        return rendered if thinks else self._closed(rendered)

    def _closed(self, text: str) -> str:
        """Return a prompt that the answer follows directly, even if the template opens a block of thinking."""
        if end := opened_block_end(text):  # It is closed, as by Qwen3's template if thinking is switched off.
            return f"{text.rstrip()}\n\n{end}\n\n"
        return text + FINAL if text.endswith(HARMONY) and FINAL in self.source else text

    def without_thinking(self) -> str | None:
        """Return how thinking is switched off; None if the chat template has no switch and opens no block."""
        off, on = self.probes()
        if self._closed(off) != off:
            return "off: what the chat template opens for it is closed"
        return None if off == on else "off: the chat template has a switch for it"

    def _rendered(self, messages: Turns, thinks: bool = False) -> str:
        rendered: str = self._tokenizer.apply_chat_template(
            messages,
            chat_template=self.source,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=thinks,  # the switch in Qwen3
            thinking=thinks,  # the switch in Granite and DeepSeek-V3.1
            date_string=TODAY.strftime("%d %b %Y"),
        )
        return rendered


class Framing:
    """How instructed requests become text for one model.

    Args:
        name: the wrapper's name.
        wrapper: the wrapper.
        template: the chat template; None if the wrapper is a text, or if the server has the template.
        thinking: how many tokens a generated answer may use for thinking, besides its own.

    Attributes:
        thinking_mode: in words, the most thinking tokens or how thinking is switched off; None if neither applies.
    """

    def __init__(self, name: str, wrapper: Wrapper, template: ChatTemplate | None = None, thinking: int = 0) -> None:
        self.name, self.wrapper, self.template, self.thinking = Path(name).name, wrapper, template, thinking
        off = None if template is None else template.without_thinking()
        self.thinking_mode = AT_MOST.format(thinking) if thinking else off
        self.digest = self._digest(self.thinking_mode)

    def _digest(self, thinking_mode: str | None) -> str:
        rendered = None if self.template is None else [self.template.source, self.template.merges]
        return tables.identity([self.wrapper.digest, rendered, *filter(None, [thinking_mode])])

    def digests_of_less_thinking(self) -> Iterator[str]:
        """Yield the digests of the same framing with fewer tokens for thinking, down to one."""
        return (self._digest(AT_MOST.format(fewer)) for fewer in range(1, self.thinking))

    @property
    def identity(self) -> str:
        """The wrapper's name and the sha256 of its content."""
        return f"{self.name} {self.digest}"

    def parts(self, request: Request, contexts: Mapping[str, str]) -> InstructedParts:
        """Return the parts of an instructed request."""
        context = contexts[request.context_id] if request.context_id is not None else ""
        return InstructedParts(context, request.instruction or "", request.options or (), request.text)

    def messages(self, request: Request, contexts: Mapping[str, str]) -> Turns:
        """Return an instructed request as the messages of a chat."""
        return turns(*self.wrapper.turns(self.parts(request, contexts)))

    def stopped(self, request: Request) -> Request:
        """Return an instructed request with all its stop strings: its own and the wrapper's.

        In a chat, line breaks do not stop an answer: the model ends its turn by itself, and the first line is often
        only an introduction, such as "The correct answer is:".
        """
        stop = [one for one in request.stop or () if one.strip() or not self.wrapper.chat]
        return replace(request, stop=(*stop, *self.wrapper.stop) or None)

    def arrange(self, requests: Sequence[Request], contexts: Mapping[str, str]) -> Arranged:
        """Turn requests into plain text.

        The text before the question becomes the context of the plain request, so that requests of one task share it.

        Args:
            requests: plain and instructed requests.
            contexts: the texts of their contexts, by id.
        """
        known: MutableMapping[str, str] = ChainMap({}, cast(dict[str, str], contexts))
        arranged = Arranged([], known, {})
        for request in requests:
            if request.instruction is None and request.options is None:
                arranged.requests.append(request)
            elif (reason := self._cannot(request, contexts)) is not None:
                arranged.declined[request.request_id] = reason
            else:
                arranged.requests.append(self._plain(request, known))
        return arranged

    def _plain(self, request: Request, contexts: MutableMapping[str, str]) -> Request:
        thinks = self.thinking > 0 and request.kind == "generate"
        before, rest = self._text(self.parts(request, contexts), thinks)
        context_id = tables.identity(["framed", before]) if before else None
        if context_id is not None:
            contexts[context_id] = before
        choices = request.choices
        if choices is not None and request.kind == "choices":
            choices = tuple(self.wrapper.answer + choice.lstrip(" ") for choice in choices)
        plain = self.stopped(request) if request.kind == "generate" else request
        return replace(plain, context_id=context_id, text=rest, choices=choices, instruction=None, options=None)

    def _text(self, parts: InstructedParts, thinks: bool = False) -> tuple[str, str]:
        """Return the text before the question, and the text from the question on."""
        if not self.wrapper.chat:
            return self.wrapper.whole(parts)
        assert self.template is not None  # `_cannot` has declined requests that need a server's template.
        text = self.template.text(*self.wrapper.turns(parts), thinks)
        place = text.rfind(parts.input)
        return (text[:place], text[place:]) if place > 0 else ("", text)

    def _cannot(self, request: Request, contexts: Mapping[str, str]) -> str | None:
        """Return why a request cannot become plain text, or None if it can."""
        if request.instruction is None:
            return "the request has options and no instruction; give both"
        if self.wrapper.chat and self.template is None:
            return (
                "the server's own chat template cannot be scored; name a tokenizer that has it (api_tokenizer), or "
                "another wrapper with api_generate_with: completions"
            )
        if request.pieces is not None:
            return "pieces are tokenised one by one, and an instructed request is one text; ask for spans"
        parts = self.parts(request, contexts)
        if request.kind == "fill" and BLANK in " ".join((parts.context, parts.instruction, *parts.options)):
            return f"it is unclear which blank is meant: the instruction, the passage or an option holds a {BLANK} too"
        if request.kind == "spans" and not self._text(parts)[1].startswith(parts.input):
            return "the chat template changes the text, so that its spans cannot be found"
        return None


def framing_of(name: str | None, tokenizer: Any, where: str, thinking: int = 0) -> Framing:
    """Return the framing of a model.

    Args:
        name: the wrapper's name; None for the tokenizer's chat template or, if it has none, the wrapper ``plain``.
        tokenizer: a transformers tokenizer.
        where: the model's folder, for error messages.
        thinking: how many tokens the model may think with before an answer that it generates.

    Raises:
        AlmanacError: there is no such wrapper, or the chat template that it needs is missing or fails.
    """
    name = name or DEFAULTS[0 if getattr(tokenizer, "chat_template", None) else 1]
    wrapper = wrappers.find(name)
    return Framing(name, wrapper, ChatTemplate(tokenizer, where) if wrapper.chat else None, thinking)


def plain_framing() -> Framing:
    """Return the framing of models that name no wrapper and have no chat template."""
    return framing_of(None, None, "")
