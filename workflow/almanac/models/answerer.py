"""What answers requests: the one interface between the verb and everything that runs or reaches a model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from almanac.rows import Request, Response


class Answerer(Protocol):
    """A model as `answer` sees it.

    Nothing of it may change from window to window: a run that was interrupted goes on with a new answerer, and its
    responses and its record must be those of an unbroken run.
    """

    @property
    def digest(self) -> str:
        """The digest of the model as it is run; every response carries it."""
        ...

    @property
    def paid(self) -> bool:
        """Whether answers are paid for: those of an earlier file to what is still asked are then taken over.

        Of a model that runs here all are made anew, since their last digits depend on what is answered together.
        """
        ...

    @property
    def alike(self) -> frozenset[str]:
        """The digests of models whose answers, where they are whole, are this one's too and need not be paid again."""
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
            requests: what is asked; their ids are unique and their contexts are there.
            contexts: the texts of the contexts, by id.
            on_progress: called with the number of requests that were answered since the last call.
            keep: called with each response that was paid for, as soon as it is there; a model that runs here has none.

        Returns:
            One response a request, in their order.
        """
        ...

    def record(self) -> dict[str, str]:
        """Return what the response file says of the model.

        ``model`` (the digest), ``weights``, ``tokenizer``, ``dtype``, ``device``, ``engine`` (name/version), where it
        applies ``self_test``, and the versions of the packages that ran it.
        """
        ...
