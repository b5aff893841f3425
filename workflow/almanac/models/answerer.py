"""The interface of everything that answers requests: between the command `answer` and local or served models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from almanac.rows import Request, Response


class Answerer(Protocol):
    """A model as `answer` sees it.

    It must not change from window to window: an interrupted run resumes with a new answerer, and its responses and
    record must equal those of an uninterrupted run.
    """

    @property
    def digest(self) -> str:
        """The digest of the model as it is run; every response holds it."""
        ...

    @property
    def is_paid(self) -> bool:
        """Whether answers are paid for; then answers of an earlier file to the same requests are reused.

        Answers of a local model are computed anew, since their last digits depend on which requests share a batch.
        """
        ...

    @property
    def reusable_digests(self) -> frozenset[str]:
        """The digests of other models whose complete answers hold for this model too and need not be paid again."""
        ...

    def answer(
        self,
        requests: Sequence[Request],
        contexts: Mapping[str, str],
        on_progress: Callable[[int], None] | None = None,
        keep: Callable[[Response], None] | None = None,
    ) -> list[Response]:
        """Answer one window of requests.

        Args:
            requests: the requests; their ids are unique and their contexts are in ``contexts``.
            contexts: the texts of the contexts, by id.
            on_progress: called with the number of requests answered since the last call.
            keep: called with each paid response as soon as it arrives; a local model never calls it.

        Returns:
            One response per request, in their order.
        """
        ...

    def record(self) -> dict[str, str]:
        """Return the metadata of the response file.

        Keys: ``model`` (the digest), ``weights``, ``tokenizer``, ``dtype``, ``device``, ``engine`` (name/version),
        ``self_test`` if there was one, and the packages that ran the model, with their versions.
        """
        ...
