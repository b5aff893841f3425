"""Options of how a model answers: how a checkpoint is run, and how a server is reached and queried."""

import ipaddress
import re
from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from almanac.errors import AlmanacError
from almanac.options import OnDisk, Options
from almanac.rows import Kind

# A repository of the Hugging Face hub, and a commit of it.
REPOSITORY = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
COMMIT = re.compile(r"[0-9a-f]{40}")
UNPINNED = "unpinned"  # a revision that is still to be looked up
# The scoring backends, fastest first; see `scoring.backends`.
Engine = Literal["forest", "stock_mask", "prefix_cache", "reference"]
ENGINES: tuple[Engine, ...] = get_args(Engine)


class ServerOptions(Options):
    """How a server is reached and queried. Its key is never an option: only the name of its variable is."""

    api: str | None = Field(default=None, description="base URL of an OpenAI-compatible server, up to /v1")
    api_model: str | None = Field(default=None, description="the server's name of the model; if none, the only one")
    api_revision: str | None = Field(default=None, description="the model's revision, as the server's owner states it")
    api_key_variable: str = Field(default="OPENAI_API_KEY", description="the environment variable that holds the key")
    api_generate_with: Literal["chat", "completions"] = Field(
        default="chat", description="chat: the text is the user's message; completions: the text is continued as it is"
    )
    api_tokenizer: Annotated[str | None, OnDisk("tokenizer")] = Field(
        default=None, description="folder of the model's tokenizer: token ids are sent, and boundaries are exact"
    )
    api_concurrency: int = Field(default=8, ge=1, le=1024, description="the most calls at a time")
    api_retries: int = Field(default=6, ge=0, le=20, description="retries of a failed call; waits grow to 8 s")
    api_timeout: float = Field(default=300.0, gt=0, description="seconds that one call may wait for the server")
    api_samples: int = Field(
        default=1,
        ge=1,
        le=128,
        description="samples per call (n); 1: every sample has its own call and seed",
    )
    api_limit_key: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens", description="the server's name for the limit of new tokens"
    )
    api_extra: tuple[str, ...] = Field(
        default=(), description="extra keys of calls that generate, KEY=JSON, such as top_k=-1; KEY=null removes a key"
    )


class AnswerOptions(ServerOptions):
    """How a model answers, whether a checkpoint or a served one: keys of a model's entry, and flags of `answer`."""

    family: Literal["auto", "causal", "masked", "seq2seq", "encoder"] = Field(
        default="auto", description="how the model is scored; auto: by the architecture that its config.json names"
    )
    kinds: tuple[Kind, ...] | None = Field(
        default=None, description="the kinds of requests that it answers; if none, all that its family can"
    )
    wrapper: str | None = Field(
        default=None,
        description="how an instruction and a question become a text: a name in resources/prompts/wrappers.yaml, or "
        "FILE.yaml:NAME of your own; if none, the chat template if there is one, else plain",
    )
    thinking_tokens: int = Field(
        default=0,
        ge=0,
        description="new tokens that the model may think with before an answer, in addition to the answer's own; 0: it "
        "is asked to answer without thinking, if its chat template allows that",
    )
    dtype: Literal["float32", "bfloat16", "float16"] = Field(
        default="float32", description="the type of its numbers: bfloat16 and float16 take half the memory of float32"
    )
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$",
        description="auto, cpu, cuda, cuda:1 or mps; of several cards, auto takes one that no other job uses",
    )
    trust_remote_code: bool = Field(
        default=False,
        description="run the Python code that comes with the checkpoint; needs revision: the commit that you have read",
    )
    revision: str | None = Field(
        default=None,
        description="the commit of the model's repository, 40 hexadecimal digits; a hub needs it "
        "(unpinned: enough for a plan; a run says where to look it up)",
    )

    @model_validator(mode="after")
    def _no_similarity_from_a_server(self) -> Self:
        if self.api is not None and "similarity" in (self.kinds or ()):
            raise ValueError("kinds: a server returns no hidden states, which `similarity` needs; leave it out")
        return self


def is_here(host: str) -> bool:
    """Return whether a host, given by name or address, is this machine itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False


class NoURLError(AlmanacError):
    """A server's address is no URL; the text may be shown, since it holds no secret that was recognised."""


def checked_url(url: str) -> str:
    """Return a base URL without a trailing slash.

    Raises:
        AlmanacError: it is no URL, or it may hold a secret, which would then be written into files.
    """
    parts = urlsplit(url if "//" in url else f"//{url}")  # u:password@host is no URL, and a secret all the same
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AlmanacError(
            f"api: the URL of {parts.hostname} holds a user, a password or a query, which would be written into files; "
            "give it without, and put the key into the environment variable that api_key_variable names"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NoURLError(f"api: {url!r} is no URL of a server; give one like http://localhost:8000/v1")
    return url.rstrip("/")
