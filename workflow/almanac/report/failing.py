"""Why models did not answer: requests that failed, texts that are too long, and requests that are not supported."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from almanac.config import Asking
from almanac.edition.layout import Layout
from almanac.suites.answers import statuses
from almanac.suites.listing import SUITES

NOT_FINITE = "are the weights whole, or is float16 too small a dtype for them?"


@dataclass(frozen=True)
class Failures:
    """Why requests to a model have no answer: the number of each of the ``reasons``, out of ``of`` requests.

    ``again``: the rule that asks them again, if that may help.
    """

    reasons: Mapping[str, int]
    of: int
    again: str = ""

    @property
    def count(self) -> int:
        """Return how many requests have no answer."""
        return sum(self.reasons.values())

    @property
    def every(self) -> bool:
        """Return whether no request has an answer."""
        return self.count == self.of

    @property
    def limit(self) -> str | None:
        """Return the maximum number of tokens that the model reads, if a reason states it."""
        found = (re.search(r"reads at most (\d+)", reason) for reason in self.reasons)
        return next((one[1] for one in found if one), None)

    @property
    def commonest(self) -> str:
        """Return the most frequent reason, without a full stop."""
        return max(self.reasons, key=lambda one: self.reasons[one]).rstrip(".")

    def told(self, model: str) -> str:
        """Return a sentence on how many requests failed, the most frequent reason, and a remedy."""
        most = ", most often" if len(self.reasons) > 1 else ""
        remedy = f"; {NOT_FINITE}" if "finite" in self.commonest else "."
        if self.again:
            remedy = f'; a run with --forcerun {self.again} (of make: ARGS="--forcerun {self.again}") asks these again.'
        count = f"All {self.of:,}" if self.every else f"{self.count:,} of {self.of:,}"
        return f"{count} requests of {model} failed{most}: {self.commonest}{remedy}"


class Unanswered(NamedTuple):
    """Requests without an answer, and why.

    Attributes:
        failed: requests that failed, by model.
        too_long: texts that are longer than the model reads, by what was asked.
        unsupported: requests that a model or its server cannot answer, by what was asked.
    """

    failed: Mapping[str, Failures] = {}
    too_long: Mapping[Asking, Failures] = {}
    unsupported: Mapping[Asking, Failures] = {}

    def notes(self) -> Iterator[str]:
        """Yield notes on texts that are too long for models, with a remedy; models with equal notes are grouped."""
        by_model: dict[str, list[tuple[Asking, Failures]]] = defaultdict(list)
        for asking, found in self.too_long.items():
            by_model[asking.model].append((asking, found))
        models: dict[str, list[str]] = defaultdict(list)
        for model, askings in by_model.items():
            limits = [found.limit for _, found in askings if found.limit]
            read = f" (at most {limits[0]} tokens are read)" if limits else ""
            counts = "; ".join(
                f"{found.count:,} of {found.of:,} texts of {SUITES[asking.suite].label} ({asking.dataset})"
                for asking, found in askings
            )
            remedy = "Fewer examples, a shorter wrapper or less thinking make a text shorter."
            models[f"{read}: {counts}. {remedy}"].append(model)
        for told, names in models.items():
            yield f"Too long for {', '.join(names)}{told}"


def unanswered(layout: Layout) -> Unanswered:
    """Return the unanswered requests of an edition."""
    files: dict[Asking, list[Path]] = defaultdict(list)
    for asking in layout.config.asked():
        for one in layout.rounds(asking):
            files[asking._replace(model=one.answerer)] += one.responses
    found = {asking: statuses(dict.fromkeys(paths)) for asking, paths in files.items()}
    asked = {asking: sum(reasons.total() for reasons in by_status.values()) for asking, by_status in found.items()}
    failed: dict[str, Counter[str]] = defaultdict(Counter)
    together, everybody = layout.config.answering_together(), layout.config.participants()

    def again(model: str) -> str:
        if everybody[model].model.api is None:  # a local model would fail again
            return ""
        return f"answer_together_{model}" if model in together else "answer_requests"

    def of_status(status: str) -> dict[Asking, Failures]:
        with_status = ((asking, by_status[status]) for asking, by_status in found.items() if status in by_status)
        return {asking: Failures(reasons, asked[asking]) for asking, reasons in with_status}

    for asking, by_status in found.items():
        failed[asking.model].update(by_status.get("failed", {}))
    by_model = Counter[str]()
    for asking, count in asked.items():
        by_model[asking.model] += count
    all_failed = {model: Failures(own, by_model[model], again(model)) for model, own in failed.items() if own}
    return Unanswered(all_failed, of_status("too_long"), of_status("unsupported"))
